//! What is paid for, line by line: units at their prices, then the fees, and the tax in each.

use crate::ids::{PoolId, SeatId};
use crate::lines::Lines;
use crate::refusal::Refusal;
use crate::settings::Settings;
use crate::tax::Taxed;
use crate::types::{HeldType, HeldTypes, parts};
use crate::view::AvailabilityView;
use std::collections::BTreeMap;

/// A part of what is paid, with the tax in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost<'a> {
    /// The units that it pays for; `None` for the fees.
    pub units: Option<CostOfUnits<'a>>,
    /// What all of it costs. Where no tax is told, all is net.
    pub taxed: Taxed,
}

/// Units of one line and one type, at one price.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CostOfUnits<'a> {
    /// Their pool, if they have one.
    pub pool: Option<&'a PoolId>,
    /// The seat, if it is one.
    pub seat: Option<&'a SeatId>,
    /// Their ticket type, if they have one.
    pub held: Option<&'a HeldType>,
    /// How many they are.
    pub quantity: u32,
    /// What one of them costs, in minor units.
    pub price_minor: i64,
}

/// Which of the prices that a unit has had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// The one that it had first.
    First,
    /// The one that it has now.
    Now,
}

impl When {
    const fn of(self, now_minor: i64, first_minor: Option<i64>) -> i64 {
        match (self, first_minor) {
            (Self::First, Some(first_minor)) => first_minor,
            (Self::First, None) | (Self::Now, _) => now_minor,
        }
    }
}

/// The price of one unit of each line, pools' and then seats', without regard to ticket types.
/// `categories` are those of the seats, in their order.
///
/// # Errors
/// [`Refusal::ZoneNotFound`], [`Refusal::SeatNotFound`] if a line is of nothing that the event has.
pub fn unit_prices(
    lines: &Lines,
    categories: &[impl AsRef<str>],
    left: &AvailabilityView,
    when: When,
) -> Result<Vec<i64>, Refusal> {
    // A hotel's year has thousands of pools, and a stay hundreds of them.
    let pools: BTreeMap<_, _> = left.pools.iter().map(|pool| (&pool.pool, pool)).collect();
    let all: BTreeMap<&str, _> = left.categories.iter().map(|it| (&*it.name, it)).collect();
    let of_pools = lines.pools().iter().map(|line| {
        let pool = pools.get(&line.pool);
        let pool = pool.ok_or_else(|| Refusal::ZoneNotFound { pool: line.pool.clone() })?;
        Ok(when.of(pool.price_minor, pool.first_minor))
    });
    let of_seats = lines.seats().iter().zip(categories).map(|(seat, name)| {
        let category = all.get(name.as_ref());
        let category = category.ok_or_else(|| Refusal::SeatNotFound { seat: seat.clone() })?;
        Ok(when.of(category.price_minor, category.first_minor))
    });
    of_pools.chain(of_seats).collect()
}

/// Every line with what it costs, at these prices of one unit each or those of its types, the fees
/// last if there are any. Lines add up to the whole, and so do their taxes.
#[must_use]
pub fn costs<'a>(
    settings: &Settings,
    lines: &'a Lines,
    types: Option<&'a HeldTypes>,
    prices_minor: &[i64],
    fee_minor: i64,
) -> Vec<Cost<'a>> {
    let untaxed = |gross_minor| Taxed { gross_minor, net_minor: gross_minor, tax_minor: 0 };
    let of_units = parts(lines, types).map(|part| {
        let nth = part.line as usize;
        let units = CostOfUnits {
            pool: lines.pools().get(nth).map(|line| &line.pool),
            seat: lines.seats().get(nth.wrapping_sub(lines.pools().len())),
            held: part.held,
            quantity: part.quantity,
            price_minor: part.held.map_or(prices_minor[nth], |held| held.price_minor),
        };
        let taxed = untaxed(units.price_minor * i64::from(units.quantity));
        Cost { units: Some(units), taxed }
    });
    let of_fees = (fee_minor > 0).then(|| Cost { units: None, taxed: untaxed(fee_minor) });
    let mut costs: Vec<Cost<'a>> = of_units.chain(of_fees).collect();
    if let Some(tax) = &settings.tax {
        let gross_minor: Vec<i64> = costs.iter().map(|cost| cost.taxed.gross_minor).collect();
        let split = tax.split_all(gross_minor, settings.currency);
        costs.iter_mut().zip(split).for_each(|(cost, taxed)| cost.taxed = taxed);
    }
    costs
}
