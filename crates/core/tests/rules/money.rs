//! What payments do to bookings: late money, declines and fees, one fact a test; and journals of before.

use crate::stage::{
    OPENING, Stage, begin, booking_id, cancel, check_in, confirm, hold, hold_ga, join, lines,
    reason, release, settings,
};
use onrush_core::change::{BookingChange, Change, HoldChange, SessionEnd, VisitorChange};
use onrush_core::hold::{HoldState, HoldStatus, OnDecline};
use onrush_core::limits::{MAX_FEE_BP, MAX_PRICE_MINOR, MAX_REFUND_RULES, MAX_UNITS_PER_HOLD};
use onrush_core::settings::{Fees, RefundRule, RoomSettings, Settings};
use onrush_core::snapshot::SnapshotRow;
use onrush_core::spec::PoolSpec;
use onrush_core::view::{HoldView, Reply};
use onrush_core::{Command, Event, Refusal, Time};

/// The time to live of a hold, and of the window of its payment.
pub(crate) const TTL_MS: i64 = 600_000;
pub(crate) const DAY_MS: i64 = 24 * 3_600_000;

/// An open event with these settings where each unit costs 50.00.
pub(crate) fn paid(settings: Settings) -> Stage {
    priced(settings, 5_000)
}

pub(crate) fn priced(settings: Settings, price_minor: i64) -> Stage {
    let mut stage = Stage::created(settings);
    stage.stock_up(price_minor);
    stage.ok(Command::OpenSale { seed: None, public_value: None });
    stage
}

/// Settings of an event without a waiting room.
pub(crate) fn flash() -> Settings {
    Settings { room: None, ..settings() }
}

fn fail(booking: &str, payment: &str, then: OnDecline) -> Command {
    let payment = payment.parse().expect("an id");
    Command::FailPayment {
        booking: booking_id(booking),
        payment,
        why: "insufficient_funds".into(),
        then,
    }
}

/// Has `ann` pay for `b1` with `p1` until the hold runs out under the payment, ticks and all.
fn run_out(stage: &mut Stage, command: Command) {
    stage.ok(command);
    stage.ok(begin("b1", "ann", "p1"));
    stage.pass_ms(TTL_MS);
    assert_eq!(stage.status("b1"), "expired");
}

/// Has `ann` hold, pay for and have confirmed `b1`.
pub(crate) fn buy(stage: &mut Stage, command: Command) {
    stage.ok(command);
    stage.ok(begin("b1", "ann", "p1"));
    stage.ok(confirm("b1", "ann", Some("p1")));
}

#[track_caller]
pub(crate) fn hold_view(reply: Reply) -> HoldView {
    reply.try_into().expect("a booking is answered")
}

/// What the last decision changed.
fn last_changes(stage: &Stage) -> Vec<Change> {
    let before = stage.decisions.len().checked_sub(2).map_or(0, |last| stage.decisions[last]);
    stage.journal[before..].iter().map(|(_, change)| change.clone()).collect()
}

// Late money.

#[test]
fn late_money_buys_the_same_units_if_they_are_still_free() {
    let mut stage = paid(flash());
    run_out(&mut stage, hold("b1", "ann", lines(&[("ga", 2)], &["A-1"])));
    assert_eq!((stage.free("ga"), stage.free_seats()), (10, 4));
    stage.pass_ms(3 * DAY_MS);
    let answer = hold_view(stage.ok(confirm("b1", "ann", Some("p1"))));
    assert_eq!(answer.state.status(), HoldStatus::Confirmed);
    assert_eq!(answer, stage.booking("b1"), "the answer tells what is from then on");
    assert!(matches!(
        &last_changes(&stage)[..],
        [Change::Booking(BookingChange::HoldConfirmedLate { .. })]
    ));
    assert_eq!((stage.free("ga"), stage.free_seats()), (8, 3));
    stage.refused(hold("b2", "bob", lines(&[], &["A-1"])), "SEAT_UNAVAILABLE");
    stage.check_recovery();
}

#[test]
fn late_money_does_not_buy_what_somebody_else_has_of_a_pool() {
    let mut stage = paid(flash());
    run_out(&mut stage, hold_ga("b1", "ann", 6));
    stage.ok(hold_ga("b2", "bob", 5));
    stage.refused(confirm("b1", "ann", Some("p1")), "INSUFFICIENT_STOCK");
    assert_eq!((stage.status("b1"), stage.free("ga")), ("expired", 5));
    stage.check_recovery();
    stage.ok(release("b2", "bob"));
    stage.ok(confirm("b1", "ann", Some("p1")));
    assert_eq!(stage.free("ga"), 4, "units that came back are free like any other");
    stage.check_recovery();
}

