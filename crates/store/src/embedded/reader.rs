//! Reading the journal, also beside a running engine.

use super::database;
use super::error::OpenError;
use super::filed::{self, BLANK};
use super::log;
use super::vocabulary;
use super::witness;
use crate::archive_file::{Files, Kept};
use crate::engine::{FeedEntry, Seq};
use onrush_core::ids::EventId;
use onrush_core::{Change, Time};
use rusqlite::{Connection, OptionalExtension};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Why a part of the journal cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("decision {}: {why}", .seq.0)]
pub struct ReadError {
    /// The decision looked for.
    pub seq: Seq,
    /// What stands in the way.
    pub why: String,
    /// Whether the file is not what it was when it was written.
    pub damaged: bool,
}

/// Reads decisions by number and never writes. It keeps nothing locked between two pages.
#[derive(Debug)]
pub struct JournalReader {
    connection: Connection,
    /// The id of the last entry read, so that equal ones share their text.
    event: Option<EventId>,
    path: PathBuf,
    archived: Archived,
}

/// What is known of decisions whose changes are in files.
#[derive(Debug, Default)]
struct Archived {
    /// Events that were seen to have one.
    known: HashSet<EventId>,
    /// The files, if they are to be read; only from the first decision to the last, in order.
    files: Option<Files>,
}

impl JournalReader {
    /// Opens the journal in the data directory `dir`.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn open(dir: &Path) -> Result<Self, OpenError> {
        Self::open_with(dir, database::open_reader)
    }

    /// The same for the engine of this very process. The file is not looked at before SQLite opens it:
    /// whoever closes a file gives up all locks that their process has on it, SQLite's own too. The
    /// next process that looks at the journal would find itself alone, and remove the log that the
    /// engine goes on writing to.
    ///
    /// # Errors
    /// If the file cannot be opened, or is none any more.
    pub(super) fn open_own(dir: &Path) -> Result<Self, ReadError> {
        let path = database::path_in(dir);
        let connection = database::open_reader(&path).map_err(|error| ReadError {
            seq: Seq::default(),
            damaged: matches!(error, OpenError::Damaged(_)),
            why: error.to_string(),
        })?;
        Ok(Self { connection, event: None, path, archived: Archived::default() })
    }

    /// The same for whoever has the directory to itself; leaves no files behind if there is no log to read.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub(super) fn open_alone(dir: &Path) -> Result<Self, OpenError> {
        Self::open_with(dir, database::open_reader_alone)
    }

    /// The same for whoever copies all of it: nobody may write unnoticed meanwhile.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub(super) fn open_beside(dir: &Path) -> Result<Self, OpenError> {
        Self::open_with(dir, database::open_reader_beside)
    }

    fn open_with(
        dir: &Path,
        open: impl FnOnce(&Path) -> Result<Connection, OpenError>,
    ) -> Result<Self, OpenError> {
        let path = database::path_in(dir);
        if !database::exists(&path)? {
            return Err(OpenError::Missing { path });
        }
        let connection = open(&path)?;
        vocabulary::check(&path, &connection)?;
        Ok(Self { connection, event: None, path, archived: Archived::default() })
    }

    /// From now on, changes that are in archive files are read from there. Decisions must be read in
    /// order then. What is wrong with files is added to `found`, a sentence each; the changes in
    /// those are left out, as without this. Returns how many files are read.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn read_archive_files(&mut self, found: &mut Vec<String>) -> Result<usize, ReadError> {
        let data = self.path.parent().unwrap_or(Path::new(".")).to_owned();
        let identity = self.identity()?.unwrap_or_default();
        let files = filed::open(&data, identity, &self.archive_files()?, found);
        let count = files.count();
        self.archived.files = Some(files);
        Ok(count)
    }

    /// The events whose history is in archive files, in the order of their ids.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn archived_events(&self) -> Result<Vec<EventId>, ReadError> {
        Ok(self.archive_files()?.into_iter().map(|(event, _)| event).collect())
    }

    pub(super) fn archive_files(&self) -> Result<Vec<(EventId, Kept)>, ReadError> {
        filed::kept(&self.connection).map_err(|error| failed(Seq::default(), &error))
    }

    pub(super) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// The journal's file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Why the view that has a row a change cannot be read, if it cannot. Nothing here reads through
    /// it; people with tools of SQLite do.
    pub(super) fn complaint_about_view(&self) -> Option<String> {
        let select = "SELECT seq, at, event, change, body FROM changes LIMIT 0";
        self.connection.prepare(select).err().map(|error| error.to_string())
    }

    /// The number of the last decision; 0 if there is none.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn last(&self) -> Result<Seq, ReadError> {
        self.connection
            .query_row("SELECT coalesce(max(seq), 0) FROM journal", [], |row| row.get(0))
            .map_err(|error| failed(Seq::default(), &error))
            .map(from_sql)
    }

    /// How far a ledger had followed this journal when that was last written down; `None` if none
    /// ever did, or nobody knows.
    #[must_use]
    pub fn ledger_followed(&self) -> Option<Seq> {
        let says = self.path.parent().and_then(|dir| witness::read(dir).ok().flatten())?;
        let is_of_this = self.identity().ok().flatten().as_ref() == Some(&says.journal);
        says.ledger.filter(|_| is_of_this).map(Seq)
    }

    /// When a decision was made; `None` if there is no such decision.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn made_at(&self, seq: Seq) -> Result<Option<Time>, ReadError> {
        self.connection
            .query_row("SELECT at FROM journal WHERE seq = ?1", [to_sql(seq)], |row| row.get(0))
            .optional()
            .map_err(|error| failed(seq, &error))
            .map(|at| at.map(Time))
    }

    /// The journal's identity; `None` if an earlier version made it and none was drawn yet.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn identity(&self) -> Result<Option<String>, ReadError> {
        self.memo("journal")
    }

    /// What the file remembers under a key, beside the decisions.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn memo(&self, key: &str) -> Result<Option<String>, ReadError> {
        database::memo(&self.connection, key).map_err(|error| failed(Seq::default(), &error))
    }

    /// What is missing of the file, in a sentence, though SQLite does not notice.
    pub(super) fn gap(&self) -> Result<Option<String>, ReadError> {
        let missing = log::missing_page(&self.connection, &self.path)
            .map_err(|error| failed(Seq::default(), &error))?;
        Ok(missing.map(|page| format!("page {page} is neither in the file nor in its log")))
    }

    /// When the engine was last known to run, beside the decisions themselves.
    pub(super) fn alive(&self) -> Result<Option<Time>, ReadError> {
        database::alive(&self.connection).map_err(|error| failed(Seq::default(), &error))
    }

    /// The decisions after `after` in order, `limit` of them at most. One whose changes are in an
    /// archive file has none here.
    ///
    /// # Errors
    /// If one of them is missing or cannot be read; what comes before it can be had with a smaller `limit`.
    pub fn page(&mut self, after: Seq, limit: usize) -> Result<Vec<FeedEntry>, ReadError> {
        let mut page = Vec::new();
        let at_fault = |page: &Vec<FeedEntry>| Seq(after.0 + page.len() as u64 + 1);
        let mut select = self
            .connection
            .prepare(
                "SELECT seq, at, event, body FROM journal WHERE seq > ?1 ORDER BY seq LIMIT ?2",
            )
            .map_err(|error| failed(at_fault(&page), &error))?;
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let mut rows = select
            .query([to_sql(after), limit])
            .map_err(|error| failed(at_fault(&page), &error))?;
        loop {
            let expected = at_fault(&page);
            let row = rows.next().map_err(|error| failed(expected, &error))?;
            let Some(row) = row else { return Ok(page) };
            let entry =
                entry(row, expected, &mut self.event, &self.connection, &mut self.archived)?;
            page.push(entry);
        }
    }

    /// The same of what was committed: then there is one at least.
    ///
    /// # Errors
    /// As for [`JournalReader::page`], and if there is none.
    pub(super) fn committed_page(
        &mut self,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<FeedEntry>, ReadError> {
        let page = self.page(after, limit)?;
        if page.is_empty() {
            let (seq, why) = (Seq(after.0 + 1), "missing, though it was committed".to_owned());
            return Err(ReadError { seq, why, damaged: true });
        }
        Ok(page)
    }
}

