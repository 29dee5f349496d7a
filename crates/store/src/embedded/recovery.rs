//! From the files back to the state: the newest snapshot that is whole, and what was decided after it.

use super::damage;
use super::error::OpenError;
use super::events::Events;
use super::reader::{JournalReader, ReadError};
use super::snapshot;
use crate::engine::{FeedEntry, Seq};
use onrush_core::Time;
use std::path::Path;
use std::sync::mpsc;
use std::thread;

/// Decisions passed between threads at a time.
const PAGE: usize = 4_096;

/// What the files add up to.
pub(super) struct Recovered {
    pub(super) events: Events,
    /// The last decision.
    pub(super) last: Seq,
    /// When the engine was last known to run. Time goes on from here and never back.
    pub(super) alive: Time,
    /// The last decision in the newest snapshot that is whole.
    pub(super) snapshot: Seq,
}

/// Reads everything in `dir`; writes nothing.
pub(super) fn recover(dir: &Path) -> Result<Recovered, OpenError> {
    let reader = JournalReader::open_alone(dir)?;
    let path = reader.path().to_owned();
    let damaged = |what: String| damage::report(&path, what);
    let unread = |error: ReadError| {
        if error.damaged {
            damage::report(&path, error.to_string())
        } else {
            OpenError::Sqlite { path: path.clone(), why: error.to_string() }
        }
    };
    if let Some(gap) = reader.gap().map_err(unread)? {
        return Err(damaged(gap));
    }
    let last = reader.last().map_err(unread)?;
    let alive = reader.alive().map_err(unread)?.unwrap_or_default();
    let (mut events, mut at, snapshot) = newest_snapshot(dir, last).map_err(damaged)?;
    replay(reader, snapshot, last, |entry| {
        at = at.max(entry.at);
        events.replay(&entry)
    })
    .map_err(|error| match error {
        ReplayError::Read(error) => unread(error),
        ReplayError::Rules(seq, why) => damaged(format!("decision {}: {why}", seq.0)),
    })?;
    events.schedule_all();
    Ok(Recovered { events, last, alive: alive.max(at), snapshot })
}

fn newest_snapshot(dir: &Path, last: Seq) -> Result<(Events, Time, Seq), String> {
    let files = snapshot::list(dir).map_err(|error| error.to_string())?;
    for file in files {
        if file.seq > last {
            // A journal that ends before a snapshot of it has lost what was answered for.
            return Err(format!(
                "it ends at decision {}, but {} knows decision {}",
                last.0,
                file.path.display(),
                file.seq.0
            ));
        }
        match snapshot::read(&file) {
            Ok(snapshot) => return Ok((snapshot.events, snapshot.at, snapshot.seq)),
            Err(why) => {
                tracing::warn!(path = %file.path.display(), why, "a snapshot is damaged and skipped");
            }
        }
    }
    Ok((Events::default(), Time::default(), Seq::default()))
}

/// Why the journal could not be replayed.
pub(super) enum ReplayError {
    /// A decision cannot be read.
    Read(ReadError),
    /// A decision cannot have been made in the state before it.
    Rules(Seq, String),
}

/// Passes the decisions after `after` up to `last` to `apply`; they are read and parsed on a thread of their own.
pub(super) fn replay(
    mut reader: JournalReader,
    after: Seq,
    last: Seq,
    mut apply: impl FnMut(FeedEntry) -> Result<(), String>,
) -> Result<(), ReplayError> {
    let (pages, inbox) = mpsc::sync_channel::<Vec<FeedEntry>>(8);
    thread::scope(|scope| {
        let parser = scope.spawn(move || -> Result<(), ReadError> {
            let mut cursor = after;
            while cursor < last {
                let limit = usize::try_from(last.0 - cursor.0).unwrap_or(PAGE).min(PAGE);
                let page = reader.page(cursor, limit)?;
                cursor = match page.last() {
                    Some(entry) => entry.seq,
                    None => {
                        let seq = Seq(cursor.0 + 1);
                        return Err(ReadError { seq, why: "missing".into(), damaged: true });
                    }
                };
                if pages.send(page).is_err() {
                    break;
                }
            }
            Ok(())
        });
        let mut applied = Ok(());
        'pages: for page in inbox {
            for entry in page {
                let seq = entry.seq;
                if let Err(why) = apply(entry) {
                    applied = Err(ReplayError::Rules(seq, why));
                    break 'pages;
                }
            }
        }
        let read = parser.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        applied?;
        read.map_err(ReplayError::Read)
    })
}
