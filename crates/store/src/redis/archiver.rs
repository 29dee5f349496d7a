//! From each event's stream into the archive.
//!
//! ```text
//! any answer of a script ─► its number is above what is archived
//!    └─► a task for the event, on every node that noticed
//!           └─► the one with the lease reads the stream, archives, trims
//! ```
//!
//! What Redis decided otherwise than the archive has it, under numbers that the archive knows, came
//! from a replica that had not received everything when it became the master. It is not archived:
//! the event gets another epoch, and is rebuilt from what the archive has. Where the archive has nothing
//! of the event at all, Redis has the only copy: that is told of, and Redis is left as it is.
//!
//! The lease only spares the work of doing the same twice: archiving is idempotent, and a node
//! whose caller waits does not wait for another's lease. A task ends once nothing has happened for
//! a while; whoever hears of the event next starts one, so that decisions of a node that died are
//! archived by the others.

use super::archive::{ArchiveError, ToArchive};
use super::head::{Head, differ};
use super::known::KnownEvent;
use super::node::Node;
use super::stream::{self, Streamed};
use crate::engine::{FeedEntry, Seq};
use onrush_core::Change;
use onrush_core::ids::EventId;
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
/// How long a node that cannot read a stream leaves it to others.
const YIELDS: Duration = Duration::from_secs(5);
/// How long somebody who waits leaves it to the node that has the lease.
const PATIENCE: Duration = Duration::from_millis(30);

/// Why the stream was not archived.
#[derive(Debug)]
enum Obstacle {
    /// The event was, or is being, rebuilt: its stream does not count, or is not all there.
    Superseded,
    /// The archive has other decisions than the stream: the event has to be rebuilt.
    Diverged { epoch: u64 },
    /// Redis or the archive cannot be used now.
    Unavailable(String),
    /// A decision is missing between the archive and the stream.
    Gap { archived: Seq, found: Seq },
    /// What stands in the stream is not readable.
    Unreadable(String),
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
        owner.spawn(async move {
            let _fallen = Fallen(Arc::clone(&known));
            Archiver { node, known, trimmed: Seq::default() }.run().await;
        });
    }
}

/// Says of an event whose archiver panics that nobody archives it: then the next decision has another
/// begin. Whoever ends in order has said so already.
struct Fallen(Arc<KnownEvent>);

impl Drop for Fallen {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.tasks().archiving = false;
        }
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
                    archiver.meet(&obstacle).await;
                }
            }
            if timeout(RETRY, known.wait_archived(head)).await.is_ok() {
                return;
            }
        }
    };
    if timeout(limit, settled).await.is_err() {
        return false;
    }
    match is_archived(node, known, head).await {
        Ok(is_archived) => is_archived,
        Err(error) => {
            tracing::warn!(%error, event = %known.event, "the archive cannot be asked for a mark");
            false
        }
    }
}

/// Whether an event that is archived as far as `head` is so with this very decision.
async fn is_archived(
    node: &Arc<Node>,
    known: &Arc<KnownEvent>,
    head: Head,
) -> Result<bool, ArchiveError> {
    // In a later epoch nobody knows whether a decision of this one was archived before the event was rebuilt.
    if known.archived().epoch != head.epoch {
        return Ok(false);
    }
    let mark = match known.archived_mark(head.epoch, head.seq) {
        Some(mark) => mark,
        None => {
            let before = Seq(head.seq.0.saturating_sub(1));
            let page = node.archive.read_event(known.event.clone(), before, 1).await?;
            let found = page.first().filter(|archived| archived.entry.seq == head.seq);
            let Some(found) = found else { return Ok(false) };
            found.mark
        }
    };
    let is_other = differ(mark, head.mark);
    if is_other {
        diverged(node, known, head.epoch).await;
    }
    Ok(!is_other)
}

