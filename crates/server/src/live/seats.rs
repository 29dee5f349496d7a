//! Seat maps ready to be sent: what never changes about a seat is written once, the statuses are read again only when asked.
//!
//! However many ask at once, one reading at a time runs, and one reading answers all who asked before it began: nobody
//! sees a status older than his question.

use crate::app::odd_answer;
use crate::http::problem::Problem;
use crate::plans::{Drawing, DrawnSeat, PlanDir};
use bytes::Bytes;
use onrush_core::ids::{EventId, SeatId};
use onrush_core::view::{SeatStatus, SeatView};
use onrush_core::{Query, Time, View};
use onrush_store::{Engine, Seq};
use serde_json::json;
use std::collections::HashMap;
use std::io::Write;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// The shortest time between two readings of one event's seats: a large house takes the engine a millisecond.
const SHORTEST_PAUSE: Duration = Duration::from_millis(20);

/// The seat maps of all events.
pub struct Boards {
    engine: Arc<dyn Engine>,
    plans: PlanDir,
    slots: Mutex<HashMap<EventId, Slot>>,
}

type Slot = Arc<tokio::sync::Mutex<Option<Arc<Snapshot>>>>;

/// One event's seats at one time.
pub struct Snapshot {
    event: EventId,
    at: Time,
    asked: Instant,
    committed: Seq,
    board: Arc<Board>,
    /// One letter a seat.
    letters: Box<[u8]>,
    map: OnceLock<Bytes>,
    statuses: OnceLock<Bytes>,
}

/// What never changes about some seats.
struct Board {
    seats: Box<[SeatId]>,
    /// `"name":…,"size":…,"categories":[…]`, or what there is of it.
    head: Vec<u8>,
    /// For each seat `{"id":…,"status":` and where it ends.
    fragments: Vec<u8>,
    ends: Box<[usize]>,
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
    /// Whatever the engine says, or `INTERNAL` if the drawing cannot be read.
    pub async fn now(&self, event: &EventId) -> Result<Arc<Snapshot>, Problem> {
        let asked = Instant::now();
        let slot = self.slots().entry(event.clone()).or_default().clone();
        let mut current = slot.lock().await;
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
        match self.read(event, current.as_deref()).await {
            Ok(snapshot) => {
                let snapshot = Arc::new(snapshot);
                *current = Some(snapshot.clone());
                Ok(snapshot)
            }
            Err(problem) => {
                // Made-up event ids must not fill the memory.
                if current.is_none() {
                    self.slots().remove(event);
                }
                Err(problem)
            }
        }
    }

    /// The map as the organiser sees it, with bookings and reasons.
    ///
    /// # Errors
    /// As [`Self::now`].
    pub async fn for_organiser(&self, event: &EventId) -> Result<Bytes, Problem> {
        let (at, views) = self.query(event).await?;
        let board = self.board(event, &views, None).await?;
        let mut out = board.start(event, at);
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

    async fn read(&self, event: &EventId, last: Option<&Snapshot>) -> Result<Snapshot, Problem> {
        let asked = Instant::now();
        let committed = self.engine.committed();
        let (at, views) = self.query(event).await?;
        let board = self.board(event, &views, last).await?;
        let letters = views.iter().map(|view| letter(view.status)).collect();
        let (map, statuses) = Default::default();
        Ok(Snapshot { event: event.clone(), at, asked, committed, board, letters, map, statuses })
    }

    async fn query(&self, event: &EventId) -> Result<(Time, Vec<SeatView>), Problem> {
        let answer = self.engine.query(event.clone(), Query::Seats).await?;
        match answer.value {
            View::Seats(seats) => Ok((answer.at, seats)),
            View::Event(_)
            | View::Availability(_)
            | View::Place(_)
            | View::Booking(_)
            | View::Bookings(_)
            | View::Claim(_)
            | View::Bans(_) => Err(odd_answer()),
        }
    }

    /// The last board if it is still about the same seats, else a new one.
    async fn board(
        &self,
        event: &EventId,
        views: &[SeatView],
        last: Option<&Snapshot>,
    ) -> Result<Arc<Board>, Problem> {
        if let Some(last) = last
            && last.board.seats.iter().eq(views.iter().map(|view| &view.seat))
        {
            return Ok(last.board.clone());
        }
        let answer = self.engine.query(event.clone(), Query::Availability).await?;
        let View::Availability(availability) = answer.value else { return Err(odd_answer()) };
        let prices: Vec<(Box<str>, i64)> = availability
            .categories
            .into_iter()
            .map(|category| (category.name, category.price_minor))
            .collect();
        match self.plans.load(event).await {
            Ok(drawing) => Ok(Arc::new(Board::new(views, &prices, drawing))),
            Err(error) => Err(crate::app::broken("reading the seat map", &error)),
        }
    }

    fn slots(&self) -> std::sync::MutexGuard<'_, HashMap<EventId, Slot>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn letter(status: SeatStatus) -> u8 {
    match status {
        SeatStatus::Free => b'f',
        SeatStatus::Held => b'h',
        SeatStatus::Sold => b's',
        SeatStatus::Blocked => b'b',
    }
}

fn word(letter: u8) -> &'static str {
    match letter {
        b'h' => "held",
        b's' => "sold",
        b'b' => "blocked",
        _ => "free",
    }
}

