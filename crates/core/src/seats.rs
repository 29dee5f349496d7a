//! Seats: each is free, or somebody's, or blocked for a reason.

mod accessible;

use crate::arena::Idx;
use crate::best::{Best, BestOrder, Together};
use crate::channels::Channels;
use crate::ids::SeatId;
use crate::prices::Ladder;
use crate::refusal::Refusal;
use crate::segments::{Avoidable, Filter, SegmentView, Segments, Shortage, Whose};
use crate::settings::SingleSeats;
use crate::spec::{Access, CategorySpec, SeatSpec};
use crate::view::{CategoryView, SeatStatus, Units};
use hashbrown::HashMap;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Whose a seat is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SeatState {
    Free,
    /// In this hold.
    Held(Idx),
    /// In this confirmed booking.
    Sold(Idx),
    /// For this reason.
    Blocked(Box<str>),
    /// Free in the channel of this number.
    Allotted(u8),
}

impl SeatState {
    pub(crate) fn status(&self) -> SeatStatus {
        match self {
            Self::Free => SeatStatus::Free,
            Self::Held(_) => SeatStatus::Held,
            Self::Sold(_) => SeatStatus::Sold,
            Self::Blocked(_) | Self::Allotted(_) => SeatStatus::Blocked,
        }
    }

    /// The state of a seat that is free in the channel of this number, or for everybody.
    pub(crate) fn free_in(channel: Option<u8>) -> Self {
        channel.map_or(Self::Free, Self::Allotted)
    }

    /// Who may take a seat in this state that is kept for nobody.
    fn whose(&self) -> Whose {
        match self {
            Self::Free => Whose::Everybodys,
            Self::Allotted(channel) => Whose::Channels(*channel),
            Self::Held(_) | Self::Sold(_) | Self::Blocked(_) => Whose::Nobodys,
        }
    }
}

/// One seat.
#[derive(Debug)]
pub(crate) struct Seat {
    pub(crate) spec: SeatSpec,
    category: usize,
    pub(crate) state: SeatState,
}

/// Counts a seat that gets another state, by the number of the channel that it is free in.
fn count_allotted(allotted: &mut BTreeMap<u8, u32>, before: &SeatState, after: &SeatState) {
    if let SeatState::Allotted(channel) = before {
        let left = allotted.get_mut(channel).expect("an allotted seat is counted");
        *left -= 1;
        if *left == 0 {
            allotted.remove(channel);
        }
    }
    if let SeatState::Allotted(channel) = after {
        *allotted.entry(*channel).or_default() += 1;
    }
}

/// A price category and how its seats divide.
#[derive(Debug)]
pub(crate) struct Category {
    pub(crate) name: Arc<str>,
    /// By the last change.
    pub(crate) price_minor: i64,
    pub(crate) units: Units,
    /// Of the blocked ones, those that are free in a channel, by its number.
    pub(crate) allotted: BTreeMap<u8, u32>,
}

impl Category {
    fn count_mut(&mut self, status: SeatStatus) -> &mut u32 {
        match status {
            SeatStatus::Free => &mut self.units.free,
            SeatStatus::Held => &mut self.units.held,
            SeatStatus::Sold => &mut self.units.sold,
            SeatStatus::Blocked => &mut self.units.blocked,
        }
    }

    pub(crate) fn view(&self, ladder: Option<&Ladder>, channels: &Channels) -> CategoryView {
        let allotted = self.allotted.iter();
        let by_id: BTreeMap<_, _> =
            allotted.map(|(number, count)| (channels.id(*number), *count)).collect();
        CategoryView {
            name: self.name.as_ref().into(),
            price_minor: self.price_minor,
            first_minor: ladder.map(|ladder| ladder.first_minor),
            later: ladder.map(|ladder| ladder.later.clone()).unwrap_or_default(),
            types: Vec::new(),
            units: self.units,
            allotted: by_id.into_iter().collect(),
        }
    }
}

/// All seats of one event.
#[derive(Debug, Default)]
pub(crate) struct Seats {
    seats: Vec<Seat>,
    by_id: HashMap<SeatId, usize, foldhash::fast::FixedState>,
    categories: Vec<Category>,
    segments: Segments,
    /// Those that the plan keeps for somebody, by position.
    kept: Vec<usize>,
    /// The positions of the companions' seats of each wheelchair place that has some.
    companions: HashMap<SeatId, Vec<usize>, foldhash::fast::FixedState>,
    /// Seats on sale.
    free: u32,
    /// Seats that are free in a channel, by its number.
    allotted: BTreeMap<u8, u32>,
}

impl Seats {
    pub(crate) fn len(&self) -> usize {
        self.seats.len()
    }

    /// Seats on sale.
    pub(crate) fn free(&self) -> u32 {
        self.free
    }

