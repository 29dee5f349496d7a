//! Taking units off sale, and putting them back.

use super::read::run_and_show;
use super::shapes::EventBody;
use crate::http::body::JsonBytes;
use crate::http::caller::{Ids, Operator, OptionalKey};
use crate::http::once::Scope;
use crate::http::openapi::WriteProblems;
use crate::http::problem::Problem;
use crate::http::shapes::lines::UnitsAndReason;
use crate::http::state::{Once, Sale};
use crate::json::ids::EventIdText;
use axum::extract::State;
use axum::response::Response;
use onrush_core::Command;
use onrush_core::ids::EventId;
use onrush_core::lines::Lines;
use serde_json::json;
use std::sync::Arc;

/// Takes free units off sale, with a reason. The same key again gets the first
/// answer.
#[utoipa::path(
    post, path = "/api/v1/admin/events/{event}/block", tag = "admin",
    params(("event" = EventIdText, Path), OptionalKey),
    request_body = UnitsAndReason,
    responses((status = 200, description = "The event", body = EventBody), WriteProblems),
)]
pub async fn block(
    State(sale): State<Arc<Sale>>,
    State(once): State<Arc<Once>>,
    Ids(event): Ids<EventId>,
    operator: Operator,
    key: OptionalKey,
    body: JsonBytes,
) -> Result<Response, Problem> {
    let (lines, why) = body.parse::<UnitsAndReason<'_>>()?.split()?;
    let scope = Scope::of_units("block", &event, &operator.key.name);
    let asked = asked(&lines, &why);
    let command = Command::Block { lines, reason: operator.because(why) };
    once.run_if_keyed(scope, &key, &asked, show(sale, event, command)).await
}

/// Puts blocked units on sale again; those of a pool were blocked for the same reason. The same key
/// again gets the first answer.
#[utoipa::path(
    post, path = "/api/v1/admin/events/{event}/unblock", tag = "admin",
    params(("event" = EventIdText, Path), OptionalKey),
    request_body = UnitsAndReason,
    responses((status = 200, description = "The event", body = EventBody), WriteProblems),
)]
pub async fn unblock(
    State(sale): State<Arc<Sale>>,
    State(once): State<Arc<Once>>,
    Ids(event): Ids<EventId>,
    operator: Operator,
    key: OptionalKey,
    body: JsonBytes,
) -> Result<Response, Problem> {
    let (lines, why) = body.parse::<UnitsAndReason<'_>>()?.split()?;
    let scope = Scope::of_units("unblock", &event, &operator.key.name);
    let asked = asked(&lines, &why);
    let command = Command::Unblock { lines, reason: operator.because(why) };
    once.run_if_keyed(scope, &key, &asked, show(sale, event, command)).await
}

/// What stands for the body of a request with a key.
fn asked(lines: &Lines, why: &str) -> Vec<u8> {
    json!({ "lines": lines, "why": why }).to_string().into_bytes()
}

async fn show(sale: Arc<Sale>, event: EventId, command: Command) -> Result<Response, Problem> {
    let shown = run_and_show(&sale, &event, command).await;
    shown.map_err(Problem::named_in_body)
}
