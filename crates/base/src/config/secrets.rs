//! What is wrong with secrets and addresses, as sentences that never repeat a secret.
//!
//! A secret that is empty, or that was put into the place of another, is worse than none:
//! everything seems to work, and whoever guesses it pays with nothing. So each place knows what
//! kind of secret belongs there.

use super::Config;
use super::gateways::GatewayName;
use super::secret::Secret;
use super::web_address::web_address;
use std::net::IpAddr;

/// The shortest secret that two sides share, in bytes.
const MIN_SHARED_BYTES: usize = 16;
/// The shortest secret that signs tokens, in bytes: as long as what HS256 makes of it.
const MIN_SIGNING_BYTES: usize = 32;
/// The shortest signing secret of a webhook endpoint of Stripe's, in bytes, with its prefix.
const MIN_WHSEC_BYTES: usize = 16;
/// The shortest key of a test account and of a live one, in bytes, with its prefix.
const MIN_TEST_KEY_BYTES: usize = 11;
const MIN_LIVE_KEY_BYTES: usize = 24;

/// A key or secret of Stripe's, by its prefix (<https://docs.stripe.com/keys>).
#[derive(Clone, Copy, PartialEq, Eq)]
enum OfStripe {
    Secret,
    Restricted,
    Publishable,
    Webhook,
}

/// Whether money moves.
#[derive(Clone, Copy, PartialEq, Eq, strum::Display, strum::EnumString)]
#[strum(serialize_all = "snake_case")]
enum Mode {
    Live,
    Test,
}

impl OfStripe {
    fn of(text: &str) -> Option<Self> {
        let kinds = [
            ("sk_", Self::Secret),
            ("rk_", Self::Restricted),
            ("pk_", Self::Publishable),
            ("whsec_", Self::Webhook),
        ];
        kinds.into_iter().find(|(prefix, _)| text.starts_with(prefix)).map(|(_, kind)| kind)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Secret => "a secret key of Stripe's (sk_…)",
            Self::Restricted => "a restricted key of Stripe's (rk_…)",
            Self::Publishable => "a publishable key of Stripe's (pk_…)",
            Self::Webhook => "the signing secret of a webhook endpoint (whsec_…)",
        }
    }
}

impl Mode {
    fn of(key: &str) -> Option<Self> {
        let (_, rest) = key.split_once('_')?;
        rest.split_once('_')?.0.parse().ok()
    }
}

/// What no secret may be, wherever it stands.
fn shape(text: &str) -> Option<&'static str> {
    if text.is_empty() {
        Some("it is empty, and everybody can sign with nothing; set it or leave the line out")
    } else if text.trim().is_empty() {
        Some("it is blank; set it or leave the line out")
    } else if text.chars().any(char::is_control) {
        Some("it has a line break or another control character in it; look at its end")
    } else if text.trim() != text {
        Some("it begins or ends with a space; take that away")
    } else {
        None
    }
}

/// What no secret may be that travels in a header.
fn header_shape(text: &str) -> Option<&'static str> {
    let plain = |byte: u8| (0x20..0x7f).contains(&byte);
    let odd = "it has characters that a header cannot have; use letters, digits and signs of ASCII";
    shape(text).or_else(|| (!text.bytes().all(plain)).then_some(odd))
}

/// A secret that is made up, and so is no key of Stripe's that came into the wrong line.
fn own(text: &str, min_bytes: usize, unit: &str) -> Option<String> {
    match OfStripe::of(text) {
        // Others begin the secrets of their own webhooks like that.
        None | Some(OfStripe::Webhook) => {}
        Some(kind) => {
            let name = kind.name();
            return Some(format!("this is {name} in the place of another secret; make one up"));
        }
    }
    (text.len() < min_bytes).then(|| format!("use at least {min_bytes} {unit}"))
}

pub(super) fn is_this_machine(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|ip| ip.is_loopback())
}

