//! The two clocks of the machine: one passes, the other is set by anybody and goes wrong by itself.

use super::story::Story;
use crate::chance::Chance;
use onrush_core::Time;
use onrush_store::embedded::{Look, SteadyClock};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

/// 2026-12-01T10:00:00Z, when every story begins.
pub(super) const START: Time = Time(1_796_119_200_000);
/// What the clock that passes shows then.
const UP_MS: i64 = 1_000_000;
/// How often a process shows that it runs.
const BEAT: Duration = Duration::from_millis(500);

/// Both clocks.
pub(super) struct Clocks {
    began: Instant,
    /// How long the process stood still, as both clocks show.
    stood_ms: AtomicI64,
    /// How far the system's clock was set forward.
    ahead_ms: AtomicI64,
    /// By how many in a hundred thousand the system's clock goes wrong.
    drift: i64,
    moved: Notify,
}

impl Clocks {
    pub(super) fn new(seed: u64, has_faults: bool) -> Arc<Self> {
        let drift = Chance::of(seed, "drift", 0).within(-50, 50);
        Arc::new(Self {
            began: Instant::now(),
            stood_ms: AtomicI64::new(0),
            ahead_ms: AtomicI64::new(0),
            drift: if has_faults { drift } else { 0 },
            moved: Notify::new(),
        })
    }

    /// What they show.
    pub(super) fn look(&self) -> Look {
        let elapsed_ms = i64::try_from(self.began.elapsed().as_millis()).unwrap_or(i64::MAX);
        let passed_ms = elapsed_ms + self.stood_ms.load(Ordering::Relaxed);
        let wrong_ms = passed_ms * self.drift / 100_000 + self.ahead_ms.load(Ordering::Relaxed);
        let wall = START.plus_ms(passed_ms + wrong_ms);
        Look { wall, monotonic_ms: UP_MS + passed_ms }
    }

    /// Engine time of a process that starts now.
    pub(super) fn engine_time(self: &Arc<Self>) -> SteadyClock {
        let clocks = self.clone();
        SteadyClock::told(move || clocks.look())
    }

    /// Waits until a clock was moved.
    pub(super) async fn moved(&self) {
        self.moved.notified().await;
    }

    /// Sets the system's clock and has the process stand still now and then, without end.
    pub(super) async fn go_wrong(self: Arc<Self>, seed: u64, story: Story) {
        let mut chance = Chance::of(seed, "clocks", 0);
        loop {
            sleep(Duration::from_millis(chance.within(5_000, 600_000).unsigned_abs())).await;
            match chance.below(4) {
                0 => {
                    let ms = chance.within(2_000, 90_000);
                    story.tell("the server", format!("stands still for {ms} ms"));
                    self.stood_ms.fetch_add(ms, Ordering::Relaxed);
                }
                1 => self.set(chance.within(-7_200_000, 7_200_000), &story),
                // As daemons do that keep it right.
                2 => self.set(chance.within(-2_000, 2_000), &story),
                _ => {
                    let right_ms = -self.ahead_ms.load(Ordering::Relaxed);
                    self.set(right_ms, &story);
                }
            }
            self.moved.notify_waiters();
        }
    }

    fn set(&self, by_ms: i64, story: &Story) {
        story.tell("the system's clock", format!("is set by {by_ms} ms"));
        self.ahead_ms.fetch_add(by_ms, Ordering::Relaxed);
    }
}

/// Shows that a process runs, as long as it does.
pub(super) async fn beat(clock: SteadyClock) {
    loop {
        clock.beat();
        sleep(BEAT).await;
    }
}
