//! What every request must say, and what every answer says beside itself.

use super::problem::{Code, Problem};
use axum::Router;
use axum::extract::{Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HOST, HeaderName, REFERRER_POLICY,
    STRICT_TRANSPORT_SECURITY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue, Version};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use onrush_base::config::Config;

/// A year. Other hosts below ours are not ours to decide about.
const ONLY_HTTPS: &str = "max-age=31536000";
/// Nothing that we answer belongs into a frame of somebody's. Pages say more.
const NO_FRAME: &str = "frame-ancestors 'none'";
/// The page that shows the API is made of files of ours and colours drawings inline.
const OF_DOCS: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; \
    img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; \
    frame-ancestors 'none'";

/// The same paths, with these rules for all of them.
pub(super) fn guarded(router: Router, config: &Config) -> Router {
    router.layer(middleware::from_fn_with_state(config.is_https(), guard))
}

async fn guard(State(is_https): State<bool>, request: Request, next: Next) -> Response {
    let is_docs = request.uri().path().starts_with("/docs");
    let mut response = match check_host(&request) {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    };
    let headers = response.headers_mut();
    // A cache between us and a visitor keeps what says that it may, and nothing else.
    or_say(headers, CACHE_CONTROL, "no-store");
    or_say(headers, X_CONTENT_TYPE_OPTIONS, "nosniff");
    or_say(headers, CONTENT_SECURITY_POLICY, if is_docs { OF_DOCS } else { NO_FRAME });
    if is_docs {
        or_say(headers, REFERRER_POLICY, "same-origin");
    }
    if is_https {
        or_say(headers, STRICT_TRANSPORT_SECURITY, ONLY_HTTPS);
    }
    response
}

fn or_say(headers: &mut HeaderMap, name: HeaderName, value: &'static str) {
    headers.entry(name).or_insert(HeaderValue::from_static(value));
}

/// Refuses what two servers may read as two hosts (RFC 9112, section 3.2).
fn check_host(request: &Request) -> Result<(), Problem> {
    let hosts = request.headers().get_all(HOST).iter().count();
    // Before 1.1 there was no such header; after it there is another one.
    let fits = if request.version() == Version::HTTP_11 { hosts == 1 } else { hosts <= 1 };
    if fits {
        Ok(())
    } else {
        Err(Problem::new(Code::InvalidHost, "send one line Host, with the host of the address"))
    }
}
