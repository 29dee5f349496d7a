//! How changes of channels add up.

use super::Event;
use crate::channels::Released;
use crate::hold::HoldTerms;
use crate::ids::ChannelId;
use crate::lines::Lines;
use crate::seats::SeatState;
use crate::time::Time;

impl Event {
    fn free_in(&self, channel: Option<&ChannelId>) -> SeatState {
        SeatState::free_in(channel.map(|channel| self.channels.number(channel)))
    }

    pub(super) fn allot(
        &mut self,
        lines: &Lines,
        from: Option<&ChannelId>,
        to: Option<&ChannelId>,
    ) {
        for line in lines.pools() {
            self.stock.bring_out(&line.pool, line.quantity, from);
            self.stock.set_aside(&line.pool, line.quantity, to);
        }
        let (before, after) = (self.free_in(from), self.free_in(to));
        for seat in lines.seats() {
            let was = self.seats.set(seat, after.clone());
            assert_eq!(was, before, "only free seats are moved to {to:?}");
        }
    }

    pub(super) fn release_channel(
        &mut self,
        at: Time,
        channel: &ChannelId,
        into: Option<&ChannelId>,
    ) {
        let pools = self.stock.iter().filter(|pool| pool.free_in(Some(channel)) > 0);
        let pools = pools.map(|pool| (pool.spec.pool.clone(), pool.free_in(Some(channel))));
        for (pool, units) in pools.collect::<Vec<_>>() {
            self.stock.bring_out(&pool, units, Some(channel));
            self.stock.set_aside(&pool, units, into);
        }
        let (before, after) = (self.free_in(Some(channel)), self.free_in(into));
        let seats = self.seats.iter().filter(|seat| seat.state == before);
        let seats: Vec<_> = seats.map(|seat| seat.spec.seat.clone()).collect();
        for seat in &seats {
            self.seats.set(seat, after.clone());
        }
        self.channels.release(channel, Released { at, into: into.cloned() });
    }

    /// Puts what a booking takes from channels on sale, to be taken at once.
    pub(super) fn bring_out(&mut self, terms: &HoldTerms, sources: &[Option<ChannelId>]) {
        let pools = terms.lines.pools();
        for (line, source) in pools.iter().zip(sources) {
            self.stock.bring_out(&line.pool, line.quantity, source.as_ref());
        }
        let of_seats = sources.get(pools.len()..).unwrap_or_default();
        for (seat, source) in terms.lines.seats().iter().zip(of_seats) {
            if source.is_some() {
                let was = self.seats.set(seat, SeatState::Free);
                assert_eq!(was, self.free_in(source.as_ref()), "a seat is in its channel");
            }
        }
    }

    /// Gives what a booking has given back, and is on sale by now, to the channels it came from.
    pub(super) fn give_back_to_channels(&mut self, terms: &HoldTerms) {
        let (pools, sources) = (terms.lines.pools(), &terms.sources);
        let home =
            |it: &Self, source: &Option<ChannelId>| it.channels.home(source.as_ref()).cloned();
        for (line, source) in pools.iter().zip(sources) {
            let home = home(self, source);
            self.stock.set_aside(&line.pool, line.quantity, home.as_ref());
        }
        let of_seats = sources.get(pools.len()..).unwrap_or_default();
        for (seat, source) in terms.lines.seats().iter().zip(of_seats) {
            if let Some(home) = home(self, source) {
                let allotted = self.free_in(Some(&home));
                self.seats.set(seat, allotted);
            }
        }
        self.channels.give_back(&terms.lines, sources);
    }
}
