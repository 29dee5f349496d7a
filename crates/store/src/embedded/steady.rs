//! Engine time of one machine: it passes as the monotonic clock does, follows the system's clock
//! gently, and knows when the process stood still.
//!
//! The system's clock may be set by anybody at any time. So it is only looked at: engine time
//! starts by it, goes on by the monotonic clock, and makes up for small differences by going one in
//! a hundred faster or slower. docs/design/time.md has the rules and why they are so.

use super::clock::{ClockReport, Turn, monotonic_ms, system_now};
use onrush_core::Time;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

#[cfg(feature = "testing")]
use super::clock::Woken;
#[cfg(feature = "testing")]
use super::mailbox::Mailbox;
#[cfg(feature = "testing")]
use std::sync::atomic::AtomicI64;

/// How often a thread of its own shows that the process runs.
const BEAT_MS: i64 = 250;
/// Without a beat for so long, the process stood still. A busy machine is late by less.
const SHORTEST_PAUSE_MS: i64 = 2_000;
/// How often the two clocks are compared.
const LOOK_EVERY_MS: i64 = 1_000;
/// The system's clock was set if it moved on by so much more or less than time passed.
const SHORTEST_STEP_MS: i64 = 1_000;
/// A difference of less is none.
const EXACT_MS: i64 = 10;
/// Engine time goes by so many in a hundred faster or slower while it makes up for a difference.
const SLEW_PERCENT: i64 = 1;
/// Engine time that is behind by more than this does not hurry after the system's clock; it waits and jumps.
const LARGEST_SLEW_MS: i64 = 1_000;
/// A clock that was set forward and corrected within this time has changed nothing.
const SETTLED_MS: i64 = 300_000;

/// Engine time of one machine. Clones are the same clock.
#[derive(Clone, Debug)]
pub struct SteadyClock(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    source: Source,
    state: Mutex<State>,
}

/// Where the two clocks are.
#[derive(Debug)]
enum Source {
    System,
    Told(Teller),
    #[cfg(feature = "testing")]
    Manual(ManualClocks),
}

/// What both clocks show at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// The system's clock, which anybody may set.
    pub wall: Time,
    /// Milliseconds since some moment, which nobody can set.
    pub monotonic_ms: i64,
}

/// Whoever tells what both clocks show, in place of the system: the simulator.
struct Teller(Box<dyn Fn() -> Look + Send + Sync>);

impl fmt::Debug for Teller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Teller").field(&(self.0)()).finish()
    }
}

#[derive(Debug)]
struct State {
    /// Engine time at one moment, and how it goes on from there.
    base: Time,
    base_ms: i64,
    slew_percent: i64,
    /// The last comparison of the two clocks.
    seen: Look,
    /// Since when the system's clock is far ahead.
    far_since_ms: Option<i64>,
    /// When the process was last seen to run; nothing before an engine runs by this clock.
    beat_ms: Option<i64>,
    /// What the next turn has to make up for.
    missed_ms: i64,
    report: ClockReport,
}

impl Default for SteadyClock {
    fn default() -> Self {
        Self::new(Source::System)
    }
}

impl SteadyClock {
    fn new(source: Source) -> Self {
        let seen = source.look();
        let state = State {
            base: seen.wall,
            base_ms: seen.monotonic_ms,
            slew_percent: 0,
            seen,
            far_since_ms: None,
            beat_ms: None,
            missed_ms: 0,
            report: ClockReport::default(),
        };
        Self(Arc::new(Inner { source, state: Mutex::new(state) }))
    }

