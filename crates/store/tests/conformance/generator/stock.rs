//! What is off sale: blocked, or in channels, which are set up, filled, released, and used by those
//! who hold.

use super::Generator;
use crate::random::Random;
use crate::world::booking;
use onrush_core::Command;
use onrush_core::channels::{ChannelSpec, PlannedRelease};
use onrush_core::ids::{BookingId, ChannelId, UserId};
use onrush_core::lines::Lines;
use onrush_core::question::{ChannelsNow, SeatsNow};
use onrush_core::settings::Digest;
use onrush_core::types::AskedTypes;

/// Channels that commands name; the last one is never set up.
const CHANNELS: [&str; 4] = ["fans", "box", "press", "nobody"];

fn channel(random: &mut Random) -> ChannelId {
    random.pick(&CHANNELS).parse().expect("an id")
}

fn known(random: &mut Random) -> ChannelId {
    random.pick(&CHANNELS[..3]).parse().expect("an id")
}

impl Generator {
    /// A booking's id: mostly one that was not used before.
    pub(super) fn new_booking(&mut self) -> BookingId {
        let is_known = self.random.percent(8);
        booking(if is_known { self.random.below(self.fresh[1] + 1) } else { self.fresh(1) })
    }

    /// Mostly any lines, and at times a few seats that are free in channels.
    pub(super) fn lines_to_hold(&mut self) -> Option<Lines> {
        let views = match self.random.percent(30) {
            true => self.truth.event.ask(self.truth.now(), SeatsNow).unwrap_or_default(),
            false => Vec::new(),
        };
        let mut seats: Vec<_> = views.iter().filter(|it| it.channel.is_some()).collect();
        if seats.is_empty() {
            return self.lines();
        }
        let first = self.random.below(seats.len() as u64) as usize;
        seats.rotate_left(first);
        let few = 1 + self.random.below(4) as usize;
        let seats = seats.iter().take(few).map(|it| it.seat.clone());
        Lines::new(Vec::new(), seats.collect()).ok()
    }

    /// A hold by somebody who may use some channels.
    pub(super) fn ask_hold(&mut self, booking: BookingId, user: UserId, lines: Lines) {
        let types = self.some_types(Some(&lines), 0);
        self.ask_hold_of(booking, user, lines, types);
    }

    /// The same with the types of the units.
    pub(super) fn ask_hold_of(
        &mut self,
        booking: BookingId,
        user: UserId,
        lines: Lines,
        types: AskedTypes,
    ) {
        let channels = self.some_channels();
        self.ask(Command::Hold { booking, user, lines, channels, types });
    }

    /// Mostly none; those that are there, and at times one that is not.
    pub(super) fn some_channels(&mut self) -> Vec<ChannelId> {
        let there = self.truth.event.ask(self.truth.now(), ChannelsNow).unwrap_or_default();
        if there.is_empty() || self.random.percent(40) {
            let is_wrong = self.random.percent(1);
            return is_wrong.then(|| channel(&mut self.random)).into_iter().collect();
        }
        let count = self.random.below(3) + 1;
        let some = (0..count).map(|_| self.random.pick(&there).spec.channel.clone());
        let mut some: Vec<_> = some.collect();
        if self.random.percent(3) {
            some.push(channel(&mut self.random));
        }
        some
    }

    pub(super) fn stock(&mut self) {
        if self.random.percent(40) {
            return self.channels();
        }
        let reason = if self.random.percent(85) { self.usual_reason() } else { self.reason() };
        if !self.blocked.is_empty() && self.random.percent(40) {
            let (lines, reason) = self.random.pick(&self.blocked).clone();
            self.ask(Command::Unblock { lines, reason });
            return;
        }
        let Some(lines) = self.lines() else { return };
        self.blocked.push((lines.clone(), reason.clone()));
        if self.random.percent(80) {
            self.ask(Command::Block { lines, reason });
        } else {
            self.ask(Command::Unblock { lines, reason });
        }
    }

    /// Some events have channels from the first, with something in them.
    pub(super) fn set_up_channels(&mut self) {
        if !self.random.percent(35) {
            return;
        }
        for name in &CHANNELS[..2] {
            let at = self.truth.now().plus_ms(*self.random.pick(&[60_000, 900_000]));
            let channel: ChannelId = name.parse().expect("an id");
            let spec = ChannelSpec {
                channel: channel.clone(),
                quota: *self.random.pick(&[None, Some(1), Some(1), Some(9)]),
                queued: self.random.percent(50),
                codes: Vec::new(),
                release: self.random.percent(15).then_some(PlannedRelease { at, into: None }),
            };
            let reason = self.usual_reason();
            self.ask(Command::SetChannel { spec, reason });
            for _ in 0..4 {
                let (Some(lines), reason) = (self.lines(), self.usual_reason()) else { continue };
                self.ask(Command::Allot { lines, from: None, to: Some(channel.clone()), reason });
            }
        }
    }

    fn channels(&mut self) {
        let reason = if self.random.percent(92) { self.usual_reason() } else { self.reason() };
        match self.random.below(12) {
            0..=2 => {
                let random = &mut self.random;
                let soon = self.truth.now().plus_ms(*random.pick(&[0, 1, 60_000, 3_600_000]));
                let into = random.percent(60).then(|| channel(random));
                let release = PlannedRelease { at: soon, into };
                let spec = ChannelSpec {
                    channel: known(random),
                    quota: *random.pick(&[
                        None,
                        None,
                        Some(1),
                        Some(1),
                        Some(3),
                        Some(1_000_000_001),
                    ]),
                    queued: random.percent(40),
                    codes: vec![Digest([7; 32]); random.below(3) as usize],
                    release: random.percent(15).then_some(release),
                };
                self.ask(Command::SetChannel { spec, reason });
            }
            3 if self.random.percent(60) => {
                let channel = channel(&mut self.random);
                let into = self.random.percent(60).then(|| known(&mut self.random));
                self.ask(Command::ReleaseChannel { channel, into, reason });
            }
            _ => {
                let Some(lines) = self.lines() else { return };
                let random = &mut self.random;
                let from = random.percent(25).then(|| known(random));
                let to = random
                    .percent(85)
                    .then(|| if random.percent(95) { known(random) } else { channel(random) });
                self.ask(Command::Allot { lines, from, to, reason });
            }
        }
    }
}
