//! Which of the seats that somebody may take are the best.

use super::layer::{BOUNDED, Layer, Place};
use super::{Filter, Runs, Segments};
use crate::limits::MAX_BEST_QUANTITY;
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::ops::Range;

/// What there is of what was asked for, where it is not enough.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shortage {
    pub(crate) free: u32,
    pub(crate) longest: u32,
}

/// Seats side by side, and what they are compared by.
#[derive(Clone, Debug)]
pub(super) struct Choice {
    worst_rank: u32,
    pub(super) singles: u32,
    longest_left: Reverse<usize>,
    pub(super) seats: Range<usize>,
}

impl Choice {
    /// What choices of one segment are compared by.
    fn key(&self, filter: &Filter) -> (bool, u32, u32, Reverse<usize>, usize) {
        let is_last = filter.puts_last(self.singles);
        (is_last, self.worst_rank, self.singles, self.longest_left, self.seats.start)
    }
}

/// What choices of several segments are compared by: whether they come last for the single seats they
/// leave, the worst rank, the single seats, the rank of their segment, and which was added first.
type Key = (bool, u32, u32, u32, usize);

/// What groups in several rows are compared by: whether they come last for the single seats they
/// leave, the worst rank, the single seats, and which row they begin in.
type SplitKey = (bool, u32, u32, usize);

/// The house as it is to those who may take the seats of one layer.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    pub(super) house: &'a Segments,
    pub(super) layer: &'a Layer,
}

impl View<'_> {
    /// The best seats side by side, by their positions.
    pub(crate) fn together(&self, quantity: u32, filter: &Filter) -> Option<Range<usize>> {
        self.best_together(quantity, filter).map(|choice| choice.seats)
    }

    pub(super) fn best_together(&self, quantity: u32, filter: &Filter) -> Option<Choice> {
        let mut best: Option<(Key, Choice)> = None;
        // The last set has the runs of its own length and all that are longer.
        let shortest = quantity.min(MAX_BEST_QUANTITY) as usize;
        for long_enough in &self.layer.by_place[shortest..] {
            for &(best_free, rank, nth) in long_enough {
                // Nothing from here on leaves fewer single seats than none.
                if best.as_ref().is_some_and(|(key, _)| *key <= (false, best_free, 0, rank, nth)) {
                    break;
                }
                let segment = &self.house.segments[nth];
                if !filter.lets(segment) {
                    continue;
                }
                let at_best = self.layer.stock[nth].worst_rank_at_best(quantity);
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
                if let Some(it) = self.best_of(nth, among, quantity, within, filter) {
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
                if !filter.lets(&self.house.segments[nth]) {
                    continue;
                }
                let row = self.house.rows.partition_point(|row| row.end <= nth);
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
        let mut ways: Vec<_> =
            self.layer.by_place[2..].iter().map(|set| set.iter().peekable()).collect();
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
        let Segments { segments, rows, .. } = self.house;
        let section = segments[rows[first].start].section;
        let last = (first + groups).min(rows.len()) - 1;
        let within = (rows[first].start..rows[last].end).filter(|nth| {
            let segment = &segments[*nth];
            let has_pair = self.layer.stock[*nth].longest >= 2;
            segment.section == section && has_pair && filter.lets(segment)
        });
        let mut found: Vec<(usize, Range<usize>)> = within
            .flat_map(|nth| self.runs(nth, filter).into_iter().map(move |run| (nth, run)))
            .filter(|(_, run)| run.len() >= 2)
            .collect();
        // What needs nothing of this row is found from the next one on.
        let end_of_first = segments[rows[first].end - 1].seats.end;
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
        let of_all = self.house.segments.iter().zip(&self.layer.stock).enumerate();
        for (nth, _) in of_all.filter(|(_, (it, stock))| stock.longest > 0 && filter.lets(it)) {
            for run in self.runs(nth, filter) {
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
        segment: usize,
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
            for (end, rank) in (seats.start + 1..).zip(&self.house.ranks[seats]) {
                good = if *rank <= within { good + 1 } else { 0 };
                if good < quantity {
                    continue;
                }
                let seats = end - quantity..end;
                let (start, ranks) = (seats.start, self.house.ranks[seats.clone()].iter());
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
    fn runs(&self, segment: usize, filter: &Filter) -> Runs {
        self.house.segments[segment].runs(self.layer.stock[segment].free, filter)
    }
}
