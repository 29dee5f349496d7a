//! The judge of prices: every booking costs what its units cost by the prices and ticket types there
//! were when it was held, with fees.

use super::super::world::World;
use onrush_core::Change;
use onrush_core::Time;
use onrush_core::change::{HoldChange, SetupChange};
use onrush_core::hold::HoldTerms;
use onrush_core::ids::EventId;
use onrush_core::prices::{PriceStep, Priced};
use onrush_core::types::{TicketType, TypePrice};
use onrush_store::FeedEntry;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What one event's pools and categories cost, and as which types.
#[derive(Default)]
struct Tariff {
    types: BTreeMap<Priced, Vec<TicketType>>,
    /// Prices as they were set last, and what they become later.
    prices: BTreeMap<Priced, (i64, Vec<PriceStep>)>,
}

impl Tariff {
    /// The price of one unit without a type at this time. Pool and seats cost the same at first.
    fn price_minor(&self, of: &Priced, at: Time, first_minor: i64) -> i64 {
        let Some((set_minor, later)) = self.prices.get(of) else { return first_minor };
        let due = later.iter().filter(|step| step.from <= at).max_by_key(|step| step.from);
        due.map_or(*set_minor, |step| step.price_minor)
    }
}

pub(super) fn judge(world: &World, entries: &[Arc<FeedEntry>], violations: &mut Vec<String>) {
    let mut all = BTreeMap::<EventId, Tariff>::new();
    for entry in entries {
        for change in &entry.changes {
            if let Change::Setup(SetupChange::TypesSet { of, types, .. }) = change {
                let known = all.entry(entry.event.clone()).or_default();
                known.types.insert(of.clone(), types.clone());
            }
            if let Change::Setup(SetupChange::PriceChanged { of, price_minor, later, .. }) = change
            {
                let known = all.entry(entry.event.clone()).or_default();
                known.prices.insert(of.clone(), (*price_minor, later.clone()));
            }
            if let Change::Hold(HoldChange::HoldPlaced { terms, .. }) = change {
                let known = all.entry(entry.event.clone()).or_default();
                if let Err(why) = check(world, terms, known, entry.at) {
                    violations
                        .push(format!("{} costs {}: {why}", terms.booking, terms.amount_minor));
                }
            }
        }
    }
}

fn check(world: &World, terms: &HoldTerms, tariff: &Tariff, at: Time) -> Result<(), String> {
    let lines = &terms.lines;
    let pools = lines.pools().iter();
    let pools = pools.map(|line| (Priced::Pool(line.pool.clone()), line.quantity));
    let seats = lines.seats().iter().map(|_| (Priced::Category("stalls".into()), 1));
    let mut price_minor = 0;
    for (nth, (of, units)) in pools.chain(seats).enumerate() {
        let base_minor = tariff.price_minor(&of, at, world.price_minor);
        let told_minor = terms.prices_minor.get(nth).copied().unwrap_or(world.price_minor);
        if told_minor != base_minor {
            return Err(format!("{of} costs {base_minor} at {}, not {told_minor}", at.0));
        }
        let known = tariff.types.get(&of).map_or(&[][..], Vec::as_slice);
        let mut untyped = units;
        for held in terms.types.iter().flat_map(|types| &types.held) {
            for (_, quantity) in held.units.iter().filter(|(line, _)| *line as usize == nth) {
                let it = known.iter().find(|it| it.id == held.id);
                let it = it.ok_or_else(|| format!("{of} has no type {}", held.id))?;
                let one_minor = match it.price {
                    TypePrice::PriceMinor(minor) => minor,
                    TypePrice::PercentBp(bp) => nearest(base_minor, bp),
                    TypePrice::LessMinor(less_minor) => (base_minor - less_minor).max(0),
                };
                if one_minor != held.price_minor {
                    return Err(format!("one as {} costs {one_minor}, not {held:?}", held.id));
                }
                price_minor += one_minor * i64::from(*quantity);
                untyped -= quantity;
            }
        }
        if untyped > 0 && !known.is_empty() {
            return Err(format!("{untyped} units of {of} have no type"));
        }
        price_minor += base_minor * i64::from(untyped);
    }
    let fees = world.settings.fees;
    let fee_minor = fees.fixed_minor + nearest(price_minor, fees.percent_bp);
    if terms.amount_minor != price_minor + fee_minor {
        return Err(format!("its units cost {price_minor}, and fees are {fee_minor}"));
    }
    Ok(())
}

/// A share of an amount in basis points; half a minor unit counts as one.
fn nearest(amount_minor: i64, bp: u32) -> i64 {
    (amount_minor * i64::from(bp) + 5_000) / 10_000
}