#[test]
fn late_money_does_not_buy_a_seat_that_is_somebody_elses() {
    let mut stage = paid(flash());
    run_out(&mut stage, hold("b1", "ann", lines(&[("ga", 1)], &["A-1", "A-2"])));
    stage.ok(hold("b2", "bob", lines(&[], &["A-2"])));
    let refusal = stage.run(confirm("b1", "ann", Some("p1"))).expect_err("a refusal");
    let seats = vec!["A-2".parse().expect("an id")];
    assert_eq!(refusal, Refusal::SeatUnavailable { seats }, "only the seat that is taken is named");
    assert_eq!((stage.free("ga"), stage.free_seats()), (10, 3), "all of it or nothing");
    stage.ok(begin("b2", "bob", "p2"));
    stage.ok(confirm("b2", "bob", Some("p2")));
    stage.refused(confirm("b1", "ann", Some("p1")), "SEAT_UNAVAILABLE");
    stage.check_recovery();
}

#[test]
fn late_money_does_not_buy_what_was_blocked_meanwhile() {
    let mut stage = paid(flash());
    run_out(&mut stage, hold("b1", "ann", lines(&[], &["A-1"])));
    stage.ok(Command::Block { lines: lines(&[], &["A-1"]), reason: reason() });
    stage.refused(confirm("b1", "ann", Some("p1")), "SEAT_UNAVAILABLE");
    stage.check_recovery();
}

#[test]
fn late_money_does_not_lift_the_user_limit() {
    let mut stage = paid(Settings { max_per_user: Some(3), ..flash() });
    run_out(&mut stage, hold_ga("b1", "ann", 2));
    stage.ok(hold_ga("b2", "ann", 2));
    stage.refused(confirm("b1", "ann", Some("p1")), "USER_LIMIT_EXCEEDED");
    stage.ok(release("b2", "ann"));
    stage.ok(hold_ga("b3", "ann", 1));
    stage.ok(confirm("b1", "ann", Some("p1")));
    stage.refused(hold_ga("b4", "ann", 1), "USER_LIMIT_EXCEEDED");
    stage.check_recovery();
}

#[test]
fn late_money_buys_only_while_the_sale_is_open() {
    let mut stage = paid(flash());
    run_out(&mut stage, hold_ga("b1", "ann", 2));
    stage.ok(Command::Pause);
    stage.refused(confirm("b1", "ann", Some("p1")), "EVENT_NOT_OPEN");
    stage.ok(Command::Resume);
    stage.ok(Command::Close);
    stage.refused(confirm("b1", "ann", Some("p1")), "EVENT_NOT_OPEN");
    assert_eq!((stage.status("b1"), stage.free("ga")), ("expired", 10));
    stage.check_recovery();
}

#[test]
fn money_in_time_buys_although_the_sale_is_paused_or_over() {
    let mut stage = paid(flash());
    for (booking, payment) in [("b1", "p1"), ("b2", "p2")] {
        stage.ok(hold_ga(booking, "ann", 1));
        stage.ok(begin(booking, "ann", payment));
    }
    stage.ok(Command::Pause);
    stage.ok(confirm("b1", "ann", Some("p1")));
    stage.ok(Command::Close);
    stage.ok(confirm("b2", "ann", Some("p2")));
    stage.check_recovery();
}

#[test]
fn a_closing_time_refuses_late_money_even_before_its_tick() {
    let closes_at = Some(OPENING.plus_ms(TTL_MS));
    let mut stage = paid(Settings { closes_at, ..flash() });
    stage.ok(hold_ga("b1", "ann", 2));
    stage.ok(begin("b1", "ann", "p1"));
    stage.now = stage.now.plus_ms(TTL_MS);
    stage.refused(confirm("b1", "ann", Some("p1")), "EVENT_NOT_OPEN");
    assert_eq!(stage.status("b1"), "paying", "a refusal changes nothing");
    stage.tick();
    stage.refused(confirm("b1", "ann", Some("p1")), "EVENT_NOT_OPEN");
    stage.check_recovery();
}

