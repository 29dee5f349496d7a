//! Seat maps ready to be sent: what never changes about a seat is written once, the statuses are
//! read again only when asked, once for all who ask at the same time.
//!
//! Anybody may ask, as often as they like, and to read a large house is much work for the engine.
//! So it is left alone for 15 times as long afterwards, and whoever looks is told meanwhile how the
//! seats were: streams tell what has changed. Whoever knows of a change names a time, and waits.

use super::error::LiveError;
use super::house::Versions;
use super::latest::{Latest, SHORT_PAUSE};
use super::slots::{Kept, Slots};
use super::snapshot::{Board, Snapshot, letter};
use crate::broken::Broken;
use crate::plans::PlanDir;
use bytes::Bytes;
use onrush_core::ids::{EventId, SeatId};
use onrush_core::question::{AvailabilityNow, EventNow, SeatsNow};
use onrush_core::settings::Settings;
use onrush_core::view::{AvailabilityView, SeatView};
use onrush_core::{Refusal, Time};
use onrush_store::{Answer, Ask, Engine, Failure};
use serde_json::json;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

/// So many seats are a large house: reading it is work, however quick the engine answers otherwise.
const MANY_SEATS: usize = 5_000;
/// The longest pause between two readings of a large house.
const LONG_PAUSE: Duration = Duration::from_secs(2);

/// The seat maps of all events.
pub struct Boards {
    source: Source,
    slots: Slots<Slot>,
}

/// Where seats are read from.
#[derive(Clone)]
struct Source {
    engine: Arc<dyn Engine>,
    plans: PlanDir,
}

/// One event's seats as they were last read.
struct Slot {
    current: Latest<Snapshot, LiveError>,
    outline: Latest<Outline, LiveError>,
    versions: Versions,
}

/// What tells whether a house is the one that is known, without a look at its seats.
struct Outline {
    settings: Settings,
    left: Box<AvailabilityView>,
}

impl Default for Slot {
    fn default() -> Self {
        let current = Latest::pausing(longest_pause);
        Self { current, outline: Latest::default(), versions: Versions::default() }
    }
}

impl Kept for Slot {
    fn is_empty(&self) -> bool {
        self.current.is_empty() && self.outline.is_empty()
    }
}

fn longest_pause(snapshot: &Snapshot) -> Duration {
    if snapshot.len() < MANY_SEATS { SHORT_PAUSE } else { LONG_PAUSE }
}

impl Boards {
    /// Seat maps of this engine's events.
    #[must_use]
    pub fn new(engine: Arc<dyn Engine>, plans: PlanDir) -> Self {
        Self { source: Source { engine, plans }, slots: Slots::default() }
    }

    /// The seats as they are now. Of a large house that may take a few seconds.
    ///
    /// # Errors
    /// The engine does not answer, or the drawing cannot be read.
    pub async fn now(&self, event: &EventId) -> Result<Arc<Snapshot>, LiveError> {
        self.read(event, |last, _| self.is_of_now(last)).await
    }

    /// The seats as they are now, or, of a large house whose next reading is not soon, as they were
    /// when it was last read: at most two seconds ago, and as long as reading it takes.
    ///
    /// # Errors
    /// As [`Self::now`].
    pub async fn lately(&self, event: &EventId) -> Result<Arc<Snapshot>, LiveError> {
        self.read(event, |last, wait| self.is_of_now(last) || wait > SHORT_PAUSE).await
    }

    /// The same, but not as they were before this time: if need be it takes as long as
    /// [`Self::now`]. A time to come counts as now.
    ///
    /// # Errors
    /// As [`Self::now`].
    pub async fn since(&self, event: &EventId, since: Time) -> Result<Arc<Snapshot>, LiveError> {
        let is_good = |last: &Snapshot, wait: Duration| {
            let is_late_enough = last.at() >= since;
            // Other nodes decide too, and this one may not have heard of it yet.
            let knows = is_late_enough || last.is_of_the_only_state();
            (knows && self.is_of_now(last)) || (is_late_enough && wait > SHORT_PAUSE)
        };
        self.read(event, is_good).await
    }

    /// Any seats with the drawing of now, or of lately: they never cease to be in it.
    ///
    /// # Errors
    /// As [`Self::now`].
    pub async fn drawn(&self, event: &EventId) -> Result<Arc<Snapshot>, LiveError> {
        let slot = self.slots.of(event);
        if let Some(last) = slot.current.last() {
            let read = |_| self.source.clone().outline(event.clone());
            let Outline { settings, left } =
                &*slot.outline.get(slot.clone(), |_, _| false, read).await?;
            if last.board.is_whole(&left.categories, settings) {
                return Ok(last);
            }
        }
        self.lately(event).await
    }

    async fn read(
        &self,
        event: &EventId,
        is_good: impl Fn(&Snapshot, Duration) -> bool,
    ) -> Result<Arc<Snapshot>, LiveError> {
        let slot = self.slots.of(event);
        let read = |last| self.source.clone().seats(event.clone(), last);
        slot.current.get(slot.clone(), is_good, read).await
    }

