//! What a visitor asks for who names no seats: the best there are.

use crate::ids::SeatId;
use crate::limits::{
    MAX_BEST_NAMES, MAX_BEST_QUANTITY, MAX_LINES_PER_HOLD, MAX_PRICE_MINOR, MAX_UNITS_PER_HOLD,
    fits_text,
};
use crate::lines::Lines;
use crate::refusal::{Field, Refusal};
use serde::{Deserialize, Serialize};

/// Whether seats must be side by side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Together {
    /// Side by side in one row, with no aisle between them, and of one category.
    #[default]
    Must,
    /// If they cannot be: in as few groups as can be, in rows one behind the other of one section,
    /// and nobody alone.
    Prefer,
}

/// So many seats, the best that are free. Its lists are in one canonical order, so that equal wishes
/// compare equal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "RawBest")]
pub struct Best {
    quantity: u32,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    categories: Box<[Box<str>]>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    sections: Box<[Box<str>]>,
    together: Together,
    #[serde(skip_serializing_if = "is_zero")]
    accessible: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    price_max_minor: Option<i64>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    first_choice: Box<[SeatId]>,
}

/// Serde asks for a reference.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// The same as it is read, before anything is known to be right about it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawBest {
    quantity: u32,
    #[serde(default)]
    categories: Vec<Box<str>>,
    #[serde(default)]
    sections: Vec<Box<str>>,
    #[serde(default)]
    together: Together,
    #[serde(default)]
    accessible: u32,
    #[serde(default)]
    price_max_minor: Option<i64>,
    #[serde(default)]
    first_choice: Vec<SeatId>,
}

impl TryFrom<RawBest> for Best {
    type Error = Refusal;

    fn try_from(raw: RawBest) -> Result<Self, Refusal> {
        Self::new(raw.quantity, raw.together)?
            .within(raw.categories, raw.sections)?
            .with_accessible(raw.accessible)?
            .up_to(raw.price_max_minor)?
            .rather(raw.first_choice)
    }
}

impl Best {
    /// So many seats of any category, in any section and at any price.
    ///
    /// # Errors
    /// `INVALID_LINES` if `quantity` is not 1 to [`MAX_BEST_QUANTITY`].
    pub fn new(quantity: u32, together: Together) -> Result<Self, Refusal> {
        if !(1..=MAX_BEST_QUANTITY).contains(&quantity) {
            return wrong("best.quantity", "use 1 to 20; ask again for more");
        }
        let (categories, sections) = <(Box<_>, Box<_>)>::default();
        Ok(Self {
            quantity,
            categories,
            sections,
            together,
            accessible: 0,
            price_max_minor: None,
            first_choice: Box::default(),
        })
    }

    /// Only seats of these categories and sections; an empty list is all of them.
    ///
    /// # Errors
    /// `INVALID_LINES` if a list has more than [`MAX_BEST_NAMES`] names, or a name is too long.
    pub fn within(
        self,
        categories: Vec<Box<str>>,
        sections: Vec<Box<str>>,
    ) -> Result<Self, Refusal> {
        let (categories, sections) =
            (names("best.categories", categories)?, names("best.sections", sections)?);
        Ok(Self { categories, sections, ..self })
    }

    /// Only seats that cost at most so much each, in minor units, before fees; `None` is no bound.
    ///
    /// # Errors
    /// `INVALID_LINES` if it is no price.
    pub fn up_to(self, price_max_minor: Option<i64>) -> Result<Self, Refusal> {
        if price_max_minor.is_some_and(|price| !(0..=MAX_PRICE_MINOR).contains(&price)) {
            return wrong("best.price_max_minor", "use 0 to 1000000000000");
        }
        Ok(Self { price_max_minor, ..self })
    }

    /// So many of them wheelchair places, and the others their companions' seats; none is any seats
    /// but those that are kept for these.
    ///
    /// # Errors
    /// `INVALID_LINES` if it is more than all of them.
    pub fn with_accessible(self, accessible: u32) -> Result<Self, Refusal> {
        if accessible > self.quantity {
            return wrong("best.accessible", "use 0 to quantity");
        }
        Ok(Self { accessible, ..self })
    }

