//! Channels: stock that is set aside, who takes from it, and where it goes.

use crate::best::{any, hold_best, house_with};
use crate::stage::{
    OPENING, Stage, begin, cancel, confirm, hold, join, lines, reason, release, settings,
};
use onrush_core::best::{Best, Together};
use onrush_core::change::SetupChange;
use onrush_core::channels::{ChannelSpec, ChannelView, PlannedRelease};
use onrush_core::ids::ChannelId;
use onrush_core::lines::Lines;
use onrush_core::question::{AvailabilityNow, ChannelsNow, EventNow, SeatsNow};
use onrush_core::settings::{RoomSettings, Settings, SingleSeats};
use onrush_core::view::AdmissionState;
use onrush_core::{Change, Command, Refusal, Time};

fn id(channel: &str) -> ChannelId {
    channel.parse().expect("an id")
}

fn set(channel: &str, quota: Option<u32>, release: Option<(Time, Option<&str>)>) -> Command {
    let release = release.map(|(at, into)| PlannedRelease { at, into: into.map(id) });
    let (channel, codes, queued) = (id(channel), Vec::new(), channel == "queued");
    let spec = ChannelSpec { channel, quota, codes, queued, release };
    Command::SetChannel { spec, reason: reason() }
}

fn allot(lines: Lines, from: Option<&str>, to: Option<&str>) -> Command {
    Command::Allot { lines, from: from.map(id), to: to.map(id), reason: reason() }
}

fn release_channel(channel: &str, into: Option<&str>) -> Command {
    Command::ReleaseChannel { channel: id(channel), into: into.map(id), reason: reason() }
}

fn through(channels: &[&str], command: Command) -> Command {
    let named: Vec<ChannelId> = channels.iter().map(|channel| id(channel)).collect();
    match command {
        Command::Hold { booking, user, lines, types, .. } => {
            Command::Hold { booking, user, lines, channels: named, types }
        }
        Command::HoldBest { booking, user, order, types, .. } => {
            Command::HoldBest { booking, user, order, channels: named, types }
        }
        other => panic!("{other:?} takes from no channel"),
    }
}

/// 10 of `ga`, of which the fan club has 3; seats, of which it has the first two. There is a
/// box office too, which has nothing.
fn with_fans(quota: Option<u32>) -> Stage {
    let mut stage = Stage::flash();
    stage.ok(set("fans", quota, None));
    stage.ok(set("box", None, None));
    stage.ok(allot(lines(&[("ga", 3)], &["A-1", "A-2"]), None, Some("fans")));
    stage
}

fn channel(stage: &Stage, channel: &str) -> ChannelView {
    let channels = stage.event.ask(stage.now, ChannelsNow).expect("an event");
    channels.into_iter().find(|view| view.spec.channel == id(channel)).expect("a channel")
}

/// Free units of `ga` in a channel, and seats that are free in it.
fn left(stage: &Stage, channel: &str) -> (u32, String) {
    let available = stage.event.ask(stage.now, AvailabilityNow).expect("an event");
    let allotted = available.pools[0].allotted.iter().find(|(name, _)| *name == id(channel));
    let seats = stage.event.ask(stage.now, SeatsNow).expect("an event");
    let its = seats.iter().filter(|seat| seat.channel == Some(id(channel)));
    let its: Vec<&str> = its.map(|seat| seat.seat.as_str()).collect();
    let of_categories = available.categories.iter().flat_map(|category| &category.allotted);
    let counted: u32 = of_categories.filter(|(name, _)| *name == id(channel)).map(|it| it.1).sum();
    assert_eq!(counted as usize, its.len(), "categories count what seats say");
    (allotted.map_or(0, |(_, units)| *units), its.join(" "))
}

#[test]
fn what_a_channel_has_is_for_those_who_may_use_it() {
    let mut stage = with_fans(None);
    assert_eq!((stage.free("ga"), stage.free_seats()), (7, 2));
    assert_eq!(left(&stage, "fans"), (3, "A-1 A-2".into()));
    stage.refused(hold("b1", "ann", lines(&[("ga", 8)], &[])), "INSUFFICIENT_STOCK");
    stage.refused(hold("b1", "ann", lines(&[], &["A-2", "A-3"])), "SEAT_UNAVAILABLE");
    stage.refused(through(&["box"], hold("b1", "ann", lines(&[], &["A-2"]))), "SEAT_UNAVAILABLE");
    stage.refused(
        through(&["nobody"], hold("b1", "ann", lines(&[("ga", 1)], &[]))),
        "CHANNEL_NOT_FOUND",
    );
    let both = lines(&[("ga", 2)], &["A-2", "A-3"]);
    stage.ok(through(&["box", "fans"], hold("b1", "ann", both)));
    let sources = &stage.booking("b1").terms.sources;
    assert_eq!(*sources, [Some(id("fans")), Some(id("fans")), None]);
    assert_eq!(
        (stage.free("ga"), stage.free_seats()),
        (7, 1),
        "everybody's stock has one seat less"
    );
    assert_eq!((left(&stage, "fans"), channel(&stage, "fans").taken), ((1, "A-1".into()), 3));
    stage.check_recovery();
}

