//! Memory: no more is known than what the changes say is there.

use crate::asked::{Asked, Deal};
use crate::judge::{Judge, Verdict};
use crate::rules::Rules;
use onrush_core::change::{ClaimChange, HoldChange, QueueChange, SaleChange, VisitorChange};
use onrush_core::limits::ENDED_KNOWN_MS;
use onrush_core::snapshot::SnapshotRow;
use onrush_core::{Change, Time};
use std::collections::VecDeque;

/// Counts what comes and goes.
#[derive(Debug, Default)]
pub(super) struct MemoryJudge {
    places: i64,
    sessions: i64,
    holds: i64,
    claims: i64,
    bans: i64,
    /// When places went.
    gone: VecDeque<Time>,
}

impl MemoryJudge {
    fn count(&mut self, at: Time, change: &Change) {
        match change {
            // Nothing at all is known any more, whatever was.
            Change::Sale(SaleChange::EventArchived { .. }) => *self = Self::default(),
            Change::Queue(QueueChange::PlaceTaken { .. }) => self.places += 1,
            Change::Queue(QueueChange::PlaceLeft { .. }) => {
                self.places -= 1;
                self.gone.push_back(at);
            }
            Change::Queue(QueueChange::Admitted { .. }) => {
                self.places -= 1;
                self.sessions += 1;
            }
            Change::Visitor(VisitorChange::SlotFreed { .. }) => {
                self.sessions -= 1;
                self.gone.push_back(at);
            }
            Change::Visitor(VisitorChange::VisitorRemoved { banned, .. }) => {
                self.bans += i64::from(*banned);
            }
            Change::Visitor(VisitorChange::VisitorUnbanned { .. }) => self.bans -= 1,
            Change::Hold(HoldChange::HoldPlaced { .. }) => self.holds += 1,
            Change::Hold(HoldChange::HoldForgotten { .. }) => self.holds -= 1,
            Change::Claim(ClaimChange::Claimed { .. } | ClaimChange::ClaimedAdjusted { .. }) => {
                self.claims += 1;
            }
            Change::Claim(ClaimChange::ClaimForgotten { .. }) => self.claims -= 1,
            Change::Queue(QueueChange::PlaceSeen { .. } | QueueChange::PrequeueClosed { .. })
            | Change::Visitor(VisitorChange::Arrived { .. } | VisitorChange::SessionEnded { .. })
            | Change::Hold(
                HoldChange::HoldExtended { .. }
                | HoldChange::HoldReleased { .. }
                | HoldChange::HoldExpired { .. },
            )
            | Change::Claim(ClaimChange::Declaimed { .. })
            | Change::Setup(_)
            | Change::Sale(_)
            | Change::Booking(_) => {}
        }
        while self.gone.front().is_some_and(|gone| gone.plus_ms(ENDED_KNOWN_MS) <= at) {
            self.gone.pop_front();
        }
    }
}

impl Judge for MemoryJudge {
    fn name(&self) -> &'static str {
        "memory"
    }

    fn committed(&mut self, asked: &Asked) -> Verdict {
        if let Deal::Command { changes, .. } = &asked.deal {
            changes.iter().for_each(|change| self.count(asked.at, change));
        }
        Ok(())
    }

    fn audited(&mut self, _at: Time, rules: &Rules) -> Verdict {
        let mut counts = [0_i64; 6];
        for row in rules.snapshot() {
            let kind = match row {
                SnapshotRow::Event(_)
                | SnapshotRow::Channel(_)
                | SnapshotRow::Pool(_)
                | SnapshotRow::Category(_)
                | SnapshotRow::Types(_)
                | SnapshotRow::Seat(_)
                | SnapshotRow::Archived(_) => continue,
                SnapshotRow::Place(_) => 0,
                SnapshotRow::Session(_) => 1,
                SnapshotRow::Hold(_) => 2,
                SnapshotRow::Claim(_) => 3,
                SnapshotRow::Ban(_) => 4,
                SnapshotRow::Gone(_) => 5,
            };
            counts[kind] += 1;
        }
        let gone = i64::try_from(self.gone.len()).unwrap_or(i64::MAX);
        let expected = [self.places, self.sessions, self.holds, self.claims, self.bans, gone];
        if counts == expected {
            return Ok(());
        }
        Err(format!(
            "places, sessions, bookings, claims, bans and gone places are {counts:?}, and the \
             changes come to {expected:?}"
        ))
    }
}
