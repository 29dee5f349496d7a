//! What can be configured about mail and webhooks.

use super::certificates::CertificateSettings;
use super::kinds::KINDS;
use super::secret::Secret;
use super::web_address::web_address;
use axum::http::Uri;
use lettre::message::Mailbox;
use serde::Deserialize;

/// Mail to buyers. Off unless it is there.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MailSettings {
    /// The shop's SMTP server: `host:port`.
    pub smtp: String,
    /// How the connection is protected.
    #[serde(default)]
    pub tls: Tls,
    /// The user to log in as, if the server asks for that.
    #[serde(default)]
    pub user: Option<String>,
    /// The user's password.
    #[serde(default)]
    pub password: Option<Secret>,
    /// Who writes: `Tickets <tickets@shop.example>`.
    pub from: String,
    /// Where answers go, if elsewhere.
    #[serde(default)]
    pub reply_to: Option<String>,
    /// The page of a booking, with `{booking}` where its id belongs and `{link}` where its link
    /// does; without it the page of this server.
    #[serde(default)]
    pub booking_url: Option<String>,
    /// Whose certificates are trusted, and our own.
    #[serde(default)]
    pub certificates: CertificateSettings,
}

/// How a connection to an SMTP server is protected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tls {
    /// It begins in the open and goes on in TLS, or not at all (port 587).
    #[default]
    Starttls,
    /// TLS from the first byte (port 465).
    Tls,
    /// Not at all: for a server on the same machine.
    None,
}

/// A receiver of messages.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WebhookSettings {
    /// What it is called in lists: 1 to 32 of `a-z`, `0-9` and `-`.
    pub name: String,
    /// Where messages go.
    pub url: String,
    /// What signs them; at least 16 characters.
    pub secret: Secret,
    /// What to tell; everything if left out.
    #[serde(default)]
    pub kinds: Option<Vec<String>>,
    /// Whether it may be inside one's own network.
    #[serde(default)]
    pub allow_private: bool,
    /// Whose certificates are trusted, and our own.
    #[serde(default)]
    pub certificates: CertificateSettings,
}

impl MailSettings {
    /// The server's name and port.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn server(&self) -> Result<(&str, u16), String> {
        let wrong = || "mail.smtp: use host:port, such as smtp.shop.example:587".to_owned();
        let (host, port) = self.smtp.rsplit_once(':').ok_or_else(wrong)?;
        let port = port.parse().map_err(|_| wrong())?;
        if host.is_empty() { Err(wrong()) } else { Ok((host, port)) }
    }

    /// Who writes.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn from(&self) -> Result<Mailbox, String> {
        self.from.parse().map_err(|error| format!("mail.from: {error}"))
    }

    /// Where answers go.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn reply_to(&self) -> Result<Option<Mailbox>, String> {
        let parsed = self.reply_to.as_ref().map(|text| text.parse());
        parsed.transpose().map_err(|error| format!("mail.reply_to: {error}"))
    }

    /// Checks what the types cannot.
    ///
    /// # Errors
    /// What is wrong, as a sentence that names the place.
    pub fn check(&self) -> Result<(), String> {
        self.server()?;
        self.from()?;
        self.reply_to()?;
        if self.user.is_some() != self.password.is_some() {
            return Err("mail: user and password go together".into());
        }
        if self.tls == Tls::None && self.password.is_some() {
            return Err("mail.tls: a password is sent over TLS only; use starttls or tls".into());
        }
        if self.tls == Tls::None && !self.certificates.is_default() {
            return Err(
                "mail.certificates: they are for TLS; set mail.tls to starttls or tls".into()
            );
        }
        self.certificates.load("mail.certificates")?;
        if let Some(url) = &self.booking_url
            && !((url.contains("{booking}") || url.contains("{link}"))
                && is_http(&url.replace("{booking}", "b").replace("{link}", "b")))
        {
            return Err(
                "mail.booking_url: use an http or https address with {booking} or {link} in it"
                    .into(),
            );
        }
        Ok(())
    }
}

impl WebhookSettings {
    /// What messages call the section with its certificates.
    #[must_use]
    pub fn certificates_place(&self) -> String {
        format!("webhooks[{}].certificates", self.name)
    }

    /// Checks what the types cannot.
    ///
    /// # Errors
    /// What is wrong, as a sentence that names the place.
    pub fn check(&self) -> Result<(), String> {
        let name = &self.name;
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        if !(1..=32).contains(&name.len()) || !name.bytes().all(plain) {
            return Err("webhooks.name: use 1 to 32 of a-z, 0-9 and -".into());
        }
        if let Err(why) = web_address(&self.url) {
            return Err(format!("webhooks.url of {name}: {why}"));
        }
        if !self.certificates.is_default() && !self.url.starts_with("https://") {
            return Err(format!("webhooks.certificates of {name}: they are for https addresses"));
        }
        self.certificates.load(&self.certificates_place())?;
        let unknown = |kind: &String| !KINDS.contains(&kind.as_str());
        if self.kinds.iter().flatten().any(unknown) {
            // What stands there is not repeated: it may be the secret, in the wrong line.
            let known = KINDS.join(", ");
            return Err(format!("webhooks.kinds of {name}: one of them is none of {known}"));
        }
        Ok(())
    }
}

/// Whether this is the whole address of something that speaks HTTP.
fn is_http(url: &str) -> bool {
    url.parse::<Uri>()
        .is_ok_and(|uri| matches!(uri.scheme_str(), Some("http" | "https")) && uri.host().is_some())
}
