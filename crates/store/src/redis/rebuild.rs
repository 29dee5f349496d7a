//! An event whose latest decisions Redis has lost is made again from the archive.
//!
//! ```text
//! a script says "lost" ─► shut the event ─► archive what its stream still has
//!                          (one node, by a lease)                  │
//!                                   replay the archive through the rules ─► begin another epoch
//!                                                                                   │
//!             open it ◄─ write all keys ◄─ replay what was archived meanwhile ◄─────┘
//! ```
//!
//! While it is shut, its meta hash has numbers below all others, and every script of every node
//! answers that it is lost. Each write is fenced by the new epoch: a node that was thought dead
//! cannot write into what another has built. The numbers go on after the last archived decision;
//! heads are compared by epoch first, so that no node mistakes the new ones for the lost ones.
//!
//! An event that the archive has nothing of stays open (`lua/rebuild/shut.lua`): Redis has the only copy.

use super::archive::{ArchiveError, ToArchive};
use super::archiver;
use super::client::ClientError;
use super::head::Head;
use super::known::KnownEvent;
use super::layout::Layout;
use super::node::Node;
use super::stream::{self, Streamed};
use super::writing::Words;
use crate::engine::{FeedEntry, Seq};
use onrush_core::ids::EventId;
use onrush_core::{Event, Time};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::sleep;

/// A script for a server that may have no memory left: what it had is written there again, and nothing
/// can be sold, confirmed or given back before.
macro_rules! for_full_server {
    ($path:literal) => {
        concat!("#!lua flags=allow-oom\n", include_str!($path))
    };
}

const SHUT: &str = for_full_server!("../../lua/rebuild/shut.lua");
const CLEAR: &str = for_full_server!("../../lua/rebuild/clear.lua");
const WRITE: &str = for_full_server!("../../lua/rebuild/write.lua");

/// How long the lease lasts; renewed after a third of it.
const LEASE_MS: u32 = 6_000;
/// Decisions read at once.
const PAGE: usize = 1_000;
/// Commands on their way to Redis at once.
const AT_ONCE: usize = 32;
/// How long somebody waits who cannot go on now: at first, and at most, as what stands in the way may
/// stay there until somebody does something about it.
const RETRY: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(3));

/// What stands in the way where Redis has an event, or had it until it was shut, and the archive has
/// nothing of it.
const NOT_ARCHIVED: &str = "the archive has nothing of it, and its stream does not begin with its first \
                            decision: the archive has to be restored (docs/operating.md)";

/// Why an event is not rebuilt yet.
#[derive(Debug)]
pub(super) enum Obstacle {
    /// Another node rebuilds it.
    Elsewhere,
    /// Redis or the archive cannot be used now.
    Unavailable(String),
    /// The archive's decisions do not add up.
    Broken(String),
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Elsewhere => f.write_str("another node rebuilds it"),
            Self::Unavailable(why) | Self::Broken(why) => f.write_str(why),
        }
    }
}

impl From<ArchiveError> for Obstacle {
    fn from(error: ArchiveError) -> Self {
        match error {
            ArchiveError::Superseded => Self::Elsewhere,
            ArchiveError::Diverged | ArchiveError::Unavailable(_) | ArchiveError::Unreadable(_) => {
                Self::Unavailable(error.to_string())
            }
        }
    }
}

impl From<ClientError> for Obstacle {
    fn from(error: ClientError) -> Self {
        Self::Unavailable(error.to_string())
    }
}

