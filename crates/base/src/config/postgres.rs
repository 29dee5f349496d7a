//! What can be configured about PostgreSQL: where it is, and how the way there is protected.
//!
//! Addresses are what libpq takes, with its words for TLS: `sslmode`, `sslrootcert`, `sslcert` and
//! `sslkey`. They are taken out here, because the client knows fewer of them.

use super::certificates::{CertificateSettings, Pem};
use super::secret::Secret;
use onrush_tls::Verification;
use serde::Deserialize;

/// PostgreSQL.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PostgresSettings {
    /// Where it is and who we are, such as `postgres://onrush:secret@127.0.0.1/onrush`.
    pub url: Secret,
    /// The password, as it is: in an address some characters would have to be escaped.
    #[serde(default)]
    pub password: Option<Secret>,
    /// Connections that are kept open.
    #[serde(default = "connections")]
    pub connections: usize,
    /// Whose certificates are trusted, and our own.
    #[serde(default)]
    pub certificates: CertificateSettings,
}

fn connections() -> usize {
    8
}

/// How the way to PostgreSQL is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SslMode {
    /// Never by TLS.
    Disable,
    /// By TLS if the server offers it, and then by whoever's certificate.
    Prefer,
    /// By TLS or not at all; how much of the certificate is looked at stands beside it.
    Require(Verification),
}

/// An address, taken apart.
#[derive(Clone, Debug)]
pub struct PostgresAddress {
    /// The address without what is about TLS.
    pub url: Secret,
    /// How the way there is protected.
    pub mode: SslMode,
    /// Whose certificates are trusted, and our own.
    pub certificates: CertificateSettings,
}

/// Words about TLS in an address.
const WORDS: [&str; 4] = ["sslmode", "sslrootcert", "sslcert", "sslkey"];

impl PostgresSettings {
    /// A server, with the defaults.
    #[must_use]
    pub fn new(url: Secret) -> Self {
        Self {
            url,
            password: None,
            connections: connections(),
            certificates: CertificateSettings::default(),
        }
    }

    /// The address, taken apart.
    ///
    /// # Errors
    /// What is wrong with it, without repeating it: it may have a password in it.
    pub fn address(&self) -> Result<PostgresAddress, String> {
        let url = self.url.reveal();
        let form = "postgres.url: use the form postgres://onrush:secret@127.0.0.1/onrush";
        // The other form that clients of PostgreSQL know: `host=… user=…`.
        let is_url = ["postgres://", "postgresql://"].iter().any(|begin| url.starts_with(begin));
        if !is_url && !url.contains("host=") {
            return Err(form.into());
        }
        let (mut url, words) = if is_url { of_url(url) } else { of_pairs(url) };
        if let Some(password) = &self.password {
            url = if is_url {
                with_password(&url, password.reveal())?
            } else {
                format!("{url} password={}", quoted(password.reveal()))
            };
        }
        let mut certificates = self.certificates.clone();
        let mut mode = None;
        for (word, text) in words {
            let place = match word {
                "sslrootcert" => &mut certificates.ca,
                "sslcert" => &mut certificates.cert,
                "sslkey" => &mut certificates.key,
                _ => {
                    mode = Some(text);
                    continue;
                }
            };
            if place.is_some() {
                return Err(format!(
                    "postgres.url: {word} is set in postgres.certificates too; use one of the two"
                ));
            }
            *place = Some(Pem::from(text));
        }
        let has_ca = certificates.ca.is_some();
        let mode = match mode.as_deref() {
            // As libpq does it, except that whoever names an authority wants it to be looked at.
            None if has_ca => SslMode::Require(Verification::Full),
            None | Some("prefer" | "allow") => SslMode::Prefer,
            Some("disable") => SslMode::Disable,
            Some("require") if has_ca => SslMode::Require(Verification::Authority),
            Some("require") => SslMode::Require(Verification::Nothing),
            Some("verify-ca") => SslMode::Require(Verification::Authority),
            Some("verify-full") => SslMode::Require(Verification::Full),
            Some(_) => {
                return Err(
                    "postgres.url: use disable, prefer, require, verify-ca or verify-full \
                            as sslmode"
                        .into(),
                );
            }
        };
        if has_ca && !matches!(mode, SslMode::Require(_)) {
            return Err(
                "postgres.certificates.ca: with this sslmode nobody would look at it; use \
                        sslmode verify-full"
                    .into(),
            );
        }
        Ok(PostgresAddress { url: Secret::from(url), mode, certificates })
    }

    /// Checks what the types cannot.
    ///
    /// # Errors
    /// What is wrong, as a sentence that names the place.
    pub(super) fn check(&self) -> Result<(), String> {
        let address = self.address()?;
        if self.connections < 2 {
            return Err("postgres.connections: use at least 2".into());
        }
        address.certificates.load("postgres.certificates").map(drop)
    }
}

/// An address with a password in it.
fn with_password(url: &str, password: &str) -> Result<String, String> {
    let wrong = "postgres.password: name the user in postgres.url, and no password there, such as \
                 postgres://onrush@127.0.0.1/onrush";
    let (scheme, rest) = url.split_once("://").ok_or(wrong)?;
    let (user, server) = rest.split_once('@').ok_or(wrong)?;
    if user.is_empty() || user.contains([':', '/']) {
        return Err(wrong.into());
    }
    Ok(format!("{scheme}://{user}:{}@{server}", escaped(password)))
}

