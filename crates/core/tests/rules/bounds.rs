//! The last value that is taken and the first that is not, and parts of a condition one at a time.

use crate::stage::{
    Stage, arrive, begin, booking_id, confirm, hold, hold_ga, join, lines, reason, settings,
};
use crate::types::{a_type, adult, category, child, ga, price, set, typed};
use onrush_core::best::{Best, Together};
use onrush_core::channels::{ChannelSpec, PlannedRelease};
use onrush_core::hold::OnDecline;
use onrush_core::ids::ChannelId;
use onrush_core::limits::{
    MAX_CATEGORIES_PER_EVENT, MAX_CODES_PER_CHANNEL, MAX_POOL_CAPACITY, MAX_PRICE_STEPS,
    MAX_PRICE_TIME_MS, MAX_SEATS_PER_EVENT, MAX_SEATS_PER_SEGMENT, MAX_TYPES, fits_text,
};
use onrush_core::prices::{PriceStep, Priced};
use onrush_core::question::{EventNow, SeatsNow};
use onrush_core::score::Scores;
use onrush_core::settings::{Digest, RoomSettings, Settings};
use onrush_core::snapshot::{SnapshotRow, agree};
use onrush_core::spec::{Access, CategorySpec, PoolSpec, SeatSpec};
use onrush_core::types::{TicketType, TypePrice};
use onrush_core::user_limits::UserLimit;
use onrush_core::view::{ClaimState, PlaceState, SeatView, Units};
use onrush_core::{Command, Refusal, Reply, Time};

fn seats(range: std::ops::Range<usize>) -> Vec<SeatSpec> {
    let seat = |nth: usize| SeatSpec {
        seat: format!("s{nth}").parse().expect("an id"),
        section: "stalls".into(),
        row: "A".into(),
        number: nth.to_string().into(),
        category: "all".into(),
        rank: 0,
        aisle: false,
        access: Access::Anyone,
    };
    range.map(seat).collect()
}

fn add_seats(range: std::ops::Range<usize>) -> Command {
    let categories = vec![CategorySpec { name: "all".into(), price_minor: 0 }];
    Command::AddSeats { categories, seats: seats(range) }
}

fn room(capacity: u32) -> RoomSettings {
    RoomSettings { capacity, ..RoomSettings::default() }
}

/// A sale where units cost something.
fn priced(settings: Settings) -> Stage {
    let mut stage = Stage::created(Settings { room: None, ..settings });
    stage.stock_up(500);
    stage.ok(Command::OpenSale { seed: None, public_value: None });
    stage
}

fn fail(booking: &str, payment: &str) -> Command {
    let (booking, payment) = (booking_id(booking), payment.parse().expect("an id"));
    Command::FailPayment { booking, payment, why: "declined".into(), then: OnDecline::Keep }
}

fn adjust(claim: &str, pool: &str, amount: i64) -> Command {
    let (claim, pool) = (claim.parse().expect("an id"), pool.parse().expect("an id"));
    Command::AdjustClaimed { claim, pool, amount, reason: reason() }
}

fn claim(claim: &str, user: &str, quantity: u32) -> Command {
    Command::Claim {
        claim: claim.parse().expect("an id"),
        user: user.parse().expect("an id"),
        pool: "ga".parse().expect("an id"),
        quantity,
        ttl_ms: None,
    }
}

#[test]
fn an_event_may_have_as_many_seats_as_it_may() {
    let mut stage = Stage::created(settings());
    stage.ok(add_seats(0..3));
    stage.refused(add_seats(3..MAX_SEATS_PER_EVENT + 1), "EVENT_LIMIT");
    stage.ok(add_seats(3..MAX_SEATS_PER_EVENT));
    stage.refused(add_seats(MAX_SEATS_PER_EVENT..MAX_SEATS_PER_EVENT + 1), "EVENT_LIMIT");
}

#[test]
fn an_event_may_have_as_many_categories_as_it_may() {
    let add = |categories: std::ops::Range<usize>, seat| {
        let name = |nth: usize| if nth == 0 { "all".into() } else { format!("c{nth}").into() };
        let categories = categories.map(|nth| CategorySpec { name: name(nth), price_minor: 0 });
        Command::AddSeats { categories: categories.collect(), seats: seats(seat..seat + 1) }
    };
    let mut stage = Stage::created(settings());
    stage.ok(add(0..2, 0));
    stage.refused(add(0..MAX_CATEGORIES_PER_EVENT + 1, 1), "EVENT_LIMIT");
    stage.ok(add(0..MAX_CATEGORIES_PER_EVENT, 1));
    stage.refused(add(0..MAX_CATEGORIES_PER_EVENT + 1, 2), "EVENT_LIMIT");
}

