//! Sessions of browsers: who signs in with a key gets a signed cookie instead, so that no page has
//! to keep the key.
//!
//! A cookie is signed under a key that depends on the key that was shown at sign-in, so that
//! changing that one, or taking it out of the settings, ends all sessions that began with it. Who
//! signs in with an OpenID provider has their groups in the cookie: what these give the right to is
//! looked up each time, so that it is never more than the settings say. Which sessions live is
//! written down elsewhere: a genuine cookie is not enough.

use crate::auth::keyring::{Keyring, NamedKey};
use crate::auth::oidc::people::{GroupId, PREFIX, People, Person};
use crate::auth::{KeyedMac, TokenError, hex, keyed_mac, random};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use hmac::Mac;
use sha2::{Digest, Sha256};
use std::sync::Arc;

/// A genuine session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// The key that its user signed in with; for who signed in without one, what they may do, under
    /// their name.
    pub key: Arc<NamedKey>,
    /// Until when, in seconds.
    pub expires_s: i64,
    /// What its CSRF token is made of: 32 hexadecimal digits.
    id: String,
}

impl Session {
    /// Its id among those that live, which signs nobody in: 32 hexadecimal digits.
    #[must_use]
    pub fn public_id(&self) -> String {
        let mut hash = Sha256::new();
        hash.update(b"browser session ");
        hash.update(self.id.as_bytes());
        hex(&hash.finalize()[..16])
    }
}

/// Makes and checks sessions.
pub struct Sessions {
    of_keys: Vec<(Arc<NamedKey>, Macs)>,
    of_people: Option<(Arc<People>, Macs)>,
}

struct Macs {
    cookie: KeyedMac,
    csrf: KeyedMac,
}

impl Macs {
    fn new(token_key: &[u8; 32], purpose: &str, of: &[u8; 32]) -> Self {
        let mut derive = keyed_mac(token_key, purpose);
        derive.update(of);
        let key = derive.finalize().into_bytes().into();
        Self { cookie: keyed_mac(&key, "session cookie"), csrf: keyed_mac(&key, "csrf token") }
    }
}

impl Sessions {
    /// Sessions under `token_key`, of those who sign in with these keys.
    #[must_use]
    pub fn new(token_key: &[u8; 32], keys: &Keyring) -> Self {
        let macs = |key: &Arc<NamedKey>| (key.clone(), Macs::new(token_key, "session", key.hash()));
        Self { of_keys: keys.iter().map(macs).collect(), of_people: None }
    }

    /// The same, and of people of an OpenID provider.
    #[must_use]
    pub fn and_people(mut self, token_key: &[u8; 32], people: Option<Arc<People>>) -> Self {
        self.of_people = people.map(|people| {
            let macs = Macs::new(token_key, "session of an OpenID provider", &people.digest());
            (people, macs)
        });
        self
    }

    /// A new session that lasts `ttl_s` at most, and the cookie `s2.<name>.<id>.<expiry s>.<mac>`;
    /// `None` for a key that is not one of these.
    #[must_use]
    pub fn begin(&self, key: &NamedKey, now_s: i64, ttl_s: u32) -> Option<(Session, String)> {
        let (key, macs) = self.of(&key.name)?;
        Some(begin(key.clone(), macs, format!("s2.{}", key.name), now_s, ttl_s))
    }

    /// The same for somebody of the provider's, with the cookie
    /// `o1.<name>.<groups>.<id>.<expiry s>.<mac>`; `None` without a provider.
    #[must_use]
    pub fn begin_for(&self, person: &Person, now_s: i64, ttl_s: u32) -> Option<(Session, String)> {
        let (people, macs) = self.of_people.as_ref()?;
        let key = NamedKey::of_person(person.name.clone(), people.scopes_of(person));
        let name = BASE64_URL_SAFE_NO_PAD.encode(person.name.as_bytes());
        let groups = BASE64_URL_SAFE_NO_PAD.encode(person.groups.concat());
        Some(begin(key, macs, format!("o1.{name}.{groups}"), now_s, ttl_s))
    }

