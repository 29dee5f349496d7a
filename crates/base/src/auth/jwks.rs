//! Public keys that others publish (RFC 7517), the shop or an OpenID provider: fetched, kept, and
//! fetched anew when they are old, a token names one that is not there, or none of them signed it. The
//! shop's outlive the process (`kept_set.rs`).
//!
//! What a key is decides what it verifies: RSA is RS256, P-256 is ES256, Ed25519 is EdDSA. A token's
//! header only says which of these it claims to be; a public key never serves as a secret.

use crate::auth::kept_set::KeptSet;
use crate::config::{JwksSource, ShopAlgorithm};
use crate::http_client::{AddressPolicy, CallError, HttpClient};
use axum::http::Request;
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use bytes::Bytes;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents,
    UnparsedPublicKey,
};
use serde::Deserialize;
use serde_json::Value;
use std::io;
use std::path::Path;
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
    keys: Vec<Value>,
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
    fn of(jwk: &Value) -> Option<Self> {
        let Jwk { kty, kid, alg, r#use, crv, n, e, x, y } = Jwk::deserialize(jwk).ok()?;
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

/// Why a set could not be fetched: sentences for the log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    /// Nothing was answered.
    #[error("{0}")]
    NoAnswer(String),
    /// What was answered is no set of keys.
    #[error("{0}")]
    WrongAnswer(String),
}

impl From<CallError> for Trouble {
    fn from(error: CallError) -> Self {
        let why = error.to_string();
        if error.is_answer() { Self::WrongAnswer(why) } else { Self::NoAnswer(why) }
    }
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Self::NoAnswer(error.to_string())
    }
}

/// What is known of the set now.
#[derive(Default)]
struct Known {
    /// None if there never were any: a set without a key is not taken.
    keys: Vec<Key>,
    fetched_at: Option<Instant>,
    tried_at: Option<Instant>,
    /// Why it could not be fetched when that was tried last.
    trouble: Option<Trouble>,
}

impl Known {
    /// The key that a token means by its header.
    fn key(&self, algorithm: ShopAlgorithm, kid: Option<&str>) -> Option<&Key> {
        let mut fitting = self.keys.iter().filter(|key| key.public.algorithm() == algorithm);
        match kid {
            Some(kid) => fitting.find(|key| key.kid.as_deref() == Some(kid)),
            // Without a name it is the only one there is, or nobody knows which.
            None => fitting.next().filter(|_| fitting.next().is_none()),
        }
    }
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
    /// Where it is kept for the next start, if it is.
    kept: Option<KeptSet>,
    turn: Arc<tokio::sync::Mutex<()>>,
}

impl KeySet {
    /// A set of the shop's that is not fetched yet. What comes from an address is kept in the directory
    /// `data`, and what was kept there counts until it is fetched.
    #[must_use]
    pub fn new(
        source: JwksSource,
        algorithms: Vec<ShopAlgorithm>,
        refresh_s: u32,
        data: Option<&Path>,
    ) -> Arc<Self> {
        let kept = match (&source, data) {
            (JwksSource::Url(address), Some(data)) => Some(KeptSet::below(data, address)),
            (JwksSource::File(_), _) | (JwksSource::Url(_), None) => None,
        };
        // Who configures an address may have it inside.
        let client = HttpClient::new(AddressPolicy::Any);
        Self::keeping(client, "the shop", source, algorithms, refresh_s, kept)
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
        Self::keeping(client, whose, source, algorithms, refresh_s, None)
    }

    fn keeping(
        client: HttpClient,
        whose: &'static str,
        source: JwksSource,
        algorithms: Vec<ShopAlgorithm>,
        refresh_s: u32,
        kept: Option<KeptSet>,
    ) -> Arc<Self> {
        let before = kept.as_ref().map_or_else(|| Ok(Vec::new()), KeptSet::read);
        let before = before.unwrap_or_else(|error| {
            tracing::warn!(%error, whose, "published keys of before cannot be read");
            Vec::new()
        });
        let keys = before.iter().filter_map(Key::of).take(MAX_KEYS).collect();
        Arc::new(Self {
            whose,
            source,
            algorithms,
            refresh: Duration::from_secs(refresh_s.into()),
            client,
            known: RwLock::new(Known { keys, ..Known::default() }),
            kept,
            turn: Arc::default(),
        })
    }

    /// Whether a token may be signed like this.
    #[must_use]
    pub fn takes(&self, algorithm: ShopAlgorithm) -> bool {
        self.algorithms.contains(&algorithm)
    }

