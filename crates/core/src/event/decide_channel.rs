//! What is asked about channels: what they are, what is in them, and what a visitor takes from them.

use super::decide_organiser::{check_reason, event_limit, wrong};
use super::{Decision, Event};
use crate::best::BestOrder;
use crate::change::SetupChange;
use crate::channels::{ChannelSpec, ChannelView, Sources};
use crate::hold::HoldTerms;
use crate::ids::{ChannelId, SeatId};
use crate::limits::{
    MAX_CHANNELS_PER_EVENT, MAX_CODES_PER_CHANNEL, MAX_POOL_CAPACITY, MAX_PRICE_TIME_MS,
};
use crate::lines::{Lines, PoolLine};
use crate::refusal::Refusal;
use crate::seats::SeatState;
use crate::settings::Settings;
use crate::spec::Reason;
use crate::time::Time;
use std::collections::BTreeMap;

/// The channels that a visitor may use, the one to take from first before the others.
pub(super) struct MayUse<'a>(Vec<Usable<'a>>);

/// A channel that a visitor may use.
struct Usable<'a> {
    number: u8,
    channel: &'a ChannelView,
    /// Units that may still be taken through it.
    left: u32,
}

impl MayUse<'_> {
    pub(super) fn numbers(&self) -> Vec<u8> {
        self.0.iter().map(|usable| usable.number).collect()
    }
}

impl Event {
    fn channel_of(&self, channel: &ChannelId) -> Result<&ChannelView, Refusal> {
        let known = self.channels.get(channel);
        known.ok_or_else(|| Refusal::ChannelNotFound { channel: channel.clone() })
    }

    fn unreleased(&self, channel: Option<&ChannelId>) -> Result<(), Refusal> {
        let Some(channel) = channel else { return Ok(()) };
        match &self.channel_of(channel)?.released {
            None => Ok(()),
            Some(_) => Err(Refusal::ChannelReleased { channel: channel.clone() }),
        }
    }

    pub(super) fn decide_set_channel(
        &self,
        at: Time,
        spec: &ChannelSpec,
        reason: &Reason,
    ) -> Result<Decision, Refusal> {
        check_reason(reason)?;
        if spec.quota.is_some_and(|quota| quota > MAX_POOL_CAPACITY) {
            return wrong("quota", "quota: use at most 1000000000 units");
        }
        if spec.codes.len() > MAX_CODES_PER_CHANNEL {
            return wrong("codes", "codes: name at most 100");
        }
        if let Some(release) = &spec.release {
            if release.into.as_ref() == Some(&spec.channel) {
                return wrong("release", "release: name another channel than the one released");
            }
            if release.at <= at || release.at > Time(MAX_PRICE_TIME_MS) {
                return wrong("release", "release: name a time to come, before the year 10000");
            }
            self.unreleased(release.into.as_ref())?;
        }
        match self.channels.get(&spec.channel) {
            Some(_) => self.unreleased(Some(&spec.channel))?,
            None if self.channels.iter().len() >= MAX_CHANNELS_PER_EVENT => {
                return event_limit("channels", MAX_CHANNELS_PER_EVENT);
            }
            None => {}
        }
        let (spec, reason) = (spec.clone(), reason.clone());
        Ok(Decision::done(SetupChange::ChannelSet { spec, reason }))
    }

    pub(super) fn decide_allot(
        &self,
        lines: &Lines,
        from: Option<&ChannelId>,
        to: Option<&ChannelId>,
        reason: &Reason,
    ) -> Result<Decision, Refusal> {
        check_reason(reason)?;
        if from == to {
            return wrong("to", "to: name another channel than in from");
        }
        self.check_lines_exist(lines)?;
        self.unreleased(from)?;
        self.unreleased(to)?;
        for PoolLine { pool, quantity } in lines.pools() {
            let free = self.stock.get(pool).map_or(0, |pool| pool.free_in(from));
            if free < *quantity {
                return Err(Refusal::InsufficientStock { pool: pool.clone(), free });
            }
        }
        let free = SeatState::free_in(from.map(|channel| self.channels.number(channel)));
        let is_elsewhere =
            |seat: &&SeatId| self.seats.get(seat).is_none_or(|seat| seat.state != free);
        let seats: Vec<SeatId> = lines.seats().iter().filter(is_elsewhere).cloned().collect();
        if !seats.is_empty() {
            return Err(Refusal::SeatUnavailable { seats });
        }
        let (lines, reason) = (lines.clone(), reason.clone());
        let (from, to) = (from.cloned(), to.cloned());
        Ok(Decision::done(SetupChange::UnitsAllotted { lines, from, to, reason }))
    }

