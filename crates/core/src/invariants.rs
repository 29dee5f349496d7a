//! What must always hold, checked by adding everything up again.

use crate::channels::units_of;
use crate::event::Event;
use crate::hold::HoldState;
use crate::ids::{ChannelId, PayerId, PoolId, UserId};
use crate::payers::PayerBy;
use crate::seats::SeatState;
use crate::stock::Totals;
use crate::view::ClaimState;
use std::collections::BTreeMap;

/// Units of a pool, as bookings and claims tell.
#[derive(Default)]
struct PoolTotals {
    held: u64,
    confirmed: u64,
    claimed: u64,
    claimed_by_services: i64,
}

impl Event {
    /// Checks every invariant by adding everything up again; takes time in proportion to the state.
    ///
    /// # Errors
    /// What is broken, one sentence each.
    pub fn check(&self) -> Result<(), Vec<String>> {
        let mut broken = Vec::new();
        self.room.check(&self.users, self.opened, &mut broken);
        self.bookings.check(&self.users, &mut broken);
        self.claims.check(&mut broken);
        self.check_pools(&mut broken);
        self.check_seats(&mut broken);
        self.check_users(&mut broken);
        self.check_payers_of_bookings(&mut broken);
        self.check_channels(&mut broken);
        self.check_types(&mut broken);
        self.prices.check(&mut broken);
        if broken.is_empty() { Ok(()) } else { Err(broken) }
    }

    /// Stock is conserved: what the pools count is what bookings and claims say.
    fn check_pools(&self, broken: &mut Vec<String>) {
        let mut told: BTreeMap<&PoolId, PoolTotals> = BTreeMap::new();
        for (_, hold) in self.bookings.iter() {
            for line in hold.terms.lines.pools() {
                let told = told.entry(&line.pool).or_default();
                match hold.state {
                    HoldState::Held { .. } | HoldState::Paying { .. } => {
                        told.held += u64::from(line.quantity);
                    }
                    HoldState::Confirmed { .. } => told.confirmed += u64::from(line.quantity),
                    HoldState::Released { .. }
                    | HoldState::Expired { .. }
                    | HoldState::Cancelled { .. } => {}
                }
            }
        }
        for claim in self.claims.iter() {
            match claim.state {
                ClaimState::Claimed { .. } => {
                    told.entry(&claim.pool).or_default().claimed += claim.amount.unsigned_abs();
                }
                ClaimState::Adjusted { .. } => {
                    told.entry(&claim.pool).or_default().claimed_by_services += claim.amount;
                }
                ClaimState::Returned { .. } | ClaimState::Expired { .. } => {}
            }
        }
        for pool in self.stock.iter() {
            let id = &pool.spec.pool;
            let told = told.remove(id).unwrap_or_default();
            let mut expect = |ok: bool, what: &str| {
                if !ok {
                    broken.push(format!("pool {id}: {what}"));
                }
            };
            let committed = u64::from(pool.held) + u64::from(pool.sold) + u64::from(pool.blocked);
            expect(
                committed <= u64::from(pool.spec.capacity),
                "more is held, sold and blocked than there is",
            );
            expect(u64::from(pool.held) == told.held, "held units are those of live holds");
            let claimed = told.claimed + u64::from(pool.claimed_by_services);
            expect(u64::from(pool.claimed) == claimed, "claimed units are those of claims");
            expect(
                u64::from(pool.sold) == told.confirmed + claimed,
                "sold units are confirmed or claimed",
            );
            let blocked = pool.blocked_why.values().chain(pool.allotted.values());
            let blocked: u64 = blocked.map(|count| u64::from(*count)).sum();
            expect(
                u64::from(pool.blocked) == blocked,
                "every blocked unit has a reason, or a channel",
            );
        }
        broken.extend(told.keys().map(|pool| format!("pool {pool}: sold, but it does not exist")));
        let (kept, found) = (self.stock.totals(), Totals::of(self.stock.iter()));
        if kept != found {
            broken.push(format!("pools: together they have {found:?}, not {kept:?}"));
        }
    }

