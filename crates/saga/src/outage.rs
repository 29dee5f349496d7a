//! An engine that is away once money was taken: sagas wait for it, and go on.

use super::driver::LONGEST_ENGINE_PAUSE_MS;
use super::engine_stub::{Asked, EngineStub};
use super::gateway::takes::Takes;
use super::gateway::{
    Answer, DeskNews, Gateway, GatewayError, NotGenuine, Notice, Order, Ours, RefundOrder,
    RefundStanding, Standing,
};
use super::sagas::{SagaDeps, Sagas};
use super::start::PaymentRequest;
use axum::http::HeaderMap;
use onrush_base::auth::payers::Payers;
use onrush_base::config::{Patience, RetentionSettings};
use onrush_core::hold::OnDecline;
use onrush_core::ids::{BookingId, EventId, PoolId, UserId};
use onrush_core::lines::{Lines, PoolLine};
use onrush_core::money::Currency;
use onrush_core::saga::Step;
use onrush_core::settings::Settings;
use onrush_core::spec::PoolSpec;
use onrush_core::types::AskedTypes;
use onrush_core::{Command, Time};
use onrush_ledger::saga::Saga;
use onrush_ledger::sqlite::SqliteLedger;
use onrush_relay::messages::Channels;
use onrush_store::embedded::{Clock, Embedded, ManualClock, Options};
use onrush_store::{Engine, Failure};
use std::future::ready;
use std::sync::Arc;

/// A gateway where everybody has paid already.
struct Cash;

fn silent<'a, T: Send + 'a>() -> Answer<'a, T> {
    Box::pin(ready(Err(GatewayError::Unavailable("says nothing of that".into()))))
}

impl Gateway for Cash {
    fn name(&self) -> &'static str {
        "cash"
    }

    fn step_minor(&self, _: Currency) -> i64 {
        1
    }

    fn create<'a>(&'a self, order: &'a Order) -> Answer<'a, Standing> {
        let (amount_minor, currency) = (order.amount_minor, order.currency);
        let taken = Standing::Captured { reference: "till-1".to_owned(), amount_minor, currency };
        Box::pin(ready(Ok(taken)))
    }

    fn status<'a>(&'a self, order: &'a Order) -> Answer<'a, Standing> {
        self.create(order)
    }

    fn capture<'a>(&'a self, order: &'a Order) -> Answer<'a, Standing> {
        self.create(order)
    }

    fn cancel<'a>(&'a self, order: &'a Order) -> Answer<'a, Standing> {
        self.create(order)
    }

    fn refund<'a>(&'a self, _: &'a RefundOrder) -> Answer<'a, RefundStanding> {
        silent()
    }

    fn takes(&self, _: Currency) -> Result<Takes, String> {
        Err("nobody asks".to_owned())
    }

    fn probe(&self) -> Answer<'_, ()> {
        Box::pin(ready(Ok(())))
    }

    fn ours<'a>(&'a self, _: &'a str) -> Answer<'a, Option<Ours>> {
        silent()
    }

    fn desk_refunds<'a>(&'a self, _: &'a str) -> Answer<'a, Vec<DeskNews>> {
        silent()
    }

    fn read_webhook(&self, _: &HeaderMap, _: &[u8], _: i64) -> Result<Notice, NotGenuine> {
        Err(NotGenuine::Unreadable)
    }
}

/// A sale of one pool, of which somebody holds a unit.
async fn held(engine: &Embedded, event: &EventId, booking: &BookingId, user: &UserId) {
    let run = async |command: Command| {
        engine.execute(event.clone(), command).await.expect("the engine answers");
    };
    let pool: PoolId = "ga".parse().expect("an id");
    let settings = Settings::new("Gala", "EUR".parse().expect("a currency"));
    run(Command::CreateEvent { settings: Box::new(settings) }).await;
    let spec = PoolSpec { pool: pool.clone(), capacity: 3, price_minor: 2_500 };
    run(Command::AddPool { spec }).await;
    run(Command::OpenSale { seed: None, public_value: None }).await;
    let lines = Lines::new(vec![PoolLine { pool, quantity: 1 }], vec![]).expect("lines");
    let (booking, user) = (booking.clone(), user.clone());
    let (channels, types) = (Vec::new(), AskedTypes::default());
    run(Command::Hold { booking, user, lines, channels, types }).await;
}

