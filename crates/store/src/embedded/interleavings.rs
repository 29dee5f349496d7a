//! The threads of the engine in many orders: shuttle decides at each lock and wake-up who goes on.
//!
//! What runs here is the engine itself, with real files; only its locks and threads are shuttle's
//! (`sync.rs`). A wait with a time limit never times out here, so no deadline hides a wake-up that got
//! lost: shuttle finds nobody who could go on, and fails. A failure prints the seed and the schedule;
//! docs/reliability.md says how to run either again.

use super::database;
use super::disk::Watch;
use super::faults::{Fate, Faults, KillPoint};
use super::journal::Written;
use super::mailbox::{Ask, Mailbox, Slot};
use super::reader::JournalReader;
use super::still::Still;
use super::{Clock, Embedded, ManualClock, ManualClocks, Options};
use crate::engine::{Engine, Failure, Feed, Pending, Seq};
use onrush_core::ids::EventId;
use onrush_core::question::EventNow;
use onrush_core::settings::Settings;
use onrush_core::{Command, Reply, Time, View};
use onrush_testkit::interleavings::{exhaust, explore};
use shuttle::future::block_on;
use shuttle::thread;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, LazyLock};
use std::task::{Context, Waker};
use std::time::Duration;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// The engine wants one; no task of it ever runs there.
static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    tokio::runtime::Builder::new_current_thread().build().expect("a runtime without drivers")
});

fn options() -> Options {
    let clock = Clock::Manual(ManualClock::new(Time(1_000_000)));
    Options { clock, runtime: Some(RUNTIME.handle().clone()), ..Options::default() }
}

/// In memory where there is such a place: no disk is waited for, and no order depends on one.
fn directory() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a directory")
}

/// The engine with the two threads that decide and commit.
fn opened(options: Options) -> (TempDir, Embedded) {
    let dir = directory();
    let blind = |_: &std::path::Path| Ok(Watch::blind(0));
    let still = Still::open(dir.path(), options, blind, true).expect("it opens");
    let Still { engine, executor, journal } = still;
    let engine = engine.run(executor, journal, None).expect("threads");
    (dir, engine)
}

fn event(n: usize) -> EventId {
    format!("e{n}").parse().expect("an id")
}

/// One decision.
fn create(engine: &Embedded, n: usize) -> Pending<Reply> {
    let settings = Settings::new("Gala", "EUR".parse().expect("a currency"));
    engine.execute(event(n), Command::CreateEvent { settings: Box::new(settings) })
}

/// A look at the first event.
fn look(engine: &Embedded) -> Pending<View> {
    engine.query(event(0), EventNow.into())
}

/// The events whose creation is in the file.
fn journalled(dir: &TempDir) -> BTreeSet<EventId> {
    let mut reader = JournalReader::open(dir.path()).expect("a journal");
    let page = reader.page(Seq::default(), 100).expect("decisions");
    page.into_iter().map(|entry| entry.event).collect()
}

fn is_ready<T>(pending: &mut Pending<T>) -> bool {
    pending.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready()
}

/// Puts one question into the mailbox.
fn put(mailbox: &Mailbox) {
    let (slot, _) = Slot::new();
    assert!(mailbox.put(Ask::Events(slot)).is_ok(), "it is let in");
}

#[test]
fn what_is_put_in_is_taken_without_another_ring() {
    exhaust(|| {
        let mailbox = Arc::new(Mailbox::new(4, Duration::MAX));
        let askers: Vec<_> = (0..2)
            .map(|_| {
                let mailbox = Arc::clone(&mailbox);
                thread::spawn(move || put(&mailbox))
            })
            .collect();
        let mut taken = 0;
        while taken < 2 {
            taken += mailbox.take(None).0.len();
        }
        askers.into_iter().for_each(|asker| asker.join().expect("no panic"));
    });
}

#[test]
fn what_is_put_in_wakes_who_steps() {
    exhaust(|| {
        let mailbox = Arc::new(Mailbox::new(4, Duration::MAX));
        let askers: Vec<_> = (0..2)
            .map(|_| {
                let mailbox = Arc::clone(&mailbox);
                thread::spawn(move || put(&mailbox))
            })
            .collect();
        let mut taken = 0;
        while taken < 2 {
            block_on(mailbox.asked());
            taken += mailbox.take(Some(Duration::ZERO)).0.len();
        }
        askers.into_iter().for_each(|asker| asker.join().expect("no panic"));
    });
}

