//! What messages say: the inherited bodies, and the feed's changes one by one.

use super::facts::Facts;
use onrush_core::change::{BookingChange, QueueChange};
use onrush_core::ids::{BookingId, EventId, PaymentId, SeatId, UserId};
use onrush_core::{Change, Time};
use onrush_store::{FeedEntry, Seq};
use serde::Serialize;
use serde_json::Value;
use strum::{Display, VariantArray};

/// What is told where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Display, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Topic {
    /// Every change of every event.
    #[strum(serialize = "onrush-feed")]
    Feed,
    /// A place was taken.
    BookingRequest,
    /// A payment began.
    PaymentInitiated,
    /// A booking is final.
    BookingCompleted,
    /// A payment ended without money.
    PaymentFailed,
}

/// The body of a message on [`Topic::Feed`].
#[derive(Serialize)]
struct FeedBody<'a> {
    sequence: Seq,
    index: usize,
    event: &'a EventId,
    /// In milliseconds.
    at: Time,
    #[serde(skip_serializing_if = "Option::is_none")]
    change: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    omitted: Option<Omitted<'a>>,
}

/// What stands in place of a change that is too long for a message.
#[derive(Serialize)]
struct Omitted<'a> {
    kind: &'a str,
    bytes: usize,
}

/// The message on [`Topic::Feed`] about the `index`th change (from 0) of a decision.
pub(super) fn of_feed(entry: &FeedEntry, index: usize, max_bytes: usize) -> Vec<u8> {
    let change = serde_json::to_value(&entry.changes[index]).expect("changes are plain data");
    let (sequence, event, at) = (entry.seq, &entry.event, entry.at);
    let whole = FeedBody { sequence, index, event, at, change: Some(&change), omitted: None };
    let whole = json(&whole);
    if whole.len() <= max_bytes {
        return whole;
    }
    let kind = match &change {
        Value::Object(members) => members.keys().next().map_or("", String::as_str),
        Value::String(kind) => kind,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => "",
    };
    let omitted = Some(Omitted { kind, bytes: whole.len() });
    json(&FeedBody { sequence, index, event, at, change: None, omitted })
}

fn json(body: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(body).expect("bodies are plain data, so they are JSON")
}

/// What the inherited topics tell of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Contract<'a> {
    /// Everything is known.
    Whole(Topic, Vec<u8>),
    /// Whose booking it is and its seats are still to be found out.
    Of(&'a BookingId, About<'a>),
}

/// What happened to a booking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum About<'a> {
    Initiated(&'a PaymentId),
    Completed(Option<&'a PaymentId>),
    Failed(&'a PaymentId, &'a str),
}

/// What the inherited topics tell of a change. if anything.
pub(super) fn of_s3<'a>(entry: &'a FeedEntry, change: &'a Change) -> Option<Contract<'a>> {
    match change {
        Change::Queue(change) => match change {
            QueueChange::PlaceTaken { place: _, user, number } => {
                let body = BookingRequest {
                    user_id: user,
                    event_id: &entry.event,
                    sequence: *number,
                    timestamp: seconds(entry.at),
                };
                Some(Contract::Whole(Topic::BookingRequest, json(&body)))
            }
            QueueChange::PlaceSeen { .. }
            | QueueChange::PlaceLeft { .. }
            | QueueChange::PrequeueClosed { .. }
            | QueueChange::Admitted { .. } => None,
        },
        Change::Booking(change) => match change {
            BookingChange::PaymentBegun { booking, payment, until: _ } => {
                Some(Contract::Of(booking, About::Initiated(payment)))
            }
            BookingChange::HoldConfirmed { booking, payment } => {
                Some(Contract::Of(booking, About::Completed(payment.as_ref())))
            }
            BookingChange::HoldConfirmedLate { booking, payment } => {
                Some(Contract::Of(booking, About::Completed(Some(payment))))
            }
            BookingChange::PaymentFailed { booking, payment, why, until: _ }
            | BookingChange::LatePaymentFailed { booking, payment, why } => {
                Some(Contract::Of(booking, About::Failed(payment, why)))
            }
            BookingChange::PayerNamed { .. }
            | BookingChange::ConfirmedCancelled { .. }
            | BookingChange::CheckedIn { .. } => None,
        },
        Change::Setup(_)
        | Change::Sale(_)
        | Change::Visitor(_)
        | Change::Hold(_)
        | Change::Claim(_) => None,
    }
}

#[derive(Serialize)]
struct BookingRequest<'a> {
    user_id: &'a UserId,
    event_id: &'a EventId,
    sequence: u32,
    timestamp: i64,
}

