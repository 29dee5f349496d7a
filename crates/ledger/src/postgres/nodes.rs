//! Which nodes there are, as far as one must not take another's requests for left behind.

use super::claims::Claimant;
use super::database::{Ask, all, execute, first};
use super::fault::Fault;
use super::rows::signed;
use super::sagas;
use deadpool_postgres::{Client, GenericClient};
use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A node counts as alive for this long after it last said so, by the database's clock.
const ALIVE_MS: f64 = 10_000.0;
/// How often a node says so.
pub(super) const SAYS_SO_EACH: Duration = Duration::from_secs(2);

/// One node among others.
pub(super) struct Membership {
    node: Arc<str>,
    /// The run of the process that begins requests here, once it did, and whether all nodes know.
    owner: Mutex<Option<(i64, bool)>>,
}

impl Membership {
    pub(super) fn of(node: Arc<str>) -> Self {
        Self { node, owner: Mutex::new(None) }
    }

    fn owner(&self) -> MutexGuard<'_, Option<(i64, bool)>> {
        self.owner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The owners whose requests other nodes are at. Says before that requests of `owners` are begun here.
    pub(super) async fn others(
        &self,
        db: &impl GenericClient,
        owners: &HashSet<u64>,
    ) -> Result<Vec<i64>, Fault> {
        for owner in owners.iter().map(|owner| signed(*owner)) {
            if *self.owner() != Some((owner, true)) {
                *self.owner() = Some((owner, false));
                // This may come to nothing with the transaction, so it is said until it is known.
                self.write(db, owner).await?;
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

    /// Says for good that this node is alive, if it ever began a request. Not within a transaction.
    pub(super) async fn say(&self, db: &Client) -> Result<(), Fault> {
        let Some((owner, _)) = *self.owner() else { return Ok(()) };
        self.write(db, owner).await?;
        if let Some((now, is_known)) = &mut *self.owner() {
            *is_known = *now == owner;
        }
        // Those that went without a word are forgotten some time.
        execute(
            db,
            "DELETE FROM nodes WHERE alive_until < clock_timestamp() - interval '1 day'",
            &[],
        )
        .await
        .map(drop)
    }

    async fn write(&self, db: &impl GenericClient, owner: i64) -> Result<(), Fault> {
        execute(
            db,
            "INSERT INTO nodes (node, owner, alive_until) \
             VALUES ($1, $2, clock_timestamp() + $3::double precision * interval '1 millisecond') \
             ON CONFLICT (node) DO UPDATE SET owner = excluded.owner, \
             alive_until = excluded.alive_until",
            &[&&*self.node, &owner, &ALIVE_MS],
        )
        .await
        .map(drop)
    }

    /// Says that this node is gone.
    async fn leave(&self, db: &impl GenericClient) -> Result<(), Fault> {
        execute(db, "DELETE FROM nodes WHERE node = $1", &[&&*self.node]).await.map(drop)
    }
}

/// A name for a node that no other has.
pub(super) struct Name;

impl Ask<String> for Name {
    async fn run(&self, db: &mut Client) -> Result<String, Fault> {
        let row = first(db, "SELECT gen_random_uuid()::text", &[]).await?;
        let row = row.ok_or_else(|| Fault::Unreadable("there is no name".into()))?;
        Ok(row.try_get(0)?)
    }
}

/// What a node does last.
pub(super) struct Leave(pub(super) Claimant, pub(super) Arc<Membership>);

impl Ask<()> for Leave {
    async fn run(&self, db: &mut Client) -> Result<(), Fault> {
        sagas::unclaim(db, &self.0.node).await?;
        self.1.leave(db).await
    }
}
