//! What `/metrics` shows: counters, and gauges read from engine and ledger when somebody looks.
//! docs/operating.md lists every name.

use super::health::{Reach, reach};
use super::sheet::{Labels, Row, Sheet, alone};
use crate::http::state::Groups;
use futures_util::{StreamExt, stream};
use onrush_base::metrics::{Metrics, PublisherFigures};
use onrush_base::spans::COUNTS;
use onrush_core::Time;
use onrush_core::ids::EventId;
use onrush_core::question::EventNow;
use onrush_core::view::EventView;
use onrush_ledger::backlog::{Backlog, WaitingDeliveries};
use onrush_saga::gateway::health::{Calls, State};
use onrush_saga::{Counts, Sagas};
use onrush_serve::pressure::PressureFigures;
use onrush_serve::{CertificateView, Traffic};
use onrush_store::embedded::ClockReport;
use onrush_store::{Ask, CopyFigures, Engine, Figures};
use prometheus_client::registry::Unit;
use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// How long ledger and engine may take: Prometheus gives up after ten seconds, and one that is away
/// should be seen, not hide the rest.
const PATIENCE: Duration = Duration::from_secs(3);
/// Events that the engine is asked for at a time: a cluster's takes a way to Redis and back for each.
const AT_ONCE: usize = 32;

/// Everything as OpenMetrics text.
pub(super) async fn render(groups: &Groups, traffic: &Traffic) -> String {
    let mut sheet = Sheet::new();
    business(&mut sheet, &groups.sale.metrics);
    payments(&mut sheet, &groups.sagas);
    gateway(&mut sheet, &groups.sagas);
    clock(&mut sheet, &groups.sale.clock.report());
    http(&mut sheet, groups, traffic);
    engine(&mut sheet, groups);
    ledger(&mut sheet, groups).await;
    publishers(&mut sheet, groups).await;
    spans(&mut sheet, groups);
    events(&mut sheet, groups).await;
    sheet.into_text()
}

fn one(name: &'static str, value: impl Into<String>) -> Labels {
    vec![(name, value.into())]
}

fn counted(counter: &AtomicU64) -> Vec<Row<u64>> {
    alone(counter.load(Ordering::Relaxed))
}

fn business(sheet: &mut Sheet, metrics: &Metrics) {
    let Metrics { holds_accepted, holds_refused, joins, positions, guests } = metrics;
    sheet.counter("holds_accepted", "Holds asked for that were accepted", counted(holds_accepted));
    sheet.counter("holds_refused", "Holds asked for that were refused", counted(holds_refused));
    sheet.counter("joins", "Places taken in queues", counted(joins));
    sheet.counter("positions", "Positions asked for", counted(positions));
    sheet.counter("guests", "Guest tokens made", counted(guests));
}

fn payments(sheet: &mut Sheet, sagas: &Sagas) {
    let Counts { begun, captured, failed, refunded, stuck, at_desk, erased } = sagas.counts();
    sheet.counter("payments_begun", "Payments begun", counted(begun));
    let help = "Payments from which money was taken";
    sheet.counter("payments_captured", help, counted(captured));
    sheet.counter("payments_failed", "Payments that ended without money", counted(failed));
    sheet.counter("refunds", "Refunds made", counted(refunded));
    sheet.counter("sagas_stuck", "Sagas that came to wait for an operator", counted(stuck));
    let help = "Refunds, disputes and second payments that the gateway's own desk made";
    sheet.counter("desk_entries", help, counted(at_desk));
    let help = "Bookings whose buyers were erased because their events were long over";
    sheet.counter("buyers_erased", help, counted(erased));
    let steps = sagas.steps().counted().map(|(step, took)| (one("step", step), took));
    sheet.histogram("saga_step", "How long steps of payments took, by step", steps.collect());
}