#[test]
fn whoever_waits_learns_that_the_mailbox_closes() {
    exhaust(|| {
        let mailbox = Arc::new(Mailbox::new(4, Duration::MAX));
        let closing = {
            let mailbox = Arc::clone(&mailbox);
            thread::spawn(move || mailbox.close())
        };
        block_on(mailbox.asked());
        assert!(mailbox.take(None).0.is_empty());
        closing.join().expect("no panic");
    });
}

/// How an engine ends while it is asked.
#[derive(Clone, Copy)]
enum End {
    Closed,
    Failed,
    Killed(KillPoint),
}

impl End {
    fn options(self) -> Options {
        let faults = match self {
            Self::Closed | Self::Failed => Faults::default(),
            Self::Killed(at) => {
                Faults::new(move |point, _| if point == at { Fate::Die } else { Fate::GoOn })
            }
        };
        Options { faults, ..options() }
    }

    fn begin(self, engine: &Embedded) {
        match self {
            Self::Closed => engine.shared.mailbox.close(),
            Self::Failed => engine.shared.fail("the test says so".into()),
            Self::Killed(_) => {}
        }
    }
}

/// Two ask for a decision and a question each while the engine ends.
fn everybody_is_answered(end: End) {
    let (dir, engine) = opened(end.options());
    let engine = Arc::new(engine);
    let stopped = engine.stopped();
    let askers: Vec<_> = (0..2)
        .map(|n| {
            let engine = Arc::clone(&engine);
            thread::spawn(move || {
                let decision = create(&engine, n);
                let question = engine.events();
                // The last one closes it.
                drop(engine);
                (block_on(decision), block_on(question))
            })
        })
        .collect();
    let ending = thread::spawn(move || end.begin(&engine));
    let answers: Vec<_> = askers.into_iter().map(|asker| asker.join().expect("no panic")).collect();
    ending.join().expect("no panic");
    block_on(stopped);
    let journalled = journalled(&dir);
    for (n, (decision, question)) in answers.into_iter().enumerate() {
        let is_durable = journalled.contains(&event(n));
        match (decision, end) {
            (Ok(_), _) => assert!(is_durable, "who was told of a decision finds it"),
            (Err(Failure::Stopped), End::Closed) => assert!(!is_durable, "it was not let in"),
            (Err(Failure::Stopped), End::Failed | End::Killed(_)) => {}
            (Err(other), _) => panic!("nobody is told {other:?}"),
        }
        match question {
            Ok(seen) => assert!(seen.value.iter().all(|event| journalled.contains(event))),
            Err(failure) => assert_eq!(failure, Failure::Stopped),
        }
    }
}

#[test]
fn everybody_is_answered_when_the_engine_closes() {
    explore(|| everybody_is_answered(End::Closed));
}

#[test]
fn everybody_is_answered_when_the_engine_fails() {
    explore(|| everybody_is_answered(End::Failed));
}

#[test]
fn everybody_is_answered_when_the_engine_dies_within_a_commit() {
    explore(|| everybody_is_answered(End::Killed(KillPoint::BeforeCommit)));
}

#[test]
fn everybody_is_answered_when_the_engine_dies_after_a_commit() {
    explore(|| everybody_is_answered(End::Killed(KillPoint::AfterCommit)));
}

#[test]
fn answers_come_after_their_commit_and_in_their_order() {
    explore(|| {
        let (_dir, engine) = opened(options());
        let engine = Arc::new(engine);
        let other = {
            let engine = Arc::clone(&engine);
            thread::spawn(move || block_on(create(&engine, 9)).expect("it is created"))
        };
        let mut decision = create(&engine, 0);
        let seen = block_on(engine.events()).expect("events").value;
        assert!(seen.contains(&event(0)), "what is asked in turn is done in turn");
        assert!(engine.committed() >= Seq(seen.len() as u64), "what is seen is committed");
        assert!(is_ready(&mut decision), "who asked before is answered before");
        other.join().expect("no panic");
    });
}

