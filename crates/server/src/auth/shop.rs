//! The shop's own tokens: JWTs signed with HS256 and a shared secret. No other algorithm is ever tried.

use crate::auth::{KeyedMac, TokenError, hex};
use crate::config::ShopTokens;
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use hmac::{KeyInit, Mac};
use onrush_core::ids::UserId;
use serde::Deserialize;
use sha2::{Digest, Sha256};

/// Checks the shop's tokens.
pub struct ShopVerifier {
    mac: KeyedMac,
    issuer: String,
    audience: String,
}

#[derive(Deserialize)]
struct Header {
    alg: String,
    /// Extensions that must be understood (RFC 7515, 4.1.11); we understand none.
    crit: Option<serde::de::IgnoredAny>,
}

#[derive(Deserialize)]
struct Claims {
    iss: String,
    sub: String,
    aud: Audience,
    exp: f64,
    nbf: Option<f64>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Audience {
    One(String),
    Many(Vec<String>),
}

impl ShopVerifier {
    /// Checks against the configured secret, issuer and audience.
    #[must_use]
    pub fn new(config: &ShopTokens) -> Self {
        Self {
            mac: KeyedMac::new_from_slice(config.secret.reveal().as_bytes())
                .expect("a key of any length is accepted"),
            issuer: config.issuer.clone(),
            audience: config.audience.clone(),
        }
    }

    /// Whose token this is: `u_` and the SHA-256 of issuer and subject, so that no subject can pass for a guest.
    ///
    /// # Errors
    /// `Invalid` unless algorithm, signature, issuer and audience are right; `Expired` from `exp` on.
    pub fn verify(&self, token: &str, now_s: i64) -> Result<UserId, TokenError> {
        let invalid = TokenError::Invalid;
        let (signed, signature) = token.rsplit_once('.').ok_or(invalid)?;
        let (header, claims) = signed.split_once('.').ok_or(invalid)?;
        let signature = BASE64_URL_SAFE_NO_PAD.decode(signature).map_err(|_| invalid)?;
        let mut mac = self.mac.clone();
        mac.update(signed.as_bytes());
        mac.verify_slice(&signature).map_err(|_| invalid)?;
        let header: Header = decode(header).ok_or(invalid)?;
        if header.alg != "HS256" || header.crit.is_some() {
            return Err(invalid);
        }
        let claims: Claims = decode(claims).ok_or(invalid)?;
        let for_us = match &claims.aud {
            Audience::One(audience) => *audience == self.audience,
            Audience::Many(audiences) => audiences.contains(&self.audience),
        };
        // NumericDate may carry a fraction; it is compared, never stored.
        let now = now_s as f64;
        if claims.iss != self.issuer || !for_us || claims.nbf.is_some_and(|nbf| nbf > now) {
            return Err(invalid);
        }
        if now >= claims.exp {
            return Err(TokenError::Expired);
        }
        let mut hash = Sha256::new();
        hash.update(claims.iss.as_bytes());
        hash.update([0]);
        hash.update(claims.sub.as_bytes());
        format!("u_{}", hex(&hash.finalize())).parse().map_err(|_| invalid)
    }
}

fn decode<T: serde::de::DeserializeOwned>(part: &str) -> Option<T> {
    serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(part).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    const SECRET: &str = "a shared secret of at least 32 bytes";

    fn verifier() -> ShopVerifier {
        ShopVerifier::new(&ShopTokens {
            secret: SECRET.to_owned().into(),
            issuer: "https://shop.example".into(),
            audience: "onrush".into(),
        })
    }

    fn token(header: &Value, claims: &Value) -> String {
        let part = |value: &Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", part(header), part(claims));
        let mut mac = KeyedMac::new_from_slice(SECRET.as_bytes()).unwrap();
        mac.update(signed.as_bytes());
        format!("{signed}.{}", BASE64_URL_SAFE_NO_PAD.encode(mac.finalize().into_bytes()))
    }

    fn claims() -> Value {
        json!({"iss": "https://shop.example", "sub": "42", "aud": ["onrush"], "exp": 2_000})
    }

    #[test]
    fn a_shop_token_names_a_user_by_issuer_and_subject() {
        let user = verifier().verify(&token(&json!({"alg": "HS256"}), &claims()), 1_999).unwrap();
        assert!(user.as_str().starts_with("u_") && user.as_str().len() == 66);
    }

    #[test]
    fn another_algorithm_audience_or_issuer_is_invalid_and_an_old_token_expired() {
        let hs256 = json!({"alg": "HS256"});
        let with = |key: &str, value: Value| {
            let mut changed = claims();
            changed[key] = value;
            token(&hs256, &changed)
        };
        let cases = [
            (token(&json!({"alg": "none"}), &claims()), 1_000, TokenError::Invalid),
            (
                token(&json!({"alg": "HS256", "crit": ["b64"]}), &claims()),
                1_000,
                TokenError::Invalid,
            ),
            (with("aud", json!("other")), 1_000, TokenError::Invalid),
            (with("iss", json!("https://evil.example")), 1_000, TokenError::Invalid),
            (with("nbf", json!(1_500)), 1_000, TokenError::Invalid),
            (with("exp", json!(1_000)), 1_000, TokenError::Expired),
            (token(&hs256, &claims()) + "A", 1_000, TokenError::Invalid),
        ];
        for (token, now_s, error) in cases {
            assert_eq!(verifier().verify(&token, now_s), Err(error), "{token}");
        }
    }
}
