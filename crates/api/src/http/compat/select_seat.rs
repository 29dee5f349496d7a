//! `POST /api/booking/select-seat`.

use super::state::{bookings, chosen, is_over, place};
use super::words::{Refused, Word, refused};
use crate::http::body::{JsonBody, json};
use crate::http::caller::{MayBegin, Visitor};
use crate::http::openapi::EntryProblems;
use crate::http::problem::Problem;
use crate::http::state::Sale;
use crate::json::ids::{EventIdText, IdText};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use onrush_base::metrics::count;
use onrush_core::hold::HoldState;
use onrush_core::ids::{BookingId, EventId, SeatId, UserId};
use onrush_core::lines::Lines;
use onrush_core::types::AskedTypes;
use onrush_core::view::{HoldView, PlaceState, PlaceView};
use onrush_core::{Command, Refusal, Time};
use onrush_store::Failure;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::sync::Arc;
use utoipa::ToSchema;

/// Which seat.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = InheritedSeatWish)]
pub struct SeatWish {
    /// The event.
    #[schema(value_type = EventIdText)]
    event_id: EventId,
    /// The seat.
    #[schema(value_type = IdText)]
    seat_id: SeatId,
}

/// The seat is held.
#[derive(Serialize, ToSchema)]
#[schema(as = InheritedSelected)]
pub struct Selected {
    /// `true`.
    success: bool,
    /// The seat.
    #[schema(value_type = IdText)]
    seat_id: SeatId,
}

/// Holds a seat for an active visitor: one winner a seat, and one seat a visitor.
///
/// The same seat again is the same hold. Another seat while one is selected is `invalid_state`:
/// giving the first one up for a second that may be gone would leave the visitor with neither.
#[utoipa::path(
    post, path = "/api/booking/select-seat", tag = "inherited", operation_id = "inherited_select_seat",
    request_body = SeatWish,
    responses(
        (status = 200, description = "The seat is held", body = Selected),
        EntryProblems,
        (status = 409, description = "`seat_unavailable`, `invalid_state`", body = Refused),
    ),
    security(("visitor" = []))
)]
pub async fn select_seat(
    State(sale): State<Arc<Sale>>,
    Visitor(user): Visitor,
    _: MayBegin,
    JsonBody(SeatWish { event_id: event, seat_id: seat }): JsonBody<SeatWish>,
) -> Result<Response, Problem> {
    let selected = |seat_id| json(StatusCode::OK, &Selected { success: true, seat_id });
    let (at, holds) = bookings(&sale, &event, &user).await?;
    if let Some(chosen) = chosen(&holds, at) {
        let same = *chosen.seat == seat && !chosen.paying;
        return Ok(if same { selected(seat) } else { refused(Word::InvalidState) });
    }
    let session = match place(&sale, &event, &user).await? {
        Some(view) if matches!(view.state, PlaceState::Active { .. }) => view,
        Some(_) | None => return Ok(refused(Word::InvalidState)),
    };
    let booking = booking_of(&sale, &event, &user, &session, &holds, at);
    let lines = Lines::new(Vec::new(), vec![seat.clone()])?;
    match sale
        .run::<HoldView>(
            &event,
            Command::Hold {
                booking,
                user,
                lines,
                channels: Vec::new(),
                types: AskedTypes::default(),
            },
        )
        .await
    {
        Ok(view) => match view.state {
            HoldState::Held { until } if at < until => {
                count(&sale.metrics.holds_accepted);
                Ok(selected(seat))
            }
            // The same wish was here meanwhile, and more has happened since.
            HoldState::Held { .. }
            | HoldState::Paying { .. }
            | HoldState::Confirmed { .. }
            | HoldState::Released { .. }
            | HoldState::Expired { .. }
            | HoldState::Cancelled { .. } => Ok(refused(Word::InvalidState)),
        },
        Err(Failure::Refused(refusal)) => {
            count(&sale.metrics.holds_refused);
            match refusal {
                Refusal::SeatUnavailable { .. } => Ok(refused(Word::SeatUnavailable)),
                // A mismatch is another seat that was selected at the same time.
                Refusal::NotYourTurn | Refusal::SessionOver | Refusal::BookingMismatch => {
                    Ok(refused(Word::InvalidState))
                }
                other => Err(other.into()),
            }
        }
        Err(failure) => Err(failure.into()),
    }
}

/// The id of the session's next booking. Without the seat in it, so that of two seats that are
/// selected at the same time the rules hold one; with the number of those that have ended, so that
/// a retry finds its own.
fn booking_of(
    sale: &Sale,
    event: &EventId,
    user: &UserId,
    session: &PlaceView,
    holds: &[HoldView],
    at: Time,
) -> BookingId {
    let over = holds.iter().filter(|hold| is_over(&hold.state, at));
    let ended: HashSet<_> = over.map(|hold| &hold.terms.booking).collect();
    let named = |attempt: usize| {
        // No `Idempotency-Key` has a space in it, so no other booking has this name.
        let key = format!("s3 {} {} {attempt}", session.place, session.number);
        sale.names.booking(event, user.as_str(), &key)
    };
    let fresh = (0..=ended.len()).map(named).find(|booking| !ended.contains(booking));
    fresh.expect("one name more than bookings that have ended is not the name of any of them")
}
