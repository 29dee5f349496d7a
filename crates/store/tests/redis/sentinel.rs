//! A master behind Sentinels: found by its name, left when another one takes over.

use crate::stage::{
    MemoryArchive, confirm_command, flash_sale, free_units_again, hold, hold_command, id,
    once_known, patient, until,
};
use onrush_core::hold::HoldStatus;
use onrush_core::ids::EventId;
use onrush_core::question::BookingOf;
use onrush_core::{Command, Refusal};
use onrush_store::flags::Flag;
use onrush_store::redis::{Options, RedisEngine};
use onrush_store::{Ask, Engine, Failure};
use onrush_testkit::{Authority, RedisOptions, RedisSentinels, Tls, need};
use onrush_tls::{Certificates, Pair};
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// How long callers wait who are to be told by something else than the clock.
const NEVER_MS: u32 = 600_000;
/// Longer than it takes to ask the Sentinels, and shorter than a connection waits for any answer.
const SOON: Duration = Duration::from_secs(15);

fn options(sentinels: &RedisSentinels, archive: &MemoryArchive) -> Options {
    let url = format!("redis://{}", sentinels.name());
    let addresses = sentinels.addresses().into_iter();
    Options {
        sentinels: addresses.map(|address| format!("redis://{address}")).collect(),
        ..patient(vec![url], false, archive.other_node())
    }
}

async fn open(options: Options) -> Arc<RedisEngine> {
    Arc::new(RedisEngine::open(options).await.expect("the engine begins"))
}

/// Asks again, with the same ids, for as long as nobody knows.
async fn decided(engine: &RedisEngine, event: &EventId, command: Command) -> Result<(), Refusal> {
    until("a decision", || async {
        match engine.execute(event.clone(), command.clone()).await {
            Ok(_) => Some(Ok(())),
            Err(Failure::Refused(refusal)) => Some(Err(refusal)),
            Err(
                Failure::Rebuilding { .. }
                | Failure::Unreachable
                | Failure::Faulty
                | Failure::Busy { .. }
                | Failure::DiskLow
                | Failure::Stopped,
            ) => None,
        }
    })
    .await
}

/// One who wants a unit, and asks until they know whether they have it.
async fn buy(engine: Arc<RedisEngine>, event: EventId, user: String) -> bool {
    let booking = format!("b-{user}");
    loop {
        match decided(&engine, &event, hold_command(&user, &booking)).await {
            Ok(()) => {}
            Err(Refusal::InsufficientStock { .. }) => return false,
            Err(refusal) => panic!("{user}: {refusal:?}"),
        }
        match decided(&engine, &event, confirm_command(&user, &booking)).await {
            Ok(()) | Err(Refusal::AlreadyConfirmed) => return true,
            // The hold was answered and lost with the old master: it is placed again.
            Err(Refusal::ReservationNotFound) => {}
            Err(refusal) => panic!("{user}: {refusal:?}"),
        }
    }
}

fn booking(name: &str) -> BookingOf {
    BookingOf { booking: id(name), user: None }
}

/// How a booking stands, by the first answer that a node has.
async fn shown(engine: &RedisEngine, event: &EventId, name: &str) -> Result<HoldStatus, Failure> {
    let asked = once_known(|| engine.ask(event.clone(), booking(name))).await;
    asked.map(|answer| answer.value.state.status())
}

async fn assert_confirmed(engine: &RedisEngine, event: &EventId, users: &[String]) {
    for user in users {
        let shown = shown(engine, event, &format!("b-{user}")).await;
        assert_eq!(shown, Ok(HoldStatus::Confirmed), "{user}");
    }
}

/// Begins to ask those who do not answer.
async fn begin<F: Future>(asked: F) -> Pin<Box<F>> {
    let mut asked = Box::pin(asked);
    let told = poll_fn(|context| Poll::Ready(asked.as_mut().poll(context))).await;
    assert!(told.is_pending(), "somebody answers");
    asked
}

/// Waits until the replica has so many decisions of an event.
async fn wait_for_replica(sentinels: &mut RedisSentinels, event: &EventId, decisions: u32) {
    let replica = &sentinels.servers_mut()[1];
    let (feed, decisions) = (format!("onrush:{{{event}}}:feed"), decisions.to_string());
    until("the decisions at the replica", || async {
        (replica.command(&["XLEN", &feed]).ok()? == decisions).then_some(())
    })
    .await;
}