/// A text as it stands in an address.
fn escaped(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
            char::from(byte).to_string()
        }
        other => format!("%{other:02X}"),
    };
    text.bytes().map(byte).collect()
}

/// A text as it stands in `name=…`.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

/// The words about TLS in `postgres://…?…`, and the rest.
fn of_url(url: &str) -> (String, Vec<(&'static str, String)>) {
    let Some((before, query)) = url.split_once('?') else { return (url.to_owned(), Vec::new()) };
    let mut words = Vec::new();
    let mut kept = Vec::new();
    for pair in query.split('&') {
        let (name, text) = pair.split_once('=').unwrap_or((pair, ""));
        match WORDS.iter().find(|word| **word == name) {
            Some(word) => words.push((*word, unescaped(text))),
            None => kept.push(pair),
        }
    }
    let query = if kept.is_empty() { String::new() } else { format!("?{}", kept.join("&")) };
    (format!("{before}{query}"), words)
}

/// The words about TLS in `host=… user=…`, and the rest.
fn of_pairs(text: &str) -> (String, Vec<(&'static str, String)>) {
    let mut words = Vec::new();
    let mut kept = Vec::new();
    for pair in text.split_whitespace() {
        let (name, text) = pair.split_once('=').unwrap_or((pair, ""));
        match WORDS.iter().find(|word| **word == name) {
            Some(word) => words.push((*word, text.trim_matches('\'').to_owned())),
            None => kept.push(pair),
        }
    }
    // Whatever is quoted keeps its spaces if nothing is taken out.
    if words.is_empty() { (text.to_owned(), words) } else { (kept.join(" "), words) }
}

/// `%2F` as what it stands for.
fn unescaped(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let code = (bytes[at] == b'%')
            .then(|| text.get(at + 1..at + 3).and_then(|hex| u8::from_str_radix(hex, 16).ok()))
            .flatten();
        match code {
            Some(byte) => {
                out.push(byte);
                at += 3;
            }
            None => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(url: &str, ca: Option<&str>) -> Result<PostgresAddress, String> {
        let mut settings = PostgresSettings::new(Secret::from(url.to_owned()));
        settings.certificates.ca = ca.map(|ca| Pem::from(ca.to_owned()));
        settings.address()
    }

    #[test]
    fn words_about_tls_are_taken_out_of_addresses() {
        let own = "postgres://u:p@h/d?sslmode=verify-full&application_name=a&sslrootcert=%2Fca.pem";
        let whole = address(own, None).unwrap();
        assert_eq!(whole.url.reveal(), "postgres://u:p@h/d?application_name=a");
        assert_eq!(whole.mode, SslMode::Require(Verification::Full));
        assert_eq!(whole.certificates.ca, Some(Pem::File("/ca.pem".into())));
        let pairs = "host=h user=u sslmode=verify-ca sslcert=/c sslkey='/k'";
        let pairs = address(pairs, None).unwrap();
        assert_eq!(pairs.url.reveal(), "host=h user=u");
        assert_eq!(pairs.mode, SslMode::Require(Verification::Authority));
        assert_eq!(pairs.certificates.key, Some(Pem::File("/k".into())));
    }

    #[test]
    fn a_mode_means_what_it_means_to_libpq_and_an_authority_is_never_named_in_vain() {
        use Verification::{Authority, Full, Nothing};
        let mode = |query: &str, ca| address(&format!("postgres://h/d{query}"), ca).map(|a| a.mode);
        for (query, without, with) in [
            ("", Some(SslMode::Prefer), Some(SslMode::Require(Full))),
            ("?sslmode=disable", Some(SslMode::Disable), None),
            ("?sslmode=prefer", Some(SslMode::Prefer), None),
            (
                "?sslmode=require",
                Some(SslMode::Require(Nothing)),
                Some(SslMode::Require(Authority)),
            ),
            (
                "?sslmode=verify-ca",
                Some(SslMode::Require(Authority)),
                Some(SslMode::Require(Authority)),
            ),
            ("?sslmode=verify-full", Some(SslMode::Require(Full)), Some(SslMode::Require(Full))),
            ("?sslmode=verify", None, None),
        ] {
            assert_eq!(mode(query, None).ok(), without, "{query}");
            assert_eq!(mode(query, Some("/ca.pem")).ok(), with, "{query} with an authority");
        }
        let twice = address("postgres://u:s3cret@h/d?sslrootcert=/a", Some("/b")).unwrap_err();
        assert!(twice.contains("sslrootcert") && !twice.contains("s3cret"), "{twice}");
    }

    #[test]
    fn password_beside_the_address_is_taken_as_it_is() {
        let password = "s3cret: /@%?#'\\";
        let with = |url: &str| {
            let mut settings = PostgresSettings::new(Secret::from(url.to_owned()));
            settings.password = Some(Secret::from(password.to_owned()));
            settings.address().map(|address| address.url.reveal().to_owned())
        };
        assert_eq!(
            with("postgres://u@h:1/d?application_name=a").unwrap(),
            "postgres://u:s3cret%3A%20%2F%40%25%3F%23%27%5C@h:1/d?application_name=a"
        );
        assert_eq!(with("host=h user=u").unwrap(), "host=h user=u password='s3cret: /@%?#\\'\\\\'");
        for url in ["postgres://h/d", "postgres://u:other@h/d", "postgres://@h/d"] {
            let why = with(url).unwrap_err();
            assert!(why.starts_with("postgres.password: ") && !why.contains("s3cret"), "{why}");
        }
    }
}
