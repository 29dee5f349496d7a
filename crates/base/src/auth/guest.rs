//! Guest tokens: `g1.<user>.<expiry s>.<mac>`. Nothing about them is stored.

use crate::auth::{KeyedMac, TokenError, hex, keyed_mac, random};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use hmac::Mac;
use onrush_core::ids::UserId;

/// Makes and checks guest tokens.
pub struct GuestTokens {
    mac: KeyedMac,
    ttl_s: i64,
}

/// A guest with a fresh token.
pub struct Guest {
    /// A random UUID.
    pub user: UserId,
    /// What the guest shows from now on.
    pub token: String,
    /// Until when, in seconds.
    pub expires_s: i64,
    /// From when on it is time to renew it, in seconds: half of its life is over.
    pub renew_s: i64,
}

impl GuestTokens {
    /// Tokens under `key` that live `ttl_s` seconds.
    #[must_use]
    pub fn new(key: &[u8; 32], ttl_s: u32) -> Self {
        Self { mac: keyed_mac(key, "guest token"), ttl_s: i64::from(ttl_s) }
    }

    /// A new guest and their token.
    #[must_use]
    pub fn mint(&self, now_s: i64) -> Guest {
        self.mint_for(random_uuid().parse().expect("a UUID is a user id"), now_s)
    }

    /// A fresh token of a guest that is known.
    #[must_use]
    pub fn mint_for(&self, user: UserId, now_s: i64) -> Guest {
        let expires_s = now_s.saturating_add(self.ttl_s);
        let renew_s = now_s.saturating_add(self.ttl_s / 2);
        let signed = format!("g1.{user}.{expires_s}");
        let mut mac = self.mac.clone();
        mac.update(signed.as_bytes());
        let mac = BASE64_URL_SAFE_NO_PAD.encode(mac.finalize().into_bytes());
        Guest { user, token: format!("{signed}.{mac}"), expires_s, renew_s }
    }

    /// Whose token this is.
    ///
    /// # Errors
    /// `Invalid` unless it was minted under this key, `Expired` from its expiry on.
    pub fn verify(&self, token: &str, now_s: i64) -> Result<UserId, TokenError> {
        let (user, expires_s) = self.read(token)?;
        if now_s >= expires_s { Err(TokenError::Expired) } else { Ok(user) }
    }

    /// Whose token this is or was, and until when, in seconds.
    ///
    /// # Errors
    /// `Invalid` unless it was minted under this key.
    pub fn read(&self, token: &str) -> Result<(UserId, i64), TokenError> {
        let (signed, mac_text) = token.rsplit_once('.').ok_or(TokenError::Invalid)?;
        let mut mac_bytes = [0; 32];
        match BASE64_URL_SAFE_NO_PAD.decode_slice(mac_text, &mut mac_bytes) {
            Ok(32) => {}
            Ok(_) | Err(_) => return Err(TokenError::Invalid),
        }
        let mut mac = self.mac.clone();
        mac.update(signed.as_bytes());
        // Compares in constant time.
        mac.verify_slice(&mac_bytes).map_err(|_| TokenError::Invalid)?;
        let rest = signed.strip_prefix("g1.").ok_or(TokenError::Invalid)?;
        let (user, expiry) = rest.rsplit_once('.').ok_or(TokenError::Invalid)?;
        let expires_s: i64 = expiry.parse().map_err(|_| TokenError::Invalid)?;
        Ok((user.parse().map_err(|_| TokenError::Invalid)?, expires_s))
    }
}

/// A version 4 UUID (RFC 9562).
fn random_uuid() -> String {
    let mut bytes: [u8; 16] = random();
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let digits = hex(&bytes);
    let part = |from: usize, to: usize| &digits[from..to];
    [part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32)].join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens() -> GuestTokens {
        GuestTokens::new(&[7; 32], 60)
    }

    #[test]
    fn a_fresh_token_names_its_user() {
        let guest = tokens().mint(1_000);
        assert_eq!(guest.user.as_str().len(), 36);
        assert_eq!(tokens().verify(&guest.token, 1_059), Ok(guest.user));
    }

    #[test]
    fn a_token_is_invalid_at_its_exact_expiry() {
        let guest = tokens().mint(1_000);
        assert_eq!(tokens().verify(&guest.token, 1_060), Err(TokenError::Expired));
    }

    #[test]
    fn a_renewed_token_is_the_same_guests_and_ends_later() {
        let first = tokens().mint(1_000);
        assert_eq!((first.renew_s, first.expires_s), (1_030, 1_060));
        let second = tokens().mint_for(first.user.clone(), 1_050);
        assert_eq!((second.user.as_str(), second.expires_s), (first.user.as_str(), 1_110));
        assert_eq!(tokens().read(&first.token), Ok((first.user.clone(), 1_060)));
        assert_eq!(tokens().verify(&second.token, 1_109), Ok(first.user));
    }

    #[test]
    fn any_changed_byte_makes_a_token_invalid() {
        let token = tokens().mint(1_000).token;
        for i in 0..token.len() {
            let mut bytes = token.clone().into_bytes();
            bytes[i] = if bytes[i] == b'0' { b'1' } else { b'0' };
            let forged = String::from_utf8(bytes).unwrap();
            // The last character of the MAC has two bits that carry nothing; decoding refuses them
            // unless they are 0.
            assert_eq!(tokens().verify(&forged, 1_001), Err(TokenError::Invalid), "{forged}");
        }
    }

    #[test]
    fn a_token_of_another_key_is_invalid() {
        let token = GuestTokens::new(&[8; 32], 60).mint(1_000).token;
        assert_eq!(tokens().verify(&token, 1_001), Err(TokenError::Invalid));
    }
}
