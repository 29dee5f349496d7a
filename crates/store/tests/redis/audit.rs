//! An audit tells what in Redis is not as the archived decisions say.

use crate::stage::{
    MemoryArchive, archive_first, confirm_command, done, flash_sale, hold, id, lines, new_event,
    open, options, place, settings, until,
};
use crate::world::NOON;
use onrush_core::change::{QueueChange, SaleChange, SetupChange};
use onrush_core::ids::EventId;
use onrush_core::question::EventNow;
use onrush_core::settings::{RoomSettings, Settings};
use onrush_core::spec::{PoolSpec, Reason};
use onrush_core::view::PlaceView;
use onrush_core::{Change, Command};
use onrush_store::redis::{Options, RedisEngine};
use onrush_store::{Ask, Engine, Failure};
use onrush_testkit::{Redis, need};

#[tokio::test]
async fn a_sound_sale_has_nothing_to_tell() {
    let Some(redis) = need(Redis::start()) else { return };
    let engine = open(&redis, MemoryArchive::new()).await;
    let event = flash_sale(&engine, 5).await;
    hold(&engine, &event, "ada", "b1").await.expect("a unit is free");
    hold(&engine, &event, "bob", "b2").await.expect("a unit is free");
    engine.execute(event.clone(), confirm_command("ada", "b1")).await.expect("it is hers");
    let reason = Reason { by: "box office".into(), why: "house: seats".into() };
    done(&engine, &event, Command::Block { lines: lines(1), reason }).await;

    let other = new_event();
    let room = Some(RoomSettings { capacity: 1, places_per_user: 2, ..RoomSettings::default() });
    let settings = Settings { room, ..settings() };
    done(&engine, &other, Command::CreateEvent { settings: Box::new(settings) }).await;
    done(&engine, &other, Command::OpenSale { seed: None, public_value: None }).await;
    for (number, user) in [(1, "ada"), (2, "ada"), (3, "bob")] {
        let join = Command::Join { place: place(number), user: id(user) };
        engine.run::<PlaceView>(other.clone(), join).await.expect("they may join");
    }

    let report = engine.audit().await.expect("Redis and the archive answer");
    assert_eq!(report.violations, Vec::<String>::new());
    assert_eq!(report.events, 2);
    assert!(report.decisions >= 12, "{} decisions were replayed", report.decisions);
}

/// Each is what a faulty script, or a hand in Redis, might leave behind.
#[tokio::test]
async fn whatever_is_changed_behind_the_rules_back_is_told() {
    let Some(redis) = need(Redis::start()) else { return };
    let archive = MemoryArchive::new();
    let options = Options { ticks: false, ..options(&redis, archive.other_node()) };
    let engine = RedisEngine::open(options).await.expect("the engine begins");
    let event = flash_sale(&engine, 5).await;
    let spec = PoolSpec { pool: id("vip"), capacity: 2, price_minor: 0 };
    done(&engine, &event, Command::AddPool { spec }).await;
    hold(&engine, &event, "ada", "b1").await.expect("a unit is free");
    let key = |part: &str| format!("onrush:{{{event}}}:{part}");
    let kept = |part: &str, field: &str| {
        redis.command(&["HGET", &key(part), field]).expect("Redis answers")
    };
    let (pool, booking, user) = (kept("pools", "ga"), kept("holds", "b1"), kept("users", "ada"));
    let changed_pool = pool.trim().replacen("0 5 0 1 ", "0 5 0 0 ", 1);
    assert_ne!(changed_pool, pool.trim());
    let faults: [(&[&str], &[&str], &str); 7] = [
        (
            &["HSET", &key("meta"), "units_free", "5"],
            &["HSET", &key("meta"), "units_free", "6"],
            "units_free is 5",
        ),
        (
            &["HSET", &key("meta"), "choosing", "1"],
            &["HSET", &key("meta"), "choosing", "0"],
            "choosing is 1",
        ),
        (
            &["HSET", &key("pools"), "ga", &changed_pool],
            &["HSET", &key("pools"), "ga", pool.trim()],
            "pools ga",
        ),
        (
            &["HDEL", &key("holds"), "b1"],
            &["HSET", &key("holds"), "b1", booking.trim()],
            "holds b1",
        ),
        (
            &["HDEL", &key("users"), "ada"],
            &["HSET", &key("users"), "ada", user.trim()],
            "users ada",
        ),
        (
            &["ZADD", &key("deadlines"), "1", "1:ghost"],
            &["ZREM", &key("deadlines"), "1:ghost"],
            "1:ghost",
        ),
        (
            &["HDEL", &key("pools"), "vip"],
            &["HSET", &key("pools"), "vip", "1 2 0 0 0 0 0 0"],
            "pools vip",
        ),
    ];
    for (fault, mended, told) in faults {
        redis.command(fault).expect("Redis answers");
        let report = engine.audit().await.expect("Redis and the archive answer");
        let is_told = report.violations.iter().any(|violation| violation.contains(told));
        assert!(is_told, "{fault:?} is not told: {:?}", report.violations);
        redis.command(mended).expect("Redis answers");
    }
    let report = engine.audit().await.expect("Redis and the archive answer");
    assert_eq!(report.violations, Vec::<String>::new());
}

