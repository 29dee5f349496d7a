//! Holds, payments and confirmations, one fact a test.

use crate::money::hold_view;
use crate::stage::{
    OPENING, Stage, begin, booking_id, cancel, confirm, hold, hold_ga, join, lines, release,
    settings,
};
use onrush_core::change::{Change, HoldChange};
use onrush_core::gaps::Gaps;
use onrush_core::hold::{HoldState, HoldStatus, OnDecline};
use onrush_core::ids::ExtensionId;
use onrush_core::lines::{Lines, PoolLine};
use onrush_core::question::{BookingsOf, EventNow};
use onrush_core::settings::Settings;
use onrush_core::snapshot::{SnapshotRow, agree};
use onrush_core::{Command, Event, Reply, Time};

/// An open event without a waiting room where each unit costs 50.00.
fn paid() -> Stage {
    let mut stage = Stage::created(Settings { room: None, ..settings() });
    stage.stock_up(5_000);
    stage.ok(Command::OpenSale { seed: None, public_value: None });
    stage
}

fn fail(booking: &str, payment: &str) -> Command {
    let payment = payment.parse().expect("an id");
    Command::FailPayment {
        booking: booking_id(booking),
        payment,
        why: "insufficient_funds".into(),
        then: OnDecline::Keep,
    }
}

pub(crate) fn extend(booking: &str, user: &str) -> Command {
    let (booking, user) = (booking_id(booking), user.parse().expect("an id"));
    Command::Extend { booking, user, extension: None }
}

/// The same under a name.
pub(crate) fn extend_by(booking: &str, user: &str, extension: u128) -> Command {
    let (booking, user) = (booking_id(booking), user.parse().expect("an id"));
    Command::Extend { booking, user, extension: Some(ExtensionId::from_u128(extension)) }
}

/// When the hold runs out, in milliseconds after the opening.
fn until_ms(stage: &Stage, booking: &str) -> Option<i64> {
    stage.booking(booking).state.until().map(|until| until.since_ms(OPENING))
}

#[test]
fn a_hold_takes_pools_and_seats_together_or_nothing() {
    let mut stage = Stage::flash();
    stage.ok(hold("b1", "ann", lines(&[("ga", 2)], &["A-1", "A-2"])));
    assert_eq!((stage.free("ga"), stage.free_seats()), (8, 2));
    stage.refused(hold("b2", "bob", lines(&[("ga", 2)], &["A-2", "A-3"])), "SEAT_UNAVAILABLE");
    stage.refused(hold("b3", "bob", lines(&[("ga", 9)], &["A-3"])), "INSUFFICIENT_STOCK");
    assert_eq!((stage.free("ga"), stage.free_seats()), (8, 2), "a refused hold takes nothing");
    stage.check_recovery();
}

#[test]
fn bookings_of_one_millisecond_keep_the_order_they_were_held_in() {
    let mut stage = Stage::flash();
    let held = ["b3", "b1", "b2"];
    for booking in held {
        stage.ok(hold_ga(booking, "ann", 1));
    }
    let all = BookingsOf { user: "ann".parse().expect("an id"), after: None, limit: 10 };
    let ids = |event: &Event| -> Vec<_> {
        let views = event.ask(OPENING, all.clone()).expect("bookings");
        views.iter().map(|view| view.terms.booking.to_string()).collect()
    };
    assert_eq!(ids(&stage.event), held);
    let restored = Event::restore(stage.event.id().clone(), stage.event.snapshot()).expect("rows");
    assert_eq!(ids(&restored), held, "a start from a snapshot changes no order");
    stage.check_recovery();
}

#[test]
fn snapshots_of_before_that_order_was_kept_still_agree() {
    let mut stage = Stage::flash();
    for booking in ["b2", "b1"] {
        stage.ok(hold_ga(booking, "ann", 1));
    }
    let rows: Vec<_> = stage.event.snapshot().collect();
    let mut by_id = rows.clone();
    let first = by_id.iter().position(|row| matches!(row, SnapshotRow::Hold(_))).expect("a hold");
    by_id.swap(first, first + 1);
    assert!(by_id != rows && agree(by_id.clone(), rows.clone()));
    by_id.remove(first);
    assert!(!agree(by_id, rows), "a booking is missing");
}

