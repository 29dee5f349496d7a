//! How long answers took.

use hdrhistogram::Histogram;
use std::time::Duration;

/// The longest time told apart from longer ones: a minute, in microseconds.
const MAX_US: u64 = 60_000_000;

/// A distribution of times, to three digits.
pub(crate) struct Latency {
    histogram: Histogram<u64>,
}

impl Latency {
    /// An empty one.
    pub(crate) fn new() -> Self {
        // The bounds are constants that the histogram takes.
        let histogram = Histogram::new_with_bounds(1, MAX_US, 3);
        Self { histogram: histogram.expect("bounds are valid") }
    }

    /// Counts one time.
    pub(crate) fn record(&mut self, time: Duration) {
        let us = u64::try_from(time.as_micros()).unwrap_or(MAX_US);
        self.histogram.saturating_record(us.clamp(1, MAX_US));
    }

    /// Counts all that another one did.
    pub(crate) fn add(&mut self, other: &Self) {
        self.histogram.add(&other.histogram).expect("the bounds are the same");
    }

    /// How many times were counted.
    pub(crate) fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// The time that `percent` of all stay within, in milliseconds; 0 if there are none.
    pub(crate) fn percentile_ms(&self, percent: f64) -> f64 {
        self.histogram.value_at_percentile(percent) as f64 / 1000.0
    }

    /// The longest time, in milliseconds.
    pub(crate) fn max_ms(&self) -> f64 {
        self.histogram.max() as f64 / 1000.0
    }
}
