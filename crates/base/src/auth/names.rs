//! The ids that we give bookings, places and claims: derived, so that a retry has the same id and
//! the rules recognise it.

use crate::auth::{KeyedMac, hex, keyed_mac};
use hmac::Mac;
use onrush_core::ids::{BookingId, ClaimId, EventId, PlaceId};

/// Derives ids from who asks, of which event, under which `Idempotency-Key`.
///
/// Keyed, so that nobody can work out another visitor's ids.
pub struct Names {
    bookings: KeyedMac,
    places: KeyedMac,
    claims: KeyedMac,
}

impl Names {
    /// Names under `key`.
    #[must_use]
    pub fn new(key: &[u8; 32]) -> Self {
        Self {
            bookings: keyed_mac(key, "booking id"),
            places: keyed_mac(key, "place id"),
            claims: keyed_mac(key, "claim id"),
        }
    }

    /// `<event>.<32 hexadecimal digits>`.
    #[must_use]
    pub fn booking(&self, event: &EventId, user: &str, key: &str) -> BookingId {
        prefixed(event, digest(&self.bookings, event, user, key))
            .parse()
            .expect("an event id, a dot and 32 digits are a booking id")
    }

    /// 128 bits.
    #[must_use]
    pub fn place(&self, event: &EventId, user: &str, key: &str) -> PlaceId {
        PlaceId::from_u128(u128::from_be_bytes(digest(&self.places, event, user, key)))
    }

    /// `<event>.<32 hexadecimal digits>`.
    #[must_use]
    pub fn claim(&self, event: &EventId, user: &str, key: &str) -> ClaimId {
        prefixed(event, digest(&self.claims, event, user, key))
            .parse()
            .expect("an event id, a dot and 32 digits are a claim id")
    }
}

/// The event that a booking's or claim's id names; `None` if it is not one of ours.
#[must_use]
pub fn event_of(id: &str) -> Option<EventId> {
    let (event, digits) = id.rsplit_once('.')?;
    if digits.len() == 32 { event.parse().ok() } else { None }
}

fn digest(keyed: &KeyedMac, event: &EventId, user: &str, key: &str) -> [u8; 16] {
    let mut mac = keyed.clone();
    // No id and no key contains a NUL, so that no two triples read the same.
    for part in [event.as_str(), "\0", user, "\0", key] {
        mac.update(part.as_bytes());
    }
    let full = mac.finalize().into_bytes();
    let mut half = [0; 16];
    half.copy_from_slice(&full[..16]);
    half
}

fn prefixed(event: &EventId, digest: [u8; 16]) -> String {
    let mut text = String::with_capacity(event.as_str().len() + 33);
    text.push_str(event.as_str());
    text.push('.');
    text.push_str(&hex(&digest));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_key_of_another_user_names_another_booking() {
        let names = Names::new(&[1; 32]);
        let event: EventId = "e".parse().unwrap();
        assert_eq!(names.booking(&event, "ann", "k"), names.booking(&event, "ann", "k"));
        assert_ne!(names.booking(&event, "ann", "k"), names.booking(&event, "bob", "k"));
        assert_ne!(names.booking(&event, "ann", "k"), names.booking(&event, "an", "nk"));
    }

    #[test]
    fn a_booking_leads_back_to_its_event_even_if_that_has_dots() {
        let event: EventId = "tour.2026.12".parse().unwrap();
        let booking = Names::new(&[1; 32]).booking(&event, "ann", "k");
        assert_eq!(event_of(booking.as_str()), Some(event));
        assert_eq!(event_of("tour"), None);
    }
}
