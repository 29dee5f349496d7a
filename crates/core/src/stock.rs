//! Countable stock: pools, and how their units divide.

use crate::ids::{ChannelId, PoolId};
use crate::prices::Ladder;
use crate::spec::PoolSpec;
use crate::view::{PoolView, Units};
use hashbrown::HashMap;
use std::collections::BTreeMap;

/// One pool. `free + held + sold + blocked = capacity`, always.
#[derive(Debug)]
pub(crate) struct Pool {
    pub(crate) spec: PoolSpec,
    pub(crate) held: u32,
    /// Confirmed and claimed.
    pub(crate) sold: u32,
    /// With a reason, or for a channel.
    pub(crate) blocked: u32,
    /// Of the sold ones, those that were claimed.
    pub(crate) claimed: u32,
    /// Of the claimed ones, those that services claimed.
    pub(crate) claimed_by_services: u32,
    pub(crate) blocked_why: BTreeMap<Box<str>, u32>,
    /// Of the blocked ones, those that are free in a channel.
    pub(crate) allotted: BTreeMap<ChannelId, u32>,
}

impl Pool {
    /// Units that are held, sold or blocked.
    pub(crate) fn committed(&self) -> u32 {
        self.held + self.sold + self.blocked
    }

    /// Units on sale.
    pub(crate) fn free(&self) -> u32 {
        self.spec.capacity.checked_sub(self.committed()).expect("no pool is oversold")
    }

    pub(crate) fn hold(&mut self, quantity: u32) {
        assert!(quantity <= self.free(), "only free units are held");
        self.held += quantity;
    }

    pub(crate) fn release(&mut self, quantity: u32) {
        self.held = self.held.checked_sub(quantity).expect("only held units are released");
    }

    pub(crate) fn confirm(&mut self, quantity: u32) {
        self.release(quantity);
        self.sold += quantity;
    }

    pub(crate) fn cancel(&mut self, quantity: u32) {
        self.sold = self.sold.checked_sub(quantity).expect("only sold units are cancelled");
    }

    pub(crate) fn claim(&mut self, quantity: u32) {
        assert!(quantity <= self.free(), "only free units are claimed");
        self.sold += quantity;
        self.claimed += quantity;
    }

    pub(crate) fn declaim(&mut self, quantity: u32) {
        self.claimed =
            self.claimed.checked_sub(quantity).expect("only claimed units are given back");
        self.cancel(quantity);
    }

    pub(crate) fn adjust_claimed(&mut self, amount: i64) {
        let quantity =
            u32::try_from(amount.unsigned_abs()).expect("an adjustment is within the capacity");
        if amount > 0 {
            self.claim(quantity);
            self.claimed_by_services += quantity;
        } else {
            let left = self.claimed_by_services.checked_sub(quantity);
            self.claimed_by_services = left.expect("services give back only what they claimed");
            self.declaim(quantity);
        }
    }

    pub(crate) fn block(&mut self, quantity: u32, why: &str) {
        assert!(quantity <= self.free(), "only free units are blocked");
        self.blocked += quantity;
        *self.blocked_why.entry(why.into()).or_default() += quantity;
    }

    pub(crate) fn unblock(&mut self, quantity: u32, why: &str) {
        let count = self
            .blocked_why
            .get_mut(why)
            .expect("units are unblocked with the reason they were blocked");
        *count = count.checked_sub(quantity).expect("only blocked units are unblocked");
        if *count == 0 {
            self.blocked_why.remove(why);
        }
        self.blocked -= quantity;
    }

    /// Units that are free in a channel, or for everybody.
    pub(crate) fn free_in(&self, channel: Option<&ChannelId>) -> u32 {
        channel.map_or(self.free(), |channel| self.allotted.get(channel).copied().unwrap_or(0))
    }

    fn bring_out(&mut self, quantity: u32, channel: &ChannelId) {
        let left = self.allotted.get_mut(channel).expect("units are in the channel they come from");
        *left = left.checked_sub(quantity).expect("only units of the channel are taken from it");
        if *left == 0 {
            self.allotted.remove(channel);
        }
        self.blocked -= quantity;
    }

    fn set_aside(&mut self, quantity: u32, channel: &ChannelId) {
        assert!(quantity <= self.free(), "only free units are set aside");
        self.blocked += quantity;
        *self.allotted.entry(channel.clone()).or_default() += quantity;
    }

    pub(crate) fn units(&self) -> Units {
        Units { free: self.free(), held: self.held, sold: self.sold, blocked: self.blocked }
    }

