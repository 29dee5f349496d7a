//! A sign-in that is under way: a signed cookie has all there is of it, so that any node goes on
//! with it, and whoever never comes back leaves nothing.
//!
//! State, nonce and the verifier of PKCE follow from the cookie's id and a key of the server: the
//! state binds the answer to this browser, and the verifier never leaves us but for the provider.

use crate::auth::{KeyedMac, hex, keyed_mac, random};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use hmac::Mac;

/// How long a sign-in may take, in seconds.
pub const LIFETIME_S: u32 = 600;
/// The longest page to go back to, in bytes.
const MAX_TO: usize = 1_000;

/// A sign-in that is under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    id: String,
    /// The page to go back to.
    pub to: String,
}

/// Begins sign-ins, and knows them again.
pub struct Flows {
    cookie: KeyedMac,
    state: KeyedMac,
    nonce: KeyedMac,
    verifier: KeyedMac,
}

impl Flows {
    /// Sign-ins under `token_key`.
    #[must_use]
    pub fn new(token_key: &[u8; 32]) -> Self {
        let keyed = |purpose: &str| keyed_mac(token_key, purpose);
        Self {
            cookie: keyed("oidc cookie"),
            state: keyed("oidc state"),
            nonce: keyed("oidc nonce"),
            verifier: keyed("oidc verifier"),
        }
    }

    /// A new one, and the cookie `f1.<id>.<expiry s>.<page>.<mac>`.
    #[must_use]
    pub fn begin(&self, to: &str, now_s: i64) -> (Flow, String) {
        let flow = Flow { id: hex(&random::<16>()), to: to.to_owned() };
        let expiry = now_s.saturating_add(LIFETIME_S.into());
        let page = BASE64_URL_SAFE_NO_PAD.encode(&flow.to);
        let mut cookie = format!("f1.{}.{expiry}.{page}", flow.id);
        let mac = of(&self.cookie, &cookie);
        cookie.push('.');
        cookie.push_str(&mac);
        (flow, cookie)
    }

    /// The one that a cookie stands for, if it is genuine and not over.
    #[must_use]
    pub fn read(&self, cookie: &str, now_s: i64) -> Option<Flow> {
        let (signed, mac_text) = cookie.rsplit_once('.')?;
        let mut mac = self.cookie.clone();
        mac.update(signed.as_bytes());
        // Compares in constant time.
        mac.verify_slice(&BASE64_URL_SAFE_NO_PAD.decode(mac_text).ok()?).ok()?;
        let mut parts = signed.strip_prefix("f1.")?.split('.');
        let (id, expiry, page) = (parts.next()?, parts.next()?, parts.next()?);
        let expiry: i64 = expiry.parse().ok()?;
        let to = String::from_utf8(BASE64_URL_SAFE_NO_PAD.decode(page).ok()?).ok()?;
        (now_s < expiry).then(|| Flow { id: id.to_owned(), to })
    }

    /// What the provider gives back as it is.
    #[must_use]
    pub fn state(&self, flow: &Flow) -> String {
        of(&self.state, &flow.id)
    }

    /// What has to stand in the ID token.
    #[must_use]
    pub fn nonce(&self, flow: &Flow) -> String {
        of(&self.nonce, &flow.id)
    }

    /// What proves to the provider that whoever brings the code began the sign-in: 43 letters.
    #[must_use]
    pub fn verifier(&self, flow: &Flow) -> String {
        of(&self.verifier, &flow.id)
    }
}

fn of(keyed: &KeyedMac, text: &str) -> String {
    let mut mac = keyed.clone();
    mac.update(text.as_bytes());
    BASE64_URL_SAFE_NO_PAD.encode(mac.finalize().into_bytes())
}

/// Whether somebody may be sent there after they signed in: a page of the organiser's on this host,
/// and nothing that a browser could read as another one.
#[must_use]
pub fn is_page(to: &str) -> bool {
    let (path, _) = to.split_once('?').unwrap_or((to, ""));
    let is_inside = path == "/admin" || path.starts_with("/admin/");
    let is_plain = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'\\' | b'#');
    let climbs = |part: &str| {
        let part = part.to_ascii_lowercase().replace("%2e", ".");
        matches!(part.as_str(), "." | "..")
    };
    let is_slash = path.to_ascii_lowercase();
    let hidden = ["%2f", "%5c"].iter().any(|coded| is_slash.contains(coded));
    is_inside
        && to.len() <= MAX_TO
        && to.bytes().all(is_plain)
        && !path.contains("//")
        && !hidden
        && !path.split('/').any(climbs)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flows() -> Flows {
        Flows::new(&[7; 32])
    }

    #[test]
    fn a_sign_in_goes_on_where_it_began_until_its_exact_end() {
        let (flow, cookie) = flows().begin("/admin/events?x=1", 1_000);
        let end = 1_000 + i64::from(LIFETIME_S);
        assert_eq!(flows().read(&cookie, end - 1), Some(flow));
        assert_eq!(flows().read(&cookie, end), None);
        assert_eq!(Flows::new(&[8; 32]).read(&cookie, 1_000), None);
    }

    #[test]
    fn any_changed_byte_makes_a_cookie_invalid() {
        let (_, cookie) = flows().begin("/admin", 1_000);
        for i in 0..cookie.len() {
            let mut bytes = cookie.clone().into_bytes();
            bytes[i] = if bytes[i] == b'0' { b'1' } else { b'0' };
            let forged = String::from_utf8(bytes).unwrap();
            assert_eq!(flows().read(&forged, 1_000), None, "{forged}");
        }
    }

    #[test]
    fn no_two_sign_ins_share_anything_and_nothing_secret_is_in_the_cookie() {
        let flows = flows();
        let ((one, cookie), (other, _)) = (flows.begin("/admin", 1), flows.begin("/admin", 1));
        let all = |flow: &Flow| [flows.state(flow), flows.nonce(flow), flows.verifier(flow)];
        for made in all(&one) {
            // What RFC 7636 wants of a verifier, at least.
            assert_eq!(made.len(), 43);
            assert!(!cookie.contains(&made) && !all(&other).contains(&made));
            assert_eq!(all(&one).iter().filter(|same| **same == made).count(), 1);
        }
    }

    #[test]
    fn only_pages_of_the_organisers_are_gone_back_to() {
        for to in ["/admin", "/admin/", "/admin?x=1", "/admin/events/gala/edit?tab=a%20b&x=//"] {
            assert!(is_page(to), "{to}");
        }
        let long = format!("/admin/{}", "a".repeat(1_000));
        for to in [
            "",
            "/",
            "admin",
            "/administer",
            "//evil.example/admin",
            "/\\evil.example",
            "/admin/\\evil.example",
            "https://evil.example/admin",
            "/admin//evil.example",
            "/admin/../events",
            "/admin/%2E%2e/events",
            "/admin/.%2e/x",
            "/admin/%2f%2fevil.example",
            "/admin/\r\nSet-Cookie: a=b",
            "/admin/ä",
            "/admin#x",
            "javascript:alert(1)",
            &long,
        ] {
            assert!(!is_page(to), "{to}");
        }
    }
}
