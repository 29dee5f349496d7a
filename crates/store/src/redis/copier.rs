//! Keeps a copy of an event up.
//!
//! ```text
//! archive ─► all that is archived ─┐
//!                                  ├─► copy: as far as Redis was when it was looked at
//! stream  ─► what came since ──────┘   looked at a few times in each second that it may be old
//! ```
//!
//! One script tells how far the event is, at which time, and what was decided since: of one moment,
//! and under the same guards as any other question. Decisions are chained by their marks, so that a
//! copy of another history is noticed; it is thrown away, and made anew.

use super::copy::{EventCopy, Fresh, Unfit};
use super::head::{Head, differ};
use super::node::Node;
use super::scripts;
use super::stream::{self, Streamed};
use super::wire::{Call, Outcome};
use crate::engine::{Failure, FeedEntry, Seq};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::spawn_blocking;
use tokio::time::sleep;

/// Decisions read at once: from the archive, and from the stream.
const ARCHIVED: usize = 1_000;
const STREAMED: usize = 512;
/// Looks in the time that an answer may be old.
const LOOKS: u32 = 4;
/// Looks for nobody after which there are no more, until somebody asks.
const IDLE_LOOKS: u32 = 20;
/// How long nobody asks before a copy goes: that many times as long as an answer may be old.
const UNUSED_AGES: u32 = 180;
/// How long to wait for Redis or the archive.
const RETRY: Duration = Duration::from_millis(500);
/// When a copy that was of no use is tried again.
const LATER: Duration = Duration::from_secs(300);

/// Why there is a copy no more, or it is not kept up for now.
#[derive(Debug, PartialEq, Eq)]
enum End {
    /// Nobody asks, or the node stops.
    Unused,
    /// The sale is closed, or the event gone: hardly anybody waits for it.
    Over,
    /// Copies have more in them than they may.
    TooLarge,
    /// Redis goes on from another history, or the event is being rebuilt.
    Replaced,
    /// What was decided contradicts the rules.
    Broken(String),
    /// Redis or the archive cannot be used now.
    Unavailable(String),
}

impl End {
    /// How long no other copy is made.
    fn pause(&self) -> Duration {
        match self {
            Self::Unused => Duration::ZERO,
            Self::Replaced | Self::Unavailable(_) => RETRY,
            Self::Over | Self::Broken(_) => LATER,
            // It was read as far as it had room, which is not to be done often.
            Self::TooLarge => LATER * 12,
        }
    }
}

impl From<Unfit> for End {
    fn from(unfit: Unfit) -> Self {
        match unfit {
            Unfit::Other => Self::Replaced,
            Unfit::Broken(why) => Self::Broken(why),
        }
    }
}

/// Makes a copy and keeps it up until it is of no use any more.
pub(super) async fn run(node: Arc<Node>, copy: Arc<EventCopy>) {
    let event = copy.event.clone();
    let end = Copier { node: Arc::clone(&node), copy: Arc::clone(&copy) }.follow().await;
    match &end {
        End::Unused | End::Over => tracing::debug!(%event, ?end, "the copy goes"),
        End::Replaced | End::TooLarge => tracing::info!(%event, ?end, "the copy goes"),
        End::Broken(why) | End::Unavailable(why) => tracing::warn!(%event, why, "the copy goes"),
    }
    node.copies.end(&copy, end.pause());
    // Millions of records are not given back in a moment.
    drop(spawn_blocking(move || drop(copy)));
}

struct Copier {
    node: Arc<Node>,
    copy: Arc<EventCopy>,
}

/// What one look found.
struct Look {
    fresh: Fresh,
    head: Head,
    is_closed: bool,
    since: Vec<Streamed>,
}

impl Copier {
    async fn follow(&self) -> End {
        let mut idle = 0;
        loop {
            let mut pause = self.node.copies.age / LOOKS;
            match self.catch_up().await {
                Ok(()) => {}
                Err(End::Unavailable(why)) => {
                    tracing::debug!(event = %self.copy.event, why, "the copy is not kept up now");
                    pause = RETRY;
                }
                Err(end) => return end,
            }
            idle = if self.copy.was_asked() { 0 } else { idle + 1 };
            if idle < IDLE_LOOKS {
                tokio::select! {
                    () = sleep(pause) => {}
                    () = self.node.stopping() => {}
                }
            } else {
                tokio::select! {
                    () = self.copy.wanted.notified() => idle = 0,
                    () = sleep(self.node.copies.age * UNUSED_AGES) => return End::Unused,
                    () = self.node.stopping() => {}
                }
            }
            if self.copy.is_given_up() || self.node.is_stopping() {
                return End::Unused;
            }
        }
    }