#[tokio::test]
async fn event_that_is_not_listed_is_told_and_not_listed_again() {
    let Some(redis) = need(Redis::start()) else { return };
    let archive = MemoryArchive::new();
    let engine = open(&redis, archive.other_node()).await;
    let event = flash_sale(&engine, 5).await;
    engine.close().await;
    redis.command(&["ZREM", "onrush:events", event.as_str()]).expect("Redis answers");
    let options = Options { ticks: false, ..options(&redis, archive) };
    let auditor = RedisEngine::open(options).await.expect("the engine begins");
    let report = auditor.audit().await.expect("Redis and the archive answer");
    assert_eq!(report.violations, [format!("event {event}: it is not in the list of events")]);
    let listed = redis.command(&["ZCARD", "onrush:events"]).expect("Redis answers");
    assert_eq!(listed.trim(), "0", "an audit mends nothing");
}

/// Whoever joins would wait for as long as all of it is read at once.
#[tokio::test]
async fn an_event_in_which_many_wait_is_read_page_by_page() {
    const WAITING: u32 = 40_000;
    let Some(redis) = need(Redis::start()) else { return };
    let (archive, event) = (MemoryArchive::new(), new_event());
    let created = SetupChange::EventCreated { settings: Box::new(settings()) };
    let mut changes = vec![Change::from(created), SaleChange::PrequeueOpened.into()];
    let taken = |number: u32| {
        let (place, user) = (place(number.into()), id(&format!("u{number}")));
        Change::from(QueueChange::PlaceTaken { place, user, number })
    };
    changes.extend((1..=WAITING).map(taken));
    archive_first(&archive, &event, NOON, changes).await;
    let quiet = Options { ticks: false, ..options(&redis, archive.other_node()) };
    let engine = RedisEngine::open(quiet).await.expect("the engine begins");
    until("the rebuilt event", || async { engine.ask(event.clone(), EventNow).await.ok() }).await;
    // It is listed after it is open.
    let listed = || async { engine.events().await.ok().filter(|listed| !listed.value.is_empty()) };
    until("a line in the list", listed).await;
    engine.close().await;

    let hasty = Options { ticks: false, timeout_ms: 500, ..options(&redis, archive) };
    let auditor = RedisEngine::open(hasty).await.expect("the engine begins");
    redis.command(&["CONFIG", "RESETSTAT"]).expect("Redis answers");
    let report = auditor.audit().await.expect("Redis and the archive answer");
    assert_eq!((report.events, report.violations), (1, Vec::new()));
    let stats = redis.command(&["INFO", "commandstats"]).expect("Redis answers");
    assert!(stats.contains("cmdstat_hscan:"), "{stats}");
    assert!(!stats.contains("cmdstat_hgetall:"), "it is never read at once: {stats}");
}

#[tokio::test]
async fn an_event_that_cannot_be_read_is_told_and_the_others_are_looked_at() {
    let Some(redis) = need(Redis::start()) else { return };
    let options = Options { ticks: false, ..options(&redis, MemoryArchive::new()) };
    let engine = RedisEngine::open(options).await.expect("the engine begins");
    let (broken, changed) = (flash_sale(&engine, 5).await, flash_sale(&engine, 5).await);
    let key = |event: &EventId, part: &str| format!("onrush:{{{event}}}:{part}");
    redis.command(&["SET", &key(&broken, "claims"), "no hash"]).expect("Redis answers");
    let pools = key(&changed, "pools");
    redis.command(&["HSET", &pools, "ga", "0 5 0 1 0 0 0 0"]).expect("Redis answers");
    let report = engine.audit().await.expect("Redis and the archive answer");
    assert_eq!(report.events, 2);
    let told = |event: &EventId, what: &str| {
        let start = format!("event {event}: {what}");
        report.violations.iter().filter(|violation| violation.starts_with(&start)).count()
    };
    assert_eq!((told(&broken, ""), told(&broken, "it cannot be read: ")), (1, 1), "{report:?}");
    assert!(told(&changed, "") > 0, "{report:?}");
}

/// Waits until an event is read at once.
async fn is_under_way(redis: &Redis) {
    until("an audit", || async {
        let stats = redis.command(&["INFO", "commandstats"]).expect("Redis answers");
        stats.contains("cmdstat_hgetall:").then_some(())
    })
    .await;
}

/// All other events would be asked for in vain, one after the other.
#[tokio::test]
async fn an_audit_ends_when_redis_or_the_archive_goes_away() {
    let Some(mut redis) = need(Redis::start()) else { return };
    let archive = MemoryArchive::new();
    let options = Options { ticks: false, ..options(&redis, archive.other_node()) };
    let engine = RedisEngine::open(options).await.expect("the engine begins");
    for _ in 0..3 {
        let event = flash_sale(&engine, 5).await;
        // The archive never has that decision: the event is looked at again and again.
        let meta = format!("onrush:{{{event}}}:meta");
        redis.command(&["HINCRBY", &meta, "seq", "1"]).expect("Redis answers");
    }
    redis.command(&["CONFIG", "RESETSTAT"]).expect("Redis answers");
    let goes = async {
        is_under_way(&redis).await;
        archive.set_away(true);
    };
    let (audited, ()) = tokio::join!(engine.audit(), goes);
    assert_eq!(audited, Err(Failure::Unreachable), "the archive is away");

    archive.set_away(false);
    redis.command(&["CONFIG", "RESETSTAT"]).expect("Redis answers");
    let goes = async {
        is_under_way(&redis).await;
        redis.kill();
    };
    let (audited, ()) = tokio::join!(engine.audit(), goes);
    assert_eq!(audited, Err(Failure::Unreachable), "Redis is away");
}
