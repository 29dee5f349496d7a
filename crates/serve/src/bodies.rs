//! Requests' bodies: how long they may be and take, and what all of them may have of memory.

use onrush_base::config::ConnectionSettings;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::time::Instant;

/// The longest body of anything but a webhook or a seat map, in bytes.
pub const MAX_BODY_BYTES: usize = 64 << 10;
/// The longest webhook, in bytes.
pub const MAX_WEBHOOK_BYTES: usize = 1 << 20;
/// The longest seat map, in bytes.
pub const MAX_PLAN_BYTES: usize = 32 << 20;
/// How long bodies may still take once the listener was told to stop.
const LAST_WAIT: Duration = Duration::from_secs(2);
/// How long a gateway's message has while their share of memory is in demand.
const HURRY: Duration = Duration::from_secs(1);
/// What a body may have of memory without being counted: nearly all bodies are shorter.
const UNCOUNTED_BYTES: usize = 8 << 10;

/// Bodies with a share of memory of their own, so that those of one kind cannot shut out those of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Of any request.
    Ordinary,
    /// Of a gateway's message.
    Webhook,
    /// Of a seating plan.
    Plan,
}

impl Kind {
    /// What a body of at most this many bytes is.
    pub const fn of(limit: usize) -> Self {
        if limit <= MAX_BODY_BYTES {
            Self::Ordinary
        } else if limit <= MAX_WEBHOOK_BYTES {
            Self::Webhook
        } else {
            Self::Plan
        }
    }

    /// What all bodies of this kind under way may have of memory, in bytes.
    const fn share(self) -> usize {
        match self {
            Self::Ordinary => 64 << 20,
            Self::Webhook => 16 << 20,
            // Only the organiser sends them.
            Self::Plan => 2 * MAX_PLAN_BYTES,
        }
    }
}

/// On what terms a listener's bodies are read.
#[derive(Debug)]
pub struct BodyTerms {
    timeout: Duration,
    bytes_per_s: u32,
    /// Counted bytes of bodies under way, by [`Kind`].
    under_way: [AtomicUsize; 3],
    /// When the listener was told to stop, if it was.
    stopped: OnceLock<Instant>,
}

/// The terms of requests that came over no listener.
pub static DEFAULT: BodyTerms = BodyTerms {
    timeout: Duration::from_secs(10),
    bytes_per_s: 8_192,
    under_way: [const { AtomicUsize::new(0) }; 3],
    stopped: OnceLock::new(),
};

impl Default for BodyTerms {
    fn default() -> Self {
        Self::new(&ConnectionSettings::default())
    }
}

impl BodyTerms {
    /// The configured ones.
    #[must_use]
    pub fn new(settings: &ConnectionSettings) -> Self {
        Self {
            timeout: Duration::from_millis(settings.body_timeout_ms.into()),
            bytes_per_s: settings.body_bytes_per_s.max(1),
            under_way: Default::default(),
            stopped: OnceLock::new(),
        }
    }

    /// Has all bodies come soon or not at all: the listener stops, and nobody's stalled body is to
    /// hold it up. Whoever waits for one must be woken.
    pub(super) fn stop(&self) {
        self.stopped.get_or_init(Instant::now);
    }

    /// Until when a body may take that was first waited for at `since`, and of which so much has come.
    pub(super) fn until(&self, since: Instant, bytes: usize) -> Instant {
        let until = since + self.allowed(bytes);
        self.stopped.get().map_or(until, |stopped| until.min(*stopped + LAST_WAIT))
    }

    /// How long a body of which so much has come may have taken.
    fn allowed(&self, bytes: usize) -> Duration {
        let ms = bytes as u64 * 1_000 / u64::from(self.bytes_per_s);
        self.timeout + Duration::from_millis(ms)
    }
}

/// All bodies of a kind that are under way have as much of memory as they may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShareUsedUp;

/// What a body has of its kind's share, given back when it is dropped.
pub struct Counted<'a> {
    terms: &'a BodyTerms,
    kind: Kind,
    bytes: usize,
}

impl<'a> Counted<'a> {
    /// A body of which nothing has come.
    pub fn new(terms: &'a BodyTerms, kind: Kind) -> Self {
        Self { terms, kind, bytes: 0 }
    }

    /// Until when a body may take that was first waited for at `since`, and of which so much has come.
    ///
    /// Gateways are quick. If their messages earned time by what has come, a few strangers who send all
    /// but the last byte could hold the share of all of them at little cost. While half of it is taken,
    /// a message that is counted has a second: whoever wants to fill the share sends half of it each second.
    pub fn until(&self, since: Instant, bytes: usize) -> Instant {
        if self.kind != Kind::Webhook {
            return self.terms.until(since, bytes);
        }
        let until = self.terms.until(since, 0);
        let in_demand = || self.under_way().load(Ordering::Relaxed) > self.kind.share() / 2;
        if self.bytes > 0 && in_demand() { until.min(since + HURRY) } else { until }
    }

