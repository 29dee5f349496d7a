//! `POST /admin/events/{event}/pools/{pool}/claimed`.

use super::reason;
use crate::http::body::{JsonBody, json};
use crate::http::caller::{Admin, IdempotencyKey, Ids};
use crate::http::faults::odd_answer;
use crate::http::first_answer::first_answer;
use crate::http::openapi::WriteProblems;
use crate::http::problem::Problem;
use crate::http::shapes::claim::ClaimBody;
use crate::http::shapes::lines::Quantity;
use crate::http::state::App;
use crate::json::ids::{AmountNumber, EventIdText, FreeText, IdText};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use onrush_core::ids::{EventId, PoolId};
use onrush_core::{Command, Reply};
use serde::Deserialize;
use std::sync::Arc;
use utoipa::ToSchema;

/// What stands for the user in the ids of services' adjustments; no visitor has this id, for it is
/// no UUID and no hash.
const SERVICE: &str = "service";

/// A service's adjustment.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Adjustment {
    /// Units more (positive) or fewer (negative); not 0.
    #[schema(value_type = AmountNumber)]
    amount: Quantity,
    /// The service.
    #[schema(value_type = FreeText)]
    by: Box<str>,
    /// Why.
    #[schema(value_type = FreeText)]
    why: Box<str>,
}

/// Changes the units that services claimed, up or down (S2.1); the same key again gets the first
/// answer (S2.2).
#[utoipa::path(
    post, path = "/api/v1/admin/events/{event}/pools/{pool}/claimed", tag = "admin",
    operation_id = "adjust_claimed",
    params(
        ("event" = EventIdText, Path), ("pool" = IdText, Path),
        ("Idempotency-Key" = String, Header, min_length = 1, max_length = 255, pattern = "^[!-~]+$"),
    ),
    request_body = Adjustment,
    responses((status = 201, description = "Adjusted", body = ClaimBody), WriteProblems),
    security(("admin" = []))
)]
pub async fn claimed(
    State(app): State<Arc<App>>,
    Ids((event, pool)): Ids<(EventId, PoolId)>,
    _: Admin,
    key: IdempotencyKey,
    JsonBody(Adjustment { amount, by, why }): JsonBody<Adjustment>,
) -> Result<Response, Problem> {
    let claim = app.names.claim(&event, SERVICE, key.as_str());
    let amount = amount.signed();
    let scope = format!("claimed {event} {SERVICE}");
    let asked = format!("{pool} {amount}");
    let command = Command::AdjustClaimed { claim, pool, amount, reason: reason(by, why) };
    let work = adjust(app.clone(), event, command);
    first_answer(app, scope, SERVICE, key.as_str(), asked.as_bytes(), work).await
}

async fn adjust(app: Arc<App>, event: EventId, command: Command) -> Result<Response, Problem> {
    match app.run(&event, command).await? {
        Reply::Claim(view) => Ok(json(StatusCode::CREATED, &ClaimBody::new(&event, &view))),
        Reply::Done | Reply::Place(_) | Reply::Left(_) | Reply::Hold(_) | Reply::Removed(_) => {
            Err(odd_answer())
        }
    }
}
