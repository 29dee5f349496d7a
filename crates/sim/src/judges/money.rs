//! Money to the cent: what bookings cost, what was confirmed, what goes back. One book is kept from
//! the answers to buyers, the other from the changes, and both must agree.

use crate::asked::{Asked, Deal};
use crate::judge::{Judge, Verdict};
use onrush_core::change::{BookingChange, HoldChange, SetupChange};
use onrush_core::hold::{HoldState, HoldTerms};
use onrush_core::ids::{BookingId, SeatId};
use onrush_core::lines::Lines;
use onrush_core::prices::{PriceStep, Priced};
use onrush_core::settings::Fees;
use onrush_core::types::{HeldType, TicketType, TypePrice};
use onrush_core::view::Reply;
use onrush_core::{Change, Time};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What one booking came to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Account {
    paid_minor: i64,
    refunded_minor: i64,
    is_confirmed: bool,
}

/// Keeps both books.
#[derive(Debug, Default)]
pub(super) struct MoneyJudge {
    fees: Fees,
    step_minor: i64,
    /// What each thing costs by the last change, and later.
    prices: BTreeMap<Priced, (i64, Vec<PriceStep>)>,
    /// What units of each thing are bought as, if they have types.
    types: BTreeMap<Priced, Vec<TicketType>>,
    seats: BTreeMap<SeatId, Priced>,
    terms: BTreeMap<BookingId, Arc<HoldTerms>>,
    accounts: BTreeMap<BookingId, Account>,
    /// Confirmed less refunded, by the changes.
    total_minor: i128,
    /// The same, by the answers.
    told_minor: i128,
    told: BTreeMap<BookingId, Account>,
}

impl MoneyJudge {
    fn setup(&mut self, change: &SetupChange) {
        match change {
            SetupChange::EventCreated { settings } | SetupChange::SettingsChanged { settings } => {
                self.fees = settings.fees;
                let coin = if settings.currency.as_str() == "MGA" { 20 } else { 1 };
                self.step_minor = settings.amount_step_minor.max(coin);
            }
            SetupChange::PoolAdded { spec } => {
                let of = Priced::Pool(spec.pool.clone());
                self.prices.insert(of, (spec.price_minor, Vec::new()));
            }
            SetupChange::SeatsAdded { categories, seats } => {
                for category in categories {
                    let of = Priced::Category(category.name.clone());
                    self.prices.insert(of, (category.price_minor, Vec::new()));
                }
                for seat in seats {
                    self.seats.insert(seat.seat.clone(), Priced::Category(seat.category.clone()));
                }
            }
            SetupChange::PriceChanged { of, price_minor, later, .. } => {
                self.prices.insert(of.clone(), (*price_minor, later.clone()));
            }
            SetupChange::TypesSet { of, types, .. } => {
                self.types.insert(of.clone(), types.clone());
            }
            SetupChange::CapacityAdjusted { .. }
            | SetupChange::ChannelSet { .. }
            | SetupChange::UnitsAllotted { .. }
            | SetupChange::ChannelReleased { .. }
            | SetupChange::UnitsBlocked { .. }
            | SetupChange::UnitsUnblocked { .. } => {}
        }
    }

    /// The price of one unit, by the changes so far.
    fn price_of(&self, of: &Priced, at: Time) -> i64 {
        let Some((price_minor, later)) = self.prices.get(of) else { return 0 };
        let due = later.iter().rev().find(|step| step.from <= at);
        due.map_or(*price_minor, |step| step.price_minor)
    }

    /// Each line: of what it has units, what one of them costs whatever its type, and how many it has.
    fn each_line(&self, lines: &Lines, at: Time) -> Vec<(Priced, i64, u32)> {
        let pools = lines.pools().iter();
        let pools = pools.map(|line| (Priced::Pool(line.pool.clone()), line.quantity));
        let seats = lines.seats().iter().map(|seat| (self.seats[seat].clone(), 1));
        let price = |(of, units)| (self.price_of(&of, at), (of, units));
        pools.chain(seats).map(price).map(|(price, (of, units))| (of, price, units)).collect()
    }

    /// Whether this is what a unit costs that is bought as this, where one without types costs so much.
    fn is_price_of(&self, held: &HeldType, of: &Priced, base_minor: i64) -> bool {
        let mut types = self.types.get(of).into_iter().flatten();
        let Some(known) = types.find(|known| known.id == held.id) else { return false };
        let price = held.price_minor;
        match known.price {
            TypePrice::PriceMinor(fixed_minor) => price == fixed_minor,
            TypePrice::LessMinor(less_minor) => price == (base_minor - less_minor).max(0),
            TypePrice::PercentBp(bp) => {
                let off = i128::from(price) * 10_000 - i128::from(base_minor) * i128::from(bp);
                off.abs() <= 5_000 * i128::from(self.step_minor) && price % self.step_minor == 0
            }
        }
    }

    /// What all units cost: of a line whose pool or category has types, all have one, at its price.
    fn units_minor(&self, terms: &HoldTerms, each: &[(Priced, i64, u32)]) -> Result<i128, String> {
        let held = terms.types.iter().flat_map(|types| &types.held);
        let mut untyped: Vec<i64> = each.iter().map(|(_, _, units)| i64::from(*units)).collect();
        let mut sum = 0;
        for held in held {
            for (line, quantity) in &held.units {
                let Some((of, base_minor, _)) = each.get(*line as usize) else {
                    return Err(format!("{terms:?}: it has no line {line}"));
                };
                if !self.is_price_of(held, of, *base_minor) {
                    return Err(format!("{terms:?}: {held:?} is not what a unit costs as that"));
                }
                sum += i128::from(held.price_minor) * i128::from(*quantity);
                untyped[*line as usize] -= i64::from(*quantity);
            }
        }
        for ((of, base_minor, units), untyped) in each.iter().zip(untyped) {
            let has_types = self.types.get(of).is_some_and(|types| !types.is_empty());
            if untyped != if has_types { 0 } else { i64::from(*units) } {
                return Err(format!("{terms:?}: {untyped} units of {of} have no type"));
            }
            sum += i128::from(*base_minor) * i128::from(untyped);
        }
        Ok(sum)
    }