    /// Reads until the copy is as far as Redis was at a look.
    async fn catch_up(&self) -> Result<(), End> {
        loop {
            let ours = self.copy.head();
            let Look { fresh, head, is_closed, since } = self.look(Seq(ours.seq.0 + 1)).await?;
            if is_closed {
                return Err(End::Over);
            }
            let is_other = ours.epoch != head.epoch && has_epoch(ours);
            if is_other || head.seq < ours.seq {
                return Err(End::Replaced);
            }
            if head.seq == ours.seq {
                self.copy.is_all(head, fresh)?;
                return Ok(());
            }
            let goes_on = since.first().is_some_and(|first| first.entry.seq.0 == ours.seq.0 + 1);
            if !goes_on {
                // It is archived, and trimmed; or of before the event was rebuilt.
                self.read_archive(ours).await?;
                continue;
            }
            let mut before = ours.mark;
            for next in &since {
                if next.epoch != head.epoch || differ(before, next.before) {
                    return Err(End::Replaced);
                }
                before = next.mark;
            }
            let last = since.last().map_or(ours.seq, |last| last.entry.seq);
            let last = Head { epoch: head.epoch, seq: last, mark: before };
            let is_all = last.seq == head.seq && !differ(last.mark, head.mark);
            if last.seq >= head.seq && !is_all {
                return Err(End::Replaced);
            }
            let page = since.into_iter().map(|next| next.entry).collect();
            self.apply(page, last, is_all.then_some(fresh)).await?;
            if is_all {
                return Ok(());
            }
        }
    }

    async fn look(&self, from: Seq) -> Result<Look, End> {
        // Before it is asked: how old the answer is counts from here.
        let asked = Instant::now();
        let args = vec![from.0.to_string(), STREAMED.to_string()];
        let call = Call::new(&scripts::QUERY_SINCE, args);
        match self.node.run(&self.copy.event, call).await {
            Ok(Outcome::Ok { head, at, more, reply: _ }) => {
                let fresh = Fresh { asked, at, age: self.node.copies.age };
                self.read_look(fresh, head, more).map_err(End::Broken)
            }
            Ok(outcome @ (Outcome::No { .. } | Outcome::Other(_))) => {
                tracing::debug!(event = %self.copy.event, ?outcome, "nothing to copy");
                Err(End::Over)
            }
            Err(Failure::Rebuilding { .. }) => Err(End::Replaced),
            Err(Failure::Refused(_)) => Err(End::Over),
            Err(
                failure @ (Failure::Busy { .. }
                | Failure::DiskLow
                | Failure::Unreachable
                | Failure::Faulty),
            ) => Err(End::Unavailable(failure.to_string())),
            Err(Failure::Stopped) => Err(End::Unused),
        }
    }

    fn read_look(&self, fresh: Fresh, head: Head, more: Vec<redis::Value>) -> Result<Look, String> {
        let [phase, since] = <[_; 2]>::try_from(more).map_err(|more| format!("{more:?}"))?;
        let phase: String = redis::from_redis_value(phase).map_err(|error| error.to_string())?;
        let since = stream::page(&self.copy.event, since)?.into_iter().collect::<Result<_, _>>()?;
        Ok(Look { fresh, head, is_closed: phase == "closed", since })
    }

    /// Applies what the archive has after this decision, which it has to have as well.
    async fn read_archive(&self, ours: Head) -> Result<(), End> {
        let (mut last, mut has_moved) = (ours, false);
        loop {
            let after = Seq(last.seq.0.saturating_sub(1));
            let read = self.node.archive.read_event(self.copy.event.clone(), after, ARCHIVED).await;
            let mut page = read.map_err(|error| End::Unavailable(error.to_string()))?;
            let is_last = page.len() < ARCHIVED;
            if last.seq > Seq::default() {
                let is_ours = page.first().is_some_and(|first| {
                    first.entry.seq == last.seq && !differ(first.mark, last.mark)
                });
                if !is_ours {
                    return Err(End::Replaced);
                }
                page.remove(0);
            }
            if page.iter().any(|archived| archived.entry.changes.is_empty()) {
                // Its history is in a file.
                return Err(End::Over);
            }
            let Some(newest) = page.last() else { break };
            last = Head { epoch: UNKNOWN, seq: newest.entry.seq, mark: newest.mark };
            let page = page.into_iter().map(|archived| archived.entry).collect();
            self.apply(page, last, None).await?;
            has_moved = true;
            if self.node.is_stopping() || self.copy.is_given_up() {
                return Err(End::Unused);
            }
            if is_last {
                break;
            }
        }
        // What is neither here nor there is on its way into the archive, or lost.
        let missing = || End::Unavailable("decisions are not archived yet".to_owned());
        has_moved.then_some(()).ok_or_else(missing)
    }

    /// Applies decisions beside the tasks of this process: an opening with a draw takes its time.
    async fn apply(
        &self,
        page: Vec<FeedEntry>,
        last: Head,
        fresh: Option<Fresh>,
    ) -> Result<(), End> {
        let copy = Arc::clone(&self.copy);
        let applied = spawn_blocking(move || copy.apply(&page, last, fresh)).await;
        applied.map_err(|error| End::Broken(error.to_string()))??;
        if self.node.copies.are_too_large() { Err(End::TooLarge) } else { Ok(()) }
    }
}

/// The epoch of what was read from the archive, which does not say it: no event is rebuilt so often.
const UNKNOWN: u64 = u64::MAX;

/// Whether it is known of which epoch a copy is that is so far.
fn has_epoch(head: Head) -> bool {
    head.epoch != UNKNOWN && head.seq > Seq::default()
}