/// How the payment gateway is.
fn gateway(sheet: &mut Sheet, sagas: &Sagas) {
    let (mut up, mut last, mut calls, mut took) = (vec![], vec![], vec![], vec![]);
    if let Some(health) = sagas.health() {
        let (name, view) = (health.gateway(), health.view());
        let of = || one("gateway", name);
        up = vec![(of(), u64::from(view.state == State::Ok))];
        last = vec![(of(), seconds(view.last_success_at.map_or(0, |at| at.0)))];
        let Calls { done, refused, key_refused, unreachable } = health.calls();
        let outcomes = [
            ("done", done),
            ("refused", refused),
            ("key_refused", key_refused),
            ("unreachable", unreachable),
        ];
        let of_outcome = |outcome: &str| [of(), one("outcome", outcome)].concat();
        let row = |(outcome, count): (&str, &AtomicU64)| {
            (of_outcome(outcome), count.load(Ordering::Relaxed))
        };
        calls = outcomes.map(row).into();
        let of_call = |call: &str| [of(), one("call", call)].concat();
        took = health.took().map(|(call, took)| (of_call(call), took)).collect();
    }
    sheet.gauge("gateway_up", "Whether the payment gateway answers and knows our key", up);
    let help = "When the payment gateway last did what it was asked, since the epoch";
    sheet.gauge_in(Unit::Seconds, "gateway_last_success", help, last);
    sheet.counter("gateway_calls", "Calls to the payment gateway by outcome", calls);
    sheet.histogram("gateway_call", "How long calls to the payment gateway took, by call", took);
}

fn clock(sheet: &mut Sheet, report: &ClockReport) {
    let ClockReport { steps, pauses, paused_ms, ahead_ms } = *report;
    let help = "Times the system's clock was set by a second or more";
    sheet.counter("clock_steps", help, alone(steps));
    let help = "Times the process stood still for two seconds or more";
    sheet.counter("pauses", help, alone(pauses));
    sheet.seconds_counter("paused", "How long it stood still", Duration::from_millis(paused_ms));
    let help = "How far engine time is ahead of the clock";
    sheet.gauge_in(Unit::Seconds, "engine_ahead", help, alone(seconds(ahead_ms)));
}

fn http(sheet: &mut Sheet, groups: &Groups, traffic: &Traffic) {
    let responses = traffic.responses().map(|(class, answered)| (one("class", class), answered));
    sheet.counter("http_responses", "Answers by class of status", responses.into());
    let took = traffic.took().map(|(group, class, took)| {
        (vec![("group", group.to_string()), ("class", class.to_owned())], took)
    });
    let help = "How long answers took, by kind of request and class of status";
    sheet.histogram("http_request", help, took.collect());
    sheet.gauge("connections", "Open connections", alone(traffic.connections()));
    let help = "Connections turned away: all were taken, or their address had its share";
    sheet.counter("connections_turned_away", help, alone(traffic.turned_away()));
    let open = groups.streams.hub.open_streams() as u64;
    sheet.gauge("streams", "Open SSE and WebSocket streams", alone(open));
    let limited = groups.callers.limits.turned_away();
    let limited = limited.map(|(limit, turned_away)| (one("limit", limit), turned_away));
    let help = "Requests sent away with 429, by the limit they ran into";
    sheet.counter("limited", help, limited.collect());
    let (mut waits, mut shed) = (vec![], vec![]);
    if let Some(pressure) = traffic.pressure() {
        let PressureFigures { wait, looks_shed, beginnings_shed } = pressure.figures();
        waits = alone(wait.as_secs_f64());
        let kinds = [("look", looks_shed), ("beginning", beginnings_shed)];
        shed = kinds.map(|(kind, sent_away)| (one("kind", kind), sent_away)).into();
    }
    let ends_s = groups.certificate().and_then(certificate_ends_s);
    let help = "When the certificate that the public listener shows ends, since the epoch";
    let ends_s = ends_s.map_or(vec![], |ends_s| alone(ends_s as f64));
    sheet.gauge_in(Unit::Seconds, "tls_certificate_not_after", help, ends_s);
    sheet.gauge_in(Unit::Seconds, "wait", "How long an ask waits just now", waits);
    sheet.counter("shed", "Requests sent away because answers took too long", shed);
}

