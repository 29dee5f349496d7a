//! What messages say, in the inherited shapes, and which changes are told.

use onrush_core::change::{BookingChange, HoldChange, QueueChange, SessionEnd, VisitorChange};
use onrush_core::ids::{BookingId, EventId, UserId};
use onrush_core::{Change, Time};
use onrush_store::FeedEntry;
use serde::{Deserialize, Serialize};

/// A slot is free.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlotReleased {
    /// In which event.
    pub event_id: EventId,
    /// Why.
    pub reason: FreedBy,
    /// Since when, in whole seconds.
    pub timestamp: i64,
}

/// Why a slot is free.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FreedBy {
    /// Time was up.
    Timeout,
    /// The visitor has everything they came for.
    PaymentSuccess,
    /// The payment failed.
    PaymentFailure,
    /// The visitor left, or gave the hold back.
    Cancellation,
}

/// A deadline: a session's end, the end of the time to show up, a hold's end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timeout {
    /// Whose.
    pub user_id: UserId,
    /// In which event.
    pub event_id: EventId,
    /// The deadline in whole seconds, rounded down as everywhere there.
    pub expire_time: i64,
    /// When it was set, in whole seconds.
    pub scheduled_at: i64,
}

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its id, the same each time it is sent; none if somebody else sent it without one.
    pub id: Option<String>,
    /// What it says.
    pub content: Content,
}

/// What a message says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// A slot is free.
    SlotReleased(SlotReleased),
    /// A deadline.
    Timeout {
        /// The body.
        body: Timeout,
        /// When it is to arrive: the deadline to the millisecond.
        due: Time,
    },
}

impl Content {
    /// The body as it is sent.
    #[must_use]
    pub fn body(&self) -> Vec<u8> {
        let body = match self {
            Self::SlotReleased(body) => serde_json::to_vec(body),
            Self::Timeout { body, due: _ } => serde_json::to_vec(body),
        };
        body.expect("bodies are plain data, so they are JSON")
    }
}

/// What an entry of the feed asks to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Draft {
    /// Everything is known.
    SlotReleased(SlotReleased),
    /// A deadline, perhaps without its user.
    Deadline {
        /// Whose.
        whose: Whose,
        /// The deadline.
        until: Time,
    },
}

/// Whose a deadline is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Whose {
    /// This user's.
    User(UserId),
    /// The user's who has this booking.
    Booking(BookingId),
}

/// The inherited times are whole seconds.
pub(super) fn seconds(at: Time) -> i64 {
    at.0.div_euclid(1_000)
}

/// What an entry asks to be sent.
pub(super) fn drafts(entry: &FeedEntry) -> Vec<Draft> {
    let mut drafts = Vec::new();
    let user = |user: &UserId| Some(Whose::User(user.clone()));
    // A hold that the same decision gives back has no deadline any more.
    let whose = |booking: &BookingId| {
        let released = HoldChange::HoldReleased { booking: booking.clone() }.into();
        (!entry.changes.contains(&released)).then(|| Whose::Booking(booking.clone()))
    };
    for change in &entry.changes {
        let mut deadline = |whose: Option<Whose>, until: &Time| {
            drafts.extend(whose.map(|whose| Draft::Deadline { whose, until: *until }));
        };
        match change {
            Change::Queue(change) => match change {
                QueueChange::Admitted { place: _, user: whose, until, arrive_by } => {
                    deadline(user(whose), until);
                    if arrive_by < until {
                        deadline(user(whose), arrive_by);
                    }
                }
                QueueChange::PlaceTaken { .. }
                | QueueChange::PlaceSeen { .. }
                | QueueChange::PlaceLeft { .. }
                | QueueChange::PrequeueClosed { .. } => {}
            },
            Change::Visitor(change) => match change {
                VisitorChange::SlotFreed { .. } => drafts.push(Draft::SlotReleased(SlotReleased {
                    event_id: entry.event.clone(),
                    reason: freed_by(&entry.changes),
                    timestamp: seconds(entry.at),
                })),
                VisitorChange::Arrived { .. }
                | VisitorChange::SessionEnded { .. }
                | VisitorChange::VisitorRemoved { .. }
                | VisitorChange::VisitorUnbanned { .. } => {}
            },
            Change::Hold(change) => match change {
                HoldChange::HoldPlaced { terms, until } => deadline(user(&terms.user), until),
                HoldChange::HoldExtended { booking, until, extension: _ } => {
                    deadline(whose(booking), until)
                }
                HoldChange::HoldReleased { .. }
                | HoldChange::HoldExpired { .. }
                | HoldChange::HoldForgotten { .. } => {}
            },
            Change::Booking(change) => match change {
                BookingChange::PaymentBegun { booking, payment: _, until }
                | BookingChange::PaymentFailed { booking, payment: _, why: _, until } => {
                    deadline(whose(booking), until);
                }
                BookingChange::PayerNamed { .. }
                | BookingChange::LatePaymentFailed { .. }
                | BookingChange::HoldConfirmed { .. }
                | BookingChange::HoldConfirmedLate { .. }
                | BookingChange::ConfirmedCancelled { .. }
                | BookingChange::CheckedIn { .. } => {}
            },
            // Deadlines that moved on are left to the engine's own ticks: which ones there are only it knows.
            Change::Sale(_) | Change::Setup(_) | Change::Claim(_) => {}
        }
    }
    drafts
}

