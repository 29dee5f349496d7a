//! Addresses that got mail lately.

use super::database::{Ask, execute, first};
use super::fault::Fault;
use super::rows::signed;
use crate::delivery::MAILED_FOR_MS;
use deadpool_postgres::Client;
use onrush_core::Time;
use onrush_core::ids::EventId;

/// Whether a message may be mailed to an address.
pub(super) struct MayMail {
    pub(super) address: [u8; 32],
    pub(super) event: EventId,
    pub(super) message: String,
    pub(super) at: Time,
}

impl Ask<bool> for MayMail {
    async fn run(&self, db: &mut Client) -> Result<bool, Fault> {
        let Self { address, event, message, at } = self;
        let (address, event) = (address.as_slice(), event.as_str());
        let db = db.transaction().await?;
        let before = at.plus_ms(-MAILED_FOR_MS).0;
        execute(&db, "DELETE FROM mailed WHERE at <= $1", &[&before]).await?;
        // Another node that is at the same row is waited for.
        execute(
            &db,
            "INSERT INTO mailed (address, event_id, message_id, at) VALUES ($1, $2, $3, $4) \
             ON CONFLICT (address, event_id) DO NOTHING",
            &[&address, &event, message, &at.0],
        )
        .await?;
        let sql = "SELECT message_id FROM mailed WHERE address = $1 AND event_id = $2";
        let known = first(&db, sql, &[&address, &event]).await?;
        let known: Option<String> = known.map(|row| row.try_get(0)).transpose()?;
        db.commit().await?;
        Ok(known.as_ref() == Some(message))
    }
}

/// Addresses forgotten in one go at most: nobody shall wait long for it.
pub(super) const FORGOTTEN_AT_ONCE: u64 = 500;

/// Forgets the oldest of the addresses that got mail at a time or earlier.
pub(super) struct Forget(pub(super) Time);

impl Ask<u64> for Forget {
    async fn run(&self, db: &mut Client) -> Result<u64, Fault> {
        // Several nodes may do so at once: what one is at, the others leave to it.
        execute(
            db,
            "DELETE FROM mailed WHERE (address, event_id) IN (SELECT address, event_id \
             FROM mailed WHERE at <= $1 ORDER BY at LIMIT $2 FOR UPDATE SKIP LOCKED)",
            &[&self.0.0, &signed(FORGOTTEN_AT_ONCE)],
        )
        .await
    }
}
