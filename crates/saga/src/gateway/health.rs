//! How a gateway is: whether it answers and knows us, since when, and what was wrong last.
//!
//! Every call goes through [`Watched`], which looks at what comes of it. When nobody pays, it asks
//! by itself, so that a revoked key is seen before the next buyer comes. What is ill changes
//! nothing about the sale: people wait and hold, and payments go on by themselves once the gateway
//! is well again. Those whose patience was used up meanwhile are woken then.

use super::takes::Takes;
use super::{
    Answer, Away, DeskNews, FoundAtDesk, Gateway, GatewayError, NotGenuine, Notice, Order, Ours,
    RefundOrder, RefundStanding, Standing,
};
use axum::http::HeaderMap;
use onrush_base::spans::TARGET;
use onrush_core::Time;
use onrush_core::money::Currency;
use onrush_store::durations::{Counted, Durations};
use onrush_store::embedded::Clock;
use serde::Serialize;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use strum::VariantArray;
use tokio::sync::Notify;
use tokio::time::Instant;
use tracing::field::Empty;
use tracing::{Instrument, Span, trace_span};

/// After how long without a call a gateway that is well is asked how it is.
const ASK_WELL: Duration = Duration::from_secs(60);
/// The same for one that is not, and at the start.
const ASK_ILL: Duration = Duration::from_secs(10);
/// How long it has to have been ill for anybody to have given up because of that.
const SHORTEST_ILLNESS_MS: i64 = 60_000;
/// How long a reason is kept, in characters.
const MAX_WHY: usize = 300;

/// How a gateway is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum State {
    /// Nothing was asked so far.
    Unknown,
    /// It answers and knows us.
    Ok,
    /// It answers, and does not know our key.
    KeyRefused,
    /// It does not answer, or says to come again.
    Unreachable,
}

/// What went wrong with one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum FailureKind {
    /// It does not know our key.
    KeyRefused,
    /// It does not answer, or says to come again.
    Unreachable,
    /// It understood and would not do it. It is well all the same.
    Refused,
}

/// The last thing that went wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastFailure {
    /// What.
    pub kind: FailureKind,
    /// In the gateway's words.
    pub why: String,
    /// When.
    pub at: Time,
}

/// How a gateway is, and was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// How it is.
    pub state: State,
    /// Since when.
    pub since: Time,
    /// When it last did what it was asked.
    pub last_success_at: Option<Time>,
    /// What went wrong last, also if it is well again.
    pub last_failure: Option<LastFailure>,
}

/// Calls so far, by what came of them.
#[derive(Debug, Default)]
pub struct Calls {
    /// Done.
    pub done: AtomicU64,
    /// Refused.
    pub refused: AtomicU64,
    /// Not done, because our key is not known.
    pub key_refused: AtomicU64,
    /// Without an answer.
    pub unreachable: AtomicU64,
}

/// What a gateway is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case", const_into_str)]
enum Call {
    Create,
    Status,
    Capture,
    Cancel,
    Refund,
    Probe,
    Ours,
    DeskRefunds,
}

/// What is known of a gateway's health.
pub struct Health {
    gateway: &'static str,
    clock: Clock,
    view: Mutex<View>,
    /// Since when it is not well; since before this process began, as long as nobody has heard of it.
    ill_since: Mutex<Option<Time>>,
    /// Rings when it is well after it may have been ill for long.
    mended: Notify,
    /// When the last call ended.
    last_call: Mutex<Option<Instant>>,
    calls: Calls,
    /// How long calls took, whatever came of them.
    took: [Durations; Call::VARIANTS.len()],
}

