//! Public keys that others publish (RFC 7517), the shop or an OpenID provider: fetched, kept, and
//! fetched anew when they are old, a token names one that is not there, or none of them signed it.
//!
//! What a key is decides what it verifies: RSA is RS256, P-256 is ES256, Ed25519 is EdDSA. A token's
//! header only says which of these it claims to be; a public key never serves as a secret.

use crate::config::{JwksSource, ShopAlgorithm};
use crate::http_client::{AddressPolicy, HttpClient};
use axum::http::Request;
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use bytes::Bytes;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents,
    UnparsedPublicKey,
};
use serde::Deserialize;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;
use tokio::time::Instant;

/// How long fetching may take, in milliseconds.
const PATIENCE_MS: u64 = 5_000;
/// Keys are not fetched more often than this, whatever tokens name.
const PAUSE: Duration = Duration::from_secs(10);
/// The longest set that is read from a file, in bytes; over HTTP it is the client's limit.
const MAX_FILE_BYTES: u64 = 1 << 20;
/// Keys of one set that are kept.
const MAX_KEYS: usize = 100;

/// A set as it is published; what we do not know of is read over.
#[derive(Deserialize)]
struct Set {
    keys: Vec<serde_json::Value>,
}

#[derive(Deserialize)]
struct Jwk {
    kty: String,
    kid: Option<String>,
    alg: Option<String>,
    r#use: Option<String>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

/// A key that verifies.
#[derive(Debug)]
struct Key {
    kid: Option<String>,
    public: Public,
}

#[derive(Debug)]
enum Public {
    Rsa { n: Vec<u8>, e: Vec<u8> },
    P256(Vec<u8>),
    Ed25519(Vec<u8>),
}

impl Public {
    const fn algorithm(&self) -> ShopAlgorithm {
        match self {
            Self::Rsa { .. } => ShopAlgorithm::Rs256,
            Self::P256(_) => ShopAlgorithm::Es256,
            Self::Ed25519(_) => ShopAlgorithm::EdDsa,
        }
    }

    fn verifies(&self, signed: &[u8], signature: &[u8]) -> bool {
        match self {
            Self::Rsa { n, e } => RsaPublicKeyComponents { n, e }
                .verify(&RSA_PKCS1_2048_8192_SHA256, signed, signature)
                .is_ok(),
            Self::P256(point) => UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point)
                .verify(signed, signature)
                .is_ok(),
            Self::Ed25519(x) => {
                UnparsedPublicKey::new(&ED25519, x).verify(signed, signature).is_ok()
            }
        }
    }
}

impl Key {
    /// A key of a kind that we know, for signatures; `None` for any other.
    fn of(jwk: serde_json::Value) -> Option<Self> {
        let Jwk { kty, kid, alg, r#use, crv, n, e, x, y } = serde_json::from_value(jwk).ok()?;
        let bytes = |text: Option<String>| BASE64_URL_SAFE_NO_PAD.decode(text?).ok();
        let public = match (kty.as_str(), crv.as_deref()) {
            ("RSA", None) => Public::Rsa { n: bytes(n)?, e: bytes(e)? },
            ("EC", Some("P-256")) => {
                let (x, y) = (bytes(x)?, bytes(y)?);
                (x.len() == 32 && y.len() == 32).then_some(())?;
                Public::P256([&[4][..], &x, &y].concat())
            }
            ("OKP", Some("Ed25519")) => Public::Ed25519(bytes(x)?),
            _ => return None,
        };
        let fits = alg.is_none_or(|alg| alg.parse() == Ok(public.algorithm()))
            && r#use.is_none_or(|of| of == "sig");
        fits.then_some(Self { kid, public })
    }
}

/// What is known of the set now.
#[derive(Default)]
struct Known {
    keys: Vec<Key>,
    fetched_at: Option<Instant>,
    tried_at: Option<Instant>,
}

/// Keys that somebody publishes.
pub struct KeySet {
    /// Who does, for the log.
    whose: &'static str,
    source: JwksSource,
    algorithms: Vec<ShopAlgorithm>,
    /// How old the set may get.
    refresh: Duration,
    client: HttpClient,
    known: RwLock<Known>,
    turn: Arc<tokio::sync::Mutex<()>>,
}

impl KeySet {
    /// A set of the shop's that is not fetched yet.
    #[must_use]
    pub fn new(source: JwksSource, algorithms: Vec<ShopAlgorithm>, refresh_s: u32) -> Arc<Self> {
        // Who configures an address may have it inside.
        Self::over(HttpClient::new(AddressPolicy::Any), "the shop", source, algorithms, refresh_s)
    }

    /// A set of somebody's that is fetched by this client, and not yet.
    #[must_use]
    pub fn over(
        client: HttpClient,
        whose: &'static str,
        source: JwksSource,
        algorithms: Vec<ShopAlgorithm>,
        refresh_s: u32,
    ) -> Arc<Self> {
        Arc::new(Self {
            whose,
            source,
            algorithms,
            refresh: Duration::from_secs(refresh_s.into()),
            client,
            known: RwLock::default(),
            turn: Arc::default(),
        })
    }