    /// The session that a cookie stands for.
    ///
    /// # Errors
    /// `Invalid` unless it was signed here under the present keys, `Expired` from its expiry on.
    pub fn verify(&self, cookie: &str, now_s: i64) -> Result<Session, TokenError> {
        let invalid = TokenError::Invalid;
        let (signed, mac_text) = cookie.rsplit_once('.').ok_or(invalid)?;
        let genuine = |macs: &Macs| {
            let mac_bytes = BASE64_URL_SAFE_NO_PAD.decode(mac_text).map_err(|_| invalid)?;
            let mut mac = macs.cookie.clone();
            mac.update(signed.as_bytes());
            // Compares in constant time.
            mac.verify_slice(&mac_bytes).map_err(|_| invalid)
        };
        let (key, rest) = if let Some(rest) = signed.strip_prefix("s2.") {
            let (name, rest) = rest.split_once('.').ok_or(invalid)?;
            let (key, macs) = self.of(name).ok_or(invalid)?;
            genuine(macs)?;
            (key.clone(), rest)
        } else {
            let rest = signed.strip_prefix("o1.").ok_or(invalid)?;
            let (people, macs) = self.of_people.as_ref().ok_or(invalid)?;
            genuine(macs)?;
            let (name, rest) = rest.split_once('.').ok_or(invalid)?;
            let (groups, rest) = rest.split_once('.').ok_or(invalid)?;
            let person = person_of(name, groups).ok_or(invalid)?;
            let scopes = people.scopes_of(&person);
            if scopes.is_empty() {
                return Err(TokenError::Expired);
            }
            (NamedKey::of_person(person.name, scopes), rest)
        };
        let (id, expiry) = rest.split_once('.').ok_or(invalid)?;
        let expires_s: i64 = expiry.parse().map_err(|_| invalid)?;
        if now_s >= expires_s {
            return Err(TokenError::Expired);
        }
        Ok(Session { key, expires_s, id: id.to_owned() })
    }

    /// Whether sessions of this name could be genuine: a key has it, or it is one of the provider's
    /// people's.
    #[must_use]
    pub fn knows(&self, name: &str) -> bool {
        self.macs_of(name).is_some()
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
        let mut mac = self.macs_of(&session.key.name)?.csrf.clone();
        mac.update(session.id.as_bytes());
        Some(mac)
    }

    fn of(&self, name: &str) -> Option<&(Arc<NamedKey>, Macs)> {
        self.of_keys.iter().find(|(key, _)| &*key.name == name)
    }

    fn macs_of(&self, name: &str) -> Option<&Macs> {
        if name.starts_with(PREFIX) {
            return self.of_people.as_ref().map(|(_, macs)| macs);
        }
        self.of(name).map(|(_, macs)| macs)
    }
}

/// A new session, and its cookie, which begins like this.
fn begin(
    key: Arc<NamedKey>,
    macs: &Macs,
    mut cookie: String,
    now_s: i64,
    ttl_s: u32,
) -> (Session, String) {
    let expires_s = now_s.saturating_add(ttl_s.into());
    let id = hex(&random::<16>());
    cookie.push_str(&format!(".{id}.{expires_s}"));
    let mut mac = macs.cookie.clone();
    mac.update(cookie.as_bytes());
    cookie.push('.');
    BASE64_URL_SAFE_NO_PAD.encode_string(mac.finalize().into_bytes(), &mut cookie);
    (Session { key, expires_s, id }, cookie)
}

