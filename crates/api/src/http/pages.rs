//! The pages for buyers and organisers: built from `web/`, compressed, and part of the binary.
//!
//! Every text is there twice, as Brotli and as gzip. Whoever takes neither gets it unpacked.

pub mod files;
#[cfg(test)]
mod in_memory;
pub mod upkeep;
pub mod versions;

use crate::http::negotiate::{is_known, takes};
use crate::http::problem::{Code, Problem};
use crate::http::state::Nodes;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HeaderName,
    HeaderValue, REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use files::{File, Files, Ready};
use onrush_base::config::{Config, GatewayName};
use rust_embed::Embed;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::Metadata;
use std::io;
use std::path::{Component, Path};
use std::sync::Arc;
use versions::PARTS;

/// What `npm run build` left in `web/dist`. A debug build reads it from there when it is asked for.
#[derive(Embed)]
#[folder = "../../web/dist/"]
struct Built;

/// What `/` says in a binary without pages.
const NOT_BUILT: &str = "\
The pages of this Onrush were not built; the API works without them, and /docs shows it.\n\
To have them, install Node.js 20.19 or later with npm, then run in the checkout:\n\n\
  make pages && cargo build --release\n";

/// The bytes that the parts of one version may have together, packed as they are served.
const MAX_PARTS_BYTES: u64 = 16 << 20;

/// Answers whatever no other path does: a page, one of its parts, or that there is nothing.
pub async fn pages(
    State(config): State<Arc<Config>>,
    State(nodes): State<Arc<Nodes>>,
    State(files): State<Arc<Files>>,
    request: Request,
) -> Response {
    let path = request.uri().path();
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return no_such_path().into_response();
    }
    let name = match page_of(path) {
        Some(page) => page,
        None => path.trim_start_matches('/'),
    };
    let source = Source::of(&config);
    let accepted = Accepted::of(request.headers());
    let found = match source.find(&files, name, accepted) {
        None if is_part(name) => {
            let part = |name: &str| nodes.versions.part(name).map(File::InMemory);
            let known = || find(&files, name, accepted, part);
            nodes.versions.find(known).await
        }
        found => found,
    };
    let Some(found) = found else {
        let page = page_of(path).is_some();
        let plain = HeaderValue::from_static("text/plain; charset=utf-8");
        if !page {
            return no_such_path().into_response();
        }
        let mut response = ([(CONTENT_TYPE, plain)], NOT_BUILT).into_response();
        say_how_private(path, response.headers_mut());
        return response;
    };
    let mut response = answer(request.headers(), found, name);
    let headers = response.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, policy(config.gateway));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(
        HeaderName::from_static("permissions-policy"),
        HeaderValue::from_static("camera=(self), microphone=(), geolocation=()"),
    );
    headers.insert(
        HeaderName::from_static("cross-origin-opener-policy"),
        opener_policy(config.gateway),
    );
    say_how_private(path, headers);
    response
}

/// The first part of a path.
fn first_of(path: &str) -> &str {
    path.trim_start_matches('/').split('/').next().unwrap_or_default()
}

/// Whether links lead to this page that are good for whoever has them.
fn is_private(path: &str) -> bool {
    matches!(first_of(path), "bookings" | "carry")
}

/// Whose logs learn from a page's requests what its reader was looking at: nobody's, where that is
/// organisers' business or a link that is good for whoever has it; else our own.
fn referrer_policy(path: &str) -> &'static str {
    if is_private(path) || first_of(path) == "admin" { "no-referrer" } else { "same-origin" }
}

/// Says who learns where a page's reader comes from, and has nobody on the way keep a private page or
/// list it.
fn say_how_private(path: &str, headers: &mut HeaderMap) {
    headers.insert(REFERRER_POLICY, HeaderValue::from_static(referrer_policy(path)));
    if is_private(path) {
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        let robots = HeaderValue::from_static("noindex, nofollow");
        headers.insert(HeaderName::from_static("x-robots-tag"), robots);
    }
}