#[test]
fn snapshots_of_before_gaps_were_kept_still_agree_and_others_do_not() {
    let mut stage = Stage::flash();
    for _ in 0..40 {
        stage.now = stage.now.plus_ms(5_000);
        stage.ok(Command::Recover { gap_ms: 5_000 });
    }
    let rows: Vec<_> = stage.event.snapshot().collect();
    let with = |change: fn(&mut Vec<(Time, i64)>)| {
        let mut rows = rows.clone();
        let SnapshotRow::Event(row) = &mut rows[0] else { panic!("the event's own row is first") };
        let mut gaps: Vec<_> = row.gaps.iter().collect();
        change(&mut gaps);
        row.gaps = Gaps::restore(gaps);
        rows
    };
    assert_eq!(with(|_| {}), rows);
    for before in [with(|gaps| gaps.clear()), with(|gaps| drop(gaps.drain(3..7)))] {
        assert!(before != rows && agree(before.clone(), rows.clone()));
        assert!(!agree(rows.clone(), before), "they were kept, and should not be there");
    }
    assert!(!agree(with(|gaps| gaps[9].1 += 1), rows.clone()));
    // An older version dropped those before the first, which has them in its sum.
    let dropped = with(|gaps| gaps[0].1 = 5_000);
    assert!(dropped != rows && agree(dropped, rows.clone()));
    let few = |gap_ms| {
        let mut stage = Stage::flash();
        stage.ok(Command::Recover { gap_ms });
        stage.event.snapshot().collect::<Vec<_>>()
    };
    assert!(!agree(few(4_999), few(5_000)), "the first of few is no sum");
}

#[test]
fn a_stay_is_all_of_its_nights_or_none() {
    let mut stage = Stage::flash();
    for night in ["deluxe.2026-12-24", "deluxe.2026-12-25", "deluxe.2026-12-26"] {
        let pool = night.parse().expect("an id");
        let spec = onrush_core::spec::PoolSpec { pool, capacity: 1, price_minor: 0 };
        stage.ok(Command::AddPool { spec });
    }
    stage.ok(hold("b1", "ann", lines(&[("deluxe.2026-12-26", 1)], &[])));
    let stay =
        lines(&[("deluxe.2026-12-24", 1), ("deluxe.2026-12-25", 1), ("deluxe.2026-12-26", 1)], &[]);
    stage.refused(hold("b2", "bob", stay.clone()), "INSUFFICIENT_STOCK");
    assert_eq!(stage.free("deluxe.2026-12-24"), 1);
    stage.ok(release("b1", "ann"));
    stage.ok(hold("b2", "bob", stay));
    assert_eq!(stage.free("deluxe.2026-12-24"), 0);
}

#[test]
fn the_same_booking_with_the_same_lines_is_the_same_hold() {
    let mut stage = Stage::flash();
    let first = stage.ok(hold_ga("b1", "ann", 2));
    let changes = stage.journal.len();
    assert_eq!(stage.ok(hold_ga("b1", "ann", 2)), first);
    assert_eq!(stage.journal.len(), changes);
    stage.refused(hold_ga("b1", "ann", 3), "BOOKING_MISMATCH");
    stage.refused(hold_ga("b1", "bob", 2), "BOOKING_MISMATCH");
    assert_eq!(stage.free("ga"), 8);
}

#[test]
fn the_order_of_lines_does_not_matter_and_lines_of_a_pool_add_up() {
    let line = |pool: &str, quantity| PoolLine { pool: pool.parse().expect("an id"), quantity };
    let one = Lines::new(vec![line("b", 1), line("a", 2), line("b", 3)], vec![]);
    let other = Lines::new(vec![line("a", 2), line("b", 4)], vec![]);
    assert_eq!(one, other);
    assert_eq!(one.expect("lines").units(), 6);
}

