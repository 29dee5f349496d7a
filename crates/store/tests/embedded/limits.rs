//! What happens when there is too much, too little space, or a disk that fails.

use crate::sale::{
    Sale, availability, booking, hold, id, open_flash_sale, pool_spec, release, run, units,
};
use onrush_core::hold::HoldState;
use onrush_core::question::{AvailabilityNow, EventNow};
use onrush_core::{Command, Refusal};
use onrush_store::embedded::{Embedded, Fate, Faults, KillPoint, Options};
use onrush_store::{Ask, Engine, Failure, Seq};
use std::fs;
use std::sync::{Mutex, mpsc};
use std::time::Duration;

#[tokio::test]
async fn full_mailbox_says_busy_and_lets_releases_through() {
    let sale = Sale::new();
    let engine = sale.opened().await;
    hold(&engine, "b1", units(2)).await.expect("held");
    engine.close();

    let options = Options { mailbox_capacity: 0, ..sale.options() };
    let engine = Embedded::open(sale.path(), options).expect("opened");
    let busy = hold(&engine, "b2", units(1)).await.expect_err("refused");
    assert!(matches!(busy, Failure::Busy { retry_after_ms: 1.. }), "{busy}");
    let busy = engine.events().await.expect_err("refused");
    assert!(matches!(busy, Failure::Busy { .. }), "{busy}");
    // Nobody waits, so whoever only looks at an event is answered where they ask, once the
    // engine thread has done the turn it starts with.
    loop {
        match engine.ask(crate::sale::event(), EventNow).await {
            Err(Failure::Busy { .. }) => tokio::task::yield_now().await,
            answer => break drop(answer.expect("answered")),
        }
    }
    release(&engine, "b1").await.expect("a release is never refused");
    engine.close();

    let engine = sale.open();
    assert!(matches!(booking(&engine, "b1").await, Ok(HoldState::Released { .. })));
    assert_eq!(booking(&engine, "b2").await, Err(Refusal::ReservationNotFound.into()));
}

#[tokio::test]
async fn new_business_is_sent_away_while_answers_take_too_long() {
    let sale = Sale::new();
    let ((reached, stalled), (go_on, released)) = (mpsc::channel(), mpsc::channel::<()>());
    let ends = Mutex::new((reached, released));
    let faults = Faults::new(move |point, batch| {
        if point == KillPoint::BeforeCommit && batch == 6 {
            let ends = ends.lock().expect("nobody panicked");
            ends.0.send(()).expect("the test waits");
            // An error means that the test is over.
            ends.1.recv().ok();
        }
        Fate::GoOn
    });
    let longest_wait = Duration::from_millis(50);
    let options = Options { faults, longest_wait, ..sale.options() };
    let engine = Embedded::open(sale.path(), options).expect("opened");
    open_flash_sale(&engine).await; // four batches
    hold(&engine, "b1", units(1)).await.expect("held");
    assert_eq!(engine.waiting(), Duration::ZERO);

    let command = |booking| crate::sale::hold_command(booking, units(1));
    let waiting = engine.execute(crate::sale::event(), command("b2"));
    stalled.recv().expect("the disk stalls");
    while engine.waiting() <= longest_wait {
        tokio::task::yield_now().await;
    }
    let busy = hold(&engine, "b3", units(1)).await.expect_err("sent away");
    assert!(matches!(busy, Failure::Busy { retry_after_ms: 1.. }), "{busy}");
    let release = Command::Release { booking: id("b1"), user: id("u-b1") };
    let release = engine.execute(crate::sale::event(), release);

    go_on.send(()).expect("the disk goes on");
    waiting.await.expect("held, because it was let in before");
    release.await.expect("let in however long answers take");
    assert_eq!(engine.waiting(), Duration::ZERO);
    hold(&engine, "b3", units(1)).await.expect("all is as usual");
}

#[tokio::test]
async fn low_disk_stops_new_business_and_nothing_else() {
    let sale = Sale::new();
    let engine = sale.opened().await;
    hold(&engine, "b1", units(2)).await.expect("held");
    hold(&engine, "b2", units(2)).await.expect("held");
    engine.close();

    let options = Options { low_disk_bytes: u64::MAX, ..sale.options() };
    let engine = Embedded::open(sale.path(), options).expect("opened");
    assert_eq!(hold(&engine, "b3", units(1)).await, Err(Failure::DiskLow));
    let pool = Command::AddPool { spec: pool_spec("late", 5) };
    assert_eq!(run(&engine, pool).await, Err(Failure::DiskLow));
    let other = engine.execute(
        "other".parse().expect("an id"),
        Command::CreateEvent { settings: Box::new(crate::sale::flash_settings()) },
    );
    assert_eq!(other.await.map(|answer| answer.value), Err(Failure::DiskLow));

    hold(&engine, "b1", units(2)).await.expect("a replay needs no space");
    let refusal = hold(&engine, "b4", units(1_000)).await.expect_err("refused");
    assert!(matches!(refusal, Failure::Refused(Refusal::InsufficientStock { .. })), "{refusal}");
    release(&engine, "b1").await.expect("released");
    crate::sale::confirm(&engine, "b2").await.expect("confirmed");
    assert_eq!(engine.events().await.expect("an answer").value.len(), 1);
}

