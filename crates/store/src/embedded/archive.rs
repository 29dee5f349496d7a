//! Archived events leave the journal: their decisions go into files that were read back, and the
//! space that their changes took is given back.
//!
//! For whoever has the directory to itself, because SQLite moves all of its pages for that. Each
//! step is durable before the next one begins, and each can be the last: what is left then is
//! whole, and doing it again finishes it.

use super::database;
use super::error::OpenError;
use super::filed::{self, BLANK};
use super::reader::to_sql;
use super::recovery::{self, Recovered};
use super::snapshot;
use super::witness;
use crate::archive_file::{
    ArchiveStep, ArchivedEvent, Draft, Kept, Origin, expect_end, line_of, name_of,
};
use crate::engine::Seq;
use onrush_core::Time;
use onrush_core::ids::EventId;
use onrush_sqlite::{Lock, log_of};
use rusqlite::{Connection, Statement};
use serde::Serialize;
use std::collections::HashMap;
use std::fs;
use std::path::Path;

/// What the journal remembers while space is still to be given back.
const TO_SHRINK: &str = "to_shrink";

/// What archiving has done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ArchiveReport {
    /// The events whose history went into files now.
    pub archived: Vec<ArchivedEvent>,
    /// Events whose history was in files before.
    pub before: usize,
    /// Events that were archived, and whose history stays in the journal for now: the ledger has
    /// not followed it to its end.
    pub not_followed: Vec<EventId>,
    /// The length of the journal's file before, with its log.
    pub journal_bytes_before: u64,
    /// The same now.
    pub journal_bytes: u64,
}

/// Why archiving has stopped. Everything is whole, and what was done is done.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// The directory cannot be used.
    #[error("{0}")]
    Open(OpenError),
    /// Something stands in the way, in a sentence.
    #[error("{0}")]
    InTheWay(String),
}

impl From<OpenError> for ArchiveError {
    fn from(error: OpenError) -> Self {
        Self::Open(error)
    }
}

/// Writes the decisions of all archived events in the data directory `dir` into files, compares
/// these with the journal, takes the changes out of the journal, and gives their space back. No
/// engine may run there. `on` is told of each step.
///
/// The journal keeps each decision's number, time and event, and the changes of the first and the
/// last decision of each event: that it was created, and that it was archived.
///
/// # Errors
/// See [`ArchiveError`]. Asked again, it goes on where it stopped.
pub fn archive(dir: &Path, on: &mut dyn FnMut(ArchiveStep)) -> Result<ArchiveReport, ArchiveError> {
    let path = database::path_in(dir);
    if !database::exists(&path)? {
        return Err(OpenError::Missing { path }.into());
    }
    let _lock = Lock::take(&database::lock_in(dir)).map_err(OpenError::from)?;
    let recovered = recovery::recover(dir, false)?;
    let mut report =
        ArchiveReport { journal_bytes_before: bytes_of(&path), ..ArchiveReport::default() };
    let connection = database::open_writer_synced(&path)?;
    let sqlite = OpenError::sqlite(&path);
    let identity = database::identify(&connection).map_err(&sqlite)?;
    let known = filed::kept(&connection).map_err(&sqlite)?;
    report.before = known.len();
    let followed = witness::read(dir).map_err(ArchiveError::InTheWay)?.and_then(|says| says.ledger);
    let mut wanted = HashMap::new();
    for event in recovered.events.iter() {
        let is_new = known.iter().all(|(known, _)| known != event.id());
        if let Some(archived_at) = event.archived_at().filter(|_| is_new) {
            wanted.insert(event.id().clone(), archived_at);
        }
    }
    let mut found = decisions_of(&connection, &wanted).map_err(&sqlite)?;
    found.sort_by_key(|(_, seqs)| seqs.last().copied());
    if !found.is_empty() {
        write_snapshot(dir, &recovered)?;
    }
    let step = Step { dir, path: &path, connection: &connection, origin: &filed::origin(identity) };
    for (event, seqs) in found {
        let is_followed = followed.is_none_or(|followed| seqs.last() <= Some(&Seq(followed)));
        if !is_followed {
            report.not_followed.push(event);
            continue;
        }
        let archived_at = wanted.get(&event).copied().unwrap_or_default();
        let (kept, file_bytes) = step.write(&event, archived_at, &seqs, on)?;
        step.remove(&event, &seqs, &kept, on)?;
        report.archived.push(ArchivedEvent { event, decisions: kept.decisions, file_bytes });
    }
    step.shrink(on)?;
    connection.close().map_err(|(_, error)| sqlite(error))?;
    report.journal_bytes = bytes_of(&path);
    Ok(report)
}

/// The length of the journal with its log.
fn bytes_of(path: &Path) -> u64 {
    let length = |path: &Path| fs::metadata(path).map_or(0, |there| there.len());
    length(path) + length(&log_of(path))
}

/// A start then reads none of the decisions that are taken out.
fn write_snapshot(dir: &Path, recovered: &Recovered) -> Result<(), OpenError> {
    let Recovered { events, last, alive, snapshot, .. } = recovered;
    if snapshot < last {
        // Nobody sells beside it.
        snapshot::write(dir, *last, *alive, events, &|| true).map_err(OpenError::io(dir))?;
    }
    Ok(())
}