#[derive(Serialize)]
struct Paid<'a> {
    user_id: Option<&'a UserId>,
    event_id: &'a EventId,
    /// The seat, if there is exactly one.
    seat_id: Option<&'a SeatId>,
    /// Which, if there are several.
    #[serde(skip_serializing_if = "<[SeatId]>::is_empty")]
    seat_ids: &'a [SeatId],
    payment_id: Option<&'a PaymentId>,
    timestamp: i64,
}

#[derive(Serialize)]
struct Unpaid<'a> {
    user_id: Option<&'a UserId>,
    event_id: &'a EventId,
    payment_id: &'a PaymentId,
    reason: &'static str,
    /// In the gateway's own word.
    why: &'a str,
    timestamp: i64,
}

/// The message about a booking; without the facts it says less.
pub(super) fn of_booking(
    entry: &FeedEntry,
    about: About<'_>,
    facts: Option<&Facts>,
    max_bytes: usize,
) -> (Topic, Vec<u8>) {
    let (user_id, event_id) = (facts.map(|facts| &facts.user), &entry.event);
    let timestamp = seconds(entry.at);
    let paid = |payment_id| {
        let seats = facts.map_or(&[][..], |facts| &facts.seats);
        let (seat_id, seat_ids) = match seats {
            [seat] => (Some(seat), &[][..]),
            seats => (None, seats),
        };
        let whole = json(&Paid { user_id, event_id, seat_id, seat_ids, payment_id, timestamp });
        if whole.len() <= max_bytes {
            return whole;
        }
        // The feed's topic has the seats, shortened or not. Kafka would take no message after this one.
        json(&Paid { user_id, event_id, seat_id: None, seat_ids: &[], payment_id, timestamp })
    };
    match about {
        About::Initiated(payment) => (Topic::PaymentInitiated, paid(Some(payment))),
        About::Completed(payment) => (Topic::BookingCompleted, paid(payment)),
        About::Failed(payment_id, why) => {
            let reason = reason(why);
            let body = Unpaid { user_id, event_id, payment_id, reason, why, timestamp };
            (Topic::PaymentFailed, json(&body))
        }
    }
}

/// The inherited messages know three reasons, and gateways have many words.
fn reason(why: &str) -> &'static str {
    match why {
        "insufficient_funds" => "insufficient_funds",
        "timeout" => "timeout",
        _ => "cancelled",
    }
}

