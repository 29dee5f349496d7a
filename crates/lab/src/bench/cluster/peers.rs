//! `onrush bench peers`: the same two jobs on Onrush and on what people would use instead.
//!
//! The first is a hold: one unit of a hot zone, at most four a user, with a deadline, by 50 clients that
//! wait for their answers. The second is a line: joins, and then the exact positions of 100,000 who wait.
//! docs/benchmarks.md says what is durable in which.

use super::super::common::{Common, measure};
use super::super::results::Results;
use super::postgres::{self, Way};
use super::shared::{self, CLIENTS};
use super::{plain, redis};
use crate::bench::commands::id;
use onrush_core::ids::EventId;
use onrush_store::Engine;
use onrush_store::embedded::{Embedded, Options};
use onrush_terminal::show::say;
use std::sync::Arc;

/// People who wait while positions are asked for.
const WAITING: u64 = 100_000;

pub(super) fn run(common: &Common, results: &mut Results) -> Result<(), String> {
    say("peers: embedded");
    let (embedded, line) = measure(embedded(common))?;
    say("peers: Redis engine and plain scripts");
    let of_redis = measure(on_redis(common))?;
    let mut holds =
        vec![("embedded", embedded), ("redis", of_redis.holds), ("plain_script", of_redis.plain)];
    for way in Way::ALL {
        say(&format!("peers: PostgreSQL, {}", way.name()));
        holds.push((way.name(), postgres::holds_per_s(common, way)?));
    }
    report(results, "holds", &holds, of_redis.plain);
    let joins = [
        ("embedded", line.joins),
        ("redis", of_redis.line.joins),
        ("sorted_set", of_redis.set.joins),
    ];
    report(results, "joins", &joins, of_redis.set.joins);
    let positions = [
        ("embedded", line.positions),
        ("redis", of_redis.line.positions),
        ("sorted_set", of_redis.set.positions),
    ];
    report(results, "positions", &positions, of_redis.set.positions);
    Ok(())
}

fn report(results: &mut Results, what: &str, rates: &[(&str, f64)], plain: f64) {
    for (name, rate) in rates {
        results.figure(&format!("{name}_{what}_per_s"), *rate);
        results.figure(&format!("{name}_{what}_to_plain"), rate / plain);
        results.say(&format!(
            "{name:<13} {rate:>9.0} {what}/s  {:>6.2} × plain Redis ({CLIENTS} clients)",
            rate / plain
        ));
    }
}

/// What a line came to, a second.
pub(super) struct Line {
    pub(super) joins: f64,
    pub(super) positions: f64,
}

async fn embedded(common: &Common) -> Result<(f64, Line), String> {
    let scratch = common.scratch()?;
    let engine = Embedded::open(scratch.path(), Options::default()).map_err(|e| e.to_string())?;
    let engine = Arc::new(engine);
    let holds = holds(common, &engine).await?;
    Ok((holds, line(common, &engine).await?))
}

async fn holds<E: Engine>(common: &Common, engine: &Arc<E>) -> Result<f64, String> {
    let event: EventId = id("flash")?;
    shared::put_on_sale(&**engine, &event, shared::job()?).await?;
    shared::holds_per_s(common, engine, &event).await
}

async fn line<E: Engine>(common: &Common, engine: &Arc<E>) -> Result<Line, String> {
    let event: EventId = id("queue")?;
    shared::put_on_sale(&**engine, &event, shared::queueing()?).await?;
    let waiting = common.size(WAITING);
    let joins = shared::joins_per_s(engine, &event, waiting).await?;
    let positions = shared::positions_per_s(common, engine, &event, waiting).await?;
    Ok(Line { joins, positions })
}

/// What Redis came to: through our engine, and with what people write themselves.
struct OfRedis {
    holds: f64,
    line: Line,
    plain: f64,
    set: Line,
}

async fn on_redis(common: &Common) -> Result<OfRedis, String> {
    let server = redis::server()?;
    let engine = redis::engine(&server).await?;
    let holds = holds(common, &engine).await?;
    let line = line(common, &engine).await?;
    drop(engine);
    let (scale, waiting) = (common.scale, common.size(WAITING));
    let share = move |full: u64| ((full as f64 * scale) as u64).max(1_000);
    let (plain, set) = tokio::task::spawn_blocking(move || {
        Ok::<_, String>((
            plain::reserve(&server, share)?,
            plain::sorted_set(&server, share, waiting)?,
        ))
    })
    .await
    .map_err(|error| error.to_string())??;
    Ok(OfRedis { holds, line, plain, set })
}
