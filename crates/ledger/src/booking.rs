//! Bookings as the feed tells of them, and who pays for them.

use onrush_core::Time;
use onrush_core::hold::HoldStatus;
use onrush_core::ids::{BookingId, EventId, PaymentId, UserId};
use onrush_core::lines::Lines;
use onrush_core::money::Currency;
use onrush_core::types::HeldTypes;
use std::borrow::Cow;

/// A booking, as the feed tells of it. Never an input of a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Booking {
    /// Its id.
    pub booking: BookingId,
    /// The event.
    pub event: EventId,
    /// Whose.
    pub user: UserId,
    /// Where it stands.
    pub status: HoldStatus,
    /// What it is about.
    pub lines: Lines,
    /// The price of one unit of each line, pools' and then seats'; nothing if all were the first
    /// prices that these had.
    pub prices_minor: Vec<i64>,
    /// The ticket types of its units, as they were then; nothing if none of them has one.
    pub types: Option<Box<HeldTypes>>,
    /// What it costs, fees included, in minor units.
    pub amount_minor: i64,
    /// How much of that is fees.
    pub fee_minor: i64,
    /// In which currency.
    pub currency: Currency,
    /// The payment that runs or succeeded.
    pub payment: Option<PaymentId>,
    /// What a cancellation gave back, in minor units.
    pub refund_minor: i64,
    /// Tickets that were checked in.
    pub checked_in: u32,
    /// When it was held.
    pub created_at: Time,
    /// When it was confirmed, by the decision's own time; it stays once the booking is cancelled. `None`
    /// before, and where a version of before kept no record of it.
    pub confirmed_at: Option<Time>,
    /// When it last changed.
    pub updated_at: Time,
}

/// Who pays for a booking. Only the ledger knows; it can be erased.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Buyer {
    /// As it is printed on the ticket.
    pub name: String,
    /// Where the ticket goes.
    pub email: String,
    /// A language tag such as `en` or `th`.
    pub language: String,
}

/// One buyer put in the place of another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Correction {
    /// Of which booking.
    pub booking: BookingId,
    /// Whose that is.
    pub user: UserId,
    /// The address that is known for it, as it was read; `None` if nobody was known.
    pub was: Option<String>,
    /// Who pays for it.
    pub buyer: Buyer,
}

impl Correction {
    /// Whether it may be made where this buyer is known: the one who was read, or, if it is asked for
    /// again, the new one.
    pub(crate) fn fits(&self, known: Option<&Buyer>) -> bool {
        known == Some(&self.buyer) || known.map(|known| &known.email) == self.was.as_ref()
    }
}

/// Whose data is to be forgotten.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BuyerOf {
    /// One booking's buyer.
    Booking(BookingId),
    /// A visitor's, for all of their bookings.
    User(UserId),
    /// Everybody with this address, in whatever capitals.
    Email(String),
    /// Everybody who bought something of this event.
    Event(EventId),
}

impl BuyerOf {
    /// Which id or address that is, as columns have it.
    pub(crate) fn value(&self) -> Cow<'_, str> {
        match self {
            Self::Booking(booking) => booking.as_str().into(),
            Self::User(user) => user.as_str().into(),
            Self::Email(email) => email.to_lowercase().into(),
            Self::Event(event) => event.as_str().into(),
        }
    }
}

/// A text that bookings are looked for by, in whatever capitals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BookingText {
    /// Part of a booking's id, or of its buyer's name or address. What is the id of a booking, or the
    /// address of a buyer, finds those alone.
    OfAnything(String),
    /// Part of a booking's id, whoever its buyer is. What is the id of a booking finds that alone.
    OfId(String),
}

impl BookingText {
    /// The text itself.
    pub(crate) fn as_str(&self) -> &str {
        match self {
            Self::OfAnything(text) | Self::OfId(text) => text,
        }
    }
}

/// Which bookings. All that is set must fit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BookingFilter {
    /// Of one event.
    pub event: Option<EventId>,
    /// With one status.
    pub status: Option<HoldStatus>,
    /// Of one visitor.
    pub user: Option<UserId>,
    /// What they are looked for by.
    pub text: Option<BookingText>,
    /// Where the page begins: the `next` of the one before.
    pub after: Option<String>,
}
