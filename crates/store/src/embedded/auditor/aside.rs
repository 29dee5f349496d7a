//! What is set aside for channels, as the changes tell.

use onrush_core::hold::HoldTerms;
use onrush_core::ids::{ChannelId, PoolId, SeatId};
use onrush_core::lines::Lines;
use std::collections::HashMap;

/// Units that are free in channels.
#[derive(Default)]
pub(super) struct Aside {
    pools: HashMap<(PoolId, ChannelId), i64>,
    seats: HashMap<SeatId, ChannelId>,
    /// Channels that were released, and where to.
    released: HashMap<ChannelId, Option<ChannelId>>,
}

impl Aside {
    /// Where units of a channel are now.
    fn home(&self, channel: Option<&ChannelId>) -> Option<ChannelId> {
        let mut home = channel?;
        // No channel is released into itself, so there are no more steps than channels.
        for _ in 0..=self.released.len() {
            match self.released.get(home) {
                Some(into) => home = into.as_ref()?,
                None => return Some(home.clone()),
            }
        }
        None
    }

    /// Moves free units; what is not where it is said to be is told.
    pub(super) fn allot(
        &mut self,
        lines: &Lines,
        from: Option<&ChannelId>,
        to: Option<&ChannelId>,
    ) -> Option<String> {
        let mut wrong = None;
        for line in lines.pools() {
            wrong = wrong.or(self.add(&line.pool, from, -i64::from(line.quantity)));
            wrong = wrong.or(self.add(&line.pool, to, i64::from(line.quantity)));
        }
        for seat in lines.seats() {
            wrong = wrong.or(self.turn(seat, from, to));
        }
        wrong
    }

    fn add(&mut self, pool: &PoolId, channel: Option<&ChannelId>, units: i64) -> Option<String> {
        let channel = channel?;
        let left = self.pools.entry((pool.clone(), channel.clone())).or_default();
        *left += units;
        (*left < 0).then(|| format!("pool {pool}: more is taken from {channel} than it has"))
    }

    fn turn(
        &mut self,
        seat: &SeatId,
        from: Option<&ChannelId>,
        to: Option<&ChannelId>,
    ) -> Option<String> {
        let was = match to {
            Some(to) => self.seats.insert(seat.clone(), to.clone()),
            None => self.seats.remove(seat),
        };
        (was.as_ref() != from).then(|| format!("seat {seat} is in {was:?}, not in {from:?}"))
    }

    /// Takes a hold's units from the channels they are said to come from.
    pub(super) fn take(&mut self, terms: &HoldTerms) -> Option<String> {
        self.each(terms, |aside, pool, seat, source| match (pool, seat) {
            (Some((pool, units)), _) => aside.add(pool, source, -units),
            (None, Some(seat)) => aside.turn(seat, source, None),
            (None, None) => None,
        })
    }

    /// The same for money that came late: from wherever they are by now.
    pub(super) fn take_again(&mut self, terms: &HoldTerms) {
        self.each(terms, |aside, pool, seat, source| {
            let home = aside.home(source);
            match (pool, seat, home) {
                (Some((pool, units)), _, Some(home)) => {
                    let left = aside.pools.entry((pool.clone(), home)).or_default();
                    *left -= if *left >= units { units } else { 0 };
                }
                (_, Some(seat), _) => drop(aside.seats.remove(seat)),
                (..) => {}
            }
            None
        });
    }

    /// Gives a booking's units back to where those of their channels are now.
    pub(super) fn give_back(&mut self, terms: &HoldTerms) {
        self.each(terms, |aside, pool, seat, source| {
            let home = aside.home(source);
            match (pool, seat) {
                (Some((pool, units)), _) => aside.add(pool, home.as_ref(), units),
                (None, Some(seat)) => aside.turn(seat, None, home.as_ref()),
                (None, None) => None,
            }
        });
    }

    /// Goes through a booking's lines that came from channels, pools' and then seats'.
    fn each(
        &mut self,
        terms: &HoldTerms,
        mut look: impl FnMut(
            &mut Self,
            Option<(&PoolId, i64)>,
            Option<&SeatId>,
            Option<&ChannelId>,
        ) -> Option<String>,
    ) -> Option<String> {
        let pools = terms.lines.pools().iter();
        let pools = pools.map(|line| (Some((&line.pool, i64::from(line.quantity))), None));
        let lines = pools.chain(terms.lines.seats().iter().map(|seat| (None, Some(seat))));
        let mut wrong = None;
        for (nth, (pool, seat)) in lines.enumerate() {
            let source = terms.sources.get(nth).and_then(Option::as_ref);
            wrong = wrong.or(look(self, pool, seat, source));
        }
        wrong
    }

    /// All stock of a channel goes to another one for good.
    pub(super) fn release(&mut self, channel: &ChannelId, into: Option<&ChannelId>) {
        let of_channel = |(pool, its): &(PoolId, ChannelId)| (its == channel).then(|| pool.clone());
        let pools: Vec<PoolId> = self.pools.keys().filter_map(of_channel).collect();
        for pool in pools {
            let units = self.pools.remove(&(pool.clone(), channel.clone())).unwrap_or_default();
            self.add(&pool, into, units);
        }
        match into {
            Some(into) => {
                let its = self.seats.values_mut().filter(|its| *its == channel);
                its.for_each(|its| *its = into.clone());
            }
            None => self.seats.retain(|_, its| its != channel),
        }
        self.released.insert(channel.clone(), into.cloned());
    }

    /// Units of a pool that are free in channels.
    pub(super) fn of_pool(&self, pool: &PoolId) -> i64 {
        let its = self.pools.iter().filter(|((id, _), _)| id == pool);
        its.map(|(_, units)| *units).sum()
    }

    /// Whether a seat is free in a channel.
    pub(super) fn has(&self, seat: &SeatId) -> bool {
        self.seats.contains_key(seat)
    }
}
