//! Bookings, as visitors and the organiser see them.

use super::buyer::BuyerBody;
use crate::http::events::shapes::money::TaxOf;
use crate::http::shapes::page::page;
use crate::http::shapes::types::TypeUnits;
use crate::json::ids::{CurrencyText, EventIdText, IdText, TimeMs};
use crate::json::words::words;
use onrush_core::Time;
use onrush_core::hold::{HoldState, HoldStatus};
use onrush_core::ids::{BookingId, EventId, PaymentId, UserId};
use onrush_core::lines::Lines;
use onrush_core::money::Currency;
use onrush_core::settings::RefundNow;
use onrush_core::view::HoldView;
use onrush_ledger::booking::{Booking, Buyer};
use serde::Serialize;
use std::collections::HashMap;
use utoipa::ToSchema;

/// A booking. Which of the times is there depends on the status.
#[derive(Serialize, ToSchema)]
#[schema(as = Booking)]
pub struct BookingBody<'a> {
    /// Its id.
    #[schema(value_type = IdText)]
    booking: &'a str,
    /// The event.
    #[schema(value_type = EventIdText)]
    event: &'a str,
    /// `held`, `paying`, `confirmed`, `released`, `expired` or `cancelled`.
    #[schema(value_type = BookingStatus)]
    status: HoldStatus,
    /// What it is.
    #[schema(value_type = LinesBody)]
    lines: &'a Lines,
    /// Which of it is of which ticket type; missing if nothing has one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    types: Vec<TypeUnits>,
    /// The price of all of it, fees included, in minor units of the event's currency.
    amount_minor: i64,
    /// How much of that is fees.
    fee_minor: i64,
    /// When it was held.
    #[schema(value_type = TimeMs)]
    created_at: Time,
    /// When the hold runs out (held, paying).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<TimeMs>, nullable = false)]
    until: Option<Time>,
    /// When it runs out at the latest, however often it is extended and paid for (held); missing in
    /// answers to anything but `GET`. Downtime of the engine moves it on, and a payment that fails
    /// may leave some seconds more.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<TimeMs>, nullable = false)]
    latest_until: Option<Time>,
    /// When it was confirmed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<TimeMs>, nullable = false)]
    confirmed_at: Option<Time>,
    /// When it was given back.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<TimeMs>, nullable = false)]
    released_at: Option<Time>,
    /// When it ran out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<TimeMs>, nullable = false)]
    expired_at: Option<Time>,
    /// When it was taken back after it was confirmed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<TimeMs>, nullable = false)]
    cancelled_at: Option<Time>,
    /// What goes back to the buyer, in minor units (cancelled).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    refund_minor: Option<i64>,
    /// The payment that runs, succeeded, or had not ended when the hold ran out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<IdText>, nullable = false)]
    payment: Option<&'a PaymentId>,
    /// How often it was extended.
    extensions: u8,
    /// Payments that were begun for it: the event has `payment_attempts`.
    payments_begun: u8,
    /// What its buyer gets back who cancels it at this moment (confirmed); missing where they
    /// cannot, and in answers to anything but `GET`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    refund_now: Option<RefundNowBody>,
    /// Tickets that were let in, by their number.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    checked_in: Vec<u32>,
}

/// What a buyer gets back who cancels at this moment.
#[derive(Serialize, ToSchema)]
#[schema(as = RefundNow)]
pub struct RefundNowBody {
    /// Of the units' price; fees are kept.
    percent: u8,
    /// What goes back, in minor units.
    refund_minor: i64,
    /// What is kept of what was paid, in minor units.
    kept_minor: i64,
    /// The last moment at which that is so.
    #[schema(value_type = TimeMs)]
    until: Time,
}

impl From<RefundNow> for RefundNowBody {
    fn from(RefundNow { percent, refund_minor, kept_minor, until }: RefundNow) -> Self {
        Self { percent, refund_minor, kept_minor, until }
    }
}

words!(
    /// The status of a booking.
    BookingStatus, "BookingStatus", HoldStatus
);

/// Units of pools, and seats; what is empty is missing.
#[derive(ToSchema)]
#[schema(as = Lines)]
#[expect(dead_code, reason = "it describes how onrush_core::lines::Lines is written")]
pub struct LinesBody {
    #[schema(value_type = Option<HashMap<String, u32>>, nullable = false)]
    pools: Option<HashMap<String, u32>>,
    #[schema(value_type = Option<Vec<IdText>>, nullable = false)]
    seats: Option<Vec<String>>,
}

impl<'a> BookingBody<'a> {
    /// What a visitor is shown.
    #[must_use]
    pub fn new(event: &'a EventId, view: &'a HoldView) -> Self {
        let terms = &*view.terms;
        let mut body = Self {
            booking: terms.booking.as_str(),
            event: event.as_str(),
            status: view.state.status(),
            lines: &terms.lines,
            types: TypeUnits::all(&terms.lines, terms.types.as_deref()),
            amount_minor: terms.amount_minor,
            fee_minor: terms.fee_minor,
            created_at: terms.created_at,
            until: view.state.until(),
            latest_until: None,
            confirmed_at: None,
            released_at: None,
            expired_at: None,
            cancelled_at: None,
            refund_minor: None,
            payment: None,
            extensions: view.extensions,
            payments_begun: view.payments,
            refund_now: None,
            checked_in: view.checked_in.iter().map(|check_in| check_in.ticket).collect(),
        };
        match &view.state {
            HoldState::Held { until: _ } => {}
            HoldState::Paying { until: _, before: _, payment } => body.payment = Some(payment),
            HoldState::Confirmed { at, payment } => {
                body.confirmed_at = Some(*at);
                body.payment = payment.as_ref();
            }
            HoldState::Released { at } => body.released_at = Some(*at),
            HoldState::Expired { at, payment } => {
                body.expired_at = Some(*at);
                body.payment = payment.as_ref();
            }
            HoldState::Cancelled { at, refund_minor } => {
                body.cancelled_at = Some(*at);
                body.refund_minor = Some(*refund_minor);
            }
        }
        body
    }
}