    /// A clock of a machine whose clocks show what `tell` says. No thread shows that the process
    /// runs: whoever tells has it [`beat`](Self::beat) every second or more often.
    pub fn told(tell: impl Fn() -> Look + Send + Sync + 'static) -> Self {
        Self::new(Source::Told(Teller(Box::new(tell))))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The time. It never goes back.
    pub(super) fn now(&self) -> Time {
        let state = self.lock();
        state.at(self.0.source.look().monotonic_ms)
    }

    pub(super) fn report(&self) -> ClockReport {
        let state = self.lock();
        let Look { wall, monotonic_ms } = self.0.source.look();
        ClockReport { ahead_ms: state.at(monotonic_ms).since_ms(wall), ..state.report }
    }

    pub(super) fn go_on_from(&self, last: Time) {
        let mut state = self.lock();
        let look = self.0.source.look();
        // Steps and pauses count from here on: what was before is downtime.
        state.seen = look;
        state.beat_ms = Some(look.monotonic_ms);
        state.missed_ms = 0;
        state.base = state.at(look.monotonic_ms).max(look.wall).max(last);
        state.base_ms = look.monotonic_ms;
        let ahead_ms = state.base.since_ms(look.wall);
        if ahead_ms >= SHORTEST_STEP_MS {
            tracing::warn!(
                ahead_ms,
                "the system's clock shows less than the journal: time goes on from there, a little slower"
            );
        }
    }

    /// Shows that the process runs: it stood still if it does not for two seconds.
    pub fn beat(&self) {
        let mut state = self.lock();
        let look = self.0.source.look();
        state.beat(look);
    }

    pub(super) fn turn(&self) -> Turn {
        let mut state = self.lock();
        let look = self.0.source.look();
        state.beat(look);
        let missed_ms = std::mem::take(&mut state.missed_ms);
        Turn { now: state.at(look.monotonic_ms), missed_ms }
    }

    pub(super) fn look(&self) -> Option<Time> {
        let mut state = self.lock();
        let look = self.0.source.look();
        state.beat(look);
        (state.missed_ms == 0).then(|| state.at(look.monotonic_ms))
    }

    pub(super) fn alive_until(&self) -> Time {
        let mut state = self.lock();
        let look = self.0.source.look();
        state.beat(look);
        state.at(look.monotonic_ms).plus_ms(-state.missed_ms)
    }

    pub(super) fn runs(&self) -> bool {
        match &self.0.source {
            Source::System | Source::Told(_) => true,
            #[cfg(feature = "testing")]
            Source::Manual(_) => false,
        }
    }

    #[cfg(feature = "testing")]
    pub(super) fn wakes(&self, mailbox: &Arc<Mailbox>) {
        match &self.0.source {
            Source::System | Source::Told(_) => {}
            Source::Manual(clocks) => clocks.engines.add(mailbox),
        }
    }
}

impl Source {
    fn look(&self) -> Look {
        match self {
            Self::System => Look { wall: system_now(), monotonic_ms: monotonic_ms() },
            Self::Told(teller) => (teller.0)(),
            #[cfg(feature = "testing")]
            Self::Manual(clocks) => clocks.look(),
        }
    }
}

impl State {
    fn at(&self, monotonic_ms: i64) -> Time {
        // Another thread may have looked a moment later and been here first.
        let passed_ms = (monotonic_ms - self.base_ms).max(0);
        self.base.plus_ms(passed_ms + passed_ms * self.slew_percent / 100)
    }

    fn beat(&mut self, look: Look) {
        if let Some(beat_ms) = self.beat_ms {
            let gap_ms = look.monotonic_ms - beat_ms;
            if gap_ms >= SHORTEST_PAUSE_MS {
                self.missed_ms = self.missed_ms.saturating_add(gap_ms);
                self.report.pauses += 1;
                self.report.paused_ms += gap_ms.unsigned_abs();
                tracing::warn!(gap_ms, "the process stood still: all deadlines move on by as much");
            }
            self.beat_ms = Some(beat_ms.max(look.monotonic_ms));
        }
        if look.monotonic_ms - self.seen.monotonic_ms >= LOOK_EVERY_MS {
            self.compare(look);
        }
    }

    /// Compares the two clocks, and says how engine time goes on.
    fn compare(&mut self, look: Look) {
        let passed_ms = look.monotonic_ms - self.seen.monotonic_ms;
        let step_ms = look.wall.since_ms(self.seen.wall) - passed_ms;
        self.seen = look;
        self.base = self.at(look.monotonic_ms);
        self.base_ms = look.monotonic_ms;
        let behind_ms = look.wall.since_ms(self.base);
        if step_ms.abs() >= SHORTEST_STEP_MS {
            self.report.steps += 1;
            self.far_since_ms = None;
            tracing::warn!(
                step_ms,
                behind_ms,
                "the system's clock was set: engine time goes on as before"
            );
        }
        self.slew_percent = 0;
        if behind_ms > LARGEST_SLEW_MS {
            let since_ms = *self.far_since_ms.get_or_insert(look.monotonic_ms);
            if look.monotonic_ms - since_ms >= SETTLED_MS {
                tracing::warn!(
                    behind_ms,
                    "engine time follows the system's clock: all deadlines move on by as much"
                );
                self.base = look.wall;
                self.missed_ms = self.missed_ms.saturating_add(behind_ms);
                self.far_since_ms = None;
            }
            return;
        }
        self.far_since_ms = None;
        if behind_ms.abs() > EXACT_MS {
            self.slew_percent = SLEW_PERCENT * behind_ms.signum();
        }
    }
}

/// The thread that shows that the process runs; it ends with this.
pub(super) struct Pulse {
    thread: Option<JoinHandle<()>>,
    ends: Arc<AtomicBool>,
}

impl Pulse {
    /// Starts the thread, if time passes by itself and by this machine's clocks.
    pub(super) fn start(clock: &super::Clock) -> std::io::Result<Self> {
        let ends = Arc::new(AtomicBool::new(false));
        let super::Clock::Steady(steady) = clock else { return Ok(Self { thread: None, ends }) };
        if !matches!(steady.0.source, Source::System) {
            return Ok(Self { thread: None, ends });
        }
        let (steady, stop) = (steady.clone(), ends.clone());
        let thread = thread::Builder::new().name("onrush-pulse".into()).spawn(move || {
            while !stop.load(Ordering::Acquire) {
                steady.beat();
                thread::park_timeout(Duration::from_millis(BEAT_MS.unsigned_abs()));
            }
        })?;
        Ok(Self { thread: Some(thread), ends })
    }
}

impl Drop for Pulse {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // One that panicked beats no more, which a log says already.
            drop(thread.join());
        }
    }
}

