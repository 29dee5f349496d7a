//! ID tokens: which are believed (OpenID Connect Core 1.0, 3.1.3.7).

use crate::auth::jwks::KeySet;
use crate::auth::jws::json_part;
use crate::config::ShopAlgorithm;
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde::Deserialize;
use serde_json::{Map, Value};
use subtle::ConstantTimeEq;

/// The longest ID token that is looked at, in bytes: hundreds of groups fit.
const MAX_TOKEN_BYTES: usize = 1 << 16;
/// How far the provider's clock may be ahead of ours, in seconds.
pub(super) const AHEAD_S: f64 = 60.0;
/// How old a token may be that was made for a sign-in that goes on now, in seconds.
const MAX_AGE_S: f64 = 600.0;

/// Said of a token that none of the keys signed.
pub(super) const NOT_SIGNED: &str =
    "the ID token is not signed with one of the provider's published keys";

#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    typ: Option<String>,
    /// Extensions that must be understood (RFC 7515, 4.1.11); we understand none.
    crit: Option<serde::de::IgnoredAny>,
}

/// What a token has to say.
pub struct Expected<'a> {
    /// Who made it.
    pub issuer: &'a str,
    /// For whom.
    pub client_id: &'a str,
    /// For which sign-in.
    pub nonce: &'a str,
}

/// The key that a token names; `None` if it is no token, or not of a kind that is believed.
#[must_use]
pub fn kid(token: &str) -> Option<Option<String>> {
    let Header { alg, kid, .. } = header_of(token)?;
    ShopAlgorithm::try_from(&*alg).ok().map(|_| kid)
}

fn header_of(token: &str) -> Option<Header> {
    let (header, _) = token.split_once('.').filter(|_| token.len() <= MAX_TOKEN_BYTES)?;
    json_part(header)
}

/// The claims of an ID token that is genuine, for us, for this sign-in, and of now.
///
/// # Errors
/// Why not, for the log; nothing of the token is in it.
pub fn verified(
    token: &str,
    keys: &KeySet,
    expected: &Expected<'_>,
    now_s: i64,
) -> Result<Map<String, Value>, &'static str> {
    let no_token = "the ID token does not have the form of one";
    let header = header_of(token).ok_or(no_token)?;
    let (signed, signature) = token.rsplit_once('.').ok_or(no_token)?;
    let (_, claims) = signed.split_once('.').ok_or(no_token)?;
    // A public key is never a secret, and nothing is no signature: HS256 and none are not tried.
    let algorithm = ShopAlgorithm::try_from(&*header.alg).map_err(
        |_| "the ID token is not signed by RS256, ES256 or EdDSA; set that at the provider",
    )?;
    let signature = BASE64_URL_SAFE_NO_PAD.decode(signature).map_err(|_| no_token)?;
    let named = (algorithm, header.kid.as_deref());
    if !keys.verifies(named, signed.as_bytes(), &signature) {
        return Err(NOT_SIGNED);
    }
    if header.crit.is_some() {
        return Err("the ID token has extensions (crit) that are not known here");
    }
    if header.typ.is_some_and(|typ| !typ.eq_ignore_ascii_case("JWT")) {
        return Err("it is another kind of token (typ) than an ID token");
    }
    let claims: Map<String, Value> = json_part(claims).ok_or(no_token)?;
    check(&claims, expected, now_s as f64)?;
    Ok(claims)
}

fn check(
    claims: &Map<String, Value>,
    expected: &Expected<'_>,
    now: f64,
) -> Result<(), &'static str> {
    let text = |claim: &str| claims.get(claim).and_then(Value::as_str);
    let number = |claim: &str| claims.get(claim).and_then(Value::as_f64);
    if text("iss") != Some(expected.issuer) {
        return Err("the ID token's iss is not oidc.issuer");
    }
    let (for_us, is_ours_alone) = match claims.get("aud") {
        Some(Value::String(one)) => (one == expected.client_id, true),
        Some(Value::Array(several)) => {
            (several.iter().any(|one| one == expected.client_id), several.len() == 1)
        }
        Some(_) | None => (false, false),
    };
    if !for_us {
        return Err("the ID token's aud is not oidc.client_id: it is for somebody else");
    }
    match claims.get("azp") {
        Some(azp) if azp != expected.client_id => {
            return Err("the ID token's azp is not oidc.client_id: somebody else asked for it");
        }
        None if !is_ours_alone => {
            return Err("the ID token is for several and lacks azp, which says who asked for it");
        }
        Some(_) | None => {}
    }
    if number("exp").is_none_or(|exp| now >= exp) {
        return Err("the ID token has expired, or lacks exp; look at both clocks");
    }
    if number("iat").is_none_or(|iat| iat > now + AHEAD_S || iat < now - MAX_AGE_S) {
        return Err("the ID token was not made just now, or lacks iat; look at both clocks");
    }
    if claims.contains_key("nbf") && number("nbf").is_none_or(|nbf| nbf > now + AHEAD_S) {
        return Err("the ID token counts only later (nbf); look at both clocks");
    }
    let nonce = text("nonce").unwrap_or_default();
    if !bool::from(nonce.as_bytes().ct_eq(expected.nonce.as_bytes())) {
        return Err("the ID token's nonce is of another sign-in");
    }
    Ok(())
}

