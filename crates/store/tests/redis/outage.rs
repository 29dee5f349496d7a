//! A Redis that does not answer, or not any more.

use crate::stage::{MemoryArchive, flash_sale, free_units, hold, open, options, until};
use onrush_core::Command;
use onrush_store::redis::{Options, RedisEngine};
use onrush_store::{Engine, Failure, Hindrance};
use onrush_testkit::{Log, Redis, RedisOptions, need};
use std::time::{Duration, Instant};

/// A node that does only what it is asked to.
fn quiet(options: Options) -> Options {
    Options { ticks: false, ..options }
}

/// Longer than the engine's own limit, and short enough to tell that there is one: without it an answer
/// is waited for half a minute.
fn in_time(begun: Instant) -> bool {
    begun.elapsed() < Duration::from_secs(20)
}

#[tokio::test]
async fn who_asks_a_redis_that_hangs_is_told_so_in_time() {
    let Some(mut redis) = need(Redis::start()) else { return };
    let archive = MemoryArchive::new();
    let patient = open(&redis, archive.other_node()).await;
    let event = flash_sale(&patient, 10).await;
    let options = quiet(options(&redis, archive.other_node()));
    // It is asked only what nobody answers, or again and again.
    let engine = RedisEngine::open(Options { timeout_ms: 500, ..options }).await;
    let engine = engine.expect("it begins");
    redis.pause();
    let begun = Instant::now();
    assert_eq!(hold(&engine, &event, "ada", "b1").await, Err(Failure::Unreachable));
    assert!(in_time(begun), "the caller waited for {:?}", begun.elapsed());
    redis.resume();
    // The hold that nobody answered may have been placed: the same one again is the same hold.
    until("Redis", || async { hold(&engine, &event, "ada", "b1").await.ok() }).await;
    assert_eq!(free_units(&patient, &event).await, 9);
}

#[tokio::test]
async fn a_redis_that_comes_back_is_used_again() {
    let kept = RedisOptions { appendonly: true, ..RedisOptions::default() };
    let Some(mut redis) = need(Redis::start_with(&kept)) else { return };
    let archive = MemoryArchive::new();
    let engine = RedisEngine::open(quiet(options(&redis, archive))).await.expect("it begins");
    let event = flash_sale(&engine, 10).await;
    hold(&engine, &event, "ada", "b1").await.expect("units are free");
    redis.kill();
    for _ in 0..3 {
        let begun = Instant::now();
        assert_eq!(hold(&engine, &event, "bob", "b2").await, Err(Failure::Unreachable));
        assert!(in_time(begun), "the caller waited for {:?}", begun.elapsed());
    }
    redis.restart().expect("it starts again");
    until("Redis", || async { hold(&engine, &event, "bob", "b2").await.ok() }).await;
    assert_eq!(free_units(&engine, &event).await, 8);
}

#[tokio::test]
async fn a_connection_that_was_refused_in_the_outage_answers_the_first_to_ask_afterwards() {
    let kept = RedisOptions { appendonly: true, ..RedisOptions::default() };
    let Some(mut redis) = need(Redis::start_with(&kept)) else { return };
    let one = |archive| Options { connections: 1, ..quiet(options(&redis, archive)) };
    let engine = RedisEngine::open(one(MemoryArchive::new())).await.expect("it begins");
    let other = RedisEngine::open(one(MemoryArchive::new())).await.expect("it begins");
    let event = flash_sale(&engine, 10).await;
    hold(&engine, &event, "ada", "b1").await.expect("units are free");
    redis.kill();
    assert_eq!(hold(&engine, &event, "bob", "b2").await, Err(Failure::Unreachable));
    // Its connection is tried again by itself, and has been when the other's has been some times.
    for _ in 0..4 {
        assert_eq!(hold(&other, &event, "bob", "b2").await, Err(Failure::Unreachable));
    }
    redis.restart().expect("it starts again");
    hold(&engine, &event, "bob", "b2").await.expect("Redis answers");
    assert_eq!(free_units(&engine, &event).await, 8);
}

#[tokio::test]
async fn a_full_redis_sells_nothing_new_and_changes_nothing() {
    let Some(redis) = need(Redis::start()) else { return };
    let engine = open(&redis, MemoryArchive::new()).await;
    let event = flash_sale(&engine, 10).await;
    hold(&engine, &event, "ada", "b1").await.expect("units are free");
    redis.command(&["CONFIG", "SET", "maxmemory", "1"]).expect("Redis answers");
    assert!(!engine.is_full(), "nobody was refused yet");
    let (log, _guard) = Log::begin(tracing::Level::ERROR);
    for buyer in ["bob", "cyd", "dan"] {
        assert_eq!(hold(&engine, &event, buyer, "b2").await, Err(Failure::DiskLow));
    }
    assert_eq!(log.count("raise its maxmemory"), 1, "once for all buyers: {}", log.text());
    assert!(engine.is_full());
    engine.reach().await.expect("most of the sale goes on");
    redis.command(&["CONFIG", "SET", "maxmemory", "0"]).expect("Redis answers");
    assert_eq!(free_units(&engine, &event).await, 9, "nothing was taken");
    let release =
        Command::Release { booking: crate::stage::id("b1"), user: crate::stage::id("ada") };
    engine.execute(event.clone(), release).await.expect("all is as it was");
}

/// As after a failover of two servers, of which each waits for a replica before it writes.
#[tokio::test]
async fn a_redis_that_answers_and_takes_no_writes_is_away_and_says_why() {
    let Some(redis) = need(Redis::start()) else { return };
    // Its own looks at each sweep would be in the way of those that are compared.
    let quiet = quiet(options(&redis, MemoryArchive::new()));
    let engine = RedisEngine::open(quiet).await.expect("it begins");
    let event = flash_sale(&engine, 10).await;
    engine.reach().await.expect("it takes all");
    assert_eq!(engine.hindrance(), None);
    for (hinder, mend, found) in [
        (
            ["CONFIG", "SET", "min-replicas-to-write", "1"].as_slice(),
            ["CONFIG", "SET", "min-replicas-to-write", "0"].as_slice(),
            Hindrance::FewReplicas,
        ),
        (
            ["REPLICAOF", "127.0.0.1", "1"].as_slice(),
            ["REPLICAOF", "NO", "ONE"].as_slice(),
            Hindrance::IsReplica,
        ),
    ] {
        redis.command(hinder).expect("Redis answers");
        assert_eq!(engine.reach().await.map(drop), Err(Failure::Unreachable), "{found:?}");
        assert_eq!(engine.hindrance(), Some(found));
        assert_eq!(hold(&engine, &event, "ada", "b1").await, Err(Failure::Unreachable));
        assert_eq!(free_units(&engine, &event).await, 10, "what only reads is answered");
        redis.command(mend).expect("Redis answers");
        until("a Redis that takes writes", || async { engine.reach().await.ok() }).await;
        assert_eq!(engine.hindrance(), None);
    }
    hold(&engine, &event, "ada", "b1").await.expect("units are free");
}
