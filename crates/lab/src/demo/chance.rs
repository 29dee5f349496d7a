//! Chance that can be repeated: the same seed gives the same crowd.

use std::time::Duration;

/// A stream of random numbers for one fan (SplitMix64).
pub(super) struct Chance(u64);

impl Chance {
    /// The stream of one fan in one crowd.
    pub(super) fn new(seed: u64, fan: u64) -> Self {
        let mut chance = Self(seed ^ fan.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        chance.next();
        chance
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from 0 to `bound - 1`; 0 if `bound` is 0.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }

    /// A time between two, in milliseconds.
    pub(super) fn between_ms(&mut self, least: u64, most: u64) -> Duration {
        let span = usize::try_from(most - least).unwrap_or(usize::MAX);
        Duration::from_millis(least + self.below(span) as u64)
    }

    /// One of `choices`, each as likely as its weight.
    pub(super) fn weighted<T: Copy>(&mut self, choices: &[(T, usize)]) -> T {
        let mut left = self.below(choices.iter().map(|(_, weight)| weight).sum());
        for &(choice, weight) in choices {
            if left < weight {
                return choice;
            }
            left -= weight;
        }
        choices[0].0
    }
}