#[test]
fn a_pool_line_is_taken_whole_from_the_first_channel_that_has_it() {
    let mut stage = with_fans(None);
    stage.ok(allot(lines(&[("ga", 1)], &[]), None, Some("box")));
    let wish = |booking, units| {
        through(&["box", "fans"], hold(booking, "ann", lines(&[("ga", units)], &[])))
    };
    stage.ok(wish("b1", 2));
    assert_eq!(
        stage.booking("b1").terms.sources,
        [Some(id("fans"))],
        "the box office has only one"
    );
    stage.ok(wish("b2", 1));
    assert_eq!(stage.booking("b2").terms.sources, [Some(id("box"))]);
    stage.ok(wish("b3", 2));
    assert!(stage.booking("b3").terms.sources.is_empty(), "the fan club has one left: everybody's");
    assert_eq!(
        stage.run(wish("b4", 5)),
        Err(Refusal::InsufficientStock { pool: "ga".parse().unwrap(), free: 4 })
    );
    stage.check_recovery();
}

#[test]
fn what_is_given_back_returns_to_its_channel() {
    let mut stage = with_fans(None);
    let all = || lines(&[("ga", 3)], &["A-1", "A-2"]);
    stage.ok(through(&["fans"], hold("b1", "ann", all())));
    assert_eq!(left(&stage, "fans"), (0, String::new()));
    stage.ok(release("b1", "ann"));
    assert_eq!((left(&stage, "fans"), channel(&stage, "fans").taken), ((3, "A-1 A-2".into()), 0));
    stage.ok(through(&["fans"], hold("b2", "ann", all())));
    stage.ok(confirm("b2", "ann", None));
    assert_eq!(channel(&stage, "fans").taken, 5, "what is sold is taken");
    stage.ok(cancel("b2", None));
    assert_eq!((left(&stage, "fans"), channel(&stage, "fans").taken), ((3, "A-1 A-2".into()), 0));
    stage.ok(through(&["fans"], hold("b3", "ann", all())));
    stage.pass_ms(3_600_000);
    assert_eq!(stage.status("b3"), "expired");
    assert_eq!(left(&stage, "fans"), (3, "A-1 A-2".into()));
    assert_eq!((stage.free("ga"), stage.free_seats()), (7, 2));
    stage.check_recovery();
}

#[test]
fn no_more_is_sold_through_a_channel_than_its_quota() {
    let mut stage = with_fans(Some(3));
    stage.ok(through(&["fans"], hold("b1", "ann", lines(&[("ga", 2)], &[]))));
    let seats = through(&["fans"], hold("b2", "bob", lines(&[], &["A-1", "A-2"])));
    assert_eq!(
        stage.run(seats.clone()),
        Err(Refusal::ChannelQuota { channel: id("fans"), quota: 3, taken: 2 })
    );
    let two = through(&["fans"], hold("b3", "bob", lines(&[("ga", 1)], &["A-1"])));
    stage.refused(two, "CHANNEL_QUOTA");
    stage.ok(through(&["fans"], hold("b4", "bob", lines(&[], &["A-1"]))));
    let more = through(&["fans"], hold("b5", "bob", lines(&[("ga", 1)], &[])));
    stage.ok(more);
    assert!(stage.booking("b5").terms.sources.is_empty(), "the channel may sell no more");
    stage.ok(release("b1", "ann"));
    stage.ok(release("b4", "bob"));
    stage.ok(seats);
    stage.ok(set("fans", Some(1), None));
    stage.ok(confirm("b2", "bob", None));
    stage.check_recovery();
}

