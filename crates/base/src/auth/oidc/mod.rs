//! Signing in with an OpenID provider (OpenID Connect Core 1.0): the Authorization Code flow with
//! PKCE (RFC 7636), for one provider that is configured.
//!
//! Nothing is kept of a sign-in that is under way: what is sent follows from a signed cookie of the
//! browser ([`flow`]). What the provider tells is believed once [`claims`] has looked at it, counts
//! if it meets the [`requirements`], and becomes a [`people::Person`].

pub mod claims;
pub mod flow;
pub mod people;
mod provider;
pub mod requirements;

use crate::auth::jwks::Trouble;
use crate::auth::oidc::flow::{Flow, Flows, LIFETIME_S};
use crate::auth::oidc::people::{People, Person};
use crate::auth::oidc::requirements::Requirements;
use crate::config::{Config, Secret};
use crate::http_client::CallError;
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use form_urlencoded::Serializer;
use provider::{Endpoints, Provider};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use std::io;
use std::sync::Arc;
use subtle::ConstantTimeEq;
use tokio::sync::Semaphore;
use tokio::time::Instant;

/// Where the provider sends people back to, below `public_url`.
pub const CALLBACK_PATH: &str = "/api/v1/session/oidc/callback";
/// Where the provider sends people to who signed out there, below `public_url`.
const SIGNED_OUT_PATH: &str = "/admin";
/// Sign-ins that wait for the provider at a time: whoever begins many shall not have us flood it.
const AT_A_TIME: usize = 16;
/// The longest code that a provider gives, in bytes.
const MAX_CODE: usize = 4_096;

