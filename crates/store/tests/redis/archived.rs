//! Events end: what an archived one took up in Redis is free again, whoever dies in between.

use crate::stage::{
    MemoryArchive, PATIENCE, confirm_command, done, flash_sale, free_units, hold, open, options,
    settings, until,
};
use onrush_core::ids::EventId;
use onrush_core::question::EventNow;
use onrush_core::spec::Reason;
use onrush_core::{Command, Refusal};
use onrush_store::redis::{Options, Probe, RedisEngine};
use onrush_store::{Ask, Engine, Failure};
use onrush_testkit::{Redis, need};

fn archive() -> Command {
    Command::Archive { reason: Reason { by: "office".into(), why: "it is over".into() } }
}

/// Sells some of an event, closes and archives it.
async fn sell_and_archive(engine: &RedisEngine) -> EventId {
    let event = flash_sale(engine, 10).await;
    for n in 0..5 {
        let (user, booking) = (format!("u{n}"), format!("b{n}"));
        hold(engine, &event, &user, &booking).await.expect("units are free");
        let confirm = confirm_command(&user, &booking);
        engine.execute(event.clone(), confirm).await.expect("free of charge");
    }
    done(engine, &event, Command::Close).await;
    done(engine, &event, archive()).await;
    event
}

async fn is_archived(engine: &RedisEngine, event: &EventId) -> Option<()> {
    let answer = engine.ask(event.clone(), EventNow).await;
    matches!(answer, Err(Failure::Refused(Refusal::EventArchived { .. }))).then_some(())
}

async fn probe(redis: &Redis) -> Probe {
    Probe::open(&[redis.url()], false).await.expect("Redis answers")
}

