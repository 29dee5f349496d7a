//! From the files back to the state: the newest snapshot that is whole, and what was decided after it.

use super::damage;
use super::database;
use super::error::OpenError;
use super::events::Events;
use super::filed;
use super::reader::{JournalReader, ReadError};
use super::snapshot::{self, Snapshot};
use super::witness::{self, Testimony};
use crate::engine::{FeedEntry, Seq};
use onrush_core::Time;
use onrush_sqlite::{Lock, Mark};
use std::path::Path;
use std::sync::mpsc;
use std::thread;

/// Decisions passed between threads at a time.
const PAGE: usize = 4_096;

/// What the journal remembers once a witness was written beside it.
pub(super) const WITNESSED: &str = "witnessed";

/// What the files add up to.
pub(super) struct Recovered {
    pub(super) events: Events,
    /// The last decision.
    pub(super) last: Seq,
    /// When it was made.
    pub(super) last_at: Option<Time>,
    /// When the engine was last known to run. Time goes on from here and never back.
    pub(super) alive: Time,
    /// The last decision in the newest snapshot that is whole.
    pub(super) snapshot: Seq,
}

/// Reads everything in `dir`; writes nothing. Snapshots of another past are removed if the journal
/// is to be accepted as it is. Of a journal that was found damaged before, every page and every
/// decision is read, whatever a snapshot has.
pub(super) fn recover(dir: &Path, accept: bool) -> Result<Recovered, OpenError> {
    let reader = JournalReader::open_alone(dir)?;
    let path = reader.path().to_owned();
    let damaged = |what: String| damage::report(&path, what);
    let unread = |error: ReadError| unread(&path, &error);
    if let Some(gap) = reader.gap().map_err(unread)? {
        return Err(damaged(gap));
    }
    let last = reader.last().map_err(unread)?;
    let last_at = reader.made_at(last).map_err(unread)?;
    if !accept {
        check_witness(dir, &reader, last)?;
    }
    let alive = reader.alive().map_err(unread)?.unwrap_or_default();
    let (mut events, mut at, snapshot) = newest_snapshot(dir, last, &reader, accept)?;
    let mut after = snapshot;
    if Mark::beside(&path).is_set() {
        tracing::info!(
            "the journal was found damaged before: it is looked through before anything else"
        );
        damage::look_at_pages(&path, reader.connection())?;
        (events, after) = (Events::default(), Seq::default());
    }
    replay(reader, after, last, |entry| {
        at = at.max(entry.at);
        events.replay(&entry)
    })
    .map_err(|error| match error {
        ReplayError::Read(error) => unread(error),
        ReplayError::Rules(seq, why) => damaged(format!("decision {}: {why}", seq.0)),
    })?;
    if let Some(event) = events.one_behind() {
        return Err(damaged(format!(
            "decisions of event {event} are in {}, and the one that archived it is missing",
            filed::name_of(event)
        )));
    }
    events.schedule_all();
    Ok(Recovered { events, last, last_at, alive: alive.max(at), snapshot })
}

/// Opens the journal in `dir` before an engine is opened there, if none runs and the witness has
/// seen no other journal. With `accept_restored`, what the witness has seen does not matter.
///
/// # Errors
/// See [`OpenError`].
pub fn look_before_start(dir: &Path, accept_restored: bool) -> Result<JournalReader, OpenError> {
    let reader = JournalReader::open_alone(dir)?;
    Lock::probe(&database::lock_in(dir))?;
    if !accept_restored {
        let last = reader.last().map_err(|error| unread(reader.path(), &error))?;
        check_witness(dir, &reader, last)?;
    }
    Ok(reader)
}

