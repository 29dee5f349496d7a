//! Signing in with an OpenID provider: which one it is, and what its groups give the right to.

use super::certificates::CertificateSettings;
use super::keys::Scope;
use super::secrets::is_this_machine;
use super::web_address::web_address;
use super::{Config, Secret};
use axum::http::Uri;
use onrush_core::limits::turns_text;
use serde::Deserialize;
use std::ops::RangeInclusive;

/// The longest name of the provider on the sign-in page, in letters.
const MAX_NAME: usize = 60;
/// The longest name of a group, and of a claim, in bytes.
const MAX_TEXT: usize = 200;
/// Groups that count.
const MAX_GROUPS: usize = 64;
/// Values that may be demanded of one claim.
const MAX_VALUES: usize = 16;
/// How old a sign-in at the provider may be at most and at least, in seconds.
const MAX_AGES_S: RangeInclusive<u32> = 60..=31_536_000;

/// An OpenID provider by which people of the organiser sign in.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OidcSettings {
    /// What people know it by; the host of the issuer if left out.
    pub name: Option<String>,
    /// Its address, as its discovery document has it.
    pub issuer: String,
    /// As whom it knows us.
    pub client_id: String,
    /// What proves it.
    pub client_secret: Secret,
    /// What it is asked for.
    #[serde(default = "default_scopes")]
    pub scopes: Vec<String>,
    /// The claim that has a person's groups.
    #[serde(default = "default_groups_claim")]
    pub groups_claim: String,
    /// What groups give the right to.
    #[serde(default)]
    pub groups: Vec<OidcGroup>,
    /// What the ID token's `acr` must be one of; anything if empty.
    #[serde(default)]
    pub acr_values: Vec<String>,
    /// What the ID token's `amr` must have one of; anything if empty.
    #[serde(default)]
    pub amr_values: Vec<String>,
    /// How long ago people may have signed in at the provider, in seconds; any time if left out.
    pub max_age_s: Option<u32>,
    /// How long people stay signed in at most, in seconds; as with a key if left out.
    pub session_ttl_s: Option<u32>,
    /// Whose certificates are trusted there, and our own.
    #[serde(default)]
    pub certificates: CertificateSettings,
    /// How long one answer of the provider's may take, in milliseconds. It is no setting of the file.
    #[serde(skip, default = "default_patience_ms")]
    pub patience_ms: u64,
}

/// A group of the provider's.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OidcGroup {
    /// Its name, exactly as the provider tells it.
    pub name: String,
    /// What it gives the right to.
    pub scopes: Vec<Scope>,
}

fn default_scopes() -> Vec<String> {
    ["openid", "profile", "email"].map(str::to_owned).to_vec()
}

fn default_groups_claim() -> String {
    "groups".into()
}

fn default_patience_ms() -> u64 {
    OidcSettings::PATIENCE_MS
}

impl OidcSettings {
    /// How long one answer of the provider's may take where a server is served, in milliseconds.
    pub const PATIENCE_MS: u64 = 5_000;

    /// What the sign-in page calls the provider.
    #[must_use]
    pub fn shown_name(&self) -> &str {
        match &self.name {
            Some(name) => name,
            None => self.issuer.split('/').nth(2).unwrap_or(&self.issuer),
        }
    }

    /// Whether everything of the provider's may be asked for in the open: it is on this machine.
    #[must_use]
    pub fn is_near(&self) -> bool {
        self.issuer.starts_with("http://")
    }
}

/// An address over https, or of this machine.
fn is_safe(uri: &Uri) -> bool {
    uri.scheme_str() == Some("https") || uri.host().is_some_and(is_this_machine)
}

/// Whether a text is on one line, and shows what it is.
fn is_plain(text: &str, max: usize) -> bool {
    let odd = |sign: char| sign.is_control() || turns_text(sign);
    !text.trim().is_empty() && text.trim() == text && text.len() <= max && !text.chars().any(odd)
}

/// A scope of RFC 6749, section 3.3, or another word of a list that spaces divide.
fn is_scope(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\');
    !text.is_empty() && text.len() <= MAX_TEXT && text.bytes().all(fits)
}

