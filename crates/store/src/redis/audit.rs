//! Whether what Redis has is what the archive's decisions add up to, and is sound.

use super::RedisEngine;
use super::archive::ArchiveError;
use super::head::Head;
use super::keys::EventKeys;
use super::layout::Layout;
use super::node::Node;
use super::rebuild::{guarded, replay_page};
use super::rows::SeatSpecs;
use super::start;
use crate::engine::{Failure, FeedEntry, Seq};
use onrush_core::Event;
use onrush_core::ids::EventId;
use onrush_core::snapshot::{SnapshotRow, agree};
use std::collections::BTreeSet;
use std::time::Duration;
use tokio::time::sleep;

/// Decisions read at once.
const PAGE: usize = 1_000;
/// How often an event is looked at again that is being rebuilt, or whose last decisions are not archived yet.
const ATTEMPTS: u32 = 100;
/// How often it is looked at in vain before that is told of it: a connection that broke is made anew.
const FAILURES: u32 = 5;
const PAUSE: Duration = Duration::from_millis(50);
/// Differences told of one event at most.
const MOST_TOLD: usize = 20;

/// What an audit found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditReport {
    /// Events looked at.
    pub events: u64,
    /// Archived decisions replayed.
    pub decisions: u64,
    /// What is wrong, one sentence each; empty if nothing is.
    pub violations: Vec<String>,
}

impl RedisEngine {
    /// Looks at all events, also while they are on sale: stock is conserved, each seat has one
    /// owner, every deadline is there, and Redis' state is what the archived decisions add up to.
    ///
    /// An event that cannot be read has a sentence that says so, and the others are looked at.
    ///
    /// # Errors
    /// If Redis or the archive does not say which events there are, or goes away meanwhile.
    pub async fn audit(&self) -> Result<AuditReport, Failure> {
        let archived = self.node.archive.events().await.map_err(|error| without_archive(&error))?;
        let listed = self.node.known_events().await?;
        let mut report = AuditReport::default();
        for event in archived.iter().chain(&listed).cloned().collect::<BTreeSet<_>>() {
            let is_listed = listed.contains(&event);
            let audit = EventAudit { node: &self.node, keys: EventKeys::new(&event), event };
            audit.run(is_listed, &mut report).await?;
        }
        Ok(report)
    }
}

struct EventAudit<'a> {
    node: &'a Node,
    keys: EventKeys,
    event: EventId,
}

