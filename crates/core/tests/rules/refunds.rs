//! How confirmed bookings end, and how their tickets let in: refunds by policy and check-in, one fact a test.

use crate::money::{DAY_MS, TTL_MS, buy, flash, hold_view, paid, priced};
use crate::stage::{
    OPENING, begin, booking_id, cancel, check_in, confirm, hold, hold_ga, lines, reason, release,
};
use onrush_core::command::CancelTerms;
use onrush_core::hold::{HoldState, HoldStatus};
use onrush_core::ids::ScanId;
use onrush_core::settings::{Fees, RefundRule, Settings};
use onrush_core::{Command, Refusal, Reply};

fn cancel_as_buyer(booking: &str, user: &str) -> Command {
    cancel_if(booking, user, None)
}

fn cancel_if(booking: &str, user: &str, at_least_minor: Option<i64>) -> Command {
    let terms = CancelTerms::Buyer { user: user.parse().expect("an id"), at_least_minor };
    Command::CancelConfirmed { booking: booking_id(booking), reason: reason(), terms }
}

/// All back two weeks before, half a week before, a fifth until the beginning, which is 30 days
/// after the opening.
fn policy() -> Settings {
    let rule = |days_before, percent| RefundRule { days_before, percent };
    // In no particular order: the one that applies is the strictest that is met.
    let refunds = vec![rule(7, 50), rule(0, 20), rule(14, 100)];
    Settings { starts_at: Some(OPENING.plus_ms(30 * DAY_MS)), refunds, ..flash() }
}

#[test]
fn the_refund_rule_with_the_most_full_days_left_applies() {
    let starts_at = OPENING.plus_ms(30 * DAY_MS);
    let left = |ms: i64| policy().refund_percent(starts_at.plus_ms(-ms));
    assert_eq!(left(30 * DAY_MS), Some(100));
    assert_eq!(left(14 * DAY_MS), Some(100), "14 days to the millisecond are 14 full days");
    assert_eq!(left(14 * DAY_MS - 1), Some(50));
    assert_eq!(left(7 * DAY_MS), Some(50));
    assert_eq!(left(7 * DAY_MS - 1), Some(20));
    assert_eq!(left(0), Some(20));
    assert_eq!(left(-1), None, "the event has begun");
    assert_eq!(left(-365 * DAY_MS), None);
}

#[test]
fn without_a_beginning_or_a_rule_that_applies_buyers_cannot_cancel() {
    assert_eq!(Settings { starts_at: None, ..policy() }.refund_percent(OPENING), None);
    assert_eq!(Settings { refunds: Vec::new(), ..policy() }.refund_percent(OPENING), None);
    let weeks = vec![RefundRule { days_before: 31, percent: 100 }];
    let too_late = Settings { refunds: weeks, ..policy() };
    assert_eq!(too_late.refund_percent(OPENING), None);
    for settings in [flash(), too_late] {
        let mut stage = paid(settings);
        buy(&mut stage, hold_ga("b1", "ann", 1));
        stage.refused(cancel_as_buyer("b1", "ann"), "NOT_CANCELLABLE");
        assert_eq!(stage.status("b1"), "confirmed");
        stage.check_recovery();
    }
}

#[test]
fn a_buyer_gets_his_share_of_the_price_and_fees_are_kept() {
    let fees = Fees { fixed_minor: 100, percent_bp: 250 };
    for (days, refund_minor) in [(0, 15_000), (16, 15_000), (17, 7_500), (24, 3_000)] {
        let mut stage = paid(Settings { fees, ..policy() });
        buy(&mut stage, hold("b1", "ann", lines(&[("ga", 2)], &["A-1"])));
        stage.pass_ms(days * DAY_MS);
        stage.refused(cancel_as_buyer("b1", "bob"), "RESERVATION_NOT_FOUND");
        let answer = hold_view(stage.ok(cancel_as_buyer("b1", "ann")));
        let cancelled = HoldState::Cancelled { at: stage.now, refund_minor };
        assert_eq!(answer.state, cancelled, "after {days} days");
        assert_eq!((stage.free("ga"), stage.free_seats()), (10, 4));
        stage.check_recovery();
    }
}