impl Config {
    /// What is wrong with the OpenID provider: one sentence each, which names the place.
    pub(super) fn oidc_complaints(&self) -> Vec<String> {
        let Some(oidc) = &self.oidc else { return Vec::new() };
        let mut found = Vec::new();
        let mut say = |place: &str, why: &str| found.push(format!("{place}: {why}"));
        match self.public_url.as_deref().map(str::parse::<Uri>) {
            None => say(
                "public_url",
                "[oidc] needs it: the provider sends people back there. Set it to where browsers \
                 reach this, such as https://tickets.example",
            ),
            Some(Ok(uri)) if !is_safe(&uri) => say(
                "public_url",
                "with [oidc] use an https address: over http whoever listens could sign in",
            ),
            Some(Ok(_) | Err(_)) => {}
        }
        match web_address(&oidc.issuer) {
            Err(why) => say("oidc.issuer", why),
            Ok(uri) if !is_safe(&uri) => {
                say("oidc.issuer", "use an https address; http is for a provider on this machine");
            }
            Ok(_) if oidc.issuer.contains(['?', '#']) => {
                say("oidc.issuer", "use the address without ? and #, as the provider writes it");
            }
            Ok(_) => {}
        }
        if oidc
            .name
            .as_ref()
            .is_some_and(|name| !is_plain(name, 4 * MAX_NAME) || name.chars().count() > MAX_NAME)
        {
            say("oidc.name", "use 1 to 60 letters on one line, as people know the provider");
        }
        let id = &oidc.client_id;
        if id.is_empty() || id.len() > MAX_TEXT || !id.bytes().all(|byte| byte.is_ascii_graphic()) {
            say(
                "oidc.client_id",
                "use the client's id at the provider, up to 200 letters of ASCII",
            );
        }
        if !oidc.scopes.iter().any(|scope| scope == "openid") {
            say("oidc.scopes", "name openid among them: without it nobody is told who signs in");
        }
        if !oidc.scopes.iter().all(|scope| is_scope(scope)) {
            say("oidc.scopes", "use words of the provider's, without spaces");
        }
        for (place, values) in
            [("oidc.acr_values", &oidc.acr_values), ("oidc.amr_values", &oidc.amr_values)]
        {
            if values.len() > MAX_VALUES || !values.iter().all(|value| is_scope(value)) {
                say(place, "use up to 16 of the provider's words for it, without spaces");
            }
        }
        if oidc.max_age_s.is_some_and(|age_s| !MAX_AGES_S.contains(&age_s)) {
            say("oidc.max_age_s", "use 60 to 31536000, or leave it out");
        }
        if !is_plain(&oidc.groups_claim, MAX_TEXT) {
            say("oidc.groups_claim", "use the name of the claim with the groups, such as groups");
        }
        if oidc.groups.is_empty() {
            say("oidc.groups", "name at least one group and its scopes, or nobody gets in");
        }
        if oidc.groups.len() > MAX_GROUPS {
            say("oidc.groups", "use at most 64");
        }
        for (index, group) in oidc.groups.iter().enumerate() {
            let place = |setting: &str| format!("oidc.groups[{index}].{setting}");
            if !is_plain(&group.name, MAX_TEXT) {
                say(&place("name"), "use the group's name at the provider, on one line");
            }
            if oidc.groups[..index].iter().any(|other| other.name == group.name) {
                say(&place("name"), "use each name once");
            }
            if group.scopes.is_empty() {
                let why = "name at least one of read, sell, stock, money, door, admin";
                say(&place("scopes"), why);
            }
        }
        if oidc.session_ttl_s.is_some_and(|ttl_s| !(60..=self.session_ttl_s).contains(&ttl_s)) {
            say("oidc.session_ttl_s", "use at least 60, and no more than session_ttl_s");
        }
        if let Err(why) = oidc.certificates.load("oidc.certificates") {
            found.push(why);
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = "public_url = \"https://tickets.example\"\n[oidc]\n\
        issuer = \"https://id.example/realms/hall\"\nclient_id = \"onrush\"\n\
        client_secret = \"s3cret-of-the-client\"\n[[oidc.groups]]\nname = \"box-office\"\n\
        scopes = [\"sell\", \"door\"]\n";

    fn complaints(text: &str) -> String {
        match Config::parse(text) {
            Ok(config) => config.check().err().map(|error| error.to_string()).unwrap_or_default(),
            Err(why) => why,
        }
    }

    #[test]
    fn a_provider_needs_little_and_what_is_left_out_has_a_default() {
        assert_eq!(complaints(WHOLE), "");
        let oidc = Config::parse(WHOLE).unwrap().oidc.unwrap();
        assert_eq!(oidc.scopes, ["openid", "profile", "email"]);
        assert_eq!((oidc.groups_claim.as_str(), oidc.shown_name()), ("groups", "id.example"));
        assert!(oidc.acr_values.is_empty() && oidc.amr_values.is_empty());
        assert_eq!(oidc.max_age_s, None);
        assert!(!format!("{oidc:?}").contains("s3cret"));
        let near = WHOLE.replace("https://id.example/realms/hall", "http://127.0.0.1:9000");
        assert_eq!(complaints(&near), "");
    }

    #[test]
    fn what_is_wrong_with_a_provider_is_said_with_its_place() {
        let without_url = WHOLE.replace("public_url = \"https://tickets.example\"\n", "");
        let changed = |from: &str, to: &str| {
            let text = WHOLE.replace(from, to);
            assert_ne!(text, WHOLE, "{from}");
            text
        };
        let more = |line: &str| changed("client_id", &format!("{line}\nclient_id"));
        let group = "[[oidc.groups]]\nname = \"box-office\"\nscopes = [\"sell\", \"door\"]\n";
        for (text, said) in [
            (without_url, "public_url: [oidc] needs it"),
            (changed("https://tickets", "http://tickets"), "public_url: with [oidc] use an https"),
            (changed("https://id", "http://id"), "oidc.issuer: use an https address; http is"),
            (changed("realms/hall", "realms?hall"), "oidc.issuer: use the address without ?"),
            (changed("https://id", "https://ann:pw@id"), "oidc.issuer: an address has no user"),
            (changed("\"onrush\"", "\"\""), "oidc.client_id: "),
            (changed("s3cret-of-the-client", ""), "oidc.client_secret: it is empty"),
            (changed("s3cret-of-the-client", "s3cret\\n"), "oidc.client_secret: it has a line"),
            (changed("\"sell\", \"door\"", "\"buy\""), "expected one of `read`, `sell`"),
            (changed("\"sell\", \"door\"", ""), "oidc.groups[0].scopes: name at least one"),
            (changed(group, ""), "oidc.groups: name at least one group"),
            (changed(group, &group.repeat(2)), "oidc.groups[1].name: use each name once"),
            (changed(group, &group.repeat(65)), "oidc.groups: use at most 64"),
            (changed("box-office", "box\\u202eoffice"), "oidc.groups[0].name: "),
            (more("name = \"a\\u0000b\""), "oidc.name: "),
            (more("scopes = [\"profile\"]"), "oidc.scopes: name openid"),
            (more("scopes = [\"openid\", \"a b\"]"), "oidc.scopes: use words"),
            (more("groups_claim = \"\""), "oidc.groups_claim: "),
            (more("acr_values = [\"a b\"]"), "oidc.acr_values: use up to 16"),
            (more("amr_values = [\"\"]"), "oidc.amr_values: use up to 16"),
            (more(&format!("amr_values = [{}]", "\"a\",".repeat(17))), "oidc.amr_values: "),
            (more("max_age_s = 59"), "oidc.max_age_s: use 60"),
            (more("max_age_s = 31536001"), "oidc.max_age_s: use 60"),
            (more("session_ttl_s = 50000"), "oidc.session_ttl_s: "),
            (more("certificates = { ca = \"/nowhere/ca.pem\" }"), "oidc.certificates.ca: "),
            (more("issuers = []"), "unknown field `issuers`"),
        ] {
            let found = complaints(&text);
            assert!(found.contains(said), "{said}: {found}");
            assert!(!found.contains("s3cret"), "{found}");
        }
    }
}
