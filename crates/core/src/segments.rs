//! Segments: seats side by side, and which of them are the best that are free.
//!
//! A choice is compared by its worst seat's rank; then by the single seats that it leaves beside it;
//! then by its segment's rank, and which was added first; then by the longest run of free seats that
//! it leaves in its segment; then by which seat was added first. The lower the better, but for the
//! run. So the order is total, and the same wish in the same house always gets the same seats. Where
//! single seats are refused, a choice that leaves some comes after all that leave none. Seats that
//! a visitor would rather have come before all that, if every one of them can be had.

mod choice;
mod free;
mod layer;
mod single_seats;

pub(crate) use choice::{Shortage, View};
pub(crate) use single_seats::Avoidable;

use crate::limits::MAX_SEATS_PER_SEGMENT;
use crate::settings::SingleSeats;
use crate::spec::SeatSpec;
use free::FreeSeats;
use layer::{Layer, Layers};
use smallvec::SmallVec;
use std::borrow::Cow;
use std::ops::Range;

/// Seats of one row and one category with no aisle between them: positions that follow each other.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Segment {
    seats: Range<usize>,
    section: usize,
    category: usize,
    /// The best of its seats'.
    rank: u32,
}

impl Segment {
    /// The runs of these free seats of it that are not named beside.
    fn runs(&self, mut free: FreeSeats, filter: &Filter) -> Runs {
        let first = self.seats.start;
        for seat in filter.named.iter().filter(|seat| self.seats.contains(seat)) {
            free.set(seat - first, false);
        }
        free.runs().map(|run| first + run.start..first + run.end).collect()
    }
}

/// The longest ranges of seats that are free.
type Runs = SmallVec<[Range<usize>; 8]>;

/// One of them as others see it; seats, rows and categories are counted from 0 in the order in which
/// they were added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentView {
    /// Its seats.
    pub seats: Range<usize>,
    /// Its row.
    pub row: usize,
    /// Its category.
    pub category: usize,
    /// The best of its seats' ranks.
    pub rank: u32,
    /// How many free seats are side by side at most.
    pub longest: u32,
}

/// Of which categories and sections seats are asked for, by their positions.
#[derive(Debug)]
pub(crate) struct Filter {
    pub(crate) categories: Vec<bool>,
    pub(crate) sections: Vec<bool>,
    /// Seats that are asked for by name beside them.
    pub(crate) named: Vec<usize>,
    /// Whether a choice that leaves single seats comes after all that leave none.
    pub(crate) single_seats: SingleSeats,
}

impl Filter {
    fn lets(&self, segment: &Segment) -> bool {
        self.categories[segment.category] && self.sections[segment.section]
    }

    /// Whether a segment's best choice has the best worst rank there is in it: nothing else is named
    /// of it, and single seats do not matter more.
    fn takes_the_best_rank(&self) -> bool {
        self.named.is_empty() && self.single_seats == SingleSeats::Allow
    }

    /// Whether so many single seats put a choice after all that leave none.
    fn puts_last(&self, singles: u32) -> bool {
        self.single_seats == SingleSeats::Refuse && singles > 0
    }
}

/// All segments of one event's seats.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Segments {
    segments: Vec<Segment>,
    /// Each row's segments, in the order in which they were added.
    rows: Vec<Range<usize>>,
    layers: Layers,
    sections: Vec<Box<str>>,
    /// Of each seat, by its position.
    segment_of: Vec<usize>,
    ranks: Vec<u32>,
    whose: Vec<Whose>,
}

/// Who may take a seat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whose {
    /// Nobody: it is somebody's, blocked, or kept.
    Nobodys,
    /// Everybody: it is free.
    Everybodys,
    /// Who uses the channel of this number.
    Channels(u8),
}

impl Segments {
    /// The names of all sections, in the order in which they were first added.
    pub(crate) fn sections(&self) -> &[Box<str>] {
        &self.sections
    }