/// Sees to it that the event is rebuilt, by this node or another.
pub(super) fn start(node: &Arc<Node>, known: &Arc<KnownEvent>) {
    let mut tasks = known.tasks();
    if tasks.rebuilding || node.is_stopping() {
        return;
    }
    tracing::error!(event = %known.event, "the event lost decisions and is being rebuilt");
    tasks.rebuilding = true;
    let (node, known) = (Arc::clone(node), Arc::clone(known));
    tokio::spawn(async move {
        let known = Rebuilding(known);
        let known = &known.0;
        let begin = Instant::now();
        let event = known.event.clone();
        let (mut pause, mut told) = (RETRY.0, String::new());
        while !node.is_stopping() {
            match (Rebuilder { node: &node, known, renewed: Instant::now() }).run().await {
                Ok(head) => {
                    let (took_ms, Seq(seq)) = (begin.elapsed().as_millis(), head.seq);
                    tracing::warn!(%event, epoch = head.epoch, seq, took_ms, "the event is rebuilt");
                    break;
                }
                Err(Obstacle::Elsewhere) => pause = RETRY.0,
                Err(obstacle) => {
                    pause = longer(pause);
                    // It is said once, however often it is tried in vain.
                    let obstacle = obstacle.to_string();
                    if obstacle != told {
                        tracing::error!(%event, obstacle, "the event is not rebuilt yet");
                        told = obstacle;
                    }
                }
            }
            tokio::select! {
                () = sleep(pause) => {}
                () = node.stopping() => {}
            }
        }
    });
}

/// How long to wait after another attempt in vain.
fn longer(pause: Duration) -> Duration {
    (pause * 2).min(RETRY.1)
}

/// An event that this node rebuilds until this is dropped, by a panic too: then the next who needs
/// it begins anew.
struct Rebuilding(Arc<KnownEvent>);

impl Drop for Rebuilding {
    fn drop(&mut self) {
        self.0.tasks().rebuilding = false;
    }
}

/// One attempt.
struct Rebuilder<'a> {
    node: &'a Arc<Node>,
    known: &'a Arc<KnownEvent>,
    renewed: Instant,
}

/// What the archive's decisions add up to, as far as they were read.
struct Replayed {
    event: Event,
    last: Seq,
    /// When the last one was decided.
    at: Time,
}

/// What the script that shuts an event found.
enum Shut {
    /// It was there.
    Now,
    /// It is shut, and nothing of it was there.
    Nothing,
    /// The archive has nothing of it, and the stream not all: it stays open.
    Kept,
    /// It is as far as is known.
    Fine(Head),
}