#[test]
fn what_is_promised_at_a_moment_is_what_cancelling_then_gives_back() {
    let fees = Fees { fixed_minor: 100, percent_bp: 250 };
    let settings = Settings { fees, ..policy() };
    for days in [0, 16, 17, 24, 60] {
        let mut stage = paid(settings.clone());
        let held = hold_view(stage.ok(hold("b1", "ann", lines(&[("ga", 2)], &["A-1"]))));
        assert_eq!(held.refund_now(&settings, stage.now), None, "it is not confirmed");
        stage.ok(begin("b1", "ann", "p1"));
        let bought = hold_view(stage.ok(confirm("b1", "ann", Some("p1"))));
        stage.pass_ms(days * DAY_MS);
        let Some(promised) = bought.refund_now(&settings, stage.now) else {
            stage.refused(cancel_as_buyer("b1", "ann"), "NOT_CANCELLABLE");
            continue;
        };
        let cancelled = hold_view(stage.ok(cancel_as_buyer("b1", "ann")));
        let HoldState::Cancelled { refund_minor, .. } = cancelled.state else {
            panic!("it was not cancelled: {cancelled:?}")
        };
        assert_eq!(promised.refund_minor, refund_minor, "after {days} days");
        assert_eq!(promised.refund_minor + promised.kept_minor, bought.terms.amount_minor);
        let ends = |at| bought.refund_now(&settings, at).map(|refund| refund.percent);
        assert_eq!(ends(promised.until), Some(promised.percent));
        assert_ne!(ends(promised.until.plus_ms(1)), Some(promised.percent));
    }
}

/// What goes back of one unit that a buyer cancels when half of it is promised.
fn half_back(settings: Settings, price_minor: i64) -> i64 {
    let mut stage = priced(settings, price_minor);
    buy(&mut stage, hold_ga("b1", "ann", 1));
    stage.pass_ms(20 * DAY_MS);
    let answer = hold_view(stage.ok(cancel_as_buyer("b1", "ann")));
    stage.check_recovery();
    let HoldState::Cancelled { refund_minor, .. } = answer.state else {
        panic!("it was not cancelled: {answer:?}")
    };
    refund_minor
}

#[test]
fn a_share_that_is_no_whole_unit_is_rounded_up() {
    assert_eq!(half_back(policy(), 333), 167);
    assert_eq!(half_back(policy(), 334), 167);
}

#[test]
fn a_share_of_a_currency_that_is_counted_in_fifths_is_a_number_of_fifths() {
    for currency in ["MGA", "MRU"] {
        let currency = currency.parse().expect("a currency");
        for (price_minor, refund_minor) in [(300, 160), (320, 160), (20, 20), (10, 10)] {
            let settings = Settings { currency, ..policy() };
            assert_eq!(half_back(settings, price_minor), refund_minor, "half of {price_minor}");
        }
    }
}

#[test]
fn a_buyer_never_gets_back_less_than_they_agreed_to() {
    // All goes back until the 16th day, half from the 17th on.
    for (days, agreed_minor, refund_minor) in [
        (16, None, Some(15_000)),
        (16, Some(15_000), Some(15_000)),
        (16, Some(15_001), None),
        (17, Some(15_000), None),
        (17, Some(7_501), None),
        (17, Some(7_500), Some(7_500)),
        // More than was agreed to harms nobody.
        (16, Some(7_500), Some(15_000)),
        (17, Some(-1), Some(7_500)),
    ] {
        let mut stage = paid(policy());
        buy(&mut stage, hold("b1", "ann", lines(&[("ga", 2)], &["A-1"])));
        stage.pass_ms(days * DAY_MS);
        let changes = stage.journal.len();
        let cancel = cancel_if("b1", "ann", agreed_minor);
        match refund_minor {
            Some(refund_minor) => {
                let cancelled = HoldState::Cancelled { at: stage.now, refund_minor };
                assert_eq!(
                    hold_view(stage.ok(cancel)).state,
                    cancelled,
                    "{days}, {agreed_minor:?}"
                );
                // What was decided stands, whatever is asked later.
                let again = hold_view(stage.ok(cancel_if("b1", "ann", Some(i64::MAX))));
                assert_eq!(again.state, cancelled);
            }
            None => {
                stage.refused(cancel, "REFUND_LOWERED");
                assert_eq!((stage.status("b1"), stage.journal.len()), ("confirmed", changes));
            }
        }
        stage.check_recovery();
    }
}

