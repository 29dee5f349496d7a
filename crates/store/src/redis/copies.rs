//! The copies of events that this node answers positions from.
//!
//! ```text
//! who was told as_of asks ─► a copy that is as far and fresh ─► answer
//!                        └─► Redis ─► answer, and from now on there is a copy
//! ```
//!
//! Only events whose places are asked for have one. How many there are is bounded, and how much is
//! in them; what finds no room goes on being asked of Redis.

use super::copy::EventCopy;
use super::options::Options;
use crate::engine::{Answer, AsOf, CopyFigures};
use onrush_core::ids::EventId;
use onrush_core::{Query, View};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};

/// All copies of this node.
pub(super) struct Copies {
    most: usize,
    most_records: usize,
    /// How old an answer may be.
    pub(super) age: Duration,
    slots: RwLock<HashMap<EventId, Slot>>,
    answered: AtomicU64,
    passed_on: AtomicU64,
}

enum Slot {
    Copied(Arc<EventCopy>),
    /// There is no use in another one before then.
    Not {
        until: Instant,
    },
}

impl Copies {
    pub(super) fn new(options: &Options) -> Self {
        Self {
            most: options.copies,
            most_records: options.copied_records,
            age: Duration::from_millis(u64::from(options.copy_age_ms)),
            slots: RwLock::default(),
            answered: AtomicU64::new(0),
            passed_on: AtomicU64::new(0),
        }
    }

    /// What the event's copy says, if there is one that may.
    pub(super) fn answer(
        &self,
        event: &EventId,
        query: &Query,
        as_of: AsOf,
    ) -> Option<Answer<View>> {
        if !matches!(query, Query::Place(_)) {
            return None;
        }
        let answer = match self.read().get(event)? {
            Slot::Copied(copy) => copy.answer(query, as_of, Instant::now())?,
            Slot::Not { .. } => return None,
        };
        self.answered.fetch_add(1, Ordering::Relaxed);
        Some(answer)
    }

    /// Counts a question that Redis is asked.
    pub(super) fn pass_on(&self, query: &Query) {
        if matches!(query, Query::Place(_)) {
            self.passed_on.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// A copy to be made of this event; `None` if there is one, or is not to be.
    pub(super) fn begin(&self, event: &EventId, now: Instant) -> Option<Arc<EventCopy>> {
        let stays = |slot: &Slot| match slot {
            Slot::Copied(_) => true,
            Slot::Not { until } => now < *until,
        };
        if self.most == 0 || self.read().get(event).is_some_and(stays) {
            return None;
        }
        let mut slots = self.write();
        slots.retain(|_, slot| stays(slot));
        let copied = slots.values().filter(|slot| matches!(slot, Slot::Copied(_))).count();
        if copied >= self.most || slots.contains_key(event) {
            return None;
        }
        let copy = Arc::new(EventCopy::new(event.clone()));
        slots.insert(event.clone(), Slot::Copied(Arc::clone(&copy)));
        Some(copy)
    }

    /// Takes a copy out; another one is made no sooner than after `pause`.
    pub(super) fn end(&self, copy: &Arc<EventCopy>, pause: Duration) {
        let mut slots = self.write();
        let is_it = |slot: &Slot| matches!(slot, Slot::Copied(known) if Arc::ptr_eq(known, copy));
        if slots.get(&copy.event).is_some_and(is_it) {
            slots.insert(copy.event.clone(), Slot::Not { until: Instant::now() + pause });
        }
    }

    /// Gives an event's copy up, because it may be of another history than Redis goes on with.
    pub(super) fn give_up(&self, event: &EventId) {
        let mut slots = self.write();
        if let Some(Slot::Copied(copy)) = slots.get(event) {
            copy.give_up();
            slots.remove(event);
        }
    }

    /// Whether all copies together have more in them than they may.
    pub(super) fn are_too_large(&self) -> bool {
        self.figures().records > self.most_records as u64
    }

    pub(super) fn figures(&self) -> CopyFigures {
        let mut figures = CopyFigures {
            answered: self.answered.load(Ordering::Relaxed),
            passed_on: self.passed_on.load(Ordering::Relaxed),
            ..CopyFigures::default()
        };
        for slot in self.read().values() {
            if let Slot::Copied(copy) = slot {
                figures.held += 1;
                figures.records += copy.records() as u64;
            }
        }
        figures
    }

    fn read(&self) -> RwLockReadGuard<'_, HashMap<EventId, Slot>> {
        self.slots.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, HashMap<EventId, Slot>> {
        self.slots.write().unwrap_or_else(PoisonError::into_inner)
    }
}
