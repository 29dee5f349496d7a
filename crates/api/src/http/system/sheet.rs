//! Metrics as they are at one moment, each with a name, a help and its rows.

use onrush_store::durations::{BOUNDS_US, Counted};
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{EncodeMetric, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit};
use std::fmt;
use std::time::Duration;

/// What tells one row of a metric from the others.
pub(super) type Labels = Vec<(&'static str, String)>;

/// One row of a metric.
pub(super) type Row<T> = (Labels, T);

/// Metrics that are being written down. One without rows is described all the same, so that what is
/// documented is what there is.
pub(super) struct Sheet(Registry);

/// A metric of one kind with its rows.
#[derive(Debug)]
enum Metric {
    Counter(Vec<Row<u64>>),
    Gauge(Vec<Row<u64>>),
    /// Seconds that came together.
    Sum(f64),
    /// So much of a unit.
    Amount(Vec<Row<f64>>),
    Histogram(Vec<Row<Counted>>),
}

/// The only row of a metric that has no labels.
pub(super) fn alone<T>(value: T) -> Vec<Row<T>> {
    vec![(Labels::new(), value)]
}

impl Sheet {
    pub(super) fn new() -> Self {
        Self(Registry::with_prefix("onrush"))
    }

    /// Things that happened; `_total` is added to the name.
    pub(super) fn counter(&mut self, name: &str, help: &str, rows: Vec<Row<u64>>) {
        self.0.register(name, help, Metric::Counter(rows));
    }

    /// Seconds that came together; `_seconds_total` is added to the name.
    pub(super) fn seconds_counter(&mut self, name: &str, help: &str, total: Duration) {
        let sum = Metric::Sum(total.as_secs_f64());
        self.0.register_with_unit(name, help, Unit::Seconds, sum);
    }

    /// How much there is.
    pub(super) fn gauge(&mut self, name: &str, help: &str, rows: Vec<Row<u64>>) {
        self.0.register(name, help, Metric::Gauge(rows));
    }

    /// The same in a unit, which is added to the name.
    pub(super) fn gauge_in(&mut self, unit: Unit, name: &str, help: &str, rows: Vec<Row<f64>>) {
        self.0.register_with_unit(name, help, unit, Metric::Amount(rows));
    }

    /// How long things took; `_seconds` is added to the name.
    pub(super) fn histogram(&mut self, name: &str, help: &str, rows: Vec<Row<Counted>>) {
        self.0.register_with_unit(name, help, Unit::Seconds, Metric::Histogram(rows));
    }

    /// All of it as OpenMetrics text.
    pub(super) fn into_text(self) -> String {
        let mut text = String::new();
        // Writing into memory cannot fail.
        encode(&mut text, &self.0).expect("metrics are text");
        text
    }
}

impl EncodeMetric for Metric {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        match self {
            Self::Counter(rows) => each(&mut encoder, rows, |row, value| {
                row.encode_counter::<NoLabelSet, u64, f64>(value, None)
            }),
            Self::Gauge(rows) => each(&mut encoder, rows, |row, value| row.encode_gauge(value)),
            Self::Sum(seconds) => encoder.encode_counter::<NoLabelSet, f64, f64>(seconds, None),
            Self::Amount(rows) => each(&mut encoder, rows, |row, value| row.encode_gauge(value)),
            Self::Histogram(rows) => each(&mut encoder, rows, histogram),
        }
    }

    fn metric_type(&self) -> MetricType {
        match self {
            Self::Counter(_) | Self::Sum(_) => MetricType::Counter,
            Self::Gauge(_) | Self::Amount(_) => MetricType::Gauge,
            Self::Histogram(_) => MetricType::Histogram,
        }
    }
}

fn each<T>(
    encoder: &mut MetricEncoder<'_>,
    rows: &[Row<T>],
    write: impl Fn(&mut MetricEncoder<'_>, &T) -> fmt::Result,
) -> fmt::Result {
    for (labels, value) in rows {
        // Without labels there are no braces either.
        if labels.is_empty() {
            write(encoder, value)?;
        } else {
            write(&mut encoder.encode_family(labels)?, value)?;
        }
    }
    Ok(())
}

fn histogram(row: &mut MetricEncoder<'_>, counted: &Counted) -> fmt::Result {
    let bounds = BOUNDS_US.iter().map(|us| Duration::from_micros(*us).as_secs_f64());
    let bounds = bounds.chain([f64::MAX]);
    let buckets: Vec<_> = bounds.zip(counted.buckets).collect();
    let sum_s = counted.sum.as_secs_f64();
    row.encode_histogram::<NoLabelSet>(sum_s, counted.times(), &buckets, None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use onrush_store::durations::Durations;

    #[test]
    fn units_stand_last_and_buckets_add_up() {
        let took = Durations::default();
        took.note(Duration::from_micros(200));
        took.note(Duration::from_secs(20));
        let mut sheet = Sheet::new();
        let labels = vec![("group", "holds".to_owned())];
        sheet.histogram("http_request", "How long", vec![(labels, took.counted())]);
        sheet.counter("joins", "Places", alone(3));
        sheet.seconds_counter("paused", "Stood still", Duration::from_millis(1_500));
        sheet.gauge_in(Unit::Bytes, "disk_free", "Free", vec![]);
        let text = sheet.into_text();
        for line in [
            "# TYPE onrush_http_request_seconds histogram",
            "onrush_http_request_seconds_bucket{le=\"0.0001\",group=\"holds\"} 0",
            "onrush_http_request_seconds_bucket{le=\"0.00025\",group=\"holds\"} 1",
            "onrush_http_request_seconds_bucket{le=\"10.0\",group=\"holds\"} 1",
            "onrush_http_request_seconds_bucket{le=\"+Inf\",group=\"holds\"} 2",
            "onrush_http_request_seconds_count{group=\"holds\"} 2",
            "onrush_joins_total 3",
            "onrush_paused_seconds_total 1.5",
            "# TYPE onrush_disk_free_bytes gauge",
        ] {
            assert!(text.lines().any(|have| have == line), "{line} is not in\n{text}");
        }
    }
}