/// When the certificate ends. One that is not there has ended: else the alert on one that ends soon
/// would go as soon as a start finds it too old to show.
fn certificate_ends_s(certificate: &CertificateView) -> Option<i64> {
    if certificate.is_there() { certificate.not_after_s() } else { Some(0) }
}

fn engine(sheet: &mut Sheet, groups: &Groups) {
    let Figures { decide, commit, unarchived, copies: held } = groups.sale.engine.figures();
    let help = "How long decisions took: a turn of many, or a script each on Redis";
    sheet.histogram("decide", help, alone(decide));
    let help = "How long decisions took to be durable: a commit, or the archive's answer";
    sheet.histogram("commit", help, alone(commit));
    let help = "Decisions that this node knows of and the archive has not";
    sheet.gauge("unarchived_decisions", help, alone(unarchived));
    let help = "Whether Redis refused something new within the last minute, as its memory is full";
    let is_full = u64::from(groups.sale.engine.is_full());
    sheet.gauge("redis_full", help, alone(is_full));
    copies(sheet, held);
    let committed = groups.sale.engine.committed().0;
    sheet.gauge("committed_seq", "The number of the last committed decision", alone(committed));
    let free = groups.disk().map(|space| space.free_bytes() as f64);
    let help = "Free space of the disk with the journal, and the ledger if it is a file";
    sheet.gauge_in(Unit::Bytes, "disk_free", help, free.map_or(vec![], alone));
}

/// What a node of a cluster answers by itself.
fn copies(sheet: &mut Sheet, figures: Option<CopyFigures>) {
    let (mut held, mut records, mut answers) = (vec![], vec![], vec![]);
    if let Some(of) = figures {
        (held, records) = (alone(of.held), alone(of.records));
        let from = [("copy", of.answered), ("redis", of.passed_on)];
        answers = from.map(|(from, count)| (one("from", from), count)).into();
    }
    sheet.gauge("event_copies", "Copies of events that this node answers positions from", held);
    sheet.gauge("event_copy_records", "Records in these copies", records);
    let help = "Looks at places by who answered: this node's copy, or Redis";
    sheet.counter("place_answers", help, answers);
}

/// What the ledger answers, unless it takes so long that whoever looks would give up.
async fn in_time<T>(asked: onrush_ledger::Pending<T>) -> Option<T> {
    tokio::time::timeout(PATIENCE, asked).await.ok()?.ok()
}

/// What one channel has in the ledger.
#[derive(Default)]
struct Outbox {
    waiting: u64,
    overdue_s: f64,
    oldest_s: f64,
    dead: u64,
}

