//! An event on an embedded engine, and nodes that carry its deadlines to RabbitMQ and back.

use onrush_base::config::ladder::Ladder;
use onrush_base::config::rabbit::{RabbitSettings, Tuning};
use onrush_bridge::cursors::Cursors;
use onrush_bridge::rabbit::bodies::{Content, FreedBy, Message, SlotReleased, Timeout};
use onrush_bridge::rabbit::error::RabbitError;
use onrush_bridge::rabbit::health::{Counts, State};
use onrush_bridge::rabbit::link::{Outlet, connect};
use onrush_bridge::rabbit::topology::Topology;
use onrush_bridge::rabbit::{Health, RabbitDeps, Wake, run};
use onrush_core::ids::{EventId, PlaceId};
use onrush_core::settings::{RoomSettings, Settings};
use onrush_core::spec::PoolSpec;
use onrush_core::{Change, Command, Reply, Time};
use onrush_store::embedded::{Clock, Embedded, Options};
use onrush_store::{Engine, FeedEntry, Seq};
use onrush_testkit::{RabbitMq, Shared, need};
use std::fmt::Debug;
use std::future::Future;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tempfile::TempDir;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

/// How long a condition may take to come true before the test fails.
const PATIENCE: Duration = Duration::from_secs(60);

static RABBITMQ: Shared<RabbitMq> = Shared::new();

/// The server of all tests that leave it alone.
#[track_caller]
pub(crate) fn shared_server() -> Option<Arc<RabbitMq>> {
    need(RABBITMQ.get(RabbitMq::start))
}

/// A server that a test may do with as it likes.
#[track_caller]
pub(crate) fn own_server() -> Option<RabbitMq> {
    need(RabbitMq::start())
}

/// Waits for something, and fails if it never comes.
pub(crate) async fn patiently<T>(what: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.unwrap_or_else(|_| panic!("never: {what}"))
}

/// The id with this text.
pub(crate) fn id<T: FromStr<Err: Debug>>(text: &str) -> T {
    text.parse().expect("it is an id")
}

/// Settings under a prefix of the test's own, with short delays; what is due in an hour waits in peace.
pub(crate) fn settings(server: &RabbitMq, prefix: &str) -> RabbitSettings {
    let tuning = Tuning {
        ladder: Ladder::new(&[20, 50, 200, 600_000]),
        lease_ms: 600,
        first_pause: Duration::from_millis(20),
        longest_pause: Duration::from_millis(200),
        patience: Duration::from_secs(20),
        prefetch: 16,
        window: 8,
    };
    RabbitSettings { prefix: prefix.into(), tuning, ..RabbitSettings::new(server.url()) }
}

/// An outlet of the test's own.
pub(crate) async fn outlet(settings: &RabbitSettings) -> (lapin::Connection, Outlet) {
    let topology = Arc::new(Topology::new(settings));
    let connection = connect(settings, &topology, "test").await.expect("RabbitMQ is there");
    let outlet = Outlet::open(&connection, topology, &settings.tuning).await.expect("it works");
    (connection, outlet)
}

/// Sends a message until RabbitMQ has it: queues that it keeps on several disks refuse some as long as
/// they begin, which a busy machine takes its time for.
pub(crate) async fn publish(outlet: &Outlet, message: &Message, now: Time) {
    for _ in 0..1_000 {
        let sent = outlet.send(message, now).await.expect("it is sent");
        match outlet.confirmed(sent).await {
            Err(RabbitError::Rejected) => tokio::task::yield_now().await,
            confirmed => return confirmed.expect("RabbitMQ has it"),
        }
    }
    panic!("RabbitMQ has not taken {message:?}");
}

/// The id of messages that only see to it that queues work, and the event that they are about.
pub(crate) const WARM_UP: &str = "warm-up";

/// Sends messages until each queue has taken one: what is published afterwards is not refused because
/// a queue begins, so that nothing is sent again. They are due, and wake up an event that is not there.
pub(crate) async fn warm_up(settings: &RabbitSettings) {
    let (_connection, outlet) = outlet(settings).await;
    let due = Time(0);
    let message = || Message { id: Some(WARM_UP.into()), ..deadline(WARM_UP, due) };
    for rung_ms in settings.tuning.ladder.rungs_ms() {
        publish(&outlet, &message(), due.plus_ms(-i64::from(*rung_ms))).await;
    }
    publish(&outlet, &message(), due).await;
    let (event_id, reason) = (id(WARM_UP), FreedBy::Cancellation);
    let content = Content::SlotReleased(SlotReleased { event_id, reason, timestamp: 0 });
    publish(&outlet, &Message { content, ..message() }, due).await;
}

/// A deadline of nobody in particular.
pub(crate) fn deadline(event: &str, due: Time) -> Message {
    let expire_time = due.0.div_euclid(1_000);
    let (user_id, event_id) = (id("v"), id(event));
    let body = Timeout { user_id, event_id, expire_time, scheduled_at: 0 };
    Message { id: Some(format!("test.{event}")), content: Content::Timeout { body, due } }
}

/// The engine.
pub(crate) struct Stage {
    pub(crate) engine: Arc<Embedded>,
    pub(crate) clock: Clock,
    _folder: TempDir,
}