fn entry(
    row: &rusqlite::Row<'_>,
    expected: Seq,
    shared: &mut Option<EventId>,
    connection: &Connection,
    archived: &mut Archived,
) -> Result<FeedEntry, ReadError> {
    let sql = |error: rusqlite::Error| failed(expected, &error);
    let damaged = |why: String| ReadError { seq: expected, why, damaged: true };
    let seq = from_sql(row.get(0).map_err(sql)?);
    if seq != expected {
        return Err(damaged(format!("missing; the next one there is has number {}", seq.0)));
    }
    let at = Time(row.get(1).map_err(sql)?);
    let text = |column: usize| {
        let value = row.get_ref(column).map_err(sql)?;
        value.as_str().map_err(|error| damaged(error.to_string()))
    };
    let id = text(2)?;
    let event = match shared {
        Some(event) if event.as_str() == id => event.clone(),
        _ => {
            let event: EventId =
                id.parse().map_err(|_| damaged(format!("{id:?} is no event id")))?;
            shared.insert(event).clone()
        }
    };
    let body = text(3)?;
    let changes: Vec<Change> = if body == BLANK {
        archived.changes(connection, &event, seq, at)?
    } else {
        if let Some(files) = &mut archived.files {
            files.is_over(&event);
        }
        serde_json::from_str(body).map_err(|error| {
            let mut why = format!("its body is not a list of changes ({error})");
            if error.to_string().starts_with("unknown variant") {
                why.push_str("; if a newer onrush ran here, it wrote that: start that version");
            }
            damaged(why)
        })?
    };
    Ok(FeedEntry { seq, at, event, changes })
}

impl Archived {
    /// The changes of a decision that has none in the journal.
    fn changes(
        &mut self,
        connection: &Connection,
        event: &EventId,
        seq: Seq,
        at: Time,
    ) -> Result<Vec<Change>, ReadError> {
        if !self.known.contains(event) {
            let is_kept = filed::is_kept(connection, event);
            if !is_kept.map_err(|error| failed(seq, &error))? {
                let why = "it has no changes, and no archive file has them".to_owned();
                return Err(ReadError { seq, why, damaged: true });
            }
            self.known.insert(event.clone());
        }
        let found = self.files.as_mut().map(|files| files.changes(event, seq, at));
        let found = found.unwrap_or(Ok(None));
        let found = found.map_err(|why| ReadError { seq, why, damaged: false })?;
        Ok(found.unwrap_or_default())
    }
}

fn failed(seq: Seq, error: &rusqlite::Error) -> ReadError {
    ReadError { seq, why: error.to_string(), damaged: database::is_damage(error) }
}

/// SQLite's integers are signed; numbers of decisions never come near the difference.
pub(super) fn to_sql(seq: Seq) -> i64 {
    i64::try_from(seq.0).unwrap_or(i64::MAX)
}

fn from_sql(seq: i64) -> Seq {
    Seq(u64::try_from(seq).unwrap_or(0))
}
