//! What was done with keys.

use super::database::{Ask, execute};
use super::fault::Fault;
use super::rows::add;
use crate::action::Action;
use deadpool_postgres::Client;
use onrush_core::Time;

/// Rows that one statement forgets.
pub(super) const FORGOTTEN_AT_ONCE: u64 = 500;

/// Writes down what was done.
pub(super) struct Note(pub(super) Action);

impl Ask<()> for Note {
    async fn run(&self, db: &mut Client) -> Result<(), Fault> {
        add(db, &self.0).await.map(drop)
    }
}

/// Forgets the oldest of what was done before a time.
pub(super) struct Forget(pub(super) Time);

impl Ask<u64> for Forget {
    async fn run(&self, db: &mut Client) -> Result<u64, Fault> {
        let limit = i64::try_from(FORGOTTEN_AT_ONCE).unwrap_or(i64::MAX);
        let sql = "DELETE FROM actions WHERE request_id IN (SELECT request_id FROM actions \
                   WHERE at < $1 ORDER BY at, request_id LIMIT $2)";
        execute(db, sql, &[&self.0.0, &limit]).await
    }
}