#[test]
fn looks_see_what_is_durable_and_what_was_asked_before() {
    explore(|| {
        let (dir, engine) = opened(options());
        let (dir, engine) = (Arc::new(dir), Arc::new(engine));
        let onlooker = {
            let (dir, engine) = (Arc::clone(&dir), Arc::clone(&engine));
            thread::spawn(move || {
                let is_seen = block_on(look(&engine)).is_ok();
                assert!(
                    !is_seen || journalled(&dir).contains(&event(0)),
                    "what is seen is durable"
                );
            })
        };
        let mut decision = create(&engine, 0);
        block_on(look(&engine)).expect("what is asked in turn is done in turn");
        assert!(is_ready(&mut decision), "who asked before is answered before");
        onlooker.join().expect("no panic");
    });
}

#[test]
fn nobody_looks_once_the_engine_has_failed() {
    explore(|| {
        let (_dir, engine) = opened(options());
        let engine = Arc::new(engine);
        block_on(create(&engine, 0)).expect("it is created");
        let failing = {
            let engine = Arc::clone(&engine);
            thread::spawn(move || engine.shared.fail("the test says so".into()))
        };
        match block_on(look(&engine)) {
            Ok(_) | Err(Failure::Stopped) => {}
            Err(other) => panic!("nobody is told {other:?}"),
        }
        failing.join().expect("no panic");
        assert!(matches!(block_on(look(&engine)), Err(Failure::Stopped)));
    });
}

#[test]
fn full_mailbox_refuses_and_recovers() {
    explore(|| {
        let (_dir, engine) = opened(Options { mailbox_capacity: 1, ..options() });
        let engine = Arc::new(engine);
        let askers: Vec<_> = (0..3)
            .map(|_| {
                let engine = Arc::clone(&engine);
                thread::spawn(move || match block_on(engine.events()) {
                    Ok(_) => true,
                    Err(Failure::Busy { .. }) => false,
                    Err(other) => panic!("nobody is told {other:?}"),
                })
            })
            .collect();
        let answers = askers.into_iter().map(|asker| asker.join().expect("no panic"));
        let served = answers.filter(|was_served| *was_served).count();
        assert!(served > 0, "an empty mailbox takes something");
        assert_eq!(engine.waiting(), Duration::ZERO, "nobody waits any more");
        block_on(create(&engine, 0)).expect("there is room again");
        assert_eq!(engine.waiting(), Duration::ZERO, "nobody waits any more");
    });
}

/// Reads `count` decisions after `after`, each once and in order.
fn read(feed: &mut dyn Feed, after: u64, count: u64) {
    let mut last = after;
    while last < after + count {
        let page = block_on(feed.next()).expect("a page").expect("the engine runs");
        for entry in page {
            assert_eq!(entry.seq, Seq(last + 1), "each decision once and in order");
            last += 1;
        }
    }
}

#[test]
fn readers_of_the_feed_see_every_decision_once_and_are_woken() {
    // One entry in memory: who lags reads the file.
    explore(|| readers(1));
}

#[test]
fn readers_of_the_feed_are_woken_with_everything_in_memory() {
    explore(|| readers(100));
}

#[test]
fn answer_to_a_question_takes_no_wake_up_from_a_reader() {
    explore(|| {
        let (_dir, engine) = opened(options());
        let mut feed = engine.subscribe(Seq::default());
        let reader = thread::spawn(move || read(&mut *feed, 0, 1));
        let decision = create(&engine, 0);
        let question = engine.events();
        block_on(question).expect("events");
        reader.join().expect("no panic");
        block_on(decision).expect("it is created");
    });
}

fn readers(tail_capacity: usize) {
    let (_dir, engine) = opened(Options { tail_capacity, ..options() });
    let engine = Arc::new(engine);
    let early = {
        let mut feed = engine.subscribe(Seq::default());
        thread::spawn(move || {
            read(&mut *feed, 0, 2);
            feed
        })
    };
    let asker = {
        let engine = Arc::clone(&engine);
        thread::spawn(move || {
            let decision = create(&engine, 0);
            block_on(engine.events()).expect("events");
            block_on(decision).expect("it is created");
        })
    };
    block_on(create(&engine, 1)).expect("it is created");
    // One that begins in the middle, and one that stops at once.
    read(&mut *engine.subscribe(Seq(1)), 1, 1);
    drop(engine.subscribe(Seq::default()));
    asker.join().expect("no panic");
    let mut feed = early.join().expect("no panic");
    drop(engine);
    assert_eq!(block_on(feed.next()).expect("no fault").map(|page| page.len()), None);
}

