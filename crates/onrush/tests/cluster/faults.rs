//! What goes wrong in the middle of a sale; in the end every unit is sold, none twice, and all money adds up.

use crate::deployment::{Deployment, RedisKind};
use crate::load::sell_out;
use onrush_testkit::{Missing, NotStarted, Redis, RedisOptions, need};

/// What sets a process' clock wrong.
const FAKETIME: &str = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1";
/// Units there are.
const CAPACITY: u32 = 40;
/// How many are sold when things go wrong.
const THEN: usize = 10;

#[test]
fn redis_that_is_killed_and_comes_back_loses_nothing() {
    let Some(mut deployment) = need(Deployment::start(2)) else { return };
    sell_out(&mut deployment, CAPACITY, |faulty| {
        faulty.sale.until_sold(THEN);
        let redis = faulty.deployment.redis.one();
        redis.kill();
        redis.restart().expect("it starts again");
    });
}

#[test]
fn redis_that_is_flushed_is_filled_again_from_the_archive() {
    let Some(mut deployment) = need(Deployment::start(2)) else { return };
    sell_out(&mut deployment, CAPACITY, |faulty| {
        faulty.sale.until_sold(THEN);
        faulty.deployment.redis.one().command(&["FLUSHALL"]).expect("it forgets everything");
    });
}

#[test]
fn redis_without_any_persistence_comes_back_empty_and_is_filled_again() {
    let redis = Redis::start_with(&RedisOptions::default()).map(RedisKind::One);
    let start = || Deployment::start_with(2, redis?, "");
    let Some(mut deployment) = need(start()) else { return };
    sell_out(&mut deployment, CAPACITY, |faulty| {
        faulty.sale.until_sold(THEN);
        let redis = faulty.deployment.redis.one();
        redis.kill();
        redis.restart().expect("it starts again");
    });
}

#[test]
fn postgres_that_is_killed_and_comes_back_loses_nothing() {
    let Some(mut deployment) = need(Deployment::start(2)) else { return };
    sell_out(&mut deployment, CAPACITY, |faulty| {
        faulty.sale.until_sold(THEN);
        faulty.deployment.postgres.kill();
        faulty.deployment.postgres.restart().expect("it starts again");
    });
}

#[test]
fn connections_to_redis_that_are_cut_again_and_again_repeat_nothing() {
    let Some(mut deployment) = need(Deployment::start(2)) else { return };
    sell_out(&mut deployment, CAPACITY, |faulty| {
        for sold in 1..=THEN {
            faulty.sale.until_sold(sold);
            let kill = ["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"];
            faulty.deployment.redis.one().command(&kill).expect("it cuts them");
        }
    });
}

#[test]
fn node_that_is_killed_leaves_its_buyers_to_the_other() {
    let Some(mut deployment) = need(Deployment::start(2)) else { return };
    sell_out(&mut deployment, CAPACITY, |faulty| {
        faulty.sale.until_sold(THEN);
        // Webhooks go to the one that lives on.
        faulty.deployment.send_webhooks_to(1);
        faulty.deployment.nodes[0].kill();
    });
}

#[test]
fn primary_of_a_redis_cluster_that_is_killed_is_followed_by_its_replica() {
    let start = || Deployment::start_with(2, RedisKind::cluster()?, "");
    let Some(mut deployment) = need(start()) else { return };
    sell_out(&mut deployment, CAPACITY, |faulty| {
        faulty.sale.until_sold(THEN);
        let RedisKind::Cluster(cluster) = &mut faulty.deployment.redis else {
            panic!("it is a cluster");
        };
        cluster.kill_primary_of("{e}").expect("it has a primary");
        cluster.wait_for_failover("{e}").expect("a replica takes over");
    });
}

#[test]
fn nodes_whose_clocks_are_30_seconds_apart_sell_as_one() {
    let start = || {
        let mut deployment = Deployment::start(1)?;
        if !std::path::Path::new(FAKETIME).exists() {
            let install = "On Debian or Ubuntu: sudo apt-get install faketime";
            return Err(NotStarted::Missing(Missing { what: "libfaketime", install }));
        }
        let late = deployment.start_node(|node| {
            node.env("LD_PRELOAD", FAKETIME)
                .env("FAKETIME", "+30s")
                .env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
        });
        deployment.nodes.push(late);
        Ok(deployment)
    };
    let Some(mut deployment) = need(start()) else { return };
    sell_out(&mut deployment, CAPACITY, |_| {});
}
