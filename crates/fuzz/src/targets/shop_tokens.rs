//! The shop's tokens: a line of header, and the claims below it, signed with the shop's secret;
//! and one that is in order, with changes.

use super::NOW_S;
use super::tokens::judged;
use crate::edits::edited;
use crate::verdict::{Verdict, assert_sentence};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use onrush_base::auth::shop::{ShopTokenError, ShopVerifier};
use onrush_base::config::ShopTokens;
use serde_json::Value;
use sha2::Sha256;

const SECRET: &str = "a shared secret of at least 32 bytes";
const ISSUER: &str = "https://shop.example";
const AUDIENCE: &str = "onrush";
const HEADER: &[u8] = br#"{"alg":"HS256"}"#;
const CLAIMS: &[u8] =
    br#"{"iss":"https://shop.example","sub":"42","aud":"onrush","exp":1790000060}"#;

/// Signs header and claims, and shows the token; and shows a good one with the bytes as changes.
///
/// # Panics
/// If a token is accepted whose header or claims are not as they must be, or that was changed.
pub fn target(bytes: &[u8]) -> Verdict {
    let verifier =
        ShopVerifier::new(&ShopTokens::shared(SECRET.to_owned().into(), ISSUER, AUDIENCE), None);
    let issued = signed(HEADER, CLAIMS);
    let shown = edited(&issued, bytes);
    judged(&issued, &shown, &verifier.verify(&shown, NOW_S));

    let end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
    let (header, claims) = bytes.split_at(end);
    let claims = claims.get(1..).unwrap_or_default();
    let found = verifier.verify(&signed(header, claims), NOW_S);
    match &found {
        Ok(_) => check(header, claims),
        Err(ShopTokenError::Invalid(why)) => assert_sentence(why),
        Err(ShopTokenError::Expired) => {}
        Err(ShopTokenError::KeysAway) => panic!("the secret is here"),
    }
    Verdict::on(&found)
}

fn signed(header: &[u8], claims: &[u8]) -> String {
    let part = |bytes: &[u8]| BASE64_URL_SAFE_NO_PAD.encode(bytes);
    let text = format!("{}.{}", part(header), part(claims));
    let mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes());
    let mut mac = mac.expect("a key of any length is accepted");
    mac.update(text.as_bytes());
    format!("{text}.{}", part(&mac.finalize().into_bytes()))
}

/// Reads an accepted token once more, in another way.
fn check(header: &[u8], claims: &[u8]) {
    let read = |bytes: &[u8]| -> Value { serde_json::from_slice(bytes).expect("it is JSON") };
    let (header, claims) = (read(header), read(claims));
    assert_eq!(header["alg"], "HS256");
    assert!(header["crit"].is_null(), "an extension that nobody understands");
    assert_eq!(claims["iss"], ISSUER);
    assert!(claims["sub"].is_string(), "it names nobody");
    let named = |audience: &Value| audience == AUDIENCE;
    let for_us =
        named(&claims["aud"]) || claims["aud"].as_array().is_some_and(|all| all.iter().any(named));
    assert!(for_us, "it is for somebody else");
    assert!(claims["exp"].as_f64().is_some_and(|exp| exp > NOW_S as f64), "its time is over");
    let soon_s = (NOW_S + 60) as f64;
    assert!(claims["nbf"].as_f64().is_none_or(|nbf| nbf <= soon_s), "more than a minute early");
}