#[test]
fn lines_have_limits() {
    let line = |quantity| PoolLine { pool: "ga".parse().expect("an id"), quantity };
    let code = |pools, seats| Lines::new(pools, seats).expect_err("a refusal").code();
    let seat = |n: usize| format!("s{n}").parse().expect("an id");
    assert_eq!(code(vec![], vec![]), "INVALID_QUANTITY");
    assert_eq!(code(vec![line(0)], vec![]), "INVALID_QUANTITY");
    assert_eq!(code(vec![line(1_001)], vec![]), "INVALID_QUANTITY");
    assert_eq!(code(vec![line(u32::MAX), line(u32::MAX)], vec![]), "INVALID_QUANTITY");
    assert_eq!(code(vec![line(600), line(600)], vec![]), "INVALID_LINES");
    assert_eq!(code(vec![], vec![seat(1), seat(1)]), "INVALID_LINES");
    assert_eq!(code(vec![], (0..401).map(seat).collect()), "INVALID_LINES");
}

#[test]
fn unknown_pools_and_seats_are_named() {
    let mut stage = Stage::flash();
    stage.refused(hold("b1", "ann", lines(&[("nope", 1)], &[])), "ZONE_NOT_FOUND");
    stage.refused(hold("b1", "ann", lines(&[], &["Z-9"])), "SEAT_NOT_FOUND");
}

#[test]
fn the_user_limit_counts_held_and_confirmed_units_only() {
    let mut stage = Stage::open(Settings { room: None, max_per_user: Some(4), ..settings() });
    stage.ok(hold("b1", "ann", lines(&[("ga", 1)], &["A-1"])));
    stage.ok(confirm("b1", "ann", None));
    stage.ok(hold_ga("b2", "ann", 2));
    stage.refused(hold_ga("b3", "ann", 1), "USER_LIMIT_EXCEEDED");
    stage.ok(hold_ga("b4", "bob", 4));
    stage.ok(release("b2", "ann"));
    stage.ok(hold_ga("b3", "ann", 2));
    stage.ok(cancel("b1", None));
    stage.ok(hold_ga("b5", "ann", 2));
    stage.refused(hold_ga("b6", "ann", 1), "USER_LIMIT_EXCEEDED");
    stage.check_recovery();
}

#[test]
fn refusals_come_in_their_order_of_precedence() {
    let mut stage = Stage::open(Settings { room: None, max_per_user: Some(1), ..settings() });
    let both = lines(&[("ga", 11)], &["A-1"]);
    stage.refused(hold("b1", "ann", both.clone()), "INSUFFICIENT_STOCK");
    stage.refused(hold("b1", "ann", lines(&[("ga", 2)], &[])), "USER_LIMIT_EXCEEDED");
    stage.ok(Command::Pause);
    stage.refused(hold("b1", "ann", both), "EVENT_NOT_OPEN");
    stage.refused(hold("b1", "ann", lines(&[("nope", 1)], &[])), "ZONE_NOT_FOUND");
}

#[test]
fn holding_in_an_event_with_a_room_needs_a_session() {
    let mut stage = Stage::open(settings());
    stage.refused(hold_ga("b1", "ann", 1), "NOT_YOUR_TURN");
    stage.ok(join(1, "ann"));
    stage.refused(hold_ga("b1", "ann", 1), "NOT_YOUR_TURN");
    stage.tick();
    stage.ok(hold_ga("b1", "ann", 1));
    stage.pass_ms(130_000);
    assert!(stage.is_active("ann"), "who holds has shown up");
}

#[test]
fn a_hold_runs_out_at_its_deadline_and_not_before() {
    let mut stage = Stage::flash();
    stage.ok(hold("b1", "ann", lines(&[("ga", 2)], &["A-1"])));
    stage.pass_ms(599_999);
    assert_eq!(stage.status("b1"), "held");
    stage.pass_ms(1);
    assert_eq!(stage.status("b1"), "expired");
    assert_eq!((stage.free("ga"), stage.free_seats()), (10, 4));
    stage.refused(release("b1", "ann"), "HOLD_EXPIRED");
    assert_eq!(stage.free("ga"), 10);
}

#[test]
fn expired_hold_cannot_be_confirmed_even_before_its_tick() {
    let mut stage = Stage::flash();
    stage.ok(hold_ga("b1", "ann", 2));
    stage.now = stage.now.plus_ms(600_000);
    stage.refused(confirm("b1", "ann", None), "HOLD_EXPIRED");
    stage.refused(extend("b1", "ann"), "HOLD_EXPIRED");
    assert_eq!(stage.free("ga"), 8, "stock comes back with the tick and not earlier");
    stage.tick();
    assert_eq!(stage.free("ga"), 10);
    stage.refused(confirm("b1", "ann", None), "HOLD_EXPIRED");
}

