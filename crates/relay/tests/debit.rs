//! Mail about a reservation that has run out, while a bank debit for it is under way.

use onrush_base::auth::keys::KeyDir;
use onrush_base::auth::link::BookingLinks;
use onrush_base::config::CertificateSettings;
use onrush_base::config::kinds::BOOKING_EXPIRED;
use onrush_base::config::relay::{MailSettings, Tls};
use onrush_base::tickets::TicketSigner;
use onrush_core::hold::HoldStatus;
use onrush_core::ids::{BookingId, EventId};
use onrush_core::lines::{Lines, PoolLine};
use onrush_core::saga::{Stage, Step};
use onrush_core::settings::Settings;
use onrush_core::{Command, Time};
use onrush_ledger::Ledger;
use onrush_ledger::booking::{Booking, Buyer};
use onrush_ledger::delivery::Message;
use onrush_ledger::money::{Capture, OnDecline, Payment};
use onrush_ledger::projection::{Fact, Projection};
use onrush_ledger::saga::{Saga, Transition, UNDER_WAY_UNWANTED};
use onrush_ledger::sqlite::SqliteLedger;
use onrush_relay::RelayDeps;
use onrush_relay::courier::{Courier, WAIT_AT_MOST_MS};
use onrush_relay::mail::{Asked, Mail, MailChannel, MailServer, NotTaken, Sending};
use onrush_relay::messages::MAIL;
use onrush_store::Engine;
use onrush_store::embedded::{Clock, Embedded, ManualClock, Options};
use std::future::ready;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tempfile::TempDir;
use tokio::sync::watch;

const DAY_MS: i64 = 24 * 3_600_000;
/// How long a condition may take to come true before the test fails.
const PATIENCE: Duration = Duration::from_secs(20);

/// A server that takes mail unless it is busy, and keeps what it took.
#[derive(Clone, Default)]
struct MailBox {
    taken: Arc<Mutex<Vec<String>>>,
    is_busy: Arc<AtomicBool>,
}

impl MailServer for MailBox {
    fn send(&self, mail: Mail) -> Sending<'_> {
        if self.is_busy.load(Ordering::SeqCst) {
            let (code, asked, said) = (Some(451), Asked::Content, "busy".into());
            return Box::pin(ready(Err(NotTaken { code, asked, said })));
        }
        let whole = String::from_utf8_lossy(&mail.formatted()).replace("=\r\n", "");
        self.taken.lock().expect("nobody panicked").push(whole);
        Box::pin(ready(Ok(())))
    }
}

/// A shop with one booking that has run out, whose buyer is to be told.
struct Shop {
    ledger: Arc<dyn Ledger>,
    clock: ManualClock,
    courier: Arc<Courier>,
    mails: MailBox,
    booking: Booking,
    /// Stops the courier by being dropped.
    running: watch::Sender<bool>,
    _dir: TempDir,
}

fn booking(event: &EventId, id: &BookingId, at: Time) -> Booking {
    let line = PoolLine { pool: "ga".parse().expect("an id"), quantity: 1 };
    Booking {
        booking: id.clone(),
        event: event.clone(),
        user: "ann".parse().expect("an id"),
        status: HoldStatus::Expired,
        lines: Lines::new(vec![line], vec![]).expect("lines"),
        amount_minor: 2_500,
        prices_minor: vec![2_500],
        types: None,
        fee_minor: 0,
        currency: "EUR".parse().expect("a currency"),
        payment: None,
        refund_minor: 0,
        checked_in: 0,
        created_at: at,
        confirmed_at: None,
        updated_at: at,
    }
}

impl Shop {
    async fn start() -> Self {
        let dir = TempDir::new().expect("a directory");
        let clock = ManualClock::new(Time(1_800_000_000_000));
        let at = clock.now();
        let options = Options { clock: Clock::Manual(clock.clone()), ..Options::default() };
        let engine = Arc::new(Embedded::open(dir.path(), options).expect("opened"));
        let ledger: Arc<dyn Ledger> = Arc::new(SqliteLedger::open(dir.path()).expect("opened"));
        let event: EventId = "gala".parse().expect("an id");
        let id: BookingId = "gala.1".parse().expect("an id");
        let settings = Settings::new("Winter gala", "EUR".parse().expect("a currency"));
        let create = Command::CreateEvent { settings: Box::new(settings) };
        engine.execute(event.clone(), create).await.expect("done");
        let keys = KeyDir::open(dir.path()).expect("a directory");
        let parts = RelayDeps {
            ledger: ledger.clone(),
            engine,
            tickets: Arc::new(TicketSigner::open(&keys, "onrush").expect("a key")),
            links: Arc::new(BookingLinks::open(&keys, None).expect("a key")),
            clock: Clock::Manual(clock.clone()),
        };
        let settings = MailSettings {
            smtp: "mail.example:25".into(),
            tls: Tls::None,
            user: None,
            password: None,
            from: "Tickets <tickets@shop.example>".into(),
            reply_to: None,
            booking_url: None,
            certificates: CertificateSettings::default(),
        };
        let mails = MailBox::default();
        let channel = MailChannel::over(&settings, &parts, Box::new(mails.clone()));
        let channel = Arc::new(channel.expect("in order"));
        let courier = Courier::new(channel, ledger.clone(), Clock::Manual(clock.clone()));
        let (courier, running) = (Arc::new(courier), watch::Sender::new(false));
        let booking = booking(&event, &id, at);
        let shop = Self { ledger, clock, courier, mails, booking, running, _dir: dir };
        shop.tell().await;
        shop.payment_is(Step::PaymentSent, Stage::Closing, UNDER_WAY_UNWANTED).await;
        drop(tokio::spawn(shop.courier.clone().run(shop.running.subscribe())));
        shop
    }

