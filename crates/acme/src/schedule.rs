//! When a certificate is renewed, and how long to wait after a failure.

use crate::trouble::Fault;
use onrush_tls::Validity;
use std::time::Duration;

/// The longest pause after an authority refused, and after it could not be asked.
const MAX_REFUSED: Duration = Duration::from_secs(3 * 3_600);
const MAX_UNREACHED: Duration = Duration::from_secs(600);
/// By how much sooner it is tried again where nothing was asked.
const UNREACHED_SOONER: u32 = 12;
/// For how long what was just issued is not ordered again at most where the server is started meanwhile.
/// Four orders in a week are less than Let's Encrypt's five certificates for the same names.
const MAX_REST_OVER_START: Duration = Duration::from_secs(2 * 86_400);
/// The longest pause that an authority may ask for.
pub(crate) const MAX_ASKED: Duration = Duration::from_secs(86_400);

/// How long until a certificate is to be renewed: when a third of its life is left.
pub(crate) fn due_in(validity: Validity, now_s: i64) -> Duration {
    let due_s = validity.not_after_s - third_s(validity);
    Duration::from_secs(u64::try_from(due_s.saturating_sub(now_s)).unwrap_or(0))
}

/// How long what was just issued is not ordered again, whatever the clock says: a third of its life. By
/// a clock that is right it is due later.
pub(crate) fn rest(validity: Validity) -> Duration {
    Duration::from_secs(u64::try_from(third_s(validity)).unwrap_or(0))
}

/// What is left of that at a start, by the clock that also said when it was fetched. A clock that was set
/// back since says nothing; what one that was ahead said may come true when it is time to renew, so that
/// this is short.
pub(crate) fn rest_left(validity: Validity, fetched_s: i64, now_s: i64) -> Duration {
    let Ok(since_s) = u64::try_from(now_s.saturating_sub(fetched_s)) else { return Duration::ZERO };
    rest(validity).min(MAX_REST_OVER_START).saturating_sub(Duration::from_secs(since_s))
}

fn third_s(Validity { not_before_s, not_after_s }: Validity) -> i64 {
    not_after_s.saturating_sub(not_before_s).max(0) / 3
}

/// How often it failed since there was a certificate, by fault: an authority that was away for a while
/// has refused nothing yet.
#[derive(Debug, Default)]
pub(crate) struct Failures {
    unreached: u32,
    refused: u32,
}

impl Failures {
    /// Counts one, and says how many of its kind there were before.
    pub(crate) fn count(&mut self, fault: Fault) -> u32 {
        let count = match fault {
            Fault::Unreached => &mut self.unreached,
            Fault::Refused => &mut self.refused,
        };
        let before = *count;
        *count = before.saturating_add(1);
        before
    }
}

/// How long to wait after so many failures of its kind before this one; `asked` is what the authority
/// wants at least, and `chance` any number: not all servers that failed together come back together.
pub(crate) fn pause(
    first: Duration,
    failures: u32,
    fault: Fault,
    asked: Option<Duration>,
    chance: u64,
) -> Duration {
    let (first, factor, most) = match fault {
        Fault::Unreached => (first / UNREACHED_SOONER, 2, MAX_UNREACHED),
        Fault::Refused => (first, 3, MAX_REFUSED),
    };
    let grown = first.saturating_mul(u32::saturating_pow(factor, failures)).min(most);
    let pause = grown.max(asked.unwrap_or_default().min(MAX_ASKED));
    // Up to a quarter more.
    let thousandths = u32::try_from(chance % 250).expect("it is below 250");
    pause + pause / 1_000 * thousandths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_is_renewed_when_a_third_of_its_life_is_left() {
        let validity = Validity { not_before_s: 1_000, not_after_s: 1_900 };
        for (now_s, due_s) in [(0, 1_600), (1_000, 600), (1_599, 1), (1_600, 0), (5_000, 0)] {
            assert_eq!(due_in(validity, now_s).as_secs(), due_s, "at {now_s}");
        }
        assert_eq!(rest(validity).as_secs(), 300);
        let turned = Validity { not_before_s: 1_900, not_after_s: 1_000 };
        assert_eq!((due_in(turned, 1_000).as_secs(), rest(turned).as_secs()), (0, 0));
    }

    #[test]
    fn a_rest_outlasts_a_start_for_two_days_by_the_same_clock() {
        let short = Validity { not_before_s: 1_000, not_after_s: 1_900 };
        for (now_s, left_s) in [(1_799, 0), (1_800, 300), (1_850, 250), (2_100, 0), (9_000, 0)] {
            assert_eq!(rest_left(short, 1_800, now_s).as_secs(), left_s, "at {now_s}");
        }
        let long = Validity { not_before_s: 0, not_after_s: 90 * 86_400 };
        let (fetched_s, day_s) = (75 * 86_400, 86_400);
        assert_eq!(rest_left(long, fetched_s, fetched_s + day_s).as_secs(), 86_400);
        assert_eq!(rest_left(long, fetched_s, fetched_s + 2 * day_s).as_secs(), 0);
        assert_eq!(rest_left(long, i64::MAX, i64::MIN).as_secs(), 0);
        assert_eq!(rest_left(long, i64::MIN, i64::MAX).as_secs(), 0);
    }

    #[test]
    fn pauses_grow_and_an_authority_is_asked_four_times_in_the_first_hour() {
        let first = Duration::from_secs(120);
        let pauses =
            |fault, chance| (0..9).map(move |n| pause(first, n, fault, None, chance).as_secs());
        let refused: Vec<u64> = pauses(Fault::Refused, 0).collect();
        assert_eq!(refused, [120, 360, 1_080, 3_240, 9_720, 10_800, 10_800, 10_800, 10_800]);
        let unreached: Vec<u64> = pauses(Fault::Unreached, 0).collect();
        assert_eq!(unreached, [10, 20, 40, 80, 160, 320, 600, 600, 600]);
        let in_an_hour = pauses(Fault::Refused, 0).scan(0, |at, pause| {
            let asked_at = *at;
            *at += pause;
            Some(asked_at)
        });
        assert_eq!(in_an_hour.filter(|at| *at < 3_600).count(), 4);
        assert_eq!(pause(first, 0, Fault::Refused, None, 249).as_secs(), 149);
    }

    #[test]
    fn an_authority_that_was_away_makes_no_refusal_last_longer() {
        let (first, mut failures) = (Duration::from_secs(120), Failures::default());
        let mut after = |fault| pause(first, failures.count(fault), fault, None, 0).as_secs();
        let away: Vec<u64> = (0..9).map(|_| after(Fault::Unreached)).collect();
        assert_eq!(away, [10, 20, 40, 80, 160, 320, 600, 600, 600]);
        assert_eq!(after(Fault::Refused), 120);
        assert_eq!(after(Fault::Unreached), 600);
        assert_eq!(after(Fault::Refused), 360, "and is no first one for that");
    }

    #[test]
    fn an_authority_that_asks_for_time_gets_it_up_to_a_day() {
        let pause = |asked_s| {
            let asked = Some(Duration::from_secs(asked_s));
            pause(Duration::from_secs(120), 0, Fault::Refused, asked, 0).as_secs()
        };
        assert_eq!((pause(7), pause(4_000), pause(1_000_000)), (120, 4_000, 86_400));
    }
}
