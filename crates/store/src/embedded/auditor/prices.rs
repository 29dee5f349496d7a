//! What holds cost by the changes alone: the prices, ticket types and fees of when each was placed.
//!
//! What the changes do not tell for certain is not judged: things whose price no change names, and
//! events without settings.

use onrush_core::Time;
use onrush_core::change::SetupChange;
use onrush_core::hold::HoldTerms;
use onrush_core::ids::{PoolId, SeatId, TypeId};
use onrush_core::lines::Lines;
use onrush_core::prices::{PriceStep, Priced};
use onrush_core::settings::{Fees, Settings};
use onrush_core::types::{TicketType, TypePrice};
use std::collections::HashMap;
use std::sync::Arc;

/// The prices of one event.
#[derive(Default)]
pub(super) struct Prices {
    pools: HashMap<PoolId, Tariff>,
    categories: HashMap<Arc<str>, Tariff>,
    /// The category of each seat.
    seats: HashMap<SeatId, Arc<str>>,
    rules: Option<MoneyRules>,
}

/// What one unit of a pool or a category costs.
struct Tariff {
    first_minor: i64,
    /// By the last change.
    price_minor: i64,
    later: Vec<PriceStep>,
    types: Vec<TicketType>,
}

/// What settings say of money.
struct MoneyRules {
    fees: Fees,
    step_minor: i64,
    /// Fees may be in single minor units: versions before amount steps rounded them so, also in
    /// currencies whose smallest amount is more.
    may_ignore_steps: bool,
}

impl Prices {
    /// Minds what is set up from now on.
    pub(super) fn note(&mut self, change: &SetupChange) {
        match change {
            SetupChange::EventCreated { settings } | SetupChange::SettingsChanged { settings } => {
                self.rules = Some(MoneyRules::of(settings));
            }
            SetupChange::PoolAdded { spec } => {
                self.pools.insert(spec.pool.clone(), Tariff::new(spec.price_minor));
            }
            SetupChange::SeatsAdded { categories, seats } => {
                for category in categories {
                    let tariff = Tariff::new(category.price_minor);
                    self.categories.insert(Arc::from(&*category.name), tariff);
                }
                for seat in seats {
                    let known = self.categories.get_key_value(&*seat.category);
                    if let Some((category, _)) = known {
                        self.seats.insert(seat.seat.clone(), Arc::clone(category));
                    }
                }
            }
            SetupChange::PriceChanged { of, price_minor, later, before_minor: _, reason: _ } => {
                if let Some(tariff) = self.tariff_mut(of) {
                    tariff.price_minor = *price_minor;
                    tariff.later.clone_from(later);
                }
            }
            SetupChange::TypesSet { of, types, reason: _ } => {
                if let Some(tariff) = self.tariff_mut(of) {
                    tariff.types.clone_from(types);
                }
            }
            SetupChange::CapacityAdjusted { .. }
            | SetupChange::UnitsBlocked { .. }
            | SetupChange::UnitsUnblocked { .. }
            | SetupChange::ChannelSet { .. }
            | SetupChange::UnitsAllotted { .. }
            | SetupChange::ChannelReleased { .. } => {}
        }
    }

    fn tariff_mut(&mut self, of: &Priced) -> Option<&mut Tariff> {
        match of {
            Priced::Category(name) => self.categories.get_mut(&**name),
            Priced::Pool(pool) => self.pools.get_mut(pool),
        }
    }

    /// Whether a hold that is placed now costs what its lines do; if not, what is wrong.
    pub(super) fn check(&self, terms: &HoldTerms) -> Result<(), String> {
        let HoldTerms { booking, amount_minor, fee_minor, .. } = terms;
        let wrong = |why: String| format!("booking {booking} costs {amount_minor}: {why}");
        if !(0..=*amount_minor).contains(fee_minor) {
            return Err(wrong(format!("{fee_minor} of it are fees")));
        }
        let (Some(rules), Some(lines)) = (&self.rules, self.each_line(&terms.lines)) else {
            return Ok(());
        };
        let price_minor = units_minor(terms, &lines, rules.step_minor).map_err(&wrong)?;
        let fee_minor = i128::from(*fee_minor);
        if price_minor + fee_minor != i128::from(*amount_minor) {
            return Err(wrong(format!("its units cost {price_minor}, and fees are {fee_minor}")));
        }
        if rules.is_fee_on(price_minor, fee_minor) {
            return Ok(());
        }
        let due_minor = rules.fee_minor(price_minor, rules.step_minor);
        Err(wrong(format!("its fees are {fee_minor}, and {due_minor} are due on {price_minor}")))
    }

    /// What the units of each line cost, and how many it has, pools' and then seats'; `None` if
    /// that is not known of one.
    fn each_line(&self, lines: &Lines) -> Option<Vec<(&Tariff, u32)>> {
        let pools = lines.pools().iter();
        let pools = pools.map(|line| Some((self.pools.get(&line.pool)?, line.quantity)));
        let seats = lines.seats().iter();
        let seats = seats.map(|seat| Some((self.categories.get(self.seats.get(seat)?)?, 1)));
        pools.chain(seats).collect()
    }
}

