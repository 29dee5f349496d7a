//! `POST /admin/sagas/{booking}/retry`.

use super::{By, act};
use crate::http::body::JsonBody;
use crate::http::caller::{Admin, Ids};
use crate::http::openapi::WriteProblems;
use crate::http::problem::Problem;
use crate::http::shapes::ledger::SagaFile;
use crate::http::state::App;
use crate::json::ids::IdText;
use crate::saga::Action;
use axum::extract::State;
use axum::response::Response;
use onrush_core::ids::BookingId;
use std::sync::Arc;

/// Has a stuck saga try again what it was about to do; refunds that failed are asked for again.
#[utoipa::path(
    post, path = "/api/v1/admin/sagas/{booking}/retry", tag = "admin",
    params(("booking" = IdText, Path)),
    request_body = By,
    responses((status = 200, description = "The saga as it is afterwards", body = SagaFile), WriteProblems),
    security(("admin" = []))
)]
pub async fn saga_retry(
    State(app): State<Arc<App>>,
    Ids(booking): Ids<BookingId>,
    _: Admin,
    JsonBody(by): JsonBody<By>,
) -> Result<Response, Problem> {
    act(app, booking, Action::Retry, by).await
}
