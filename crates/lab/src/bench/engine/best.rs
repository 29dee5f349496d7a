//! Durable holds of the best four seats beside holds of four named ones, and the choice by itself.

use super::super::arena::{self, CAPACITY, PARTY};
use super::super::commands::{id, now};
use super::super::common::{Common, measure};
use super::super::goals;
use super::super::results::Results;
use crate::load::Latency;
use onrush_core::Event;
use onrush_core::ids::EventId;
use onrush_core::{Command, Refusal};
use onrush_store::embedded::{Embedded, Options};
use onrush_store::{Engine, Failure};
use onrush_terminal::show::{count, ms, say};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;
use tokio::task::JoinSet;

const CALLERS: usize = 1_024;
const ROUNDS: usize = 5;
/// Parties until 95 % are sold.
const PARTIES: u32 = CAPACITY / 100 * 95 / PARTY;

pub(super) fn run(common: &Common, results: &mut Results) -> Result<(), String> {
    let parties = u32::try_from(common.size(PARTIES.into())).unwrap_or(PARTIES).min(PARTIES);
    let mut ratios = Vec::new();
    let mut rates = [Vec::new(), Vec::new()];
    for number in 1..=ROUNDS {
        say(&format!("best: round {number} of {ROUNDS}"));
        let [named, best] = measure(round(common, parties))?;
        ratios.push(best / named);
        rates[0].push(named);
        rates[1].push(best);
    }
    let choice = choose(parties, arena::on_sale()?, arena::best)?;
    let in_channel = choose(parties, arena::on_sale_in_channel()?, arena::best_in_channel)?;
    let [named, best] = rates;
    let named = results.rounds("named_seat_holds_per_s", named);
    let best = results.rounds("best_seat_holds_per_s", best);
    let ratio = results.rounds("best_to_named", ratios);
    results.figure("best_choice_p50_ms", choice.percentile_ms(50.0));
    results.figure("best_choice_p99_ms", choice.percentile_ms(99.0));
    results.figure("best_choice_in_channel_p50_ms", in_channel.percentile_ms(50.0));
    results.figure("best_choice_in_channel_p99_ms", in_channel.percentile_ms(99.0));
    results.say(&format!(
        "best       {}/s of four best seats, {}/s of four named ones ({:.0} %, goal {}), durable, \
         {} seats to 95 % sold; the choice alone p50 {}, p99 {} (goal ≤ 0.2 ms), in a channel that has all \
         seats p50 {}, p99 {}",
        count(best as u64),
        count(named as u64),
        ratio * 100.0,
        goals::of("engine.best_to_named"),
        count(CAPACITY.into()),
        ms(choice.percentile_ms(50.0)),
        ms(choice.percentile_ms(99.0)),
        ms(in_channel.percentile_ms(50.0)),
        ms(in_channel.percentile_ms(99.0)),
    ));
    Ok(())
}

/// Sells one house by names, and one by leaving it to the server: holds a second.
async fn round(common: &Common, parties: u32) -> Result<[f64; 2], String> {
    let scratch = common.scratch()?;
    let engine = Embedded::open(scratch.path(), Options::default()).map_err(|e| e.to_string())?;
    let engine = Arc::new(engine);
    let named = sell(&engine, id("named")?, parties, arena::named).await?;
    let best = sell(&engine, id("best")?, parties, arena::best).await?;
    Ok([named, best])
}

async fn sell(
    engine: &Arc<Embedded>,
    event: EventId,
    parties: u32,
    ask: fn(u32) -> Result<Command, String>,
) -> Result<f64, String> {
    for command in arena::on_sale()? {
        engine.execute(event.clone(), command).await.map_err(|error| error.to_string())?;
    }
    let next = Arc::new(AtomicU32::new(0));
    let begun = Instant::now();
    let mut callers = JoinSet::new();
    for _ in 0..CALLERS {
        let (engine, event, next) = (Arc::clone(engine), event.clone(), Arc::clone(&next));
        callers.spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= parties {
                    return Ok(());
                }
                match engine.execute(event.clone(), ask(number)?).await {
                    // A category may be full before the house is.
                    Ok(_) | Err(Failure::Refused(Refusal::TooFewSeats { .. })) => {}
                    Err(error) => return Err(error.to_string()),
                }
            }
        });
    }
    while let Some(done) = callers.join_next().await {
        done.map_err(|error| error.to_string())??;
    }
    Ok(f64::from(parties) / begun.elapsed().as_secs_f64())
}

/// How long the rules take to decide, without an engine around them.
fn choose(
    parties: u32,
    on_sale: Vec<Command>,
    ask: fn(u32) -> Result<Command, String>,
) -> Result<Latency, String> {
    let (mut event, at) = (Event::new(id("best")?), now());
    let mut latency = Latency::new();
    let orders = (0..parties).map(ask).collect::<Result<Vec<_>, _>>()?;
    for (command, is_timed) in
        on_sale.into_iter().map(|it| (it, false)).chain(orders.into_iter().map(|it| (it, true)))
    {
        let begun = Instant::now();
        let decided = event.decide(at, &command);
        if is_timed {
            latency.record(begun.elapsed());
        }
        match decided {
            Ok(decision) => {
                decision.changes.iter().for_each(|change| event.evolve(at, change));
            }
            Err(Refusal::TooFewSeats { .. }) => {}
            Err(refusal) => return Err(refusal.to_string()),
        }
    }
    Ok(latency)
}
