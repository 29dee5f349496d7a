//! Where the engine gets the time from; docs/design/time.md says what engine time may do.

use super::mailbox::Mailbox;
use super::steady::SteadyClock;
use onrush_core::Time;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{SystemTime, UNIX_EPOCH};

/// The clock of an engine.
#[derive(Clone, Debug)]
pub enum Clock {
    /// This machine's: it goes by the monotonic clock and follows the system's.
    Steady(SteadyClock),
    /// This machine's, corrected: where many nodes share an engine, all go by its clock.
    Corrected(Correction),
    /// One that is moved by hand.
    Manual(ManualClock),
}

impl Default for Clock {
    fn default() -> Self {
        Self::Steady(SteadyClock::default())
    }
}

/// What the engine thread learns when a turn begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Turn {
    /// The time.
    pub(super) now: Time,
    /// How long the process stood still since the last turn, and by how much time was set forward;
    /// 0 as a rule.
    pub(super) missed_ms: i64,
}

/// What happened to a clock since the process started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClockReport {
    /// How often the system's clock was set by a second or more.
    pub steps: u64,
    /// How often the process stood still for two seconds or more.
    pub pauses: u64,
    /// For how long it did, together.
    pub paused_ms: u64,
    /// How far engine time is ahead of the system's clock; negative if it is behind.
    pub ahead_ms: i64,
}

impl Clock {
    /// The time.
    #[must_use]
    pub fn now(&self) -> Time {
        match self {
            Self::Steady(steady) => steady.now(),
            Self::Corrected(correction) => correction.now(),
            Self::Manual(clock) => clock.now(),
        }
    }

    /// What happened to the clock so far.
    #[must_use]
    pub fn report(&self) -> ClockReport {
        match self {
            Self::Steady(steady) => steady.report(),
            Self::Corrected(correction) => {
                let ahead_ms = correction.now().since_ms(system_now());
                ClockReport { ahead_ms, ..ClockReport::default() }
            }
            Self::Manual(_) => ClockReport::default(),
        }
    }

    /// Goes on from `last`, when the engine was last known to run: time never goes back, also not
    /// across a restart.
    pub(super) fn go_on_from(&self, last: Time) {
        match self {
            Self::Steady(steady) => steady.go_on_from(last),
            Self::Corrected(_) | Self::Manual(_) => {}
        }
    }

    /// Begins a turn of the engine thread.
    pub(super) fn turn(&self) -> Turn {
        match self {
            Self::Steady(steady) => steady.turn(),
            Self::Corrected(correction) => Turn { now: correction.now(), missed_ms: 0 },
            Self::Manual(clock) => Turn { now: clock.now(), missed_ms: 0 },
        }
    }

    /// The time for whoever looks between two turns; `None` if the next turn has to make up for a pause
    /// first.
    pub(super) fn look(&self) -> Option<Time> {
        match self {
            Self::Steady(steady) => steady.look(),
            Self::Corrected(_) | Self::Manual(_) => Some(self.now()),
        }
    }

    /// Until when the engine is known to have run: pauses that its thread has not made up for yet are
    /// none of that. What a turn has decided to make up for one must be durable by now.
    pub(super) fn alive_until(&self) -> Time {
        match self {
            Self::Steady(steady) => steady.alive_until(),
            Self::Corrected(_) | Self::Manual(_) => self.now(),
        }
    }

    /// Whether time passes by itself, so that waiting for a deadline makes sense.
    pub(super) fn runs(&self) -> bool {
        match self {
            Self::Steady(steady) => steady.runs(),
            Self::Corrected(_) => true,
            Self::Manual(_) => false,
        }
    }

    /// Has the clock wake an engine whenever it is moved by hand.
    pub(super) fn wakes(&self, mailbox: &Arc<Mailbox>) {
        match self {
            #[cfg(feature = "testing")]
            Self::Steady(steady) => steady.wakes(mailbox),
            #[cfg(not(feature = "testing"))]
            Self::Steady(_) => {}
            Self::Corrected(_) => {}
            Self::Manual(clock) => clock.engines.add(mailbox),
        }
    }
}

/// The system's clock, which anybody may set.
pub(super) fn system_now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// Milliseconds since some moment, which nobody can set. It runs on while the machine sleeps, where
/// the system can tell.
pub(super) fn monotonic_ms() -> i64 {
    #[cfg(target_os = "linux")]
    let clock = rustix::time::ClockId::Boottime;
    #[cfg(not(target_os = "linux"))]
    let clock = rustix::time::ClockId::Monotonic;
    let now = rustix::time::clock_gettime(clock);
    now.tv_sec.saturating_mul(1_000).saturating_add(now.tv_nsec / 1_000_000)
}

/// How far the monotonic clock is behind another node's clock: setting the system's own changes nothing.
#[derive(Clone, Debug)]
pub struct Correction(Arc<AtomicI64>);

impl Default for Correction {
    fn default() -> Self {
        Self(Arc::new(AtomicI64::new(system_now().0 - monotonic_ms())))
    }
}

impl Correction {
    /// The other clock's time.
    #[must_use]
    pub fn now(&self) -> Time {
        Time(monotonic_ms() + self.0.load(Ordering::Relaxed))
    }

    /// Says what the other clock shows just now.
    pub fn set_to(&self, other: Time) {
        self.0.store(other.0 - monotonic_ms(), Ordering::Relaxed);
    }
}

/// Engines that are woken when their clock is moved by hand.
#[derive(Clone, Debug, Default)]
pub(super) struct Woken(Arc<Mutex<Vec<Weak<Mailbox>>>>);

impl Woken {
    pub(super) fn add(&self, mailbox: &Arc<Mailbox>) {
        let mut engines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        engines.retain(|engine| engine.strong_count() > 0);
        engines.push(Arc::downgrade(mailbox));
    }

    pub(super) fn wake(&self) {
        let engines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for mailbox in engines.iter().filter_map(Weak::upgrade) {
            mailbox.nudge();
        }
    }
}

/// A clock that stands still until it is moved by hand. It shows engine time itself: no move is a pause
/// or a step.
#[derive(Clone, Debug)]
pub struct ManualClock {
    now: Arc<AtomicI64>,
    engines: Woken,
}

impl ManualClock {
    /// A clock that shows `now`.
    #[must_use]
    pub fn new(now: Time) -> Self {
        Self { now: Arc::new(AtomicI64::new(now.0)), engines: Woken::default() }
    }

    /// What it shows.
    #[must_use]
    pub fn now(&self) -> Time {
        Time(self.now.load(Ordering::SeqCst))
    }

    /// Sets it, also backwards, and wakes the engines that run by it.
    pub fn set(&self, now: Time) {
        self.now.store(now.0, Ordering::SeqCst);
        self.engines.wake();
    }

    /// Moves it on.
    pub fn advance_ms(&self, ms: i64) {
        self.set(self.now().plus_ms(ms));
    }
}
