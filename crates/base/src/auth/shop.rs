//! The shop's own tokens: JWTs signed with a shared secret (HS256), or with a key that the shop
//! publishes. Which of them is tried is configured; a token's header only chooses among those.

use crate::auth::jwks::KeySet;
use crate::auth::jws::json_part;
use crate::auth::{KeyedMac, hex};
use crate::config::{JwksSource, Secret, ShopAlgorithm, ShopTokens};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use hmac::{KeyInit, Mac};
use onrush_core::ids::{ChannelId, UserId};
use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::path::Path;
use std::sync::Arc;
use tokio::time::Instant;

/// Checks the shop's tokens.
pub struct ShopVerifier {
    /// If a secret is shared.
    mac: Option<KeyedMac>,
    /// If the shop publishes keys.
    keys: Option<Arc<KeySet>>,
    issuer: String,
    audience: String,
}

#[derive(Deserialize)]
struct Header {
    alg: String,
    /// Which of the shop's keys.
    kid: Option<String>,
    /// Extensions that must be understood (RFC 7515, 4.1.11); we understand none.
    crit: Option<serde::de::IgnoredAny>,
}

/// Who a token is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShopVisitor {
    /// The visitor.
    pub user: UserId,
    /// The channels that they may use, in events that have them.
    pub channels: Vec<ChannelId>,
}

/// How far the shop's clock may be ahead of ours, in seconds: so much later may a token's `nbf` be.
const AHEAD_S: f64 = 60.0;

/// The claims that a token must have.
const REQUIRED: [(&str, &str); 4] = [
    ("sub", "the shop token lacks sub, a text that names the visitor"),
    ("iss", "the shop token lacks iss, a text: the configured shop_tokens.issuer"),
    ("aud", "the shop token lacks aud, a text or several: the configured shop_tokens.audience"),
    ("exp", "the shop token lacks exp, a number: when it expires, in seconds since 1970"),
];

#[derive(Deserialize)]
struct Claims {
    iss: String,
    sub: String,
    aud: Audience,
    exp: f64,
    nbf: Option<f64>,
    #[serde(default)]
    channels: Vec<ChannelId>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Audience {
    One(String),
    Many(Vec<String>),
}

/// Why a shop's token is not accepted. What is in a token is told only to whoever had it signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShopTokenError {
    /// It is not the shop's, or not for us: why, as a sentence for those who make the tokens.
    Invalid(&'static str),
    /// It was valid once.
    Expired,
    /// Nobody can say: the shop's published keys cannot be fetched, and none of before has the name and
    /// the algorithm that the token names.
    KeysAway,
}

/// Said of whatever is not signed as the shop signs.
const NOT_OURS: ShopTokenError =
    ShopTokenError::Invalid("the token is not valid: it is not signed with the shop's key");

impl ShopVerifier {
    /// Checks against the configured secret, issuer and audience. Published keys are kept in the
    /// directory `data` for the next start, if there is one.
    #[must_use]
    pub fn new(config: &ShopTokens, data: Option<&Path>) -> Self {
        let mac = |secret: &Secret| {
            KeyedMac::new_from_slice(secret.reveal().as_bytes())
                .expect("a key of any length is accepted")
        };
        let keys = |source: &JwksSource| {
            KeySet::new(source.clone(), config.algorithms.clone(), config.jwks_refresh_s, data)
        };
        Self {
            mac: config.secret.as_ref().map(mac),
            keys: config.jwks.as_ref().map(keys),
            issuer: config.issuer.clone(),
            audience: config.audience.clone(),
        }
    }

    /// Whom this token is for, as [`Self::verify`] tells with the shop's keys of now: those that it
    /// publishes are fetched at first, when they are old, and when none of them signed the token.
    ///
    /// # Errors
    /// As [`Self::verify`]; `KeysAway` if it may be signed with a published key that is not known here
    /// because the set cannot be fetched. A token that names a key of before, and that it did not sign,
    /// is `Invalid` also then.
    pub async fn visitor_of(&self, token: &str, now_s: i64) -> Result<ShopVisitor, ShopTokenError> {
        let Some((keys, algorithm, kid)) = self.published_for(token) else {
            return self.verify(token, now_s);
        };
        let kid = kid.as_deref();
        keys.look_for(kid).await;
        let (judged_at, mut may_lack) = (Instant::now(), keys.may_lack(algorithm, kid));
        let mut found = self.verify(token, now_s);
        if found == Err(NOT_OURS) && keys.look_again(judged_at).await {
            may_lack = keys.may_lack(algorithm, kid);
            found = self.verify(token, now_s);
        }
        if may_lack && found == Err(NOT_OURS) { Err(ShopTokenError::KeysAway) } else { found }
    }

