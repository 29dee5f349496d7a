//! `POST /admin/sagas/{booking}/release`.

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

/// Ends a stuck saga without money, and gives its hold back: no money was taken, as the operator
/// has made sure.
#[utoipa::path(
    post, path = "/api/v1/admin/sagas/{booking}/release", tag = "admin",
    params(("booking" = IdText, Path)),
    request_body = By,
    responses((status = 200, description = "The saga as it is afterwards", body = SagaFile), WriteProblems),
    security(("admin" = []))
)]
pub async fn saga_release(
    State(app): State<Arc<App>>,
    Ids(booking): Ids<BookingId>,
    _: Admin,
    JsonBody(by): JsonBody<By>,
) -> Result<Response, Problem> {
    act(app, booking, Action::Release, by).await
}
