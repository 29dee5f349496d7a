//! Channels, looked through one by one: what is taken through each is added up whenever it is asked.

use super::books::{Booking, Owner};
use super::settings::{check_reason, invalid};
use super::types::MostMinor;
use super::{Answer, Oracle};
use onrush_core::best::BestOrder;
use onrush_core::change::SetupChange;
use onrush_core::channels::{ChannelSpec, ChannelView, Released, Sources};
use onrush_core::hold::{HoldState, HoldTerms};
use onrush_core::ids::{ChannelId, SeatId};
use onrush_core::lines::Lines;
use onrush_core::spec::Reason;
use onrush_core::types::AskedTypes;
use onrush_core::{Refusal, Time};
use std::collections::BTreeMap;

/// A channel, and where its stock went if it was released.
#[derive(Clone, Debug)]
pub(super) struct Channel {
    spec: ChannelSpec,
    released: Option<Released>,
}

/// Somebody's channels, with what may still be taken through each.
pub(super) type Mine = Vec<(ChannelId, u64)>;

fn has_units(booking: &Booking) -> bool {
    match booking.state {
        HoldState::Held { .. } | HoldState::Paying { .. } | HoldState::Confirmed { .. } => true,
        HoldState::Released { .. } | HoldState::Expired { .. } | HoldState::Cancelled { .. } => {
            false
        }
    }
}

impl Oracle {
    fn channel(&self, id: &ChannelId) -> Option<&Channel> {
        self.channels.iter().find(|channel| channel.spec.channel == *id)
    }

    /// What is asked of a channel that must be there and not be released.
    fn in_use(&self, id: Option<&ChannelId>) -> Result<(), Refusal> {
        let Some(id) = id else { return Ok(()) };
        match self.channel(id) {
            None => Err(Refusal::ChannelNotFound { channel: id.clone() }),
            Some(Channel { released: Some(_), .. }) => {
                Err(Refusal::ChannelReleased { channel: id.clone() })
            }
            Some(Channel { released: None, .. }) => Ok(()),
        }
    }

    /// Where a channel's units are by now.
    fn now_in(&self, id: Option<&ChannelId>) -> Option<ChannelId> {
        let channel = self.channel(id?)?;
        match &channel.released {
            Some(released) => self.now_in(released.into.as_ref()),
            None => id.cloned(),
        }
    }

    fn taken_through(&self, id: &ChannelId) -> u64 {
        let mut taken = 0;
        for booking in self.bookings.values().filter(|booking| has_units(booking)) {
            let lines = &booking.terms.lines;
            for (nth, source) in booking.terms.sources.iter().enumerate() {
                let units = lines.pools().get(nth).map_or(1, |line| u64::from(line.quantity));
                if self.now_in(source.as_ref()).as_ref() == Some(id) {
                    taken += units;
                }
            }
        }
        taken
    }

    /// Units that may be had through channels whose buyers come through the waiting room.
    pub(super) fn free_for_the_line(&self) -> u64 {
        let mut all = 0;
        for channel in self.channels.iter().filter(|it| it.spec.queued && it.released.is_none()) {
            let id = &channel.spec.channel;
            let pools = self.pools.iter().map(|pool| u64::from(pool.free_for(Some(id))));
            let its = self.seats.iter().filter(|seat| seat.owner == Owner::Channel(id.clone()));
            let free = pools.sum::<u64>() + its.count() as u64;
            let taken = self.taken_through(id);
            all += match channel.spec.quota {
                Some(quota) if u64::from(quota) < taken + free => {
                    u64::from(quota).saturating_sub(taken)
                }
                Some(_) | None => free,
            };
        }
        all
    }

    pub(super) fn channel_views(&self) -> Vec<ChannelView> {
        let view = |channel: &Channel| ChannelView {
            spec: channel.spec.clone(),
            taken: u32::try_from(self.taken_through(&channel.spec.channel)).unwrap_or(u32::MAX),
            released: channel.released.clone(),
        };
        self.channels.iter().map(view).collect()
    }

