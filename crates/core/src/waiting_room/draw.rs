//! The draw: an order that everybody can check.
//!
//! The seed's hash is published when the event is created, the hash of the list of entrants when
//! the prequeue closes. A public random value that became known only after that may be mixed in;
//! then the seed is revealed. Without the public value the draw proves only that the seed was not
//! changed.
//!
//! Who knows the seed could choose among several values, or take none. So an event can promise which
//! one it will be (`RoomSettings::public_value_source`): the promise is fixed with the list, and the
//! sale opens with a value only. That it is the one that was promised everybody can look up; the
//! rules cannot.

use crate::ids::PlaceId;
use crate::settings::Digest;
use sha2::{Digest as _, Sha256};

/// SHA-256 of some bytes.
#[must_use]
pub fn sha256(bytes: &[u8]) -> Digest {
    Digest(Sha256::digest(bytes).into())
}

/// SHA-256 over the entrants' place ids in the order taken, each as 32 hexadecimal digits and a newline.
#[must_use]
pub fn entrants_hash(places: impl Iterator<Item = PlaceId>) -> Digest {
    let mut hasher = Sha256::new();
    for place in places {
        hasher.update(place.to_string());
        hasher.update(b"\n");
    }
    Digest(hasher.finalize().into())
}

/// What the ranks are made with: the seed itself, or SHA-256 of the seed followed by the public value.
#[must_use]
pub fn draw_key(seed: &Digest, public_value: Option<&str>) -> Digest {
    match public_value {
        None => *seed,
        Some(value) => {
            let mut hasher = Sha256::new();
            hasher.update(seed.0);
            hasher.update(value.as_bytes());
            Digest(hasher.finalize().into())
        }
    }
}

/// The rank of a place: the first 52 bits of SHA-256 of the key's 32 bytes followed by the place's 32 digits.
///
/// The lowest rank is served first; equal ranks are served by place id. 52 bits fit a double
/// exactly, so the same number can be computed in a browser and kept as a score in Redis.
#[must_use]
pub fn rank(key: &Digest, place: PlaceId) -> u64 {
    let mut hasher = Sha256::new();
    hasher.update(key.0);
    hasher.update(place.to_string());
    let digest: [u8; 32] = hasher.finalize().into();
    let mut first = [0; 8];
    first.copy_from_slice(&digest[..8]);
    u64::from_be_bytes(first) >> 12
}
