//! The same on a Redis Cluster.

use crate::stage::{
    MemoryArchive, TIMEOUT_MS, confirm_command, flash_sale, free_units, free_units_again, hold,
    open, patient, until,
};
use onrush_core::ids::EventId;
use onrush_store::Engine;
use onrush_store::flags::Flag;
use onrush_store::redis::{Options, RedisEngine};
use onrush_testkit::{Redis, RedisCluster, RedisOptions, need};

/// Events lie on different nodes of the cluster, each with all of its keys on one.
#[tokio::test]
async fn events_are_sold_on_a_cluster_also_after_a_node_has_died() {
    let Some(mut cluster) = need(RedisCluster::start()) else { return };
    let archive = MemoryArchive::new();
    let options = patient(cluster.urls(), true, archive.other_node());
    let engine = RedisEngine::open(options).await.expect("the engine begins");
    let mut events = Vec::new();
    for _ in 0..4 {
        events.push(flash_sale(&engine, 10).await);
    }
    for event in &events {
        hold(&engine, event, "ada", "b1").await.expect("units are free");
        engine.execute(event.clone(), confirm_command("ada", "b1")).await.expect("confirmed");
        assert_eq!(free_units(&engine, event).await, 9);
    }
    assert_eq!(engine.events().await.expect("a list").value, events);

    // Transactions find each event's own server.
    let optimistic =
        Options { ticks: false, ..patient(cluster.urls(), true, archive.other_node()) };
    optimistic.flags.set(Flag::LuaAtomic, 0);
    let optimistic = RedisEngine::open(optimistic).await.expect("the engine begins");
    for event in &events {
        hold(&optimistic, event, "cyd", "b3").await.expect("units are free");
        assert_eq!(free_units(&optimistic, event).await, 8);
    }
    optimistic.close().await;

    cluster.wait_until_whole().expect("replicas have all");
    let meta = format!("onrush:{{{}}}:meta", events[0]);
    cluster.kill_primary_of(&meta).expect("somebody serves it");
    cluster.wait_for_failover(&meta).expect("its replica takes over");
    until("the replica", || async { hold(&engine, &events[0], "bob", "b2").await.ok() }).await;
    assert_eq!(free_units_again(&engine, &events[0]).await, 7);
    engine.close().await;
}

/// What lies on the other shards is sold, also if the list of all events is on the one that is gone.
#[tokio::test]
async fn a_lost_shard_takes_only_its_own_events_away() {
    let config = vec!["cluster-require-full-coverage no".to_owned()];
    let options = RedisOptions { config, ..RedisOptions::default() };
    let Some(mut cluster) = need(RedisCluster::start_with(&options)) else { return };
    let archive = MemoryArchive::new();
    let node = |timeout_ms| {
        let usual = patient(cluster.urls(), true, archive.other_node());
        RedisEngine::open(Options { timeout_ms, ..usual })
    };
    let engine = node(TIMEOUT_MS).await.expect("the engine begins");
    // What is gone is asked for until the time is up.
    let impatient = node(1_000).await.expect("the engine begins");
    let lost = cluster.primary_of("onrush:events").expect("somebody serves the list");
    let of = |event: &EventId| cluster.primary_of(&format!("onrush:{{{event}}}:meta"));
    let mut kept = None;
    while kept.is_none() {
        let event = flash_sale(&engine, 10).await;
        kept = (of(&event).expect("somebody serves it") != lost).then_some(event);
    }
    let kept = kept.expect("an event elsewhere");
    engine.reach().await.expect("all shards answer");
    engine.close().await;

    let replicas: Vec<_> = cluster.replicas_of(lost).expect("the cluster says who they are");
    assert!(!replicas.is_empty());
    for gone in replicas.into_iter().chain([lost]) {
        cluster.nodes_mut()[gone].kill();
    }
    until("no list", || async { impatient.events().await.is_err().then_some(()) }).await;
    until("an answer of another shard", || async { impatient.reach().await.ok() }).await;
    until("a hold there", || async { hold(&impatient, &kept, "ada", "b1").await.ok() }).await;
    impatient.close().await;
}

/// Nobody's deadlines may depend on a list that Redis can lose.
#[tokio::test]
async fn an_event_that_the_list_has_lost_is_listed_again() {
    let Some(redis) = need(Redis::start()) else { return };
    let engine = open(&redis, MemoryArchive::new()).await;
    let event = flash_sale(&engine, 10).await;
    redis.command(&["DEL", "onrush:events"]).expect("Redis answers");
    let listed = || async {
        let listed = engine.events().await.expect("a list").value;
        (listed == [event.clone()]).then_some(())
    };
    until("a line in the list", listed).await;
    engine.close().await;
}
