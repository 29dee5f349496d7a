//! Seat maps ready to be sent: what never changes about a seat is written once, the statuses are read again only when asked.
//!
//! However many ask at once, one reading at a time runs, and one reading answers all who asked before it began: nobody
//! sees a status older than his question.

use super::error::LiveError;
use super::house::{Versions, pack};
use crate::answers::AskError;
use crate::broken::Broken;
use crate::plans::{Drawing, DrawnSeat, PlanDir};
use bytes::Bytes;
use onrush_core::ids::{EventId, SeatId};
use onrush_core::view::{SeatStatus, SeatView};
use onrush_core::{Query, Time, View};
use onrush_store::{Engine, Seq};
use serde_json::json;
use sha2::{Digest, Sha256};
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
    slots: Mutex<HashMap<EventId, Arc<Slot>>>,
}

/// One event's seats as they were last read.
#[derive(Default)]
struct Slot {
    current: tokio::sync::Mutex<Option<Arc<Snapshot>>>,
    versions: Versions,
}

/// One event's seats at one time.
pub struct Snapshot {
    event: EventId,
    at: Time,
    asked: Instant,
    committed: Seq,
    board: Arc<Board>,
    /// One letter a seat.
    letters: Box<[u8]>,
    statuses: OnceLock<Bytes>,
    packed_statuses: OnceLock<Bytes>,
    tag: OnceLock<Box<str>>,
}