    /// The share is within half a step, and everything adds up.
    fn check_price(&self, terms: &HoldTerms) -> Verdict {
        let each = self.each_line(&terms.lines, terms.created_at);
        let told = terms.prices_minor.iter();
        if told.len() != 0 && !told.eq(each.iter().map(|(_, price_minor, _)| price_minor)) {
            return Err(format!("{terms:?}: the lines' prices are {each:?}"));
        }
        let price = self.units_minor(terms, &each)?;
        let fee = i128::from(terms.fee_minor);
        if i128::from(terms.amount_minor) != price + fee {
            return Err(format!("{terms:?}: units of {price} and fees of {fee} are the amount"));
        }
        let share = fee - i128::from(self.fees.fixed_minor);
        let off = share * 10_000 - price * i128::from(self.fees.percent_bp);
        let half_step = 5_000 * i128::from(self.step_minor);
        let free_of_charge = price == 0 && fee == 0;
        if free_of_charge || (price > 0 && off.abs() <= half_step) {
            Ok(())
        } else {
            Err(format!("{terms:?}: the fees are not {:?} of {price}", self.fees))
        }
    }

    fn confirm(&mut self, id: &BookingId) -> Verdict {
        let terms = self.terms.get(id).ok_or(format!("there is no booking {id}"))?;
        let account = self.accounts.entry(id.clone()).or_default();
        if account.is_confirmed {
            return Err(format!("booking {id} is confirmed twice"));
        }
        *account =
            Account { paid_minor: terms.amount_minor, refunded_minor: 0, is_confirmed: true };
        self.total_minor += i128::from(terms.amount_minor);
        Ok(())
    }

    fn refund(&mut self, id: &BookingId, refund_minor: i64) -> Verdict {
        let account = self.accounts.get_mut(id).filter(|account| account.is_confirmed);
        let account = account.ok_or(format!("booking {id} is not confirmed, or refunded twice"))?;
        account.is_confirmed = false;
        account.refunded_minor = refund_minor;
        if !(0..=account.paid_minor).contains(&refund_minor) {
            let paid_minor = account.paid_minor;
            return Err(format!(
                "booking {id} was paid {paid_minor}, and {refund_minor} goes back"
            ));
        }
        self.total_minor -= i128::from(refund_minor);
        Ok(())
    }

    /// What an answer says of a booking's money.
    fn hear(&mut self, reply: &Reply) {
        let Reply::Hold(view) = reply else { return };
        let now = match view.state {
            HoldState::Confirmed { .. } => Account {
                paid_minor: view.terms.amount_minor,
                refunded_minor: 0,
                is_confirmed: true,
            },
            HoldState::Cancelled { refund_minor, .. } => Account {
                paid_minor: view.terms.amount_minor,
                refunded_minor: refund_minor,
                is_confirmed: false,
            },
            HoldState::Held { .. }
            | HoldState::Paying { .. }
            | HoldState::Released { .. }
            | HoldState::Expired { .. } => return,
        };
        let worth = |it: &Account| i128::from(it.paid_minor) - i128::from(it.refunded_minor);
        let before = self.told.insert(view.terms.booking.clone(), now);
        self.told_minor += worth(&now) - before.as_ref().map_or(0, worth);
    }
}

impl Judge for MoneyJudge {
    fn name(&self) -> &'static str {
        "money"
    }

    fn committed(&mut self, asked: &Asked) -> Verdict {
        let Deal::Command { said, changes, .. } = &asked.deal else { return Ok(()) };
        for change in changes {
            match change {
                Change::Setup(change) => self.setup(change),
                Change::Hold(HoldChange::HoldPlaced { terms, .. }) => {
                    self.check_price(terms)?;
                    self.terms.insert(terms.booking.clone(), Arc::clone(terms));
                }
                Change::Hold(HoldChange::HoldForgotten { booking }) => {
                    self.terms.remove(booking);
                    self.accounts.remove(booking);
                    self.told.remove(booking);
                }
                Change::Booking(change) => match change {
                    BookingChange::HoldConfirmed { booking, .. }
                    | BookingChange::HoldConfirmedLate { booking, .. } => self.confirm(booking)?,
                    BookingChange::ConfirmedCancelled { booking, refund_minor, .. } => {
                        self.refund(booking, *refund_minor)?;
                    }
                    BookingChange::PayerNamed { .. }
                    | BookingChange::PaymentBegun { .. }
                    | BookingChange::PaymentFailed { .. }
                    | BookingChange::LatePaymentFailed { .. }
                    | BookingChange::CheckedIn { .. } => {}
                },
                Change::Hold(
                    HoldChange::HoldExtended { .. }
                    | HoldChange::HoldReleased { .. }
                    | HoldChange::HoldExpired { .. },
                )
                | Change::Sale(_)
                | Change::Queue(_)
                | Change::Visitor(_)
                | Change::Claim(_) => {}
            }
        }
        if let Ok(reply) = said {
            self.hear(reply);
        }
        if self.total_minor != self.told_minor {
            let Self { total_minor, told_minor, .. } = self;
            return Err(format!("the changes come to {total_minor}, the answers to {told_minor}"));
        }
        Ok(())
    }
}
