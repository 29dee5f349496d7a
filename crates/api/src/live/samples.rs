//! Samples for the control room: how each sale stands, once a second, and what happened to it so far.
//!
//! One task on each node reads the feed once a second and counts, also how fast lines move; another
//! source are the answers themselves, which say what was refused (see [`Samples::refused`]).
//! Nothing here is state that anyone relies on: it begins anew with the process, and only as many
//! sales are looked at as a control room could care about.

use super::error::LiveError;
use super::sample::{Counts, Past, Sample};
use crate::live::pace::Paces;
use bytes::Bytes;
use onrush_core::change::{BookingChange, HoldChange, QueueChange};
use onrush_core::ids::{BookingId, EventId};
use onrush_core::question::{BookingOf, EventNow};
use onrush_core::view::EventView;
use onrush_core::{Change, Time};
use onrush_store::{Answer, Ask, Engine, Failure, FeedPage};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, MissedTickBehavior};

/// Time between two samples.
const EVERY: Duration = Duration::from_secs(1);
/// Samples of one event that are kept: a quarter of an hour.
const KEPT: usize = 900;
/// An event to which nothing happens for so long, and which nobody watches, is forgotten.
const IDLE: Duration = Duration::from_secs(900);
/// Events that are looked at at once; beyond, the one that was idle for longest is forgotten.
const MAX_EVENTS: usize = 64;
/// Live bookings of one event whose amount is remembered, and others of which the engine is still
/// to be asked.
const MAX_AMOUNTS: usize = 200_000;
/// Bookings whose amount is asked of the engine for one sample.
const MAX_ASKED: usize = 1_000;
/// Messages that may wait for a slow control room before its stream is closed: it comes back and
/// gets all of them.
const MAX_WAITING: usize = 30;

/// The samples of all events.
pub struct Samples {
    engine: Arc<dyn Engine>,
    board: Mutex<Board>,
    /// How fast lines move.
    pub paces: Paces,
    stopping: watch::Sender<bool>,
}

impl Samples {
    /// Samples of this engine's events.
    #[must_use]
    pub fn new(engine: Arc<dyn Engine>) -> Arc<Self> {
        let (board, paces) = (Mutex::default(), Paces::default());
        Arc::new(Self { engine, board, paces, stopping: watch::Sender::new(false) })
    }

    /// Counts a refusal of what a visitor asked for under this path.
    ///
    /// A path that names no event that is looked at counts nothing: made-up ids must not fill the
    /// memory. What is refused under the inherited paths is not counted, for they do not name their
    /// event.
    pub fn refused(&self, path: &str, code: &'static str) {
        if let Some(event) = event_in(path) {
            self.board().refused(event, code, Instant::now());
        }
    }

    /// Messages for a control room, ready to be written: the past once, then each sample as it is taken.
    ///
    /// # Errors
    /// [`LiveError::Ask`], [`LiveError::Stopping`].
    pub async fn watch(&self, event: &EventId) -> Result<mpsc::Receiver<Bytes>, LiveError> {
        let Answer { at, value: view, .. } = self.engine.ask(event.clone(), EventNow).await?;
        self.board().watch(event, at, &view, Instant::now()).ok_or(LiveError::Stopping)
    }

    /// Follows the feed and takes samples, until it is stopped.
    pub async fn run(self: Arc<Self>) {
        let mut stopped = self.stopping.subscribe();
        tokio::select! {
            biased;
            () = self.follow() => {}
            _ = stopped.wait_for(|stopping| *stopping) => {}
        }
    }

    /// Ends all streams and the task.
    pub fn stop(&self) {
        self.board().close();
        self.stopping.send_replace(true);
    }

    /// Reads the feed once a second, right before the samples: of a cluster's archive each reading
    /// is a query.
    async fn follow(&self) {
        let mut second = tokio::time::interval(EVERY);
        second.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut cursor = self.engine.committed();
        let mut feed = self.engine.subscribe(cursor);
        loop {
            second.tick().await;
            let committed = self.engine.committed();
            while cursor < committed {
                // A feed that does not answer must not hold up the samples.
                match tokio::time::timeout(EVERY, feed.next()).await {
                    Ok(Ok(Some(page))) => {
                        cursor = page.last().map_or(committed, |last| last.seq);
                        page.iter().for_each(|entry| self.paces.note(entry));
                        self.board().note(&page, Instant::now());
                    }
                    Ok(Ok(None)) => return,
                    Ok(Err(error)) => {
                        tracing::error!(error, "the control room misses what the feed has");
                        feed = self.engine.subscribe(cursor);
                        break;
                    }
                    Err(_) => break,
                }
            }
            self.take().await;
        }
    }

