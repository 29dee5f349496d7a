//! What lines cost: each at its price, the fees, and the tax in them.

use crate::http::problem::Problem;
use crate::http::shapes::types::TypeOfUnit;
use crate::http::state::{Sale, Units};
use crate::json::ids::IdText;
use onrush_core::Refusal;
use onrush_core::costs::{self, Cost, When, unit_prices};
use onrush_core::ids::{EventId, PoolId, SeatId};
use onrush_core::lines::Lines;
use onrush_core::prices::Priced;
use onrush_core::settings::Settings;
use onrush_core::tax::Taxed;
use onrush_core::types::count_types;
use onrush_core::types::{AskedTypes, HeldType, HeldTypes, TypeCounts, TypeView};
use onrush_store::Failure;
use serde::Serialize;
use std::collections::HashMap;
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
    let left = &sale.looks.left(event).await?.value.stock;
    let each_minor = unit_prices(lines, &categories, left, when).map_err(Failure::from)?;
    let mut types = TypesOfLines::default();
    let pools: HashMap<_, _> = left.pools.iter().map(|pool| (&pool.pool, pool)).collect();
    for line in lines.pools() {
        let pool = pools.get(&line.pool).expect("a pool that has a price is there");
        let named = asked.pools().get(&line.pool);
        let missing = || Priced::Pool(line.pool.clone());
        types.add(&pool.types, named, line.quantity, missing)?;
    }
    for (name, seat) in categories.iter().zip(lines.seats()) {
        let category = left.categories.iter().find(|category| *category.name == **name);
        let category = category.expect("a category that has a seat is there for good");
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

/// Every line with what it costs, the fees last, as answers tell them: see [`costs::costs`].
pub fn cost_lines<'a>(
    settings: &Settings,
    lines: &'a Lines,
    types: Option<&'a HeldTypes>,
    prices_minor: &[i64],
    fee_minor: i64,
) -> Vec<CostLine<'a>> {
    let costs = costs::costs(settings, lines, types, prices_minor, fee_minor);
    costs.into_iter().map(CostLine::from).collect()
}

impl<'a> From<Cost<'a>> for CostLine<'a> {
    fn from(Cost { units, taxed }: Cost<'a>) -> Self {
        let Taxed { gross_minor, net_minor, tax_minor } = taxed;
        Self {
            pool: units.and_then(|units| units.pool),
            seat: units.and_then(|units| units.seat),
            of_type: units.and_then(|units| units.held).map(Into::into),
            quantity: units.map(|units| units.quantity),
            price_minor: units.map(|units| units.price_minor),
            amount_minor: gross_minor,
            net_minor,
            tax_minor,
        }
    }
}
