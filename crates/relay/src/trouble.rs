//! What is said when messages of a channel do not arrive: why, where to look, and not for each of
//! thousands.

use onrush_core::Time;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How long nothing more is said after a line was: a minute.
const QUIET_MS: i64 = 60_000;
/// How long a message that still fails is silent at most, and more: 80 minutes.
const OVER_MS: i64 = 80 * 60_000;

/// How a channel is doing, for the log.
#[derive(Debug, Default)]
pub(super) struct Troubles(Mutex<Option<Trouble>>);

#[derive(Debug)]
struct Trouble {
    said_at: Time,
    /// Attempts that failed since.
    unsaid: u32,
}

impl Troubles {
    fn lock(&self) -> MutexGuard<'_, Option<Trouble>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An attempt failed: how many did since something was said last, if it is time to say it again.
    pub(super) fn failed(&self, at: Time) -> Option<u32> {
        let mut trouble = self.lock();
        let unsaid = trouble.as_ref().map_or(0, |trouble| trouble.unsaid).saturating_add(1);
        let is_new = trouble.as_ref().is_none_or(|last| at.since_ms(last.said_at) >= QUIET_MS);
        match trouble.as_mut() {
            Some(last) if !is_new => {
                last.unsaid = unsaid;
                None
            }
            Some(_) | None => {
                *trouble = Some(Trouble { said_at: at, unsaid: 0 });
                Some(unsaid)
            }
        }
    }

    /// One arrived after so many attempts that failed: whether that is news. One that never failed says
    /// nothing of those that do, unless none has failed for longer than they pause at most.
    pub(super) fn arrived(&self, attempts: u32, at: Time) -> bool {
        let is_over = |last: &mut Trouble| attempts > 0 || at.since_ms(last.said_at) > OVER_MS;
        self.lock().take_if(is_over).is_some()
    }
}

/// A reason without the words that may be somebody's address: mail servers repeat them.
pub(super) fn without_addresses(why: &str) -> String {
    let word = |word: &str| if word.contains('@') { "…".to_owned() } else { word.to_owned() };
    why.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_failure_is_told_then_one_a_minute_with_how_many_there_were_and_then_the_end() {
        let troubles = Troubles::default();
        assert!(!troubles.arrived(1, Time(0)), "nothing was wrong");
        assert_eq!(troubles.failed(Time(1_000)), Some(1));
        assert_eq!(troubles.failed(Time(1_001)), None);
        assert_eq!(troubles.failed(Time(60_999)), None);
        assert_eq!(troubles.failed(Time(61_000)), Some(3));
        assert_eq!(troubles.failed(Time(61_001)), None);
        assert!(!troubles.arrived(0, Time(61_002)), "another one arrived, which had not failed");
        assert!(troubles.arrived(3, Time(61_002)));
        assert!(!troubles.arrived(3, Time(61_002)), "it was told");
        assert_eq!(troubles.failed(Time(61_002)), Some(1), "that is another trouble");
        // What was given up, and is tried anew, counts as never tried.
        assert!(!troubles.arrived(0, Time(61_002 + OVER_MS)));
        assert!(troubles.arrived(0, Time(61_003 + OVER_MS)), "nothing has failed for long");
    }

    #[test]
    fn nobodys_address_is_repeated() {
        let why = "permanent error (550): 5.1.1 <ann@post.example>: unknown";
        assert_eq!(without_addresses(why), "permanent error (550): 5.1.1 … unknown");
    }
}
