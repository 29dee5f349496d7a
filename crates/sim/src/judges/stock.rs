//! Conservation of stock and one owner a seat, from the changes alone.

use super::aside::Aside;
use crate::asked::{Asked, Deal};
use crate::judge::{Judge, Verdict};
use onrush_core::Change;
use onrush_core::change::{BookingChange, ClaimChange, HoldChange, SetupChange};
use onrush_core::hold::HoldTerms;
use onrush_core::ids::{BookingId, ClaimId, PoolId, SeatId};
use onrush_core::lines::Lines;
use std::collections::BTreeMap;
use std::sync::Arc;

#[derive(Debug, Default)]
struct Count {
    capacity: i64,
    taken: i64,
}

/// Who has a seat.
#[derive(Debug, PartialEq)]
enum Has {
    Nobody,
    Organiser,
    Booking(BookingId),
}

/// Adds up who took what.
#[derive(Debug, Default)]
pub(super) struct StockJudge {
    pools: BTreeMap<PoolId, Count>,
    seats: BTreeMap<SeatId, Has>,
    /// Bookings whose units are taken (`true`), and those that ended with a payment under way.
    bookings: BTreeMap<BookingId, (Arc<HoldTerms>, bool)>,
    aside: Aside,
    claims: BTreeMap<ClaimId, (PoolId, i64)>,
}

impl StockJudge {
    fn add(&mut self, pool: &PoolId, more: i64) -> Verdict {
        let count = self.pools.get_mut(pool).ok_or(format!("there is no pool {pool}"))?;
        count.taken += more;
        if count.taken < 0 {
            return Err(format!("pool {pool} gave back more than was taken from it"));
        }
        if count.taken > count.capacity {
            let Count { capacity, taken } = count;
            return Err(format!("pool {pool} has {capacity} units, and {taken} are taken"));
        }
        Ok(())
    }

    fn turn(&mut self, seat: &SeatId, from: &Has, to: Has) -> Verdict {
        let has = self.seats.get_mut(seat).ok_or(format!("there is no seat {seat}"))?;
        if has != from {
            return Err(format!("seat {seat} goes from {from:?} to {to:?}, and is of {has:?}"));
        }
        *has = to;
        Ok(())
    }

    fn block(&mut self, lines: &Lines, block: bool) -> Verdict {
        for line in lines.pools() {
            let units = i64::from(line.quantity);
            self.add(&line.pool, if block { units } else { -units })?;
        }
        for seat in lines.seats() {
            if block {
                self.turn(seat, &Has::Nobody, Has::Organiser)?;
            } else {
                self.turn(seat, &Has::Organiser, Has::Nobody)?;
            }
        }
        Ok(())
    }

    /// Takes a booking's units, for money that came late or for a hold, or gives them back.
    fn book(&mut self, id: &BookingId, take: bool, is_late: bool) -> Verdict {
        let found = self.bookings.get_mut(id).ok_or(format!("there is no booking {id}"))?;
        if found.1 == take {
            return Err(format!("booking {id} takes or gives back its units twice"));
        }
        found.1 = take;
        let terms = Arc::clone(&found.0);
        let _everybodys = match (take, is_late) {
            (true, false) => self.aside.take(&terms)?,
            (true, true) => self.aside.take_again(&terms),
            (false, _) => self.aside.give_back(&terms),
        };
        for line in terms.lines.pools() {
            let units = i64::from(line.quantity);
            self.add(&line.pool, if take { units } else { -units })?;
        }
        self.check_room(&terms.lines)?;
        if let Some(seat) = terms.lines.seats().iter().find(|seat| take && self.aside.has(seat)) {
            return Err(format!("seat {seat} goes to {id}, and is set aside"));
        }
        for seat in terms.lines.seats() {
            let own = Has::Booking(id.clone());
            if take {
                self.turn(seat, &Has::Nobody, own)?;
            } else {
                self.turn(seat, &own, Has::Nobody)?;
            }
        }
        Ok(())
    }

    fn is_nobodys(&self, seat: &SeatId) -> bool {
        self.seats.get(seat) == Some(&Has::Nobody)
    }

    /// What is taken and what is set aside is no more than there is.
    fn check_room(&self, lines: &Lines) -> Verdict {
        for line in lines.pools() {
            let Some(Count { capacity, taken }) = self.pools.get(&line.pool) else { continue };
            let aside = self.aside.of_pool(&line.pool);
            if aside > 0 && taken + aside > *capacity {
                return Err(format!("pool {}: {taken} taken, {aside} set aside", line.pool));
            }
        }
        Ok(())
    }