/// Ends an epoch in which Redis and the archive have come to differ, and has the event rebuilt, unless
/// there is nothing to rebuild it from.
async fn diverged(node: &Arc<Node>, known: &Arc<KnownEvent>, epoch: u64) {
    let event = &known.event;
    let begun = match node.archive.head(event.clone()).await {
        Ok(head) if head.seq == Seq::default() => {
            archive_lost_all(known, head);
            return;
        }
        Ok(_) => begin_after(node, event, epoch).await,
        Err(error) => Err(error),
    };
    match begun {
        Ok(_) => tracing::error!(
            %event,
            "Redis goes on from an older state than the archive's, as after a failover to a replica \
             that lagged behind: what it decided since is lost"
        ),
        // Somebody else has found it out.
        Err(ArchiveError::Superseded) => {}
        Err(error) => {
            tracing::warn!(%event, %error, "the archive and Redis differ; tried again");
            return;
        }
    }
    look_up(node, known).await;
    node.lost(known);
}

/// Tells that the archive has lost all that it had of an event. From then on this node goes by what is
/// there: what the stream has from its first decision on is archived again, and less is a gap.
fn archive_lost_all(known: &KnownEvent, head: Head) {
    tracing::error!(
        event = %known.event,
        "the archive has nothing of the event any more, which cannot be rebuilt: Redis has all that is \
         left of it, and stays as it is"
    );
    if head.epoch <= known.archived().epoch {
        known.archive_is_back_at(head);
    }
}

/// Begins an epoch that is higher than this one, unless somebody else has. An archive that lost its end
/// may have lost epochs with it: these begin again, and nothing is decided in them. Gives the new epoch
/// and the last decision that counts.
pub(super) async fn begin_after(
    node: &Node,
    event: &EventId,
    epoch: u64,
) -> Result<Head, ArchiveError> {
    let mut last = epoch;
    loop {
        last = match node.archive.begin_epoch(event.clone(), last).await {
            Ok(begun) if begun.epoch > epoch => return Ok(begun),
            Ok(begun) => begun.epoch,
            Err(ArchiveError::Superseded) => {
                let head = node.archive.head(event.clone()).await?;
                if head.epoch > epoch {
                    return Err(ArchiveError::Superseded);
                }
                head.epoch
            }
            Err(error) => return Err(error),
        };
    }
}