#[test]
fn late_money_that_is_told_twice_is_answered_twice_and_counted_once() {
    let mut stage = paid(flash());
    run_out(&mut stage, hold("b1", "ann", lines(&[("ga", 2)], &["A-1"])));
    let first = stage.ok(confirm("b1", "ann", Some("p1")));
    let changes = stage.journal.len();
    stage.pass_ms(1_000);
    assert_eq!(stage.ok(confirm("b1", "ann", Some("p1"))), first);
    assert_eq!(stage.journal.len(), changes);
    assert_eq!((stage.free("ga"), stage.free_seats()), (8, 3));
    stage.refused(confirm("b1", "ann", Some("p2")), "ALREADY_CONFIRMED");
    stage.refused(fail("b1", "p1", OnDecline::Keep), "ALREADY_CONFIRMED");
    stage.check_recovery();
}

#[test]
fn late_money_of_another_payment_or_person_buys_nothing() {
    let mut stage = paid(flash());
    run_out(&mut stage, hold_ga("b1", "ann", 2));
    stage.refused(confirm("b1", "ann", Some("p2")), "HOLD_EXPIRED");
    stage.refused(confirm("b1", "ann", None), "HOLD_EXPIRED");
    stage.refused(confirm("b1", "bob", Some("p1")), "RESERVATION_NOT_FOUND");
    assert_eq!((stage.status("b1"), stage.free("ga")), ("expired", 10));
    stage.check_recovery();
}

#[test]
fn late_money_before_the_tick_of_the_deadline_buys_the_holds_own_units() {
    let mut stage = paid(Settings { max_per_user: Some(3), ..flash() });
    stage.ok(hold("b1", "ann", lines(&[("ga", 2)], &["A-1"])));
    stage.ok(begin("b1", "ann", "p1"));
    stage.now = stage.now.plus_ms(TTL_MS);
    stage.refused(confirm("b1", "ann", Some("p2")), "HOLD_EXPIRED");
    stage.refused(confirm("b1", "ann", None), "HOLD_EXPIRED");
    let answer = hold_view(stage.ok(confirm("b1", "ann", Some("p1"))));
    assert_eq!(answer, stage.booking("b1"));
    assert!(
        matches!(
            &last_changes(&stage)[..],
            [
                Change::Hold(HoldChange::HoldExpired { .. }),
                Change::Booking(BookingChange::HoldConfirmedLate { .. })
            ]
        ),
        "the feed tells that it ran out and was bought all the same"
    );
    let changes = stage.journal.len();
    stage.tick();
    assert_eq!(stage.journal.len(), changes, "the deadline is dealt with");
    assert_eq!((stage.free("ga"), stage.free_seats()), (8, 3));
    stage.check_recovery();
}

#[test]
fn late_money_before_the_tick_frees_the_slot_of_a_session_that_is_over() {
    let room = RoomSettings { capacity: 1, session_ms: 300_000, ..RoomSettings::default() };
    let mut stage = paid(Settings { room: Some(room), ..settings() });
    stage.ok(join(1, "ann"));
    stage.ok(join(2, "bob"));
    stage.tick();
    stage.ok(hold_ga("b1", "ann", 1));
    stage.ok(begin("b1", "ann", "p1"));
    stage.pass_ms(TTL_MS - 1);
    assert!(!stage.is_active("bob"), "a live hold keeps the slot");
    stage.now = stage.now.plus_ms(1);
    stage.ok(confirm("b1", "ann", Some("p1")));
    stage.tick();
    assert!(stage.is_active("bob"));
    stage.check_recovery();
}

#[test]
fn a_late_payment_that_ended_without_money_buys_nothing_any_more() {
    let mut stage = paid(flash());
    run_out(&mut stage, hold_ga("b1", "ann", 2));
    stage.ok(fail("b1", "p1", OnDecline::Keep));
    assert!(matches!(
        &last_changes(&stage)[..],
        [Change::Booking(BookingChange::LatePaymentFailed { .. })]
    ));
    stage.refused(confirm("b1", "ann", Some("p1")), "HOLD_EXPIRED");
    stage.refused(fail("b1", "p1", OnDecline::Keep), "PAYMENT_MISMATCH");
    assert_eq!(stage.free("ga"), 10, "nothing is given back a second time");
    stage.check_recovery();
    stage.pass_ms(DAY_MS);
    stage.refused(confirm("b1", "ann", Some("p1")), "RESERVATION_NOT_FOUND");
    stage.check_recovery();
}