/// Adds what the provider tells elsewhere about the same person (5.3.2); what is signed stays.
///
/// # Errors
/// It is about somebody else.
pub fn add(claims: &mut Map<String, Value>, more: Map<String, Value>) -> Result<(), &'static str> {
    if more.get("sub").is_none() || more.get("sub") != claims.get("sub") {
        return Err("its UserInfo is about somebody else than the ID token (sub)");
    }
    for (claim, value) in more {
        claims.entry(claim).or_insert(value);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const NOW_S: f64 = 10_000.0;

    fn checked(change: impl FnOnce(&mut Map<String, Value>)) -> Result<(), &'static str> {
        let claims = json!({"iss": "https://id.example", "aud": "onrush", "sub": "42",
            "exp": NOW_S + 60.0, "iat": NOW_S - 1.0, "nonce": "n"});
        let Value::Object(mut claims) = claims else { unreachable!("it is one") };
        change(&mut claims);
        let expected = Expected { issuer: "https://id.example", client_id: "onrush", nonce: "n" };
        check(&claims, &expected, NOW_S)
    }

    #[test]
    fn claims_are_believed_only_from_this_provider_for_us_now_and_for_this_sign_in() {
        let with = |claim: &str, value: Value| {
            checked(|claims| drop(claims.insert(claim.to_owned(), value)))
        };
        for (claim, value) in [
            ("aud", json!(["onrush"])),
            ("azp", json!("onrush")),
            ("exp", json!(NOW_S + 0.5)),
            ("iat", json!(NOW_S + AHEAD_S)),
            ("iat", json!(NOW_S - MAX_AGE_S)),
            ("nbf", json!(NOW_S)),
        ] {
            assert_eq!(with(claim, value.clone()), Ok(()), "{claim} {value}");
        }
        for (claim, value, said) in [
            ("iss", json!("https://id.example/"), "iss is not"),
            ("iss", json!("https://evil.example"), "iss is not"),
            ("iss", json!(null), "iss is not"),
            ("aud", json!("other"), "aud is not"),
            ("aud", json!(["other", "third"]), "aud is not"),
            ("aud", json!({"onrush": true}), "aud is not"),
            ("aud", json!(["onrush", "other"]), "lacks azp"),
            ("azp", json!("other"), "azp is not"),
            ("azp", json!(null), "azp is not"),
            ("exp", json!(NOW_S), "expired"),
            ("exp", json!("20000"), "expired"),
            ("iat", json!(NOW_S + AHEAD_S + 1.0), "just now"),
            ("iat", json!(NOW_S - MAX_AGE_S - 1.0), "just now"),
            ("nbf", json!(NOW_S + AHEAD_S + 1.0), "nbf"),
            ("nbf", json!("now"), "nbf"),
            ("nonce", json!("N"), "nonce"),
            ("nonce", json!(""), "nonce"),
            ("nonce", json!(7), "nonce"),
        ] {
            let why = with(claim, value.clone()).expect_err(claim);
            assert!(why.contains(said), "{claim} {value}: {why}");
        }
        for claim in ["iss", "aud", "exp", "iat", "nonce"] {
            assert!(checked(|claims| drop(claims.remove(claim))).is_err(), "{claim}");
        }
        // Several may read it, if we are those who asked.
        let several = checked(|claims| {
            claims.insert("aud".into(), json!(["other", "onrush"]));
            claims.insert("azp".into(), json!("onrush"));
        });
        assert_eq!(several, Ok(()));
    }

    #[test]
    fn what_is_told_elsewhere_adds_to_the_same_person_and_replaces_nothing() {
        let object = |value: Value| value.as_object().unwrap().clone();
        let mut claims = object(json!({"sub": "42", "iss": "a"}));
        let more = object(json!({"sub": "42", "iss": "b", "groups": ["office"]}));
        add(&mut claims, more).unwrap();
        assert_eq!(
            Value::from(claims.clone()),
            json!({"sub": "42", "iss": "a", "groups": ["office"]})
        );
        for other in [json!({"sub": "43", "x": 1}), json!({"x": 1}), json!({"sub": null, "x": 1})] {
            assert!(add(&mut claims, object(other)).is_err());
            assert!(!claims.contains_key("x"));
        }
    }
}
