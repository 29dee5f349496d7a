//! The history of archived events, moved from a cluster's archive into files while nodes sell.
//!
//! Each step is durable before the next one begins, and each can be the last: what is left then is
//! whole, and doing it again finishes it.

use crate::moved::{Moved, Waiting};
use onrush_base::config::Config;
use onrush_bridge::{kafka, rabbit};
use onrush_core::ids::EventId;
use onrush_ledger::LedgerError;
use onrush_ledger::postgres::{
    ArchivedRow, FeedReader, HeldHistory, HistoryFile, Hold, LEDGER, LastDecision, PgLedger,
};
use onrush_store::Seq;
use onrush_store::archive_file::{
    ArchiveStep, ArchivedEvent, Draft, Files, Kept, Origin, Own, archives, expect_end, line_of_own,
    name_of,
};
use std::path::Path;

/// Decisions read at a time.
const PAGE: usize = 1_000;

/// Writes the decisions of all archived events into files in `dir`, compares these with the archive,
/// takes the rows out of it, and makes their space usable again. Nodes may run. `on` is told of each
/// step.
///
/// Of an event the first decision and the last stay: that it was created, and that it was archived.
/// One that somebody who reads the feed by number has not read to its end stays whole; of those
/// `publishers` that never said how far they are, nobody knows that they have.
///
/// # Errors
/// Why it has stopped, as a sentence. Everything is whole, and what was done is done: asked again,
/// it goes on.
pub async fn move_into_files(
    ledger: &PgLedger,
    publishers: &[String],
    dir: &Path,
    on: &mut (dyn FnMut(ArchiveStep) + Send),
) -> Result<Moved, String> {
    let history = ledger.hold_history(Hold::Moving).await.map_err(sentence)?;
    let mut history = history.ok_or(
        "another `onrush archive` is at it, or an audit reads the history: wait until that has ended, \
         then try again",
    )?;
    let moved = move_held(&mut history, ledger, publishers, dir, on).await;
    if moved.is_err() {
        // Whoever tries again need not wait until PostgreSQL sees that the connection is gone.
        history.end().await;
    }
    moved
}

async fn move_held(
    history: &mut HeldHistory,
    ledger: &PgLedger,
    publishers: &[String],
    dir: &Path,
    on: &mut (dyn FnMut(ArchiveStep) + Send),
) -> Result<Moved, String> {
    let bytes_before = history.bytes().await.map_err(sentence)?;
    let before = ledger.history_files().await.map_err(sentence)?.len();
    let mut readers = history.readers().await.map_err(sentence)?;
    for name in publishers {
        if readers.iter().all(|reader| reader.name != *name) {
            readers.push(FeedReader { name: name.clone(), reached: 0 });
        }
    }
    let origin = origin_of(ledger).await?;
    let mut moved = Moved { before, bytes_before, ..Moved::default() };
    for last in history.last_decisions().await.map_err(sentence)? {
        if !is_archived(&last) {
            continue;
        }
        let ArchivedRow { event, number, .. } = &last.row;
        if let Some(behind) = readers.iter().find(|reader| reader.reached < *number) {
            let FeedReader { name: reader, reached } = behind.clone();
            let (event, last, is_ledger) = (event.clone(), *number, reader == LEDGER);
            moved.waiting.push(Waiting { event, reader, is_ledger, reached, last });
            continue;
        }
        let step = Step { history, origin: &origin, dir, last: &last };
        let wrong = |why: String| format!("{}: {why}", dir.join(name_of(event)).display());
        let (kept, file_bytes) = step.write(on).await.map_err(wrong)?;
        let file = file_of(event, &kept);
        let mut tell = |step: fn(EventId) -> ArchiveStep| on(step(event.clone()));
        let removed = history.remove(&file, last.head, || tell(ArchiveStep::Removing)).await;
        removed.map_err(|error| match error {
            LedgerError::Conflict => {
                wrong("the archive has changed since it was read; run `onrush audit`".into())
            }
            LedgerError::Unavailable(why) => why,
        })?;
        tell(ArchiveStep::Removed);
        let (event, decisions) = (event.clone(), kept.decisions);
        moved.archived.push(ArchivedEvent { event, decisions, file_bytes });
    }
    // An audit need not wait until the space is free.
    history.end().await;
    if before + moved.archived.len() > 0 {
        history.vacuum().await.map_err(sentence)?;
        on(ArchiveStep::Shrunk);
    }
    moved.bytes = history.bytes().await.map_err(sentence)?;
    Ok(moved)
}

/// The names of the cursors of those who are to carry the feed on, by these settings.
#[must_use]
pub fn publishers_in(config: &Config) -> Vec<String> {
    let rabbit = config.rabbitmq.as_ref().map(rabbit::cursor_name);
    rabbit.into_iter().chain(config.kafka.as_ref().map(kafka::cursor_name)).collect()
}