fn no_such_path() -> Problem {
    Problem::new(Code::PathNotFound, "there is nothing here; /docs shows all paths")
}

/// The document that shows this path, if it is one of a page.
fn page_of(path: &str) -> Option<&'static str> {
    match first_of(path) {
        "" | "events" | "bookings" | "carry" => Some("index.html"),
        "admin" => Some("admin.html"),
        _ => None,
    }
}

/// What pages may load: their own parts only, and Stripe's form where Stripe takes the money, from the
/// hosts that it names and that its script loads more from
/// (<https://docs.stripe.com/security/guide#content-security-policy>).
fn policy(gateway: GatewayName) -> HeaderValue {
    const OWN: &str = "default-src 'none'; style-src 'self'; img-src 'self' blob: data:; font-src \
        'self'; media-src 'self' blob:; manifest-src 'self'; worker-src 'self'; base-uri 'none'; \
        form-action 'self'; frame-ancestors 'none'; ";
    HeaderValue::from_str(&match gateway {
        GatewayName::None | GatewayName::Sandbox => {
            format!("{OWN}script-src 'self'; connect-src 'self'")
        }
        GatewayName::Stripe => format!(
            "{OWN}script-src 'self' https://js.stripe.com https://*.js.stripe.com; connect-src 'self' \
             https://api.stripe.com; frame-src https://js.stripe.com https://*.js.stripe.com \
             https://hooks.stripe.com"
        ),
    })
    .expect("a policy is ASCII")
}

/// Which windows a page shares its own with: those of its own origin, and those that it opens where
/// Stripe takes the money, since some methods are paid with in a window of theirs.
fn opener_policy(gateway: GatewayName) -> HeaderValue {
    HeaderValue::from_static(match gateway {
        GatewayName::None | GatewayName::Sandbox => "same-origin",
        GatewayName::Stripe => "same-origin-allow-popups",
    })
}

/// How a text may be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Accepted {
    Brotli,
    Gzip,
    Plain,
}

impl Accepted {
    fn of(headers: &HeaderMap) -> Self {
        if takes(headers, "br") {
            Self::Brotli
        } else if takes(headers, "gzip") {
            Self::Gzip
        } else {
            Self::Plain
        }
    }
}

/// A file as it is sent.
struct Found {
    ready: Ready,
    encoding: Option<&'static str>,
}

/// Where files come from.
struct Source<'a> {
    /// A directory instead of what is in the binary.
    dir: Option<&'a Path>,
}

impl<'a> Source<'a> {
    fn of(config: &'a Config) -> Self {
        Self { dir: config.pages.as_deref() }
    }

    fn find(&self, files: &Files, name: &str, accepted: Accepted) -> Option<Found> {
        if !is_plain(name) {
            return None;
        }
        find(files, name, accepted, |name| self.file(name))
    }

    fn file(&self, name: &str) -> Option<File> {
        let Some(dir) = self.dir else { return self.read(name).map(File::InMemory) };
        let path = dir.join(name);
        let known = std::fs::metadata(&path).ok().filter(Metadata::is_file)?;
        Some(File::OnDisk { path, modified: known.modified().ok(), bytes: known.len() })
    }

    /// The names of the files that have their contents' digest in their names.
    fn part_names(&self) -> BTreeSet<String> {
        match self.dir {
            Some(dir) => {
                let listed = std::fs::read_dir(dir.join(PARTS)).into_iter().flatten().flatten();
                let names = listed.filter_map(|file| file.file_name().into_string().ok());
                names.map(|name| format!("{PARTS}{name}")).filter(|name| is_part(name)).collect()
            }
            None => Built::iter().map(Cow::into_owned).filter(|name| is_part(name)).collect(),
        }
    }

