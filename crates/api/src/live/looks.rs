//! Looks at events that anyone may take: a crowd's are one reading.

use super::latest::Latest;
use super::slots::{Kept, Slots};
use onrush_core::Time;
use onrush_core::channels::ChannelView;
use onrush_core::ids::EventId;
use onrush_core::question::{AvailabilityNow, ChannelsNow, EventNow, Question};
use onrush_core::view::{AvailabilityView, EventView};
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

/// What was last seen of one event.
#[derive(Default)]
struct Look {
    event: Latest<Seen<Box<EventView>>, Failure>,
    left: Latest<Seen<Box<AvailabilityView>>, Failure>,
    channels: Latest<Seen<Vec<ChannelView>>, Failure>,
}

impl Kept for Look {
    fn is_empty(&self) -> bool {
        self.event.is_empty() && self.left.is_empty() && self.channels.is_empty()
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
