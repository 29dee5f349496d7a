//! An event that Redis has lost, as a whole or its last decisions, is made again from the archive.

use crate::stage::{
    self, MemoryArchive, OF_TOMORROW, archive_first, confirm_command, done, flash_sale, free_units,
    free_units_again, hold, hold_command, id, new_event, once_known, open, patient, rewrite_last,
    until,
};
use crate::visitors::{drawn, join_many, lapse_in_order, seed, stream};
use crate::world::{self, World, key, user};
use onrush_core::best::{Best, BestOrder, Together};
use onrush_core::change::SetupChange;
use onrush_core::hold::HoldStatus;
use onrush_core::ids::{EventId, PoolId};
use onrush_core::prices::Priced;
use onrush_core::question::{BookingOf, EventNow};
use onrush_core::settings::{RoomSettings, Settings};
use onrush_core::spec::{Access, CategorySpec, PoolSpec, Reason, SeatSpec};
use onrush_core::types::{TicketType, TypePrice};
use onrush_core::{Change, Command, Event, Time};
use onrush_store::flags::Flag;
use onrush_store::redis::{Archive, Probe, RedisEngine};
use onrush_store::{Ask, Engine, Failure, Seq};
use onrush_testkit::{Log, Redis, RedisCluster, RedisOptions, need};
use std::sync::Arc;
use tokio::task::JoinSet;
use tracing::Level;

/// The state that the archive adds up to.
fn replayed(archive: &MemoryArchive, event: &EventId) -> Event {
    let mut state = Event::new(event.clone());
    for entry in archive.of_event(event) {
        entry.changes.iter().for_each(|change| state.evolve(entry.at, change));
    }
    state
}

/// Asks again as long as the event is being rebuilt.
async fn once_rebuilt(
    engine: &RedisEngine,
    event: &EventId,
    command: Command,
) -> Result<(), Failure> {
    until("the rebuilt event", || async {
        match engine.execute(event.clone(), command.clone()).await {
            Err(Failure::Rebuilding { .. }) => None,
            other => Some(other.map(drop)),
        }
    })
    .await
}

async fn archived(
    archive: &MemoryArchive,
    engine: &RedisEngine,
    event: &EventId,
    decisions: usize,
) {
    until("the archived decisions", || async {
        let count = archive.of_event(event).len();
        // Somebody must ask, or nobody looks.
        drop(engine.ask(event.clone(), EventNow).await);
        (count >= decisions).then_some(())
    })
    .await;
}

/// Nothing is confirmed and not there, nothing is sold that is not, and every count and deadline is
/// what it should be.
async fn assert_as_archived(redis: &Redis, archive: &MemoryArchive, event: &EventId) {
    let mut probe = Probe::open(&[redis.url()], false).await.expect("Redis answers");
    probe.look_at(event.clone());
    let state = replayed(archive, event);
    state.check().expect("the archive's state is sound");
    assert_eq!(probe.differences(&state).await, Ok(Vec::new()));
    let rows = probe.rows(&Default::default()).await.expect("rows");
    assert_eq!(rows, state.snapshot().collect::<Vec<_>>());
}