    /// Rather these seats, if all of them can be had; none is no such choice.
    ///
    /// # Errors
    /// `INVALID_LINES` if they are not as many different seats as are asked for, or wheelchair places
    /// are asked for too.
    pub fn rather(self, mut seats: Vec<SeatId>) -> Result<Self, Refusal> {
        seats.sort_unstable();
        let are_different = seats.windows(2).all(|pair| pair[0] != pair[1]);
        let as_many = seats.len() == self.quantity as usize;
        let fits = seats.is_empty() || (as_many && are_different && self.accessible == 0);
        if !fits {
            let why = "name as many different seats as quantity says, and leave accessible out";
            return wrong("best.first_choice", why);
        }
        Ok(Self { first_choice: seats.into(), ..self })
    }

    /// How many seats; 1 to [`MAX_BEST_QUANTITY`].
    #[must_use]
    pub fn quantity(&self) -> u32 {
        self.quantity
    }

    /// Of which categories, by name; all of them if there is none.
    #[must_use]
    pub fn categories(&self) -> &[Box<str>] {
        &self.categories
    }

    /// Whether seats of this category are asked for.
    pub(crate) fn may_be_of(&self, category: &str) -> bool {
        self.categories.is_empty() || self.categories.iter().any(|name| **name == *category)
    }

    /// In which sections, by name; in all of them if there is none.
    #[must_use]
    pub fn sections(&self) -> &[Box<str>] {
        &self.sections
    }

    /// Whether they must be side by side.
    #[must_use]
    pub fn together(&self) -> Together {
        self.together
    }

    /// How many of them are wheelchair places.
    #[must_use]
    pub fn accessible(&self) -> u32 {
        self.accessible
    }

    /// What each may cost at most, in minor units, before fees.
    #[must_use]
    pub fn price_max_minor(&self) -> Option<i64> {
        self.price_max_minor
    }

    /// The seats that are wanted most: either none, or as many as are asked for.
    #[must_use]
    pub fn first_choice(&self) -> &[SeatId] {
        &self.first_choice
    }
}

/// An order that leaves seats to the rules, with whatever it names beside them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "RawBestOrder")]
pub struct BestOrder {
    best: Best,
    #[serde(skip_serializing_if = "Option::is_none")]
    beside: Option<Lines>,
}

/// The same as it is read, before anything is known to be right about it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawBestOrder {
    best: Best,
    #[serde(default)]
    beside: Option<Lines>,
}

impl TryFrom<RawBestOrder> for BestOrder {
    type Error = Refusal;

    fn try_from(raw: RawBestOrder) -> Result<Self, Refusal> {
        Self::new(raw.best, raw.beside)
    }
}

impl BestOrder {
    /// The best seats, and these lines beside them.
    ///
    /// # Errors
    /// `INVALID_LINES` if all of it is more than [`MAX_LINES_PER_HOLD`] lines or
    /// [`MAX_UNITS_PER_HOLD`] units.
    pub fn new(best: Best, beside: Option<Lines>) -> Result<Self, Refusal> {
        let order = Self { best, beside };
        let lines =
            order.beside.as_ref().map_or(0, |beside| beside.pools().len() + beside.seats().len());
        if lines + order.best.quantity as usize > MAX_LINES_PER_HOLD {
            return Err(Refusal::InvalidLines { field: None, why: "use at most 400 lines".into() });
        }
        if order.units() > MAX_UNITS_PER_HOLD {
            let why = "use at most 1000 units together".into();
            return Err(Refusal::InvalidLines { field: None, why });
        }
        Ok(order)
    }

    /// The seats that are left to the rules.
    #[must_use]
    pub fn best(&self) -> &Best {
        &self.best
    }

    /// What is named beside them.
    #[must_use]
    pub fn beside(&self) -> Option<&Lines> {
        self.beside.as_ref()
    }

    /// Units altogether.
    #[must_use]
    pub fn units(&self) -> u32 {
        self.best.quantity + self.beside.as_ref().map_or(0, Lines::units)
    }
}

fn names(field: &'static str, mut names: Vec<Box<str>>) -> Result<Box<[Box<str>]>, Refusal> {
    if names.len() > MAX_BEST_NAMES || !names.iter().all(|name| fits_text(name)) {
        return wrong(field, "use at most 100 names of at most 500 characters");
    }
    names.sort_unstable();
    names.dedup();
    Ok(names.into())
}

fn wrong<T>(field: &'static str, why: &'static str) -> Result<T, Refusal> {
    Err(Refusal::InvalidLines { field: Some(Field::Borrowed(field)), why: why.into() })
}
