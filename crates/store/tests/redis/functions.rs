//! Scripts as functions: given to a server that has them not, and done without where it takes none.

use crate::stage::{
    MemoryArchive, confirm_command, flash_sale, free_units, hold, id, open, options,
};
use onrush_core::Command;
use onrush_store::redis::{Options, RedisEngine};
use onrush_store::{Engine, Failure};
use onrush_testkit::{Redis, RedisOptions, need};

/// How often a command was called.
fn calls(redis: &Redis, command: &str) -> u64 {
    let stats = redis.command(&["INFO", "commandstats"]).expect("Redis answers");
    let begin = format!("cmdstat_{command}:calls=");
    let found = stats.lines().find_map(|line| line.strip_prefix(&begin));
    found.map_or(0, |rest| {
        let calls = rest.split(',').next().expect("something stands there");
        calls.parse().expect("a number")
    })
}

#[tokio::test]
async fn functions_that_a_server_lost_are_given_to_it_again() {
    let Some(redis) = need(Redis::start()) else { return };
    let engine = open(&redis, MemoryArchive::new()).await;
    let event = flash_sale(&engine, 10).await;
    for nth in 1..=3 {
        redis.command(&["FUNCTION", "FLUSH"]).expect("Redis answers");
        hold(&engine, &event, "ada", &format!("b{nth}")).await.expect("units are free");
        assert_eq!(free_units(&engine, &event).await, 10 - nth);
    }
    assert_eq!(calls(&redis, "evalsha"), 0);
}

/// A user of an ACL of before may not know of functions yet.
#[tokio::test]
async fn user_without_functions_has_scripts_called_by_their_texts() {
    for rights in ["+@all -function", "+@all -fcall", "+@all -function -fcall"] {
        let acl = format!("user shop on >s3cret ~* &* {rights}");
        let with_acl = RedisOptions { config: vec![acl], ..RedisOptions::default() };
        let Some(redis) = need(Redis::start_with(&with_acl)) else { return };
        let url = redis.url().replace("redis://", "redis://shop:s3cret@");
        let plain = options(&redis, MemoryArchive::new());
        let engine = RedisEngine::open(Options { urls: vec![url], ..plain }).await;
        let engine = engine.expect("the engine begins");
        let event = flash_sale(&engine, 10).await;
        hold(&engine, &event, "ada", "b1").await.expect("units are free");
        assert_eq!(free_units(&engine, &event).await, 9, "{rights}");
        assert!(calls(&redis, "evalsha") > 0, "{rights}");
    }
}

#[tokio::test]
async fn a_full_redis_gives_back_confirms_and_answers() {
    let Some(redis) = need(Redis::start()) else { return };
    let engine = open(&redis, MemoryArchive::new()).await;
    let event = flash_sale(&engine, 10).await;
    for (user, booking) in [("ada", "b1"), ("bob", "b2")] {
        hold(&engine, &event, user, booking).await.expect("units are free");
    }
    redis.command(&["CONFIG", "SET", "maxmemory", "1"]).expect("Redis answers");
    assert_eq!(hold(&engine, &event, "cyd", "b3").await, Err(Failure::DiskLow));
    let execute = |command| engine.execute(event.clone(), command);
    execute(confirm_command("ada", "b1")).await.expect("it is hers");
    execute(Command::Release { booking: id("b2"), user: id("bob") }).await.expect("it is theirs");
    assert_eq!(free_units(&engine, &event).await, 9);
    execute(Command::Pause).await.expect("the organiser may");
}
