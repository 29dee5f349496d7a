//! Random numbers that a seed repeats.

/// SplitMix64: small, and good enough to choose commands with.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from 0 to `end - 1`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// A number from `first` to `last`.
    pub(crate) fn within(&mut self, first: i64, last: i64) -> i64 {
        first + self.below(first.abs_diff(last) + 1) as i64
    }

    /// True this many times in a hundred.
    pub(crate) fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// One of these.
    pub(crate) fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len() as u64) as usize]
    }

    /// One of these, each as often as its weight says.
    pub(crate) fn weighted<T: Copy>(&mut self, all: &[(u64, T)]) -> T {
        let mut left = self.below(all.iter().map(|(weight, _)| weight).sum());
        for (weight, choice) in all {
            match left.checked_sub(*weight) {
                Some(less) => left = less,
                None => return *choice,
            }
        }
        unreachable!("the weights add up")
    }
}