    /// Takes a sample of each event that is looked at.
    async fn take(&self) {
        let events = self.board().due(Instant::now());
        let ask = |event: EventId| {
            let unknown = self.board().take_unknown(&event);
            let amount = |booking: BookingId| {
                let anyones = BookingOf { booking: booking.clone(), user: None };
                (booking, self.engine.ask(event.clone(), anyones))
            };
            let amounts: Vec<_> = unknown.into_iter().map(amount).collect();
            let view = self.engine.ask(event.clone(), EventNow);
            (event, amounts, view)
        };
        // All are asked before any answer is awaited, so that they are answered together.
        let asked: Vec<_> = events.into_iter().map(ask).collect();
        for (event, amounts, view) in asked {
            let (mut sold_minor, mut again) = (0, Vec::new());
            for (booking, amount) in amounts {
                match amount.await {
                    Ok(answer) => sold_minor += answer.value.terms.amount_minor,
                    // What the engine does not know any more was cancelled long ago.
                    Err(Failure::Refused(_)) => {}
                    Err(_) => again.push(booking),
                }
            }
            self.board().learn(&event, sold_minor, again);
            // An engine that does not answer just now leaves a gap.
            if let Ok(Answer { at, value: view, .. }) = view.await {
                self.board().add(&event, at, &view);
            }
        }
    }

    fn board(&self) -> MutexGuard<'_, Board> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The event that a visitor's path is about, if it says so.
fn event_in(path: &str) -> Option<&str> {
    let (kind, rest) = path.strip_prefix("/api/v1/")?.split_once('/')?;
    let id = rest.split('/').next().unwrap_or(rest);
    match kind {
        "events" => Some(id),
        // Their ids begin with their event's.
        "bookings" | "claims" => id.rsplit_once('.').map(|(event, _)| event),
        _ => None,
    }
}

/// All that is known, without clock and engine.
#[derive(Default)]
struct Board {
    events: BTreeMap<EventId, Looked>,
    closed: bool,
}

/// An event that is looked at.
struct Looked {
    counts: Counts,
    refused: Arc<BTreeMap<&'static str, u64>>,
    /// What live bookings come to: a confirmation names only its booking.
    amounts: HashMap<BookingId, i64>,
    /// Bookings that were confirmed, and whose amount only the engine knows.
    unknown: Vec<BookingId>,
    samples: VecDeque<Arc<Sample>>,
    watchers: Vec<mpsc::Sender<Bytes>>,
    /// When something happened to it, or somebody watched it.
    busy_at: Instant,
}

impl Looked {
    fn new(now: Instant) -> Self {
        Self {
            counts: Counts::default(),
            refused: Arc::default(),
            amounts: HashMap::new(),
            unknown: Vec::new(),
            samples: VecDeque::new(),
            watchers: Vec::new(),
            busy_at: now,
        }
    }
}

impl Board {
    fn note(&mut self, page: &FeedPage, now: Instant) {
        for entry in page {
            let looked = self.looked(&entry.event, now);
            entry.changes.iter().for_each(|change| looked.note(change));
        }
    }

    fn refused(&mut self, event: &str, code: &'static str, now: Instant) {
        if let Some(looked) = self.events.get_mut(event) {
            looked.busy_at = now;
            *Arc::make_mut(&mut looked.refused).entry(code).or_default() += 1;
        }
    }

    /// The events of which a sample is to be taken; those that are idle are forgotten.
    fn due(&mut self, now: Instant) -> Vec<EventId> {
        self.events.retain(|_, looked| {
            looked.watchers.retain(|watcher| !watcher.is_closed());
            if !looked.watchers.is_empty() {
                looked.busy_at = now;
            }
            now.saturating_duration_since(looked.busy_at) < IDLE
        });
        self.events.keys().cloned().collect()
    }

    fn take_unknown(&mut self, event: &EventId) -> Vec<BookingId> {
        let Some(looked) = self.events.get_mut(event) else { return Vec::new() };
        let asked = looked.unknown.len().min(MAX_ASKED);
        looked.unknown.drain(..asked).collect()
    }

