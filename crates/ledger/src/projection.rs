//! Following the feed: what a page of it makes of the ledger's rows.

use crate::booking::Booking;
use crate::delivery::Message;
use crate::saga::Saga;
use onrush_core::Time;
use onrush_core::ids::{BookingId, EventId, PaymentId};

/// A page of the feed, in order, as rows. It is written as a whole together with the cursor, so that no decision is
/// projected twice or left out, whoever else follows the feed at the same time. A projection that does not go beyond the
/// stored cursor changes nothing. One that goes beyond it and does not begin exactly there is refused as a conflict.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Projection {
    /// The number of the last decision before it: the stored cursor.
    pub after: u64,
    /// The number of the last decision in it.
    pub cursor: u64,
    /// What happened.
    pub facts: Vec<Fact>,
    /// What people are to be told of it.
    pub messages: Vec<Message>,
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
    /// Units are held for a new booking. A saga comes with it if something is to be paid; one that is stored already
    /// (because a payment began before the feed was followed so far) stays as it is.
    Held {
        /// The booking.
        booking: Box<Booking>,
        /// Its saga.
        saga: Option<Box<Saga>>,
    },
    /// A booking has another status: see [`Moved`].
    Moved(Box<Moved>),
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
/// A saga at `RESERVE_OK` moves by itself: to `CONFIRMED` if the status is `confirmed` and to `FAILED` if it is `released`
/// or `expired`, in a new version, with a line in its history and nothing left to do (`next_at` is null, it is not stuck).
/// Only if an earlier payment of it is neither void nor refunded it is looked at all the same: money that came after all
/// must go back. One that is due already (a payment was begun and not written down) is treated like any other saga.
///
/// Any other saga is left alone without `wake`. With it, the saga is made to be looked at: `next_at` becomes `at` unless it
/// is earlier already, in a new version (in either case, so that whoever works on it at that moment notices), with a line in
/// its history. One that is stuck or at `FAILED` is left alone even so, and so is one whose present payment is `payment` if
/// the status is `paying`: whoever began that payment sees to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    /// The booking.
    pub booking: BookingId,
    /// Its status from now on.
    pub status: &'static str,
    /// The payment that runs or succeeded, if this says anything of it.
    pub payment: Option<PaymentId>,
    /// What a cancellation gives back.
    pub refund_minor: i64,
    /// When.
    pub at: Time,
    /// Whether the saga has something to do because of it.
    pub wake: bool,
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
