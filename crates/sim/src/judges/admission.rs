//! The order of admission: nobody before somebody who was ahead and eligible.
//!
//! Before a draw everybody who takes part is level; who is ahead of whom among them the oracle says.

use crate::asked::{Asked, Deal};
use crate::judge::{Judge, Verdict};
use onrush_core::change::{QueueChange, SaleChange, SetupChange, VisitorChange};
use onrush_core::ids::{PlaceId, UserId};
use onrush_core::{Change, Time};
use std::collections::BTreeMap;

/// Follows everyone who waits, by number.
#[derive(Debug, Default)]
pub(super) struct AdmissionJudge {
    waiting: BTreeMap<u32, (PlaceId, UserId)>,
    inside: Vec<UserId>,
    capacity: Option<u32>,
    outflow_per_min: Option<u32>,
    admitted: Vec<Time>,
    entrants_to: u32,
    is_drawn: bool,
    is_open: bool,
}

impl AdmissionJudge {
    fn number_of(&self, place: PlaceId) -> Result<u32, String> {
        let found = self.waiting.iter().find(|(_, (other, _))| *other == place);
        found.map(|(number, _)| *number).ok_or(format!("place {place} does not wait"))
    }

    fn admit(&mut self, at: Time, place: PlaceId, user: &UserId) -> Verdict {
        if !self.is_open {
            return Err(format!("{place} is admitted while the sale is not open"));
        }
        let number = self.number_of(place)?;
        if self.inside.contains(user) {
            return Err(format!("{user} is admitted, and is in the room already"));
        }
        let level = self.is_drawn && number <= self.entrants_to;
        for (ahead, (other, whose)) in self.waiting.range(..number) {
            let both_drawn = level && *ahead <= self.entrants_to;
            if !both_drawn && !self.inside.contains(whose) {
                return Err(format!("{place} ({number}) is admitted before {other} ({ahead})"));
            }
        }
        self.waiting.remove(&number);
        self.inside.push(user.clone());
        let most = self.capacity.map_or(usize::MAX, |capacity| capacity as usize);
        if self.inside.len() > most {
            return Err(format!("{} are in the room, and {most} may be", self.inside.len()));
        }
        self.count_outflow(at)
    }

    /// In any minute there are no more admissions than may be, and one second's worth.
    fn count_outflow(&mut self, at: Time) -> Verdict {
        let Some(per_min) = self.outflow_per_min else { return Ok(()) };
        self.admitted.push(at);
        self.admitted.retain(|before| at.since_ms(*before) < 60_000);
        let most = u64::from(per_min) + u64::from(per_min.div_ceil(60)) + 1;
        if self.admitted.len() as u64 > most {
            let admitted = self.admitted.len();
            return Err(format!("{admitted} are admitted within a minute, {per_min} may be"));
        }
        Ok(())
    }

    fn queue(&mut self, at: Time, change: &QueueChange) -> Verdict {
        match change {
            QueueChange::PlaceTaken { place, user, number } => {
                let last = self.waiting.last_key_value();
                if last.is_some_and(|(last, _)| last >= number) {
                    return Err(format!("place {place} has number {number}, which is not new"));
                }
                self.waiting.insert(*number, (*place, user.clone()));
            }
            QueueChange::PlaceLeft { place, .. } => {
                let number = self.number_of(*place)?;
                self.waiting.remove(&number);
            }
            QueueChange::PrequeueClosed { .. } => {
                self.entrants_to = self.waiting.last_key_value().map_or(0, |(last, _)| *last);
            }
            QueueChange::Admitted { place, user, .. } => self.admit(at, *place, user)?,
            QueueChange::PlaceSeen { place, .. } => drop(self.number_of(*place)?),
        }
        Ok(())
    }
}

impl Judge for AdmissionJudge {
    fn name(&self) -> &'static str {
        "admission"
    }

    fn committed(&mut self, asked: &Asked) -> Verdict {
        let Deal::Command { changes, .. } = &asked.deal else { return Ok(()) };
        for change in changes {
            match change {
                Change::Queue(change) => self.queue(asked.at, change)?,
                Change::Visitor(VisitorChange::SlotFreed { user, .. }) => {
                    let before = self.inside.len();
                    self.inside.retain(|other| other != user);
                    if self.inside.len() + 1 != before {
                        return Err(format!("{user} frees a slot and has none"));
                    }
                }
                Change::Sale(SaleChange::SaleOpened { seed, .. }) => {
                    self.is_drawn = seed.is_some();
                    self.is_open = true;
                }
                Change::Sale(SaleChange::SaleResumed) => self.is_open = true,
                Change::Sale(
                    SaleChange::SalePaused
                    | SaleChange::SaleClosed
                    | SaleChange::EventArchived { .. },
                ) => self.is_open = false,
                Change::Setup(
                    SetupChange::EventCreated { settings }
                    | SetupChange::SettingsChanged { settings },
                ) => {
                    let room = settings.room.as_ref();
                    self.capacity = room.map(|room| room.capacity);
                    let outflow = room.and_then(|room| room.outflow_per_min);
                    if outflow != self.outflow_per_min {
                        self.outflow_per_min = outflow;
                        self.admitted.clear();
                    }
                }
                Change::Setup(
                    SetupChange::PoolAdded { .. }
                    | SetupChange::CapacityAdjusted { .. }
                    | SetupChange::PriceChanged { .. }
                    | SetupChange::TypesSet { .. }
                    | SetupChange::ChannelSet { .. }
                    | SetupChange::UnitsAllotted { .. }
                    | SetupChange::ChannelReleased { .. }
                    | SetupChange::SeatsAdded { .. }
                    | SetupChange::UnitsBlocked { .. }
                    | SetupChange::UnitsUnblocked { .. },
                )
                | Change::Sale(SaleChange::PrequeueOpened | SaleChange::Resumed { .. })
                | Change::Visitor(
                    VisitorChange::Arrived { .. }
                    | VisitorChange::SessionEnded { .. }
                    | VisitorChange::VisitorRemoved { .. }
                    | VisitorChange::VisitorUnbanned { .. },
                )
                | Change::Hold(_)
                | Change::Booking(_)
                | Change::Claim(_) => {}
            }
        }
        Ok(())
    }
}
