//! What lines cost: each at its price, the fees, and the tax in them.

use crate::http::problem::Problem;
use crate::http::state::{Sale, Units};
use crate::json::ids::IdText;
use onrush_core::Refusal;
use onrush_core::ids::{EventId, PoolId, SeatId};
use onrush_core::lines::Lines;
use onrush_core::question::AvailabilityNow;
use onrush_core::settings::Settings;
use onrush_core::tax::Taxed;
use onrush_store::{Ask, Failure};
use serde::Serialize;
use utoipa::ToSchema;

/// A part of what is paid: a pool's units, a seat, or the fees.
#[derive(Serialize, ToSchema)]
#[schema(as = CostLine)]
pub struct CostLine<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<IdText>, nullable = false)]
    pool: Option<&'a PoolId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<IdText>, nullable = false)]
    seat: Option<&'a SeatId>,
    /// Units; missing in the line of the fees.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    quantity: Option<u32>,
    /// What all of the line costs, in minor units: `net_minor` and `tax_minor` together.
    pub(super) amount_minor: i64,
    /// The line without its tax.
    net_minor: i64,
    /// The tax in it; 0 where the event tells of none.
    tax_minor: i64,
}

/// Which of the prices that a unit has had.
#[derive(Clone, Copy)]
pub enum When {
    /// The one that it had first.
    First,
    /// The one that it has now.
    Now,
}

impl When {
    fn of(self, now_minor: i64, first_minor: Option<i64>) -> i64 {
        match self {
            Self::First => first_minor.unwrap_or(now_minor),
            Self::Now => now_minor,
        }
    }
}

/// What one unit of each line costs, pools' and then seats'.
///
/// # Errors
/// `EVENT_NOT_FOUND`, `ZONE_NOT_FOUND`, `SEAT_NOT_FOUND`, or the engine's.
pub async fn prices(
    sale: &Sale,
    units: &Units,
    event: &EventId,
    lines: &Lines,
    when: When,
) -> Result<Vec<i64>, Problem> {
    let categories = units.boards.categories(event, lines.seats()).await?;
    let left = sale.engine.ask(event.clone(), AvailabilityNow).await?.value;
    let mut prices_minor = Vec::with_capacity(lines.pools().len() + categories.len());
    for line in lines.pools() {
        let Some(pool) = left.pools.iter().find(|pool| pool.pool == line.pool) else {
            let refusal = Refusal::ZoneNotFound { pool: line.pool.clone() };
            return Err(Failure::from(refusal).into());
        };
        prices_minor.push(when.of(pool.price_minor, pool.first_minor));
    }
    for name in categories {
        let category = left.categories.iter().find(|category| *category.name == *name);
        let category = category.expect("a category that has a seat is there for good");
        prices_minor.push(when.of(category.price_minor, category.first_minor));
    }
    Ok(prices_minor)
}

/// Every line with what it costs, at these prices of one unit each, the fees last, and with the tax in
/// each where the event tells of one.
pub fn costs<'a>(
    settings: &Settings,
    lines: &'a Lines,
    prices_minor: &[i64],
    fee_minor: i64,
) -> Vec<CostLine<'a>> {
    let line = |amount_minor| CostLine {
        pool: None,
        seat: None,
        quantity: None,
        amount_minor,
        net_minor: amount_minor,
        tax_minor: 0,
    };
    let mut prices_minor = prices_minor.iter();
    let of_pools = lines.pools().iter().zip(&mut prices_minor).map(|(wanted, price_minor)| {
        let of_all = line(price_minor * i64::from(wanted.quantity));
        CostLine { pool: Some(&wanted.pool), quantity: Some(wanted.quantity), ..of_all }
    });
    let of_pools: Vec<_> = of_pools.collect();
    let seats = lines.seats().iter().zip(prices_minor);
    let of_seats = seats.map(|(seat, price_minor)| CostLine {
        seat: Some(seat),
        quantity: Some(1),
        ..line(*price_minor)
    });
    let of_fees = (fee_minor > 0).then(|| line(fee_minor));
    split(settings, of_pools.into_iter().chain(of_seats).chain(of_fees).collect())
}

/// The same with the tax in each, where the event tells of one.
fn split<'a>(settings: &Settings, mut lines: Vec<CostLine<'a>>) -> Vec<CostLine<'a>> {
    let Some(tax) = &settings.tax else { return lines };
    let gross_minor: Vec<i64> = lines.iter().map(|line| line.amount_minor).collect();
    let parts = tax.split_all(gross_minor, settings.currency);
    for (line, Taxed { gross_minor: _, net_minor, tax_minor }) in lines.iter_mut().zip(parts) {
        (line.net_minor, line.tax_minor) = (net_minor, tax_minor);
    }
    lines
}
