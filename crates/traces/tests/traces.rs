//! Spans on their way to a collector that takes them, refuses them, is slow, or is away.

mod receiver;

use onrush_base::config::{Secret, TelemetrySettings};
use onrush_base::spans::{COUNTS, TARGET, are_wanted};
use onrush_traces::Traces;
use receiver::{Does, Receiver, attribute};
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::sync::{Mutex, MutexGuard};
use tracing::dispatcher::DefaultGuard;
use tracing::trace_span;
use tracing_subscriber::layer::SubscriberExt;

/// Counts are the process': one test at a time.
static ONE: Mutex<()> = Mutex::const_new(());

async fn alone() -> MutexGuard<'static, ()> {
    ONE.lock().await
}

fn settings(endpoint: String) -> TelemetrySettings {
    TelemetrySettings { sample_ratio: 1.0, ..TelemetrySettings::new(endpoint) }
}

/// Traces of this thread, whose runtime has no other.
fn begin(settings: &TelemetrySettings) -> (Traces, DefaultGuard) {
    let traces = Traces::start(settings, "node-1".into()).expect("the settings can be used");
    let subscriber = tracing_subscriber::registry().with(traces.layer());
    let guard = tracing::subscriber::set_default(subscriber);
    (traces, guard)
}

fn outer_and_inner() {
    let outer = trace_span!(target: TARGET, "outer", otel.kind = "server", onrush.event = "gala");
    outer.in_scope(|| {
        trace_span!(target: TARGET, "inner").in_scope(|| {
            tracing::info!(user = "ann", "what the log says stays in the log");
            trace_span!("of somebody else").in_scope(|| {});
        })
    });
}

fn counts() -> [u64; 3] {
    COUNTS.by_outcome().map(|(_, count)| count)
}

fn since(before: [u64; 3]) -> [u64; 3] {
    let now = counts();
    [0, 1, 2].map(|index| now[index] - before[index])
}

#[tokio::test]
async fn spans_arrive_with_parents_and_attributes_and_nothing_of_the_log() {
    let _alone = alone().await;
    let (receiver, before) = (Receiver::start(Does::Take).await, counts());
    let mut settings = settings(receiver.endpoint());
    settings.headers = vec![Secret::from("x-key: of-the-collector".to_owned())];
    let (traces, guard) = begin(&settings);
    assert!(are_wanted());
    outer_and_inner();
    drop(guard);
    traces.shutdown().await;
    let spans = receiver.spans();
    assert_eq!(spans.len(), 2, "{spans:#?}");
    let named = |name: &str| spans.iter().find(|span| span.name == name).expect(name);
    let (outer, inner) = (named("outer"), named("inner"));
    assert_eq!((&inner.parent_span_id, &inner.trace_id), (&outer.span_id, &outer.trace_id));
    assert!(outer.parent_span_id.is_empty());
    assert_eq!(attribute(outer, "onrush.event").as_deref(), Some("gala"));
    assert!(inner.events.is_empty());
    assert_eq!(since(before), [2, 0, 0]);
    let came = receiver.came.borrow().clone();
    let came = came.lock().unwrap();
    assert_eq!(came.headers[0]["x-key"], "of-the-collector");
    let whole = String::from_utf8_lossy(&came.bodies[0]).into_owned();
    for told in ["service.name", "onrush", "node-1"] {
        assert!(whole.contains(told), "{told}");
    }
    assert!(!whole.contains("ann") && !whole.contains("src/"), "{whole}");
}

#[tokio::test]
async fn nobody_makes_spans_while_nobody_collects_them() {
    let _alone = alone().await;
    let subscriber =
        tracing_subscriber::registry().with(tracing_subscriber::filter::LevelFilter::INFO);
    let _guard = tracing::subscriber::set_default(subscriber);
    assert!(!are_wanted());
    assert!(trace_span!(target: TARGET, "outer").is_disabled());
    assert!(onrush_base::spans::current().is_disabled());
}

#[tokio::test]
async fn the_share_of_traces_is_of_whole_traces() {
    let _alone = alone().await;
    let (receiver, before) = (Receiver::start(Does::Take).await, counts());
    let settings = TelemetrySettings { sample_ratio: 0.5, ..settings(receiver.endpoint()) };
    let (traces, guard) = begin(&settings);
    for _ in 0..200 {
        outer_and_inner();
    }
    drop(guard);
    traces.shutdown().await;
    let spans = receiver.spans();
    let outers = spans.iter().filter(|span| span.name == "outer").count();
    assert_eq!(spans.len(), 2 * outers);
    // 200 throws of a coin: this fails once in more than 10^12 runs.
    assert!((50..=150).contains(&outers), "{outers}");
    assert_eq!(since(before), [spans.len() as u64, 0, 0]);
}

#[tokio::test]
async fn a_collector_that_was_away_gets_what_waited_and_no_more_than_there_was_room_for() {
    let _alone = alone().await;
    let (receiver, before) = (Receiver::start(Does::Answer(503)).await, counts());
    let settings = TelemetrySettings { queue_spans: 4, ..settings(receiver.endpoint()) };
    let (traces, guard) = begin(&settings);
    outer_and_inner();
    receiver.until("a first attempt", |receiver| receiver.requests() > 0).await;
    for _ in 0..10 {
        outer_and_inner();
    }
    assert_eq!(since(before), [0, 16, 0], "four wait beside the two that are tried");
    receiver.now_does(Does::Take);
    receiver.until("all that waited", |receiver| receiver.spans().len() == 6).await;
    drop(guard);
    traces.shutdown().await;
    assert_eq!(since(before), [6, 16, 0]);
}

#[tokio::test]
async fn what_a_collector_will_not_have_is_not_sent_again() {
    let _alone = alone().await;
    let (receiver, before) = (Receiver::start(Does::Answer(400)).await, counts());
    let (traces, guard) = begin(&settings(receiver.endpoint()));
    outer_and_inner();
    while since(before) != [0, 0, 2] {
        tokio::task::yield_now().await;
    }
    receiver.now_does(Does::Take);
    outer_and_inner();
    drop(guard);
    traces.shutdown().await;
    assert_eq!((receiver.requests(), since(before)), (2, [2, 0, 2]));
}

#[tokio::test(start_paused = true)]
async fn a_collector_that_never_answers_holds_the_end_up_for_five_seconds() {
    let _alone = alone().await;
    let (receiver, before) = (Receiver::start(Does::Nothing).await, counts());
    let (traces, guard) = begin(&settings(receiver.endpoint()));
    for _ in 0..3 {
        outer_and_inner();
    }
    let begun = tokio::time::Instant::now();
    drop(guard);
    traces.shutdown().await;
    assert!(begun.elapsed() <= Duration::from_secs(5), "{:?}", begun.elapsed());
    assert_eq!(since(before), [0, 6, 0]);
    assert!(receiver.spans().is_empty());
}

#[tokio::test]
async fn a_collector_that_is_not_there_costs_whoever_makes_spans_nothing() {
    let _alone = alone().await;
    let (nobody, before) = (std::net::TcpListener::bind("127.0.0.1:0").unwrap(), counts());
    let endpoint = format!("http://{}", nobody.local_addr().unwrap());
    drop(nobody);
    let settings = TelemetrySettings { queue_spans: 8, ..settings(endpoint) };
    let (traces, guard) = begin(&settings);
    for _ in 0..10_000 {
        outer_and_inner();
    }
    drop(guard);
    traces.shutdown().await;
    assert_eq!(since(before), [0, 20_000, 0], "all are accounted for");
    assert_eq!(COUNTS.sent.load(Ordering::Relaxed), before[0]);
}