impl Rebuilder<'_> {
    fn event(&self) -> &EventId {
        &self.known.event
    }

    fn lease(&self) -> String {
        format!("rebuild:{}", self.event())
    }

    async fn run(&mut self) -> Result<Head, Obstacle> {
        if let Some(head) = self.rebuilt_elsewhere().await? {
            return Ok(head);
        }
        if self.node.archive.lease(self.lease(), LEASE_MS).await?.is_none() {
            return Err(Obstacle::Elsewhere);
        }
        let result = self.run_with_lease().await;
        // What cannot be given back now ends by itself.
        drop(self.node.archive.release(self.lease()).await);
        result
    }

    /// How far the event is, if another node has rebuilt it.
    async fn rebuilt_elsewhere(&self) -> Result<Option<Head>, Obstacle> {
        let mut command = redis::cmd("HMGET");
        command.arg(self.known.keys.meta()).arg("epoch").arg("seq").arg("mark");
        let answer = self.node.client.command(&command).await?;
        let found: Vec<Option<String>> = redis::from_redis_value(answer)
            .map_err(|error| Obstacle::Unavailable(error.to_string()))?;
        let text = |nth: usize| found.get(nth)?.as_deref();
        let number = |nth: usize| text(nth)?.parse::<u64>().ok();
        let (Some(epoch), Some(seq)) = (number(0), number(1)) else { return Ok(None) };
        let mark = text(2).and_then(|mark| mark.parse().ok());
        let head = Head { epoch, seq: Seq(seq), mark };
        let known = self.known.head();
        if head >= known && !head.contradicts(&known) && !self.is_older().await? {
            self.known.saw(head);
            return Ok(Some(head));
        }
        Ok(None)
    }

    /// Whether an older version added its seats, and did not write which are side by side.
    async fn is_older(&self) -> Result<bool, Obstacle> {
        let mut seats = redis::cmd("EXISTS");
        seats.arg(self.known.keys.seats());
        let mut segments = redis::cmd("EXISTS");
        segments.arg(self.known.keys.segments());
        let has_seats = self.node.client.command(&seats).await? != redis::Value::Int(0);
        Ok(has_seats && self.node.client.command(&segments).await? == redis::Value::Int(0))
    }

    async fn run_with_lease(&mut self) -> Result<Head, Obstacle> {
        let archived = self.node.archive.head(self.event().clone()).await?;
        let wanted = self.known.head().max(archived);
        let was_there = match self.shut(wanted, archived).await? {
            Shut::Now => true,
            Shut::Nothing => false,
            Shut::Kept => return Err(Obstacle::Broken(NOT_ARCHIVED.to_owned())),
            Shut::Fine(head) => {
                self.known.adopt(head);
                return Ok(head);
            }
        };
        self.archive_rest(archived).await?;
        let last = self.node.archive.head(self.event().clone()).await?;
        if last.seq == Seq::default() {
            if was_there {
                return Err(Obstacle::Broken(NOT_ARCHIVED.to_owned()));
            }
            // Not even its creation was archived: it is as if it had never been.
            let mut gone = redis::cmd("DEL");
            self.node.client.command(gone.arg(self.known.keys.meta())).await?;
            self.known.forget();
            return Ok(Head::default());
        }
        // Only what can be replayed is worth another epoch: each ends what others have under way.
        let event = Event::new(self.event().clone());
        let mut replayed = Replayed { event, last: Seq::default(), at: Time(0) };
        self.replay(&mut replayed, last.seq).await?;
        // Nodes may know of one that the archive has lost. Whoever has begun a later one meanwhile
        // rebuilds the event.
        let head = archiver::begin_after(self.node, self.event(), wanted.epoch).await?;
        // From now on nobody archives anything else.
        self.replay(&mut replayed, head.seq).await?;
        let Replayed { event, last, at } = replayed;
        if last > head.seq {
            return Err(Obstacle::Unavailable("the archive lost decisions meanwhile".to_owned()));
        }
        self.write(event, head, at).await?;
        self.node.list_event(self.event(), at).await?;
        self.known.saw_archived(head);
        self.node.wakes().wake(self.event());
        Ok(head)
    }

    /// Keeps the lease, or gives up: somebody else may have it by now.
    async fn renew(&mut self) -> Result<(), Obstacle> {
        if self.renewed.elapsed() < Duration::from_millis(u64::from(LEASE_MS / 3)) {
            return Ok(());
        }
        self.renewed = Instant::now();
        let lease = self.node.archive.lease(self.lease(), LEASE_MS).await?;
        lease.map(drop).ok_or(Obstacle::Elsewhere)
    }

    async fn shut(&self, wanted: Head, archived: Head) -> Result<Shut, Obstacle> {
        let mut command = redis::cmd("EVAL");
        let keys = &self.known.keys;
        command.arg(SHUT).arg(4).arg(keys.meta()).arg(keys.seats()).arg(keys.segments());
        command.arg(keys.feed()).arg(wanted.epoch).arg(wanted.seq.0).arg(wanted.mark_text());
        let is_nothing = archived.seq == Seq::default();
        command.arg(if is_nothing { archived.epoch.to_string() } else { String::new() });
        let answer = self.node.client.command(&command).await?;
        let answer: Vec<String> = redis::from_redis_value(answer)
            .map_err(|error| Obstacle::Unavailable(error.to_string()))?;
        let number = |nth: usize| answer.get(nth).and_then(|text| text.parse::<u64>().ok());
        match (number(1), number(2)) {
            (Some(epoch), Some(seq)) => {
                let mark = answer.get(3).and_then(|mark| mark.parse().ok());
                Ok(Shut::Fine(Head { epoch, seq: Seq(seq), mark }))
            }
            _ => match answer.first().map(String::as_str) {
                Some("nothing") => Ok(Shut::Nothing),
                Some("kept") => Ok(Shut::Kept),
                _ => Ok(Shut::Now),
            },
        }
    }

    /// Archives decisions that Redis still has and the archive has not: some were answered.
    ///
    /// Only if the stream goes on exactly where the archive ends: after a loss nodes may have
    /// decided otherwise under numbers that the archive knows. Decisions without marks are
    /// compared as they are. A later epoch than the archive's goes on there if the archive has lost
    /// what that epoch began with.
    async fn archive_rest(&mut self, archived: Head) -> Result<(), Obstacle> {
        let (mut after, mut of_first) = (archived.seq, None);
        if after > Seq::default() && !self.goes_on_from(archived).await? {
            return Ok(());
        }
        loop {
            let page = self.stream_from(Seq(after.0 + 1), PAGE).await?;
            let (Some(first), Some(last)) = (page.first(), page.last()) else { return Ok(()) };
            let (epoch, before) = (first.epoch, first.before);
            let goes_on = (after.0 + 1..).zip(&page).all(|(seq, read)| read.entry.seq.0 == seq);
            let is_other = *of_first.get_or_insert(epoch) != epoch;
            if !goes_on || is_other || epoch < archived.epoch {
                return Ok(());
            }
            after = last.entry.seq;
            let decisions = page.into_iter().map(Streamed::into_entry).collect();
            let what = ToArchive { event: self.event().clone(), epoch, before, decisions };
            match self.node.archive.append(what).await {
                Err(ArchiveError::Diverged) => return Ok(()),
                other => other?,
            }
            self.renew().await?;
        }
    }

    /// Whether the stream's next decision followed the archive's last one.
    async fn goes_on_from(&self, archived: Head) -> Result<bool, Obstacle> {
        let next = self.stream_from(Seq(archived.seq.0 + 1), 1).await?;
        let before = next.first().and_then(|next| next.before);
        if let (Some(before), Some(mark)) = (before, archived.mark) {
            return Ok(before == mark);
        }
        let ours = self.stream_from(archived.seq, 1).await?;
        let last = self.archived_after(Seq(archived.seq.0 - 1), 1).await?;
        Ok(last.first().is_some_and(|last| ours.first().is_some_and(|ours| ours.entry == *last)))
    }

    async fn archived_after(&self, after: Seq, limit: usize) -> Result<Vec<FeedEntry>, Obstacle> {
        let page = self.node.archive.read_event(self.event().clone(), after, limit).await?;
        Ok(page.into_iter().map(|archived| archived.entry).collect())
    }

    /// Decisions in the stream from this one on, as far as they are of one epoch. One that cannot be
    /// read is no end: somebody may have been answered by it, and another node may read it.
    async fn stream_from(&self, from: Seq, limit: usize) -> Result<Vec<Streamed>, Obstacle> {
        let page = stream::read(&self.node.client, self.known, from, limit).await?;
        let (mut page, unreadable) = stream::readable(page);
        let epoch = page.first().map(|first| first.epoch);
        let of_one = page.iter().take_while(|read| Some(read.epoch) == epoch).count();
        match unreadable {
            Some(why) if of_one == page.len() => Err(Obstacle::Unavailable(format!(
                "its stream cannot be read: {why}; a node of the version that wrote it rebuilds the \
                 event; without one, XDEL the entry: it and all after it are given up"
            ))),
            _ => {
                page.truncate(of_one);
                Ok(page)
            }
        }
    }

    /// Goes on through the archive's decisions, to this one at least.
    async fn replay(&mut self, replayed: &mut Replayed, to: Seq) -> Result<(), Obstacle> {
        while replayed.last < to {
            let page = self.archived_after(replayed.last, PAGE).await?;
            let Some(newest) = page.last() else {
                return Err(Obstacle::Broken(format!(
                    "the archive ends at {} and not at {}",
                    replayed.last.0, to.0
                )));
            };
            (replayed.last, replayed.at) = (newest.seq, newest.at);
            replay_page(&mut replayed.event, &page).map_err(Obstacle::Broken)?;
            self.renew().await?;
            tokio::task::yield_now().await;
        }
        Ok(())
    }

    /// Writes all of the event's keys and opens it.
    async fn write(&mut self, event: Event, head: Head, at: Time) -> Result<(), Obstacle> {
        let (layout, commands) = self.lay_out(event).await?;
        let keys = &self.known.keys;
        let alive = self.alive(at).await?;
        let token = head.epoch.to_string();
        let mut clear = redis::cmd("EVAL");
        clear.arg(CLEAR).arg(keys.all().len());
        for key in keys.all() {
            clear.arg(key);
        }
        if self.node.client.command(clear.arg(&token)).await? != redis::Value::Int(1) {
            return Err(Obstacle::Elsewhere);
        }
        let mut before = 0;
        for some in commands.chunks(AT_ONCE) {
            self.write_fenced(some, before, &token).await?;
            before += some.len();
            self.renew().await?;
        }
        self.write_fenced(&[layout.meta_command(keys, head, alive)], before, &token).await
    }

    /// Where everything goes, and the commands for it. That takes seconds for a large event, on a thread
    /// of its own, while the lease is kept.
    async fn lay_out(&mut self, event: Event) -> Result<(Layout, Vec<Words>), Obstacle> {
        let known = Arc::clone(self.known);
        let mut laid_out = tokio::task::spawn_blocking(move || {
            guarded(|| {
                let layout = Layout::of(&event);
                let commands = layout.commands(&known.event, &known.keys);
                (layout, commands)
            })
        });
        loop {
            tokio::select! {
                laid_out = &mut laid_out => {
                    let laid_out = laid_out.unwrap_or_else(|error| Err(error.to_string()));
                    return laid_out.map_err(Obstacle::Broken);
                }
                () = sleep(Duration::from_millis(u64::from(LEASE_MS / 3))) => self.renew().await?,
            }
        }
    }

    /// When the event was last run, as far as can be told: what lasts is moved on by the time since.
    async fn alive(&self, at: Time) -> Result<Time, Obstacle> {
        let mut command = redis::cmd("HGET");
        command.arg(self.known.keys.meta()).arg("alive");
        let answer = self.node.client.command(&command).await?;
        let kept: Option<i64> = redis::from_redis_value(answer)
            .map_err(|error| Obstacle::Unavailable(error.to_string()))?;
        Ok(kept.map_or(at, |kept| at.max(Time(kept))))
    }

    /// Writes some commands, of which as many were written `before`.
    async fn write_fenced(
        &self,
        commands: &[Words],
        before: usize,
        token: &str,
    ) -> Result<(), Obstacle> {
        let mut pipe = redis::pipe();
        for (before, command) in (before..).zip(commands) {
            let of_meta = command[1] == self.known.keys.meta();
            let call = pipe.cmd("EVAL").arg(WRITE);
            // A key stands in the list once.
            if of_meta {
                call.arg(1).arg(self.known.keys.meta());
            } else {
                call.arg(2).arg(self.known.keys.meta()).arg(&command[1]);
            }
            call.arg(token).arg(before).arg(command);
        }
        let answers = self.node.client.pipeline(&pipe).await?;
        match answers.into_iter().find(|answer| *answer != redis::Value::Int(1)) {
            None => Ok(()),
            Some(redis::Value::Int(2)) => Err(Obstacle::Unavailable(
                "Redis lost a part of what was written, as after another failover".to_owned(),
            )),
            Some(_) => Err(Obstacle::Elsewhere),
        }
    }
}

/// Applies decisions from the archive; what contradicts the state is told as a sentence.
pub(super) fn replay_page(event: &mut Event, page: &[FeedEntry]) -> Result<(), String> {
    for entry in page {
        let evolve = || entry.changes.iter().for_each(|change| event.evolve(entry.at, change));
        guarded(evolve).map_err(|why| {
            format!("decision {} contradicts what was before: {why}", entry.seq.0)
        })?;
    }
    Ok(())
}

/// Turns a panic of the rules, which is how they meet what contradicts their state, into a sentence.
pub(super) fn guarded<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|panic| {
        let why = panic.downcast_ref::<String>().map(String::as_str);
        let why = why.or_else(|| panic.downcast_ref::<&str>().copied());
        why.unwrap_or("no reason given").to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_in_vain_come_ever_later_up_to_a_limit() {
        let pauses = std::iter::successors(Some(RETRY.0), |pause| Some(longer(*pause)));
        let pauses: Vec<_> = pauses.take(9).collect();
        assert!(pauses.is_sorted() && pauses[1] > pauses[0], "{pauses:?}");
        assert_eq!(pauses.last(), Some(&RETRY.1));
    }
}
