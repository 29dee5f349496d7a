//! Codes of channels as the rules know them: digests of which nobody can tell the code.

use crate::auth::{KeyedMac, keyed_mac};
use hmac::Mac;
use onrush_core::ids::EventId;
use onrush_core::settings::Digest;
use sha2::{Digest as _, Sha256};

/// How many characters a code has.
const CHARS: std::ops::RangeInclusive<usize> = 6..=100;

/// Derives what is kept of a code from the event and the code.
///
/// Keyed, so that nobody who reads a journal or the feed can try codes out; and with the event in it,
/// so that equal codes of two events look different.
pub struct ChannelCodes(KeyedMac);

impl ChannelCodes {
    /// Codes under `key`.
    #[must_use]
    pub fn new(key: &[u8; 32]) -> Self {
        Self(keyed_mac(key, "channel code"))
    }

    /// What is kept of a code; `None` if it is none. Blanks around it and capitals do not matter.
    #[must_use]
    pub fn kept(&self, event: &EventId, code: &str) -> Option<Digest> {
        let mut mac = self.0.clone();
        // Neither an event nor what stands before it has a NUL, so that no two pairs read the same.
        for part in [event.as_str(), "\0", &plain(code)?] {
            mac.update(part.as_bytes());
        }
        Some(Digest(mac.finalize().into_bytes().into()))
    }

    /// What may be kept of a code: as it is today, and as it was while no key was in it.
    #[must_use]
    pub fn kept_ever(&self, event: &EventId, code: &str) -> Option<[Digest; 2]> {
        let code = plain(code)?;
        let mut hash = Sha256::new();
        for part in ["a channel's code\0", event.as_str(), "\0", &code] {
            hash.update(part.as_bytes());
        }
        Some([self.kept(event, &code)?, Digest(hash.finalize().into())])
    }
}

/// The code without what does not matter, if its length is that of a code.
fn plain(code: &str) -> Option<String> {
    let code = code.trim().to_lowercase();
    CHARS.contains(&code.chars().count()).then_some(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(id: &str) -> EventId {
        id.parse().unwrap()
    }

    #[test]
    fn capitals_and_blanks_do_not_matter_and_the_event_does() {
        let codes = ChannelCodes::new(&[1; 32]);
        let kept = codes.kept(&event("gala"), "Fans-2026").unwrap();
        assert_eq!(codes.kept(&event("gala"), " FANS-2026 "), Some(kept));
        assert_ne!(codes.kept(&event("ball"), "fans-2026"), Some(kept));
        assert_ne!(codes.kept(&event("gala"), "fans-2027"), Some(kept));
        assert_eq!(codes.kept(&event("gala"), " short "), None);
        assert_eq!(codes.kept(&event("gala"), &"x".repeat(101)), None);
    }

    #[test]
    fn nobody_without_the_key_can_try_codes_out() {
        let of = |key| ChannelCodes::new(&[key; 32]).kept_ever(&event("gala"), "fans-2026");
        let ([kept, before], [other, same]) = (of(1).unwrap(), of(2).unwrap());
        assert_ne!(kept, other);
        assert_ne!(kept, before);
        assert_eq!(before, same);
    }

    #[test]
    fn a_code_that_was_kept_before_there_was_a_key_is_still_found() {
        let codes = ChannelCodes::new(&[1; 32]);
        let [_, before] = codes.kept_ever(&event("gala"), " Fans-2026").unwrap();
        assert_eq!(
            crate::auth::hex(&before.0),
            "82d0a9607aec14ad3c11b32ad2f7520906ad95c98cb96059bc00f942db5c9f8f"
        );
    }
}
