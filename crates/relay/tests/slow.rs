//! Mail over a server that takes it long before it says so.

use onrush_base::auth::keys::KeyDir;
use onrush_base::auth::link::BookingLinks;
use onrush_base::config::CertificateSettings;
use onrush_base::config::kinds::BOOKING_CONFIRMED;
use onrush_base::config::relay::{MailSettings, Tls};
use onrush_base::tickets::TicketSigner;
use onrush_core::hold::HoldStatus;
use onrush_core::ids::{BookingId, EventId};
use onrush_core::lines::{Lines, PoolLine};
use onrush_core::settings::Settings;
use onrush_core::{Command, Time};
use onrush_ledger::Ledger;
use onrush_ledger::booking::{Booking, Buyer};
use onrush_ledger::delivery::Message;
use onrush_ledger::projection::{Fact, Projection};
use onrush_ledger::sqlite::SqliteLedger;
use onrush_relay::RelayDeps;
use onrush_relay::courier::{Attempt, Channel};
use onrush_relay::mail::{Mail, MailChannel, MailServer, Sending};
use onrush_relay::messages::MAIL;
use onrush_store::Engine;
use onrush_store::embedded::{Clock, Embedded, Options};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tempfile::TempDir;

/// A server that has each mail at once, and says so when it has looked into it for two minutes.
#[derive(Clone, Default)]
struct Scanner(Arc<AtomicU32>);

impl MailServer for Scanner {
    fn send(&self, _: Mail) -> Sending<'_> {
        Box::pin(async {
            self.0.fetch_add(1, Ordering::SeqCst);
            // Only from here on: the threads of the ledger take real time.
            tokio::time::pause();
            tokio::time::sleep(Duration::from_secs(120)).await;
            tokio::time::resume();
            Ok(())
        })
    }
}

fn booking(event: &EventId, id: &BookingId) -> Booking {
    let line = PoolLine { pool: "ga".parse().expect("an id"), quantity: 1 };
    Booking {
        booking: id.clone(),
        event: event.clone(),
        user: "ann".parse().expect("an id"),
        status: HoldStatus::Confirmed,
        lines: Lines::new(vec![line], vec![]).expect("lines"),
        amount_minor: 2_500,
        prices_minor: vec![2_500],
        types: None,
        fee_minor: 0,
        currency: "EUR".parse().expect("a currency"),
        payment: None,
        refund_minor: 0,
        checked_in: 0,
        created_at: Time(5),
        confirmed_at: Some(Time(5)),
        updated_at: Time(5),
    }
}

/// The channel over this server, of a shop with one confirmed booking.
async fn channel(dir: &Path, event: &EventId, id: &BookingId, server: Scanner) -> MailChannel {
    let engine = Arc::new(Embedded::open(dir, Options::default()).expect("opened"));
    let ledger: Arc<dyn Ledger> = Arc::new(SqliteLedger::open(dir).expect("opened"));
    let settings = Settings::new("Winter gala", "EUR".parse().expect("a currency"));
    let create = Command::CreateEvent { settings: Box::new(settings) };
    engine.execute(event.clone(), create).await.expect("done");
    let facts = vec![Fact::Held(Box::new(booking(event, id)))];
    let page = Projection { cursor: 1, facts, ..Projection::default() };
    ledger.project(page).await.expect("written");
    let [name, email, language] = ["Ann Lee", "ann@post.example", "en"].map(str::to_owned);
    let (user, buyer) = ("ann".parse().expect("an id"), Buyer { name, email, language });
    ledger.set_buyer(id, &user, buyer).await.expect("kept");
    let keys = KeyDir::open(dir).expect("a directory");
    let parts = RelayDeps {
        ledger,
        engine,
        tickets: Arc::new(TicketSigner::open(&keys, "onrush").expect("a key")),
        links: Arc::new(BookingLinks::open(&keys, None).expect("a key")),
        clock: Clock::default(),
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
    MailChannel::over(&settings, &parts, Box::new(server)).expect("in order")
}

#[tokio::test]
async fn a_server_that_looks_into_a_mail_for_minutes_gets_it_once() {
    let (dir, server) = (TempDir::new().expect("a directory"), Scanner::default());
    let event: EventId = "gala".parse().expect("an id");
    let id: BookingId = "gala.1".parse().expect("an id");
    let channel = channel(dir.path(), &event, &id, server.clone()).await;
    let message = Message {
        id: "gala-1-0".into(),
        kind: BOOKING_CONFIRMED.into(),
        event,
        booking: Some(id),
        at: Time(5),
        body: "{}".into(),
        channels: vec![MAIL.into()],
    };
    assert_eq!(channel.attempt(message).await, Attempt::Done);
    assert_eq!(server.0.load(Ordering::SeqCst), 1);
}
