//! Who pays for a booking, and how much one e-mail address or one card may have, one fact a test.

use crate::stage::{
    Stage, begin, booking_id, cancel, confirm, hold, hold_ga, lines, release, settings,
};
use onrush_core::change::BookingChange;
use onrush_core::hold::OnDecline;
use onrush_core::ids::PayerId;
use onrush_core::payers::PayerBy;
use onrush_core::settings::Settings;
use onrush_core::snapshot::SnapshotRow;
use onrush_core::{Change, Command, Refusal};

const TTL_MS: i64 = 600_000;

/// An open event whose units cost 100 and whose payers have these limits.
fn sale(max_per_email: Option<u32>, max_per_card: Option<u32>) -> Stage {
    let mut stage = Stage::created(limited(max_per_email, max_per_card));
    stage.stock_up(100);
    stage.ok(Command::OpenSale { seed: None, public_value: None });
    stage
}

fn limited(max_per_email: Option<u32>, max_per_card: Option<u32>) -> Settings {
    Settings { room: None, max_per_email, max_per_card, ..settings() }
}

/// The n-th payer there could be.
fn payer(n: u128) -> PayerId {
    PayerId::from_u128(n)
}

fn name(booking: &str, user: &str, by: PayerBy, n: u128) -> Command {
    let (booking, user) = (booking_id(booking), user.parse().expect("an id"));
    Command::NamePayer { booking, user, by, payer: payer(n) }
}

fn email(booking: &str, user: &str, n: u128) -> Command {
    name(booking, user, PayerBy::Email, n)
}

fn card(booking: &str, user: &str, n: u128) -> Command {
    name(booking, user, PayerBy::Card, n)
}

fn fail(booking: &str, payment: &str, then: OnDecline) -> Command {
    let (booking, payment) = (booking_id(booking), payment.parse().expect("an id"));
    Command::FailPayment { booking, payment, why: "declined".into(), then }
}

fn change(settings: Settings) -> Command {
    Command::ChangeSettings { settings: Box::new(settings) }
}

fn exceeded(by: PayerBy, limit: u32) -> Refusal {
    Refusal::PayerLimitExceeded { by, limit }
}

/// How often a payer was named.
fn named(stage: &Stage) -> usize {
    let is_named =
        |change: &Change| matches!(change, Change::Booking(BookingChange::PayerNamed { .. }));
    stage.journal.iter().filter(|(_, change)| is_named(change)).count()
}

/// How many bookings have a payer.
fn with_payer(stage: &Stage) -> usize {
    let has = |row: &SnapshotRow| matches!(row, SnapshotRow::Hold(row) if !row.payers.are_none());
    stage.event.snapshot().filter(has).count()
}

#[test]
fn bookings_of_one_payer_count_together_whoever_holds_them() {
    let mut stage = sale(Some(3), None);
    stage.ok(hold_ga("b1", "ann", 2));
    stage.ok(hold_ga("b2", "bob", 2));
    stage.ok(hold("b3", "cid", lines(&[], &["A-1"])));
    stage.ok(email("b1", "ann", 1));
    assert_eq!(stage.run(email("b2", "bob", 1)), Err(exceeded(PayerBy::Email, 3)));
    stage.ok(email("b2", "bob", 2));
    stage.ok(email("b3", "cid", 1));
    stage.ok(hold_ga("b4", "dan", 1));
    assert_eq!(stage.run(email("b4", "dan", 1)), Err(exceeded(PayerBy::Email, 3)));
    stage.check_recovery();
}

#[test]
fn one_booking_alone_may_be_too_much() {
    let mut stage = sale(Some(2), Some(4));
    stage.ok(hold_ga("b1", "ann", 3));
    assert_eq!(stage.run(email("b1", "ann", 1)), Err(exceeded(PayerBy::Email, 2)));
    stage.ok(card("b1", "ann", 1));
    stage.check_recovery();
}

