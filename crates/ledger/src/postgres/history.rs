//! History that leaves the archive for files: one at a time, on a connection of its own, beside nodes
//! that sell.

use super::PgLedger;
use super::archive::{self, ArchiveHead, ArchivedRow};
use super::database::{Ask, all, first};
use super::fault::Fault;
use super::rows::{limit, parsed, signed, unsigned};
use crate::{LedgerError, Pending};
use onrush_core::ids::EventId;
use onrush_core::settings::Digest;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_postgres::Client;

/// Held by whoever needs history to stay where it is, or moves it. ("history", in bytes.)
const LOCK: i64 = 0x68_6973_746f_7279;

/// A file that has the history of an archived event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryFile {
    /// The event.
    pub event: EventId,
    /// Decisions in the file.
    pub decisions: u64,
    /// The number of the one that created the event; its row stays.
    pub first: u64,
    /// The number of the one that archived the event; its row stays.
    pub last: u64,
    /// The SHA-256 of the file's text, but for its last line.
    pub sha256: Digest,
}

/// Why history is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// All of it is read, and must not leave meanwhile. Any number may do that.
    Reading,
    /// Some of it moves into files. One alone may do that.
    Moving,
}

/// Somebody who reads the feed by number, and how far they have come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeedReader {
    /// Who: the ledger, or the name of a cursor.
    pub name: String,
    /// The number of the last decision that they need no more.
    pub reached: u64,
}

/// How the ledger is called among the readers of the feed.
pub const LEDGER: &str = "ledger";

/// An event's last decision, as the archive has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastDecision {
    /// The decision.
    pub row: ArchivedRow,
    /// The event's epoch; its number of the decision; the mark.
    pub head: ArchiveHead,
}

/// History that is held until that is ended, this is dropped, or the connection breaks.
pub struct HeldHistory {
    client: Client,
    connection: JoinHandle<()>,
}

impl Drop for HeldHistory {
    fn drop(&mut self) {
        self.connection.abort();
    }
}

impl PgLedger {
    /// Holds history; `None` if somebody else holds it in a way that is in the way.
    ///
    /// # Errors
    /// If PostgreSQL cannot be used.
    pub async fn hold_history(&self, why: Hold) -> Result<Option<HeldHistory>, LedgerError> {
        let connecting = timeout(self.database.patience(), self.way.connect()).await;
        let (client, connection) = connecting.map_err(|_| Fault::Slow)?.map_err(Fault::from)?;
        let connection = tokio::spawn(async move {
            // Whoever asks over it is told.
            drop(connection.await);
        });
        let held = HeldHistory { client, connection };
        let sql = match why {
            Hold::Reading => "SELECT pg_try_advisory_lock_shared($1)",
            Hold::Moving => "SELECT pg_try_advisory_lock($1)",
        };
        let row = held.client.query_one(sql, &[&LOCK]).await.map_err(Fault::from)?;
        let is_held: bool = row.try_get(0).map_err(Fault::from)?;
        Ok(is_held.then_some(held))
    }

    /// Whose history is in files, in the order of their ids.
    pub fn history_files(&self) -> Pending<Vec<HistoryFile>> {
        self.read(Filed)
    }

    /// Which archive this is.
    pub fn identity(&self) -> Pending<String> {
        self.read(Identity)
    }
}

impl HeldHistory {
    /// Holds it no longer; whoever waits for that need not wait until PostgreSQL sees that the
    /// connection is gone.
    pub async fn end(&self) {
        // If this cannot be said, the connection is gone.
        drop(self.client.batch_execute("SELECT pg_advisory_unlock_all()").await);
    }

    /// Whether it is still held: it is not once the connection broke.
    #[must_use]
    pub fn is_held(&self) -> bool {
        !self.client.is_closed()
    }

    /// The last decisions of all events whose history is not in files, in their order.
    ///
    /// # Errors
    /// If PostgreSQL cannot be used.
    pub async fn last_decisions(&self) -> Result<Vec<LastDecision>, LedgerError> {
        let sql = format!(
            "SELECT {}, known.epoch FROM feed_events AS known JOIN feed \
             ON feed.event = known.event AND feed.seq = known.last_seq AND NOT lost \
             WHERE NOT EXISTS (SELECT 1 FROM feed_files WHERE feed_files.event = known.event) \
             ORDER BY number",
            archive::COLUMNS
        );
        let rows = self.client.query(&sql, &[]).await.map_err(Fault::from)?;
        let read = |row: &tokio_postgres::Row| -> Result<LastDecision, Fault> {
            let epoch = unsigned(row.try_get(archive::COLUMN_COUNT)?);
            let row = archive::read(row)?;
            let head = ArchiveHead { epoch, seq: row.seq, mark: row.mark };
            Ok(LastDecision { row, head })
        };
        Ok(rows.iter().map(read).collect::<Result<_, _>>()?)
    }

    /// All who are known to read the feed by number.
    ///
    /// # Errors
    /// If PostgreSQL cannot be used.
    pub async fn readers(&self) -> Result<Vec<FeedReader>, LedgerError> {
        let sql = "SELECT $1::text, seq FROM feed_cursor UNION ALL \
                   (SELECT name, value FROM cursors ORDER BY name)";
        let rows = self.client.query(sql, &[&LEDGER]).await.map_err(Fault::from)?;
        let read = |row: &tokio_postgres::Row| -> Result<FeedReader, Fault> {
            Ok(FeedReader { name: row.try_get(0)?, reached: unsigned(row.try_get(1)?) })
        };
        Ok(rows.iter().map(read).collect::<Result<_, _>>()?)
    }