#[test]
fn a_pool_has_at_most_a_billion_units() {
    let mut stage = Stage::created(settings());
    let add = |pool: &str, capacity| {
        let pool = pool.parse().expect("an id");
        Command::AddPool { spec: PoolSpec { pool, capacity, price_minor: 0 } }
    };
    stage.refused(add("ga", MAX_POOL_CAPACITY + 1), "INVALID_SETTINGS");
    stage.ok(add("ga", MAX_POOL_CAPACITY));
    let pool = "ga".parse().expect("an id");
    let more = Command::AdjustCapacity { pool, capacity: MAX_POOL_CAPACITY + 1, reason: reason() };
    stage.refused(more, "INVALID_SETTINGS");
    stage.refused(adjust("c1", "ga", i64::from(MAX_POOL_CAPACITY) + 1), "INVALID_QUANTITY");
    stage.refused(adjust("c1", "ga", 0), "INVALID_QUANTITY");
    stage.ok(Command::OpenSale { seed: None, public_value: None });
    stage.ok(adjust("c1", "ga", MAX_POOL_CAPACITY.into()));
}

#[test]
fn a_row_of_more_seats_than_the_rules_look_at_is_two() {
    let mut stage = Stage::created(settings());
    stage.ok(add_seats(0..MAX_SEATS_PER_SEGMENT));
    let segments = |stage: &Stage| stage.event.segments().map(|segment| segment.longest).collect();
    let of_all: Vec<u32> = segments(&stage);
    assert_eq!(of_all, [MAX_SEATS_PER_SEGMENT as u32]);
    stage.ok(add_seats(MAX_SEATS_PER_SEGMENT..MAX_SEATS_PER_SEGMENT + 2));
    let of_all: Vec<u32> = segments(&stage);
    assert_eq!(of_all, [MAX_SEATS_PER_SEGMENT as u32, 2]);
}

#[test]
fn what_a_channel_may_be_ends_where_it_is_said_to() {
    let mut stage = Stage::flash();
    let spec = |quota, codes: usize, at: Time| ChannelSpec {
        channel: "fans".parse().expect("an id"),
        quota,
        codes: (0..codes).map(|nth| Digest([nth as u8; 32])).collect(),
        queued: false,
        release: Some(PlannedRelease { at, into: None }),
    };
    let mut set = |spec, fits| {
        let command = Command::SetChannel { spec, reason: reason() };
        if fits { drop(stage.ok(command)) } else { stage.refused(command, "INVALID_SETTINGS") }
    };
    let last = Time(MAX_PRICE_TIME_MS);
    set(spec(Some(MAX_POOL_CAPACITY), MAX_CODES_PER_CHANNEL, last), true);
    set(spec(Some(MAX_POOL_CAPACITY + 1), 0, last), false);
    set(spec(None, MAX_CODES_PER_CHANNEL + 1, last), false);
    set(spec(None, 0, last.plus_ms(1)), false);
    set(spec(None, 0, last.plus_ms(2)), false);
}

#[test]
fn a_pool_may_have_as_many_types_as_it_may() {
    let mut stage = Stage::flash();
    let types = |count: usize| {
        let one = |nth| a_type(&format!("t{nth}"), "A type", TypePrice::LessMinor(0));
        (0..count).map(one).collect::<Vec<_>>()
    };
    stage.refused(set(ga(), types(MAX_TYPES + 1)), "INVALID_SETTINGS");
    stage.ok(set(ga(), types(MAX_TYPES)));
    // As many as must be may be all that may be.
    stage.ok(set(ga(), vec![TicketType { min: 2, max: Some(2), ..adult() }]));
    let contradiction = TicketType { min: 3, max: Some(2), ..adult() };
    stage.refused(set(ga(), vec![contradiction]), "INVALID_SETTINGS");
}