    /// Seats that are free in the channel of this number.
    pub(crate) fn free_in(&self, channel: u8) -> u32 {
        self.allotted.get(&channel).copied().unwrap_or(0)
    }

    pub(crate) fn get(&self, seat: &SeatId) -> Option<&Seat> {
        self.by_id.get(seat).map(|position| &self.seats[*position])
    }

    pub(crate) fn category(&self, name: &str) -> Option<&Category> {
        self.categories.iter().find(|category| category.name.as_ref() == name)
    }

    pub(crate) fn category_of(&self, seat: &Seat) -> &Category {
        &self.categories[seat.category]
    }

    /// All seats, in the order they were added.
    pub(crate) fn iter(&self) -> std::slice::Iter<'_, Seat> {
        self.seats.iter()
    }

    /// All categories, in the order they were added.
    pub(crate) fn categories(&self) -> std::slice::Iter<'_, Category> {
        self.categories.iter()
    }

    pub(crate) fn add_category(&mut self, spec: &CategorySpec) {
        assert!(self.category(&spec.name).is_none(), "a category is added once");
        self.categories.push(Category {
            name: spec.name.as_ref().into(),
            price_minor: spec.price_minor,
            units: Units::default(),
            allotted: BTreeMap::new(),
        });
    }

    /// Gives a category that is known to exist another price.
    pub(crate) fn set_price(&mut self, name: &str, price_minor: i64) {
        let mut categories = self.categories.iter_mut();
        let category = categories.find(|category| category.name.as_ref() == name);
        let category = category.expect("changes name only categories that exist");
        category.price_minor = price_minor;
    }

    pub(crate) fn add(&mut self, spec: &SeatSpec) {
        let named = |category: &Category| category.name.as_ref() == spec.category.as_ref();
        let category = self.categories.iter().position(named).expect("a seat's category is known");
        let known = self.by_id.insert(spec.seat.clone(), self.seats.len());
        assert!(known.is_none(), "a seat is added once");
        let before = self.seats.last().map(|seat| &seat.spec);
        self.segments.add(spec, category, before);
        let position = self.seats.len();
        if !spec.access.is_anyones() {
            self.kept.push(position);
        }
        if let Access::CompanionOf(place) = &spec.access {
            self.companions.entry(place.clone()).or_default().push(position);
        }
        self.seats.push(Seat { spec: spec.clone(), category, state: SeatState::Free });
        self.categories[category].units.free += 1;
        self.free += 1;
        // Where a state is restored, the place of a companion's seat may be sold before this is added.
        self.segments.set(position, self.whose(position));
    }

    /// Gives a seat that is known to exist a new state, and returns the old one.
    pub(crate) fn set(&mut self, seat: &SeatId, state: SeatState) -> SeatState {
        let position = self.by_id.get(seat).copied();
        let position = position.expect("changes name only seats that exist");
        let seat = &mut self.seats[position];
        let category = &mut self.categories[seat.category];
        self.free -= category.units.free;
        *category.count_mut(seat.state.status()) -= 1;
        *category.count_mut(state.status()) += 1;
        for allotted in [&mut category.allotted, &mut self.allotted] {
            count_allotted(allotted, &seat.state, &state);
        }
        self.free += category.units.free;
        let before = std::mem::replace(&mut seat.state, state);
        self.segments.set(position, self.whose(position));
        if self.seats[position].spec.access == Access::Wheelchair {
            self.companions_follow(position);
        }
        before
    }

    /// Who may take the seat at this position by itself.
    fn whose(&self, position: usize) -> Whose {
        let seat = &self.seats[position];
        if self.is_kept(seat) { Whose::Nobodys } else { seat.state.whose() }
    }

    /// An order's first choice, in its order, if it has one and all of that can be had from everybody's
    /// stock and these channels'.
    pub(crate) fn first_choice(
        &self,
        order: &BestOrder,
        single_seats: SingleSeats,
        prices_minor: &[Option<i64>],
        channels: &[u8],
    ) -> Option<Vec<SeatId>> {
        let first_choice = order.best().first_choice();
        if first_choice.is_empty() {
            return None;
        }
        let filter = self.filter(order, single_seats, prices_minor);
        let positions = self.positions(first_choice);
        self.segments.let_all(&positions, &filter, channels).then(|| first_choice.to_vec())
    }

    /// The best seats of an order that are free for everybody, or in one channel, by id, at these
    /// prices of each category; `None` is for categories that it cannot have.
    pub(crate) fn best(
        &self,
        order: &BestOrder,
        single_seats: SingleSeats,
        prices_minor: &[Option<i64>],
        channel: Option<u8>,
    ) -> Result<Vec<SeatId>, Refusal> {
        let best = order.best();
        if best.accessible() > 0 {
            return self.best_accessible(order, prices_minor, &SeatState::free_in(channel));
        }
        let filter = self.filter(order, single_seats, prices_minor);
        let seen = match channel {
            None => self.segments.to_everybody(),
            Some(channel) => {
                let of_it = self.segments.to_channel(channel);
                of_it.ok_or(Refusal::TooFewSeats { free: 0 })?
            }
        };
        let quantity = best.quantity();
        let found = seen.together(quantity, &filter).map(Vec::from_iter);
        let found = found.or_else(|| match best.together() {
            Together::Must => None,
            Together::Prefer => seen.apart(quantity, &filter),
        });
        let Some(found) = found else {
            let Shortage { free, longest } = seen.shortage(&filter);
            return Err(if free < quantity {
                Refusal::TooFewSeats { free }
            } else {
                Refusal::NotTogether { longest, free }
            });
        };
        Ok(self.ids(found))
    }

    fn ids(&self, positions: Vec<usize>) -> Vec<SeatId> {
        positions.into_iter().map(|position| self.seats[position].spec.seat.clone()).collect()
    }

    /// Where seats that are known to exist stand, in order.
    fn positions(&self, seats: &[SeatId]) -> Vec<usize> {
        let mut positions: Vec<usize> = seats.iter().map(|seat| self.by_id[seat]).collect();
        positions.sort_unstable();
        positions
    }

    /// Checks that a choice of free seats leaves none alone where that can be helped, of everybody's
    /// and these channels'; groups of which all seats were chosen by the rules are fine.
    pub(crate) fn check_singles(
        &self,
        chosen: &[SeatId],
        by_rules: &[SeatId],
        channels: &[u8],
    ) -> Result<(), Refusal> {
        let (chosen, by_rules) = (self.positions(chosen), self.positions(by_rules));
        match self.segments.avoidable_singles(&chosen, &by_rules, channels) {
            None => Ok(()),
            Some(Avoidable { seats, instead }) => Err(Refusal::LeavesSingleSeat {
                seats: self.ids(seats),
                instead: self.ids(instead),
            }),
        }
    }

    /// Checks that there are such categories, sections and seats.
    pub(crate) fn check_exist(&self, best: &Best) -> Result<(), Refusal> {
        for category in best.categories() {
            if self.category(category).is_none() {
                return Err(Refusal::CategoryNotFound { category: category.clone() });
            }
        }
        for section in best.sections() {
            if !self.segments.sections().contains(section) {
                return Err(Refusal::SectionNotFound { section: section.clone() });
            }
        }
        for seat in best.first_choice() {
            if self.get(seat).is_none() {
                return Err(Refusal::SeatNotFound { seat: seat.clone() });
            }
        }
        Ok(())
    }

    fn filter(
        &self,
        order: &BestOrder,
        single_seats: SingleSeats,
        prices_minor: &[Option<i64>],
    ) -> Filter {
        let best = order.best();
        let is_asked = |names: &[Box<str>], name: &str| {
            names.is_empty() || names.iter().any(|asked| asked.as_ref() == name)
        };
        let categories = self.categories.iter().zip(prices_minor).map(|(category, price_minor)| {
            let may_cost = |price_minor| best.price_max_minor().is_none_or(|it| price_minor <= it);
            let affordable = price_minor.is_some_and(may_cost);
            affordable && is_asked(best.categories(), &category.name)
        });
        let sections = self.segments.sections().iter();
        let named = order.beside().into_iter().flat_map(|beside| beside.seats());
        Filter {
            categories: categories.collect(),
            sections: sections.map(|section| is_asked(best.sections(), section)).collect(),
            named: named.filter_map(|seat| self.by_id.get(seat).copied()).collect(),
            single_seats,
        }
    }

    /// Seats side by side.
    pub(crate) fn segments(&self) -> impl Iterator<Item = SegmentView> {
        self.segments.views()
    }

    /// Whether what is known of seats side by side is what their states say.
    pub(crate) fn segments_agree(&self) -> bool {
        let mut anew = Self::default();
        anew.categories.extend(self.categories.iter().map(|category| Category {
            name: Arc::clone(&category.name),
            price_minor: category.price_minor,
            units: Units::default(),
            allotted: BTreeMap::new(),
        }));
        for seat in &self.seats {
            anew.add(&seat.spec);
            anew.set(&seat.spec.seat, seat.state.clone());
        }
        anew.segments == self.segments
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::invariants::tests::{complains, sale};

    #[test]
    fn runs_of_free_seats_that_are_not_those_of_their_states_are_noticed() {
        let complaint = "seats: the runs of free ones are not those of their states";
        complains(sale(), complaint, |it| it.seats.segments.set(0, Whose::Everybodys));
    }
}