#[test]
fn a_free_booking_is_confirmed_without_a_payment_and_once() {
    let mut stage = Stage::flash();
    stage.ok(hold("b1", "ann", lines(&[("ga", 1)], &["A-1"])));
    stage.refused(begin("b1", "ann", "p1"), "NOTHING_TO_PAY");
    stage.ok(confirm("b1", "ann", None));
    let changes = stage.journal.len();
    stage.ok(confirm("b1", "ann", None));
    assert_eq!(stage.journal.len(), changes, "confirming again changes nothing");
    stage.refused(confirm("b1", "ann", Some("p1")), "ALREADY_CONFIRMED");
    stage.refused(release("b1", "ann"), "ALREADY_CONFIRMED");
    stage.pass_ms(7 * 24 * 3_600_000);
    assert_eq!(stage.status("b1"), "confirmed");
    assert_eq!((stage.free("ga"), stage.free_seats()), (9, 3));
}

#[test]
fn a_paid_booking_is_confirmed_by_its_payment_and_no_other() {
    let mut stage = paid();
    let view = hold_view(stage.ok(hold("b1", "ann", lines(&[("ga", 2)], &["A-1"]))));
    assert_eq!(view.terms.amount_minor, 15_000, "the event prices, and nobody else");
    stage.refused(confirm("b1", "ann", None), "PAYMENT_REQUIRED");
    stage.ok(begin("b1", "ann", "p1"));
    stage.refused(confirm("b1", "ann", None), "PAYMENT_REQUIRED");
    stage.refused(confirm("b1", "ann", Some("p2")), "PAYMENT_MISMATCH");
    stage.ok(confirm("b1", "ann", Some("p1")));
    stage.ok(confirm("b1", "ann", Some("p1")));
    stage.refused(fail("b1", "p1"), "ALREADY_CONFIRMED");
    stage.check_recovery();
}

#[test]
fn a_second_payment_gets_the_one_that_runs() {
    let mut stage = paid();
    stage.ok(hold_ga("b1", "ann", 1));
    stage.ok(begin("b1", "ann", "p1"));
    let view = hold_view(stage.ok(begin("b1", "ann", "p2")));
    assert!(matches!(view.state, HoldState::Paying { payment, .. } if payment.as_str() == "p1"));
}

#[test]
fn starting_a_payment_moves_the_deadline_up_to_the_longest_life() {
    let mut stage = Stage::created(Settings {
        room: None,
        hold_ttl_ms: 600_000,
        hold_max_ms: 1_000_000,
        payment_window_ms: 500_000,
        ..settings()
    });
    stage.stock_up(100);
    stage.ok(Command::OpenSale { seed: None, public_value: None });
    stage.ok(hold_ga("b1", "ann", 1));
    stage.ok(begin("b1", "ann", "p1"));
    assert_eq!(until_ms(&stage, "b1"), Some(600_000), "a deadline never moves back");
    stage.ok(fail("b1", "p1"));
    stage.pass_ms(590_000);
    stage.ok(begin("b1", "ann", "p2"));
    assert_eq!(
        until_ms(&stage, "b1"),
        Some(1_000_000),
        "590 + 500 s, but no later than created + hold_max"
    );
    stage.pass_ms(100_000);
    stage.ok(fail("b1", "p2"));
    assert_eq!(
        until_ms(&stage, "b1"),
        Some(750_000),
        "the old deadline is past: 60 s for another try"
    );
    stage.check_recovery();
}

#[test]
fn three_payments_may_be_tried() {
    let mut stage = paid();
    stage.ok(hold_ga("b1", "ann", 1));
    for payment in ["p1", "p2", "p3"] {
        stage.ok(begin("b1", "ann", payment));
        stage.ok(fail("b1", payment));
        stage.refused(fail("b1", payment), "PAYMENT_MISMATCH");
    }
    stage.refused(begin("b1", "ann", "p4"), "TOO_MANY_ATTEMPTS");
}

