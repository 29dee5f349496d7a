//! The queue and the room on a real server.

use crate::world::{NOON, Node, World, event, key, place, until, user};
use futures_util::future::join_all;
use onrush_core::change::{Change, QueueChange, SaleChange};
use onrush_core::question::PlaceOf;
use onrush_core::score::Score;
use onrush_core::settings::{Digest, Order, RoomSettings};
use onrush_core::snapshot::SnapshotRow;
use onrush_core::view::{PlaceState, PlaceView};
use onrush_core::waiting_room::draw;
use onrush_core::{Command, Event, Refusal, Time};
use onrush_store::flags::Flag;
use std::collections::BTreeSet;

pub(crate) const MINUTE_MS: i64 = 60_000;

/// Lets so many users join, some at a time.
pub(crate) async fn join_many(node: &Node, users: std::ops::Range<usize>) -> Vec<PlaceView> {
    let mut views = Vec::new();
    for first in users.clone().step_by(200) {
        let some = first..users.end.min(first + 200);
        let joins = some.map(|number| node.join(place(number), user(number)));
        for view in join_all(joins).await {
            views.push(view.expect("joined"));
        }
    }
    views
}

/// Lets so many users take places in turn.
async fn join_many_places(node: &Node, places: std::ops::Range<usize>, users: usize) {
    for number in places {
        node.join(place(number), user(number % users)).await.expect("joined");
    }
}

/// Lets so many users join one after the other.
pub(crate) async fn join_in_turn(node: &Node, users: std::ops::Range<usize>) {
    for number in users {
        node.join(place(number), user(number)).await.expect("joined");
    }
}