#[test]
fn addresses_and_cards_have_limits_of_their_own() {
    let mut stage = sale(Some(2), Some(1));
    stage.ok(hold_ga("b1", "ann", 1));
    stage.ok(hold_ga("b2", "ann", 1));
    for booking in ["b1", "b2"] {
        stage.ok(email(booking, "ann", 7));
    }
    stage.ok(card("b1", "ann", 7));
    assert_eq!(stage.run(card("b2", "ann", 7)), Err(exceeded(PayerBy::Card, 1)));
    stage.ok(card("b2", "ann", 8));
    stage.check_recovery();
}

#[test]
fn without_a_limit_nobody_is_asked_and_nothing_is_kept() {
    let mut stage = sale(None, Some(1));
    stage.ok(hold_ga("b1", "ann", 5));
    let view = stage.booking("b1");
    assert_eq!(stage.ok(email("b1", "ann", 1)), onrush_core::Reply::Hold(view));
    assert_eq!((named(&stage), with_payer(&stage)), (0, 0));
    stage.check_recovery();
}

#[test]
fn the_same_payer_again_changes_nothing_and_another_one_takes_their_place() {
    let mut stage = sale(Some(2), None);
    stage.ok(hold_ga("b1", "ann", 2));
    let first = stage.ok(email("b1", "ann", 1));
    assert_eq!(stage.ok(email("b1", "ann", 1)), first);
    assert_eq!(named(&stage), 1);
    stage.ok(email("b1", "ann", 2));
    stage.ok(hold_ga("b2", "bob", 2));
    stage.ok(email("b2", "bob", 1));
    assert_eq!(stage.run(email("b1", "ann", 1)), Err(exceeded(PayerBy::Email, 2)));
    stage.ok(email("b1", "ann", 2));
    stage.check_recovery();
}

#[test]
fn what_is_held_paid_for_or_bought_counts_and_nothing_that_ended() {
    let mut stage = sale(Some(1), None);
    stage.ok(hold_ga("other", "bob", 1));
    let refused = |stage: &mut Stage| {
        assert_eq!(stage.run(email("other", "bob", 1)), Err(exceeded(PayerBy::Email, 1)));
        stage.check_recovery();
    };
    let held = |stage: &mut Stage, booking: &str| {
        stage.ok(hold_ga(booking, "ann", 1));
        stage.ok(email(booking, "ann", 1));
        refused(stage);
    };
    held(&mut stage, "given-back");
    stage.ok(release("given-back", "ann"));
    held(&mut stage, "declined");
    stage.ok(begin("declined", "ann", "p1"));
    refused(&mut stage);
    stage.ok(fail("declined", "p1", OnDecline::Keep));
    refused(&mut stage);
    stage.ok(begin("declined", "ann", "p2"));
    stage.ok(fail("declined", "p2", OnDecline::Release));
    held(&mut stage, "bought");
    stage.ok(begin("bought", "ann", "p3"));
    stage.ok(confirm("bought", "ann", Some("p3")));
    refused(&mut stage);
    stage.ok(cancel("bought", None));
    assert_eq!(with_payer(&stage), 0, "who paid for what has ended is forgotten");
    stage.ok(email("other", "bob", 1));
    stage.check_recovery();
}

#[test]
fn a_hold_that_runs_out_counts_no_more() {
    let mut stage = sale(Some(1), Some(1));
    stage.ok(hold_ga("b1", "ann", 1));
    stage.ok(email("b1", "ann", 1));
    stage.ok(card("b1", "ann", 1));
    stage.pass_ms(TTL_MS);
    assert_eq!(with_payer(&stage), 0);
    stage.ok(hold_ga("b2", "ann", 1));
    stage.ok(email("b2", "ann", 1));
    stage.ok(card("b2", "ann", 1));
    stage.check_recovery();
}

#[test]
fn late_money_does_not_lift_the_limit_of_a_payer() {
    for (by, limits) in [(PayerBy::Email, [Some(3), None]), (PayerBy::Card, [None, Some(3)])] {
        let mut stage = sale(limits[0], limits[1]);
        stage.ok(hold_ga("b1", "ann", 2));
        stage.ok(name("b1", "ann", by, 1));
        stage.ok(begin("b1", "ann", "p1"));
        stage.pass_ms(TTL_MS);
        stage.ok(hold_ga("b2", "bob", 2));
        stage.ok(name("b2", "bob", by, 1));
        assert_eq!(stage.run(confirm("b1", "ann", Some("p1"))), Err(exceeded(by, 3)));
        stage.ok(release("b2", "bob"));
        stage.ok(confirm("b1", "ann", Some("p1")));
        stage.ok(hold_ga("b3", "cid", 2));
        assert_eq!(stage.run(name("b3", "cid", by, 1)), Err(exceeded(by, 3)));
        stage.check_recovery();
    }
}