    pub(super) fn decide_release_channel(
        &self,
        channel: &ChannelId,
        into: Option<&ChannelId>,
        reason: &Reason,
    ) -> Result<Decision, Refusal> {
        check_reason(reason)?;
        if into == Some(channel) {
            return wrong("into", "into: name another channel than the one released");
        }
        self.unreleased(Some(channel))?;
        self.unreleased(into)?;
        let (channel, into, reason) = (channel.clone(), into.cloned(), Some(reason.clone()));
        Ok(Decision::done(SetupChange::ChannelReleased { channel, into, reason }))
    }

    /// A release that was to come has come. Where its target was released meanwhile, the stock goes to
    /// where that one's went; to everybody, if that leads back.
    pub(super) fn planned_release(&self, spec: &ChannelSpec) -> SetupChange {
        let into = spec.release.as_ref().and_then(|release| release.into.as_ref());
        let home = self.channels.home(into).filter(|home| **home != spec.channel);
        let (channel, into) = (spec.channel.clone(), home.cloned());
        SetupChange::ChannelReleased { channel, into, reason: None }
    }

    /// Those of these channels that have stock of their own.
    pub(super) fn channels_of(&self, channels: &[ChannelId]) -> Result<MayUse<'_>, Refusal> {
        let mut may_use: Vec<Usable<'_>> = Vec::new();
        for id in channels {
            let channel = self.channel_of(id)?;
            let number = self.channels.number(id);
            let is_named = may_use.iter().any(|usable| usable.number == number);
            if channel.released.is_none() && !is_named {
                let left = channel.left().unwrap_or(u32::MAX);
                may_use.push(Usable { number, channel, left });
            }
        }
        Ok(MayUse(may_use))
    }

    /// Where lines come from. A pool's is taken whole from the first channel that has all of it, else
    /// from everybody's stock; a seat from the channel it is in.
    pub(super) fn sources(
        &self,
        lines: &Lines,
        may_use: &mut MayUse<'_>,
    ) -> Result<Sources, Refusal> {
        if may_use.0.is_empty() {
            self.check_lines_free(lines)?;
            return Ok(Sources::new());
        }
        let mut sources = Sources::new();
        for PoolLine { pool, quantity } in lines.pools() {
            let found = self.stock.get(pool).expect("pools of lines were looked up");
            let free_in = |usable: &Usable<'_>| {
                found.free_in(Some(&usable.channel.spec.channel)).min(usable.left)
            };
            let source = may_use.0.iter_mut().find(|usable| free_in(usable) >= *quantity);
            match source {
                Some(usable) => {
                    usable.left -= quantity;
                    sources.push(Some(usable.channel.spec.channel.clone()));
                }
                None if found.free() >= *quantity => sources.push(None),
                None => {
                    let most = may_use.0.iter().map(free_in).max().unwrap_or(0);
                    let free = most.max(found.free());
                    return Err(Refusal::InsufficientStock { pool: pool.clone(), free });
                }
            }
        }
        let mut elsewhere = Vec::new();
        let mut through = vec![0; may_use.0.len()];
        for seat in lines.seats() {
            match self.seats.get(seat).map(|seat| &seat.state) {
                Some(SeatState::Free) => sources.push(None),
                Some(SeatState::Allotted(number)) => {
                    match may_use.0.iter().position(|usable| usable.number == *number) {
                        Some(nth) => {
                            through[nth] += 1;
                            sources.push(Some(self.channels.id(*number)));
                        }
                        None => elsewhere.push(seat.clone()),
                    }
                }
                Some(SeatState::Held(_) | SeatState::Sold(_) | SeatState::Blocked(_)) | None => {
                    elsewhere.push(seat.clone());
                }
            }
        }
        if !elsewhere.is_empty() {
            return Err(Refusal::SeatUnavailable { seats: elsewhere });
        }
        for (usable, units) in may_use.0.iter_mut().zip(through) {
            match usable.left.checked_sub(units) {
                Some(left) => usable.left = left,
                None => {
                    let ChannelView { spec, taken, .. } = usable.channel;
                    let (channel, quota) = (spec.channel.clone(), spec.quota.unwrap_or(u32::MAX));
                    return Err(Refusal::ChannelQuota { channel, quota, taken: *taken });
                }
            }
        }
        Ok(Self::told(sources))
    }

    /// Nothing, if all is from everybody's stock.
    fn told(sources: Sources) -> Sources {
        if sources.iter().all(Option::is_none) { Sources::new() } else { sources }
    }

    /// The best seats: the first choice if it can be had, and suits, else those of the first channel that has
    /// enough of them, else everybody's. Also whether it is the first choice.
    pub(super) fn best_of_channels(
        &self,
        settings: &Settings,
        order: &BestOrder,
        prices_minor: &[Option<i64>],
        may_use: &MayUse<'_>,
        suits: impl Fn(&[SeatId]) -> bool,
    ) -> Result<(Vec<SeatId>, bool), Refusal> {
        let singles = settings.single_seats;
        if order.best().accessible() == 0 {
            let first = self.seats.first_choice(order, singles, prices_minor, &may_use.numbers());
            if let Some(first) = first.filter(|it| self.is_within_quotas(it, may_use) && suits(it))
            {
                return Ok((first, true));
            }
        }
        let quantity = order.best().quantity();
        let roomy = may_use.0.iter().filter(|usable| usable.left >= quantity);
        for usable in roomy {
            let number = Some(usable.number);
            if let Ok(found) = self.seats.best(order, singles, prices_minor, number) {
                return Ok((found, false));
            }
        }
        self.seats.best(order, singles, prices_minor, None).map(|found| (found, false))
    }

    fn is_within_quotas(&self, seats: &[SeatId], may_use: &MayUse<'_>) -> bool {
        may_use.0.iter().all(|usable| {
            let is_its = |seat: &&SeatId| {
                let state = self.seats.get(seat).map(|seat| &seat.state);
                state == Some(&SeatState::Allotted(usable.number))
            };
            seats.iter().filter(is_its).count() <= usable.left as usize
        })
    }

    /// Where all of an order comes from: what was named beside the best seats, and these.
    pub(super) fn sources_with(
        &self,
        beside: &[Option<ChannelId>],
        pools: &[PoolLine],
        seats: &mut [SeatId],
    ) -> Sources {
        if self.channels.iter().len() == 0 {
            return Sources::new();
        }
        seats.sort_unstable();
        let of_pools = pools.iter().enumerate();
        let of_pools = of_pools.map(|(nth, _)| beside.get(nth).cloned().flatten());
        let of_seats = seats.iter().map(|seat| match self.seats.get(seat)?.state {
            SeatState::Allotted(number) => Some(self.channels.id(number)),
            SeatState::Free | SeatState::Held(_) | SeatState::Sold(_) | SeatState::Blocked(_) => {
                None
            }
        });
        Self::told(of_pools.chain(of_seats).collect())
    }

    /// Where a booking's lines can be had again: from the channels they came from, else from
    /// everybody's stock.
    pub(super) fn sources_again(&self, terms: &HoldTerms) -> Sources {
        let homes = terms.sources.iter().map(|source| self.channels.home(source.as_ref()));
        let mut homes = homes.chain(std::iter::repeat(None));
        let pools = terms.lines.pools().iter().zip(&mut homes).map(|(line, home)| {
            let pool = self.stock.get(&line.pool)?;
            home.filter(|home| pool.free_in(Some(home)) >= line.quantity)
        });
        let pools: Vec<_> = pools.collect();
        let seats = terms.lines.seats().iter().zip(homes).map(|(seat, home)| {
            let free = SeatState::Allotted(self.channels.number(home?));
            home.filter(|_| self.seats.get(seat).is_some_and(|seat| seat.state == free))
        });
        pools.into_iter().chain(seats).map(|home| home.cloned()).collect()
    }

    /// Checks that a booking's lines can be had again.
    pub(super) fn check_free_again(&self, terms: &HoldTerms) -> Result<(), Refusal> {
        if terms.sources.is_empty() {
            return self.check_lines_free(&terms.lines);
        }
        let sources = self.sources_again(terms);
        for (line, source) in terms.lines.pools().iter().zip(&sources) {
            let free = self.stock.get(&line.pool).map_or(0, |pool| pool.free_in(source.as_ref()));
            if free < line.quantity {
                return Err(Refusal::InsufficientStock { pool: line.pool.clone(), free });
            }
        }
        let seats = terms.lines.seats().iter().zip(&sources[terms.lines.pools().len()..]);
        let is_gone = |(seat, source): &(&SeatId, &Option<ChannelId>)| {
            source.is_none() && self.seats.get(seat).is_none_or(|it| it.state != SeatState::Free)
        };
        let gone: Vec<SeatId> = seats.filter(is_gone).map(|(seat, _)| seat.clone()).collect();
        if !gone.is_empty() {
            return Err(Refusal::SeatUnavailable { seats: gone });
        }
        let pools = terms.lines.pools().iter().map(|line| line.quantity);
        self.check_quotas(sources.iter().zip(pools.chain(std::iter::repeat(1))))
    }

    /// Checks that no more units are taken through a channel again than may still be.
    fn check_quotas<'a>(
        &self,
        units: impl Iterator<Item = (&'a Option<ChannelId>, u32)>,
    ) -> Result<(), Refusal> {
        let mut again: BTreeMap<&ChannelId, u32> = BTreeMap::new();
        for (source, units) in units {
            let Some(id) = source else { continue };
            let through = again.entry(id).or_default();
            *through += units;
            let ChannelView { spec: ChannelSpec { quota, .. }, taken, .. } = self.channel_of(id)?;
            if let Some(quota) = *quota
                && *through > quota.saturating_sub(*taken)
            {
                return Err(Refusal::ChannelQuota { channel: id.clone(), quota, taken: *taken });
            }
        }
        Ok(())
    }
}
