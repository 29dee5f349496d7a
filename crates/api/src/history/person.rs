//! What happened to a person, as far as the rules know: places in queues, sessions, claims, bans.

use super::Histories;
use crate::broken::Broken;
use crate::json::ids::{EventIdText, TimeMs};
use onrush_core::change::{ClaimChange, QueueChange, VisitorChange};
use onrush_core::ids::{ClaimId, EventId, UserId};
use onrush_core::{Change, Time};
use onrush_store::FeedEntry;
use serde::Serialize;
use std::collections::{BTreeSet, VecDeque};
use utoipa::ToSchema;

/// Traces that are told of one person; earlier ones are left out.
const MAX_TRACES: usize = 10_000;

/// One change that is about a person, beside what became of their bookings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = PersonTrace)]
pub struct Trace {
    /// The decision's number in the feed.
    pub seq: u64,
    /// When it was decided.
    #[schema(value_type = TimeMs)]
    pub at: Time,
    /// The event.
    #[schema(value_type = EventIdText)]
    pub event: EventId,
    /// What changed, as docs/design/journal.md explains it.
    #[schema(value_type = serde_json::Value)]
    pub change: Change,
}

impl Histories {
    /// What happened to these users up to now, over all events: the latest 10,000 traces, oldest
    /// first.
    ///
    /// # Errors
    /// The feed cannot be read.
    pub async fn of_users(&self, users: &BTreeSet<UserId>) -> Result<Vec<Trace>, Broken> {
        let mut person = Person { users, claims: BTreeSet::new(), traces: VecDeque::new() };
        if !users.is_empty() {
            self.read_all(|entry| person.note(entry)).await?;
        }
        Ok(person.traces.into())
    }
}

/// A person's traces as far as they were read.
struct Person<'a> {
    users: &'a BTreeSet<UserId>,
    /// Their claims: what becomes of one names it alone.
    claims: BTreeSet<ClaimId>,
    traces: VecDeque<Trace>,
}

impl Person<'_> {
    fn note(&mut self, entry: &FeedEntry) {
        for change in &entry.changes {
            if !self.is_about(change) {
                continue;
            }
            if self.traces.len() == MAX_TRACES {
                self.traces.pop_front();
            }
            let (seq, at, event) = (entry.seq.0, entry.at, entry.event.clone());
            self.traces.push_back(Trace { seq, at, event, change: change.clone() });
        }
    }

    fn is_about(&mut self, change: &Change) -> bool {
        match change {
            Change::Queue(change) => match change {
                QueueChange::PlaceTaken { user, .. }
                | QueueChange::PlaceSeen { user, .. }
                | QueueChange::PlaceLeft { user, .. }
                | QueueChange::Admitted { user, .. } => self.users.contains(user),
                QueueChange::PrequeueClosed { .. } => false,
            },
            Change::Visitor(change) => match change {
                VisitorChange::Arrived { user, .. }
                | VisitorChange::SessionEnded { user, .. }
                | VisitorChange::SlotFreed { user, .. }
                | VisitorChange::VisitorRemoved { user, .. }
                | VisitorChange::VisitorUnbanned { user, .. } => self.users.contains(user),
            },
            Change::Claim(change) => match change {
                ClaimChange::Claimed { claim, user, .. } => {
                    let is_theirs = self.users.contains(user);
                    if is_theirs {
                        self.claims.insert(claim.clone());
                    }
                    is_theirs
                }
                ClaimChange::Declaimed { claim, .. } => self.claims.contains(claim),
                // Once it is forgotten its id may be another's.
                ClaimChange::ClaimForgotten { claim } => self.claims.remove(claim),
                ClaimChange::ClaimedAdjusted { .. } => false,
            },
            // What their bookings are about the ledger knows.
            Change::Setup(_) | Change::Sale(_) | Change::Hold(_) | Change::Booking(_) => false,
        }
    }
}
