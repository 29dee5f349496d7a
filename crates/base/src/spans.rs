//! Spans of what the server does, for whoever collects traces.
//!
//! They are made with `tracing`, by one target that nobody listens to unless `[telemetry]` is set:
//! then making one costs a look at a number and nothing else. They never carry what names or
//! authorises a person: no users, addresses, tokens, paths or query strings, only routes, events,
//! bookings and words of our own.

use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use tracing::instrument::Instrumented;
use tracing::{Instrument, Span};

/// The target that all of them have.
pub const TARGET: &str = "onrush::spans";

/// What became of spans, since the process began.
#[derive(Debug, Default)]
pub struct SpanCounts {
    /// A collector has them.
    pub sent: AtomicU64,
    /// There was no room for them: the collector is slow or away.
    pub dropped: AtomicU64,
    /// The collector would not have them.
    pub refused: AtomicU64,
}

/// What became of the spans of this process, as there is one collector for all of it.
pub static COUNTS: SpanCounts =
    SpanCounts { sent: AtomicU64::new(0), dropped: AtomicU64::new(0), refused: AtomicU64::new(0) };

impl SpanCounts {
    /// Each of them, with the word that metrics have for it.
    #[must_use]
    pub fn by_outcome(&self) -> [(&'static str, u64); 3] {
        let Self { sent, dropped, refused } = self;
        [("sent", sent), ("dropped", dropped), ("refused", refused)]
            .map(|(word, count)| (word, count.load(Ordering::Relaxed)))
    }
}

/// Whether anybody listens.
#[must_use]
pub fn are_wanted() -> bool {
    tracing::span_enabled!(target: TARGET, tracing::Level::TRACE)
}

/// The span that we are in; none if nobody listens.
#[must_use]
pub fn current() -> Span {
    if are_wanted() { Span::current() } else { Span::none() }
}

/// Work that goes on in a task of its own, and belongs to the span that it was begun in.
pub fn carried<F: Future>(work: F) -> Instrumented<F> {
    work.instrument(current())
}
