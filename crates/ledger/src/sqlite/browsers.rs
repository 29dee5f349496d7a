//! Sessions of browsers.

use super::statements::Statements;
use crate::rows::Record;
use crate::session::{BrowserSession, MAX_PER_KEY, SEEN_EVERY_MS, SessionsOf};
use onrush_core::Time;
use rusqlite::params;
use std::sync::LazyLock;

/// Reads the session of an id, if it is not over.
static LIVE: LazyLock<String> = LazyLock::new(|| {
    BrowserSession::select("WHERE session_id = ?1 AND ends_at > ?2 AND seen_at > ?3")
});

/// Reads all that are not over.
static ALL_LIVE: LazyLock<String> = LazyLock::new(|| {
    BrowserSession::select("WHERE ends_at > ?1 AND seen_at > ?2 ORDER BY seen_at DESC, session_id")
});

/// Writes a session down; of those that are over, and of too many of one key, nothing is left.
pub(super) fn begin(
    db: &Statements<'_>,
    session: &BrowserSession,
    idle_ms: i64,
) -> rusqlite::Result<()> {
    let BrowserSession { name, begun_at, .. } = session;
    db.execute(
        "DELETE FROM browser_sessions WHERE ends_at <= ?1 OR seen_at <= ?2",
        [begun_at.0, begun_at.plus_ms(-idle_ms).0],
    )?;
    db.execute(
        "DELETE FROM browser_sessions WHERE session_id IN (SELECT session_id \
         FROM browser_sessions WHERE key_name = ?1 ORDER BY seen_at DESC, session_id \
         LIMIT -1 OFFSET ?2)",
        params![name, MAX_PER_KEY - 1],
    )?;
    db.insert(session)
}

/// A session that is not over at `at`, which is used then.
pub(super) fn used(
    db: &Statements<'_>,
    id: &str,
    at: Time,
    idle_ms: i64,
) -> rusqlite::Result<Option<BrowserSession>> {
    let found: Option<BrowserSession> =
        db.first(&LIVE, params![id, at.0, at.plus_ms(-idle_ms).0])?;
    if found.as_ref().is_some_and(|it| it.seen_at <= at.plus_ms(-SEEN_EVERY_MS)) {
        db.execute(
            "UPDATE browser_sessions SET seen_at = ?2 WHERE session_id = ?1",
            params![id, at.0],
        )?;
    }
    Ok(found)
}

/// Those that are not over at `at`, the latest used first.
pub(super) fn list(
    db: &Statements<'_>,
    at: Time,
    idle_ms: i64,
) -> rusqlite::Result<Vec<BrowserSession>> {
    db.all(&ALL_LIVE, [at.0, at.plus_ms(-idle_ms).0])
}

/// Ends sessions; says how many.
pub(super) fn end(db: &Statements<'_>, which: &SessionsOf) -> rusqlite::Result<u64> {
    let rows = match which {
        SessionsOf::Id(id) => {
            db.execute("DELETE FROM browser_sessions WHERE session_id = ?1", [id])
        }
        SessionsOf::Key(name) => {
            db.execute("DELETE FROM browser_sessions WHERE key_name = ?1", [name])
        }
        SessionsOf::Everybody => db.execute("DELETE FROM browser_sessions", []),
    }?;
    Ok(rows as u64)
}