    pub(crate) fn view(&self, ladder: Option<&Ladder>) -> PoolView {
        PoolView {
            pool: self.spec.pool.clone(),
            price_minor: self.spec.price_minor,
            first_minor: ladder.map(|ladder| ladder.first_minor),
            later: ladder.map(|ladder| ladder.later.clone()).unwrap_or_default(),
            types: Vec::new(),
            capacity: self.spec.capacity,
            units: self.units(),
            claimed: self.claimed,
            claimed_by_services: self.claimed_by_services,
            blocked_why: self
                .blocked_why
                .iter()
                .map(|(why, count)| (why.clone(), *count))
                .collect(),
            allotted: self
                .allotted
                .iter()
                .map(|(channel, count)| (channel.clone(), *count))
                .collect(),
        }
    }
}

/// How units of all pools divide.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) free: u64,
    held: u64,
    sold: u64,
    blocked: u64,
}

impl Totals {
    /// Those of these pools.
    pub(crate) fn of<'a>(pools: impl IntoIterator<Item = &'a Pool>) -> Self {
        let mut all = Self::default();
        pools.into_iter().for_each(|pool| all.add(pool.units()));
        all
    }

    fn add(&mut self, units: Units) {
        self.free += u64::from(units.free);
        self.held += u64::from(units.held);
        self.sold += u64::from(units.sold);
        self.blocked += u64::from(units.blocked);
    }

    fn take(&mut self, units: Units) {
        self.free -= u64::from(units.free);
        self.held -= u64::from(units.held);
        self.sold -= u64::from(units.sold);
        self.blocked -= u64::from(units.blocked);
    }

    /// The same as they are told: no count is above what a number of 32 bits can say.
    pub(crate) fn units(self) -> Units {
        let told = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
        Units {
            free: told(self.free),
            held: told(self.held),
            sold: told(self.sold),
            blocked: told(self.blocked),
        }
    }
}

/// All pools of one event.
#[derive(Debug, Default)]
pub(crate) struct Stock {
    pools: Vec<Pool>,
    by_id: HashMap<PoolId, usize, foldhash::fast::FixedState>,
    totals: Totals,
    /// Units that are free in a channel, in all pools.
    allotted: BTreeMap<ChannelId, u64>,
}

impl Stock {
    pub(crate) fn get(&self, pool: &PoolId) -> Option<&Pool> {
        self.by_id.get(pool).map(|position| &self.pools[*position])
    }

    /// Changes a pool that is known to exist.
    pub(crate) fn change<T>(&mut self, pool: &PoolId, change: impl FnOnce(&mut Pool) -> T) -> T {
        let position = self.by_id.get(pool).expect("changes name only pools that exist");
        let pool = &mut self.pools[*position];
        self.totals.take(pool.units());
        let done = change(pool);
        self.totals.add(pool.units());
        done
    }

    /// Units on sale, in all pools.
    pub(crate) fn free(&self) -> u64 {
        self.totals.free
    }

    /// How units of all pools divide.
    pub(crate) fn totals(&self) -> Totals {
        self.totals
    }

    /// Units that are free in a channel, in all pools.
    pub(crate) fn free_in(&self, channel: &ChannelId) -> u64 {
        self.allotted.get(channel).copied().unwrap_or(0)
    }

    /// Puts units of a channel on sale, as those that are there for everybody are.
    pub(crate) fn bring_out(&mut self, pool: &PoolId, quantity: u32, channel: Option<&ChannelId>) {
        let Some(channel) = channel else { return };
        self.change(pool, |pool| pool.bring_out(quantity, channel));
        let left = self.allotted.get_mut(channel).expect("units of a channel are counted");
        *left -= u64::from(quantity);
        if *left == 0 {
            self.allotted.remove(channel);
        }
    }

    /// Takes free units off sale, for a channel.
    pub(crate) fn set_aside(&mut self, pool: &PoolId, quantity: u32, channel: Option<&ChannelId>) {
        let Some(channel) = channel else { return };
        self.change(pool, |pool| pool.set_aside(quantity, channel));
        *self.allotted.entry(channel.clone()).or_default() += u64::from(quantity);
    }

    pub(crate) fn add(&mut self, spec: PoolSpec) {
        let known = self.by_id.insert(spec.pool.clone(), self.pools.len());
        assert!(known.is_none(), "a pool is added once");
        self.totals.free += u64::from(spec.capacity);
        self.pools.push(Pool {
            spec,
            held: 0,
            sold: 0,
            blocked: 0,
            claimed: 0,
            claimed_by_services: 0,
            blocked_why: BTreeMap::new(),
            allotted: BTreeMap::new(),
        });
    }

    /// All pools, in the order they were added.
    pub(crate) fn iter(&self) -> std::slice::Iter<'_, Pool> {
        self.pools.iter()
    }
}
