//! Following the feed: what a page of it makes of the ledger's rows.

use crate::booking::Booking;
use crate::booking_of;
use crate::delivery::Message;
use crate::saga::Saga;
use onrush_core::Time;
use onrush_core::hold::HoldStatus;
use onrush_core::ids::{BookingId, EventId, PaymentId, PoolId};
use onrush_core::saga::Step;

/// A page of the feed, in order, as rows. It is written as a whole together with the cursor, so
/// that no decision is projected twice or left out, whoever else follows the feed at the same time.
/// A projection that does not go beyond the stored cursor changes nothing. One that goes beyond it
/// and does not begin exactly there is refused as a conflict.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Projection {
    /// The number of the last decision before it: the stored cursor.
    pub after: u64,
    /// The number of the last decision in it.
    pub cursor: u64,
    /// When that one was made, if it is known.
    pub at: Option<Time>,
    /// What happened.
    pub facts: Vec<Fact>,
    /// What people are to be told of it.
    pub messages: Vec<Message>,
}

/// How far the feed was followed, and which feed that was.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FeedPosition {
    /// The number of the last decision that was projected, 0 at first.
    pub seq: u64,
    /// When that one was made, if it was said.
    pub at: Option<Time>,
    /// The journal it stands in, if it was said.
    pub journal: Option<String>,
}

/// One thing that happened, as far as the ledger is concerned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fact {
    /// An event is new or has other settings: its catalogue row is replaced.
    Event {
        /// The event.
        event: EventId,
        /// Its title.
        title: String,
        /// Its currency.
        currency: String,
        /// All settings as JSON.
        settings: String,
        /// When.
        at: Time,
    },
    /// A pool or a category of seats has a price: its catalogue row is replaced.
    Price {
        /// The event.
        event: EventId,
        /// `pool` or `category`.
        kind: &'static str,
        /// Its id or name.
        name: String,
        /// The price of one unit, in minor units.
        price_minor: i64,
    },
    /// Units are held for a new booking. It has no saga before somebody pays for it, or it is
    /// confirmed: see [`Moved`].
    Held(Box<Booking>),
    /// A booking has another status: see [`Moved`].
    Moved(Box<Moved>),
    /// A hold runs out at this time from now on, as the row of a room-night says.
    Until {
        /// The booking.
        booking: BookingId,
        /// When it runs out.
        until: Time,
    },
    /// Units of a room-night came on sale or went off it, apart from those that bookings take.
    Stock {
        /// The event.
        event: EventId,
        /// The pool.
        pool: PoolId,
        /// Units more (positive) or fewer (negative).
        change: i64,
    },
    /// One more ticket of a booking was checked in.
    CheckedIn {
        /// The booking.
        booking: BookingId,
        /// When.
        at: Time,
    },
}

/// A booking has another status, and its saga may have something to do because of it.
///
/// The saga of a booking that costs something begins with the status `paying` (at `RESERVE_OK`, due
/// at once) or `confirmed` (at its end), unless it is stored already because a payment began before
/// the feed was followed so far. A hold that nobody paid for leaves none.
///
/// A booking that is `confirmed` with a payment of ours which its saga does not have was paid for
/// when another ledger was written: this one was put back from before, or is new. Its saga begins at
/// `RESERVE_OK`, due at once, and goes back there if it had not come further or was at `FAILED`: the
/// payment is to be found.
///
/// A saga at `RESERVE_OK` moves by itself: to `CONFIRMED` if the status is `confirmed` and to
/// `FAILED` if it is `released` or `expired`, in a new version, with a line in its history and
/// nothing left to do (`next_at` is null, and what only its patience was used up for is not stuck any
/// more). Only if an earlier payment of it is neither void nor refunded it is looked at all the same:
/// money that came after all must go back.
/// One that is due already (a payment was begun and not written down) is treated like any other
/// saga.
///
/// Any other saga is left alone without `wake`. With it, the saga is made to be looked at:
/// `next_at` becomes `at` unless it is earlier already, in a new version (in either case, so that
/// whoever works on it at that moment notices), with a line in its history. One at `FAILED` is left
/// alone even so, and so is one whose present payment is `payment` if the status is `paying`: whoever
/// began that payment sees to it. One that is stuck is woken by the end of its booking alone
/// (`cancelled`, `expired`), if a payment of it is neither void nor refunded: that one is to be called
/// off or given back, and an operator may be waited for because of another. It is stuck again once
/// nothing else is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    /// The booking.
    pub booking: BookingId,
    /// Its status from now on.
    pub status: HoldStatus,
    /// The payment that runs or succeeded, if this says anything of it.
    pub payment: Option<PaymentId>,
    /// What a cancellation gives back.
    pub refund_minor: i64,
    /// When, by the clock of whoever follows the feed: no later than now.
    pub at: Time,
    /// When the engine decided it. Its clock may be ahead of that one.
    pub decided_at: Time,
    /// Whether the saga has something to do because of it.
    pub wake: bool,
}

