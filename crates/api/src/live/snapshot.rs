//! One event's seats at one time, and how they are written.

use super::plan::Plan;
use crate::json::sale::PriceStepBody;
use crate::plans::{Drawing, DrawnSeat, SeatTraits};
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use onrush_core::Time;
use onrush_core::ids::{ChannelId, EventId, SeatId};
use onrush_core::prices::PriceStep;
use onrush_core::settings::{Fees, Settings};
use onrush_core::view::{CategoryView, SeatStatus, SeatView, Units};
use onrush_store::{AsOf, Seq};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// One event's seats at one time.
pub struct Snapshot {
    event: EventId,
    at: Time,
    /// The number of the last decision by which the seats are known to stand so.
    committed: AtomicU64,
    /// How far the event had come, at least; `None` where the engine does not tell.
    as_of: Option<AsOf>,
    pub(super) board: Arc<Board>,
    /// One letter a seat.
    letters: Box<[u8]>,
    /// Seats that are set aside for a channel, by their number. What everybody is told has none of
    /// it, nor has any tag.
    allotted: Box<[(u32, ChannelId)]>,
    statuses: OnceLock<Bytes>,
    packed_statuses: OnceLock<Bytes>,
    tag: OnceLock<Box<str>>,
}

/// What never changes about some seats.
pub(super) struct Board {
    pub(super) seats: Box<[SeatId]>,
    /// The category of each.
    categories: Box<[Arc<str>]>,
    /// The fees that its prices are told with.
    fees: Fees,
    /// What these are rounded to.
    step_minor: i64,
    /// What was told of each category's price.
    prices: Vec<(i64, Vec<PriceStep>)>,
    /// `"name":…,"size":…,"categories":[…]`, or what there is of it.
    head: Bytes,
    /// For each seat `{"id":…,"status":` and where it ends.
    pub(super) fragments: Vec<u8>,
    ends: Box<[usize]>,
    digest: [u8; 32],
    plan: Plan,
}

/// What stands between the head of a map and its seats.
pub(super) const SEATS: &[u8] = b",\"seats\":[";

/// A map as JSON, up to its head.
fn opening(event: &EventId, at: Time) -> String {
    format!("{{\"event\":\"{event}\",\"at\":{at},")
}

