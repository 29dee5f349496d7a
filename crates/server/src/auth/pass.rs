//! Passes: signed proof of an admission that any other service can verify without asking us, and nobody can forge.

use crate::auth::keys::KeyDir;
use crate::auth::{hex, unix_now_s};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ed25519_dalek::{Signer, SigningKey};
use onrush_core::Time;
use onrush_core::ids::{EventId, PlaceId, UserId};
use serde::Serialize;
use serde_json::json;
use sha2::{Digest, Sha256};
use std::io;

/// The longest life of a pass; while the session lasts, a fresh one is to be had at any time.
pub const MAX_PASS_S: i64 = 120;

/// Signs passes with the newest key and publishes all of them.
///
/// Each key is a file `pass-<since s>.key`. To rotate, put a newer one beside it and start again; remove the old one
/// once its last pass has expired.
pub struct PassSigner {
    key: SigningKey,
    /// The JWS header with its dot, encoded: the same for every pass.
    header: String,
    issuer: String,
    published: serde_json::Value,
}

#[derive(Serialize)]
struct Claims<'a> {
    iss: &'a str,
    aud: &'a str,
    sub: &'a str,
    place: PlaceId,
    iat: i64,
    exp: i64,
}

impl PassSigner {
    /// Reads the keys; the first one is drawn if there is none.
    ///
    /// # Errors
    /// Whatever the file system says.
    pub fn open(keys: &KeyDir, issuer: &str) -> io::Result<Self> {
        let mut names = keys.names("pass-")?;
        if names.is_empty() {
            names.push(format!("pass-{:012}.key", unix_now_s()));
        }
        let mut all = Vec::with_capacity(names.len());
        for name in &names {
            all.push(SigningKey::from_bytes(&keys.load_or_draw(name)?));
        }
        let published = all.iter().map(|key| {
            let public = key.verifying_key();
            json!({
                "kty": "OKP", "crv": "Ed25519", "use": "sig", "alg": "EdDSA",
                "kid": kid(public.as_bytes()), "x": BASE64_URL_SAFE_NO_PAD.encode(public.as_bytes()),
            })
        });
        let published = json!({ "keys": published.collect::<Vec<_>>() });
        let key = all.pop().ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
        let header =
            json!({"alg": "EdDSA", "kid": kid(key.verifying_key().as_bytes()), "typ": "JWT"});
        let header = BASE64_URL_SAFE_NO_PAD.encode(header.to_string()) + ".";
        Ok(Self { key, header, issuer: issuer.to_owned(), published })
    }

    /// A pass for an admitted visitor; `None` if the session ends within the second.
    #[must_use]
    pub fn sign(
        &self,
        event: &EventId,
        user: &UserId,
        place: PlaceId,
        until: Time,
        now_s: i64,
    ) -> Option<String> {
        let exp = now_s.saturating_add(MAX_PASS_S).min(until.0.div_euclid(1_000));
        if exp <= now_s {
            return None;
        }
        let claims = Claims {
            iss: &self.issuer,
            aud: event.as_str(),
            sub: user.as_str(),
            place,
            iat: now_s,
            exp,
        };
        let claims = serde_json::to_vec(&claims).ok()?;
        let mut token = String::with_capacity(self.header.len() + claims.len() * 4 / 3 + 96);
        token.push_str(&self.header);
        BASE64_URL_SAFE_NO_PAD.encode_string(claims, &mut token);
        let signature = self.key.sign(token.as_bytes());
        token.push('.');
        BASE64_URL_SAFE_NO_PAD.encode_string(signature.to_bytes(), &mut token);
        Some(token)
    }

    /// The JWK set that verifies our passes.
    #[must_use]
    pub fn published(&self) -> &serde_json::Value {
        &self.published
    }
}

/// A key's name: the first 16 digits of its SHA-256.
fn kid(public: &[u8; 32]) -> String {
    hex(&Sha256::digest(public)[..8])
}