impl Moved {
    /// Since when its booking is confirmed, which was so `before`. Also one that was confirmed may be moved
    /// back: by a journal that was put back from before it was sold.
    pub(crate) fn confirmed_at(&self, before: Option<Time>) -> Option<Time> {
        match self.status {
            HoldStatus::Confirmed => Some(self.decided_at),
            HoldStatus::Cancelled => before,
            HoldStatus::Held | HoldStatus::Paying | HoldStatus::Released | HoldStatus::Expired => {
                None
            }
        }
    }

    /// What becomes of a saga, as it is to be written; `None` if it stays. `is_unfinished` says
    /// whether the booking has a payment that is neither void nor refunded.
    pub(crate) fn lead<E>(
        &self,
        saga: Saga,
        is_unfinished: impl Fn() -> Result<bool, E>,
    ) -> Result<Option<Saga>, E> {
        let led = match self.end_without_payment() {
            Some(_) if self.is_paid_here() && Self::may_lack(&saga, self.payment.as_ref()) => {
                Saga { step: Step::ReserveOk, next_at: Some(self.call(&saga)), ..saga }
            }
            // One that was woken and not looked at yet has something to find out first.
            Some(step) if saga.step == Step::ReserveOk && !self.has_called(&saga) => {
                // Money that an earlier payment took after all must still be given back.
                if is_unfinished()? {
                    Saga { step, next_at: Some(self.call(&saga)), ..saga }
                } else {
                    // What an operator is waited for was never tried in vain, and waits on.
                    let stuck = saga.stuck.filter(|_| saga.tries == 0);
                    Saga { step, next_at: None, tries: 0, stuck, ..saga }
                }
            }
            // It gets a new version even if it is due already: who works on it now may not know of this.
            Some(_) | None if self.wake && self.may_wake(&saga) => {
                Saga { next_at: Some(self.call(&saga)), ..saga }
            }
            Some(_) | None if self.wake && self.may_free(&saga) && is_unfinished()? => {
                Saga { next_at: Some(self.call(&saga)), tries: 0, stuck: None, ..saga }
            }
            Some(_) | None => return Ok(None),
        };
        let updated_at = led.updated_at.max(self.at);
        Ok(Some(Saga { version: led.version + 1, updated_at, ..led }))
    }

    /// The saga that begins with it, if `booking` has none yet.
    pub(crate) fn begin(&self, booking: &Booking) -> Option<Saga> {
        let (step, next_at) = match self.status {
            // Whoever began the payment may have died before they wrote it down.
            HoldStatus::Paying if booking.amount_minor > 0 => (Step::ReserveOk, Some(self.at)),
            HoldStatus::Confirmed if booking.amount_minor > 0 && self.is_paid_here() => {
                (Step::ReserveOk, Some(self.at))
            }
            HoldStatus::Confirmed if booking.amount_minor > 0 => (Step::Confirmed, None),
            HoldStatus::Held
            | HoldStatus::Paying
            | HoldStatus::Confirmed
            | HoldStatus::Released
            | HoldStatus::Expired
            | HoldStatus::Cancelled => return None,
        };
        let saga = Saga::of_booking(booking);
        Some(Saga { step, next_at, updated_at: self.at.max(saga.updated_at), ..saga })
    }

    /// What a saga's history says of it.
    pub(crate) fn note(&self) -> String {
        format!("the engine says: {}", self.status)
    }

    /// Where the status leads a saga that has no payment.
    fn end_without_payment(&self) -> Option<Step> {
        match self.status {
            HoldStatus::Confirmed => Some(Step::Confirmed),
            HoldStatus::Released | HoldStatus::Expired => Some(Step::Failed),
            HoldStatus::Held | HoldStatus::Paying | HoldStatus::Cancelled => None,
        }
    }

