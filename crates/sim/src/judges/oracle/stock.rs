//! What is on sale: who has which units.

use super::books::{Owner, Pool, Seat};
use super::settings::step;
use super::{Answer, Oracle};
use onrush_core::Refusal;
use onrush_core::hold::HoldTerms;
use onrush_core::ids::{BookingId, PoolId, SeatId};
use onrush_core::lines::Lines;
use onrush_core::types::HeldTypes;

/// What becomes of a booking's units.
#[derive(Clone, Copy)]
pub(super) enum Move {
    FreeToHeld,
    HeldToFree,
    HeldToSold,
    FreeToSold,
    SoldToFree,
}

impl Oracle {
    pub(super) fn pool(&self, id: &PoolId) -> Option<&Pool> {
        self.pools.iter().find(|pool| pool.spec.pool == *id)
    }

    pub(super) fn pool_mut(&mut self, id: &PoolId) -> &mut Pool {
        let found = self.pools.iter_mut().find(|pool| pool.spec.pool == *id);
        found.expect("the pool was looked up before")
    }

    pub(super) fn seat(&self, id: &SeatId) -> Option<&Seat> {
        self.seats.iter().find(|seat| seat.spec.seat == *id)
    }

    pub(super) fn seat_mut(&mut self, id: &SeatId) -> &mut Seat {
        let found = self.seats.iter_mut().find(|seat| seat.spec.seat == *id);
        found.expect("the seat was looked up before")
    }

    pub(super) fn all_exist(&self, lines: &Lines) -> Result<(), Refusal> {
        if let Some(line) = lines.pools().iter().find(|line| self.pool(&line.pool).is_none()) {
            return Err(Refusal::ZoneNotFound { pool: line.pool.clone() });
        }
        match lines.seats().iter().find(|seat| self.seat(seat).is_none()) {
            Some(seat) => Err(Refusal::SeatNotFound { seat: seat.clone() }),
            None => Ok(()),
        }
    }

    pub(super) fn all_free(&self, lines: &Lines) -> Result<(), Refusal> {
        for line in lines.pools() {
            let free = self.pool(&line.pool).map_or(0, Pool::free);
            if line.quantity > free {
                return Err(Refusal::InsufficientStock { pool: line.pool.clone(), free });
            }
        }
        let mut taken = Vec::new();
        for seat in lines.seats() {
            if self.seat(seat).is_none_or(|seat| seat.owner != Owner::Nobody) {
                taken.push(seat.clone());
            }
        }
        if taken.is_empty() { Ok(()) } else { Err(Refusal::SeatUnavailable { seats: taken }) }
    }

    /// What these lines cost now: the amount, and what of it is fees.
    pub(super) fn cost(&self, lines: &Lines, types: Option<&HeldTypes>) -> (i64, i64) {
        let price = self.price_of_all(lines, types);
        if price == 0 {
            return (0, 0);
        }
        // The share in whole steps; half a step counts as one.
        let settings = self.settings();
        let step = i128::from(step(settings));
        let exact = i128::from(price) * i128::from(settings.fees.percent_bp);
        let steps = (2 * exact + 10_000 * step) / (2 * 10_000 * step);
        let fee = settings.fees.fixed_minor + i64::try_from(steps * step).unwrap_or(i64::MAX);
        (price + fee, fee)
    }

    pub(super) fn move_units(&mut self, terms: &HoldTerms, how: Move) {
        for line in terms.lines.pools() {
            let pool = self.pool_mut(&line.pool);
            let n = line.quantity;
            match how {
                Move::FreeToHeld => pool.held += n,
                Move::HeldToFree => pool.held -= n,
                Move::HeldToSold => {
                    pool.held -= n;
                    pool.confirmed += n;
                }
                Move::FreeToSold => pool.confirmed += n,
                Move::SoldToFree => pool.confirmed -= n,
            }
        }
        for seat in terms.lines.seats() {
            self.seat_mut(seat).owner = owner(&terms.booking, how);
        }
    }

    /// What is said of a user who would have too much.
    pub(super) fn within_limit(
        &self,
        user: &onrush_core::ids::UserId,
        more: u32,
    ) -> Result<(), Refusal> {
        let held = self.units_of(user);
        match self.settings().max_per_user {
            Some(limit) if u64::from(held) + u64::from(more) > u64::from(limit) => {
                Err(Refusal::UserLimitExceeded { limit, held, of: None, ticket_type: None })
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Nothing to add.
    pub(super) fn done() -> Answer {
        Ok(onrush_core::Reply::Done)
    }
}

fn owner(booking: &BookingId, how: Move) -> Owner {
    match how {
        Move::FreeToHeld => Owner::Held(booking.clone()),
        Move::HeldToFree | Move::SoldToFree => Owner::Nobody,
        Move::HeldToSold | Move::FreeToSold => Owner::Sold(booking.clone()),
    }
}
