//! ID tokens of an OpenID provider: a line of header, and the claims below it, signed with the
//! provider's key; and one that is in order, with changes.

use super::tokens::judged;
use super::{KEY, NOW_S};
use crate::edits::edited;
use crate::verdict::{Verdict, assert_sentence};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ed25519_dalek::{Signer, SigningKey};
use onrush_base::auth::jwks::KeySet;
use onrush_base::auth::oidc::claims::{Expected, kid, verified};
use onrush_base::auth::oidc::requirements::Requirements;
use onrush_base::config::{JwksSource, ShopAlgorithm};
use serde_json::{Value, json};
use std::sync::{Arc, LazyLock};

const EXPECTED: Expected<'_> =
    Expected { issuer: "https://id.example", client_id: "onrush", nonce: "n-0S6_WzA2Mj" };
const HEADER: &[u8] = br#"{"alg":"EdDSA","kid":"one"}"#;
const CLAIMS: &[u8] = br#"{"iss":"https://id.example","sub":"42","aud":"onrush","exp":1790000060,
    "iat":1789999999,"nonce":"n-0S6_WzA2Mj","acr":"gold","amr":["pwd","mfa"],"auth_time":1789999900}"#;

/// How people must have signed in.
static REQUIREMENTS: LazyLock<Requirements> = LazyLock::new(|| Requirements {
    acr_values: vec!["gold".to_owned()],
    amr_values: vec!["mfa".to_owned()],
    max_age_s: Some(300),
});

/// What the provider publishes, fetched once.
static KEYS: LazyLock<Arc<KeySet>> = LazyLock::new(|| {
    let public = part(provider().verifying_key().as_bytes());
    let key = |kid: &str, x: &str| json!({"kty": "OKP", "crv": "Ed25519", "kid": kid, "x": x});
    let other = part(SigningKey::from_bytes(&[9; 32]).verifying_key().as_bytes());
    let set = json!({"keys": [key("one", &public), key("other", &other)]});
    let dir = tempfile::tempdir().expect("there is room for a directory");
    let file = dir.path().join("jwks.json");
    std::fs::write(&file, set.to_string()).expect("a file can be written");
    let keys = KeySet::new(JwksSource::File(file), vec![ShopAlgorithm::EdDsa], 300, None);
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.expect("a runtime needs no thread").block_on(keys.look_for(None));
    keys
});

fn provider() -> SigningKey {
    SigningKey::from_bytes(&KEY)
}

/// Signs header and claims, and shows the token; and shows a good one with the bytes as changes.
///
/// # Panics
/// If a token is believed whose header or claims are not as they must be, or that was changed.
pub fn target(bytes: &[u8]) -> Verdict {
    let issued = signed(HEADER, CLAIMS);
    let shown = edited(&issued, bytes);
    judged(&issued, &shown, &verified(&shown, &KEYS, &EXPECTED, NOW_S));

    let end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
    let (header, claims) = bytes.split_at(end);
    let claims = claims.get(1..).unwrap_or_default();
    let token = signed(header, claims);
    let found = verified(&token, &KEYS, &EXPECTED, NOW_S);
    match &found {
        Ok(told) => {
            check(header, claims, &Value::Object(told.clone()), &token);
            match REQUIREMENTS.check(told, NOW_S) {
                Ok(()) => check_strength(claims),
                Err(why) => assert_sentence(why),
            }
        }
        Err(why) => assert_sentence(why),
    }
    Verdict::on(&found)
}

/// Reads the claims of somebody whose sign-in is strong and recent enough once more.
fn check_strength(claims: &[u8]) {
    let claims: Value = serde_json::from_slice(claims).expect("it is JSON");
    assert_eq!(claims["acr"], "gold", "a weaker sign-in");
    let is_mfa = claims["amr"] == "mfa"
        || claims["amr"].as_array().is_some_and(|all| all.contains(&json!("mfa")));
    assert!(is_mfa, "no second factor");
    let age_s = claims["auth_time"].as_f64().map(|at| NOW_S as f64 - at);
    assert!(age_s.is_some_and(|age_s| (-60.0..=360.0).contains(&age_s)), "it is not recent");
}

fn part(bytes: &[u8]) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}

fn signed(header: &[u8], claims: &[u8]) -> String {
    let text = format!("{}.{}", part(header), part(claims));
    let signature = provider().sign(text.as_bytes()).to_bytes();
    format!("{text}.{}", part(&signature))
}

/// Reads a token that was believed once more, in another way.
fn check(header: &[u8], claims: &[u8], told: &Value, token: &str) {
    let read = |bytes: &[u8]| -> Value { serde_json::from_slice(bytes).expect("it is JSON") };
    let (header, claims) = (read(header), read(claims));
    assert_eq!(*told, claims, "other claims are told than were signed");
    assert_eq!(header["alg"], "EdDSA");
    assert_eq!(header["kid"], "one", "a key that is not named, and not the only one");
    assert_eq!(kid(token), Some(Some("one".to_owned())));
    assert!(header["crit"].is_null(), "an extension that nobody understands");
    let is_jwt = |typ: &str| typ.eq_ignore_ascii_case("JWT");
    assert!(header["typ"].is_null() || header["typ"].as_str().is_some_and(is_jwt));
    assert_eq!(claims["iss"], EXPECTED.issuer);
    assert_eq!(claims["nonce"], EXPECTED.nonce, "it is of another sign-in");
    let audiences = match &claims["aud"] {
        Value::Array(several) => several.clone(),
        one => vec![one.clone()],
    };
    assert!(audiences.contains(&json!(EXPECTED.client_id)), "it is for somebody else");
    let asked_by_us = claims["azp"] == EXPECTED.client_id;
    let alone = audiences.len() == 1 && claims.get("azp").is_none();
    assert!(asked_by_us || alone, "somebody else asked for it");
    let number = |claim: &str| claims[claim].as_f64();
    let now = NOW_S as f64;
    assert!(number("exp").is_some_and(|exp| exp > now), "its time is over");
    assert!(number("iat").is_some_and(|iat| (iat - now).abs() <= 600.0), "it is not of now");
    let nbf = claims.get("nbf").map(Value::as_f64);
    assert!(nbf.is_none_or(|nbf| nbf.is_some_and(|nbf| nbf <= now + 60.0)), "too early");
}
