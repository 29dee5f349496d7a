//! Requests with a key, and the answers they were given.

use super::statements::Statements;
use crate::request::{
    Begun, KEPT_MS, KEPT_PER_ASKER, KEPT_PER_SCOPE, NOBODY, RequestKey, StoredAnswer,
};
use crate::rows::{Columns, FromRow};
use onrush_core::Time;
use rusqlite::params;

struct Record {
    body_hash: [u8; 32],
    owner: i64,
    begun_at: Time,
    answer: Option<StoredAnswer>,
}

impl FromRow for Record {
    fn from_row(columns: &mut Columns<'_, '_>) -> rusqlite::Result<Self> {
        Ok(Self {
            body_hash: columns.take()?,
            owner: columns.take()?,
            begun_at: columns.take()?,
            answer: match columns.take()? {
                Some(status) => Some(StoredAnswer {
                    status,
                    content_type: columns.take()?,
                    body: columns.take()?,
                }),
                None => None,
            },
        })
    }
}

fn find(db: &Statements<'_>, key: &RequestKey) -> rusqlite::Result<Option<Record>> {
    db.first(
        "SELECT body_hash, owner, begun_at, status, content_type, body FROM requests \
         WHERE scope = ?1 AND request_key = ?2",
        [&key.scope, &key.key],
    )
}

pub(super) fn begin(
    db: &Statements<'_>,
    key: &RequestKey,
    body_hash: &[u8; 32],
    owner: u64,
    at: Time,
) -> rusqlite::Result<Begun> {
    let owner = owner.cast_signed();
    let found = find(db, key)?;
    // Nobody's name is empty.
    let asker = key.asker.as_deref().unwrap_or_default();
    let columns = params![key.scope, key.key, body_hash, owner, at.0, asker];
    let Some(record) = found else {
        db.execute(
            "INSERT INTO requests (scope, request_key, body_hash, owner, begun_at, asker) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            columns,
        )?;
        return Ok(Begun::Fresh);
    };
    let is_over = at.since_ms(record.begun_at) >= KEPT_MS;
    if let Some(begun) = what_is_known(record, body_hash, owner, at) {
        return Ok(begun);
    }
    db.execute(
        "UPDATE requests SET body_hash = ?3, owner = ?4, begun_at = ?5, asker = ?6, status = NULL, \
         content_type = NULL, body = NULL WHERE scope = ?1 AND request_key = ?2",
        columns,
    )?;
    Ok(if is_over { Begun::Fresh } else { Begun::Unfinished })
}

/// What is known of a request, which does not begin.
pub(super) fn known(
    db: &Statements<'_>,
    key: &RequestKey,
    body_hash: &[u8; 32],
    owner: u64,
    at: Time,
) -> rusqlite::Result<Option<Begun>> {
    let found = find(db, key)?;
    Ok(found.and_then(|record| what_is_known(record, body_hash, owner.cast_signed(), at)))
}

/// What is known of a request that comes again; `None` if it is as good as new.
fn what_is_known(record: Record, body_hash: &[u8; 32], owner: i64, at: Time) -> Option<Begun> {
    if at.since_ms(record.begun_at) >= KEPT_MS {
        return None;
    }
    // Also if another run left it unfinished: that run may have done what the other body says.
    if record.body_hash != *body_hash {
        return Some(Begun::OtherBody);
    }
    match record.answer {
        Some(answer) => Some(Begun::Answered(answer)),
        None => (record.owner == owner).then_some(Begun::InProgress),
    }
}

