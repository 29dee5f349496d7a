//! Addresses of what speaks HTTP.

use axum::http::Uri;

/// Whether this is the address of something that speaks HTTP: `http://` or `https://`, and a host.
pub(crate) fn web_address(url: &str) -> Result<Uri, &'static str> {
    const FORM: &str = "use an http or https address, such as https://pay.example";
    let uri: Uri = url.parse().map_err(|_| FORM)?;
    if !matches!(uri.scheme_str(), Some("http" | "https")) || uri.host().is_none_or(str::is_empty) {
        return Err(FORM);
    }
    if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
        return Err("an address has no user and no password in it; set secrets where they belong");
    }
    Ok(uri)
}
