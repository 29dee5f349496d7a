//! A Redis, an archive in memory, and engines on them.

#[path = "../support/memory_archive.rs"]
mod memory_archive;

pub(crate) use memory_archive::{Forgotten, MemoryArchive};
use onrush_core::ids::{BookingId, EventId, PlaceId, PoolId, UserId};
use onrush_core::lines::{Lines, PoolLine};
use onrush_core::money::Currency;
use onrush_core::question::AvailabilityNow;
use onrush_core::settings::{RoomSettings, Settings};
use onrush_core::spec::PoolSpec;
use onrush_core::types::AskedTypes;
use onrush_core::view::HoldView;
use onrush_core::{Change, Command, Time};
use onrush_store::redis::{Archive, Options, RedisEngine, ToArchive, ToArchiveEntry};
use onrush_store::{Ask, Failure, FeedEntry, Seq};
use onrush_testkit::Redis;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tokio::time::timeout;

static EVENTS: AtomicU32 = AtomicU32::new(0);

/// Longer than anything here takes; a test that waits that long has failed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) fn id<T: FromStr>(text: &str) -> T {
    text.parse().unwrap_or_else(|_| panic!("{text} is an id"))
}

/// An event that no other test has.
pub(crate) fn new_event() -> EventId {
    id(&format!("e{}", EVENTS.fetch_add(1, Ordering::Relaxed)))
}

pub(crate) fn place(number: u128) -> PlaceId {
    PlaceId::from_u128(number)
}

/// How long callers wait for Redis, and for the archive: a machine that is busy with others may stand
/// still for some seconds.
pub(crate) const TIMEOUT_MS: u32 = 10_000;
const ARCHIVE_TIMEOUT_MS: u32 = 20_000;

/// The usual options with as much patience as that.
pub(crate) fn patient(urls: Vec<String>, is_cluster: bool, archive: MemoryArchive) -> Options {
    Options {
        sweep_ms: 50,
        timeout_ms: TIMEOUT_MS,
        archive_timeout_ms: ARCHIVE_TIMEOUT_MS,
        ..Options::new(urls, is_cluster, Arc::new(archive))
    }
}

pub(crate) fn options(redis: &Redis, archive: MemoryArchive) -> Options {
    patient(vec![redis.url()], false, archive)
}

pub(crate) async fn open(redis: &Redis, archive: MemoryArchive) -> RedisEngine {
    RedisEngine::open(options(redis, archive)).await.expect("the engine begins")
}

/// An event anybody may hold in at once, and its only pool.
pub(crate) async fn flash_sale(engine: &RedisEngine, capacity: u32) -> EventId {
    let event = new_event();
    let settings = Settings { room: None, ..settings() };
    done(engine, &event, Command::CreateEvent { settings: Box::new(settings) }).await;
    let spec = PoolSpec { pool: id("ga"), capacity, price_minor: 0 };
    done(engine, &event, Command::AddPool { spec }).await;
    done(engine, &event, Command::OpenSale { seed: None, public_value: None }).await;
    event
}

pub(crate) fn settings() -> Settings {
    let plain = Settings::new("A show", "EUR".parse::<Currency>().expect("a currency"));
    Settings { room: Some(RoomSettings::default()), max_per_user: None, ..plain }
}

pub(crate) async fn done(engine: &RedisEngine, event: &EventId, command: Command) {
    let done = engine.run::<()>(event.clone(), command.clone()).await;
    done.unwrap_or_else(|failure| panic!("{command:?}: {failure:?}"));
}

pub(crate) fn lines(quantity: u32) -> Lines {
    let pool: PoolId = id("ga");
    Lines::new(vec![PoolLine { pool, quantity }], Vec::new()).expect("lines")
}

pub(crate) fn hold_command(user: &str, booking: &str) -> Command {
    Command::Hold {
        booking: id(booking),
        user: id(user),
        lines: lines(1),
        channels: Vec::new(),
        types: AskedTypes::default(),
    }
}

