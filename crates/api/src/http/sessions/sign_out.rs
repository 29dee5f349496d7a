//! Signing out with a browser: here, and where there is an OpenID provider, there.

use super::cookie::{checked_session_of, set_session};
use super::sign_in::PATH;
use super::{live, oidc};
use crate::http::actions::note::Asked;
use crate::http::body::{json, secret_json};
use crate::http::openapi::SignOutProblems;
use crate::http::problem::{Code, Problem};
use crate::http::state::Callers;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use onrush_ledger::session::SessionsOf;
use serde::Serialize;
use std::sync::Arc;
use utoipa::ToSchema;

/// What is left to do for whoever signed out.
#[derive(Serialize, ToSchema)]
pub struct SignedOut {
    /// Where the browser goes on to sign out at the OpenID provider too, which sends it back to
    /// `/admin`; missing where there is nothing to sign out of.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    logout_url: Option<String>,
}

/// Signs this browser out: the cookie counts no more, wherever a copy of it is. It is signed out
/// already without a session, or when that has ended. What the provider does changes nothing of that.
#[utoipa::path(
    delete, path = "/api/v1/session", tag = "sessions",
    responses((status = 200, description = "Signed out", body = SignedOut), SignOutProblems),
    security(("session" = [], "csrf" = []), ())
)]
pub async fn end(
    State(callers): State<Arc<Callers>>,
    request: Request,
) -> Result<Response, Problem> {
    let (parts, _) = request.into_parts();
    let session = match checked_session_of(&callers, &parts).await {
        Ok(session) => session,
        Err(problem) if problem.code() == Code::TokenExpired.facts().0 => None,
        Err(problem) => return Err(problem),
    };
    let mut response = secret_json(StatusCode::OK, &SignedOut { logout_url: None });
    set_session(&callers, &mut response, None);
    oidc::forget_id_token(&callers, &mut response);
    if let Some(session) = session {
        live::end(&callers, SessionsOf::Id(session.public_id())).await?;
        let asked = Asked::new(&callers, &parts, PATH, callers.address_in(&parts)?);
        asked.note(&callers, Some(&session.key.name), &mut response).await;
        // Last: the session is over and written down, however long the provider takes.
        let logout_url = oidc::logout_url(&callers, &parts.headers, &session).await;
        if logout_url.is_some() {
            *response.body_mut() = json(StatusCode::OK, &SignedOut { logout_url }).into_body();
        }
    }
    Ok(response)
}
