//! Stream tickets: browsers cannot send headers with SSE and WebSocket, so they put a ticket into
//! the address, which works once.

use crate::auth::{KeyedMac, TokenError, hex, keyed_mac, random};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use hmac::Mac;
use onrush_core::ids::UserId;
use std::collections::HashMap;
use std::sync::Mutex;

/// How long a ticket is valid, in seconds.
pub const TICKET_S: i64 = 30;

/// Makes tickets, and takes each at most once.
pub struct StreamTickets {
    mac: KeyedMac,
    /// Those that were used and have not expired, with their expiry: only these need remembering.
    used: Mutex<HashMap<[u8; 16], i64>>,
}

impl StreamTickets {
    /// Tickets under `key`.
    #[must_use]
    pub fn new(key: &[u8; 32]) -> Self {
        Self { mac: keyed_mac(key, "stream ticket"), used: Mutex::default() }
    }

    /// A ticket `t1.<user>.<expiry s>.<nonce>.<mac>` and its expiry in seconds.
    #[must_use]
    pub fn mint(&self, user: &UserId, now_s: i64) -> (String, i64) {
        let expires_s = now_s.saturating_add(TICKET_S);
        let mut ticket = format!("t1.{user}.{expires_s}.{}", hex(&random::<16>()));
        let mut mac = self.mac.clone();
        mac.update(ticket.as_bytes());
        ticket.push('.');
        BASE64_URL_SAFE_NO_PAD.encode_string(mac.finalize().into_bytes(), &mut ticket);
        (ticket, expires_s)
    }

    /// Whose ticket this is; it is used up by that.
    ///
    /// # Errors
    /// `Invalid` if it was forged or used before, `Expired` from its expiry on.
    pub fn redeem(&self, ticket: &str, now_s: i64) -> Result<UserId, TokenError> {
        let (signed, mac_text) = ticket.rsplit_once('.').ok_or(TokenError::Invalid)?;
        let mac_bytes = BASE64_URL_SAFE_NO_PAD.decode(mac_text).map_err(|_| TokenError::Invalid)?;
        let mut mac = self.mac.clone();
        mac.update(signed.as_bytes());
        mac.verify_slice(&mac_bytes).map_err(|_| TokenError::Invalid)?;
        let rest = signed.strip_prefix("t1.").ok_or(TokenError::Invalid)?;
        let (rest, nonce) = rest.rsplit_once('.').ok_or(TokenError::Invalid)?;
        let (user, expiry) = rest.rsplit_once('.').ok_or(TokenError::Invalid)?;
        let expires_s: i64 = expiry.parse().map_err(|_| TokenError::Invalid)?;
        if now_s >= expires_s {
            return Err(TokenError::Expired);
        }
        let user = user.parse().map_err(|_| TokenError::Invalid)?;
        let nonce = u128::from_str_radix(nonce, 16).map_err(|_| TokenError::Invalid)?;
        let mut used = self.used.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        // A ticket is worth remembering for half a minute, so the table is swept whenever it would grow.
        if used.len() == used.capacity() {
            used.retain(|_, expires_s| *expires_s > now_s);
        }
        match used.insert(nonce.to_be_bytes(), expires_s) {
            None => Ok(user),
            Some(_) => Err(TokenError::Invalid),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_works_once() {
        let tickets = StreamTickets::new(&[3; 32]);
        let user: UserId = "u_1.2".parse().unwrap();
        let (ticket, expires_s) = tickets.mint(&user, 100);
        assert_eq!(expires_s, 130);
        assert_eq!(tickets.redeem(&ticket, 129), Ok(user));
        assert_eq!(tickets.redeem(&ticket, 129), Err(TokenError::Invalid));
    }

    #[test]
    fn a_ticket_expires_and_a_forged_one_is_invalid() {
        let tickets = StreamTickets::new(&[3; 32]);
        let (ticket, _) = tickets.mint(&"ann".parse().unwrap(), 100);
        assert_eq!(tickets.redeem(&ticket, 130), Err(TokenError::Expired));
        assert_eq!(tickets.redeem(&ticket.replace("ann", "bob"), 101), Err(TokenError::Invalid));
    }
}