/// Why nobody was signed in. Reasons are for the log: nothing secret is in them, and of what the
/// provider says no more than a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotSignedIn {
    /// The provider does not answer, or nobody knows where its services are.
    Away(String),
    /// The provider answers, and not as a provider does.
    Failing(String),
    /// As many sign-ins wait for the provider as may.
    Busy,
    /// It was not begun in this browser, or too long ago.
    NotBegun,
    /// The provider would not have it.
    Refused(String),
    /// It did not sign them in as is demanded: why, and what to do.
    Insufficient(&'static str),
    /// What the provider tells cannot be believed.
    NotGenuine(&'static str),
    /// It is this person, and no group of theirs gives the right to anything.
    NoScopes(Box<str>),
}

impl NotSignedIn {
    /// Whether it is a try that came to nothing: the provider had work with it, or what was brought was
    /// judged. Nobody did anything wrong where the provider said nothing, and any page can send browsers
    /// back that began nothing.
    #[must_use]
    pub const fn is_try(&self) -> bool {
        match self {
            Self::Away(_) | Self::Busy | Self::NotBegun => false,
            Self::Failing(_)
            | Self::Refused(_)
            | Self::Insufficient(_)
            | Self::NotGenuine(_)
            | Self::NoScopes(_) => true,
        }
    }
}

impl From<CallError> for NotSignedIn {
    fn from(error: CallError) -> Self {
        let why = error.to_string();
        if error.is_answer() { Self::Failing(why) } else { Self::Away(why) }
    }
}

/// What the provider adds to the address that it sends people back to.
#[derive(Debug, Default, Deserialize)]
pub struct Returned {
    state: Option<String>,
    code: Option<String>,
    /// Which provider it is (RFC 9207).
    iss: Option<String>,
    error: Option<String>,
}

/// A sign-in that begins: where the browser is sent, and what it keeps meanwhile.
#[derive(Debug)]
pub struct Begun {
    /// The provider's page.
    pub location: String,
    /// The value of the cookie that has to come back, within [`LIFETIME_S`].
    pub cookie: String,
}

/// Somebody whom the provider knows, and who may do something here.
#[derive(Debug)]
pub struct SignedIn {
    /// Who.
    pub person: Person,
    /// The page they were on.
    pub to: String,
    /// What the provider said of them, for [`Oidc::logout_url`].
    pub id_token: Secret,
}

/// Signing in with the configured provider.
pub struct Oidc {
    provider: Arc<Provider>,
    people: Arc<People>,
    requirements: Requirements,
    flows: Flows,
    redirect_uri: String,
    signed_out_uri: String,
    scope: String,
    exchanges: Semaphore,
}

impl Oidc {
    /// As it is configured; nothing is asked yet. `None` without a provider.
    ///
    /// # Errors
    /// Certificates that cannot be used.
    pub fn open(config: &Config, token_key: &[u8; 32]) -> io::Result<Option<Self>> {
        let (Some(settings), Some(public_url)) = (&config.oidc, &config.public_url) else {
            return Ok(None);
        };
        Ok(Some(Self {
            provider: Provider::new(settings).map_err(io::Error::other)?,
            people: Arc::new(People::new(settings)),
            requirements: Requirements::new(settings),
            flows: Flows::new(token_key),
            redirect_uri: format!("{public_url}{CALLBACK_PATH}"),
            signed_out_uri: format!("{public_url}{SIGNED_OUT_PATH}"),
            scope: settings.scopes.join(" "),
            exchanges: Semaphore::new(AT_A_TIME),
        }))
    }

    /// What the provider's people may do.
    #[must_use]
    pub fn people(&self) -> &Arc<People> {
        &self.people
    }

    /// Begins to sign somebody in who wants to go to `to` afterwards.
    ///
    /// # Errors
    /// [`NotSignedIn::Away`].
    pub async fn begin(&self, to: &str, now_s: i64) -> Result<Begun, NotSignedIn> {
        let endpoints = self.provider.endpoints().await?;
        let (flow, cookie) = self.flows.begin(to, now_s);
        let challenge = BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(self.flows.verifier(&flow)));
        let mut query = Serializer::new(String::new());
        query
            .append_pair("response_type", "code")
            .append_pair("client_id", self.provider.client_id())
            .append_pair("redirect_uri", &self.redirect_uri)
            .append_pair("scope", &self.scope)
            .append_pair("state", &self.flows.state(&flow))
            .append_pair("nonce", &self.flows.nonce(&flow))
            .append_pair("code_challenge", &challenge)
            .append_pair("code_challenge_method", "S256");
        self.requirements.ask(&mut query);
        Ok(Begun { location: with_query(&endpoints.authorization, &query.finish()), cookie })
    }

    /// The sign-in that somebody goes on with whom the provider sends back: `cookie` is what their
    /// browser kept. Nobody is asked.
    ///
    /// # Errors
    /// [`NotSignedIn::NotBegun`].
    pub fn under_way(
        &self,
        cookie: Option<&str>,
        returned: &Returned,
        now_s: i64,
    ) -> Result<Flow, NotSignedIn> {
        let flow = cookie.and_then(|cookie| self.flows.read(cookie, now_s));
        let (Some(flow), Some(state)) = (flow, &returned.state) else {
            return Err(NotSignedIn::NotBegun);
        };
        if bool::from(self.flows.state(&flow).as_bytes().ct_eq(state.as_bytes())) {
            Ok(flow)
        } else {
            Err(NotSignedIn::NotBegun)
        }
    }

    /// Goes on with a sign-in ([`Self::under_way`]) where the provider sends somebody back.
    ///
    /// # Errors
    /// Every other [`NotSignedIn`].
    pub async fn finish(
        &self,
        flow: Flow,
        returned: &Returned,
        now_s: i64,
    ) -> Result<SignedIn, NotSignedIn> {
        let endpoints = self.provider.endpoints().await?;
        match &returned.iss {
            Some(iss) if iss != self.provider.issuer() => {
                return Err(NotSignedIn::NotGenuine("another provider sent them back"));
            }
            None if endpoints.says_issuer => {
                return Err(NotSignedIn::NotGenuine("the provider did not say that it is it"));
            }
            Some(_) | None => {}
        }
        if let Some(error) = &returned.error {
            // OpenID Connect Core Error Code unmet_authentication_requirements 1.0.
            if error == "unmet_authentication_requirements" {
                return Err(NotSignedIn::Insufficient(
                    "the provider could not sign them in as it was asked to; look at \
                     oidc.acr_values, and at which second factors they have there",
                ));
            }
            return Err(NotSignedIn::Refused(format!("it says {}", word(error))));
        }
        let code = returned.code.as_deref().filter(|code| (1..=MAX_CODE).contains(&code.len()));
        let code = code.ok_or_else(|| NotSignedIn::Refused("it gave no code".into()))?;
        let (person, id_token) = self.person(&endpoints, &flow, code, now_s).await?;
        Ok(SignedIn { person, to: flow.to, id_token: id_token.into() })
    }

    /// Where somebody goes to sign out at the provider too, who comes back to a page of ours then
    /// (OpenID Connect RP-Initiated Logout 1.0). `None` where it has no such page, or is away.
    ///
    /// Without the ID token that they signed in with, many providers ask first, and some refuse.
    pub async fn logout_url(&self, id_token: Option<&str>) -> Option<String> {
        let endpoints = self.provider.endpoints().await.ok()?;
        let page = endpoints.end_session.as_ref()?;
        let mut query = Serializer::new(String::new());
        query
            .append_pair("client_id", self.provider.client_id())
            .append_pair("post_logout_redirect_uri", &self.signed_out_uri);
        if let Some(id_token) = id_token {
            query.append_pair("id_token_hint", id_token);
        }
        Some(with_query(page, &query.finish()))
    }

    /// Whom a code stands for, and the ID token that says so.
    async fn person(
        &self,
        endpoints: &Endpoints,
        flow: &Flow,
        code: &str,
        now_s: i64,
    ) -> Result<(Person, String), NotSignedIn> {
        let _turn = self.exchanges.try_acquire().map_err(|_| NotSignedIn::Busy)?;
        let verifier = self.flows.verifier(flow);
        let tokens = self.provider.exchange(endpoints, code, &self.redirect_uri, &verifier).await?;
        let expected = claims::Expected {
            issuer: self.provider.issuer(),
            client_id: self.provider.client_id(),
            nonce: &self.flows.nonce(flow),
        };
        let keys = &endpoints.keys;
        if let Some(kid) = claims::kid(&tokens.id_token) {
            keys.look_for(kid.as_deref()).await;
        }
        let verified = || claims::verified(&tokens.id_token, keys, &expected, now_s);
        let judged_at = Instant::now();
        let mut known = verified();
        if known == Err(claims::NOT_SIGNED) && keys.look_again(judged_at).await {
            known = verified();
        }
        if known == Err(claims::NOT_SIGNED)
            && let Some(trouble) = keys.trouble()
        {
            let why = format!("its published keys cannot be fetched: {trouble}");
            return Err(match trouble {
                Trouble::NoAnswer(_) => NotSignedIn::Away(why),
                Trouble::WrongAnswer(_) => NotSignedIn::Failing(why),
            });
        }
        let mut known = known.map_err(NotSignedIn::NotGenuine)?;
        self.requirements.check(&known, now_s).map_err(NotSignedIn::Insufficient)?;
        // Many providers tell groups and names only there.
        if !self.people.has_all(&known)
            && let Some(more) = self.provider.user_info(endpoints, &tokens).await?
        {
            claims::add(&mut known, more).map_err(NotSignedIn::NotGenuine)?;
        }
        let person = self.people.person(self.provider.issuer(), &known);
        let person = person.ok_or(NotSignedIn::NotGenuine("it lacks sub, who it is about"))?;
        if self.people.scopes_of(&person).is_empty() {
            return Err(NotSignedIn::NoScopes(person.name));
        }
        Ok((person, tokens.id_token))
    }
}

/// An address of the provider's, which may have a query of its own, with this one.
fn with_query(page: &str, query: &str) -> String {
    let joined = if page.contains('?') { '&' } else { '?' };
    format!("{page}{joined}{query}")
}

/// What a provider says, if it is a word as the specifications have them.
fn word(text: &str) -> &str {
    let is_word = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
    let fits = (1..=40).contains(&text.len()) && text.bytes().all(is_word);
    if fits { text } else { "something else than a word" }
}

/// For how long a browser keeps the cookie of a sign-in, in seconds.
pub const COOKIE_AGE_S: u32 = LIFETIME_S;
