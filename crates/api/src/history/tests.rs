//! What a history tells.

#![cfg(test)]

use super::*;
use crate::engine_stub::EngineStub;
use onrush_core::lines::PoolLine;
use std::sync::atomic::AtomicU64;

fn lines() -> Lines {
    let pool = PoolLine { pool: "ga".parse().unwrap(), quantity: 2 };
    Lines::new(vec![pool], vec!["A-1".parse().unwrap(), "A-2".parse().unwrap()]).unwrap()
}

fn held(booking: &str) -> Change {
    let terms = HoldTerms {
        booking: booking.parse().unwrap(),
        user: "ann".parse().unwrap(),
        lines: lines(),
        asked: None,
        prices_minor: Vec::new(),
        sources: Vec::new(),
        types: None,
        amount_minor: 100,
        fee_minor: 0,
        created_at: Time(1),
    };
    Change::Hold(HoldChange::HoldPlaced { terms: Arc::new(terms), until: Time(9) })
}

fn reason() -> Reason {
    Reason { by: "box office".into(), why: "sound desk".into() }
}

fn history(subject: Subject, changes: Vec<Change>) -> History {
    let mut history = History::new(subject);
    for (seq, change) in (1..).zip(changes) {
        let event = "e".parse().unwrap();
        let at = Time(i64::try_from(seq).unwrap());
        history.note(&FeedEntry { seq: Seq(seq), at, event, changes: vec![change] });
    }
    history
}

fn whats(history: &History) -> Vec<What> {
    history.steps.iter().map(|step| step.what).collect()
}

fn seat(id: &str) -> Subject {
    Subject::Seat(id.parse().unwrap())
}

fn ga() -> Subject {
    Subject::Pool("ga".parse().unwrap())
}

#[test]
fn a_seat_remembers_its_bookings_and_no_other_seats() {
    let booking: BookingId = "e.1".parse().unwrap();
    let changes = || {
        let booking = booking.clone();
        vec![
            held("e.1"),
            Change::Booking(BookingChange::HoldConfirmed {
                booking: booking.clone(),
                payment: None,
            }),
            // Two units of the pool come first, so the third ticket is the first seat's.
            Change::Booking(BookingChange::CheckedIn {
                booking: booking.clone(),
                ticket: 3,
                scan: None,
            }),
            Change::Booking(BookingChange::ConfirmedCancelled {
                booking,
                reason: reason(),
                refund_minor: 0,
            }),
            Change::Booking(BookingChange::HoldConfirmed {
                booking: "e.2".parse().unwrap(),
                payment: None,
            }),
        ]
    };
    let first = history(seat("A-1"), changes());
    assert_eq!(whats(&first), [What::Held, What::Confirmed, What::CheckedIn, What::Cancelled]);
    let last = first.steps.back().unwrap();
    assert_eq!((last.seq, last.by.as_deref(), last.units), (4, Some("box office"), None));
    assert_eq!(last.user.as_ref().map(UserId::as_str), Some("ann"));
    let second = history(seat("A-2"), changes());
    assert_eq!(whats(&second), [What::Held, What::Confirmed, What::Cancelled]);
    assert!(whats(&history(seat("A-3"), changes())).is_empty());
    assert!(first.bookings.is_empty());
}

#[test]
fn a_pool_counts_the_units_of_each_step() {
    let (booking, claim): (BookingId, ClaimId) = ("e.1".parse().unwrap(), "c".parse().unwrap());
    let pool: PoolId = "ga".parse().unwrap();
    let user: UserId = "bob".parse().unwrap();
    let told = history(
        ga(),
        vec![
            Change::Setup(SetupChange::CapacityAdjusted {
                pool: pool.clone(),
                before: 10,
                after: 8,
                reason: reason(),
            }),
            Change::Setup(SetupChange::UnitsBlocked { lines: lines(), reason: reason() }),
            held("e.1"),
            Change::Booking(BookingChange::CheckedIn {
                booking: booking.clone(),
                ticket: 1,
                scan: None,
            }),
            Change::Booking(BookingChange::CheckedIn { booking, ticket: 3, scan: None }),
            Change::Claim(ClaimChange::Claimed {
                claim: claim.clone(),
                user,
                pool,
                quantity: 3,
                until: None,
                before: 0,
                after: 3,
            }),
            Change::Claim(ClaimChange::Declaimed {
                claim,
                how: DeclaimedHow::Returned,
                before: 3,
                after: 0,
            }),
        ],
    );
    let counted: Vec<_> = told.steps.iter().map(|step| (step.what, step.units)).collect();
    assert_eq!(
        counted,
        [
            (What::Capacity, Some(-2)),
            (What::Blocked, Some(2)),
            (What::Held, Some(2)),
            (What::CheckedIn, Some(1)),
            (What::Claimed, Some(3)),
            (What::Returned, Some(3)),
        ]
    );
    assert_eq!(told.steps[5].user.as_ref().map(UserId::as_str), Some("bob"));
}

#[test]
fn late_money_buys_what_ran_out_while_it_was_on_its_way() {
    let booking: BookingId = "e.1".parse().unwrap();
    let payment: onrush_core::ids::PaymentId = "p".parse().unwrap();
    let told = history(
        seat("A-1"),
        vec![
            held("e.1"),
            Change::Booking(BookingChange::PaymentBegun {
                booking: booking.clone(),
                payment: payment.clone(),
                until: Time(9),
            }),
            Change::Hold(HoldChange::HoldExpired { booking: booking.clone() }),
            Change::Booking(BookingChange::HoldConfirmedLate { booking, payment }),
        ],
    );
    assert_eq!(whats(&told), [What::Held, What::Paying, What::Expired, What::Confirmed]);
}

#[test]
fn of_a_long_history_the_latest_steps_are_told() {
    let changes = (0..MAX_STEPS).flat_map(|number| {
        let name = format!("e.{number}");
        let booking = name.parse().unwrap();
        [held(&name), Change::Hold(HoldChange::HoldExpired { booking })]
    });
    let told = history(ga(), changes.collect());
    assert_eq!((told.steps.len(), told.steps[0].seq), (MAX_STEPS, 501));
    assert!(told.bookings.is_empty());
}

/// As after a failover to a standby that lagged behind.
#[tokio::test]
async fn a_history_ends_with_what_a_feed_has_that_lost_its_end() {
    let event: EventId = "e".parse().unwrap();
    let entry =
        FeedEntry { seq: Seq(1), at: Time(1), event: event.clone(), changes: vec![held("e.1")] };
    let stub = |feed| EngineStub {
        feed,
        committed: AtomicU64::new(3),
        ..EngineStub::telling(|_: &_, _: &_| None)
    };
    let histories = Histories::new(Arc::new(stub(vec![Arc::new(entry)])));
    // The second is not kept from its turn by the first.
    let (first, second) = tokio::join!(histories.of(&event, ga()), histories.of(&event, ga()));
    for steps in [first, second] {
        let steps = steps.expect("there is something");
        assert_eq!(steps.iter().map(|step| step.what).collect::<Vec<_>>(), [What::Held]);
    }
}
