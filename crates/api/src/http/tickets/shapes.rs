//! Tickets.

use crate::http::shapes::types::TypeOfUnit;
use crate::json::ids::{EventIdText, IdText, TimeMs};
use onrush_base::tickets::{Ticket, Unit};
use onrush_core::Time;
use onrush_core::ids::BookingId;
use onrush_core::types::HeldType;
use serde::Serialize;
use utoipa::ToSchema;

/// A booking's tickets.
#[derive(Serialize, ToSchema)]
#[schema(as = Tickets)]
pub struct TicketsBody<'a> {
    /// The booking.
    #[schema(value_type = IdText)]
    pub booking: &'a BookingId,
    /// The event.
    #[schema(value_type = EventIdText)]
    pub event: &'a str,
    /// One a unit, by number.
    pub tickets: Vec<TicketBody>,
}

/// A ticket.
#[derive(Serialize, ToSchema)]
#[schema(as = Ticket)]
pub struct TicketBody {
    /// Its number within the booking, from 1: units of pools first, then seats.
    ticket: u32,
    /// What it is for.
    #[schema(value_type = UnitBody)]
    r#for: Unit,
    /// Its ticket type, if it has one.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    of_type: Option<TypeOfUnit>,
    /// The signed text, a compact JWS: what is in the QR code.
    code: String,
}

impl TicketBody {
    /// A ticket, and its type.
    #[must_use]
    pub fn new(held: Option<&HeldType>, ticket: Ticket) -> Self {
        let Ticket { number, unit, code, kind: _ } = ticket;
        Self { ticket: number, r#for: unit, of_type: held.map(Into::into), code }
    }
}

/// What a ticket is for: one of the two.
#[derive(ToSchema)]
#[schema(as = Unit)]
#[expect(dead_code, reason = "it describes how tickets::Unit is written")]
pub struct UnitBody {
    /// One unit of this pool.
    #[schema(value_type = Option<IdText>, nullable = false)]
    pool: Option<String>,
    /// This seat.
    #[schema(value_type = Option<IdText>, nullable = false)]
    seat: Option<String>,
}

/// A ticket that was let in.
#[derive(Serialize, ToSchema)]
pub struct CheckedInBody<'a> {
    /// The booking.
    #[schema(value_type = IdText)]
    pub booking: &'a BookingId,
    /// The ticket's number within it.
    pub ticket: u32,
    /// The event.
    #[schema(value_type = EventIdText)]
    pub event: &'a str,
    /// What it is for.
    #[schema(value_type = UnitBody)]
    pub r#for: &'a Unit,
    /// Its ticket type, if it has one: whoever stands at the door looks whether a proof is needed.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub of_type: Option<TypeOfUnit>,
    /// When it was let in.
    #[schema(value_type = TimeMs)]
    pub checked_in_at: Time,
    /// The buyer's name, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub name: Option<String>,
}