    /// Whether a payment of ours paid for it, and not the box office's.
    fn is_paid_here(&self) -> bool {
        let of = self.payment.as_ref().and_then(booking_of);
        self.status == HoldStatus::Confirmed && of.as_ref() == Some(&self.booking)
    }

    /// Whether a saga may know nothing of the payment that its booking was confirmed with. One that is
    /// at another payment finds that out when this has ended.
    fn may_lack(saga: &Saga, payment: Option<&PaymentId>) -> bool {
        let may_be = match saga.step {
            Step::ReserveSent | Step::ReserveOk | Step::Failed => true,
            Step::PaymentSent | Step::PaymentOk | Step::Confirmed | Step::Compensating => false,
        };
        may_be && saga.payment.as_ref() != payment
    }

    /// Whether somebody was called to look at a saga and has not done so.
    fn has_called(&self, saga: &Saga) -> bool {
        let is_due = saga.next_at.is_some_and(|next_at| next_at <= self.at);
        is_due || (self.wake && saga.stuck.is_some())
    }

    fn may_wake(&self, saga: &Saga) -> bool {
        let is_seen_to = self.status == HoldStatus::Paying
            && self.payment.is_some()
            && saga.payment == self.payment;
        saga.stuck.is_none() && saga.step != Step::Failed && !is_seen_to
    }

    /// Whether a stuck saga may have money to call off or to give back since its booking ended.
    fn may_free(&self, saga: &Saga) -> bool {
        let ends = match self.status {
            HoldStatus::Cancelled | HoldStatus::Expired => true,
            HoldStatus::Held
            | HoldStatus::Paying
            | HoldStatus::Confirmed
            | HoldStatus::Released => false,
        };
        ends && saga.stuck.is_some() && saga.step != Step::Failed
    }

    /// When a saga that has to be looked at is looked at.
    fn call(&self, saga: &Saga) -> Time {
        saga.next_at.map_or(self.at, |next_at| next_at.min(self.at))
    }
}

/// What people read about an event, in one language.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CatalogueText {
    /// Its title.
    pub title: String,
    /// A description.
    pub description: String,
    /// Where it takes place.
    pub venue: String,
}

/// The room and the night that a pool stands for, if it is named `<room>.<YYYY-MM-DD>`.
#[must_use]
pub fn room_night(pool: &PoolId) -> Option<(&str, &str)> {
    let (room, date) = pool.as_str().rsplit_once('.')?;
    (!room.is_empty() && is_date(date)).then_some((room, date))
}

/// Whether a text is a day of the calendar, as `YYYY-MM-DD`.
fn is_date(text: &str) -> bool {
    let number = |from: usize, to: usize| -> Option<u32> {
        let digits = text.get(from..to)?;
        if digits.bytes().all(|digit| digit.is_ascii_digit()) { digits.parse().ok() } else { None }
    };
    let bytes = text.as_bytes();
    let (Some(year), Some(month), Some(day)) = (number(0, 4), number(5, 7), number(8, 10)) else {
        return false;
    };
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if is_leap => 29,
        2 => 28,
        _ => return false,
    };
    let is_dashed = bytes.len() == 10 && bytes[4] == b'-' && bytes[7] == b'-';
    is_dashed && year > 0 && (1..=days).contains(&day)
}

#[cfg(test)]
mod tests {
    use super::room_night;

    #[test]
    fn pool_is_a_room_night_if_it_ends_with_a_day() {
        let check = |pool: &str, expected| {
            let pool = pool.parse().expect("an id");
            assert_eq!(room_night(&pool), expected, "{pool}");
        };
        check("double.2026-12-24", Some(("double", "2026-12-24")));
        check("sea.view.2028-02-29", Some(("sea.view", "2028-02-29")));
        for other in [
            "ga",
            "double.2026-12",
            "double.2026-13-01",
            "double.2026-02-29",
            "double.2100-02-29",
            "double.2026-11-31",
            "double.2026-12-00",
            "double.0000-12-01",
            "double.2026.12.24",
            "double-2026-12-24",
            ".2026-12-24",
        ] {
            check(other, None);
        }
    }
}