#[test]
fn a_share_is_what_the_gateway_can_express_and_never_above_what_was_paid() {
    // Half of the price goes back, and the fee is kept.
    for (price_minor, fixed_minor, refund_minor) in [
        (15_130, 0, 7_570),
        (15_120, 0, 7_560),
        (20, 0, 10),
        (15_130, 40, 7_570),
        // Paid where steps do not count: at the box office.
        (3, 0, 3),
        (11, 0, 10),
    ] {
        let fees = Fees { fixed_minor, percent_bp: 0 };
        let settings = Settings { fees, amount_step_minor: 10, ..policy() };
        assert_eq!(half_back(settings, price_minor), refund_minor, "half of {price_minor}");
    }
}

#[test]
fn an_amount_between_two_steps_is_refused_before_anything_changes() {
    let settings = || Settings { amount_step_minor: 10, ..policy() };
    for (price_minor, wanted, refusal) in [
        (15_130, Some(7_565), Some("REFUND_BETWEEN_STEPS")),
        (15_130, Some(7_560), None),
        (15_130, Some(0), None),
        // All that was paid can be given back, whatever it was.
        (15_133, Some(15_133), None),
        (15_133, None, None),
        (15_133, Some(15_134), Some("REFUND_EXCEEDS_PAID")),
    ] {
        let mut stage = priced(settings(), price_minor);
        buy(&mut stage, hold_ga("b1", "ann", 1));
        let changes = stage.journal.len();
        match refusal {
            Some(code) => {
                stage.refused(cancel("b1", wanted), code);
                assert_eq!((stage.status("b1"), stage.journal.len()), ("confirmed", changes));
            }
            None => {
                let refund_minor = wanted.unwrap_or(price_minor);
                let cancelled = HoldState::Cancelled { at: stage.now, refund_minor };
                assert_eq!(hold_view(stage.ok(cancel("b1", wanted))).state, cancelled);
            }
        }
        stage.check_recovery();
    }
}

#[test]
fn a_percentage_fee_is_what_the_gateway_can_express() {
    let fees = Fees { fixed_minor: 0, percent_bp: 250 };
    // 2.5 % are 378.25, 12.5, 2.5 and 5: the nearest step, and the one above from the middle.
    for (price_minor, fee_minor) in [(15_130, 380), (500, 10), (100, 0), (200, 10)] {
        let settings = Settings { fees, amount_step_minor: 10, ..flash() };
        let mut stage = priced(settings, price_minor);
        let held = hold_view(stage.ok(hold_ga("b1", "ann", 1)));
        assert_eq!(held.terms.fee_minor, fee_minor, "of {price_minor}");
    }
}

#[test]
fn a_step_is_a_multiple_of_the_currencys_own_and_events_without_one_go_by_that() {
    let event = |currency: &str, amount_step_minor| {
        let currency = currency.parse().expect("a currency");
        Settings { currency, amount_step_minor, ..flash() }
    };
    for (currency, amount_step_minor, step_minor) in [
        ("EUR", 1, Some(1)),
        ("KWD", 10, Some(10)),
        ("EUR", 10_000, Some(10_000)),
        ("EUR", 10_001, None),
        ("EUR", 0, None),
        ("EUR", -10, None),
        ("MGA", 1, Some(20)),
        ("MGA", 100, Some(100)),
        ("MGA", 30, None),
        ("MRU", 1, Some(20)),
    ] {
        let settings = event(currency, amount_step_minor);
        let fits = settings.complaint().is_none();
        assert_eq!(fits.then(|| settings.step_minor()), step_minor, "{currency}");
    }
    // As an older journal has it.
    let plain = event("KWD", 1);
    let written = serde_json::to_value(&plain).expect("settings can be written");
    assert!(written.get("amount_step_minor").is_none());
    let read: Settings = serde_json::from_value(written).expect("and read");
    assert_eq!(read, plain);
}