/// What freed a slot: how the session ended if it ended just now, else how its last hold did.
///
/// One decision frees at most one slot.
fn freed_by(changes: &[Change]) -> FreedBy {
    let says = |reason: fn(&Change) -> Option<FreedBy>| changes.iter().find_map(reason);
    says(by_session)
        .or_else(|| says(by_payment))
        .or_else(|| says(by_hold))
        // A slot is freed by nothing else; a reader of messages is told something all the same.
        .unwrap_or(FreedBy::Timeout)
}

fn by_session(change: &Change) -> Option<FreedBy> {
    let Change::Visitor(VisitorChange::SessionEnded { how, .. }) = change else { return None };
    Some(match how {
        SessionEnd::NoShow | SessionEnd::Timeout => FreedBy::Timeout,
        SessionEnd::Left | SessionEnd::Removed => FreedBy::Cancellation,
        SessionEnd::Completed => FreedBy::PaymentSuccess,
        SessionEnd::PaymentFailed => FreedBy::PaymentFailure,
    })
}

fn by_payment(change: &Change) -> Option<FreedBy> {
    let Change::Booking(change) = change else { return None };
    match change {
        BookingChange::HoldConfirmed { .. } | BookingChange::HoldConfirmedLate { .. } => {
            Some(FreedBy::PaymentSuccess)
        }
        BookingChange::PaymentFailed { .. } | BookingChange::LatePaymentFailed { .. } => {
            Some(FreedBy::PaymentFailure)
        }
        BookingChange::PayerNamed { .. }
        | BookingChange::PaymentBegun { .. }
        | BookingChange::ConfirmedCancelled { .. }
        | BookingChange::CheckedIn { .. } => None,
    }
}

