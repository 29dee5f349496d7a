//! Scripts as functions: taken by Redis, given to a server that has them not, and done without where it
//! takes none.

use crate::stage::{
    MemoryArchive, confirm_command, flash_sale, free_units, hold, id, open, options,
};
use crate::world::{NOON, World, event, place, user};
use onrush_core::Command;
use onrush_core::settings::RoomSettings;
use onrush_core::view::PlaceState;
use onrush_store::redis::{BareHold, GivenScript, Options, Probe, RedisEngine};
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

#[test]
fn every_script_is_a_function_and_a_text_that_redis_takes() {
    let Some(redis) = need(Redis::start()) else { return };
    for GivenScript { name, function, library, sha, text } in Probe::scripts() {
        let loaded = redis.command(&["FUNCTION", "LOAD", library]);
        let loaded = loaded.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(loaded.trim(), function, "{name}");
        let loaded = redis.command(&["SCRIPT", "LOAD", text]);
        let loaded = loaded.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(loaded.trim(), sha, "{name}");
    }
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

/// A Redis, and an engine whose user may do this there.
async fn open_with(rights: &str) -> Option<(Redis, RedisEngine)> {
    let acl = format!("user shop on >s3cret ~* &* {rights}");
    let with_acl = RedisOptions { config: vec![acl], ..RedisOptions::default() };
    let redis = need(Redis::start_with(&with_acl))?;
    let url = redis.url().replace("redis://", "redis://shop:s3cret@");
    let plain = options(&redis, MemoryArchive::new());
    let engine = RedisEngine::open(Options { urls: vec![url], ..plain }).await;
    Some((redis, engine.expect("the engine begins")))
}

/// A user of an ACL of before may not know of functions yet.
#[tokio::test]
async fn user_without_functions_has_scripts_called_by_their_texts() {
    for rights in ["+@all -function", "+@all -fcall", "+@all -function -fcall"] {
        let Some((redis, engine)) = open_with(rights).await else { return };
        let event = flash_sale(&engine, 10).await;
        hold(&engine, &event, "ada", "b1").await.expect("units are free");
        assert_eq!(free_units(&engine, &event).await, 9, "{rights}");
        assert!(calls(&redis, "evalsha") > 0, "{rights}");
    }
}

#[tokio::test]
async fn a_full_redis_gives_back_confirms_and_answers_by_functions_and_by_texts() {
    for rights in ["+@all", "+@all -function -fcall"] {
        let Some((redis, engine)) = open_with(rights).await else { return };
        let event = flash_sale(&engine, 10).await;
        for (user, booking) in [("ada", "b1"), ("bob", "b2")] {
            hold(&engine, &event, user, booking).await.expect("units are free");
        }
        redis.command(&["CONFIG", "SET", "maxmemory", "1"]).expect("Redis answers");
        let refused = hold(&engine, &event, "cyd", "b3").await;
        assert_eq!(refused, Err(Failure::DiskLow), "{rights}");
        let execute = |command| engine.execute(event.clone(), command);
        execute(confirm_command("ada", "b1")).await.expect("it is hers");
        let release = Command::Release { booking: id("b2"), user: id("bob") };
        execute(release).await.expect("it is theirs");
        assert_eq!(free_units(&engine, &event).await, 9, "{rights}");
        execute(Command::Pause).await.expect("the organiser may");
        execute(Command::Resume).await.expect("the organiser may");
    }
}

/// Whoever is let in would lose their turn as one who never came.
#[tokio::test]
async fn whoever_is_admitted_may_arrive_at_a_full_redis() {
    let Some(world) = World::start() else { return };
    let node = world.node().await;
    world.set_clock(NOON);
    node.prequeue(RoomSettings { capacity: 2, ..RoomSettings::default() }).await;
    node.join(place(0), user(0)).await.expect("joined");
    node.open_sale().await;
    node.tick(&world, 10).await;
    let state = node.place(user(0), None).await.expect("the place is there").state;
    assert!(matches!(state, PlaceState::Active { .. }), "{state:?}");
    world.ask(&["CONFIG", "SET", "maxmemory", "1"]);
    node.done(Command::Arrive { place: place(0), user: user(0) }).await;
    let join = Command::Join { place: place(1), user: user(1) };
    let refused = node.engine.execute(event(), join).await.expect_err("nobody joins");
    assert_eq!(refused, Failure::DiskLow);
    node.done(Command::Tick).await;
}

/// Measurements call the function for longer than an event may be left alone.
#[tokio::test]
async fn bare_hold_of_an_event_that_nobody_runs_holds() {
    let Some(world) = World::start() else { return };
    let node = world.node().await;
    let bare = BareHold::new(&flash_sale(&node.engine, 10).await);
    world.ask(&["FUNCTION", "LOAD", "REPLACE", bare.library]);
    let count = bare.keys.len().to_string();
    let request = "0123456789abcdef0123456789abcdef";
    let args = ["0", "0", "", request, "", "b1", "ada", r#"{"pools":{"ga":1}}"#, "ga", "1"];
    let keys = bare.keys.iter().map(String::as_str);
    let call: Vec<_> = ["FCALL", bare.name, &count].into_iter().chain(keys).chain(args).collect();
    let held = || world.ask(&bare.count.each_ref().map(String::as_str));

    let [_, meta, ..] = &bare.unattended;
    world.ask(&["HSET", meta, "alive", "1"]);
    let answer = world.ask(&call);
    assert!(answer.starts_with("away"), "{answer}");
    assert_eq!(held(), "0");

    world.ask(&bare.unattended.each_ref().map(String::as_str));
    let answer = world.ask(&call);
    assert!(answer.starts_with("ok"), "{answer}");
    assert_eq!(held(), "1");
}
