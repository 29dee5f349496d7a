//! Ticket types: what units are bought as, such as adult or child, and at which price.
//!
//! A pool or a price category may have a list of them. Whoever holds names the types of their units; a
//! unit that nobody named a type for is of the first one. What is held keeps its types, with their
//! names and prices of then.

use crate::channels::units_of;
use crate::ids::{PoolId, SeatId, TypeId};
use crate::limits::{MAX_LINES_PER_HOLD, MAX_UNITS_PER_HOLD};
use crate::lines::Lines;
use crate::money::{Rounding, share_minor};
use crate::prices::Priced;
use crate::refusal::{Field, Refusal};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a unit of a type costs: an amount, or what follows from the price of its pool or category, so
/// that it changes with that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TypePrice {
    /// This much, in minor units.
    PriceMinor(i64),
    /// This share of the price, in basis points (5000 is half), rounded to the nearest amount step.
    PercentBp(u32),
    /// This much less than the price, in minor units, and never below 0.
    LessMinor(i64),
}

impl TypePrice {
    /// The price of one unit, where one of its pool or category costs `base_minor`.
    #[must_use]
    pub fn of_minor(self, base_minor: i64, step_minor: i64) -> i64 {
        match self {
            Self::PriceMinor(price_minor) => price_minor,
            Self::PercentBp(bp) => {
                share_minor(base_minor, (bp, 10_000), step_minor, Rounding::Nearest)
            }
            Self::LessMinor(less_minor) => (base_minor - less_minor).max(0),
        }
    }
}

/// A ticket type, as the organiser sets it up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TicketType {
    /// Its id, unique within its pool or category.
    pub id: TypeId,
    /// Its name for people.
    pub name: Box<str>,
    /// What a unit of it costs.
    pub price: TypePrice,
    /// Units of it in one booking that has any, at least.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub min: u32,
    /// Units of it in one booking, at most; `None` is as many as lines may have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<u32>,
    /// Whether its bearer shows at the door that they may have it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub proof: bool,
}

/// Serde asks for a reference.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// The types of one pool or category, the one of units that name none first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TypeList {
    /// Whose.
    pub of: Priced,
    /// At least one.
    pub types: Vec<TicketType>,
}

/// A type as buyers see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TypeView {
    /// As it was set up.
    #[serde(flatten)]
    pub ticket_type: TicketType,
    /// What a unit of it costs at the price that is told beside it, in minor units.
    pub price_minor: i64,
}

impl TypeView {
    /// Each type of a list, where one unit costs `base_minor`.
    #[must_use]
    pub fn all(types: &[TicketType], base_minor: i64, step_minor: i64) -> Vec<Self> {
        let view = |it: &TicketType| {
            let price_minor = it.price.of_minor(base_minor, step_minor);
            Self { ticket_type: it.clone(), price_minor }
        };
        types.iter().map(view).collect()
    }
}

/// How many units of each type.
pub type TypeCounts = BTreeMap<TypeId, u32>;

/// The types that a buyer names for the units of an order; those that are not named are of the first
/// type of their pool or category. Equal wishes compare equal.
///
/// Written as `{"pools": {"ga": {"child": 1}}, "seats": {"A-1": "child"}, "best": {"child": 1}}`; what
/// is empty is left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "RawAsked")]
pub struct AskedTypes {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pools: BTreeMap<PoolId, TypeCounts>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    seats: BTreeMap<SeatId, TypeId>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    best: TypeCounts,
}

/// The same as it is read, before anything is known to be right about it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawAsked {
    #[serde(default)]
    pools: BTreeMap<PoolId, TypeCounts>,
    #[serde(default)]
    seats: BTreeMap<SeatId, TypeId>,
    #[serde(default)]
    best: TypeCounts,
}

impl TryFrom<RawAsked> for AskedTypes {
    type Error = Refusal;

    fn try_from(raw: RawAsked) -> Result<Self, Refusal> {
        Self::new(raw.pools, raw.seats, raw.best)
    }
}

impl AskedTypes {
    /// Types of units of pools, of seats, and of the seats that are left to the rules.
    ///
    /// # Errors
    /// `INVALID_LINES` if a quantity is not 1 to [`MAX_UNITS_PER_HOLD`], or more than
    /// [`MAX_LINES_PER_HOLD`] pools and seats are named.
    pub fn new(
        mut pools: BTreeMap<PoolId, TypeCounts>,
        seats: BTreeMap<SeatId, TypeId>,
        best: TypeCounts,
    ) -> Result<Self, Refusal> {
        pools.retain(|_, counts| !counts.is_empty());
        if pools.len() + seats.len() > MAX_LINES_PER_HOLD {
            return wrong("types", "types: name at most 400 pools and seats");
        }
        let may_be = |counts: &TypeCounts| {
            counts.values().all(|count| (1..=MAX_UNITS_PER_HOLD).contains(count))
        };
        if !pools.values().chain([&best]).all(may_be) {
            return wrong("types", "types: use 1 to 1000 units, and leave out those of which none");
        }
        Ok(Self { pools, seats, best })
    }

