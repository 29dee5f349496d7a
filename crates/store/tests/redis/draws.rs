//! Lines whose order is drawn.

use crate::visitors::{MINUTE_MS, drawn, join_in_turn, join_many, line, seed};
use crate::world::{NOON, World, event, key, place, settings, until, user};
use futures_util::future::join_all;
use onrush_core::Command;
use onrush_core::change::{Change, QueueChange};
use onrush_core::ids::PlaceId;
use onrush_core::snapshot::SnapshotRow;
use onrush_core::view::PlaceState;
use onrush_core::waiting_room::draw;
use onrush_store::redis::Probe;
use onrush_store::{Engine, Failure};
use std::collections::HashMap;
use std::pin::pin;
use tokio::runtime::Builder;

/// The order that follows from the seed, as anybody can compute it.
fn drawn_order(places: impl Iterator<Item = PlaceId>, public_value: Option<&str>) -> Vec<PlaceId> {
    let key = draw::draw_key(&seed(), public_value);
    let mut order: Vec<_> = places.collect();
    order.sort_by_key(|place| (draw::rank(&key, *place), *place));
    order
}

/// The numbers of those who wait, in the order that the rules have them by what was archived.
async fn order_by_the_rules(world: &World) -> Vec<u32> {
    let rules = world.by_the_rules().await;
    let places = rules.snapshot().filter_map(|row| match row {
        SnapshotRow::Place(row) => Some(row.number),
        _ => None,
    });
    places.collect()
}

