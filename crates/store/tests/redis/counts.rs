//! The counts that people are let in by.

use crate::stage::{id, lines};
use crate::world::{NOON, Node, World, key, place, settings, user};
use onrush_core::channels::ChannelSpec;
use onrush_core::prices::Priced;
use onrush_core::settings::{RoomSettings, Settings};
use onrush_core::spec::{PoolSpec, Reason};
use onrush_core::types::AskedTypes;
use onrush_core::user_limits::UserLimit;
use onrush_core::{Command, Refusal};

async fn join(node: &Node, users: std::ops::Range<usize>) {
    for number in users {
        node.join(place(number), user(number)).await.expect("joined");
    }
}

/// Sessions that Redis has.
fn inside(world: &World) -> usize {
    world.ask(&["HLEN", &key("sessions")]).trim().parse().expect("a number")
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_older_version_did_not_count_is_counted_by_the_next_tick() {
    let Some(world) = World::start() else { return };
    let node = world.node().await;
    world.set_clock(NOON);
    node.create(settings(RoomSettings::default())).await;
    let spec = PoolSpec { pool: id("ga"), capacity: 5, price_minor: 0 };
    node.done(Command::AddPool { spec }).await;
    node.done(Command::OpenSale { seed: None, public_value: None }).await;
    join(&node, 0..2).await;
    node.tick(&world, 2).await;
    assert_eq!(inside(&world), 2);
    world.ask(&["HDEL", &key("meta"), "units_free", "choosing"]);

    let hold = Command::Hold {
        booking: id("b-0"),
        user: user(0),
        lines: lines(2),
        channels: Vec::new(),
        types: AskedTypes::default(),
    };
    node.done(hold).await;
    let counted = world.ask(&["HMGET", &key("meta"), "units_free", "choosing"]);
    assert_eq!(counted.trim(), "", "what was not counted does not go on");
    join(&node, 2..9).await;
    node.tick(&world, 3).await;
    let counted = world.ask(&["HMGET", &key("meta"), "units_free", "choosing"]);
    assert_eq!(counted.split_whitespace().collect::<Vec<_>>(), ["3", "3"]);
    assert_eq!(inside(&world), 4, "three are left for three, and one has what they want");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_blocked_is_not_read_for_people_whom_no_channel_lets_in() {
    const TICKS: u64 = 5;
    let Some(world) = World::start() else { return };
    let node = world.node().await;
    world.set_clock(NOON);
    node.create(settings(RoomSettings::default())).await;
    let spec = PoolSpec { pool: id("ga"), capacity: 3, price_minor: 0 };
    node.done(Command::AddPool { spec }).await;
    let reason = || Reason { by: "ann".into(), why: "a sponsor".into() };
    let channel = |queued| {
        let (channel, quota, codes, release) = (id("fans"), None, Vec::new(), None);
        let spec = ChannelSpec { channel, quota, codes, queued, release };
        Command::SetChannel { spec, reason: reason() }
    };
    node.done(channel(false)).await;
    let to = Some(id("fans"));
    node.done(Command::Allot { lines: lines(2), from: None, to, reason: reason() }).await;
    node.done(Command::OpenSale { seed: None, public_value: None }).await;
    join(&node, 0..3).await;
    node.tick(&world, 5).await;
    assert_eq!(inside(&world), 1, "one unit is everybody's");

    world.ask(&["CONFIG", "RESETSTAT"]);
    for _ in 0..TICKS {
        node.done(Command::Tick).await;
    }
    let [hgetall] = world.calls(["hgetall"]);
    assert!(hgetall <= 2 * TICKS, "two looks a tick, at the channels alone: {hgetall}");
    // Whoever may use a channel that is queued comes through the room.
    node.done(channel(true)).await;
    node.tick(&world, 5).await;
    assert_eq!(inside(&world), 3);
}

/// An older version did not know of which pool a user's claimed units are.
#[tokio::test(flavor = "multi_thread")]
async fn claims_that_an_older_version_did_not_count_by_pool_count_for_its_limit() {
    let Some(world) = World::start() else { return };
    let node = world.node().await;
    world.set_clock(NOON);
    let limit = UserLimit { of: Priced::Pool(id("ga")), ticket_type: None, max_per_user: 2 };
    let plain = settings(RoomSettings::default());
    node.create(Settings { room: None, limits: vec![limit.clone()], ..plain }).await;
    for pool in ["ga", "vip"] {
        let spec = PoolSpec { pool: id(pool), capacity: 9, price_minor: 0 };
        node.done(Command::AddPool { spec }).await;
    }
    node.done(Command::OpenSale { seed: None, public_value: None }).await;
    let claim = |claim: &str, pool: &str| Command::Claim {
        claim: id(claim),
        user: user(0),
        pool: id(pool),
        quantity: 1,
        ttl_ms: None,
    };
    let of_user = || world.ask(&["HGET", &key("users"), user(0).as_str()]).trim().to_owned();
    for (nth, pool) in ["vip", "ga", "vip"].into_iter().enumerate() {
        node.done(claim(&format!("c-{nth}"), pool)).await;
    }
    assert_eq!(of_user(), "3||||ga:1,vip:2");
    world.ask(&["HSET", &key("users"), user(0).as_str(), "3||"]);
    let hold = |booking: &str, quantity| Command::Hold {
        booking: id(booking),
        user: user(0),
        lines: lines(quantity),
        channels: Vec::new(),
        types: AskedTypes::default(),
    };
    let UserLimit { of, ticket_type, max_per_user: limit } = limit;
    let refusal = |held| Refusal::UserLimitExceeded {
        limit,
        held,
        of: Some(of.clone()),
        ticket_type: ticket_type.clone(),
    };
    assert_eq!(node.run(hold("b-0", 2)).await, Err(refusal(1)));
    node.done(hold("b-0", 1)).await;
    assert_eq!(of_user(), "4||b-0|0|ga:1,vip:2", "whoever looked at all claims keeps the count");
    assert_eq!(node.run(claim("c-3", "ga")).await, Err(refusal(2)));
    node.done(Command::Declaim { claim: id("c-1"), user: user(0) }).await;
    assert_eq!(of_user(), "3||b-0|1|vip:2");
    node.done(claim("c-3", "ga")).await;
}
