//! Sessions of browsers: who signs in with a key gets a signed cookie instead, so that no page has
//! to keep the key.
//!
//! Nothing about them is stored. A cookie is signed under a key that depends on the key that was
//! shown at sign-in, so that changing that one ends all sessions that began with it.

use crate::auth::{KeyedMac, TokenError, hex, keyed_mac, random};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use hmac::Mac;

/// How long a session lasts, in seconds.
pub const SESSION_S: i64 = 12 * 3_600;

/// What somebody who showed a key may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Everything, by the admin API key.
    Admin,
    /// Check tickets in, by the scanner key.
    Scanner,
}

impl Role {
    /// As it is written in cookies and answers.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Admin => "admin",
            Self::Scanner => "scanner",
        }
    }
}

/// A genuine session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// What its user may do.
    pub role: Role,
    /// Until when, in seconds.
    pub expires_s: i64,
    /// What its CSRF token is made of: 32 hexadecimal digits.
    id: String,
}

/// Makes and checks sessions.
pub struct Sessions {
    admin: Macs,
    /// If there is a scanner key.
    scanner: Option<Macs>,
}

struct Macs {
    cookie: KeyedMac,
    csrf: KeyedMac,
}

impl Macs {
    fn new(token_key: &[u8; 32], key_hash: &[u8; 32]) -> Self {
        let mut derive = keyed_mac(token_key, "session");
        derive.update(key_hash);
        let key = derive.finalize().into_bytes().into();
        Self { cookie: keyed_mac(&key, "session cookie"), csrf: keyed_mac(&key, "csrf token") }
    }
}

impl Sessions {
    /// Sessions under `token_key`, of those who sign in with keys of these hashes.
    #[must_use]
    pub fn new(
        token_key: &[u8; 32],
        admin_hash: &[u8; 32],
        scanner_hash: Option<&[u8; 32]>,
    ) -> Self {
        Self {
            admin: Macs::new(token_key, admin_hash),
            scanner: scanner_hash.map(|hash| Macs::new(token_key, hash)),
        }
    }

    /// A new session, and the cookie `s1.<role>.<id>.<expiry s>.<mac>`; `None` if nobody can have the role.
    #[must_use]
    pub fn begin(&self, role: Role, now_s: i64) -> Option<(Session, String)> {
        let expires_s = now_s.saturating_add(SESSION_S);
        let id = hex(&random::<16>());
        let mut cookie = format!("s1.{}.{id}.{expires_s}", role.name());
        let mut mac = self.macs(role)?.cookie.clone();
        mac.update(cookie.as_bytes());
        cookie.push('.');
        BASE64_URL_SAFE_NO_PAD.encode_string(mac.finalize().into_bytes(), &mut cookie);
        Some((Session { role, expires_s, id }, cookie))
    }

    /// The session that a cookie stands for.
    ///
    /// # Errors
    /// `Invalid` unless it was signed here under the present keys, `Expired` from its expiry on.
    pub fn verify(&self, cookie: &str, now_s: i64) -> Result<Session, TokenError> {
        let invalid = TokenError::Invalid;
        let (signed, mac_text) = cookie.rsplit_once('.').ok_or(invalid)?;
        let rest = signed.strip_prefix("s1.").ok_or(invalid)?;
        let (role, rest) = rest.split_once('.').ok_or(invalid)?;
        let (id, expiry) = rest.split_once('.').ok_or(invalid)?;
        let role = match role {
            "admin" => Role::Admin,
            "scanner" => Role::Scanner,
            _ => return Err(invalid),
        };
        let mac_bytes = BASE64_URL_SAFE_NO_PAD.decode(mac_text).map_err(|_| invalid)?;
        let mut mac = self.macs(role).ok_or(invalid)?.cookie.clone();
        mac.update(signed.as_bytes());
        // Compares in constant time.
        mac.verify_slice(&mac_bytes).map_err(|_| invalid)?;
        let expires_s: i64 = expiry.parse().map_err(|_| invalid)?;
        if now_s >= expires_s {
            return Err(TokenError::Expired);
        }
        Ok(Session { role, expires_s, id: id.to_owned() })
    }