#[test]
fn late_money_before_the_tick_of_the_deadline_has_its_units_still() {
    let mut stage = sale(Some(2), None);
    stage.ok(hold_ga("b1", "ann", 2));
    stage.ok(email("b1", "ann", 1));
    stage.ok(begin("b1", "ann", "p1"));
    stage.now = stage.now.plus_ms(TTL_MS);
    stage.ok(confirm("b1", "ann", Some("p1")));
    stage.ok(hold_ga("b2", "bob", 1));
    stage.refused(email("b2", "bob", 1), "PAYER_LIMIT_EXCEEDED");
    stage.check_recovery();
}

#[test]
fn the_card_of_a_payment_that_is_late_is_named_and_counts_once_the_units_are_bought() {
    let mut stage = sale(None, Some(2));
    stage.ok(hold_ga("b1", "ann", 2));
    stage.ok(begin("b1", "ann", "p1"));
    stage.now = stage.now.plus_ms(TTL_MS);
    stage.ok(card("b1", "ann", 9));
    stage.pass_ms(0);
    assert_eq!(stage.status("b1"), "expired");
    stage.ok(card("b1", "ann", 1));
    stage.check_recovery();
    stage.ok(hold_ga("b2", "bob", 2));
    stage.ok(card("b2", "bob", 9));
    assert_eq!(stage.run(card("b1", "ann", 9)), Err(exceeded(PayerBy::Card, 2)));
    stage.ok(confirm("b1", "ann", Some("p1")));
    stage.ok(hold_ga("b3", "cid", 1));
    assert_eq!(stage.run(card("b3", "cid", 1)), Err(exceeded(PayerBy::Card, 2)));
    stage.check_recovery();
}

#[test]
fn a_late_payment_without_money_leaves_no_payer() {
    let mut stage = sale(Some(2), None);
    stage.ok(hold_ga("b1", "ann", 2));
    stage.ok(email("b1", "ann", 1));
    stage.ok(begin("b1", "ann", "p1"));
    stage.pass_ms(TTL_MS);
    assert_eq!(with_payer(&stage), 1, "its money may still come");
    stage.ok(fail("b1", "p1", OnDecline::Keep));
    assert_eq!(with_payer(&stage), 0);
    stage.refused(email("b1", "ann", 1), "HOLD_EXPIRED");
    stage.check_recovery();
}

#[test]
fn a_payer_is_named_only_for_what_may_still_be_paid_for() {
    let mut stage = sale(Some(9), None);
    stage.refused(email("b1", "ann", 1), "RESERVATION_NOT_FOUND");
    stage.ok(hold_ga("b1", "ann", 1));
    stage.refused(email("b1", "bob", 1), "RESERVATION_NOT_FOUND");
    stage.ok(begin("b1", "ann", "p1"));
    stage.ok(email("b1", "ann", 1));
    stage.ok(confirm("b1", "ann", Some("p1")));
    stage.ok(email("b1", "ann", 1));
    stage.refused(email("b1", "ann", 2), "ALREADY_CONFIRMED");
    stage.ok(cancel("b1", None));
    stage.refused(email("b1", "ann", 1), "INVALID_STATUS");
    stage.ok(hold_ga("b2", "ann", 1));
    stage.ok(release("b2", "ann"));
    stage.refused(email("b2", "ann", 1), "ALREADY_RELEASED");
    stage.ok(hold_ga("b3", "ann", 1));
    stage.now = stage.now.plus_ms(TTL_MS);
    stage.refused(email("b3", "ann", 1), "HOLD_EXPIRED");
    stage.tick();
    stage.refused(email("b3", "ann", 1), "HOLD_EXPIRED");
    stage.check_recovery();
}

