//! The one source of chance: everything a run draws comes from its seed.
//!
//! Each part of a run has a stream with a name of its own, so that one more draw in one place
//! leaves all others as they were.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use sha2::{Digest, Sha256};

/// A stream of draws.
#[derive(Debug)]
pub struct Chance {
    stream: ChaCha8Rng,
}

impl Chance {
    /// The stream of this name, of this seed.
    #[must_use]
    pub fn of(seed: u64, name: &str, number: u64) -> Self {
        let mut key = Sha256::new();
        key.update(seed.to_le_bytes());
        key.update(number.to_le_bytes());
        key.update(name);
        Self { stream: ChaCha8Rng::from_seed(key.finalize().into()) }
    }

    /// Any number.
    pub fn any(&mut self) -> u64 {
        self.stream.next_u64()
    }

    /// A number below `end`, which is at least 1.
    pub fn below(&mut self, end: u32) -> u32 {
        ((u64::from(self.stream.next_u32()) * u64::from(end)) >> 32) as u32
    }

    /// A number from `from` to `to`, both included.
    pub fn within(&mut self, from: i64, to: i64) -> i64 {
        let span = to.abs_diff(from) + 1;
        let drawn = (u128::from(self.stream.next_u64()) * u128::from(span)) >> 64;
        from.saturating_add(i64::try_from(drawn).unwrap_or(i64::MAX))
    }

    /// Whether a case comes about that does so `percent` times in a hundred.
    pub fn percent(&mut self, percent: u32) -> bool {
        self.below(100) < percent
    }

    /// Whether a case comes about that does so `per_million` times in a million.
    pub fn rate(&mut self, per_million: u32) -> bool {
        per_million > 0 && self.below(1_000_000) < per_million
    }

    /// One of these.
    pub fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        let end = u32::try_from(all.len()).unwrap_or(u32::MAX);
        &all[self.below(end) as usize]
    }

    /// One of these, if there is any.
    pub fn any_of<'a, T>(&mut self, all: &'a [T]) -> Option<&'a T> {
        if all.is_empty() { None } else { Some(self.pick(all)) }
    }

    /// One of these, each as often as its weight says.
    pub fn weighted<T: Copy>(&mut self, all: &[(u32, T)]) -> T {
        let mut drawn = self.below(all.iter().map(|(weight, _)| weight).sum());
        for (weight, one) in all {
            if drawn < *weight {
                return *one;
            }
            drawn -= weight;
        }
        all[0].1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_of_one_seed_are_the_same_twice_and_differ_by_name() {
        let drawn = |seed, name| {
            let mut chance = Chance::of(seed, name, 0);
            [chance.any(), chance.any()]
        };
        assert_eq!(drawn(1, "plan"), drawn(1, "plan"));
        assert_ne!(drawn(1, "plan"), drawn(1, "buyers"));
        assert_ne!(drawn(1, "plan"), drawn(2, "plan"));
    }

    #[test]
    fn draws_stay_within_their_bounds() {
        let mut chance = Chance::of(7, "bounds", 0);
        for _ in 0..1_000 {
            assert!(chance.below(3) < 3);
            assert!((-2..=2).contains(&chance.within(-2, 2)));
            assert_eq!(chance.weighted(&[(0, 'a'), (1, 'b')]), 'b');
        }
    }
}