/// The two clocks of a machine, moved by a test.
#[cfg(feature = "testing")]
#[derive(Clone, Debug)]
pub struct ManualClocks {
    wall: Arc<AtomicI64>,
    monotonic_ms: Arc<AtomicI64>,
    engines: Woken,
}

#[cfg(feature = "testing")]
impl ManualClocks {
    /// Clocks that show `now`, and engine time that goes by them.
    #[must_use]
    pub fn new(now: Time) -> (Self, SteadyClock) {
        let clocks = Self {
            wall: Arc::new(AtomicI64::new(now.0)),
            monotonic_ms: Arc::new(AtomicI64::new(1_000_000)),
            engines: Woken::default(),
        };
        let clock = SteadyClock::new(Source::Manual(clocks.clone()));
        (clocks, clock)
    }

    fn look(&self) -> Look {
        Look {
            wall: Time(self.wall.load(Ordering::SeqCst)),
            monotonic_ms: self.monotonic_ms.load(Ordering::SeqCst),
        }
    }

    fn pass(&self, ms: i64) {
        self.wall.fetch_add(ms, Ordering::SeqCst);
        self.monotonic_ms.fetch_add(ms, Ordering::SeqCst);
    }

    /// Lets time pass while the process runs.
    pub fn run_ms(&self, clock: &SteadyClock, ms: i64) {
        let mut left = ms;
        while left > 0 {
            let beat = left.min(BEAT_MS);
            self.pass(beat);
            clock.beat();
            left -= beat;
        }
        self.engines.wake();
    }

    /// Lets time pass while the process stands still.
    pub fn stand_still_ms(&self, ms: i64) {
        self.pass(ms);
        self.engines.wake();
    }

    /// Sets the system's clock forward, or back.
    pub fn set_wall_by_ms(&self, ms: i64) {
        self.wall.fetch_add(ms, Ordering::SeqCst);
        self.engines.wake();
    }

    /// What the system's clock shows.
    #[must_use]
    pub fn wall(&self) -> Time {
        self.look().wall
    }
}

#[cfg(all(test, feature = "testing"))]
mod tests {
    use super::*;

    #[test]
    fn nobody_looks_before_a_pause_is_made_up_for() {
        let (clocks, clock) = ManualClocks::new(Time(0));
        clock.go_on_from(Time(0));
        clocks.run_ms(&clock, 1_000);
        assert_eq!(clock.look(), Some(Time(1_000)));
        clocks.stand_still_ms(5_000);
        assert_eq!(clock.look(), None, "deadlines move on first");
        assert_eq!(clock.turn().missed_ms, 5_000);
        assert_eq!(clock.look(), Some(Time(6_000)));
    }

    #[test]
    fn a_pause_that_is_not_made_up_for_was_not_lived_through() {
        const HOUR_MS: i64 = 3_600_000;
        let (clocks, clock) = ManualClocks::new(Time(0));
        clock.go_on_from(Time(0));
        clocks.stand_still_ms(HOUR_MS);
        // Whatever is written down meanwhile, a crash must leave the pause to be made up for.
        assert_eq!(clock.alive_until(), Time(0));
        assert_eq!(clock.turn().missed_ms, HOUR_MS);
        assert_eq!(clock.alive_until(), Time(HOUR_MS));
    }
}