/// The files in `dir`, and which of them there have to be. What is wrong with them is added to
/// `found`, a sentence each.
///
/// # Errors
/// If PostgreSQL cannot be used, as a sentence.
pub async fn open_files(
    ledger: &PgLedger,
    dir: &Path,
    found: &mut Vec<String>,
) -> Result<Files, String> {
    let files = ledger.history_files().await.map_err(sentence)?;
    let remembered: Vec<_> = files.iter().map(|file| (file.event.clone(), kept_of(file))).collect();
    let prefix = format!("{}/", dir.display());
    Ok(Files::open(dir, &prefix, &origin_of(ledger).await?, &remembered, found))
}

async fn origin_of(ledger: &PgLedger) -> Result<Origin, String> {
    let identity = ledger.identity().await.map_err(sentence)?;
    Ok(Origin { noun: "archive", identity })
}

#[expect(clippy::needless_pass_by_value, reason = "it is what an error is mapped by")]
fn sentence(error: LedgerError) -> String {
    error.to_string()
}

fn file_of(event: &EventId, kept: &Kept) -> HistoryFile {
    let Kept { decisions, first, last, sha256 } = *kept;
    HistoryFile { event: event.clone(), decisions, first: first.0, last: last.0, sha256 }
}

fn kept_of(file: &HistoryFile) -> Kept {
    let HistoryFile { decisions, first, last, sha256, .. } = *file;
    Kept { decisions, first: Seq(first), last: Seq(last), sha256 }
}

/// Whether this is an event's end. Whoever cannot be understood is left to the audit.
fn is_archived(last: &LastDecision) -> bool {
    serde_json::from_str(&last.row.changes).is_ok_and(|changes: Vec<_>| archives(&changes))
}

/// What an event's file is made with. Errors are sentences about the file.
struct Step<'a> {
    history: &'a HeldHistory,
    origin: &'a Origin,
    dir: &'a Path,
    last: &'a LastDecision,
}

impl Step<'_> {
    /// Writes the event's file, and reads it again beside the archive.
    async fn write(&self, on: &mut (dyn FnMut(ArchiveStep) + Send)) -> Result<(Kept, u64), String> {
        let ArchivedRow { event, at, number, .. } = &self.last.row;
        let mut file = Draft::begin(&self.dir.join(name_of(event)), self.origin, event, *at)?;
        let mut first = None;
        let mut rows = Rows::of(event, self.history);
        while let Some(row) = rows.next().await? {
            let is_first = *first.get_or_insert(row.number) == row.number;
            if is_first || row.number == *number {
                expect_end(&row.changes, is_first)?;
            }
            file.decision(&line(&row))?;
        }
        let (Some(first), true) = (first, rows.is_at(self.last)) else {
            return Err("the archive has not all of its decisions; run `onrush audit`".into());
        };
        let drafted = file.end()?;
        on(ArchiveStep::Drafted(event.clone()));
        let mut back = drafted.read_back()?;
        let mut rows = Rows::of(event, self.history);
        while let Some(row) = rows.next().await? {
            back.compare(Seq(row.number), &line(&row))?;
        }
        let published = back.publish(Seq(first), Seq(*number))?;
        on(ArchiveStep::Written(event.clone()));
        Ok(published)
    }
}

fn line(row: &ArchivedRow) -> String {
    let ArchivedRow { number, event: _, seq, epoch, at, changes, mark } = row;
    line_of_own(Seq(*number), *at, Own { seq: Seq(*seq), epoch: *epoch, mark: *mark }, changes)
}

/// An event's rows, one after the other.
struct Rows<'a> {
    event: &'a EventId,
    history: &'a HeldHistory,
    page: std::vec::IntoIter<ArchivedRow>,
    /// The last one that was read, by its number and the event's own.
    reached: (u64, u64),
}

impl<'a> Rows<'a> {
    fn of(event: &'a EventId, history: &'a HeldHistory) -> Self {
        Self { event, history, page: Vec::new().into_iter(), reached: (0, 0) }
    }

    /// The next row, which has to follow the one before.
    async fn next(&mut self) -> Result<Option<ArchivedRow>, String> {
        let (number, seq) = self.reached;
        if self.page.as_slice().is_empty() {
            let page = self.history.page(self.event, seq, PAGE).await.map_err(sentence)?;
            self.page = page.into_iter();
        }
        let Some(row) = self.page.next() else { return Ok(None) };
        if row.seq != seq + 1 || row.number <= number {
            return Err(format!("the archive has no decision {}; run `onrush audit`", seq + 1));
        }
        self.reached = (row.number, row.seq);
        Ok(Some(row))
    }

    fn is_at(&self, last: &LastDecision) -> bool {
        self.reached == (last.row.number, last.row.seq)
    }
}
