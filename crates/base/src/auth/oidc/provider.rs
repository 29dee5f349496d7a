//! The provider's servers: what is published there, and what is asked of them.

use super::{NotSignedIn, word};
use crate::auth::jwks::KeySet;
use crate::config::{JwksSource, OidcSettings, ShopAlgorithm};
use crate::http_client::{AddressPolicy, HttpClient};
use axum::http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use axum::http::{HeaderValue, Request, Response};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use form_urlencoded::{Serializer, byte_serialize};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;
use tokio::time::Instant;

/// How old the discovery document may get.
const REFRESH: Duration = Duration::from_secs(3_600);
/// How old the keys may get, in seconds; one that a token names and that is not there is looked for.
const REFRESH_KEYS_S: u32 = 3_600;
/// What does not answer is not asked more often than this.
const PAUSE: Duration = Duration::from_secs(2);

/// The discovery document (OpenID Connect Discovery 1.0, 3), as far as it matters here.
#[derive(Deserialize)]
struct Document {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    jwks_uri: String,
    userinfo_endpoint: Option<String>,
    end_session_endpoint: Option<String>,
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
    #[serde(default)]
    authorization_response_iss_parameter_supported: bool,
}

/// Where the provider's services are.
pub(super) struct Endpoints {
    pub(super) authorization: String,
    token: String,
    user_info: Option<String>,
    pub(super) end_session: Option<String>,
    jwks_uri: String,
    pub(super) keys: Arc<KeySet>,
    /// Whether it takes the client's secret in the body only.
    secret_in_body: bool,
    /// Whether it says who it is when it sends people back.
    pub(super) says_issuer: bool,
}

/// What a code is exchanged for.
#[derive(Deserialize)]
pub(super) struct Tokens {
    pub(super) id_token: String,
    access_token: Option<String>,
}

/// Why a request with a code was refused (RFC 6749, 5.2).
#[derive(Deserialize)]
struct TokenError {
    error: String,
}

#[derive(Default)]
struct Known {
    endpoints: Option<Arc<Endpoints>>,
    fetched_at: Option<Instant>,
    tried_at: Option<Instant>,
    /// Why the last try failed.
    why: String,
}

/// The provider, as it is configured.
pub(super) struct Provider {
    settings: OidcSettings,
    client: HttpClient,
    known: RwLock<Known>,
    turn: Arc<tokio::sync::Mutex<()>>,
}

impl Provider {
    /// Nothing is asked yet.
    ///
    /// # Errors
    /// Certificates that cannot be used, as a sentence.
    pub(super) fn new(settings: &OidcSettings) -> Result<Arc<Self>, String> {
        let place = "oidc.certificates";
        let certificates = settings.certificates.load(place)?;
        // Who configures an address may have it inside.
        let client =
            HttpClient::with_certificates(AddressPolicy::Any, &certificates, place.to_owned())
                .map_err(|why| format!("{place}: {why}"))?;
        let (known, turn) = (RwLock::default(), Arc::default());
        Ok(Arc::new(Self { settings: settings.clone(), client, known, turn }))
    }

    pub(super) fn issuer(&self) -> &str {
        &self.settings.issuer
    }

    pub(super) fn client_id(&self) -> &str {
        &self.settings.client_id
    }

    /// Where its services are; fetched at first, and anew when that is old. What cannot be fetched
    /// stays as it was.
    pub(super) async fn endpoints(self: &Arc<Self>) -> Result<Arc<Endpoints>, NotSignedIn> {
        let (found, is_old) = {
            let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
            let paused = known.tried_at.is_some_and(|at| at.elapsed() < PAUSE);
            let is_old = known.fetched_at.is_none_or(|at| at.elapsed() >= REFRESH);
            (known.endpoints.clone(), is_old && !paused)
        };
        match found {
            Some(endpoints) => {
                if is_old && self.turn.try_lock().is_ok() {
                    let provider = self.clone();
                    tokio::spawn(async move { provider.discover_in_turn().await });
                }
                return Ok(endpoints);
            }
            None if is_old => self.discover_in_turn().await,
            None => {}
        }
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.endpoints.clone().ok_or_else(|| NotSignedIn::Away(known.why.clone()))
    }

