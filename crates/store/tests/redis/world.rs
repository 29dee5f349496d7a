//! A Redis server of a test's own, nodes on it, and an event they sell.

use crate::stage::MemoryArchive;
use onrush_core::ids::{EventId, PlaceId, UserId};
use onrush_core::question::PlaceOf;
use onrush_core::settings::{RoomSettings, Settings};
use onrush_core::view::{PlaceState, PlaceView};
use onrush_core::{Command, Event, Refusal, Reply, Time};
use onrush_store::flags::Flags;
use onrush_store::redis::{Options, RedisEngine};
use onrush_store::{Ask, Engine, Failure, FeedEntry};
use onrush_testkit::{Redis, need};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a test waits for something that other tasks bring about.
const PATIENCE: Duration = Duration::from_secs(60);

/// A time that tests set the clock to.
pub(crate) const NOON: Time = Time(1_800_000_000_000);

pub(crate) fn event() -> EventId {
    "concert".parse().expect("an id")
}

pub(crate) fn user(number: usize) -> UserId {
    format!("u-{number}").parse().expect("an id")
}

pub(crate) fn place(number: usize) -> PlaceId {
    // Places are random in earnest: their order says nothing about the order they were taken in.
    PlaceId::from_u128((number as u128 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835))
}

pub(crate) fn settings(room: RoomSettings) -> Settings {
    let currency = "EUR".parse().expect("a currency");
    Settings { room: Some(room), max_per_user: None, ..Settings::new("Concert", currency) }
}

/// A Redis server, and the archive of all nodes on it.
pub(crate) struct World {
    pub(crate) redis: Redis,
    pub(crate) archive: MemoryArchive,
}

impl World {
    /// `None` where Redis is not installed.
    #[track_caller]
    pub(crate) fn start() -> Option<Self> {
        let redis = need(Redis::start())?;
        Some(Self { redis, archive: MemoryArchive::new() })
    }

    /// A node that does only what it is asked to: ticks come from the test.
    pub(crate) async fn node(&self) -> Node {
        self.open(false, |_| {}).await
    }

    /// The same with other options.
    pub(crate) async fn node_with(&self, set: impl FnOnce(&mut Options)) -> Node {
        self.open(false, set).await
    }

    /// A node as it is run in earnest.
    pub(crate) async fn busy_node(&self) -> Node {
        self.open(true, |_| {}).await
    }

    async fn open(&self, ticks: bool, set: impl FnOnce(&mut Options)) -> Node {
        let archive = Arc::new(self.archive.other_node());
        let flags = Arc::new(Flags::default());
        let mut options = Options {
            ticks,
            sweep_ms: 100,
            timeout_ms: 10_000,
            archive_timeout_ms: 20_000,
            flags: Arc::clone(&flags),
            ..Options::new(vec![self.redis.url()], false, archive)
        };
        set(&mut options);
        Node { engine: RedisEngine::open(options).await.expect("Redis can be used"), flags }
    }

    /// What Redis says to a command.
    pub(crate) fn ask(&self, words: &[&str]) -> String {
        self.redis.command(words).expect("Redis answers")
    }

    /// How often Redis ran each of these commands since it was last asked to count anew.
    pub(crate) fn calls<const N: usize>(&self, commands: [&str; N]) -> [u64; N] {
        let stats = self.ask(&["INFO", "commandstats"]);
        commands.map(|command| {
            let start = format!("cmdstat_{command}:calls=");
            let count = stats.lines().find_map(|line| line.strip_prefix(&start)?.split(',').next());
            count.map_or(0, |count| count.parse().expect("a number"))
        })
    }

    /// Sets the event's clock.
    pub(crate) fn set_clock(&self, at: Time) {
        self.ask(&["HSET", &key("meta"), "clock", &at.to_string()]);
    }

    /// All decisions about the event, once they are archived.
    pub(crate) async fn decisions(&self) -> Vec<FeedEntry> {
        let last: u64 = self.ask(&["HGET", &key("meta"), "seq"]).parse().expect("a number");
        let deadline = Instant::now() + PATIENCE;
        loop {
            let archived = self.archive.of_event(&event());
            if archived.last().is_some_and(|entry| entry.seq.0 >= last) {
                return archived;
            }
            assert!(Instant::now() < deadline, "decision {last} is archived in time");
            tokio::task::yield_now().await;
        }
    }

    /// The state that the archived decisions add up to by the rules.
    pub(crate) async fn by_the_rules(&self) -> Event {
        let mut state = Event::new(event());
        for entry in self.decisions().await {
            entry.changes.iter().for_each(|change| state.evolve(entry.at, change));
        }
        state.check().expect("the state agrees with itself");
        state
    }
}

/// The event's key of this name.
pub(crate) fn key(part: &str) -> String {
    format!("onrush:{{{}}}:{part}", event())
}

/// One process.
pub(crate) struct Node {
    pub(crate) engine: RedisEngine,
    /// This node's own.
    pub(crate) flags: Arc<Flags>,
}

impl Node {
    pub(crate) async fn run(&self, command: Command) -> Result<Reply, Refusal> {
        match self.engine.execute(event(), command).await {
            Ok(answer) => Ok(answer.value),
            Err(Failure::Refused(refusal)) => Err(refusal),
            Err(failure) => panic!("{failure}"),
        }
    }

    pub(crate) async fn done(&self, command: Command) -> Reply {
        self.run(command).await.expect("accepted")
    }

    pub(crate) async fn create(&self, settings: Settings) {
        self.done(Command::CreateEvent { settings: Box::new(settings) }).await;
    }

    /// An event whose prequeue is open.
    pub(crate) async fn prequeue(&self, room: RoomSettings) {
        self.create(settings(room)).await;
        self.done(Command::OpenPrequeue).await;
    }

    pub(crate) async fn open_sale(&self) {
        self.done(Command::OpenSale { seed: None, public_value: None }).await;
    }

    pub(crate) async fn join(&self, place: PlaceId, user: UserId) -> Result<PlaceView, Refusal> {
        let reply = self.run(Command::Join { place, user }).await?;
        Ok(reply.try_into().expect("joining is answered by a place"))
    }

    pub(crate) async fn place(
        &self,
        user: UserId,
        place: Option<PlaceId>,
    ) -> Result<PlaceView, Refusal> {
        match self.engine.ask(event(), PlaceOf { user, place }).await {
            Ok(answer) => Ok(answer.value),
            Err(Failure::Refused(refusal)) => Err(refusal),
            Err(failure) => panic!("{failure}"),
        }
    }

    /// The position of a place that waits.
    pub(crate) async fn position(&self, user: UserId, place: PlaceId) -> u32 {
        match self.place(user, Some(place)).await.expect("the place is there").state {
            PlaceState::Queued { position, .. } => position.expect("positions mean something"),
            PlaceState::Active { .. } | PlaceState::Ended { .. } => panic!("it does not wait"),
        }
    }

    /// Ticks until nothing is due, so many times at most; gives how many changed something.
    pub(crate) async fn tick(&self, world: &World, most: usize) -> usize {
        let seq = || world.ask(&["HGET", &key("meta"), "seq"]);
        for ticks in 0..most {
            let before = seq();
            self.done(Command::Tick).await;
            if seq() == before {
                return ticks;
            }
        }
        most
    }
}

/// Waits until something is so.
pub(crate) async fn until<F: Future<Output = bool>>(what: &str, mut is_so: impl FnMut() -> F) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so().await {
        assert!(Instant::now() < deadline, "{what}: not in time");
        tokio::task::yield_now().await;
    }
}
