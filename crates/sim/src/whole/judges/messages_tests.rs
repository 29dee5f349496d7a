//! Tests of the judge of messages.

use super::*;
use onrush_core::ids::PaymentId;
use onrush_core::lines::PoolLine;
use onrush_ledger::desk::DeskStatus;

#[test]
fn mails_are_read_row_by_row() {
    let text = "Booking: sale.1\r\nTotal: 53.50 EUR (including fees of 3.50 EUR)\r\n";
    assert_eq!(row(text, "Booking"), Some("sale.1"));
    assert_eq!(row(text, "Total").and_then(minor), Some(5_350));
    assert_eq!(row(text, "Refund"), None);
    assert_eq!(kind_of_mail("Your refund: A sale"), Some(REFUND));
    assert_eq!(kind_of_mail("Buy now"), None);
}

#[test]
fn no_status_is_believed_that_leads_to_no_such_end() {
    let may_have = |told: Value, end| may_have_been(&told, end);
    assert!(may_have("confirmed".into(), HoldStatus::Cancelled));
    assert!(may_have("paying".into(), HoldStatus::Confirmed));
    assert!(!may_have("confirmed".into(), HoldStatus::Released));
    assert!(!may_have("cancelled".into(), HoldStatus::Confirmed));
    assert!(!may_have(Value::Null, HoldStatus::Confirmed));
}

/// What the judge says of mails about refunds of these amounts, where 25.00 were paid and 20.00 are to go
/// back: 5.00 went at the bank's desk, and the bank was asked for the rest.
fn said_of(refunds: &[&str], known_after: Option<u64>) -> Vec<String> {
    let booking: BookingId = "sale.1".parse().expect("an id");
    let payment: PaymentId = "sale.1.000000000001".parse().expect("an id");
    let made = AtDesk {
        reference: "desk-1".into(),
        payment: payment.clone(),
        booking: booking.clone(),
        amount_minor: 500,
        stood: vec![DeskStatus::Moved],
        heard: Vec::new(),
    };
    let paid = Paid {
        payment: payment.clone(),
        booking: booking.clone(),
        amount_minor: 2_500,
        is_captured: true,
        is_set_aside: false,
        card: None,
        refunds_minor: vec![1_500],
        desk: vec![made],
        elsewhere_minor: 0,
        left_minor: 500,
        asked_beside_desk: false,
        first_ask: None,
        is_of_before: false,
    };
    let line = PoolLine { pool: "ga".parse().expect("an id"), quantity: 1 };
    let known = Known {
        event: "sale".parse().expect("an id"),
        lines: Lines::new(vec![line], vec![]).expect("lines"),
        amount_minor: 2_500,
        fee_minor: 0,
        refund_minor: 2_000,
        is_given_back: false,
        payment: Some(payment),
        expired_at: None,
        is_used: false,
        end: HoldStatus::Cancelled,
    };
    let world = World::of(1, Some(1));
    world.note_address(&booking, "ann@example.com", known_after);
    let mut facts = Facts::default();
    facts.bookings.insert(booking, known);
    let mail = |(nth, refund): (usize, &&str)| Taken {
        channel: MAIL.into(),
        id: format!("m-{nth}"),
        said: Said::Mail {
            to: "ann@example.com".into(),
            subject: "Your refund: A sale".into(),
            text: format!("Booking: sale.1\nTotal: 25.00 EUR\nRefund: {refund} EUR\n"),
        },
    };
    let taken: Vec<_> = refunds.iter().enumerate().map(mail).collect();
    let happened = Happened::of(&[], vec![paid]);
    let mut violations = Vec::new();
    let mut judge = Judge {
        world: &world,
        facts: &facts,
        happened: &happened,
        dead: &[],
        runs_out: 1,
        losses: 0,
        violations: &mut violations,
    };
    judge.mail(&taken);
    violations
}

#[test]
fn a_buyer_who_is_reached_gets_mail_about_all_that_goes_back() {
    assert_eq!(said_of(&["15.00", "5.00"], Some(0)), Vec::<String>::new());
    for less in [&["15.00"][..], &["15.00", "4.99"], &["20.00"], &["15.00", "5.01"]] {
        assert_eq!(said_of(less, Some(0)).len(), 1, "{less:?}");
    }
    // Of whom the server never said that it knows them, nobody knows what they got.
    assert_eq!(said_of(&["15.00"], None), Vec::<String>::new());
}