#[test]
fn a_booking_bought_late_is_cancelled_like_any_other() {
    let mut stage = paid(flash());
    run_out(&mut stage, hold("b1", "ann", lines(&[("ga", 2)], &["A-1"])));
    stage.ok(confirm("b1", "ann", Some("p1")));
    let answer = hold_view(stage.ok(cancel("b1", None)));
    assert_eq!(answer.state, HoldState::Cancelled { at: stage.now, refund_minor: 15_000 });
    assert_eq!((stage.free("ga"), stage.free_seats()), (10, 4));
    stage.refused(confirm("b1", "ann", Some("p1")), "INVALID_STATUS");
    stage.check_recovery();
}

// Declines.

/// A room for one in which `ann` shops and `bob` waits.
fn room_for_one() -> Stage {
    let room = RoomSettings { capacity: 1, ..RoomSettings::default() };
    let mut stage = paid(Settings { room: Some(room), ..settings() });
    stage.ok(join(1, "ann"));
    stage.ok(join(2, "bob"));
    stage.tick();
    stage
}

#[test]
fn a_decline_that_releases_frees_seat_and_slot_and_ends_the_session() {
    let mut stage = room_for_one();
    stage.ok(hold("b1", "ann", lines(&[], &["A-1"])));
    stage.ok(begin("b1", "ann", "p1"));
    let answer = hold_view(stage.ok(fail("b1", "p1", OnDecline::Release)));
    assert_eq!(answer, stage.booking("b1"), "the answer tells what is from then on");
    let [
        Change::Booking(BookingChange::PaymentFailed { .. }),
        Change::Hold(HoldChange::HoldReleased { .. }),
        Change::Visitor(VisitorChange::SessionEnded { how: SessionEnd::PaymentFailed, .. }),
        Change::Visitor(VisitorChange::SlotFreed { .. }),
    ] = &last_changes(&stage)[..]
    else {
        panic!("a failed payment frees seat and slot, not {:?}", last_changes(&stage))
    };
    assert_eq!((stage.status("b1"), stage.free_seats()), ("released", 4));
    assert!(!stage.is_active("ann"));
    stage.refused(hold("b2", "ann", lines(&[], &["A-1"])), "NOT_YOUR_TURN");
    stage.tick();
    assert!(stage.is_active("bob"));
    stage.ok(hold("b3", "bob", lines(&[], &["A-1"])));
    stage.refused(confirm("b1", "ann", Some("p1")), "ALREADY_RELEASED");
    stage.refused(fail("b1", "p1", OnDecline::Release), "PAYMENT_MISMATCH");
    stage.check_recovery();
}

#[test]
fn a_decline_that_releases_leaves_the_session_to_whoever_holds_more() {
    let mut stage = room_for_one();
    stage.ok(hold("b1", "ann", lines(&[], &["A-1"])));
    stage.ok(hold_ga("b2", "ann", 1));
    stage.ok(begin("b1", "ann", "p1"));
    stage.ok(fail("b1", "p1", OnDecline::Release));
    assert_eq!((stage.status("b1"), stage.status("b2")), ("released", "held"));
    assert_eq!((stage.free_seats(), stage.free("ga")), (4, 9));
    assert!(stage.is_active("ann"));
    stage.check_recovery();
    stage.ok(begin("b2", "ann", "p2"));
    stage.ok(fail("b2", "p2", OnDecline::Release));
    assert!(!stage.is_active("ann"), "the last hold ends it");
    stage.check_recovery();
}

#[test]
fn a_decline_that_keeps_leaves_units_and_slot_for_another_attempt() {
    let mut stage = room_for_one();
    stage.ok(hold("b1", "ann", lines(&[("ga", 1)], &["A-1"])));
    stage.ok(begin("b1", "ann", "p1"));
    let answer = hold_view(stage.ok(fail("b1", "p1", OnDecline::Keep)));
    assert_eq!(answer, stage.booking("b1"));
    assert_eq!((stage.status("b1"), stage.free("ga"), stage.free_seats()), ("held", 9, 3));
    assert!(stage.is_active("ann") && !stage.is_active("bob"));
    stage.ok(begin("b1", "ann", "p2"));
    stage.ok(confirm("b1", "ann", Some("p2")));
    stage.check_recovery();
}

#[test]
fn a_decline_after_the_deadline_ends_the_hold_by_its_deadline_whatever_it_asks_for() {
    for then in [OnDecline::Keep, OnDecline::Release] {
        let mut stage = paid(flash());
        stage.ok(hold_ga("b1", "ann", 2));
        stage.ok(begin("b1", "ann", "p1"));
        stage.now = stage.now.plus_ms(TTL_MS);
        let answer = hold_view(stage.ok(fail("b1", "p1", then)));
        assert_eq!(answer.state, HoldState::Expired { at: stage.now, payment: None });
        assert_eq!(answer, stage.booking("b1"));
        assert_eq!(stage.free("ga"), 10);
        stage.refused(confirm("b1", "ann", Some("p1")), "HOLD_EXPIRED");
        stage.check_recovery();
    }
}

