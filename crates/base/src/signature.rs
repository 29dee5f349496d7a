//! Signed messages: `t=<seconds>,v1=<HMAC-SHA256 of "t.body" in hexadecimal>`, as Stripe's webhooks have it.

use crate::auth::hex;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use subtle::ConstantTimeEq;

/// How far a message's time may be from ours, in seconds.
pub const TOLERANCE_S: i64 = 300;

/// Why a signature is not believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsigned {
    /// It has not the form above.
    Malformed,
    /// None of its digests fits.
    Wrong,
    /// It fits, and its time is too far from ours.
    TooOld,
}

/// The header that signs `body` at `now_s`.
///
/// # Panics
/// With an empty secret: everybody has that one, and the configuration never lets it pass.
#[must_use]
pub fn sign(secret: &[u8], body: &[u8], now_s: i64) -> String {
    assert!(!secret.is_empty(), "nothing is signed with an empty secret");
    format!("t={now_s},v1={}", hex(&digest(secret, &now_s.to_string(), body)))
}

/// Checks the header of a message. Any one of several `v1` may fit: secrets are rotated that way.
/// Nothing fits an empty secret, since everybody can sign with that.
///
/// # Errors
/// [`Unsigned`], with what is wrong.
pub fn verify(secret: &[u8], header: &str, body: &[u8], now_s: i64) -> Result<(), Unsigned> {
    let parts = || header.split(',').filter_map(|part| part.trim().split_once('='));
    let time = parts().find(|(name, _)| *name == "t").map(|(_, text)| text);
    let time = time.ok_or(Unsigned::Malformed)?;
    let signed_at_s: i64 = time.parse().map_err(|_| Unsigned::Malformed)?;
    let mut digests = parts().filter(|(name, _)| *name == "v1").map(|(_, text)| text).peekable();
    if digests.peek().is_none() {
        return Err(Unsigned::Malformed);
    }
    let expected = hex(&digest(secret, time, body));
    // Every digest is looked at, so that the time it takes tells nothing.
    let fits = digests
        .fold(false, |fits, text| fits | bool::from(text.as_bytes().ct_eq(expected.as_bytes())));
    if !fits || secret.is_empty() {
        return Err(Unsigned::Wrong);
    }
    let distance_s = now_s.saturating_sub(signed_at_s).saturating_abs();
    if distance_s <= TOLERANCE_S { Ok(()) } else { Err(Unsigned::TooOld) }
}

fn digest(secret: &[u8], time: &str, body: &[u8]) -> [u8; 32] {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).expect("HMAC takes keys of every length");
    mac.update(time.as_bytes());
    mac.update(b".");
    mac.update(body);
    mac.finalize().into_bytes().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW_S: i64 = 1_790_000_000;

    #[test]
    fn only_the_signed_body_with_the_right_secret_in_time_is_believed() {
        let header = sign(b"secret", b"body", NOW_S);
        assert_eq!(verify(b"secret", &header, b"body", NOW_S + TOLERANCE_S), Ok(()));
        assert_eq!(verify(b"secret", &header, b"body", NOW_S + 301), Err(Unsigned::TooOld));
        assert_eq!(verify(b"secret", &header, b"body", NOW_S - 301), Err(Unsigned::TooOld));
        assert_eq!(verify(b"secret", &header, b"Body", NOW_S), Err(Unsigned::Wrong));
        assert_eq!(verify(b"other", &header, b"body", NOW_S), Err(Unsigned::Wrong));
        let moved = header.replace("t=1790000000", "t=1790000001");
        assert_eq!(verify(b"secret", &moved, b"body", NOW_S), Err(Unsigned::Wrong));
    }

    #[test]
    fn nothing_is_believed_that_is_signed_with_an_empty_secret() {
        let digest = hex(&digest(b"", &NOW_S.to_string(), b"body"));
        let header = format!("t={NOW_S},v1={digest}");
        assert_eq!(verify(b"", &header, b"body", NOW_S), Err(Unsigned::Wrong));
    }

    #[test]
    fn a_second_digest_may_fit() {
        let header = sign(b"new", b"body", NOW_S);
        let header = header.replace(",v1=", ",v0=ff,v1=00,v1=");
        assert_eq!(verify(b"new", &header, b"body", NOW_S), Ok(()));
    }

    #[test]
    fn what_is_not_a_signature_is_malformed() {
        for header in ["", "t=1", "v1=00", "t=x,v1=00", "nonsense"] {
            assert_eq!(verify(b"s", header, b"", 1), Err(Unsigned::Malformed), "{header}");
        }
    }
}
