//! Rows to put into a ledger.

use onrush_core::Time;
use onrush_core::hold::HoldStatus;
use onrush_core::ids::{BookingId, EventId, PaymentId, UserId};
use onrush_core::lines::{Lines, PoolLine};
use onrush_core::saga::{Stage, Step};
use onrush_core::types::{AskedTypes, HeldType, HeldTypes};
use onrush_ledger::Ledger;
use onrush_ledger::booking::{Booking, BookingFilter};
use onrush_ledger::delivery::{Delivered, Message};
use onrush_ledger::money::{Capture, OnDecline, Payment, Refund, RefundCause, RefundStatus};
use onrush_ledger::projection::{Fact, Moved, Projection};
use onrush_ledger::saga::{Saga, Transition};

pub(crate) fn event(id: &str) -> EventId {
    id.parse().expect("an id")
}

pub(crate) fn user(id: &str) -> UserId {
    id.parse().expect("an id")
}

pub(crate) fn booking_id(id: &str) -> BookingId {
    id.parse().expect("an id")
}

/// The `n`-th payment of a booking.
pub(crate) fn payment_id(booking: &str, n: u32) -> PaymentId {
    format!("{booking}.{n:012}").parse().expect("an id")
}

/// A held booking of `gala` that costs 1,050 of which 50 are fees.
pub(crate) fn booking(id: &str, at: i64) -> Booking {
    let ga = PoolLine { pool: "ga".parse().expect("an id"), quantity: 2 };
    Booking {
        booking: booking_id(id),
        event: event("gala"),
        user: user("ann"),
        status: HoldStatus::Held,
        lines: Lines::new(vec![ga], vec!["A-1".parse().expect("an id")]).expect("lines"),
        amount_minor: 1_050,
        prices_minor: vec![300, 400],
        types: Some(Box::new(HeldTypes {
            asked: AskedTypes::default(),
            held: vec![HeldType {
                id: "child".parse().expect("an id"),
                name: "Child, 6–12".into(),
                proof: true,
                price_minor: 400,
                units: vec![(1, 1)],
            }],
        })),
        fee_minor: 50,
        currency: "EUR".parse().expect("a currency"),
        payment: None,
        refund_minor: 0,
        checked_in: 0,
        created_at: Time(at),
        confirmed_at: None,
        updated_at: Time(at),
    }
}

/// The first version of that booking's saga, to be looked at in ten seconds.
pub(crate) fn saga(id: &str, at: i64) -> Saga {
    Saga {
        saga_id: format!("saga-of-{id}"),
        booking: booking_id(id),
        event: event("gala"),
        user: user("ann"),
        amount_minor: 1_050,
        currency: "EUR".parse().expect("a currency"),
        step: Step::ReserveOk,
        reserve_completed_at: Some(Time(at)),
        payment_completed_at: None,
        updated_at: Time(at),
        version: 1,
        payment: None,
        next_at: Some(Time(at + 10_000)),
        tries: 0,
        stuck: None,
    }
}

pub(crate) fn payment(booking: &str, n: u32, stage: Stage, at: i64) -> Payment {
    Payment {
        payment: payment_id(booking, n),
        booking: booking_id(booking),
        gateway: "sandbox".into(),
        reference: Some(format!("pi_{n}")),
        url: Some("https://pay.example/1".into()),
        client_secret: Some("hush".into()),
        amount_minor: 1_050,
        currency: "EUR".parse().expect("a currency"),
        stage,
        capture: Capture::AtOnce,
        captured_minor: if stage == Stage::Captured { 1_050 } else { 0 },
        why: None,
        flagged: false,
        on_decline: OnDecline::Keep,
        created_at: Time(at),
        updated_at: Time(at),
    }
}

pub(crate) fn refund(booking: &str, n: u32, status: RefundStatus, at: i64) -> Refund {
    Refund {
        refund: format!("refund:{booking}:{n}"),
        booking: booking_id(booking),
        payment: payment_id(booking, 1),
        amount_minor: 400,
        currency: "EUR".parse().expect("a currency"),
        status,
        cause: RefundCause::Cancelled,
        decided_by: None,
        why: "cancelled".into(),
        reference: None,
        created_at: Time(at),
        updated_at: Time(at),
    }
}

pub(crate) fn message(id: &str, at: i64, channels: &[&str]) -> Message {
    Message {
        id: id.into(),
        kind: "booking_confirmed".into(),
        event: event("gala"),
        booking: Some(booking_id("gala.1")),
        at: Time(at),
        body: r#"{"units":3}"#.into(),
        channels: channels.iter().map(|&channel| channel.into()).collect(),
    }
}

/// A transition to `saga` and nothing else.
pub(crate) fn to(saga: Saga) -> Transition {
    Transition {
        note: format!("version {}", saga.version),
        saga,
        payments: vec![],
        refunds: vec![],
        buyer: None,
        messages: vec![],
    }
}

/// The saga one version later.
pub(crate) fn next(saga: &Saga) -> Saga {
    Saga { version: saga.version + 1, updated_at: saga.updated_at.plus_ms(1), ..saga.clone() }
}

/// A page of the feed with decision `cursor` alone.
pub(crate) fn page(cursor: u64, facts: Vec<Fact>) -> Projection {
    Projection { after: cursor - 1, cursor, facts, ..Projection::default() }
}

pub(crate) fn held(id: &str, at: i64) -> Fact {
    Fact::Held(Box::new(booking(id, at)))
}

pub(crate) fn fact(moved: Moved) -> Fact {
    Fact::Moved(Box::new(moved))
}

pub(crate) fn moved(id: &str, status: HoldStatus, at: i64) -> Moved {
    Moved {
        booking: booking_id(id),
        status,
        payment: None,
        refund_minor: 0,
        at: Time(at),
        decided_at: Time(at),
        wake: false,
    }
}