impl EventAudit<'_> {
    /// Adds what is wrong with the event.
    ///
    /// # Errors
    /// If Redis or the archive answers nobody any more.
    async fn run(&self, is_listed: bool, report: &mut AuditReport) -> Result<(), Failure> {
        report.events += 1;
        let mut found = Vec::new();
        match self.settled().await {
            Ok(settled) => {
                // One that was archived is taken out of the list.
                let is_over = settled.as_ref().is_some_and(|(layout, _)| layout.is_archived());
                if !is_listed && !is_over {
                    found.push("it is not in the list of events".to_owned());
                }
                let decisions = &mut report.decisions;
                match settled {
                    Some((layout, head)) => match self.replay(head.seq, decisions).await {
                        Ok(state) => compare(&layout, &state, &mut found),
                        Err(why) => {
                            self.reach().await?;
                            found.push(format!("the archive: {why}"));
                        }
                    },
                    None => found
                        .push("Redis and the archive do not come to the same decision".to_owned()),
                }
            }
            Err(why) => {
                self.reach().await?;
                found.push(format!("it cannot be read: {why}"));
            }
        }
        if found.len() > MOST_TOLD {
            let more = found.len() - MOST_TOLD;
            found.truncate(MOST_TOLD);
            found.push(format!("and {more} differences more"));
        }
        let event = &self.event;
        report.violations.extend(found.into_iter().map(|what| format!("event {event}: {what}")));
        Ok(())
    }

    /// Looks whether Redis and the archive answer at all: if not, all other events would be asked for in
    /// vain, one after the other.
    ///
    /// # Errors
    /// If one of them does not.
    async fn reach(&self) -> Result<(), Failure> {
        start::now(self.node).await?;
        match self.node.archive.head(self.event.clone()).await {
            Err(error @ ArchiveError::Unavailable(_)) => Err(without_archive(&error)),
            Ok(_)
            | Err(
                ArchiveError::Superseded | ArchiveError::Diverged | ArchiveError::Unreadable(_),
            ) => Ok(()),
        }
    }

    /// The state in Redis, once all of it is archived; `None` if that does not come about.
    async fn settled(&self) -> Result<Option<(Layout, Head)>, String> {
        let mut failures = 0;
        for _ in 0..ATTEMPTS {
            match self.settled_now().await {
                Ok(Some(settled)) => return Ok(Some(settled)),
                Ok(None) => {}
                Err(why) => {
                    failures += 1;
                    if failures == FAILURES {
                        return Err(why);
                    }
                }
            }
            sleep(PAUSE).await;
        }
        Ok(None)
    }

    /// The state in Redis, if all of it is archived.
    async fn settled_now(&self) -> Result<Option<(Layout, Head)>, String> {
        let layout = Layout::read(&self.node.client, &self.keys).await?;
        let head = layout.as_ref().and_then(Layout::head);
        let archived = self.node.archive.head(self.event.clone()).await.map_err(told)?;
        let is_settled = |head: &Head| {
            archived >= *head && archived.epoch == head.epoch && !archived.contradicts(head)
        };
        Ok(layout.zip(head.filter(is_settled)))
    }

    /// What the archived decisions up to this one add up to; what is in the way as a sentence.
    async fn replay(&self, last: Seq, decisions: &mut u64) -> Result<Event, String> {
        let mut state = Event::new(self.event.clone());
        let mut after = Seq::default();
        while after < last {
            let page = self.node.archive.read_event(self.event.clone(), after, PAGE).await;
            let page: Vec<FeedEntry> =
                page.map_err(told)?.into_iter().map(|archived| archived.entry).collect();
            let page: Vec<_> = page.into_iter().filter(|entry| entry.seq <= last).collect();
            let Some(newest) = page.last().map(|entry| entry.seq) else {
                return Err(format!("it ends at decision {} and Redis is at {}", after.0, last.0));
            };
            replay_page(&mut state, &page)?;
            *decisions += page.len() as u64;
            after = newest;
        }
        Ok(state)
    }
}

fn without_archive(error: &ArchiveError) -> Failure {
    tracing::error!(%error, "no audit without the archive");
    Failure::Unreachable
}

fn told(error: ArchiveError) -> String {
    error.to_string()
}

/// Tells what is wrong with the state in Redis, by the state that it should be.
fn compare(layout: &Layout, state: &Event, found: &mut Vec<String>) {
    if let Err(broken) = state.check() {
        found.extend(broken.into_iter().map(|what| format!("the archive's state: {what}")));
    }
    let rows: Vec<_> = state.snapshot().collect();
    let seats: SeatSpecs = rows
        .iter()
        .filter_map(|row| {
            if let SnapshotRow::Seat(row) = row {
                Some((row.spec.seat.clone(), row.spec.clone()))
            } else {
                None
            }
        })
        .collect();
    match layout.rows(&seats) {
        Ok(ours) => {
            if !agree(ours.iter().cloned(), rows.iter().cloned()) {
                found.push("its state is not what its decisions add up to".to_owned());
            }
            let restored = guarded(|| Event::restore(state.id().clone(), ours));
            match restored.and_then(|restored| restored) {
                Ok(restored) => found.extend(restored.check().err().into_iter().flatten()),
                Err(why) => found.push(format!("its state contradicts itself: {why}")),
            }
        }
        Err(why) => found.push(why),
    }
    found.extend(layout.differences(&Layout::of(state)));
}
