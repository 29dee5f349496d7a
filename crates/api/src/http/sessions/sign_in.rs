//! Signing in with a browser, and who has.

use super::cookie::{session_of, set_session};
use crate::http::actions::note::Asked;
use crate::http::body::{JsonBody, json};
use crate::http::openapi::{SessionProblems, SignInProblems};
use crate::http::origin::check_origin;
use crate::http::problem::{Code, Problem};
use crate::http::state::Callers;
use crate::json::ids::TimeMs;
use crate::json::words::words;
use axum::extract::{FromRequest, Request, State};
use axum::http::header::CACHE_CONTROL;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use onrush_base::auth::keyring::NamedKey;
use onrush_base::auth::session::Session;
use onrush_base::auth::unix_now_s;
use onrush_base::config::keys::Scope as KeyScope;
use onrush_core::Time;
use onrush_ledger::session::BrowserSession;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;
use std::sync::Arc;
use utoipa::ToSchema;

pub(super) const PATH: &str = "/api/v1/session";

/// Who is signed in.
#[derive(Serialize, ToSchema)]
#[schema(as = Session)]
pub struct SessionBody<'a> {
    /// Whose key they signed in with, or who they are to the OpenID provider, as histories say it.
    name: &'a str,
    /// What it gives the right to.
    #[schema(value_type = Vec<Scope>)]
    scopes: &'a [KeyScope],
    /// What the page sends as `X-CSRF-Token` with each request that changes something.
    csrf: String,
    /// Until when.
    #[schema(value_type = TimeMs)]
    until: Time,
}

words!(
    /// What a key gives the right to.
    Scope, "Scope", KeyScope
);

/// What somebody signs in with.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SignIn {
    /// Their key.
    key: String,
}

/// Signs a browser in for as long as it is configured: it gets a cookie that does what the key does,
/// and that no page can read.
///
/// An address has ten wrong keys a minute, wherever it tries them.
#[utoipa::path(
    post, path = "/api/v1/session", tag = "sessions",
    request_body = SignIn,
    responses((status = 200, description = "Signed in", body = SessionBody), SignInProblems),
)]
pub async fn create(
    State(callers): State<Arc<Callers>>,
    request: Request,
) -> Result<Response, Problem> {
    let (parts, body) = request.into_parts();
    check_origin(&parts.headers, &callers.config)?;
    let address = callers.address_in(&parts)?;
    let asked = Asked::new(&callers, &parts, PATH, address);
    let request = Request::from_parts(parts, body);
    let JsonBody(SignIn { key }): JsonBody<SignIn> = JsonBody::from_request(request, &()).await?;
    match callers.key_of(&key, address)? {
        Some(key) => {
            let mut response = begin(&callers, &key, address).await?;
            asked.note(&callers, Some(&key.name), &mut response).await;
            Ok(response)
        }
        None => {
            let problem = Problem::new(Code::TokenInvalid, "nobody has this key");
            let mut response = problem.into_response();
            if callers.limits.wrong_keys.is_worth_a_row(None) {
                asked.note(&callers, None, &mut response).await;
            }
            Ok(response)
        }
    }
}

/// Begins a session of a key, and has the browser keep it.
async fn begin(callers: &Callers, key: &NamedKey, from: IpAddr) -> Result<Response, Problem> {
    let ttl_s = callers.config.session_ttl_s;
    let begun = callers.sessions.begin(key, unix_now_s(), ttl_s);
    let (session, cookie) =
        begun.ok_or_else(|| Problem::new(Code::Internal, "nobody can sign in with this key"))?;
    write_down(callers, &session, ttl_s, from).await?;
    let mut response = answer(callers, &session);
    set_session(callers, &mut response, Some((&cookie, ttl_s)));
    Ok(response)
}

/// Writes a session down that begins now, and without which its cookie is worth nothing.
pub(super) async fn write_down(
    callers: &Callers,
    session: &Session,
    ttl_s: u32,
    from: IpAddr,
) -> Result<(), Problem> {
    let now = callers.clock.now();
    let row = BrowserSession {
        id: session.public_id(),
        name: session.key.name.to_string(),
        address: from.to_string(),
        begun_at: now,
        seen_at: now,
        ends_at: now.plus_ms(i64::from(ttl_s) * 1_000),
    };
    Ok(callers.ledger.begin_session(row, callers.idle_ms()).await?)
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
    let session = session_of(&callers, &headers).await?;
    let session = session.ok_or_else(|| {
        Problem::new(Code::TokenMissing, "nobody is signed in; sign in with POST /session")
    })?;
    Ok(answer(&callers, &session))
}

fn answer(callers: &Callers, session: &Session) -> Response {
    let until = Time(session.expires_s.saturating_mul(1_000));
    let (name, scopes, csrf) =
        (&*session.key.name, &*session.key.scopes, callers.sessions.csrf(session));
    let mut response = json(StatusCode::OK, &SessionBody { name, scopes, csrf, until });
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
