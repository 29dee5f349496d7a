//! Wheelchair places and their companions' seats: kept for who asks for them.
//!
//! A companion's seat is kept while its place may still be had with it: as long as that is not sold.
//! Then it is a seat like any other, and kept again once its place is given back. A place that is held
//! or blocked may be free again, so its companions' seats stay kept.
//!
//! So many free places that follow each other in one section, in the order in which they were added,
//! are a choice, if as many companions' seats of theirs are free as are asked for beside them. The
//! one whose worst place has the best rank is taken; of equals, the one that was added first. Each
//! place gets a companion's seat before any gets a second.

use super::{Seat, SeatState, Seats};
use crate::best::BestOrder;
use crate::ids::SeatId;
use crate::lines::Lines;
use crate::refusal::Refusal;
use crate::spec::Access;

/// A free wheelchair place, and those of its companions' seats that are free.
struct Place<'a> {
    seat: &'a Seat,
    companions: Vec<&'a Seat>,
}

impl Seats {
    /// Checks that companions' seats that are kept come with their places.
    pub(crate) fn check_companions(&self, lines: &Lines) -> Result<(), Refusal> {
        let is_alone = |id: &&SeatId| match self.get(id).map(|seat| &seat.spec.access) {
            Some(Access::CompanionOf(place)) => {
                !lines.seats().contains(place) && !self.is_sold(place)
            }
            Some(Access::Anyone | Access::Wheelchair) | None => false,
        };
        let seats: Vec<SeatId> = lines.seats().iter().filter(is_alone).cloned().collect();
        if seats.is_empty() { Ok(()) } else { Err(Refusal::CompanionAlone { seats }) }
    }

    /// Whether nobody may take this seat by itself, whatever its state.
    pub(super) fn is_kept(&self, seat: &Seat) -> bool {
        match &seat.spec.access {
            Access::Anyone => false,
            Access::Wheelchair => true,
            Access::CompanionOf(place) => !self.is_sold(place),
        }
    }

    fn is_sold(&self, seat: &SeatId) -> bool {
        self.get(seat).is_some_and(|seat| matches!(seat.state, SeatState::Sold(_)))
    }

    /// Says who may take the companions' seats of the wheelchair place at this position, whose state
    /// is another now.
    pub(super) fn companions_follow(&mut self, place: usize) {
        let companions = self.companions.get(&self.seats[place].spec.seat);
        for &companion in companions.into_iter().flatten() {
            self.segments.set(companion, self.whose(companion));
        }
    }

    /// The best wheelchair places of an order that are free in this way, with as many companions' seats
    /// as it asks for.
    pub(super) fn best_accessible(
        &self,
        order: &BestOrder,
        prices_minor: &[Option<i64>],
        free: &SeatState,
    ) -> Result<Vec<SeatId>, Refusal> {
        let best = order.best();
        let count = best.accessible() as usize;
        let companions = (best.quantity() - best.accessible()) as usize;
        let places = self.free_places(order, prices_minor, free);
        if places.len() < count {
            return Err(Refusal::TooFewAccessible { free: places.len() as u32 });
        }
        let choices = places.windows(count).filter(|choice| {
            choice.iter().all(|place| place.seat.spec.section == choice[0].seat.spec.section)
        });
        let room = |choice: &[Place<'_>]| -> usize {
            choice.iter().map(|place| place.companions.len()).sum()
        };
        let worst = |choice: &&[Place<'_>]| choice.iter().map(|place| place.seat.spec.rank).max();
        let fitting = choices.clone().filter(|choice| room(choice) >= companions);
        let Some(choice) = fitting.min_by_key(worst) else {
            let longest = choices.map(|choice| choice.len() + room(choice)).max().unwrap_or(0);
            let free = places.len() + room(&places);
            return Err(Refusal::NotTogether { longest: longest as u32, free: free as u32 });
        };
        let most = choice.iter().map(|place| place.companions.len()).max().unwrap_or(0);
        let in_turn = (0..most)
            .flat_map(|nth| choice.iter().filter_map(move |place| place.companions.get(nth)));
        let seats = choice.iter().map(|place| place.seat).chain(in_turn.copied().take(companions));
        Ok(seats.map(|seat| seat.spec.seat.clone()).collect())
    }

    /// The free places of what an order asks for, in the order in which they were added.
    fn free_places(
        &self,
        order: &BestOrder,
        prices_minor: &[Option<i64>],
        free: &SeatState,
    ) -> Vec<Place<'_>> {
        let best = order.best();
        let may_take = |seat: &Seat| {
            let is_named = order.beside().is_some_and(|it| it.seats().contains(&seat.spec.seat));
            let may_cost = |price_minor| best.price_max_minor().is_none_or(|it| price_minor <= it);
            seat.state == *free && !is_named && prices_minor[seat.category].is_some_and(may_cost)
        };
        let is_asked = |names: &[Box<str>], name: &str| {
            names.is_empty() || names.iter().any(|asked| asked.as_ref() == name)
        };
        let kept = self.kept.iter().map(|position| &self.seats[*position]);
        let free = kept.filter(|seat| may_take(seat));
        let places = free.clone().filter(|seat| {
            seat.spec.access == Access::Wheelchair
                && is_asked(best.categories(), &seat.spec.category)
                && is_asked(best.sections(), &seat.spec.section)
        });
        let companions_of = |place: &Seat| {
            let is_theirs = |seat: &&Seat| match &seat.spec.access {
                Access::CompanionOf(other) => *other == place.spec.seat,
                Access::Anyone | Access::Wheelchair => false,
            };
            free.clone().filter(is_theirs).collect()
        };
        places.map(|seat| Place { seat, companions: companions_of(seat) }).collect()
    }
}
