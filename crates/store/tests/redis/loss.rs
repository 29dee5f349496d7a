//! A Redis that lost its latest changes is found out by the numbers of its decisions.

use crate::stage::{MemoryArchive, flash_sale, hold, open};
use onrush_store::Failure;
use onrush_testkit::{Redis, need};

#[tokio::test]
async fn an_event_that_lost_decisions_answers_nothing_until_it_is_rebuilt() {
    let Some(redis) = need(Redis::start()) else { return };
    let engine = open(&redis, MemoryArchive::new()).await;
    let event = flash_sale(&engine, 10).await;
    hold(&engine, &event, "ada", "b1").await.expect("units are free");
    let meta = format!("onrush:{{{event}}}:meta");
    redis.command(&["HINCRBY", &meta, "seq", "-1"]).expect("Redis answers");
    let asked = hold(&engine, &event, "bob", "b2").await;
    assert!(matches!(asked, Err(Failure::Rebuilding { .. })), "{asked:?}");
}

/// A node that has just begun knows from the archive how far an event had come.
#[tokio::test]
async fn an_event_that_redis_lost_altogether_is_missed_by_a_new_node() {
    let Some(redis) = need(Redis::start()) else { return };
    let archive = MemoryArchive::new();
    let engine = open(&redis, archive.other_node()).await;
    let event = flash_sale(&engine, 10).await;
    engine.close().await;
    let meta = format!("onrush:{{{event}}}:meta");
    redis.command(&["DEL", &meta]).expect("Redis answers");
    let engine = open(&redis, archive.other_node()).await;
    let asked = hold(&engine, &event, "ada", "b1").await;
    assert!(matches!(asked, Err(Failure::Rebuilding { .. })), "{asked:?}");
}
