//! Messages, and their delivery over each channel.

use super::query::{self, SQLITE};
use super::statements::Statements;
use crate::Page;
use crate::delivery::{DeadLetter, Delivered, Delivery, Message, REPLAYED_AT_ONCE};
use crate::lists;
use crate::rows::Record;
use onrush_core::Time;
use onrush_core::ids::BookingId;
use rusqlite::params;
use std::sync::LazyLock;

/// Reads what is due over one channel.
static DUE: LazyLock<String> = LazyLock::new(|| {
    let message = Message::list();
    format!(
        "SELECT {message}, attempts, since \
         FROM deliveries JOIN messages ON messages.message_id = deliveries.message_id \
         WHERE channel = ?1 AND next_at IS NOT NULL AND next_at <= ?2 ORDER BY next_at LIMIT ?3"
    )
});

/// Reads what was to be told of some bookings.
pub(super) static ABOUT: LazyLock<String> = LazyLock::new(|| {
    let message = Message::list();
    format!(
        "SELECT {message}, (SELECT json_group_array(channel) \
         FROM deliveries WHERE deliveries.message_id = messages.message_id) FROM messages \
         WHERE booking_id IN (SELECT value FROM json_each(?1)) ORDER BY at, message_id"
    )
});

/// Writes down a message with a delivery for each of its channels, due at once. One that is known
/// is dropped whole.
pub(super) fn put(db: &Statements<'_>, message: &Message) -> rusqlite::Result<()> {
    if !db.add(message)? {
        return Ok(());
    }
    for channel in &message.channels {
        db.execute(
            "INSERT INTO deliveries (message_id, channel, attempts, since, next_at) \
             VALUES (?1, ?2, 0, ?3, ?3) ON CONFLICT (message_id, channel) DO NOTHING",
            params![message.id, channel, message.at.0],
        )?;
    }
    Ok(())
}

pub(super) fn due(
    db: &Statements<'_>,
    channel: &str,
    at: Time,
    limit: usize,
) -> rusqlite::Result<Vec<Delivery>> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let due = db.all(&DUE, params![channel, at.0, limit])?.into_iter();
    Ok(due.map(|(message, attempts, since)| Delivery { message, attempts, since }).collect())
}

/// What was to be told of bookings, with the channels over which that is still to be done.
pub(super) fn about(db: &Statements<'_>, bookings: &[BookingId]) -> rusqlite::Result<Vec<Message>> {
    let bookings: Vec<&str> = bookings.iter().map(BookingId::as_str).collect();
    let told = db.all(&ABOUT, [serde_json::json!(bookings).to_string()])?.into_iter();
    Ok(told.map(|(message, channels)| Message { channels, ..message }).collect())
}

pub(super) fn next(db: &Statements<'_>, channel: &str) -> rusqlite::Result<Option<Time>> {
    db.first(
        "SELECT next_at FROM deliveries WHERE channel = ?1 AND next_at IS NOT NULL \
         ORDER BY next_at LIMIT 1",
        [channel],
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
            Delivered::Again { at, error } | Delivered::Waits { at, error } => db.execute(
                "UPDATE deliveries SET attempts = attempts + ?5, next_at = ?3, died_at = NULL, \
                 error = ?4 WHERE message_id = ?1 AND channel = ?2",
                params![message, channel, at.0, error, outcome.attempts()],
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

pub(super) fn dead(
    db: &Statements<'_>,
    channel: Option<&str>,
    after: Option<&str>,
    limit: usize,
) -> rusqlite::Result<Page<DeadLetter>> {
    let columns = format!("{}, channel, attempts, died_at, error", Message::list());
    let list = lists::dead_letters(&SQLITE, channel, after, limit);
    query::page_of(db, &columns, &list, |(message, channel, attempts, died_at, error)| DeadLetter {
        message,
        channel,
        attempts,
        died_at,
        error,
    })
}

/// Makes what was given up due again, as if it had never been tried: one message's, or of a channel's
/// the first [`REPLAYED_AT_ONCE`]. `newest` keeps when the last of these was given up: what is given
/// up while they are replayed is left alone.
pub(super) fn replay(
    db: &Statements<'_>,
    channel: &str,
    message: Option<&str>,
    at: Time,
    newest: &mut Option<Time>,
) -> rusqlite::Result<u64> {
    if let Some(message) = message {
        let rows = db.execute(
            "UPDATE deliveries SET attempts = 0, since = ?3, next_at = ?3, died_at = NULL \
             WHERE message_id = ?1 AND channel = ?2 AND died_at IS NOT NULL",
            params![message, channel, at.0],
        )?;
        return Ok(rows as u64);
    }
    if newest.is_none() {
        *newest = db.first(
            "SELECT died_at FROM deliveries WHERE channel = ?1 AND died_at IS NOT NULL \
             ORDER BY died_at DESC LIMIT 1",
            [channel],
        )?;
    }
    let Some(Time(newest)) = *newest else { return Ok(0) };
    let rows = db.execute(
        "UPDATE deliveries SET attempts = 0, since = ?2, next_at = ?2, died_at = NULL \
         WHERE channel = ?1 AND message_id IN (SELECT message_id FROM deliveries \
         WHERE channel = ?1 AND died_at IS NOT NULL AND died_at <= ?3 \
         ORDER BY died_at, message_id LIMIT ?4)",
        params![channel, at.0, newest, REPLAYED_AT_ONCE.cast_signed()],
    )?;
    Ok(rows as u64)
}