#[test]
fn the_best_seats_may_be_as_many_of_a_type_as_there_may_be() {
    let mut stage = Stage::flash();
    let pairs = TicketType { min: 2, max: Some(2), ..child() };
    stage.ok(set(category("stalls"), vec![adult(), pairs]));
    let best = |quantity| Best::new(quantity, Together::Must).expect("a quantity");
    let order = |booking, count| {
        let order = crate::best::hold_best(booking, "ann", best(count), None);
        typed(order, crate::types::of_best(&[("child", count)]))
    };
    stage.refused(order("b1", 3), "TYPE_LIMIT");
    stage.refused(order("b1", 1), "TYPE_LIMIT");
    stage.ok(order("b1", 2));
}

#[test]
fn a_channel_that_is_named_twice_is_named_once() {
    for channels in [&["fans"][..], &["fans", "fans"]] {
        let mut stage = Stage::flash();
        let pool = "gb".parse().expect("an id");
        stage.ok(Command::AddPool { spec: PoolSpec { pool, capacity: 10, price_minor: 0 } });
        let channel: ChannelId = "fans".parse().expect("an id");
        let (quota, codes, queued, release) = (Some(1), Vec::new(), false, None);
        let spec = ChannelSpec { channel: channel.clone(), quota, codes, queued, release };
        stage.ok(Command::SetChannel { spec, reason: reason() });
        let (both, to) = (lines(&[("ga", 1), ("gb", 1)], &[]), Some(channel));
        stage.ok(Command::Allot { lines: both.clone(), from: None, to, reason: reason() });
        let Command::Hold { booking, user, lines, types, .. } = hold("b1", "ann", both) else {
            unreachable!("a hold");
        };
        let channels = channels.iter().map(|channel| channel.parse().expect("an id")).collect();
        stage.ok(Command::Hold { booking, user, lines, types, channels });
        let terms = stage.booking("b1").terms;
        let sources: Vec<bool> = terms.sources.iter().map(Option::is_some).collect();
        assert_eq!(sources, [true, false], "its quota allows one");
    }
}

#[test]
fn names_and_texts_are_counted_in_characters() {
    assert!(fits_text(&"é".repeat(500)) && fits_text(&"x".repeat(500)));
    assert!(!fits_text(&"é".repeat(501)) && !fits_text(&"x".repeat(501)));
    let names =
        |count: usize| -> Vec<Box<str>> { (0..count).map(|nth| nth.to_string().into()).collect() };
    let best = || Best::new(1, Together::Must).expect("a quantity");
    assert!(best().within(names(100), names(100)).is_ok());
    assert!(best().within(names(101), vec![]).is_err());
    assert!(best().within(vec![], vec!["x".repeat(501).into()]).is_err());
}

#[test]
fn a_payment_that_runs_is_over_in_the_very_millisecond_of_its_deadline() {
    let mut stage = priced(settings());
    stage.ok(hold_ga("b1", "ann", 1));
    stage.ok(begin("b1", "ann", "p1"));
    let until = stage.booking("b1").state.until().expect("a deadline");
    stage.now = until.plus_ms(-1);
    stage.ok(begin("b1", "ann", "p1"));
    stage.now = until;
    stage.refused(begin("b1", "ann", "p1"), "HOLD_EXPIRED");
}

#[test]
fn a_payment_that_is_not_the_bookings_does_not_fail_it() {
    let mut stage = priced(settings());
    stage.ok(hold_ga("b1", "ann", 1));
    stage.ok(hold_ga("b2", "bob", 1));
    stage.ok(begin("b1", "ann", "p1"));
    stage.ok(begin("b2", "bob", "p2"));
    stage.ok(confirm("b2", "bob", Some("p2")));
    stage.refused(fail("b2", "p1"), "PAYMENT_MISMATCH");
    stage.refused(fail("b2", "p2"), "ALREADY_CONFIRMED");
    let until = stage.booking("b1").state.until().expect("a deadline");
    stage.pass_ms(until.since_ms(stage.now));
    assert_eq!(stage.status("b1"), "expired");
    stage.refused(fail("b1", "p2"), "PAYMENT_MISMATCH");
    stage.ok(fail("b1", "p1"));
    stage.check_recovery();
}

#[test]
fn a_session_shows_as_over_from_the_very_millisecond_of_its_end() {
    let mut stage = Stage::with_room(room(1));
    stage.ok(join(1, "ann"));
    stage.tick();
    stage.ok(arrive(1, "ann"));
    stage.now = stage.now.plus_ms(room(1).session_ms - 1);
    assert!(stage.is_active("ann"));
    stage.now = stage.now.plus_ms(1);
    let state = stage.place("ann").expect("a place").state;
    assert_eq!(state, PlaceState::Ended { until: stage.now });
}