    fn setup(&mut self, change: &SetupChange) -> Verdict {
        match change {
            SetupChange::EventCreated { .. }
            | SetupChange::SettingsChanged { .. }
            | SetupChange::ChannelSet { .. }
            | SetupChange::TypesSet { .. }
            | SetupChange::PriceChanged { .. } => Ok(()),
            SetupChange::UnitsAllotted { lines, from, to, .. } => {
                if let Some(seat) = lines.seats().iter().find(|seat| !self.is_nobodys(seat)) {
                    return Err(format!("seat {seat} is moved to {to:?}, and is not free"));
                }
                self.aside.allot(lines, from.as_ref(), to.as_ref())?;
                self.check_room(lines)
            }
            SetupChange::ChannelReleased { channel, into, .. } => {
                self.aside.release(channel, into.as_ref());
                Ok(())
            }
            SetupChange::PoolAdded { spec } => {
                let count = Count { capacity: i64::from(spec.capacity), taken: 0 };
                match self.pools.insert(spec.pool.clone(), count) {
                    None => Ok(()),
                    Some(_) => Err(format!("pool {} is added twice", spec.pool)),
                }
            }
            SetupChange::CapacityAdjusted { pool, after, .. } => {
                let count = self.pools.get_mut(pool).ok_or(format!("there is no pool {pool}"))?;
                count.capacity = i64::from(*after);
                self.add(pool, 0)
            }
            SetupChange::SeatsAdded { seats, .. } => {
                for seat in seats {
                    if self.seats.insert(seat.seat.clone(), Has::Nobody).is_some() {
                        return Err(format!("seat {} is added twice", seat.seat));
                    }
                }
                Ok(())
            }
            SetupChange::UnitsBlocked { lines, .. } => self.block(lines, true),
            SetupChange::UnitsUnblocked { lines, .. } => self.block(lines, false),
        }
    }

    fn hold(&mut self, change: &HoldChange) -> Verdict {
        match change {
            HoldChange::HoldPlaced { terms, .. } => {
                let booking = (Arc::clone(terms), false);
                if self.bookings.insert(terms.booking.clone(), booking).is_some() {
                    return Err(format!("booking {} is held twice", terms.booking));
                }
                self.book(&terms.booking, true, false)
            }
            HoldChange::HoldExtended { .. } => Ok(()),
            HoldChange::HoldReleased { booking } | HoldChange::HoldExpired { booking } => {
                self.book(booking, false, false)
            }
            HoldChange::HoldForgotten { booking } => match self.bookings.remove(booking) {
                Some((_, false)) => Ok(()),
                Some((_, true)) => Err(format!("booking {booking} is forgotten with its units")),
                None => Err(format!("booking {booking} is forgotten and was never known")),
            },
        }
    }

    fn claim(&mut self, change: &ClaimChange) -> Verdict {
        match change {
            ClaimChange::Claimed { claim, pool, quantity, .. } => {
                let units = i64::from(*quantity);
                if self.claims.insert(claim.clone(), (pool.clone(), units)).is_some() {
                    return Err(format!("claim {claim} is taken twice"));
                }
                self.add(pool, units)
            }
            ClaimChange::Declaimed { claim, .. } => match self.claims.remove(claim) {
                Some((pool, units)) => self.add(&pool, -units),
                None => Err(format!("claim {claim} is given back, and nobody has it")),
            },
            ClaimChange::ClaimedAdjusted { pool, amount, .. } => self.add(pool, *amount),
            ClaimChange::ClaimForgotten { claim } => match self.claims.get(claim) {
                None => Ok(()),
                Some(_) => Err(format!("claim {claim} is forgotten with its units")),
            },
        }
    }
}

impl Judge for StockJudge {
    fn name(&self) -> &'static str {
        "stock"
    }

    fn committed(&mut self, asked: &Asked) -> Verdict {
        let Deal::Command { changes, .. } = &asked.deal else { return Ok(()) };
        for change in changes {
            match change {
                Change::Setup(change) => self.setup(change)?,
                Change::Hold(change) => self.hold(change)?,
                Change::Claim(change) => self.claim(change)?,
                Change::Booking(change) => match change {
                    BookingChange::HoldConfirmedLate { booking, .. } => {
                        self.book(booking, true, true)?
                    }
                    BookingChange::ConfirmedCancelled { booking, .. } => {
                        self.book(booking, false, false)?;
                    }
                    BookingChange::PayerNamed { .. }
                    | BookingChange::PaymentBegun { .. }
                    | BookingChange::PaymentFailed { .. }
                    | BookingChange::LatePaymentFailed { .. }
                    | BookingChange::HoldConfirmed { .. }
                    | BookingChange::CheckedIn { .. } => {}
                },
                Change::Sale(_) | Change::Queue(_) | Change::Visitor(_) => {}
            }
        }
        Ok(())
    }
}
