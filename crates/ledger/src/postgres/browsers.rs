//! Sessions of browsers.

use super::database::{Ask, execute};
use super::fault::Fault;
use super::rows::{json_of, row_of, rows_of};
use crate::rows::Stored;
use crate::session::{BrowserSession, MAX_PER_KEY, SEEN_EVERY_MS, SessionsOf};
use deadpool_postgres::Client;
use onrush_core::Time;

/// Writes a session down; of those that are over, and of too many of one key, nothing is left.
pub(super) struct Begin(pub(super) BrowserSession, pub(super) i64);

impl Ask<()> for Begin {
    async fn run(&self, db: &mut Client) -> Result<(), Fault> {
        let Self(session, idle_ms) = self;
        let BrowserSession { name, begun_at, .. } = session;
        let db = db.transaction().await?;
        let idle = begun_at.plus_ms(-idle_ms).0;
        let sql = "DELETE FROM browser_sessions WHERE ends_at <= $1 OR seen_at <= $2";
        execute(&db, sql, &[&begun_at.0, &idle]).await?;
        execute(
            &db,
            "DELETE FROM browser_sessions WHERE session_id IN (SELECT session_id \
             FROM browser_sessions WHERE key_name = $1 ORDER BY seen_at DESC, session_id OFFSET $2)",
            &[name, &(i64::from(MAX_PER_KEY) - 1)],
        )
        .await?;
        let row = json_of([session])?;
        execute(&db, &BrowserSession::table().all.insert, &[&row]).await?;
        db.commit().await?;
        Ok(())
    }
}

/// A session that is not over at a time, which is used then.
pub(super) struct Used {
    pub(super) id: String,
    pub(super) at: Time,
    pub(super) idle_ms: i64,
}

impl Ask<Option<BrowserSession>> for Used {
    async fn run(&self, db: &mut Client) -> Result<Option<BrowserSession>, Fault> {
        let Self { id, at, idle_ms } = self;
        let sql = "SELECT row_to_json(browser_sessions)::text FROM browser_sessions \
                   WHERE session_id = $1 AND ends_at > $2 AND seen_at > $3";
        let found: Option<BrowserSession> =
            row_of(db, sql, &[id, &at.0, &at.plus_ms(-idle_ms).0]).await?;
        if found.as_ref().is_some_and(|it| it.seen_at <= at.plus_ms(-SEEN_EVERY_MS)) {
            let sql = "UPDATE browser_sessions SET seen_at = $2 WHERE session_id = $1";
            execute(db, sql, &[id, &at.0]).await?;
        }
        Ok(found)
    }
}

/// Those that are not over at a time, the latest used first.
pub(super) struct Live(pub(super) Time, pub(super) i64);

impl Ask<Vec<BrowserSession>> for Live {
    async fn run(&self, db: &mut Client) -> Result<Vec<BrowserSession>, Fault> {
        let Self(at, idle_ms) = self;
        let sql = "SELECT row_to_json(browser_sessions)::text FROM browser_sessions \
                   WHERE ends_at > $1 AND seen_at > $2 ORDER BY seen_at DESC, session_id";
        rows_of(db, sql, &[&at.0, &at.plus_ms(-idle_ms).0]).await
    }
}

/// Ends sessions; says how many.
pub(super) struct End(pub(super) SessionsOf);

impl Ask<u64> for End {
    async fn run(&self, db: &mut Client) -> Result<u64, Fault> {
        match &self.0 {
            SessionsOf::Id(id) => {
                execute(db, "DELETE FROM browser_sessions WHERE session_id = $1", &[id]).await
            }
            SessionsOf::Key(name) => {
                execute(db, "DELETE FROM browser_sessions WHERE key_name = $1", &[name]).await
            }
            SessionsOf::Everybody => execute(db, "DELETE FROM browser_sessions", &[]).await,
        }
    }
}
