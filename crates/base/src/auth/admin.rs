//! The admin API key: the organiser's right to change the sale.

use crate::auth::keys::KeyDir;
use crate::auth::random;
use crate::config::Secret;
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use std::io;
use subtle::ConstantTimeEq;

/// Checks the admin key; only its hash is kept.
pub struct AdminKey {
    hash: [u8; 32],
}

const FILE: &str = "admin-key.sha256";

impl AdminKey {
    /// The configured key, or the one of the first start, or a new one, which is also returned: it
    /// is never shown again.
    ///
    /// # Errors
    /// Whatever the file system says.
    pub fn open(keys: &KeyDir, configured: Option<&Secret>) -> io::Result<(Self, Option<String>)> {
        if let Some(key) = configured {
            return Ok((Self { hash: hash(key.reveal()) }, None));
        }
        if let Some(hash) = keys.load(FILE)? {
            return Ok((Self { hash }, None));
        }
        let fresh = format!("ak_{}", BASE64_URL_SAFE_NO_PAD.encode(random::<24>()));
        keys.store_new(FILE, &hash(&fresh))?;
        Ok((Self { hash: hash(&fresh) }, Some(fresh)))
    }

    /// The key's hash, which others may derive keys from.
    pub fn hash(&self) -> &[u8; 32] {
        &self.hash
    }

    /// Whether this is the key. Takes the same time for every wrong one.
    #[must_use]
    pub fn matches(&self, key: &str) -> bool {
        hash(key).ct_eq(&self.hash).into()
    }
}

pub(crate) fn hash(key: &str) -> [u8; 32] {
    Sha256::digest(key.as_bytes()).into()
}
