//! Signing in with an OpenID provider: there, and back again.

use super::cookie::{Cookie, cookie_in, set_cookie, set_session};
use super::sign_in::write_down;
use crate::http::actions::note::Asked;
use crate::http::body::json;
use crate::http::caller::Strict;
use crate::http::openapi::{OidcProblems, OidcStartProblems, OpenProblems};
use crate::http::problem::{Code, Problem};
use crate::http::state::Callers;
use axum::body::Body;
use axum::extract::{Query, Request, State};
use axum::http::header::{
    ACCEPT, CONTENT_TYPE, HeaderName, LOCATION, REFERRER_POLICY, RETRY_AFTER,
};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use onrush_base::auth::oidc::flow::is_page;
use onrush_base::auth::oidc::people::PREFIX;
use onrush_base::auth::oidc::{CALLBACK_PATH, COOKIE_AGE_S, NotSignedIn, Oidc, Returned, SignedIn};
use onrush_base::auth::session::Session;
use onrush_base::auth::unix_now_s;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};

/// The organiser's first page.
const PAGE: &str = "/admin";

/// The cookie of a sign-in that is under way. It comes back with somebody whom the provider's page
/// sends, and with nothing else of another site.
const UNDER_WAY: Cookie = Cookie {
    name: "onrush_sign_in",
    secure_name: "__Host-onrush_sign_in",
    path: "/api/v1/session/oidc",
    secure_path: "/",
    same_site: "Lax",
};

/// The ID token that somebody signed in with, by which the provider knows whom it signs out. It gives
/// no rights here, so that it need not be for all paths, as `__Host-` would have it.
const ID_TOKEN: Cookie = Cookie {
    name: "onrush_id_token",
    secure_name: "__Secure-onrush_id_token",
    path: "/api/v1/session",
    secure_path: "/api/v1/session",
    same_site: "Strict",
};
/// The longest ID token that a browser keeps, in bytes: proxies give an answer's headers 4 KiB.
const MAX_ID_TOKEN: usize = 2_048;

/// How one may sign in.
#[derive(Serialize, ToSchema)]
pub struct SignInWays {
    /// With this provider, beside the organiser's keys; missing where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    oidc: Option<OidcWay>,
}

/// An OpenID provider.
#[derive(Serialize, ToSchema)]
pub struct OidcWay {
    /// What people know it by.
    name: String,
}

/// How one may sign in, for the page that asks.
#[utoipa::path(
    get, path = "/api/v1/session/ways", tag = "sessions", operation_id = "sign_in_ways",
    responses((status = 200, description = "The ways there are", body = SignInWays), OpenProblems),
)]
pub async fn ways(State(callers): State<Arc<Callers>>) -> Response {
    let settings = callers.config.oidc.as_ref();
    let oidc = settings.map(|settings| OidcWay { name: settings.shown_name().to_owned() });
    json(StatusCode::OK, &SignInWays { oidc })
}

/// Where to go afterwards.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct StartQuery {
    /// One of the organiser's pages, such as `/admin/events`; the first one if left out.
    #[param(nullable = false)]
    to: Option<String>,
}

/// Sends a browser to the provider, to sign in there and come back within ten minutes.
#[utoipa::path(
    get, path = "/api/v1/session/oidc", tag = "sessions", operation_id = "oidc_start",
    params(StartQuery),
    responses(
        (status = 303, description = "To the provider",
            headers(("Location" = String, description = "Its page"))),
        OidcStartProblems,
    ),
)]
pub async fn start(
    State(callers): State<Arc<Callers>>,
    headers: HeaderMap,
    Strict(StartQuery { to }): Strict<StartQuery>,
) -> Result<Response, Problem> {
    let to = to.unwrap_or_else(|| PAGE.to_owned());
    if !is_page(&to) {
        let why = "to: use the path of one of the organiser's pages, such as /admin/bookings";
        return Err(Problem::new(Code::InvalidQuery, why));
    }
    let begun = match provider(&callers) {
        Ok(provider) => provider.begin(&to, unix_now_s()).await,
        Err(problem) => return Ok(refused(&headers, problem.into_response())),
    };
    match begun {
        Ok(begun) => {
            let mut response = see(&begun.location)?;
            set_cookie(&callers, &mut response, &UNDER_WAY, &begun.cookie, COOKIE_AGE_S);
            Ok(response)
        }
        Err(why) => {
            if callers.limits.wrong_keys.is_worth_a_line(&why) {
                tracing::warn!(?why, "nobody can be sent to the OpenID provider");
            }
            Ok(refused(&headers, problem_of(&callers, &why).into_response()))
        }
    }
}

