//! An engine with something to tell, a broker, and nodes that publish.

use crate::listener::Listener;
use onrush_base::config::kafka::KafkaSettings;
use onrush_bridge::cursors::{Cursors, Fence, MemoryCursors, Pending};
use onrush_bridge::kafka::{self, Health, PublisherDeps, Topic, topic_of};
use onrush_core::hold::HoldStatus;
use onrush_core::ids::EventId;
use onrush_core::lines::{Lines, PoolLine};
use onrush_core::settings::{RoomSettings, Settings};
use onrush_core::spec::{Access, CategorySpec, PoolSpec, SeatSpec};
use onrush_core::types::AskedTypes;
use onrush_core::{Command, Reply, Time};
use onrush_ledger::Ledger;
use onrush_ledger::booking::Booking;
use onrush_ledger::projection::{Fact, Projection};
use onrush_ledger::sqlite::SqliteLedger;
use onrush_store::embedded::{Clock, Embedded, ManualClock, Options};
use onrush_store::{Engine, FeedEntry, Seq};
use onrush_testkit::{Kafka, NotStarted, Shared, need, on_a_mock};
use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::mocking::MockCluster;
use rdkafka::producer::DefaultProducerContext;
use rdkafka::types::RDKafkaErrorCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;
use strum::VariantArray;
use tempfile::TempDir;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// How long a condition may take to come true before the test fails.
const PATIENCE: Duration = Duration::from_secs(120);

/// Topics have this many.
const PARTITIONS: u32 = 3;

static KAFKA: Shared<Kafka> = Shared::new();

/// A broker: a real one, or the client's own where there is none.
pub(crate) enum Broker {
    Shared(Arc<Kafka>),
    Own(Kafka),
    Mock(MockCluster<'static, DefaultProducerContext>),
}

impl Broker {
    /// One that tests may share.
    pub(crate) fn shared() -> Self {
        Self::or_mock(KAFKA.get(Kafka::start).map(Self::Shared))
    }

    /// One to be stopped.
    pub(crate) fn own() -> Self {
        Self::or_mock(Kafka::start().map(Self::Own))
    }

    /// One to be stopped that makes no topic by itself; a mock always has ours.
    pub(crate) fn own_that_makes_no_topics() -> Option<Self> {
        need(Kafka::start_with(&["auto.create.topics.enable=false"])).map(Self::Own)
    }

    fn or_mock(started: Result<Self, NotStarted>) -> Self {
        if let Err(NotStarted::Missing(missing)) = &started {
            on_a_mock(format_args!("{} is not installed. {}", missing.what, missing.install));
            return Self::Mock(MockCluster::new(1).unwrap());
        }
        need(started).expect("it is not missing")
    }

    fn settings(&self) -> KafkaSettings {
        static TESTS: AtomicU32 = AtomicU32::new(0);
        let servers = match self {
            Self::Shared(kafka) => kafka.bootstrap_servers(),
            Self::Own(kafka) => kafka.bootstrap_servers(),
            Self::Mock(mock) => mock.bootstrap_servers(),
        };
        let mut settings = KafkaSettings::new(vec![servers]);
        settings.prefix = format!("test-{}.", TESTS.fetch_add(1, Ordering::Relaxed));
        settings.partitions = Some(PARTITIONS);
        settings.tuning.first_pause = Duration::from_millis(20);
        settings.tuning.longest_pause = Duration::from_millis(200);
        settings.options.insert("reconnect.backoff.max.ms".into(), "500".to_owned().into());
        if let Self::Mock(mock) = self {
            settings.create_topics = false;
            for &topic in Topic::VARIANTS {
                let partitions = i32::try_from(PARTITIONS).unwrap();
                mock.create_topic(&topic_of(&settings, topic), partitions, 1).unwrap();
            }
        }
        settings
    }

    pub(crate) fn stop(&mut self) {
        match self {
            Self::Shared(_) => panic!("others use it"),
            Self::Own(kafka) => kafka.stop(),
            Self::Mock(mock) => mock.broker_down(1).unwrap(),
        }
    }

