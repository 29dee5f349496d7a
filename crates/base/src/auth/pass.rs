//! Passes: signed proof of an admission that any other service can verify without asking us, and
//! nobody can forge.

use crate::auth::jws::{JwsSigner, PublicKey, Use};
use crate::auth::keys::KeyDir;
use onrush_core::Time;
use onrush_core::ids::{EventId, PlaceId, UserId};
use serde::Serialize;
use std::io;

/// The longest life of a pass; while the session lasts, a fresh one is to be had at any time.
pub const MAX_PASS_S: i64 = 120;

/// Signs passes with the newest `pass-<since s>.key`; see [`JwsSigner`].
pub struct PassSigner {
    signer: JwsSigner,
    issuer: String,
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
        Ok(Self { signer: JwsSigner::open(keys, Use::Passes)?, issuer: issuer.to_owned() })
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
        Some(self.signer.sign(&claims))
    }

    /// The keys that verify our passes.
    #[must_use]
    pub fn published(&self) -> &[PublicKey] {
        self.signer.published()
    }
}