/// How far the archive has come, as it says itself.
async fn look_up(node: &Node, known: &KnownEvent) {
    match node.archive.head(known.event.clone()).await {
        Ok(head) => {
            known.saw_archived(head);
            known.saw_marks(head.epoch, [(head.seq, head.mark)]);
        }
        Err(error) => tracing::warn!(%error, "the archive cannot be asked how far it is"),
    }
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
        // A node of a later version may read what this one cannot: it gets the lease meanwhile.
        let mut yields_until: Option<Instant> = None;
        loop {
            let renew = leased_at
                .is_none_or(|at| at.elapsed() >= Duration::from_millis(u64::from(LEASE_MS / 3)));
            if renew && yields_until.is_none_or(|until| Instant::now() >= until) {
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
                        self.meet(&obstacle).await;
                        if let Obstacle::Unreadable(_) = obstacle {
                            yields_until = Some(Instant::now() + YIELDS);
                            leased_at = None;
                            self.release(&lease).await;
                        }
                        RETRY
                    }
                }
            } else {
                // Somebody else archives; how far they came is all there is to find out.
                look_up(&self.node, &self.known).await;
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
        if leased_at.is_some() {
            self.release(&lease).await;
        }
    }

    async fn release(&self, lease: &str) {
        if let Err(error) = self.node.archive.release(lease.to_owned()).await {
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
            let expected = Seq(self.known.archived().seq.0 + 1);
            let page = stream::read(&self.node.client, &self.known, expected, PAGE).await;
            let (mut entries, unreadable) = stream::readable(page.map_err(unavailable)?);
            let read = entries.len();
            if let Some(first) = entries.first()
                && first.entry.seq != expected
            {
                // Another node may have archived, and trimmed, in between.
                look_up(&self.node, &self.known).await;
                let after = self.known.archived().seq;
                entries.retain(|read| read.entry.seq > after);
                if let Some(first) = entries.first()
                    && first.entry.seq.0 != after.0 + 1
                {
                    return Err(Obstacle::Gap { archived: after, found: first.entry.seq });
                }
            }
            let (Some(first), Some(last)) = (entries.first(), entries.last()) else {
                if let Some(why) = unreadable {
                    return Err(Obstacle::Unreadable(why));
                }
                if self.known.head() > self.known.archived() {
                    // Another node archived it, and cleared the stream away or began another epoch.
                    look_up(&self.node, &self.known).await;
                }
                return Ok(archived);
            };
            let epoch = first.epoch;
            if last.epoch != epoch {
                return Err(Obstacle::Superseded);
            }
            let head = Head { epoch, seq: last.entry.seq, mark: last.mark };
            archived += entries.len();
            let marks: Vec<_> = entries.iter().map(|read| (read.entry.seq, read.mark)).collect();
            let what = ToArchive {
                event: self.known.event.clone(),
                epoch,
                before: first.before,
                decisions: entries.into_iter().map(Streamed::into_entry).collect(),
            };
            let creates = |entry: &&FeedEntry| entry.changes.iter().any(Change::creates_event);
            let created = what.decisions.iter().map(|decision| &decision.entry).find(creates);
            if let Some(created) = created {
                self.node.list_event(&self.known.event, created.at).await.map_err(unavailable)?;
            }
            match self.node.archive.append(what).await {
                Ok(()) => {}
                Err(ArchiveError::Superseded) => return Err(Obstacle::Superseded),
                // What it lost is appended again from the stream.
                Err(ArchiveError::Diverged) if self.archive_lost_its_end().await? => continue,
                Err(ArchiveError::Diverged) => return Err(Obstacle::Diverged { epoch }),
                Err(ArchiveError::Unavailable(why)) => return Err(Obstacle::Unavailable(why)),
                Err(ArchiveError::Unreadable(why)) => return Err(Obstacle::Unreadable(why)),
            }
            self.known.saw_marks(epoch, marks);
            self.known.saw_archived(head);
            self.trim(head.seq).await?;
            if read < PAGE && unreadable.is_none() {
                return Ok(archived);
            }
        }
    }

    /// Whether the archive has lost decisions that it had, as after a failover to a standby that lagged
    /// behind, and the stream still has them. From then on this node goes by what is there.
    async fn archive_lost_its_end(&self) -> Result<bool, Obstacle> {
        let head = self.node.archive.head(self.known.event.clone()).await;
        let head = head.map_err(|error| Obstacle::Unavailable(error.to_string()))?;
        let known = self.known.archived();
        // With its end it may have lost where this epoch began.
        if head.epoch > known.epoch || head.seq >= known.seq {
            return Ok(false);
        }
        let next = Seq(head.seq.0 + 1);
        let page = stream::read(&self.node.client, &self.known, next, 1).await;
        let first = page.map_err(unavailable)?.into_iter().next();
        let is_there = first.and_then(Result::ok).is_some_and(|read| {
            let goes_on = !differ(read.before, head.mark);
            read.entry.seq == next && read.epoch == known.epoch && goes_on
        });
        if is_there {
            let (event, Seq(had), Seq(has)) = (&self.known.event, known.seq, head.seq);
            tracing::error!(%event, had, has, "the archive lost decisions; they are archived again");
            self.known.archive_is_back_at(head);
        }
        Ok(is_there)
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

    /// Tells of an obstacle, and does what can be done about it.
    async fn meet(&self, obstacle: &Obstacle) {
        let event = &self.known.event;
        match obstacle {
            Obstacle::Superseded => {
                tracing::info!(%event, "the event's stream is of an older epoch");
                look_up(&self.node, &self.known).await;
            }
            Obstacle::Diverged { epoch } => diverged(&self.node, &self.known, *epoch).await,
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

fn unavailable(error: super::client::ClientError) -> Obstacle {
    Obstacle::Unavailable(error.to_string())
}
