//! Mail about a booking whose buyer is corrected while it is made. The ledger does one thing at a time
//! here, so that the correction comes between any two of them.

use onrush_base::auth::keys::KeyDir;
use onrush_base::auth::link::BookingLinks;
use onrush_base::config::CertificateSettings;
use onrush_base::config::kinds::BOOKING_CONFIRMED;
use onrush_base::config::relay::{MailSettings, Tls};
use onrush_base::tickets::TicketSigner;
use onrush_core::hold::HoldStatus;
use onrush_core::lines::{Lines, PoolLine};
use onrush_core::settings::Settings;
use onrush_core::{Command, Time};
use onrush_ledger::Ledger;
use onrush_ledger::booking::{Booking, Buyer, Correction};
use onrush_ledger::delivery::Message;
use onrush_ledger::projection::{Fact, Projection};
use onrush_ledger::sqlite::{SqliteLedger, SteppedLedger};
use onrush_relay::RelayDeps;
use onrush_relay::courier::{Attempt, Channel};
use onrush_relay::mail::{Mail, MailChannel, MailServer, Sending};
use onrush_relay::messages::MAIL;
use onrush_store::Engine;
use onrush_store::embedded::{Clock, Embedded, Options};
use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use tempfile::TempDir;

const MISTYPED: &str = "ann@exmaple.example";
const RIGHT: &str = "ann@post.example";
const PAGE: &str = "https://shop.example/b/{booking}#{link}";

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

/// A confirmed booking with a mistyped address, and the channel that is to tell its buyer.
struct Post {
    ledger: Arc<SqliteLedger>,
    steps: SteppedLedger,
    channel: MailChannel,
    links: Arc<BookingLinks>,
    taken: Taken,
    booking: Booking,
    /// What the message says.
    body: &'static str,
    _dir: TempDir,
}

fn buyer(email: &str) -> Buyer {
    Buyer { name: "Ann Lee".into(), email: email.into(), language: "en".into() }
}