#[tokio::test]
async fn failed_commit_stops_the_engine() {
    let sale = Sale::new();
    let faults = Faults::new(|point, batch| {
        if point == KillPoint::BeforeCommit && batch == 6 { Fate::Fail } else { Fate::GoOn }
    });
    let engine = Embedded::open(sale.path(), Options { faults, ..sale.options() }).expect("opened");
    open_flash_sale(&engine).await; // four batches
    hold(&engine, "b1", units(1)).await.expect("held");
    assert_eq!(engine.failure(), None);
    let mut feed = engine.subscribe(engine.committed());

    assert_eq!(hold(&engine, "b2", units(1)).await, Err(Failure::Stopped));
    engine.stopped().await;
    assert!(engine.failure().expect("a failure").contains("disk fails"));
    assert_eq!(hold(&engine, "b3", units(1)).await, Err(Failure::Stopped));
    assert_eq!(release(&engine, "b1").await, Err(Failure::Stopped));
    assert_eq!(booking(&engine, "b1").await, Err(Failure::Stopped));
    assert_eq!(feed.next().await, Ok(None), "nothing uncommitted is in the feed");
    assert_eq!(engine.committed(), Seq(5));
    drop(engine);

    let engine = sale.open();
    assert!(matches!(booking(&engine, "b1").await, Ok(HoldState::Held { .. })));
    assert_eq!(booking(&engine, "b2").await, Err(Refusal::ReservationNotFound.into()));
    assert_eq!(availability(&engine).await.pools[0].units.held, 1);
}

#[tokio::test]
async fn log_stays_short_however_little_a_commit_has_to_say() {
    const PAGES: u64 = 64;
    /// With its header.
    const PAGE_BYTES: u64 = 24 + 4_096;
    let sale = Sale::new();
    let options = Options { move_every_pages: PAGES, ..sale.options() };
    let engine = Embedded::open(sale.path(), options).expect("opened");
    open_flash_sale(&engine).await;
    for n in 0..1_000 {
        let booking = format!("b{n}");
        hold(&engine, &booking, units(1)).await.expect("held");
        release(&engine, &booking).await.expect("released");
    }
    // The file keeps the length of the longest log there was. On a busy machine a round takes its time.
    let bytes = fs::metadata(sale.path().join("engine.db-wal")).expect("a log").len();
    assert!(bytes < 8 * PAGES * PAGE_BYTES, "{bytes} bytes for 2,000 commits");
}

#[tokio::test]
async fn unknown_event_leaves_no_trace() {
    let sale = Sale::new();
    let engine = sale.open();
    let refusal = hold(&engine, "b1", units(1)).await.expect_err("refused");
    assert_eq!(refusal, Refusal::EventNotFound.into());
    assert_eq!(availability_error(&engine).await, Refusal::EventNotFound.into());
    assert!(engine.events().await.expect("an answer").value.is_empty());
    assert_eq!(engine.committed(), Seq(0));
}

async fn availability_error(engine: &Embedded) -> Failure {
    engine.ask(crate::sale::event(), AvailabilityNow).await.expect_err("refused")
}

#[tokio::test]
async fn event_is_created_once() {
    let sale = Sale::new();
    let engine = sale.opened().await;
    let again = Command::CreateEvent { settings: Box::new(crate::sale::flash_settings()) };
    assert_eq!(run(&engine, again).await, Err(Refusal::EventExists.into()));
    let bad = Command::CreateEvent { settings: Box::new(bad_settings()) };
    let refusal = engine.execute("bad".parse().expect("an id"), bad).await.expect_err("refused");
    assert!(matches!(refusal, Failure::Refused(Refusal::InvalidSettings { .. })), "{refusal}");
    let events = engine.events().await.expect("an answer").value;
    assert_eq!(events, [crate::sale::event()]);
}

fn bad_settings() -> onrush_core::settings::Settings {
    onrush_core::settings::Settings { hold_ttl_ms: 0, ..crate::sale::flash_settings() }
}

#[tokio::test]
async fn closed_engine_answers_what_it_let_in() {
    let sale = Sale::new();
    let engine = sale.opened().await;
    let command = |n: usize| crate::sale::hold_command(&format!("b{n}"), units(1));
    let answers: Vec<_> =
        (0..50).map(|n| engine.execute(crate::sale::event(), command(n))).collect();
    engine.close();
    for answer in answers {
        answer.await.expect("accepted before the engine closed");
    }
    let engine = sale.open();
    assert_eq!(availability(&engine).await.pools[0].units.held, 50);
}