/// What never changes about some seats.
struct Board {
    seats: Box<[SeatId]>,
    /// `"name":…,"size":…,"categories":[…]`, or what there is of it.
    head: Vec<u8>,
    /// For each seat `{"id":…,"status":` and where it ends.
    fragments: Vec<u8>,
    ends: Box<[usize]>,
    digest: [u8; 32],
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
        match self.read(event, current.as_deref()).await {
            Ok(snapshot) => {
                let snapshot = Arc::new(snapshot);
                *current = Some(snapshot.clone());
                Ok(snapshot)
            }
            Err(error) => {
                // Made-up event ids must not fill the memory.
                if current.is_none() {
                    self.slots().remove(event);
                }
                Err(error)
            }
        }
    }

    /// The map as it is now, compressed, and its tag; nothing if slow readers hold so many versions that there may be no
    /// other.
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
        let (at, views) = self.query(event).await?;
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
        let (at, views) = self.query(event).await?;
        let board = self.board(event, &views, last).await?;
        let letters = views.iter().map(|view| letter(view.status)).collect();
        Ok(Snapshot::new(event.clone(), (at, asked, committed), board, letters))
    }

    async fn query(&self, event: &EventId) -> Result<(Time, Vec<SeatView>), LiveError> {
        let answer = self.engine.query(event.clone(), Query::Seats).await?;
        match answer.value {
            View::Seats(seats) => Ok((answer.at, seats)),
            View::Event(_)
            | View::Availability(_)
            | View::Place(_)
            | View::Booking(_)
            | View::Bookings(_)
            | View::Claim(_)
            | View::Bans(_) => Err(AskError::OddAnswer.into()),
        }
    }

    /// The last board if it is still about the same seats, else a new one.
    async fn board(
        &self,
        event: &EventId,
        views: &[SeatView],
        last: Option<&Snapshot>,
    ) -> Result<Arc<Board>, LiveError> {
        if let Some(last) = last
            && last.board.seats.iter().eq(views.iter().map(|view| &view.seat))
        {
            return Ok(last.board.clone());
        }
        let answer = self.engine.query(event.clone(), Query::Availability).await?;
        let View::Availability(availability) = answer.value else {
            return Err(AskError::OddAnswer.into());
        };
        let prices: Vec<(Box<str>, i64)> = availability
            .categories
            .into_iter()
            .map(|category| (category.name, category.price_minor))
            .collect();
        match self.plans.load(event).await {
            Ok(drawing) => Ok(Arc::new(Board::new(views, &prices, drawing))),
            Err(error) => Err(LiveError::Broken(Broken::log("reading the seat map", &error))),
        }
    }

    fn slot(&self, event: &EventId) -> Arc<Slot> {
        self.slots().entry(event.clone()).or_default().clone()
    }

    fn slots(&self) -> std::sync::MutexGuard<'_, HashMap<EventId, Arc<Slot>>> {
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
        let digest = Sha256::new().chain_update(&head).chain_update(&fragments).finalize().into();
        Self { seats, head, fragments, ends: ends.into(), digest }
    }

    fn start(&self, event: &EventId, at: Time, out: &mut Vec<u8>) {
        write!(out, "{{\"event\":\"{event}\",\"at\":{at},").expect("memory is writable");
        out.extend_from_slice(&self.head);
        out.extend_from_slice(b",\"seats\":[");
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
    fn new(
        event: EventId,
        (at, asked, committed): (Time, Instant, Seq),
        board: Arc<Board>,
        letters: Box<[u8]>,
    ) -> Self {
        let (statuses, packed_statuses, tag) = Default::default();
        Self { event, at, asked, committed, board, letters, statuses, packed_statuses, tag }
    }

    /// How many seats there are.
    pub(super) fn len(&self) -> usize {
        self.letters.len()
    }

    /// The map as JSON, up to its first seat.
    pub(super) fn write_start(&self, out: &mut Vec<u8>) {
        self.board.start(&self.event, self.at, out);
    }

    /// One seat of the map.
    pub(super) fn write_seat(&self, index: usize, out: &mut Vec<u8>) {
        self.board.seat(index, self.letters[index], out);
        out.push(b'}');
    }

    /// How long the whole map is.
    pub(super) fn map_bytes(&self) -> u64 {
        let mut start = Vec::new();
        self.write_start(&mut start);
        // A word in its quotes, and a closing brace, for each seat; commas in between; the end.
        let words: usize = self.letters.iter().map(|letter| word(*letter).len() + 3).sum();
        let commas = self.letters.len().saturating_sub(1);
        (start.len() + self.board.fragments.len() + words + commas + 2) as u64
    }

    /// Whether map and statuses say the same as another's, but for when they were read.
    pub(super) fn shows_the_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.board, &other.board) && self.letters == other.letters
    }

    /// The ETag of map and statuses, weak because it leaves out when they were read.
    pub fn tag(&self) -> String {
        let write = || {
            let digest = Sha256::new().chain_update(self.board.digest).chain_update(&self.letters);
            let mut tag = Vec::from(b"W/\"");
            for byte in &digest.finalize()[..12] {
                write!(tag, "{byte:02x}").expect("memory is writable");
            }
            tag.push(b'"');
            String::from_utf8_lossy(&tag).into()
        };
        self.tag.get_or_init(write).to_string()
    }

    /// The statuses alone as JSON, compressed.
    pub fn packed_statuses(&self) -> Bytes {
        self.packed_statuses.get_or_init(|| pack(&self.statuses())).clone()
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

/// Snapshots of one house with so many seats, by their letters.
#[cfg(test)]
pub(super) fn snapshots<'a>(
    seats: usize,
    letters: impl IntoIterator<Item = &'a str>,
) -> Vec<Arc<Snapshot>> {
    let views = (0..seats).map(|seat| SeatView {
        seat: format!("A-{seat}").parse().unwrap(),
        category: "Stalls".into(),
        status: SeatStatus::Free,
        booking: None,
        why: None,
    });
    let board = Arc::new(Board::new(&views.collect::<Vec<_>>(), &[("Stalls".into(), 900)], None));
    let event: EventId = "e".parse().unwrap();
    let snapshot = |(at, letters): (i64, &str)| {
        let read = (Time(at), Instant::now(), Seq::default());
        Arc::new(Snapshot::new(event.clone(), read, board.clone(), letters.as_bytes().into()))
    };
    (0..).zip(letters).map(snapshot).collect()
}
