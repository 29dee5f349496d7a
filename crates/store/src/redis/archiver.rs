//! From each event's stream into the archive.
//!
//! ```text
//! any answer of a script ─► its number is above what is archived
//!    └─► a task for the event, on every node that noticed
//!           └─► the one with the lease reads the stream, archives, trims
//! ```
//!
//! The lease only spares the work of doing the same twice: archiving is idempotent, and a node
//! whose caller waits does not wait for another's lease. A task ends once nothing has happened for
//! a while; whoever hears of the event next starts one, so that decisions of a node that died are
//! archived by the others.

use super::archive::{ArchiveError, ToArchive};
use super::known::KnownEvent;
use super::node::Node;
use super::wire::Head;
use crate::engine::{FeedEntry, Seq};
use onrush_core::{Change, Time};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::{sleep, timeout};

/// Decisions in one write to the archive.
const PAGE: usize = 512;
/// Archived decisions that stay in the stream, for people who look at it.
const KEPT: u64 = 1_000;
/// How much later than that the stream is trimmed, so that it is not done for each decision.
const TRIM_EVERY: u64 = 1_000;
/// How long a lease lasts; renewed after a third of it.
const LEASE_MS: u32 = 6_000;
/// How often a node with the lease looks at the stream without being told to: from, and once
/// nothing happens, to.
const LOOK_MS: (u64, u64) = (5, 500);
/// How long nothing happens before a task ends.
const LINGER: Duration = Duration::from_secs(10);
/// How long a task that cannot do its work waits.
const RETRY: Duration = Duration::from_millis(500);
/// How long somebody who waits leaves it to the node that has the lease.
const PATIENCE: Duration = Duration::from_millis(30);

/// Why the stream was not archived.
#[derive(Debug)]
enum Obstacle {
    /// The event was, or is being, rebuilt: its stream does not count, or is not all there.
    Superseded,
    /// Redis or the archive cannot be used now.
    Unavailable(String),
    /// A decision is missing between the archive and the stream.
    Gap { archived: Seq, found: Seq },
    /// What stands in the stream is not readable.
    Unreadable(String),
}

impl From<ArchiveError> for Obstacle {
    fn from(error: ArchiveError) -> Self {
        match error {
            ArchiveError::Superseded => Self::Superseded,
            ArchiveError::Unavailable(why) => Self::Unavailable(why),
        }
    }
}

/// Sees to it that the event's decisions are archived soon.
pub(super) fn wake(node: &Arc<Node>, known: &Arc<KnownEvent>) {
    if known.head() <= known.archived() {
        return;
    }
    known.decided.notify_one();
    let mut tasks = known.tasks();
    if !tasks.archiving && !node.is_stopping() {
        tasks.archiving = true;
        let (owner, known) = (node, Arc::clone(known));
        let node = Arc::clone(node);
        owner.spawn(async move { Archiver { node, known, trimmed: Seq::default() }.run().await });
    }
}

/// Waits until the event is archived as far as `head`; whether it was within `limit`.
pub(super) async fn settle(
    node: &Arc<Node>,
    known: &Arc<KnownEvent>,
    head: Head,
    limit: Duration,
) -> bool {
    let settled = async {
        if timeout(PATIENCE, known.wait_archived(head)).await.is_ok() {
            return;
        }
        let mut archiver =
            Archiver { node: Arc::clone(node), known: Arc::clone(known), trimmed: Seq(u64::MAX) };
        loop {
            {
                // Of all who wait here one reads the stream for the others.
                let _turn = known.turn.lock().await;
                if known.archived() >= head {
                    return;
                }
                if let Err(obstacle) = archiver.drain().await {
                    archiver.report(&obstacle);
                }
            }
            if timeout(RETRY, known.wait_archived(head)).await.is_ok() {
                return;
            }
        }
    };
    // In a later epoch nobody knows whether a decision of this one was archived before the event was rebuilt.
    timeout(limit, settled).await.is_ok() && known.archived().epoch == head.epoch
}