#[test]
fn a_rule_of_nothing_lets_the_buyer_cancel_for_nothing() {
    let refunds = vec![RefundRule { days_before: 0, percent: 0 }];
    let mut stage = paid(Settings { refunds, ..policy() });
    buy(&mut stage, hold_ga("b1", "ann", 1));
    let answer = hold_view(stage.ok(cancel_as_buyer("b1", "ann")));
    assert_eq!(answer.state, HoldState::Cancelled { at: stage.now, refund_minor: 0 });
    assert_eq!(stage.free("ga"), 10);
    stage.check_recovery();
}

#[test]
fn the_organiser_gives_back_all_or_part_and_never_more_than_was_paid() {
    let fees = Fees { fixed_minor: 100, percent_bp: 0 };
    let table = [(None, 5_100), (Some(5_100), 5_100), (Some(1_234), 1_234), (Some(0), 0)];
    for (asked, refund_minor) in table {
        let mut stage = paid(Settings { fees, ..flash() });
        buy(&mut stage, hold_ga("b1", "ann", 1));
        stage.refused(cancel("b1", Some(5_101)), "REFUND_EXCEEDS_PAID");
        stage.refused(cancel("b1", Some(-1)), "REFUND_EXCEEDS_PAID");
        stage.refused(cancel("b9", None), "RESERVATION_NOT_FOUND");
        let answer = hold_view(stage.ok(cancel("b1", asked)));
        assert_eq!(answer.state, HoldState::Cancelled { at: stage.now, refund_minor });
        stage.check_recovery();
    }
}

#[test]
fn cancelling_twice_gives_the_first_answer_while_the_same_amount_goes_back() {
    // A buyer has no say in the amount, so that what went back is what they asked for.
    for (first, same) in [(Some(1_000), Some(1_000)), (None, Some(10_000)), (Some(10_000), None)] {
        let mut stage = paid(policy());
        buy(&mut stage, hold_ga("b1", "ann", 2));
        let first = stage.ok(cancel("b1", first));
        let changes = stage.journal.len();
        stage.pass_ms(1_000);
        for again in [cancel("b1", same), cancel_as_buyer("b1", "ann")] {
            assert_eq!(stage.ok(again), first, "no second refund, and no other one");
        }
        stage.refused(cancel_as_buyer("b1", "bob"), "RESERVATION_NOT_FOUND");
        assert_eq!(stage.journal.len(), changes);
        assert_eq!(stage.free("ga"), 10);
        stage.check_recovery();
    }
}

#[test]
fn an_organiser_is_not_told_that_an_amount_goes_back_which_does_not() {
    let mut stage = paid(policy());
    stage.pass_ms(20 * DAY_MS);
    buy(&mut stage, hold_ga("b1", "ann", 2));
    let half = stage.ok(cancel_as_buyer("b1", "ann"));
    let state = HoldState::Cancelled { at: stage.now, refund_minor: 5_000 };
    assert_eq!(hold_view(half.clone()).state, state);
    let changes = stage.journal.len();
    let refusal = Refusal::InvalidStatus { booking_status: HoldStatus::Cancelled };
    for other in [None, Some(10_000), Some(4_999), Some(0), Some(-1), Some(10_001)] {
        assert_eq!(stage.run(cancel("b1", other)), Err(refusal.clone()), "{other:?}");
    }
    assert_eq!(stage.ok(cancel("b1", Some(5_000))), half);
    assert_eq!(stage.journal.len(), changes);
    stage.check_recovery();
}

#[test]
fn only_a_confirmed_booking_is_cancelled() {
    let mut stage = paid(policy());
    stage.ok(hold_ga("b1", "ann", 1));
    stage.refused(cancel("b1", None), "INVALID_STATUS");
    stage.ok(begin("b1", "ann", "p1"));
    stage.refused(cancel_as_buyer("b1", "ann"), "INVALID_STATUS");
    stage.pass_ms(TTL_MS);
    stage.refused(cancel("b1", None), "INVALID_STATUS");
    stage.ok(hold_ga("b2", "ann", 1));
    stage.ok(release("b2", "ann"));
    stage.refused(cancel("b2", None), "INVALID_STATUS");
    stage.check_recovery();
}

