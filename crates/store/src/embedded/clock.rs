//! Where the engine gets the time from.

use onrush_core::Time;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

#[cfg(feature = "testing")]
use super::mailbox::Mailbox;
#[cfg(feature = "testing")]
use std::sync::{Mutex, PoisonError, Weak};

/// The clock of an engine.
#[derive(Clone, Debug, Default)]
pub enum Clock {
    /// The system's.
    #[default]
    System,
    /// The system's, corrected: where many nodes share an engine, all go by its clock.
    Corrected(Correction),
    /// One that a test moves.
    #[cfg(feature = "testing")]
    Manual(ManualClock),
}

impl Clock {
    /// The time.
    #[must_use]
    pub fn now(&self) -> Time {
        match self {
            Self::System => system_now(),
            Self::Corrected(correction) => system_now().plus_ms(correction.ms()),
            #[cfg(feature = "testing")]
            Self::Manual(clock) => clock.now(),
        }
    }

    /// Whether time passes by itself, so that waiting for a deadline makes sense.
    pub(super) fn runs(&self) -> bool {
        match self {
            Self::System | Self::Corrected(_) => true,
            #[cfg(feature = "testing")]
            Self::Manual(_) => false,
        }
    }
}

fn system_now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// How far the system's clock is behind another one.
#[derive(Clone, Debug, Default)]
pub struct Correction(Arc<AtomicI64>);

impl Correction {
    /// What to add to the system's time, in milliseconds.
    #[must_use]
    pub fn ms(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Says what the other clock shows just now.
    pub fn set_to(&self, other: Time) {
        self.0.store(other.since_ms(system_now()), Ordering::Relaxed);
    }
}

/// A clock that stands still until a test moves it.
#[cfg(feature = "testing")]
#[derive(Clone, Debug)]
pub struct ManualClock {
    now: Arc<AtomicI64>,
    engines: Arc<Mutex<Vec<Weak<Mailbox>>>>,
}

#[cfg(feature = "testing")]
impl ManualClock {
    /// A clock that shows `now`.
    #[must_use]
    pub fn new(now: Time) -> Self {
        Self { now: Arc::new(AtomicI64::new(now.0)), engines: Arc::default() }
    }

    /// What it shows.
    #[must_use]
    pub fn now(&self) -> Time {
        Time(self.now.load(Ordering::SeqCst))
    }

    /// Sets it, also backwards, and wakes the engines that run by it.
    pub fn set(&self, now: Time) {
        self.now.store(now.0, Ordering::SeqCst);
        let engines = self.engines.lock().unwrap_or_else(PoisonError::into_inner);
        for mailbox in engines.iter().filter_map(Weak::upgrade) {
            mailbox.nudge();
        }
    }

    /// Moves it on.
    pub fn advance_ms(&self, ms: i64) {
        self.set(self.now().plus_ms(ms));
    }

    pub(super) fn wakes(&self, mailbox: &Arc<Mailbox>) {
        let mut engines = self.engines.lock().unwrap_or_else(PoisonError::into_inner);
        engines.retain(|engine| engine.strong_count() > 0);
        engines.push(Arc::downgrade(mailbox));
    }
}