impl Health {
    fn new(gateway: &'static str, clock: Clock) -> Self {
        let view = View {
            state: State::Unknown,
            since: clock.now(),
            last_success_at: None,
            last_failure: None,
        };
        Self {
            gateway,
            clock,
            view: Mutex::new(view),
            ill_since: Mutex::new(Some(Time::default())),
            mended: Notify::new(),
            last_call: Mutex::new(None),
            calls: Calls::default(),
            took: Default::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, View> {
        self.view.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The gateway's name.
    #[must_use]
    pub fn gateway(&self) -> &'static str {
        self.gateway
    }

    /// How it is.
    #[must_use]
    pub fn view(&self) -> View {
        self.lock().clone()
    }

    /// Calls so far.
    #[must_use]
    pub fn calls(&self) -> &Calls {
        &self.calls
    }

    /// How long calls took so far, by what was asked; what nobody asked is left out.
    pub fn took(&self) -> impl Iterator<Item = (&'static str, Counted)> {
        let all = Call::VARIANTS.iter().zip(&self.took);
        let all = all.map(|(call, took)| (call.into_str(), took.counted()));
        all.filter(|(_, counted)| counted.times() > 0)
    }

    /// What an operator should do about it; `None` if nothing.
    #[must_use]
    pub fn what_to_do(&self) -> Option<&'static str> {
        match (self.lock().state, self.gateway) {
            (State::Unknown | State::Ok, _) => None,
            (State::KeyRefused, "stripe") => Some(
                "set stripe.secret_key to a key that Stripe accepts (a restricted one needs \
                 PaymentIntents and Refunds, write, and Charges, read) and start the server again; \
                 payments wait and go on by themselves",
            ),
            (State::KeyRefused, _) => Some(
                "set sandbox.secret to what the sandbox was started with and start the server \
                 again; payments wait and go on by themselves",
            ),
            (State::Unreachable, _) => Some(
                "see whether this machine reaches the gateway's address, and whether the gateway \
                 has trouble of its own; payments wait and go on by themselves",
            ),
        }
    }

    /// Writes down what came of a call, and says so once if the gateway's state is another now.
    fn heard<T>(&self, answer: &Result<T, GatewayError>) -> Option<FailureKind> {
        let outcome = match answer {
            Ok(_) => None,
            Err(GatewayError::Refused(why) | GatewayError::UnknownRefund(why)) => {
                Some((FailureKind::Refused, why))
            }
            Err(GatewayError::Unavailable(Away::KeyRefused(why))) => {
                Some((FailureKind::KeyRefused, why))
            }
            Err(GatewayError::Unavailable(Away::Silent(why))) => {
                Some((FailureKind::Unreachable, why))
            }
            // It answers and knows us; only this one call cannot be made now.
            Err(GatewayError::Unavailable(Away::Kept { why, .. })) => {
                Some((FailureKind::Refused, why))
            }
        };
        self.note(outcome.map(|(kind, why)| (kind, why.as_str())));
        outcome.map(|(kind, _)| kind)
    }

    fn note(&self, failure: Option<(FailureKind, &str)>) {
        let at = self.clock.now();
        let (state, counter) = match failure.map(|(kind, _)| kind) {
            None => (State::Ok, &self.calls.done),
            // Whoever refuses has understood, and knows us.
            Some(FailureKind::Refused) => (State::Ok, &self.calls.refused),
            Some(FailureKind::KeyRefused) => (State::KeyRefused, &self.calls.key_refused),
            Some(FailureKind::Unreachable) => (State::Unreachable, &self.calls.unreachable),
        };
        counter.fetch_add(1, Ordering::Relaxed);
        *self.last_call.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        let before = {
            let mut view = self.lock();
            let before = view.state;
            match failure {
                None => view.last_success_at = Some(at),
                Some((kind, why)) => {
                    let why = why.chars().take(MAX_WHY).collect();
                    view.last_failure = Some(LastFailure { kind, why, at });
                }
            }
            if before != state {
                (view.state, view.since) = (state, at);
            }
            before
        };
        if before == state {
            return;
        }
        self.note_illness(state, at);
        let (gateway, why) = (self.gateway, failure.map_or("", |(_, why)| why));
        match state {
            State::Unknown => {}
            State::Ok if before == State::Unknown => tracing::info!(gateway, "the gateway answers"),
            State::Ok => tracing::info!(gateway, "the gateway answers again"),
            State::KeyRefused => {
                let what_to_do = self.what_to_do().unwrap_or_default();
                tracing::error!(gateway, why, what_to_do, "the gateway does not know our key");
            }
            State::Unreachable => {
                let what_to_do = self.what_to_do().unwrap_or_default();
                tracing::warn!(gateway, why, what_to_do, "the gateway does not answer");
            }
        }
    }

    /// Rings if it is well again. One call that fails and the next that does not are no illness: a
    /// payment that cannot be made by itself would have all others tried again each time.
    fn note_illness(&self, state: State, at: Time) {
        let mut ill_since = self.ill_since.lock().unwrap_or_else(PoisonError::into_inner);
        match state {
            State::Unknown => {}
            State::KeyRefused | State::Unreachable => drop(ill_since.get_or_insert(at)),
            State::Ok => {
                let since = ill_since.take();
                if since.is_some_and(|since| at.since_ms(since) >= SHORTEST_ILLNESS_MS) {
                    self.mended.notify_one();
                }
            }
        }
    }

    /// Waits until it is well after it was ill for a minute or more, or for nobody knows how long.
    pub(crate) async fn mended(&self) {
        self.mended.notified().await;
    }

    /// How long until the gateway should be asked how it is.
    fn asks_in(&self) -> Duration {
        let every = match self.lock().state {
            State::Ok => ASK_WELL,
            State::Unknown | State::KeyRefused | State::Unreachable => ASK_ILL,
        };
        let last = *self.last_call.lock().unwrap_or_else(PoisonError::into_inner);
        last.map_or(Duration::ZERO, |last| every.saturating_sub(last.elapsed()))
    }
}

/// Counts a call whose asker lost patience as one without an answer.
struct Watch<'a> {
    health: &'a Health,
    call: Call,
    begun: Instant,
    over: bool,
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        self.health.took[self.call as usize].note(self.begun.elapsed());
        if !self.over {
            self.health.note(Some((FailureKind::Unreachable, "no answer in time")));
        }
    }
}

