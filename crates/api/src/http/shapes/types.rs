//! Ticket types: as visitors name them, as organisers set them up, and as everybody sees them.

use super::lines::{Quantity, id};
use crate::http::problem::{Code, Problem};
use crate::json::ids::{FreeText, IdText, PoolQuantities, PriceNumber, QuantityNumber};
use crate::json::whole::Whole;
use onrush_core::ids::{PoolId, SeatId, TypeId};
use onrush_core::lines::Lines;
use onrush_core::settings::Settings;
use onrush_core::types::TypeView;
use onrush_core::types::{AskedTypes, HeldType, HeldTypes, TicketType, TypeCounts, TypePrice};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// The ticket types of what is wanted; units that none is named for are of the first type of their
/// pool or category.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = WishedTypes)]
pub struct TypesWish<'a> {
    /// Of each pool, how many units of each type.
    #[serde(borrow, default)]
    #[schema(value_type = Option<HashMap<String, PoolQuantities>>, nullable = false)]
    pools: BTreeMap<Cow<'a, str>, BTreeMap<Cow<'a, str>, Quantity>>,
    /// The type of each seat.
    #[serde(borrow, default)]
    #[schema(value_type = Option<HashMap<String, IdText>>, nullable = false)]
    seats: BTreeMap<Cow<'a, str>, Cow<'a, str>>,
    /// Of the seats that are left to the server, how many of each type.
    #[serde(borrow, default)]
    #[schema(value_type = Option<PoolQuantities>, nullable = false)]
    best: BTreeMap<Cow<'a, str>, Quantity>,
}

impl TypesWish<'_> {
    /// The types that are named.
    ///
    /// # Errors
    /// `INVALID_ID`, `INVALID_QUANTITY`, `INVALID_LINES`.
    pub fn asked(&self) -> Result<AskedTypes, Problem> {
        let counts = |field: String, counts: &BTreeMap<Cow<'_, str>, Quantity>| {
            let count = |(name, quantity): (&Cow<'_, str>, &Quantity)| {
                let about = |problem: Problem| problem.about(format!("{field}.{name}"));
                let name: TypeId = id(name).map_err(about)?;
                let quantity = quantity.units().map_err(|why| about(Problem::from(why)))?;
                Ok((name, quantity))
            };
            counts.iter().map(count).collect::<Result<TypeCounts, Problem>>()
        };
        let mut pools = BTreeMap::new();
        for (name, of_pool) in &self.pools {
            let field = format!("types.pools.{name}");
            let pool: PoolId = id(name).map_err(|problem| problem.about(field.clone()))?;
            pools.insert(pool, counts(field, of_pool)?);
        }
        let mut seats = BTreeMap::new();
        for (name, named) in &self.seats {
            let about = |problem: Problem| problem.about(format!("types.seats.{name}"));
            let seat: SeatId = id(name).map_err(about)?;
            seats.insert(seat, id(named).map_err(about)?);
        }
        Ok(AskedTypes::new(pools, seats, counts("types.best".to_owned(), &self.best)?)?)
    }
}

/// A ticket type that is set up. It has one of the three prices.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewTicketType)]
pub struct NewType {
    /// Its id, unique within its pool or category.
    #[schema(value_type = IdText)]
    id: String,
    /// Its name for people.
    #[schema(value_type = FreeText)]
    name: Box<str>,
    /// What a unit of it costs, in minor units.
    #[serde(default)]
    #[schema(value_type = Option<PriceNumber>, nullable = false)]
    price_minor: Option<Whole<i64>>,
    /// Or: the share of the pool's or category's price that it costs, in basis points: 5000 is half.
    #[serde(default)]
    #[schema(value_type = Option<u32>, nullable = false, maximum = 10_000)]
    percent_bp: Option<Whole<u32>>,
    /// Or: how much less than the pool's or category's price it costs, in minor units.
    #[serde(default)]
    #[schema(value_type = Option<PriceNumber>, nullable = false)]
    less_minor: Option<Whole<i64>>,
    /// Units of it in one booking that has any, at least.
    #[serde(default)]
    #[schema(value_type = Option<u32>, nullable = false, maximum = 1_000)]
    min: Option<Whole<u32>>,
    /// Units of it in one booking, at most.
    #[serde(default)]
    #[schema(value_type = Option<QuantityNumber>, nullable = true)]
    max: Option<Whole<u32>>,
    /// Whether its bearer shows at the door that they may have it.
    #[serde(default)]
    proof: bool,
}

