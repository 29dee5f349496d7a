//! How channels of an event changed, and what of a seat or a pool was in which.

use super::{Histories, History, Step, What, step};
use crate::broken::Broken;
use crate::json::ids::{IdText, TimeMs};
use onrush_core::change::SetupChange;
use onrush_core::ids::{ChannelId, EventId, PoolId, SeatId};
use onrush_core::spec::Reason;
use onrush_core::{Change, Time};
use onrush_store::FeedEntry;
use serde::Serialize;
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// What happened to channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChannelEvent {
    /// A channel was set up, or became another one.
    Set,
    /// Units moved.
    Allotted,
    /// All of a channel's stock went elsewhere for good.
    Released,
}

/// A change of channels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct ChannelChange {
    /// The decision's number in the feed.
    pub seq: u64,
    /// When it was decided.
    #[schema(value_type = TimeMs)]
    pub at: Time,
    /// What happened.
    pub what: ChannelEvent,
    /// The channel that was set up, released, or that units came from; missing where they were
    /// everybody's.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<IdText>, nullable = false)]
    pub channel: Option<ChannelId>,
    /// Where units went to; missing where that is everybody's stock.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<IdText>, nullable = false)]
    pub to: Option<ChannelId>,
    /// Units that moved, by pool.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(value_type = BTreeMap<String, u32>)]
    pub pools: BTreeMap<PoolId, u32>,
    /// Seats that moved.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<IdText>)]
    pub seats: Vec<SeatId>,
    /// Who did it; missing where a time had come that was said before.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, nullable = false)]
    pub by: Option<Box<str>>,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, nullable = false)]
    pub why: Option<Box<str>>,
}

impl ChannelChange {
    fn of(entry: &FeedEntry, change: &Change) -> Option<Self> {
        let Change::Setup(change) = change else { return None };
        let told = |what, channel: Option<&ChannelId>, reason: Option<&Reason>| Self {
            seq: entry.seq.0,
            at: entry.at,
            what,
            channel: channel.cloned(),
            to: None,
            pools: BTreeMap::new(),
            seats: Vec::new(),
            by: reason.map(|reason| reason.by.clone()),
            why: reason.map(|reason| reason.why.clone()),
        };
        match change {
            SetupChange::ChannelSet { spec, reason } => {
                Some(told(ChannelEvent::Set, Some(&spec.channel), Some(reason)))
            }
            SetupChange::UnitsAllotted { lines, from, to, reason } => {
                let pools = lines.pools().iter().map(|line| (line.pool.clone(), line.quantity));
                Some(Self {
                    to: to.clone(),
                    pools: pools.collect(),
                    seats: lines.seats().to_vec(),
                    ..told(ChannelEvent::Allotted, from.as_ref(), Some(reason))
                })
            }
            SetupChange::ChannelReleased { channel, into, reason } => Some(Self {
                to: into.clone(),
                ..told(ChannelEvent::Released, Some(channel), reason.as_ref())
            }),
            SetupChange::EventCreated { .. }
            | SetupChange::SettingsChanged { .. }
            | SetupChange::PoolAdded { .. }
            | SetupChange::CapacityAdjusted { .. }
            | SetupChange::SeatsAdded { .. }
            | SetupChange::PriceChanged { .. }
            | SetupChange::TypesSet { .. }
            | SetupChange::UnitsBlocked { .. }
            | SetupChange::UnitsUnblocked { .. } => None,
        }
    }
}

impl Histories {
    /// How channels changed up to now: the latest 500 changes, oldest first.
    ///
    /// # Errors
    /// The feed cannot be read.
    pub async fn of_channels(&self, event: &EventId) -> Result<Vec<ChannelChange>, Broken> {
        self.latest(event, ChannelChange::of).await
    }
}

impl History {
    /// Notes what a change of channels has to do with the subject.
    pub(super) fn note_channel(&mut self, entry: &FeedEntry, change: &SetupChange) {
        let (units, channel, reason) = match change {
            SetupChange::UnitsAllotted { lines, to, reason, .. } => {
                let Some(units) = self.subject.units_in(lines) else { return };
                (units, to, Some(reason))
            }
            SetupChange::ChannelReleased { channel, into, reason }
                if self.channels.contains(channel) =>
            {
                (None, into, reason.as_ref())
            }
            _ => return,
        };
        self.channels.extend(channel.clone());
        let about = Step { units, channel: channel.clone(), ..step(entry, What::Allotted) };
        self.add(match reason {
            Some(reason) => about.because(reason),
            None => about,
        });
    }
}
