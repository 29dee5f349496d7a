//! The archive of the feed in PostgreSQL, as the engine on Redis wants it.

use onrush_core::ids::EventId;
use onrush_ledger::LedgerError;
use onrush_ledger::postgres::{Appended, ArchiveHead, ArchivedRow, PgLedger, RowToArchive};
use onrush_store::redis::{
    Archive, ArchiveError, ArchivePending, Archived, Head, Mark, ToArchive, ToArchiveEntry,
};
use onrush_store::{FeedEntry, Seq};
use std::sync::Arc;
use tokio::sync::watch;

/// The archive, used by one node.
pub(crate) struct PgArchive {
    ledger: Arc<PgLedger>,
    /// Who takes leases.
    node: String,
    newest: watch::Receiver<Seq>,
}

impl PgArchive {
    /// The archive in a ledger's database, for the node of this name.
    pub(crate) fn new(ledger: Arc<PgLedger>, node: String) -> Self {
        let mut numbers = ledger.newest();
        let (told, newest) = watch::channel(Seq(*numbers.borrow_and_update()));
        tokio::spawn(async move {
            while numbers.changed().await.is_ok() {
                let number = Seq(*numbers.borrow_and_update());
                if told.send(number).is_err() {
                    return;
                }
            }
        });
        Self { ledger, node, newest }
    }
}

fn failed(error: LedgerError) -> ArchiveError {
    match error {
        LedgerError::Conflict => ArchiveError::Superseded,
        LedgerError::Unavailable(why) => ArchiveError::Unavailable(why),
    }
}

fn head(ArchiveHead { epoch, seq, mark }: ArchiveHead) -> Head {
    Head { epoch, seq: Seq(seq), mark: mark.map(Mark) }
}

fn answer<T: Send + 'static, U: Send + 'static>(
    asked: onrush_ledger::Pending<T>,
    make: impl FnOnce(T) -> Result<U, ArchiveError> + Send + 'static,
) -> ArchivePending<U> {
    Box::pin(async move { make(asked.await.map_err(failed)?) })
}

fn parsed(rows: Vec<ArchivedRow>) -> Result<Vec<Archived>, ArchiveError> {
    rows.into_iter().map(parse).collect()
}

/// What is understood before the first row that is not.
fn parsed_at_first(rows: Vec<ArchivedRow>) -> Result<Vec<Archived>, ArchiveError> {
    let mut understood = Vec::with_capacity(rows.len());
    for row in rows {
        match parse(row) {
            Ok(archived) => understood.push(archived),
            Err(error) if understood.is_empty() => return Err(error),
            Err(_) => break,
        }
    }
    Ok(understood)
}

fn parse(row: ArchivedRow) -> Result<Archived, ArchiveError> {
    let ArchivedRow { number, event, seq, epoch: _, at, changes, mark } = row;
    let changes = serde_json::from_str(&changes).map_err(|error| {
        let why = format!("decision {seq} of {event} cannot be understood: {error}");
        ArchiveError::Unreadable(why)
    })?;
    let entry = FeedEntry { seq: Seq(seq), at, event, changes };
    Ok(Archived { number: Seq(number), entry, mark: mark.map(Mark) })
}

impl Archive for PgArchive {
    fn append(&self, what: ToArchive) -> ArchivePending<()> {
        let ToArchive { event, epoch, before, decisions } = what;
        let row = |ToArchiveEntry { entry, text, mark }: ToArchiveEntry| RowToArchive {
            seq: entry.seq.0,
            at: entry.at,
            changes: text,
            mark: mark.map(|mark| mark.0),
        };
        let rows = decisions.into_iter().map(row).collect();
        let appended = self.ledger.append(event, epoch, before.map(|mark| mark.0), rows);
        answer(appended, |appended| match appended {
            Appended::Archived => Ok(()),
            Appended::Diverged => Err(ArchiveError::Diverged),
        })
    }

    fn read(&self, after: Seq, limit: usize) -> ArchivePending<Vec<Archived>> {
        answer(self.ledger.read_feed(after.0, limit), parsed_at_first)
    }

    fn read_event(
        &self,
        event: EventId,
        after: Seq,
        limit: usize,
    ) -> ArchivePending<Vec<Archived>> {
        answer(self.ledger.read_event(event, after.0, limit), parsed)
    }

    fn head(&self, event: EventId) -> ArchivePending<Head> {
        answer(self.ledger.head(event), |found| Ok(head(found)))
    }

    fn begin_epoch(&self, event: EventId, epoch: u64) -> ArchivePending<Head> {
        answer(self.ledger.begin_epoch(event, epoch), |begun| Ok(head(begun)))
    }

    fn events(&self) -> ArchivePending<Vec<EventId>> {
        answer(self.ledger.events(), Ok)
    }

    fn newest(&self) -> watch::Receiver<Seq> {
        self.newest.clone()
    }

    fn lease(&self, name: String, ttl_ms: u32) -> ArchivePending<Option<u64>> {
        answer(self.ledger.lease(&name, &self.node, ttl_ms), Ok)
    }

    fn release(&self, name: String) -> ArchivePending<()> {
        answer(self.ledger.release(&name, &self.node), Ok)
    }
}
