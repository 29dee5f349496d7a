//! From the streams into the archive, and out of it.

use crate::stage::{
    MemoryArchive, OF_TOMORROW, PATIENCE, confirm_command, done, flash_sale, hold, id, open,
    options, rewrite_last, until,
};
use onrush_core::change::{BookingChange, HoldChange, SaleChange};
use onrush_core::hold::OnDecline;
use onrush_core::ids::EventId;
use onrush_core::lines::{Lines, PoolLine};
use onrush_core::question::BookingOf;
use onrush_core::spec::PoolSpec;
use onrush_core::types::AskedTypes;
use onrush_core::{Change, Command, Phase, Refusal, Reply};
use onrush_store::redis::{Archive, Options, RedisEngine};
use onrush_store::{Ask, Engine, Failure, FeedEntry, Seq};
use onrush_testkit::{Redis, need};
use std::sync::Arc;
use tokio::time::timeout;

/// Reads the feed until the event has been confirmed `confirmations` times.
async fn read_feed(engine: &RedisEngine, confirmations: usize) -> Vec<Arc<FeedEntry>> {
    let mut feed = engine.subscribe(Seq::default());
    let mut read = Vec::new();
    let is_confirmed =
        |change: &Change| matches!(change, Change::Booking(BookingChange::HoldConfirmed { .. }));
    let all = async {
        while read
            .iter()
            .flat_map(|entry: &Arc<FeedEntry>| &entry.changes)
            .filter(|change| is_confirmed(change))
            .count()
            < confirmations
        {
            let page = feed.next().await.expect("the archive").expect("the engine runs");
            read.extend(page);
        }
    };
    timeout(PATIENCE, all).await.expect("what was confirmed is in the feed");
    read
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_feed_has_each_events_decisions_in_order_and_none_twice() {
    const BOOKINGS: usize = 40;
    let Some(redis) = need(Redis::start()) else { return };
    let archive = MemoryArchive::new();
    // Two nodes run the same events at the same time.
    let nodes =
        [open(&redis, archive.other_node()).await, open(&redis, archive.other_node()).await];
    let events = [flash_sale(&nodes[0], 1_000).await, flash_sale(&nodes[1], 1_000).await];
    let mut asked = Vec::new();
    for (n, event) in (0..BOOKINGS).flat_map(|n| events.iter().map(move |event| (n, event))) {
        let (node, user, booking) = (&nodes[n % 2], format!("u{n}"), format!("b{n}"));
        asked.push(async move {
            hold(node, event, &user, &booking).await.expect("units are free");
            let confirm = confirm_command(&user, &booking);
            node.execute(event.clone(), confirm).await.expect("nothing is to be paid");
        });
    }
    futures_util::future::join_all(asked).await;
    let read = read_feed(&nodes[0], BOOKINGS * events.len()).await;
    assert!(read.is_sorted_by(|a, b| a.seq < b.seq), "numbers rise");
    for event in &events {
        let archived = archive.of_event(event);
        let numbers: Vec<_> = archived.iter().map(|entry| entry.seq.0).collect();
        let expected: Vec<_> = (1..=numbers.len() as u64).collect();
        assert_eq!(numbers, expected, "no decision is left out or comes twice");
        let of_event = read.iter().filter(|entry| entry.event == *event);
        let in_feed: Vec<_> = of_event.map(|entry| &entry.changes).collect();
        assert_eq!(in_feed, archived.iter().map(|entry| &entry.changes).collect::<Vec<_>>());
    }
    for node in nodes {
        node.close().await;
    }
}

#[tokio::test]
async fn a_confirmation_is_archived_before_it_is_answered() {
    let Some(redis) = need(Redis::start()) else { return };
    let archive = MemoryArchive::new();
    let engine = open(&redis, archive.other_node()).await;
    let event = flash_sale(&engine, 10).await;
    hold(&engine, &event, "ada", "b1").await.expect("units are free");
    engine.execute(event.clone(), confirm_command("ada", "b1")).await.expect("it is confirmed");
    let confirmed = |entry: &FeedEntry| {
        entry
            .changes
            .iter()
            .any(|change| matches!(change, Change::Booking(BookingChange::HoldConfirmed { .. })))
    };
    assert!(archive.of_event(&event).iter().any(confirmed));
}

/// A node that does not wait for the archive for long, and a sale that one with patience has made, with a
/// unit of `vip` that is not free of charge.
async fn impatient(redis: &Redis, archive: &MemoryArchive) -> (RedisEngine, EventId) {
    let patient = open(redis, archive.other_node()).await;
    let event = flash_sale(&patient, 10).await;
    let spec = PoolSpec { pool: id("vip"), capacity: 1, price_minor: 2_500 };
    done(&patient, &event, Command::AddPool { spec }).await;
    patient.close().await;
    let usual = options(redis, archive.other_node());
    let engine = RedisEngine::open(Options { archive_timeout_ms: 300, ..usual }).await;
    (engine.expect("the engine begins"), event)
}

/// Asks such a node again as long as the archive takes its time.
async fn told(engine: &RedisEngine, event: &EventId, command: &Command) -> Result<Reply, Failure> {
    until("an answer", || async {
        match engine.execute(event.clone(), command.clone()).await {
            Err(Failure::Unreachable) => None,
            answer => Some(answer.map(|answer| answer.value)),
        }
    })
    .await
}

#[tokio::test]
async fn a_confirmation_that_cannot_be_archived_is_not_answered() {
    let Some(redis) = need(Redis::start()) else { return };
    let archive = MemoryArchive::new();
    let (engine, event) = impatient(&redis, &archive).await;
    hold(&engine, &event, "ada", "b1").await.expect("units are free");
    archive.set_away(true);
    let confirm = confirm_command("ada", "b1");
    let answer = engine.execute(event.clone(), confirm.clone()).await;
    assert_eq!(answer.map(|answer| answer.value), Err(Failure::Unreachable));
    archive.set_away(false);
    // The same again: it was decided, and is archived by now or soon.
    told(&engine, &event, &confirm).await.expect("it is confirmed");
}

/// What an organiser asks for is so at once, whether or not anybody can say that it stays so.
#[tokio::test]
async fn a_pause_that_cannot_be_archived_pauses_and_is_not_answered() {
    let Some(redis) = need(Redis::start()) else { return };
    let archive = MemoryArchive::new();
    let (engine, event) = impatient(&redis, &archive).await;
    hold(&engine, &event, "ada", "b1").await.expect("units are free");
    archive.set_away(true);
    let answer = engine.execute(event.clone(), Command::Pause).await;
    assert_eq!(answer.map(|answer| answer.value), Err(Failure::Unreachable));
    let is_paused = Refusal::EventNotOpen { phase: Phase::Paused };
    assert_eq!(hold(&engine, &event, "bob", "b2").await, Err(Failure::Refused(is_paused)));
    archive.set_away(false);
    let again = told(&engine, &event, &Command::Pause).await;
    let is_known = matches!(again, Err(Failure::Refused(Refusal::AlreadyInPhase { .. })));
    assert!(is_known, "it was paused before: {again:?}");
    let paused = |entry: &FeedEntry| {
        entry.changes.iter().any(|change| matches!(change, Change::Sale(SaleChange::SalePaused)))
    };
    assert!(archive.of_event(&event).iter().any(paused));
}

/// Whoever asks one node how far the feed has to be read for an event is told of what another decided
/// just now, although nobody waited for that to be archived.
#[tokio::test]
async fn what_another_node_decided_is_in_the_feed_once_the_event_is_settled() {
    let Some(redis) = need(Redis::start()) else { return };
    let archive = MemoryArchive::new();
    let nodes =
        [open(&redis, archive.other_node()).await, open(&redis, archive.other_node()).await];
    let event = flash_sale(&nodes[0], 100).await;
    for n in 0..20 {
        hold(&nodes[n % 2], &event, "ada", &format!("b{n}")).await.expect("units are free");
        let settled =
            nodes[(n + 1) % 2].settled(event.clone()).await.expect("it is archived").value;
        let archived = archive.read(Seq::default(), usize::MAX).await.expect("it can be read");
        let last = archived.iter().rfind(|archived| archived.entry.event == event);
        let last = last.expect("the event is there");
        assert_eq!(last.number, settled);
        let booking = format!("b{n}");
        let places = |change: &Change| match change {
            Change::Hold(HoldChange::HoldPlaced { terms, .. }) => terms.booking.as_str() == booking,
            _ => false,
        };
        assert!(last.entry.changes.iter().any(places), "{booking}: {:?}", last.entry.changes);
    }
    let unknown = nodes[0].settled("made-up".parse().expect("an id")).await;
    assert_eq!(unknown.map(|told| told.value), Err(Failure::Refused(Refusal::EventNotFound)));
    for node in nodes {
        node.close().await;
    }
}

/// What a failover of the archive loses is in the stream yet: it must not cost a confirmation.
#[tokio::test]
async fn an_archive_that_lost_its_end_is_given_it_again() {
    let Some(redis) = need(Redis::start()) else { return };
    let archive = MemoryArchive::new();
    let engine = open(&redis, archive.other_node()).await;
    let event = flash_sale(&engine, 10).await;
    for booking in ["b1", "b2"] {
        hold(&engine, &event, "ada", booking).await.expect("units are free");
        let confirm = confirm_command("ada", booking);
        engine.execute(event.clone(), confirm).await.expect("it is confirmed");
    }
    let before = archive.of_event(&event);
    archive.forget_last(3);
    hold(&engine, &event, "ada", "b3").await.expect("units are free");
    let confirm = confirm_command("ada", "b3");
    engine.execute(event.clone(), confirm).await.expect("it is confirmed");
    let after = archive.of_event(&event);
    assert_eq!(after[..before.len()], before, "what was lost is archived again");
    let head = archive.head(event.clone()).await.expect("it is there");
    assert_eq!((head.seq, head.epoch), (after[after.len() - 1].seq, 0), "nothing was rebuilt");
}

/// So it is if nothing at all is left of the event there.
#[tokio::test]
async fn an_archive_that_lost_an_event_is_given_all_of_it_again() {
    let Some(redis) = need(Redis::start()) else { return };
    let archive = MemoryArchive::new();
    let engine = open(&redis, archive.other_node()).await;
    let event = flash_sale(&engine, 10).await;
    hold(&engine, &event, "ada", "b1").await.expect("units are free");
    engine.execute(event.clone(), confirm_command("ada", "b1")).await.expect("it is confirmed");
    let before = archive.of_event(&event);
    drop(archive.forget_all());
    hold(&engine, &event, "bob", "b2").await.expect("units are free");
    engine.execute(event.clone(), confirm_command("bob", "b2")).await.expect("it is confirmed");
    let after = archive.of_event(&event);
    assert_eq!(after[..before.len()], before, "what was lost is archived again");
    assert_none_is_missing(&archive, &event);
    let head = archive.head(event.clone()).await.expect("it is there");
    assert_eq!((head.seq, head.epoch), (Seq(7), 0), "nothing was rebuilt");
    engine.close().await;
}

/// An event that was rebuilt, with one decision since, and an archive that lost both and the epoch.
async fn of_a_lost_epoch(redis: &Redis, archive: &MemoryArchive) -> (RedisEngine, EventId) {
    let engine = open(redis, archive.other_node()).await;
    let event = flash_sale(&engine, 10).await;
    engine.settled(event.clone()).await.expect("it is archived");
    redis.command(&["FLUSHALL"]).expect("Redis answers");
    until("the rebuilt event", || async { hold(&engine, &event, "ada", "b1").await.ok() }).await;
    engine.settled(event.clone()).await.expect("it is archived");
    let head = archive.head(event.clone()).await.expect("it is there");
    assert_eq!((head.epoch, head.seq), (1, Seq(4)));
    archive.forget_epoch(1);
    (engine, event)
}

fn assert_none_is_missing(archive: &MemoryArchive, event: &EventId) {
    let numbers: Vec<_> = archive.of_event(event).iter().map(|entry| entry.seq.0).collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
}

#[tokio::test]
async fn an_archive_that_lost_an_epoch_with_its_end_is_given_both_again() {
    let Some(redis) = need(Redis::start()) else { return };
    let archive = MemoryArchive::new();
    let (engine, event) = of_a_lost_epoch(&redis, &archive).await;
    hold(&engine, &event, "bob", "b2").await.expect("units are free");
    engine.execute(event.clone(), confirm_command("bob", "b2")).await.expect("it is confirmed");
    assert_none_is_missing(&archive, &event);
    let head = archive.head(event.clone()).await.expect("it is there");
    assert_eq!((head.epoch, head.seq), (1, Seq(6)), "nothing was rebuilt");
    engine.close().await;
}

/// Then the event goes on from what is archived, in an epoch that nobody has decided in.
#[tokio::test]
async fn an_epoch_that_the_archive_lost_and_the_stream_has_not_is_over() {
    let Some(redis) = need(Redis::start()) else { return };
    let archive = MemoryArchive::new();
    let (engine, event) = of_a_lost_epoch(&redis, &archive).await;
    let feed = format!("onrush:{{{event}}}:feed");
    assert_eq!(redis.command(&["XDEL", &feed, "4-0"]).expect("Redis answers").trim(), "1");
    hold(&engine, &event, "bob", "b2").await.expect("units are free");
    until("a later epoch", || async {
        let head = archive.head(event.clone()).await.expect("it is there");
        (head.epoch > 1).then_some(())
    })
    .await;
    until("the rebuilt event", || async { hold(&engine, &event, "cat", "b3").await.ok() }).await;
    engine.execute(event.clone(), confirm_command("cat", "b3")).await.expect("it is confirmed");
    assert_none_is_missing(&archive, &event);
    engine.close().await;
}

/// The standby of the archive lacks the epoch and its first decision, and the replica that became the
/// master lacks the last of three.
#[tokio::test]
async fn what_the_stream_has_of_an_epoch_that_the_archive_lost_is_archived_before_a_rebuild() {
    let Some(redis) = need(Redis::start()) else { return };
    let archive = MemoryArchive::new();
    let (engine, event) = of_a_lost_epoch(&redis, &archive).await;
    engine.close().await;
    // Nobody archives beside the rebuilding.
    let lease = archive.other_node().lease(format!("archive:{event}"), 60_000).await;
    assert!(lease.expect("an archive").is_some());
    let engine = open(&redis, archive.other_node()).await;
    hold(&engine, &event, "bob", "b2").await.expect("units are free");
    hold(&engine, &event, "cat", "b3").await.expect("units are free");
    let head = archive.head(event.clone()).await.expect("it is there");
    assert_eq!((head.epoch, head.seq), (0, Seq(3)), "nothing is archived again yet");
    let (meta, feed) = (format!("onrush:{{{event}}}:meta"), format!("onrush:{{{event}}}:feed"));
    assert_eq!(redis.command(&["XDEL", &feed, "6-0"]).expect("Redis answers").trim(), "1");
    redis.command(&["HSET", &meta, "seq", "5"]).expect("Redis answers");

    until("the rebuilt event", || async { hold(&engine, &event, "dan", "b4").await.ok() }).await;
    let known = |booking: &str| BookingOf { booking: id(booking), user: None };
    for kept in ["b1", "b2"] {
        let view = engine.ask(event.clone(), known(kept)).await;
        assert!(view.is_ok(), "{kept} was in the stream: {view:?}");
    }
    let lost = engine.ask(event.clone(), known("b3")).await;
    assert!(matches!(lost, Err(Failure::Refused(_))), "the third was nowhere: {lost:?}");
    let head = archive.head(event.clone()).await.expect("it is there");
    assert_eq!((head.epoch, head.seq), (2, Seq(5)), "it was rebuilt once more");
    engine.close().await;
    assert_none_is_missing(&archive, &event);
}

/// Whoever follows the feed has a turn that a node of a later version could use.
#[tokio::test]
async fn a_feed_that_this_node_does_not_understand_is_not_waited_for() {
    let Some(redis) = need(Redis::start()) else { return };
    let archive = MemoryArchive::new();
    let engine = open(&redis, archive.other_node()).await;
    archive.set_unreadable();
    let mut feed = engine.subscribe(Seq::default());
    let read = timeout(PATIENCE, feed.next()).await.expect("it says so at once");
    let why = read.expect_err("nothing can be read");
    assert!(why.contains("decision 1 is of another kind"), "{why}");
}

/// A node of a later version must not wait for one that cannot read what it wrote.
#[tokio::test]
async fn a_node_leaves_a_stream_that_it_cannot_read_to_others() {
    let Some(redis) = need(Redis::start()) else { return };
    let archive = MemoryArchive::new();
    let engine = open(&redis, archive.other_node()).await;
    let event = flash_sale(&engine, 10).await;
    archive.set_away(true);
    let before = archive.of_event(&event).len();
    for booking in ["b1", "b2"] {
        hold(&engine, &event, "ada", booking).await.expect("units are free");
    }
    rewrite_last(&redis, &event, OF_TOMORROW);
    // Whoever was about to append may have read the stream before; who comes after them has not.
    let turned_away = archive.turned_away();
    until("an attempt", || async { (archive.turned_away() > turned_away + 1).then_some(()) }).await;
    archive.set_away(false);
    let lease = format!("archive:{event}");
    let later = archive.other_node();
    until("the lease", || async {
        let readable_is_archived = archive.of_event(&event).len() > before;
        let lease = later.lease(lease.clone(), 60_000);
        if readable_is_archived { lease.await.expect("an archive") } else { None }
    })
    .await;
    // Closed in order it would wait for what it cannot archive.
    drop(engine);
}

/// While nodes are updated one after the other, one of this version archives what a later one decided.
#[tokio::test]
async fn what_a_later_version_says_besides_is_archived_to_the_letter() {
    let Some(redis) = need(Redis::start()) else { return };
    let archive = MemoryArchive::new();
    let engine = open(&redis, archive.other_node()).await;
    let event = flash_sale(&engine, 10).await;
    engine.settled(event.clone()).await.expect("it is archived");
    archive.set_away(true);
    hold(&engine, &event, "ada", "b1").await.expect("units are free");
    let was = rewrite_last(&redis, &event, "[]");
    let text = was.replacen("\":{", "\":{\"of_tomorrow\": [1, \"\\u0061\"], ", 1);
    assert_ne!(text, was);
    rewrite_last(&redis, &event, &text);
    // Whoever was about to append may have read the stream before; who comes after them has not.
    let turned_away = archive.turned_away();
    until("an attempt", || async { (archive.turned_away() > turned_away + 1).then_some(()) }).await;
    archive.set_away(false);
    engine.settled(event.clone()).await.expect("it is archived");
    let archived = archive.of_event(&event);
    let held = archived.last().expect("it is there");
    let places = |change: &Change| matches!(change, Change::Hold(HoldChange::HoldPlaced { .. }));
    assert!(held.changes.iter().any(places), "this version has understood it: {held:?}");
    assert_eq!(archive.text_of(&event, held.seq), Some(text));
    engine.close().await;
}

/// The ledger goes on once it is told that a payment has ended: what it has passed must not be lost.
#[tokio::test]
async fn the_end_of_a_payment_is_archived_before_it_is_answered() {
    let Some(redis) = need(Redis::start()) else { return };
    let archive = MemoryArchive::new();
    let (engine, event) = impatient(&redis, &archive).await;
    let line = PoolLine { pool: id("vip"), quantity: 1 };
    let lines = Lines::new(vec![line], Vec::new()).expect("lines");
    let execute = |command: Command| engine.execute(event.clone(), command);
    let (booking, user) = (|| id("b1"), || id("ada"));
    execute(Command::Hold {
        booking: booking(),
        user: user(),
        lines,
        channels: Vec::new(),
        types: AskedTypes::default(),
    })
    .await
    .expect("it is free");
    let payment = || id("b1.p1");
    let begin = Command::BeginPayment { booking: booking(), user: user(), payment: payment() };
    told(&engine, &event, &begin).await.expect("it is held");

    archive.set_away(true);
    let (why, then) = ("declined".into(), OnDecline::Keep);
    let fail = Command::FailPayment { booking: booking(), payment: payment(), why, then };
    let answer = execute(fail.clone()).await.map(|answer| answer.value);
    assert_eq!(answer, Err(Failure::Unreachable));
    // Nor is it told that this was known before: that is the same promise.
    let answer = execute(fail.clone()).await.map(|answer| answer.value);
    assert_eq!(answer, Err(Failure::Unreachable));
    archive.set_away(false);
    let again = told(&engine, &event, &fail).await;
    assert_eq!(again, Err(Failure::Refused(Refusal::PaymentMismatch)), "it ended before");
    let failed = |entry: &FeedEntry| {
        entry
            .changes
            .iter()
            .any(|change| matches!(change, Change::Booking(BookingChange::PaymentFailed { .. })))
    };
    assert!(archive.of_event(&event).iter().any(failed));
}

#[tokio::test]
async fn another_node_archives_once_the_lease_has_ended() {
    const LEASE_MS: u32 = 700;
    let Some(redis) = need(Redis::start()) else { return };
    let archive = MemoryArchive::new();
    let engine = open(&redis, archive.other_node()).await;
    let event = flash_sale(&engine, 10).await;
    engine.close().await;
    // A node took the lease and died.
    let dead = archive.other_node();
    let lease = format!("archive:{event}");
    assert!(dead.lease(lease.clone(), LEASE_MS).await.expect("an archive").is_some());
    let before = archive.of_event(&event).len();
    let engine = open(&redis, archive.other_node()).await;
    hold(&engine, &event, "ada", "b1").await.expect("units are free");
    until("the hold in the archive", || async {
        (archive.of_event(&event).len() > before).then_some(())
    })
    .await;
    let taken = dead.lease(lease, LEASE_MS).await.expect("an archive");
    assert_eq!(taken, None, "the living node has the lease now");
    engine.close().await;
}

/// The node that decided something died before anybody archived it, and nobody has had to do with
/// the event since.
#[tokio::test]
async fn decisions_of_a_node_that_died_are_archived_by_another() {
    let Some(redis) = need(Redis::start()) else { return };
    let archive = MemoryArchive::new();
    let lost = MemoryArchive::new();
    let mut dying = open(&redis, archive.other_node()).await;
    let event = flash_sale(&dying, 10).await;
    let before = until("the event in the archive", || async {
        let entries = archive.of_event(&event).len();
        (entries == 3).then_some(entries)
    })
    .await;
    drop(dying);
    // What this one archives is seen by nobody.
    dying = open(&redis, lost).await;
    hold(&dying, &event, "ada", "b1").await.expect("units are free");
    drop(dying);
    assert_eq!(archive.of_event(&event).len(), before);
    let living = open(&redis, archive.other_node()).await;
    until("the hold in the archive", || async {
        (archive.of_event(&event).len() > before).then_some(())
    })
    .await;
    living.close().await;
}