    pub(super) fn set_channel(&mut self, spec: &ChannelSpec, reason: &Reason) -> Answer {
        check_reason(&reason.by, &reason.why)?;
        if spec.quota.is_some_and(|quota| quota > 1_000_000_000) {
            return Err(invalid(Some("quota")));
        }
        if spec.codes.len() > 100 {
            return Err(invalid(Some("codes")));
        }
        if let Some(release) = &spec.release {
            let is_past = release.at <= self.now || release.at.0 > 253_402_300_799_999;
            if is_past || release.into.as_ref() == Some(&spec.channel) {
                return Err(invalid(Some("release")));
            }
            self.in_use(release.into.as_ref())?;
        }
        let known = self.channels.iter().position(|channel| channel.spec.channel == spec.channel);
        match known {
            Some(known) => {
                self.in_use(Some(&spec.channel))?;
                self.channels[known].spec = spec.clone();
            }
            None if self.channels.len() == 20 => {
                return Err(Refusal::EventLimit { why: "".into() });
            }
            None => self.channels.push(Channel { spec: spec.clone(), released: None }),
        }
        self.change(SetupChange::ChannelSet { spec: spec.clone(), reason: reason.clone() });
        Self::done()
    }

    pub(super) fn allot(
        &mut self,
        lines: &Lines,
        from: Option<&ChannelId>,
        to: Option<&ChannelId>,
        reason: &Reason,
    ) -> Answer {
        check_reason(&reason.by, &reason.why)?;
        if from == to {
            return Err(invalid(Some("to")));
        }
        self.all_exist(lines)?;
        self.in_use(from)?;
        self.in_use(to)?;
        for line in lines.pools() {
            let free = self.pool(&line.pool).map_or(0, |pool| pool.free_for(from));
            if free < line.quantity {
                return Err(Refusal::InsufficientStock { pool: line.pool.clone(), free });
            }
        }
        let before = free_owner(from);
        let is_not = |seat: &&SeatId| self.seat(seat).is_none_or(|seat| seat.owner != before);
        let seats: Vec<_> = lines.seats().iter().filter(is_not).cloned().collect();
        if !seats.is_empty() {
            return Err(Refusal::SeatUnavailable { seats });
        }
        for line in lines.pools() {
            self.pool_mut(&line.pool).move_aside(line.quantity, from, to);
        }
        for seat in lines.seats() {
            self.seat_mut(seat).owner = free_owner(to);
        }
        self.change(SetupChange::UnitsAllotted {
            lines: lines.clone(),
            from: from.cloned(),
            to: to.cloned(),
            reason: reason.clone(),
        });
        Self::done()
    }

    pub(super) fn release_channel(
        &mut self,
        id: &ChannelId,
        into: Option<&ChannelId>,
        reason: &Reason,
    ) -> Answer {
        check_reason(&reason.by, &reason.why)?;
        if into == Some(id) {
            return Err(invalid(Some("into")));
        }
        self.in_use(Some(id))?;
        self.in_use(into)?;
        self.let_go_of(id, into, Some(reason));
        Self::done()
    }

    fn let_go_of(&mut self, id: &ChannelId, into: Option<&ChannelId>, reason: Option<&Reason>) {
        for pool in &mut self.pools {
            let units = pool.free_for(Some(id));
            pool.move_aside(units, Some(id), into);
        }
        for seat in &mut self.seats {
            if seat.owner == free_owner(Some(id)) {
                seat.owner = free_owner(into);
            }
        }
        let at = self.now;
        for channel in self.channels.iter_mut().filter(|channel| channel.spec.channel == *id) {
            channel.released = Some(Released { at, into: into.cloned() });
        }
        self.change(SetupChange::ChannelReleased {
            channel: id.clone(),
            into: into.cloned(),
            reason: reason.cloned(),
        });
    }

    /// When which channel is to be released.
    pub(super) fn releases_due(&self) -> Vec<(Time, ChannelId)> {
        let open = self.channels.iter().filter(|channel| channel.released.is_none());
        let mut due: Vec<_> = open
            .filter_map(|it| Some((it.spec.release.as_ref()?.at, it.spec.channel.clone())))
            .collect();
        due.sort();
        due
    }

    /// The time of a release has come.
    pub(super) fn release_as_planned(&mut self, id: &ChannelId) {
        let release = self.channel(id).and_then(|channel| channel.spec.release.clone());
        let into = release.and_then(|release| self.now_in(release.into.as_ref()));
        let into = into.filter(|into| into != id);
        self.let_go_of(id, into.as_ref(), None);
    }

