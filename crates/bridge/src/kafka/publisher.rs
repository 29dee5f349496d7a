//! The publisher, on one node at a time: what the feed says goes to Kafka.

use super::bodies::{Contract, Topic, of_booking, of_feed, of_s3};
use super::client::max_body_bytes;
use super::deps::PublisherDeps;
use super::facts::{Facts, Remembered};
use super::outlet::{Outlet, Record, Undelivered};
use crate::cursors::{CursorError, Fence};
use crate::page_span::page_span;
use onrush_base::config::kafka::KafkaSettings;
use onrush_core::Change;
use onrush_core::change::HoldChange;
use onrush_core::ids::{BookingId, EventId};
use onrush_core::question::BookingOf;
use onrush_store::{Ask, Failure, FeedEntry, FeedPage, Seq};
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;
use tracing::Instrument;

/// How long the last words to the cursors may take when a turn ends.
const GOODBYE: Duration = Duration::from_secs(2);

/// Publishes, whenever it is this node's turn, until `stop` says so or the engine has stopped.
pub(super) async fn run(
    settings: KafkaSettings,
    parts: PublisherDeps,
    mut stop: watch::Receiver<bool>,
) {
    let name = super::cursor_name(&settings);
    let mut pause = settings.tuning.first_pause;
    let publisher = Publisher { settings, parts, name, unsaved: Mutex::default() };
    let tuning = &publisher.settings.tuning;
    while !*stop.borrow() {
        let published = publisher.published();
        let ended = tokio::select! {
            ended = publisher.turn() => ended,
            () = stopped(&mut stop) => Ended::Done,
        };
        publisher.step_down().await;
        if publisher.published() > published {
            pause = tuning.first_pause;
        }
        let rest = match ended {
            Ended::Done => break,
            Ended::Overtaken => publisher.renewal(),
            Ended::Broken(Undelivered(_)) | Ended::Other(_) => {
                let trouble = ended;
                publisher.parts.health.set(|state| state.failures += 1);
                tracing::warn!(%trouble, ?pause, "nothing goes to Kafka; trying again");
                let longer = (pause * 2).min(tuning.longest_pause);
                std::mem::replace(&mut pause, longer)
            }
        };
        tokio::select! {
            () = tokio::time::sleep(rest) => {}
            () = stopped(&mut stop) => break,
        }
    }
}

/// Comes back once `stop` says so, or whoever could say so is gone.
async fn stopped(stop: &mut watch::Receiver<bool>) {
    drop(stop.wait_for(|stop| *stop).await);
}

struct Publisher {
    settings: KafkaSettings,
    parts: PublisherDeps,
    /// Of the lease and the cursor.
    name: String,
    /// What Kafka has and the cursor does not say yet.
    unsaved: Mutex<Option<(Fence, Seq)>>,
}

/// Why a turn of publishing ended.
enum Ended {
    /// The engine has stopped, and all was sent.
    Done,
    /// Another node has the lease.
    Overtaken,
    /// Kafka is away.
    Broken(Undelivered),
    /// Something else is.
    Other(String),
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Done => f.write_str("the engine has stopped"),
            Self::Overtaken => f.write_str("another node publishes"),
            Self::Broken(trouble) => trouble.fmt(f),
            Self::Other(why) => f.write_str(why),
        }
    }
}

impl From<Undelivered> for Ended {
    fn from(trouble: Undelivered) -> Self {
        Self::Broken(trouble)
    }
}

impl From<CursorError> for Ended {
    fn from(error: CursorError) -> Self {
        match error {
            CursorError::Fenced => Self::Overtaken,
            CursorError::Unavailable(_) => Self::Other(error.to_string()),
        }
    }
}

/// A lease, and until when it holds by this node's own clock at least.
struct Term {
    fence: Fence,
    until: Instant,
}

impl Publisher {
    fn published(&self) -> Seq {
        self.parts.health.state().borrow().published
    }

    /// How often the lease is renewed, or asked for.
    fn renewal(&self) -> Duration {
        self.ttl() / 3
    }

    fn ttl(&self) -> Duration {
        Duration::from_millis(u64::from(self.settings.tuning.lease_ms))
    }

    /// Waits for the lease and publishes as long as it holds.
    async fn turn(&self) -> Ended {
        // First Kafka: a node that cannot reach it should not keep others from publishing.
        let mut outlet = match Outlet::open(&self.settings, self.parts.health.clone()).await {
            Ok(outlet) => outlet,
            Err(trouble) => return trouble.into(),
        };
        self.parts.health.set(|state| state.connected = true);
        let term = loop {
            match self.lease().await {
                Ok(Some(term)) => break term,
                Ok(None) => tokio::time::sleep(self.renewal()).await,
                Err(error) => return error.into(),
            }
        };
        tracing::info!(fence = %term.fence, "this node publishes to Kafka");
        self.parts.health.set(|state| state.publishing = true);
        tokio::select! {
            ended = self.follow(&mut outlet, term.fence) => ended.map_or_else(|ended| ended,
            |()| Ended::Done),
            ended = self.keep(&term) => ended,
        }
    }

    /// Lets another node go on.
    async fn step_down(&self) {
        self.parts.health.set(|state| (state.connected, state.publishing) = (false, false));
        let goodbye = async {
            // If either fails the next one repeats a little, or waits until the lease has run out.
            drop(self.save().await);
            drop(self.parts.cursors.release(self.name.clone()).await);
        };
        drop(tokio::time::timeout(GOODBYE, goodbye).await);
    }

    async fn lease(&self) -> Result<Option<Term>, CursorError> {
        // Counted from before it was asked for, so that it ends here no later than there.
        let until = Instant::now() + self.ttl();
        let lease = self.parts.cursors.lease(self.name.clone(), self.settings.tuning.lease_ms);
        Ok(lease.await?.map(|fence| Term { fence, until }))
    }

