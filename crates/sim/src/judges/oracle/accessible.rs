//! Wheelchair places and companions, looked through one by one.

use super::Oracle;
use super::books::{Owner, Seat};
use super::types::MostMinor;
use onrush_core::Refusal;
use onrush_core::best::BestOrder;
use onrush_core::ids::SeatId;
use onrush_core::lines::Lines;
use onrush_core::spec::Access;
use std::cmp::Reverse;

impl Oracle {
    /// Whether a seat is sold by itself, when it is free: no wheelchair place is, and a companion's seat
    /// only while somebody has bought the place that it belongs to.
    pub(super) fn is_by_itself(&self, seat: &Seat) -> bool {
        match &seat.spec.access {
            Access::Anyone => true,
            Access::Wheelchair => false,
            Access::CompanionOf(place) => self.is_bought(place),
        }
    }

    fn is_bought(&self, id: &SeatId) -> bool {
        self.seat(id).is_some_and(|seat| matches!(seat.owner, Owner::Sold(_)))
    }

    /// What is said of companions' seats without the places they belong to.
    pub(super) fn companions_have_places(&self, lines: &Lines) -> Result<(), Refusal> {
        let mut seats = Vec::new();
        for id in lines.seats() {
            let seat = self.seat(id).expect("it was looked for before");
            if let Access::CompanionOf(place) = &seat.spec.access
                && !lines.seats().contains(place)
                && !self.is_bought(place)
            {
                seats.push(id.clone());
            }
        }
        if seats.is_empty() { Ok(()) } else { Err(Refusal::CompanionAlone { seats }) }
    }

    pub(super) fn best_accessible(
        &self,
        order: &BestOrder,
        most_minor: &MostMinor,
        from: &[Owner],
    ) -> Result<Vec<SeatId>, Refusal> {
        let best = order.best();
        let (places, all) = (best.accessible() as usize, best.quantity() as usize);
        let is_named = |seat: &Seat| {
            order.beside().is_some_and(|beside| beside.seats().contains(&seat.spec.seat))
        };
        let is_little = |minor: &i64| best.price_max_minor().is_none_or(|most| *minor <= most);
        let may_take = |seat: &&Seat| {
            let affordable = most_minor.get(&seat.spec.category).is_some_and(is_little);
            from.contains(&seat.owner) && !is_named(seat) && affordable
        };
        let among = |names: &[Box<str>], name: &str| {
            names.is_empty() || names.iter().any(|other| other.as_ref() == name)
        };
        let free: Vec<&Seat> = self
            .seats
            .iter()
            .filter(may_take)
            .filter(|seat| seat.spec.access == Access::Wheelchair)
            .filter(|seat| among(best.categories(), &seat.spec.category))
            .filter(|seat| among(best.sections(), &seat.spec.section))
            .collect();
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        if free.len() < places {
            return Err(Refusal::TooFewAccessible { free: count(free.len()) });
        }
        let companions = |place: &Seat| -> Vec<&Seat> {
            let theirs = Access::CompanionOf(place.spec.seat.clone());
            self.seats.iter().filter(may_take).filter(|seat| seat.spec.access == theirs).collect()
        };
        // Every choice there is: its worst rank, and whom it seats, in the order they are seated.
        let mut found: Vec<(u32, Vec<&Seat>)> = Vec::new();
        for first in 0..=free.len() - places {
            let chosen = &free[first..first + places];
            if chosen.iter().any(|seat| seat.spec.section != chosen[0].spec.section) {
                continue;
            }
            let worst = chosen.iter().map(|seat| seat.spec.rank).max().unwrap_or(0);
            let mut turns: Vec<(usize, usize, &Seat)> = Vec::new();
            for (nth, place) in chosen.iter().enumerate() {
                let theirs = companions(place).into_iter().enumerate();
                turns.extend(theirs.map(|(turn, seat)| (turn, nth, seat)));
            }
            turns.sort_by_key(|(turn, nth, _)| (*turn, *nth));
            let mut seated = chosen.to_vec();
            seated.extend(turns.into_iter().map(|(_, _, seat)| seat));
            found.push((worst, seated));
        }
        let longest = found.iter().map(|(_, seated)| seated.len()).max().unwrap_or(0);
        // The first of the best: those that come later are better only if their rank is.
        found.retain(|(_, seated)| seated.len() >= all);
        let best = found.iter().rev().max_by_key(|(worst, _)| Reverse(*worst));
        match best {
            Some((_, seated)) => {
                Ok(seated[..all].iter().map(|seat| seat.spec.seat.clone()).collect())
            }
            None => {
                let with = free.iter().map(|place| companions(place).len()).sum::<usize>();
                let free = count(free.len() + with);
                Err(Refusal::NotTogether { longest: count(longest), free })
            }
        }
    }
}
