//! What waits, found by indexes.

use super::statements::Statements;
use crate::backlog::{Backlog, WaitingDeliveries};

pub(super) fn backlog(db: &Statements<'_>) -> rusqlite::Result<Backlog> {
    let waiting = db.all(
        "SELECT channel, count(*), min(next_at), min(since) FROM deliveries \
         WHERE next_at IS NOT NULL GROUP BY channel ORDER BY channel",
        [],
    )?;
    let waiting = waiting.into_iter().map(|(channel, count, next_at, since)| WaitingDeliveries {
        channel,
        count,
        next_at,
        since,
    });
    let dead = db.all(
        "SELECT channel, count(*) FROM deliveries WHERE died_at IS NOT NULL \
         GROUP BY channel ORDER BY channel",
        [],
    )?;
    let sagas = db.first(
        "SELECT (SELECT count(*) FROM sagas WHERE stuck IS NOT NULL), count(*), min(next_at) \
         FROM sagas WHERE stuck IS NULL AND next_at IS NOT NULL",
        [],
    )?;
    let (stuck_sagas, open_sagas, next_saga_at) = sagas.unwrap_or_default();
    Ok(Backlog { waiting: waiting.collect(), dead, stuck_sagas, open_sagas, next_saga_at })
}
