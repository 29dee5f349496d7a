//! How long ago something was asked for: whether its key is still good, whether a search would show
//! it by now, and when a failure that is kept under a key says no more.

use super::StripeGateway;
use crate::gateway::Away;
use onrush_store::embedded::Clock;

/// How long a key is surely good for: an hour less than promised.
const KEY_AGE_S: i64 = 23 * 3_600;
/// When a key that was used at once is surely forgotten: a day later, and some more.
const KEY_FORGOTTEN_S: i64 = 24 * 3_600 + 600;
/// The same for one that was used as late as may be: while its refund was no older than a day.
const LATE_KEY_FORGOTTEN_S: i64 = 48 * 3_600;
/// How far a search may be behind: an hour in bad times, and one more.
const SEARCH_LAG_S: i64 = 2 * 3_600;
/// How far it is behind as a rule: a minute, and some more.
const USUAL_LAG_S: i64 = 5 * 60;

impl StripeGateway {
    /// The same, by the clock of those who write down what is asked for.
    #[must_use]
    pub fn with_clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    fn now_s(&self) -> i64 {
        self.clock.now().0.div_euclid(1_000)
    }

    fn age_s(&self, written_at_s: i64) -> i64 {
        self.now_s().saturating_sub(written_at_s)
    }

    /// Whether a key that was used at this time is still good.
    pub(super) fn is_fresh(&self, written_at_s: i64) -> bool {
        self.age_s(written_at_s) < KEY_AGE_S
    }

    /// Whether a search surely shows what was created at this time.
    pub(super) fn is_shown(&self, written_at_s: i64) -> bool {
        self.age_s(written_at_s) > SEARCH_LAG_S
    }

    /// A payment's first call has failed, and a search does not show that it made one all the same: it
    /// may be behind, and is asked now and then until that is out of the question.
    pub(super) fn kept_payment(&self, written_at_s: i64, why: String) -> Away {
        let shown_at_s = written_at_s + SEARCH_LAG_S + 1;
        Away::Kept { why, until_s: shown_at_s.min(self.now_s() + USUAL_LAG_S) }
    }

    /// A refund's first call has failed and made none: another one makes it once the key is forgotten.
    /// When the first one came is known only roughly: no sooner than the refund was written down.
    pub(super) fn kept_refund(&self, written_at_s: i64, why: String) -> Away {
        match self.age_s(written_at_s) {
            ..KEY_FORGOTTEN_S => Away::Kept { why, until_s: written_at_s + KEY_FORGOTTEN_S },
            KEY_FORGOTTEN_S..LATE_KEY_FORGOTTEN_S => {
                Away::Kept { why, until_s: self.now_s() + 3_600 }
            }
            LATE_KEY_FORGOTTEN_S.. => Away::Silent(why),
        }
    }
}
