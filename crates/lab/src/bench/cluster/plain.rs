//! Scripts run by `redis-benchmark`: one client program for all, each client waiting for its answer.

use super::peers::Line;
use super::shared::CLIENTS;
use onrush_core::ids::EventId;
use onrush_store::redis::BareHold;
use onrush_testkit::Redis;
use std::process::{Command, Stdio};

/// Runs of one script, after a tenth as many that are not counted.
const RUNS: u64 = 200_000;
/// As many ids that none is used twice, mostly.
const IDS: u64 = 1_000_000_000;
/// The word in whose place `redis-benchmark` puts a number.
const NUMBER: &str = "__rand_int__";
/// Of a hundred runs so many do something at least: the others have an id that was used before.
const DID_PERCENT: u64 = 99;

/// The rate of a plain script.
pub(super) fn reserve(redis: &Redis, share: impl Fn(u64) -> u64) -> Result<f64, String> {
    let (zone, units) = ("zone:availability:ga", 1_000_000_000_u64);
    ask(redis, &["SET", zone, &units.to_string()])?;
    let sha = ask(redis, &["SCRIPT", "LOAD", include_str!("reserve_plain.lua")])?;
    let user = "u__rand_int__";
    let booking = "b__rand_int__";
    let users = format!("user:reservations:{user}:e");
    let reservation = format!("reservation:{booking}");
    let script = ["EVALSHA", &sha, "3", zone, &users, &reservation];
    let args = ["1", "4", user, booking, "ga", "e", "show", "15000", "600"];
    let reserved = || Ok(units.saturating_sub(number(redis, &["GET", zone])?));
    rate(redis, share(RUNS), script.iter().chain(&args).copied(), reserved)
}

/// The rate of our own hold's script, for an event that is on sale.
pub(super) fn hold(
    redis: &Redis,
    event: &EventId,
    share: impl Fn(u64) -> u64,
) -> Result<f64, String> {
    let bare = BareHold::new(event);
    ask(redis, &["FUNCTION", "LOAD", "REPLACE", bare.library])?;
    // No engine runs the event any more, and a hold half a minute later would only be told so.
    ask(redis, &bare.unattended.each_ref().map(String::as_str))?;
    let count = bare.keys.len().to_string();
    let script = ["FCALL", bare.name, &count];
    let request = "0123456789abcdef0123456789abcdef";
    let args = ["0", "0", "", request, "", "b__rand_int__", "u__rand_int__"];
    let lines = [r#"{"pools":{"ga":1}}"#, "ga", "1"];
    let keys = bare.keys.iter().map(String::as_str);
    let words = script.iter().copied().chain(keys).chain(args).chain(lines);
    rate(redis, share(RUNS), words, || number(redis, &bare.count.each_ref().map(String::as_str)))
}

/// A line as a sorted set: who comes is added once, and everybody asks for their rank.
pub(super) fn sorted_set(
    redis: &Redis,
    share: impl Fn(u64) -> u64,
    waiting: u64,
) -> Result<Line, String> {
    let member = "u__rand_int__";
    // As many as wait in the other lines, whatever came to the set while it was measured.
    let join = ["ZADD", "joined", "NX", "__rand_int__", member];
    let joined = || number(redis, &["ZCARD", "joined"]);
    let joins = rate(redis, share(RUNS), join.into_iter(), joined)?;
    let fill = "for n = 0, tonumber(ARGV[1]) - 1 do \
                redis.call('ZADD', KEYS[1], n, string.format('u%012d', n)) end";
    ask(redis, &["EVAL", fill, "1", "line", &waiting.to_string()])?;
    let words = ["ZRANK", "line", member];
    benchmark(redis, share(RUNS) / 10 + 1, waiting, &words)?;
    let positions = benchmark(redis, share(RUNS), waiting, &words)?;
    Ok(Line { joins, positions })
}

fn ask(redis: &Redis, words: &[&str]) -> Result<String, String> {
    redis.command(words).map(|text| text.trim().to_owned()).map_err(|error| error.to_string())
}

fn number(redis: &Redis, words: &[&str]) -> Result<u64, String> {
    let text = ask(redis, words)?;
    text.parse().map_err(|_| format!("Redis counts {text:?}"))
}

/// The rate of runs that each count for one in what `done` says.
fn rate<'a>(
    redis: &Redis,
    runs: u64,
    words: impl Iterator<Item = &'a str>,
    done: impl Fn() -> Result<u64, String>,
) -> Result<f64, String> {
    let words: Vec<_> = words.collect();
    // With ids of its own: programs that begin within a second of each other may draw the same numbers.
    let other = format!("9{NUMBER}");
    let others: Vec<_> = words.iter().map(|word| word.replace(NUMBER, &other)).collect();
    let others: Vec<_> = others.iter().map(String::as_str).collect();
    let (before, warm_up) = (done()?, runs / 10 + 1);
    benchmark(redis, warm_up, IDS, &others)?;
    let rate = benchmark(redis, runs, IDS, &words)?;
    all_did(warm_up + runs, done()?.saturating_sub(before))?;
    Ok(rate)
}

/// Whether the runs did what they are measured for: `redis-benchmark` counts any answer.
fn all_did(runs: u64, done: u64) -> Result<(), String> {
    if done * 100 >= runs * DID_PERCENT {
        return Ok(());
    }
    Err(format!("only {done} of {runs} runs of the script did something: their rate says nothing"))
}

/// The words, with numbers below `ids` in place of `__rand_int__`.
fn benchmark(redis: &Redis, runs: u64, ids: u64, words: &[&str]) -> Result<f64, String> {
    let output = Command::new("redis-benchmark")
        .args(["-h", "127.0.0.1", "-q", "-r", &ids.to_string()])
        .args([
            "-p",
            &redis.port().to_string(),
            "-c",
            &CLIENTS.to_string(),
            "-n",
            &runs.to_string(),
        ])
        .args(words)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("redis-benchmark: {error}; install redis-tools"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let said = text.split(['\r', '\n']).rfind(|line| line.contains("requests per second"));
    let rate = said.and_then(|line| line.rsplit_once(": ")?.1.split(' ').next()?.parse().ok());
    rate.ok_or_else(|| format!("redis-benchmark said no rate: {text}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_that_did_nothing_have_no_rate() {
        assert_eq!(all_did(220_000, 219_976), Ok(()), "some ids come twice");
        for done in [0, 130_000, 217_000] {
            let said = all_did(220_000, done).expect_err("too many did nothing");
            assert!(said.contains(&format!("only {done} of 220000")), "{said}");
        }
    }
}