impl<'a> BookingBody<'a> {
    /// The same, with what the buyer gets back who cancels now.
    #[must_use]
    pub fn with_refund(self, refund_now: Option<RefundNow>) -> Self {
        Self { refund_now: refund_now.map(Into::into), ..self }
    }

    /// The same, with when it runs out at the latest.
    #[must_use]
    pub fn with_latest(self, latest_until: Option<Time>) -> Self {
        Self { latest_until, ..self }
    }

    /// What is shown of a booking that only the ledger still knows: it ended at its last change.
    #[must_use]
    pub fn of_past(row: &'a Booking) -> Self {
        let status = row.status;
        let ended_at = |is: HoldStatus| (status == is).then_some(row.updated_at);
        Self {
            booking: row.booking.as_str(),
            event: row.event.as_str(),
            status,
            lines: &row.lines,
            types: TypeUnits::all(&row.lines, row.types.as_deref()),
            amount_minor: row.amount_minor,
            fee_minor: row.fee_minor,
            created_at: row.created_at,
            until: None,
            latest_until: None,
            confirmed_at: None,
            released_at: ended_at(HoldStatus::Released),
            expired_at: ended_at(HoldStatus::Expired),
            cancelled_at: ended_at(HoldStatus::Cancelled),
            refund_minor: ended_at(HoldStatus::Cancelled).map(|_| row.refund_minor),
            payment: row.payment.as_ref(),
            extensions: 0,
            payments_begun: 0,
            refund_now: None,
            checked_in: Vec::new(),
        }
    }
}

/// A page of a visitor's bookings.
#[derive(Serialize, ToSchema)]
pub struct Bookings<'a> {
    /// Oldest first in each event, events in the order they were created.
    pub bookings: Vec<BookingBody<'a>>,
    /// What to ask for next as `after`; missing on the last page, and on no other, however few it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<IdText>, nullable = false)]
    pub next: Option<&'a BookingId>,
}

page! {
    /// A page of bookings, the latest first.
    LedgerBookings,
    /// The bookings.
    bookings: LedgerBooking
}

/// A booking, as the feed told of it, and who pays for it.
#[derive(Serialize, ToSchema)]
pub struct LedgerBooking {
    #[schema(value_type = IdText)]
    booking: BookingId,
    #[schema(value_type = EventIdText)]
    event: EventId,
    /// Whose.
    #[schema(value_type = IdText)]
    user: UserId,
    #[schema(value_type = BookingStatus)]
    status: HoldStatus,
    #[schema(value_type = LinesBody)]
    lines: Lines,
    /// Which of it is of which ticket type; missing if nothing has one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    types: Vec<TypeUnits>,
    /// What it costs, fees included, in minor units.
    amount_minor: i64,
    /// How much of that is fees.
    fee_minor: i64,
    /// How much of that is tax; missing where the event tells of none, or cannot be asked now.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    tax: Option<TaxOf>,
    #[schema(value_type = CurrencyText)]
    currency: Currency,
    /// The payment that runs or succeeded.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<IdText>, nullable = false)]
    payment: Option<PaymentId>,
    /// What a cancellation gave back, in minor units.
    refund_minor: i64,
    /// Tickets that were let in.
    checked_in: u32,
    /// When it was held.
    #[schema(value_type = TimeMs)]
    created_at: Time,
    /// When it was confirmed; it stays once the booking is cancelled. Missing before, and where a version
    /// of before kept no record of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<TimeMs>, nullable = false)]
    confirmed_at: Option<Time>,
    /// When it last changed.
    #[schema(value_type = TimeMs)]
    updated_at: Time,
    /// Who pays, unless nobody said so or it was erased. Keys with neither `sell` nor `money` are not
    /// told.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    buyer: Option<BuyerBody>,
}

impl LedgerBooking {
    /// What the organiser is shown.
    #[must_use]
    pub fn new(row: Booking, buyer: Option<Buyer>, tax: Option<TaxOf>) -> Self {
        Self {
            tax,
            booking: row.booking,
            event: row.event,
            user: row.user,
            status: row.status,
            types: TypeUnits::all(&row.lines, row.types.as_deref()),
            lines: row.lines,
            amount_minor: row.amount_minor,
            fee_minor: row.fee_minor,
            currency: row.currency,
            payment: row.payment,
            refund_minor: row.refund_minor,
            checked_in: row.checked_in,
            created_at: row.created_at,
            confirmed_at: row.confirmed_at,
            updated_at: row.updated_at,
            buyer: buyer.map(|Buyer { name, email, language }| BuyerBody { name, email, language }),
        }
    }
}
