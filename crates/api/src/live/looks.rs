//! Looks at events that anyone may take: a crowd's are one reading.

use super::latest::Latest;
use super::slots::{Kept, Slots};
use onrush_core::Time;
use onrush_core::channels::ChannelView;
use onrush_core::ids::EventId;
use onrush_core::question::{AvailabilityNow, ChannelsNow, EventNow, Question};
use onrush_core::view::{AvailabilityView, EventView};
use onrush_ledger::LedgerError;
use onrush_ledger::projection::CatalogueText;
use onrush_store::{Ask, Engine, Failure};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// Something as it was at a time.
pub struct Seen<T> {
    /// The engine's time.
    pub at: Time,
    /// What was there.
    pub value: T,
    asked: Instant,
}

/// What people read about an event, by language.
pub type EventTexts = Vec<(String, CatalogueText)>;

/// What was last seen of one event.
#[derive(Default)]
struct Look {
    event: Latest<Seen<Box<EventView>>, Failure>,
    left: Latest<Seen<Box<AvailabilityView>>, Failure>,
    channels: Latest<Seen<Vec<ChannelView>>, Failure>,
    texts: Latest<EventTexts, LedgerError>,
}

impl Kept for Look {
    fn is_empty(&self) -> bool {
        let nothing_of_the_engine = self.event.is_empty() && self.left.is_empty();
        nothing_of_the_engine && self.channels.is_empty() && self.texts.is_empty()
    }
}

/// Looks at all events.
pub struct Looks {
    engine: Arc<dyn Engine>,
    slots: Slots<Look>,
}

impl Looks {
    /// Looks at this engine's events.
    #[must_use]
    pub fn new(engine: Arc<dyn Engine>) -> Self {
        Self { engine, slots: Slots::default() }
    }

    /// An event as it is now, or was not longer ago than this.
    ///
    /// # Errors
    /// Whatever the engine says.
    pub async fn event(
        &self,
        event: &EventId,
        longest_ago: Duration,
    ) -> Result<Arc<Seen<Box<EventView>>>, Failure> {
        let is_good = |seen: &Seen<Box<EventView>>| seen.asked.elapsed() < longest_ago;
        let slot = self.slots.of(event);
        slot.event.get(is_good, |_| self.look(event, EventNow)).await
    }

    /// What is left of an event now.
    ///
    /// # Errors
    /// Whatever the engine says.
    pub async fn left(&self, event: &EventId) -> Result<Arc<Seen<Box<AvailabilityView>>>, Failure> {
        let slot = self.slots.of(event);
        slot.left.get(|_| false, |_| self.look(event, AvailabilityNow)).await
    }

    /// The channels of an event now: for whoever has opened one, and not for everybody.
    ///
    /// # Errors
    /// Whatever the engine says.
    pub async fn channels(&self, event: &EventId) -> Result<Arc<Seen<Vec<ChannelView>>>, Failure> {
        let slot = self.slots.of(event);
        slot.channels.get(|_| false, |_| self.look(event, ChannelsNow)).await
    }

    /// The texts about an event that is known to exist, as they are now. The ledger is asked with
    /// `read`: on SQLite its questions stand in line with payments.
    ///
    /// # Errors
    /// Whatever the ledger says.
    pub async fn texts(
        &self,
        event: &EventId,
        read: impl FnOnce() -> onrush_ledger::Pending<EventTexts>,
    ) -> Result<Arc<EventTexts>, LedgerError> {
        let slot = self.slots.of(event);
        slot.texts.get(|_| false, |_| read()).await
    }

    async fn look<Q: Question>(
        &self,
        event: &EventId,
        question: Q,
    ) -> Result<Seen<Q::Answer>, Failure> {
        let asked = Instant::now();
        let answer = self.engine.ask(event.clone(), question).await?;
        Ok(Seen { at: answer.at, value: answer.value, asked })
    }

    /// Forgets an event that was archived.
    pub fn forget(&self, event: &EventId) {
        self.slots.forget(event);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine_stub::EngineStub;
    use futures_util::future::join_all;
    use onrush_core::{Query, View};
    use std::sync::atomic::{AtomicUsize, Ordering};
    use tokio::time::sleep;

    #[tokio::test(start_paused = true)]
    async fn a_crowd_reads_texts_of_the_ledger_once_and_whoever_comes_later_anew() {
        let told = |_: &EventId, _: &Query| -> Option<Result<View, Failure>> {
            unreachable!("the engine has no texts")
        };
        let stub = EngineStub::telling(told);
        let looks = Looks::new(Arc::new(stub));
        let event: EventId = "e".parse().unwrap();
        let reads = Arc::new(AtomicUsize::new(0));
        let read = || -> onrush_ledger::Pending<EventTexts> {
            let reads = reads.clone();
            Box::pin(async move {
                let before = reads.fetch_add(1, Ordering::Relaxed);
                sleep(Duration::from_millis(5)).await;
                Ok(vec![(format!("read {before}"), CatalogueText::default())])
            })
        };
        let crowd = join_all((0..100).map(|_| looks.texts(&event, read))).await;
        assert_eq!(reads.load(Ordering::Relaxed), 1);
        assert!(crowd.iter().all(|texts| texts.as_ref().unwrap()[0].0 == "read 0"));
        let later = looks.texts(&event, read).await.unwrap();
        assert_eq!(later[0].0, "read 1", "what was changed meanwhile is seen");
    }
}