/// Holds the journal against what the witness has seen of it.
fn check_witness(dir: &Path, reader: &JournalReader, last: Seq) -> Result<(), OpenError> {
    let path = reader.path();
    let restored = |why: String| Err(OpenError::Restored { path: path.to_owned(), why });
    let unread = |error: ReadError| unread(path, &error);
    let says = match witness::read(dir) {
        Ok(Some(says)) => says,
        // Directories of earlier versions have none, nor has one whose first start was cut short.
        Ok(None) if reader.memo(WITNESSED).map_err(unread)?.is_none() => return Ok(()),
        Ok(None) => {
            return restored(
                "witness.json is missing beside it: only a part of the directory was copied".into(),
            );
        }
        Err(why) => return restored(why),
    };
    contradicts(reader, last, &says).map_err(unread)?.map_or(Ok(()), restored)
}

/// Why a journal that ends at `last` is not the one that the witness has seen.
pub(super) fn contradicts(
    reader: &JournalReader,
    last: Seq,
    says: &Testimony,
) -> Result<Option<String>, ReadError> {
    if reader.identity()?.as_ref() != Some(&says.journal) {
        return Ok(Some("witness.json is of another journal".into()));
    }
    let (Seq(ends), Seq(seen)) = (last, says.seq);
    if seen > ends {
        return Ok(Some(format!(
            "the journal ends at decision {ends}, and decision {seen} was seen in it: it is an older copy, \
             or lost its end with its log (engine.db-wal)"
        )));
    }
    let is_other = says.at.is_some() && reader.made_at(says.seq)? != says.at;
    Ok(is_other.then(|| {
        format!(
            "decision {seen} is not the one that was seen in the journal: it knows another past"
        )
    }))
}

fn newest_snapshot(
    dir: &Path,
    last: Seq,
    reader: &JournalReader,
    accept: bool,
) -> Result<(Events, Time, Seq), OpenError> {
    let files = snapshot::list(dir).map_err(OpenError::io(dir))?;
    let other = |why: String| OpenError::Restored { path: reader.path().to_owned(), why };
    for file in files {
        let name = file.path.display();
        if file.seq > last && !accept {
            // A journal that ends before a snapshot of it has lost what was answered for.
            let (Seq(last), Seq(seq)) = (last, file.seq);
            return Err(other(format!(
                "the journal ends at decision {last}, but {name} knows decision {seq}"
            )));
        }
        match snapshot::read(&file) {
            Ok(snapshot) if is_of(reader, &snapshot)? => {
                return Ok((snapshot.events, snapshot.at, snapshot.seq));
            }
            Ok(_) if accept => {
                tracing::warn!(path = %name, "a snapshot of another past is removed");
                std::fs::remove_file(&file.path).map_err(OpenError::io(&file.path))?;
            }
            Ok(_) => return Err(other(format!("{name} knows another past than the journal"))),
            // The next start would take it for what the journal has lost.
            Err(why) if file.seq > last => {
                tracing::warn!(path = %name, why, "a damaged snapshot of another past is removed");
                std::fs::remove_file(&file.path).map_err(OpenError::io(&file.path))?;
            }
            Err(why) => {
                tracing::warn!(path = %name, why, "a snapshot is damaged and skipped");
            }
        }
    }
    Ok((Events::default(), Time::default(), Seq::default()))
}

/// Whether a snapshot was made from this journal: one that lost its end and grew again has other
/// decisions under the same numbers, and later ones.
fn is_of(reader: &JournalReader, snapshot: &Snapshot) -> Result<bool, OpenError> {
    let made_at = reader.made_at(snapshot.seq).map_err(|error| unread(reader.path(), &error))?;
    Ok(made_at.is_some_and(|made_at| made_at <= snapshot.at))
}

fn unread(path: &Path, error: &ReadError) -> OpenError {
    if error.damaged {
        damage::report(path, error.to_string())
    } else {
        OpenError::Sqlite { path: path.to_owned(), why: error.to_string() }
    }
}

/// Why the journal could not be replayed.
pub(super) enum ReplayError {
    /// A decision cannot be read.
    Read(ReadError),
    /// A decision cannot have been made in the state before it.
    Rules(Seq, String),
}

/// Passes the decisions after `after` up to `last` to `apply`; they are read and parsed on a thread
/// of their own.
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
