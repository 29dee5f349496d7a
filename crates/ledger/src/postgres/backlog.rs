//! What waits, found by indexes.

use super::database::{Ask, all, first};
use super::fault::Fault;
use super::rows::unsigned;
use crate::backlog::{Backlog, WaitingDeliveries};
use deadpool_postgres::Client;
use onrush_core::Time;

/// What waits, whichever node has it.
pub(super) struct Waiting;

impl Ask<Backlog> for Waiting {
    async fn run(&self, db: &mut Client) -> Result<Backlog, Fault> {
        let waiting = all(
            &*db,
            "SELECT channel, count(*), min(next_at), min(since) FROM deliveries \
             WHERE next_at IS NOT NULL GROUP BY channel ORDER BY channel",
            &[],
        )
        .await?;
        let dead = all(
            &*db,
            "SELECT channel, count(*) FROM deliveries WHERE died_at IS NOT NULL \
             GROUP BY channel ORDER BY channel",
            &[],
        )
        .await?;
        let sagas = first(
            &*db,
            "SELECT (SELECT count(*) FROM sagas WHERE stuck IS NOT NULL), count(*), min(next_at) \
             FROM sagas WHERE stuck IS NULL AND next_at IS NOT NULL",
            &[],
        )
        .await?;
        let waiting = waiting.iter().map(|row| {
            let (count, next_at) = (unsigned(row.try_get(1)?), Time(row.try_get(2)?));
            let (channel, since) = (row.try_get(0)?, Time(row.try_get(3)?));
            Ok(WaitingDeliveries { channel, count, next_at, since })
        });
        let dead = dead.iter().map(|row| Ok((row.try_get(0)?, unsigned(row.try_get(1)?))));
        let mut backlog = Backlog {
            waiting: waiting.collect::<Result<_, Fault>>()?,
            dead: dead.collect::<Result<_, Fault>>()?,
            ..Backlog::default()
        };
        if let Some(row) = sagas {
            backlog.stuck_sagas = unsigned(row.try_get(0)?);
            backlog.open_sagas = unsigned(row.try_get(1)?);
            backlog.next_saga_at = row.try_get::<_, Option<i64>>(2)?.map(Time);
        }
        Ok(backlog)
    }
}