/// Keeps the first answer, or forgets a beginning.
pub(super) fn finish(
    db: &Statements<'_>,
    key: &RequestKey,
    answer: Option<&StoredAnswer>,
) -> rusqlite::Result<()> {
    match answer {
        Some(StoredAnswer { status, content_type, body }) => {
            db.execute(
                "UPDATE requests SET status = ?3, content_type = ?4, body = ?5 \
                 WHERE scope = ?1 AND request_key = ?2 AND status IS NULL",
                params![key.scope, key.key, status, content_type, body],
            )?;
            key.asker.as_deref().map_or(Ok(()), |asker| forget_surplus(db, &key.scope, asker))
        }
        None => db
            .execute(
                "DELETE FROM requests WHERE scope = ?1 AND request_key = ?2 AND status IS NULL",
                [&key.scope, &key.key],
            )
            .map(drop),
    }
}

/// Leaves what this run began and nobody is at to whoever asks next. As many of one scope and of one
/// asker are kept as answers: an engine that is away would have everybody leave any number.
pub(super) fn leave_behind(
    db: &Statements<'_>,
    key: &RequestKey,
    owner: u64,
) -> rusqlite::Result<()> {
    db.execute(
        "UPDATE requests SET owner = ?4 \
         WHERE scope = ?1 AND request_key = ?2 AND owner = ?3 AND status IS NULL",
        params![key.scope, key.key, owner.cast_signed(), NOBODY.cast_signed()],
    )?;
    // Whoever leaves what they are in doubt about does not know who asked.
    let asker: Option<String> = db.first(
        "SELECT asker FROM requests WHERE scope = ?1 AND request_key = ?2",
        [&key.scope, &key.key],
    )?;
    match asker.as_deref() {
        None | Some("") => Ok(()),
        Some(asker) => forget_left_behind(db, &key.scope, asker),
    }
}

/// Forgets the oldest of those that nobody is at (`owner` -1: [`NOBODY`]) of a scope and of an asker.
fn forget_left_behind(db: &Statements<'_>, scope: &str, asker: &str) -> rusqlite::Result<()> {
    db.execute(
        "DELETE FROM requests WHERE rowid IN (SELECT rowid FROM requests \
         WHERE scope = ?1 AND status IS NULL AND owner = -1 \
         ORDER BY begun_at DESC, request_key LIMIT -1 OFFSET ?2)",
        params![scope, KEPT_PER_SCOPE],
    )?;
    db.execute(
        "DELETE FROM requests WHERE rowid IN (SELECT rowid FROM requests \
         WHERE asker = ?1 AND status IS NULL AND owner = -1 \
         ORDER BY begun_at DESC, scope, request_key LIMIT -1 OFFSET ?2)",
        params![asker, KEPT_PER_ASKER],
    )?;
    Ok(())
}

/// Forgets the oldest answers of a scope and of an asker above what is kept of each.
fn forget_surplus(db: &Statements<'_>, scope: &str, asker: &str) -> rusqlite::Result<()> {
    db.execute(
        "DELETE FROM requests WHERE rowid IN (SELECT rowid FROM requests \
         WHERE scope = ?1 AND status IS NOT NULL \
         ORDER BY begun_at DESC, request_key LIMIT -1 OFFSET ?2)",
        params![scope, KEPT_PER_SCOPE],
    )?;
    db.execute(
        "DELETE FROM requests WHERE rowid IN (SELECT rowid FROM requests \
         WHERE asker = ?1 AND status IS NOT NULL \
         ORDER BY begun_at DESC, scope, request_key LIMIT -1 OFFSET ?2)",
        params![asker, KEPT_PER_ASKER],
    )?;
    Ok(())
}

/// Requests forgotten in one go at most: nobody shall wait long for it.
pub(super) const FORGOTTEN_AT_ONCE: u64 = 500;

/// Forgets the oldest of the requests that began before `before`.
pub(super) fn forget(db: &Statements<'_>, before: Time) -> rusqlite::Result<u64> {
    let rows = db.execute(
        "DELETE FROM requests WHERE (scope, request_key) IN (SELECT scope, request_key \
         FROM requests WHERE begun_at < ?1 ORDER BY begun_at LIMIT ?2)",
        params![before.0, FORGOTTEN_AT_ONCE.cast_signed()],
    )?;
    Ok(rows as u64)
}
