//! Durable holds in process: callers that each wait for their answer before they ask again.

use super::super::commands::{flash_sale, give, hold, id, on_sale, one_unit};
use super::super::common::{Common, measure};
use super::super::goals;
use super::super::results::Results;
use super::super::results::median;
use crate::load::Latency;
use onrush_core::ids::EventId;
use onrush_store::Engine;
use onrush_store::embedded::{Embedded, Options};
use onrush_terminal::show::{count, ms, say};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

const CALLERS: u64 = 1_024;
const ROUNDS: usize = 3;

/// One round: the rate, and how long answers took.
struct Round {
    holds_per_s: f64,
    latency: Latency,
}

pub(super) fn run(common: &Common, results: &mut Results) -> Result<(), String> {
    let mut rounds = Vec::new();
    for number in 1..=ROUNDS {
        say(&format!("holds: round {number} of {ROUNDS}"));
        rounds.push(measure(round(common))?);
    }
    let of =
        |percent: f64| median(rounds.iter().map(|r| r.latency.percentile_ms(percent)).collect());
    let rate =
        results.rounds("holds_per_s", rounds.iter().map(|round| round.holds_per_s).collect());
    results.figure("p50_ms", of(50.0));
    results.figure("p99_ms", of(99.0));
    results.figure("p999_ms", of(99.9));
    results.say(&format!(
        "holds      {}/s durable, {CALLERS} callers: p50 {}, p99 {}, p99.9 {} (goal {}, p99 {})",
        count(rate as u64),
        ms(of(50.0)),
        ms(of(99.0)),
        ms(of(99.9)),
        goals::of("engine.holds_per_s"),
        goals::of("engine.p99_ms"),
    ));
    Ok(())
}

async fn round(common: &Common) -> Result<Round, String> {
    let scratch = common.scratch()?;
    let engine = Embedded::open(scratch.path(), Options::default()).map_err(|e| e.to_string())?;
    let engine = Arc::new(engine);
    let event: EventId = id("flash")?;
    give(&engine, &event, on_sale(flash_sale()?)?).await?;

    // What the caches and the allocator need to settle is not counted.
    let from = Instant::now() + common.time(1.0);
    let until = from + common.time(6.0);
    let mut callers = JoinSet::new();
    for caller in 0..CALLERS {
        callers.spawn(ask(Arc::clone(&engine), event.clone(), caller << 32, from, until));
    }
    let mut latency = Latency::new();
    let mut answers = 0;
    while let Some(times) = callers.join_next().await {
        for us in times.map_err(|error| error.to_string())?? {
            latency.record(Duration::from_micros(us.into()));
            answers += 1;
        }
    }
    let holds_per_s = f64::from(answers) / (until - from).as_secs_f64();
    Ok(Round { holds_per_s, latency })
}

/// One caller: the times of the answers that came between `from` and `until`, in microseconds.
async fn ask(
    engine: Arc<Embedded>,
    event: EventId,
    first: u64,
    from: Instant,
    until: Instant,
) -> Result<Vec<u32>, String> {
    let lines = one_unit()?;
    let mut times = Vec::with_capacity(4_096);
    for number in first.. {
        let command = hold(number, &lines)?;
        let asked = Instant::now();
        engine.execute(event.clone(), command).await.map_err(|error| error.to_string())?;
        let answered = Instant::now();
        if answered >= until {
            break;
        }
        if answered >= from {
            times.push(u32::try_from((answered - asked).as_micros()).unwrap_or(u32::MAX));
        }
    }
    Ok(times)
}