/// Each change has its place in the journal for ever: nobody makes as many as they like.
#[test]
fn whoever_has_tried_all_payments_names_no_other_payer() {
    let mut stage = sale(Some(9), None);
    stage.ok(change(Settings { payment_attempts: 1, ..limited(Some(9), None) }));
    stage.ok(hold_ga("b1", "ann", 1));
    stage.ok(email("b1", "ann", 1));
    stage.ok(begin("b1", "ann", "p1"));
    stage.ok(fail("b1", "p1", OnDecline::Keep));
    stage.refused(email("b1", "ann", 2), "TOO_MANY_ATTEMPTS");
    stage.ok(email("b1", "ann", 1));
    assert_eq!(named(&stage), 1);
    stage.check_recovery();
}

#[test]
fn another_limit_concerns_only_who_comes_later() {
    let mut stage = sale(Some(4), None);
    stage.ok(hold_ga("b1", "ann", 3));
    stage.ok(email("b1", "ann", 1));
    stage.ok(change(limited(Some(2), None)));
    stage.ok(email("b1", "ann", 1));
    stage.ok(begin("b1", "ann", "p1"));
    stage.ok(confirm("b1", "ann", Some("p1")));
    stage.ok(hold_ga("b2", "bob", 1));
    assert_eq!(stage.run(email("b2", "bob", 1)), Err(exceeded(PayerBy::Email, 2)));
    stage.ok(change(limited(None, None)));
    stage.ok(email("b2", "bob", 1));
    stage.ok(change(limited(Some(4), None)));
    stage.ok(email("b2", "bob", 1));
    stage.ok(hold_ga("b3", "cid", 1));
    assert_eq!(stage.run(email("b3", "cid", 1)), Err(exceeded(PayerBy::Email, 4)));
    stage.check_recovery();
}

#[test]
fn a_visitor_who_is_removed_leaves_nothing_that_counts_but_what_is_being_paid_for() {
    let mut stage = sale(Some(2), None);
    for booking in ["b1", "b2"] {
        stage.ok(hold_ga(booking, "ann", 1));
        stage.ok(email(booking, "ann", 1));
    }
    stage.ok(begin("b2", "ann", "p1"));
    let reason = crate::stage::reason();
    let user = "ann".parse().expect("an id");
    stage.ok(Command::RemoveVisitor { user, reason, ban: false });
    stage.ok(hold_ga("b3", "bob", 2));
    stage.refused(email("b3", "bob", 1), "PAYER_LIMIT_EXCEEDED");
    stage.ok(hold_ga("b4", "bob", 1));
    stage.ok(email("b4", "bob", 1));
    stage.check_recovery();
}

#[test]
fn an_outage_moves_holds_on_and_their_payers_with_them() {
    let mut stage = sale(Some(1), None);
    stage.ok(hold_ga("b1", "ann", 1));
    stage.ok(email("b1", "ann", 1));
    stage.now = stage.now.plus_ms(2 * TTL_MS);
    stage.ok(Command::Recover { gap_ms: 2 * TTL_MS });
    stage.ok(hold_ga("b2", "bob", 1));
    stage.refused(email("b2", "bob", 1), "PAYER_LIMIT_EXCEEDED");
    stage.pass_ms(TTL_MS);
    stage.ok(hold_ga("b3", "bob", 1));
    stage.ok(email("b3", "bob", 1));
    stage.check_recovery();
}

#[test]
fn a_journal_of_before_has_neither_limits_nor_payers() {
    let text = r#"{"title":"Gala","currency":"EUR","hold_ttl_ms":1,"hold_max_ms":1,
        "payment_window_ms":1,"payment_attempts":1,"extensions":0}"#;
    let settings: Settings = serde_json::from_str(text).expect("settings of before");
    assert_eq!((settings.max_per_email, settings.max_per_card), (None, None));
    let written = serde_json::to_string(&settings).expect("JSON");
    assert!(!written.contains("max_per_"), "{written}");
    let mut stage = Stage::flash();
    stage.ok(hold_ga("b1", "ann", 1));
    let rows: Vec<_> = stage.event.snapshot().collect();
    assert!(!serde_json::to_string(&rows).expect("JSON").contains("payers"));
}