fn booking() -> Booking {
    let line = PoolLine { pool: "ga".parse().expect("an id"), quantity: 1 };
    Booking {
        booking: "gala.1".parse().expect("an id"),
        event: "gala".parse().expect("an id"),
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

/// Steps until an answer is there.
async fn run<T>(steps: &mut SteppedLedger, asked: impl Future<Output = T>) -> T {
    let mut asked = pin!(asked);
    loop {
        tokio::select! {
            biased;
            answer = &mut asked => return answer,
            () = steps.asked() => steps.step(),
        }
    }
}

impl Post {
    async fn new() -> Self {
        Self::with(HoldStatus::Confirmed).await
    }

    /// One whose booking stands like this in the ledger.
    async fn with(status: HoldStatus) -> Self {
        let dir = TempDir::new().expect("a directory");
        let booking = Booking { status, ..booking() };
        let engine = Arc::new(Embedded::open(dir.path(), Options::default()).expect("opened"));
        let settings = Settings::new("Winter gala", booking.currency);
        let create = Command::CreateEvent { settings: Box::new(settings) };
        engine.execute(booking.event.clone(), create).await.expect("done");

        let (ledger, mut steps) = SteppedLedger::open(dir.path()).expect("opened");
        let facts = vec![Fact::Held(Box::new(booking.clone()))];
        let page = Projection { cursor: 1, facts, ..Projection::default() };
        run(&mut steps, ledger.project(page)).await.expect("written");
        let named = ledger.set_buyer(&booking.booking, &booking.user, buyer(MISTYPED));
        run(&mut steps, named).await.expect("kept");

        let keys = KeyDir::open(dir.path()).expect("a directory");
        let links = Arc::new(BookingLinks::open(&keys, Some(PAGE.into())).expect("a key"));
        let parts = RelayDeps {
            ledger: ledger.clone(),
            engine,
            tickets: Arc::new(TicketSigner::open(&keys, "onrush").expect("a key")),
            links: links.clone(),
            clock: Clock::default(),
        };
        let settings = MailSettings {
            smtp: "mail.example:25".into(),
            tls: Tls::None,
            user: None,
            password: None,
            from: "Tickets <tickets@shop.example>".into(),
            reply_to: None,
            booking_url: Some(PAGE.into()),
            certificates: CertificateSettings::default(),
        };
        let taken = Taken::default();
        let channel = MailChannel::over(&settings, &parts, Box::new(taken.clone()));
        let channel = channel.expect("in order");
        Self { ledger, steps, channel, links, taken, booking, body: "{}", _dir: dir }
    }

    /// One attempt to send the confirmation, and how often it has asked the ledger. The buyer is
    /// corrected once it has been answered so often.
    async fn attempt(&mut self, correct_after: Option<usize>) -> (Attempt, usize) {
        let mut attempt = self.channel.attempt(Message {
            id: "gala-1-0".into(),
            kind: BOOKING_CONFIRMED.into(),
            event: self.booking.event.clone(),
            booking: Some(self.booking.booking.clone()),
            at: Time(5),
            body: self.body.into(),
            channels: vec![MAIL.into()],
        });
        let mut asked = 0;
        loop {
            if correct_after == Some(asked) {
                self.correct().await;
            }
            tokio::select! {
                biased;
                outcome = &mut attempt => return (outcome, asked),
                () = self.steps.asked() => self.steps.step(),
            }
            asked += 1;
        }
    }

    async fn correct(&mut self) {
        let Booking { booking, user, .. } = &self.booking;
        let (booking, user, was) = (booking.clone(), user.clone(), Some(MISTYPED.into()));
        let correction = Correction { booking, user, was, buyer: buyer(RIGHT) };
        let corrected = self.ledger.correct_buyer(correction);
        run(&mut self.steps, corrected).await.expect("kept");
    }

    /// The link that counts.
    async fn link(&mut self) -> String {
        let generation = self.ledger.link_generation(&self.booking.booking);
        let generation = run(&mut self.steps, generation).await.expect("read");
        self.links.make(&self.booking.booking, generation)
    }

    fn mails(&self) -> Vec<String> {
        self.taken.0.lock().expect("nobody panicked").clone()
    }
}

#[tokio::test]
async fn whoever_is_put_in_anothers_place_while_a_mail_is_made_is_the_only_one_who_gets_it() {
    let mut post = Post::new().await;
    let old = post.link().await;
    let (attempt, asked) = post.attempt(None).await;
    assert_eq!(attempt, Attempt::Done);
    assert!(post.mails()[0].contains(MISTYPED) && post.mails()[0].contains(&old));
    for after in 0..asked {
        let mut post = Post::new().await;
        let (mut attempt, _) = post.attempt(Some(after)).await;
        if matches!(attempt, Attempt::NotYet(_)) {
            assert_eq!(post.mails(), [""; 0], "after {after}");
            (attempt, _) = post.attempt(None).await;
        }
        assert_eq!(attempt, Attempt::Done, "after {after}");
        let mails = post.mails();
        let [mail] = &*mails else { panic!("one mail: after {after}: {mails:?}") };
        assert!(mail.contains(RIGHT) && !mail.contains(MISTYPED), "after {after}: {mail}");
        let fresh = post.link().await;
        assert!(mail.contains(&fresh), "after {after}: {fresh} is not in {mail}");
    }
}

/// It may be asked for before the feed was followed so far.
#[tokio::test]
async fn a_confirmation_that_is_sent_again_waits_until_the_ledger_knows_of_it() {
    let again = r#"{"confirmed_at": 5}"#;
    for (status, body, is_tried_again) in [
        (HoldStatus::Held, again, true),
        (HoldStatus::Paying, again, true),
        (HoldStatus::Expired, again, true),
        (HoldStatus::Released, again, false),
        (HoldStatus::Cancelled, again, false),
        (HoldStatus::Held, "{}", false),
    ] {
        let mut post = Post { body, ..Post::with(status).await };
        let (attempt, _) = post.attempt(None).await;
        let is_over = attempt == Attempt::Needless;
        let found = (matches!(attempt, Attempt::Failed(_)), is_over);
        assert_eq!(found, (is_tried_again, !is_tried_again), "{status} {body}: {attempt:?}");
        assert_eq!(post.mails(), [""; 0], "{status} {body}");
    }
}
