//! `GET /session`.

use super::{SessionBody, answer, session_of};
use crate::http::openapi::SessionProblems;
use crate::http::problem::{Code, Problem};
use crate::http::state::App;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use std::sync::Arc;

/// Who is signed in with this browser, and the CSRF token.
#[utoipa::path(
    get, path = "/api/v1/session", tag = "sessions",
    responses((status = 200, description = "Signed in", body = SessionBody), SessionProblems),
    security(("session" = []))
)]
pub async fn show(State(app): State<Arc<App>>, headers: HeaderMap) -> Result<Response, Problem> {
    let session = session_of(&app, &headers)?;
    let session = session.ok_or_else(|| {
        Problem::new(Code::TokenMissing, "nobody is signed in; sign in with POST /session")
    })?;
    Ok(answer(&app, &session))
}
