//! Compact JWS with Ed25519 (RFC 7515, RFC 8037): what others verify without asking us, and nobody can forge.

use crate::auth::keys::KeyDir;
use crate::auth::{hex, unix_now_s};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::io;

/// The longest text that is looked at as a JWS, in bytes.
pub const MAX_JWS_BYTES: usize = 4_096;

/// What a set of keys is for. A key signs one kind of thing only, and so does the `typ` in the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// Proof of an admission.
    Passes,
    /// Tickets of confirmed bookings.
    Tickets,
}

impl Use {
    /// What the names of the key files begin with.
    const fn file_prefix(self) -> &'static str {
        match self {
            Self::Passes => "pass-",
            Self::Tickets => "ticket-",
        }
    }

    /// The `typ` in the header.
    const fn typ(self) -> &'static str {
        match self {
            Self::Passes => "JWT",
            Self::Tickets => "ticket+jwt",
        }
    }

    /// The `for` of a published key.
    const fn published_as(self) -> &'static str {
        match self {
            Self::Passes => "passes",
            Self::Tickets => "tickets",
        }
    }
}

/// A public key as it is published (RFC 8037), with `for` added: what the key is for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PublicKey {
    kty: String,
    crv: String,
    r#use: String,
    alg: String,
    kid: String,
    x: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    r#for: Option<String>,
}

/// A JWK set (RFC 7517).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PublicKeys {
    /// Keys of every use.
    pub keys: Vec<PublicKey>,
}

/// Signs with the newest key and publishes all of them.
///
/// Each key is a file `<use>-<since s>.key`. To rotate, put a newer one beside it and start again;
/// remove the old one once nothing that it signed is of use any more.
pub struct JwsSigner {
    key: SigningKey,
    /// The header with its dot, encoded: the same for everything that is signed.
    header: String,
    published: Vec<PublicKey>,
}

impl JwsSigner {
    /// Reads the keys; the first one is drawn if there is none.
    ///
    /// # Errors
    /// Whatever the file system says.
    pub fn open(keys: &KeyDir, purpose: Use) -> io::Result<Self> {
        let mut names = keys.names(purpose.file_prefix())?;
        if names.is_empty() {
            names.push(format!("{}{:012}.key", purpose.file_prefix(), unix_now_s()));
        }
        let mut all = Vec::with_capacity(names.len());
        for name in &names {
            all.push(SigningKey::from_bytes(&keys.load_or_draw(name)?));
        }
        let published =
            all.iter().map(|key| published(&key.verifying_key(), purpose)).collect::<Vec<_>>();
        let key = all.pop().ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
        let header = Header {
            alg: "EdDSA".into(),
            kid: kid(key.verifying_key().as_bytes()),
            typ: purpose.typ().into(),
        };
        let header = serde_json::to_vec(&header).map_err(io::Error::other)?;
        let header = BASE64_URL_SAFE_NO_PAD.encode(header) + ".";
        Ok(Self { key, header, published })
    }

    /// Signs claims. The same claims give the same text until the key changes.
    ///
    /// # Panics
    /// If the claims cannot be written as JSON, which none of ours can fail to.
    #[must_use]
    pub fn sign(&self, claims: &impl Serialize) -> String {
        let claims = serde_json::to_vec(claims).expect("claims are JSON");
        let mut token = String::with_capacity(self.header.len() + claims.len() * 4 / 3 + 96);
        token.push_str(&self.header);
        BASE64_URL_SAFE_NO_PAD.encode_string(claims, &mut token);
        let signature = self.key.sign(token.as_bytes());
        token.push('.');
        BASE64_URL_SAFE_NO_PAD.encode_string(signature.to_bytes(), &mut token);
        token
    }

    /// The keys that verify what was signed, the oldest first.
    #[must_use]
    pub fn published(&self) -> &[PublicKey] {
        &self.published
    }
}

/// Why a JWS is not believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotGenuine {
    /// It is not a compact JWS of the kind that is expected.
    #[error("it does not have the form of one")]
    Malformed,
    /// It names a key that is not in the set.
    #[error("it names a key that is not in the key set")]
    UnknownKey,
    /// The signature is not that key's.
    #[error("its signature is wrong")]
    WrongSignature,
}

/// Verifies with the published keys of one use.
pub struct JwsVerifier {
    purpose: Use,
    keys: Vec<(String, VerifyingKey)>,
}

impl JwsVerifier {
    /// Takes those keys from a set that are for this use; keys of other kinds are left out.
    #[must_use]
    pub fn new(published: &[PublicKey], purpose: Use) -> Self {
        let fits = |key: &&PublicKey| {
            key.kty == "OKP"
                && key.crv == "Ed25519"
                && key.r#for.as_deref().is_none_or(|of| of == purpose.published_as())
        };
        let keys = published.iter().filter(fits).filter_map(|key| {
            let public = BASE64_URL_SAFE_NO_PAD.decode(&key.x).ok()?;
            let public = VerifyingKey::from_bytes(&public.try_into().ok()?).ok()?;
            Some((key.kid.clone(), public))
        });
        Self { purpose, keys: keys.collect() }
    }

    /// Whether there is no key at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The claims of a genuine one. What they say is not checked here.
    ///
    /// # Errors
    /// [`NotGenuine`], with what is wrong.
    pub fn verify<T: DeserializeOwned>(&self, token: &str) -> Result<T, NotGenuine> {
        if token.len() > MAX_JWS_BYTES {
            return Err(NotGenuine::Malformed);
        }
        let decode =
            |part: &str| BASE64_URL_SAFE_NO_PAD.decode(part).map_err(|_| NotGenuine::Malformed);
        let (signed, signature) = token.rsplit_once('.').ok_or(NotGenuine::Malformed)?;
        let (header, claims) = signed.split_once('.').ok_or(NotGenuine::Malformed)?;
        let header: Header =
            serde_json::from_slice(&decode(header)?).map_err(|_| NotGenuine::Malformed)?;
        // The algorithm is pinned: what the header says decides nothing.
        if header.alg != "EdDSA" || header.typ != self.purpose.typ() {
            return Err(NotGenuine::Malformed);
        }
        let key = self.keys.iter().find(|(kid, _)| *kid == header.kid);
        let (_, key) = key.ok_or(NotGenuine::UnknownKey)?;
        let signature =
            Signature::from_slice(&decode(signature)?).map_err(|_| NotGenuine::Malformed)?;
        key.verify_strict(signed.as_bytes(), &signature).map_err(|_| NotGenuine::WrongSignature)?;
        serde_json::from_slice(&decode(claims)?).map_err(|_| NotGenuine::Malformed)
    }
}

/// A part of a token that others made: JSON in Unicode, also in members that are read over.
pub(crate) fn json_part<T: DeserializeOwned>(part: &str) -> Option<T> {
    let text = String::from_utf8(BASE64_URL_SAFE_NO_PAD.decode(part).ok()?).ok()?;
    serde_json::from_str(&text).ok()
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    alg: String,
    kid: String,
    typ: String,
}

fn published(key: &VerifyingKey, purpose: Use) -> PublicKey {
    PublicKey {
        kty: "OKP".into(),
        crv: "Ed25519".into(),
        r#use: "sig".into(),
        alg: "EdDSA".into(),
        kid: kid(key.as_bytes()),
        x: BASE64_URL_SAFE_NO_PAD.encode(key.as_bytes()),
        r#for: Some(purpose.published_as().into()),
    }
}

/// A key's name: the first 16 digits of its SHA-256.
fn kid(public: &[u8; 32]) -> String {
    hex(&Sha256::digest(public)[..8])
}