/// A saga whose money was taken, and whose confirmation the engine does not hear of so often.
struct Paid {
    sagas: Arc<Sagas>,
    clock: ManualClock,
    booking: BookingId,
    begun: Time,
    _dirs: [tempfile::TempDir; 2],
}

impl Paid {
    async fn with(mut left: u32, says: Failure) -> Self {
        let clock = ManualClock::new(Time(1_790_000_000_000));
        let dirs = [(); 2].map(|()| tempfile::tempdir().expect("a dir"));
        let options = Options { clock: Clock::Manual(clock.clone()), ..Options::default() };
        let engine = Embedded::open(dirs[0].path(), options).expect("the engine begins");
        let event: EventId = "gala".parse().expect("an id");
        let (booking, user): (BookingId, UserId) =
            ("gala.1".parse().expect("an id"), "ann".parse().expect("an id"));
        held(&engine, &event, &booking, &user).await;
        let engine = EngineStub::failing(engine, move |asked| {
            let is_lost = left > 0 && matches!(asked, Asked::Command(Command::Confirm { .. }));
            left -= u32::from(is_lost);
            is_lost.then(|| says.clone())
        });
        let sagas = Sagas::new(SagaDeps {
            engine: Arc::new(engine),
            ledger: Arc::new(SqliteLedger::open(dirs[1].path()).expect("opened")),
            gateway: Some(Arc::new(Cash)),
            clock: Clock::Manual(clock.clone()),
            patience: Patience { tries: 3, ..Patience::default() },
            retention: RetentionSettings { buyers_days: 0 },
            payers: Payers::new(&[7; 32]),
            channels: Channels::default(),
            cluster: None,
            pairing: None,
            issuer: None,
        });
        let on_decline = OnDecline::Keep;
        let (wanted, begun) = (booking.clone(), clock.now());
        let wish = PaymentRequest { booking: wanted, event, user, buyer: None, on_decline };
        let started = sagas.start(wish).await;
        assert!(started.is_ok_and(|started| started.payment.captured_minor > 0));
        Self { sagas, clock, booking, begun, _dirs: dirs }
    }

    async fn saga(&self) -> Saga {
        let record = self.sagas.ledger.saga_record(&self.booking).await.expect("it answers");
        record.expect("one").saga
    }

    async fn drive(&self) -> Saga {
        self.sagas.drive(&self.booking, true).await.expect("the ledger answers").saga
    }

    /// How often the history says this.
    async fn lines_of(&self, failure: &Failure) -> usize {
        let history = self.sagas.ledger.history(&self.booking).await.expect("it answers");
        history.iter().filter(|line| line.note == failure.to_string()).count()
    }
}

#[tokio::test]
async fn an_engine_that_is_away_uses_up_no_patience_and_what_was_paid_is_confirmed_after_it() {
    const OUTAGE: u32 = 20;
    let paid = Paid::with(OUTAGE, Failure::Unreachable).await;
    for nth in 1..OUTAGE {
        let saga = paid.saga().await;
        assert_eq!((saga.stuck, saga.tries), (None, 1), "after {nth} failures");
        let pause_ms = saga.next_at.expect("it is tried again").since_ms(paid.clock.now());
        assert!((1..=LONGEST_ENGINE_PAUSE_MS).contains(&pause_ms), "{pause_ms}");
        paid.clock.advance_ms(pause_ms);
        paid.drive().await;
    }
    assert_eq!(paid.lines_of(&Failure::Unreachable).await, 1);
    assert!(paid.clock.now().since_ms(paid.begun) < 599_000, "the hold waits yet");
    paid.clock.advance_ms(LONGEST_ENGINE_PAUSE_MS);
    let saga = paid.drive().await;
    assert_eq!((saga.step, saga.stuck), (Step::Confirmed, None));
}

#[tokio::test]
async fn an_engine_that_answers_with_an_error_each_time_needs_an_operator_in_the_end() {
    let paid = Paid::with(u32::MAX, Failure::Faulty).await;
    for tries in 1..3 {
        let saga = paid.saga().await;
        assert_eq!((saga.stuck, saga.tries), (None, tries));
        paid.clock.set(saga.next_at.expect("it is tried again"));
        paid.drive().await;
    }
    assert_eq!(paid.saga().await.stuck, Some(Failure::Faulty.to_string()));
    assert_eq!(paid.lines_of(&Failure::Faulty).await, 3, "each try that counts is told");
}