/// Whether a cancelled booking's buyer gets back no more than was paid; if not, what is wrong.
///
/// Which share goes back is not judged: an organiser may give any, and changes do not tell whether
/// it was one.
pub(super) fn check_refund(terms: &HoldTerms, refund_minor: i64) -> Result<(), String> {
    let HoldTerms { booking, amount_minor, .. } = terms;
    if (0..=*amount_minor).contains(&refund_minor) {
        return Ok(());
    }
    Err(format!("booking {booking} cost {amount_minor}, and {refund_minor} go back"))
}

/// What all units of a hold cost. Where a line's pool or category has types, each of its units has one
/// and costs what that does; elsewhere none has.
fn units_minor(
    terms: &HoldTerms,
    lines: &[(&Tariff, u32)],
    step_minor: i64,
) -> Result<i128, String> {
    let at = terms.created_at;
    let mut untyped: Vec<i64> = lines.iter().map(|(_, units)| i64::from(*units)).collect();
    let mut sum_minor = 0;
    for held in terms.types.iter().flat_map(|types| &types.held) {
        for (nth, quantity) in &held.units {
            let nth = *nth as usize;
            let Some((tariff, _)) = lines.get(nth) else {
                return Err(format!("it has units of type {} and no line {nth}", held.id));
            };
            let (told_minor, due_minor) =
                (i128::from(held.price_minor), tariff.typed_minor(&held.id, at, step_minor));
            if due_minor != Some(told_minor) {
                let id = &held.id;
                return Err(match due_minor {
                    Some(due_minor) => {
                        format!("a unit of type {id} is {told_minor}, and cost {due_minor} then")
                    }
                    None => format!("there was no type {id} for line {nth}"),
                });
            }
            sum_minor += told_minor * i128::from(*quantity);
            untyped[nth] -= i64::from(*quantity);
        }
    }
    // Prices that are not told are the first ones.
    let told_minor = &terms.prices_minor;
    if !told_minor.is_empty() && told_minor.len() != lines.len() {
        return Err(format!("it has {} prices for {} lines", told_minor.len(), lines.len()));
    }
    for (nth, ((tariff, units), untyped)) in lines.iter().zip(untyped).enumerate() {
        let price_minor = tariff.price_at(at);
        let told_minor = told_minor.get(nth).copied().unwrap_or(tariff.first_minor);
        if told_minor != price_minor {
            return Err(format!(
                "a unit of line {nth} is {told_minor}, and cost {price_minor} then"
            ));
        }
        let expected = if tariff.types.is_empty() { i64::from(*units) } else { 0 };
        if untyped != expected {
            return Err(format!("{untyped} units of line {nth} have no type, not {expected}"));
        }
        sum_minor += i128::from(price_minor) * i128::from(untyped);
    }
    Ok(sum_minor)
}

impl Tariff {
    fn new(price_minor: i64) -> Self {
        Self { first_minor: price_minor, price_minor, later: Vec::new(), types: Vec::new() }
    }

    /// The price of a unit whatever its type. A price to come holds from its time on, whenever a
    /// change tells of it.
    fn price_at(&self, at: Time) -> i64 {
        let due = self.later.iter().rev().find(|step| step.from <= at);
        due.map_or(self.price_minor, |step| step.price_minor)
    }

    /// The price of a unit of a type; `None` if there is no such type.
    fn typed_minor(&self, id: &TypeId, at: Time, step_minor: i64) -> Option<i128> {
        let known = self.types.iter().find(|known| known.id == *id)?;
        let base_minor = i128::from(self.price_at(at));
        Some(match known.price {
            TypePrice::PriceMinor(price_minor) => i128::from(price_minor),
            TypePrice::PercentBp(bp) => share_minor(base_minor, bp, step_minor),
            TypePrice::LessMinor(less_minor) => (base_minor - i128::from(less_minor)).max(0),
        })
    }
}

impl MoneyRules {
    fn of(settings: &Settings) -> Self {
        let own_minor = settings.amount_step_minor;
        Self {
            fees: settings.fees,
            step_minor: settings.currency.step_minor().max(own_minor),
            // No version before amount steps can read settings with one.
            may_ignore_steps: own_minor == 1,
        }
    }

    /// Whether these are the fees on units of this price.
    fn is_fee_on(&self, price_minor: i128, fee_minor: i128) -> bool {
        fee_minor == self.fee_minor(price_minor, self.step_minor)
            || (self.may_ignore_steps && fee_minor == self.fee_minor(price_minor, 1))
    }

    fn fee_minor(&self, price_minor: i128, step_minor: i64) -> i128 {
        if price_minor == 0 {
            return 0;
        }
        let Fees { fixed_minor, percent_bp } = self.fees;
        i128::from(fixed_minor) + share_minor(price_minor, percent_bp, step_minor)
    }
}

/// A share in basis points, in whole steps; half a step counts as one.
fn share_minor(amount_minor: i128, bp: u32, step_minor: i64) -> i128 {
    let step_minor = i128::from(step_minor.max(1));
    let (share, step) = (2 * amount_minor * i128::from(bp), 2 * 10_000 * step_minor);
    (share + step / 2).div_euclid(step) * step_minor
}
