//! When a certificate is renewed, and how long to wait after a failure.

use crate::trouble::Fault;
use onrush_tls::Validity;
use std::time::Duration;

/// The longest pause after an authority refused, and after it could not be asked.
const MAX_REFUSED: Duration = Duration::from_secs(3 * 3_600);
const MAX_UNREACHED: Duration = Duration::from_secs(600);
/// By how much sooner it is tried again where nothing was asked.
const UNREACHED_SOONER: u32 = 12;
/// The longest pause that an authority may ask for.
pub(crate) const MAX_ASKED: Duration = Duration::from_secs(86_400);

/// How long until a certificate is to be renewed: when a third of its life is left.
pub(crate) fn due_in(validity: Validity, now_s: i64) -> Duration {
    let Validity { not_before_s, not_after_s } = validity;
    let due_s = not_after_s - not_after_s.saturating_sub(not_before_s).max(0) / 3;
    Duration::from_secs(u64::try_from(due_s.saturating_sub(now_s)).unwrap_or(0))
}

/// How long to wait after so many failures before this one; `asked` is what the authority wants at
/// least, and `chance` any number: not all servers that failed together come back together.
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
        let turned = Validity { not_before_s: 1_900, not_after_s: 1_000 };
        assert_eq!(due_in(turned, 1_000).as_secs(), 0);
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
    fn an_authority_that_asks_for_time_gets_it_up_to_a_day() {
        let pause = |asked_s| {
            let asked = Some(Duration::from_secs(asked_s));
            pause(Duration::from_secs(120), 0, Fault::Refused, asked, 0).as_secs()
        };
        assert_eq!((pause(7), pause(4_000), pause(1_000_000)), (120, 4_000, 86_400));
    }
}