// Check-in.

#[test]
fn each_ticket_lets_in_once() {
    let mut stage = paid(flash());
    buy(&mut stage, hold("b1", "ann", lines(&[("ga", 2)], &["A-1"])));
    stage.ok(check_in("b1", 3));
    let let_in_at = stage.now;
    stage.pass_ms(1_000);
    stage.ok(check_in("b1", 1));
    let again = stage.run(check_in("b1", 3)).expect_err("a refusal");
    assert_eq!(
        again,
        Refusal::AlreadyCheckedIn { checked_in_at: let_in_at },
        "it tells since when"
    );
    let known: Vec<_> = stage.booking("b1").checked_in.iter().map(|c| (c.ticket, c.at)).collect();
    assert_eq!(known, [(1, stage.now), (3, let_in_at)]);
    stage.check_recovery();
}

#[test]
fn a_scan_that_is_repeated_gets_its_first_answer() {
    let mut stage = paid(flash());
    buy(&mut stage, hold("b1", "ann", lines(&[("ga", 2)], &[])));
    let scan = |ticket, scan: Option<u128>| Command::CheckIn {
        booking: booking_id("b1"),
        ticket,
        scan: scan.map(ScanId::from_u128),
    };
    stage.ok(scan(2, Some(7)));
    let let_in_at = stage.now;
    stage.pass_ms(1_000);
    let view = stage.booking("b1");
    let changes = stage.journal.len();
    assert_eq!(stage.run(scan(2, Some(7))), Ok(Reply::Hold(view)));
    assert_eq!(stage.journal.len(), changes, "nobody else is let in");
    let used = Refusal::AlreadyCheckedIn { checked_in_at: let_in_at };
    for other in [Some(8), None] {
        assert_eq!(stage.run(scan(2, other)).expect_err("another scan"), used);
    }
    // The same scan of another ticket is another one, and a scan without a name has none to repeat.
    stage.ok(scan(1, None));
    assert_eq!(stage.run(scan(1, None)).expect_err("no name").code(), "ALREADY_CHECKED_IN");
    stage.check_recovery();
}

#[test]
fn a_ticket_that_the_booking_does_not_have_lets_nobody_in() {
    let mut stage = paid(flash());
    buy(&mut stage, hold("b1", "ann", lines(&[("ga", 2)], &["A-1"])));
    for ticket in [0, 4, u32::MAX] {
        let refusal = stage.run(check_in("b1", ticket)).expect_err("a refusal");
        assert_eq!(refusal, Refusal::TicketNotFound { tickets: 3 });
    }
    stage.refused(check_in("b9", 1), "RESERVATION_NOT_FOUND");
    assert!(stage.booking("b1").checked_in.is_empty());
    stage.check_recovery();
}

#[test]
fn only_a_confirmed_booking_lets_in() {
    let mut stage = paid(flash());
    stage.ok(hold_ga("b1", "ann", 1));
    stage.refused(check_in("b1", 1), "INVALID_STATUS");
    stage.ok(begin("b1", "ann", "p1"));
    stage.refused(check_in("b1", 1), "INVALID_STATUS");
    stage.pass_ms(TTL_MS);
    stage.refused(check_in("b1", 1), "INVALID_STATUS");
    stage.ok(confirm("b1", "ann", Some("p1")));
    stage.ok(cancel("b1", None));
    stage.refused(check_in("b1", 1), "INVALID_STATUS");
    stage.ok(hold_ga("b2", "ann", 1));
    stage.ok(release("b2", "ann"));
    stage.refused(check_in("b2", 1), "INVALID_STATUS");
    stage.check_recovery();
}

#[test]
fn whoever_was_let_in_cannot_cancel_any_more() {
    let mut stage = paid(policy());
    buy(&mut stage, hold_ga("b1", "ann", 2));
    stage.ok(check_in("b1", 2));
    stage.refused(cancel_as_buyer("b1", "ann"), "ALREADY_CHECKED_IN");
    stage.refused(cancel("b1", Some(0)), "ALREADY_CHECKED_IN");
    assert_eq!((stage.status("b1"), stage.free("ga")), ("confirmed", 8));
    stage.check_recovery();
}
