//! Flags that are switched while people join and hold: nothing is lost, and the order stays.

use crate::stage::{id, lines};
use crate::world::{Node, World, event, key, place, settings, user};
use futures_util::future::join_all;
use onrush_core::ids::{PlaceId, UserId};
use onrush_core::settings::RoomSettings;
use onrush_core::snapshot::SnapshotRow;
use onrush_core::spec::{PoolSpec, Reason};
use onrush_core::types::AskedTypes;
use onrush_core::view::PlaceView;
use onrush_core::{Command, Refusal, Reply};
use onrush_store::flags::Flag;
use onrush_store::redis::{Probe, SeatSpecs};
use onrush_store::{Engine, Failure};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

const UNITS: usize = 50;
/// Users in the room, who want a unit each.
const BUYERS: usize = 80;
/// Users who come later, and take two places each.
const VISITORS: usize = 96;
const TASKS: usize = 8;
/// Operations between two switches.
const SWITCH_EVERY: usize = 3;

fn hold_of(number: usize) -> Command {
    let (booking, user) = (id(&format!("b-{number}")), user(number));
    Command::Hold {
        booking,
        user,
        lines: lines(1),
        channels: Vec::new(),
        types: AskedTypes::default(),
    }
}

fn joiner(number: usize) -> UserId {
    user(1_000 + number)
}

/// A user's first and second place.
fn places(number: usize) -> [PlaceId; 2] {
    [place(10_000 + 2 * number), place(10_001 + 2 * number)]
}

/// A sale of the last units: all buyers are in the room, and whoever joins now waits.
async fn last_units(world: &World, node: &Node) {
    let room = RoomSettings {
        capacity: BUYERS as u32,
        places_per_user: 2,
        outflow_per_min: None,
        ..RoomSettings::default()
    };
    node.create(settings(room)).await;
    let spec = PoolSpec { pool: id("ga"), capacity: BUYERS as u32, price_minor: 1_250 };
    node.done(Command::AddPool { spec }).await;
    node.done(Command::OpenPrequeue).await;
    for number in 0..BUYERS {
        node.join(place(number), user(number)).await.expect("joined");
    }
    node.open_sale().await;
    node.tick(world, BUYERS + 1).await;
    assert_eq!(world.ask(&["HLEN", &key("sessions")]), BUYERS.to_string(), "all are in the room");
    // Nobody is let in to nothing: the units for which there are too many go once they are inside.
    let reason = Reason { by: "box office".into(), why: "fewer chairs".into() };
    let (pool, capacity) = (id("ga"), UNITS as u32);
    node.done(Command::AdjustCapacity { pool, capacity, reason }).await;
}

/// What one task was told.
#[derive(Default)]
struct Told {
    held: usize,
    sold_out: usize,
    joined: Vec<(usize, PlaceView)>,
}

/// Holds and joins in turn, on one node and the other.
async fn buy_and_join(nodes: &[Node; 2], task: usize, done: mpsc::UnboundedSender<()>) -> Told {
    let mut told = Told::default();
    let mine = |number: &usize| number % TASKS == task;
    let (mut buyers, mut visitors) = ((0..BUYERS).filter(mine), (0..VISITORS).filter(mine));
    let mut turn = task;
    loop {
        let (buyer, visitor) = (buyers.next(), visitors.next());
        if buyer.is_none() && visitor.is_none() {
            return told;
        }
        turn += 1;
        if let Some(number) = buyer {
            match nodes[turn % 2].run(hold_of(number)).await {
                Ok(Reply::Hold(_)) => told.held += 1,
                Err(refusal) => {
                    let pool = id("ga");
                    assert_eq!(refusal, Refusal::InsufficientStock { pool, free: 0 });
                    told.sold_out += 1;
                }
                Ok(other) => panic!("a hold is answered by {other:?}"),
            }
            done.send(()).expect("somebody counts");
        }
        if let Some(number) = visitor {
            for (nth, place) in places(number).into_iter().enumerate() {
                let node = &nodes[(turn + nth) % 2];
                told.joined.push((number, node.join(place, joiner(number)).await.expect("joined")));
                done.send(()).expect("somebody counts");
            }
            let [first, _] = places(number);
            let again = nodes[turn % 2].join(first, joiner(number)).await;
            assert_eq!(again, Err(Refusal::Duplicate { place: first }));
            let served_first = nodes[turn % 2].place(joiner(number), None).await;
            assert_eq!(served_first.expect("they wait").place, first);
            done.send(()).expect("somebody counts");
        }
    }
}