    /// Notes what bookings came to, and of which others that is still to be asked.
    fn learn(&mut self, event: &EventId, sold_minor: i64, again: Vec<BookingId>) {
        let Some(looked) = self.events.get_mut(event) else { return };
        looked.counts.sold_minor += sold_minor;
        looked.unknown.extend(again);
    }

    /// Adds a sample and tells it to those who watch.
    fn add(&mut self, event: &EventId, at: Time, view: &EventView) {
        let Some(looked) = self.events.get_mut(event) else { return };
        let sample = looked.sample(at, view);
        if !looked.watchers.is_empty() {
            let text = message("sample", &*sample);
            // One that is gone, or too slow, is not told any more.
            looked.watchers.retain(|watcher| watcher.try_send(text.clone()).is_ok());
        }
    }

    /// Begins to tell somebody; `None` once it is closed.
    fn watch(
        &mut self,
        event: &EventId,
        at: Time,
        view: &EventView,
        now: Instant,
    ) -> Option<mpsc::Receiver<Bytes>> {
        if self.closed {
            return None;
        }
        let looked = self.looked(event, now);
        if looked.samples.is_empty() {
            looked.sample(at, view);
        }
        let (watcher, watched) = mpsc::channel(MAX_WAITING);
        let past = message("past", &Past { samples: looked.samples.clone() });
        // There is room: nothing was sent yet.
        drop(watcher.try_send(past));
        looked.watchers.push(watcher);
        Some(watched)
    }

    fn close(&mut self) {
        self.closed = true;
        self.events.clear();
    }

    /// The event, which something happened to; another one makes room for it if need be.
    fn looked(&mut self, event: &EventId, now: Instant) -> &mut Looked {
        if !self.events.contains_key(event) && self.events.len() >= MAX_EVENTS {
            let unwatched = self.events.iter().filter(|(_, other)| other.watchers.is_empty());
            // If all are watched there are more for a while: streams are limited by themselves.
            let idlest = unwatched.min_by_key(|(_, other)| other.busy_at);
            if let Some(idlest) = idlest.map(|(event, _)| event.clone()) {
                self.events.remove(&idlest);
            }
        }
        let looked = self.events.entry(event.clone()).or_insert_with(|| Looked::new(now));
        looked.busy_at = now;
        looked
    }
}

impl Looked {
    fn sample(&mut self, at: Time, view: &EventView) -> Arc<Sample> {
        let sample = Arc::new(Sample {
            at,
            phase: view.phase,
            waiting: view.waiting,
            active: view.active,
            units: view.units.into(),
            counts: self.counts,
            refused: self.refused.clone(),
        });
        if self.samples.len() == KEPT {
            self.samples.pop_front();
        }
        self.samples.push_back(sample.clone());
        sample
    }

    fn note(&mut self, change: &Change) {
        let counts = &mut self.counts;
        match change {
            Change::Queue(change) => match change {
                QueueChange::PlaceTaken { .. } => counts.joined += 1,
                QueueChange::Admitted { .. } => counts.admitted += 1,
                QueueChange::PlaceLeft { .. } => counts.left += 1,
                QueueChange::PlaceSeen { .. } | QueueChange::PrequeueClosed { .. } => {}
            },
            Change::Hold(change) => match change {
                HoldChange::HoldPlaced { terms, until: _ } => {
                    counts.held += 1;
                    if self.amounts.len() < MAX_AMOUNTS {
                        self.amounts.insert(terms.booking.clone(), terms.amount_minor);
                    }
                }
                HoldChange::HoldReleased { booking } => {
                    counts.released += 1;
                    self.amounts.remove(booking);
                }
                HoldChange::HoldExpired { booking } => {
                    counts.expired += 1;
                    // Late money may still buy: the engine is asked then.
                    self.amounts.remove(booking);
                }
                HoldChange::HoldExtended { .. } | HoldChange::HoldForgotten { .. } => {}
            },
            Change::Booking(change) => match change {
                BookingChange::HoldConfirmed { booking, .. }
                | BookingChange::HoldConfirmedLate { booking, .. } => {
                    counts.confirmed += 1;
                    self.sold(booking);
                }
                BookingChange::ConfirmedCancelled { .. } => counts.cancelled += 1,
                BookingChange::PaymentBegun { .. } => counts.payments_begun += 1,
                BookingChange::PaymentFailed { .. } | BookingChange::LatePaymentFailed { .. } => {
                    counts.payments_failed += 1;
                }
                BookingChange::CheckedIn { .. } => counts.checked_in += 1,
                BookingChange::PayerNamed { .. } => {}
            },
            Change::Setup(_) | Change::Sale(_) | Change::Visitor(_) | Change::Claim(_) => {}
        }
    }

