//! The cookie of a browser session, and what a request with it needs.

use crate::http::origin::check_origin;
use crate::http::problem::{Code, Problem};
use crate::http::state::Callers;
use axum::http::header::{COOKIE, SET_COOKIE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method};
use axum::response::Response;
use onrush_base::auth::session::Session;
use onrush_base::auth::unix_now_s;

/// The cookie's name where people come over plain http.
pub const COOKIE_NAME: &str = "onrush_session";
/// Its name where they come over https: a browser lets no page of another host, and no answer over
/// plain http, set such a cookie (RFC 6265bis, 4.1.3.2).
pub const SECURE_COOKIE_NAME: &str = "__Host-onrush_session";
/// A cookie that no page can read.
pub(super) struct Cookie {
    pub(super) name: &'static str,
    pub(super) secure_name: &'static str,
    /// For which paths it is, over plain http.
    pub(super) path: &'static str,
    /// The same over https; a name with `__Host-` is for all of them.
    pub(super) secure_path: &'static str,
    pub(super) same_site: &'static str,
}

const SESSION: Cookie = Cookie {
    name: COOKIE_NAME,
    secure_name: SECURE_COOKIE_NAME,
    path: "/api/v1",
    secure_path: "/",
    same_site: "Strict",
};
/// The header that has the CSRF token.
pub const CSRF_HEADER: &str = "x-csrf-token";

/// The session that a request's cookie stands for; `None` without a cookie.
///
/// # Errors
/// `TOKEN_EXPIRED`, also if the keys have changed since, or it was ended: either way it was a
/// session once. `LEDGER_UNAVAILABLE`.
pub async fn session_of(
    callers: &Callers,
    headers: &HeaderMap,
) -> Result<Option<Session>, Problem> {
    let genuine = genuine_session_of(callers, headers)?;
    if let Some(session) = &genuine {
        let (now, idle_ms) = (callers.clock.now(), callers.idle_ms());
        let live = callers.ledger.use_session(&session.public_id(), now, idle_ms).await?;
        if live.is_none_or(|live| live.name != *session.key.name) {
            return Err(ended());
        }
    }
    Ok(genuine)
}

fn ended() -> Problem {
    Problem::new(Code::TokenExpired, "the session has ended; sign in again")
}

/// The same, without asking whether it lives.
fn genuine_session_of(callers: &Callers, headers: &HeaderMap) -> Result<Option<Session>, Problem> {
    let mut has_other = false;
    for value in values_of(callers, headers, &SESSION) {
        match callers.sessions.verify(value, unix_now_s()) {
            Ok(session) => return Ok(Some(session)),
            Err(_) => has_other = true,
        }
    }
    if has_other { Err(ended()) } else { Ok(None) }
}

/// All values that a request has of a cookie. Each pair is read by itself: others on the same host may
/// set cookies with whatever bytes they like. Only spaces of ASCII are cut off: to a browser another
/// one is part of a name, and that name is none of those that only we may set.
fn values_of<'a>(
    callers: &Callers,
    headers: &'a HeaderMap,
    cookie: &Cookie,
) -> impl Iterator<Item = &'a str> {
    let own = if is_https(callers) { cookie.secure_name } else { cookie.name };
    let lines = headers.get_all(COOKIE).iter();
    let pairs = lines.flat_map(|line| line.as_bytes().split(|byte| *byte == b';'));
    let pairs =
        pairs.filter_map(|pair| std::str::from_utf8(pair.trim_ascii()).ok()?.split_once('='));
    pairs.filter(move |(name, _)| *name == own).map(|(_, value)| value)
}

/// The value of a cookie that may be there once.
pub(super) fn cookie_in<'a>(
    callers: &Callers,
    headers: &'a HeaderMap,
    cookie: &Cookie,
) -> Option<&'a str> {
    let mut values = values_of(callers, headers, cookie);
    values.next().filter(|_| values.next().is_none())
}

/// The same for a request that may change something: a page of another site could have the browser
/// send the cookie, but knows no CSRF token.
///
/// # Errors
/// As [`session_of`]; also `ORIGIN_REFUSED`, `CSRF_REFUSED`.
pub async fn checked_session_of(
    callers: &Callers,
    parts: &Parts,
) -> Result<Option<Session>, Problem> {
    let session = session_of(callers, &parts.headers).await?;
    if let Some(session) = &session
        && !matches!(parts.method, Method::GET | Method::HEAD)
    {
        check_origin(&parts.headers, &callers.config)?;
        let shown = parts.headers.get(CSRF_HEADER).and_then(|value| value.to_str().ok());
        if !shown.is_some_and(|shown| callers.sessions.csrf_matches(session, shown)) {
            let why = "send X-CSRF-Token: the csrf that GET /session answers";
            return Err(Problem::new(Code::CsrfRefused, why));
        }
    }
    Ok(session)
}

/// Has the browser keep the cookie of a session for so many seconds, or forget it if there is none.
pub(super) fn set_session(callers: &Callers, response: &mut Response, cookie: Option<(&str, u32)>) {
    let (value, age_s) = cookie.unwrap_or(("", 0));
    set_cookie(callers, response, &SESSION, value, age_s);
}

/// Has the browser keep a cookie for so many seconds, beside others of the same answer; none is to
/// forget it.
pub(super) fn set_cookie(
    callers: &Callers,
    response: &mut Response,
    cookie: &Cookie,
    value: &str,
    age_s: u32,
) {
    let (name, path, secure) = if is_https(callers) {
        (cookie.secure_name, cookie.secure_path, "; Secure")
    } else {
        (cookie.name, cookie.path, "")
    };
    let same_site = cookie.same_site;
    let text = format!(
        "{name}={value}; Path={path}; Max-Age={age_s}; HttpOnly; SameSite={same_site}{secure}"
    );
    let header = HeaderValue::try_from(text).expect("a cookie of ours is visible ASCII");
    response.headers_mut().append(SET_COOKIE, header);
}

/// Whether people come over https.
fn is_https(callers: &Callers) -> bool {
    callers.config.is_https()
}