impl Stage {
    pub(crate) fn new(clock: Clock) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let options = Options { clock: clock.clone(), ..Options::default() };
        let engine = Embedded::open(folder.path(), options).expect("a new engine");
        Self { engine: Arc::new(engine), clock, _folder: folder }
    }

    /// Opens a sale `e` with a pool `ga` of units that cost something.
    pub(crate) async fn open_sale(&self, room: RoomSettings) {
        let currency = "EUR".parse().expect("a currency");
        let settings = Settings {
            room: Some(room),
            max_per_user: None,
            ..Settings::new("Rehearsal", currency)
        };
        let spec = PoolSpec { pool: id("ga"), capacity: 100, price_minor: 1_000 };
        self.done(Command::CreateEvent { settings: Box::new(settings) }).await;
        self.done(Command::AddPool { spec }).await;
        self.done(Command::OpenSale { seed: None, public_value: None }).await;
    }

    /// Runs a command that the rules accept.
    pub(crate) async fn done(&self, command: Command) -> Reply {
        let answer = self.engine.execute(id("e"), command.clone()).await;
        answer.unwrap_or_else(|failure| panic!("{command:?}: {failure}")).value
    }

    /// Has visitor `v<n>` join.
    pub(crate) async fn join(&self, n: u32) {
        let (place, user) = (place(n), id(&format!("v{n}")));
        self.done(Command::Join { place, user }).await;
    }

    /// The feed after `after`, up to the `count`th entry that has a change like this.
    pub(crate) async fn feed_until(
        &self,
        after: Seq,
        count: usize,
        like: fn(&Change) -> bool,
    ) -> Vec<Arc<FeedEntry>> {
        let mut feed = self.engine.subscribe(after);
        let mut entries: Vec<Arc<FeedEntry>> = Vec::new();
        let reading = async {
            loop {
                let found = entries.iter().filter(|entry| entry.changes.iter().any(like));
                if found.count() >= count {
                    return;
                }
                let page = feed.next().await.expect("a journal");
                entries.extend(page.expect("the engine runs"));
            }
        };
        patiently("the feed has it", reading).await;
        entries
    }
}

/// Place number `n`.
pub(crate) fn place(n: u32) -> PlaceId {
    PlaceId::from_u128(n.into())
}

/// A publisher and a consumer.
pub(crate) struct Node {
    pub(crate) health: Arc<Health>,
    wakes: mpsc::UnboundedReceiver<(EventId, Time)>,
    stop: watch::Sender<bool>,
    tasks: Vec<JoinHandle<()>>,
}

impl Node {
    /// Starts one whose wake-ups are written down, each after a tick.
    pub(crate) fn start(stage: &Stage, settings: &RabbitSettings, cursors: impl Cursors) -> Self {
        let (woken, wakes) = mpsc::unbounded_channel();
        let (engine, clock) = (stage.engine.clone(), stage.clock.clone());
        let wake: Wake = Arc::new(move |event| {
            let (event, at, woken) = (event.clone(), clock.now(), woken.clone());
            let tick = engine.execute(event.clone(), Command::Tick);
            tokio::spawn(async move {
                // Events that only a message knows are refused, and nobody minds.
                drop(tick.await);
                drop(woken.send((event, at)));
            });
        });
        Self::start_with(stage, settings, cursors, wake, wakes)
    }

    /// Starts one with a wake of the test's own.
    pub(crate) fn start_with(
        stage: &Stage,
        settings: &RabbitSettings,
        cursors: impl Cursors,
        wake: Wake,
        wakes: mpsc::UnboundedReceiver<(EventId, Time)>,
    ) -> Self {
        let (stop, health) = (watch::Sender::new(false), Arc::new(Health::default()));
        let parts = RabbitDeps {
            engine: stage.engine.clone(),
            cursors: Arc::new(cursors),
            wake,
            clock: stage.clock.clone(),
            health: health.clone(),
        };
        let tasks = run(settings, &parts, &stop.subscribe());
        Self { health, wakes, stop, tasks }
    }

    /// Waits until it stands like this.
    pub(crate) async fn stands(&self, what: &str, like: impl FnMut(&State) -> bool) {
        let mut state = self.health.state();
        patiently(what, state.wait_for(like)).await.expect("it lives");
    }

    /// Waits until it is connected, or is not.
    pub(crate) async fn connected(&self, connected: bool) {
        let both = |state: &State| state.publisher_connected && state.consumer_connected;
        self.stands("connected or not", |state| both(state) == connected).await;
        assert_eq!(self.health.is_connected(), connected);
    }

    /// The next event that was woken, and when.
    pub(crate) async fn next_wake(&mut self) -> (EventId, Time) {
        patiently("a wake-up", self.wakes.recv()).await.expect("it lives")
    }

    /// One of the counters.
    pub(crate) fn count(&self, counter: impl FnOnce(&Counts) -> &AtomicU64) -> u64 {
        counter(self.health.counts()).load(Ordering::Relaxed)
    }

    /// Waits until a counter has reached a number.
    pub(crate) async fn counted(&self, least: u64, counter: fn(&Counts) -> &AtomicU64) {
        let counting = async {
            while self.count(counter) < least {
                tokio::task::yield_now().await;
            }
        };
        patiently("it is counted", counting).await;
    }

    /// Stops it in order.
    pub(crate) async fn stop(self) {
        self.stop.send_replace(true);
        for task in self.tasks {
            patiently("it ends", task).await.expect("it does not panic");
        }
    }

    /// Stops it as a crash would: nothing is given back, nothing is written down.
    pub(crate) fn crash(self) {
        for task in &self.tasks {
            task.abort();
        }
    }

    /// Waits until one of its tasks has died.
    pub(crate) async fn dies(&mut self) {
        let consumer = self.tasks.last_mut().expect("there are two");
        assert!(patiently("it dies", consumer).await.expect_err("it panics").is_panic());
    }
}
