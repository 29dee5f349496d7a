//! A clerk beside a journal and a ledger that answer on the test's own thread, so that time passes
//! only when nothing is left to do.

use super::*;
use crate::rows::payment_of_saga;
use crate::sagas::SagaDeps;
use onrush_base::auth::payers::Payers;
use onrush_base::cluster_store::{ClusterStore, Pending, WantedPool};
use onrush_base::config::{Patience, RetentionSettings};
use onrush_core::hold::HoldStatus;
use onrush_core::ids::{PaymentId, PoolId};
use onrush_core::lines::PoolLine;
use onrush_core::money::Currency;
use onrush_core::saga::{Stage, Step};
use onrush_core::spec::{PoolSpec, Reason};
use onrush_core::{Command, Time};
use onrush_ledger::Ledger;
use onrush_ledger::booking::Booking;
use onrush_ledger::money::{Capture, OnDecline};
use onrush_ledger::projection::{Fact, Projection};
use onrush_ledger::receipt::ReceiptFilter;
use onrush_ledger::saga::Saga;
use onrush_ledger::sqlite::{SqliteLedger, SteppedLedger};
use onrush_relay::messages::Channels;
use onrush_store::embedded::{Clock, Embedded, Options, Stepped};
use tempfile::TempDir;
use tokio::time::sleep;

/// What one unit costs.
const PRICE_MINOR: i64 = 1_000;

/// There are other nodes, of which a clerk asks nothing.
struct Others;

impl ClusterStore for Others {
    fn keep(&self, _: String, _: Vec<u8>) -> Pending<Vec<u8>> {
        unreachable!("a clerk keeps no file")
    }

    fn fetch(&self, _: String) -> Pending<Option<Vec<u8>>> {
        unreachable!("a clerk reads no file")
    }

    fn all(&self, _: String) -> Pending<Vec<(String, Vec<u8>)>> {
        unreachable!("a clerk reads no files")
    }

    fn replace(&self, _: String, _: Option<Vec<u8>>, _: Vec<u8>) -> Pending<bool> {
        unreachable!("a clerk replaces no file")
    }

    fn forget(&self, _: Vec<String>) -> Pending<()> {
        unreachable!("a clerk removes no file")
    }

    fn take_turn(&self, _: String, _: u32) -> Pending<bool> {
        unreachable!("a clerk takes no turn")
    }

    fn end_turn(&self, _: String) -> Pending<()> {
        unreachable!("a clerk has no turn")
    }

    fn inventory(&self, _: Option<EventId>) -> Pending<Vec<WantedPool>> {
        unreachable!("a clerk asks for no inventory")
    }

    fn set_flag(&self, _: String, _: u8) -> Pending<()> {
        unreachable!("a clerk sets no flag")
    }
}

/// One of several nodes, and the event `gala` with the pools `ga` and `vip`.
struct Node {
    sagas: Arc<Sagas>,
    engine: Arc<Embedded>,
    ledger: Arc<SqliteLedger>,
    cursor: u64,
    _dir: TempDir,
}

fn event() -> EventId {
    "gala".parse().expect("an id")
}

fn pool(name: &str) -> PoolId {
    name.parse().expect("an id")
}

fn settings() -> Settings {
    let currency: Currency = "EUR".parse().expect("a currency");
    Settings::new("Gala", currency)
}

impl Node {
    async fn open() -> Self {
        let dir = TempDir::new().expect("a directory");
        let opened = Stepped::open(dir.path(), Options::default());
        let (engine, mut decisions) = opened.expect("opened");
        tokio::spawn(async move {
            loop {
                decisions.asked().await;
                if !(decisions.decide() && decisions.commit()) {
                    return;
                }
            }
        });
        let (ledger, mut writes) = SteppedLedger::open(dir.path()).expect("opened");
        tokio::spawn(async move {
            loop {
                writes.asked().await;
                writes.step();
                tokio::task::yield_now().await;
            }
        });
        let [name, line] = ["Hall", "1 Lane"].map(str::to_owned);
        let seller = Seller { name, address: vec![line], tax_id: None };
        let sagas = Sagas::new(SagaDeps {
            engine: engine.clone(),
            ledger: ledger.clone(),
            gateway: None,
            clock: Clock::default(),
            patience: Patience::default(),
            retention: RetentionSettings::default(),
            payers: Payers::new(&[7; 32]),
            channels: Channels::default(),
            cluster: Some(Arc::new(Others)),
            pairing: None,
            issuer: Some(Issuer {
                seller,
                series: "R".parse().expect("a series"),
                rule: ReceiptRule::EVERY,
            }),
        });
        let node = Self { sagas, engine, ledger, cursor: 0, _dir: dir };
        node.run(Command::CreateEvent { settings: Box::new(settings()) }).await;
        for name in ["ga", "vip"] {
            let (pool, price_minor) = (pool(name), PRICE_MINOR);
            node.run(Command::AddPool { spec: PoolSpec { pool, capacity: 9, price_minor } }).await;
        }
        node
    }

