//! `GET /admin/sagas/{booking}`.

use super::saga_answer;
use crate::http::caller::{Admin, Ids};
use crate::http::openapi::ReadProblems;
use crate::http::problem::Problem;
use crate::http::shapes::ledger::SagaFile;
use crate::http::state::App;
use crate::json::ids::IdText;
use axum::extract::State;
use axum::response::Response;
use onrush_core::ids::BookingId;
use std::sync::Arc;

/// Everything about one booking's money: its saga, payments, refunds, and what happened to it.
#[utoipa::path(
    get, path = "/api/v1/admin/sagas/{booking}", tag = "admin",
    params(("booking" = IdText, Path)),
    responses((status = 200, description = "The saga", body = SagaFile), ReadProblems),
    security(("admin" = []))
)]
pub async fn saga(
    State(app): State<Arc<App>>,
    Ids(booking): Ids<BookingId>,
    _: Admin,
) -> Result<Response, Problem> {
    let file = app.ledger.file(&booking).await?;
    saga_answer(&app, &booking, file).await
}