/// The line as Redis has it: number and score, in the order of service.
pub(crate) fn line(world: &World) -> Vec<(u32, f64)> {
    let text = world.ask(&["ZRANGE", &key("queue"), "0", "-1", "WITHSCORES"]);
    let lines: Vec<&str> = text.lines().collect();
    let read = |pair: &[&str]| {
        let (number, _) = pair[0].split_once(':').expect("a member has a number");
        (number.parse().expect("a number"), pair[1].parse().expect("a score"))
    };
    lines.chunks(2).map(read).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_scores_on_the_server_rise_and_a_double_holds_each() {
    let Some(world) = World::start() else { return };
    let node = world.node().await;
    node.prequeue(RoomSettings::default()).await;
    let views = join_many(&node, 0..10_000).await;
    let numbers: BTreeSet<u32> = views.iter().map(|view| view.number).collect();
    assert_eq!(numbers, (1..=10_000).collect(), "each has a number of its own");

    let line = line(&world);
    assert_eq!(line.len(), 10_000);
    let in_order = line.iter().zip(1_u32..).all(|((number, _), place)| *number == place);
    assert!(in_order, "the order of scores is the order of joining");
    let scores: Vec<Score> =
        line.iter().map(|(_, score)| Score::from_f64(*score).expect("53 bits")).collect();
    assert!(scores.windows(2).all(|two| two[0] < two[1]), "scores rise and none is used twice");
    assert!(scores.windows(2).all(|two| two[0].at() <= two[1].at()));
    assert!(scores.iter().any(|score| score.counter() > 0), "many join in one millisecond");
    assert!(scores.iter().zip(&line).all(|(score, (_, held))| score.to_f64() == *held));
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_counter_the_order_is_the_same_also_while_the_flag_is_rolled_out() {
    let Some(world) = World::start() else { return };
    let (one, other) = (world.node().await, world.node().await);
    world.set_clock(NOON);
    one.prequeue(RoomSettings::default()).await;
    one.flags.set(Flag::CompositeScore, 0);
    other.flags.set(Flag::CompositeScore, 50);
    // In one millisecond: without the counter all of them have one score.
    join_many(&one, 0..300).await;
    assert_eq!(
        line(&world).iter().map(|(_, score)| score.to_bits()).collect::<BTreeSet<_>>().len(),
        1
    );
    // Then half of the users have it, then all, then none again.
    join_many(&other, 300..600).await;
    other.flags.set(Flag::CompositeScore, 100);
    join_many(&other, 600..900).await;
    join_many(&one, 900..1_200).await;

    let line = line(&world);
    assert!(line.iter().map(|(number, _)| *number).eq(1..=1_200), "in the order of joining");
    assert!(line.iter().all(|(_, score)| Score::from_f64(*score).is_some()));
    one.open_sale().await;
    assert_positions(&world, &other, NOON).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_users_stream_and_his_row_name_the_same_first_place() {
    let Some(world) = World::start() else { return };
    let (rows, streams) = (world.node().await, world.node().await);
    streams.flags.set(Flag::StreamsQueue, 100);
    let room = RoomSettings { capacity: 2, places_per_user: 4, ..RoomSettings::default() };
    world.set_clock(NOON);
    rows.prequeue(room.clone()).await;
    join_many_places(&rows, 0..40, 10).await;
    rows.open_sale().await;
    rows.tick(&world, 10).await;
    for number in [2, 13, 14, 35] {
        streams.done(Command::Leave { place: place(number), user: user(number % 10) }).await;
    }
    // Some are seen later than others, so that first places lapse before second ones and after them.
    world.set_clock(NOON.plus_ms(room.place_ttl_ms - MINUTE_MS));
    for number in [16, 7, 28, 39] {
        rows.done(Command::See { place: place(number), user: user(number % 10) }).await;
    }
    for at in [room.place_ttl_ms - MINUTE_MS, room.place_ttl_ms, 2 * room.place_ttl_ms] {
        world.set_clock(NOON.plus_ms(at));
        for number in 0..10 {
            let by_row = rows.place(user(number), None).await;
            assert_eq!(streams.place(user(number), None).await, by_row, "user {number} at {at}");
        }
    }
    assert!(world.ask(&["INFO", "commandstats"]).contains("cmdstat_xrange:"), "streams are read");
}

/// Asserts that every place stands where the rules say.
async fn assert_positions(world: &World, node: &Node, at: Time) {
    let rules = world.by_the_rules().await;
    let mut asked = 0;
    for row in rules.snapshot() {
        let SnapshotRow::Place(row) = row else { continue };
        let this = PlaceOf { user: row.user.clone(), place: Some(row.place) };
        let expected = rules.ask(at, this).expect("it waits");
        assert_eq!(node.place(row.user.clone(), Some(row.place)).await, Ok(expected));
        let first = PlaceOf { user: row.user.clone(), place: None };
        let expected = rules.ask(at, first).expect("it waits");
        assert_eq!(node.place(row.user, None).await, Ok(expected));
        asked += 1;
    }
    assert!(asked > 0, "somebody waits");
}

#[tokio::test(flavor = "multi_thread")]
async fn positions_are_exact_also_with_several_places_a_user_and_without_looking_through_keys() {
    let Some(world) = World::start() else { return };
    let node = world.node().await;
    let room = RoomSettings { capacity: 3, places_per_user: 3, ..RoomSettings::default() };
    world.set_clock(NOON);
    node.prequeue(room).await;
    join_many_places(&node, 0..60, 20).await;
    node.open_sale().await;
    // Three are admitted; their six other places wait without being passed by others, and without
    // stopping them.
    assert_eq!(node.tick(&world, 10).await, 3);
    for number in [5, 27, 44, 59] {
        node.done(Command::Leave { place: place(number), user: user(number % 20) }).await;
    }
    assert_positions(&world, &node, NOON).await;
    // Who stands where without any rules: user 0 is in the room, and with a second place still
    // ahead of the neighbour.
    assert_eq!(node.position(user(3), place(3)).await, 1);
    assert_eq!(node.position(user(0), place(20)).await, 17);
    assert_eq!(node.position(user(1), place(21)).await, 18);

    node.done(Command::Leave { place: place(0), user: user(0) }).await;
    assert_eq!(node.tick(&world, 10).await, 1, "the slot goes to the next in line");
    assert_positions(&world, &node, NOON).await;

    let stats = world.ask(&["INFO", "commandstats"]);
    assert!(stats.contains("cmdstat_zrank:"), "{stats}");
    assert!(!stats.contains("cmdstat_keys:") && !stats.contains("cmdstat_scan:"), "{stats}");
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_hundred_joins_with_one_place_id_one_is_accepted() {
    let Some(world) = World::start() else { return };
    let (one, other) = (world.node().await, world.node().await);
    one.prequeue(RoomSettings::default()).await;
    let joins = (0..100).map(|n| [&one, &other][n % 2].join(place(7), user(7)));
    let answers = join_all(joins).await;
    assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 1);
    let refused = Err(Refusal::Duplicate { place: place(7) });
    assert_eq!(answers.iter().filter(|answer| **answer == refused).count(), 99);
    assert_eq!(world.ask(&["ZCARD", &key("queue")]), "1");
}

pub(crate) fn stream(number: usize) -> String {
    format!("stream:event:{{{}}}:user:{}", event(), user(number))
}

/// The places in a user's stream, oldest first.
fn streamed(world: &World, number: usize) -> Vec<String> {
    let text = world.ask(&["XRANGE", &stream(number), "-", "+"]);
    let lines: Vec<&str> = text.lines().collect();
    let tokens = lines.iter().zip(lines.iter().skip(1)).filter(|(field, _)| **field == "token");
    tokens.map(|(_, token)| (*token).to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_users_stream_has_his_places_in_order_and_goes_once_it_is_empty() {
    let Some(world) = World::start() else { return };
    let node = world.node().await;
    let room = RoomSettings { capacity: 1, places_per_user: 3, ..RoomSettings::default() };
    world.set_clock(NOON);
    node.prequeue(room.clone()).await;
    for number in 0..3 {
        node.join(place(number), user(0)).await.expect("joined");
    }
    for number in 1..3 {
        node.join(place(10 + number), user(number)).await.expect("joined");
    }
    let text = world.ask(&["XRANGE", &stream(0), "-", "+", "COUNT", "1"]);
    let expected = format!(
        "1-0\ntoken\n{}\nevent_id\n{}\nuser_id\n{}\ntimestamp\n{}",
        place(0),
        event(),
        user(0),
        NOON.0 / 1_000
    );
    assert_eq!(text, expected);
    let tokens = |numbers: &[usize]| numbers.iter().map(|n| place(*n).to_string()).collect();
    let all: Vec<String> = tokens(&[0, 1, 2]);
    assert_eq!(streamed(&world, 0), all);

    node.done(Command::Leave { place: place(1), user: user(0) }).await;
    let rest: Vec<String> = tokens(&[0, 2]);
    assert_eq!(streamed(&world, 0), rest);
    node.done(Command::Leave { place: place(11), user: user(1) }).await;
    assert_eq!(world.ask(&["EXISTS", &stream(1)]), "0", "who left has no stream");

    node.open_sale().await;
    assert_eq!(node.tick(&world, 10).await, 1);
    let rest: Vec<String> = tokens(&[2]);
    assert_eq!(streamed(&world, 0), rest, "who was admitted is not in their stream");
    // Both lapse, and user 0 is still in the room with the first place.
    world.set_clock(NOON.plus_ms(room.place_ttl_ms));
    until("everybody's time is over", || async { node.tick(&world, 20).await == 0 }).await;
    assert_eq!(world.ask(&["EXISTS", &stream(0), &stream(2)]), "0", "nobody waits");
    assert_eq!(world.ask(&["ZCARD", &key("parked")]), "0");

    node.join(place(30), user(0)).await.expect("joined again");
    let again: Vec<String> = tokens(&[30]);
    assert_eq!(streamed(&world, 0), again);
}

#[tokio::test(flavor = "multi_thread")]
async fn with_one_place_a_user_there_are_no_streams() {
    let Some(world) = World::start() else { return };
    let node = world.node().await;
    node.prequeue(RoomSettings::default()).await;
    node.join(place(1), user(1)).await.expect("joined");
    assert_eq!(world.ask(&["EXISTS", &stream(1)]), "0");
}

#[tokio::test(flavor = "multi_thread")]
async fn ghosts_at_the_head_do_not_stall_the_line() {
    let Some(world) = World::start() else { return };
    let node = world.node().await;
    let room = RoomSettings { capacity: 1, ..RoomSettings::default() };
    world.set_clock(NOON);
    node.prequeue(room.clone()).await;
    join_many(&node, 0..5).await;
    node.open_sale().await;
    // The first one is invited and never comes; the slot is free again without anybody doing anything.
    assert_eq!(node.tick(&world, 10).await, 1);
    world.set_clock(NOON.plus_ms(room.arrive_ms));
    assert_eq!(node.tick(&world, 10).await, 2, "a no-show, and the next admission");
    // The others are never seen again: they lapse, and who comes then is admitted at once.
    let later = NOON.plus_ms(room.place_ttl_ms + MINUTE_MS);
    world.set_clock(later);
    until("the ghosts are gone", || async { node.tick(&world, 50).await == 0 }).await;
    assert_eq!(world.ask(&["ZCARD", &key("queue")]), "0");
    assert_eq!(world.ask(&["ZCARD", &key("lapses")]), "0");
    node.join(place(9), user(9)).await.expect("joined");
    assert_eq!(node.tick(&world, 10).await, 1);
    let view = node.place(user(9), None).await.expect("they are in");
    assert!(matches!(view.state, PlaceState::Active { .. }), "{view:?}");
}

/// What the rules do at this time, one decision after the other.
fn ticks_by_the_rules(rules: &mut Event, at: Time) -> Vec<Vec<Change>> {
    let mut all = Vec::new();
    loop {
        let decision = rules.decide(at, &Command::Tick).expect("a tick is never refused");
        if decision.changes.is_empty() {
            return all;
        }
        decision.changes.iter().for_each(|change| rules.evolve(at, change));
        all.push(decision.changes.into_vec());
    }
}

/// Asserts that ticks decide what the rules do at this time, in the same order; gives how many
/// decisions that were.
async fn assert_ticks(world: &World, node: &Node, at: Time) -> usize {
    let mut rules = world.by_the_rules().await;
    let before = world.decisions().await.len();
    let expected = ticks_by_the_rules(&mut rules, at);
    world.set_clock(at);
    assert_eq!(node.tick(world, expected.len() + 1).await, expected.len(), "at {at}");
    let decided: Vec<_> =
        world.decisions().await.into_iter().skip(before).map(|entry| entry.changes).collect();
    assert_eq!(decided, expected, "at {at}");
    expected.len()
}

/// Nearly all of a long line are seen after the opening, at several times; then their time runs out.
pub(crate) async fn lapse_in_order(world: &World, node: &Node, opened_at: Time) {
    const UNSEEN: [usize; 2] = [2_600, 4_400];
    let ttl_ms = RoomSettings::default().place_ttl_ms;
    for third in 0..3 {
        let users = (0..4_500).filter(|number| number % 3 == third && !UNSEEN.contains(number));
        let seen: Vec<_> = users.collect();
        // From five minutes on a sign of life is written down.
        let minutes = 5 * (third as i64 + 1);
        for (some, ms) in seen.chunks(100).zip(minutes * MINUTE_MS..) {
            world.set_clock(opened_at.plus_ms(ms));
            let see = |number: &usize| Command::See { place: place(*number), user: user(*number) };
            join_all(some.iter().map(|number| node.done(see(number)))).await;
        }
    }
    // Who was never seen since the opening lapses first, behind more of the others than one script looks at.
    assert_eq!(assert_ticks(world, node, opened_at.plus_ms(ttl_ms)).await, UNSEEN.len());
    let first_seen = opened_at.plus_ms(ttl_ms + 5 * MINUTE_MS);
    assert_eq!(assert_ticks(world, node, first_seen.plus_ms(-1)).await, 0);
    assert_eq!(assert_ticks(world, node, first_seen.plus_ms(2)).await, 300);
    assert_eq!(line(world).len(), 4_500 - UNSEEN.len() - 300);
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_was_never_seen_is_found_in_a_long_line_and_lapses_first() {
    let Some(world) = World::start() else { return };
    let node = world.node().await;
    world.set_clock(NOON);
    node.prequeue(RoomSettings { capacity: 1, ..RoomSettings::default() }).await;
    // Many with one score: the search has to get past them, too.
    node.flags.set(Flag::CompositeScore, 0);
    join_many(&node, 0..1_500).await;
    node.flags.set(Flag::CompositeScore, 100);
    join_many(&node, 1_500..4_500).await;
    node.open_sale().await;
    node.done(Command::Pause).await;
    lapse_in_order(&world, &node, NOON).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_drawn_line_lapses_in_its_drawn_order() {
    let Some(world) = World::start() else { return };
    let node = world.node().await;
    world.set_clock(NOON);
    node.prequeue(drawn()).await;
    join_many(&node, 0..4_500).await;
    node.done(Command::OpenSale { seed: Some(seed()), public_value: None }).await;
    node.done(Command::Pause).await;
    lapse_in_order(&world, &node, NOON).await;
}

/// How many the rules admit at this time.
fn admitted_by_the_rules(rules: &mut Event, at: Time) -> usize {
    let mut admitted = 0;
    loop {
        let decision = rules.decide(at, &Command::Tick).expect("a tick is never refused");
        if decision.changes.is_empty() {
            return admitted;
        }
        for change in &decision.changes {
            admitted += usize::from(matches!(change, Change::Queue(QueueChange::Admitted { .. })));
            rules.evolve(at, change);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn outflow_and_capacity_hold_for_all_nodes_together() {
    let Some(world) = World::start() else { return };
    let (one, other) = (world.node().await, world.node().await);
    let room = RoomSettings { capacity: 35, outflow_per_min: Some(600), ..RoomSettings::default() };
    world.set_clock(NOON);
    one.prequeue(room).await;
    join_many(&one, 0..60).await;
    one.open_sale().await;
    let mut rules = world.by_the_rules().await;
    let mut all = 0;
    // A burst of a second's worth, ten a second after that, never more at once, and the room's
    // capacity at last.
    for (step, expected) in [(0, 10), (99, 0), (100, 1), (1_100, 10), (9_000, 10), (20_000, 4)] {
        let at = NOON.plus_ms(step);
        world.set_clock(at);
        assert_eq!(admitted_by_the_rules(&mut rules, at), expected, "the rules, after {step} ms");
        let ticks = (0..60).map(|n| [&one, &other][n % 2].done(Command::Tick));
        join_all(ticks).await;
        all += expected;
        assert_eq!(world.ask(&["HLEN", &key("sessions")]), all.to_string(), "after {step} ms");
    }
    let decided = world.by_the_rules().await;
    assert!(decided.snapshot().eq(rules.snapshot()), "and each is who the rules admit");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_outage_ends_no_place_and_is_made_up_for_once() {
    let Some(world) = World::start() else { return };
    let (one, other) = (world.node().await, world.node().await);
    let room = RoomSettings { capacity: 1, ..RoomSettings::default() };
    world.set_clock(NOON);
    one.prequeue(room.clone()).await;
    join_in_turn(&one, 0..3).await;
    one.open_sale().await;
    world.ask(&["HSET", &key("meta"), "alive_ms", "30000"]);
    assert_eq!(one.tick(&world, 10).await, 1);

    // Nobody runs the event for an hour: longer than any place or session lasts.
    let gap_ms = 60 * MINUTE_MS;
    let later = NOON.plus_ms(gap_ms);
    world.set_clock(later);
    let places = (0..40).map(|n| [&one, &other][n % 2].place(user(1 + n % 2), None));
    for view in join_all(places).await {
        let view = view.expect("the place is still there");
        let PlaceState::Queued { lapses_at, .. } = view.state else { panic!("{view:?}") };
        assert_eq!(lapses_at, Some(later.plus_ms(room.place_ttl_ms)));
    }
    let view = other.place(user(0), None).await.expect("the session is still there");
    let until = later.plus_ms(room.session_ms);
    let arrive_by = Some(later.plus_ms(room.arrive_ms));
    assert_eq!(view.state, PlaceState::Active { until, arrive_by, see_due: false });
    let resumed = world.decisions().await.into_iter().flat_map(|entry| entry.changes);
    let gaps: Vec<_> = resumed
        .filter_map(|change| match change {
            Change::Sale(SaleChange::Resumed { gap_ms }) => Some(gap_ms),
            _ => None,
        })
        .collect();
    assert_eq!(gaps, [gap_ms], "several nodes noticed, and time moved on once");
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_admit_whoever_joins_without_being_asked_to() {
    let Some(world) = World::start() else { return };
    let (one, other) = (world.busy_node().await, world.busy_node().await);
    let room =
        RoomSettings { capacity: 20, session_ms: 100, arrive_ms: 100, ..RoomSettings::default() };
    one.prequeue(room).await;
    one.open_sale().await;
    join_many(&other, 0..60).await;
    // Sessions are so short that all sixty come and go in twenty slots.
    until("everybody was admitted", || async { world.ask(&["ZCARD", &key("queue")]) == "0" }).await;
    until("everybody is out again", || async { world.ask(&["HLEN", &key("sessions")]) == "0" })
        .await;
    let rules = world.by_the_rules().await;
    // Their places are known for a day, so that a late retry is recognised.
    let is_gone = |row: &SnapshotRow| matches!(row, SnapshotRow::Gone(_));
    let (gone, left): (Vec<_>, Vec<_>) = rules.snapshot().partition(is_gone);
    assert_eq!(gone.len(), 60);
    assert_eq!(left.len(), 1, "nothing else is left but the event");
}

pub(crate) fn seed() -> Digest {
    Digest([7; 32])
}

pub(crate) fn drawn() -> RoomSettings {
    let seed_hash = draw::sha256(&seed().0);
    RoomSettings { order: Order::Draw { seed_hash }, ..RoomSettings::default() }
}
