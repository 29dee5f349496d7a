//! Payers as the rules know them: ids of which nobody can tell the e-mail address or the card.

use crate::auth::{KeyedMac, keyed_mac};
use hmac::Mac;
use onrush_core::ids::{EventId, PayerId};
use onrush_core::payers::PayerBy;

/// Derives payers from an event, and from an e-mail address or a card.
///
/// Keyed, so that nobody who reads a journal can try addresses out; and with the event in it, so that
/// the payers of two events cannot be told to be the same.
pub struct Payers(KeyedMac);

impl Payers {
    /// Payers under `key`.
    #[must_use]
    pub fn new(key: &[u8; 32]) -> Self {
        Self(keyed_mac(key, "payer id"))
    }

    /// Who pays under this e-mail address. Large and small letters are the same, and what stands behind
    /// a `+` before the `@` is left out: it is delivered to the same person.
    #[must_use]
    pub fn email(&self, event: &EventId, address: &str) -> PayerId {
        self.payer(event, PayerBy::Email, &plain(address))
    }

    /// Who pays with the card of this fingerprint, as the gateway tells it.
    #[must_use]
    pub fn card(&self, event: &EventId, fingerprint: &str) -> PayerId {
        self.payer(event, PayerBy::Card, fingerprint)
    }

    fn payer(&self, event: &EventId, by: PayerBy, known_by: &str) -> PayerId {
        let mut mac = self.0.clone();
        // No event and no kind has a NUL, so that no two triples read the same.
        for part in [event.as_str(), "\0", by.into(), "\0", known_by] {
            mac.update(part.as_bytes());
        }
        let full = mac.finalize().into_bytes();
        let half = full.first_chunk::<16>().expect("a SHA-256 has 32 bytes");
        PayerId::from_u128(u128::from_be_bytes(*half))
    }
}

/// The address without what does not make it another one.
fn plain(address: &str) -> String {
    let lower = address.trim().to_lowercase();
    let Some((local, host)) = lower.rsplit_once('@') else { return lower };
    match local.split_once('+') {
        Some((name, _)) if !name.is_empty() => format!("{name}@{host}"),
        Some(_) | None => lower,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(id: &str) -> EventId {
        id.parse().unwrap()
    }

    #[test]
    fn addresses_that_reach_the_same_person_are_one_payer() {
        let payers = Payers::new(&[1; 32]);
        let of = |address: &str| payers.email(&event("gala"), address);
        let ann = of("ann@example.org");
        for same in [
            "Ann@Example.ORG",
            " ann@example.org ",
            "ann+tickets@example.org",
            "ANN+a+b@example.org",
        ] {
            assert_eq!(of(same), ann, "{same}");
        }
        for other in
            ["an@example.org", "ann@example.com", "ann.b@example.org", "+ann@example.org", "ann"]
        {
            assert_ne!(of(other), ann, "{other}");
        }
        assert_ne!(
            of("+ann@example.org"),
            of("+bob@example.org"),
            "a name may begin with the sign"
        );
    }

    #[test]
    fn payers_of_two_events_two_kinds_or_two_keys_are_not_the_same() {
        let payers = Payers::new(&[1; 32]);
        let ann = payers.email(&event("gala"), "ann@example.org");
        assert_ne!(ann, payers.email(&event("gala-2"), "ann@example.org"));
        assert_ne!(ann, payers.card(&event("gala"), "ann@example.org"));
        assert_ne!(ann, Payers::new(&[2; 32]).email(&event("gala"), "ann@example.org"));
        let card = payers.card(&event("gala"), "Xt5EWLLDS7FJjR1c");
        assert_eq!(card, payers.card(&event("gala"), "Xt5EWLLDS7FJjR1c"));
        assert_ne!(card, payers.card(&event("gala"), "xt5ewllds7fjjr1c"));
    }
}
