//! Mail about events that were archived before it went out.

use onrush_base::auth::keys::KeyDir;
use onrush_base::auth::link::BookingLinks;
use onrush_base::config::CertificateSettings;
use onrush_base::config::kinds::BOOKING_CONFIRMED;
use onrush_base::config::relay::{MailSettings, Tls};
use onrush_base::tickets::TicketSigner;
use onrush_core::hold::HoldStatus;
use onrush_core::ids::{BookingId, EventId};
use onrush_core::lines::{Lines, PoolLine};
use onrush_core::question::EventNow;
use onrush_core::settings::Settings;
use onrush_core::spec::{PoolSpec, Reason};
use onrush_core::tax::Tax;
use onrush_core::{Command, Refusal, Time};
use onrush_ledger::Ledger;
use onrush_ledger::booking::{Booking, Buyer};
use onrush_ledger::delivery::Message;
use onrush_ledger::projection::{Fact, Projection};
use onrush_ledger::sqlite::SqliteLedger;
use onrush_relay::RelayDeps;
use onrush_relay::courier::{Attempt, Channel};
use onrush_relay::mail::{Mail, MailChannel, MailServer, Sending};
use onrush_relay::messages::MAIL;
use onrush_store::embedded::{Clock, Embedded, Options};
use onrush_store::{Ask, Engine, Failure};
use std::sync::{Arc, Mutex};
use tempfile::TempDir;

/// A server that takes every mail, and keeps what it says.
#[derive(Clone, Default)]
struct Taken(Arc<Mutex<Vec<String>>>);

impl MailServer for Taken {
    fn send(&self, mail: Mail) -> Sending<'_> {
        // Soft breaks are undone; what matters is ASCII.
        let whole = String::from_utf8_lossy(&mail.formatted()).replace("=\r\n", "");
        self.0.lock().expect("nobody panicked").push(whole);
        Box::pin(std::future::ready(Ok(())))
    }
}

/// An event that was sold and archived, as the engine knows it.
async fn archive(engine: &Embedded, event: &EventId, settings: &Settings) {
    let spec = PoolSpec { pool: "ga".parse().expect("an id"), capacity: 3, price_minor: 10_700 };
    let reason = Reason { by: "bo".into(), why: "it is over".into() };
    for command in [
        Command::CreateEvent { settings: Box::new(settings.clone()) },
        Command::AddPool { spec },
        Command::OpenSale { seed: None, public_value: None },
        Command::Close,
        Command::Archive { reason },
    ] {
        engine.execute(event.clone(), command).await.expect("done");
    }
    let now = engine.ask(event.clone(), EventNow).await;
    assert!(matches!(now, Err(Failure::Refused(Refusal::EventArchived { .. }))), "{now:?}");
}

fn booking(event: &EventId, id: &BookingId) -> Booking {
    let line = PoolLine { pool: "ga".parse().expect("an id"), quantity: 1 };
    Booking {
        booking: id.clone(),
        event: event.clone(),
        user: "ann".parse().expect("an id"),
        status: HoldStatus::Confirmed,
        lines: Lines::new(vec![line], vec![]).expect("lines"),
        amount_minor: 10_700,
        prices_minor: vec![10_700],
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

fn message(event: &EventId, booking: &BookingId) -> Message {
    Message {
        id: "gala-1-0".into(),
        kind: BOOKING_CONFIRMED.into(),
        event: event.clone(),
        booking: Some(booking.clone()),
        at: Time(5),
        body: "{}".into(),
        channels: vec![MAIL.into()],
    }
}

/// What comes of a mail about an archived event, and what was sent. The ledger knows what the feed
/// told of the event as `known` says.
async fn sent(known: impl FnOnce(&EventId, &Settings) -> Vec<Fact>) -> (Attempt, Vec<String>) {
    let dir = TempDir::new().expect("a directory");
    let engine = Arc::new(Embedded::open(dir.path(), Options::default()).expect("opened"));
    let ledger: Arc<dyn Ledger> = Arc::new(SqliteLedger::open(dir.path()).expect("opened"));
    let event: EventId = "gala".parse().expect("an id");
    let id: BookingId = "gala.1".parse().expect("an id");
    let tax = Tax { name: "VAT".into(), rate_bp: 700 };
    let settings = Settings::new("Winter gala", "EUR".parse().expect("a currency"));
    let settings = Settings { tax: Some(tax), ..settings };
    archive(&engine, &event, &settings).await;
    let mut facts = known(&event, &settings);
    facts.push(Fact::Held(Box::new(booking(&event, &id))));
    let page = Projection { cursor: 1, facts, ..Projection::default() };
    ledger.project(page).await.expect("written");
    let [name, email, language] = ["Ann Lee", "ann@post.example", "en"].map(str::to_owned);
    ledger
        .set_buyer(&id, &"ann".parse().expect("an id"), Buyer { name, email, language })
        .await
        .expect("kept");

    let keys = KeyDir::open(dir.path()).expect("a directory");
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
    let taken = Taken::default();
    let channel = MailChannel::over(&settings, &parts, Box::new(taken.clone())).expect("in order");
    let attempt = channel.attempt(message(&event, &id)).await;
    let mails = taken.0.lock().expect("nobody panicked").clone();
    (attempt, mails)
}

#[tokio::test]
async fn a_mail_that_goes_out_after_its_event_was_archived_has_the_title_and_the_tax() {
    let known = |event: &EventId, settings: &Settings| {
        vec![Fact::Event {
            event: event.clone(),
            title: settings.title.to_string(),
            currency: settings.currency.to_string(),
            settings: serde_json::to_string(settings).expect("plain data"),
            at: Time(1),
        }]
    };
    let (attempt, mails) = sent(known).await;
    assert_eq!(attempt, Attempt::Done);
    let [mail] = &*mails else { panic!("one mail: {mails:?}") };
    for said in ["Subject: Your tickets: Winter gala", "Event: Winter gala", "VAT 7%", "7.00 EUR"] {
        assert!(mail.contains(said), "{said}: {mail}");
    }
}

#[tokio::test]
async fn a_mail_waits_while_nobody_can_tell_the_tax_of_its_event() {
    let (attempt, mails) = sent(|_, _| Vec::new()).await;
    assert!(matches!(attempt, Attempt::Failed(_)), "{attempt:?}");
    assert_eq!(mails, [""; 0]);
}
