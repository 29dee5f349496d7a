//! Requests with a key, and the answers they were given.

use super::columns::{Columns, signed};
use super::statements::Statements;
use crate::request::{Begun, KEPT_MS, RequestKey, StoredAnswer};
use onrush_core::Time;
use rusqlite::params;

struct Record {
    body_hash: [u8; 32],
    owner: i64,
    begun_at: Time,
    answer: Option<StoredAnswer>,
}

fn find(db: &Statements<'_>, key: &RequestKey) -> rusqlite::Result<Option<Record>> {
    db.first(
        "SELECT body_hash, owner, begun_at, status, content_type, body FROM requests \
         WHERE scope = ?1 AND request_key = ?2",
        [&key.scope, &key.key],
        |row| {
            let mut columns = Columns::of(row);
            let body_hash = columns.take()?;
            let owner = columns.take()?;
            let begun_at = columns.time()?;
            let answer = match columns.take()? {
                Some(status) => Some(StoredAnswer {
                    status,
                    content_type: columns.take()?,
                    body: columns.take()?,
                }),
                None => None,
            };
            Ok(Record { body_hash, owner, begun_at, answer })
        },
    )
}

pub(super) fn begin(
    db: &Statements<'_>,
    key: &RequestKey,
    body_hash: &[u8; 32],
    owner: u64,
    at: Time,
) -> rusqlite::Result<Begun> {
    let owner = signed(owner);
    let found = find(db, key)?;
    let columns = params![key.scope, key.key, body_hash, owner, at.0];
    let Some(record) = found else {
        db.execute(
            "INSERT INTO requests (scope, request_key, body_hash, owner, begun_at) \
             VALUES (?1, ?2, ?3, ?4, ?5)",
            columns,
        )?;
        return Ok(Begun::Fresh);
    };
    if at.since_ms(record.begun_at) < KEPT_MS {
        // Also if another run left it unfinished: that run may have done what the other body says.
        if record.body_hash != *body_hash {
            return Ok(Begun::OtherBody);
        }
        if let Some(answer) = record.answer {
            return Ok(Begun::Answered(answer));
        }
        if record.owner == owner {
            return Ok(Begun::InProgress);
        }
    }
    db.execute(
        "UPDATE requests SET body_hash = ?3, owner = ?4, begun_at = ?5, status = NULL, \
         content_type = NULL, body = NULL WHERE scope = ?1 AND request_key = ?2",
        columns,
    )?;
    Ok(Begun::Fresh)
}

/// Keeps the first answer, or forgets a beginning.
pub(super) fn finish(
    db: &Statements<'_>,
    key: &RequestKey,
    answer: Option<&StoredAnswer>,
) -> rusqlite::Result<()> {
    match answer {
        Some(StoredAnswer { status, content_type, body }) => db.execute(
            "UPDATE requests SET status = ?3, content_type = ?4, body = ?5 \
             WHERE scope = ?1 AND request_key = ?2 AND status IS NULL",
            params![key.scope, key.key, status, content_type, body],
        ),
        None => db.execute(
            "DELETE FROM requests WHERE scope = ?1 AND request_key = ?2 AND status IS NULL",
            [&key.scope, &key.key],
        ),
    }
    .map(drop)
}

/// Requests forgotten in one go at most: nobody shall wait long for it.
pub(super) const FORGOTTEN_AT_ONCE: u64 = 500;

/// Forgets the oldest of the requests that began before `before`.
pub(super) fn forget(db: &Statements<'_>, before: Time) -> rusqlite::Result<u64> {
    let rows = db.execute(
        "DELETE FROM requests WHERE (scope, request_key) IN (SELECT scope, request_key \
         FROM requests WHERE begun_at < ?1 ORDER BY begun_at LIMIT ?2)",
        params![before.0, signed(FORGOTTEN_AT_ONCE)],
    )?;
    Ok(rows as u64)
}
