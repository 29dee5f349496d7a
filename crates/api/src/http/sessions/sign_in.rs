//! Signing in with a browser, and out again.

use super::cookie::{checked_session_of, session_of, set_cookie};
use crate::http::body::{JsonBody, Nothing, json};
use crate::http::openapi::{SessionProblems, SignInProblems, SignOutProblems};
use crate::http::origin::check_origin;
use crate::http::problem::{Code, Problem};
use crate::http::state::Callers;
use crate::json::ids::TimeMs;
use axum::Extension;
use axum::extract::{Request, State};
use axum::http::header::CACHE_CONTROL;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use onrush_base::auth::session::Session;
use onrush_base::auth::unix_now_s;
use onrush_core::Time;
use onrush_serve::connection::Connection;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::ToSchema;

/// Who is signed in.
#[derive(Serialize, ToSchema)]
#[schema(as = Session)]
pub struct SessionBody {
    /// `admin` may do everything, `scanner` check tickets in.
    #[schema(value_type = SessionRole)]
    role: &'static str,
    /// What the page sends as `X-CSRF-Token` with each request that changes something.
    csrf: String,
    /// Until when.
    #[schema(value_type = TimeMs)]
    until: Time,
}

/// What somebody who signed in may do.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub enum SessionRole {
    /// Everything.
    Admin,
    /// Check tickets in.
    Scanner,
}

/// What somebody signs in with.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SignIn {
    /// The admin API key or the scanner key.
    key: String,
}

/// Signs a browser in for twelve hours: it gets a cookie that does what the key does, and that no
/// page can read.
///
/// An address has ten wrong keys a minute, wherever it tries them.
#[utoipa::path(
    post, path = "/api/v1/session", tag = "sessions",
    request_body = SignIn,
    responses((status = 200, description = "Signed in", body = SessionBody), SignInProblems),
)]
pub async fn create(
    State(callers): State<Arc<Callers>>,
    Extension(connection): Extension<Connection>,
    headers: HeaderMap,
    JsonBody(SignIn { key }): JsonBody<SignIn>,
) -> Result<Response, Problem> {
    check_origin(&headers, &callers.config)?;
    let address = callers.address_of(&connection, &headers);
    let role = callers.role_of_key(&key, address)?.ok_or_else(|| {
        Problem::new(Code::TokenInvalid, "this is neither the admin API key nor the scanner key")
    })?;
    let begun = callers.sessions.begin(role, unix_now_s());
    let (session, cookie) =
        begun.ok_or_else(|| Problem::new(Code::Internal, "nobody can have this role"))?;
    let mut response = answer(&callers, &session);
    set_cookie(&callers, &mut response, Some(&cookie));
    Ok(response)
}

/// Who is signed in with this browser, and the CSRF token.
#[utoipa::path(
    get, path = "/api/v1/session", tag = "sessions",
    responses((status = 200, description = "Signed in", body = SessionBody), SessionProblems),
    security(("session" = []))
)]
pub async fn show(
    State(callers): State<Arc<Callers>>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let session = session_of(&callers, &headers)?;
    let session = session.ok_or_else(|| {
        Problem::new(Code::TokenMissing, "nobody is signed in; sign in with POST /session")
    })?;
    Ok(answer(&callers, &session))
}

/// Signs this browser out. It is signed out already without a session, or when that has ended.
#[utoipa::path(
    delete, path = "/api/v1/session", tag = "sessions",
    responses((status = 200, description = "Signed out", body = Nothing), SignOutProblems),
    security(("session" = [], "csrf" = []), ())
)]
pub async fn end(
    State(callers): State<Arc<Callers>>,
    request: Request,
) -> Result<Response, Problem> {
    let (parts, _) = request.into_parts();
    match checked_session_of(&callers, &parts) {
        Ok(_) => {}
        Err(problem) if problem.code() == Code::TokenExpired.facts().0 => {}
        Err(problem) => return Err(problem),
    }
    let mut response = json(StatusCode::OK, &Nothing {});
    set_cookie(&callers, &mut response, None);
    Ok(response)
}

fn answer(callers: &Callers, session: &Session) -> Response {
    let until = Time(session.expires_s.saturating_mul(1_000));
    let (role, csrf) = (session.role.name(), callers.sessions.csrf(session));
    let mut response = json(StatusCode::OK, &SessionBody { role, csrf, until });
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
