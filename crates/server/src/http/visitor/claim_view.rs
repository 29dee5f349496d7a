//! `GET /claims/{claim}`.

use super::{event_of_claim, hide_event};
use crate::http::body::json;
use crate::http::caller::{Ids, Visitor};
use crate::http::faults::odd_answer;
use crate::http::openapi::ReadProblems;
use crate::http::problem::Problem;
use crate::http::shapes::claim::ClaimBody;
use crate::http::state::App;
use crate::json::ids::IdText;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use onrush_core::ids::ClaimId;
use onrush_core::{Query, Refusal, View};
use std::sync::Arc;

/// One of the visitor's own claims.
#[utoipa::path(
    get, path = "/api/v1/claims/{claim}", tag = "claims",
    params(("claim" = IdText, Path)),
    responses((status = 200, description = "The claim", body = ClaimBody), ReadProblems),
    security(("visitor" = []))
)]
pub async fn claim_view(
    State(app): State<Arc<App>>,
    Ids(claim): Ids<ClaimId>,
    Visitor(user): Visitor,
) -> Result<Response, Problem> {
    let event = event_of_claim(&claim)?;
    let query = Query::Claim { claim, user: Some(user) };
    let answer = app.engine.query(event.clone(), query).await;
    match answer.map_err(|f| hide_event(f.into(), Refusal::ClaimNotFound))?.value {
        View::Claim(view) => Ok(json(StatusCode::OK, &ClaimBody::new(&event, &view))),
        View::Event(_)
        | View::Availability(_)
        | View::Seats(_)
        | View::Place(_)
        | View::Booking(_)
        | View::Bookings(_)
        | View::Bans(_) => Err(odd_answer()),
    }
}