    /// The published keys, if one of them may have signed this token, and of which kind and name that
    /// one is.
    fn published_for(&self, token: &str) -> Option<(&Arc<KeySet>, ShopAlgorithm, Option<String>)> {
        let keys = self.keys.as_ref()?;
        let (header, _) = token.split_once('.')?;
        let Header { alg, kid, .. } = json_part(header)?;
        let algorithm = ShopAlgorithm::try_from(&*alg).ok()?;
        keys.takes(algorithm).then_some((keys, algorithm, kid))
    }

    /// Whom this token is for, with the keys that are here: `u_` and the SHA-256 of issuer and subject,
    /// so that no subject can pass for a guest.
    ///
    /// # Errors
    /// `Invalid` unless algorithm, signature and all claims are there and right, also if `nbf` is more
    /// than a minute ahead; `Expired` from `exp` on.
    pub fn verify(&self, token: &str, now_s: i64) -> Result<ShopVisitor, ShopTokenError> {
        let invalid = ShopTokenError::Invalid;
        let (signed, signature) = token.rsplit_once('.').ok_or(NOT_OURS)?;
        let (header, claims) = signed.split_once('.').ok_or(NOT_OURS)?;
        let signature = BASE64_URL_SAFE_NO_PAD.decode(signature).map_err(|_| NOT_OURS)?;
        let header: Header = json_part(header).ok_or(NOT_OURS)?;
        // What is tried is pinned: a public key is never a secret, and nothing is no signature.
        let is_genuine = match (header.alg.as_str(), &self.mac, &self.keys) {
            ("HS256", Some(mac), _) => {
                let mut mac = mac.clone();
                mac.update(signed.as_bytes());
                mac.verify_slice(&signature).is_ok()
            }
            (name, _, Some(keys)) => ShopAlgorithm::try_from(name).is_ok_and(|algorithm| {
                let named = (algorithm, header.kid.as_deref());
                keys.verifies(named, signed.as_bytes(), &signature)
            }),
            (_, _, None) => false,
        };
        if !is_genuine {
            let known = header.alg == "HS256" || ShopAlgorithm::try_from(&*header.alg).is_ok();
            let other =
                "the shop token's algorithm must be HS256, RS256, ES256 or EdDSA, as configured";
            return Err(if known { NOT_OURS } else { invalid(other) });
        }
        if header.crit.is_some() {
            return Err(invalid("the shop token's header must have no extensions (crit)"));
        }
        let claims = self.claims(claims)?;
        // NumericDate may carry a fraction; it is compared, never stored.
        let now = now_s as f64;
        if claims.nbf.is_some_and(|nbf| nbf > now + AHEAD_S) {
            return Err(invalid(
                "the shop token's nbf is in the future: it counts only from then on",
            ));
        }
        if now >= claims.exp {
            return Err(ShopTokenError::Expired);
        }
        let mut hash = Sha256::new();
        hash.update(claims.iss.as_bytes());
        hash.update([0]);
        hash.update(claims.sub.as_bytes());
        let user = format!("u_{}", hex(&hash.finalize())).parse().map_err(|_| NOT_OURS)?;
        Ok(ShopVisitor { user, channels: claims.channels })
    }