/// Whom a cookie is of that was signed here.
fn person_of(name: &str, groups: &str) -> Option<Person> {
    let name = String::from_utf8(BASE64_URL_SAFE_NO_PAD.decode(name).ok()?).ok()?;
    let groups = BASE64_URL_SAFE_NO_PAD.decode(groups).ok()?;
    let (groups, rest) = groups.as_chunks::<{ size_of::<GroupId>() }>();
    let is_ours = name.starts_with(PREFIX) && rest.is_empty();
    is_ours.then(|| Person { name: name.into(), groups: groups.to_vec() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::keys::Scope;

    const TTL_S: u32 = 12 * 3_600;

    /// Keys by their names, each with a hash of one byte.
    fn keys(of: &[(&'static str, u8)]) -> Keyring {
        Keyring::of(of.iter().map(|&(name, byte)| (name, [byte; 32], vec![Scope::Read])))
    }

    fn sessions() -> (Keyring, Sessions) {
        let keys = keys(&[("admin", 1), ("ann", 2)]);
        let sessions = Sessions::new(&[7; 32], &keys);
        (keys, sessions)
    }

    /// A session of a key, and its cookie.
    fn begin(name: &str) -> (Session, String) {
        let (keys, sessions) = sessions();
        sessions.begin(keys.named(name).unwrap(), 1_000, TTL_S).unwrap()
    }

    #[test]
    fn a_session_has_its_key_until_its_exact_end() {
        let (keys, sessions) = sessions();
        for key in keys.iter() {
            let (session, cookie) = sessions.begin(key, 1_000, TTL_S).unwrap();
            let end = 1_000 + i64::from(TTL_S);
            assert_eq!((&session.key, session.expires_s), (key, end));
            assert_eq!(sessions.verify(&cookie, end - 1), Ok(session));
            assert_eq!(sessions.verify(&cookie, end), Err(TokenError::Expired));
        }
    }

    #[test]
    fn any_changed_byte_makes_a_session_invalid() {
        let (_, cookie) = begin("ann");
        let verify = |cookie: &str| sessions().1.verify(cookie, 1_001);
        for i in 0..cookie.len() {
            let mut bytes = cookie.clone().into_bytes();
            bytes[i] = if bytes[i] == b'0' { b'1' } else { b'0' };
            let forged = String::from_utf8(bytes).unwrap();
            assert_eq!(verify(&forged), Err(TokenError::Invalid), "{forged}");
        }
        assert_eq!(verify(&cookie.replace("ann", "admin")), Err(TokenError::Invalid));
    }

    #[test]
    fn another_key_at_sign_in_or_of_the_server_ends_all_sessions() {
        let cookies = ["admin", "ann"].map(|name| begin(name).1);
        let other = |token_key: u8, of: &[(&'static str, u8)]| {
            let sessions = Sessions::new(&[token_key; 32], &keys(of));
            cookies.each_ref().map(|cookie| sessions.verify(cookie, 1_001).is_ok())
        };
        assert_eq!(other(7, &[("admin", 1), ("ann", 2)]), [true, true]);
        assert_eq!(other(7, &[("admin", 9), ("ann", 2)]), [false, true]);
        assert_eq!(other(7, &[("admin", 1), ("ann", 9)]), [true, false]);
        assert_eq!(other(7, &[("admin", 1)]), [true, false]);
        assert_eq!(other(8, &[("admin", 1), ("ann", 2)]), [false, false]);
        // With one key for both, each cookie is still its own name's.
        let keys = keys(&[("admin", 1), ("ann", 1)]);
        let same = Sessions::new(&[7; 32], &keys);
        let (_, cookie) = same.begin(keys.named("ann").unwrap(), 1_000, TTL_S).unwrap();
        let promoted = cookie.replace("ann", "admin");
        assert_eq!(same.verify(&promoted, 1_001), Err(TokenError::Invalid));
    }

    /// People of a provider's, with these groups.
    fn people(issuer: &str, groups: &[(&str, &str)]) -> Arc<People> {
        let mut text = format!(
            "[oidc]\nissuer = \"{issuer}\"\nclient_id = \"onrush\"\nclient_secret = \"s\"\n"
        );
        for (name, scope) in groups {
            text.push_str(&format!("[[oidc.groups]]\nname = \"{name}\"\nscopes = [\"{scope}\"]\n"));
        }
        let config = crate::config::Config::parse(&text).unwrap();
        Arc::new(People::new(&config.oidc.unwrap()))
    }

    const ISSUER: &str = "https://id.example";

    fn with_people(people: Option<Arc<People>>) -> Sessions {
        sessions().1.and_people(&[7; 32], people)
    }

    fn ann(people: &People) -> Person {
        let claims = serde_json::json!({"sub": "42", "preferred_username": "admin",
            "groups": ["office", "door"]});
        people.person(ISSUER, claims.as_object().unwrap()).unwrap()
    }

    #[test]
    fn a_person_has_what_their_groups_give_now_and_never_a_keys_rights() {
        let now = people(ISSUER, &[("office", "sell"), ("door", "door")]);
        let sessions = with_people(Some(now.clone()));
        let (session, cookie) = sessions.begin_for(&ann(&now), 1_000, TTL_S).unwrap();
        assert!(session.key.name.starts_with("oidc:admin~"), "{}", session.key.name);
        assert_eq!(session.key.scopes, [Scope::Sell, Scope::Door]);
        let end = 1_000 + i64::from(TTL_S);
        assert_eq!(sessions.verify(&cookie, end - 1), Ok(session.clone()));
        assert_eq!(sessions.verify(&cookie, end), Err(TokenError::Expired));
        assert!(sessions.csrf_matches(&session, &sessions.csrf(&session)));
        assert!(sessions.knows(&session.key.name) && !sessions.knows("nobody"));
        for i in 0..cookie.len() {
            let mut bytes = cookie.clone().into_bytes();
            bytes[i] = if bytes[i] == b'0' { b'1' } else { b'0' };
            let forged = String::from_utf8(bytes).unwrap();
            assert_eq!(sessions.verify(&forged, 1_001), Err(TokenError::Invalid), "{forged}");
        }
        let after = |people: Option<Arc<People>>| {
            let session = with_people(people).verify(&cookie, 1_001);
            session.map(|session| session.key.scopes.clone())
        };
        let less = people(ISSUER, &[("door", "door")]);
        assert_eq!(after(Some(less)), Ok(vec![Scope::Door]));
        let other = people(ISSUER, &[("office", "read"), ("third", "admin")]);
        assert_eq!(after(Some(other)), Ok(vec![Scope::Read]));
        let none = people(ISSUER, &[("third", "admin")]);
        assert_eq!(after(Some(none)), Err(TokenError::Expired));
        let elsewhere = people("https://other.example", &[("office", "sell")]);
        assert_eq!(after(Some(elsewhere)), Err(TokenError::Invalid));
        assert_eq!(after(None), Err(TokenError::Invalid));
    }

    #[test]
    fn a_csrf_token_belongs_to_one_session() {
        let (session, cookie) = begin("admin");
        let (other, _) = begin("admin");
        let (_, sessions) = sessions();
        let csrf = sessions.csrf(&session);
        assert!(sessions.csrf_matches(&session, &csrf));
        for wrong in ["", "x", &csrf[1..], &sessions.csrf(&other), &cookie] {
            assert!(!sessions.csrf_matches(&session, wrong), "{wrong}");
        }
    }
}