/// Sells 60 units to 80 people by two nodes; half-way something happens to the master.
async fn sell_through(
    sentinels: &mut RedisSentinels,
    happens: impl FnOnce(&mut RedisSentinels, usize),
) -> (Arc<RedisEngine>, EventId) {
    let archive = MemoryArchive::new();
    let options = options(sentinels, &archive);
    let (one, other) = (open(options.clone()).await, open(options).await);
    let event = flash_sale(&one, 60).await;
    let sold = Arc::new(Semaphore::new(0));
    let at_a_time = Arc::new(Semaphore::new(4));
    let mut buyers = JoinSet::new();
    for n in 0..80 {
        let engine = if n % 2 == 0 { one.clone() } else { other.clone() };
        let (event, sold, at_a_time) = (event.clone(), sold.clone(), at_a_time.clone());
        buyers.spawn(async move {
            let _turn = at_a_time.acquire().await.expect("nobody closes it");
            let user = format!("u{n}");
            let has_it = buy(engine, event, user.clone()).await;
            sold.add_permits(1);
            (user, has_it)
        });
    }
    sold.acquire_many(20).await.expect("nobody closes it").forget();
    let old = sentinels.master().expect("there is one");
    happens(sentinels, old);
    let all = buyers.join_all().await;
    let happy: Vec<String> =
        all.into_iter().filter_map(|(user, has_it)| has_it.then_some(user)).collect();
    assert_eq!(happy.len(), 60, "each unit is sold once");
    assert_confirmed(&other, &event, &happy).await;
    assert_eq!(free_units_again(&one, &event).await, 0);
    for engine in [&one, &other] {
        let report = until("a report", || async { engine.audit().await.ok() }).await;
        assert_eq!(report.violations, Vec::<String>::new());
    }
    (other, event)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sale_goes_on_at_the_new_master_when_the_old_one_dies() {
    let Some(mut sentinels) = need(RedisSentinels::start()) else { return };
    let mut died = 0;
    let kill = |all: &mut RedisSentinels, old: usize| {
        all.servers_mut()[old].kill();
        died = old;
    };
    let (engine, event) = sell_through(&mut sentinels, kill).await;
    // A node believes most of them; the last one may hear of it after the last unit is sold.
    let new = sentinels.wait_for_another_than(died).expect("they agree");
    // One Sentinel is enough to know it, and none is needed to go on.
    for sentinel in sentinels.sentinels_mut() {
        sentinel.kill();
    }
    assert_eq!(free_units_again(&engine, &event).await, 0);
    sentinels.servers_mut()[new].kill();
    let asked = engine.ask(event.clone(), BookingOf { booking: id("b-u1"), user: None }).await;
    assert_eq!(asked.map(drop), Err(Failure::Unreachable));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_master_that_stood_still_is_no_master_when_it_goes_on() {
    let Some(mut sentinels) = need(RedisSentinels::start()) else { return };
    let (engine, event) = sell_through(&mut sentinels, |all, old| {
        all.servers_mut()[old].pause();
        all.wait_for_another_than(old).expect("the replica is promoted");
        all.servers_mut()[old].resume();
    })
    .await;
    assert_eq!(free_units_again(&engine, &event).await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_waits_for_a_master_that_stands_still_is_told_once_there_is_another() {
    let Some(mut sentinels) = need(RedisSentinels::start()) else { return };
    let archive = MemoryArchive::new();
    let options = options(&sentinels, &archive);
    let engine = open(Options { timeout_ms: NEVER_MS, ..options }).await;
    let event = flash_sale(&engine, 10).await;
    hold(&engine, &event, "ada", "b1").await.expect("units are free");
    wait_for_replica(&mut sentinels, &event, 4).await;
    sentinels.servers_mut()[0].pause();
    let asked = begin(engine.ask(event.clone(), booking("b1"))).await;
    sentinels.wait_for_another_than(0).expect("the replica is promoted");
    let told = timeout(SOON, asked).await.expect("nobody waits for the master of before");
    assert_eq!(told.map(drop), Err(Failure::Unreachable));
    assert_eq!(shown(&engine, &event, "b1").await, Ok(HoldStatus::Held));
    sentinels.servers_mut()[0].resume();
    decided(&engine, &event, confirm_command("ada", "b1")).await.expect("it is hers");
    assert_eq!(shown(&engine, &event, "b1").await, Ok(HoldStatus::Confirmed));
}

/// Both have asked the master of before what it answers only when it goes on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_that_kept_their_connections_tell_nothing_that_a_master_of_before_says() {
    let Some(mut sentinels) = need(RedisSentinels::start()) else { return };
    let archive = MemoryArchive::new();
    let kept = || Options { timeout_ms: NEVER_MS, ..options(&sentinels, &archive) };
    let one = open(kept()).await;
    let optimistic = kept();
    optimistic.flags.set(Flag::LuaAtomic, 0);
    let optimistic = open(optimistic).await;
    let event = flash_sale(&one, 10).await;
    hold(&one, &event, "ada", "b1").await.expect("units are free");
    hold(&optimistic, &event, "bob", "b2").await.expect("units are free");
    wait_for_replica(&mut sentinels, &event, 5).await;

    sentinels.servers_mut()[0].pause();
    let held = optimistic.execute(event.clone(), hold_command("cyd", "b3"));
    let asked = begin(one.ask(event.clone(), booking("b1"))).await;
    sentinels.wait_for_another_than(0).expect("the replica is promoted");
    let other = open(options(&sentinels, &archive)).await;
    decided(&other, &event, confirm_command("ada", "b1")).await.expect("it is hers");
    sentinels.servers_mut()[0].resume();

    let told = asked.await.map(|answer| answer.value.state.status());
    assert_eq!(told, Err(Failure::Unreachable), "it was confirmed meanwhile");
    assert_eq!(shown(&one, &event, "b1").await, Ok(HoldStatus::Confirmed));
    let (told, there) = (held.await, shown(&one, &event, "b3").await);
    assert!(told.is_err() || there == Ok(HoldStatus::Held), "{told:?}, and it is {there:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn transactions_follow_the_master_too() {
    let Some(mut sentinels) = need(RedisSentinels::start()) else { return };
    let archive = MemoryArchive::new();
    let options = options(&sentinels, &archive);
    options.flags.set(Flag::LuaAtomic, 0);
    let engine = open(options).await;
    let event = flash_sale(&engine, 10).await;
    hold(&engine, &event, "ada", "b1").await.expect("units are free");
    sentinels.servers_mut()[0].kill();
    sentinels.wait_for_another_than(0).expect("the replica is promoted");
    decided(&engine, &event, hold_command("bob", "b2")).await.expect("units are free");
    decided(&engine, &event, hold_command("ada", "b1")).await.expect("it is hers, or was lost");
    assert_eq!(free_units_again(&engine, &event).await, 8);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sentinels_and_master_are_spoken_with_over_tls_as_users_of_their_acls() {
    let authority = Authority::new("authority");
    let servers = RedisOptions {
        // They are each other's clients as well.
        tls: Some(Tls::new(authority.server()).for_clients_of(&authority)),
        config: vec!["user shop on >s3cret ~* &* +@all".into()],
        ..RedisOptions::default()
    };
    let watching = ["user looker on >l00k ~* &* +@all".to_owned()];
    let Some(mut sentinels) = need(RedisSentinels::start_with(&servers, &watching)) else {
        return;
    };
    let own = authority.client("shop");
    let own = Pair::new(own.cert.into(), own.key.into()).expect("they belong together");
    let trusting = |own| Certificates::new(Some(authority.pem().into()), own);
    let certificates = trusting(Some(own)).expect("it is an authority");
    let archive = MemoryArchive::new();
    let with = |url: &str, password: &str, certificates: &Certificates| Options {
        sentinels: sentinels
            .addresses()
            .iter()
            .map(|address| format!("rediss://looker:{password}@{address}"))
            .collect(),
        certificates: certificates.clone(),
        timeout_ms: 5_000,
        ..Options::new(vec![url.to_owned()], false, Arc::new(archive.other_node()))
    };
    const MASTER: &str = "rediss://shop:s3cret@onrush";
    let refused = async |options| {
        let why = RedisEngine::open(options).await.err().expect("it is refused").to_string();
        assert!(!why.contains("s3cret") && !why.contains("wr0ng"), "{why}");
        why
    };
    let why = refused(with(MASTER, "wr0ng", &certificates)).await;
    assert!(why.contains("user and password in redis.sentinels"), "{why}");
    let why = refused(with("rediss://shop:wr0ng@onrush", "l00k", &certificates)).await;
    assert!(why.contains("user and password in redis.urls"), "{why}");
    let why = refused(with("rediss://shop:s3cret@offrush", "l00k", &certificates)).await;
    assert!(why.contains("knows no master \"offrush\""), "{why}");
    let why = refused(with(MASTER, "l00k", &Certificates::default())).await;
    assert!(why.contains("redis.certificates.ca"), "{why}");
    let why = refused(with(MASTER, "l00k", &trusting(None).expect("an authority"))).await;
    assert!(why.contains("redis.certificates.cert"), "{why}");

    let engine = open(with(MASTER, "l00k", &certificates)).await;
    let event = flash_sale(&engine, 10).await;
    hold(&engine, &event, "ada", "b1").await.expect("units are free");
    decided(&engine, &event, confirm_command("ada", "b1")).await.expect("it is hers");
    sentinels.servers_mut()[0].kill();
    sentinels.wait_for_another_than(0).expect("the replica is promoted");
    decided(&engine, &event, hold_command("bob", "b2")).await.expect("units are free");
    assert_eq!(free_units_again(&engine, &event).await, 8);
}
