//! The section `[tls.acme]`: an authority that issues our certificate to the server itself.

use super::certificates::{CertificateSettings, Pem};
use super::secret::Secret;
use super::web_address::web_address;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use onrush_tls::Certificates;
use serde::Deserialize;
use std::time::Duration;

/// Where Let's Encrypt answers.
const LETS_ENCRYPT: &str = "https://acme-v02.api.letsencrypt.org/directory";
/// The most names of one certificate: no large authority takes more.
const MAX_DOMAINS: usize = 100;
/// The longest name, and the longest part of one, in bytes (RFC 1035, section 2.3.4).
const MAX_NAME_BYTES: usize = 253;
const MAX_LABEL_BYTES: usize = 63;
/// The longest contact and account id, in bytes.
const MAX_TEXT_BYTES: usize = 300;

/// A certificate that is fetched by ACME (RFC 8555), and renewed before it ends.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AcmeSettings {
    /// The names that it is for.
    pub domains: Vec<String>,
    /// Whom the authority writes to, such as `mailto:ops@shop.example`.
    pub contact: Option<String>,
    /// The authority's directory.
    #[serde(default = "lets_encrypt")]
    pub directory: String,
    /// Whose certificates are trusted at the directory itself; those of the public web if left out.
    pub ca: Option<Pem>,
    /// Whether the authority's terms are agreed to, without which it issues nothing.
    #[serde(default)]
    pub accept_terms: bool,
    /// Which account of the authority's own this is for, if it wants to know (RFC 8555, section 7.3.4).
    pub eab_kid: Option<String>,
    /// What proves that, in base64url.
    pub eab_hmac_key: Option<Secret>,
    /// The pause after a first failure; those after it are longer.
    #[serde(skip, default = "first_pause")]
    pub first_pause: Duration,
}

fn lets_encrypt() -> String {
    LETS_ENCRYPT.into()
}

/// With pauses that grow threefold this is four tries in the first hour: Let's Encrypt refuses a
/// name after five that failed.
fn first_pause() -> Duration {
    Duration::from_secs(120)
}

impl AcmeSettings {
    /// Whose certificates are trusted at the directory.
    ///
    /// # Errors
    /// What cannot be read or used, as a sentence that names the place.
    pub fn certificates(&self) -> Result<Certificates, String> {
        let settings = CertificateSettings { ca: self.ca.clone(), ..Default::default() };
        settings.load("tls.acme")
    }

    /// The account that this is for at the authority, and the key that proves it.
    #[must_use]
    pub fn external_account(&self) -> Option<(&str, Vec<u8>)> {
        let (kid, key) = self.eab_kid.as_deref().zip(self.eab_hmac_key.as_ref())?;
        Some((kid, URL_SAFE_NO_PAD.decode(key.reveal().trim_end_matches('=')).ok()?))
    }

    /// What is wrong with it: one sentence each, with its place.
    pub(super) fn complaints(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut say = |place: &str, why: &str| found.push(format!("tls.acme.{place}: {why}"));
        if !self.accept_terms {
            say(
                "accept_terms",
                "set it to true once you have read the authority's terms and agree to them; it \
                 issues nothing to anybody else",
            );
        }
        if self.domains.is_empty() || self.domains.len() > MAX_DOMAINS {
            say("domains", "name 1 to 100 hosts, such as tickets.example");
        }
        for (index, domain) in self.domains.iter().enumerate() {
            let place = format!("domains[{index}]");
            if domain.starts_with("*.") {
                say(&place, "an authority proves a wildcard by DNS alone; name each host instead");
            } else if !is_host(domain) {
                say(
                    &place,
                    "use a host's name in lower case, such as tickets.example; one with other \
                     letters begins with xn--",
                );
            }
            if self.domains[..index].contains(domain) {
                say(&place, "use each name once");
            }
        }
        if self.contact.as_ref().is_some_and(|contact| !is_contact(contact)) {
            say("contact", "use an address of mail, such as mailto:ops@shop.example");
        }
        match web_address(&self.directory) {
            Err(why) => say("directory", why),
            Ok(uri) if uri.scheme_str() != Some("https") => {
                say("directory", "use an https address: ACME is spoken over TLS alone");
            }
            Ok(_) => {}
        }
        if self.eab_kid.is_some() != self.eab_hmac_key.is_some() {
            say("eab_kid", "it and eab_hmac_key go together");
        } else if self.eab_kid.as_ref().is_some_and(|kid| !is_word(kid)) {
            say("eab_kid", "copy it again: it is empty, too long, or has odd characters in it");
        } else if self.eab_kid.is_some()
            && self.external_account().is_none_or(|(_, key)| key.is_empty())
        {
            say("eab_hmac_key", "copy it again as the authority shows it: it is not base64url");
        }
        if let Err(why) = self.certificates() {
            found.push(why);
        }
        found
    }
}

