//! Which nodes there are, as far as one must not take another's requests for left behind.

use super::database::{all, execute};
use super::fault::Fault;
use super::rows::signed;
use deadpool_postgres::GenericClient;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

/// A node counts as alive for this long after it last said so, by the database's clock.
const ALIVE_MS: f64 = 10_000.0;
/// How often a node says so.
pub(super) const SAYS_SO_EACH: Duration = Duration::from_secs(2);

/// One node among others.
pub(super) struct Membership {
    node: Arc<str>,
    /// The run of the process that begins requests here, once it did.
    owner: AtomicI64,
    known: AtomicBool,
}

impl Membership {
    pub(super) fn of(node: Arc<str>) -> Self {
        Self { node, owner: AtomicI64::new(0), known: AtomicBool::new(false) }
    }

    /// The owners whose requests other nodes are at. Says before that requests of `owners` are begun here.
    pub(super) async fn others(
        &self,
        db: &impl GenericClient,
        owners: &HashSet<u64>,
    ) -> Result<Vec<i64>, Fault> {
        for owner in owners.iter().map(|owner| signed(*owner)) {
            let is_known = self.known.load(Ordering::Acquire);
            if !is_known || self.owner.load(Ordering::Acquire) != owner {
                self.owner.store(owner, Ordering::Release);
                self.known.store(true, Ordering::Release);
                self.say(db).await?;
            }
        }
        let alive = all(
            db,
            "SELECT owner FROM nodes WHERE node <> $1 AND alive_until > clock_timestamp()",
            &[&&*self.node],
        )
        .await?;
        alive.iter().map(|row| Ok(row.try_get(0)?)).collect()
    }

    /// Says that this node is alive, if it ever began a request.
    pub(super) async fn say(&self, db: &impl GenericClient) -> Result<(), Fault> {
        if !self.known.load(Ordering::Acquire) {
            return Ok(());
        }
        execute(
            db,
            "INSERT INTO nodes (node, owner, alive_until) \
             VALUES ($1, $2, clock_timestamp() + $3::double precision * interval '1 millisecond') \
             ON CONFLICT (node) DO UPDATE SET owner = excluded.owner, \
             alive_until = excluded.alive_until",
            &[&&*self.node, &self.owner.load(Ordering::Acquire), &ALIVE_MS],
        )
        .await?;
        // Those that went without a word are forgotten some time.
        execute(
            db,
            "DELETE FROM nodes WHERE alive_until < clock_timestamp() - interval '1 day'",
            &[],
        )
        .await
        .map(drop)
    }

    /// Says that this node is gone.
    pub(super) async fn leave(&self, db: &impl GenericClient) -> Result<(), Fault> {
        execute(db, "DELETE FROM nodes WHERE node = $1", &[&&*self.node]).await.map(drop)
    }
}