#[test]
fn a_hold_that_ran_out_while_paying_is_known_until_its_payment_ends() {
    let mut stage = paid();
    stage.ok(hold_ga("b1", "ann", 1));
    stage.ok(begin("b1", "ann", "p1"));
    stage.pass_ms(600_000);
    assert_eq!(stage.status("b1"), "expired");
    assert_eq!(stage.free("ga"), 10);
    stage.refused(confirm("b1", "ann", Some("p2")), "HOLD_EXPIRED");
    stage.refused(confirm("b1", "ann", None), "HOLD_EXPIRED");
    stage.pass_ms(30 * 24 * 3_600_000);
    assert_eq!(stage.status("b1"), "expired", "money may still arrive");
    stage.ok(fail("b1", "p1"));
    stage.tick();
    stage.refused(release("b1", "ann"), "RESERVATION_NOT_FOUND");
    stage.check_recovery();
}

#[test]
fn a_payment_that_fails_at_the_deadline_ends_the_hold() {
    let mut stage = paid();
    stage.ok(hold_ga("b1", "ann", 1));
    stage.ok(begin("b1", "ann", "p1"));
    stage.now = stage.now.plus_ms(600_000);
    stage.ok(fail("b1", "p1"));
    assert_eq!(stage.status("b1"), "expired");
    assert_eq!(stage.free("ga"), 10);
    stage.check_recovery();
}

#[test]
fn downtime_takes_no_payment_window_and_no_extension_from_a_hold() {
    const AWAY_MS: i64 = 7_200_000;
    const LONGEST_MS: i64 = 1_000_000;
    let terms = Settings { room: None, hold_max_ms: LONGEST_MS, ..settings() };
    let mut stage = Stage::created(terms);
    stage.stock_up(5_000);
    stage.ok(Command::OpenSale { seed: None, public_value: None });
    stage.ok(hold_ga("b1", "ann", 1));
    stage.ok(hold_ga("b2", "bob", 1));
    stage.pass_ms(590_000);
    for _ in 0..2 {
        stage.now = stage.now.plus_ms(AWAY_MS / 2);
        stage.ok(Command::Recover { gap_ms: AWAY_MS / 2 });
    }
    stage.check_recovery();
    let event = stage.event.ask(stage.now, EventNow).expect("an event");
    let latest = event.settings.latest_until(&stage.booking("b1").terms, &event.gaps);
    assert_eq!(latest.since_ms(OPENING), LONGEST_MS + AWAY_MS, "told before it is asked for");
    stage.ok(begin("b1", "ann", "p1"));
    assert_eq!(until_ms(&stage, "b1"), Some(LONGEST_MS + AWAY_MS));
    stage.ok(extend("b2", "bob"));
    assert_eq!(until_ms(&stage, "b2"), Some(LONGEST_MS + AWAY_MS));
    // What is held afterwards has no longer life.
    stage.ok(hold_ga("b3", "cy", 1));
    stage.pass_ms(590_000);
    stage.ok(extend("b3", "cy"));
    assert_eq!(until_ms(&stage, "b3"), Some(590_000 + AWAY_MS + LONGEST_MS));
    stage.check_recovery();
}

#[test]
fn many_short_outages_take_nothing_of_a_long_one_from_a_hold() {
    const LONGEST_MS: i64 = 1_000_000;
    let terms = Settings { room: None, hold_max_ms: LONGEST_MS, ..settings() };
    let mut stage = Stage::created(terms);
    stage.stock_up(5_000);
    stage.ok(Command::OpenSale { seed: None, public_value: None });
    stage.ok(hold_ga("b1", "ann", 1));
    stage.ok(hold_ga("b2", "bob", 1));
    let mut away_ms = 0;
    let mut be_away = |stage: &mut Stage, gap_ms| {
        stage.now = stage.now.plus_ms(5_000 + gap_ms);
        stage.ok(Command::Recover { gap_ms });
        away_ms += gap_ms;
    };
    be_away(&mut stage, 7_200_000);
    for _ in 0..20 {
        be_away(&mut stage, 1_000);
    }
    let held_ms = stage.now.since_ms(OPENING);
    stage.ok(hold_ga("b3", "cy", 1));
    for _ in 0..20 {
        be_away(&mut stage, 1_000);
    }
    stage.pass_ms(390_000);
    stage.ok(begin("b1", "ann", "p1"));
    assert_eq!(until_ms(&stage, "b1"), Some(LONGEST_MS + away_ms));
    stage.ok(extend("b2", "bob"));
    assert_eq!(until_ms(&stage, "b2"), Some(LONGEST_MS + away_ms));
    // What was held between the short ones has no longer life by the long one.
    stage.ok(extend("b3", "cy"));
    assert_eq!(until_ms(&stage, "b3"), Some(held_ms + LONGEST_MS + 20_000));
    stage.check_recovery();
}

