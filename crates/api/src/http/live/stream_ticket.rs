//! Tickets that open one stream.

use crate::http::body::{Nothing, OptionalBody, json};
use crate::http::caller::Visitor;
use crate::http::openapi::WriteProblems;
use crate::http::state::Streams;
use crate::json::ids::TimeMs;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use onrush_base::auth::unix_now_s;
use onrush_core::Time;
use serde::Serialize;
use std::sync::Arc;
use utoipa::ToSchema;

/// A ticket that opens one stream.
#[derive(Serialize, ToSchema)]
pub struct StreamTicket {
    /// What to put into the stream's address as `ticket`.
    ticket: String,
    /// Until when.
    #[schema(value_type = TimeMs)]
    expires_at: Time,
}

/// Gives a ticket that opens one stream within 30 seconds, for callers that cannot send headers.
#[utoipa::path(
    post, path = "/api/v1/stream-tickets", tag = "visitors",
    request_body = Option<Nothing>,
    responses((status = 201, description = "A ticket", body = StreamTicket), WriteProblems),
    security(("visitor" = []))
)]
pub async fn stream_ticket(
    State(streams): State<Arc<Streams>>,
    Visitor(user): Visitor,
    _: OptionalBody<Nothing>,
) -> Response {
    let (ticket, expires_s) = streams.tickets.mint(&user, unix_now_s());
    let expires_at = Time(expires_s.saturating_mul(1_000));
    json(StatusCode::CREATED, &StreamTicket { ticket, expires_at })
}