    /// Fetches the document, unless somebody else has done so meanwhile. Whoever began it may hang up:
    /// it goes on, and the others who wait for their turn find what came of it.
    async fn discover_in_turn(self: &Arc<Self>) {
        let asked_at = Instant::now();
        let turn = self.turn.clone().lock_owned().await;
        let before = {
            let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
            if known.tried_at.is_some_and(|at| at >= asked_at) {
                return;
            }
            known.endpoints.clone()
        };
        let provider = self.clone();
        let discovering = tokio::spawn(async move {
            provider.discover_now(before).await;
            drop(turn);
        });
        drop(discovering.await);
    }

    async fn discover_now(&self, before: Option<Arc<Endpoints>>) {
        let found = self.discover(before.as_deref()).await;
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        // The pause begins when it is known that there was no answer.
        known.tried_at = Some(Instant::now());
        match found {
            Ok(endpoints) => {
                known.fetched_at = Some(Instant::now());
                known.endpoints = Some(Arc::new(endpoints));
            }
            Err(why) => {
                tracing::warn!(why, "the OpenID provider's discovery document cannot be had");
                known.why = why;
            }
        }
    }

    async fn discover(&self, before: Option<&Endpoints>) -> Result<Endpoints, String> {
        let issuer = self.issuer();
        let url = format!("{}/.well-known/openid-configuration", issuer.trim_end_matches('/'));
        let request = Request::get(url).header(ACCEPT, "application/json").body(Bytes::new());
        let request = request.map_err(|error| error.to_string())?;
        let answer = self.client.call(request, self.settings.patience_ms).await;
        let answer = answer.map_err(|error| error.to_string())?;
        if answer.status() != 200 {
            return Err(format!("it answers {}; look at oidc.issuer", answer.status()));
        }
        let document: Document = json(&answer).ok_or(
            "it is no discovery document in JSON, or lacks an endpoint; look at oidc.issuer",
        )?;
        if document.issuer != issuer {
            return Err(
                "it is of another issuer; set oidc.issuer exactly as it stands there".into()
            );
        }
        let safe = |name: &str, url: String| {
            let begins = url.starts_with("https://")
                || self.settings.is_near() && url.starts_with("http://");
            // Else somebody on the way could read codes and secrets, or change what is signed.
            let is_plain = url.bytes().all(|byte| byte.is_ascii_graphic()) && !url.contains('#');
            if begins && is_plain {
                Ok(url)
            } else {
                Err(format!("its {name} is no https address"))
            }
        };
        let jwks_uri = safe("jwks_uri", document.jwks_uri)?;
        let same = before.filter(|before| before.jwks_uri == jwks_uri);
        let keys = same.map_or_else(|| self.keys_at(&jwks_uri), |before| before.keys.clone());
        let user_info = document.userinfo_endpoint;
        // Signing in does not hang on it.
        let end_session = document.end_session_endpoint.and_then(|url| {
            let complain = |why: &String| tracing::warn!(why, "nobody can sign out there");
            safe("end_session_endpoint", url).inspect_err(complain).ok()
        });
        let methods = document.token_endpoint_auth_methods_supported;
        let takes = |method: &str| methods.iter().flatten().any(|other| other == method);
        Ok(Endpoints {
            authorization: safe("authorization_endpoint", document.authorization_endpoint)?,
            token: safe("token_endpoint", document.token_endpoint)?,
            user_info: user_info.map(|url| safe("userinfo_endpoint", url)).transpose()?,
            end_session,
            jwks_uri,
            keys,
            secret_in_body: takes("client_secret_post") && !takes("client_secret_basic"),
            says_issuer: document.authorization_response_iss_parameter_supported,
        })
    }

    fn keys_at(&self, url: &str) -> Arc<KeySet> {
        let source = JwksSource::Url(url.to_owned());
        let client = self.client.clone();
        let algorithms = ShopAlgorithm::ALL.to_vec();
        KeySet::over(client, "the OpenID provider", source, algorithms, REFRESH_KEYS_S)
    }

