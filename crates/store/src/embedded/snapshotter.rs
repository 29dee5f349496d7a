//! The thread that makes snapshots beside the sale: it works from the files alone, so the sale
//! never waits for it.

use super::events::Events;
use super::reader::{JournalReader, ReadError};
use super::shared::Shared;
use super::snapshot;
use crate::engine::Seq;
use onrush_core::Time;
use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, SyncSender};
use std::thread::{self, JoinHandle};

/// Decisions replayed between two looks at whether the engine closes.
const PAGE: usize = 1_024;
/// Batches of more decisions than this show a rush. A snapshot then waits: it would compete for the
/// processor.
const QUIET_BATCH: usize = 64;
/// For how many times the usual number of decisions it waits at most.
const RUSH_PATIENCE: u64 = 4;
/// The thread gives way to all others.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 10;

/// Tells the thread when a snapshot is due; the thread ends when this is dropped.
pub(super) struct Snapshotter {
    requests: SyncSender<Seq>,
    every: u64,
    requested: Cell<Seq>,
}

impl Snapshotter {
    /// Starts the thread. `last` is the decision of the newest snapshot there is.
    pub(super) fn start(
        dir: PathBuf,
        shared: Arc<Shared>,
        every: u64,
        last: Seq,
    ) -> std::io::Result<(Self, JoinHandle<()>)> {
        // Without a buffer a request is taken only by a thread that has nothing to do.
        let (requests, inbox) = mpsc::sync_channel(0);
        let thread = thread::Builder::new().name("onrush-snapshot".into()).spawn(move || {
            give_way();
            for target in inbox {
                match make(&dir, target, &shared) {
                    Ok(true) => shared.snapshot.store(target.0, Ordering::Release),
                    Ok(false) => {}
                    // The engine stops, and has said why.
                    Err(_) if shared.damage.get().is_some() => {}
                    Err(why) => {
                        tracing::warn!(why, "no snapshot could be made; the journal has everything")
                    }
                }
            }
        })?;
        Ok((Self { requests, every, requested: Cell::new(last) }, thread))
    }

    /// Asks for a snapshot if enough was decided since the last one was asked for; to be called
    /// after each batch.
    pub(super) fn committed(&self, committed: Seq, batch: usize) {
        let since = committed.0 - self.requested.get().0;
        let quiet = batch <= QUIET_BATCH || since >= self.every.saturating_mul(RUSH_PATIENCE);
        if since >= self.every && quiet && self.requests.try_send(committed).is_ok() {
            self.requested.set(committed);
        }
    }
}

/// Has the thread that calls it give way to all others. Elsewhere a priority is a whole process's, and
/// threads are alike.
#[cfg(target_os = "linux")]
fn give_way() {
    if let Err(error) =
        rustix::process::setpriority_process(Some(rustix::thread::gettid()), NICENESS)
    {
        tracing::debug!(%error, "the snapshot thread keeps its priority");
    }
}

#[cfg(not(target_os = "linux"))]
fn give_way() {}

/// Loads the newest snapshot, replays the journal up to `target`, and writes the next one; false if
/// there is no room for it, or the engine closed before that. A journal that turns out to be damaged
/// stops the engine.
///
/// # Errors
/// What stood in the way, as a sentence; also that there was room and, meanwhile, no more.
pub(super) fn make(dir: &Path, target: Seq, shared: &Shared) -> Result<bool, String> {
    if !snapshot::has_room(dir, &shared.space).map_err(|error| error.to_string())? {
        tracing::warn!("the disk has no room for a snapshot; the journal has everything");
        return Ok(false);
    }
    let (mut events, mut at, mut cursor) = base(dir, target)?;
    let unread = |error: ReadError| {
        shared.heard(&error);
        error.to_string()
    };
    let mut reader = JournalReader::open_own(dir).map_err(unread)?;
    while cursor < target {
        if shared.closing.load(Ordering::Relaxed) {
            return Ok(false);
        }
        let limit = usize::try_from(target.0 - cursor.0).unwrap_or(PAGE).min(PAGE);
        for entry in reader.committed_page(cursor, limit).map_err(unread)? {
            let replayed = events.replay(&entry);
            replayed.map_err(|why| unread(ReadError { seq: entry.seq, why, damaged: true }))?;
            (cursor, at) = (entry.seq, entry.at);
        }
    }
    let may_go_on = || snapshot::may_go_on(&shared.space);
    let file = snapshot::write(dir, target, at, &events, &may_go_on);
    let file = file.map_err(|error| error.to_string())?;
    tracing::debug!(path = %file.path.display(), "snapshot written");
    Ok(true)
}

fn base(dir: &Path, target: Seq) -> Result<(Events, Time, Seq), String> {
    let files = snapshot::list(dir).map_err(|error| error.to_string())?;
    for file in files.iter().filter(|file| file.seq <= target) {
        match snapshot::read(file) {
            Ok(snapshot) => return Ok((snapshot.events, snapshot.at, snapshot.seq)),
            Err(why) => {
                tracing::warn!(path = %file.path.display(), why, "a snapshot is damaged and skipped");
            }
        }
    }
    Ok((Events::default(), Time::default(), Seq::default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Also if it could not be made, for want of room for instance.
    #[test]
    fn a_snapshot_is_asked_for_again_after_as_many_decisions_and_not_at_once() {
        let (requests, inbox) = mpsc::sync_channel(9);
        let snapshotter = Snapshotter { requests, every: 10, requested: Cell::new(Seq(0)) };
        for seq in 1..=25 {
            snapshotter.committed(Seq(seq), 1);
        }
        drop(snapshotter);
        assert_eq!(inbox.into_iter().collect::<Vec<_>>(), [Seq(10), Seq(20)]);
    }
}