/// The span of a call. One whose asker lost patience ends without an outcome.
fn call_span(gateway: &'static str, call: Call) -> Span {
    trace_span!(
        target: TARGET,
        "gateway",
        otel.name = call.into_str(),
        otel.kind = "client",
        onrush.gateway = gateway,
        onrush.outcome = Empty,
    )
}

/// A gateway that is watched.
pub struct Watched {
    gateway: Arc<dyn Gateway>,
    health: Arc<Health>,
}

impl Watched {
    /// Watches a gateway.
    #[must_use]
    pub fn new(gateway: Arc<dyn Gateway>, clock: Clock) -> Self {
        let health = Arc::new(Health::new(gateway.name(), clock));
        Self { gateway, health }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.gateway.name()
    }

    /// How it is.
    #[must_use]
    pub fn health(&self) -> &Arc<Health> {
        &self.health
    }

    /// Asks how it is whenever nobody else has for a while, until `stopped`.
    pub(crate) async fn look_after(&self, patience: Duration, stopped: impl Future<Output = ()>) {
        tokio::select! {
            biased;
            () = stopped => {}
            () = self.ask_how_it_is(patience) => {}
        }
    }

    async fn ask_how_it_is(&self, patience: Duration) {
        loop {
            let pause = self.health.asks_in();
            if pause.is_zero() {
                // What comes of it is noted by itself.
                drop(tokio::time::timeout(patience, self.probe()).await);
            } else {
                tokio::time::sleep(pause).await;
            }
        }
    }

    fn watch<'a, T: Send + 'a>(&'a self, call: Call, answer: Answer<'a, T>) -> Answer<'a, T> {
        let span = call_span(self.health.gateway, call);
        let watched = async move {
            let begun = Instant::now();
            let mut watch = Watch { health: &self.health, call, begun, over: false };
            let answer = answer.await;
            watch.over = true;
            let failed = self.health.heard(&answer);
            Span::current().record("onrush.outcome", failed.map_or("done", Into::into));
            answer
        };
        Box::pin(watched.instrument(span))
    }
}