impl Config {
    /// What is wrong with secrets, keys, addresses and issuers: one sentence each, which names the place.
    pub(super) fn secret_complaints(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut say = |place: &str, why: String| found.push(format!("{place}: {why}"));
        for (place, key) in [("admin_key", &self.admin_key), ("scanner_key", &self.scanner_key)] {
            let Some(key) = key else { continue };
            if let Some(why) = own_secret_complaint(key) {
                say(place, why);
            }
        }
        if let Some(oidc) = &self.oidc {
            let secret = oidc.client_secret.reveal();
            if let Some(why) = shape(secret).map(str::to_owned).or_else(|| own(secret, 1, "byte")) {
                say("oidc.client_secret", why);
            }
        }
        if shape(&self.pass_issuer).is_some() {
            say("pass_issuer", "name who signs passes and tickets, such as onrush".into());
        }
        if let Some(shop) = &self.shop_tokens {
            let secret = shop.secret.as_ref().map(Secret::reveal);
            let wrong = |secret: &str| {
                let short = || own(secret, MIN_SIGNING_BYTES, "bytes");
                shape(secret).map(str::to_owned).or_else(short)
            };
            if let Some(why) = secret.and_then(wrong) {
                say("shop_tokens.secret", why);
            }
            for (place, text) in
                [("shop_tokens.issuer", &shop.issuer), ("shop_tokens.audience", &shop.audience)]
            {
                if shape(text).is_some() {
                    say(place, "name what tokens must have there; it is empty or odd".into());
                }
            }
        }
        if let Some(password) = self.mail.as_ref().and_then(|mail| mail.password.as_ref())
            && let Some(why) = shape(password.reveal())
        {
            say("mail.password", why.into());
        }
        let acme = self.tls.as_ref().and_then(|tls| tls.acme.as_ref());
        if let Some(key) = acme.and_then(|acme| acme.eab_hmac_key.as_ref())
            && let Some(why) = shape(key.reveal())
        {
            say("tls.acme.eab_hmac_key", why.into());
        }
        for (index, webhook) in self.webhooks.iter().enumerate() {
            let place = format!("webhooks[{index}].secret");
            let secret = webhook.secret.reveal();
            let short = || own(secret, MIN_SHARED_BYTES, "characters");
            if let Some(why) = shape(secret).map(str::to_owned).or_else(short) {
                say(&place, why);
            }
        }
        for (index, origin) in self.allowed_origins.iter().enumerate() {
            let form =
                web_address(origin).is_ok_and(|uri| uri.path() == "/" && uri.query().is_none());
            if !form || origin.ends_with('/') {
                let why = "use the form https://shop.example, with no path and no slash at its end";
                say(&format!("allowed_origins[{index}]"), why.into());
            }
        }
        found.extend(self.sandbox_complaints());
        found.extend(self.stripe_complaints());
        found.extend(self.shared_complaints());
        found
    }