/// Everybody stands where the rules have them, by what was archived alone.
async fn assert_line_by_the_rules(world: &World) {
    let order = order_by_the_rules(world).await;
    let found: Vec<_> = line(world).iter().map(|(number, _)| *number).collect();
    let other = found.iter().zip(&order).position(|(found, by_rules)| found != by_rules);
    assert_eq!((found.len(), other), (order.len(), None));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_drawn_line_stands_in_the_order_of_the_seed_with_late_comers_behind() {
    let Some(world) = World::start() else { return };
    let node = world.node().await;
    world.set_clock(NOON);
    node.prequeue(drawn()).await;
    // More than one part of the drawn order.
    join_many(&node, 0..5_200).await;
    let view = node.place(user(1), None).await.expect("it waits");
    assert!(matches!(view.state, PlaceState::Queued { position: None, .. }), "nobody is ahead yet");
    node.done(Command::ClosePrequeue).await;
    node.done(Command::Leave { place: place(17), user: user(17) }).await;
    join_many(&node, 6_000..6_010).await;
    let public_value = Some("lottery of the day: 4 8 15 16 23 42");
    let open = Command::OpenSale { seed: Some(seed()), public_value: public_value.map(Into::into) };
    node.done(open).await;

    let entrants = (0..5_200).filter(|number| *number != 17).map(place);
    let expected = drawn_order(entrants, public_value);
    let users: HashMap<_, _> = (0..5_200).map(|number| (place(number), user(number))).collect();
    for (index, id) in expected.iter().enumerate().step_by(97) {
        assert_eq!(node.position(users[id].clone(), *id).await as usize, index + 1);
    }
    for late in 6_000..6_010 {
        let position = node.position(user(late), place(late)).await as usize;
        assert!(position > expected.len(), "late comers stand behind all entrants");
    }
    // The rules, from what was archived alone, agree on everybody: also on the published hash.
    let order = order_by_the_rules(&world).await;
    assert!(line(&world).iter().map(|(number, _)| *number).eq(order));
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_leaves_or_draws_at_the_same_time_costs_nobody_their_rank() {
    let Some(world) = World::start() else { return };
    let (one, other) = (world.node().await, world.node().await);
    world.set_clock(NOON);
    one.prequeue(drawn()).await;
    join_many(&one, 0..5_200).await;
    one.done(Command::ClosePrequeue).await;
    let open = || Command::OpenSale { seed: Some(seed()), public_value: None };
    let leaves = async {
        for number in 0..400 {
            let leave = Command::Leave { place: place(number), user: user(number) };
            drop(other.engine.execute(event(), leave).await);
        }
    };
    let (first, second, ()) = tokio::join!(one.run(open()), other.run(open()), leaves);
    assert!(first.is_ok() != second.is_ok(), "{first:?} {second:?}");
    assert_line_by_the_rules(&world).await;
}

/// As a node does that begins to draw once another wrote the first part of its order, and ends over
/// it. On one thread the other goes no further while Redis is asked.
#[tokio::test]
async fn a_draw_that_another_node_begins_anew_costs_nobody_their_rank_although_no_list_was_fixed() {
    const BEGIN: &str = "
        local done, part = unpack(redis.call('HMGET', KEYS[1], 'draw_done', 'draw_part'))
        if not done or part == '0' then return 0 end
        redis.call('HSET', KEYS[1], 'draw_generation', 'another', 'draw_part', '0', 'draw_done', '0')
        return 1";
    let Some(world) = World::start() else { return };
    let node = world.node().await;
    world.set_clock(NOON);
    node.prequeue(drawn()).await;
    // More than one part of the drawn order.
    join_many(&node, 0..5_200).await;
    let begins = || async { world.ask(&["EVAL", BEGIN, "1", &key("meta")]) == "1" };
    let open = Command::OpenSale { seed: Some(seed()), public_value: None };
    let (opened, ()) = tokio::join!(node.run(open), until("another drawing", begins));
    opened.expect("opened");
    assert_line_by_the_rules(&world).await;
}

/// The slower node read the line before another entrant came.
#[test]
fn a_prequeue_that_another_node_closes_during_a_draw_has_the_list_that_it_fixed_drawn() {
    let Some(world) = World::start() else { return };
    let runtime = || Builder::new_current_thread().enable_all().build().expect("a runtime");
    let (slow, fast) = (runtime(), runtime());
    let (slow_node, node) = (slow.block_on(world.node()), fast.block_on(world.node()));
    fast.block_on(async {
        world.set_clock(NOON);
        node.prequeue(drawn()).await;
        join_many(&node, 0..5_200).await;
    });
    let mut opening =
        pin!(slow_node.run(Command::OpenSale { seed: Some(seed()), public_value: None }));
    let draws = || async { !world.ask(&["HGET", &key("meta"), "draw_done"]).is_empty() };
    slow.block_on(async {
        tokio::select! {
            opened = &mut opening => panic!("not before the others: {opened:?}"),
            () = until("the first part of the order", draws) => {}
        }
    });
    // Nothing runs the slow one meanwhile.
    fast.block_on(async {
        node.join(place(6_000), user(6_000)).await.expect("joined");
        node.done(Command::ClosePrequeue).await;
    });
    slow.block_on(opening).expect("opened");
    slow.block_on(assert_line_by_the_rules(&world));
}

/// As a scan does that goes on at another server, which orders the line otherwise.
#[tokio::test(flavor = "multi_thread")]
async fn a_line_of_which_somebody_is_not_found_is_not_drawn() {
    let Some(world) = World::start() else { return };
    let node = world.node().await;
    world.set_clock(NOON);
    node.prequeue(drawn()).await;
    join_many(&node, 0..50).await;
    node.done(Command::ClosePrequeue).await;
    world.set_clock(NOON.plus_ms(1_000));
    join_many(&node, 60..63).await;
    let public_value = Some("lottery of the day: 4 8 15 16 23 42");
    let open = Command::OpenSale { seed: Some(seed()), public_value: public_value.map(Into::into) };
    let (users, who) = (key("users"), user(49).to_string());
    let before = world.ask(&["HGET", &users, &who]);
    world.ask(&["HDEL", &users, &who]);
    let opened = node.engine.execute(event(), open.clone()).await;
    assert!(matches!(opened, Err(Failure::Busy { .. })), "{opened:?}");
    world.ask(&["HSET", &users, &who, before.trim_end()]);
    node.done(open).await;
    let expected = drawn_order((0..50).map(place), public_value);
    let order = order_by_the_rules(&world).await;
    assert!(line(&world).iter().map(|(number, _)| *number).eq(order));
    assert_eq!(node.position(user(49), place(49)).await as usize, {
        1 + expected.iter().position(|known| *known == place(49)).expect("an entrant")
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn the_list_of_entrants_is_that_of_the_moment_although_people_join_meanwhile() {
    let Some(world) = World::start() else { return };
    let (one, other) = (world.node().await, world.node().await);
    one.prequeue(drawn()).await;
    join_many(&one, 0..500).await;
    let joins = async {
        // Joins that meet the moment in which the list is fixed are told to come again.
        for number in 500..900 {
            let join = Command::Join { place: place(number), user: user(number) };
            drop(other.engine.execute(event(), join).await);
        }
    };
    let (closed, ()) = tokio::join!(one.run(Command::ClosePrequeue), joins);
    closed.expect("closed");
    let open = Command::OpenSale { seed: Some(seed()), public_value: None };
    let opened = join_all([one.run(open.clone()), other.run(open)]).await;
    assert_eq!(opened.iter().filter(|answer| answer.is_ok()).count(), 1, "{opened:?}");

    // The rules refuse a list that is not of the moment, and count who waits.
    let mut places = Vec::new();
    let mut closed = None;
    for entry in world.decisions().await {
        for change in &entry.changes {
            match change {
                Change::Queue(QueueChange::PlaceTaken { place, .. }) if closed.is_none() => {
                    places.push(*place)
                }
                Change::Queue(QueueChange::PrequeueClosed { entrants, entrants_hash }) => {
                    closed = Some((*entrants, *entrants_hash));
                }
                _ => {}
            }
        }
    }
    let hash = draw::entrants_hash(places.iter().copied());
    assert_eq!(closed, Some((places.len() as u32, hash)));
    assert!(places.len() >= 500);
    let rules = world.by_the_rules().await;
    let first = rules.snapshot().find_map(|row| match row {
        SnapshotRow::Place(row) => Some(row.place),
        _ => None,
    });
    assert_eq!(first, drawn_order(places.into_iter(), None).first().copied());
    assert_eq!(line(&world).len(), rules.snapshot().count() - 1);
}

#[tokio::test]
async fn nobody_joins_or_leaves_for_as_long_as_a_node_wants_to_read_the_line() {
    let Some(world) = World::start() else { return };
    let node = world.node().await;
    world.set_clock(NOON);
    node.prequeue(drawn()).await;
    node.join(place(1), user(1)).await.expect("joined");
    let mut probe = Probe::open(&[world.redis.url()], false).await.expect("Redis answers");
    probe.look_at(event());
    let leave = Command::Leave { place: place(1), user: user(1) };
    let join = Command::Join { place: place(2), user: user(2) };
    probe.bar_joins(14_000).await.expect("the list is wanted");
    for barred in [&leave, &join] {
        let answer = node.engine.execute(event(), barred.clone()).await;
        assert_eq!(answer, Err(Failure::Busy { retry_after_ms: 14_000 }), "{barred:?}");
    }
    // Whoever asks later without barring anybody makes it no shorter.
    probe.bar_joins(0).await.expect("the list is wanted");
    assert_eq!(
        world.ask(&["HGET", &key("meta"), "barred_until"]),
        NOON.plus_ms(14_000).to_string()
    );
    world.set_clock(NOON.plus_ms(14_000));
    for allowed in [leave, join] {
        node.done(allowed).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_prequeue_of_a_draw_closes_by_itself_when_its_time_comes() {
    let Some(world) = World::start() else { return };
    let node = world.busy_node().await;
    world.set_clock(NOON);
    let opens_at = Some(NOON.plus_ms(MINUTE_MS));
    let event_settings = onrush_core::settings::Settings { opens_at, ..settings(drawn()) };
    node.create(event_settings).await;
    node.done(Command::OpenPrequeue).await;
    join_in_turn(&node, 0..30).await;
    world.set_clock(NOON.plus_ms(MINUTE_MS));
    let hash = draw::entrants_hash((0..30).map(place));
    let closed =
        || async { world.ask(&["HGET", &key("meta"), "entrants_hash"]) == hash.to_string() };
    until("the list is fixed", closed).await;
    node.done(Command::OpenSale { seed: Some(seed()), public_value: None }).await;
}