#[test]
fn a_hold_is_extended_once_within_its_longest_life() {
    let mut stage = Stage::flash();
    stage.ok(hold_ga("b1", "ann", 1));
    stage.pass_ms(500_000);
    stage.ok(extend("b1", "ann"));
    assert_eq!(until_ms(&stage, "b1"), Some(1_100_000));
    stage.refused(extend("b1", "ann"), "EXTENSION_LIMIT");
    stage.check_recovery();
}

#[test]
fn an_extension_that_is_asked_for_again_gives_no_more_time() {
    let mut stage = Stage::created(Settings { room: None, extensions: 4, ..settings() });
    stage.stock_up(5_000);
    stage.ok(Command::OpenSale { seed: None, public_value: None });
    stage.ok(hold_ga("b1", "ann", 1));
    stage.pass_ms(100_000);
    stage.ok(extend_by("b1", "ann", 1));
    assert_eq!(until_ms(&stage, "b1"), Some(700_000));
    let changes = stage.journal.len();
    stage.pass_ms(100_000);
    let Reply::Hold(again) = stage.ok(extend_by("b1", "ann", 1)) else {
        panic!("a hold is answered")
    };
    assert_eq!((again.extensions, until_ms(&stage, "b1")), (1, Some(700_000)));
    assert_eq!(stage.journal.len(), changes);
    stage.refused(extend_by("b1", "bob", 1), "RESERVATION_NOT_FOUND");
    // One without a name is another one, and takes no name away.
    stage.ok(extend("b1", "ann"));
    stage.ok(extend_by("b1", "ann", 1));
    assert_eq!(until_ms(&stage, "b1"), Some(800_000));
    stage.check_recovery();
    stage.pass_ms(100_000);
    stage.ok(extend_by("b1", "ann", 2));
    // An earlier one is known as well, with an extension left.
    stage.check_recovery();
    stage.pass_ms(100_000);
    stage.ok(extend_by("b1", "ann", 1));
    stage.ok(extend_by("b1", "ann", 2));
    assert_eq!((stage.booking("b1").extensions, until_ms(&stage, "b1")), (3, Some(900_000)));
    // Whatever became of the hold since.
    stage.ok(begin("b1", "ann", "p1"));
    stage.ok(extend_by("b1", "ann", 1));
    stage.ok(fail("b1", "p1"));
    stage.ok(release("b1", "ann"));
    let Reply::Hold(over) = stage.ok(extend_by("b1", "ann", 2)) else {
        panic!("a hold is answered")
    };
    assert_eq!(over.state.status(), HoldStatus::Released);
    stage.refused(extend("b1", "ann"), "ALREADY_RELEASED");
    stage.check_recovery();
}

#[test]
fn changes_and_rows_of_before_extensions_had_names_are_read_as_they_were() {
    let before = r#"{"hold_extended":{"booking":"b1","until":7}}"#;
    let change: Change = serde_json::from_str(before).expect("a change");
    let Change::Hold(HoldChange::HoldExtended { extension: None, .. }) = &change else {
        panic!("{change:?}")
    };
    assert_eq!(serde_json::to_string(&change).expect("JSON"), before);
    let mut stage = Stage::flash();
    stage.ok(hold_ga("b1", "ann", 1));
    stage.pass_ms(100_000);
    stage.ok(extend("b1", "ann"));
    let row = stage.event.snapshot().find(|row| matches!(row, SnapshotRow::Hold(_)));
    let text = serde_json::to_string(&row.expect("a hold")).expect("JSON");
    assert!(!text.contains("extensions_named"), "{text}");
}

