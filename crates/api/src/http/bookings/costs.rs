//! What lines cost: each at its price, the fees, and the tax in them.

use crate::http::problem::Problem;
use crate::http::shapes::types::TypeOfUnit;
use crate::http::state::{Sale, Units};
use crate::json::ids::IdText;
use onrush_core::Refusal;
use onrush_core::ids::{EventId, PoolId, SeatId};
use onrush_core::lines::Lines;
use onrush_core::prices::Priced;
use onrush_core::question::AvailabilityNow;
use onrush_core::settings::Settings;
use onrush_core::tax::Taxed;
use onrush_core::types::{AskedTypes, HeldType, HeldTypes, TypeCounts, TypeView};
use onrush_core::types::{count_types, parts};
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
    /// Their ticket type, if they have one; units of several types have a line each.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    of_type: Option<TypeOfUnit>,
    /// Units; missing in the line of the fees.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    quantity: Option<u32>,
    /// What one of them costs; missing in the line of the fees.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    price_minor: Option<i64>,
    /// What all of the line costs, in minor units: `net_minor` and `tax_minor` together.
    pub(super) amount_minor: i64,
    /// The line without its tax.
    net_minor: i64,
    /// The tax in it; 0 where the event tells of none.
    tax_minor: i64,
}

/// What the units of some lines cost.
pub struct UnitPrices {
    /// One unit of each line, pools' and then seats'.
    pub each_minor: Vec<i64>,
    /// The types that these units have at the prices of now, if any has one.
    pub types: Option<HeldTypes>,
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

/// What one unit of each line costs, and of which types they are if these are named.
///
/// # Errors
/// `EVENT_NOT_FOUND`, `ZONE_NOT_FOUND`, `SEAT_NOT_FOUND`, `TYPE_NOT_FOUND`, or the engine's.
pub async fn prices(
    sale: &Sale,
    units: &Units,
    event: &EventId,
    lines: &Lines,
    asked: &AskedTypes,
    when: When,
) -> Result<UnitPrices, Problem> {
    let categories = units.boards.categories(event, lines.seats()).await?;
    let left = sale.engine.ask(event.clone(), AvailabilityNow).await?.value;
    let mut each_minor = Vec::with_capacity(lines.pools().len() + categories.len());
    let mut types = TypesOfLines::default();
    for line in lines.pools() {
        let Some(pool) = left.pools.iter().find(|pool| pool.pool == line.pool) else {
            let refusal = Refusal::ZoneNotFound { pool: line.pool.clone() };
            return Err(Failure::from(refusal).into());
        };
        each_minor.push(when.of(pool.price_minor, pool.first_minor));
        let named = asked.pools().get(&line.pool);
        let missing = || Priced::Pool(line.pool.clone());
        types.add(&pool.types, named, line.quantity, missing)?;
    }
    for (name, seat) in categories.iter().zip(lines.seats()) {
        let category = left.categories.iter().find(|category| *category.name == **name);
        let category = category.expect("a category that has a seat is there for good");
        each_minor.push(when.of(category.price_minor, category.first_minor));
        let named = asked.seats().get(seat).map(|id| TypeCounts::from([(id.clone(), 1)]));
        let missing = || Priced::Category(category.name.clone());
        types.add(&category.types, named.as_ref(), 1, missing)?;
    }
    let held = types.held;
    let types = (!held.is_empty()).then(|| HeldTypes { asked: asked.clone(), held });
    Ok(UnitPrices { each_minor, types })
}

/// The types of lines, one after the other.
#[derive(Default)]
struct TypesOfLines {
    held: Vec<HeldType>,
    lines: u32,
}

impl TypesOfLines {
    fn add(
        &mut self,
        types: &[TypeView],
        named: Option<&TypeCounts>,
        quantity: u32,
        of: impl FnOnce() -> Priced,
    ) -> Result<(), Problem> {
        let counts = count_types(types, named, quantity).map_err(|ticket_type| {
            Problem::from(Refusal::TypeNotFound { ticket_type, of: of() })
        })?;
        for (TypeView { ticket_type, price_minor }, quantity) in counts {
            self.held.push(HeldType {
                id: ticket_type.id.clone(),
                name: ticket_type.name.clone(),
                proof: ticket_type.proof,
                price_minor: *price_minor,
                units: vec![(self.lines, quantity)],
            });
        }
        self.lines += 1;
        Ok(())
    }
}

/// Every line with what it costs, at these prices of one unit each or those of its types, the fees last,
/// and with the tax in each where the event tells of one.
pub fn costs<'a>(
    settings: &Settings,
    lines: &'a Lines,
    types: Option<&HeldTypes>,
    prices_minor: &[i64],
    fee_minor: i64,
) -> Vec<CostLine<'a>> {
    let line = |amount_minor| CostLine {
        pool: None,
        seat: None,
        of_type: None,
        quantity: None,
        price_minor: None,
        amount_minor,
        net_minor: amount_minor,
        tax_minor: 0,
    };
    let of_units = parts(lines, types).map(|part| {
        let nth = part.line as usize;
        let price_minor = part.held.map_or(prices_minor[nth], |held| held.price_minor);
        let of_all = line(price_minor * i64::from(part.quantity));
        let pool = lines.pools().get(nth).map(|line| &line.pool);
        CostLine {
            pool,
            seat: lines.seats().get(nth.wrapping_sub(lines.pools().len())),
            of_type: part.held.map(Into::into),
            quantity: Some(part.quantity),
            price_minor: Some(price_minor),
            ..of_all
        }
    });
    let of_fees = (fee_minor > 0).then(|| line(fee_minor));
    split(settings, of_units.chain(of_fees).collect())
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