    /// Whether no unit's type is named.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pools.is_empty() && self.seats.is_empty() && self.best.is_empty()
    }

    /// Units of each type, by pool.
    #[must_use]
    pub fn pools(&self) -> &BTreeMap<PoolId, TypeCounts> {
        &self.pools
    }

    /// The type of each seat that one is named for.
    #[must_use]
    pub fn seats(&self) -> &BTreeMap<SeatId, TypeId> {
        &self.seats
    }

    /// Units of each type, of the seats that are left to the rules.
    #[must_use]
    pub fn best(&self) -> &TypeCounts {
        &self.best
    }

    /// Checks that types are named only for these lines and for so many seats that are left to the
    /// rules, and for no more units than there are.
    ///
    /// # Errors
    /// `INVALID_LINES`.
    pub fn check_fit(&self, lines: Option<&Lines>, best: u32) -> Result<(), Refusal> {
        let sum = |counts: &TypeCounts| counts.values().map(|count| u64::from(*count)).sum::<u64>();
        let lines_of_pools = lines.map_or(&[][..], Lines::pools);
        for (pool, counts) in &self.pools {
            let line = lines_of_pools.binary_search_by(|line| line.pool.cmp(pool));
            let units = line.map_or(0, |nth| lines_of_pools[nth].quantity);
            if sum(counts) > u64::from(units) {
                let why = "types.pools: name at most the units that the order has of the pool";
                return wrong("types.pools", why);
            }
        }
        let seats = lines.map_or(&[][..], Lines::seats);
        if !self.seats.keys().all(|seat| seats.binary_search(seat).is_ok()) {
            return wrong("types.seats", "types.seats: name only seats that the order has too");
        }
        if sum(&self.best) > u64::from(best) {
            let why = "types.best: name at most the seats that the order leaves to the rules";
            return wrong("types.best", why);
        }
        Ok(())
    }

    /// The type of each seat that one is named for, where these were chosen for those that were left to
    /// the rules: in the order of their ids, first those of no named type, then type by type.
    pub(crate) fn with_chosen(&self, chosen: &[SeatId]) -> BTreeMap<SeatId, TypeId> {
        let mut chosen = chosen.to_vec();
        chosen.sort_unstable();
        let named: usize = self.best.values().map(|count| *count as usize).sum();
        let rest = chosen.len().saturating_sub(named);
        let each = |(id, count): (&TypeId, &u32)| std::iter::repeat_n(id.clone(), *count as usize);
        let types = self.best.iter().flat_map(each);
        self.seats.clone().into_iter().chain(chosen.into_iter().skip(rest).zip(types)).collect()
    }
}

fn wrong<T>(field: &'static str, why: &'static str) -> Result<T, Refusal> {
    Err(Refusal::InvalidLines { field: Some(Field::Borrowed(field)), why: why.into() })
}

/// The types of a booking's units, as they were when it was held.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldTypes {
    /// What was named: a retry names the same.
    #[serde(default, skip_serializing_if = "AskedTypes::is_empty")]
    pub asked: AskedTypes,
    /// Each type of each pool and category that has types, by the first line that has units of it;
    /// those of one line in the order of their list.
    pub held: Vec<HeldType>,
}

impl HeldTypes {
    /// The price of all units that have a type, in minor units.
    #[must_use]
    pub fn price_minor(&self) -> i64 {
        self.held.iter().map(|held| held.price_minor * i64::from(held.quantity())).sum()
    }

    /// How many units of each line have a type; lines are counted from 0, pools' and then seats', and
    /// those whose units have none are left out.
    #[must_use]
    pub fn units_by_line(&self) -> BTreeMap<u32, u32> {
        let mut by_line = BTreeMap::new();
        for (line, quantity) in self.held.iter().flat_map(|held| &held.units) {
            *by_line.entry(*line).or_default() += quantity;
        }
        by_line
    }

    /// The units of each line and type, line by line, those of one line in the order of their list.
    fn parts(&self) -> Vec<Part<'_>> {
        let units = self.held.iter().flat_map(|held| held.units.iter().map(move |it| (held, it)));
        let part = |(held, (line, quantity)): (_, &(u32, u32))| Part {
            line: *line,
            held: Some(held),
            quantity: *quantity,
        };
        let mut parts: Vec<_> = units.map(part).collect();
        // Stable, and little is out of order: types stand by their first line.
        parts.sort_by_key(|part| part.line);
        parts
    }
}

/// A type as it was when units of it were held.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldType {
    /// Its id. Types of several pools and categories may have the same.
    pub id: TypeId,
    /// Its name.
    pub name: Box<str>,
    /// Whether its bearer shows at the door that they may have it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub proof: bool,
    /// What one unit of it cost, in minor units.
    pub price_minor: i64,
    /// The lines that have units of it, counted from 0, pools' and then seats', and how many; in the
    /// order of the lines, each once.
    pub units: Vec<(u32, u32)>,
}

impl HeldType {
    /// Units of it altogether.
    #[must_use]
    pub fn quantity(&self) -> u32 {
        self.units.iter().map(|(_, quantity)| quantity).sum()
    }
}