#[test]
fn why_a_payment_failed_is_a_short_text() {
    let mut stage = paid(flash());
    stage.ok(hold_ga("b1", "ann", 1));
    stage.ok(begin("b1", "ann", "p1"));
    let (booking, payment) = (booking_id("b1"), "p1".parse().expect("an id"));
    let why = "x".repeat(501).into();
    let command = Command::FailPayment { booking, payment, why, then: OnDecline::Keep };
    stage.refused(command, "INVALID_SETTINGS");
    stage.refused(fail("b9", "p1", OnDecline::Keep), "RESERVATION_NOT_FOUND");
}

// Fees.

#[test]
fn fees_are_fixed_and_a_share_with_half_a_unit_counted_as_one() {
    let largest_price_minor = MAX_PRICE_MINOR * i64::from(MAX_UNITS_PER_HOLD);
    let table = [
        (0, 0, 5_000, 0),
        (150, 0, 5_000, 150),
        (0, 250, 5_000, 125),
        (150, 250, 5_000, 275),
        (0, 250, 19, 0),
        (0, 250, 20, 1),
        (0, 250, 59, 1),
        (0, 250, 60, 2),
        (0, 1, 4_999, 0),
        (0, 1, 5_000, 1),
        (0, MAX_FEE_BP, 1, 1),
        (150, 250, 0, 0),
        (MAX_PRICE_MINOR, MAX_FEE_BP, largest_price_minor, MAX_PRICE_MINOR + largest_price_minor),
    ];
    for (fixed_minor, percent_bp, price_minor, expected_minor) in table {
        let fees = Fees { fixed_minor, percent_bp };
        assert_eq!(fees.on_minor(price_minor), expected_minor, "{fees:?} on {price_minor}");
    }
}

#[test]
fn a_booking_costs_its_units_and_one_fee() {
    let mut stage = paid(Settings { fees: Fees { fixed_minor: 100, percent_bp: 250 }, ..flash() });
    let held = hold_view(stage.ok(hold("b1", "ann", lines(&[("ga", 2)], &["A-1"]))));
    assert_eq!((held.terms.fee_minor, held.terms.amount_minor), (475, 15_475));
    let dearer = Settings { fees: Fees { fixed_minor: 9_999, percent_bp: 0 }, ..flash() };
    stage.ok(Command::ChangeSettings { settings: Box::new(dearer) });
    assert_eq!(stage.booking("b1").terms, held.terms, "what was agreed on stays");
    stage.refused(confirm("b1", "ann", None), "PAYMENT_REQUIRED");
    stage.check_recovery();
}

#[test]
fn one_unit_costs_its_all_in_price_and_the_fee_of_the_booking() {
    for (percent_bp, price_minor, step_minor) in
        [(250, 5_000, 1), (250, 4_999, 1), (1_234, 7_700, 100), (MAX_FEE_BP, 1, 1), (250, 0, 1)]
    {
        let fees = Fees { fixed_minor: 100, percent_bp };
        let settings = Settings { fees, amount_step_minor: step_minor, ..flash() };
        let all_in_minor = settings.all_in_minor(price_minor);
        let mut stage = priced(settings, price_minor);
        let held = hold_view(stage.ok(hold("b1", "ann", lines(&[("ga", 1)], &[]))));
        let fixed_minor = if price_minor == 0 { 0 } else { 100 };
        assert_eq!(
            held.terms.amount_minor,
            all_in_minor + fixed_minor,
            "{percent_bp} of {price_minor}"
        );
    }
}

#[test]
fn a_booking_free_of_charge_has_no_fees_and_needs_no_payment() {
    let fees = Fees { fixed_minor: 100, percent_bp: 250 };
    let mut stage = priced(Settings { fees, ..flash() }, 0);
    let held = hold_view(stage.ok(hold("b1", "ann", lines(&[("ga", 2)], &["A-1"]))));
    assert_eq!((held.terms.fee_minor, held.terms.amount_minor), (0, 0));
    stage.ok(confirm("b1", "ann", None));
    stage.check_recovery();
}