/// Where the provider sends browsers back to, which are signed in then as with a key.
///
/// A browser that wanted a page is sent to the sign-in page with the problem's code; others get the
/// problem. An address has ten tries a minute that come to nothing, beside those with wrong keys.
#[utoipa::path(
    get, path = "/api/v1/session/oidc/callback", tag = "sessions", operation_id = "oidc_callback",
    responses(
        (status = 303, description = "Signed in, or why not",
            headers(("Location" = String, description = "A page of the organiser's"))),
        OidcProblems,
    ),
)]
pub async fn callback(
    State(callers): State<Arc<Callers>>,
    request: Request,
) -> Result<Response, Problem> {
    let (parts, _) = request.into_parts();
    let address = callers.address_in(&parts)?;
    let asked = Asked::new(&callers, &parts, CALLBACK_PATH, address);
    let (mut response, note) = match arrive(&callers, &parts.headers, &parts.uri, address).await {
        Ok((response, name)) => (response, Some(Some(name))),
        Err(Failed { problem, name, is_try }) => {
            let is_worth_it = is_try && callers.limits.wrong_keys.is_worth_a_row(name.as_deref());
            (problem.into_response(), is_worth_it.then_some(name))
        }
    };
    if let Some(name) = note {
        asked.note(&callers, name.as_deref(), &mut response).await;
    }
    // What was under way is over, whatever came of it.
    set_cookie(&callers, &mut response, &UNDER_WAY, "", 0);
    Ok(refused(&parts.headers, response))
}

/// Why nobody was signed in.
struct Failed {
    problem: Problem,
    /// Who it was, if that is known.
    name: Option<Box<str>>,
    /// Whether it counts as a try that came to nothing.
    is_try: bool,
}

impl Failed {
    /// Logs it, too.
    fn of(callers: &Callers, address: IpAddr, why: NotSignedIn) -> Self {
        if callers.limits.wrong_keys.is_worth_a_line(&why) {
            tracing::warn!(%address, ?why, "nobody was signed in by the OpenID provider");
        }
        let (problem, is_try) = (problem_of(callers, &why), why.is_try());
        let name = if let NotSignedIn::NoScopes(name) = why { Some(name) } else { None };
        Self { problem, name, is_try }
    }
}

impl From<Problem> for Failed {
    fn from(problem: Problem) -> Self {
        Self { problem, name: None, is_try: false }
    }
}

/// Signs in whom the provider sends back; also says who it is.
async fn arrive(
    callers: &Callers,
    headers: &HeaderMap,
    uri: &axum::http::Uri,
    address: IpAddr,
) -> Result<(Response, Box<str>), Failed> {
    let provider = provider(callers)?;
    let limits = &callers.limits.wrong_keys;
    // Providers add what they like; what is there twice is nobody's.
    let Query(returned) = Query::<Returned>::try_from_uri(uri)
        .map_err(|_| Problem::new(Code::InvalidQuery, "the provider's answer cannot be read"))?;
    let failed = |why: NotSignedIn| Failed::of(callers, address, why);
    let cookie = cookie_in(callers, headers, &UNDER_WAY);
    let flow = provider.under_way(cookie, &returned, unix_now_s()).map_err(failed)?;
    limits.try_sign_in(address)?;
    let found = provider.finish(flow, &returned, unix_now_s()).await;
    if !found.as_ref().is_err_and(NotSignedIn::is_try) {
        limits.give_sign_in_back(address);
    }
    let SignedIn { person, to, id_token } = found.map_err(failed)?;
    let settings = callers.config.oidc.as_ref();
    let ttl_s =
        settings.and_then(|oidc| oidc.session_ttl_s).unwrap_or(callers.config.session_ttl_s);
    let begun = callers.sessions.begin_for(&person, unix_now_s(), ttl_s);
    let (session, cookie) =
        begun.ok_or_else(|| Problem::new(Code::Internal, "nobody can sign in like this"))?;
    write_down(callers, &session, ttl_s, address).await?;
    let mut response = see(&to)?;
    set_session(callers, &mut response, Some((&cookie, ttl_s)));
    let id_token = id_token.reveal();
    let (id_token, age_s) =
        if id_token.len() <= MAX_ID_TOKEN { (id_token, ttl_s) } else { ("", 0) };
    set_cookie(callers, &mut response, &ID_TOKEN, id_token, age_s);
    Ok((response, person.name))
}