#[test]
fn another_users_booking_is_as_good_as_none() {
    let mut stage = Stage::flash();
    stage.ok(hold_ga("b1", "ann", 1));
    for command in [release("b1", "bob"), confirm("b1", "bob", None), extend("b1", "bob")] {
        stage.refused(command, "RESERVATION_NOT_FOUND");
    }
}

#[test]
fn a_cancelled_booking_gives_its_units_back_once() {
    let mut stage = Stage::flash();
    stage.ok(hold("b1", "ann", lines(&[("ga", 2)], &["A-1"])));
    stage.refused(cancel("b1", None), "INVALID_STATUS");
    stage.ok(confirm("b1", "ann", None));
    stage.ok(cancel("b1", None));
    assert_eq!((stage.free("ga"), stage.free_seats()), (10, 4));
    let changes = stage.journal.len();
    stage.ok(cancel("b1", None));
    assert_eq!(stage.journal.len(), changes);
    stage.refused(confirm("b1", "ann", None), "INVALID_STATUS");
    stage.check_recovery();
}

#[test]
fn an_ended_booking_is_known_for_a_day_and_then_forgotten() {
    let mut stage = Stage::flash();
    stage.ok(hold_ga("b1", "ann", 1));
    stage.ok(release("b1", "ann"));
    stage.pass_ms(24 * 3_600_000 - 1);
    stage.refused(release("b1", "ann"), "ALREADY_RELEASED");
    stage.pass_ms(1);
    stage.refused(release("b1", "ann"), "RESERVATION_NOT_FOUND");
    assert_eq!(stage.event.next_deadline(), None);
    stage.check_recovery();
}

/// A page of a user's bookings.
fn page(
    stage: &Stage,
    user: &str,
    after: Option<&str>,
    limit: u32,
) -> Result<Vec<String>, &'static str> {
    let (user, after) = (user.parse().expect("an id"), after.map(booking_id));
    let views = stage.event.ask(stage.now, BookingsOf { user, after, limit });
    let views = views.map_err(|refusal| refusal.code())?;
    Ok(views.iter().map(|view| view.terms.booking.to_string()).collect())
}

#[test]
fn a_users_bookings_are_listed_oldest_first_and_in_pages() {
    let mut stage = Stage::flash();
    for (booking, user) in [("b3", "ann"), ("b1", "ann"), ("x", "bob"), ("b2", "ann")] {
        stage.ok(hold_ga(booking, user, 1));
        stage.pass_ms(1);
    }
    let ann = |after, limit| page(&stage, "ann", after, limit).expect("a page");
    assert_eq!(ann(None, 10), ["b3", "b1", "b2"]);
    assert_eq!(ann(None, 2), ["b3", "b1"]);
    assert_eq!(ann(Some("b1"), 2), ["b2"]);
    assert_eq!(ann(Some("b3"), 1), ["b1"]);
    assert!(ann(Some("b2"), 2).is_empty());
    assert!(ann(None, 0).is_empty());
    assert!(page(&stage, "cat", None, 1).expect("a page").is_empty());
    for after in ["x", "b9"] {
        assert_eq!(page(&stage, "ann", Some(after), 2), Err("RESERVATION_NOT_FOUND"));
    }
}

#[test]
fn a_page_of_bookings_goes_on_when_the_oldest_is_forgotten() {
    let mut stage = Stage::flash();
    for booking in ["b1", "b2", "b3"] {
        stage.ok(hold_ga(booking, "ann", 1));
    }
    stage.ok(release("b1", "ann"));
    stage.ok(confirm("b2", "ann", None));
    stage.ok(confirm("b3", "ann", None));
    stage.pass_ms(24 * 3_600_000);
    assert_eq!(page(&stage, "ann", Some("b1"), 2), Err("RESERVATION_NOT_FOUND"));
    assert_eq!(page(&stage, "ann", None, 1).expect("a page"), ["b2"]);
    assert_eq!(page(&stage, "ann", Some("b2"), 1).expect("a page"), ["b3"]);
    stage.check_recovery();
}
