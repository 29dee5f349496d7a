//! Where a request of a browser comes from.

use crate::http::problem::{Code, Problem};
use axum::http::HeaderMap;
use axum::http::header::{HOST, ORIGIN};
use onrush_base::config::Config;

/// Refuses pages of other sites: a browser says where a page comes from, and cannot be made to lie about it.
///
/// # Errors
/// `ORIGIN_REFUSED` unless it is the host that was asked, `public_url` or one of `allowed_origins`.
pub fn check_origin(headers: &HeaderMap, config: &Config) -> Result<(), Problem> {
    let Some(origin) = headers.get(ORIGIN) else { return Ok(()) };
    let origin = origin.to_str().unwrap_or_default();
    let own = headers.get(HOST).and_then(|host| host.to_str().ok());
    let site = origin.split_once("://").map(|(_, site)| site);
    let ours = site.zip(own).is_some_and(|(site, own)| site.eq_ignore_ascii_case(own));
    let mut known = config.allowed_origins.iter().chain(&config.public_url);
    if ours || known.any(|known| known.eq_ignore_ascii_case(origin)) {
        Ok(())
    } else {
        let why = "pages of this origin may not ask for this; add it to allowed_origins";
        Err(Problem::new(Code::OriginRefused, why))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    #[test]
    fn only_our_own_and_allowed_origins_may_ask() {
        let config = Config {
            allowed_origins: vec!["https://shop.example".to_owned()],
            public_url: Some("https://tickets.example".to_owned()),
            ..Config::default()
        };
        let cases = [
            (None, true),
            (Some("http://10.0.0.7:8080"), true),
            (Some("https://tickets.example"), true),
            (Some("https://shop.example"), true),
            (Some("https://evil.example"), false),
            (Some("http://tickets.example"), false),
            (Some("http://10.0.0.7"), false),
            (Some("null"), false),
        ];
        for (origin, may) in cases {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, HeaderValue::from_static("10.0.0.7:8080"));
            if let Some(origin) = origin {
                headers.insert(ORIGIN, HeaderValue::from_static(origin));
            }
            assert_eq!(check_origin(&headers, &config).is_ok(), may, "{origin:?}");
        }
    }
}
