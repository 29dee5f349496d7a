//! Looks at events that anyone may take: a crowd's are one reading.

use super::latest::Latest;
use super::slots::{Kept, Slots};
use bytes::Bytes;
use onrush_core::Time;
use onrush_core::channels::ChannelView;
use onrush_core::ids::EventId;
use onrush_core::question::{AvailabilityNow, ChannelsNow, EventNow, Question};
use onrush_core::settings::Settings;
use onrush_core::view::{AvailabilityView, CategoryView, EventView, PoolView};
use onrush_ledger::LedgerError;
use onrush_ledger::projection::CatalogueText;
use onrush_store::{Answer, Ask, Engine, Failure};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::time::Instant;

/// Pools or categories that are written together: some kilobytes, unless all have many types.
const IN_A_PIECE: usize = 32;

/// Something as it was at a time.
pub struct Seen<T> {
    /// The engine's time.
    pub at: Time,
    /// What was there.
    pub value: T,
    asked: Instant,
}

/// What is left of an event, and what its prices are told by. It is written in pieces, each of them
/// once for everybody: clients who read slowly hold on to what they are sent. Pools and categories
/// are added and never taken away, so that a piece of a later reading goes on from those before.
pub struct Left {
    /// What prices are told by.
    pub settings: Settings,
    /// Pools and categories.
    pub stock: Box<AvailabilityView>,
    whole: OnceLock<Bytes>,
    pools: Box<[OnceLock<Bytes>]>,
    categories: Box<[OnceLock<Bytes>]>,
}

/// What is written together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece {
    /// All there is, which is not much.
    Whole,
    /// Pools, by the number of the piece.
    Pools(usize),
    /// Categories, by the number of the piece.
    Categories(usize),
}

impl Left {
    fn new(settings: Settings, stock: Box<AvailabilityView>) -> Self {
        let pieces = |count: usize| {
            (0..count.div_ceil(IN_A_PIECE).max(1)).map(|_| OnceLock::new()).collect()
        };
        let (pools, categories) = (pieces(stock.pools.len()), pieces(stock.categories.len()));
        Self { settings, stock, whole: OnceLock::new(), pools, categories }
    }

    /// The first piece.
    #[must_use]
    pub fn first(&self) -> Piece {
        if self.pools.len() + self.categories.len() == 2 { Piece::Whole } else { Piece::Pools(0) }
    }

    /// The piece after this one.
    #[must_use]
    pub fn after(&self, piece: Piece) -> Option<Piece> {
        match piece {
            Piece::Whole => None,
            Piece::Pools(number) if number + 1 < self.pools.len() => Some(Piece::Pools(number + 1)),
            Piece::Pools(_) => Some(Piece::Categories(0)),
            Piece::Categories(number) => {
                (number + 1 < self.categories.len()).then_some(Piece::Categories(number + 1))
            }
        }
    }

    /// The pools of a piece by its number.
    #[must_use]
    pub fn pools_of(&self, number: usize) -> &[PoolView] {
        self.stock.pools.chunks(IN_A_PIECE).nth(number).unwrap_or_default()
    }

    /// The categories of a piece by its number.
    #[must_use]
    pub fn categories_of(&self, number: usize) -> &[CategoryView] {
        self.stock.categories.chunks(IN_A_PIECE).nth(number).unwrap_or_default()
    }

    /// A piece as it was written, by `write` for the first who asks; nothing if there is none such.
    pub fn written(&self, piece: Piece, write: impl FnOnce() -> Vec<u8>) -> Option<Bytes> {
        let kept = match piece {
            Piece::Whole => Some(&self.whole),
            Piece::Pools(number) => self.pools.get(number),
            Piece::Categories(number) => self.categories.get(number),
        };
        kept.map(|kept| kept.get_or_init(|| write().into()).clone())
    }
}

/// What people read about an event, by language.
pub type EventTexts = Vec<(String, CatalogueText)>;

/// What was last seen of one event.
#[derive(Default)]
struct Look {
    event: Latest<Seen<Box<EventView>>, Failure>,
    left: Latest<Seen<Left>, Failure>,
    channels: Latest<Seen<Vec<ChannelView>>, Failure>,
    texts: Latest<EventTexts, LedgerError>,
}

impl Kept for Look {
    fn is_empty(&self) -> bool {
        let nothing_of_the_engine = self.event.is_empty() && self.left.is_empty();
        nothing_of_the_engine && self.channels.is_empty() && self.texts.is_empty()
    }
}

/// Looks at all events; its clones are the same.
#[derive(Clone)]
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
        let is_good = |seen: &Seen<Box<EventView>>, _| seen.asked.elapsed() < longest_ago;
        let slot = self.slots.of(event);
        let read = |_| look(&self.engine, event, EventNow);
        slot.event.get(slot.clone(), is_good, read).await
    }

    /// What is left of an event now.
    ///
    /// # Errors
    /// Whatever the engine says.
    pub async fn left(&self, event: &EventId) -> Result<Arc<Seen<Left>>, Failure> {
        let slot = self.slots.of(event);
        let read = |_| look_at_stock(self.engine.clone(), event.clone());
        slot.left.get(slot.clone(), |_, _| false, read).await
    }

    /// What was left of an event when it was last asked, if it was.
    #[must_use]
    pub fn last_left(&self, event: &EventId) -> Option<Arc<Seen<Left>>> {
        self.slots.of(event).left.last()
    }

    /// The channels of an event now: for whoever has opened one, and not for everybody.
    ///
    /// # Errors
    /// Whatever the engine says.
    pub async fn channels(&self, event: &EventId) -> Result<Arc<Seen<Vec<ChannelView>>>, Failure> {
        let slot = self.slots.of(event);
        let read = |_| look(&self.engine, event, ChannelsNow);
        slot.channels.get(slot.clone(), |_, _| false, read).await
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
        let read = |_| {
            let texts = read();
            async move { texts.await.map(Arc::new) }
        };
        slot.texts.get(slot.clone(), |_, _| false, read).await
    }

    /// Forgets an event that was archived.
    pub fn forget(&self, event: &EventId) {
        self.slots.forget(event);
    }
}

/// Asks the engine, for whoever is still there when it answers.
fn look<Q: Question>(
    engine: &Arc<dyn Engine>,
    event: &EventId,
    question: Q,
) -> impl Future<Output = Result<Arc<Seen<Q::Answer>>, Failure>> + Send + use<Q> {
    let asked = Instant::now();
    let answer = engine.ask(event.clone(), question);
    async move {
        let Answer { at, as_of: _, value } = answer.await?;
        Ok(Arc::new(Seen { at, value, asked }))
    }
}

/// Asks the engine what is left, and what prices are told by.
async fn look_at_stock(
    engine: Arc<dyn Engine>,
    event: EventId,
) -> Result<Arc<Seen<Left>>, Failure> {
    let asked = Instant::now();
    let settings = engine.ask(event.clone(), EventNow).await?.value.settings;
    let Answer { at, as_of: _, value: stock } = engine.ask(event, AvailabilityNow).await?;
    Ok(Arc::new(Seen { at, value: Left::new(settings, stock), asked }))
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