    pub(super) fn mine(&self, channels: &[ChannelId]) -> Result<Mine, Refusal> {
        let mut mine = Mine::new();
        for id in channels {
            let known = self.channel(id);
            let known = known.ok_or_else(|| Refusal::ChannelNotFound { channel: id.clone() })?;
            if known.released.is_none() && mine.iter().all(|(other, _)| other != id) {
                let left = known.spec.quota.map_or(u64::MAX, |quota| {
                    u64::from(quota).saturating_sub(self.taken_through(id))
                });
                mine.push((id.clone(), left));
            }
        }
        Ok(mine)
    }

    /// Where each line is taken from.
    pub(super) fn where_from(&self, lines: &Lines, mine: &mut Mine) -> Result<Sources, Refusal> {
        let mut sources = Sources::new();
        for line in lines.pools() {
            let pool = self.pool(&line.pool).expect("it was looked for before");
            let wanted = u64::from(line.quantity);
            let has = |id: &ChannelId, left: u64| left.min(u64::from(pool.free_for(Some(id))));
            let best = mine.iter().map(|(id, left)| has(id, *left)).max().unwrap_or(0);
            if let Some((id, left)) = mine.iter_mut().find(|(id, left)| has(id, *left) >= wanted) {
                *left -= wanted;
                sources.push(Some(id.clone()));
            } else if u64::from(pool.free()) >= wanted {
                sources.push(None);
            } else {
                let free = u32::try_from(best).unwrap_or(u32::MAX).max(pool.free());
                return Err(Refusal::InsufficientStock { pool: line.pool.clone(), free });
            }
        }
        let mut seats = Vec::new();
        let mut through: BTreeMap<ChannelId, u64> = BTreeMap::new();
        for id in lines.seats() {
            match self.seat(id).map(|seat| &seat.owner) {
                Some(Owner::Nobody) => sources.push(None),
                Some(Owner::Channel(channel)) if mine.iter().any(|(id, _)| id == channel) => {
                    *through.entry(channel.clone()).or_default() += 1;
                    sources.push(Some(channel.clone()));
                }
                Some(_) | None => seats.push(id.clone()),
            }
        }
        if !seats.is_empty() {
            return Err(Refusal::SeatUnavailable { seats });
        }
        for (id, left) in mine.iter_mut() {
            let units = through.get(id).copied().unwrap_or(0);
            if units > *left {
                let quota = self.channel(id).and_then(|channel| channel.spec.quota);
                let taken = u32::try_from(self.taken_through(id)).unwrap_or(u32::MAX);
                let quota = quota.unwrap_or(u32::MAX);
                return Err(Refusal::ChannelQuota { channel: id.clone(), quota, taken });
            }
            *left -= units;
        }
        Ok(unless_everybodys(sources))
    }

    /// The best seats for somebody with these channels.
    pub(super) fn best_with(
        &self,
        order: &BestOrder,
        asked: &AskedTypes,
        most_minor: &MostMinor,
        mine: &Mine,
    ) -> Result<(Vec<SeatId>, bool), Refusal> {
        let wanted = order.best().first_choice();
        let first = wanted.iter().filter_map(|id| self.seat(id));
        let fits = mine.iter().all(|(id, left)| {
            let its = first.clone().filter(|seat| seat.owner == Owner::Channel(id.clone()));
            its.count() as u64 <= *left
        });
        if fits
            && order.best().accessible() == 0
            && self.has_first_choice(order, most_minor, &owners(mine))
            && self.can_be_typed(order, wanted, asked)
        {
            return Ok((wanted.to_vec(), true));
        }
        for (id, left) in mine {
            let from = [Owner::Channel(id.clone())];
            if *left >= u64::from(order.best().quantity())
                && let Ok(found) = self.best_seats(order, most_minor, &from)
            {
                return Ok((found, false));
            }
        }
        self.best_seats(order, most_minor, &[Owner::Nobody]).map(|found| (found, false))
    }

    /// Where all lines of an order for the best seats come from.
    pub(super) fn all_sources(&self, beside: &Sources, lines: &Lines) -> Sources {
        let mut sources = Sources::new();
        for nth in 0..lines.pools().len() {
            sources.push(beside.get(nth).cloned().flatten());
        }
        for seat in lines.seats() {
            sources.push(match self.seat(seat).map(|seat| &seat.owner) {
                Some(Owner::Channel(id)) => Some(id.clone()),
                Some(_) | None => None,
            });
        }
        unless_everybodys(sources)
    }