/// Archives one event.
struct Archiver {
    node: Arc<Node>,
    known: Arc<KnownEvent>,
    /// The stream has nothing below this any more; the highest number if somebody else trims it.
    trimmed: Seq,
}

impl Archiver {
    async fn run(mut self) {
        let lease = format!("archive:{}", self.known.event);
        let mut last_work = Instant::now();
        let mut look_ms = LOOK_MS.0;
        let mut leased_at: Option<Instant> = None;
        loop {
            let renew = leased_at
                .is_none_or(|at| at.elapsed() >= Duration::from_millis(u64::from(LEASE_MS / 3)));
            if renew {
                let asked_at = Instant::now();
                leased_at = match self.node.archive.lease(lease.clone(), LEASE_MS).await {
                    Ok(fence) => fence.map(|_| asked_at),
                    Err(error) => {
                        tracing::warn!(%error, event = %self.known.event, "no lease to archive");
                        None
                    }
                };
            }
            let pause = if leased_at.is_some() {
                match self.drain().await {
                    Ok(0) => {
                        look_ms = (look_ms * 2).min(LOOK_MS.1);
                        Duration::from_millis(look_ms)
                    }
                    Ok(_) => {
                        (last_work, look_ms) = (Instant::now(), LOOK_MS.0);
                        Duration::from_millis(look_ms)
                    }
                    Err(obstacle) => {
                        self.report(&obstacle);
                        RETRY
                    }
                }
            } else {
                // Somebody else archives; how far they came is all there is to find out.
                self.look_up().await;
                RETRY
            };
            if self.known.head() > self.known.archived() {
                last_work = Instant::now();
            } else if last_work.elapsed() >= LINGER && self.ended() {
                break;
            }
            if self.node.is_stopping() {
                break;
            }
            tokio::select! {
                // Whoever has no lease need not hurry.
                () = self.known.decided.notified(), if leased_at.is_some() => look_ms = LOOK_MS.0,
                () = sleep(pause) => {}
                () = self.node.stopping() => {}
            }
        }
        if leased_at.is_some()
            && let Err(error) = self.node.archive.release(lease).await
        {
            tracing::debug!(%error, "the lease ends by itself");
        }
    }

    /// Ends the task, unless there is something to archive after all.
    fn ended(&self) -> bool {
        let mut tasks = self.known.tasks();
        let idle = self.known.head() <= self.known.archived();
        if idle {
            tasks.archiving = false;
        }
        idle
    }

    /// Archives what is in the stream; how many decisions that were.
    async fn drain(&mut self) -> Result<usize, Obstacle> {
        let mut archived = 0;
        loop {
            let mut entries = self.read().await?;
            let read = entries.len();
            let expected = Seq(self.known.archived().seq.0 + 1);
            if let Some(first) = entries.first()
                && first.entry.seq != expected
            {
                // Another node may have archived, and trimmed, in between.
                self.look_up().await;
                let after = self.known.archived().seq;
                entries.retain(|read| read.entry.seq > after);
                if let Some(first) = entries.first()
                    && first.entry.seq.0 != after.0 + 1
                {
                    return Err(Obstacle::Gap { archived: after, found: first.entry.seq });
                }
            }
            let (Some(first), Some(last)) = (entries.first(), entries.last()) else {
                return Ok(archived);
            };
            let epoch = first.epoch;
            if last.epoch != epoch {
                return Err(Obstacle::Superseded);
            }
            let head = Head { epoch, seq: last.entry.seq };
            archived += entries.len();
            let what = ToArchive {
                event: self.known.event.clone(),
                epoch,
                entries: entries.into_iter().map(|read| read.entry).collect(),
            };
            let mut entries = what.entries.iter();
            let created = entries.find(|entry| entry.changes.iter().any(Change::creates_event));
            if let Some(created) = created {
                self.node.list_event(&self.known.event, created.at).await.map_err(unavailable)?;
            }
            match self.node.archive.append(what).await {
                Ok(()) => {}
                Err(ArchiveError::Superseded) => {
                    self.look_up().await;
                    return Err(Obstacle::Superseded);
                }
                Err(error) => return Err(error.into()),
            }
            self.known.saw_archived(head);
            self.trim(head.seq).await?;
            if read < PAGE {
                return Ok(archived);
            }
        }
    }

