//! How late deadlines fire: at a steady rate under load, and when very many are due at once.

use super::super::commands::{
    POOL, flash_sale, give, hold, id, insist, long_id, now, on_sale, one_unit,
};
use super::super::common::{Common, measure};
use super::super::results::Results;
use crate::load::Latency;
use onrush_core::change::{ClaimChange, HoldChange};
use onrush_core::ids::EventId;
use onrush_core::{Change, Command, Time};
use onrush_store::embedded::{Embedded, Options};
use onrush_store::{Engine, Feed};
use onrush_terminal::show::{count, ms, say};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// Deadlines that are due each second of the steady part.
const DUE_PER_S: u64 = 1_000;
const HOLD_TTL_MS: i64 = 2_000;
/// Callers that keep the engine busy meanwhile.
const CALLERS: u64 = 256;
/// Deadlines of the burst, all due at the same moment.
const BURST: u64 = 200_000;

pub(super) fn run(common: &Common, results: &mut Results) -> Result<(), String> {
    say("deadlines: a steady rate under load");
    measure(steady(common, results))?;
    say("deadlines: a burst");
    measure(burst(common, results))
}

async fn steady(common: &Common, results: &mut Results) -> Result<(), String> {
    let scratch = common.scratch()?;
    let engine = Embedded::open(scratch.path(), Options::default()).map_err(|e| e.to_string())?;
    let engine = Arc::new(engine);
    let due: EventId = id("due")?;
    let mut settings = flash_sale()?;
    settings.hold_ttl_ms = HOLD_TTL_MS;
    give(&engine, &due, on_sale(settings)?).await?;
    let busy: EventId = id("busy")?;
    give(&engine, &busy, on_sale(flash_sale()?)?).await?;

    let holds = common.time(10.0).as_millis() as u64 * DUE_PER_S / 1_000;
    let watcher = tokio::spawn(lateness(engine.subscribe(engine.committed()), due.clone(), holds));
    let stop = Instant::now() + Duration::from_millis(holds + HOLD_TTL_MS as u64);
    let mut callers = JoinSet::new();
    for caller in 0..CALLERS {
        callers.spawn(keep_busy(Arc::clone(&engine), busy.clone(), caller << 32, stop));
    }
    let lines = one_unit()?;
    let begun = Instant::now();
    for number in 0..holds {
        // One a millisecond; the timer wakes once a millisecond at best and catches up on what it missed.
        tokio::time::sleep_until(
            (begun + Duration::from_millis(number * 1_000 / DUE_PER_S)).into(),
        )
        .await;
        drop(engine.execute(due.clone(), hold(number, &lines)?));
    }
    let (decided, seen) = watcher.await.map_err(|error| error.to_string())??;
    let mut load = 0;
    while let Some(answers) = callers.join_next().await {
        load += answers.map_err(|error| error.to_string())??;
    }
    let load_per_s = load as f64 / begun.elapsed().as_secs_f64();
    results.figure("deadline_decided_p99_ms", decided.percentile_ms(99.0));
    results.figure("deadline_p50_ms", seen.percentile_ms(50.0));
    results.figure("deadline_p99_ms", seen.percentile_ms(99.0));
    results.figure("deadline_max_ms", seen.max_ms());
    results.figure("deadline_load_per_s", load_per_s);
    results.say(&format!(
        "deadlines  {} due a second beside {} holds/s: seen p50 {}, p99 {}, max {} after the due \
         time (goal p99 ≤ 20 ms)",
        count(DUE_PER_S),
        count(load_per_s as u64),
        ms(seen.percentile_ms(50.0)),
        ms(seen.percentile_ms(99.0)),
        ms(seen.max_ms())
    ));
    Ok(())
}

/// Holds until `stop`; says how many.
async fn keep_busy(
    engine: Arc<Embedded>,
    event: EventId,
    first: u64,
    stop: Instant,
) -> Result<u64, String> {
    let lines = one_unit()?;
    let mut number = first;
    while Instant::now() < stop {
        insist(&engine, &event, hold(number, &lines)?).await?;
        number += 1;
    }
    Ok(number - first)
}

/// How long after their due time holds of an event expired, for the rules and for a reader of the feed.
async fn lateness(
    mut feed: Box<dyn Feed>,
    event: EventId,
    expected: u64,
) -> Result<(Latency, Latency), String> {
    let (mut decided, mut seen) = (Latency::new(), Latency::new());
    let mut due: HashMap<String, Time> = HashMap::new();
    while seen.count() < expected {
        let page = feed.next().await?.ok_or("the engine has stopped")?;
        let seen_at = now();
        for entry in page.iter().filter(|entry| entry.event == event) {
            for change in &entry.changes {
                if let Change::Hold(HoldChange::HoldPlaced { terms, until }) = change {
                    due.insert(terms.booking.to_string(), *until);
                } else if let Change::Hold(HoldChange::HoldExpired { booking }) = change {
                    let until =
                        due.remove(booking.as_str()).ok_or("a hold expired that nobody placed")?;
                    decided.record(after(until, entry.at));
                    seen.record(after(until, seen_at));
                }
            }
        }
    }
    Ok((decided, seen))
}

fn after(due: Time, at: Time) -> Duration {
    Duration::from_millis(u64::try_from(at.since_ms(due)).unwrap_or(0))
}

async fn burst(common: &Common, results: &mut Results) -> Result<(), String> {
    let scratch = common.scratch()?;
    let engine = Embedded::open(scratch.path(), Options::default()).map_err(|e| e.to_string())?;
    let engine = Arc::new(engine);
    let event: EventId = id("burst")?;
    give(&engine, &event, on_sale(flash_sale()?)?).await?;
    let claims = common.size(BURST);
    let due = now().plus_ms(2_000 + claims as i64 / 40);
    let mut callers = JoinSet::new();
    for caller in 0..CALLERS {
        callers.spawn(claim(
            Arc::clone(&engine),
            event.clone(),
            (caller..claims).step_by(CALLERS as usize),
            due,
        ));
    }
    while let Some(done) = callers.join_next().await {
        done.map_err(|error| error.to_string())??;
    }
    if now() >= due {
        return Err("this machine is too slow to make a burst".into());
    }
    let mut feed = engine.subscribe(engine.committed());
    let mut back = 0;
    let mut last = due;
    while back < claims {
        let page = feed.next().await?.ok_or("the engine has stopped")?;
        last = now();
        let changes = page.iter().flat_map(|entry| &entry.changes);
        back += changes
            .filter(|change| matches!(change, Change::Claim(ClaimChange::Declaimed { .. })))
            .count() as u64;
    }
    let drained_per_s = claims as f64 * 1_000.0 / last.since_ms(due).max(1) as f64;
    results.figure("burst_drained_per_s", drained_per_s);
    results.say(&format!(
        "burst      {} due at one moment: {}/s, the last one {} after it (goal ≥ 50,000/s)",
        count(claims),
        count(drained_per_s as u64),
        ms(last.since_ms(due) as f64)
    ));
    Ok(())
}

/// Makes claims that all end at `due`.
async fn claim(
    engine: Arc<Embedded>,
    event: EventId,
    numbers: impl Iterator<Item = u64>,
    due: Time,
) -> Result<(), String> {
    for number in numbers {
        let command = Command::Claim {
            claim: long_id('c', number)?,
            user: long_id('u', number)?,
            pool: id(POOL)?,
            quantity: 1,
            ttl_ms: Some(due.since_ms(now()).max(1)),
        };
        insist(&engine, &event, command).await?;
    }
    Ok(())
}
