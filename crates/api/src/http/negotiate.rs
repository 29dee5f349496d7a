//! What a client takes and what it knows already: `Accept-Encoding` and `If-None-Match`.

use axum::body::Body;
use axum::http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG, IF_NONE_MATCH, VARY,
};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;

/// Whether a client takes an encoding by its name.
#[must_use]
pub fn takes(headers: &HeaderMap, encoding: &str) -> bool {
    let values = headers.get_all(ACCEPT_ENCODING).iter();
    values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter(|part| !part.replace(' ', "").ends_with(";q=0"))
        .filter_map(|part| part.split(';').next())
        .any(|name| name.trim().eq_ignore_ascii_case(encoding))
}

/// Whether a client has what this tag stands for. Weak tags do as well as strong ones (RFC 9110, 13.1.2).
#[must_use]
pub fn is_known(headers: &HeaderMap, tag: &str) -> bool {
    fn opaque(tag: &str) -> &str {
        tag.strip_prefix("W/").unwrap_or(tag)
    }
    let known = headers.get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    let mut known = known.flat_map(|value| value.split(',')).map(str::trim);
    known.any(|known| known == "*" || opaque(known) == opaque(tag))
}

/// How a text is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// As it is.
    Plain,
    /// Compressed.
    Gzip,
}

/// A JSON answer with its tag, to be asked for again each time.
#[must_use]
pub fn tagged(body: Body, encoding: Encoding, tag: &str) -> Response {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    match encoding {
        Encoding::Plain => {}
        Encoding::Gzip => {
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
    }
    note_tag(headers, tag);
    response
}

/// The answer to whoever knows it all.
#[must_use]
pub fn not_modified(tag: &str) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NOT_MODIFIED;
    note_tag(response.headers_mut(), tag);
    response
}

fn note_tag(headers: &mut HeaderMap, tag: &str) {
    headers.insert(ETAG, HeaderValue::from_str(tag).expect("a tag is ASCII"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_known_whether_it_is_weak_or_not() {
        for (sent, known) in [
            ("W/\"a\"", true),
            ("\"a\"", true),
            ("\"b\", W/\"a\"", true),
            ("*", true),
            ("\"b\"", false),
            ("a", false),
        ] {
            let value = HeaderValue::from_static(sent);
            let headers = HeaderMap::from_iter([(IF_NONE_MATCH, value)]);
            assert_eq!(is_known(&headers, "W/\"a\""), known, "{sent}");
        }
        assert!(!is_known(&HeaderMap::new(), "\"a\""));
    }
}