    /// Renews the lease until it is lost.
    async fn keep(&self, term: &Term) -> Ended {
        let mut until = term.until;
        loop {
            tokio::time::sleep_until(until.min(Instant::now() + self.renewal())).await;
            match tokio::time::timeout_at(until, self.lease()).await {
                Ok(Ok(Some(renewed))) if renewed.fence == term.fence => until = renewed.until,
                // It ran out and somebody had it meanwhile: what they sent is not to be sent again.
                Ok(Ok(_) | Err(CursorError::Fenced)) => return Ended::Overtaken,
                Ok(Err(CursorError::Unavailable(why))) if Instant::now() < until => {
                    tracing::warn!(why, "the lease on publishing to Kafka could not be renewed");
                }
                Ok(Err(CursorError::Unavailable(why))) => return Ended::Other(why),
                Err(_) => return Ended::Other("the lease could not be renewed in time".into()),
            }
        }
    }

    /// Sends what the feed says from the cursor on, until the engine has stopped.
    async fn follow(&self, outlet: &mut Outlet, fence: Fence) -> Result<(), Ended> {
        let after = self.parts.cursors.cursor(self.name.clone()).await?;
        let mut feed = self.parts.engine.subscribe(after);
        let mut remembered = Remembered::default();
        let mut save_at = Instant::now();
        loop {
            let page = tokio::select! {
                page = feed.next() => page.map_err(Ended::Other)?,
                () = tokio::time::sleep_until(save_at), if self.is_behind() => {
                    self.save().await?;
                    save_at = Instant::now() + self.settings.tuning.save_every;
                    continue;
                }
            };
            let Some(page) = page else { return Ok(self.save().await?) };
            let span = page_span("kafka", &page);
            self.send(outlet, fence, &page, &mut remembered).instrument(span).await?;
            if let Some(last) = page.last() {
                self.has_arrived(fence, last.seq);
            }
            if Instant::now() >= save_at {
                self.save().await?;
                save_at = Instant::now() + self.settings.tuning.save_every;
            }
        }
    }

    fn is_behind(&self) -> bool {
        self.unsaved.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    fn has_arrived(&self, fence: Fence, last: Seq) {
        *self.unsaved.lock().unwrap_or_else(PoisonError::into_inner) = Some((fence, last));
        self.parts.health.set(|state| state.published = last);
    }

    /// Has the cursor say what Kafka has.
    async fn save(&self) -> Result<(), CursorError> {
        let unsaved = self.unsaved.lock().unwrap_or_else(PoisonError::into_inner).take();
        match unsaved {
            Some((fence, last)) => {
                self.parts.cursors.set_cursor(self.name.clone(), fence, last).await
            }
            None => Ok(()),
        }
    }

    /// Sends what a page says; comes back when Kafka has all of it.
    async fn send(
        &self,
        outlet: &mut Outlet,
        fence: Fence,
        page: &FeedPage,
        remembered: &mut Remembered,
    ) -> Result<(), Ended> {
        let max_bytes = max_body_bytes(&self.settings);
        for entry in page {
            for (index, change) in entry.changes.iter().enumerate() {
                if let Change::Hold(HoldChange::HoldPlaced { terms, until: _ }) = change {
                    remembered.remember(terms);
                }
                let record = |topic, body| Record {
                    topic,
                    event: &entry.event,
                    sequence: entry.seq,
                    index,
                    body,
                };
                let body = of_feed(entry, index, max_bytes);
                outlet.send(record(Topic::Feed, body), fence).await?;
                if let Some((topic, body)) = self.told(entry, change, remembered, max_bytes).await?
                {
                    outlet.send(record(topic, body), fence).await?;
                }
            }
        }
        Ok(outlet.settle().await?)
    }

    /// The inherited message about a change, if there is one.
    async fn told(
        &self,
        entry: &FeedEntry,
        change: &Change,
        remembered: &Remembered,
        max_bytes: usize,
    ) -> Result<Option<(Topic, Vec<u8>)>, Ended> {
        match of_s3(entry, change) {
            None => Ok(None),
            Some(Contract::Whole(topic, body)) => Ok(Some((topic, body))),
            Some(Contract::Of(booking, about)) => {
                let facts = match remembered.get(booking) {
                    Some(facts) => Some(facts),
                    None => self.ask(&entry.event, booking).await?,
                };
                if facts.is_none() {
                    tracing::warn!(%booking, "nobody knows any more whose a booking was");
                }
                Ok(Some(of_booking(entry, about, facts.as_ref(), max_bytes)))
            }
        }
    }

    /// Whose a booking is: the engine knows, and when it has forgotten, the ledger.
    async fn ask(&self, event: &EventId, booking: &BookingId) -> Result<Option<Facts>, Ended> {
        let anyones = BookingOf { booking: booking.clone(), user: None };
        match self.parts.engine.ask(event.clone(), anyones).await {
            Ok(answer) => {
                let terms = answer.value.terms;
                Ok(Some(Facts::new(&terms.user, &terms.lines)))
            }
            Err(Failure::Refused(_)) => {
                let booking = self.parts.ledger.booking(booking).await;
                let booking = booking.map_err(|error| Ended::Other(error.to_string()))?;
                Ok(booking.map(|booking| Facts::new(&booking.user, &booking.lines)))
            }
            // All other events come behind this one: the ledger may know.
            Err(failure) => match self.parts.ledger.booking(booking).await {
                Ok(Some(booking)) => Ok(Some(Facts::new(&booking.user, &booking.lines))),
                Ok(None) | Err(_) => Err(Ended::Other(format!("{event}: {failure}"))),
            },
        }
    }
}
