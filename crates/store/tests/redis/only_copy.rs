//! An archive that has nothing of an event any more: what Redis has is the only copy.

use crate::stage::{
    Forgotten, MemoryArchive, confirm_command, flash_sale, free_units, hold, hold_command, id,
    new_event, open, options, settings, until,
};
use onrush_core::hold::HoldStatus;
use onrush_core::ids::EventId;
use onrush_core::question::{BookingOf, EventNow};
use onrush_core::{Command, Refusal};
use onrush_store::redis::{Archive, Options, Probe, RedisEngine};
use onrush_store::{Ask, Engine, Failure, Seq};
use onrush_testkit::{Log, Redis, need};
use tracing::Level;

fn key(event: &EventId, part: &str) -> String {
    format!("onrush:{{{event}}}:{part}")
}

fn ask(redis: &Redis, words: &[&str]) -> String {
    redis.command(words).expect("Redis answers").trim().to_owned()
}

/// An event in which Ada's booking `b1` is confirmed by the fifth decision, and whose stream begins with
/// that, as one does that was trimmed.
async fn with_a_trimmed_stream(redis: &Redis, archive: &MemoryArchive) -> (RedisEngine, EventId) {
    let patient = open(redis, archive.other_node()).await;
    let event = flash_sale(&patient, 10).await;
    patient.close().await;
    let usual = options(redis, archive.other_node());
    let engine = RedisEngine::open(Options { archive_timeout_ms: 300, ..usual }).await;
    let engine = engine.expect("the engine begins");
    hold(&engine, &event, "ada", "b1").await.expect("units are free");
    until("her booking", || async {
        engine.execute(event.clone(), confirm_command("ada", "b1")).await.ok()
    })
    .await;
    assert_eq!(ask(redis, &["XTRIM", &key(&event, "feed"), "MINID", "5-0"]), "4");
    (engine, event)
}

/// The same, of which the archive has nothing.
async fn of_a_lost_archive(
    redis: &Redis,
    archive: &MemoryArchive,
) -> (RedisEngine, EventId, Forgotten) {
    let (engine, event) = with_a_trimmed_stream(redis, archive).await;
    let lost = archive.forget_all();
    (engine, event, lost)
}

async fn assert_hers(engine: &RedisEngine, event: &EventId) {
    let question = BookingOf { booking: id("b1"), user: Some(id("ada")) };
    let view = engine.ask(event.clone(), question).await.expect("it is there").value;
    assert_eq!(view.state.status(), HoldStatus::Confirmed);
}

async fn head(archive: &MemoryArchive, event: &EventId) -> (u64, Seq) {
    let head = archive.head(event.clone()).await.expect("it answers");
    (head.epoch, head.seq)
}

#[tokio::test]
async fn an_event_that_the_archive_has_lost_goes_on_and_tells_nothing_that_has_to_be_archived() {
    let Some(redis) = need(Redis::start()) else { return };
    let (log, _guard) = Log::begin(Level::ERROR);
    let archive = MemoryArchive::new();
    let (engine, event, lost) = of_a_lost_archive(&redis, &archive).await;
    hold(&engine, &event, "bob", "b2").await.expect("units are free");
    let confirm = || engine.execute(event.clone(), confirm_command("bob", "b2"));
    for _ in 0..2 {
        assert_eq!(confirm().await.map(|answer| answer.value), Err(Failure::Unreachable));
    }
    until("a word about it", || async {
        let said = "the archive has nothing of the event any more";
        (log.count(said) > 0 && log.count("decisions are missing in the stream") > 0).then_some(())
    })
    .await;
    hold(&engine, &event, "cat", "b3").await.expect("units are free");
    assert_eq!(free_units(&engine, &event).await, 7);
    assert_hers(&engine, &event).await;
    assert_eq!(head(&archive, &event).await, (0, Seq(0)), "no epoch has begun");

    archive.restore(lost);
    until("Bob's booking", || async { confirm().await.ok() }).await;
    let numbers: Vec<_> = archive.of_event(&event).iter().map(|entry| entry.seq.0).collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>(), "none is missing");
    assert_eq!(head(&archive, &event).await.0, 0, "nothing was rebuilt");
    engine.close().await;
}