    /// Whether the key that a token means may be one that is published by now and not known here: the
    /// set could not be fetched when that was tried last, and what is known of it has no such key.
    #[must_use]
    pub fn may_lack(&self, algorithm: ShopAlgorithm, kid: Option<&str>) -> bool {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.trouble.is_some() && known.key(algorithm, kid).is_none()
    }

    /// Why the set could not be fetched when that was tried last; `None` if it was.
    #[must_use]
    pub fn trouble(&self) -> Option<Trouble> {
        self.known.read().unwrap_or_else(PoisonError::into_inner).trouble.clone()
    }

    /// Whether a key of the set signed this; the algorithm is the one that its header claims.
    #[must_use]
    pub fn verifies(
        &self,
        (algorithm, kid): (ShopAlgorithm, Option<&str>),
        signed: &[u8],
        signature: &[u8],
    ) -> bool {
        if !self.takes(algorithm) {
            return false;
        }
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let key = known.key(algorithm, kid);
        key.is_some_and(|key| key.public.verifies(signed, signature))
    }

    /// Fetches the set if it is old, or lacks a key of this name; waits for it where it is needed
    /// now, and when this process has not asked for it yet: what was kept may be old. What cannot be
    /// fetched stays as it was.
    pub async fn look_for(self: &Arc<Self>, kid: Option<&str>) {
        let (lacks, is_old) = {
            let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
            let paused = known.tried_at.is_some_and(|at| at.elapsed() < PAUSE);
            let has = |kid| known.keys.iter().any(|key| key.kid.as_deref() == Some(kid));
            let is_new = known.tried_at.is_none() || known.keys.is_empty();
            let lacks = is_new || kid.is_some_and(|kid| !has(kid));
            let is_old = known.fetched_at.is_none_or(|at| at.elapsed() >= self.refresh);
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
        let Some(set) = self.take_in(fetched) else { return };
        if let Some(kept) = &self.kept
            && let Err(error) = kept.keep(set).await
        {
            let whose = self.whose;
            tracing::warn!(%error, whose, "published keys cannot be kept for the next start");
        }
    }

    /// Knows from now on what was fetched; the set as it was published, if it was.
    fn take_in(&self, fetched: Result<(Vec<Key>, Vec<Value>), Trouble>) -> Option<Vec<Value>> {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        // The pause begins when the answer is known.
        known.tried_at = Some(Instant::now());
        match fetched {
            Ok((keys, set)) => {
                known.fetched_at = known.tried_at;
                known.keys = keys;
                known.trouble = None;
                Some(set)
            }
            Err(why) => {
                let (whose, keys) = (self.whose, known.keys.len());
                tracing::warn!(
                    %why,
                    whose,
                    keys,
                    "published keys cannot be fetched; those of before count on"
                );
                known.trouble = Some(why);
                None
            }
        }
    }

    /// The keys, and what they were read from.
    async fn fetch(&self) -> Result<(Vec<Key>, Vec<Value>), Trouble> {
        let text = match &self.source {
            JwksSource::File(path) => {
                if std::fs::metadata(path)?.len() > MAX_FILE_BYTES {
                    let why = format!("the file is longer than {MAX_FILE_BYTES} bytes");
                    return Err(Trouble::WrongAnswer(why));
                }
                std::fs::read(path)?
            }
            JwksSource::Url(url) => {
                let request = Request::get(url.as_str()).body(Bytes::new());
                let request = request.map_err(|error| Trouble::NoAnswer(error.to_string()))?;
                let answer = self.client.call(request, PATIENCE_MS).await?;
                if answer.status() != 200 {
                    return Err(Trouble::WrongAnswer(format!("it answers {}", answer.status())));
                }
                answer.into_body().to_vec()
            }
        };
        let wrong = |why: &str| Trouble::WrongAnswer(why.to_owned());
        let set: Set = serde_json::from_slice(&text)
            .map_err(|_| wrong("it is no JSON object with a list of keys"))?;
        let keys = set.keys.into_iter().filter_map(|jwk| Some((Key::of(&jwk)?, jwk)));
        let (keys, set): (Vec<Key>, Vec<Value>) = keys.take(MAX_KEYS).unzip();
        if keys.is_empty() {
            return Err(wrong("it has no key for RS256, ES256 or EdDSA"));
        }
        Ok((keys, set))
    }
}