    /// Decisions of one event after an own number, in order.
    ///
    /// # Errors
    /// If PostgreSQL cannot be used.
    pub async fn page(
        &self,
        event: &EventId,
        after: u64,
        most: usize,
    ) -> Result<Vec<ArchivedRow>, LedgerError> {
        let sql = archive::page_of_event();
        let (event, after, most) = (event.as_str(), signed(after), limit(most));
        let rows = self.client.query(&sql, &[&event, &after, &most]).await.map_err(Fault::from)?;
        Ok(rows.iter().map(archive::read).collect::<Result<_, _>>()?)
    }

    /// Takes the rows of an event out of the archive that are in this file, but for the first and the
    /// last, and remembers the file, in one transaction. `before_commit` is called when nothing is
    /// committed yet.
    ///
    /// # Errors
    /// [`LedgerError::Conflict`] if the archive has something else than the file, or `head` is not
    /// where the event's history ends; nothing is changed then. If PostgreSQL cannot be used, it is
    /// as it was, or done.
    pub async fn remove(
        &mut self,
        file: &HistoryFile,
        head: ArchiveHead,
        before_commit: impl FnOnce() + Send,
    ) -> Result<(), LedgerError> {
        Ok(self.try_remove(file, head, before_commit).await?)
    }

    async fn try_remove(
        &mut self,
        file: &HistoryFile,
        head: ArchiveHead,
        before_commit: impl FnOnce() + Send,
    ) -> Result<(), Fault> {
        let HistoryFile { event, decisions, first, last, sha256 } = file;
        let (event, first, last) = (event.as_str(), signed(*first), signed(*last));
        let db = self.client.transaction().await?;
        let sql = "DELETE FROM feed WHERE event = $1 AND NOT lost AND number > $2 AND number < $3";
        let removed = db.execute(sql, &[&event, &first, &last]).await?;
        let sql = "SELECT count(*) FROM feed WHERE event = $1 AND NOT lost AND number IN ($2, $3)";
        let left: i64 = db.query_one(sql, &[&event, &first, &last]).await?.try_get(0)?;
        if removed + unsigned(left) != *decisions || left != 2 {
            return Err(Fault::Conflict);
        }
        // Whoever appends to the event waits for this lock, and others for them: it comes last.
        let sql = "SELECT epoch, last_seq FROM feed_events WHERE event = $1 FOR UPDATE";
        let known = db.query_opt(sql, &[&event]).await?;
        let known = known.map(|row| Ok::<_, Fault>((row.try_get(0)?, row.try_get(1)?)));
        if known.transpose()? != Some((signed(head.epoch), signed(head.seq))) {
            return Err(Fault::Conflict);
        }
        let sql = "INSERT INTO feed_files (event, decisions, first_number, last_number, sha256) \
                   VALUES ($1, $2, $3, $4, $5)";
        let sha256 = sha256.to_string();
        db.execute(sql, &[&event, &signed(*decisions), &first, &last, &sha256]).await?;
        before_commit();
        Ok(db.commit().await?)
    }

    /// Makes the space of removed rows usable again. Nobody waits for it.
    ///
    /// # Errors
    /// If PostgreSQL cannot be used.
    pub async fn vacuum(&self) -> Result<(), LedgerError> {
        // Pages of indexes that the first one empties are free for the second, once a transaction
        // came between: what ANALYZE writes is one. Half of an archive are indexes.
        for sql in ["VACUUM (ANALYZE) feed", "VACUUM feed"] {
            self.client.batch_execute(sql).await.map_err(Fault::from)?;
        }
        Ok(())
    }

    /// The size of the archive's table with its indexes, in bytes, and of the whole database.
    ///
    /// # Errors
    /// If PostgreSQL cannot be used.
    pub async fn bytes(&self) -> Result<(u64, u64), LedgerError> {
        let sql = "SELECT pg_total_relation_size('feed'), pg_database_size(current_database())";
        let row = self.client.query_one(sql, &[]).await.map_err(Fault::from)?;
        let number = |nth| row.try_get(nth).map(unsigned).map_err(Fault::from);
        Ok((number(0)?, number(1)?))
    }
}

/// All files.
struct Filed;

impl Ask<Vec<HistoryFile>> for Filed {
    async fn run(&self, db: &mut deadpool_postgres::Client) -> Result<Vec<HistoryFile>, Fault> {
        let sql = "SELECT event, decisions, first_number, last_number, sha256 FROM feed_files \
                   ORDER BY event";
        let found = all(db, sql, &[]).await?;
        found
            .iter()
            .map(|row| {
                let sha256: &str = row.try_get(4)?;
                Ok(HistoryFile {
                    event: parsed(row.try_get(0)?)?,
                    decisions: unsigned(row.try_get(1)?),
                    first: unsigned(row.try_get(2)?),
                    last: unsigned(row.try_get(3)?),
                    sha256: sha256
                        .parse()
                        .map_err(|why| Fault::Unreadable(format!("{sha256}: {why}")))?,
                })
            })
            .collect()
    }
}

struct Identity;

impl Ask<String> for Identity {
    async fn run(&self, db: &mut deadpool_postgres::Client) -> Result<String, Fault> {
        let row = first(db, "SELECT identity FROM feed_head WHERE id = 1", &[]).await?;
        let row = row.ok_or_else(|| Fault::Unreadable("the feed has no end".into()))?;
        Ok(row.try_get(0)?)
    }
}
