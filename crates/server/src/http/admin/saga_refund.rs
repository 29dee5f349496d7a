//! `POST /admin/sagas/{booking}/refund`.

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

/// Has a stuck saga give back whatever money was taken.
#[utoipa::path(
    post, path = "/api/v1/admin/sagas/{booking}/refund", tag = "admin",
    params(("booking" = IdText, Path)),
    request_body = By,
    responses((status = 200, description = "The saga as it is afterwards", body = SagaFile), WriteProblems),
    security(("admin" = []))
)]
pub async fn saga_refund(
    State(app): State<Arc<App>>,
    Ids(booking): Ids<BookingId>,
    _: Admin,
    JsonBody(by): JsonBody<By>,
) -> Result<Response, Problem> {
    act(app, booking, Action::Refund, by).await
}