pub(super) fn letter(status: SeatStatus) -> u8 {
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

/// What there is of these, as members with a comma after them.
fn members(traits: &SeatTraits) -> String {
    if *traits == SeatTraits::default() {
        return String::new();
    }
    let object = json!(traits).to_string();
    format!("{},", object.trim_start_matches('{').trim_end_matches('}'))
}

fn told_of(prices: &[CategoryView]) -> Vec<(i64, Vec<PriceStep>)> {
    prices.iter().map(|category| (category.price_minor, category.later.clone())).collect()
}

impl Board {
    pub(super) fn new(
        views: &[SeatView],
        prices: &[CategoryView],
        settings: &Settings,
        drawing: Option<Drawing>,
    ) -> Self {
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
        let categories: Vec<Value> = prices
            .iter()
            .map(|CategoryView { name, price_minor, later, .. }| {
                let all_in_minor = settings.all_in_minor(*price_minor);
                let mut category = json!({
                    "name": name, "price_minor": price_minor, "all_in_minor": all_in_minor
                });
                if !later.is_empty() {
                    category["later"] = json!(PriceStepBody::all(later, settings));
                }
                let drawn = drawing.iter().flat_map(|drawing| &drawing.categories);
                if let Some(drawn) = drawn.into_iter().find(|drawn| *drawn.name == **name) {
                    category["color"] = json!(drawn.color);
                }
                category
            })
            .collect();
        write!(head, "\"categories\":{}", json!(categories)).expect("memory is writable");
        let plan = Plan::new(views, &categories, drawing.as_ref());
        let mut fragments = Vec::with_capacity(views.len() * 112);
        let mut ends = Vec::with_capacity(views.len());
        for view in views {
            match drawn.get(&view.seat) {
                // The category is the rules' word, also where a later drawing disagrees.
                Some(seat) => write!(
                    fragments,
                    "{{\"id\":\"{}\",\"section\":{},\"row\":{},\"number\":{},\"category\":{},\
                     \"x\":{},\"y\":{},{}\"status\":",
                    view.seat,
                    json!(seat.section),
                    json!(seat.row),
                    json!(seat.number),
                    json!(view.category),
                    json!(seat.x),
                    json!(seat.y),
                    members(&seat.traits),
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
        let categories = views.iter().map(|view| view.category.clone()).collect();
        let digest = Sha256::new().chain_update(&head).chain_update(&fragments).finalize().into();
        let (fees, step_minor) = (settings.fees, settings.step_minor());
        let (head, ends, prices) = (head.into(), ends.into(), told_of(prices));
        Self { seats, categories, fees, step_minor, prices, head, fragments, ends, digest, plan }
    }

    /// Whether it tells of these seats, at these prices.
    pub(super) fn is_of(
        &self,
        views: &[SeatView],
        prices: &[CategoryView],
        settings: &Settings,
    ) -> bool {
        self.costs_the_same(prices, settings)
            && self.seats.iter().eq(views.iter().map(|view| &view.seat))
    }

    /// Whether it tells of all the seats there are, at these prices. Seats are never taken away, so
    /// that their number tells.
    pub(super) fn is_whole(&self, prices: &[CategoryView], settings: &Settings) -> bool {
        let all = |Units { free, held, sold, blocked }| (free + held + sold + blocked) as usize;
        let seats: usize = prices.iter().map(|category| all(category.units)).sum();
        self.seats.len() == seats && self.costs_the_same(prices, settings)
    }

    fn costs_the_same(&self, prices: &[CategoryView], settings: &Settings) -> bool {
        self.fees == settings.fees
            && self.step_minor == settings.step_minor()
            && self.prices == told_of(prices)
    }

    /// The categories of these seats, in their order.
    ///
    /// # Errors
    /// The first seat that is not known here.
    pub(super) fn categories_of<'a>(
        &self,
        wanted: &'a [SeatId],
    ) -> Result<Vec<Arc<str>>, &'a SeatId> {
        let wanted_at: HashMap<&SeatId, usize> =
            wanted.iter().enumerate().map(|(index, seat)| (seat, index)).collect();
        let mut found = vec![None; wanted.len()];
        for (seat, category) in self.seats.iter().zip(&self.categories) {
            if let Some(index) = wanted_at.get(seat) {
                found[*index] = Some(category.clone());
            }
        }
        wanted.iter().zip(found).map(|(seat, category)| category.ok_or(seat)).collect()
    }

    pub(super) fn start(&self, event: &EventId, at: Time, out: &mut Vec<u8>) {
        out.extend_from_slice(opening(event, at).as_bytes());
        out.extend_from_slice(&self.head);
        out.extend_from_slice(SEATS);
    }

    /// Everything of a seat but its closing brace.
    pub(super) fn seat(&self, index: usize, letter: u8, out: &mut Vec<u8>) {
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
    pub(super) fn new(
        event: EventId,
        (at, committed, as_of): (Time, Seq, Option<AsOf>),
        board: Arc<Board>,
        letters: Box<[u8]>,
        allotted: Box<[(u32, ChannelId)]>,
    ) -> Self {
        let (statuses, packed_statuses, tag) = Default::default();
        let committed = AtomicU64::new(committed.0);
        Self {
            event,
            at,
            committed,
            as_of,
            board,
            letters,
            allotted,
            statuses,
            packed_statuses,
            tag,
        }
    }

    /// The number of the last decision by which the seats are known to stand so.
    pub(super) fn committed(&self) -> Seq {
        Seq(self.committed.load(Ordering::Relaxed))
    }

    /// Whether this is how far the event had come, and the engine tells.
    pub(super) fn is_as_of(&self, as_of: Option<AsOf>) -> bool {
        as_of.is_some() && self.as_of == as_of
    }

    /// Whether there is one state only, of which the engine here knows all that is decided.
    pub(super) fn is_of_the_only_state(&self) -> bool {
        self.as_of.is_none()
    }

    /// Notes that the seats stood so by this decision too.
    pub(super) fn still_stands(&self, committed: Seq) {
        self.committed.store(committed.0, Ordering::Relaxed);
    }

    /// How many seats there are.
    pub(super) fn len(&self) -> usize {
        self.letters.len()
    }

    /// The map as JSON, up to its head.
    pub(super) fn opening(&self) -> Bytes {
        opening(&self.event, self.at).into()
    }

    /// The head of the map, which all snapshots of this house share.
    pub(super) fn head(&self) -> Bytes {
        self.board.head.clone()
    }

    /// One seat of the map.
    pub(super) fn write_seat(&self, index: usize, out: &mut Vec<u8>) {
        self.board.seat(index, self.letters[index], out);
        out.push(b'}');
    }

    /// How long the whole map is.
    pub(super) fn map_bytes(&self) -> u64 {
        let start = self.opening().len() + self.board.head.len() + SEATS.len();
        // A word in its quotes, and a closing brace, for each seat; commas in between; the end.
        let words: usize = self.letters.iter().map(|letter| word(*letter).len() + 3).sum();
        let commas = self.letters.len().saturating_sub(1);
        (start + self.board.fragments.len() + words + commas + 2) as u64
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

    /// The drawing of the house.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.board.plan
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
            let plan = self.plan().version();
            let text = format!(
                "{{\"event\":\"{event}\",\"at\":{at},\"seats\":{count},\"plan\":\"{plan}\",\
                 \"status\":\"{letters}\"}}"
            );
            text.into()
        };
        self.statuses.get_or_init(write).clone()
    }

    /// The seats that are free from the one with this number on, with their numbers in the map.
    pub fn free_from(&self, first: usize) -> impl Iterator<Item = (usize, &SeatId)> {
        let free = letter(SeatStatus::Free);
        let seats = self.board.seats.iter().zip(&self.letters).enumerate().skip(first);
        seats
            .filter(move |(_, (_, letter))| **letter == free)
            .map(|(index, (seat, _))| (index, seat))
    }

    /// The seats that are free in a channel, in the order of the map: only for whoever may use it.
    pub fn free_in(&self, channel: &ChannelId) -> impl Iterator<Item = &SeatId> {
        let its = self.allotted.iter().filter(move |(_, its)| its == channel);
        its.map(|(index, _)| &self.board.seats[*index as usize])
    }

    /// When it was read.
    #[must_use]
    pub fn at(&self) -> Time {
        self.at
    }

    /// The seats that have another status than in an earlier snapshot. One that was not there was free.
    #[must_use]
    pub fn changed_since(&self, earlier: &Self) -> serde_json::Map<String, Value> {
        let mut changed = serde_json::Map::new();
        let is_same_house =
            Arc::ptr_eq(&self.board, &earlier.board) || self.board.seats == earlier.board.seats;
        let mut compare = |seat: &SeatId, now: u8, before: u8| {
            if now != before {
                changed.insert(seat.to_string(), word(now).into());
            }
        };
        let seats = self.board.seats.iter().zip(self.letters.iter().copied());
        if is_same_house {
            for ((seat, now), before) in seats.zip(earlier.letters.iter().copied()) {
                compare(seat, now, before);
            }
        } else {
            let known = earlier.board.seats.iter().zip(earlier.letters.iter().copied());
            let known: HashMap<_, _> = known.collect();
            for (seat, now) in seats {
                compare(seat, now, known.get(seat).copied().unwrap_or(b'f'));
            }
        }
        changed
    }
}

/// A short text, compressed.
fn pack(text: &[u8]) -> Bytes {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(text).expect("memory is writable");
    packed.finish().expect("memory is writable").into()
}

/// A text that is compressed once and sent often.
pub(super) fn pack_well(text: &[u8]) -> Bytes {
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    packed.write_all(text).expect("memory is writable");
    packed.finish().expect("memory is writable").into()
}

/// Snapshots of one house with so many seats, by their letters.
#[cfg(test)]
pub(crate) fn snapshots<'a>(
    seats: usize,
    letters: impl IntoIterator<Item = &'a str>,
) -> Vec<Arc<Snapshot>> {
    snapshots_of(seats, ["Stalls"], letters)
}

/// The same, with these categories, of which the seats have the first.
#[cfg(test)]
pub(crate) fn snapshots_of<'a>(
    seats: usize,
    categories: impl IntoIterator<Item = &'a str>,
    letters: impl IntoIterator<Item = &'a str>,
) -> Vec<Arc<Snapshot>> {
    let category = |name: &str| CategoryView {
        name: name.into(),
        price_minor: 900,
        first_minor: None,
        later: Vec::new(),
        types: Vec::new(),
        units: Default::default(),
        allotted: Vec::new(),
    };
    let categories: Vec<CategoryView> = categories.into_iter().map(category).collect();
    let views = (0..seats).map(|seat| SeatView {
        seat: format!("A-{seat}").parse().unwrap(),
        category: categories[0].name.as_ref().into(),
        status: SeatStatus::Free,
        booking: None,
        why: None,
        channel: None,
    });
    let settings = Settings::new("e", "EUR".parse().unwrap());
    let board = Board::new(&views.collect::<Vec<_>>(), &categories, &settings, None);
    let board = Arc::new(board);
    let event: EventId = "e".parse().unwrap();
    let snapshot = |(at, letters): (i64, &str)| {
        let read = (Time(at), Seq::default(), None);
        Arc::new(Snapshot::new(
            event.clone(),
            read,
            board.clone(),
            letters.as_bytes().into(),
            [].into(),
        ))
    };
    (0..).zip(letters).map(snapshot).collect()
}
