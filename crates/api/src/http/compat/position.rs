//! `GET /api/booking/position`.

use super::state::{bookings, chosen, completed, place, seconds};
use super::words::OfEvent;
use crate::http::body::json;
use crate::http::caller::{Strict, Visitor};
use crate::http::openapi::ReadProblems;
use crate::http::problem::Problem;
use crate::http::queue::place::give_sign_of_life;
use crate::http::state::Sale;
use crate::json::ids::IdText;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use onrush_base::metrics::count;
use onrush_core::hold::HoldState;
use onrush_core::view::{HoldView, PlaceState, PlaceView};
use onrush_core::{Command, Refusal};
use onrush_store::Failure;
use serde::Serialize;
use std::sync::Arc;
use utoipa::ToSchema;

/// Where a visitor stands.
#[derive(Serialize, ToSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
#[schema(as = InheritedPosition)]
pub enum PositionBody<'a> {
    /// In the queue.
    Queued {
        /// 1 is served next; null before a draw.
        position: Option<u32>,
        /// People waiting.
        total: u32,
    },
    /// Admitted.
    Active {
        /// How far the visitor is.
        state: State3,
        /// The seat that was selected; null for whoever may select one, or holds something else
        /// than one seat.
        #[schema(value_type = Option<IdText>)]
        seat_id: Option<&'a str>,
        /// When this ends by itself, in seconds since 1970-01-01T00:00:00Z.
        expire_time: i64,
    },
    /// Neither.
    NotFound,
}

/// How far an admitted visitor is.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = InheritedState, rename_all = "snake_case")]
pub enum State3 {
    /// May select a seat.
    Active,
    /// Has selected one.
    SeatSelected,
    /// Pays.
    PaymentPending,
    /// Has paid.
    Completed,
}

/// Where the visitor stands. A sign of life; asked by whoever was admitted, it is their arrival.
#[utoipa::path(
    get, path = "/api/booking/position", tag = "inherited", operation_id = "inherited_position",
    params(OfEvent),
    responses((status = 200, description = "Where the visitor stands", body = PositionBody), ReadProblems),
    security(("visitor" = []))
)]
pub async fn position(
    State(sale): State<Arc<Sale>>,
    Visitor(user): Visitor,
    Strict(OfEvent { event_id: event }): Strict<OfEvent>,
) -> Result<Response, Problem> {
    count(&sale.metrics.positions);
    let (at, holds) = bookings(&sale, &event, &user).await?;
    let active = |state, seat_id, until| {
        json(StatusCode::OK, &PositionBody::Active { state, seat_id, expire_time: seconds(until) })
    };
    if let Some(chosen) = chosen(&holds, at) {
        // Who pays for one place may wait with others, and is there with these too.
        if let Ok(Some(view)) = place(&sale, &event, &user).await {
            give_sign_of_life(&sale, &event, &user, &view).await;
        }
        let state = if chosen.paying { State3::PaymentPending } else { State3::SeatSelected };
        return Ok(active(state, Some(chosen.seat.as_str()), chosen.until));
    }
    let without_place = || match completed(&holds, at) {
        Some((seat, until)) => active(State3::Completed, Some(seat.as_str()), until),
        None => json(StatusCode::OK, &PositionBody::NotFound),
    };
    let Some(view) = place(&sale, &event, &user).await? else { return Ok(without_place()) };
    give_sign_of_life(&sale, &event, &user, &view).await;
    match view.state {
        PlaceState::Queued { position, total, .. } => {
            Ok(json(StatusCode::OK, &PositionBody::Queued { position, total }))
        }
        PlaceState::Active { until, arrive_by: None, .. } => {
            Ok(active(State3::Active, None, until))
        }
        PlaceState::Active { until, arrive_by: Some(arrive_by), .. } => {
            // The inherited paths know no showing up: whoever learns that they are in has shown up,
            // and has the whole session.
            let arrive = Command::Arrive { place: view.place, user };
            match sale.run::<PlaceView>(&event, arrive).await {
                Ok(arrived) => match arrived.state {
                    PlaceState::Active { until, .. } | PlaceState::Ended { until } => {
                        Ok(active(State3::Active, None, until))
                    }
                    PlaceState::Queued { .. } => unreachable!("nobody arrives who is not admitted"),
                },
                Err(Failure::Refused(Refusal::SessionOver | Refusal::PlaceNotFound)) => {
                    Ok(json(StatusCode::OK, &PositionBody::NotFound))
                }
                // The next question is an arrival as well, until then.
                Err(failure) => {
                    tracing::debug!(%failure, %event, "an arrival was not written down");
                    Ok(active(State3::Active, None, until.min(arrive_by)))
                }
            }
        }
        // Something else than one seat keeps the slot, or the session is over and nobody has said so yet.
        PlaceState::Ended { until } => {
            let is_live = |hold: &&HoldView| hold.state.until().is_some_and(|until| at < until);
            let pays = |hold: &HoldView| matches!(hold.state, HoldState::Paying { .. });
            let mut live = holds.iter().filter(is_live).peekable();
            if live.peek().is_none() {
                return Ok(without_place());
            }
            let state = if live.any(pays) { State3::PaymentPending } else { State3::SeatSelected };
            Ok(active(state, None, until))
        }
    }
}