    /// The parts.
    ///
    /// # Errors
    /// If they are more than nodes share: what to do.
    fn parts(&self) -> io::Result<BTreeMap<String, Bytes>> {
        let names = self.part_names();
        // A directory may have anything in it: it is measured before it is read.
        let size: u64 = names.iter().map(|name| self.size(name)).sum();
        if size > MAX_PARTS_BYTES {
            let place = self.dir.unwrap_or(Path::new("web/dist")).join(PARTS);
            return Err(io::Error::other(format!(
                "the parts of the pages have {size} bytes, and at most {MAX_PARTS_BYTES} are shared; \
                 take out of {} what no page loads",
                place.display()
            )));
        }
        let read = |name: String| self.read(&name).map(|bytes| (name, bytes));
        Ok(names.into_iter().filter_map(read).collect())
    }

    fn size(&self, name: &str) -> u64 {
        match self.dir {
            Some(dir) => std::fs::metadata(dir.join(name)).map_or(0, |file| file.len()),
            None => self.read(name).map_or(0, |bytes| bytes.len() as u64),
        }
    }

    fn read(&self, name: &str) -> Option<Bytes> {
        match self.dir {
            Some(dir) => std::fs::read(dir.join(name)).ok().map(Bytes::from),
            None => Built::get(name).map(|file| match file.data {
                Cow::Borrowed(bytes) => Bytes::from_static(bytes),
                Cow::Owned(bytes) => bytes.into(),
            }),
        }
    }
}

/// Whether a path neither climbs out of its directory nor leads to what is hidden in it: that is not
/// a page's.
fn is_plain(name: &str) -> bool {
    Path::new(name).components().all(|part| {
        let Component::Normal(part) = part else { return false };
        !part.as_encoded_bytes().starts_with(b".")
    })
}

/// Whether a part of pages may be called that: `assets/<name>-<digest>.<ext>`, packed or not.
fn is_part(name: &str) -> bool {
    const DIGEST: usize = 8;
    let Some(file) = name.strip_prefix(PARTS) else { return false };
    if file.contains('/') || !is_plain(file) {
        return false;
    }
    let file = file.strip_suffix(".br").or_else(|| file.strip_suffix(".gz")).unwrap_or(file);
    let Some((stem, extension)) = file.rsplit_once('.') else { return false };
    // Digests are written in the letters of base64url, of which one is the hyphen.
    let is_other = |letter: char| !letter.is_ascii_alphanumeric() && !matches!(letter, '-' | '_');
    let end = stem.rsplit(is_other).next().unwrap_or_default();
    end.find('-').is_some_and(|at| end.len() - at > DIGEST)
        && !extension.is_empty()
        && extension.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// A file as it may be sent, from wherever `file` finds files by name.
fn find(
    files: &Files,
    name: &str,
    accepted: Accepted,
    file: impl Fn(&str) -> Option<File>,
) -> Option<Found> {
    let as_it_is = |name: &str| files.as_it_is(name, file(name)?);
    if let Some(ready) = as_it_is(name) {
        return Some(Found { ready, encoding: None });
    }
    let (brotli, gzip) = (format!("{name}.br"), format!("{name}.gz"));
    let (ready, encoding) = match accepted {
        Accepted::Brotli => (as_it_is(&brotli)?, Some("br")),
        Accepted::Gzip => (as_it_is(&gzip)?, Some("gzip")),
        Accepted::Plain => (files.unpacked(&gzip, file(&gzip)?)?, None),
    };
    Some(Found { ready, encoding })
}

fn answer(asked: &HeaderMap, found: Found, name: &str) -> Response {
    let Found { ready: Ready { bytes, tag }, encoding } = found;
    let is_known = is_known(asked, &tag);
    let body = if is_known { Body::empty() } else { Body::from(bytes) };
    let mut response = Response::new(body);
    if is_known {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    }
    let headers = response.headers_mut();
    // Documents are asked for each time.
    let kept =
        if name.starts_with(PARTS) { "public, max-age=31536000, immutable" } else { "no-cache" };
    headers.insert(CACHE_CONTROL, HeaderValue::from_static(kept));
    headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
    headers.insert(ETAG, HeaderValue::from_str(&tag).expect("a tag is ASCII"));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind_of(name)));
    if let Some(encoding) = encoding {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static(encoding));
    }
    response
}