    fn sold(&mut self, booking: &BookingId) {
        match self.amounts.remove(booking) {
            Some(amount_minor) => self.counts.sold_minor += amount_minor,
            None if self.unknown.len() < MAX_AMOUNTS => self.unknown.push(booking.clone()),
            None => {}
        }
    }
}

/// An event as SSE writes it. JSON text has no line breaks of its own, so it is one line of data.
fn message(name: &str, content: &impl Serialize) -> Bytes {
    let json = serde_json::to_string(content).expect("a sample is JSON");
    format!("event: {name}\ndata: {json}\n\n").into()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use onrush_core::Phase;
    use onrush_core::gaps::Gaps;
    use onrush_core::hold::HoldTerms;
    use onrush_core::ids::PlaceId;
    use onrush_core::lines::Lines;
    use onrush_core::settings::Settings;
    use onrush_core::view::{AdmissionState, Units};
    use onrush_store::{FeedEntry, Seq};

    fn event(name: &str) -> EventId {
        name.parse().unwrap()
    }

    pub(crate) fn view(name: &str) -> EventView {
        EventView {
            event: event(name),
            settings: Settings::new("Rush", "EUR".parse().unwrap()),
            phase: Phase::Open,
            waiting: 1,
            active: 2,
            places_taken: 3,
            units: Units { free: 4, ..Units::default() },
            admission: AdmissionState::GoesOn,
            draw: None,
            gaps: Gaps::default(),
        }
    }

    fn page(name: &str, changes: Vec<Change>) -> FeedPage {
        vec![Arc::new(FeedEntry { seq: Seq(1), at: Time(1), event: event(name), changes })]
    }

    fn joined() -> Change {
        let user = "ann".parse().unwrap();
        Change::Queue(QueueChange::PlaceTaken { place: PlaceId::from_u128(1), user, number: 1 })
    }

    fn held(booking: &str, amount_minor: i64) -> Change {
        let terms = HoldTerms {
            booking: booking.parse().unwrap(),
            user: "ann".parse().unwrap(),
            lines: Lines::new(Vec::new(), vec!["A-1".parse().unwrap()]).unwrap(),
            asked: None,
            prices_minor: Vec::new(),
            sources: Vec::new(),
            types: None,
            amount_minor,
            fee_minor: 0,
            created_at: Time(1),
        };
        Change::Hold(HoldChange::HoldPlaced { terms: Arc::new(terms), until: Time(9) })
    }

    fn confirmed(booking: &str) -> Change {
        Change::Booking(BookingChange::HoldConfirmed {
            booking: booking.parse().unwrap(),
            payment: None,
        })
    }

    /// What the next message is called and says.
    fn next(watched: &mut mpsc::Receiver<Bytes>) -> Option<(String, serde_json::Value)> {
        let text = watched.try_recv().ok()?;
        let text = std::str::from_utf8(&text).unwrap().strip_suffix("\n\n").unwrap();
        let (name, data) = text.split_once("\ndata: ").unwrap();
        let name = name.strip_prefix("event: ").unwrap();
        Some((name.to_owned(), serde_json::from_str(data).unwrap()))
    }

    #[test]
    fn who_watches_gets_the_past_and_then_each_sample() {
        let (mut board, now) = (Board::default(), Instant::now());
        board.note(&page("e", vec![joined(), held("e.1", 500), held("e.2", 900)]), now);
        board.add(&event("e"), Time(1_000), &view("e"));
        board.refused("e", "SEAT_UNAVAILABLE", now);
        let mut watched = board.watch(&event("e"), Time(1_500), &view("e"), now).unwrap();
        board.note(&page("e", vec![confirmed("e.1")]), now);
        board.add(&event("e"), Time(2_000), &view("e"));

        let (name, past) = next(&mut watched).unwrap();
        assert_eq!((name.as_str(), past["samples"].as_array().unwrap().len()), ("past", 1));
        let first = &past["samples"][0];
        assert_eq!((&first["at"], &first["refused"]), (&1_000.into(), &serde_json::json!({})));
        assert_eq!(
            (&first["counts"]["held"], &first["counts"]["sold_minor"]),
            (&2.into(), &0.into())
        );
        let (name, sample) = next(&mut watched).unwrap();
        assert_eq!(name, "sample");
        let counts = &sample["counts"];
        assert_eq!(
            (&counts["joined"], &counts["confirmed"], &counts["sold_minor"]),
            (&1.into(), &1.into(), &500.into())
        );
        assert_eq!(sample["refused"], serde_json::json!({"SEAT_UNAVAILABLE": 1}));
        assert_eq!(
            sample["units"],
            serde_json::json!({"free": 4, "held": 0, "sold": 0, "blocked": 0})
        );
        assert!(next(&mut watched).is_none());
    }

    #[test]
    fn amounts_of_bookings_from_before_are_asked_of_the_engine() {
        let (mut board, now) = (Board::default(), Instant::now());
        board.note(&page("e", vec![confirmed("e.old")]), now);
        assert_eq!(board.take_unknown(&event("e")), ["e.old".parse().unwrap()]);
        // The engine could not be reached: it is asked again.
        board.learn(&event("e"), 0, vec!["e.old".parse().unwrap()]);
        assert_eq!(board.take_unknown(&event("e")).len(), 1);
        board.learn(&event("e"), 700, Vec::new());
        assert_eq!(board.events["e"].counts.sold_minor, 700);
        assert!(board.take_unknown(&event("e")).is_empty());
    }

    #[test]
    fn the_oldest_sample_goes_when_the_ring_is_full() {
        let (mut board, now) = (Board::default(), Instant::now());
        board.note(&page("e", vec![joined()]), now);
        for second in 0..=KEPT {
            board.add(&event("e"), Time(second as i64), &view("e"));
        }
        let samples = &board.events["e"].samples;
        assert_eq!((samples.len(), samples[0].at), (KEPT, Time(1)));
    }

    #[test]
    fn idle_events_are_forgotten_unless_they_are_watched() {
        let (mut board, now) = (Board::default(), Instant::now());
        board.note(&page("idle", vec![joined()]), now);
        let watched = board.watch(&event("watched"), Time(1), &view("watched"), now).unwrap();
        let later = now + IDLE;
        assert_eq!(board.due(later), [event("watched")]);
        drop(watched);
        assert_eq!(board.due(later + IDLE / 2).len(), 1);
        assert!(board.due(later + IDLE).is_empty());
    }

    #[test]
    fn the_idlest_unwatched_event_makes_room_for_another() {
        let (mut board, now) = (Board::default(), Instant::now());
        let _watched = board.watch(&event("e-0"), Time(1), &view("e-0"), now).unwrap();
        for number in 1..=MAX_EVENTS as u32 {
            let name = format!("e-{number}");
            board.note(&page(&name, vec![joined()]), now + number * EVERY);
        }
        assert_eq!(board.events.len(), MAX_EVENTS);
        assert!(board.events.contains_key("e-0") && !board.events.contains_key("e-1"));
    }

    #[test]
    fn a_control_room_that_is_too_slow_is_not_told_any_more() {
        let (mut board, now) = (Board::default(), Instant::now());
        let mut watched = board.watch(&event("e"), Time(1), &view("e"), now).unwrap();
        for second in 0..MAX_WAITING {
            board.add(&event("e"), Time(second as i64), &view("e"));
        }
        assert!(board.events["e"].watchers.is_empty());
        while next(&mut watched).is_some() {}
        assert!(watched.is_closed());
    }

    #[test]
    fn made_up_events_are_not_remembered() {
        let mut board = Board::default();
        board.refused("nowhere", "EVENT_NOT_FOUND", Instant::now());
        assert!(board.events.is_empty());
    }

    #[test]
    fn a_path_leads_to_its_event() {
        for (path, event) in [
            ("/api/v1/events/tour-1/bookings", Some("tour-1")),
            ("/api/v1/events/tour-1", Some("tour-1")),
            ("/api/v1/bookings/tour.2026.0f/payment", Some("tour.2026")),
            ("/api/v1/claims/tour-1.0f", Some("tour-1")),
            ("/api/v1/bookings", None),
            ("/api/v1/admin/events/tour-1/open", None),
            ("/api/v1/visitors", None),
            ("/", None),
        ] {
            assert_eq!(event_in(path), event, "{path}");
        }
    }
}