#[test]
fn the_dearest_booking_there_can_be_has_an_amount() {
    let fees = Fees { fixed_minor: MAX_PRICE_MINOR, percent_bp: MAX_FEE_BP };
    let mut stage = paid(Settings { fees, ..flash() });
    let pool = "gold".parse().expect("an id");
    let spec = PoolSpec { pool, capacity: MAX_UNITS_PER_HOLD, price_minor: MAX_PRICE_MINOR };
    stage.ok(Command::AddPool { spec });
    buy(&mut stage, hold("b1", "ann", lines(&[("gold", MAX_UNITS_PER_HOLD)], &[])));
    assert_eq!(stage.booking("b1").terms.amount_minor, 2_001 * MAX_PRICE_MINOR);
    stage.ok(cancel("b1", None));
    stage.check_recovery();
}

#[test]
fn fees_and_refund_rules_out_of_range_are_refused() {
    let fees =
        |fixed_minor, percent_bp| Settings { fees: Fees { fixed_minor, percent_bp }, ..settings() };
    let refunds = |count, percent, starts_at| {
        let rules = vec![RefundRule { days_before: 1, percent }; count];
        Settings { refunds: rules, starts_at, ..settings() }
    };
    let bad = [
        fees(-1, 0),
        fees(MAX_PRICE_MINOR + 1, 0),
        fees(0, MAX_FEE_BP + 1),
        refunds(1, 101, Some(OPENING)),
        refunds(MAX_REFUND_RULES + 1, 50, Some(OPENING)),
        refunds(1, 50, None),
    ];
    for settings in bad {
        let event = Event::new("show".parse().expect("an id"));
        let command = Command::CreateEvent { settings: Box::new(settings.clone()) };
        let refusal = event.decide(OPENING, &command).expect_err("a refusal");
        assert_eq!(refusal.code(), "INVALID_SETTINGS", "{settings:?}");
    }
    for good in [fees(MAX_PRICE_MINOR, MAX_FEE_BP), refunds(MAX_REFUND_RULES, 100, Some(OPENING))] {
        assert_eq!(good.complaint(), None);
    }
}

// Journals that were written before all of this.

#[test]
fn a_journal_of_before_fees_and_refunds_still_replays() {
    let journal = [
        r#"{"event_created":{"settings":{"title":"A show","currency":"EUR","hold_ttl_ms":600000,
            "hold_max_ms":1800000,"payment_window_ms":600000,"payment_attempts":3,"extensions":1}}}"#,
        r#"{"pool_added":{"spec":{"pool":"ga","capacity":10,"price_minor":5000}}}"#,
        r#"{"sale_opened":{}}"#,
        r#"{"hold_placed":{"terms":{"booking":"b1","user":"ann","lines":{"pools":{"ga":2}},
            "amount_minor":10000,"created_at":1796119200000},"until":1796119800000}}"#,
        r#"{"payment_begun":{"booking":"b1","payment":"p1","until":1796119800000}}"#,
        r#"{"hold_confirmed":{"booking":"b1","payment":"p1"}}"#,
        r#"{"confirmed_cancelled":{"booking":"b1","reason":{"by":"box office","why":"house seats"}}}"#,
    ];
    let changes = journal.map(|line| serde_json::from_str(line).expect("a change of before"));
    let mut stage = Stage::replayed(changes);
    let booking = stage.booking("b1");
    assert_eq!((booking.terms.fee_minor, booking.terms.amount_minor), (0, 10_000));
    assert_eq!(booking.state, HoldState::Cancelled { at: OPENING, refund_minor: 0 });
    assert_eq!(stage.free("ga"), 10);
    stage.check_recovery();
    stage.ok(hold_ga("b2", "bob", 1));
    stage.check_recovery();
}

#[test]
fn a_snapshot_row_of_before_check_in_still_reads() {
    let row = r#"{"hold":{"terms":{"booking":"b1","user":"ann","lines":{"pools":{"ga":2}},
        "amount_minor":10000,"created_at":1796119200000},
        "state":{"status":"confirmed","at":1796119200000,"payment":"p1"},"payments":1,"extensions":0}}"#;
    let row: SnapshotRow = serde_json::from_str(row).expect("a row of before");
    let mut stage = paid(flash());
    let rows: Vec<_> = stage.event.snapshot().chain([row]).collect();
    stage.replace(Event::restore("show".parse().expect("an id"), rows).expect("a snapshot"));
    let booking = stage.booking("b1");
    assert_eq!((booking.terms.fee_minor, booking.checked_in.len()), (0, 0));
    stage.ok(check_in("b1", 2));
    stage.check();
    assert!(stage.now >= Time(1_796_119_200_000));
}