    /// Exchanges a code for tokens (OpenID Connect Core 1.0, 3.1.3).
    pub(super) async fn exchange(
        &self,
        endpoints: &Endpoints,
        code: &str,
        redirect_uri: &str,
        verifier: &str,
    ) -> Result<Tokens, NotSignedIn> {
        let request = self.code_request(endpoints, code, redirect_uri, verifier)?;
        let answer = self.client.call(request, self.settings.patience_ms).await?;
        let status = answer.status();
        if status == 200 {
            return json(&answer)
                .ok_or(NotSignedIn::NotGenuine("it gave no ID token for the code"));
        }
        let said = json::<TokenError>(&answer).map(|TokenError { error }| error);
        // The specification has 400 and 401; some say `invalid_grant` with 403, or another one.
        let is_refused = match status.as_u16() {
            400 | 401 | 403 => true,
            429 => false,
            _ => status.is_client_error() && said.is_some(),
        };
        if !is_refused {
            let why = format!("its token endpoint answers {}", status.as_u16());
            return Err(NotSignedIn::Failing(why));
        }
        let said = word(said.as_deref().unwrap_or_default());
        let known = if status == 401 || said == "invalid_client" {
            "; look at oidc.client_id and oidc.client_secret"
        } else {
            ""
        };
        Err(NotSignedIn::Refused(format!("the code was refused with {said}{known}")))
    }

    fn code_request(
        &self,
        endpoints: &Endpoints,
        code: &str,
        redirect_uri: &str,
        verifier: &str,
    ) -> Result<Request<Bytes>, NotSignedIn> {
        let OidcSettings { client_id, client_secret, .. } = &self.settings;
        let mut form = Serializer::new(String::new());
        form.append_pair("grant_type", "authorization_code")
            .append_pair("code", code)
            .append_pair("redirect_uri", redirect_uri)
            .append_pair("code_verifier", verifier);
        let mut request = Request::post(&endpoints.token)
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .header(ACCEPT, "application/json");
        if endpoints.secret_in_body {
            form.append_pair("client_id", client_id)
                .append_pair("client_secret", client_secret.reveal());
        } else {
            // RFC 6749, 2.3.1.
            let coded = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
            let both = format!("{}:{}", coded(client_id), coded(client_secret.reveal()));
            let basic = format!("Basic {}", BASE64_STANDARD.encode(both));
            request = request.header(AUTHORIZATION, secret_header(&basic)?);
        }
        request.body(Bytes::from(form.finish())).map_err(|_| unusable())
    }

    /// What the provider tells of a person beside the ID token (5.3); `None` if it tells nothing
    /// more.
    pub(super) async fn user_info(
        &self,
        endpoints: &Endpoints,
        tokens: &Tokens,
    ) -> Result<Option<Map<String, Value>>, NotSignedIn> {
        let (Some(url), Some(token)) = (&endpoints.user_info, &tokens.access_token) else {
            return Ok(None);
        };
        let bearer = secret_header(&format!("Bearer {token}"))?;
        let request = Request::get(url).header(ACCEPT, "application/json");
        let request = request.header(AUTHORIZATION, bearer).body(Bytes::new());
        let answer =
            self.client.call(request.map_err(|_| unusable())?, self.settings.patience_ms).await?;
        if answer.status() != 200 {
            let why = format!("its UserInfo endpoint answers {}", answer.status());
            return Err(NotSignedIn::Failing(why));
        }
        let told = json(&answer);
        told.map(Some).ok_or(NotSignedIn::NotGenuine("its UserInfo is no JSON object"))
    }
}

fn unusable() -> NotSignedIn {
    NotSignedIn::NotGenuine("what it gave cannot be sent back to it")
}

/// A header that no log shows.
fn secret_header(text: &str) -> Result<HeaderValue, NotSignedIn> {
    let mut value = HeaderValue::try_from(text).map_err(|_| unusable())?;
    value.set_sensitive(true);
    Ok(value)
}

fn json<T: DeserializeOwned>(answer: &Response<Bytes>) -> Option<T> {
    serde_json::from_slice(answer.body()).ok()
}
