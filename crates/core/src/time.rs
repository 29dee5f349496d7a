//! Time as the rules see it: a number they are given, never a clock they read.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A point in time: milliseconds since 1970-01-01T00:00:00Z.
///
/// Something that lasts until `t` is valid iff `now < t`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Time(pub i64);

impl Time {
    /// The earliest time; deadlines that are due whatever the clock says carry it.
    pub const MIN: Self = Self(i64::MIN);

    /// This time moved by `ms` milliseconds, saturating at the ends of the range.
    #[must_use]
    pub const fn plus_ms(self, ms: i64) -> Self {
        Self(self.0.saturating_add(ms))
    }

    /// Milliseconds from `earlier` to this time; negative if it is later.
    #[must_use]
    pub const fn since_ms(self, earlier: Self) -> i64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}ms", self.0)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}
