//! A follower that begins anew, beside an engine of which some events are out of reach or busy.

use super::*;
use crate::engine_stub::{Asked, EngineStub};
use crate::reach::PAUSES;
use crate::sagas::SagaDeps;
use onrush_base::auth::payers::Payers;
use onrush_base::config::kinds::BOOKING_RELEASED;
use onrush_base::config::relay::WebhookSettings;
use onrush_base::config::{CertificateSettings, Config, Patience, RetentionSettings, Secret};
use onrush_core::Command;
use onrush_core::ids::UserId;
use onrush_core::spec::PoolSpec;
use onrush_core::types::AskedTypes;
use onrush_ledger::sqlite::SqliteLedger;
use onrush_relay::messages::Channels;
use onrush_store::embedded::{Clock, Embedded, Options};
use tempfile::TempDir;

/// The event that is out of reach for whoever asks about it.
const AWAY: &str = "gala";
/// The other one.
const HERE: &str = "tour";

/// Events with a pool each.
struct Stage {
    engine: Arc<EngineStub>,
    sagas: Arc<Sagas>,
    _dirs: [TempDir; 2],
}

fn event(name: &str) -> EventId {
    name.parse().expect("an id")
}

/// Whoever holds something in an event.
fn buyer() -> UserId {
    "ann".parse().expect("an id")
}

/// The booking that they have there.
fn booking_in(name: &str) -> BookingId {
    format!("{name}.1").parse().expect("an id")
}

impl Stage {
    /// Somebody holds a unit of each of both events.
    async fn with_holds(away_minor: i64, here_minor: i64) -> Self {
        Self::with(&[(AWAY, away_minor), (HERE, here_minor)]).await
    }

    /// Somebody holds a unit of each event, for its price.
    async fn with(events: &[(&str, i64)]) -> Self {
        let dirs = [(); 2].map(|()| TempDir::new().expect("a directory"));
        let engine = Embedded::open(dirs[0].path(), Options::default()).expect("the engine begins");
        let engine = Arc::new(EngineStub::failing(engine, |asked| {
            is_about(asked, AWAY).then_some(Failure::Unreachable)
        }));
        let hook = WebhookSettings {
            name: "crm".into(),
            url: "https://crm.example/hook".into(),
            secret: Secret::from("a secret for tests only".to_owned()),
            kinds: None,
            allow_private: false,
            certificates: CertificateSettings::default(),
        };
        let config = Config { webhooks: vec![hook], ..Config::default() };
        let sagas = Sagas::new(SagaDeps {
            engine: engine.clone(),
            ledger: Arc::new(SqliteLedger::open(dirs[1].path()).expect("opened")),
            gateway: None,
            clock: Clock::default(),
            patience: Patience::default(),
            retention: RetentionSettings::default(),
            payers: Payers::new(&[7; 32]),
            channels: Channels::of(&config),
            cluster: None,
            pairing: None,
            issuer: None,
        });
        let stage = Self { engine, sagas, _dirs: dirs };
        for &(name, price_minor) in events {
            let pool: PoolId = "ga".parse().expect("an id");
            let settings = Settings::new(name, "EUR".parse().expect("a currency"));
            stage.run(name, Command::CreateEvent { settings: Box::new(settings) }).await;
            let spec = PoolSpec { pool, capacity: 3, price_minor };
            stage.run(name, Command::AddPool { spec }).await;
            stage.run(name, Command::OpenSale { seed: None, public_value: None }).await;
            stage.hold(name, booking_in(name)).await;
        }
        stage
    }

    async fn run(&self, name: &str, command: Command) {
        self.sagas.engine.execute(event(name), command).await.expect("the engine answers");
    }

    async fn hold(&self, name: &str, booking: BookingId) {
        let line = PoolLine { pool: "ga".parse().expect("an id"), quantity: 1 };
        let lines = Lines::new(vec![line], vec![]).expect("lines");
        let (user, channels, types) = (buyer(), Vec::new(), AskedTypes::default());
        self.run(name, Command::Hold { booking, user, lines, channels, types }).await;
    }

    async fn release(&self, name: &str) {
        self.run(name, Command::Release { booking: booking_in(name), user: buyer() }).await;
    }

    async fn confirm(&self, name: &str) {
        let (booking, user) = (booking_in(name), buyer());
        self.run(name, Command::Confirm { booking, user, payment: None }).await;
    }