async fn wait_until_archive_has_all(redis: &Redis, archive: &MemoryArchive, event: &EventId) {
    until("the last decision in the archive", || async {
        let meta = format!("onrush:{{{event}}}:meta");
        let seq: u64 = redis.command(&["HGET", &meta, "seq"]).ok()?.trim().parse().ok()?;
        let last = archive.of_event(event).last().map_or(Seq(0), |entry| entry.seq);
        (last == Seq(seq)).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_redis_that_is_flushed_in_the_middle_of_a_sale_loses_nothing_that_is_archived() {
    let Some(redis) = need(Redis::start()) else { return };
    let archive = MemoryArchive::new();
    let engine = open(&redis, archive.other_node()).await;
    let event = flash_sale(&engine, 3).await;
    hold(&engine, &event, "ada", "b1").await.expect("a unit is free");
    hold(&engine, &event, "bob", "b2").await.expect("a unit is free");
    engine.execute(event.clone(), confirm_command("ada", "b1")).await.expect("it is hers");
    redis.command(&["FLUSHALL"]).expect("Redis answers");

    once_rebuilt(&engine, &event, hold_command("cat", "b3")).await.expect("one unit is left");
    assert!(hold(&engine, &event, "dan", "b4").await.is_err(), "nothing is oversold");
    assert_eq!(free_units(&engine, &event).await, 0);
    // Whoever paid has what they paid for, and asking again changes nothing.
    engine.execute(event.clone(), confirm_command("ada", "b1")).await.expect("it is hers still");
    wait_until_archive_has_all(&redis, &archive, &event).await;
    assert_as_archived(&redis, &archive, &event).await;
    let events = engine.events().await.expect("an answer").value;
    assert_eq!(events, [event], "the event is listed again");
}

#[tokio::test]
async fn a_full_redis_that_is_flushed_is_filled_again() {
    let Some(redis) = need(Redis::start()) else { return };
    let archive = MemoryArchive::new();
    let engine = open(&redis, archive.other_node()).await;
    let event = flash_sale(&engine, 3).await;
    hold(&engine, &event, "ada", "b1").await.expect("a unit is free");
    engine.execute(event.clone(), confirm_command("ada", "b1")).await.expect("it is hers");
    wait_until_archive_has_all(&redis, &archive, &event).await;
    redis.command(&["CONFIG", "SET", "maxmemory", "1"]).expect("Redis answers");
    redis.command(&["FLUSHALL"]).expect("Redis answers");

    // What is paid for goes on, and nothing new is sold.
    once_rebuilt(&engine, &event, confirm_command("ada", "b1")).await.expect("it is hers still");
    assert_eq!(free_units(&engine, &event).await, 2);
    assert_eq!(hold(&engine, &event, "bob", "b2").await, Err(Failure::DiskLow));
    redis.command(&["CONFIG", "SET", "maxmemory", "0"]).expect("Redis answers");
    wait_until_archive_has_all(&redis, &archive, &event).await;
    assert_as_archived(&redis, &archive, &event).await;
    // It is listed after it is open.
    let listed = || async { engine.events().await.ok().filter(|listed| !listed.value.is_empty()) };
    assert_eq!(until("a line in the list", listed).await.value, std::slice::from_ref(&event));
}

#[tokio::test]
async fn seats_that_an_older_version_added_are_written_anew() {
    let Some(redis) = need(Redis::start()) else { return };
    let archive = MemoryArchive::new();
    let engine = open(&redis, archive.other_node()).await;
    let event = flash_sale(&engine, 3).await;
    let seat = |number: u32| SeatSpec {
        seat: id(&format!("A-{number}")),
        section: "Stalls".into(),
        row: "A".into(),
        number: number.to_string().into(),
        category: "all".into(),
        rank: number,
        aisle: false,
        access: Access::Anyone,
    };
    let categories = vec![CategorySpec { name: "all".into(), price_minor: 0 }];
    let seats = (1..=4).map(seat).collect();
    done(&engine, &event, Command::AddSeats { categories, seats }).await;
    wait_until_archive_has_all(&redis, &archive, &event).await;
    // That version did not write which seats are side by side.
    let keys =
        redis.command(&["KEYS", &format!("onrush:{{{event}}}:segments*")]).expect("Redis answers");
    assert!(!keys.trim().is_empty(), "there are such keys");
    for key in keys.lines() {
        redis.command(&["DEL", key]).expect("Redis answers");
    }
    let best = Best::new(2, Together::Must).expect("a quantity");
    let order = Arc::new(BestOrder::new(best, None).expect("an order"));
    let command = Command::HoldBest {
        booking: id("b1"),
        user: id("ada"),
        order,
        channels: vec![],
        types: Default::default(),
    };
    once_rebuilt(&engine, &event, command).await.expect("seats are free");
    wait_until_archive_has_all(&redis, &archive, &event).await;
    let report = engine.audit().await.expect("a report");
    assert_eq!(report.violations, Vec::<String>::new());
}

/// What is said of a hotel's year: nights that changed their price, and have ticket types.
fn year_of_a_hotel(nights: usize) -> Vec<Change> {
    let reason = Reason { by: "ann".into(), why: "summer".into() };
    let adult = TicketType {
        id: id("adult"),
        name: "Adult".into(),
        price: TypePrice::PercentBp(10_000),
        min: 0,
        max: None,
        proof: false,
    };
    let settings = Settings { room: None, ..stage::settings() };
    let mut changes: Vec<Change> =
        vec![SetupChange::EventCreated { settings: Box::new(settings) }.into()];
    for night in 0..nights {
        let pool: PoolId = id(&format!("night-{night}"));
        let spec = PoolSpec { pool: pool.clone(), capacity: 5, price_minor: 100 };
        let of = Priced::Pool(pool);
        let priced = SetupChange::PriceChanged {
            of: of.clone(),
            before_minor: 100,
            price_minor: 200,
            later: Vec::new(),
            reason: Some(reason.clone()),
        };
        let typed =
            SetupChange::TypesSet { of, types: vec![adult.clone()], reason: reason.clone() };
        changes.extend([SetupChange::PoolAdded { spec }, priced, typed].map(Change::from));
    }
    changes
}

/// They are more words than Lua takes at a time.
#[tokio::test]
async fn an_event_with_thousands_of_prices_and_types_is_rebuilt() {
    const NIGHTS: usize = 4_000;
    let Some(redis) = need(Redis::start()) else { return };
    let (archive, event) = (MemoryArchive::new(), new_event());
    archive_first(&archive, &event, world::NOON, year_of_a_hotel(NIGHTS)).await;

    let engine = open(&redis, archive.other_node()).await;
    let opening = Command::OpenSale { seed: None, public_value: None };
    once_rebuilt(&engine, &event, opening).await.expect("it is open");
    let meta = format!("onrush:{{{event}}}:meta");
    for (field, text) in [("price:p:night-3999", "100"), ("types:p:night-0", "adult,s10000,")] {
        let found = redis.command(&["HGET", &meta, field]).expect("Redis answers");
        assert!(found.starts_with(text), "{field}: {found}");
    }
    assert_eq!(free_units(&engine, &event).await, 5 * u32::try_from(NIGHTS).expect("few"));
    wait_until_archive_has_all(&redis, &archive, &event).await;
    assert_as_archived(&redis, &archive, &event).await;
}

#[tokio::test]
async fn a_node_that_begins_after_the_flush_rebuilds_what_only_the_archive_knows() {
    let Some(redis) = need(Redis::start()) else { return };
    let archive = MemoryArchive::new();
    let engine = open(&redis, archive.other_node()).await;
    let event = flash_sale(&engine, 3).await;
    hold(&engine, &event, "ada", "b1").await.expect("a unit is free");
    engine.execute(event.clone(), confirm_command("ada", "b1")).await.expect("it is hers");
    engine.close().await;
    redis.command(&["FLUSHALL"]).expect("Redis answers");

    let engine = open(&redis, archive.other_node()).await;
    once_rebuilt(&engine, &event, hold_command("bob", "b2")).await.expect("units are left");
    assert_eq!(free_units(&engine, &event).await, 1);
    wait_until_archive_has_all(&redis, &archive, &event).await;
    assert_as_archived(&redis, &archive, &event).await;
}

/// Before the first is seen, that is everybody who waits.
#[tokio::test(flavor = "multi_thread")]
async fn a_drawn_line_that_was_rebuilt_lapses_in_its_drawn_order_and_is_not_looked_through() {
    let Some(world) = World::start() else { return };
    let node = world.node().await;
    node.prequeue(drawn()).await;
    join_many(&node, 0..4_500).await;
    node.done(Command::OpenSale { seed: Some(seed()), public_value: None }).await;
    node.done(Command::Pause).await;
    let opened_at = world.ask(&["HGET", &key("meta"), "opened_at"]).parse().expect("a time");
    world.decisions().await;
    world.ask(&["FLUSHALL"]);
    once_rebuilt(&node.engine, &world::event(), Command::Tick).await.expect("a tick");
    world.set_clock(Time(opened_at));

    world.ask(&["CONFIG", "RESETSTAT"]);
    node.done(Command::Tick).await;
    let stats = world.ask(&["INFO", "commandstats"]);
    assert!(!stats.contains("cmdstat_zscore:"), "somebody is looked at alone: {stats}");
    assert_eq!(world.ask(&["ZCARD", &key("lapses")]), "0", "as after the opening");
    lapse_in_order(&world, &node, Time(opened_at)).await;
    let report = node.engine.audit().await.expect("a report");
    assert_eq!(report.violations, Vec::<String>::new());
}

/// A rebuild writes no streams where the settings allow one place a user by now, and takes none away.
#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_a_rebuild_left_behind_names_no_place_that_is_gone() {
    let Some(world) = World::start() else { return };
    let node = world.node().await;
    node.flags.set(Flag::StreamsQueue, 100);
    let room = |places_per_user| RoomSettings { places_per_user, ..RoomSettings::default() };
    node.prequeue(room(2)).await;
    node.join(world::place(1), user(1)).await.expect("joined");
    node.done(Command::ChangeSettings { settings: Box::new(world::settings(room(1))) }).await;
    world.decisions().await;
    world.ask(&["HINCRBY", &key("meta"), "seq", "-1"]);
    once_rebuilt(&node.engine, &world::event(), Command::Tick).await.expect("a tick");
    assert_eq!(world.ask(&["XLEN", &stream(1)]), "1", "it stays");
    node.done(Command::Leave { place: world::place(1), user: user(1) }).await;
    let joined = node.join(world::place(2), user(1)).await.expect("joined again");
    assert_eq!(node.place(user(1), None).await, Ok(joined));
}

/// As after a failover to a replica that lagged behind, or a restart from an older snapshot on the disk.
#[tokio::test]
async fn a_redis_that_is_back_at_an_older_state_is_brought_up_to_the_archive() {
    let Some(mut redis) = need(Redis::start_with(&RedisOptions::default())) else { return };
    let archive = MemoryArchive::new();
    let engine = open(&redis, archive.other_node()).await;
    let event = flash_sale(&engine, 4).await;
    hold(&engine, &event, "ada", "b1").await.expect("a unit is free");
    archived(&archive, &engine, &event, 4).await;
    redis.command(&["SAVE"]).expect("Redis answers");
    engine.execute(event.clone(), confirm_command("ada", "b1")).await.expect("it is hers");
    hold(&engine, &event, "bob", "b2").await.expect("a unit is free");
    engine.execute(event.clone(), confirm_command("bob", "b2")).await.expect("it is theirs");
    redis.kill();
    redis.restart().expect("Redis begins again with its snapshot");

    until("the rebuilt event", || async {
        let asked = hold(&engine, &event, "cat", "b3").await;
        match asked {
            Err(Failure::Rebuilding { .. } | Failure::Unreachable) => None,
            other => Some(other),
        }
    })
    .await
    .expect("units are left");
    assert_eq!(free_units(&engine, &event).await, 1, "both bookings and the new hold are there");
    for (user, booking) in [("ada", "b1"), ("bob", "b2")] {
        let question = BookingOf { booking: id(booking), user: Some(id(user)) };
        let view = engine.ask(event.clone(), question).await.expect("it is there").value;
        assert_eq!(view.state.status(), HoldStatus::Confirmed, "{booking}");
    }
    wait_until_archive_has_all(&redis, &archive, &event).await;
    assert_as_archived(&redis, &archive, &event).await;
}

/// The decisions that Redis kept and the archive had not got yet are archived first: their callers
/// were answered.
#[tokio::test]
async fn what_redis_still_has_is_archived_before_the_event_is_rebuilt() {
    let Some(redis) = need(Redis::start()) else { return };
    let archive = MemoryArchive::new();
    let engine = open(&redis, archive.other_node()).await;
    let event = flash_sale(&engine, 5).await;
    hold(&engine, &event, "ada", "b1").await.expect("a unit is free");
    archived(&archive, &engine, &event, 4).await;
    archive.set_away(true);
    hold(&engine, &event, "bob", "b2").await.expect("a unit is free");
    hold(&engine, &event, "cat", "b3").await.expect("a unit is free");
    // The last one is lost.
    let meta = format!("onrush:{{{event}}}:meta");
    let feed = format!("onrush:{{{event}}}:feed");
    redis.command(&["HSET", &meta, "seq", "5"]).expect("Redis answers");
    redis.command(&["XDEL", &feed, "6-0"]).expect("Redis answers");
    let asked = hold(&engine, &event, "dan", "b4").await;
    assert!(matches!(asked, Err(Failure::Rebuilding { .. })), "{asked:?}");
    archive.set_away(false);
    once_rebuilt(&engine, &event, hold_command("dan", "b4")).await.expect("units are left");
    let known = |booking: &str| BookingOf { booking: id(booking), user: None };
    engine.ask(event.clone(), known("b2")).await.expect("the second hold was still in Redis");
    let lost = engine.ask(event.clone(), known("b3")).await;
    assert!(matches!(lost, Err(Failure::Refused(_))), "the third was nowhere: {lost:?}");
    assert_eq!(free_units(&engine, &event).await, 2);
    wait_until_archive_has_all(&redis, &archive, &event).await;
    assert_as_archived(&redis, &archive, &event).await;
}

/// A node of the version before is no judge of where a stream ends.
#[tokio::test]
async fn what_this_node_cannot_read_is_not_given_up() {
    let Some(redis) = need(Redis::start()) else { return };
    let archive = MemoryArchive::new();
    let engine = open(&redis, archive.other_node()).await;
    let event = flash_sale(&engine, 5).await;
    archived(&archive, &engine, &event, 3).await;
    archive.set_away(true);
    hold(&engine, &event, "ada", "b1").await.expect("a unit is free");
    let changes = rewrite_last(&redis, &event, OF_TOMORROW);
    let meta = format!("onrush:{{{event}}}:meta");
    redis.command(&["HSET", &meta, "seq", "2"]).expect("Redis answers");
    let asked = hold(&engine, &event, "bob", "b2").await;
    assert!(matches!(asked, Err(Failure::Rebuilding { .. })), "{asked:?}");
    archive.set_away(false);
    let lease = format!("rebuild:{event}");
    until("a second attempt", || async { (archive.terms(&lease) > 1).then_some(()) }).await;
    rewrite_last(&redis, &event, &changes);
    once_rebuilt(&engine, &event, hold_command("bob", "b2")).await.expect("units are left");
    let hers = BookingOf { booking: id("b1"), user: None };
    engine.ask(event.clone(), hers).await.expect("the hold that was answered");
    assert_eq!(free_units(&engine, &event).await, 3);
}

/// Nobody can mend it but people, and an epoch ends what others have under way.
#[tokio::test]
async fn an_event_that_cannot_be_replayed_keeps_its_epoch_and_is_told_of_once() {
    let Some(redis) = need(Redis::start()) else { return };
    let (log, _guard) = Log::begin(Level::ERROR);
    let archive = MemoryArchive::new();
    let engine = open(&redis, archive.other_node()).await;
    let event = flash_sale(&engine, 5).await;
    hold(&engine, &event, "ada", "b1").await.expect("a unit is free");
    archived(&archive, &engine, &event, 4).await;
    // What is left does not add up.
    archive.file(&event);
    redis.command(&["FLUSHALL"]).expect("Redis answers");
    let asked = hold(&engine, &event, "bob", "b2").await;
    assert!(matches!(asked, Err(Failure::Rebuilding { .. })), "{asked:?}");
    let lease = format!("rebuild:{event}");
    until("the fourth attempt", || async { (archive.terms(&lease) > 3).then_some(()) }).await;
    assert_eq!(archive.head(event.clone()).await.expect("it is there").epoch, 0);
    assert_eq!(log.count("the event is not rebuilt yet"), 1, "{}", log.text());
}

#[tokio::test]
async fn what_is_archived_while_an_event_is_replayed_is_in_it() {
    let Some(redis) = need(Redis::start()) else { return };
    let archive = MemoryArchive::new();
    let engine = open(&redis, archive.other_node()).await;
    let event = flash_sale(&engine, 5).await;
    hold(&engine, &event, "ada", "b1").await.expect("a unit is free");
    archived(&archive, &engine, &event, 4).await;
    archive.bring_last_late();
    redis.command(&["FLUSHALL"]).expect("Redis answers");
    once_rebuilt(&engine, &event, confirm_command("ada", "b1")).await.expect("it is hers");
    wait_until_archive_has_all(&redis, &archive, &event).await;
    assert_eq!(archive.of_event(&event).len(), 5);
    assert_as_archived(&redis, &archive, &event).await;
}

/// Another failover in the middle of a rebuilding goes on from a replica that lacks the last writes:
/// the event is not opened without them.
#[tokio::test]
async fn what_is_lost_while_an_event_is_rebuilt_is_missed_before_it_opens() {
    const CLEAR: &str = include_str!("../../lua/rebuild/clear.lua");
    const WRITE: &str = include_str!("../../lua/rebuild/write.lua");
    const META: &str = "onrush:{torn}:meta";
    let Some(redis) = need(Redis::start()) else { return };
    let run = |words: &[&str]| redis.command(words).expect("Redis answers").trim().to_owned();
    let write = |before: &str, key: &str| {
        run(&["EVAL", WRITE, "2", META, key, "3", before, "SET", key, before])
    };
    let opens = |before: &str| {
        run(&["EVAL", WRITE, "1", META, "3", before, "HSET", META, "epoch", "3", "seq", "9"])
    };
    run(&["HSET", META, "epoch", "-1", "seq", "-1"]);
    let keys = ["onrush:{torn}:a", "onrush:{torn}:b", "onrush:{torn}:c"];
    let clear = || run(&["EVAL", CLEAR, "4", META, keys[0], keys[1], keys[2], "3"]);
    assert_eq!(
        (clear(), write("0", keys[0]), write("1", keys[1])),
        ("1".into(), "1".into(), "1".into())
    );
    // The replica has the first of the two, and is the master now.
    run(&["DEL", keys[1]]);
    run(&["HINCRBY", META, "rewritten", "-1"]);
    assert_eq!((write("2", keys[2]), opens("3")), ("2".into(), "2".into()));
    assert_eq!(run(&["HGET", META, "epoch"]), "-1", "it is still shut");
    assert_eq!(run(&["EXISTS", keys[2]]), "0");
    // The next attempt begins anew, with the next epoch.
    let clear = run(&["EVAL", CLEAR, "4", META, keys[0], keys[1], keys[2], "4"]);
    assert_eq!((clear, write("0", keys[0])), ("1".into(), "0".into()), "the one before is over");
    let first = run(&["EVAL", WRITE, "2", META, keys[0], "4", "0", "SET", keys[0], "x"]);
    let meta = |before: &str, price: &str| {
        run(&["EVAL", WRITE, "1", META, "4", before, "HSET", META, price, "100"])
    };
    let prices = (meta("1", "price:p:ga"), meta("2", "price:p:vip"));
    assert_eq!((first, prices), ("1".into(), ("1".into(), "1".into())));
    assert_eq!(run(&["HGET", META, "epoch"]), "-1", "a part of the meta hash does not open it");
    // What an attempt wrote there is not left to the next.
    let clear = run(&["EVAL", CLEAR, "4", META, keys[0], keys[1], keys[2], "5"]);
    assert_eq!((clear, run(&["HEXISTS", META, "price:p:ga"])), ("1".into(), "0".into()));
    let open = run(&["EVAL", WRITE, "1", META, "5", "0", "HSET", META, "epoch", "5", "seq", "9"]);
    assert_eq!(open, "1");
    assert_eq!(run(&["HLEN", META]), "2", "nothing is left of the rebuilding");
}

#[tokio::test]
async fn nodes_that_find_the_loss_at_the_same_time_rebuild_the_event_once() {
    let Some(redis) = need(Redis::start()) else { return };
    let archive = MemoryArchive::new();
    let mut engines = Vec::new();
    for _ in 0..3 {
        engines.push(open(&redis, archive.other_node()).await);
    }
    let event = flash_sale(&engines[0], 100).await;
    for (n, engine) in engines.iter().enumerate() {
        hold(engine, &event, "ada", &format!("b{n}")).await.expect("units are free");
    }
    wait_until_archive_has_all(&redis, &archive, &event).await;
    redis.command(&["FLUSHALL"]).expect("Redis answers");
    let engines: Vec<_> = engines.into_iter().map(Arc::new).collect();
    let mut asking = JoinSet::new();
    for (n, engine) in engines.iter().enumerate() {
        let (engine, event) = (Arc::clone(engine), event.clone());
        asking.spawn(async move {
            for nth in 0..10 {
                let command = hold_command("bob", &format!("after-{n}-{nth}"));
                once_rebuilt(&engine, &event, command).await.expect("units are free");
            }
        });
    }
    asking.join_all().await;
    let meta = format!("onrush:{{{event}}}:meta");
    let epoch = redis.command(&["HGET", &meta, "epoch"]).expect("Redis answers");
    assert_eq!(epoch.trim(), "1", "one of them rebuilt it");
    assert_eq!(free_units(&engines[1], &event).await, 67);
    wait_until_archive_has_all(&redis, &archive, &event).await;
    assert_as_archived(&redis, &archive, &event).await;
}

/// A decision that was not archived when the event was rebuilt is never told to be safe.
#[tokio::test]
async fn a_confirmation_that_is_lost_before_it_is_archived_is_not_promised() {
    let Some(redis) = need(Redis::start()) else { return };
    let archive = MemoryArchive::new();
    let (one, other) =
        (open(&redis, archive.other_node()).await, open(&redis, archive.other_node()).await);
    let event = flash_sale(&one, 5).await;
    hold(&one, &event, "ada", "b1").await.expect("a unit is free");
    wait_until_archive_has_all(&redis, &archive, &event).await;
    archive.set_away(true);
    let confirming = tokio::spawn(one.execute(event.clone(), confirm_command("ada", "b1")));
    let meta = format!("onrush:{{{event}}}:meta");
    until("the decision in Redis", || async {
        let seq = redis.command(&["HGET", &meta, "seq"]).ok()?;
        (seq.trim() == "5").then_some(())
    })
    .await;
    redis.command(&["FLUSHALL"]).expect("Redis answers");
    archive.set_away(false);
    once_rebuilt(&other, &event, hold_command("bob", "b2")).await.expect("units are left");
    let confirmed = confirming.await.expect("it ends");
    let anyones = BookingOf { booking: id("b1"), user: None };
    let view = other.ask(event.clone(), anyones).await.expect("it is there").value;
    let promised = confirmed.is_ok();
    assert_eq!((view.state.status() == HoldStatus::Confirmed), promised, "{confirmed:?}");
    once_rebuilt(&one, &event, confirm_command("ada", "b1"))
        .await
        .expect("asked again, it is hers");
}

/// The replica that takes over may lack the last decisions: whatever it lacks comes from the archive.
#[tokio::test]
async fn a_primary_that_dies_takes_nothing_confirmed_with_it() {
    let Some(mut cluster) = need(RedisCluster::start()) else { return };
    let archive = MemoryArchive::new();
    let options = patient(cluster.urls(), true, archive.other_node());
    let engine = RedisEngine::open(options).await.expect("the engine begins");
    let event = flash_sale(&engine, 1_000).await;
    let mut confirmed = Vec::new();
    for n in 0..40 {
        let booking = format!("b{n}");
        hold(&engine, &event, "ada", &booking).await.expect("units are free");
        if engine.execute(event.clone(), confirm_command("ada", &booking)).await.is_ok() {
            confirmed.push(booking);
        }
    }
    assert_eq!(confirmed.len(), 40);
    let meta = format!("onrush:{{{event}}}:meta");
    cluster.kill_primary_of(&meta).expect("it runs");
    let after = once_known(|| engine.execute(event.clone(), hold_command("bob", "after"))).await;
    after.expect("units are left");
    cluster.wait_for_failover(&meta).expect("its replica has taken over");
    for booking in confirmed {
        let question = BookingOf { booking: id(&booking), user: None };
        let asked = once_known(|| engine.ask(event.clone(), question.clone())).await;
        let view = asked.expect("it is there").value;
        assert_eq!(view.state.status(), HoldStatus::Confirmed, "{booking}");
    }
    assert_eq!(free_units_again(&engine, &event).await, 959);
    let report = once_known(|| engine.audit()).await.expect("Redis and the archive answer");
    assert_eq!(report.violations, Vec::<String>::new());
}