#[test]
fn a_channel_is_released_for_good_with_what_comes_back() {
    let mut stage = with_fans(None);
    stage.ok(through(&["fans"], hold("b1", "ann", lines(&[("ga", 1)], &["A-1"]))));
    stage.ok(release_channel("fans", Some("box")));
    assert_eq!(left(&stage, "box"), (2, "A-2".into()));
    assert_eq!((channel(&stage, "fans").taken, channel(&stage, "box").taken), (0, 2));
    stage.ok(release("b1", "ann"));
    assert_eq!(left(&stage, "box"), (3, "A-1 A-2".into()));
    stage.refused(allot(lines(&[("ga", 1)], &[]), None, Some("fans")), "CHANNEL_RELEASED");
    stage.refused(release_channel("fans", None), "CHANNEL_RELEASED");
    stage.refused(set("fans", None, None), "CHANNEL_RELEASED");
    stage.refused(release_channel("box", Some("fans")), "CHANNEL_RELEASED");
    stage.refused(through(&["fans"], hold("b2", "ann", lines(&[], &["A-1"]))), "SEAT_UNAVAILABLE");
    stage.ok(through(&["box"], hold("b2", "ann", lines(&[("ga", 1)], &["A-1"]))));
    stage.ok(release_channel("box", None));
    assert_eq!((stage.free("ga"), stage.free_seats()), (9, 3));
    stage.ok(release("b2", "ann"));
    assert_eq!((stage.free("ga"), stage.free_seats()), (10, 4));
    stage.check_recovery();
}

#[test]
fn a_channel_is_released_at_its_time() {
    let mut stage = with_fans(None);
    stage.ok(set("fans", None, Some((OPENING.plus_ms(60_000), Some("box")))));
    stage.ok(set("box", None, Some((OPENING.plus_ms(60_000), Some("fans")))));
    stage.pass_ms(59_999);
    assert_eq!(left(&stage, "fans"), (3, "A-1 A-2".into()));
    stage.pass_ms(1);
    let released = stage.journal.iter().filter_map(|(at, change)| match change {
        Change::Setup(SetupChange::ChannelReleased { channel, into, reason }) => {
            assert_eq!((*at, reason), (OPENING.plus_ms(60_000), &None));
            Some((channel.clone(), into.clone()))
        }
        _ => None,
    });
    let released: Vec<_> = released.collect();
    assert_eq!(released, [(id("box"), Some(id("fans"))), (id("fans"), None)], "never in a circle");
    assert_eq!((stage.free("ga"), stage.free_seats()), (10, 4));
    stage.refused(set("late", None, Some((stage.now, None))), "INVALID_SETTINGS");
    stage.check_recovery();
}

#[test]
fn units_move_between_channels_while_they_are_free() {
    let mut stage = with_fans(None);
    stage.ok(allot(lines(&[("ga", 1)], &["A-2"]), Some("fans"), Some("box")));
    assert_eq!((left(&stage, "fans"), left(&stage, "box")), ((2, "A-1".into()), (1, "A-2".into())));
    stage.ok(allot(lines(&[("ga", 2)], &["A-1"]), Some("fans"), None));
    assert_eq!((stage.free("ga"), stage.free_seats()), (9, 3));
    stage.refused(allot(lines(&[("ga", 1)], &[]), Some("fans"), None), "INSUFFICIENT_STOCK");
    stage.refused(allot(lines(&[], &["A-1"]), Some("box"), None), "SEAT_UNAVAILABLE");
    stage.refused(allot(lines(&[], &["A-1"]), Some("box"), Some("box")), "INVALID_SETTINGS");
    stage.refused(allot(lines(&[], &["A-1"]), None, Some("no")), "CHANNEL_NOT_FOUND");
    stage.refused(allot(lines(&[], &["Z-1"]), None, Some("box")), "SEAT_NOT_FOUND");
    let block = |lines| Command::Block { lines, reason: reason() };
    stage.refused(block(lines(&[], &["A-2"])), "SEAT_UNAVAILABLE");
    stage.refused(block(lines(&[("ga", 10)], &[])), "INSUFFICIENT_STOCK");
    let capacity = |capacity| Command::AdjustCapacity {
        pool: "ga".parse().unwrap(),
        capacity,
        reason: reason(),
    };
    stage.refused(capacity(0), "CAPACITY_BELOW_COMMITTED");
    stage.ok(capacity(1));
    stage.check_recovery();
}

/// Row A of six with an aisle after the fourth, row B of five; the fan club has A1 to A3 and B1, B2.
fn house() -> Stage {
    let mut stage = house_with(settings());
    stage.ok(set("fans", Some(4), None));
    stage.ok(allot(lines(&[], &["A1", "A2", "A3", "B1", "B2"]), None, Some("fans")));
    stage
}