fn by_hold(change: &Change) -> Option<FreedBy> {
    let Change::Hold(change) = change else { return None };
    match change {
        HoldChange::HoldReleased { .. } => Some(FreedBy::Cancellation),
        HoldChange::HoldExpired { .. } => Some(FreedBy::Timeout),
        HoldChange::HoldPlaced { .. }
        | HoldChange::HoldExtended { .. }
        | HoldChange::HoldForgotten { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onrush_core::ids::PlaceId;
    use onrush_store::Seq;

    fn user() -> UserId {
        "u".parse().expect("it is an id")
    }

    fn booking() -> BookingId {
        "e.b".parse().expect("it is an id")
    }

    fn entry(changes: Vec<Change>) -> FeedEntry {
        let event = "e".parse().expect("it is an id");
        FeedEntry { seq: Seq(7), at: Time(12_999), event, changes }
    }

    #[test]
    fn slot_says_what_freed_it() {
        let place = PlaceId::from_u128(1);
        let ended = |how| Change::Visitor(VisitorChange::SessionEnded { place, user: user(), how });
        let payment = || "p".parse().expect("it is an id");
        let released = || Change::Hold(HoldChange::HoldReleased { booking: booking() });
        let expired = || Change::Hold(HoldChange::HoldExpired { booking: booking() });
        let confirmed =
            || Change::Booking(BookingChange::HoldConfirmed { booking: booking(), payment: None });
        let late = || {
            Change::Booking(BookingChange::HoldConfirmedLate {
                booking: booking(),
                payment: payment(),
            })
        };
        let declined = || {
            Change::Booking(BookingChange::PaymentFailed {
                booking: booking(),
                payment: payment(),
                why: "declined".into(),
                until: Time(20_000),
            })
        };
        for (changes, reason) in [
            (vec![ended(SessionEnd::NoShow)], FreedBy::Timeout),
            (vec![ended(SessionEnd::Timeout)], FreedBy::Timeout),
            (vec![released(), ended(SessionEnd::Left)], FreedBy::Cancellation),
            (vec![ended(SessionEnd::Removed)], FreedBy::Cancellation),
            (vec![confirmed(), ended(SessionEnd::Completed)], FreedBy::PaymentSuccess),
            (
                vec![declined(), released(), ended(SessionEnd::PaymentFailed)],
                FreedBy::PaymentFailure,
            ),
            (vec![declined(), released()], FreedBy::PaymentFailure),
            (vec![confirmed()], FreedBy::PaymentSuccess),
            (vec![expired(), late()], FreedBy::PaymentSuccess),
            (vec![released()], FreedBy::Cancellation),
            (vec![expired()], FreedBy::Timeout),
        ] {
            let mut changes = changes;
            changes.push(Change::Visitor(VisitorChange::SlotFreed { place, user: user() }));
            let drafts = drafts(&entry(changes.clone()));
            let [Draft::SlotReleased(body)] = &drafts[..] else {
                panic!("{changes:?} asks for {drafts:?}")
            };
            assert_eq!(body.reason, reason, "{changes:?}");
            assert_eq!(body.timestamp, 12);
        }
    }

    #[test]
    fn bodies_are_those_of_s3() {
        let event_id: EventId = "e".parse().expect("it is an id");
        let slot = Content::SlotReleased(SlotReleased {
            event_id: event_id.clone(),
            reason: FreedBy::PaymentSuccess,
            timestamp: 12,
        });
        let text = r#"{"event_id":"e","reason":"payment_success","timestamp":12}"#;
        assert_eq!(slot.body(), text.as_bytes());
        let body = Timeout { user_id: user(), event_id, expire_time: 612, scheduled_at: 12 };
        let timeout = Content::Timeout { body, due: Time(612_999) };
        let text = r#"{"user_id":"u","event_id":"e","expire_time":612,"scheduled_at":12}"#;
        assert_eq!(timeout.body(), text.as_bytes());
    }

    #[test]
    fn deadlines_of_sessions_and_holds_are_told() {
        let admitted = |until, arrive_by| {
            Change::Queue(QueueChange::Admitted {
                place: PlaceId::from_u128(1),
                user: user(),
                until: Time(until),
                arrive_by: Time(arrive_by),
            })
        };
        let deadline = |whose, until| Draft::Deadline { whose, until: Time(until) };
        let mine = || Whose::User(user());
        assert_eq!(
            drafts(&entry(vec![admitted(600, 120)])),
            [deadline(mine(), 600), deadline(mine(), 120)]
        );
        assert_eq!(drafts(&entry(vec![admitted(100, 100)])), [deadline(mine(), 100)]);
        let extended = || {
            let (booking, until) = (booking(), Time(900));
            Change::Hold(HoldChange::HoldExtended { booking, until, extension: None })
        };
        assert_eq!(drafts(&entry(vec![extended()])), [deadline(Whose::Booking(booking()), 900)]);
        let released = Change::Hold(HoldChange::HoldReleased { booking: booking() });
        assert_eq!(drafts(&entry(vec![extended(), released])), []);
    }
}
