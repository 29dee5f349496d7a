//! `onrush bench redis`: our script beside a plain one, and how long scripts take at the rates of a
//! large sale.

use super::super::common::{Common, measure};
use super::super::goals;
use super::super::results::Results;
use super::archive::Forgetful;
use super::plain;
use super::shared::{self, CLIENTS};
use crate::bench::arena;
use crate::bench::commands::{hold, id, one_unit};
use onrush_core::Command;
use onrush_core::ids::{EventId, UserId};
use onrush_store::Engine;
use onrush_store::redis::{Options, RedisEngine};
use onrush_terminal::show::say;
use onrush_testkit::Redis;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

const ROUNDS: usize = 3;
const JOINS_PER_S: u64 = 20_000;
const RESERVES_PER_S: u64 = 10_000;
const BEST_PER_S: u64 = 2_000;
/// Requests that wait for an answer at most: beyond it the rate is not kept, which the result says.
const IN_FLIGHT: usize = 2_000;
/// The house is sold out after six seconds, and refusals take another time.
const BEST_FOR: Duration = Duration::from_secs(5);

/// A throw-away server, or why there is none.
pub(super) fn server() -> Result<Redis, String> {
    Redis::start().map_err(|error| error.to_string())
}

/// An engine on it that archives nowhere.
pub(super) async fn engine(redis: &Redis) -> Result<Arc<RedisEngine>, String> {
    let options = Options::new(vec![redis.url()], false, Arc::new(Forgetful::new()));
    RedisEngine::open(options).await.map(Arc::new).map_err(|error| error.to_string())
}

/// The rates of one round.
struct Round {
    plain: f64,
    script: f64,
    engine: f64,
}

pub(super) fn run(common: &Common, results: &mut Results) -> Result<(), String> {
    let mut rounds = Vec::new();
    for number in 1..=ROUNDS {
        say(&format!("reserve: round {number} of {ROUNDS}"));
        rounds.push(measure(round(common))?);
    }
    let mut of = |name: &'static str, rate: fn(&Round) -> f64| {
        results.rounds(name, rounds.iter().map(rate).collect())
    };
    let rates = [
        of("plain_script_per_s", |round| round.plain),
        of("hold_script_per_s", |round| round.script),
        of("engine_holds_per_s", |round| round.engine),
        // Of each round by itself: a machine that others use is not the same in the next.
        of("hold_script_ratio", |round| round.script / round.plain),
        of("engine_ratio", |round| round.engine / round.plain),
    ];
    results.say(&format!(
        "reserve    plain script {:.0}/s, our script by the same client {:.0}/s ({:.0} %), through \
         the engine {:.0}/s ({:.0} %, goal {}), {CLIENTS} clients",
        rates[0],
        rates[1],
        rates[3] * 100.0,
        rates[2],
        rates[4] * 100.0,
        goals::of("redis.engine_ratio"),
    ));
    measure(at_rates(common, results))
}

async fn round(common: &Common) -> Result<Round, String> {
    let redis = server()?;
    let engine = engine(&redis).await?;
    let event: EventId = id("flash")?;
    shared::put_on_sale(&*engine, &event, shared::job()?).await?;
    let through_us = shared::holds_per_s(common, &engine, &event).await?;
    // The archiver goes on meanwhile, as it does in earnest: for the engine. What is compared runs
    // without it.
    drop(engine);
    let (plain, script) = tokio::task::spawn_blocking({
        let scale = common.scale;
        move || {
            let share = |full: u64| ((full as f64 * scale) as u64).max(1_000);
            let plain = plain::reserve(&redis, share)?;
            let script = plain::hold(&redis, &event, share)?;
            Ok::<_, String>((plain, script))
        }
    })
    .await
    .map_err(|error| error.to_string())??;
    Ok(Round { plain, script, engine: through_us })
}