/// What is left of an event in Redis, without the answers that go by themselves.
async fn keys_of(probe: &Probe, event: &EventId) -> Vec<String> {
    let keys = probe.keys(&format!("*{{{event}}}*")).await.expect("Redis answers");
    keys.into_iter().filter(|key| !key.contains(":recent")).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_small_hash_is_left_of_an_archived_event() {
    let Some(redis) = need(Redis::start()) else { return };
    let kept = MemoryArchive::new();
    let archive = kept.other_node();
    let engine = open(&redis, kept).await;
    let event = sell_and_archive(&engine).await;
    assert_eq!(is_archived(&engine, &event).await, Some(()));
    // Whoever found it missing in the list before it was archived, or archives its creation only now,
    // may list it after that: the next look takes it out.
    until("no list names it", async || {
        engine.events().await.expect("a list").value.is_empty().then_some(())
    })
    .await;
    let probe = probe(&redis).await;
    let meta = format!("onrush:{{{event}}}:meta");
    until("nothing else is left", async || {
        (keys_of(&probe, &event).await == [meta.as_str()]).then_some(())
    })
    .await;
    let fields = probe.raw(&["HLEN", &meta]).await.expect("Redis answers");
    assert_eq!(fields, redis::Value::Int(5), "seq, at, mark, epoch, phase");
    let refused =
        engine.execute(event.clone(), Command::CreateEvent { settings: Box::new(settings()) });
    let refused = refused.await;
    assert!(matches!(refused, Err(Failure::Refused(Refusal::EventArchived { .. }))), "{refused:?}");
    let report = engine.audit().await.expect("Redis and the archive answer");
    assert_eq!(report.violations, Vec::<String>::new());
    assert!(report.decisions > 10, "its history is still looked at: {report:?}");
    engine.close().await;
    // A node that starts lists what Redis may have lost, and not what is over.
    let engine = RedisEngine::open(options(&redis, archive)).await.expect("the engine begins");
    assert_eq!(probe.raw(&["ZCARD", "onrush:events"]).await, Ok(redis::Value::Int(0)));
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn event_that_was_refused_is_in_no_list() {
    let Some(redis) = need(Redis::start()) else { return };
    let engine = open(&redis, MemoryArchive::new()).await;
    let event = sell_and_archive(&engine).await;
    let create = |settings| Command::CreateEvent { settings: Box::new(settings) };
    let refused = engine.execute(event, create(settings())).await;
    assert!(matches!(refused, Err(Failure::Refused(Refusal::EventArchived { .. }))), "{refused:?}");
    let mut wrong = settings();
    wrong.hold_ttl_ms = 0;
    let refused = engine.execute("never".parse().expect("an id"), create(wrong)).await;
    assert!(
        matches!(refused, Err(Failure::Refused(Refusal::InvalidSettings { .. }))),
        "{refused:?}"
    );
    assert_eq!(engine.events().await.expect("a list").value, Vec::<EventId>::new());
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn node_that_finds_an_event_archived_by_another_has_nothing_left_to_archive() {
    let Some(redis) = need(Redis::start()) else { return };
    let archive = MemoryArchive::new();
    let quiet = Options { ticks: false, ..options(&redis, archive.other_node()) };
    let other = RedisEngine::open(quiet).await.expect("the engine begins");
    let one = open(&redis, archive.other_node()).await;
    let event = flash_sale(&one, 10).await;
    assert_eq!(free_units(&other, &event).await, 10);
    until("all of it is archived", async || (other.figures().unarchived == 0).then_some(())).await;
    hold(&one, &event, "ada", "b1").await.expect("units are free");
    one.execute(event.clone(), confirm_command("ada", "b1")).await.expect("free of charge");
    done(&one, &event, Command::Close).await;
    done(&one, &event, self::archive()).await;
    let probe = probe(&redis).await;
    let stream = format!("onrush:{{{event}}}:feed");
    until("the stream is gone", async || {
        (!keys_of(&probe, &event).await.contains(&stream)).then_some(())
    })
    .await;
    // Nobody else archives any more, so that the other node does it itself.
    one.close().await;
    assert_eq!(is_archived(&other, &event).await, Some(()));
    until("nothing is left", async || (other.figures().unarchived == 0).then_some(())).await;
    other.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_node_that_died_left_of_an_archived_event_goes_with_the_next_start() {
    let Some(redis) = need(Redis::start()) else { return };
    let archive = MemoryArchive::new();
    // A node that does not tick does not clear away either.
    let options = Options { ticks: false, ..options(&redis, archive.other_node()) };
    let first = RedisEngine::open(options).await.expect("the engine begins");
    let event = sell_and_archive(&first).await;
    drop(first);
    let probe = probe(&redis).await;
    let stream = format!("onrush:{{{event}}}:feed");
    assert!(keys_of(&probe, &event).await.contains(&stream), "the stream is left");
    let second = open(&redis, archive.other_node()).await;
    until("the stream is gone", async || {
        (!keys_of(&probe, &event).await.contains(&stream)).then_some(())
    })
    .await;
    until("it is in no list", async || {
        second.events().await.expect("a list").value.is_empty().then_some(())
    })
    .await;
    assert_eq!(is_archived(&second, &event).await, Some(()));
    second.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_archived_event_is_archived_after_redis_lost_everything() {
    let Some(redis) = need(Redis::start()) else { return };
    let archive = MemoryArchive::new();
    let engine = open(&redis, archive.other_node()).await;
    let event = sell_and_archive(&engine).await;
    probe(&redis).await.raw(&["FLUSHALL"]).await.expect("Redis answers");
    until("it is rebuilt from the archive", async || is_archived(&engine, &event).await).await;
    let report = engine.audit().await.expect("Redis and the archive answer");
    assert_eq!(report.violations, Vec::<String>::new());
    engine.close().await;
}

/// `used_memory` of Redis, and how many keys there are.
async fn used(probe: &Probe) -> (u64, i64) {
    let info = probe.raw(&["INFO", "memory"]).await.expect("Redis answers");
    let info: String = redis::from_redis_value(info).expect("a text");
    let line = info.lines().find_map(|line| line.strip_prefix("used_memory:"));
    let keys = probe.raw(&["DBSIZE"]).await.expect("Redis answers");
    let keys = redis::from_redis_value(keys).expect("a number");
    (line.and_then(|bytes| bytes.trim().parse().ok()).expect("a number"), keys)
}

/// Set `ONRUSH_ARCHIVED_EVENTS` for a whole year of them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_that_were_sold_out_and_archived_take_up_next_to_nothing() {
    let Some(redis) = need(Redis::start()) else { return };
    let many = std::env::var("ONRUSH_ARCHIVED_EVENTS").ok();
    let many: u32 = many.map_or(20, |many| many.parse().expect("a number"));
    let archive = MemoryArchive::new();
    let engine = open(&redis, archive.other_node()).await;
    let probe = probe(&redis).await;
    // Scripts are loaded and connections made by the first one.
    sell_and_archive(&engine).await;
    let answers = async || probe.keys("*:recent*").await.expect("Redis answers");
    let forget_answers = async || {
        for key in answers().await {
            probe.raw(&["UNLINK", &key]).await.expect("Redis answers");
        }
    };
    let settled = async |hashes: i64| {
        let begin = std::time::Instant::now();
        loop {
            forget_answers().await;
            let (bytes, keys) = used(&probe).await;
            if keys == hashes {
                return bytes;
            }
            if begin.elapsed() > PATIENCE {
                let left = probe.keys("*").await.expect("Redis answers");
                panic!("more than tombstones is left: {left:?}");
            }
            tokio::task::yield_now().await;
        }
    };
    let first = settled(1).await;
    for _ in 1..many {
        sell_and_archive(&engine).await;
    }
    let last = settled(i64::from(many)).await;
    let each = (last.saturating_sub(first)) / u64::from(many - 1);
    println!(
        "{many} events archived: {first} bytes after the first, {last} after the last, {each} each"
    );
    // Besides the tombstones Redis keeps some of what it allocated for the largest moment.
    let allowed = 1_024 * u64::from(many) + 300_000;
    assert!(last.saturating_sub(first) < allowed, "{first} bytes became {last}, {each} an event");
    let report = engine.audit().await.expect("Redis and the archive answer");
    assert_eq!((report.violations, report.events), (Vec::new(), u64::from(many)));
    engine.close().await;
}
