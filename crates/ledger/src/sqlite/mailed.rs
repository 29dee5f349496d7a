//! Addresses that got mail lately.

use super::statements::Statements;
use crate::delivery::MAILED_FOR_MS;
use onrush_core::Time;
use onrush_core::ids::EventId;
use rusqlite::params;

pub(super) fn may(
    db: &Statements<'_>,
    address: &[u8; 32],
    event: &EventId,
    message: &str,
    at: Time,
) -> rusqlite::Result<bool> {
    db.execute("DELETE FROM mailed WHERE at <= ?1", [at.plus_ms(-MAILED_FOR_MS).0])?;
    db.execute(
        "INSERT INTO mailed (address, event_id, message_id, at) VALUES (?1, ?2, ?3, ?4) \
         ON CONFLICT (address, event_id) DO NOTHING",
        params![address.as_slice(), event.as_str(), message, at.0],
    )?;
    let first: Option<String> = db.first(
        "SELECT message_id FROM mailed WHERE address = ?1 AND event_id = ?2",
        params![address.as_slice(), event.as_str()],
    )?;
    Ok(first.as_deref() == Some(message))
}

/// Addresses forgotten in one go at most: nobody shall wait long for it.
pub(super) const FORGOTTEN_AT_ONCE: u64 = 500;

/// Forgets the oldest of the addresses that got mail at `before` or earlier.
pub(super) fn forget(db: &Statements<'_>, before: Time) -> rusqlite::Result<u64> {
    let rows = db.execute(
        "DELETE FROM mailed WHERE (address, event_id) IN (SELECT address, event_id \
         FROM mailed WHERE at <= ?1 ORDER BY at LIMIT ?2)",
        params![before.0, FORGOTTEN_AT_ONCE.cast_signed()],
    )?;
    Ok(rows as u64)
}