    pub(crate) fn come_back(&mut self) {
        match self {
            Self::Shared(_) => panic!("others use it"),
            Self::Own(kafka) => kafka.restart().unwrap(),
            Self::Mock(mock) => mock.broker_up(1).unwrap(),
        }
    }
}

/// An engine, and what nodes share.
pub(crate) struct Stage {
    pub(crate) engine: Arc<Embedded>,
    pub(crate) clock: ManualClock,
    pub(crate) settings: KafkaSettings,
    cursors: MemoryCursors,
    ledger: Arc<SqliteLedger>,
    places: AtomicU32,
    _dir: TempDir,
}

/// A node that publishes.
pub(crate) struct Node {
    pub(crate) health: Arc<Health>,
    pub(crate) gate: Arc<Gate>,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

/// Leases and cursors as a node sees them that can be made to wait for their answers for ever.
pub(crate) struct Gate {
    cursors: MemoryCursors,
    pub(crate) leases_hang: AtomicBool,
    pub(crate) saves_hang: AtomicBool,
}

impl Gate {
    fn through<T: Send + 'static>(
        &self,
        hangs: &AtomicBool,
        ask: impl FnOnce() -> Pending<T>,
    ) -> Pending<T> {
        match hangs.load(Ordering::SeqCst) {
            true => Box::pin(std::future::pending()),
            false => ask(),
        }
    }
}

impl Cursors for Gate {
    fn lease(&self, name: String, ttl_ms: u32) -> Pending<Option<Fence>> {
        self.through(&self.leases_hang, || self.cursors.lease(name, ttl_ms))
    }

    fn release(&self, name: String) -> Pending<()> {
        self.through(&self.leases_hang, || self.cursors.release(name))
    }

    fn cursor(&self, name: String) -> Pending<Seq> {
        self.cursors.cursor(name)
    }

    fn set_cursor(&self, name: String, fence: Fence, value: Seq) -> Pending<()> {
        self.through(&self.saves_hang, || self.cursors.set_cursor(name, fence, value))
    }
}

impl Stage {
    pub(crate) fn new(broker: &Broker) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let clock = ManualClock::new(Time(1_764_000_000_999));
        let options = Options { clock: Clock::Manual(clock.clone()), ..Options::default() };
        Self {
            engine: Arc::new(Embedded::open(dir.path(), options).unwrap()),
            cursors: MemoryCursors::new(Clock::Manual(clock.clone())),
            clock,
            settings: broker.settings(),
            ledger: Arc::new(SqliteLedger::open(dir.path()).unwrap()),
            places: AtomicU32::new(1),
            _dir: dir,
        }
    }

    /// Another node that publishes when it is its turn.
    pub(crate) fn node(&self) -> Node {
        let gate = Arc::new(Gate {
            cursors: self.cursors.another_node(),
            leases_hang: AtomicBool::new(false),
            saves_hang: AtomicBool::new(false),
        });
        let health = Arc::<Health>::default();
        let parts = PublisherDeps {
            engine: self.engine.clone(),
            ledger: self.ledger.clone() as Arc<dyn Ledger>,
            cursors: gate.clone(),
            health: health.clone(),
        };
        let stop = watch::Sender::new(false);
        let task = kafka::run(&self.settings, &parts, &stop.subscribe());
        Node { health, gate, stop, task }
    }

    /// Topics that take batches of so many bytes; those of a mock are there already.
    pub(crate) async fn make_topics(&self, max_bytes: u32) {
        let mut client = ClientConfig::new();
        client.set("bootstrap.servers", self.settings.brokers.join(","));
        let admin: AdminClient<DefaultClientContext> = client.create().unwrap();
        let names: Vec<_> =
            Topic::VARIANTS.iter().map(|&topic| topic_of(&self.settings, topic)).collect();
        let max_bytes = max_bytes.to_string();
        let new = |name| {
            let topic = NewTopic::new(name, 1, TopicReplication::Fixed(1));
            topic.set("max.message.bytes", &max_bytes)
        };
        let topics: Vec<_> = names.iter().map(|name| new(name)).collect();
        for made in admin.create_topics(&topics, &AdminOptions::new()).await.unwrap() {
            assert!(
                matches!(made, Ok(_) | Err((_, RDKafkaErrorCode::TopicAlreadyExists))),
                "{made:?}"
            );
        }
    }

    /// A receiver, once there are topics.
    pub(crate) async fn listener(&self, node: &Node) -> Listener {
        node.until("Kafka is there", |state| state.connected).await;
        Listener::new(&self.settings)
    }

    pub(crate) async fn cursor(&self) -> Seq {
        self.cursors.cursor(format!("{}kafka", self.settings.prefix)).await.unwrap()
    }

    /// Lets the lease of whoever has it run out, by the cursors' clock.
    pub(crate) fn lease_runs_out(&self) {
        self.clock.advance_ms(i64::from(self.settings.tuning.lease_ms));
    }

    pub(crate) async fn ask(&self, event: &str, command: Command) -> Reply {
        let answer = self.engine.execute(event.parse().unwrap(), command).await;
        answer.unwrap_or_else(|failure| panic!("{event}: {failure}")).value
    }

    /// An open event with a pool `ga`, a seat `A-1`, and a waiting room if people are to queue.
    pub(crate) async fn sale(&self, event: &str, queue: bool) {
        let mut settings = Settings::new("Winter tour", "EUR".parse().unwrap());
        settings.room = queue.then(RoomSettings::default);
        settings.max_per_user = None;
        self.ask(event, Command::CreateEvent { settings: Box::new(settings) }).await;
        let spec = PoolSpec { pool: "ga".parse().unwrap(), capacity: 1_000, price_minor: 500 };
        self.ask(event, Command::AddPool { spec }).await;
        self.add_seats(event, "A", 1).await;
        self.ask(event, Command::OpenSale { seed: None, public_value: None }).await;
    }

