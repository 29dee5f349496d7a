//! Who is asking: guest tokens, the shop's tokens, the keys of people and services, the sessions of
//! their browsers, stream tickets, and what we sign for others to verify.

pub mod address;
pub mod buckets;
pub mod carry;
#[cfg(feature = "simulated")]
pub mod chance;
pub mod codes;
pub mod guest;
pub mod jwks;
pub mod jws;
mod kept_set;
pub mod keyring;
pub mod keys;
pub mod link;
pub mod names;
pub mod oidc;
pub mod pass;
pub mod payers;
pub mod session;
pub mod shop;
pub mod ticket;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use std::time::{SystemTime, UNIX_EPOCH};

/// HMAC-SHA256 with its key already taken in: cloning it is cheaper than keying it.
pub(crate) type KeyedMac = Hmac<Sha256>;

/// A MAC under one 32-byte key, for one purpose: the purpose keeps the uses of one key apart.
pub(crate) fn keyed_mac(key: &[u8; 32], purpose: &str) -> KeyedMac {
    // A key of any length is accepted, so this cannot fail.
    let mut derive = KeyedMac::new_from_slice(key).expect("a key of any length is accepted");
    derive.update(purpose.as_bytes());
    KeyedMac::new_from_slice(&derive.finalize().into_bytes())
        .expect("a key of any length is accepted")
}

/// Why a token is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenError {
    /// It is not one of ours, or was changed.
    Invalid,
    /// It was valid once.
    Expired,
}

/// The wall clock in whole seconds, for tokens; the rules have their own time.
pub fn unix_now_s() -> i64 {
    #[cfg(feature = "simulated")]
    if let Some(now_s) = chance::now_s() {
        return now_s;
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_secs()).unwrap_or(i64::MAX)
}

/// Fresh random bytes from the operating system.
///
/// # Panics
/// If the operating system has none, which leaves nothing safe to do.
pub fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    #[cfg(feature = "simulated")]
    if chance::fill(&mut bytes) {
        return bytes;
    }
    getrandom::fill(&mut bytes).expect("the operating system gives random bytes");
    bytes
}

/// Lowercase hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        text.push(DIGITS[usize::from(byte >> 4)] as char);
        text.push(DIGITS[usize::from(byte & 15)] as char);
    }
    text
}
