//! Delays of any length out of queues with fixed ones.
//!
//! RabbitMQ drops expired messages from the head of a queue only: a short delay behind a long one
//! would wait for it. So each queue (a *rung*) has one delay, and a message that needs another
//! climbs down several.

/// The rungs inherited delays are made of, in milliseconds.
const RUNGS_MS: [u32; 6] = [1_000, 5_000, 30_000, 60_000, 300_000, 600_000];

/// The delays there is a queue for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ladder {
    /// In milliseconds, rising, at least one.
    rungs_ms: Vec<u32>,
}

/// Where a message waits next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// The delay of the queue.
    pub rung_ms: u32,
    /// The message's own time to live, if it need not stay as long as that.
    pub own_ms: Option<u32>,
}

impl Default for Ladder {
    fn default() -> Self {
        Self { rungs_ms: RUNGS_MS.to_vec() }
    }
}

impl Ladder {
    /// A ladder of these rungs, in milliseconds.
    ///
    /// # Panics
    /// If there are none, or they do not rise from at least 1.
    #[must_use]
    pub fn new(rungs_ms: &[u32]) -> Self {
        assert!(rungs_ms.first().is_some_and(|first| *first > 0), "a ladder has rungs");
        assert!(rungs_ms.is_sorted_by(|lower, upper| lower < upper), "rungs rise");
        Self { rungs_ms: rungs_ms.to_vec() }
    }

    /// The rungs in milliseconds, rising.
    #[must_use]
    pub fn rungs_ms(&self) -> &[u32] {
        &self.rungs_ms
    }

    /// Where a message waits that is due in `remaining_ms`; `None` if it is due now.
    ///
    /// The longest rung that is not too long, unless one ends the wait at once and is too long by
    /// no more than the shortest rung: a session of 600 s whose message is sent a few milliseconds
    /// later then waits once, not fifteen times. That message has a time to live of its own. It is
    /// kept as long as those before it live, none of which leaves later than the rung's delay from
    /// now: so whatever happens, it leaves at most one shortest rung late.
    #[must_use]
    pub fn wait(&self, remaining_ms: i64) -> Option<Wait> {
        let remaining_ms = u64::try_from(remaining_ms).ok().filter(|remaining| *remaining > 0)?;
        let shortest_ms = self.rungs_ms[0];
        let latest_ms = remaining_ms.saturating_add(shortest_ms.into());
        let ends_it = |rung_ms: &&u32| (remaining_ms..=latest_ms).contains(&u64::from(**rung_ms));
        if let Some(rung_ms) = self.rungs_ms.iter().find(ends_it) {
            let own_ms = u32::try_from(remaining_ms).ok().filter(|own_ms| own_ms < rung_ms);
            return Some(Wait { rung_ms: *rung_ms, own_ms });
        }
        let longest = self.rungs_ms.iter().rev().find(|rung| u64::from(**rung) <= remaining_ms);
        // Less than the shortest rung would have been ended by it.
        let rung_ms = *longest.expect("what is longer than the shortest rung has a rung below it");
        Some(Wait { rung_ms, own_ms: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_the_longest_that_are_not_too_long() {
        let ladder = Ladder::default();
        for (remaining_ms, rung_ms, own_ms) in [
            (1, 1_000, Some(1)),
            (999, 1_000, Some(999)),
            (1_000, 1_000, None),
            (1_001, 1_000, None),
            (4_000, 5_000, Some(4_000)),
            (3_999, 1_000, None),
            (120_000, 60_000, None),
            (598_999, 300_000, None),
            (599_000, 600_000, Some(599_000)),
            (600_000, 600_000, None),
            (600_001, 600_000, None),
            (86_400_000, 600_000, None),
            (i64::MAX, 600_000, None),
        ] {
            assert_eq!(ladder.wait(remaining_ms), Some(Wait { rung_ms, own_ms }), "{remaining_ms}");
        }
        for due_ms in [0, -1, i64::MIN] {
            assert_eq!(ladder.wait(due_ms), None);
        }
    }

    /// Climbs down with every wait as long as it may be; gives the total, and the number of waits.
    fn climbed(ladder: &Ladder, remaining_ms: i64, head_of_line: bool) -> (i64, u32) {
        let (mut total_ms, mut waits) = (0, 0);
        while let Some(wait) = ladder.wait(remaining_ms - total_ms) {
            let own_ms = wait.own_ms.filter(|_| !head_of_line);
            total_ms += i64::from(own_ms.unwrap_or(wait.rung_ms));
            waits += 1;
        }
        (total_ms, waits)
    }

    #[test]
    fn total_delay_is_exact_within_the_shortest_rung() {
        for ladder in [Ladder::default(), Ladder::new(&[20, 50, 200]), Ladder::new(&[7])] {
            let shortest_ms = i64::from(ladder.rungs_ms()[0]);
            for remaining_ms in (1..3_000).chain((3_000..2_000_000).step_by(997)) {
                let (total_ms, _) = climbed(&ladder, remaining_ms, false);
                assert_eq!(total_ms, remaining_ms, "nobody is in the way");
                let (total_ms, _) = climbed(&ladder, remaining_ms, true);
                let late_ms = total_ms - remaining_ms;
                assert!((0..=shortest_ms).contains(&late_ms), "{remaining_ms}: {late_ms} ms late");
            }
        }
    }

    #[test]
    fn usual_delays_need_few_waits() {
        let ladder = Ladder::default();
        // A session, a grace to show up, a window to pay, and each a little later than it was decided.
        for (remaining_ms, most) in [(600_000, 1), (120_000, 2), (900_000, 2), (1_800_000, 3)] {
            for lag_ms in [0, 5, 900] {
                let (_, waits) = climbed(&ladder, remaining_ms - lag_ms, false);
                assert!(waits <= most, "{remaining_ms} - {lag_ms}: {waits}");
            }
        }
    }
}