    fn under_way(&self) -> &AtomicUsize {
        &self.terms.under_way[self.kind as usize]
    }

    /// Counts a body that is as long as this by now.
    ///
    /// # Errors
    /// Its kind's share is used up.
    pub fn grow_to(&mut self, length: usize) -> Result<(), ShareUsedUp> {
        let more = length.saturating_sub(UNCOUNTED_BYTES) - self.bytes;
        if more == 0 {
            return Ok(());
        }
        let all = self.under_way().fetch_add(more, Ordering::Relaxed) + more;
        self.bytes += more;
        if all > self.kind.share() {
            return Err(ShareUsedUp);
        }
        Ok(())
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.under_way().fetch_sub(self.bytes, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_line_has_time_for_a_plan_and_a_dripping_one_has_not() {
        let terms = BodyTerms::default();
        let minutes = terms.allowed(MAX_PLAN_BYTES).as_secs() / 60;
        assert!((60..=75).contains(&minutes), "{minutes} minutes for the longest plan");
        assert_eq!(terms.allowed(0), Duration::from_secs(10));
        // A byte a second earns next to nothing.
        assert!(terms.allowed(12) < Duration::from_millis(10_010));
    }

    #[test]
    fn a_gateways_message_earns_no_time() {
        let (terms, since) = (BodyTerms::default(), Instant::now());
        let until = |kind| Counted::new(&terms, kind).until(since, MAX_WEBHOOK_BYTES) - since;
        assert_eq!(until(Kind::Webhook), Duration::from_secs(10));
        assert_eq!(until(Kind::Plan), Duration::from_secs(138));
    }

    #[test]
    fn gateways_messages_have_a_second_while_half_of_their_memory_is_taken() {
        let (terms, since) = (BodyTerms::default(), Instant::now());
        let long = || {
            let mut message = Counted::new(&terms, Kind::Webhook);
            message.grow_to(MAX_WEBHOOK_BYTES).unwrap();
            message
        };
        let seconds = |message: &Counted<'_>| (message.until(since, 1) - since).as_secs();
        let mut messages: Vec<_> = (0..8).map(|_| long()).collect();
        assert_eq!(seconds(&messages[0]), 10);
        messages.push(long());
        assert_eq!(seconds(&messages[0]), 1);
        assert_eq!(seconds(&Counted::new(&terms, Kind::Webhook)), 10, "a short one is not counted");
        messages.pop();
        assert_eq!(seconds(&messages[0]), 10);
    }

    #[test]
    fn short_bodies_are_not_counted_and_long_ones_give_back_what_they_took() {
        let terms = BodyTerms::default();
        let under_way = |kind: Kind| terms.under_way[kind as usize].load(Ordering::Relaxed);
        let counted = |kind| Counted::new(&terms, kind);
        let mut short = counted(Kind::Ordinary);
        short.grow_to(UNCOUNTED_BYTES).unwrap();
        assert_eq!(under_way(Kind::Ordinary), 0);
        let mut long = counted(Kind::Plan);
        for length in [1, 10_000, 20_000, MAX_PLAN_BYTES] {
            long.grow_to(length).unwrap();
        }
        assert_eq!(under_way(Kind::Plan), MAX_PLAN_BYTES - UNCOUNTED_BYTES);
        drop(long);
        assert_eq!(under_way(Kind::Plan), 0);
    }

    #[test]
    fn a_full_share_refuses_its_own_kind_alone() {
        let terms = BodyTerms::default();
        let counted = |kind| Counted::new(&terms, kind);
        let mut webhooks: Vec<_> = (0..16).map(|_| counted(Kind::Webhook)).collect();
        webhooks.iter_mut().for_each(|webhook| webhook.grow_to(MAX_WEBHOOK_BYTES).unwrap());
        let mut another = counted(Kind::Webhook);
        assert_eq!(another.grow_to(MAX_WEBHOOK_BYTES), Err(ShareUsedUp));
        counted(Kind::Ordinary).grow_to(MAX_BODY_BYTES).unwrap();
        counted(Kind::Plan).grow_to(MAX_PLAN_BYTES).unwrap();
        drop((another, webhooks));
        counted(Kind::Webhook).grow_to(MAX_WEBHOOK_BYTES).unwrap();
    }
}