    /// Where each line of a booking that ran out would be taken from now.
    fn again_from(&self, terms: &HoldTerms) -> Sources {
        let mut again = Sources::new();
        for nth in 0..terms.lines.pools().len() + terms.lines.seats().len() {
            let home = self.now_in(terms.sources.get(nth).and_then(Option::as_ref));
            let is_there = |id: &ChannelId| match terms.lines.pools().get(nth) {
                Some(line) => self
                    .pool(&line.pool)
                    .is_some_and(|pool| pool.free_for(Some(id)) >= line.quantity),
                None => {
                    let seat = &terms.lines.seats()[nth - terms.lines.pools().len()];
                    self.seat(seat).is_some_and(|seat| seat.owner == Owner::Channel(id.clone()))
                }
            };
            again.push(home.filter(|id| is_there(id)));
        }
        again
    }

    /// What is said of a booking that ran out and cannot be had again.
    pub(super) fn free_again(&self, terms: &HoldTerms) -> Result<(), Refusal> {
        let again = self.again_from(terms);
        for (line, source) in terms.lines.pools().iter().zip(&again) {
            let free = self.pool(&line.pool).map_or(0, |pool| pool.free_for(source.as_ref()));
            if free < line.quantity {
                return Err(Refusal::InsufficientStock { pool: line.pool.clone(), free });
            }
        }
        let seats = terms.lines.seats().iter().zip(&again[terms.lines.pools().len()..]);
        let is_gone = |(id, source): &(&SeatId, &Option<ChannelId>)| {
            let owner = self.seat(id).map(|seat| &seat.owner);
            source.is_none() && owner != Some(&Owner::Nobody)
        };
        let seats: Vec<_> = seats.filter(is_gone).map(|(id, _)| id.clone()).collect();
        if !seats.is_empty() {
            return Err(Refusal::SeatUnavailable { seats });
        }
        // In the order of the lines: the first channel of which there would be too much.
        for nth in 0..again.len() {
            let Some(id) = &again[nth] else { continue };
            let units = |nth: usize| {
                u64::from(terms.lines.pools().get(nth).map_or(1, |line| line.quantity))
            };
            let of_it = (0..=nth).filter(|nth| again[*nth].as_ref() == Some(id));
            let wanted: u64 = of_it.map(units).sum();
            let taken = self.taken_through(id);
            let quota = self.channel(id).and_then(|channel| channel.spec.quota);
            if let Some(quota) = quota
                && taken + wanted > u64::from(quota).max(taken)
            {
                let taken = u32::try_from(taken).unwrap_or(u32::MAX);
                return Err(Refusal::ChannelQuota { channel: id.clone(), quota, taken });
            }
        }
        Ok(())
    }

    /// Takes what pools have aside for a booking: what it took first, or takes again.
    pub(super) fn take_aside(&mut self, terms: &HoldTerms, again: bool) {
        let sources = if again { self.again_from(terms) } else { terms.sources.clone() };
        for (line, source) in terms.lines.pools().iter().zip(&sources) {
            self.pool_mut(&line.pool).move_aside(line.quantity, source.as_ref(), None);
        }
    }

    /// Puts what a booking has given back aside again.
    pub(super) fn put_aside(&mut self, terms: &HoldTerms) {
        for (nth, source) in terms.sources.iter().enumerate() {
            let Some(home) = self.now_in(source.as_ref()) else { continue };
            match terms.lines.pools().get(nth) {
                Some(line) => {
                    self.pool_mut(&line.pool).move_aside(line.quantity, None, Some(&home));
                }
                None => {
                    let seat = &terms.lines.seats()[nth - terms.lines.pools().len()];
                    self.seat_mut(seat).owner = Owner::Channel(home);
                }
            }
        }
    }
}

/// Whose seats are that somebody with these channels may take.
pub(super) fn owners(mine: &Mine) -> Vec<Owner> {
    let channels = mine.iter().map(|(id, _)| Owner::Channel(id.clone()));
    channels.chain([Owner::Nobody]).collect()
}

fn free_owner(channel: Option<&ChannelId>) -> Owner {
    channel.map_or(Owner::Nobody, |channel| Owner::Channel(channel.clone()))
}

fn unless_everybodys(sources: Sources) -> Sources {
    if sources.iter().any(Option::is_some) { sources } else { Sources::new() }
}