#[test]
fn whoever_comes_in_the_very_millisecond_that_they_should_have_come_by_is_late() {
    let mut stage = Stage::with_room(room(1));
    stage.ok(join(1, "ann"));
    stage.tick();
    stage.now = stage.now.plus_ms(room(1).arrive_ms);
    stage.refused(arrive(1, "ann"), "SESSION_OVER");
    stage.refused(hold_ga("b1", "ann", 1), "SESSION_OVER");
    stage.now = stage.now.plus_ms(-1);
    stage.ok(arrive(1, "ann"));
    // The end of a session that is shorter than the time to come by counts as well.
    let short = RoomSettings { session_ms: 1_000, arrive_ms: 5_000, ..room(1) };
    let mut stage = Stage::with_room(short);
    stage.ok(join(1, "ann"));
    stage.tick();
    stage.now = stage.now.plus_ms(1_000);
    stage.refused(arrive(1, "ann"), "SESSION_OVER");
}

#[test]
fn a_place_says_when_it_lapses_and_is_not_there_from_then_on() {
    let mut stage = Stage::with_room(room(1));
    stage.ok(join(1, "ann"));
    stage.tick();
    stage.ok(join(2, "bob"));
    let lapses = stage.now.plus_ms(room(1).place_ttl_ms);
    for (at, due) in [(stage.now, false), (lapses.plus_ms(-1), true)] {
        stage.now = at;
        let PlaceState::Queued { lapses_at, see_due, .. } =
            stage.place("bob").expect("a place").state
        else {
            panic!("bob waits");
        };
        assert_eq!((lapses_at, see_due), (Some(lapses), due), "{at}");
    }
    // Its tick has not come yet.
    stage.now = lapses;
    assert_eq!(stage.place("bob"), Err(Refusal::PlaceNotFound));
    stage.refused(crate::stage::leave(2, "bob"), "PLACE_NOT_FOUND");
}

/// A sign of life counts for all places: whoever shops gives it for those that wait.
#[test]
fn a_session_says_whether_a_place_that_waits_besides_needs_a_sign_of_life() {
    let settings = RoomSettings { place_ttl_ms: 60_000, places_per_user: 2, ..room(1) };
    let mut stage = Stage::with_room(settings);
    stage.ok(join(1, "ann"));
    stage.tick();
    stage.ok(join(2, "ann"));
    for (passed_ms, due) in [(9_999, false), (1, true), (49_999, true)] {
        stage.pass_ms(passed_ms);
        assert_eq!(stage.place("ann").expect("a session").state.see_due(), due, "{passed_ms}");
    }
    let Reply::Place(view) = stage.ok(arrive(1, "ann")) else { panic!("a place") };
    assert!(view.state.see_due());
    let see = Command::See { place: view.place, user: "ann".parse().expect("an id") };
    stage.ok(see);
    assert!(!stage.place("ann").expect("a session").state.see_due());
    stage.check_recovery();
}

#[test]
fn an_event_is_not_archived_while_somebody_waits_or_is_in_or_something_is_held() {
    let archive = || Command::Archive { reason: reason() };
    let mut waits = Stage::created(settings());
    waits.ok(Command::OpenPrequeue);
    waits.ok(join(1, "ann"));
    let mut is_in = Stage::with_room(room(1));
    is_in.ok(join(1, "ann"));
    is_in.tick();
    let mut holds = Stage::flash();
    holds.ok(hold_ga("b1", "ann", 1));
    let mut holds_a_seat = Stage::flash();
    holds_a_seat.ok(hold("b1", "ann", lines(&[], &["A-1"])));
    for mut stage in [waits, is_in, holds, holds_a_seat] {
        stage.ok(Command::Close);
        stage.refused(archive(), "EVENT_IN_USE");
    }
    let mut stage = Stage::flash();
    stage.ok(Command::Close);
    stage.ok(archive());
}

