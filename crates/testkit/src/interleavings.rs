//! Threads in many orders: shuttle decides at each of its locks and wake-ups who goes on.
//!
//! A failure prints the seed and the schedule; docs/reliability.md says how to run either again.

use shuttle::scheduler::{DfsScheduler, PctScheduler, RandomScheduler, ReplayScheduler};
use shuttle::{Config, Runner};
use std::env;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// Schedules of each kind, random and by priorities, unless `SHUTTLE_SCHEDULES` says how many.
const SCHEDULES: usize = 120;
/// How often a schedule by priorities lets another thread go first.
const PRIORITY_CHANGES: usize = 3;
/// SQLite and the rules need more than shuttle gives a thread by itself.
const STACK_BYTES: usize = 1 << 20;
/// What is more than all interleavings of a test.
const TOO_MANY: usize = 1_000_000;

fn number(variable: &str) -> Option<u64> {
    env::var(variable).ok().map(|text| text.parse().expect("a number"))
}

fn config() -> Config {
    let mut config = Config::new();
    config.stack_size = STACK_BYTES;
    config
}

/// Runs many interleavings from one seed, or the one that `SHUTTLE_SCHEDULE` has.
///
/// # Panics
/// If one of them does, or nobody can go on.
pub fn explore(test: impl Fn() + Send + Sync + 'static) {
    let test = Arc::new(test);
    let again = Arc::clone(&test);
    if let Ok(schedule) = env::var("SHUTTLE_SCHEDULE") {
        let replay = ReplayScheduler::new_from_encoded(&schedule);
        Runner::new(replay, config()).run(move || test());
        return;
    }
    let fresh = || SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_millis();
    let seed =
        number("SHUTTLE_SEED").unwrap_or_else(|| u64::try_from(fresh()).expect("few enough"));
    println!("SHUTTLE_SEED={seed}");
    let count = number("SHUTTLE_SCHEDULES")
        .map_or(SCHEDULES, |count| usize::try_from(count).expect("few enough"));
    Runner::new(RandomScheduler::new_from_seed(seed, count), config()).run(move || test());
    let by_priority = PctScheduler::new_from_seed(seed, PRIORITY_CHANGES, count);
    Runner::new(by_priority, config()).run(move || again());
}

/// Runs every interleaving there is.
///
/// # Panics
/// As [`explore`], and if there are too many.
pub fn exhaust(test: impl Fn() + Send + Sync + 'static) {
    let count = Runner::new(DfsScheduler::new(Some(TOO_MANY), false), config()).run(test);
    println!("{count} interleavings");
    assert!(count < TOO_MANY, "there are more interleavings than {TOO_MANY}");
}
