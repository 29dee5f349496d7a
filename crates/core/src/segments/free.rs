//! Which seats of a segment are free, one bit each: runs are found without a look at every seat.

use crate::limits::MAX_SEATS_PER_SEGMENT;
use std::ops::Range;

const BITS: usize = u64::BITS as usize;
const WORDS: usize = MAX_SEATS_PER_SEGMENT.div_ceil(BITS);
// A run that goes to the last seat ends before the last bit.
const _: () = assert!(MAX_SEATS_PER_SEGMENT < WORDS * BITS, "a bit is left behind the last seat");

/// The free seats of one segment, by their order in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct FreeSeats([u64; WORDS]);

impl FreeSeats {
    pub(super) fn set(&mut self, nth: usize, is_free: bool) {
        let bit = 1 << (nth % BITS);
        if is_free {
            self.0[nth / BITS] |= bit;
        } else {
            self.0[nth / BITS] &= !bit;
        }
    }

    /// The seats that are free here or there.
    pub(super) fn or(self, other: Self) -> Self {
        Self(std::array::from_fn(|word| self.0[word] | other.0[word]))
    }

    /// The longest ranges of free seats, in order.
    pub(super) fn runs(self) -> impl Iterator<Item = Range<usize>> {
        let mut from = 0;
        std::iter::from_fn(move || {
            let start = self.next(from, true)?;
            from = self.next(start, false)?;
            Some(start..from)
        })
    }

    /// The next seat from this one on that is free, or that is not; there is always one that is not.
    fn next(&self, from: usize, is_free: bool) -> Option<usize> {
        let at = |word: usize| self.0.get(word).map(|bits| if is_free { *bits } else { !*bits });
        let mut word = from / BITS;
        let mut bits = at(word)? & (u64::MAX << (from % BITS));
        while bits == 0 {
            word += 1;
            bits = at(word)?;
        }
        Some(word * BITS + bits.trailing_zeros() as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_those_that_a_look_at_every_seat_finds() {
        let last = MAX_SEATS_PER_SEGMENT - 1;
        let houses: [&[usize]; 9] = [
            &[],
            &[0],
            &[last],
            &[0, 1, 2, 4],
            &[62, 63],
            &[63, 64],
            &[60, 61, 62, 63, 64, 65, 127, 128, 129, 191, 192],
            &[1, 3, 5, 248, last],
            &std::array::from_fn::<_, MAX_SEATS_PER_SEGMENT, _>(|nth| nth),
        ];
        for house in houses {
            let mut free = FreeSeats::default();
            (0..=last).for_each(|nth| free.set(nth, true));
            (0..=last).for_each(|nth| free.set(nth, house.contains(&nth)));
            let mut expected: Vec<Range<usize>> = Vec::new();
            for &nth in house {
                match expected.last_mut() {
                    Some(run) if run.end == nth => run.end += 1,
                    Some(_) | None => expected.push(nth..nth + 1),
                }
            }
            assert_eq!(free.runs().collect::<Vec<_>>(), expected);
        }
    }
}