#[test]
fn a_limit_that_is_exceeded_already_stops_nobody_from_having_something_else() {
    let limit = |of, max_per_user| UserLimit { of, ticket_type: None, max_per_user };
    let with = |limits| Settings { room: None, limits, ..settings() };
    let mut stage = Stage::open(with(vec![]));
    stage.ok(hold_ga("b1", "ann", 4));
    let limits = vec![limit(ga(), 2), limit(category("stalls"), 1)];
    stage.ok(Command::ChangeSettings { settings: Box::new(with(limits)) });
    stage.refused(hold_ga("b2", "ann", 1), "USER_LIMIT_EXCEEDED");
    stage.ok(hold("b2", "ann", lines(&[], &["A-1"])));
}

#[test]
fn what_is_claimed_counts_for_the_limit_of_its_pool_alone() {
    let limit = |of, ticket_type: Option<&str>| UserLimit {
        of,
        ticket_type: ticket_type.map(|id| id.parse().expect("an id")),
        max_per_user: 1,
    };
    let of = |limits| Stage::open(Settings { room: None, limits, ..settings() });
    let mut stage = of(vec![limit(ga(), Some("child"))]);
    stage.ok(claim("c1", "ann", 3));
    let other = Priced::Pool("other".parse().expect("an id"));
    let mut stage = of(vec![limit(other, None)]);
    stage.ok(claim("c1", "ann", 3));
    let mut stage = of(vec![limit(ga(), None)]);
    stage.refused(claim("c1", "ann", 3), "USER_LIMIT_EXCEEDED");
}

#[test]
fn an_adjustment_seen_before_is_the_same_in_every_part() {
    let mut stage = Stage::flash();
    let pool = "other".parse().expect("an id");
    stage.ok(Command::AddPool { spec: PoolSpec { pool, capacity: 10, price_minor: 0 } });
    let first = stage.ok(adjust("c1", "ga", 2));
    assert_eq!(stage.ok(adjust("c1", "ga", 2)), first);
    stage.refused(adjust("c1", "ga", 3), "BOOKING_MISMATCH");
    stage.refused(adjust("c1", "other", 2), "BOOKING_MISMATCH");
    stage.ok(claim("c2", "ann", 2));
    stage.refused(adjust("c2", "ga", 2), "BOOKING_MISMATCH");
    assert_eq!(stage.free("ga"), 6);
}

#[test]
fn a_score_of_a_later_millisecond_begins_to_count_anew() {
    let mut scores = Scores::default();
    let noon = Time(1_796_119_200_000);
    scores.next(noon).expect("a score");
    let second = scores.next(noon).expect("a score");
    let later = scores.next(noon.plus_ms(1)).expect("a score");
    assert_eq!((second.counter(), later.counter(), later.at()), (1, 0, noon.plus_ms(1)));
}

#[test]
fn a_digest_is_64_digits_and_nothing_else() {
    for text in ["f".repeat(63), "f".repeat(65), "g".repeat(64), String::new()] {
        assert!(text.parse::<Digest>().is_err(), "{text:?}");
    }
    let digest: Digest = "0f".repeat(32).parse().expect("a digest");
    assert_eq!(format!("{digest:?}"), "0f".repeat(32));
}

#[test]
fn a_seat_tells_whose_it_is_and_why_it_is_blocked() {
    let mut stage = Stage::flash();
    stage.ok(hold("b1", "ann", lines(&[], &["A-2"])));
    stage.ok(Command::Block { lines: lines(&[], &["A-3"]), reason: reason() });
    let seats: Vec<SeatView> = stage.event.ask(stage.now, SeatsNow).expect("seats");
    let booked = seats.iter().map(|seat| seat.booking.as_ref().map(|booking| booking.as_str()));
    assert_eq!(booked.collect::<Vec<_>>(), [None, Some("b1"), None, None]);
    let why: Vec<Option<&str>> = seats.iter().map(|seat| seat.why.as_deref()).collect();
    assert_eq!(why, [None, None, Some("house seats"), None]);
}

#[test]
fn a_tick_that_comes_before_anybody_may_be_let_in_changes_nothing() {
    let room = RoomSettings { outflow_per_min: Some(60), ..room(10) };
    let mut stage = Stage::with_room(room);
    stage.ok(join(1, "ann"));
    stage.ok(join(2, "bob"));
    stage.ok(Command::Tick);
    let before = stage.journal.len();
    for after_ms in [0, 999] {
        stage.now = stage.now.plus_ms(after_ms);
        stage.ok(Command::Tick);
    }
    assert_eq!((stage.journal.len(), stage.is_active("bob")), (before, false));
    stage.now = stage.now.plus_ms(1);
    stage.ok(Command::Tick);
    assert!(stage.is_active("bob"));
}

