//! `DELETE /claims/{claim}`.

use super::{event_of_claim, hide_event};
use crate::http::body::json;
use crate::http::caller::{Ids, Visitor};
use crate::http::faults::odd_answer;
use crate::http::openapi::WriteProblems;
use crate::http::problem::Problem;
use crate::http::shapes::claim::ClaimBody;
use crate::http::state::App;
use crate::json::ids::IdText;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use onrush_core::ids::ClaimId;
use onrush_core::{Command, Refusal, Reply};
use std::sync::Arc;

/// Gives a claim back; doing it again changes nothing (S2.2).
#[utoipa::path(
    delete, path = "/api/v1/claims/{claim}", tag = "claims",
    params(("claim" = IdText, Path)),
    responses((status = 200, description = "Returned", body = ClaimBody), WriteProblems),
    security(("visitor" = []))
)]
pub async fn declaim(
    State(app): State<Arc<App>>,
    Ids(claim): Ids<ClaimId>,
    Visitor(user): Visitor,
) -> Result<Response, Problem> {
    let event = event_of_claim(&claim)?;
    let reply = app.run(&event, Command::Declaim { claim, user }).await;
    match reply.map_err(|failure| hide_event(failure.into(), Refusal::ClaimNotFound))? {
        Reply::Claim(view) => Ok(json(StatusCode::OK, &ClaimBody::new(&event, &view))),
        Reply::Done | Reply::Place(_) | Reply::Left(_) | Reply::Hold(_) | Reply::Removed(_) => {
            Err(odd_answer())
        }
    }
}
