//! Seat maps ready to be sent: what never changes about a seat is written once, the statuses are
//! read again only when asked.
//!
//! However many ask at once, one reading at a time runs, and one reading answers all who asked
//! before it began: nobody sees a status older than their question.

use super::error::LiveError;
use super::house::Versions;
use super::snapshot::{Board, Snapshot, letter};
use crate::broken::Broken;
use crate::plans::PlanDir;
use bytes::Bytes;
use onrush_core::Refusal;
use onrush_core::ids::{EventId, SeatId};
use onrush_core::question::{AvailabilityNow, EventNow, SeatsNow};
use onrush_core::view::SeatView;
use onrush_store::{Answer, Ask, Engine, Failure};
use serde_json::json;
use std::collections::HashMap;
use std::io::Write;
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// The shortest time between two readings of one event's seats: a large house takes the engine a millisecond.
const SHORTEST_PAUSE: Duration = Duration::from_millis(20);

/// The seat maps of all events.
pub struct Boards {
    engine: Arc<dyn Engine>,
    plans: PlanDir,
    slots: Mutex<HashMap<EventId, Arc<Slot>>>,
}

/// One event's seats as they were last read.
#[derive(Default)]
struct Slot {
    current: tokio::sync::Mutex<Option<Arc<Snapshot>>>,
    versions: Versions,
}

/// A slot as long as somebody asks. One whose seats nobody could read goes with the last who asked,
/// also if they hung up: made-up event ids must not fill the memory.
struct SlotInUse<'a> {
    boards: &'a Boards,
    event: &'a EventId,
    /// There until it is dropped.
    slot: Option<Arc<Slot>>,
}

impl Deref for SlotInUse<'_> {
    type Target = Slot;

    fn deref(&self) -> &Slot {
        self.slot.as_ref().expect("it is there until it is dropped")
    }
}

impl Drop for SlotInUse<'_> {
    fn drop(&mut self) {
        // Whoever else asks has a clone: each is taken and given back under this lock.
        let mut slots = self.boards.slots();
        drop(self.slot.take());
        let is_unused = |slot: &Arc<Slot>| {
            Arc::strong_count(slot) == 1
                && slot.current.try_lock().is_ok_and(|current| current.is_none())
        };
        if slots.get(self.event).is_some_and(is_unused) {
            slots.remove(self.event);
        }
    }
}

impl Boards {
    /// Seat maps of this engine's events.
    #[must_use]
    pub fn new(engine: Arc<dyn Engine>, plans: PlanDir) -> Self {
        Self { engine, plans, slots: Mutex::default() }
    }

    /// The seats as they are now.
    ///
    /// # Errors
    /// The engine does not answer, or the drawing cannot be read.
    pub async fn now(&self, event: &EventId) -> Result<Arc<Snapshot>, LiveError> {
        let asked = Instant::now();
        let slot = self.slot(event);
        let mut current = slot.current.lock().await;
        if let Some(snapshot) = &*current {
            // Another's reading began after this question, or nothing at all happened since the last one.
            if snapshot.asked >= asked || snapshot.committed == self.engine.committed() {
                return Ok(snapshot.clone());
            }
            let pause = SHORTEST_PAUSE.saturating_sub(snapshot.asked.elapsed());
            if !pause.is_zero() {
                tokio::time::sleep(pause).await;
            }
        }
        let snapshot = Arc::new(self.read(event, current.as_deref()).await?);
        *current = Some(snapshot.clone());
        Ok(snapshot)
    }

    /// The categories of an event's seats, in their order. They never change, so that the last
    /// reading does, if it has them.
    ///
    /// # Errors
    /// As [`Self::now`]; `SEAT_NOT_FOUND` if there is no such seat.
    pub async fn categories(
        &self,
        event: &EventId,
        seats: &[SeatId],
    ) -> Result<Vec<Arc<str>>, LiveError> {
        if seats.is_empty() {
            return Ok(Vec::new());
        }
        let last = self.slot(event).current.lock().await.clone();
        if let Some(Ok(known)) = last.map(|last| last.board.categories_of(seats)) {
            return Ok(known);
        }
        let now = self.now(event).await?;
        let known = now.board.categories_of(seats);
        known.map_err(|seat| Failure::from(Refusal::SeatNotFound { seat: seat.clone() }).into())
    }

