//! How far an event has come, and by which history.
//!
//! Numbers alone do not tell: a replica that becomes the master goes on from what it had received,
//! and gives out numbers that the old master gave to other decisions. So each decision has a mark,
//! a hash over it and the mark before it (`lua/include/change.lua`): where two marks are the same,
//! all before is the same.

use crate::engine::Seq;
use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

/// A hash over a decision and all that were before it, as 16 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mark(pub u64);

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// The text is no mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoMark;

impl FromStr for Mark {
    type Err = NoMark;

    fn from_str(text: &str) -> Result<Self, NoMark> {
        let is_one = text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let mark = is_one.then(|| u64::from_str_radix(text, 16).ok()).flatten();
        mark.map(Self).ok_or(NoMark)
    }
}

/// Whether two marks of decisions with the same number are of different histories. Of a decision
/// without one, from before there were any, nothing can be said.
#[must_use]
pub fn differ(one: Option<Mark>, other: Option<Mark>) -> bool {
    matches!((one, other), (Some(one), Some(other)) if one != other)
}

/// How far an event has come. Heads compare by epoch and number only: ask [`Self::contradicts`]
/// whether two that are equal are of one history.
#[derive(Clone, Copy, Debug, Default)]
pub struct Head {
    /// How often it was rebuilt.
    pub epoch: u64,
    /// Its last decision.
    pub seq: Seq,
    /// That decision's mark; `None` if it is not known.
    pub mark: Option<Mark>,
}

impl Head {
    fn place(self) -> (u64, Seq) {
        (self.epoch, self.seq)
    }

    /// Whether the two are equally far and of different histories.
    #[must_use]
    pub fn contradicts(&self, other: &Self) -> bool {
        self == other && differ(self.mark, other.mark)
    }

    /// The mark as scripts take and give it: empty if it is not known.
    pub(super) fn mark_text(&self) -> String {
        self.mark.map(|mark| mark.to_string()).unwrap_or_default()
    }
}

impl PartialEq for Head {
    fn eq(&self, other: &Self) -> bool {
        self.place() == other.place()
    }
}

impl Eq for Head {}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Head {
    fn cmp(&self, other: &Self) -> Ordering {
        self.place().cmp(&other.place())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mark_is_sixteen_hexadecimal_digits() {
        for mark in [Mark(0), Mark(0x0123_4567_89ab_cdef), Mark(u64::MAX)] {
            assert_eq!(mark.to_string().parse(), Ok(mark));
        }
        for text in ["", "0", "+123456789abcdef", "0123456789abcdeg", "00123456789abcdef"] {
            assert_eq!(text.parse::<Mark>(), Err(NoMark), "{text}");
        }
    }

    #[test]
    fn heads_contradict_each_other_only_at_the_same_place() {
        let head = |seq, mark| Head { epoch: 1, seq: Seq(seq), mark };
        assert!(head(4, Some(Mark(1))).contradicts(&head(4, Some(Mark(2)))));
        assert!(!head(4, Some(Mark(1))).contradicts(&head(4, Some(Mark(1)))));
        assert!(!head(4, Some(Mark(1))).contradicts(&head(5, Some(Mark(2)))));
        assert!(!head(4, None).contradicts(&head(4, Some(Mark(2)))));
    }
}
