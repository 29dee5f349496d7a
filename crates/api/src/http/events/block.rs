//! Taking units off sale, and putting them back.

use super::read::run_and_show;
use super::shapes::EventBody;
use crate::http::body::JsonBytes;
use crate::http::caller::{Ids, Operator};
use crate::http::openapi::WriteProblems;
use crate::http::problem::Problem;
use crate::http::shapes::lines::UnitsAndReason;
use crate::http::state::Sale;
use crate::json::ids::EventIdText;
use axum::extract::State;
use axum::response::Response;
use onrush_core::Command;
use onrush_core::ids::EventId;
use std::sync::Arc;

/// Takes free units off sale, with a reason.
#[utoipa::path(
    post, path = "/api/v1/admin/events/{event}/block", tag = "admin",
    params(("event" = EventIdText, Path)),
    request_body = UnitsAndReason,
    responses((status = 200, description = "The event", body = EventBody), WriteProblems),
    security(("key" = []))
)]
pub async fn block(
    State(sale): State<Arc<Sale>>,
    Ids(event): Ids<EventId>,
    operator: Operator,
    body: JsonBytes,
) -> Result<Response, Problem> {
    let (lines, why) = body.parse::<UnitsAndReason<'_>>()?.split()?;
    let reason = operator.because(why);
    let shown = run_and_show(&sale, &event, Command::Block { lines, reason }).await;
    shown.map_err(Problem::named_in_body)
}

/// Puts blocked units on sale again; those of a pool were blocked for the same reason.
#[utoipa::path(
    post, path = "/api/v1/admin/events/{event}/unblock", tag = "admin",
    params(("event" = EventIdText, Path)),
    request_body = UnitsAndReason,
    responses((status = 200, description = "The event", body = EventBody), WriteProblems),
    security(("key" = []))
)]
pub async fn unblock(
    State(sale): State<Arc<Sale>>,
    Ids(event): Ids<EventId>,
    operator: Operator,
    body: JsonBytes,
) -> Result<Response, Problem> {
    let (lines, why) = body.parse::<UnitsAndReason<'_>>()?.split()?;
    let reason = operator.because(why);
    let shown = run_and_show(&sale, &event, Command::Unblock { lines, reason }).await;
    shown.map_err(Problem::named_in_body)
}