/// Switches every flag of every node after every few operations, until there are no more.
async fn switch(nodes: &[Node; 2], mut done: mpsc::UnboundedReceiver<()>) -> usize {
    let mut switched = 0;
    let mut operations = 0_usize;
    while done.recv().await.is_some() {
        operations += 1;
        if !operations.is_multiple_of(SWITCH_EVERY) {
            continue;
        }
        for (nth, flag) in Flag::ALL.into_iter().enumerate() {
            for (which, node) in nodes.iter().enumerate() {
                // All settings of the flags come together, as the turns of three, nine and six wheels do.
                let turn = switched / [1, 3, 2][nth] + nth + which;
                node.flags.set(flag, [0, 50, 100][turn % 3]);
            }
        }
        switched += 1;
    }
    switched
}

/// How often the server ran a command.
fn calls_of(world: &World, command: &str) -> u64 {
    let stats = world.ask(&["INFO", "commandstats"]);
    let begin = format!("cmdstat_{command}:calls=");
    let line = stats.lines().find_map(|line| line.strip_prefix(&begin));
    let count = line.and_then(|rest| rest.split(',').next());
    count.map_or(0, |count| count.parse().expect("a number"))
}

/// Redis has what the archived decisions add up to, numbered without a gap.
async fn assert_agrees_with_its_feed(world: &World) {
    let entries = world.decisions().await;
    let numbers: Vec<u64> = entries.iter().map(|entry| entry.seq.0).collect();
    assert_eq!(numbers, (1..=entries.len() as u64).collect::<Vec<_>>(), "no gap, nothing twice");
    let by_the_rules = world.by_the_rules().await;
    let mut probe = Probe::open(&[world.redis.url()], false).await.expect("Redis answers");
    probe.look_at(event());
    assert_eq!(probe.differences(&by_the_rules).await, Ok(Vec::new()));
    let expected: Vec<SnapshotRow> = by_the_rules.snapshot().collect();
    assert_eq!(probe.rows(&SeatSpecs::new()).await.expect("rows"), expected);
}

/// Two nodes sell the last units and take people into one queue while every flag goes back and forth.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn flags_that_go_back_and_forth_under_load_lose_nothing_and_keep_the_order() {
    let Some(world) = World::start() else { return };
    let nodes = [world.node().await, world.node().await];
    last_units(&world, &nodes[0]).await;

    let (done, operations) = mpsc::unbounded_channel();
    let nodes = Arc::new(nodes);
    let switching = tokio::spawn({
        let nodes = Arc::clone(&nodes);
        async move { switch(&nodes, operations).await }
    });
    let tasks = (0..TASKS).map(|task| {
        let (nodes, done) = (Arc::clone(&nodes), done.clone());
        tokio::spawn(async move { buy_and_join(&nodes, task, done).await })
    });
    let tasks: Vec<_> = tasks.collect();
    drop(done);
    let told: Vec<Told> =
        join_all(tasks).await.into_iter().map(|told| told.expect("a task ends")).collect();
    let switched = switching.await.expect("it ends");
    assert!(switched >= (BUYERS + 3 * VISITORS) / SWITCH_EVERY, "switched {switched} times");
    for command in ["watch", "exec", "evalsha"] {
        assert!(calls_of(&world, command) >= 50, "{command} is used: both ways were gone");
    }

    let held: usize = told.iter().map(|told| told.held).sum();
    let sold_out: usize = told.iter().map(|told| told.sold_out).sum();
    assert_eq!((held, sold_out), (UNITS, BUYERS - UNITS));
    assert_eq!(
        world.ask(&["HGET", &key("pools"), "ga"]),
        format!("0 {UNITS} 1250 {UNITS} 0 0 0 0"),
        "every unit is held"
    );

    let mut joined: Vec<(usize, PlaceView)> =
        told.into_iter().flat_map(|told| told.joined).collect();
    joined.sort_by_key(|(_, view)| view.number);
    let numbers: Vec<u32> = joined.iter().map(|(_, view)| view.number).collect();
    let first = BUYERS as u32 + 1;
    assert_eq!(numbers, (first..first + 2 * VISITORS as u32).collect::<Vec<_>>());
    for (expected, (number, view)) in (1..).zip(&joined) {
        let position = nodes[0].position(joiner(*number), view.place).await;
        assert_eq!(position, expected, "place {} stands where it came", view.number);
    }
    assert_agrees_with_its_feed(&world).await;
}

