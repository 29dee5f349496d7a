//! Single seats: free seats that a choice would leave alone, and where else it could sit.
//!
//! A choice falls into groups, each of seats side by side in one segment. A group leaves a seat alone
//! if the seat is free, beside the group, and has no other free neighbour once the whole choice is
//! taken. That can be helped if as many seats side by side of the same category leave none alone, the
//! choice's other groups staying where they are: the nearest in the same segment, else the best ones.

use super::{Filter, Segments, View};
use crate::settings::SingleSeats;
use std::ops::Range;

/// Single seats that a choice need not leave, by positions.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Avoidable {
    /// The seats that one of its groups would leave alone.
    pub(crate) seats: Vec<usize>,
    /// The choice with that group moved.
    pub(crate) instead: Vec<usize>,
}

impl Segments {
    /// The single seats that the first group leaves that need not, of a choice of seats that are free
    /// to those who may use these channels; but for groups with seats that are kept for somebody, and
    /// those of which all seats are in `exempt`. Both lists are in order.
    pub(crate) fn avoidable_singles(
        &self,
        chosen: &[usize],
        exempt: &[usize],
        channels: &[u8],
    ) -> Option<Avoidable> {
        self.groups(chosen).into_iter().find_map(|group| {
            let seats = self.singles(&group, chosen, channels);
            let is_exempt = group.clone().all(|seat| exempt.binary_search(&seat).is_ok());
            let has_kept = group.clone().any(|seat| !self.is_open(seat, channels));
            if seats.is_empty() || is_exempt || has_kept {
                return None;
            }
            let others = chosen.iter().copied().filter(|seat| !group.contains(seat));
            let filter = self.like(&group, others.collect());
            let nearest = self.nearest(&group, &filter, channels);
            let moved = nearest.or_else(|| self.elsewhere(&group, &filter, channels))?;
            let mut instead = filter.named;
            instead.extend(moved);
            instead.sort_unstable();
            Some(Avoidable { seats, instead })
        })
    }

    /// The groups in which these seats are side by side.
    fn groups(&self, chosen: &[usize]) -> Vec<Range<usize>> {
        let mut groups: Vec<Range<usize>> = Vec::new();
        for &seat in chosen {
            match groups.last_mut() {
                Some(group)
                    if group.end == seat
                        && self.segment_of[group.start] == self.segment_of[seat] =>
                {
                    group.end += 1;
                }
                Some(_) | None => groups.push(seat..seat + 1),
            }
        }
        groups
    }

    /// The free seats that this group of a choice leaves alone.
    fn singles(&self, group: &Range<usize>, chosen: &[usize], channels: &[u8]) -> Vec<usize> {
        let segment = &self.segments[self.segment_of[group.start]].seats;
        let is_left = |seat: usize| {
            let is_free = segment.contains(&seat) && self.is_open(seat, channels);
            is_free && chosen.binary_search(&seat).is_err()
        };
        let before = group.start.checked_sub(1).filter(|seat| is_left(*seat));
        let before = before.filter(|seat| seat.checked_sub(1).is_none_or(|other| !is_left(other)));
        let after = Some(group.end).filter(|seat| is_left(*seat) && !is_left(seat + 1));
        before.into_iter().chain(after).collect()
    }

    /// Seats of the group's category that are not in the choice's other groups.
    fn like(&self, group: &Range<usize>, others: Vec<usize>) -> Filter {
        let of_group = self.segments[self.segment_of[group.start]].category;
        let categories = self.segments.iter().map(|segment| segment.category).max().unwrap_or(0);
        Filter {
            categories: (0..=categories).map(|category| category == of_group).collect(),
            sections: vec![true; self.sections.len()],
            named: others,
            single_seats: SingleSeats::Refuse,
        }
    }

    /// The nearest as many seats of the same segment that leave none alone.
    fn nearest(
        &self,
        group: &Range<usize>,
        filter: &Filter,
        channels: &[u8],
    ) -> Option<Range<usize>> {
        let nth = self.segment_of[group.start];
        let runs = self.segments[nth].runs(self.open_with(nth, channels), filter);
        let fits = runs.into_iter().flat_map(|run| {
            let starts = run.start..(run.end + 1).saturating_sub(group.len());
            let leaves_none =
                move |start: &usize| start - run.start != 1 && run.end - (start + group.len()) != 1;
            starts.filter(leaves_none)
        });
        let start = fits.min_by_key(|start| (start.abs_diff(group.start), *start))?;
        Some(start..start + group.len())
    }

    /// The best as many seats of any segment that leave none alone.
    fn elsewhere(
        &self,
        group: &Range<usize>,
        filter: &Filter,
        channels: &[u8],
    ) -> Option<Range<usize>> {
        let quantity = u32::try_from(group.len()).ok()?;
        let layer = self.layer_with(channels);
        let best = View { house: self, layer: &layer }.best_together(quantity, filter)?;
        (best.singles == 0).then_some(best.seats)
    }
}