/// What SQLite's log begins with says how often it has begun anew.
fn beginnings(dir: &TempDir) -> u32 {
    let log = std::fs::read(dir.path().join("engine.db-wal")).expect("a log");
    u32::from_be_bytes([12, 13, 14, 15].map(|at: usize| log[at]))
}

#[test]
fn log_of_an_engine_that_has_nothing_to_decide_begins_anew() {
    explore(|| {
        let dir = directory();
        let blind = |_: &std::path::Path| Ok(Watch::blind(0));
        let clock = ManualClock::new(Time(1_000_000));
        let options = Options { clock: Clock::Manual(clock.clone()), ..options() };
        let still = Still::open(dir.path(), options, blind, true).expect("it opens");
        let Still { engine: _engine, executor: _executor, mut journal } = still;
        let path = database::path_in(dir.path());
        let started = database::start_checkpointer(&path, 4, &mut journal.connection);
        let (checkpointer, pages) = started.expect("a thread");
        journal.checkpointer = Some(checkpointer);
        journal.note_alive().expect("it is written");
        let before = beginnings(&dir);
        let begins_anew = (0..50_000).any(|_| {
            // SQLite writes nothing where all is as it was.
            clock.advance_ms(10_000);
            journal.note_alive().expect("it is written");
            beginnings(&dir) != before
        });
        assert!(begins_anew);
        drop(journal);
        pages.join().expect("no panic");
    });
}

#[test]
fn a_pause_is_lived_through_once_what_makes_up_for_it_is_durable() {
    const BEGIN: Time = Time(1_000_000);
    const HOUR_MS: i64 = 3_600_000;
    explore(|| {
        let (clocks, steady) = ManualClocks::new(BEGIN);
        let dir = directory();
        let blind = |_: &std::path::Path| Ok(Watch::blind(0));
        let options = Options { clock: Clock::Steady(steady), ..options() };
        let still = Still::open(dir.path(), options, blind, true).expect("it opens");
        let Still { engine, mut executor, journal } = still;
        let mut written = Written::new(None);
        let alive = || {
            journal.note_alive().expect("it is written");
            let reader = JournalReader::open_own(dir.path()).expect("a journal");
            reader.alive().expect("it is read")
        };
        let created = create(&engine, 0);
        let (asks, _) = engine.shared.mailbox.take(Some(Duration::ZERO));
        assert!(executor.decide(asks));
        assert!(journal.step(&mut written));
        block_on(created).expect("it is created");
        clocks.stand_still_ms(HOUR_MS);
        assert!(executor.decide(Vec::new()), "deadlines move on");
        assert_eq!(alive(), Some(BEGIN), "if the process ends now, nobody has made up for it");
        assert!(journal.step(&mut written));
        assert_eq!(alive(), Some(BEGIN.plus_ms(HOUR_MS)));
    });
}

/// A log on a full disk.
struct Full;

impl Subscriber for Full {
    /// Shuttle's own lines go elsewhere.
    fn enabled(&self, line: &Metadata<'_>) -> bool {
        line.target().starts_with("onrush")
    }
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, _: &Event<'_>) {
        panic!("no space is left for a line");
    }
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

#[test]
fn engine_that_cannot_log_why_it_stops_stops_all_the_same() {
    explore(|| {
        let dir = directory();
        let blind = |_: &std::path::Path| Ok(Watch::blind(0));
        let engine = Still::open(dir.path(), options(), blind, true).expect("it opens").engine;
        let asked = engine.events();
        let fail = || engine.shared.fail("the disk is full".into());
        let said = catch_unwind(AssertUnwindSafe(|| tracing::subscriber::with_default(Full, fail)));
        assert!(said.is_err(), "the line could be written");
        assert_eq!(engine.failure().as_deref(), Some("the disk is full"));
        for pending in [asked, engine.events()] {
            assert!(matches!(block_on(pending), Err(Failure::Stopped)));
        }
    });
}
