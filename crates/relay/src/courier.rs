//! Couriers: one for each channel, who takes what is due from the outbox and tries until it arrives
//! or is given up.

use crate::trouble::{Troubles, without_addresses};
use futures_util::FutureExt;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use onrush_base::auth::random;
use onrush_base::spans::TARGET;
use onrush_core::Time;
use onrush_ledger::Ledger;
use onrush_ledger::delivery::{Delivered, Delivery, Message};
use onrush_store::embedded::Clock;
use std::collections::{HashSet, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;
use tracing::field::Empty;
use tracing::{Instrument, Span, trace_span};

/// For how long a message is tried: three days.
pub const GIVE_UP_AFTER_MS: i64 = 3 * 24 * 3_600_000;
/// For how long a message may wait for something else to end, such as a bank debit: a month.
pub const WAIT_AT_MOST_MS: i64 = 30 * 24 * 3_600_000;
/// How often it is tried however old it is: for an hour. A channel may be back after a week.
const LEAST_ATTEMPTS: u32 = 13;
/// The pause after the first failure; each further one doubles it.
const FIRST_PAUSE_MS: i64 = 1_000;
/// The longest pause between two attempts.
const LONGEST_PAUSE_MS: i64 = 3_600_000;
/// Deliveries that are read from the outbox at once, for each attempt that may be under way: few, so
/// that other nodes have some too.
const BATCH: usize = 8;
/// How long to wait when the ledger does not answer.
const LEDGER_PAUSE: Duration = Duration::from_secs(1);
/// The longest sleep: clocks are set, and a timer that runs for days need not be trusted.
const LONGEST_SLEEP: Duration = Duration::from_secs(60);
/// How long deliveries under way have after the server was told to stop. What does not end by then
/// is sent again.
const DRAIN: Duration = Duration::from_secs(5);

/// What came of one attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attempt {
    /// It arrived.
    Done,
    /// Nobody is to be told any more, which says nothing of the channel.
    Needless,
    /// It did not arrive, and may later.
    Failed(String),
    /// It is not to be sent before something else has ended, which is nobody's failure.
    NotYet(String),
    /// It did not arrive, and never will.
    Hopeless(String),
}

/// An attempt under way.
pub type Attempting = Pin<Box<dyn Future<Output = Attempt> + Send>>;

/// One way to tell somebody.
pub trait Channel: Send + Sync + 'static {
    /// Its name in the outbox.
    fn name(&self) -> &str;

    /// The setting to look at if nothing arrives, for the log.
    fn setting(&self) -> &str;

    /// How many attempts may be under way at a time.
    fn parallel(&self) -> usize;

    /// Tries once. It ends in bounded time.
    fn attempt(&self, message: Message) -> Attempting;
}

/// The courier of one channel.
pub struct Courier {
    channel: Arc<dyn Channel>,
    ledger: Arc<dyn Ledger>,
    clock: Clock,
    bell: Notify,
    troubles: Troubles,
    last_arrival: Mutex<Option<Time>>,
}

/// What a courier has in hand.
#[derive(Default)]
struct Batch {
    /// Read from the outbox and not tried yet.
    waiting: VecDeque<Delivery>,
    /// Everything that is not to be taken from the outbox again: waiting, under way, or not written down yet.
    taken: HashSet<String>,
    /// What came of attempts, until the ledger has it.
    outcomes: Vec<(String, Delivered)>,
}

impl Courier {
    /// A courier who has not started yet.
    #[must_use]
    pub fn new(channel: Arc<dyn Channel>, ledger: Arc<dyn Ledger>, clock: Clock) -> Self {
        let (bell, troubles, last_arrival) = (Notify::new(), Troubles::default(), Mutex::default());
        Self { channel, ledger, clock, bell, troubles, last_arrival }
    }

    /// The name of the channel.
    #[must_use]
    pub fn channel(&self) -> &str {
        self.channel.name()
    }