    async fn run(&self, command: Command) {
        self.engine.execute(event(), command).await.expect("done");
    }

    async fn project(&mut self, facts: Vec<Fact>) {
        let after = self.cursor;
        self.cursor += 1;
        let page = Projection { after, cursor: self.cursor, facts, ..Projection::default() };
        self.ledger.project(page).await.expect("written");
    }

    /// A unit of each of these pools was paid for and confirmed, as the ledger has it. No clerk is told.
    async fn sell(&mut self, id: &str, pools: &[&str]) -> BookingId {
        let payment: PaymentId = format!("{id}.000000000001").parse().expect("an id");
        let units = pools.iter().map(|name| PoolLine { pool: pool(name), quantity: 1 });
        let booking = Booking {
            booking: id.parse().expect("an id"),
            event: event(),
            user: "ann".parse().expect("an id"),
            status: HoldStatus::Confirmed,
            lines: Lines::new(units.collect(), vec![]).expect("lines"),
            prices_minor: vec![],
            types: None,
            amount_minor: PRICE_MINOR * i64::try_from(pools.len()).expect("few"),
            fee_minor: 0,
            currency: settings().currency,
            payment: Some(payment.clone()),
            refund_minor: 0,
            checked_in: 0,
            created_at: Time(5),
            confirmed_at: Some(Time(7)),
            updated_at: Time(7),
        };
        let saga = Saga {
            step: Step::Confirmed,
            payment: Some(payment.clone()),
            payment_completed_at: Some(Time(6)),
            ..Saga::of_booking(&booking)
        };
        let (capture, then) = (Capture::AtOnce, OnDecline::Keep);
        let mut paid = payment_of_saga(&saga, &payment, "sandbox", capture, then, Time(5));
        paid.stage = Stage::Captured;
        paid.captured_minor = paid.amount_minor;
        let transition = Transition {
            saga,
            payments: vec![paid],
            refunds: vec![],
            buyer: None,
            note: "sold".into(),
            messages: vec![],
        };
        self.ledger.advance(transition).await.expect("written");
        let id = booking.booking.clone();
        self.project(vec![Fact::Held(Box::new(booking))]).await;
        id
    }

    /// What has a receipt.
    async fn issued(&self) -> Vec<BookingId> {
        let page = self.ledger.receipts(ReceiptFilter::default(), 99).await.expect("read");
        page.rows.into_iter().map(|receipt| receipt.booking).collect()
    }
}

#[tokio::test(start_paused = true)]
async fn whoever_is_told_of_something_each_minute_looks_at_everything_in_ten_all_the_same() {
    let mut node = Node::open().await;
    let clerk = tokio::spawn(run(node.sagas.clone()));
    // The first look is over once time passes.
    sleep(Duration::from_secs(1)).await;
    // A node was told of it that has died since.
    let left = node.sell("gala.1", &["ga"]).await;
    let other: BookingId = "gala.2".parse().expect("an id");
    for _ in 0..11 {
        node.sagas.clerk.as_ref().expect("a clerk").tell([other.clone()]);
        sleep(Duration::from_secs(60)).await;
    }
    assert_eq!(node.issued().await, [left]);
    node.sagas.stop();
    clerk.await.expect("it ended");
}

#[tokio::test(start_paused = true)]
async fn receipts_of_an_archived_event_are_made_where_its_ledger_tells_the_prices() {
    let mut node = Node::open().await;
    let settings = settings();
    let catalogued = Fact::Event {
        event: event(),
        title: settings.title.to_string(),
        currency: settings.currency.to_string(),
        settings: serde_json::to_string(&settings).expect("plain data"),
        at: Time(1),
    };
    node.project(vec![catalogued]).await;
    let plain = node.sell("gala.1", &["ga"]).await;
    for id in ["gala.2", "gala.3"] {
        node.sell(id, &["ga", "vip"]).await;
    }
    let reason = Reason { by: "bo".into(), why: "it is over".into() };
    let open = Command::OpenSale { seed: None, public_value: None };
    for command in [open, Command::Close, Command::Archive { reason }] {
        node.run(command).await;
    }
    let sagas = node.sagas.clone();
    let mut work = Work::new(&sagas, &sagas.clerk.as_ref().expect("a clerk").issuer);
    // The log tells of the others once, and not at each look.
    for not_told in [Some((event(), 2)), None] {
        work.issue_all().await.expect("looked at");
        assert_eq!(work.not_told(), not_told);
        assert_eq!(node.issued().await, std::slice::from_ref(&plain));
    }
}
