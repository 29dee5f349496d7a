//! Seats: each is free, or somebody's, or blocked for a reason.

use crate::arena::Idx;
use crate::ids::SeatId;
use crate::spec::{CategorySpec, SeatSpec};
use crate::view::{CategoryView, SeatStatus, Units};
use hashbrown::HashMap;
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
}

impl SeatState {
    pub(crate) fn status(&self) -> SeatStatus {
        match self {
            Self::Free => SeatStatus::Free,
            Self::Held(_) => SeatStatus::Held,
            Self::Sold(_) => SeatStatus::Sold,
            Self::Blocked(_) => SeatStatus::Blocked,
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

/// A price category and how its seats divide.
#[derive(Debug)]
pub(crate) struct Category {
    pub(crate) name: Arc<str>,
    pub(crate) price_minor: i64,
    pub(crate) units: Units,
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

    pub(crate) fn view(&self) -> CategoryView {
        CategoryView {
            name: self.name.as_ref().into(),
            price_minor: self.price_minor,
            units: self.units,
        }
    }
}

/// All seats of one event.
#[derive(Debug, Default)]
pub(crate) struct Seats {
    seats: Vec<Seat>,
    by_id: HashMap<SeatId, usize, foldhash::fast::FixedState>,
    categories: Vec<Category>,
}

impl Seats {
    pub(crate) fn len(&self) -> usize {
        self.seats.len()
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
        });
    }

    pub(crate) fn add(&mut self, spec: &SeatSpec) {
        let named = |category: &Category| category.name.as_ref() == spec.category.as_ref();
        let category = self.categories.iter().position(named).expect("a seat's category is known");
        let known = self.by_id.insert(spec.seat.clone(), self.seats.len());
        assert!(known.is_none(), "a seat is added once");
        self.seats.push(Seat { spec: spec.clone(), category, state: SeatState::Free });
        self.categories[category].units.free += 1;
    }

    /// Gives a seat that is known to exist a new state, and returns the old one.
    pub(crate) fn set(&mut self, seat: &SeatId, state: SeatState) -> SeatState {
        let position = self.by_id.get(seat).expect("changes name only seats that exist");
        let seat = &mut self.seats[*position];
        let category = &mut self.categories[seat.category];
        *category.count_mut(seat.state.status()) -= 1;
        *category.count_mut(state.status()) += 1;
        std::mem::replace(&mut seat.state, state)
    }
}