fn kind_of(name: &str) -> &'static str {
    match Path::new(name).extension().and_then(|extension| extension.to_str()) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("json") => "application/json",
        Some("webmanifest") => "application/manifest+json",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("ico") => "image/x-icon",
        Some("mp3") => "audio/mpeg",
        Some("wasm") => "application/wasm",
        Some("woff2") => "font/woff2",
        Some(_) | None => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::header::{ACCEPT_ENCODING, IF_NONE_MATCH};
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write as _;

    fn accepting(value: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(ACCEPT_ENCODING, HeaderValue::from_static(value))])
    }

    #[test]
    fn best_encoding_that_is_taken_is_chosen() {
        for (value, expected) in [
            ("gzip, deflate, br, zstd", Accepted::Brotli),
            ("gzip;q=1.0, br;q=0", Accepted::Gzip),
            ("GZIP", Accepted::Gzip),
            ("identity", Accepted::Plain),
            ("", Accepted::Plain),
        ] {
            assert_eq!(Accepted::of(&accepting(value)), expected, "{value}");
        }
    }

    #[test]
    fn who_takes_no_encoding_gets_the_text_unpacked() {
        let dir = tempfile::tempdir().unwrap();
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(b"<p>hello</p>").unwrap();
        std::fs::write(dir.path().join("index.html.gz"), packed.finish().unwrap()).unwrap();
        let (source, files) = (Source { dir: Some(dir.path()) }, Files::default());
        let find = |accepted| source.find(&files, "index.html", accepted);
        let plain = find(Accepted::Plain).unwrap();
        assert_eq!((&plain.ready.bytes[..], plain.encoding), (&b"<p>hello</p>"[..], None));
        let packed = find(Accepted::Gzip).unwrap();
        assert_eq!(packed.encoding, Some("gzip"));
        assert!(find(Accepted::Brotli).is_none());
        // It is unpacked once, and so is a part that another node has.
        assert_eq!(find(Accepted::Plain).unwrap().ready.bytes.as_ptr(), plain.ready.bytes.as_ptr());
        assert_ne!(packed.ready.tag, plain.ready.tag);
        let part =
            |name: &str| (name == "a.js.gz").then(|| File::InMemory(packed.ready.bytes.clone()));
        let [first, second] = [(); 2].map(|()| {
            super::find(&files, "a.js", Accepted::Plain, part).unwrap().ready.bytes.as_ptr()
        });
        assert_eq!(first, second);
    }

    #[test]
    fn nothing_outside_the_directory_is_found() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("pages")).unwrap();
        std::fs::write(dir.path().join("secret"), "s").unwrap();
        let pages = dir.path().join("pages");
        std::fs::create_dir_all(pages.join("a/.git")).unwrap();
        std::fs::write(pages.join("a/.git/config"), "s").unwrap();
        let (source, files) = (Source { dir: Some(&pages) }, Files::default());
        for name in ["../secret", "/etc/hostname", "a/../../secret", ".", "a/.git/config"] {
            assert!(source.find(&files, name, Accepted::Plain).is_none(), "{name}");
        }
    }

    #[test]
    fn names_of_parts_have_a_digest_and_are_not_hidden() {
        for (name, expected) in [
            ("assets/index-B2c_x-9Z.js", true),
            ("assets/index-B2c_x-9Z.js.br", true),
            ("assets/min.es-B2c_x-9Z.css.gz", true),
            ("assets/font-0123456789abcdef.woff2", true),
            ("assets/nothing.js", false),
            ("assets/index-B2c.js", false),
            ("assets/index-B2c_x-9Z", false),
            ("assets/index-B2c_x-9Z.", false),
            ("assets/index-B2c_x-9Z.js~", false),
            ("assets/.index-B2c_x-9Z.js", false),
            ("assets/.env", false),
            ("assets/..", false),
            ("assets/", false),
            ("assets//index-B2c_x-9Z.js", false),
            ("assets/a/index-B2c_x-9Z.js", false),
            ("assets/../index-B2c_x-9Z.js", false),
            ("index-B2c_x-9Z.js", false),
        ] {
            assert_eq!(is_part(name), expected, "{name}");
        }
    }

    /// A directory with these files below `assets/`.
    fn built(files: &[&str]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join(PARTS)).unwrap();
        for file in files {
            std::fs::write(dir.path().join(PARTS).join(file), file).unwrap();
        }
        dir
    }

    #[test]
    fn what_is_hidden_beside_the_parts_is_not_shared() {
        let dir = built(&[".env", ".a-B2c_x-9Z.js.swp", "notes.txt", "a-B2c_x-9Z.js.br"]);
        let parts = Source { dir: Some(dir.path()) }.parts().unwrap();
        let part = ("assets/a-B2c_x-9Z.js.br".to_owned(), Bytes::from("a-B2c_x-9Z.js.br"));
        assert_eq!(parts, BTreeMap::from([part]));
    }

    #[test]
    fn parts_of_more_bytes_than_are_shared_are_not_read_and_it_is_said_what_to_do() {
        let dir = built(&["a-B2c_x-9Z.js.br"]);
        let large = std::fs::File::create(dir.path().join("assets/film-B2c_x-9Z.mp4")).unwrap();
        large.set_len(MAX_PARTS_BYTES).unwrap();
        let said = Source { dir: Some(dir.path()) }.parts().unwrap_err().to_string();
        let place = dir.path().join(PARTS);
        let advice = format!("take out of {} what no page loads", place.display());
        assert!(said.ends_with(&advice), "{said}");
        large.set_len(1).unwrap();
        assert_eq!(Source { dir: Some(dir.path()) }.parts().unwrap().len(), 2);
    }

    #[test]
    fn known_text_is_not_sent_again() {
        let files = Files::default();
        let file =
            |name: &str| (name == "a.js").then_some(File::InMemory(Bytes::from_static(b"x")));
        let found = || find(&files, "a.js", Accepted::Plain, file).unwrap();
        let first = answer(&HeaderMap::new(), found(), "assets/a.js");
        let tag = first.headers()[ETAG].clone();
        let again = answer(&HeaderMap::from_iter([(IF_NONE_MATCH, tag)]), found(), "assets/a.js");
        assert_eq!(again.status(), StatusCode::NOT_MODIFIED);
        assert_eq!(again.headers()[CACHE_CONTROL], "public, max-age=31536000, immutable");
        let other = HeaderMap::from_iter([(IF_NONE_MATCH, HeaderValue::from_static("\"other\""))]);
        assert_eq!(answer(&other, found(), "assets/a.js").status(), StatusCode::OK);
    }

    #[test]
    fn paths_of_pages_lead_to_their_document() {
        assert_eq!(page_of("/"), Some("index.html"));
        assert_eq!(page_of("/events/tour-1/queue"), Some("index.html"));
        assert_eq!(page_of("/admin"), Some("admin.html"));
        assert_eq!(page_of("/assets/a.js"), None);
        assert_eq!(page_of("/api/v1/nothing"), None);
    }

    #[test]
    fn organisers_pages_and_private_ones_tell_nobody_where_their_reader_comes_from() {
        for (path, expected) in [
            ("/admin", "no-referrer"),
            ("/admin/bookings", "no-referrer"),
            ("/bookings/e.1", "no-referrer"),
            ("/carry", "no-referrer"),
            ("/", "same-origin"),
            ("/events/admin", "same-origin"),
            ("/assets/a.js", "same-origin"),
        ] {
            let mut headers = HeaderMap::new();
            say_how_private(path, &mut headers);
            assert_eq!(headers[REFERRER_POLICY], expected, "{path}");
            assert_eq!(headers.contains_key(CACHE_CONTROL), is_private(path), "{path}");
        }
    }
}
