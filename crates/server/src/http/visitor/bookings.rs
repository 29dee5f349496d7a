//! `GET /bookings`.

use crate::app::{App, odd_answer};
use crate::http::body::json;
use crate::http::caller::{Strict, Visitor};
use crate::http::openapi::ReadProblems;
use crate::http::problem::Problem;
use crate::http::shapes::booking::{BookingBody, Bookings};
use crate::http::shapes::ids::EventIdText;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use onrush_core::ids::EventId;
use onrush_core::{Query, View};
use serde::Deserialize;
use std::sync::Arc;
use utoipa::IntoParams;

/// Of which event.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct BookingsQuery {
    /// Only of this event.
    #[param(value_type = Option<EventIdText>, nullable = false)]
    event: Option<EventId>,
}

/// The visitor's own bookings, oldest first in each event.
#[utoipa::path(
    get, path = "/api/v1/bookings", tag = "bookings",
    params(BookingsQuery),
    responses((status = 200, description = "The bookings", body = Bookings), ReadProblems),
    security(("visitor" = []))
)]
pub async fn bookings(
    State(app): State<Arc<App>>,
    Visitor(user): Visitor,
    Strict(query): Strict<BookingsQuery>,
) -> Result<Response, Problem> {
    let events = match query.event {
        Some(event) => vec![event],
        None => app.engine.events().await?.value,
    };
    let mut found = Vec::new();
    for event in &events {
        let query = Query::Bookings { user: user.clone() };
        match app.engine.query(event.clone(), query).await?.value {
            View::Bookings(views) => found.extend(views.into_iter().map(|view| (event, view))),
            View::Event(_)
            | View::Availability(_)
            | View::Seats(_)
            | View::Place(_)
            | View::Booking(_)
            | View::Claim(_)
            | View::Bans(_) => return Err(odd_answer()),
        }
    }
    let bookings = found.iter().map(|(event, view)| BookingBody::new(event, view)).collect();
    Ok(json(StatusCode::OK, &Bookings { bookings }))
}