/// Somebody changes the event whenever a transaction wants to: all are lost, and nobody is turned
/// away for it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transaction_that_always_loses_is_run_as_a_script() {
    let Some(world) = World::start() else { return };
    let node = world.node().await;
    last_units(&world, &node).await;
    node.flags.set(Flag::LuaAtomic, 0);
    let probe = Probe::open(&[world.redis.url()], false).await.expect("Redis answers");
    let stop = Arc::new(AtomicBool::new(false));
    let meddling = tokio::spawn({
        let stop = Arc::clone(&stop);
        async move {
            let begun = Instant::now();
            let meta = key("meta");
            while !stop.load(Ordering::Relaxed) && begun.elapsed() < Duration::from_secs(60) {
                let words = ["HINCRBY", &meta, "meddled", "1"];
                join_all((0..8).map(|_| probe.raw(&words))).await;
            }
        }
    });
    for number in 0..20 {
        let reply = node.done(hold_of(number)).await;
        assert!(matches!(reply, Reply::Hold(_)), "{reply:?}");
    }
    stop.store(true, Ordering::Relaxed);
    meddling.await.expect("it ends");
    assert!(calls_of(&world, "watch") > 20, "races were lost");
    assert_eq!(world.ask(&["HLEN", &key("holds")]), "20");
    assert_agrees_with_its_feed(&world).await;
}

/// A stream of a user's places can be left over from decisions that Redis lost: it is written anew,
/// either way.
#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_is_left_over_is_written_anew_also_by_a_transaction() {
    let Some(world) = World::start() else { return };
    let node = world.node().await;
    last_units(&world, &node).await;
    for percent in [100, 0] {
        node.flags.set(Flag::LuaAtomic, percent);
        let number = usize::from(percent);
        let stream = format!("stream:event:{{{}}}:user:{}", event(), joiner(number));
        world.ask(&["XADD", &stream, "99999-0", "token", "stale"]);
        let [first, second] = places(number);
        for place in [first, second] {
            node.join(place, joiner(number)).await.expect("joined");
        }
        let entries = world.ask(&["XRANGE", &stream, "-", "+"]);
        let tokens: Vec<&str> = entries
            .lines()
            .zip(entries.lines().skip(1))
            .filter_map(|(field, token)| (field == "token").then_some(token))
            .collect();
        assert_eq!(tokens, [first.to_string(), second.to_string()], "at {percent} %");
    }
    assert_agrees_with_its_feed(&world).await;
}

/// What a full server says is said, whichever way it was asked.
#[tokio::test]
async fn a_full_redis_takes_no_transaction_and_changes_nothing() {
    let Some(world) = World::start() else { return };
    let node = world.node().await;
    last_units(&world, &node).await;
    node.flags.set(Flag::LuaAtomic, 0);
    node.done(hold_of(0)).await;
    let another = || Command::Hold {
        booking: id("another"),
        user: user(0),
        lines: lines(1),
        channels: Vec::new(),
        types: AskedTypes::default(),
    };
    world.ask(&["CONFIG", "SET", "maxmemory", "1"]);
    let refused = node.engine.execute(event(), another()).await.expect_err("nothing is sold");
    assert_eq!(refused, Failure::DiskLow);
    world.ask(&["CONFIG", "SET", "maxmemory", "0"]);
    assert_eq!(world.ask(&["HLEN", &key("holds")]), "1", "nothing was taken");
    node.done(another()).await;
    assert_agrees_with_its_feed(&world).await;
}