/// What waits in the ledger. What it does not say now is left out.
async fn ledger(sheet: &mut Sheet, groups: &Groups) {
    // Asked first: whatever is committed meanwhile is nobody's delay.
    let committed = groups.sale.engine.committed().0;
    let (cursor, backlog) =
        tokio::join!(in_time(groups.ledger.cursor()), in_time(groups.ledger.backlog()));
    let lag = cursor.map(|cursor| committed.saturating_sub(cursor));
    let help = "Decisions that the ledger has not followed yet";
    sheet.gauge("ledger_lag_decisions", help, lag.map_or(vec![], alone));
    let is_known = backlog.is_some();
    sheet.gauge("ledger_up", "Whether the ledger answers", alone(u64::from(is_known)));
    let Backlog { waiting, dead, stuck_sagas, open_sagas, next_saga_at } =
        backlog.unwrap_or_default();
    let now = groups.sale.clock.now();
    let overdue = |at: Time| seconds(now.since_ms(at).max(0));
    // A channel of which nothing waits has rows as well: growth is seen only from a number on.
    let channels = is_known.then(|| groups.relay.channels().names());
    let mut outbox: BTreeMap<String, Outbox> =
        channels.into_iter().flatten().map(|name| (name.to_owned(), Outbox::default())).collect();
    for WaitingDeliveries { channel, count, next_at, since } in waiting {
        let of = outbox.entry(channel).or_default();
        (of.waiting, of.overdue_s, of.oldest_s) = (count, overdue(next_at), overdue(since));
    }
    for (channel, count) in dead {
        outbox.entry(channel).or_default().dead = count;
    }
    let (mut counts, mut overdues, mut oldest, mut dead) = (vec![], vec![], vec![], vec![]);
    for (channel, of) in outbox {
        let labels = || one("channel", channel.clone());
        counts.push((labels(), of.waiting));
        overdues.push((labels(), of.overdue_s));
        oldest.push((labels(), of.oldest_s));
        dead.push((labels(), of.dead));
    }
    sheet.gauge("outbox_waiting", "Messages that did not arrive yet, by channel", counts);
    let help = "How long the first of them has been due for its next attempt, by channel";
    sheet.gauge_in(Unit::Seconds, "outbox_overdue", help, overdues);
    let help = "How long the oldest of them has been to be delivered, by channel";
    sheet.gauge_in(Unit::Seconds, "outbox_oldest", help, oldest);
    let arrivals = groups.relay.last_arrivals();
    let arrivals = arrivals.map(|(channel, at)| (one("channel", channel), at.unwrap_or_default()));
    let arrivals = arrivals.map(|(labels, at)| (labels, seconds(at.0))).collect();
    let help = "When a message last arrived over this node, since the epoch, by channel";
    sheet.gauge_in(Unit::Seconds, "outbox_last_arrival", help, arrivals);
    sheet.gauge("dead_letters", "Messages that were given up, by channel", dead);
    let known = |value: u64| if is_known { alone(value) } else { vec![] };
    sheet.gauge("stuck_sagas", "Payments that wait for an operator now", known(stuck_sagas));
    sheet.gauge("open_sagas", "Payments and refunds under way", known(open_sagas));
    let late = is_known.then(|| next_saga_at.map_or(0.0, overdue));
    let help = "How long the first payment under way has been due to be looked at";
    sheet.gauge_in(Unit::Seconds, "sagas_overdue", help, late.map_or(vec![], alone));
}

/// How those who carry the feed to RabbitMQ and Kafka are, if there are any.
async fn publishers(sheet: &mut Sheet, groups: &Groups) {
    let (mut up, mut publishing, mut lag) = (vec![], vec![], vec![]);
    let (mut messages, mut failures) = (vec![], vec![]);
    for figures in groups.nodes.publishers().await {
        let PublisherFigures { name, is_connected, is_publishing, behind, sent, failed } = figures;
        let of = || one("publisher", name);
        up.push((of(), u64::from(is_connected)));
        publishing.push((of(), u64::from(is_publishing)));
        lag.extend(behind.map(|decisions| (of(), decisions)));
        messages.push((of(), sent));
        failures.push((of(), failed));
    }
    let help = "Whether this node is connected to RabbitMQ or Kafka";
    sheet.gauge("publisher_up", help, up);
    let help = "Whether this node is the one that publishes";
    sheet.gauge("publisher_publishing", help, publishing);
    let help = "Decisions that RabbitMQ or Kafka has not been told of";
    sheet.gauge("publisher_lag_decisions", help, lag);
    let help = "Messages that were acknowledged to this node";
    sheet.counter("publisher_messages", help, messages);
    let help = "Connections that broke or could not be made";
    sheet.counter("publisher_failures", help, failures);
}