/// The numbers of all decisions of these events.
fn decisions_of(
    connection: &Connection,
    wanted: &HashMap<EventId, Time>,
) -> rusqlite::Result<Vec<(EventId, Vec<Seq>)>> {
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let mut found: HashMap<&str, (&EventId, Vec<Seq>)> =
        wanted.keys().map(|event| (event.as_str(), (event, Vec::new()))).collect();
    let mut select = connection.prepare("SELECT seq, event FROM journal ORDER BY seq")?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        if let Some((_, seqs)) = found.get_mut(row.get_ref(1)?.as_str()?) {
            seqs.push(Seq(row.get(0).map(i64::unsigned_abs)?));
        }
    }
    Ok(found.into_values().map(|(event, seqs)| (event.clone(), seqs)).collect())
}

/// What each step works with.
struct Step<'a> {
    dir: &'a Path,
    path: &'a Path,
    connection: &'a Connection,
    origin: &'a Origin,
}

impl Step<'_> {
    fn sqlite(&self, error: rusqlite::Error) -> ArchiveError {
        OpenError::sqlite(self.path)(error).into()
    }

    /// Writes an event's file, and reads it again beside the journal.
    fn write(
        &self,
        event: &EventId,
        archived_at: Time,
        seqs: &[Seq],
        on: &mut dyn FnMut(ArchiveStep),
    ) -> Result<(Kept, u64), ArchiveError> {
        let (Some(first), Some(last)) = (seqs.first().copied(), seqs.last().copied()) else {
            return Err(in_the_way(event, "the journal has no decision of the event"));
        };
        let mut rows = self.rows()?;
        let mut line = |seq: Seq| -> Result<String, ArchiveError> {
            let (at, body) = read(&mut rows, seq).map_err(|error| self.sqlite(error))?;
            if seq == first || seq == last {
                expect_end(&body, seq == first).map_err(|why| in_the_way(event, &why))?;
            }
            Ok(line_of(seq, at, &body))
        };
        let wrong = |why: String| in_the_way(event, &why);
        let target = filed::dir_in(self.dir).join(name_of(event));
        let mut file = Draft::begin(&target, self.origin, event, archived_at).map_err(wrong)?;
        for seq in seqs {
            file.decision(&line(*seq)?).map_err(wrong)?;
        }
        let drafted = file.end().map_err(wrong)?;
        on(ArchiveStep::Drafted(event.clone()));
        let mut back = drafted.read_back().map_err(wrong)?;
        for seq in seqs {
            back.compare(*seq, &line(*seq)?).map_err(wrong)?;
        }
        let published = back.publish(first, last).map_err(wrong)?;
        on(ArchiveStep::Written(event.clone()));
        Ok(published)
    }

    fn rows(&self) -> Result<Statement<'_>, ArchiveError> {
        let sql = "SELECT at, body FROM journal WHERE seq = ?1";
        self.connection.prepare(sql).map_err(|error| self.sqlite(error))
    }

    /// Takes an event's changes out of the journal, in one transaction.
    fn remove(
        &self,
        event: &EventId,
        seqs: &[Seq],
        kept: &Kept,
        on: &mut dyn FnMut(ArchiveStep),
    ) -> Result<(), ArchiveError> {
        let memo = serde_json::to_string(kept)
            .map_err(|error| ArchiveError::InTheWay(error.to_string()))?;
        let mut remove = || -> rusqlite::Result<()> {
            self.connection.execute_batch("BEGIN IMMEDIATE")?;
            let mut update =
                self.connection.prepare("UPDATE journal SET body = ?2 WHERE seq = ?1")?;
            for seq in seqs.iter().filter(|seq| **seq != kept.first && **seq != kept.last) {
                update.execute((to_sql(*seq), BLANK))?;
            }
            database::set_memo(self.connection, &filed::name_of(event), &memo)?;
            database::set_memo(self.connection, TO_SHRINK, "1")?;
            let format = database::FORMAT_WITH_FILES;
            self.connection.execute_batch(&format!("PRAGMA user_version = {format}"))?;
            on(ArchiveStep::Removing(event.clone()));
            self.connection.execute_batch("COMMIT")
        };
        remove().map_err(|error| self.sqlite(error))?;
        on(ArchiveStep::Removed(event.clone()));
        Ok(())
    }

    /// Gives the space back that nothing is in any more.
    fn shrink(&self, on: &mut dyn FnMut(ArchiveStep)) -> Result<(), ArchiveError> {
        let shrink = || -> rusqlite::Result<bool> {
            let is_wanted = database::memo(self.connection, TO_SHRINK)?.is_some();
            if is_wanted {
                self.connection.execute_batch("VACUUM")?;
                let forget = "DELETE FROM meta WHERE key = ?1";
                self.connection.execute(forget, [TO_SHRINK])?;
            }
            // In the file itself, and the log is empty. Whoever reads meanwhile leaves it to the next start.
            self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
            Ok(is_wanted)
        };
        let shrunk = shrink().map_err(|error| {
            ArchiveError::InTheWay(format!(
                "{}: the history is in files, and its space could not be given back ({error}); it \
                 takes as much free space as the journal has, beside it and in the system's \
                 temporary directory (TMPDIR): make room, then try again",
                self.path.display()
            ))
        })?;
        if shrunk {
            on(ArchiveStep::Shrunk);
        }
        Ok(())
    }
}

fn read(rows: &mut Statement<'_>, seq: Seq) -> rusqlite::Result<(Time, String)> {
    rows.query_row([to_sql(seq)], |row| Ok((Time(row.get(0)?), row.get(1)?)))
}

fn in_the_way(event: &EventId, why: &str) -> ArchiveError {
    ArchiveError::InTheWay(format!("{}: {why}", filed::name_of(event)))
}
