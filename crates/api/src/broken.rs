//! Something of ours that does not work, such as a disk, and how often the log says so.

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often the log has the same reason: in a rush, each request meets what is away.
const SAID_EVERY: Duration = Duration::from_secs(60);
/// Reasons that are told apart; beyond, they count as one.
const REASONS: usize = 64;

/// What this process met, whichever server of it: there is one log.
static MET: Met = Met::new();

/// Something of ours does not work. Why stands in the log, which is for operators; others hear only what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} failed on our side; the log has more")]
pub struct Broken {
    what: &'static str,
}

impl Broken {
    /// What does not work; the log has why already.
    #[must_use]
    pub fn new(what: &'static str) -> Self {
        Self { what }
    }

    /// What does not work, and why, for the log, which has it once a minute.
    #[must_use]
    pub fn log(what: &'static str, error: &dyn Error) -> Self {
        if let Some(times) = times_to_say(what, error) {
            tracing::error!(%error, what, times, "a request failed");
        }
        Self { what }
    }
}

/// How often this was met since the log had it, this time included; nothing if it had it just before.
pub(crate) fn times_to_say(what: &str, error: &dyn Error) -> Option<u64> {
    MET.once_more(format!("{what}: {error}"), Instant::now())
}

/// Reasons, when each was said, and how often it was met since.
struct Met(Mutex<BTreeMap<String, (Instant, u64)>>);

impl Met {
    const fn new() -> Self {
        Self(Mutex::new(BTreeMap::new()))
    }

    fn once_more(&self, reason: String, now: Instant) -> Option<u64> {
        let mut met = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if met.len() >= REASONS && !met.contains_key(&reason) {
            met.retain(|_, (said_at, _)| now.duration_since(*said_at) < SAID_EVERY);
        }
        let is_full = met.len() >= REASONS && !met.contains_key(&reason);
        let reason = if is_full { String::new() } else { reason };
        let Some((said_at, times)) = met.get_mut(&reason) else {
            met.insert(reason, (now, 0));
            return Some(1);
        };
        *times += 1;
        if now.duration_since(*said_at) < SAID_EVERY {
            return None;
        }
        *said_at = now;
        Some(std::mem::take(times))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_said_once_a_minute_with_how_often_it_was_met() {
        let (met, begun) = (Met::new(), Instant::now());
        let meet = |reason: &str, after_s| {
            met.once_more(reason.to_owned(), begun + Duration::from_secs(after_s))
        };
        assert_eq!(meet("away", 0), Some(1));
        assert_eq!((0..99).find_map(|_| meet("away", 59)), None);
        assert_eq!(meet("no disk", 59), Some(1), "another reason waits for nobody");
        assert_eq!(meet("away", 60), Some(100));
        assert_eq!(meet("away", 61), None);
    }

    #[test]
    fn reasons_without_end_are_said_as_one() {
        let (met, begun) = (Met::new(), Instant::now());
        let said = (0..10 * REASONS).filter_map(|n| met.once_more(n.to_string(), begun)).count();
        assert_eq!(said, REASONS + 1);
        // Those of a minute ago make room.
        assert_eq!(met.once_more("new".to_owned(), begun + SAID_EVERY), Some(1));
        assert_eq!(met.0.lock().unwrap().len(), 1);
    }
}
