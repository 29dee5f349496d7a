//! A box office or a shop's server holds for somebody, with what its key may use.

use super::hold::hold_for;
use super::shapes::BookingBody;
use crate::http::body::JsonBytes;
use crate::http::caller::{IdempotencyKey, Ids, Operator};
use crate::http::channels::codes::Shopper;
use crate::http::openapi::WriteProblems;
use crate::http::problem::Problem;
use crate::http::shapes::lines::WishBody;
use crate::http::state::{Callers, Sale};
use crate::json::ids::{EventIdText, IdText};
use axum::extract::State;
use axum::response::Response;
use onrush_core::ids::{EventId, UserId};
use std::sync::Arc;

/// Holds units for a visitor, all of them or none, under the rules that hold for the visitor: their
/// limits, and the waiting room where there is one. Channels are those of the key, and those that
/// codes open. The same key and wish again get the same booking.
#[utoipa::path(
    post, path = "/api/v1/admin/events/{event}/visitors/{user}/bookings", tag = "admin",
    params(("event" = EventIdText, Path), ("user" = IdText, Path), IdempotencyKey),
    request_body = WishBody,
    responses((status = 201, description = "Held", body = BookingBody), WriteProblems),
)]
pub async fn hold_for_somebody(
    State(sale): State<Arc<Sale>>,
    State(callers): State<Arc<Callers>>,
    Ids((event, user)): Ids<(EventId, UserId)>,
    operator: Operator,
    key: IdempotencyKey,
    body: JsonBytes,
) -> Result<Response, Problem> {
    let channels = operator.key.channels.clone();
    let shopper = Shopper::served(user, channels, operator.address, callers);
    // No visitor's key has a blank in it, so what they hold themselves is another booking.
    let key = format!("{} {}", operator.key.name, key.as_str());
    hold_for(&sale, &event, &shopper, &key, &body).await
}