/// Where a browser whose session has ended goes on to sign out at the provider; `None` if it need
/// not, or the provider is away.
pub(super) async fn logout_url(
    callers: &Callers,
    headers: &HeaderMap,
    ended: &Session,
) -> Option<String> {
    let provider = callers.oidc.as_ref().filter(|_| ended.key.name.starts_with(PREFIX))?;
    provider.logout_url(cookie_in(callers, headers, &ID_TOKEN)).await
}

/// Has the browser forget the ID token.
pub(super) fn forget_id_token(callers: &Callers, response: &mut Response) {
    set_cookie(callers, response, &ID_TOKEN, "", 0);
}

fn provider(callers: &Callers) -> Result<&Oidc, Problem> {
    callers.oidc.as_ref().ok_or_else(|| {
        let why = "no OpenID provider is configured here; sign in with a key";
        Problem::new(Code::OidcOff, why)
    })
}

/// What the person is told. What the provider says is for the log.
fn problem_of(callers: &Callers, why: &NotSignedIn) -> Problem {
    match why {
        NotSignedIn::Away(_) | NotSignedIn::Failing(_) => {
            let why = "the OpenID provider does not answer as it should; try again in a moment, or \
                       sign in with a key. The log has more";
            Problem::new(Code::OidcUnavailable, why).after_ms(2_000)
        }
        NotSignedIn::Busy => {
            let why = "many sign-ins wait for the OpenID provider just now; try again in a moment";
            Problem::new(Code::Busy, why).after_ms(2_000)
        }
        NotSignedIn::NotBegun => {
            let at = callers.config.public_url.as_deref().unwrap_or_default();
            let why = format!(
                "this sign-in was not begun in this browser, or more than ten minutes ago, or is \
                 over; begin it again at {at}{PAGE}"
            );
            Problem::new(Code::OidcNotBegun, why)
        }
        NotSignedIn::Refused(_) => {
            let why =
                "the OpenID provider did not sign you in; begin again, or ask whoever runs it";
            Problem::new(Code::OidcRefused, why)
        }
        NotSignedIn::Insufficient(why) => {
            let why = format!("the OpenID provider did not sign you in as is demanded here: {why}");
            Problem::new(Code::OidcInsufficient, why)
        }
        NotSignedIn::NotGenuine(_) => {
            let why = "what the OpenID provider told cannot be believed; ask whoever runs this \
                       server to look into its log";
            Problem::new(Code::OidcNotGenuine, why)
        }
        NotSignedIn::NoScopes(name) => {
            let why = format!(
                "the OpenID provider knows you, and none of your groups may do anything here; ask \
                 whoever keeps the settings to name one of them in [[oidc.groups]]. You are {name}"
            );
            Problem::new(Code::OidcNoScopes, why)
        }
    }
}

/// Sends a browser elsewhere; nobody there learns from where it comes.
fn see(location: &str) -> Result<Response, Problem> {
    let location = HeaderValue::try_from(location).map_err(|_| {
        Problem::new(Code::OidcUnavailable, "the OpenID provider's address cannot be used")
    })?;
    let mut response = StatusCode::SEE_OTHER.into_response();
    response.headers_mut().insert(LOCATION, location);
    response.headers_mut().insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    Ok(response)
}

/// The same answer; where it is a problem and a browser wants a page, the sign-in page, which says
/// what it means.
fn refused(asked: &HeaderMap, mut response: Response) -> Response {
    let Some(code) = response.extensions().get::<onrush_serve::ProblemCode>().map(|code| code.0)
    else {
        return response;
    };
    let accepts = asked.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    if !accepts.into_iter().any(|value| value.contains("text/html")) {
        return response;
    }
    let Ok(page) = see(&format!("{PAGE}?sign_in={code}")) else { return response };
    *response.status_mut() = page.status();
    *response.body_mut() = Body::empty();
    for header in [CONTENT_TYPE, RETRY_AFTER] {
        response.headers_mut().remove::<HeaderName>(header);
    }
    response.headers_mut().extend(page.headers().clone());
    response
}
