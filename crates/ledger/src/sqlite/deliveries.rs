//! Messages, and their delivery over each channel.

use super::columns::Columns;
use super::query::{self, SQLITE};
use super::statements::Statements;
use crate::Page;
use crate::delivery::{DeadLetter, Delivered, Delivery, Message};
use crate::lists;
use onrush_core::Time;
use onrush_core::ids::BookingId;
use rusqlite::{Row, params};

/// Writes down a message with a delivery for each of its channels, due at once. One that is known
/// is dropped whole.
pub(super) fn put(db: &Statements<'_>, message: &Message) -> rusqlite::Result<()> {
    let Message { id, kind, event, booking, at, body, channels } = message;
    let new = db.execute(
        "INSERT INTO messages (message_id, kind, event_id, booking_id, at, body) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (message_id) DO NOTHING",
        params![
            id,
            kind,
            event.as_str(),
            booking.as_ref().map(|booking| booking.as_str()),
            at.0,
            body
        ],
    )?;
    if new == 0 {
        return Ok(());
    }
    for channel in channels {
        db.execute(
            "INSERT INTO deliveries (message_id, channel, attempts, since, next_at) \
             VALUES (?1, ?2, 0, ?3, ?3) ON CONFLICT (message_id, channel) DO NOTHING",
            params![id, channel, at.0],
        )?;
    }
    Ok(())
}

fn message(columns: &mut Columns<'_, '_>) -> rusqlite::Result<Message> {
    Ok(Message {
        id: columns.take()?,
        kind: columns.take()?,
        event: columns.parsed()?,
        booking: columns.parsed_if_any()?,
        at: columns.time()?,
        body: columns.take()?,
        channels: Vec::new(),
    })
}

pub(super) fn due(
    db: &Statements<'_>,
    channel: &str,
    at: Time,
    limit: usize,
) -> rusqlite::Result<Vec<Delivery>> {
    db.all(
        "SELECT messages.message_id, kind, event_id, booking_id, at, body, attempts, since \
         FROM deliveries JOIN messages ON messages.message_id = deliveries.message_id \
         WHERE channel = ?1 AND next_at IS NOT NULL AND next_at <= ?2 ORDER BY next_at LIMIT ?3",
        params![channel, at.0, i64::try_from(limit).unwrap_or(i64::MAX)],
        |row| {
            let mut columns = Columns::of(row);
            Ok(Delivery {
                message: message(&mut columns)?,
                attempts: columns.count()?,
                since: columns.time()?,
            })
        },
    )
}

/// What was to be told of bookings, with the channels over which that is still to be done.
pub(super) fn about(db: &Statements<'_>, bookings: &[BookingId]) -> rusqlite::Result<Vec<Message>> {
    let bookings: Vec<&str> = bookings.iter().map(BookingId::as_str).collect();
    db.all(
        "SELECT message_id, kind, event_id, booking_id, at, body, (SELECT json_group_array(channel) \
         FROM deliveries WHERE deliveries.message_id = messages.message_id) FROM messages \
         WHERE booking_id IN (SELECT value FROM json_each(?1)) ORDER BY at, message_id",
        [serde_json::json!(bookings).to_string()],
        |row| {
            let mut columns = Columns::of(row);
            let message = message(&mut columns)?;
            Ok(Message { channels: columns.json()?, ..message })
        },
    )
}

pub(super) fn next(db: &Statements<'_>, channel: &str) -> rusqlite::Result<Option<Time>> {
    db.first(
        "SELECT next_at FROM deliveries WHERE channel = ?1 AND next_at IS NOT NULL \
         ORDER BY next_at LIMIT 1",
        [channel],
        |row| Columns::of(row).time(),
    )
}

pub(super) fn delivered(
    db: &Statements<'_>,
    channel: &str,
    outcomes: &[(String, Delivered)],
) -> rusqlite::Result<()> {
    for (message, outcome) in outcomes {
        match outcome {
            Delivered::Done => db.execute(
                "DELETE FROM deliveries WHERE message_id = ?1 AND channel = ?2",
                [message.as_str(), channel],
            )?,
            Delivered::Again { at, error } => db.execute(
                "UPDATE deliveries SET attempts = attempts + 1, next_at = ?3, died_at = NULL, \
                 error = ?4 WHERE message_id = ?1 AND channel = ?2",
                params![message, channel, at.0, error],
            )?,
            Delivered::Dead { at, error } => db.execute(
                "UPDATE deliveries SET attempts = attempts + 1, next_at = NULL, died_at = ?3, \
                 error = ?4 WHERE message_id = ?1 AND channel = ?2",
                params![message, channel, at.0, error],
            )?,
        };
    }
    Ok(())
}

fn read_dead(row: &Row<'_>) -> rusqlite::Result<DeadLetter> {
    let mut columns = Columns::of(row);
    Ok(DeadLetter {
        message: message(&mut columns)?,
        channel: columns.take()?,
        attempts: columns.count()?,
        died_at: columns.time()?,
        error: columns.take()?,
    })
}

pub(super) fn dead(
    db: &Statements<'_>,
    channel: Option<&str>,
    after: Option<&str>,
    limit: usize,
) -> rusqlite::Result<Page<DeadLetter>> {
    let columns = "messages.message_id, kind, event_id, booking_id, at, body, channel, attempts, \
                   died_at, error";
    query::page(db, columns, &lists::dead_letters(&SQLITE, channel, after, limit), read_dead)
}

/// Makes what was given up due again, as if it had never been tried.
pub(super) fn replay(
    db: &Statements<'_>,
    channel: &str,
    message: Option<&str>,
    at: Time,
) -> rusqlite::Result<u64> {
    let rows = match message {
        Some(message) => db.execute(
            "UPDATE deliveries SET attempts = 0, since = ?3, next_at = ?3, died_at = NULL \
             WHERE message_id = ?1 AND channel = ?2 AND died_at IS NOT NULL",
            params![message, channel, at.0],
        )?,
        None => db.execute(
            "UPDATE deliveries SET attempts = 0, since = ?2, next_at = ?2, died_at = NULL \
             WHERE channel = ?1 AND died_at IS NOT NULL",
            params![channel, at.0],
        )?,
    };
    Ok(rows as u64)
}
