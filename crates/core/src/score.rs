//! Composite scores: unique, rising numbers that a double holds exactly.
//!
//! A score is 39 bits of milliseconds since 2024-01-01T00:00:00Z and a 14-bit counter: 53 bits
//! together, as many as the fraction of a double. Shifting the full time since 1970 by 24 bits
//! would need 65. The 39 bits last until 2041.
//!
//! ```text
//!   52                                    14 13              0
//!  ┌────────────────────────────────────────┬────────────────┐
//!  │ milliseconds since 2024-01-01 (39 bit) │ counter (14)   │
//!  └────────────────────────────────────────┴────────────────┘
//! ```
//!
//! One generator orders what it numbers. Two generators do not: where several processes number one
//! queue, the score must come from the one place they share.

use crate::time::Time;
use serde::{Deserialize, Serialize};

/// 2024-01-01T00:00:00Z.
pub const EPOCH_MS: i64 = 1_704_067_200_000;
/// Bits of the counter within a millisecond.
pub const COUNTER_BITS: u32 = 14;
const COUNTER_MASK: u64 = (1 << COUNTER_BITS) - 1;
/// The last millisecond that a score can tell.
pub const MAX_MS: u64 = (1 << 39) - 1;

/// A score: at most 2^53 - 1. Ordered by time, then by counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Score(u64);

impl Score {
    /// The score of a time and a counter.
    ///
    /// `None` if the time is before 2024 or after 39 bits of milliseconds (in 2041), or the counter
    /// exceeds 14 bits.
    #[must_use]
    pub fn new(at: Time, counter: u16) -> Option<Self> {
        let ms = u64::try_from(at.since_ms(Time(EPOCH_MS))).ok()?;
        let fits = ms <= MAX_MS && u64::from(counter) <= COUNTER_MASK;
        fits.then(|| Self(ms << COUNTER_BITS | u64::from(counter)))
    }

    /// The time, to the millisecond.
    #[must_use]
    pub fn at(self) -> Time {
        Time(EPOCH_MS + (self.0 >> COUNTER_BITS) as i64)
    }

    /// The counter within the millisecond.
    #[must_use]
    pub fn counter(self) -> u16 {
        (self.0 & COUNTER_MASK) as u16
    }

    /// The score as a double, exactly.
    #[must_use]
    pub fn to_f64(self) -> f64 {
        self.0 as f64
    }

    /// The score that a double holds; `None` if it holds none.
    #[must_use]
    pub fn from_f64(value: f64) -> Option<Self> {
        let whole = value >= 0.0 && value.fract() == 0.0 && value <= ((1_u64 << 53) - 1) as f64;
        whole.then_some(Self(value as u64))
    }
}

/// Makes rising scores from times that may stand still or go back.
#[derive(Clone, Debug, Default)]
pub struct Scores {
    last: Option<Score>,
}

impl Scores {
    /// The next score: at `at`, or right after the last one if that is later. A full millisecond
    /// spills into the next.
    ///
    /// `None` once the time is out of range (before 2024, or from 2041 on).
    pub fn next(&mut self, at: Time) -> Option<Score> {
        let fresh = Score::new(at, 0)?;
        let next = match self.last {
            // Adding one to a full counter carries into the milliseconds: that is the spill.
            Some(last) if last >= fresh => Score(last.0 + 1),
            Some(_) | None => fresh,
        };
        if next.0 >> COUNTER_BITS > MAX_MS {
            return None;
        }
        self.last = Some(next);
        Some(next)
    }
}