    /// What it is about the gateway that takes no real money, with its place; `None` if that is no
    /// sandbox and no test account.
    pub(super) fn takes_no_money(&self) -> Option<&'static str> {
        let stripe = self.stripe.as_ref();
        let mode = stripe.and_then(|stripe| Mode::of(stripe.secret_key.reveal()));
        match self.gateway {
            GatewayName::Sandbox => Some("gateway: the sandbox"),
            GatewayName::Stripe if mode == Some(Mode::Test) => {
                Some("stripe.secret_key: a test key")
            }
            GatewayName::Stripe | GatewayName::None => None,
        }
    }

    fn sandbox_complaints(&self) -> Vec<String> {
        let mut found = Vec::new();
        let sandbox = &self.sandbox;
        for (place, secret) in [
            ("sandbox.secret", &sandbox.secret),
            ("sandbox.webhook_secret", &sandbox.webhook_secret),
        ] {
            let Some(secret) = secret else { continue };
            if let Some(why) = own_secret_complaint(secret) {
                found.push(format!("{place}: {why}"));
            }
        }
        let Some(url) = &sandbox.url else {
            found.extend(self.own_sandbox_complaints());
            return found;
        };
        if let Err(why) = web_address(url) {
            found.push(format!("sandbox.url: {why}"));
        }
        let both = sandbox.secret.is_some() && sandbox.webhook_secret.is_some();
        if self.gateway == GatewayName::Sandbox && !both {
            found.push("sandbox.url: set sandbox.secret and sandbox.webhook_secret too".into());
        }
        found
    }

    /// What is wrong with a sandbox that runs in the server's own process: it would not start.
    fn own_sandbox_complaints(&self) -> Vec<String> {
        let (mut found, sandbox) = (Vec::new(), &self.sandbox);
        if self.gateway != GatewayName::Sandbox {
            return found;
        }
        if !sandbox.listen.ip().is_loopback() && !self.allow_sandbox {
            found.push(
                "sandbox.listen: others reach this address, and would pay without money; use one of \
                 this machine alone, or set allow_sandbox = true if that is what you want"
                    .into(),
            );
        }
        if !sandbox.faults.is_valid() {
            found.push(
                "sandbox.faults: declined_pct, duplicate_pct, late_pct and never_pct are at most 100 \
                 together, and lost_answer_pct by itself"
                    .into(),
            );
        }
        found
    }

    fn stripe_complaints(&self) -> Vec<String> {
        let Some(stripe) = &self.stripe else {
            return match self.gateway {
                GatewayName::Stripe => vec!["stripe: set secret_key and webhook_secret".into()],
                GatewayName::None | GatewayName::Sandbox => Vec::new(),
            };
        };
        let mut found = Vec::new();
        let mut say = |place: &str, why: &str| found.push(format!("stripe.{place}: {why}"));
        let key = stripe.secret_key.reveal();
        match (header_shape(key), OfStripe::of(key)) {
            (Some(why), _) => say("secret_key", why),
            (None, Some(OfStripe::Secret | OfStripe::Restricted)) => match Mode::of(key) {
                Some(mode) if is_whole(key, mode) => {}
                Some(_) => {
                    say("secret_key", "it is too short or has odd characters; copy it again")
                }
                None => say("secret_key", "a key of Stripe's goes on with live_ or test_"),
            },
            (None, Some(kind @ (OfStripe::Publishable | OfStripe::Webhook))) => {
                let why = format!("this is {}; use the secret key (sk_… or rk_…)", kind.name());
                say("secret_key", &why);
            }
            (None, None) => say("secret_key", "use the account's secret key (sk_… or rk_…)"),
        }
        let secret = stripe.webhook_secret.reveal();
        match (header_shape(secret), OfStripe::of(secret)) {
            (Some(why), _) => say("webhook_secret", why),
            (None, Some(OfStripe::Webhook)) if secret.len() >= MIN_WHSEC_BYTES => {}
            (None, Some(OfStripe::Webhook)) => {
                say("webhook_secret", "it is too short; copy the endpoint's signing secret again");
            }
            (None, Some(kind)) => {
                let why = format!(
                    "this is {}; use the webhook endpoint's signing secret (whsec_…)",
                    kind.name()
                );
                say("webhook_secret", &why);
            }
            (None, None) => {
                say("webhook_secret", "use the webhook endpoint's signing secret (whsec_…)");
            }
        }
        if let Some(publishable) = &stripe.publishable_key {
            match (header_shape(publishable), OfStripe::of(publishable)) {
                (Some(why), _) => say("publishable_key", why),
                (None, Some(OfStripe::Publishable)) => {
                    match (Mode::of(publishable), Mode::of(key)) {
                        (Some(shown), Some(secret)) if shown != secret => say(
                            "publishable_key",
                            &format!(
                                "this is a {shown} key and secret_key is a {secret} one; use two of one \
                                 kind"
                            ),
                        ),
                        (Some(mode), _) if is_whole(publishable, mode) => {}
                        (Some(_), _) => say(
                            "publishable_key",
                            "it is too short or has odd characters; copy it again",
                        ),
                        (None, _) => {
                            say("publishable_key", "a key of Stripe's goes on with live_ or test_");
                        }
                    }
                }
                (None, Some(kind)) => {
                    let why = format!(
                        "this is {}, and every buyer would be shown it; use the publishable key (pk_…), \
                         and if it ever ran like this, roll the other one at Stripe",
                        kind.name()
                    );
                    say("publishable_key", &why);
                }
                (None, None) => say("publishable_key", "use the publishable key (pk_…)"),
            }
        }
        match web_address(&stripe.base_url) {
            Err(why) => say("base_url", why),
            Ok(uri) => {
                let near = uri.host().is_some_and(is_this_machine);
                if uri.scheme_str() == Some("http") && !near && Mode::of(key) == Some(Mode::Live) {
                    say("base_url", "a live key travels over https only");
                }
            }
        }
        found
    }

    /// Secrets that stand in two places: who knows one would be let in by the other.
    fn shared_complaints(&self) -> Vec<String> {
        let stripe = self.stripe.as_ref();
        let named = [
            ("admin_key", self.admin_key.as_ref()),
            ("scanner_key", self.scanner_key.as_ref()),
            ("shop_tokens.secret", self.shop_tokens.as_ref().and_then(|shop| shop.secret.as_ref())),
            ("stripe.secret_key", stripe.map(|stripe| &stripe.secret_key)),
            ("stripe.webhook_secret", stripe.map(|stripe| &stripe.webhook_secret)),
            ("sandbox.secret", self.sandbox.secret.as_ref()),
            ("oidc.client_secret", self.oidc.as_ref().map(|oidc| &oidc.client_secret)),
        ];
        let named =
            named.into_iter().filter_map(|(place, secret)| Some((place.to_owned(), secret?)));
        let webhooks = self.webhooks.iter().enumerate();
        let webhooks =
            webhooks.map(|(index, hook)| (format!("webhooks[{index}].secret"), &hook.secret));
        let all: Vec<(String, &Secret)> = named.chain(webhooks).collect();
        let mut found = Vec::new();
        for (index, (place, secret)) in all.iter().enumerate() {
            let same = |(_, other): &&(String, &Secret)| {
                other.reveal() == secret.reveal() && !secret.reveal().is_empty()
            };
            let Some((other, _)) = all[..index].iter().find(same) else { continue };
            // Receivers of messages may share a secret: each learns only what the others could be told.
            if !(place.starts_with("webhooks") && other.starts_with("webhooks")) {
                found.push(format!("{place}: it is the same as {other}; use one of its own"));
            }
        }
        found
    }
}

/// Whether a key is as long as its kind, and made of what keys are made of.
fn is_whole(key: &str, mode: Mode) -> bool {
    let least = match mode {
        Mode::Live => MIN_LIVE_KEY_BYTES,
        Mode::Test => MIN_TEST_KEY_BYTES,
    };
    key.len() >= least && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Whether a text begins as keys of Stripe's do.
pub(super) fn is_stripes(text: &str) -> bool {
    OfStripe::of(text).is_some()
}

/// What is wrong with a secret that two sides made up for each other; `None` if nothing is.
pub fn own_secret_complaint(secret: &Secret) -> Option<String> {
    let text = secret.reveal();
    header_shape(text).map(str::to_owned).or_else(|| own(text, MIN_SHARED_BYTES, "characters"))
}