    /// When a message last arrived; `None` if none has since this courier began.
    #[must_use]
    pub fn last_arrival(&self) -> Option<Time> {
        *self.last_arrival.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says that there may be something new in the outbox.
    pub fn ring(&self) {
        self.bell.notify_one();
    }

    /// Delivers until `stop` says so.
    pub async fn run(self: Arc<Self>, mut stop: watch::Receiver<bool>) {
        let (mut hands, mut running) = (Batch::default(), FuturesUnordered::new());
        // Three times before other nodes are given what is here: one may fail.
        let keep_every = self.ledger.keeps_for().map(|keeps_for| keeps_for / 3);
        let mut kept = Instant::now();
        while !*stop.borrow() {
            let mut readable = true;
            if hands.waiting.is_empty() && running.len() < self.channel.parallel() {
                readable = self.fetch(&mut hands).await;
            }
            while running.len() < self.channel.parallel()
                && let Some(delivery) = hands.waiting.pop_front()
            {
                running.push(self.clone().deliver(delivery));
            }
            let pause = match readable {
                true => self.pause(&hands, running.is_empty()).await,
                false => LEDGER_PAUSE,
            };
            let pause = match keep_every.filter(|_| !hands.taken.is_empty()) {
                Some(keep_every) => pause.min(keep_every.saturating_sub(kept.elapsed())),
                None => pause,
            };
            // In this order, so that the same things happening make the same deliveries.
            tokio::select! {
                biased;
                // Whoever could say so being gone is a reason to stop as well.
                () = async { drop(stop.wait_for(|stop| *stop).await) } => break,
                Some(outcome) = running.next() => {
                    hands.outcomes.push(outcome);
                    // Those that ended at the same time are written down together.
                    while let Some(Some(outcome)) = running.next().now_or_never() {
                        hands.outcomes.push(outcome);
                    }
                    self.write_down(&mut hands).await;
                }
                () = self.bell.notified() => {}
                () = tokio::time::sleep(pause) => self.write_down(&mut hands).await,
            }
            if keep_every.is_some_and(|keep_every| kept.elapsed() >= keep_every) {
                kept = Instant::now();
                self.keep(&mut hands).await;
            }
        }
        let drain = async {
            while let Some(outcome) = running.next().await {
                hands.outcomes.push(outcome);
            }
        };
        // What is still under way is sent again at the next start.
        drop(tokio::time::timeout(DRAIN, drain).await);
        self.write_down(&mut hands).await;
    }

    /// Takes what is due from the outbox; says whether it could be read.
    async fn fetch(&self, hands: &mut Batch) -> bool {
        let limit = BATCH * self.channel.parallel() + hands.taken.len();
        match self.ledger.deliveries(self.channel.name(), self.clock.now(), limit).await {
            Ok(due) => {
                for delivery in due {
                    if hands.taken.insert(delivery.message.id.clone()) {
                        hands.waiting.push_back(delivery);
                    }
                }
                true
            }
            Err(error) => {
                tracing::warn!(%error, channel = self.channel.name(), "the outbox cannot be read");
                false
            }
        }
    }

    /// Keeps what is here from being given to other nodes. What one was given all the same is left to it,
    /// unless it is under way.
    async fn keep(&self, hands: &mut Batch) {
        if hands.taken.is_empty() {
            return;
        }
        let taken = hands.taken.iter().cloned().collect();
        match self.ledger.keep_deliveries(self.channel.name(), taken).await {
            Ok(kept) => {
                let kept: HashSet<String> = kept.into_iter().collect();
                let Batch { waiting, taken, outcomes: _ } = hands;
                waiting.retain(|delivery| {
                    let id = &delivery.message.id;
                    kept.contains(id) || !taken.remove(id)
                });
            }
            Err(error) => {
                let channel = self.channel.name();
                tracing::warn!(%error, channel, "deliveries may be given to other nodes as well");
            }
        }
    }

    /// How long to wait at most if nothing happens.
    async fn pause(&self, hands: &Batch, idle: bool) -> Duration {
        if !hands.outcomes.is_empty() {
            return LEDGER_PAUSE;
        }
        if !idle {
            // The end of an attempt comes first.
            return LONGEST_SLEEP;
        }
        match self.ledger.next_delivery(self.channel.name()).await {
            Ok(None) => LONGEST_SLEEP,
            Ok(Some(next)) => {
                let pause_ms = next.since_ms(self.clock.now());
                // What is due by now and was not given to us is asked for again, but not at full speed.
                match u64::try_from(pause_ms) {
                    Ok(pause_ms) if pause_ms > 0 => {
                        Duration::from_millis(pause_ms).min(LONGEST_SLEEP)
                    }
                    Ok(_) | Err(_) => Duration::from_millis(10),
                }
            }
            Err(_) => LEDGER_PAUSE,
        }
    }

    async fn deliver(self: Arc<Self>, delivery: Delivery) -> (String, Delivered) {
        let Delivery { message, attempts, since } = delivery;
        let id = message.id.clone();
        let span = attempt_span(self.channel.name(), &message, attempts);
        let attempt = self.channel.attempt(message).instrument(span.clone()).await;
        came_to(&span, &attempt);
        let at = self.clock.now();
        self.say(&attempt, attempts, at);
        let outcome = match attempt {
            Attempt::Done | Attempt::Needless => Delivered::Done,
            Attempt::Failed(error) => {
                let again = at.plus_ms(pause_ms(attempts, u64::from_le_bytes(random())));
                match is_given_up(attempts, again.since_ms(since)) {
                    true => Delivered::Dead { at, error },
                    false => Delivered::Again { at: again, error },
                }
            }
            Attempt::NotYet(error) => {
                let waited_ms = at.since_ms(since);
                let until = at.plus_ms(wait_ms(waited_ms, u64::from_le_bytes(random())));
                match waited_ms >= WAIT_AT_MOST_MS {
                    true => Delivered::Dead { at, error },
                    false => Delivered::Waits { at: until, error },
                }
            }
            Attempt::Hopeless(error) => Delivered::Dead { at, error },
        };
        if let Delivered::Dead { error, .. } = &outcome {
            let error = without_addresses(error);
            tracing::warn!(channel = self.channel.name(), message = id, error, "given up");
        }
        (id, outcome)
    }

    /// Says why nothing arrives, once a minute at most, and that what failed does again.
    fn say(&self, attempt: &Attempt, attempts: u32, at: Time) {
        let (channel, setting) = (self.channel.name(), self.channel.setting());
        match attempt {
            Attempt::Done => {
                *self.last_arrival.lock().unwrap_or_else(PoisonError::into_inner) = Some(at);
                if self.troubles.arrived(attempts, at) {
                    tracing::info!(channel, "messages arrive again");
                }
            }
            // What never will arrive is told by itself. Neither that nor what waits for something else
            // says anything of the others.
            Attempt::Needless | Attempt::NotYet(_) | Attempt::Hopeless(_) => {}
            Attempt::Failed(why) => {
                if let Some(failed) = self.troubles.failed(at) {
                    let why = without_addresses(why);
                    tracing::warn!(channel, setting, failed, why, "messages do not arrive");
                }
            }
        }
    }

    /// Tells the ledger what came of attempts; what it does not take is told again.
    async fn write_down(&self, hands: &mut Batch) {
        if hands.outcomes.is_empty() {
            return;
        }
        match self.ledger.delivered(self.channel.name(), hands.outcomes.clone()).await {
            Ok(()) => {
                for (id, _) in hands.outcomes.drain(..) {
                    hands.taken.remove(&id);
                }
            }
            Err(error) => {
                let channel = self.channel.name();
                tracing::warn!(%error, channel, "what became of deliveries cannot be written down");
            }
        }
    }
}

/// The span of an attempt. To whom it goes is nobody's business who collects traces, and why it
/// failed may repeat an address.
fn attempt_span(channel: &str, message: &Message, attempts: u32) -> Span {
    trace_span!(
        target: TARGET,
        "message",
        otel.name = channel,
        otel.kind = "producer",
        onrush.event = %message.event,
        onrush.booking = message.booking.as_ref().map(display),
        onrush.message = message.id,
        onrush.message.kind = message.kind,
        onrush.message.attempts = attempts,
        onrush.outcome = Empty,
        otel.status_code = Empty,
    )
}

fn came_to(span: &Span, attempt: &Attempt) {
    let (outcome, is_error) = match attempt {
        Attempt::Done | Attempt::Needless => ("done", false),
        Attempt::Failed(_) => ("failed", true),
        Attempt::NotYet(_) => ("not_yet", false),
        Attempt::Hopeless(_) => ("hopeless", true),
    };
    span.record("onrush.outcome", outcome);
    if is_error {
        span.record("otel.status_code", "ERROR");
    }
}

/// Whether a message is given up after a failure with `attempts` before it, whose next attempt would
/// be so long after it happened.
const fn is_given_up(attempts: u32, after_ms: i64) -> bool {
    after_ms >= GIVE_UP_AFTER_MS && attempts + 1 >= LEAST_ATTEMPTS
}

/// The pause after a failure with `attempts` before it: doubled each time.
fn pause_ms(attempts: u32, dice: u64) -> i64 {
    let doubled = FIRST_PAUSE_MS.saturating_mul(1_i64 << attempts.min(30)).min(LONGEST_PAUSE_MS);
    scattered_ms(doubled, dice)
}

/// The pause of what has waited for so long for something else: an eighth of that. Its attempts are
/// not counted.
fn wait_ms(waited_ms: i64, dice: u64) -> i64 {
    scattered_ms((waited_ms / 8).clamp(FIRST_PAUSE_MS, LONGEST_PAUSE_MS), dice)
}

/// A pause that is moved by up to a quarter either way, so that what failed together does not come
/// back together.
fn scattered_ms(pause_ms: i64, dice: u64) -> i64 {
    let span = pause_ms / 2;
    let offset = i64::try_from(dice % u64::try_from(span).unwrap_or(1)).unwrap_or(0);
    pause_ms - span / 2 + offset
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_an_hour_and_differ_by_a_quarter_at_most() {
        for (attempts, least_ms, most_ms) in
            [(0, 750, 1_250), (1, 1_500, 2_500), (5, 24_000, 40_000), (40, 2_700_000, 4_500_000)]
        {
            for dice in [0, 1, 249, 250, 499, u64::MAX] {
                let pause_ms = pause_ms(attempts, dice);
                assert!((least_ms..=most_ms).contains(&pause_ms), "{attempts} {dice} {pause_ms}");
            }
        }
        assert_ne!(pause_ms(3, 1), pause_ms(3, 2));
    }

    #[test]
    fn what_waits_is_looked_at_the_less_often_the_longer_it_has_waited() {
        let day_ms = 24 * 3_600_000;
        for (waited_ms, least_ms, most_ms) in [
            (-5, 750, 1_250),
            (0, 750, 1_250),
            (80_000, 7_500, 12_500),
            (4 * day_ms, 2_700_000, 4_500_000),
        ] {
            for dice in [0, 249, 250, u64::MAX] {
                let pause_ms = wait_ms(waited_ms, dice);
                assert!((least_ms..=most_ms).contains(&pause_ms), "{waited_ms} {dice} {pause_ms}");
            }
        }
    }

    #[test]
    fn an_old_message_is_tried_for_an_hour_all_the_same() {
        for (attempts, after_ms, is_over) in [
            (0, GIVE_UP_AFTER_MS - 1, false),
            (80, GIVE_UP_AFTER_MS - 1, false),
            (80, GIVE_UP_AFTER_MS, true),
            (0, 7 * 24 * 3_600_000, false),
            (11, 7 * 24 * 3_600_000, false),
            (12, 7 * 24 * 3_600_000, true),
        ] {
            assert_eq!(is_given_up(attempts, after_ms), is_over, "{attempts} {after_ms}");
        }
        let tried_ms: i64 = (0..LEAST_ATTEMPTS - 1).map(|attempts| pause_ms(attempts, 0)).sum();
        assert!(tried_ms > 3_000_000, "{tried_ms}");
    }
}