fn best_of(stage: &mut Stage, channels: &[&str], booking: &str, best: Best) -> String {
    stage.ok(through(channels, hold_best(booking, "ann", best, None)));
    let terms = stage.booking(booking).terms;
    let sources = terms.sources.iter().map(|it| it.as_ref().map_or("-", ChannelId::as_str));
    let seats = terms.lines.seats().iter().map(|seat| seat.as_str());
    format!("{} from {}", Vec::from_iter(seats).join(" "), Vec::from_iter(sources).join(" "))
}

#[test]
fn the_best_seats_are_those_of_a_channel_or_everybodys() {
    let mut stage = house();
    assert_eq!(best_of(&mut stage, &[], "b1", any(2)), "A5 A6 from ");
    assert_eq!(best_of(&mut stage, &["fans"], "b2", any(3)), "A1 A2 A3 from fans fans fans");
    assert_eq!(best_of(&mut stage, &["fans"], "b3", any(2)), "B3 B4 from ", "its quota allows one");
    assert_eq!(best_of(&mut stage, &["fans"], "b4", any(1)), "B1 from fans");
    stage.ok(release("b2", "ann"));
    let three = Best::new(3, Together::Prefer).unwrap();
    assert_eq!(best_of(&mut stage, &["fans"], "b5", three), "A1 A2 A3 from fans fans fans");
    stage.check_recovery();
}

#[test]
fn a_first_choice_may_be_of_a_channel_and_of_everybodys() {
    let mut stage = house();
    let rather = |seats: &[&str]| {
        let seats = seats.iter().map(|seat| seat.parse().unwrap()).collect();
        any(2).rather(seats).expect("seats")
    };
    assert_eq!(best_of(&mut stage, &["fans"], "b1", rather(&["A3", "A4"])), "A3 A4 from fans -");
    assert_eq!(best_of(&mut stage, &["fans"], "b2", rather(&["A5", "A6"])), "A5 A6 from ");
    assert_eq!(best_of(&mut stage, &[], "b3", rather(&["B1", "B3"])), "B3 B4 from ");
    stage.check_recovery();
}

#[test]
fn single_seats_are_reckoned_as_the_visitor_sees_the_house() {
    let refuse = Settings { single_seats: SingleSeats::Refuse, ..settings() };
    let mut stage = house_with(refuse);
    stage.ok(set("fans", None, None));
    stage.ok(allot(lines(&[], &["A1", "A2"]), None, Some("fans")));
    let wish = |booking| hold(booking, "ann", lines(&[], &["A3"]));
    stage.refused(wish("b1"), "LEAVES_SINGLE_SEAT");
    stage.ok(through(&["fans"], hold("b1", "ann", lines(&[], &["A2", "A3", "A4", "A1"]))));
    stage.ok(release("b1", "ann"));
    stage.refused(through(&["fans"], hold("b2", "ann", lines(&[], &["A2"]))), "LEAVES_SINGLE_SEAT");
    stage.check_recovery();
}

#[test]
fn late_money_buys_from_the_channel_again_or_from_everybodys() {
    let mut stage = Stage::created(Settings { room: None, ..settings() });
    stage.stock_up(500);
    stage.ok(Command::OpenSale { seed: None, public_value: None });
    stage.ok(set("fans", None, None));
    stage.ok(allot(lines(&[("ga", 2)], &["A-1"]), None, Some("fans")));
    for (booking, moved) in [("b1", false), ("b2", true)] {
        stage.ok(through(&["fans"], hold(booking, "ann", lines(&[("ga", 2)], &["A-1"]))));
        let payment = format!("p-{booking}");
        stage.ok(begin(booking, "ann", &payment));
        stage.pass_ms(3_600_000);
        assert_eq!(stage.status(booking), "expired");
        if moved {
            stage.ok(allot(lines(&[("ga", 1)], &["A-1"]), Some("fans"), None));
        }
        stage.ok(confirm(booking, "ann", Some(&payment)));
        let expected = if moved { (1, String::new()) } else { (0, String::new()) };
        assert_eq!((left(&stage, "fans"), channel(&stage, "fans").taken), (expected, 3));
        stage.check_recovery();
        stage.ok(cancel(booking, None));
        assert_eq!(channel(&stage, "fans").taken, 0);
    }
    assert_eq!(left(&stage, "fans"), (3, "A-1".into()), "all of it went back to the channel");
    stage.ok(allot(lines(&[("ga", 3)], &["A-1"]), Some("fans"), None));
    assert_eq!((stage.free("ga"), stage.free_seats()), (10, 4));
}