/// A name that a certificate can be for.
fn is_host(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let is_label = |label: &str| {
        (1..=MAX_LABEL_BYTES).contains(&label.len())
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.bytes().all(plain)
    };
    // An address has a number at its end.
    let is_number = |label: &str| label.bytes().all(|byte| byte.is_ascii_digit());
    name.len() <= MAX_NAME_BYTES
        && name.split('.').all(is_label)
        && !name.rsplit('.').next().is_some_and(is_number)
}

fn is_word(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= MAX_TEXT_BYTES
        && text.bytes().all(|byte| byte.is_ascii_graphic())
}

fn is_contact(text: &str) -> bool {
    let address = text.strip_prefix("mailto:").filter(|_| is_word(text));
    // RFC 8555, section 7.3: one address, and nothing that mail programs would add.
    address.is_some_and(|address| {
        !address.contains(['?', ','])
            && address.split_once('@').is_some_and(|(user, host)| {
                !user.is_empty() && !host.is_empty() && !host.contains('@')
            })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    const WHOLE: &str = "[tls.acme]\ndomains = [\"tickets.example\"]\naccept_terms = true\n";

    fn complaints(text: &str) -> String {
        match Config::parse(text) {
            Ok(config) => config.check().err().map(|error| error.to_string()).unwrap_or_default(),
            Err(why) => why,
        }
    }

    #[test]
    fn a_fetched_certificate_needs_a_name_and_agreement_to_the_terms() {
        assert_eq!(complaints(WHOLE), "");
        let config = Config::parse(WHOLE).unwrap();
        let acme = config.tls.clone().unwrap().acme.unwrap();
        assert_eq!((acme.directory.as_str(), acme.external_account()), (LETS_ENCRYPT, None));
        assert!(config.pages_url("192.0.2.7:443".parse().unwrap()).starts_with("https://"));
        let bound = format!("{WHOLE}eab_kid = \"kid-1\"\neab_hmac_key = \"aHVzaC1odXNo\"\n");
        assert_eq!(complaints(&bound), "");
        let config = Config::parse(&bound).unwrap();
        assert!(!format!("{config:?}").contains("aHVzaC1odXNo"));
        let acme = config.tls.unwrap().acme.unwrap();
        assert_eq!(acme.external_account(), Some(("kid-1", b"hush-hush".to_vec())));
    }

    #[test]
    fn what_is_wrong_with_it_is_said_with_its_place() {
        let changed = |from: &str, to: &str| {
            let text = WHOLE.replace(from, to);
            assert_ne!(text, WHOLE, "{from}");
            text
        };
        let domains = |names: &str| changed("\"tickets.example\"", names);
        let more = |line: &str| format!("{WHOLE}{line}\n");
        let files = format!("[tls]\ncert = \"a.pem\"\nkey = \"a.key\"\n{WHOLE}");
        let redis = format!("engine = \"redis\"\n{WHOLE}[redis]\nurls = [\"redis://a\"]\n");
        for (text, said) in [
            (changed("accept_terms = true", ""), "tls.acme.accept_terms: set it to true once"),
            (changed("true", "false"), "tls.acme.accept_terms: "),
            (domains(""), "tls.acme.domains: name 1 to 100"),
            (domains("\"*.example\""), "tls.acme.domains[0]: an authority proves a wildcard by"),
            (domains("\"a.example\", \"A.example\""), "tls.acme.domains[1]: use a host's name"),
            (domains("\"https://a.example\""), "tls.acme.domains[0]: use a host's name"),
            (domains("\"192.0.2.7\""), "tls.acme.domains[0]: use a host's name"),
            (domains("\"a.example\", \"a.example\""), "tls.acme.domains[1]: use each name once"),
            (more("contact = \"ops@shop.example\""), "tls.acme.contact: use an address of mail"),
            (more("directory = \"http://ca.example/dir\""), "tls.acme.directory: use an https"),
            (more("directory = \"ca.example\""), "tls.acme.directory: "),
            (more("ca = \"/nowhere/ca.pem\""), "tls.acme.ca: /nowhere/ca.pem: "),
            (more("eab_kid = \"kid-1\""), "tls.acme.eab_kid: it and eab_hmac_key go together"),
            (more("eab_kid = \"k\"\neab_hmac_key = \"s3cret!\""), "tls.acme.eab_hmac_key: copy"),
            (more("domain = \"a.example\""), "unknown field `domain`"),
            (files, "tls: cert and key are a certificate in files, [tls.acme] is one"),
            (redis, "tls.acme: an authority that looks at a name meets any of several nodes"),
            ("[tls]\n".into(), "tls: set cert and key, or [tls.acme]"),
            ("[tls]\ncert = \"a.pem\"\n".into(), "tls: cert and key go together"),
        ] {
            let found = complaints(&text);
            assert!(found.contains(said), "{said}: {found}");
            assert!(!found.contains("s3cret"), "{found}");
        }
    }
}
