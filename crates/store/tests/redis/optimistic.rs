//! Joins and holds as optimistic transactions: the same outcome, however many compete.

use crate::stage::{
    MemoryArchive, done, flash_sale, free_units, hold, id, new_event, options, place, settings,
    until,
};
use futures_util::future::join_all;
use onrush_core::view::PlaceView;
use onrush_core::{Command, Refusal};
use onrush_store::flags::Flag;
use onrush_store::redis::{Options, RedisEngine};
use onrush_store::{Ask, Failure};
use onrush_testkit::{Redis, need};
use std::collections::BTreeSet;

async fn optimistic(redis: &Redis, archive: MemoryArchive) -> RedisEngine {
    let options = Options { ticks: false, ..options(redis, archive) };
    options.flags.set(Flag::LuaAtomic, 0);
    RedisEngine::open(options).await.expect("the engine begins")
}

/// Two nodes race with transactions and a third runs scripts in between: nobody gets what is not there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_unit_is_sold_twice_by_transactions_that_race() {
    const UNITS: u32 = 40;
    let Some(redis) = need(Redis::start()) else { return };
    let archive = MemoryArchive::new();
    let usual = Options { ticks: false, ..options(&redis, archive.other_node()) };
    let nodes = [
        optimistic(&redis, archive.other_node()).await,
        optimistic(&redis, archive.other_node()).await,
        RedisEngine::open(usual).await.expect("the engine begins"),
    ];
    let event = flash_sale(&nodes[2], UNITS).await;
    let asked = (0..3 * UNITS as usize).map(|n| {
        // Scripts are faster: with more of them nothing would be left to the transactions.
        let node = if n % 10 == 9 { &nodes[2] } else { &nodes[n % 2] };
        let event = &event;
        async move {
            let (user, booking) = (format!("u{n}"), format!("b{n}"));
            loop {
                match hold(node, event, &user, &booking).await {
                    Err(Failure::Busy { .. }) => {}
                    outcome => return outcome,
                }
            }
        }
    });
    let outcomes = join_all(asked).await;
    let held = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
    let sold_out = Failure::Refused(Refusal::InsufficientStock { pool: id("ga"), free: 0 });
    let refused = outcomes.iter().filter(|outcome| **outcome == Err(sold_out.clone())).count();
    assert_eq!((held, refused), (UNITS as usize, 2 * UNITS as usize));
    assert_eq!(free_units(&nodes[0], &event).await, 0);
    let made = redis.command(&["INFO", "commandstats"]).expect("Redis answers");
    assert!(made.contains("cmdstat_exec:"), "some of it was done in transactions");
    // Each hold is one decision, numbered without a gap.
    until("all in the archive", || async {
        (archive.of_event(&event).len() == 3 + UNITS as usize).then_some(())
    })
    .await;
    for node in nodes {
        node.close().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn places_of_transactions_that_race_have_different_numbers() {
    const JOINS: u32 = 40;
    let Some(redis) = need(Redis::start()) else { return };
    let archive = MemoryArchive::new();
    let nodes = [
        optimistic(&redis, archive.other_node()).await,
        optimistic(&redis, archive.other_node()).await,
    ];
    let event = new_event();
    done(&nodes[0], &event, Command::CreateEvent { settings: Box::new(settings()) }).await;
    done(&nodes[0], &event, Command::OpenPrequeue).await;
    let asked = (0..JOINS).map(|n| {
        let (node, event) = (&nodes[n as usize % 2], &event);
        async move {
            let join = Command::Join { place: place(u128::from(n)), user: id(&format!("u{n}")) };
            loop {
                match node.run::<PlaceView>(event.clone(), join.clone()).await {
                    Ok(answer) => return answer.value.number,
                    Err(Failure::Busy { .. }) => {}
                    Err(failure) => panic!("{failure}"),
                }
            }
        }
    });
    let numbers: BTreeSet<u32> = join_all(asked).await.into_iter().collect();
    assert_eq!(numbers, (1..=JOINS).collect());
    for node in nodes {
        node.close().await;
    }
}
