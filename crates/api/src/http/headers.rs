//! What every request must say, and what every answer says beside itself.

use super::problem::{Code, Problem};
use axum::extract::Request;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HOST, HeaderName, REFERRER_POLICY,
    STRICT_TRANSPORT_SECURITY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue, Version};

/// A year. Other hosts below ours are not ours to decide about.
const ONLY_HTTPS: &str = "max-age=31536000";
/// Nothing that we answer belongs into a frame of somebody's. Pages say more.
const NO_FRAME: &str = "frame-ancestors 'none'";
/// The page that shows the API is made of files of ours and colours drawings inline.
const OF_DOCS: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; \
    img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; \
    frame-ancestors 'none'";

/// What the answer to a request says beside itself.
#[derive(Clone, Copy)]
pub(super) struct Also {
    is_docs: bool,
    is_https: bool,
}

impl Also {
    /// For a path, on a server that is reached by https or not.
    pub(super) fn of(path: &str, is_https: bool) -> Self {
        Self { is_docs: path.starts_with("/docs"), is_https }
    }

    /// Says it.
    pub(super) fn say(self, headers: &mut HeaderMap) {
        // A cache between us and a visitor keeps what says that it may, and nothing else.
        or_say(headers, CACHE_CONTROL, "no-store");
        or_say(headers, X_CONTENT_TYPE_OPTIONS, "nosniff");
        or_say(headers, CONTENT_SECURITY_POLICY, if self.is_docs { OF_DOCS } else { NO_FRAME });
        if self.is_docs {
            or_say(headers, REFERRER_POLICY, "same-origin");
        }
        if self.is_https {
            or_say(headers, STRICT_TRANSPORT_SECURITY, ONLY_HTTPS);
        }
    }
}

fn or_say(headers: &mut HeaderMap, name: HeaderName, value: &'static str) {
    headers.entry(name).or_insert(HeaderValue::from_static(value));
}

/// Refuses a path that is not ASCII (RFC 3986, section 2): clients write other letters with percent
/// signs, and what is written down of a path shall read as it is.
pub(super) fn check_path(request: &Request) -> Result<(), Problem> {
    if request.uri().path().is_ascii() {
        Ok(())
    } else {
        Err(Problem::new(Code::InvalidId, "write what is not ASCII in the path with percent signs"))
    }
}

/// Refuses what two servers may read as two hosts (RFC 9112, section 3.2).
pub(super) fn check_host(request: &Request) -> Result<(), Problem> {
    let hosts = request.headers().get_all(HOST).iter().count();
    // Before 1.1 there was no such header; after it there is another one.
    let fits = if request.version() == Version::HTTP_11 { hosts == 1 } else { hosts <= 1 };
    if fits {
        Ok(())
    } else {
        Err(Problem::new(Code::InvalidHost, "send one line Host, with the host of the address"))
    }
}
