//! Archived events leave the journal: their decisions go into files that were read back, and the
//! space that their changes took is given back.
//!
//! For whoever has the directory to itself, because SQLite moves all of its pages for that. Each
//! step is durable before the next one begins, and each can be the last: what is left then is
//! whole, and doing it again finishes it.

use super::archive_file::{self, BLANK, FileReader, FileWriter, Kept};
use super::database;
use super::error::OpenError;
use super::reader::to_sql;
use super::recovery::{self, Recovered};
use super::snapshot;
use super::witness;
use crate::engine::Seq;
use onrush_core::Change;
use onrush_core::Time;
use onrush_core::change::SaleChange;
use onrush_core::ids::EventId;
use onrush_sqlite::{Lock, log_of};
use rusqlite::{Connection, Statement};
use serde::Serialize;
use std::collections::HashMap;
use std::fmt;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// What the journal remembers while space is still to be given back.
const TO_SHRINK: &str = "to_shrink";

/// How far archiving has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArchiveStep {
    /// An event's file is written under another name, and was not read back.
    Drafted(EventId),
    /// The file has its name, and is what the journal has.
    Written(EventId),
    /// The event's changes are being taken out of the journal, and nothing of that is committed.
    Removing(EventId),
    /// The event's changes are in the file alone.
    Removed(EventId),
    /// The journal's file was rewritten without empty space.
    Shrunk,
}

/// One event whose history went into a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ArchivedEvent {
    /// Which.
    pub event: EventId,
    /// Its decisions.
    pub decisions: u64,
    /// The length of its file.
    pub file_bytes: u64,
}

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
#[derive(Debug)]
pub enum ArchiveError {
    /// The directory cannot be used.
    Open(OpenError),
    /// Something stands in the way, in a sentence.
    InTheWay(String),
}

impl fmt::Display for ArchiveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open(error) => error.fmt(f),
            Self::InTheWay(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for ArchiveError {}

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
    let connection = database::open_writer(&path)?;
    let sqlite = OpenError::sqlite(&path);
    let identity = database::identify(&connection).map_err(&sqlite)?;
    let known = archive_file::kept(&connection).map_err(&sqlite)?;
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
    let step = Step { dir, path: &path, connection: &connection, journal: &identity };
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
        snapshot::write(dir, *last, *alive, events).map_err(OpenError::io(dir))?;
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
    journal: &'a str,
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
        let (name, dir) = (archive_file::name_of(event), archive_file::dir_in(self.dir));
        let target = self.dir.join(&name);
        onrush_sqlite::make_dir(&dir).map_err(OpenError::io(&dir))?;
        self.leave_others(&target, &name, event)?;
        let (Some(first), Some(last)) = (seqs.first().copied(), seqs.last().copied()) else {
            return Err(in_the_way(&name, "the journal has no decision of the event"));
        };
        let draft = draft_of(&target);
        let io = |error: std::io::Error| ArchiveError::from(OpenError::io(&draft)(error));
        let mut rows = self.rows()?;
        let mut file = FileWriter::begin(&draft, self.journal, event, archived_at).map_err(io)?;
        for seq in seqs {
            let (at, body) = read(&mut rows, *seq).map_err(|error| self.sqlite(error))?;
            if *seq == first || *seq == last {
                expect_end(&body, *seq == first, &name)?;
            }
            file.decision(&archive_file::line_of(*seq, at, &body)).map_err(io)?;
        }
        let sha256 = file.end().map_err(io)?;
        on(ArchiveStep::Drafted(event.clone()));
        let kept = Kept { decisions: seqs.len() as u64, first, last, sha256 };
        self.compare(&draft, event, seqs, &mut rows).map_err(|why| in_the_way(&name, &why))?;
        let file_bytes = fs::metadata(&draft).map_err(io)?.len();
        fs::rename(&draft, &target).map_err(io)?;
        for dir in [dir.as_path(), self.dir] {
            File::open(dir).and_then(|dir| dir.sync_all()).map_err(OpenError::io(dir))?;
        }
        on(ArchiveStep::Written(event.clone()));
        Ok((kept, file_bytes))
    }

    /// A file under the name that is not of this journal and event is somebody's: it is not replaced.
    fn leave_others(&self, target: &Path, name: &str, event: &EventId) -> Result<(), ArchiveError> {
        if !target.exists() {
            return Ok(());
        }
        let own = FileReader::open(target).and_then(|file| file.check_header(self.journal, event));
        own.map_err(|why| in_the_way(name, &format!("{why}; move it away, then try again")))
    }

    fn rows(&self) -> Result<Statement<'_>, ArchiveError> {
        let sql = "SELECT at, body FROM journal WHERE seq = ?1";
        self.connection.prepare(sql).map_err(|error| self.sqlite(error))
    }

    /// Whether a file has, line by line, what the journal has, and nothing else.
    fn compare(
        &self,
        path: &Path,
        event: &EventId,
        seqs: &[Seq],
        rows: &mut Statement<'_>,
    ) -> Result<(), String> {
        let mut file = FileReader::open(path)?;
        file.check_header(self.journal, event)?;
        for seq in seqs {
            let (at, body) = read(rows, *seq).map_err(|error| error.to_string())?;
            if file.next_line()? != Some(&archive_file::line_of(*seq, at, &body)) {
                return Err(format!("read back, decision {} is not what was written", seq.0));
            }
        }
        match file.next_line()? {
            None => Ok(()),
            Some(_) => Err("read back, it has more than was written".into()),
        }
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
            database::set_memo(self.connection, &archive_file::name_of(event), &memo)?;
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
            in_the_way(
                &self.path.display().to_string(),
                &format!(
                    "the history is in files, and its space could not be given back ({error}); it \
                     takes as much free space as the journal has, beside it and in the system's \
                     temporary directory (TMPDIR): make room, then try again"
                ),
            )
        })?;
        if shrunk {
            on(ArchiveStep::Shrunk);
        }
        Ok(())
    }
}

/// The file as long as it was not read back.
fn draft_of(target: &Path) -> PathBuf {
    target.with_extension("gz.new")
}

fn read(rows: &mut Statement<'_>, seq: Seq) -> rusqlite::Result<(Time, String)> {
    rows.query_row([to_sql(seq)], |row| Ok((Time(row.get(0)?), row.get(1)?)))
}

fn in_the_way(name: &str, why: &str) -> ArchiveError {
    ArchiveError::InTheWay(format!("{name}: {why}"))
}

/// The decisions that stay in the journal are the ones that recovery needs.
fn expect_end(body: &str, is_first: bool, name: &str) -> Result<(), ArchiveError> {
    let changes: Vec<Change> = serde_json::from_str(body)
        .map_err(|error| in_the_way(name, &format!("a decision cannot be understood ({error})")))?;
    let is_it = if is_first {
        changes.first().is_some_and(Change::creates_event)
    } else {
        matches!(changes.last(), Some(Change::Sale(SaleChange::EventArchived { .. })))
    };
    let which = if is_first { "first decision did not create" } else { "last did not archive" };
    if is_it { Ok(()) } else { Err(in_the_way(name, &format!("the event's {which} it"))) }
}