    /// Who the buyer is, and that the hold has run out.
    async fn tell(&self) {
        let Booking { booking, event, user, .. } = &self.booking;
        let message = Message {
            id: "gala-1-0".into(),
            kind: BOOKING_EXPIRED.into(),
            event: event.clone(),
            booking: Some(booking.clone()),
            at: self.clock.now(),
            body: "{}".into(),
            channels: vec![MAIL.into()],
        };
        let [name, email, language] = ["Ann Lee", "ann@post.example", "en"].map(str::to_owned);
        let buyer = Buyer { name, email, language };
        let facts = vec![Fact::Held(Box::new(self.booking.clone()))];
        let page =
            Projection { cursor: 1, facts, messages: vec![message], ..Projection::default() };
        self.ledger.project(page).await.expect("written");
        self.ledger.set_buyer(booking, user, buyer).await.expect("kept");
    }

    /// Writes down where the booking's only payment stands.
    async fn payment_is(&self, step: Step, stage: Stage, note: &str) {
        let Booking { booking, amount_minor, currency, created_at, .. } = &self.booking;
        let payment = Payment {
            payment: format!("{booking}.000000000001").parse().expect("an id"),
            booking: booking.clone(),
            gateway: "stripe".into(),
            reference: Some("pi_1".into()),
            url: None,
            client_secret: None,
            amount_minor: *amount_minor,
            currency: *currency,
            stage,
            capture: Capture::AtOnce,
            captured_minor: 0,
            why: None,
            flagged: false,
            on_decline: OnDecline::Keep,
            created_at: *created_at,
            updated_at: self.clock.now(),
        };
        let known = self.ledger.saga_record(booking).await.expect("read");
        let saga = Saga {
            step,
            version: known.map_or(0, |record| record.saga.version) + 1,
            payment: Some(payment.payment.clone()),
            ..Saga::of_booking(&self.booking)
        };
        let transition = Transition {
            saga,
            payments: vec![payment],
            refunds: Vec::new(),
            buyer: None,
            note: note.into(),
            messages: Vec::new(),
        };
        self.ledger.advance(transition).await.expect("written");
    }

    /// When the next attempt is due, once all that are due by now were made.
    async fn settled(&self) -> Option<Time> {
        let settling = async {
            loop {
                match self.ledger.next_delivery(MAIL).await.expect("read") {
                    Some(next) if next <= self.clock.now() => tokio::task::yield_now().await,
                    next => return next,
                }
            }
        };
        tokio::time::timeout(PATIENCE, settling).await.expect("the outbox settles")
    }

    /// Moves the time to the next attempt.
    async fn pass_to_next(&self) -> Option<Time> {
        let next = self.settled().await.expect("there is a next attempt");
        self.pass_ms(next.since_ms(self.clock.now())).await
    }

    async fn pass_ms(&self, ms: i64) -> Option<Time> {
        self.clock.advance_ms(ms);
        self.courier.ring();
        self.settled().await
    }

    fn taken(&self) -> Vec<String> {
        self.mails.taken.lock().expect("nobody panicked").clone()
    }

    async fn given_up(&self) -> Vec<String> {
        let page = self.ledger.dead_letters(None, None, 9).await.expect("read");
        page.rows.into_iter().map(|letter| letter.error).collect()
    }
}

#[tokio::test]
async fn a_debit_that_fails_after_days_is_told_once() {
    let shop = Shop::start().await;
    let begun = shop.clock.now();
    while shop.clock.now() < begun.plus_ms(4 * DAY_MS) {
        assert!(shop.pass_to_next().await.is_some());
    }
    assert_eq!((shop.taken(), shop.given_up().await), (vec![], vec![]));
    shop.payment_is(Step::Failed, Stage::Void, "the gateway will take no money").await;
    // That it waited for so long leaves it as many attempts as ever.
    shop.mails.is_busy.store(true, Ordering::SeqCst);
    for _ in 0..3 {
        assert!(shop.pass_to_next().await.is_some());
    }
    shop.mails.is_busy.store(false, Ordering::SeqCst);
    assert_eq!(shop.pass_to_next().await, None);
    let mails = shop.taken();
    let [mail] = &*mails else { panic!("one mail: {mails:?}") };
    assert!(mail.contains("Subject: Your reservation has run out: Winter gala"), "{mail}");
    assert_eq!(shop.courier.last_arrival(), Some(shop.clock.now()));
    assert_eq!(shop.given_up().await, [""; 0]);
}

#[tokio::test]
async fn a_payment_whose_end_nobody_learns_is_waited_for_for_a_month() {
    let shop = Shop::start().await;
    shop.settled().await;
    assert!(shop.pass_ms(WAIT_AT_MOST_MS - DAY_MS).await.is_some());
    assert_eq!(shop.given_up().await, [""; 0]);
    assert_eq!(shop.pass_ms(DAY_MS).await, None);
    assert_eq!(shop.given_up().await, ["the payment's end is not known yet"]);
    assert_eq!(shop.taken(), [""; 0]);
}

#[tokio::test]
async fn whose_money_was_taken_is_not_told_that_the_places_are_on_sale_again() {
    let shop = Shop::start().await;
    assert!(shop.settled().await.is_some());
    shop.payment_is(Step::PaymentOk, Stage::Captured, "money was taken").await;
    assert_eq!(shop.pass_to_next().await, None);
    assert_eq!((shop.taken(), shop.given_up().await), (vec![], vec![]));
    assert_eq!(shop.courier.last_arrival(), None, "nothing was sent");
}