    /// What was decided after a decision.
    async fn decided_after(&self, after: Seq) -> FeedPage {
        let mut feed = self.sagas.engine.subscribe(after);
        let mut page = FeedPage::new();
        while page.last().is_none_or(|entry| entry.seq < self.sagas.engine.committed()) {
            page.extend(feed.next().await.expect("a journal").expect("the engine runs"));
        }
        page
    }

    /// What a follower that has seen nothing before makes of a page.
    async fn followed(&self, page: FeedPage) -> Result<Projection, String> {
        let mut projection = Projection::default();
        let mut follower = Follower::new(self.sagas.clone());
        assert!(!follower.gather(Some(page), &mut projection).await?, "more may come");
        Ok(projection)
    }
}

/// Whether the engine is asked about this event.
fn is_about(asked: &Asked<'_>, name: &str) -> bool {
    matches!(asked, Asked::Question(event) if event.as_str() == name)
}

/// What an engine says that is so often busy before it tells of the event that was out of reach.
fn busy(mut left: u32) -> impl FnMut(&Asked<'_>) -> Option<Failure> + Send + 'static {
    move |asked| {
        let is_busy = left > 0 && is_about(asked, AWAY);
        left -= u32::from(is_busy);
        is_busy.then_some(Failure::Busy { retry_after_ms: 1 })
    }
}

/// What an engine says that is busy for a long time with every event but this one.
fn busy_but_for(name: &'static str) -> impl FnMut(&Asked<'_>) -> Option<Failure> + Send + 'static {
    move |asked| {
        let is_busy = matches!(asked, Asked::Question(event) if event.as_str() != name);
        is_busy.then_some(Failure::Busy { retry_after_ms: 60_000 })
    }
}

/// What messages say of holds that were released.
fn released(projection: &Projection) -> Vec<&str> {
    let released = projection.messages.iter().filter(|told| told.kind == BOOKING_RELEASED);
    released.map(|told| told.body.as_str()).collect()
}

/// Whether the ledger is told that the booking of an event is confirmed.
fn is_confirmed_in(projection: &Projection, name: &str) -> bool {
    projection.facts.iter().any(|fact| {
        matches!(fact, Fact::Moved(moved)
            if moved.booking == booking_in(name) && moved.status == HoldStatus::Confirmed)
    })
}

#[tokio::test]
async fn an_end_in_an_event_out_of_reach_keeps_no_other_event_from_the_ledger() {
    let stage = Stage::with_holds(2_500, 0).await;
    let before = stage.sagas.engine.committed();
    stage.release(AWAY).await;
    stage.confirm(HERE).await;
    let page = stage.decided_after(before).await;
    let projection = stage.followed(page).await.expect("it is followed");
    assert!(is_confirmed_in(&projection, HERE), "{projection:?}");
    let [released, _] = &*projection.messages else { panic!("{projection:?}") };
    assert_eq!((released.kind.as_str(), released.body.as_str()), (BOOKING_RELEASED, "{}"));
}

#[tokio::test]
async fn a_confirmation_out_of_reach_waits_only_if_the_ledger_does_not_know_its_booking() {
    let stage = Stage::with_holds(0, 0).await;
    let before = stage.sagas.engine.committed();
    stage.confirm(AWAY).await;
    stage.confirm(HERE).await;
    let page = stage.decided_after(before).await;
    let why = stage.followed(page.clone()).await.expect_err("nobody tells what was sold");
    assert!(why.contains(booking_in(AWAY).as_str()), "{why}");

    let placed = stage.decided_after(Seq::default()).await;
    let terms = placed.iter().flat_map(|entry| &entry.changes).find_map(|change| match change {
        Change::Hold(HoldChange::HoldPlaced { terms, .. }) => Some(terms),
        Change::Setup(_)
        | Change::Sale(_)
        | Change::Queue(_)
        | Change::Visitor(_)
        | Change::Claim(_)
        | Change::Hold(_)
        | Change::Booking(_) => None,
    });
    let terms = terms.expect("the first hold was placed there");
    let fact = held(&event(AWAY), terms, "EUR".parse().expect("a currency"), Time(1));
    let told = Projection { cursor: before.0, facts: vec![fact], ..Projection::default() };
    stage.sagas.ledger.project(told).await.expect("written");
    let projection = stage.followed(page).await.expect("it is followed");
    assert!(is_confirmed_in(&projection, AWAY) && is_confirmed_in(&projection, HERE));
}