    /// Seats `<row>-1`, `<row>-2`, and so on.
    pub(crate) async fn add_seats(&self, event: &str, row: &str, count: u32) {
        let category = CategorySpec { name: "stalls".into(), price_minor: 9_000 };
        let seat = |number: u32| SeatSpec {
            seat: format!("{row}-{number}").parse().unwrap(),
            section: "hall".into(),
            row: row.into(),
            number: number.to_string().into(),
            category: "stalls".into(),
            rank: 0,
            aisle: false,
            access: Access::Anyone,
        };
        let seats = (1..=count).map(seat).collect();
        self.ask(event, Command::AddSeats { categories: vec![category], seats }).await;
    }

    pub(crate) async fn join(&self, event: &str, user: &str) {
        let number = self.places.fetch_add(1, Ordering::Relaxed);
        let (place, user) = (format!("{number:032x}").parse().unwrap(), user.parse().unwrap());
        self.ask(event, Command::Join { place, user }).await;
    }

    /// Holds the seat, or one unit of the pool if there is none.
    pub(crate) async fn hold(&self, event: &str, user: &str, booking: &str, seat: Option<&str>) {
        let pool = PoolLine { pool: "ga".parse().unwrap(), quantity: 1 };
        let pools = if seat.is_none() { vec![pool] } else { Vec::new() };
        let seats = seat.map(|seat| seat.parse().unwrap()).into_iter().collect();
        let (booking, user) = (booking.parse().unwrap(), user.parse().unwrap());
        let lines = Lines::new(pools, seats).unwrap();
        self.ask(
            event,
            Command::Hold {
                booking,
                user,
                lines,
                channels: Vec::new(),
                types: AskedTypes::default(),
            },
        )
        .await;
    }

    /// Has the ledger know whose a booking is.
    pub(crate) async fn ledger_knows(&self, event: &str, booking: &str, user: &str) {
        let pool = PoolLine { pool: "ga".parse().unwrap(), quantity: 1 };
        let booking = Box::new(Booking {
            booking: booking.parse().unwrap(),
            event: event.parse().unwrap(),
            user: user.parse().unwrap(),
            status: HoldStatus::Released,
            lines: Lines::new(vec![pool], Vec::new()).unwrap(),
            prices_minor: Vec::new(),
            types: None,
            amount_minor: 500,
            fee_minor: 0,
            currency: "EUR".parse().unwrap(),
            payment: None,
            refund_minor: 0,
            checked_in: 0,
            created_at: self.clock.now(),
            confirmed_at: None,
            updated_at: self.clock.now(),
        });
        let facts = vec![Fact::Held(booking)];
        let projection = Projection { cursor: 1, facts, ..Projection::default() };
        self.ledger.project(projection).await.unwrap();
    }

    /// What the whole feed says, as (event, sequence, index).
    pub(crate) async fn feed(&self) -> Vec<(EventId, u64, u64)> {
        let mut all = Vec::new();
        let last = self.engine.committed();
        let mut feed = self.engine.subscribe(Seq(0));
        let mut read = Seq(0);
        while read < last {
            for entry in feed.next().await.unwrap().unwrap() {
                read = entry.seq;
                all.extend(numbers(&entry));
            }
        }
        all
    }
}

fn numbers(entry: &FeedEntry) -> Vec<(EventId, u64, u64)> {
    let indexes = 0..entry.changes.len();
    indexes.map(|index| (entry.event.clone(), entry.seq.0, index as u64)).collect()
}

impl Node {
    pub(crate) async fn until(&self, what: &str, holds: impl Fn(&kafka::health::State) -> bool) {
        let mut state = self.health.state();
        let waiting = tokio::time::timeout(PATIENCE, state.wait_for(|state| holds(state)));
        let Ok(Ok(_)) = waiting.await else {
            panic!("never: {what}; {:?}", *self.health.state().borrow());
        };
    }

    /// Comes back when everything that was decided so far is with Kafka.
    pub(crate) async fn until_told(&self, stage: &Stage) {
        let committed = stage.engine.committed();
        self.until("everything is published", |state| state.published >= committed).await;
    }

    /// Ends in order.
    pub(crate) async fn stop(self) {
        self.stop.send_replace(true);
        tokio::time::timeout(PATIENCE, self.task).await.expect("it ends").unwrap();
    }

    /// Ends in the middle of whatever it is at, without a word to anybody.
    pub(crate) async fn crash(self) {
        self.task.abort();
        assert!(self.task.await.unwrap_err().is_cancelled());
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.task.is_finished()
    }
}
