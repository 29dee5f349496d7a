//! `POST /session`.

use super::{SessionBody, answer, set_cookie};
use crate::auth::unix_now_s;
use crate::http::body::JsonBody;
use crate::http::openapi::SignInProblems;
use crate::http::origin::check_origin;
use crate::http::problem::{Code, Problem};
use crate::http::state::App;
use crate::serve::connection::Connection;
use axum::Extension;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use serde::Deserialize;
use std::sync::Arc;
use utoipa::ToSchema;

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
    State(app): State<Arc<App>>,
    Extension(connection): Extension<Connection>,
    headers: HeaderMap,
    JsonBody(SignIn { key }): JsonBody<SignIn>,
) -> Result<Response, Problem> {
    check_origin(&headers, &app.config)?;
    let address = app.address_of(&connection, &headers);
    let role = app.role_of_key(&key, address)?.ok_or_else(|| {
        Problem::new(Code::TokenInvalid, "this is neither the admin API key nor the scanner key")
    })?;
    let begun = app.sessions.begin(role, unix_now_s());
    let (session, cookie) =
        begun.ok_or_else(|| Problem::new(Code::Internal, "nobody can have this role"))?;
    let mut response = answer(&app, &session);
    set_cookie(&app, &mut response, Some(&cookie));
    Ok(response)
}
