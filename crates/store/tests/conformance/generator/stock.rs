//! What is off sale: blocked, or in channels, which are set up, filled, released, and used by those
//! who hold.

use super::Generator;
use crate::random::Random;
use crate::world::booking;
use onrush_core::Command;
use onrush_core::channels::{ChannelSpec, PlannedRelease};
use onrush_core::ids::{BookingId, ChannelId, UserId};
use onrush_core::lines::Lines;
use onrush_core::question::ChannelsNow;
use onrush_core::settings::Digest;

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

    /// A hold by somebody who may use some channels.
    pub(super) fn ask_hold(&mut self, booking: BookingId, user: UserId, lines: Lines) {
        let channels = self.some_channels();
        self.ask(Command::Hold { booking, user, lines, channels });
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
                    quota: *random.pick(&[None, None, None, Some(2), Some(5), Some(1_000_000_001)]),
                    queued: random.percent(40),
                    codes: vec![Digest([7; 32]); random.below(3) as usize],
                    release: random.percent(15).then_some(release),
                };
                self.ask(Command::SetChannel { spec, reason });
            }
            3 if self.random.percent(30) => {
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