#[tokio::test]
async fn an_engine_that_is_only_busy_is_asked_again_what_was_held() {
    let stage = Stage::with_holds(0, 0).await;
    let before = stage.sagas.engine.committed();
    stage.release(AWAY).await;
    stage.engine.fail(busy(2));
    let page = stage.decided_after(before).await;
    let projection = stage.followed(page).await.expect("it is followed");
    let [released] = &*projection.messages else { panic!("{projection:?}") };
    assert_eq!(released.kind, BOOKING_RELEASED);
    assert!(released.body.contains("\"ga\""), "{released:?}");
}

#[tokio::test]
async fn a_stop_leaves_an_end_in_a_busy_event_to_the_next_process() {
    let stage = Stage::with_holds(0, 0).await;
    let before = stage.sagas.engine.committed();
    stage.release(AWAY).await;
    stage.engine.fail(busy(u32::MAX));
    let page = stage.decided_after(before).await;
    stage.sagas.stop();
    let why = stage.followed(page).await.expect_err("its message would say less");
    assert_eq!(why, Failure::Stopped.to_string());
}

#[tokio::test(start_paused = true)]
async fn many_busy_events_hold_the_others_up_no_longer_than_one() {
    let busy = ["ball", "expo", "fair"];
    let stage = Stage::with(&[("ball", 0), ("expo", 0), ("fair", 0), (HERE, 0)]).await;
    let before = stage.sagas.engine.committed();
    for name in busy {
        stage.release(name).await;
    }
    stage.confirm(HERE).await;
    let page = stage.decided_after(before).await;
    stage.engine.fail(busy_but_for(HERE));
    let mut follower = Follower::new(stage.sagas.clone());
    // What was written is behind it: the next ones are waited for again.
    for _ in 0..2 {
        let (begun, mut projection) = (Instant::now(), Projection::default());
        let is_last = follower.gather(Some(page.clone()), &mut projection).await;
        assert_eq!(is_last, Ok(false));
        let waited = begun.elapsed();
        assert!((PAUSES..PAUSES * 2).contains(&waited), "{waited:?}");
        assert!(is_confirmed_in(&projection, HERE), "{projection:?}");
        assert_eq!(released(&projection), ["{}"; 3]);
        follower.write(projection).await.expect("written");
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_sold_is_waited_for_however_long_messages_were() {
    let stage = Stage::with(&[("ball", 0), (AWAY, 0)]).await;
    let other: BookingId = format!("{AWAY}.2").parse().expect("an id");
    stage.hold(AWAY, other.clone()).await;
    let before = stage.sagas.engine.committed();
    stage.release("ball").await;
    stage.run(AWAY, Command::Release { booking: other, user: buyer() }).await;
    stage.confirm(AWAY).await;
    let page = stage.decided_after(before).await;
    // Once for the message, for which no pause is left, and twice for what was sold.
    let mut left = 3;
    stage.engine.fail(move |asked| {
        let is_busy = is_about(asked, "ball") || (is_about(asked, AWAY) && left > 0);
        left -= u32::from(is_busy && is_about(asked, AWAY));
        is_busy.then_some(Failure::Busy { retry_after_ms: 60_000 })
    });
    let projection = stage.followed(page).await.expect("it is followed");
    assert!(is_confirmed_in(&projection, AWAY), "{projection:?}");
    assert_eq!(released(&projection), ["{}"; 2]);
}

/// On Redis an event's time stands still while the server's clock is behind its last decision.
#[test]
fn a_booking_is_confirmed_when_that_was_decided_and_not_when_it_is_followed() {
    let booking = || booking_in(HERE);
    let online: PaymentId = format!("{}.000000000001", booking()).parse().expect("an id");
    let at_till: PaymentId = "till-7".parse().expect("an id");
    for change in [
        BookingChange::HoldConfirmed { booking: booking(), payment: None },
        BookingChange::HoldConfirmed { booking: booking(), payment: Some(at_till) },
        BookingChange::HoldConfirmed { booking: booking(), payment: Some(online.clone()) },
        BookingChange::HoldConfirmedLate { booking: booking(), payment: online },
    ] {
        let change = Change::Booking(change);
        let (seq, at, event, changes) = (Seq(7), Time(9), event(HERE), Vec::new());
        let entry = FeedEntry { seq, at, event, changes };
        let mut facts = Vec::new();
        add(&mut facts, &entry, &change, Time(5));
        let [Fact::Moved(moved)] = &*facts else { panic!("{facts:?}") };
        let told = (moved.status, moved.at, moved.decided_at);
        assert_eq!(told, (HoldStatus::Confirmed, Time(5), Time(9)), "{change:?}");
    }
}