pub(crate) async fn hold(
    engine: &RedisEngine,
    event: &EventId,
    user: &str,
    booking: &str,
) -> Result<HoldView, Failure> {
    Ok(engine.run(event.clone(), hold_command(user, booking)).await?.value)
}

pub(crate) fn confirm_command(user: &str, booking: &str) -> Command {
    let (booking, user): (BookingId, UserId) = (id(booking), id(user));
    Command::Confirm { booking, user, payment: None }
}

pub(crate) async fn free_units(engine: &RedisEngine, event: &EventId) -> u32 {
    let left = engine.ask(event.clone(), AvailabilityNow).await.expect("an answer").value;
    left.pools.iter().map(|pool| pool.units.free).sum()
}

/// Asks again as long as nobody can say, as after a failover: each connection may find only then that it
/// broke, whoever asks by it is told so, and an event may have to be rebuilt.
pub(crate) async fn once_known<T, F: Future<Output = Result<T, Failure>>>(
    mut attempt: impl FnMut() -> F,
) -> Result<T, Failure> {
    until("an answer", || {
        let attempt = attempt();
        async move {
            match attempt.await {
                Err(Failure::Unreachable | Failure::Rebuilding { .. } | Failure::Busy { .. }) => {
                    None
                }
                known => Some(known),
            }
        }
    })
    .await
}

/// The same as [`free_units`] after a failover.
pub(crate) async fn free_units_again(engine: &RedisEngine, event: &EventId) -> u32 {
    let left = once_known(|| engine.ask(event.clone(), AvailabilityNow)).await;
    left.expect("it is there").value.pools.iter().map(|pool| pool.units.free).sum()
}

/// Tries again until there is something, and says `what` was waited for if there never is.
pub(crate) async fn until<T, F: Future<Output = Option<T>>>(
    what: &str,
    mut attempt: impl FnMut() -> F,
) -> T {
    let found = async {
        loop {
            if let Some(found) = attempt().await {
                return found;
            }
            // Nothing tells when it is there: looking is all there is to do.
            tokio::task::yield_now().await;
        }
    };
    timeout(PATIENCE, found).await.unwrap_or_else(|_| panic!("{what} never came"))
}

/// Archives all this as an event's first decision, of which Redis has nothing: whoever asks for the event
/// has it rebuilt.
pub(crate) async fn archive_first(
    archive: &MemoryArchive,
    event: &EventId,
    at: Time,
    changes: Vec<Change>,
) {
    let text = serde_json::to_string(&changes).expect("changes can be written");
    let entry = FeedEntry { seq: Seq(1), at, event: event.clone(), changes };
    let decisions = vec![ToArchiveEntry { entry, text, mark: None }];
    let what = ToArchive { event: event.clone(), epoch: 0, before: None, decisions };
    archive.append(what).await.expect("it is archived");
}

/// Changes as a later version may write them.
pub(crate) const OF_TOMORROW: &str = r#"[{"type":"of_tomorrow"}]"#;

/// Has the last decision in the event's stream say other changes; gives those that it said.
pub(crate) fn rewrite_last(redis: &Redis, event: &EventId, changes: &str) -> String {
    const REWRITE: &str = "
        local feed = KEYS[1]
        local last = redis.call('XREVRANGE', feed, '+', '-', 'COUNT', 1)[1]
        local id, fields, was = last[1], last[2], nil
        for at = 1, #fields, 2 do
            if fields[at] == 'c' then was, fields[at + 1] = fields[at + 1], ARGV[1] end
        end
        redis.call('XDEL', feed, id)
        local before = redis.call('XREVRANGE', feed, '+', '-', 'COUNT', 1)[1]
        redis.call('XSETID', feed, before and before[1] or '0-0')
        redis.call('XADD', feed, id, unpack(fields))
        return was";
    let feed = format!("onrush:{{{event}}}:feed");
    redis.command(&["EVAL", REWRITE, "1", &feed, changes]).expect("Redis answers")
}
