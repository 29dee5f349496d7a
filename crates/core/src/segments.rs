//! Segments: seats side by side, and which of them are the best that are free.
//!
//! A choice is compared by its worst seat's rank; then by the single seats that it leaves beside it;
//! then by its segment's rank, and which was added first; then by the longest run of free seats that
//! it leaves in its segment; then by which seat was added first. The lower the better, but for the
//! run. So the order is total, and the same wish in the same house always gets the same seats. Where
//! single seats are refused, a choice that leaves some comes after all that leave none. Seats that
//! a visitor would rather have come before all that, if every one of them can be had.

mod free;
mod single_seats;

pub(crate) use single_seats::Avoidable;

use crate::limits::{MAX_BEST_QUANTITY, MAX_SEATS_PER_SEGMENT};
use crate::settings::SingleSeats;
use crate::spec::SeatSpec;
use free::FreeSeats;
use smallvec::SmallVec;
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::ops::Range;

/// Seats of one row and one category with no aisle between them: positions that follow each other.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Segment {
    seats: Range<usize>,
    free: FreeSeats,
    section: usize,
    category: usize,
    /// The best of its seats'.
    rank: u32,
    /// The longest run of free seats.
    longest: u32,
    /// The best rank of a free seat, if there is one.
    best_free: Option<u32>,
    /// The best that the worst rank of 1, 2, … free seats side by side can be; the greatest number
    /// there is if there are not so many.
    worst_of: [u32; BOUNDED],
}

/// Up to how many seats side by side each segment knows how good they can be: as many as most people
/// ask for. More of them are no better.
const BOUNDED: usize = 4;

impl Segment {
    /// No choice of so many seats has a better worst rank.
    fn worst_rank_at_best(&self, quantity: u32) -> u32 {
        self.worst_of[(quantity as usize).min(BOUNDED) - 1]
    }
}

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

/// What there is of what was asked for, where it is not enough.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shortage {
    pub(crate) free: u32,
    pub(crate) longest: u32,
}

/// Seats side by side, and what they are compared by.
#[derive(Clone, Debug)]
struct Choice {
    worst_rank: u32,
    singles: u32,
    longest_left: Reverse<usize>,
    seats: Range<usize>,
}

impl Choice {
    /// What choices of one segment are compared by.
    fn key(&self, filter: &Filter) -> (bool, u32, u32, Reverse<usize>, usize) {
        let is_last = filter.puts_last(self.singles);
        (is_last, self.worst_rank, self.singles, self.longest_left, self.seats.start)
    }
}

/// Where a segment stands among the others: by the best rank of a free seat, its own rank, and
/// which was added first.
type Place = (u32, u32, usize);

/// What choices of several segments are compared by: whether they come last for the single seats they
/// leave, the worst rank, the single seats, the rank of their segment, and which was added first.
type Key = (bool, u32, u32, u32, usize);

/// What groups in several rows are compared by: whether they come last for the single seats they
/// leave, the worst rank, the single seats, and which row they begin in.
type SplitKey = (bool, u32, u32, usize);