    /// Whether nothing at all has happened since, as far as is known here.
    fn is_of_now(&self, last: &Snapshot) -> bool {
        last.committed() == self.source.engine.committed()
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

    /// The map as [`Self::lately`] has it, compressed, and its tag; nothing if slow readers hold so
    /// many versions that there may be no other.
    ///
    /// # Errors
    /// As [`Self::now`].
    pub async fn packed_map(&self, event: &EventId) -> Result<Option<(Bytes, String)>, LiveError> {
        self.slots.of(event).versions.now(self.lately(event)).await
    }

    /// The map as the organiser sees it, with bookings and reasons.
    ///
    /// # Errors
    /// As [`Self::now`].
    pub async fn for_organiser(&self, event: &EventId) -> Result<Bytes, LiveError> {
        let Source { engine, .. } = &self.source;
        let settings = engine.ask(event.clone(), EventNow).await?.value.settings;
        let Answer { at, value: views, .. } = engine.ask(event.clone(), SeatsNow).await?;
        let board = self.source.board(event, &views, &settings, None).await?;
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

    /// Forgets an event that was archived.
    pub fn forget(&self, event: &EventId) {
        self.slots.forget(event);
    }
}

impl Source {
    /// Every seat; the last ones again if this event tells that nothing has happened to it since.
    async fn seats(
        self,
        event: EventId,
        last: Option<Arc<Snapshot>>,
    ) -> Result<Arc<Snapshot>, LiveError> {
        let committed = self.engine.committed();
        // Asked before the seats: they are then of this state, or of a later one.
        let Answer { as_of, value: view, .. } = self.engine.ask(event.clone(), EventNow).await?;
        if let Some(last) = last.as_ref().filter(|last| last.is_as_of(as_of)) {
            last.still_stands(committed);
            return Ok(last.clone());
        }
        let Answer { at, value: views, .. } = self.engine.ask(event.clone(), SeatsNow).await?;
        let board = self.board(&event, &views, &view.settings, last.as_deref()).await?;
        let letters = views.iter().map(|view| letter(view.status)).collect();
        let allotted = (0..)
            .zip(&views)
            .filter_map(|(index, view): (u32, &SeatView)| Some((index, view.channel.clone()?)));
        let allotted = allotted.collect();
        let read = (at, committed, as_of);
        Ok(Arc::new(Snapshot::new(event, read, board, letters, allotted)))
    }

    async fn outline(self, event: EventId) -> Result<Arc<Outline>, LiveError> {
        let settings = self.engine.ask(event.clone(), EventNow).await?.value.settings;
        let left = self.engine.ask(event, AvailabilityNow).await?.value;
        Ok(Arc::new(Outline { settings, left }))
    }

    /// The last board if it is still about the same seats, else a new one.
    async fn board(
        &self,
        event: &EventId,
        views: &[SeatView],
        settings: &Settings,
        last: Option<&Snapshot>,
    ) -> Result<Arc<Board>, LiveError> {
        // Prices are told with their fees; both may change.
        let left = self.engine.ask(event.clone(), AvailabilityNow).await?.value;
        if let Some(last) = last
            && last.board.is_of(views, &left.categories, settings)
        {
            return Ok(last.board.clone());
        }
        match self.plans.load(event).await {
            Ok(drawing) => Ok(Arc::new(Board::new(views, &left.categories, settings, drawing))),
            Err(error) => Err(LiveError::Broken(Broken::log("reading the seat map", &error))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine_stub::EngineStub;
    use crate::live::samples;
    use futures_util::FutureExt;
    use onrush_core::view::{CategoryView, SeatStatus, Units};
    use onrush_core::{Query, View};
    use onrush_store::{AsOf, Seq};
    use std::future::ready;
    use std::sync::atomic::{AtomicU32, Ordering};
    use tokio::time::{Instant, advance};

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
            // What was begun goes on for whoever asks next, and stays until there is an answer.
            assert_eq!(boards.slots.len(), if answers { 0 } else { 3 });
        }
    }

    /// An event with so many free seats.
    fn told(query: &Query, seats: u32) -> View {
        match query {
            Query::Event(_) => View::Event(Box::new(samples::tests::view("e"))),
            Query::Availability(_) => {
                let stalls = CategoryView {
                    name: "Stalls".into(),
                    price_minor: 900,
                    first_minor: None,
                    later: Vec::new(),
                    types: Vec::new(),
                    units: Units { free: seats, ..Units::default() },
                    allotted: Vec::new(),
                };
                let (pools, categories) = (Vec::new(), vec![stalls]);
                View::Availability(Box::new(AvailabilityView { pools, categories }))
            }
            Query::Seats(_) => {
                let seat = |number| SeatView {
                    seat: format!("A-{number}").parse().unwrap(),
                    category: "Stalls".into(),
                    status: SeatStatus::Free,
                    booking: None,
                    why: None,
                    channel: None,
                };
                View::Seats((0..seats).map(seat).collect())
            }
            _ => unreachable!("nothing else is asked"),
        }
    }

    #[tokio::test]
    async fn seats_are_read_anew_for_a_drawing_where_there_are_others_and_not_where_some_are_sold()
    {
        let dir = tempfile::tempdir().unwrap();
        let (seats, read) = (Arc::new(AtomicU32::new(1)), Arc::<AtomicU32>::default());
        let answers = {
            let (seats, read) = (seats.clone(), read.clone());
            move |_: &EventId, query: &Query| {
                read.fetch_add(u32::from(matches!(query, Query::Seats(_))), Ordering::Relaxed);
                Some(Ok(told(query, seats.load(Ordering::Relaxed))))
            }
        };
        let engine = Arc::new(EngineStub::telling(answers));
        let boards = Boards::new(engine.clone(), PlanDir::open(dir.path(), None).unwrap());
        let event: EventId = "e".parse().unwrap();
        assert_eq!(boards.drawn(&event).await.unwrap().len(), 1);
        engine.committed.store(1, Ordering::Relaxed);
        assert_eq!(boards.drawn(&event).await.unwrap().len(), 1);
        assert_eq!(read.load(Ordering::Relaxed), 1, "something was sold");
        seats.store(2, Ordering::Relaxed);
        engine.committed.store(2, Ordering::Relaxed);
        assert_eq!(boards.drawn(&event).await.unwrap().len(), 2);
        assert_eq!(read.load(Ordering::Relaxed), 2);
    }

    #[tokio::test]
    async fn seats_of_an_event_in_which_nothing_happened_are_not_read_anew_where_it_tells() {
        let dir = tempfile::tempdir().unwrap();
        let event: EventId = "e".parse().unwrap();
        for (as_of, readings) in [(None, 2), (Some(AsOf { epoch: 0, seq: Seq(4) }), 1)] {
            let read = Arc::<AtomicU32>::default();
            let answers = {
                let read = read.clone();
                move |_: &EventId, query: &Query| {
                    read.fetch_add(u32::from(matches!(query, Query::Seats(_))), Ordering::Relaxed);
                    Some(Ok(told(query, 1)))
                }
            };
            let engine = Arc::new(EngineStub { as_of, ..EngineStub::telling(answers) });
            let boards = Boards::new(engine.clone(), PlanDir::open(dir.path(), None).unwrap());
            boards.now(&event).await.unwrap();
            // Another event was decided about.
            engine.committed.store(1, Ordering::Relaxed);
            let now = boards.now(&event).await.unwrap();
            assert_eq!((read.load(Ordering::Relaxed), now.committed()), (readings, Seq(1)));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_names_a_time_is_told_of_none_before_it_and_waits_for_their_turn() {
        let dir = tempfile::tempdir().unwrap();
        let read = Arc::<AtomicU32>::default();
        let answers = {
            let read = read.clone();
            move |_: &EventId, query: &Query| {
                if matches!(query, Query::Seats(_)) {
                    read.fetch_add(1, Ordering::Relaxed);
                    let sets_the_clock = advance(Duration::from_millis(100)).now_or_never();
                    assert!(sets_the_clock.is_none(), "it yields afterwards");
                }
                Some(Ok(told(query, 5_000)))
            }
        };
        let engine = Arc::new(EngineStub::telling(answers));
        let boards = Boards::new(engine.clone(), PlanDir::open(dir.path(), None).unwrap());
        let event: EventId = "e".parse().unwrap();
        let begin = Instant::now();
        assert_eq!(boards.lately(&event).await.unwrap().at(), Time(1));
        engine.committed.store(1, Ordering::Relaxed);
        boards.lately(&event).await.unwrap();
        boards.since(&event, Time(1)).await.unwrap();
        assert_eq!(read.load(Ordering::Relaxed), 1, "the last reading will do");
        boards.since(&event, Time(i64::MAX)).await.unwrap();
        assert_eq!(read.load(Ordering::Relaxed), 2, "once, though no reading is of a time to come");
        let least = Duration::from_millis(100 + 15 * 100 + 100);
        assert!(begin.elapsed() >= least, "the engine is left alone as for anybody");
    }

    #[tokio::test]
    async fn a_node_that_has_heard_of_nothing_asks_for_whoever_names_a_time_where_others_decide() {
        let dir = tempfile::tempdir().unwrap();
        let event: EventId = "e".parse().unwrap();
        for (as_of, looks) in [(None, 0), (Some(AsOf { epoch: 0, seq: Seq(4) }), 1)] {
            let looked = Arc::<AtomicU32>::default();
            let answers = {
                let looked = looked.clone();
                move |_: &EventId, query: &Query| {
                    looked
                        .fetch_add(u32::from(matches!(query, Query::Event(_))), Ordering::Relaxed);
                    Some(Ok(told(query, 1)))
                }
            };
            let engine = Arc::new(EngineStub { as_of, ..EngineStub::telling(answers) });
            let boards = Boards::new(engine, PlanDir::open(dir.path(), None).unwrap());
            boards.now(&event).await.unwrap();
            let before = looked.load(Ordering::Relaxed);
            boards.since(&event, Time(1)).await.unwrap();
            assert_eq!(looked.load(Ordering::Relaxed), before, "it was read then");
            boards.since(&event, Time(2)).await.unwrap();
            assert_eq!(looked.load(Ordering::Relaxed) - before, looks);
        }
    }
}