    /// The claims, all there and for us.
    fn claims(&self, part: &str) -> Result<Claims, ShopTokenError> {
        let invalid = ShopTokenError::Invalid;
        let not_json = invalid("the shop token's claims are not a JSON object");
        let all: Value = json_part(part).ok_or(not_json)?;
        let fits = |name: &str| match name {
            "exp" => all[name].is_number(),
            "aud" => all[name].is_string() || all[name].is_array(),
            _ => all[name].is_string(),
        };
        if let Some(&(_, why)) = REQUIRED.iter().find(|(name, _)| !fits(name)) {
            return Err(invalid(why));
        }
        let claims: Claims = serde_json::from_value(all).map_err(|_| {
            invalid(
                "the shop token's aud must be texts, its nbf a number, and its channels a list of \
                 channels' ids",
            )
        })?;
        let for_us = match &claims.aud {
            Audience::One(audience) => *audience == self.audience,
            Audience::Many(audiences) => audiences.contains(&self.audience),
        };
        if claims.iss != self.issuer {
            return Err(invalid("the shop token's iss is not the configured shop_tokens.issuer"));
        }
        if !for_us {
            return Err(invalid("the shop token's aud is not the configured shop_tokens.audience"));
        }
        Ok(claims)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const SECRET: &str = "a shared secret of at least 32 bytes";

    fn verifier() -> ShopVerifier {
        let secret = SECRET.to_owned().into();
        ShopVerifier::new(&ShopTokens::shared(secret, "https://shop.example", "onrush"), None)
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
        assert!(user.user.as_str().starts_with("u_") && user.user.as_str().len() == 66);
        assert!(user.channels.is_empty());
    }

    #[test]
    fn a_shop_token_may_name_channels() {
        let with = |channels: Value| {
            let mut changed = claims();
            changed["channels"] = channels;
            verifier().verify(&token(&json!({"alg": "HS256"}), &changed), 1_999)
        };
        let named = with(json!(["fans", "press"])).unwrap().channels;
        assert_eq!(named, ["fans".parse().unwrap(), "press".parse().unwrap()]);
        for wrong in [json!("fans"), json!([7]), json!(["a b"]), json!(null)] {
            assert!(
                matches!(with(wrong), Err(ShopTokenError::Invalid(why)) if why.contains("channels"))
            );
        }
    }

    #[test]
    fn another_algorithm_audience_or_issuer_is_invalid_and_an_old_token_expired() {
        let hs256 = json!({"alg": "HS256"});
        let with = |key: &str, value: Value| {
            let mut changed = claims();
            changed[key] = value;
            token(&hs256, &changed)
        };
        let says = |token: &str, now_s: i64, what: &str| match verifier().verify(token, now_s) {
            Err(ShopTokenError::Invalid(why)) => assert!(why.contains(what), "{token}: {why}"),
            other => panic!("{token} is {other:?}"),
        };
        says(&token(&json!({"alg": "none"}), &claims()), 1_000, "HS256");
        says(&token(&json!({"alg": "HS256", "crit": ["b64"]}), &claims()), 1_000, "crit");
        says(&with("aud", json!("other")), 1_000, "aud is not");
        says(&with("iss", json!("https://evil.example")), 1_000, "iss is not");
        says(&with("nbf", json!(1_061)), 1_000, "nbf");
        // The shop's clock may be a minute ahead.
        verifier().verify(&with("nbf", json!(1_060)), 1_000).unwrap();
        says(&(token(&hs256, &claims()) + "A"), 1_000, "not signed");
        let expired = verifier().verify(&with("exp", json!(1_000)), 1_000);
        assert_eq!(expired, Err(ShopTokenError::Expired));
    }

    #[test]
    fn header_that_is_no_unicode_is_refused_even_where_nobody_reads_it() {
        let part = |bytes: &[u8]| BASE64_URL_SAFE_NO_PAD.encode(bytes);
        let header = part(b"{\"alg\":\"HS256\",\"typ\":\"\xff\"}");
        let signed = format!("{header}.{}", part(claims().to_string().as_bytes()));
        let mut mac = KeyedMac::new_from_slice(SECRET.as_bytes()).unwrap();
        mac.update(signed.as_bytes());
        let token = format!("{signed}.{}", part(&mac.finalize().into_bytes()));
        assert!(matches!(verifier().verify(&token, 1_000), Err(ShopTokenError::Invalid(_))));
    }

    #[test]
    fn a_token_that_lacks_a_claim_is_told_which() {
        for name in ["sub", "iss", "aud", "exp"] {
            let mut changed = claims();
            changed.as_object_mut().unwrap().remove(name);
            let found = verifier().verify(&token(&json!({"alg": "HS256"}), &changed), 1_000);
            let Err(ShopTokenError::Invalid(why)) = found else { panic!("{name}: {found:?}") };
            assert!(why.contains(&format!("lacks {name}")), "{name}: {why}");
            // Nobody who cannot sign is told anything about claims.
            let forged = token(&json!({"alg": "HS256"}), &changed) + "A";
            let found = verifier().verify(&forged, 1_000);
            assert!(
                matches!(found, Err(ShopTokenError::Invalid(why)) if why.contains("not signed"))
            );
        }
    }
}
