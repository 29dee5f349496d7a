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
        let places = self.free_places(order, prices_minor, free, count)?;
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

    /// The free places of what an order asks for, in the order in which they were added; refused if they
    /// are fewer than `count`. However many there are, each kept seat is looked at once, and companions'
    /// seats once more for their place.
    fn free_places(
        &self,
        order: &BestOrder,
        prices_minor: &[Option<i64>],
        free: &SeatState,
        count: usize,
    ) -> Result<Vec<Place<'_>>, Refusal> {
        let best = order.best();
        let may_take = |seat: &Seat| {
            // Lines have their seats by id.
            let is_named = || {
                order.beside().is_some_and(|it| it.seats().binary_search(&seat.spec.seat).is_ok())
            };
            let may_cost = |price_minor| best.price_max_minor().is_none_or(|it| price_minor <= it);
            seat.state == *free && prices_minor[seat.category].is_some_and(may_cost) && !is_named()
        };
        let is_asked = |names: &[Box<str>], name: &str| {
            names.is_empty() || names.iter().any(|asked| asked.as_ref() == name)
        };
        let kept = self.kept.iter().map(|position| self.look_at(*position));
        let places = kept.filter(|seat| {
            seat.spec.access == Access::Wheelchair
                && may_take(seat)
                && is_asked(best.categories(), &seat.spec.category)
                && is_asked(best.sections(), &seat.spec.section)
        });
        let places: Vec<&Seat> = places.collect();
        if places.len() < count {
            return Err(Refusal::TooFewAccessible { free: places.len() as u32 });
        }
        let companions_of = |place: &Seat| {
            let positions = self.companions.get(&place.spec.seat).into_iter().flatten();
            let theirs = positions.map(|position| self.look_at(*position));
            theirs.filter(|seat| may_take(seat)).collect()
        };
        let places = places.into_iter();
        Ok(places.map(|seat| Place { seat, companions: companions_of(seat) }).collect())
    }

    /// The seat at this position. Tests count how many are looked at.
    fn look_at(&self, position: usize) -> &Seat {
        #[cfg(test)]
        tests::LOOKS.set(tests::LOOKS.get() + 1);
        &self.seats[position]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::best::{Best, Together};
    use crate::spec::{CategorySpec, SeatSpec};
    use std::cell::Cell;

    thread_local! {
        /// Looks at seats on this thread.
        pub(super) static LOOKS: Cell<usize> = const { Cell::new(0) };
    }

    /// So many free wheelchair places, each with a companion's seat beside it.
    fn house(places: usize) -> Seats {
        let mut seats = Seats::default();
        seats.add_category(&CategorySpec { name: "stalls".into(), price_minor: 900 });
        for number in 0..places {
            let [place, companion]: [SeatId; 2] =
                ["W", "C"].map(|sign| format!("{sign}-{number}").parse().unwrap());
            let beside = Access::CompanionOf(place.clone());
            for (seat, access) in [(place, Access::Wheelchair), (companion, beside)] {
                seats.add(&SeatSpec {
                    number: seat.as_str().into(),
                    seat,
                    section: "stalls".into(),
                    row: (number / 100).to_string().into(),
                    category: "stalls".into(),
                    rank: 0,
                    aisle: false,
                    access,
                });
            }
        }
        seats
    }

    #[test]
    fn an_order_looks_at_each_kept_seat_once_and_at_companions_once_more_for_their_place() {
        const PLACES: usize = 1_000;
        let seats = house(PLACES);
        assert_eq!(seats.kept.len(), 2 * PLACES);
        for (quantity, price_max_minor, is_granted, looks) in [
            (2, None, true, 3 * PLACES),
            // No place has two companions.
            (3, None, false, 3 * PLACES),
            // Too few places are cheap enough for anybody to ask for their companions.
            (2, Some(1), false, 2 * PLACES),
        ] {
            let best = Best::new(quantity, Together::Must).unwrap();
            let best = best.with_accessible(1).unwrap().up_to(price_max_minor).unwrap();
            let order = BestOrder::new(best, None).unwrap();
            LOOKS.set(0);
            let found = seats.best_accessible(&order, &[Some(900)], &SeatState::Free);
            assert_eq!(found.is_ok(), is_granted, "{quantity} seats: {found:?}");
            assert_eq!(LOOKS.get(), looks, "{quantity} seats, {price_max_minor:?} at most");
        }
    }
}