    /// Adds a free seat of the category at this position; `before` is the seat that was added before.
    /// Seats that the plan keeps for somebody are nobody's until `set` says otherwise.
    pub(crate) fn add(&mut self, spec: &SeatSpec, category: usize, before: Option<&SeatSpec>) {
        let position = self.whose.len();
        let same_row = before.is_some_and(|it| it.section == spec.section && it.row == spec.row);
        let goes_on = before.is_some_and(|it| same_row && !it.aisle)
            && self.segments.last().is_some_and(|last| {
                last.category == category && last.seats.len() < MAX_SEATS_PER_SEGMENT
            });
        if goes_on {
            let nth = self.segments.len() - 1;
            let last = &mut self.segments[nth];
            let was = last.rank;
            last.seats.end += 1;
            last.rank = was.min(spec.rank);
            let rank = last.rank;
            self.layers.each().for_each(|layer| layer.move_rank(nth, was, rank));
        } else {
            let next = self.segments.len();
            match self.rows.last_mut() {
                Some(row) if same_row => row.end = next + 1,
                Some(_) | None => self.rows.push(next..next + 1),
            }
            let section = self.section(&spec.section);
            self.segments.push(Segment {
                seats: position..position + 1,
                section,
                category,
                rank: spec.rank,
            });
            self.layers.each().for_each(Layer::add_segment);
        }
        self.segment_of.push(self.segments.len() - 1);
        self.ranks.push(spec.rank);
        self.whose.push(Whose::Nobodys);
        if spec.access.is_anyones() {
            self.set(position, Whose::Everybodys);
        }
    }

    fn section(&mut self, name: &str) -> usize {
        let known = self.sections.iter().position(|section| section.as_ref() == name);
        known.unwrap_or_else(|| {
            self.sections.push(name.into());
            self.sections.len() - 1
        })
    }

    /// All of them, in the order in which they were added.
    pub(crate) fn views(&self) -> impl Iterator<Item = SegmentView> {
        self.rows.iter().enumerate().flat_map(move |(row, segments)| {
            segments.clone().map(move |nth| {
                let segment = &self.segments[nth];
                SegmentView {
                    seats: segment.seats.clone(),
                    row,
                    category: segment.category,
                    rank: segment.rank,
                    longest: self.layers.everybodys.stock[nth].longest,
                }
            })
        })
    }

    /// Says who may take the seat at this position.
    pub(crate) fn set(&mut self, position: usize, whose: Whose) {
        let was = std::mem::replace(&mut self.whose[position], whose);
        if was == whose {
            return;
        }
        let nth = self.segment_of[position];
        let segment = &self.segments[nth];
        for (layer, is_free) in [(was, false), (whose, true)] {
            let Some(layer) = self.layers.get_mut(layer) else { continue };
            let mut free = layer.stock[nth].free;
            free.set(position - segment.seats.start, is_free);
            layer.set(nth, segment, free, &self.ranks);
        }
        self.layers.forget_if_empty(was);
    }

    /// The house as it is to everybody.
    pub(crate) fn to_everybody(&self) -> View<'_> {
        View { house: self, layer: &self.layers.everybodys }
    }

    /// The house as far as it is a channel's; `None` if no seat is.
    pub(crate) fn to_channel(&self, channel: u8) -> Option<View<'_>> {
        Some(View { house: self, layer: self.layers.of_channel(channel)? })
    }

    /// Whether those who may use these channels may take a seat.
    fn is_open(&self, seat: usize, channels: &[u8]) -> bool {
        match self.whose[seat] {
            Whose::Nobodys => false,
            Whose::Everybodys => true,
            Whose::Channels(channel) => channels.contains(&channel),
        }
    }

    /// The seats of a segment that those who may use these channels may take.
    fn open_with(&self, nth: usize, channels: &[u8]) -> FreeSeats {
        let layers = channels.iter().filter_map(|channel| self.layers.of_channel(*channel));
        let everybodys = self.layers.everybodys.stock[nth].free;
        layers.fold(everybodys, |open, layer| open.or(layer.stock[nth].free))
    }

    /// What those who may use these channels may take: looks at every segment that they have seats of.
    fn layer_with(&self, channels: &[u8]) -> Cow<'_, Layer> {
        let mut seen = Cow::Borrowed(&self.layers.everybodys);
        let layers = channels.iter().filter_map(|channel| self.layers.of_channel(*channel));
        for layer in layers {
            let of_it = layer.stock.iter().enumerate().filter(|(_, stock)| stock.longest > 0);
            for (nth, stock) in of_it {
                let open = seen.stock[nth].free.or(stock.free);
                seen.to_mut().set(nth, &self.segments[nth], open, &self.ranks);
            }
        }
        seen
    }

    /// Whether those who may use these channels may choose all of these.
    pub(crate) fn let_all(&self, positions: &[usize], filter: &Filter, channels: &[u8]) -> bool {
        positions.iter().all(|seat| {
            let segment = &self.segments[self.segment_of[*seat]];
            let is_open = self.is_open(*seat, channels);
            is_open && !filter.named.contains(seat) && filter.lets(segment)
        })
    }
}

#[cfg(test)]
mod tests;
