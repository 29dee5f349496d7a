//! Channels (allotments): stock that is set aside for those who buy through one of them.
//!
//! Units that are allotted to a channel are off sale to everybody else, as blocked ones are, and count
//! as such. A hold takes them from the channels its visitor may use; what it gives back goes to the
//! channel it came from, or to where that channel's stock went when it was released.

use crate::ids::ChannelId;
use crate::lines::Lines;
use crate::settings::Digest;
use crate::time::Time;
use serde::{Deserialize, Serialize};

/// When a channel's stock goes to another one, or on sale to everybody.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedRelease {
    /// When.
    pub at: Time,
    /// To which channel; `None` is to everybody.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub into: Option<ChannelId>,
}

/// A channel as the organiser sets it up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChannelSpec {
    /// Its id.
    pub channel: ChannelId,
    /// Units that may be held and sold through it at a time; `None` is all that is allotted to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota: Option<u32>,
    /// SHA-256 of the codes that let a visitor use it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub codes: Vec<Digest>,
    /// Whether those who buy through it come through the waiting room: then people are let in to what is
    /// free in it, too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub queued: bool,
    /// When it is released by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release: Option<PlannedRelease>,
}

/// Where the stock of a channel went for good.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Released {
    /// When.
    pub at: Time,
    /// To which channel; `None` is to everybody.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub into: Option<ChannelId>,
}

/// A channel and what is sold through it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChannelView {
    /// As it was set up.
    #[serde(flatten)]
    pub spec: ChannelSpec,
    /// Units of it that are held or sold.
    pub taken: u32,
    /// Where its stock went, if it was released.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub released: Option<Released>,
}

impl ChannelView {
    /// Units that may still be taken through it, as far as its quota goes.
    #[must_use]
    pub fn left(&self) -> Option<u32> {
        self.spec.quota.map(|quota| quota.saturating_sub(self.taken))
    }
}

/// From which channel each line of a hold is, pools' and then seats': nothing if all are from the
/// stock that is for everybody.
pub type Sources = Vec<Option<ChannelId>>;

/// The channels of one event, in the order in which they were added.
#[derive(Debug, Default)]
pub(crate) struct Channels {
    channels: Vec<ChannelView>,
}

impl Channels {
    pub(crate) fn iter(&self) -> std::slice::Iter<'_, ChannelView> {
        self.channels.iter()
    }

    pub(crate) fn get(&self, channel: &ChannelId) -> Option<&ChannelView> {
        self.channels.iter().find(|known| known.spec.channel == *channel)
    }

    /// The number of a channel that is known to exist, from 0.
    pub(crate) fn number(&self, channel: &ChannelId) -> u8 {
        let number = self.channels.iter().position(|known| known.spec.channel == *channel);
        number.expect("changes name only channels that exist") as u8
    }

    /// The channel of this number.
    pub(crate) fn id(&self, number: u8) -> ChannelId {
        self.channels[usize::from(number)].spec.channel.clone()
    }

    /// Those whose buyers come through the waiting room, with their numbers.
    pub(crate) fn queued(&self) -> impl Iterator<Item = (u8, &ChannelView)> {
        let open = (0..).zip(&self.channels).filter(|(_, channel)| channel.released.is_none());
        open.filter(|(_, channel)| channel.spec.queued)
    }

    /// Where units of this channel are now: its own stock, that of the channel into which it was
    /// released, or everybody's.
    pub(crate) fn home<'a>(&'a self, channel: Option<&'a ChannelId>) -> Option<&'a ChannelId> {
        let mut home = channel?;
        while let Some(Released { into, .. }) = &self.get(home)?.released {
            home = into.as_ref()?;
        }
        Some(home)
    }

    /// The next release to come, and of what; of equal times the first by id.
    pub(crate) fn next_release(&self) -> Option<(Time, &ChannelSpec)> {
        let planned = self.channels.iter().filter(|channel| channel.released.is_none());
        let planned = planned.filter_map(|it| Some((it.spec.release.as_ref()?.at, &it.spec)));
        planned.min_by_key(|(at, spec)| (*at, &spec.channel))
    }

    /// Adds a channel, or changes what it is.
    pub(crate) fn set(&mut self, spec: &ChannelSpec) {
        match self.channels.iter_mut().find(|known| known.spec.channel == spec.channel) {
            Some(known) => known.spec = spec.clone(),
            None => {
                let spec = spec.clone();
                self.channels.push(ChannelView { spec, taken: 0, released: None });
            }
        }
    }

    pub(crate) fn restore(&mut self, channel: ChannelView) {
        self.channels.push(channel);
    }

    /// Takes note that a channel's stock went elsewhere, with what is sold of it.
    pub(crate) fn release(&mut self, channel: &ChannelId, released: Released) {
        let taken = std::mem::take(&mut self.change(channel).taken);
        let home = self.home(released.into.as_ref()).cloned();
        self.change(channel).released = Some(released);
        if let Some(home) = home {
            self.change(&home).taken += taken;
        }
    }

    /// Takes note that lines from these sources are taken.
    pub(crate) fn take(&mut self, lines: &Lines, sources: &[Option<ChannelId>]) {
        self.count(lines, sources, |taken, units| taken.checked_add(units));
    }

    /// Takes note that they are given back.
    pub(crate) fn give_back(&mut self, lines: &Lines, sources: &[Option<ChannelId>]) {
        self.count(lines, sources, |taken, units| taken.checked_sub(units));
    }

    fn count(
        &mut self,
        lines: &Lines,
        sources: &[Option<ChannelId>],
        count: impl Fn(u32, u32) -> Option<u32>,
    ) {
        for (source, units) in sources.iter().zip(units_of(lines)) {
            if let Some(home) = self.home(source.as_ref()).cloned() {
                let taken = &mut self.change(&home).taken;
                *taken = count(*taken, units).expect("what is given back was taken");
            }
        }
    }

    fn change(&mut self, channel: &ChannelId) -> &mut ChannelView {
        let mut channels = self.channels.iter_mut();
        let found = channels.find(|known| known.spec.channel == *channel);
        found.expect("changes name only channels that exist")
    }
}

/// The units of each line, pools' and then seats'.
pub(crate) fn units_of(lines: &Lines) -> impl Iterator<Item = u32> {
    let pools = lines.pools().iter().map(|line| line.quantity);
    pools.chain(lines.seats().iter().map(|_| 1))
}