/// The node knows of a decision that Redis has lost, and nothing could be rebuilt.
#[tokio::test]
async fn an_event_behind_what_a_node_knows_stays_as_it_is_while_the_archive_has_nothing_of_it() {
    let Some(redis) = need(Redis::start()) else { return };
    let archive = MemoryArchive::new();
    let (engine, event, lost) = of_a_lost_archive(&redis, &archive).await;
    hold(&engine, &event, "bob", "b2").await.expect("units are free");
    let (meta, feed) = (key(&event, "meta"), key(&event, "feed"));
    assert_eq!(ask(&redis, &["XDEL", &feed, "6-0"]), "1");
    ask(&redis, &["HSET", &meta, "seq", "5"]);
    let asked = hold(&engine, &event, "cat", "b3").await;
    assert!(matches!(asked, Err(Failure::Rebuilding { .. })), "{asked:?}");
    let lease = format!("rebuild:{event}");
    until("a second attempt", || async { (archive.terms(&lease) > 1).then_some(()) }).await;
    let fields = ask(&redis, &["HMGET", &meta, "epoch", "seq", "phase"]);
    assert_eq!(fields, "0\n5\nopen", "all nodes that know no more go on");

    archive.restore(lost);
    until("the rebuilt event", || async { hold(&engine, &event, "cat", "b3").await.ok() }).await;
    assert_hers(&engine, &event).await;
    assert_eq!(ask(&redis, &["HEXISTS", &meta, "was_there"]), "0", "nothing is left of it");
    engine.close().await;
}

/// It was shut when the archive still had it, and is not taken for one that never was.
#[tokio::test]
async fn an_event_that_was_shut_before_the_archive_lost_it_is_not_forgotten() {
    let Some(redis) = need(Redis::start()) else { return };
    let archive = MemoryArchive::new();
    let (engine, event) = with_a_trimmed_stream(&redis, &archive).await;
    // It cannot be replayed for now, and so it stays shut.
    archive.file(&event);
    let meta = key(&event, "meta");
    ask(&redis, &["HSET", &meta, "seq", "4"]);
    let asked = hold(&engine, &event, "bob", "b2").await;
    assert!(matches!(asked, Err(Failure::Rebuilding { .. })), "{asked:?}");
    until("the shut event", || async {
        (ask(&redis, &["HGET", &meta, "epoch"]) == "-1").then_some(())
    })
    .await;
    let lost = archive.forget_all();
    let lease = format!("rebuild:{event}");
    let before = archive.terms(&lease);
    until("a whole attempt", || async { (archive.terms(&lease) > before + 1).then_some(()) }).await;
    let asked = hold(&engine, &event, "bob", "b2").await;
    assert!(matches!(asked, Err(Failure::Rebuilding { .. })), "{asked:?}");

    archive.restore(lost);
    until("the rebuilt event", || async { hold(&engine, &event, "bob", "b2").await.ok() }).await;
    assert_hers(&engine, &event).await;
    engine.close().await;
}

#[tokio::test]
async fn an_event_that_was_lost_before_anything_of_it_was_archived_has_never_been() {
    let Some(redis) = need(Redis::start()) else { return };
    let archive = MemoryArchive::new();
    let event = new_event();
    // Nobody archives.
    let lease = archive.other_node().lease(format!("archive:{event}"), 60_000).await;
    assert!(lease.expect("an archive").is_some());
    let engine = open(&redis, archive.other_node()).await;
    let create = || Command::CreateEvent { settings: Box::new(settings()) };
    // A node asked for it that died, and this one heard of it.
    let mut dead = Probe::open(&[redis.url()], false).await.expect("Redis answers");
    dead.look_at(event.clone());
    dead.run(&create(), "a request").await.expect("an answer").expect("it is created");
    engine.ask(event.clone(), EventNow).await.expect("it is there");
    ask(&redis, &["FLUSHALL"]);
    // Also whoever asks while the attempt ends is told that it is being rebuilt.
    let answer = async |command: Command| {
        until("an answer", || async {
            match engine.execute(event.clone(), command.clone()).await {
                Err(Failure::Rebuilding { .. }) => None,
                other => Some(other.map(|answer| answer.value)),
            }
        })
        .await
    };
    let asked = answer(hold_command("ada", "b1")).await;
    assert_eq!(asked, Err(Failure::Refused(Refusal::EventNotFound)));
    answer(create()).await.expect("it is created");
    engine.close().await;
    assert_eq!(head(&archive, &event).await, (0, Seq(1)), "it is another one");
}