    /// A seat has one owner: each seat of a live or confirmed booking says so, and no other seat does.
    fn check_seats(&self, broken: &mut Vec<String>) {
        let mut owned = 0_usize;
        for (idx, hold) in self.bookings.iter() {
            let expected = match hold.state {
                HoldState::Held { .. } | HoldState::Paying { .. } => SeatState::Held(idx),
                HoldState::Confirmed { .. } => SeatState::Sold(idx),
                HoldState::Released { .. }
                | HoldState::Expired { .. }
                | HoldState::Cancelled { .. } => {
                    continue;
                }
            };
            for seat in hold.terms.lines.seats() {
                owned += 1;
                if self.seats.get(seat).is_none_or(|seat| seat.state != expected) {
                    broken.push(format!("seat {seat}: not with booking {}", hold.terms.booking));
                }
            }
        }
        let taken = |state: &SeatState| matches!(state, SeatState::Held(_) | SeatState::Sold(_));
        let claimed = self.seats.iter().filter(|seat| taken(&seat.state)).count();
        if claimed != owned {
            broken.push(format!("seats: {claimed} are taken, bookings have {owned}"));
        }
        let free = self.seats.iter().filter(|seat| seat.state == SeatState::Free).count();
        if self.seats.free() as usize != free {
            broken.push(format!("seats: {free} are on sale, not {}", self.seats.free()));
        }
        if !self.seats.segments_agree() {
            broken.push("seats: the runs of free ones are not those of their states".into());
        }
        for category in self.seats.categories() {
            let mut units = crate::view::Units::default();
            let of_category =
                |seat: &&crate::seats::Seat| seat.spec.category.as_ref() == category.name.as_ref();
            for seat in self.seats.iter().filter(of_category) {
                match seat.state {
                    SeatState::Free => units.free += 1,
                    SeatState::Held(_) => units.held += 1,
                    SeatState::Sold(_) => units.sold += 1,
                    SeatState::Blocked(_) | SeatState::Allotted(_) => units.blocked += 1,
                }
            }
            if units != category.units {
                broken.push(format!(
                    "category {}: its counts are not those of its seats",
                    category.name
                ));
            }
        }
    }

    /// What is taken through a channel is what bookings have of it, and no stock is left in one that was
    /// released.
    fn check_channels(&self, broken: &mut Vec<String>) {
        let mut told: BTreeMap<&ChannelId, u64> = BTreeMap::new();
        for (_, hold) in self.bookings.iter().filter(|(_, hold)| hold.state.has_units()) {
            for (source, units) in hold.terms.sources.iter().zip(units_of(&hold.terms.lines)) {
                if let Some(home) = self.channels.home(source.as_ref()) {
                    *told.entry(home).or_default() += u64::from(units);
                }
            }
        }
        for (number, channel) in (0..).zip(self.channels.iter()) {
            let id = &channel.spec.channel;
            if u64::from(channel.taken) != told.remove(id).unwrap_or(0) {
                broken.push(format!("channel {id}: its count is not that of its bookings"));
            }
            let has_units = self.stock.iter().any(|pool| pool.allotted.contains_key(id))
                || self.seats.iter().any(|seat| seat.state == SeatState::Allotted(number));
            if channel.released.is_some() && has_units {
                broken.push(format!("channel {id}: it was released, and has units"));
            }
            let pools = self.stock.iter().map(|pool| u64::from(pool.free_in(Some(id))));
            let is_its = |seat: &&crate::seats::Seat| seat.state == SeatState::Allotted(number);
            let free = (pools.sum::<u64>(), self.seats.iter().filter(is_its).count());
            if (self.stock.free_in(id), self.seats.free_in(number) as usize) != free {
                broken.push(format!("channel {id}: its free units are not those of its stock"));
            }
            for category in self.seats.categories() {
                let of_category = |seat: &&crate::seats::Seat| {
                    seat.spec.category.as_ref() == category.name.as_ref()
                        && seat.state == SeatState::Allotted(number)
                };
                let seats = self.seats.iter().filter(of_category).count();
                if category.allotted.get(&number).copied().unwrap_or(0) as usize != seats {
                    broken.push(format!("category {}: {seats} seats are in {id}", category.name));
                }
            }
        }
    }

