//! The same on a Redis Cluster.

use crate::stage::{MemoryArchive, confirm_command, flash_sale, free_units, hold, until};
use onrush_store::Engine;
use onrush_store::flags::Flag;
use onrush_store::redis::{Options, RedisEngine};
use onrush_testkit::{RedisCluster, need};
use std::sync::Arc;

/// Events lie on different nodes of the cluster, each with all of its keys on one.
#[tokio::test]
async fn events_are_sold_on_a_cluster_also_after_a_node_has_died() {
    let Some(mut cluster) = need(RedisCluster::start()) else { return };
    let archive = MemoryArchive::new();
    let options = Options {
        sweep_ms: 50,
        timeout_ms: 1_000,
        ..Options::new(cluster.urls(), true, Arc::new(archive.other_node()))
    };
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
    let optimistic = Options {
        ticks: false,
        ..Options::new(cluster.urls(), true, Arc::new(archive.other_node()))
    };
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
    assert_eq!(free_units(&engine, &events[0]).await, 7);
    engine.close().await;
}