/// Refunds as programs wrote them that knew no cause but the text.
pub(crate) struct RefundsOfBefore {
    /// What brings them into the tables.
    pub(crate) stored: Transition,
    /// What they are read as.
    pub(crate) understood: Vec<Refund>,
}

pub(crate) fn refunds_of_before() -> RefundsOfBefore {
    let texts = [
        ("the booking was cancelled", RefundCause::Cancelled, None),
        ("the booking cannot be confirmed: SEAT_UNAVAILABLE", RefundCause::Unconfirmed, None),
        ("the booking does not wait for this payment", RefundCause::Stray, None),
        ("refunded by bo", RefundCause::Operator, Some("bo")),
        ("by hand: bo", RefundCause::ByHand, Some("bo")),
        ("asked for again", RefundCause::Unknown, None),
        ("the gateway will not give the money back: no", RefundCause::Unknown, None),
    ];
    let understood: Vec<Refund> = (1..)
        .zip(texts)
        .map(|(n, (why, cause, by))| Refund {
            cause,
            decided_by: by.map(str::to_owned),
            why: why.to_owned(),
            ..refund("gala.1", n, RefundStatus::Done, 7)
        })
        .collect();
    let payments = vec![payment("gala.1", 1, Stage::Captured, 7)];
    let stored = Transition { payments, refunds: understood.clone(), ..to(saga("gala.1", 5)) };
    RefundsOfBefore { stored, understood }
}

/// Gives messages up with answers as programs kept them that repeated addresses.
pub(crate) async fn answered_by_mail_servers(ledger: &dyn Ledger) {
    let told = [
        ("address", "mail", "551 not local; try <ann@x.org>"),
        ("hook", "webhook:crm", "pat@shop.example is the receiver's own"),
        ("plain", "mail", "550 no such mailbox"),
    ];
    let messages = told.map(|(id, channel, _)| message(id, 5, &[channel])).into();
    let page = Projection { messages, ..page(1, vec![]) };
    ledger.project(page).await.expect("written");
    for (id, channel, error) in told {
        let dead = Delivered::Dead { at: Time(9), error: error.into() };
        ledger.delivered(channel, vec![(id.into(), dead)]).await.expect("written");
    }
}

/// What that comes to once a ledger is brought up to date.
pub(crate) async fn answers_are_kept_without_addresses(ledger: &dyn Ledger) {
    let dead = ledger.dead_letters(None, None, 9).await.expect("read").rows;
    let mut told: Vec<_> =
        dead.iter().map(|dead| (dead.message.id.as_str(), dead.error.as_str())).collect();
    told.sort_unstable();
    let kept = [
        ("address", "the mail server's answer is not kept: an address stood in it"),
        ("hook", "pat@shop.example is the receiver's own"),
        ("plain", "550 no such mailbox"),
    ];
    assert_eq!(told, kept);
}

/// Has bookings go all the ways by which rows that do not say when they were confirmed may tell it, or
/// may not.
pub(crate) async fn sold_before(ledger: &dyn Ledger) {
    let ids = ["same", "used", "back", "again", "twice", "silent", "held"];
    let ids = ids.map(|id| format!("gala.{id}"));
    let mut facts: Vec<Fact> = ids.iter().map(|id| held(id, 5)).collect();
    let sold = ids.iter().filter(|id| *id != "gala.held");
    facts.extend(sold.map(|id| fact(moved(id, HoldStatus::Confirmed, 6))));
    let check_in = |id: &str| Fact::CheckedIn { booking: booking_id(id), at: Time(8) };
    let cancelled = |id: &str| fact(moved(id, HoldStatus::Cancelled, 8));
    facts.extend(["gala.used", "gala.again", "gala.silent"].map(check_in));
    facts.extend(["gala.back", "gala.twice"].map(cancelled));
    let told = |id: &str, booking: &str, at: i64, body: &str| Message {
        booking: Some(booking_id(booking)),
        body: body.into(),
        ..message(id, at, &["mail"])
    };
    let followed = r#"{"payment":"till-7","late":false}"#;
    let messages = vec![
        told("1", "gala.used", 6, followed),
        told("2", "gala.used", 7, r#"{"confirmed_at":6}"#),
        told("3", "gala.back", 6, r#"{"late":true}"#),
        // Another hold with its id, once the rules have forgotten it.
        told("4", "gala.back", 9, followed),
        // Mail was set up after it was sold.
        told("5", "gala.again", 7, r#"{"confirmed_at":6}"#),
        // Files of before were put back meanwhile.
        told("6", "gala.twice", 4, followed),
        told("7", "gala.twice", 6, followed),
    ];
    ledger.project(Projection { messages, ..page(1, facts) }).await.expect("written");
}

/// What is known of when they were confirmed, once a ledger is brought up to date.
pub(crate) async fn known_confirmations(ledger: &dyn Ledger) -> Vec<(String, Option<Time>)> {
    let page = ledger.bookings(BookingFilter::default(), 9).await.expect("read");
    let known = page.rows.into_iter().map(|(row, _)| (row.booking.to_string(), row.confirmed_at));
    let mut known: Vec<_> = known.collect();
    known.sort_unstable();
    known
}

/// That, where a change of a row and a message say it.
pub(crate) fn confirmations_that_are_told() -> Vec<(String, Option<Time>)> {
    let known = [
        ("gala.again", None),
        ("gala.back", Some(6)),
        ("gala.held", None),
        ("gala.same", Some(6)),
        ("gala.silent", None),
        ("gala.twice", None),
        ("gala.used", Some(6)),
    ];
    known.map(|(id, at)| (id.to_owned(), at.map(Time))).into()
}