impl Gateway for Watched {
    fn name(&self) -> &'static str {
        self.gateway.name()
    }

    fn step_minor(&self, currency: Currency) -> i64 {
        self.gateway.step_minor(currency)
    }

    fn create<'a>(&'a self, order: &'a Order) -> Answer<'a, Standing> {
        self.watch(Call::Create, self.gateway.create(order))
    }

    fn status<'a>(&'a self, order: &'a Order) -> Answer<'a, Standing> {
        self.watch(Call::Status, self.gateway.status(order))
    }

    fn capture<'a>(&'a self, order: &'a Order) -> Answer<'a, Standing> {
        self.watch(Call::Capture, self.gateway.capture(order))
    }

    fn cancel<'a>(&'a self, order: &'a Order) -> Answer<'a, Standing> {
        self.watch(Call::Cancel, self.gateway.cancel(order))
    }

    fn refund<'a>(&'a self, order: &'a RefundOrder) -> Answer<'a, RefundStanding> {
        self.watch(Call::Refund, self.gateway.refund(order))
    }

    fn takes(&self, currency: Currency) -> Result<Takes, String> {
        self.gateway.takes(currency)
    }

    fn probe(&self) -> Answer<'_, ()> {
        self.watch(Call::Probe, self.gateway.probe())
    }

    fn ours<'a>(&'a self, reference: &'a str) -> Answer<'a, Option<Ours>> {
        self.watch(Call::Ours, self.gateway.ours(reference))
    }

    fn desk_refunds<'a>(&'a self, reference: &'a str) -> Answer<'a, Vec<DeskNews>> {
        self.watch(Call::DeskRefunds, self.gateway.desk_refunds(reference))
    }

    fn desk_history<'a>(&'a self, reference: &'a str) -> Answer<'a, Vec<FoundAtDesk>> {
        self.watch(Call::DeskRefunds, self.gateway.desk_history(reference))
    }

    fn read_webhook(
        &self,
        headers: &HeaderMap,
        body: &[u8],
        now_s: i64,
    ) -> Result<Notice, NotGenuine> {
        self.gateway.read_webhook(headers, body, now_s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onrush_store::embedded::ManualClock;

    fn away(away: Away) -> Result<(), GatewayError> {
        Err(GatewayError::Unavailable(away))
    }

    #[test]
    fn the_state_is_what_the_last_call_said_and_its_time_that_of_the_change() {
        let clock = ManualClock::new(Time(10));
        let health = Health::new("stripe", Clock::Manual(clock.clone()));
        let is = |state: State, since: i64| {
            let view = health.view();
            assert_eq!((view.state, view.since), (state, Time(since)));
            assert_eq!(health.what_to_do().is_some(), !matches!(state, State::Ok | State::Unknown));
        };
        is(State::Unknown, 10);
        health.heard(&Ok(()));
        is(State::Ok, 10);
        clock.advance_ms(10);
        health.heard(&away(Away::KeyRefused("no such key".into())));
        is(State::KeyRefused, 20);
        clock.advance_ms(10);
        health.heard(&away(Away::KeyRefused("no such key".into())));
        is(State::KeyRefused, 20);
        health.heard(&away(Away::Silent("no answer".into())));
        is(State::Unreachable, 30);
        clock.advance_ms(10);
        health.heard::<()>(&Err(GatewayError::Refused("too much".into())));
        is(State::Ok, 40);
        let view = health.view();
        assert_eq!(view.last_success_at, Some(Time(10)));
        let failure = view.last_failure.expect("there was one");
        assert_eq!((failure.kind, failure.at), (FailureKind::Refused, Time(40)));
        assert_eq!(health.calls().key_refused.load(Ordering::Relaxed), 2);
    }

    #[tokio::test]
    async fn those_who_gave_up_are_woken_after_an_illness_and_at_the_start_and_not_after_a_hiccup()
    {
        let clock = ManualClock::new(Time(1_790_000_000_000));
        let health = Health::new("stripe", Clock::Manual(clock.clone()));
        let rings = async || tokio::time::timeout(Duration::ZERO, health.mended()).await.is_ok();
        health.heard(&Ok(()));
        assert!(rings().await, "it may have been ill before the start");
        health.heard(&away(Away::Silent("no answer".into())));
        clock.advance_ms(59_999);
        health.heard(&Ok(()));
        assert!(!rings().await, "that was short");
        health.heard(&away(Away::Silent("no answer".into())));
        clock.advance_ms(30_000);
        health.heard(&away(Away::KeyRefused("no such key".into())));
        clock.advance_ms(30_000);
        assert!(!rings().await, "it is ill");
        health.heard::<()>(&away(Away::Kept { why: "500".into(), until_s: 0 }));
        assert!(rings().await, "it was ill for a minute, one way or another");
    }

    #[test]
    fn a_call_whose_asker_went_away_had_no_answer() {
        let health = Health::new("sandbox", Clock::Manual(ManualClock::new(Time(1))));
        let watch =
            |over| Watch { health: &health, call: Call::Cancel, begun: Instant::now(), over };
        drop(watch(false));
        assert_eq!(health.view().state, State::Unreachable);
        drop(watch(true));
        assert_eq!(health.calls().unreachable.load(Ordering::Relaxed), 1);
        let took: Vec<_> = health.took().map(|(call, took)| (call, took.times())).collect();
        assert_eq!(took, [("cancel", 2)], "whatever came of them");
    }
}