    /// The map as it is now, compressed, and its tag; nothing if slow readers hold so many versions
    /// that there may be no other.
    ///
    /// # Errors
    /// As [`Self::now`].
    pub async fn packed_map(&self, event: &EventId) -> Result<Option<(Bytes, String)>, LiveError> {
        self.slot(event).versions.now(self.now(event)).await
    }

    /// The map as the organiser sees it, with bookings and reasons.
    ///
    /// # Errors
    /// As [`Self::now`].
    pub async fn for_organiser(&self, event: &EventId) -> Result<Bytes, LiveError> {
        let Answer { at, value: views, .. } = self.engine.ask(event.clone(), SeatsNow).await?;
        let board = self.board(event, &views, None).await?;
        let mut out = Vec::with_capacity(board.fragments.len() + board.seats.len() * 8 + 1_024);
        board.start(event, at, &mut out);
        for (index, view) in views.iter().enumerate() {
            board.seat(index, letter(view.status), &mut out);
            for (name, value) in [
                ("booking", view.booking.as_ref().map(|booking| booking.as_str())),
                ("why", view.why.as_deref()),
            ] {
                if let Some(value) = value {
                    write!(out, ",\"{name}\":{}", json!(value)).expect("memory is writable");
                }
            }
            out.push(b'}');
        }
        out.extend_from_slice(b"]}");
        Ok(out.into())
    }

    async fn read(&self, event: &EventId, last: Option<&Snapshot>) -> Result<Snapshot, LiveError> {
        let asked = Instant::now();
        let committed = self.engine.committed();
        let Answer { at, value: views, .. } = self.engine.ask(event.clone(), SeatsNow).await?;
        let board = self.board(event, &views, last).await?;
        let letters = views.iter().map(|view| letter(view.status)).collect();
        Ok(Snapshot::new(event.clone(), (at, asked, committed), board, letters))
    }

    /// The last board if it is still about the same seats, else a new one.
    async fn board(
        &self,
        event: &EventId,
        views: &[SeatView],
        last: Option<&Snapshot>,
    ) -> Result<Arc<Board>, LiveError> {
        // Prices are told with their fees; both may change.
        let settings = self.engine.ask(event.clone(), EventNow).await?.value.settings;
        let left = self.engine.ask(event.clone(), AvailabilityNow).await?.value;
        if let Some(last) = last
            && last.board.is_of(views, &left.categories, &settings)
        {
            return Ok(last.board.clone());
        }
        match self.plans.load(event).await {
            Ok(drawing) => Ok(Arc::new(Board::new(views, &left.categories, &settings, drawing))),
            Err(error) => Err(LiveError::Broken(Broken::log("reading the seat map", &error))),
        }
    }

    /// Forgets an event that was archived.
    pub fn forget(&self, event: &EventId) {
        self.slots().remove(event);
    }

    fn slot<'a>(&'a self, event: &'a EventId) -> SlotInUse<'a> {
        let slot = self.slots().entry(event.clone()).or_default().clone();
        SlotInUse { boards: self, event, slot: Some(slot) }
    }

    fn slots(&self) -> std::sync::MutexGuard<'_, HashMap<EventId, Arc<Slot>>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine_stub::EngineStub;
    use std::future::ready;

    #[tokio::test]
    async fn made_up_events_leave_nothing_also_where_who_asked_has_hung_up() {
        let dir = tempfile::tempdir().unwrap();
        let seats = ["A-1".parse().unwrap()];
        for answers in [true, false] {
            let plans = PlanDir::open(dir.path(), None).unwrap();
            let nowhere = Err(Failure::Refused(Refusal::EventNotFound));
            let told = move |_: &EventId| answers.then(|| nowhere.clone());
            let engine = EngineStub { events: vec![], told };
            let boards = Boards::new(Arc::new(engine), plans);
            for number in 0..3 {
                let event: EventId = format!("made-up-{number}").parse().unwrap();
                // Polled once, and dropped where there is no answer.
                let is_answered = tokio::select! {
                    biased;
                    found = boards.now(&event) => found.is_err(),
                    () = ready(()) => false,
                };
                assert_eq!(is_answered, answers);
                let is_answered = tokio::select! {
                    biased;
                    found = boards.packed_map(&event) => found.is_err(),
                    () = ready(()) => false,
                };
                assert_eq!(is_answered, answers);
                let is_answered = tokio::select! {
                    biased;
                    found = boards.categories(&event, &seats) => found.is_err(),
                    () = ready(()) => false,
                };
                assert_eq!(is_answered, answers);
            }
            assert!(boards.slots().is_empty(), "{} are left", boards.slots().len());
        }
    }
}
