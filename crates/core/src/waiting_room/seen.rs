//! When the places of a block were last seen: nothing until one is, then four bytes each.

use crate::time::Time;
use std::ops::Range;

/// Sorts after every time a place was seen at.
pub(super) const NEVER_LAPSES: Time = Time(i64::MAX);

/// Stands for [`NEVER_LAPSES`].
const NEVER: u32 = u32::MAX;
/// How far before the first time that is written down the earliest may be: half of what there is.
const BEFORE_MS: i64 = 1 << 31;

/// A time for each place; [`NEVER_LAPSES`] for nobody, and for everybody before the sale opens.
#[derive(Debug)]
pub(super) enum Seen {
    Never {
        len: usize,
    },
    Near {
        since: Time,
        after_ms: Vec<u32>,
    },
    /// They are weeks apart, as a long time to live allows.
    Far(Vec<Time>),
}

impl Seen {
    pub(super) fn never(len: usize) -> Self {
        Self::Never { len }
    }

    pub(super) fn get(&self, offset: usize) -> Time {
        match self {
            Self::Never { .. } => NEVER_LAPSES,
            Self::Near { since, after_ms } => near(*since, after_ms[offset]),
            Self::Far(times) => times[offset],
        }
    }

    pub(super) fn set(&mut self, offset: usize, at: Time) {
        match self {
            Self::Never { .. } if at == NEVER_LAPSES => {}
            Self::Never { len } => {
                let since = Time(at.0.saturating_sub(BEFORE_MS));
                *self = Self::Near { since, after_ms: vec![NEVER; *len] };
                self.set(offset, at);
            }
            Self::Near { after_ms, .. } if at == NEVER_LAPSES => after_ms[offset] = NEVER,
            Self::Near { since, after_ms } => {
                let after = at.0.checked_sub(since.0).and_then(|ms| u32::try_from(ms).ok());
                if let Some(after) = after.filter(|after| *after != NEVER) {
                    after_ms[offset] = after;
                } else {
                    let mut times: Vec<_> = after_ms.iter().map(|ms| near(*since, *ms)).collect();
                    times[offset] = at;
                    *self = Self::Far(times);
                }
            }
            Self::Far(times) => times[offset] = at,
        }
    }

    /// The earliest of some places.
    pub(super) fn earliest(&self, places: Range<usize>) -> Time {
        match self {
            Self::Never { .. } => NEVER_LAPSES,
            Self::Near { since, after_ms } => {
                near(*since, after_ms[places].iter().copied().min().unwrap_or(NEVER))
            }
            Self::Far(times) => times[places].iter().copied().min().unwrap_or(NEVER_LAPSES),
        }
    }

    /// Moves all times on.
    pub(super) fn move_on(&mut self, gap_ms: i64) {
        match self {
            Self::Never { .. } => {}
            Self::Near { since, .. } => *since = since.plus_ms(gap_ms),
            Self::Far(times) => {
                let seen = times.iter_mut().filter(|at| **at != NEVER_LAPSES);
                seen.for_each(|at| *at = at.plus_ms(gap_ms));
            }
        }
    }
}

fn near(since: Time, after_ms: u32) -> Time {
    if after_ms == NEVER { NEVER_LAPSES } else { Time(since.0 + i64::from(after_ms)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY_MS: i64 = 86_400_000;

    /// What the same steps give with whole times.
    fn check(steps: &[(usize, Time)], gap_ms: i64) {
        let (mut seen, mut wanted) = (Seen::never(4), [NEVER_LAPSES; 4]);
        let same = |seen: &Seen, wanted: &[Time; 4]| {
            let got: Vec<_> = (0..4).map(|offset| seen.get(offset)).collect();
            assert_eq!(got, wanted, "{seen:?}");
            assert_eq!(seen.earliest(0..4), *wanted.iter().min().unwrap(), "{seen:?}");
            assert_eq!(seen.earliest(2..4), wanted[2].min(wanted[3]), "{seen:?}");
        };
        same(&seen, &wanted);
        for (offset, at) in steps {
            seen.set(*offset, *at);
            wanted[*offset] = *at;
            same(&seen, &wanted);
        }
        seen.move_on(gap_ms);
        let moved = wanted.iter_mut().filter(|at| **at != NEVER_LAPSES);
        moved.for_each(|at| *at = at.plus_ms(gap_ms));
        same(&seen, &wanted);
    }

    #[test]
    fn times_are_kept_to_the_millisecond_however_far_apart() {
        let at = |ms| Time(1_800_000_000_000 + ms);
        check(&[], 5);
        check(&[(0, NEVER_LAPSES)], 5);
        check(&[(1, at(0)), (2, at(1)), (1, at(2)), (3, at(-7)), (1, NEVER_LAPSES)], 86_399_999);
        // The last that four bytes hold, the first that they do not, and times before the first one.
        let last = i64::from(NEVER) - 1 - BEFORE_MS;
        for far in [last, last + 1, last + 2, 366 * DAY_MS, -BEFORE_MS, -BEFORE_MS - 1] {
            check(&[(0, at(0)), (3, at(far)), (2, NEVER_LAPSES), (0, at(9))], 3 * DAY_MS);
        }
        check(&[(0, Time(0)), (1, at(0)), (2, Time(i64::MIN)), (3, Time(1))], 1);
    }

    #[test]
    fn before_anyone_is_seen_times_take_no_memory() {
        let mut seen = Seen::never(1_024);
        seen.set(7, NEVER_LAPSES);
        assert!(matches!(seen, Seen::Never { .. }));
    }

    #[test]
    fn times_within_weeks_take_four_bytes_also_where_somebody_is_not_there() {
        let mut seen = Seen::never(4);
        for at in [Time(1_800_000_000_000), Time(1_800_000_000_000 + 20 * DAY_MS), NEVER_LAPSES] {
            seen.set(1, at);
            assert!(matches!(seen, Seen::Near { .. }), "{at:?}");
        }
        seen.set(1, Time(1_800_000_000_000 + 40 * DAY_MS));
        assert!(matches!(seen, Seen::Far(_)));
    }
}