/// What became of spans, if anybody collects them.
fn spans(sheet: &mut Sheet, groups: &Groups) {
    let counts = COUNTS.by_outcome().map(|(outcome, count)| (one("outcome", outcome), count));
    let is_on = groups.callers.config.telemetry.is_some();
    let help = "Spans of traces, by whether the collector has them";
    sheet.counter("spans", help, if is_on { counts.into() } else { vec![] });
}

/// Whether the engine answers, and what every event shows, as far as it says that in time.
async fn events(sheet: &mut Sheet, groups: &Groups) {
    let engine = &*groups.sale.engine;
    let (reached, views) = tokio::join!(reach(engine), views_in_time(engine));
    let answers = u64::from(matches!(reached, Reach::Answers));
    let help =
        "Whether the engine answers; on Redis, whether this node reaches it and it takes writes";
    sheet.gauge("engine_reachable", help, alone(answers));
    let (mut waiting, mut active, mut units) = (vec![], vec![], vec![]);
    for (event, view) in views {
        let of = || one("event", event.to_string());
        waiting.push((of(), view.waiting.into()));
        active.push((of(), view.active.into()));
        for (status, count) in [
            ("free", view.units.free),
            ("held", view.units.held),
            ("sold", view.units.sold),
            ("blocked", view.units.blocked),
        ] {
            units.push(([of(), one("status", status)].concat(), count.into()));
        }
    }
    sheet.gauge("waiting", "People waiting", waiting);
    sheet.gauge("active", "Slots of the waiting room in use", active);
    sheet.gauge("units", "Units of stock and seats by status", units);
}

/// All events as they are now, without those that the engine did not tell of in time.
async fn views_in_time(engine: &dyn Engine) -> Vec<(EventId, Box<EventView>)> {
    let until = Instant::now() + PATIENCE;
    let Ok(Ok(events)) = timeout_at(until, engine.events()).await else { return vec![] };
    let asked = events.value.into_iter().map(async |event: EventId| {
        let answer = engine.ask(event.clone(), EventNow).await.ok()?;
        Some((event, answer.value))
    });
    let mut told = pin!(stream::iter(asked).buffer_unordered(AT_ONCE));
    let mut views = Vec::new();
    // It ends with the last event, or when there is no time left.
    while let Ok(Some(view)) = timeout_at(until, told.next()).await {
        views.extend(view);
    }
    views
}

/// Milliseconds, as every metric has times.
fn seconds(ms: i64) -> f64 {
    // 53 bits of milliseconds are 285,000 years.
    ms as f64 / 1_000.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine_stub::EngineStub;
    use crate::live::samples;
    use onrush_core::View;
    use onrush_serve::FetchedCertificate;
    use onrush_store::Failure;
    use std::collections::BTreeSet;

    const EVENTS: u32 = 100;

    fn name(number: u32) -> EventId {
        format!("event-{number}").parse().unwrap()
    }

    #[test]
    fn a_certificate_that_is_not_there_has_ended() {
        let none = FetchedCertificate::new(None).unwrap().certificate();
        assert_eq!(certificate_ends_s(&none.view()), Some(0));
    }

    #[tokio::test(start_paused = true)]
    async fn event_that_nobody_tells_of_hides_no_other() {
        let begun = Instant::now();
        // One is silent, and another is not known any more.
        let told = |event: &EventId, _: &_| match event {
            silent if *silent == name(3) => None,
            gone if *gone == name(5) => Some(Err(Failure::Unreachable)),
            other => Some(Ok(View::Event(Box::new(samples::tests::view(other.as_str()))))),
        };
        let events = (0..EVENTS).map(name).collect();
        let views = views_in_time(&EngineStub { events, ..EngineStub::telling(told) }).await;
        assert_eq!(begun.elapsed(), PATIENCE);
        let told: BTreeSet<EventId> = views.into_iter().map(|(event, _)| event).collect();
        let wanted = (0..EVENTS).filter(|number| ![3, 5].contains(number)).map(name);
        assert_eq!(told, wanted.collect());
    }
}