#[test]
fn a_first_choice_counts_against_the_quota_of_the_channel_it_is_of() {
    let mut stage = Stage::flash();
    let channel: ChannelId = "fans".parse().expect("an id");
    let spec = ChannelSpec {
        channel: channel.clone(),
        quota: Some(1),
        codes: Vec::new(),
        queued: false,
        release: None,
    };
    stage.ok(Command::SetChannel { spec, reason: reason() });
    let two = lines(&[], &["A-1", "A-2"]);
    let to = Some(channel.clone());
    stage.ok(Command::Allot { lines: two, from: None, to, reason: reason() });
    let mut first = |booking: &str, seats: [&str; 2]| {
        let ids = seats.map(|seat| seat.parse().expect("an id"));
        let best = Best::new(2, Together::Must).expect("a quantity").rather(ids.into());
        let command = crate::best::hold_best(booking, "ann", best.expect("seats"), None);
        let Command::HoldBest { booking: id, user, order, types, .. } = command else {
            unreachable!("an order");
        };
        let channels = vec![channel.clone()];
        stage.ok(Command::HoldBest { booking: id, user, order, types, channels });
        let seats = stage.booking(booking).terms.lines.seats().to_vec();
        stage.ok(crate::stage::release(booking, "ann"));
        seats.iter().map(|seat| seat.to_string()).collect::<Vec<_>>()
    };
    // Both are the channel's, which may sell one: everybody's are taken instead.
    assert_eq!(first("b1", ["A-1", "A-2"]), ["A-3", "A-4"]);
    assert_eq!(first("b2", ["A-2", "A-3"]), ["A-2", "A-3"]);
}

#[test]
fn the_first_of_several_changes_says_whether_there_is_an_event() {
    let stage = Stage::flash();
    let creates: Vec<bool> =
        stage.journal.iter().map(|(_, change)| change.creates_event()).collect();
    assert!(creates[0] && creates[1..].iter().all(|creates| !creates));
}

#[test]
fn records_are_what_an_event_takes_in_memory() {
    let mut stage = Stage::with_room(room(1));
    assert_eq!(stage.event.records(), 4, "seats");
    stage.ok(join(1, "ann"));
    stage.ok(join(2, "bob"));
    stage.ok(join(3, "cid"));
    assert_eq!(stage.event.records(), 4 + 3 + 3, "users and places");
    stage.tick();
    stage.ok(arrive(1, "ann"));
    assert_eq!(stage.event.records(), 4 + 3 + 2, "who is in does not wait");
    stage.ok(hold_ga("b1", "ann", 1));
    assert_eq!(stage.event.records(), 4 + 3 + 2 + 1, "a booking");
    stage.ok(crate::stage::leave(2, "bob"));
    assert_eq!(stage.event.records(), 4 + 2 + 2 + 1, "a place that is gone, and no user");
    stage.ok(adjust("c1", "ga", 2));
    assert_eq!(stage.event.records(), 4 + 2 + 2 + 1 + 1, "a claim");
}

#[test]
fn rows_of_gone_places_may_lack_and_no_others() {
    let mut stage = Stage::with_room(room(1));
    (1..=4).for_each(|n| drop(stage.ok(join(n, &format!("u{n}")))));
    stage.ok(crate::stage::leave(2, "u2"));
    stage.ok(crate::stage::leave(4, "u4"));
    let rows: Vec<SnapshotRow> = stage.event.snapshot().collect();
    let is_gone = |row: &SnapshotRow| matches!(row, SnapshotRow::Gone(_));
    let gone: Vec<usize> = (0..rows.len()).filter(|nth| is_gone(&rows[*nth])).collect();
    assert_eq!(gone.len(), 2);
    for nth in 0..rows.len() {
        let mut kept = rows.clone();
        kept.remove(nth);
        assert_eq!(agree(kept.clone(), rows.clone()), gone.contains(&nth), "without row {nth}");
        assert!(!agree(rows.clone(), kept), "row {nth} is one too many");
    }
}