    /// What a page shows with each request that changes something: only pages of ours can read it.
    #[must_use]
    pub fn csrf(&self, session: &Session) -> String {
        let mac = self.csrf_mac(session).map(|mac| mac.finalize().into_bytes());
        mac.map(|mac| BASE64_URL_SAFE_NO_PAD.encode(mac)).unwrap_or_default()
    }

    /// Whether a text is the session's CSRF token. Takes the same time for every wrong one.
    #[must_use]
    pub fn csrf_matches(&self, session: &Session, text: &str) -> bool {
        let bytes = BASE64_URL_SAFE_NO_PAD.decode(text).unwrap_or_default();
        self.csrf_mac(session).is_some_and(|mac| mac.verify_slice(&bytes).is_ok())
    }

    fn csrf_mac(&self, session: &Session) -> Option<KeyedMac> {
        let mut mac = self.macs(session.role)?.csrf.clone();
        mac.update(session.id.as_bytes());
        Some(mac)
    }

    fn macs(&self, role: Role) -> Option<&Macs> {
        match role {
            Role::Admin => Some(&self.admin),
            Role::Scanner => self.scanner.as_ref(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sessions() -> Sessions {
        Sessions::new(&[7; 32], &[1; 32], Some(&[2; 32]))
    }

    #[test]
    fn a_session_has_its_role_until_its_exact_end() {
        for role in [Role::Admin, Role::Scanner] {
            let (session, cookie) = sessions().begin(role, 1_000).unwrap();
            let end = 1_000 + SESSION_S;
            assert_eq!((session.role, session.expires_s), (role, end));
            assert_eq!(sessions().verify(&cookie, end - 1), Ok(session));
            assert_eq!(sessions().verify(&cookie, end), Err(TokenError::Expired));
        }
    }

    #[test]
    fn any_changed_byte_makes_a_session_invalid() {
        let (_, cookie) = sessions().begin(Role::Scanner, 1_000).unwrap();
        for i in 0..cookie.len() {
            let mut bytes = cookie.clone().into_bytes();
            bytes[i] = if bytes[i] == b'0' { b'1' } else { b'0' };
            let forged = String::from_utf8(bytes).unwrap();
            assert_eq!(sessions().verify(&forged, 1_001), Err(TokenError::Invalid), "{forged}");
        }
        let promoted = cookie.replace("scanner", "admin");
        assert_eq!(sessions().verify(&promoted, 1_001), Err(TokenError::Invalid));
    }

    #[test]
    fn another_key_at_sign_in_or_of_the_server_ends_all_sessions() {
        let (_, admin) = sessions().begin(Role::Admin, 1_000).unwrap();
        let (_, scanner) = sessions().begin(Role::Scanner, 1_000).unwrap();
        let other = |token_key: u8, admin_key: u8, scanner_key: Option<u8>| {
            let scanner_hash = scanner_key.map(|key| [key; 32]);
            let sessions = Sessions::new(&[token_key; 32], &[admin_key; 32], scanner_hash.as_ref());
            [&admin, &scanner].map(|cookie| sessions.verify(cookie, 1_001).is_ok())
        };
        assert_eq!(other(7, 1, Some(2)), [true, true]);
        assert_eq!(other(7, 9, Some(2)), [false, true]);
        assert_eq!(other(7, 1, Some(9)), [true, false]);
        assert_eq!(other(7, 1, None), [true, false]);
        assert_eq!(other(8, 1, Some(2)), [false, false]);
        // With one key for both, a scanner's cookie is still a scanner's.
        let same = Sessions::new(&[7; 32], &[1; 32], Some(&[1; 32]));
        let (_, cookie) = same.begin(Role::Scanner, 1_000).unwrap();
        let promoted = cookie.replace("scanner", "admin");
        assert_eq!(same.verify(&promoted, 1_001), Err(TokenError::Invalid));
    }

    #[test]
    fn a_csrf_token_belongs_to_one_session() {
        let (session, cookie) = sessions().begin(Role::Admin, 1_000).unwrap();
        let (other, _) = sessions().begin(Role::Admin, 1_000).unwrap();
        let csrf = sessions().csrf(&session);
        assert!(sessions().csrf_matches(&session, &csrf));
        for wrong in ["", "x", &csrf[1..], &sessions().csrf(&other), &cookie] {
            assert!(!sessions().csrf_matches(&session, wrong), "{wrong}");
        }
    }
}
