//! `DELETE /session`.

use super::{checked_session_of, set_cookie};
use crate::http::body::{Nothing, json};
use crate::http::openapi::SignOutProblems;
use crate::http::problem::{Code, Problem};
use crate::http::state::App;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use std::sync::Arc;

/// Signs this browser out. It is signed out already without a session, or when that has ended.
#[utoipa::path(
    delete, path = "/api/v1/session", tag = "sessions",
    responses((status = 200, description = "Signed out", body = Nothing), SignOutProblems),
    security(("session" = [], "csrf" = []), ())
)]
pub async fn end(State(app): State<Arc<App>>, request: Request) -> Result<Response, Problem> {
    let (parts, _) = request.into_parts();
    match checked_session_of(&app, &parts) {
        Ok(_) => {}
        Err(problem) if problem.code() == Code::TokenExpired.facts().0 => {}
        Err(problem) => return Err(problem),
    }
    let mut response = json(StatusCode::OK, &Nothing {});
    set_cookie(&app, &mut response, None);
    Ok(response)
}