    /// Whether a key of the set signed this; the algorithm is the one that its header claims.
    #[must_use]
    pub fn verifies(
        &self,
        (algorithm, kid): (ShopAlgorithm, Option<&str>),
        signed: &[u8],
        signature: &[u8],
    ) -> bool {
        if !self.algorithms.contains(&algorithm) {
            return false;
        }
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let mut fitting = known.keys.iter().filter(|key| key.public.algorithm() == algorithm);
        let key = match kid {
            Some(kid) => fitting.find(|key| key.kid.as_deref() == Some(kid)),
            // Without a name it is the only one there is, or nobody knows which.
            None => fitting.next().filter(|_| fitting.next().is_none()),
        };
        key.is_some_and(|key| key.public.verifies(signed, signature))
    }

    /// Fetches the set if it is old, or lacks a key of this name; waits for it where it is needed
    /// now. What cannot be fetched stays as it was.
    pub async fn look_for(self: &Arc<Self>, kid: Option<&str>) {
        let (lacks, is_old) = {
            let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
            let paused = known.tried_at.is_some_and(|at| at.elapsed() < PAUSE);
            let has = |kid| known.keys.iter().any(|key| key.kid.as_deref() == Some(kid));
            let lacks = known.fetched_at.is_none() || kid.is_some_and(|kid| !has(kid));
            let is_old = known.fetched_at.is_some_and(|at| at.elapsed() >= self.refresh);
            (lacks && !paused, is_old && !paused)
        };
        if lacks {
            self.fetch_in_turn().await;
        } else if is_old && self.turn.try_lock().is_ok() {
            let set = self.clone();
            tokio::spawn(async move { set.fetch_in_turn().await });
        }
    }

    /// Fetches the set once more for a token that none of its keys signed at `judged_at`, unless that
    /// was tried just now: another key may have the name of an old one, or none. Whether it is worth
    /// another look.
    pub async fn look_again(self: &Arc<Self>, judged_at: Instant) -> bool {
        let tried_at = self.known.read().unwrap_or_else(PoisonError::into_inner).tried_at;
        if tried_at.is_some_and(|at| at < judged_at && at.elapsed() < PAUSE) {
            return false;
        }
        // Somebody else may have done so since, and then nothing is left to do.
        if tried_at.is_none_or(|at| at < judged_at) {
            self.fetch_in_turn().await;
        }
        true
    }

    /// Fetches the set, unless somebody else has done so meanwhile. Whoever began it may hang up: it
    /// goes on, and the others who wait for their turn find what came of it.
    async fn fetch_in_turn(self: &Arc<Self>) {
        let asked_at = Instant::now();
        let turn = self.turn.clone().lock_owned().await;
        let tried_at = self.known.read().unwrap_or_else(PoisonError::into_inner).tried_at;
        if tried_at.is_some_and(|at| at >= asked_at) {
            return;
        }
        let set = self.clone();
        let fetching = tokio::spawn(async move {
            set.fetch_now().await;
            drop(turn);
        });
        drop(fetching.await);
    }

    async fn fetch_now(&self) {
        let fetched = self.fetch().await;
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        // The pause begins when the answer is known.
        known.tried_at = Some(Instant::now());
        match fetched {
            Ok(keys) => {
                known.fetched_at = known.tried_at;
                known.keys = keys;
            }
            Err(why) => {
                let whose = self.whose;
                tracing::warn!(
                    why,
                    whose,
                    "published keys cannot be fetched; those of before count on"
                );
            }
        }
    }

    async fn fetch(&self) -> Result<Vec<Key>, String> {
        let text = match &self.source {
            JwksSource::File(path) => {
                let length = std::fs::metadata(path).map_err(|error| error.to_string())?.len();
                if length > MAX_FILE_BYTES {
                    return Err(format!("the file is longer than {MAX_FILE_BYTES} bytes"));
                }
                std::fs::read(path).map_err(|error| error.to_string())?
            }
            JwksSource::Url(url) => {
                let request = Request::get(url.as_str()).body(Bytes::new());
                let request = request.map_err(|error| error.to_string())?;
                let answer = self.client.call(request, PATIENCE_MS).await;
                let answer = answer.map_err(|error| error.to_string())?;
                if answer.status() != 200 {
                    return Err(format!("it answers {}", answer.status()));
                }
                answer.into_body().to_vec()
            }
        };
        let set: Set = serde_json::from_slice(&text)
            .map_err(|_| "it is no JSON object with a list of keys".to_owned())?;
        let keys: Vec<Key> = set.keys.into_iter().filter_map(Key::of).take(MAX_KEYS).collect();
        if keys.is_empty() {
            return Err("it has no key for RS256, ES256 or EdDSA".into());
        }
        Ok(keys)
    }
}