/// Some units of one line that are of one type, or all of a line that has no types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part<'a> {
    /// The line, counted from 0, pools' and then seats'.
    pub line: u32,
    /// Their type.
    pub held: Option<&'a HeldType>,
    /// How many.
    pub quantity: u32,
}

/// The units of a booking line by line, pools' and then seats', those of one type together.
pub fn parts<'a>(lines: &'a Lines, types: Option<&'a HeldTypes>) -> impl Iterator<Item = Part<'a>> {
    let typed = types.map(HeldTypes::parts).unwrap_or_default();
    let mut typed = typed.into_iter().peekable();
    let mut parts = Vec::with_capacity(typed.len().max(lines.pools().len() + lines.seats().len()));
    for (line, quantity) in (0..).zip(units_of(lines)) {
        let before = parts.len();
        parts.extend(std::iter::from_fn(|| typed.next_if(|part| part.line == line)));
        if parts.len() == before {
            parts.push(Part { line, held: None, quantity });
        }
    }
    parts.into_iter()
}

/// The type of each ticket in the order of their numbers: one ticket a unit, in the order of
/// [`parts`]. `None` for those whose unit has no type.
pub fn types_of_tickets<'a>(
    lines: &'a Lines,
    types: Option<&'a HeldTypes>,
) -> impl Iterator<Item = Option<&'a HeldType>> {
    let each = |part: Part<'a>| std::iter::repeat_n(part.held, part.quantity as usize);
    parts(lines, types).flat_map(each)
}

/// The type of the ticket of this number, from 1: see [`types_of_tickets`]. `None` if its unit has
/// no type, or there is no such ticket.
#[must_use]
pub fn type_of_ticket<'a>(
    lines: &'a Lines,
    types: Option<&'a HeldTypes>,
    ticket: u32,
) -> Option<&'a HeldType> {
    let before = ticket.checked_sub(1)?;
    types_of_tickets(lines, types).nth(before as usize).flatten()
}

/// How many of so many units are of each type of a list, in its order; those that no type is named for
/// are of the first one.
///
/// # Errors
/// The first type that is named and not in the list.
pub fn count_types<'a, T: AsRef<TicketType>>(
    types: &'a [T],
    named: Option<&TypeCounts>,
    quantity: u32,
) -> Result<Vec<(&'a T, u32)>, TypeId> {
    let mut rest = quantity;
    for (id, count) in named.into_iter().flatten() {
        if !types.iter().any(|known| known.as_ref().id == *id) {
            return Err(id.clone());
        }
        rest = rest.saturating_sub(*count);
    }
    let counts = types.iter().enumerate().map(|(nth, it)| {
        let named = named.and_then(|named| named.get(&it.as_ref().id)).copied().unwrap_or(0);
        (it, if nth == 0 { named + rest } else { named })
    });
    Ok(counts.filter(|(_, count)| *count > 0).collect())
}

impl AsRef<Self> for TicketType {
    fn as_ref(&self) -> &Self {
        self
    }
}

impl AsRef<TicketType> for TypeView {
    fn as_ref(&self) -> &TicketType {
        &self.ticket_type
    }
}

/// The types of all pools and categories of one event that have some.
#[derive(Debug, Default)]
pub(crate) struct TicketTypes {
    categories: BTreeMap<Box<str>, Vec<TicketType>>,
    pools: BTreeMap<PoolId, Vec<TicketType>>,
}

impl TicketTypes {
    pub(crate) fn is_empty(&self) -> bool {
        self.categories.is_empty() && self.pools.is_empty()
    }

    pub(crate) fn of_category(&self, name: &str) -> &[TicketType] {
        self.categories.get(name).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn of_pool(&self, pool: &PoolId) -> &[TicketType] {
        self.pools.get(pool).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn of(&self, of: &Priced) -> &[TicketType] {
        match of {
            Priced::Category(name) => self.of_category(name),
            Priced::Pool(pool) => self.of_pool(pool),
        }
    }

    /// All lists, categories' first, each by name.
    pub(crate) fn lists(&self) -> impl Iterator<Item = TypeList> {
        let list = |of: Priced, types: &Vec<TicketType>| TypeList { of, types: types.clone() };
        let categories = self.categories.iter();
        let categories = categories.map(move |(name, it)| list(Priced::Category(name.clone()), it));
        let pools = self.pools.iter();
        categories.chain(pools.map(move |(pool, it)| list(Priced::Pool(pool.clone()), it)))
    }

    /// Gives a pool or a category these types; none if there are none.
    pub(crate) fn set(&mut self, of: &Priced, types: &[TicketType]) {
        let types = (!types.is_empty()).then(|| types.to_vec());
        match (of, types) {
            (Priced::Category(name), Some(types)) => {
                self.categories.insert(name.clone(), types);
            }
            (Priced::Category(name), None) => {
                self.categories.remove(name);
            }
            (Priced::Pool(pool), Some(types)) => {
                self.pools.insert(pool.clone(), types);
            }
            (Priced::Pool(pool), None) => {
                self.pools.remove(pool);
            }
        }
    }
}