impl Board {
    fn new(views: &[SeatView], prices: &[(Box<str>, i64)], drawing: Option<Drawing>) -> Self {
        let drawn: HashMap<&SeatId, &DrawnSeat> = drawing
            .iter()
            .flat_map(|drawing| &drawing.seats)
            .map(|seat| (&seat.id, seat))
            .collect();
        let mut head = Vec::new();
        if let Some(drawing) = &drawing {
            write!(head, "\"name\":{},\"size\":{},", json!(drawing.name), json!(drawing.size))
                .expect("memory is writable");
        }
        let categories = prices.iter().map(|(name, price_minor)| {
            let mut category = json!({ "name": name, "price_minor": price_minor });
            let drawn = drawing.iter().flat_map(|drawing| &drawing.categories);
            if let Some(drawn) = drawn.into_iter().find(|drawn| *drawn.name == **name) {
                category["color"] = json!(drawn.color);
            }
            category
        });
        write!(head, "\"categories\":{}", json!(categories.collect::<Vec<_>>()))
            .expect("memory is writable");
        let mut fragments = Vec::with_capacity(views.len() * 112);
        let mut ends = Vec::with_capacity(views.len());
        for view in views {
            match drawn.get(&view.seat) {
                // The category is the rules' word, also where a later drawing disagrees.
                Some(seat) => write!(
                    fragments,
                    "{{\"id\":\"{}\",\"section\":{},\"row\":{},\"number\":{},\"category\":{},\"x\":{},\"y\":{},\"status\":",
                    view.seat,
                    json!(seat.section),
                    json!(seat.row),
                    json!(seat.number),
                    json!(view.category),
                    json!(seat.x),
                    json!(seat.y),
                ),
                None => write!(
                    fragments,
                    "{{\"id\":\"{}\",\"category\":{},\"status\":",
                    view.seat,
                    json!(view.category)
                ),
            }
            .expect("memory is writable");
            ends.push(fragments.len());
        }
        let seats = views.iter().map(|view| view.seat.clone()).collect();
        Self { seats, head, fragments, ends: ends.into() }
    }

    fn start(&self, event: &EventId, at: Time) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.fragments.len() + self.seats.len() * 8 + 1_024);
        write!(out, "{{\"event\":\"{event}\",\"at\":{at},").expect("memory is writable");
        out.extend_from_slice(&self.head);
        out.extend_from_slice(b",\"seats\":[");
        out
    }

    /// Everything of a seat but its closing brace.
    fn seat(&self, index: usize, letter: u8, out: &mut Vec<u8>) {
        if index > 0 {
            out.push(b',');
        }
        let from = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        out.extend_from_slice(&self.fragments[from..self.ends[index]]);
        out.push(b'"');
        out.extend_from_slice(word(letter).as_bytes());
        out.push(b'"');
    }
}

impl Snapshot {
    /// The whole map as JSON.
    pub fn map(&self) -> Bytes {
        let write = || {
            let mut out = self.board.start(&self.event, self.at);
            for (index, letter) in self.letters.iter().enumerate() {
                self.board.seat(index, *letter, &mut out);
                out.push(b'}');
            }
            out.extend_from_slice(b"]}");
            out.into()
        };
        self.map.get_or_init(write).clone()
    }

    /// The statuses alone as JSON.
    pub fn statuses(&self) -> Bytes {
        let write = || {
            let letters = std::str::from_utf8(&self.letters).unwrap_or_default();
            let count = self.letters.len();
            let Self { event, at, .. } = self;
            let text = format!(
                "{{\"event\":\"{event}\",\"at\":{at},\"seats\":{count},\"status\":\"{letters}\"}}"
            );
            text.into()
        };
        self.statuses.get_or_init(write).clone()
    }

    /// The seats that are free, in the order of the map.
    pub fn free(&self) -> impl Iterator<Item = &SeatId> {
        let free = letter(SeatStatus::Free);
        let pairs = self.board.seats.iter().zip(&self.letters);
        pairs.filter(move |(_, letter)| **letter == free).map(|(seat, _)| seat)
    }

    /// When it was read.
    #[must_use]
    pub fn at(&self) -> Time {
        self.at
    }

    /// The seats that have another status than in an earlier snapshot; empty if other seats have come since.
    #[must_use]
    pub fn changed_since(&self, earlier: &Self) -> serde_json::Map<String, serde_json::Value> {
        let mut changed = serde_json::Map::new();
        if Arc::ptr_eq(&self.board, &earlier.board) {
            let pairs = self.letters.iter().zip(&earlier.letters);
            for ((now, before), seat) in pairs.zip(&self.board.seats) {
                if now != before {
                    changed.insert(seat.to_string(), word(*now).into());
                }
            }
        }
        changed
    }
}
