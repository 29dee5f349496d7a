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

/// The rate of a plain script.
pub(super) fn reserve(redis: &Redis, share: impl Fn(u64) -> u64) -> Result<f64, String> {
    ask(redis, &["SET", "zone:availability:ga", "1000000000"])?;
    let sha = ask(redis, &["SCRIPT", "LOAD", include_str!("reserve_plain.lua")])?;
    let user = "u__rand_int__";
    let booking = "b__rand_int__";
    let users = format!("user:reservations:{user}:e");
    let reservation = format!("reservation:{booking}");
    let script = ["EVALSHA", &sha, "3", "zone:availability:ga", &users, &reservation];
    let args = ["1", "4", user, booking, "ga", "e", "show", "15000", "600"];
    rate(redis, share(RUNS), script.iter().chain(&args).copied())
}

/// The rate of our own hold's script, for an event that is on sale.
pub(super) fn hold(
    redis: &Redis,
    event: &EventId,
    share: impl Fn(u64) -> u64,
) -> Result<f64, String> {
    let bare = BareHold::new(event);
    ask(redis, &["FUNCTION", "LOAD", "REPLACE", bare.library])?;
    let count = bare.keys.len().to_string();
    let script = ["FCALL", bare.name, &count];
    let request = "0123456789abcdef0123456789abcdef";
    let args = ["0", "0", "", request, "", "b__rand_int__", "u__rand_int__"];
    let lines = [r#"{"pools":{"ga":1}}"#, "ga", "1"];
    let keys = bare.keys.iter().map(String::as_str);
    rate(redis, share(RUNS), script.iter().copied().chain(keys).chain(args).chain(lines))
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
    let joins = rate(redis, share(RUNS), join.into_iter())?;
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

fn rate<'a>(redis: &Redis, runs: u64, words: impl Iterator<Item = &'a str>) -> Result<f64, String> {
    let words: Vec<_> = words.collect();
    benchmark(redis, runs / 10 + 1, IDS, &words)?;
    benchmark(redis, runs, IDS, &words)
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