/// Joins, then reserves, at given rates; the time of scripts as the server measures it.
async fn at_rates(common: &Common, results: &mut Results) -> Result<(), String> {
    let redis = server()?;
    let engine = engine(&redis).await?;
    let (queue, zone): (EventId, EventId) = (id("queue")?, id("zone")?);
    shared::put_on_sale(&*engine, &queue, shared::queueing()?).await?;
    shared::put_on_sale(&*engine, &zone, shared::job()?).await?;
    let lines = one_unit()?;

    let join = |number: u64| {
        let user: UserId = id(&format!("u{number}"))?;
        Ok((queue.clone(), Command::Join { place: shared::place(number), user }))
    };
    let reserve = |number: u64| Ok((zone.clone(), hold(number, &lines)?));
    let length = common.time(5.0);
    let scripts = at_rate(&redis, &engine, length, JOINS_PER_S, join).await?;
    scripts.tell(results, "join", JOINS_PER_S);
    let scripts = at_rate(&redis, &engine, length, RESERVES_PER_S, reserve).await?;
    scripts.tell(results, "reserve", RESERVES_PER_S);
    let house: EventId = id("house")?;
    for command in arena::on_sale()? {
        engine.execute(house.clone(), command).await.map_err(|error| error.to_string())?;
    }
    let best = |number: u64| {
        let number = u32::try_from(number).map_err(|error| error.to_string())?;
        Ok((house.clone(), arena::best(number)?))
    };
    let scripts = at_rate(&redis, &engine, length.min(BEST_FOR), BEST_PER_S, best).await?;
    scripts.tell(results, "best", BEST_PER_S);
    Ok(())
}

/// What one load came to.
struct AtRate {
    per_s: f64,
    p99_ms: f64,
}

impl AtRate {
    fn tell(&self, results: &mut Results, what: &str, wanted: u64) {
        results.figure(&format!("{what}_per_s"), self.per_s);
        results.figure(&format!("{what}_script_p99_ms"), self.p99_ms);
        results.say(&format!(
            "{what:<10} {:.0}/s of {wanted}/s: script p99 {:.3} ms by the server's clock (goal < 3 ms)",
            self.per_s, self.p99_ms
        ));
    }
}

async fn at_rate(
    redis: &Redis,
    engine: &Arc<RedisEngine>,
    length: Duration,
    per_s: u64,
    command: impl Fn(u64) -> Result<(EventId, Command), String>,
) -> Result<AtRate, String> {
    let ask = |words: &[&str]| redis.command(words).map_err(|error| error.to_string());
    ask(&["CONFIG", "RESETSTAT"])?;
    let per_s = answers_per_s(engine, length, per_s, command).await?;
    let stats = ask(&["INFO", "latencystats"])?;
    let line = stats.lines().find(|line| line.contains("_fcall:"));
    let p99 = line.and_then(|line| line.split_once("p99=")?.1.split(',').next()?.parse().ok());
    let p99_us: f64 = p99.ok_or_else(|| format!("Redis says no time of scripts: {stats}"))?;
    Ok(AtRate { per_s, p99_ms: p99_us / 1_000.0 })
}

/// Answers a second to commands that are given at a rate; the first that is refused, or fails, ends it:
/// it did not do what is measured.
async fn answers_per_s<E: Engine>(
    engine: &Arc<E>,
    length: Duration,
    per_s: u64,
    command: impl Fn(u64) -> Result<(EventId, Command), String>,
) -> Result<f64, String> {
    let begun = Instant::now();
    let mut asked: JoinSet<Result<(), String>> = JoinSet::new();
    let mut sent = 0;
    while begun.elapsed() < length {
        let due = (begun.elapsed().as_secs_f64() * per_s as f64) as u64;
        while sent < due && begun.elapsed() < length {
            let answered = if asked.len() < IN_FLIGHT {
                asked.try_join_next()
            } else {
                asked.join_next().await
            };
            if let Some(answered) = answered {
                answered.map_err(|error| error.to_string())??;
            }
            let (event, command) = command(sent)?;
            let engine = Arc::clone(engine);
            asked.spawn(async move {
                let answer = engine.execute(event, command).await;
                answer.map(drop).map_err(|error| error.to_string())
            });
            sent += 1;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    while let Some(answered) = asked.join_next().await {
        answered.map_err(|error| error.to_string())??;
    }
    Ok(sent as f64 / begun.elapsed().as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;
    use onrush_core::Refusal;
    use onrush_store::embedded::{self, Embedded};

    #[tokio::test]
    async fn refusal_at_a_rate_is_no_answer() {
        let folder = tempfile::tempdir().expect("a folder");
        let engine = Embedded::open(folder.path(), embedded::Options::default());
        let engine = Arc::new(engine.expect("the engine begins"));
        let lines = one_unit().expect("lines");
        // It ends with the first refusal, long before its time.
        let length = Duration::from_secs(600);
        let rate = answers_per_s(&engine, length, 10_000, |number| {
            Ok((id("nowhere")?, hold(number, &lines)?))
        });
        assert_eq!(rate.await.err(), Some(Refusal::EventNotFound.to_string()));
    }
}
