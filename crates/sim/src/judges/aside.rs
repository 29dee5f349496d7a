//! What is set aside for channels, by the changes alone. Units are told by name: `ga`, or `seat A-1`.

use crate::judge::Verdict;
use onrush_core::hold::HoldTerms;
use onrush_core::ids::{ChannelId, PoolId, SeatId};
use onrush_core::lines::Lines;
use std::collections::BTreeMap;

/// Units that are free in channels.
#[derive(Debug, Default)]
pub(super) struct Aside {
    left: BTreeMap<(String, ChannelId), i64>,
    /// Where the stock of a channel went.
    went: BTreeMap<ChannelId, Option<ChannelId>>,
}

fn of_seat(seat: &SeatId) -> String {
    format!("seat {seat}")
}

fn units(lines: &Lines) -> Vec<(String, i64)> {
    let mut units = Vec::new();
    for line in lines.pools() {
        units.push((line.pool.to_string(), i64::from(line.quantity)));
    }
    for seat in lines.seats() {
        units.push((of_seat(seat), 1));
    }
    units
}

impl Aside {
    fn add(&mut self, unit: &str, channel: Option<&ChannelId>, more: i64) -> Verdict {
        let Some(channel) = channel else { return Ok(()) };
        let left = self.left.entry((unit.to_owned(), channel.clone())).or_default();
        *left += more;
        if *left < 0 {
            return Err(format!("{unit} is taken from {channel}, which has none of it"));
        }
        Ok(())
    }

    /// Where units of a channel are by now; `None` is everybody's stock.
    fn now_in(&self, channel: Option<&ChannelId>) -> Option<ChannelId> {
        let mut channel = channel?.clone();
        for _ in 0..=self.went.len() {
            match self.went.get(&channel) {
                None => return Some(channel),
                Some(into) => channel = into.clone()?,
            }
        }
        None
    }

    /// Moves free units.
    pub(super) fn allot(
        &mut self,
        lines: &Lines,
        from: Option<&ChannelId>,
        to: Option<&ChannelId>,
    ) -> Verdict {
        for (unit, count) in units(lines) {
            self.add(&unit, from, -count)?;
            self.add(&unit, to, count)?;
        }
        Ok(())
    }

    /// Takes what a hold has; how many units of it were everybody's.
    pub(super) fn take(&mut self, terms: &HoldTerms) -> Result<i64, String> {
        let mut everybodys = 0;
        for (nth, (unit, count)) in units(&terms.lines).into_iter().enumerate() {
            let source = terms.sources.get(nth).and_then(Option::as_ref);
            everybodys += if source.is_none() { count } else { 0 };
            self.add(&unit, source, -count)?;
        }
        Ok(everybodys)
    }

    /// The same for money that came late: from where its channels' stock is now, as far as it is there.
    pub(super) fn take_again(&mut self, terms: &HoldTerms) -> i64 {
        let mut everybodys = 0;
        for (nth, (unit, count)) in units(&terms.lines).into_iter().enumerate() {
            let home = self.now_in(terms.sources.get(nth).and_then(Option::as_ref));
            let left = home.and_then(|home| self.left.get_mut(&(unit, home)));
            match left {
                Some(left) if *left >= count => *left -= count,
                Some(_) | None => everybodys += count,
            }
        }
        everybodys
    }

    /// Gives what a booking had back; how many units of it are everybody's now.
    pub(super) fn give_back(&mut self, terms: &HoldTerms) -> i64 {
        let mut everybodys = 0;
        for (nth, (unit, count)) in units(&terms.lines).into_iter().enumerate() {
            match self.now_in(terms.sources.get(nth).and_then(Option::as_ref)) {
                Some(home) => *self.left.entry((unit, home)).or_default() += count,
                None => everybodys += count,
            }
        }
        everybodys
    }

    /// All stock of a channel goes to another one for good; how many units are everybody's now.
    pub(super) fn release(&mut self, channel: &ChannelId, into: Option<&ChannelId>) -> i64 {
        let its = self.left.keys().filter(|(_, of)| of == channel).cloned();
        let mut everybodys = 0;
        for (unit, of) in its.collect::<Vec<_>>() {
            let count = self.left.remove(&(unit.clone(), of)).unwrap_or_default();
            match into {
                Some(into) => *self.left.entry((unit, into.clone())).or_default() += count,
                None => everybodys += count,
            }
        }
        self.went.insert(channel.clone(), into.cloned());
        everybodys
    }

    /// Units of a pool that are free in channels.
    pub(super) fn of_pool(&self, pool: &PoolId) -> i64 {
        let its = self.left.iter().filter(|((unit, _), _)| *unit == *pool.as_str());
        its.map(|(_, count)| *count).sum()
    }

    /// Whether a seat is free in a channel.
    pub(super) fn has(&self, seat: &SeatId) -> bool {
        let of_seat = of_seat(seat);
        self.left.iter().any(|((unit, _), count)| *unit == of_seat && *count > 0)
    }
}
