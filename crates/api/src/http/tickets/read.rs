//! The tickets of a confirmed booking, and their pictures.

use super::shapes::{TicketBody, TicketsBody};
use crate::http::body::json;
use crate::http::bookings::find::event_of_booking;
use crate::http::bookings::keeper::Keeper;
use crate::http::caller::Ids;
use crate::http::faults::{broken, refused};
use crate::http::openapi::ConflictProblems;
use crate::http::problem::{Code, Problem};
use crate::http::state::Signers;
use crate::json::ids::IdText;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use onrush_base::tickets::{Confirmed, qr};
use onrush_core::Refusal;
use onrush_core::hold::{HoldState, HoldTerms};
use onrush_core::ids::{BookingId, EventId};
use onrush_core::view::HoldView;
use std::sync::Arc;

/// The tickets of one of the visitor's own confirmed bookings.
#[utoipa::path(
    get, path = "/api/v1/bookings/{booking}/tickets", tag = "tickets",
    params(("booking" = IdText, Path)),
    responses((status = 200, description = "The tickets", body = TicketsBody), ConflictProblems),
    security(("visitor" = []), ("link" = []))
)]
pub async fn tickets(
    State(signers): State<Arc<Signers>>,
    Ids(booking): Ids<BookingId>,
    keeper: Keeper,
) -> Result<Response, Problem> {
    let event = event_of_booking(&booking)?;
    let view = keeper.find(&event, &booking).await?;
    let signed = signers.tickets.sign_all(confirmed(&event, &view)?);
    let signed = view.terms.types_of_tickets().zip(signed);
    let tickets = signed.map(|(held, ticket)| TicketBody::new(held, ticket)).collect();
    let body = TicketsBody { booking: &view.terms.booking, event: event.as_str(), tickets };
    Ok(json(StatusCode::OK, &body))
}

/// The QR code of a ticket of one of the visitor's own confirmed bookings.
#[utoipa::path(
    get, path = "/api/v1/bookings/{booking}/tickets/{file}", tag = "tickets",
    params(("booking" = IdText, Path),
        ("file" = String, Path, description = "The ticket's number and `.svg`",
        pattern = r"^[1-9][0-9]{0,3}\.svg$", example = "1.svg")),
    responses(
        (status = 200, description = "The code", body = String, content_type = "image/svg+xml"),
        ConflictProblems,
    ),
    security(("visitor" = []), ("link" = []))
)]
pub async fn ticket_picture(
    State(signers): State<Arc<Signers>>,
    Ids((booking, file)): Ids<(BookingId, String)>,
    keeper: Keeper,
) -> Result<Response, Problem> {
    let number = number_of(&file).ok_or_else(|| {
        Problem::new(Code::InvalidId, "use a ticket's number and .svg, such as 1.svg")
    })?;
    let event = event_of_booking(&booking)?;
    let view = keeper.find(&event, &booking).await?;
    let ticket = signers.tickets.sign_one(confirmed(&event, &view)?, number);
    let tickets = view.terms.lines.units();
    let ticket = ticket.ok_or_else(|| refused(Refusal::TicketNotFound { tickets }))?;
    let picture = qr::svg(&ticket.code).map_err(|error| broken("drawing a ticket", &error))?;
    // Whoever has the picture has the ticket: it is for no shared cache.
    let headers = [(CONTENT_TYPE, "image/svg+xml"), (CACHE_CONTROL, "private, no-store")];
    Ok((headers, picture).into_response())
}

/// The number in `<number>.svg`, written in one way only.
fn number_of(file: &str) -> Option<u32> {
    let digits = file.strip_suffix(".svg")?;
    let plain = !digits.starts_with('0') && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|_| plain)
}

/// A booking that its tickets are signed for, if it is confirmed.
fn confirmed<'a>(event: &'a EventId, view: &'a HoldView) -> Result<Confirmed<'a>, Problem> {
    let HoldTerms { booking, user, lines, types, .. } = &*view.terms;
    match &view.state {
        HoldState::Confirmed { at, payment: _ } => {
            Ok(Confirmed { booking, event, user, lines, types: types.as_deref(), at: *at })
        }
        state @ (HoldState::Held { .. }
        | HoldState::Paying { .. }
        | HoldState::Released { .. }
        | HoldState::Expired { .. }
        | HoldState::Cancelled { .. }) => {
            Err(Refusal::InvalidStatus { booking_status: state.status() }.into())
        }
    }
}