    /// Types are of pools and categories that exist, and those of a booking are of all units of a line or
    /// of none.
    fn check_types(&self, broken: &mut Vec<String>) {
        for list in self.types.lists() {
            if list.types.is_empty() || self.last_price_minor(&list.of).is_none() {
                broken.push(format!("{}: has types, and there are none or no such thing", list.of));
            }
        }
        for (_, hold) in self.bookings.iter() {
            let Some(types) = hold.terms.types.as_deref() else { continue };
            let units: Vec<u32> = units_of(&hold.terms.lines).collect();
            for (line, typed) in types.units_by_line() {
                if units.get(line as usize) != Some(&typed) {
                    let booking = &hold.terms.booking;
                    broken.push(format!("booking {booking}: line {line} has {typed} typed units"));
                }
            }
        }
    }

    /// What a user's limit counts is what they hold, have confirmed and claimed.
    fn check_users(&self, broken: &mut Vec<String>) {
        let mut told: BTreeMap<&UserId, u64> = BTreeMap::new();
        for (_, hold) in self.bookings.iter() {
            match hold.state {
                HoldState::Held { .. } | HoldState::Paying { .. } | HoldState::Confirmed { .. } => {
                    *told.entry(&hold.terms.user).or_default() +=
                        u64::from(hold.terms.lines.units());
                }
                HoldState::Released { .. }
                | HoldState::Expired { .. }
                | HoldState::Cancelled { .. } => {}
            }
        }
        for claim in self.claims.iter() {
            match (&claim.user, claim.state) {
                (Some(user), ClaimState::Claimed { .. }) => {
                    *told.entry(user).or_default() += claim.amount.unsigned_abs();
                }
                (
                    Some(_),
                    ClaimState::Returned { .. }
                    | ClaimState::Expired { .. }
                    | ClaimState::Adjusted { .. },
                )
                | (None, _) => {}
            }
        }
        for (_, user) in self.users.iter() {
            if u64::from(user.units) != told.remove(&user.id).unwrap_or(0) {
                broken.push(format!(
                    "user {}: their units are not those of their bookings and claims",
                    user.id
                ));
            }
        }
        broken.extend(told.keys().map(|user| format!("user {user}: has units, but is not known")));
    }

    /// What a payer's limit counts is what bookings have that they are named for, and nobody is named for
    /// a booking that has ended.
    fn check_payers_of_bookings(&self, broken: &mut Vec<String>) {
        let mut told: BTreeMap<(PayerBy, PayerId), u64> = BTreeMap::new();
        let mut named = 0;
        for (idx, hold) in self.bookings.iter() {
            let payers = self.payers.of(idx);
            named += usize::from(!payers.are_none());
            if !payers.are_none() && hold.state.has_ended() {
                broken.push(format!("booking {}: it has ended, and a payer", hold.terms.booking));
            }
            if hold.state.has_units() {
                for payer in payers.iter() {
                    *told.entry(payer).or_default() += u64::from(hold.terms.lines.units());
                }
            }
        }
        if self.payers.bookings() != named {
            broken.push("payers: some are named for bookings that are not there".into());
        }
        if self.payers.len() != told.len() {
            broken.push(format!("payers: {} have units, not {}", told.len(), self.payers.len()));
        }
        for ((by, payer), units) in told {
            if u64::from(self.payers.units_of(by, payer)) != units {
                broken.push(format!("payer {payer}: their units are not those of their bookings"));
            }
        }
    }
}
