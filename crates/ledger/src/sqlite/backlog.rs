//! What waits, found by indexes.

use super::columns::Columns;
use super::statements::Statements;
use crate::backlog::{Backlog, WaitingDeliveries};

pub(super) fn backlog(db: &Statements<'_>) -> rusqlite::Result<Backlog> {
    let waiting = db.all(
        "SELECT channel, count(*), min(next_at), min(since) FROM deliveries \
         WHERE next_at IS NOT NULL GROUP BY channel ORDER BY channel",
        [],
        |row| {
            let mut columns = Columns::of(row);
            let (channel, count) = (columns.take()?, columns.count()?);
            let (next_at, since) = (columns.time()?, columns.time()?);
            Ok(WaitingDeliveries { channel, count, next_at, since })
        },
    )?;
    let dead = db.all(
        "SELECT channel, count(*) FROM deliveries WHERE died_at IS NOT NULL \
         GROUP BY channel ORDER BY channel",
        [],
        |row| {
            let mut columns = Columns::of(row);
            Ok((columns.take()?, columns.count()?))
        },
    )?;
    let mut backlog = Backlog { waiting, dead, ..Backlog::default() };
    db.first("SELECT count(*) FROM sagas WHERE stuck IS NOT NULL", [], |row| {
        backlog.stuck_sagas = Columns::of(row).count()?;
        Ok(())
    })?;
    db.first(
        "SELECT count(*), min(next_at) FROM sagas WHERE stuck IS NULL AND next_at IS NOT NULL",
        [],
        |row| {
            let mut columns = Columns::of(row);
            backlog.open_sagas = columns.count()?;
            backlog.next_saga_at = columns.time_if_any()?;
            Ok(())
        },
    )?;
    Ok(backlog)
}