impl NewType {
    /// The type, where it is the one of this index.
    ///
    /// # Errors
    /// `INVALID_ID`, and `INVALID_BODY` for no price or several.
    pub fn ticket_type(self, index: usize) -> Result<TicketType, Problem> {
        let about = |problem: Problem, field| problem.about(format!("types[{index}].{field}"));
        let price = match (self.price_minor, self.percent_bp, self.less_minor) {
            (Some(price), None, None) => TypePrice::PriceMinor(price.0),
            (None, Some(bp), None) => TypePrice::PercentBp(bp.0),
            (None, None, Some(less)) => TypePrice::LessMinor(less.0),
            _ => {
                let why = "name one of price_minor, percent_bp and less_minor for each type";
                return Err(about(Problem::new(Code::InvalidBody, why), "price_minor"));
            }
        };
        Ok(TicketType {
            id: id(&self.id).map_err(|problem| about(problem, "id"))?,
            name: self.name,
            price,
            min: self.min.map_or(0, |min| min.0),
            max: self.max.map(|max| max.0),
            proof: self.proof,
        })
    }
}

/// A ticket type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = TicketType)]
pub struct TypeBody {
    /// Its id, unique within its pool or category.
    #[schema(value_type = IdText)]
    id: TypeId,
    /// Its name for people.
    name: Box<str>,
    /// What one unit of it costs before fees, in minor units.
    price_minor: i64,
    /// The same with the percentage fee on it.
    all_in_minor: i64,
    /// The share of the pool's or category's price that this is, in basis points, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    percent_bp: Option<u32>,
    /// How much less than the pool's or category's price this is, if that is how it was set up.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    less_minor: Option<i64>,
    /// Units of it in one booking that has any, at least; 0 is any number.
    min: u32,
    /// Units of it in one booking, at most; missing if there is no such limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    max: Option<u32>,
    /// Whether its bearer shows at the door that they may have it.
    proof: bool,
}

impl TypeBody {
    /// What anyone may see of these types.
    #[must_use]
    pub fn all(types: &[TypeView], settings: &Settings) -> Vec<Self> {
        let body = |TypeView { ticket_type, price_minor }: &TypeView| {
            let TicketType { id, name, price, min, max, proof } = ticket_type.clone();
            let (percent_bp, less_minor) = match price {
                TypePrice::PriceMinor(_) => (None, None),
                TypePrice::PercentBp(bp) => (Some(bp), None),
                TypePrice::LessMinor(less_minor) => (None, Some(less_minor)),
            };
            let price_minor = *price_minor;
            let all_in_minor = settings.all_in_minor(price_minor);
            Self { id, name, price_minor, all_in_minor, percent_bp, less_minor, min, max, proof }
        };
        types.iter().map(body).collect()
    }
}

/// The ticket type of a unit that somebody has, as it was when it was held.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct TypeOfUnit {
    /// Its id.
    #[schema(value_type = IdText)]
    id: TypeId,
    /// Its name then.
    name: Box<str>,
    /// Whether its bearer shows at the door that they may have it.
    proof: bool,
}

impl From<&HeldType> for TypeOfUnit {
    fn from(held: &HeldType) -> Self {
        Self { id: held.id.clone(), name: held.name.clone(), proof: held.proof }
    }
}

/// Units of a booking that are of one ticket type.
#[derive(Serialize, ToSchema)]
#[schema(as = UnitsOfType)]
pub struct TypeUnits {
    /// Of which.
    #[serde(rename = "type")]
    of: TypeOfUnit,
    /// What one of them cost before fees when they were held, in minor units.
    price_minor: i64,
    /// Units of pools.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(value_type = HashMap<String, u32>, required = false)]
    pools: BTreeMap<PoolId, u32>,
    /// Seats.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<IdText>, required = false)]
    seats: Vec<SeatId>,
}

impl TypeUnits {
    /// The units of these lines that have a type.
    #[must_use]
    pub fn all(lines: &Lines, types: Option<&HeldTypes>) -> Vec<Self> {
        let Some(types) = types else { return Vec::new() };
        types.held.iter().map(|held| Self::of_type(lines, held)).collect()
    }

    fn of_type(lines: &Lines, held: &HeldType) -> Self {
        let (mut pools, mut seats) = (BTreeMap::new(), Vec::new());
        for (line, quantity) in &held.units {
            let line = *line as usize;
            match lines.pools().get(line) {
                Some(pool) => {
                    pools.insert(pool.pool.clone(), *quantity);
                }
                None => seats.push(lines.seats()[line - lines.pools().len()].clone()),
            }
        }
        Self { of: held.into(), price_minor: held.price_minor, pools, seats }
    }
}
