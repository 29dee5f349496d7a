//! What `/metrics` shows: counters, and gauges read from the engine when somebody looks.

use crate::http::state::Groups;
use onrush_base::metrics::Metrics;
use onrush_core::question::EventNow;
use onrush_saga::Counts;
use onrush_saga::gateway::health::{Calls, Health, State};
use onrush_serve::Traffic;
use onrush_serve::pressure::PressureFigures;
use onrush_store::Ask;
use onrush_store::embedded::ClockReport;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::registry::Registry;
use std::sync::atomic::{AtomicU64, Ordering};

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

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByLimit {
    limit: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByGateway {
    gateway: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByOutcome {
    gateway: &'static str,
    outcome: &'static str,
}

/// How the payment gateway is.
fn gateway(registry: &mut Registry, health: &Health) {
    let (name, view) = (health.gateway(), health.view());
    let of = ByGateway { gateway: name };
    let up = Family::<ByGateway, Gauge>::default();
    up.get_or_create(&of).set((view.state == State::Ok).into());
    registry.register("gateway_up", "Whether the payment gateway answers and knows our key", up);
    let last = Family::<ByGateway, Gauge>::default();
    let seconds = view.last_success_at.map_or(0, |at| at.0 / 1_000);
    last.get_or_create(&of).set(seconds);
    let help = "When the payment gateway last did what it was asked, in seconds since the epoch";
    registry.register("gateway_last_success_seconds", help, last);
    let Calls { done, refused, key_refused, unreachable } = health.calls();
    let calls = Family::<ByOutcome, Counter>::default();
    for (outcome, count) in [
        ("done", done),
        ("refused", refused),
        ("key_refused", key_refused),
        ("unreachable", unreachable),
    ] {
        let of = ByOutcome { gateway: name, outcome };
        calls.get_or_create(&of).inc_by(count.load(Ordering::Relaxed));
    }
    registry.register("gateway_calls", "Calls to the payment gateway by outcome", calls);
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByKind {
    kind: &'static str,
}

/// Everything as OpenMetrics text.
pub(super) async fn render(groups: &Groups, traffic: &Traffic) -> String {
    let mut registry = Registry::with_prefix("onrush");
    let counter = |registry: &mut Registry, name: &str, help: &str, value: &AtomicU64| {
        let counter: Counter = Counter::default();
        counter.inc_by(value.load(Ordering::Relaxed));
        registry.register(name, help, counter);
    };
    let Metrics { holds_accepted, holds_refused, joins, positions, guests } = &*groups.sale.metrics;
    let holds = "Holds asked for that were accepted";
    counter(&mut registry, "holds_accepted", holds, holds_accepted);
    counter(&mut registry, "holds_refused", "Holds asked for that were refused", holds_refused);
    counter(&mut registry, "joins", "Places taken in queues", joins);
    counter(&mut registry, "positions", "Positions asked for", positions);
    counter(&mut registry, "guests", "Guest tokens made", guests);

    let Counts { begun, captured, failed, refunded, stuck, at_desk, erased } =
        groups.sagas.counts();
    counter(&mut registry, "payments_begun", "Payments begun", begun);
    counter(&mut registry, "payments_captured", "Payments from which money was taken", captured);
    counter(&mut registry, "payments_failed", "Payments that ended without money", failed);
    counter(&mut registry, "refunds", "Refunds made", refunded);
    counter(&mut registry, "sagas_stuck", "Sagas that came to wait for an operator", stuck);
    let desk = "Refunds, disputes and second payments that the gateway's own desk made";
    counter(&mut registry, "desk_entries", desk, at_desk);
    let gone = "Bookings whose buyers were erased because their events were long over";
    counter(&mut registry, "buyers_erased", gone, erased);
    if let Some(health) = groups.sagas.health() {
        gateway(&mut registry, health);
    }

    let ClockReport { steps, pauses, paused_ms, ahead_ms } = groups.sale.clock.report();
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
    let turned_away: Counter = Counter::default();
    turned_away.inc_by(traffic.turned_away());
    let help = "Connections turned away: all were taken, or their address had its share";
    registry.register("connections_turned_away", help, turned_away);
    registry.register(
        "streams",
        "Open SSE and WebSocket streams",
        gauge(groups.streams.hub.open_streams() as u64),
    );
    let limited = Family::<ByLimit, Counter>::default();
    for (limit, turned_away) in groups.callers.limits.turned_away() {
        limited.get_or_create(&ByLimit { limit }).inc_by(turned_away);
    }
    registry.register(
        "limited",
        "Requests sent away with 429, by the limit they ran into",
        limited,
    );
    if let Some(space) = &groups.once.space {
        let free = gauge(space.free_bytes());
        registry.register(
            "disk_free_bytes",
            "Free space of the disk with journal and ledger",
            free,
        );
    }
    if let Some(pressure) = traffic.pressure() {
        let PressureFigures { wait, looks_shed, beginnings_shed } = pressure.figures();
        let wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        registry.register("wait_ms", "How long an ask waits just now", gauge(wait_ms));
        let shed = Family::<ByKind, Counter>::default();
        for (kind, sent_away) in [("look", looks_shed), ("beginning", beginnings_shed)] {
            shed.get_or_create(&ByKind { kind }).inc_by(sent_away);
        }
        registry.register("shed", "Requests sent away because answers took too long", shed);
    }
    let committed = gauge(groups.sale.engine.committed().0);
    registry.register("committed_seq", "The number of the last committed decision", committed);

    let (waiting, active) =
        (Family::<ByEvent, Gauge>::default(), Family::<ByEvent, Gauge>::default());
    let units = Family::<ByStatus, Gauge>::default();
    if let Ok(events) = groups.sale.engine.events().await {
        for event in events.value {
            let Ok(answer) = groups.sale.engine.ask(event.clone(), EventNow).await else {
                continue;
            };
            let view = answer.value;
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