#[test]
fn late_money_buys_no_more_through_a_channel_than_its_quota() {
    let mut stage = Stage::created(Settings { room: None, ..settings() });
    stage.stock_up(500);
    stage.ok(Command::OpenSale { seed: None, public_value: None });
    stage.ok(set("fans", Some(2), None));
    stage.ok(allot(lines(&[("ga", 3)], &["A-1"]), None, Some("fans")));
    let ga = |booking, user| through(&["fans"], hold(booking, user, lines(&[("ga", 2)], &[])));
    let seats = through(&["fans"], hold("b3", "cy", lines(&[("ga", 1)], &["A-1"])));
    stage.ok(ga("b1", "ann"));
    stage.ok(begin("b1", "ann", "p-b1"));
    stage.pass_ms(3_600_000);
    stage.ok(seats);
    stage.ok(begin("b3", "cy", "p-b3"));
    stage.refused(confirm("b1", "ann", Some("p-b1")), "CHANNEL_QUOTA");
    stage.pass_ms(3_600_000);
    stage.ok(confirm("b1", "ann", Some("p-b1")));
    assert_eq!(channel(&stage, "fans").taken, 2);
    // A pool's units and a seat count together.
    stage.ok(set("fans", Some(3), None));
    stage.refused(confirm("b3", "cy", Some("p-b3")), "CHANNEL_QUOTA");
    stage.ok(set("fans", Some(4), None));
    stage.ok(confirm("b3", "cy", Some("p-b3")));
    stage.check_recovery();
}

#[test]
fn what_is_set_aside_is_told_by_channel_in_the_order_of_their_ids() {
    let mut stage = with_fans(None);
    stage.ok(allot(lines(&[("ga", 1)], &["A-3"]), None, Some("box")));
    let told = stage.event.ask(stage.now, AvailabilityNow).expect("an event");
    assert_eq!(told.pools[0].allotted, [(id("box"), 1), (id("fans"), 3)]);
    assert_eq!(told.categories[0].allotted, [(id("box"), 1), (id("fans"), 2)]);
}

#[test]
fn people_are_let_in_to_what_is_free_in_a_channel_whose_buyers_queue() {
    let room = RoomSettings { capacity: 10, ..RoomSettings::default() };
    for (channel, quota, is_let_in, then) in [
        ("fans", None, false, AdmissionState::SoldOut),
        ("queued", None, true, AdmissionState::GoesOn),
        ("queued", Some(1), true, AdmissionState::Waits),
        ("queued", Some(0), false, AdmissionState::SoldOut),
    ] {
        let mut stage = Stage::with_room(room.clone());
        stage.ok(set(channel, quota, None));
        let all = lines(&[("ga", 10)], &["A-1", "A-2", "A-3", "A-4"]);
        stage.ok(allot(all, None, Some(channel)));
        stage.ok(join(1, "ann"));
        stage.tick();
        assert_eq!(stage.is_active("ann"), is_let_in, "{channel} {quota:?}");
        let told = stage.event.ask(stage.now, EventNow).expect("an event").admission;
        assert_eq!(told, then, "{channel} {quota:?}");
        stage.ok(release_channel(channel, None));
        stage.tick();
        assert!(stage.is_active("ann"), "what is everybody's is there for whoever queues");
        stage.check_recovery();
    }
}

#[test]
fn an_event_has_so_many_channels_and_no_more() {
    let mut stage = Stage::flash();
    for nth in 0..20 {
        stage.ok(set(&format!("c{nth}"), None, None));
    }
    stage.refused(set("one-more", None, None), "EVENT_LIMIT");
    stage.ok(set("c3", Some(7), None));
    stage.refused(set("c3", Some(1_000_000_001), None), "INVALID_SETTINGS");
    stage.refused(set("c3", None, Some((stage.now.plus_ms(5), Some("c3")))), "INVALID_SETTINGS");
    stage.refused(set("c3", None, Some((stage.now.plus_ms(5), Some("zz")))), "CHANNEL_NOT_FOUND");
    stage.refused(release_channel("c3", Some("c3")), "INVALID_SETTINGS");
    assert_eq!(channel(&stage, "c3").spec.quota, Some(7));
    stage.check_recovery();
}
