//! Passes: signed proof of an admission that any other service can verify without asking us, and
//! nobody can forge.

use crate::auth::jws::{JwsSigner, PublicKey, Use};
use crate::auth::keys::KeyDir;
use onrush_core::Time;
use onrush_core::ids::{EventId, PlaceId, UserId};
use onrush_store::embedded::Clock;
use serde::Serialize;
use std::io;

/// The longest life of a pass; while the session lasts, a fresh one is to be had at any time.
pub const MAX_PASS_S: i64 = 120;

/// Signs passes with the newest `pass-<since s>.key`; see [`JwsSigner`].
pub struct PassSigner {
    signer: JwsSigner,
    issuer: String,
    /// The engine's clock, which sessions end by.
    clock: Clock,
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
    /// Reads the keys; the first one is drawn if there is none. `clock` is the engine's.
    ///
    /// # Errors
    /// Whatever the file system says.
    pub fn open(keys: &KeyDir, issuer: &str, clock: Clock) -> io::Result<Self> {
        let signer = JwsSigner::open(keys, Use::Passes)?;
        Ok(Self { signer, issuer: issuer.to_owned(), clock })
    }

    /// A pass for an admitted visitor whose session ends at `until`, by the engine's clock; `None` if
    /// that is within the second. `now_s` is the system's clock, which others check a pass by: the
    /// pass lives as long by it as the session goes on, also while the two clocks differ.
    #[must_use]
    pub fn sign(
        &self,
        event: &EventId,
        user: &UserId,
        place: PlaceId,
        until: Time,
        now_s: i64,
    ) -> Option<String> {
        let rest_s = until.since_ms(self.clock.now()).div_euclid(1_000);
        if rest_s < 1 {
            return None;
        }
        let exp = now_s.saturating_add(rest_s.min(MAX_PASS_S));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::jws::JwsVerifier;
    use onrush_store::embedded::ManualClock;
    use serde_json::Value;

    const NOW_S: i64 = 1_790_000_000;

    #[test]
    fn a_pass_lives_as_long_as_its_session_also_while_the_clocks_differ() {
        let dir = tempfile::tempdir().unwrap();
        let keys = KeyDir::open(dir.path()).unwrap();
        for ahead_s in [-3_600, 0, 3_600] {
            let now = Time((NOW_S + ahead_s) * 1_000);
            let clock = Clock::Manual(ManualClock::new(now));
            let signer = PassSigner::open(&keys, "onrush", clock).unwrap();
            let verifier = JwsVerifier::new(signer.published(), Use::Passes);
            let (event, user) = ("e".parse().unwrap(), "ann".parse().unwrap());
            let life_s = |rest_ms: i64| {
                let until = now.plus_ms(rest_ms);
                let pass = signer.sign(&event, &user, PlaceId::from_u128(7), until, NOW_S)?;
                let claims: Value = verifier.verify(&pass).unwrap();
                assert_eq!(claims["iat"], NOW_S);
                claims["exp"].as_i64().map(|exp| exp - NOW_S)
            };
            assert_eq!(life_s(50_999), Some(50), "{ahead_s}");
            assert_eq!(life_s(600_000), Some(MAX_PASS_S), "{ahead_s}");
            assert_eq!((life_s(999), life_s(-5_000)), (None, None), "{ahead_s}");
        }
    }
}