    /// How far the archive has come, as it says itself.
    async fn look_up(&self) {
        match self.node.archive.head(self.known.event.clone()).await {
            Ok(head) => self.known.saw_archived(Head::of(head)),
            Err(error) => tracing::warn!(%error, "the archive cannot be asked how far it is"),
        }
    }

    async fn read(&self) -> Result<Vec<Read>, Obstacle> {
        let mut command = redis::cmd("XRANGE");
        let after = self.known.archived().seq.0 + 1;
        command.arg(self.known.keys.feed()).arg(format!("{after}-0")).arg("+");
        command.arg("COUNT").arg(PAGE);
        let answer = self.node.client.command(&command).await.map_err(unavailable)?;
        let page: Vec<(String, Vec<String>)> = redis::from_redis_value(answer)
            .map_err(|error| Obstacle::Unreadable(error.to_string()))?;
        let entries =
            page.iter().map(|(id, fields)| self.entry(id, fields).map_err(Obstacle::Unreadable));
        entries.collect()
    }

    fn entry(&self, id: &str, fields: &[String]) -> Result<Read, String> {
        let seq = id.split('-').next().and_then(|seq| seq.parse().ok());
        let field = |name: &str| {
            let found = fields.chunks_exact(2).find(|pair| pair[0] == name);
            found.map(|pair| pair[1].as_str()).ok_or_else(|| format!("entry {id} has no {name}"))
        };
        let number = |text: &str| {
            text.parse::<i64>().map_err(|_| format!("entry {id} has {text} for a number"))
        };
        let changes: Vec<Change> =
            serde_json::from_str(field("c")?).map_err(|error| format!("entry {id}: {error}"))?;
        Ok(Read {
            epoch: u64::try_from(number(field("e")?)?).map_err(|_| format!("entry {id}: epoch"))?,
            entry: FeedEntry {
                seq: Seq(seq.ok_or_else(|| format!("entry {id} has no number"))?),
                at: Time(number(field("at")?)?),
                event: self.known.event.clone(),
                changes,
            },
        })
    }

    async fn trim(&mut self, archived: Seq) -> Result<(), Obstacle> {
        let below = archived.0.saturating_sub(KEPT);
        if below < self.trimmed.0.saturating_add(TRIM_EVERY) {
            return Ok(());
        }
        let mut command = redis::cmd("XTRIM");
        command.arg(self.known.keys.feed()).arg("MINID").arg(format!("{below}-0"));
        self.node.client.command(&command).await.map_err(unavailable)?;
        self.trimmed = Seq(below);
        Ok(())
    }

    fn report(&self, obstacle: &Obstacle) {
        let event = &self.known.event;
        match obstacle {
            Obstacle::Superseded => {
                tracing::info!(%event, "the event's stream is of an older epoch")
            }
            Obstacle::Unavailable(why) => tracing::warn!(%event, why, "the feed is archived later"),
            Obstacle::Gap { archived: Seq(archived), found: Seq(found) } => {
                tracing::error!(%event, archived, found, "decisions are missing in the stream");
            }
            Obstacle::Unreadable(why) => {
                tracing::error!(%event, why, "the event's stream cannot be read");
            }
        }
    }
}

/// A decision in the stream.
struct Read {
    epoch: u64,
    entry: FeedEntry,
}

fn unavailable(error: super::client::ClientError) -> Obstacle {
    Obstacle::Unavailable(error.to_string())
}
