//! Who works on what: nodes share sagas and deliveries without one that leads.

use onrush_core::Time;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// A node as it takes up work.
///
/// What it took up stays with it for a while, by the database's clock: it is given its own claims
/// again, and others are not. The claims of a node that died come free by themselves.
#[derive(Clone)]
pub(super) struct Claimant {
    /// The node's name, new each time a ledger is opened.
    pub(super) node: Arc<str>,
    pub(super) claim_ms: f64,
}

/// The engine's time as callers told it, as it goes on by this process's own clock.
#[derive(Default)]
pub(super) struct EngineTime(Mutex<Option<(Time, Instant)>>);

impl EngineTime {
    /// It is `at` now.
    pub(super) fn is(&self, at: Time) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((at, Instant::now()));
    }

    /// What time it is, if anybody ever said.
    pub(super) fn now(&self) -> Option<Time> {
        let told = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (at, since) = told?;
        Some(at.plus_ms(i64::try_from(since.elapsed().as_millis()).unwrap_or(i64::MAX)))
    }
}

/// Which rows a claimant may have: `$1` is its name.
macro_rules! is_free {
    () => {
        "(claimed_by IS NULL OR claimed_by = $1 OR claimed_until <= clock_timestamp())"
    };
}

/// In how many milliseconds the first of some rows comes free.
macro_rules! comes_free_in_ms {
    () => {
        "ceil(extract(epoch FROM min(claimed_until) - clock_timestamp()) * 1000)::bigint"
    };
}

pub(super) use {comes_free_in_ms, is_free};

/// When to look for work again: when something free is due, or something that another node has comes free.
pub(super) fn next_at(
    free: Option<i64>,
    comes_free_in_ms: Option<i64>,
    now: Option<Time>,
) -> Option<Time> {
    let left = match (comes_free_in_ms, now) {
        (Some(ms), Some(now)) => Some(now.plus_ms(ms.max(1))),
        (None, _) | (_, None) => None,
    };
    match (free.map(Time), left) {
        (Some(free), Some(left)) => Some(free.min(left)),
        (at, None) | (None, at) => at,
    }
}
