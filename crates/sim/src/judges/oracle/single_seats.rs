//! Single seats, found by looking at every seat and trying every place.

use super::Oracle;
use super::best::House;
use super::books::{Owner, Seat};
use onrush_core::Refusal;
use onrush_core::ids::SeatId;
use onrush_core::settings::SingleSeats;
use std::ops::Range;

impl Oracle {
    /// What is said of a choice of free seats that leaves one alone where it need not; groups of
    /// which all seats are in `exempt` are fine. Free are the seats of these owners.
    pub(super) fn leaves_nobody_alone(
        &self,
        chosen: &[SeatId],
        exempt: &[SeatId],
        from: &[Owner],
    ) -> Result<(), Refusal> {
        if self.settings().single_seats == SingleSeats::Allow {
            return Ok(());
        }
        let is_anyones = |seat: &Seat| self.is_by_itself(seat);
        let is_free = self.seats.iter().map(|seat| from.contains(&seat.owner) && is_anyones(seat));
        let now = House::with(self, is_free.collect());
        let is_in = |ids: &[SeatId], seat: usize| ids.contains(&self.seats[seat].spec.seat);
        let is_chosen = |seat: usize| is_in(chosen, seat);
        let mut seat = 0;
        while seat < self.seats.len() {
            let first = seat;
            let segment = now.segment(first);
            while seat < segment.end && is_chosen(seat) {
                seat += 1;
            }
            let group = first..seat;
            seat = seat.max(first + 1);
            let is_fine = group.clone().all(|it| is_in(exempt, it))
                || !group.clone().all(|it| is_anyones(&self.seats[it]));
            if group.is_empty() || is_fine {
                continue;
            }
            let alone = alone_beside(&now, &group, is_chosen);
            if alone.is_empty() {
                continue;
            }
            if let Some(moved) = self.other_place(&now, &group, is_chosen) {
                let stays = |it: &usize| is_chosen(*it) && !group.contains(it);
                let ids = |seats: Vec<usize>| -> Vec<SeatId> {
                    seats.into_iter().map(|it| self.seats[it].spec.seat.clone()).collect()
                };
                let instead = (0..self.seats.len()).filter(|it| stays(it) || moved.contains(it));
                let (seats, instead) = (ids(alone), ids(instead.collect()));
                return Err(Refusal::LeavesSingleSeat { seats, instead });
            }
        }
        Ok(())
    }

    /// Where else in its category a group could sit and leave nobody alone.
    fn other_place(
        &self,
        now: &House<'_>,
        group: &Range<usize>,
        is_chosen: impl Fn(usize) -> bool,
    ) -> Option<Range<usize>> {
        let category = &self.seats[group.start].spec.category;
        let may_take = |seat: usize| {
            let stays = is_chosen(seat) && !group.contains(&seat);
            now.free[seat] && self.seats[seat].spec.category == *category && !stays
        };
        let house = House::with(self, (0..self.seats.len()).map(may_take).collect());
        let segment = now.segment(group.start);
        let near = segment.clone().map(|start| start..start + group.len());
        let near = near.filter(|place| place.end <= segment.end && house.fits(place));
        let near = near.filter(|place| {
            let is_moved = |seat: usize| place.contains(&seat);
            let stays = |seat: usize| is_chosen(seat) && !group.contains(&seat);
            alone_beside(now, place, |seat| is_moved(seat) || stays(seat)).is_empty()
        });
        let nearest = near.min_by_key(|place| (place.start.abs_diff(group.start), place.start));
        nearest.or_else(|| {
            let best = house.together(group.len())?;
            let is_moved = |seat: usize| best.contains(&seat);
            let stays = |seat: usize| is_chosen(seat) && !group.contains(&seat);
            let alone = alone_beside(now, &best, |seat| is_moved(seat) || stays(seat));
            alone.is_empty().then_some(best)
        })
    }
}

/// The free seats beside a group that nobody could sit next to once all that is taken is taken.
fn alone_beside(
    house: &House<'_>,
    group: &Range<usize>,
    is_taken: impl Fn(usize) -> bool,
) -> Vec<usize> {
    let segment = house.segment(group.start);
    let is_left = |seat: usize| segment.contains(&seat) && house.free[seat] && !is_taken(seat);
    segment
        .clone()
        .filter(|seat| {
            let (before, after) = (seat.wrapping_sub(1), seat + 1);
            let is_beside = after == group.start || *seat == group.end;
            is_left(*seat) && is_beside && !is_left(before) && !is_left(after)
        })
        .collect()
}
