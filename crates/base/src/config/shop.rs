//! The shop's own tokens.

use super::Secret;
use super::web_address::web_address;
use serde::{Deserialize, Deserializer, de};
use std::path::PathBuf;

/// The shop's JWTs: signed with a shared secret, or with one of its published keys.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShopTokens {
    /// The shared secret for HS256; at least 32 bytes.
    pub secret: Option<Secret>,
    /// Where the shop's public keys are.
    pub jwks: Option<JwksSource>,
    /// What tokens may be signed with by those keys.
    #[serde(default = "all_algorithms")]
    pub algorithms: Vec<ShopAlgorithm>,
    /// How old the keys may get before they are fetched anew, in seconds.
    #[serde(default = "default_refresh_s")]
    pub jwks_refresh_s: u32,
    /// The `iss` they must have.
    pub issuer: String,
    /// The `aud` they must have.
    pub audience: String,
}

fn all_algorithms() -> Vec<ShopAlgorithm> {
    ShopAlgorithm::ALL.to_vec()
}

const fn default_refresh_s() -> u32 {
    300
}

impl ShopTokens {
    /// Tokens that are signed with a shared secret, and with nothing else.
    #[must_use]
    pub fn shared(secret: Secret, issuer: &str, audience: &str) -> Self {
        Self {
            secret: Some(secret),
            jwks: None,
            algorithms: all_algorithms(),
            jwks_refresh_s: default_refresh_s(),
            issuer: issuer.to_owned(),
            audience: audience.to_owned(),
        }
    }

    /// What is wrong beside the secret, the issuer and the audience.
    pub(super) fn complaint(&self) -> Option<&'static str> {
        if self.secret.is_none() && self.jwks.is_none() {
            Some("shop_tokens: set secret, jwks or both")
        } else if self.algorithms.is_empty() {
            Some("shop_tokens.algorithms: name at least one of RS256, ES256, EdDSA")
        } else if self.jwks_refresh_s < 10 {
            Some("shop_tokens.jwks_refresh_s: use at least 10")
        } else {
            None
        }
    }
}

/// What a token may be signed with by a public key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
#[derive(strum::EnumString)]
#[strum(serialize_all = "UPPERCASE")]
pub enum ShopAlgorithm {
    /// RSA with PKCS#1 padding and SHA-256.
    Rs256,
    /// ECDSA over P-256 with SHA-256.
    Es256,
    /// Ed25519.
    #[serde(rename = "EdDSA")]
    #[strum(serialize = "EdDSA")]
    EdDsa,
}

impl ShopAlgorithm {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Rs256, Self::Es256, Self::EdDsa];
}

/// Where the shop's public keys are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JwksSource {
    /// An address: https, or http on this machine.
    Url(String),
    /// A file.
    File(PathBuf),
}

impl<'de> Deserialize<'de> for JwksSource {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if !text.contains("://") {
            return Ok(Self::File(PathBuf::from(text)));
        }
        let near = ["127.0.0.1", "[::1]", "localhost"];
        let fits = web_address(&text).is_ok_and(|uri| {
            uri.scheme_str() == Some("https") || uri.host().is_some_and(|host| near.contains(&host))
        });
        if fits {
            Ok(Self::Url(text))
        } else {
            Err(de::Error::custom("jwks: use https://…, or the path of a file"))
        }
    }
}
