//! Seat maps ready to be sent: what never changes about a seat is written once, the statuses are
//! read again only when asked, once for all who ask at the same time.

use super::error::LiveError;
use super::house::Versions;
use super::latest::Latest;
use super::slots::{Kept, Slots};
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
use std::io::Write;
use std::sync::Arc;

/// The seat maps of all events.
pub struct Boards {
    engine: Arc<dyn Engine>,
    plans: PlanDir,
    slots: Slots<Slot>,
}

/// One event's seats as they were last read.
#[derive(Default)]
struct Slot {
    current: Latest<Snapshot, LiveError>,
    versions: Versions,
}

impl Kept for Slot {
    fn is_empty(&self) -> bool {
        self.current.is_empty()
    }
}

impl Boards {
    /// Seat maps of this engine's events.
    #[must_use]
    pub fn new(engine: Arc<dyn Engine>, plans: PlanDir) -> Self {
        Self { engine, plans, slots: Slots::default() }
    }

    /// The seats as they are now.
    ///
    /// # Errors
    /// The engine does not answer, or the drawing cannot be read.
    pub async fn now(&self, event: &EventId) -> Result<Arc<Snapshot>, LiveError> {
        // Good as long as nothing at all has happened since.
        let is_good = |last: &Snapshot| last.committed == self.engine.committed();
        let slot = self.slots.of(event);
        slot.current.get(is_good, |last| self.read(event, last)).await
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
        let last = self.slots.of(event).current.last();
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
        self.slots.of(event).versions.now(self.now(event)).await
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

    async fn read(
        &self,
        event: &EventId,
        last: Option<Arc<Snapshot>>,
    ) -> Result<Snapshot, LiveError> {
        let committed = self.engine.committed();
        let Answer { at, value: views, .. } = self.engine.ask(event.clone(), SeatsNow).await?;
        let board = self.board(event, &views, last.as_deref()).await?;
        let letters = views.iter().map(|view| letter(view.status)).collect();
        let allotted = (0..)
            .zip(&views)
            .filter_map(|(index, view): (u32, &SeatView)| Some((index, view.channel.clone()?)));
        let allotted = allotted.collect();
        Ok(Snapshot::new(event.clone(), (at, committed), board, letters, allotted))
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
        self.slots.forget(event);
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
            let told = move |_: &EventId, _: &_| answers.then(|| nowhere.clone());
            let engine = EngineStub::telling(told);
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
            assert!(boards.slots.len() == 0, "{} are left", boards.slots.len());
        }
    }
}
