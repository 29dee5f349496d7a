//! What the gateway's own desk did.

use super::database::{Ask, execute, first};
use super::deliveries;
use super::fault::Fault;
use super::rows::{add, parsed, row_of};
use crate::delivery::Message;
use crate::desk::{DeskEntry, DeskStatus, Settled};
use crate::words::Word;
use deadpool_postgres::Client;
use onrush_core::Time;

/// Writes down what was done, and tells of it; says whether it is news.
pub(super) struct Note(pub(super) DeskEntry, pub(super) Option<Message>);

impl Ask<bool> for Note {
    async fn run(&self, db: &mut Client) -> Result<bool, Fault> {
        let Self(entry, message) = self;
        let db = db.transaction().await?;
        if !add(&db, entry).await? {
            // Whoever was first has its row locked until it is committed.
            let known = first(
                &db,
                "SELECT status FROM desk_entries WHERE entry_id = $1 FOR UPDATE",
                &[&entry.entry],
            )
            .await?;
            let known = known.ok_or_else(|| Fault::Unreadable("an entry is gone".into()))?;
            let known: DeskStatus = parsed(known.try_get(0)?)?;
            if !entry.is_news_after(known) {
                // Tables of before did not keep it, and what was done counts only with it.
                execute(
                    &db,
                    "UPDATE desk_entries SET paid_as = $2 WHERE entry_id = $1 AND paid_as IS NULL",
                    &[&entry.entry, &entry.paid_as],
                )
                .await?;
                db.commit().await?;
                return Ok(false);
            }
            execute(
                &db,
                "UPDATE desk_entries SET status = $2, amount_minor = $3, why = $4, updated_at = $5, \
                 settled_at = NULL, settled_by = NULL, settled_why = NULL, \
                 paid_as = COALESCE(paid_as, $6) WHERE entry_id = $1",
                &[
                    &entry.entry,
                    &entry.status.word(),
                    &entry.amount_minor,
                    &entry.why,
                    &entry.updated_at.0,
                    &entry.paid_as,
                ],
            )
            .await?;
        }
        deliveries::put(&db, message.iter().collect()).await?;
        db.commit().await?;
        Ok(true)
    }
}

/// Writes down what an operator did about an entry; the entry as it is then, if there is one.
pub(super) struct Settle {
    pub(super) entry: String,
    /// When it was last news, as they read it.
    pub(super) seen: Option<Time>,
    pub(super) settled: Settled,
}

impl Ask<Option<DeskEntry>> for Settle {
    async fn run(&self, db: &mut Client) -> Result<Option<DeskEntry>, Fault> {
        let Self { entry, seen, settled: Settled { at: Time(at), by, why } } = self;
        // No column has a NUL in it, so no entry has such an id.
        if entry.contains('\0') {
            return Ok(None);
        }
        let sql = "UPDATE desk_entries SET settled_at = $2, settled_by = $3, settled_why = $4 \
                   WHERE entry_id = $1 AND updated_at = COALESCE($5, updated_at) \
                   RETURNING row_to_json(desk_entries)::text";
        let seen = seen.map(|Time(at)| at);
        let written = row_of(db, sql, &[entry, at, by, why, &seen]).await?;
        let there = "SELECT 1 FROM desk_entries WHERE entry_id = $1";
        if written.is_none() && first(db, there, &[entry]).await?.is_some() {
            return Err(Fault::Conflict);
        }
        Ok(written)
    }
}