/// All segments of one event's seats.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Segments {
    segments: Vec<Segment>,
    /// Each row's segments, in the order in which they were added.
    rows: Vec<Range<usize>>,
    /// The segments that have so many free seats side by side, or the last of these numbers and more,
    /// by their places: no choice of one is better than its place.
    by_place: [BTreeSet<Place>; MAX_BEST_QUANTITY as usize + 1],
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
    /// Seats that are kept for somebody are never free here.
    pub(crate) fn add(&mut self, spec: &SeatSpec, category: usize, before: Option<&SeatSpec>) {
        let position = self.whose.len();
        let same_row = before.is_some_and(|it| it.section == spec.section && it.row == spec.row);
        let goes_on = before.is_some_and(|it| same_row && !it.aisle)
            && self.segments.last().is_some_and(|last| {
                last.category == category && last.seats.len() < MAX_SEATS_PER_SEGMENT
            });
        if goes_on {
            let last = self.segments.len() - 1;
            self.change(last, |segment| {
                segment.seats.end += 1;
                segment.rank = segment.rank.min(spec.rank);
            });
        } else {
            let next = self.segments.len();
            match self.rows.last_mut() {
                Some(row) if same_row => row.end = next + 1,
                Some(_) | None => self.rows.push(next..next + 1),
            }
            let section = self.section(&spec.section);
            self.segments.push(Segment {
                seats: position..position + 1,
                free: FreeSeats::default(),
                section,
                category,
                rank: spec.rank,
                longest: 0,
                best_free: None,
                worst_of: [u32::MAX; BOUNDED],
            });
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

    fn place(&self, segment: usize) -> Option<(usize, Place)> {
        let it = &self.segments[segment];
        Some((it.longest.min(MAX_BEST_QUANTITY) as usize, (it.best_free?, it.rank, segment)))
    }

    /// Changes a segment, and where it stands.
    fn change(&mut self, segment: usize, change: impl FnOnce(&mut Segment)) {
        let before = self.place(segment);
        change(&mut self.segments[segment]);
        let after = self.place(segment);
        if before != after {
            before.map(|(longest, place)| self.by_place[longest].remove(&place));
            after.map(|(longest, place)| self.by_place[longest].insert(place));
        }
    }

    /// All of them, in the order in which they were added.
    pub(crate) fn views(&self) -> impl Iterator<Item = SegmentView> {
        self.rows.iter().enumerate().flat_map(move |(row, segments)| {
            self.segments[segments.clone()].iter().map(move |segment| SegmentView {
                seats: segment.seats.clone(),
                row,
                category: segment.category,
                rank: segment.rank,
                longest: segment.longest,
            })
        })
    }

    fn is_free(&self, seat: usize) -> bool {
        self.whose[seat] == Whose::Everybodys
    }

    /// Says who may take the seat at this position.
    pub(crate) fn set(&mut self, position: usize, whose: Whose) {
        let was_free = self.is_free(position);
        self.whose[position] = whose;
        let is_free = self.is_free(position);
        if is_free != was_free {
            let nth = self.segment_of[position];
            let segment = &mut self.segments[nth];
            segment.free.set(position - segment.seats.start, is_free);
            self.count(nth);
        }
    }

    /// Looks again at which seats of a segment are free.
    fn count(&mut self, nth: usize) {
        let segment = &self.segments[nth];
        let ranks = &self.ranks[segment.seats.clone()];
        let mut longest = 0;
        let mut worst_of = [u32::MAX; BOUNDED];
        for run in segment.free.runs() {
            longest = longest.max(run.len() as u32);
            // Of so many seats that end here.
            let mut worst = [u32::MAX; BOUNDED];
            for rank in &ranks[run] {
                for more in (1..BOUNDED).rev() {
                    worst[more] = worst[more - 1].max(*rank);
                }
                worst[0] = *rank;
                for (best, worst) in worst_of.iter_mut().zip(worst) {
                    *best = worst.min(*best);
                }
            }
        }
        self.change(nth, |segment| {
            segment.longest = longest;
            segment.best_free = (longest > 0).then_some(worst_of[0]);
            segment.worst_of = worst_of;
        });
    }

    /// The same house as it is to those who may take seats of these kinds only: looks at every seat.
    pub(crate) fn seen_by(&self, may_take: &[Whose]) -> Self {
        let mut seen = self.clone();
        for (seat, whose) in seen.whose.iter_mut().enumerate() {
            let is_free = may_take.contains(whose);
            *whose = if is_free { Whose::Everybodys } else { Whose::Nobodys };
            let segment = &mut seen.segments[seen.segment_of[seat]];
            segment.free.set(seat - segment.seats.start, is_free);
        }
        (0..seen.segments.len()).for_each(|nth| seen.count(nth));
        seen
    }

    /// Whether all of these may be chosen.
    pub(crate) fn let_all(&self, positions: &[usize], filter: &Filter) -> bool {
        positions.iter().all(|seat| {
            let segment = &self.segments[self.segment_of[*seat]];
            self.is_free(*seat) && !filter.named.contains(seat) && filter.lets(segment)
        })
    }

    /// The best seats side by side, by their positions.
    pub(crate) fn together(&self, quantity: u32, filter: &Filter) -> Option<Range<usize>> {
        self.best_together(quantity, filter).map(|choice| choice.seats)
    }

    fn best_together(&self, quantity: u32, filter: &Filter) -> Option<Choice> {
        let mut best: Option<(Key, Choice)> = None;
        // The last set has the runs of its own length and all that are longer.
        let shortest = quantity.min(MAX_BEST_QUANTITY) as usize;
        for long_enough in &self.by_place[shortest..] {
            for &(best_free, rank, nth) in long_enough {
                // Nothing from here on leaves fewer single seats than none.
                if best.as_ref().is_some_and(|(key, _)| *key <= (false, best_free, 0, rank, nth)) {
                    break;
                }
                let segment = &self.segments[nth];
                if !filter.lets(segment) {
                    continue;
                }
                let at_best = segment.worst_rank_at_best(quantity);
                if best.as_ref().is_some_and(|(key, _)| *key <= (false, at_best, 0, rank, nth)) {
                    continue;
                }
                // A choice that comes last does not rule out one of a worse rank that leaves nobody alone.
                let mut within =
                    best.as_ref().filter(|(key, _)| !key.0).map_or(u32::MAX, |(key, _)| key.1);
                if filter.takes_the_best_rank() && quantity as usize <= BOUNDED {
                    within = within.min(at_best);
                }
                let among = segment.seats.clone();
                if let Some(it) = self.best_of(segment, among, quantity, within, filter) {
                    let key = (filter.puts_last(it.singles), it.worst_rank, it.singles, rank, nth);
                    if best.as_ref().is_none_or(|(best, _)| key < *best) {
                        best = Some((key, it));
                    }
                }
            }
        }
        best.map(|(_, choice)| choice)
    }

    /// Seats in as few groups of at least two as can be, in rows one behind the other of one section.
    ///
    /// It takes the longest runs of such rows, and of several such rows those whose worst seat is
    /// best, then those that leave the fewest single seats, then those that were added first.
    pub(crate) fn apart(&self, quantity: u32, filter: &Filter) -> Option<Vec<usize>> {
        (2..=quantity / 2).find_map(|groups| {
            let groups = groups as usize;
            let mut best: Option<(SplitKey, Vec<Choice>)> = None;
            let mut tried = BTreeSet::new();
            for (best_free, _, nth) in self.by_best_pair() {
                // Nothing from here on is better than that, or as good and of rows that were added first.
                if best.as_ref().is_some_and(|(key, _)| *key < (false, best_free, 0, 0)) {
                    break;
                }
                if !filter.lets(&self.segments[nth]) {
                    continue;
                }
                let row = self.rows.partition_point(|row| row.end <= nth);
                for first in (row + 1).saturating_sub(groups)..=row {
                    if !tried.insert(first) {
                        continue;
                    }
                    let Some(found) = self.groups_from(first, groups, quantity, filter) else {
                        continue;
                    };
                    let worst_rank = found.iter().map(|group| group.worst_rank).max().unwrap_or(0);
                    let singles = found.iter().map(|group| group.singles).sum();
                    let key = (filter.puts_last(singles), worst_rank, singles, first);
                    if best.as_ref().is_none_or(|(best, _)| key < *best) {
                        best = Some((key, found));
                    }
                }
            }
            let (_, found) = best?;
            let mut seats: Vec<usize> = found.into_iter().flat_map(|group| group.seats).collect();
            seats.sort_unstable();
            Some(seats)
        })
    }

    /// The places of all segments that have two free seats side by side, the best first.
    fn by_best_pair(&self) -> impl Iterator<Item = Place> {
        let mut ways: Vec<_> = self.by_place[2..].iter().map(|set| set.iter().peekable()).collect();
        std::iter::from_fn(move || {
            let next = ways.iter_mut().filter_map(|way| Some((**way.peek()?, way)));
            let (place, way) = next.min_by_key(|(place, _)| *place)?;
            way.next();
            Some(place)
        })
    }

    /// So many groups in as many rows, from this one on.
    fn groups_from(
        &self,
        first: usize,
        groups: usize,
        quantity: u32,
        filter: &Filter,
    ) -> Option<Vec<Choice>> {
        let section = self.segments[self.rows[first].start].section;
        let last = (first + groups).min(self.rows.len()) - 1;
        let segments = &self.segments[self.rows[first].start..self.rows[last].end];
        let within = segments.iter().filter(|segment| {
            segment.section == section && segment.longest >= 2 && filter.lets(segment)
        });
        let mut found: Vec<(&Segment, Range<usize>)> = within
            .flat_map(|segment| {
                self.runs(segment, filter).into_iter().map(move |run| (segment, run))
            })
            .filter(|(_, run)| run.len() >= 2)
            .collect();
        // What needs nothing of this row is found from the next one on.
        let end_of_first = self.segments[self.rows[first].end - 1].seats.end;
        if found.first().is_none_or(|(_, run)| run.start >= end_of_first) {
            return None;
        }
        found.sort_by_key(|(_, run)| Reverse(run.len()));
        found.truncate(groups);
        let room: usize = found.iter().map(|(_, run)| run.len()).sum();
        let mut left = quantity as usize;
        if found.len() < groups || room < left {
            return None;
        }
        let mut chosen = Vec::new();
        for (nth, (segment, run)) in found.into_iter().enumerate() {
            let for_others = 2 * (groups - nth - 1);
            let size = run.len().min(left - for_others);
            chosen.push(self.best_of(segment, run, size as u32, u32::MAX, filter)?);
            left -= size;
        }
        Some(chosen)
    }

    /// What there is, where it is not enough.
    pub(crate) fn shortage(&self, filter: &Filter) -> Shortage {
        let mut found = Shortage::default();
        for segment in self.segments.iter().filter(|segment| filter.lets(segment)) {
            for run in self.runs(segment, filter) {
                let len = run.len() as u32;
                found.free += len;
                found.longest = found.longest.max(len);
            }
        }
        found
    }

    /// The best choice of a segment among these seats of it, unless its worst rank is beyond this one.
    fn best_of(
        &self,
        segment: &Segment,
        among: Range<usize>,
        quantity: u32,
        worst_rank: u32,
        filter: &Filter,
    ) -> Option<Choice> {
        let quantity = quantity as usize;
        let runs = self.runs(segment, filter);
        let mut best: Option<Choice> = None;
        let mut within = worst_rank;
        for (nth, run) in runs.iter().enumerate() {
            let seats = run.start.max(among.start)..run.end.min(among.end);
            if seats.len() < quantity {
                continue;
            }
            let others = runs.iter().enumerate().filter(|(other, _)| *other != nth);
            let longest_other = others.map(|(_, run)| run.len()).max().unwrap_or(0);
            // Seats that end here and are side by side, none of them worse than what is asked for.
            let mut good = 0;
            for (end, rank) in (seats.start + 1..).zip(&self.ranks[seats]) {
                good = if *rank <= within { good + 1 } else { 0 };
                if good < quantity {
                    continue;
                }
                let seats = end - quantity..end;
                let (start, ranks) = (seats.start, self.ranks[seats.clone()].iter());
                let worst_rank = ranks.copied().max().unwrap_or(0);
                if worst_rank > within {
                    continue;
                }
                let sides = [start - run.start, run.end - seats.end];
                let it = Choice {
                    worst_rank,
                    singles: sides.iter().filter(|side| **side == 1).count() as u32,
                    longest_left: Reverse(sides[0].max(sides[1]).max(longest_other)),
                    seats,
                };
                if best.as_ref().is_none_or(|best| it.key(filter) < best.key(filter)) {
                    // What comes last may still be beaten by a worse rank.
                    if !filter.puts_last(it.singles) {
                        within = worst_rank;
                    }
                    best = Some(it);
                }
            }
        }
        best
    }

    /// The runs of free seats of a segment that are not named beside.
    fn runs(&self, segment: &Segment, filter: &Filter) -> Runs {
        let (first, mut free) = (segment.seats.start, segment.free);
        for seat in filter.named.iter().filter(|seat| segment.seats.contains(seat)) {
            free.set(seat - first, false);
        }
        free.runs().map(|run| first + run.start..first + run.end).collect()
    }
}

/// The longest ranges of seats that are free.
type Runs = SmallVec<[Range<usize>; 8]>;

#[cfg(test)]
mod tests;
