//! What `/metrics` shows: counters kept here, and gauges read from the engine when somebody looks.

use crate::app::App;
use crate::saga::Counts;
use crate::serve::Traffic;
use onrush_core::{Query, View};
use onrush_store::embedded::ClockReport;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::registry::Registry;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counters that handlers raise.
#[derive(Default)]
pub struct Metrics {
    /// Holds that were placed, or asked for again.
    pub holds_accepted: AtomicU64,
    /// Holds that the rules refused.
    pub holds_refused: AtomicU64,
    /// Places taken.
    pub joins: AtomicU64,
    /// Positions asked for.
    pub positions: AtomicU64,
    /// Guest tokens made.
    pub guests: AtomicU64,
}

/// Raises a counter by one.
pub fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByEvent {
    event: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByStatus {
    event: String,
    status: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByClass {
    class: &'static str,
}

/// Everything as OpenMetrics text.
pub async fn render(app: &App, traffic: &Traffic) -> String {
    let mut registry = Registry::with_prefix("onrush");
    let counter = |registry: &mut Registry, name: &str, help: &str, value: &AtomicU64| {
        let counter: Counter = Counter::default();
        counter.inc_by(value.load(Ordering::Relaxed));
        registry.register(name, help, counter);
    };
    let Metrics { holds_accepted, holds_refused, joins, positions, guests } = &app.metrics;
    let holds = "Holds asked for that were accepted";
    counter(&mut registry, "holds_accepted", holds, holds_accepted);
    counter(&mut registry, "holds_refused", "Holds asked for that were refused", holds_refused);
    counter(&mut registry, "joins", "Places taken in queues", joins);
    counter(&mut registry, "positions", "Positions asked for", positions);
    counter(&mut registry, "guests", "Guest tokens made", guests);

    let Counts { begun, captured, failed, refunded, stuck } = app.sagas.counts();
    counter(&mut registry, "payments_begun", "Payments begun", begun);
    counter(&mut registry, "payments_captured", "Payments from which money was taken", captured);
    counter(&mut registry, "payments_failed", "Payments that ended without money", failed);
    counter(&mut registry, "refunds", "Refunds made", refunded);
    counter(&mut registry, "sagas_stuck", "Sagas that came to wait for an operator", stuck);

    let ClockReport { steps, pauses, paused_ms, ahead_ms } = app.clock.report();
    let clock = [
        ("clock_steps", "Times the system's clock was set by a second or more", steps),
        ("pauses", "Times the process stood still for two seconds or more", pauses),
        ("paused_ms", "Milliseconds the process stood still", paused_ms),
    ];
    for (name, help, value) in clock {
        counter(&mut registry, name, help, &AtomicU64::new(value));
    }
    let ahead = ConstGauge::new(ahead_ms);
    registry.register("engine_ahead_ms", "How far engine time is ahead of the clock", ahead);

    let responses = Family::<ByClass, Counter>::default();
    for (class, answered) in traffic.responses() {
        responses.get_or_create(&ByClass { class }).inc_by(answered);
    }
    registry.register("http_responses", "Answers by class of status", responses);
    let gauge = |value: u64| ConstGauge::new(value);
    registry.register("connections", "Open connections", gauge(traffic.connections()));
    registry.register(
        "streams",
        "Open SSE and WebSocket streams",
        gauge(app.hub.open_streams() as u64),
    );
    let committed = gauge(app.engine.committed().0);
    registry.register("committed_seq", "The number of the last committed decision", committed);

    let (waiting, active) =
        (Family::<ByEvent, Gauge>::default(), Family::<ByEvent, Gauge>::default());
    let units = Family::<ByStatus, Gauge>::default();
    if let Ok(events) = app.engine.events().await {
        for event in events.value {
            let Ok(answer) = app.engine.query(event.clone(), Query::Event).await else { continue };
            let View::Event(view) = answer.value else { continue };
            let event = event.to_string();
            let by_event = ByEvent { event: event.clone() };
            waiting.get_or_create(&by_event).set(view.waiting.into());
            active.get_or_create(&by_event).set(view.active.into());
            for (status, count) in [
                ("free", view.units.free),
                ("held", view.units.held),
                ("sold", view.units.sold),
                ("blocked", view.units.blocked),
            ] {
                let by_status = ByStatus { event: event.clone(), status };
                units.get_or_create(&by_status).set(count.into());
            }
        }
    }
    registry.register("waiting", "People waiting", waiting);
    registry.register("active", "Slots of the waiting room in use", active);
    registry.register("units", "Units of stock and seats by status", units);

    let mut text = String::new();
    // Writing into memory cannot fail.
    encode(&mut text, &registry).expect("metrics are text");
    text
}
