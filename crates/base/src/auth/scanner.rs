//! The scanner key: the right to check tickets in, and to nothing else.

use crate::auth::admin::hash;
use crate::config::Secret;
use subtle::ConstantTimeEq;

/// Checks the scanner key; only its hash is kept.
pub struct ScannerKey {
    hash: [u8; 32],
}

impl ScannerKey {
    /// The configured key.
    #[must_use]
    pub fn new(key: &Secret) -> Self {
        Self { hash: hash(key.reveal()) }
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