#[test]
fn typed_and_untyped_units_are_asked_for_in_the_same_words_twice() {
    let mut stage = Stage::flash();
    stage.ok(set(ga(), vec![adult(), child()]));
    let asked = || crate::types::asked(&[("child", 1)], &[], &[]);
    let first = stage.ok(typed(hold_ga("b1", "ann", 1), asked()));
    assert_eq!(stage.ok(typed(hold_ga("b1", "ann", 1), asked())), first);
    stage.refused(hold_ga("b1", "ann", 1), "BOOKING_MISMATCH");
    // What has no types is held without, and a repeat that names one is another wish.
    let seat = || hold("b2", "ann", lines(&[], &["A-1"]));
    stage.ok(seat());
    stage.ok(seat());
    let named = crate::types::asked(&[], &[("A-1", "adult")], &[]);
    assert!(stage.run(typed(seat(), named)).is_err());
}

#[test]
fn a_claim_that_ran_out_comes_back_as_expired_whoever_is_first() {
    let declaim = || Command::Declaim {
        claim: "c1".parse().expect("an id"),
        user: "ann".parse().expect("an id"),
    };
    for (after_ms, is_expired) in [(999, false), (1_000, true)] {
        let mut stage = Stage::flash();
        let Command::Claim { claim, user, pool, quantity, .. } = claim("c1", "ann", 2) else {
            unreachable!("a claim");
        };
        stage.ok(Command::Claim { claim, user, pool, quantity, ttl_ms: Some(1_000) });
        stage.now = stage.now.plus_ms(after_ms);
        let Reply::Claim(view) = stage.ok(declaim()) else { panic!("a claim is answered") };
        let at = stage.now;
        let state =
            if is_expired { ClaimState::Expired { at } } else { ClaimState::Returned { at } };
        assert_eq!((view.state, stage.free("ga")), (state, 10));
        stage.check_recovery();
    }
}

#[test]
fn a_thing_may_have_as_many_prices_to_come_as_it_may() {
    let mut stage = Stage::flash();
    let later = |count: i64, from: Time| {
        let step = |nth| PriceStep { from: from.plus_ms(nth), price_minor: 1 };
        (1..=count).map(step).collect::<Vec<_>>()
    };
    let most = MAX_PRICE_STEPS as i64;
    stage.refused(price(ga(), 5, later(most + 1, stage.now)), "INVALID_SETTINGS");
    stage.ok(price(ga(), 5, later(most, stage.now)));
    let last = Time(MAX_PRICE_TIME_MS);
    stage.refused(price(ga(), 5, later(1, last)), "INVALID_SETTINGS");
    stage.ok(price(ga(), 5, later(1, last.plus_ms(-1))));
}

#[test]
fn an_event_tells_how_all_its_units_divide() {
    let mut stage = Stage::flash();
    stage.ok(hold("b1", "ann", lines(&[("ga", 3)], &["A-1"])));
    stage.ok(hold("b2", "bob", lines(&[("ga", 1)], &["A-2"])));
    stage.ok(confirm("b2", "bob", None));
    stage.ok(Command::Block { lines: lines(&[("ga", 4)], &["A-3"]), reason: reason() });
    let told = stage.event.ask(stage.now, EventNow).expect("an event").units;
    assert_eq!(told, Units { free: 2 + 1, held: 3 + 1, sold: 1 + 1, blocked: 4 + 1 });
}

#[test]
fn people_are_let_in_to_seats_alone_and_to_a_pool_alone_of_a_channel_whose_buyers_queue() {
    for (of_channel, blocked) in [
        (lines(&[], &["A-1"]), lines(&[("ga", 10)], &["A-2", "A-3", "A-4"])),
        (lines(&[("ga", 1)], &[]), lines(&[("ga", 9)], &["A-1", "A-2", "A-3", "A-4"])),
    ] {
        let mut stage = Stage::with_room(room(10));
        let channel: ChannelId = "queued".parse().expect("an id");
        let (quota, codes, queued, release) = (None, Vec::new(), true, None);
        let spec = ChannelSpec { channel: channel.clone(), quota, codes, queued, release };
        stage.ok(Command::SetChannel { spec, reason: reason() });
        let to = Some(channel);
        stage.ok(Command::Allot { lines: of_channel, from: None, to, reason: reason() });
        stage.ok(Command::Block { lines: blocked, reason: reason() });
        stage.ok(join(1, "ann"));
        stage.tick();
        assert!(stage.is_active("ann"));
    }
}