/// The inherited times are whole seconds.
fn seconds(at: Time) -> i64 {
    at.0.div_euclid(1_000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn entry(change: Change) -> FeedEntry {
        FeedEntry {
            seq: Seq(7),
            at: Time(1_764_000_000_999),
            event: "tour-1".parse().unwrap(),
            changes: vec![change],
        }
    }

    fn parsed(body: &[u8]) -> Value {
        serde_json::from_slice(body).unwrap()
    }

    fn told(change: Change, facts: Option<&Facts>) -> (Topic, Value) {
        let entry = entry(change);
        let (topic, body) = match of_s3(&entry, &entry.changes[0]).unwrap() {
            Contract::Whole(topic, body) => (topic, body),
            Contract::Of(_, about) => of_booking(&entry, about, facts, 10_000),
        };
        (topic, parsed(&body))
    }

    fn facts(seats: &[&str]) -> Facts {
        let seats = seats.iter().map(|seat| seat.parse().unwrap()).collect();
        Facts { user: "ann".parse().unwrap(), seats }
    }

    #[test]
    fn bodies_are_those_of_s3() {
        let place = Change::Queue(QueueChange::PlaceTaken {
            place: "00112233445566778899aabbccddeeff".parse().unwrap(),
            user: "ann".parse().unwrap(),
            number: 42,
        });
        let said = json!({"user_id": "ann", "event_id": "tour-1", "sequence": 42,
            "timestamp": 1_764_000_000});
        assert_eq!(told(place, None), (Topic::BookingRequest, said));

        let (booking, payment): (BookingId, PaymentId) =
            ("tour-1.1".parse().unwrap(), "tour-1.1.1".parse().unwrap());
        let seat = facts(&["A-1"]);
        let paid = json!({"user_id": "ann", "event_id": "tour-1", "seat_id": "A-1",
            "payment_id": "tour-1.1.1", "timestamp": 1_764_000_000});
        let begun = Change::Booking(BookingChange::PaymentBegun {
            booking: booking.clone(),
            payment: payment.clone(),
            until: Time(0),
        });
        assert_eq!(told(begun, Some(&seat)), (Topic::PaymentInitiated, paid.clone()));
        let final_ = Change::Booking(BookingChange::HoldConfirmed {
            booking: booking.clone(),
            payment: Some(payment.clone()),
        });
        assert_eq!(told(final_, Some(&seat)), (Topic::BookingCompleted, paid.clone()));
        let late = Change::Booking(BookingChange::HoldConfirmedLate {
            booking: booking.clone(),
            payment: payment.clone(),
        });
        assert_eq!(told(late, Some(&seat)), (Topic::BookingCompleted, paid));

        for (why, reason) in [
            ("insufficient_funds", "insufficient_funds"),
            ("timeout", "timeout"),
            ("cancelled", "cancelled"),
            ("do_not_honor", "cancelled"),
        ] {
            let failed = json!({"user_id": "ann", "event_id": "tour-1", "payment_id": "tour-1.1.1",
                "reason": reason, "why": why, "timestamp": 1_764_000_000});
            let failed = (Topic::PaymentFailed, failed);
            let late = Change::Booking(BookingChange::LatePaymentFailed {
                booking: booking.clone(),
                payment: payment.clone(),
                why: why.into(),
            });
            assert_eq!(told(late, Some(&seat)), failed);
            let (booking, payment) = (booking.clone(), payment.clone());
            let change = Change::Booking(BookingChange::PaymentFailed {
                booking,
                payment,
                why: why.into(),
                until: Time(0),
            });
            assert_eq!(told(change, Some(&seat)), failed);
        }
    }

    #[test]
    fn booking_of_several_seats_names_them_all_and_one_of_none_has_none() {
        let confirmed = || {
            Change::Booking(BookingChange::HoldConfirmed {
                booking: "b".parse().unwrap(),
                payment: None,
            })
        };
        let (_, several) = told(confirmed(), Some(&facts(&["A-1", "A-2"])));
        assert_eq!(several["seat_id"], Value::Null);
        assert_eq!(several["seat_ids"], json!(["A-1", "A-2"]));
        let (_, none) = told(confirmed(), Some(&facts(&[])));
        let said = json!({"user_id": "ann", "event_id": "tour-1", "seat_id": null, "payment_id": null,
            "timestamp": 1_764_000_000});
        assert_eq!(none, said);
        let (_, unknown) = told(confirmed(), None);
        assert_eq!(unknown["user_id"], Value::Null);
    }

    #[test]
    fn booking_whose_seats_are_too_long_for_a_message_is_told_without_them() {
        let seats: Vec<String> =
            (0..400).map(|seat| format!("{seat}-{}", "x".repeat(100))).collect();
        let seats: Vec<&str> = seats.iter().map(String::as_str).collect();
        let change = Change::Booking(BookingChange::HoldConfirmed {
            booking: "b".parse().unwrap(),
            payment: None,
        });
        let entry = entry(change);
        let about = || About::Completed(None);
        let (_, whole) = of_booking(&entry, about(), Some(&facts(&seats)), 1_000_000);
        let (topic, cut) = of_booking(&entry, about(), Some(&facts(&seats)), whole.len() - 1);
        assert_eq!(topic, Topic::BookingCompleted);
        let said = json!({"user_id": "ann", "event_id": "tour-1", "seat_id": null, "payment_id": null,
            "timestamp": 1_764_000_000});
        assert_eq!(parsed(&cut), said);
        assert_eq!(parsed(&whole)["seat_ids"].as_array().unwrap().len(), 400);
    }

    #[test]
    fn feed_has_every_change_and_says_so_where_one_is_too_long() {
        let entry = entry(Change::Queue(QueueChange::PlaceTaken {
            place: "00112233445566778899aabbccddeeff".parse().unwrap(),
            user: "ann".parse().unwrap(),
            number: 42,
        }));
        let whole = of_feed(&entry, 0, 1_000);
        let said = json!({"sequence": 7, "index": 0, "event": "tour-1", "at": 1_764_000_000_999_i64,
            "change": {"place_taken": {"place": "00112233445566778899aabbccddeeff",
                "user": "ann", "number": 42}}});
        assert_eq!(parsed(&whole), said);
        let cut = of_feed(&entry, 0, whole.len() - 1);
        let said = json!({"sequence": 7, "index": 0, "event": "tour-1", "at": 1_764_000_000_999_i64,
            "omitted": {"kind": "place_taken", "bytes": whole.len()}});
        assert_eq!(parsed(&cut), said);
    }
}
