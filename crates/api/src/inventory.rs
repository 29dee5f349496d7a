//! The organiser's own inventory, and how the pools differ from it.
//!
//! The engine has the truth about what is held and sold, the inventory about how much there should
//! be. A sync sets capacities and nothing else, so it is safe while the sale runs: it neither
//! brings sold units back nor takes held ones away.

use crate::prices::{PriceError, check_prices};
use onrush_base::cluster_store::{ClusterStore, WantedPool};
use onrush_core::ids::{EventId, PoolId};
use onrush_core::question::{AvailabilityNow, EventNow};
use onrush_core::spec::{PoolSpec, Reason};
use onrush_core::view::PoolView;
use onrush_core::{Command, Refusal};
use onrush_saga::gateway::Gateway;
use onrush_store::{Ask, Engine, Failure};
use serde::Serialize;
use std::collections::{HashMap, HashSet};
use utoipa::ToSchema;

/// After how many changes the rows of an event are read again: some two seconds, where each waits for
/// the archive.
const CHANGES_PER_READING: u32 = 50;

/// What a sync did about one pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It was as the inventory wants it.
    Same,
    /// It is new.
    Added,
    /// It has more units than before, or fewer.
    Adjusted,
    /// It could not be as the inventory wants it.
    Refused,
}

/// One pool after a sync.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct SyncedPool {
    /// The event.
    #[schema(value_type = crate::json::ids::EventIdText)]
    pub event: EventId,
    /// The pool.
    #[schema(value_type = crate::json::ids::IdText)]
    pub pool: PoolId,
    /// What was done.
    pub outcome: Outcome,
    /// Units that the inventory wants.
    pub wanted: u32,
    /// Units before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<u32>,
    /// Units from now on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<u32>,
    /// What still differs, and what to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// How a pool differs from the inventory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Drift {
    /// Units that the inventory wants.
    pub wanted: u32,
    /// How many more (positive) or fewer (negative) the pool has.
    pub difference: i64,
    /// What that means, and what to do.
    pub why: String,
}

/// Why the inventory cannot be synchronised.
#[derive(Debug, thiserror::Error)]
pub enum InventoryError {
    /// The inventory cannot be read; the log has why.
    #[error("the inventory cannot be read now; try again")]
    Unread,
    /// The engine fails.
    #[error(transparent)]
    Ask(#[from] Failure),
}

/// What a sync works with.
#[derive(Clone, Copy)]
pub struct SyncDeps<'a> {
    /// What has the pools.
    pub engine: &'a dyn Engine,
    /// Who has to take the prices, if anyone does.
    pub gateway: Option<&'a dyn Gateway>,
    /// What has the inventory.
    pub cluster: &'a dyn ClusterStore,
    /// Whose key asks for it.
    pub by: &'a str,
}

/// Makes every pool of the inventory as the inventory wants it, as far as that is possible now.
///
/// # Errors
/// See [`InventoryError`].
pub async fn sync(
    with: SyncDeps<'_>,
    event: Option<EventId>,
) -> Result<Vec<SyncedPool>, InventoryError> {
    let events = match event {
        Some(event) => vec![event],
        None => {
            let rows = read(with.cluster, None).await?.into_iter();
            let mut events: Vec<EventId> = rows.map(|row| row.event).collect();
            events.dedup();
            events
        }
    };
    let mut pools = Vec::new();
    for event in events {
        pools.extend(sync_event(with, &event).await?);
    }
    Ok(pools)
}

/// The same for the pools of one event. What the inventory wants is read when it is about to be done,
/// and again once much was done: somebody may have lowered a capacity since, and another sync may have
/// brought that.
async fn sync_event(
    with: SyncDeps<'_>,
    event: &EventId,
) -> Result<Vec<SyncedPool>, InventoryError> {
    let mut done: HashSet<PoolId> = HashSet::new();
    let mut pools = Vec::new();
    'reading: loop {
        let rows = read(with.cluster, Some(event.clone())).await?.into_iter();
        let left: Vec<WantedPool> = rows.filter(|row| !done.contains(&row.pool)).collect();
        if left.is_empty() {
            return Ok(pools);
        }
        let Some(mut known) = pools_of(with.engine, event).await? else {
            let why = "there is no such event; create it first";
            pools.extend(left.into_iter().map(|row| refused(row, None, why.into())));
            return Ok(pools);
        };
        let mut changes = 0;
        for row in left {
            if changes == CHANGES_PER_READING {
                continue 'reading;
            }
            done.insert(row.pool.clone());
            let known = known.remove(&row.pool);
            let synced = sync_one(with, row, known).await?;
            changes += u32::from(synced.outcome != Outcome::Same);
            pools.push(synced);
        }
        return Ok(pools);
    }
}

/// The inventory, of one event or of all.
///
/// # Errors
/// The inventory cannot be read.
pub async fn read(
    cluster: &dyn ClusterStore,
    event: Option<EventId>,
) -> Result<Vec<WantedPool>, InventoryError> {
    cluster.inventory(event).await.map_err(|error| {
        tracing::error!(%error, "the inventory cannot be read");
        InventoryError::Unread
    })
}

/// The pools of an event as they are; `None` if there is no such event.
async fn pools_of(
    engine: &dyn Engine,
    event: &EventId,
) -> Result<Option<HashMap<PoolId, PoolView>>, InventoryError> {
    match engine.ask(event.clone(), AvailabilityNow).await {
        Ok(answer) => {
            let pools = answer.value.pools.into_iter();
            Ok(Some(pools.map(|pool| (pool.pool.clone(), pool)).collect()))
        }
        Err(Failure::Refused(Refusal::EventNotFound | Refusal::EventArchived { .. })) => Ok(None),
        Err(failure) => Err(failure.into()),
    }
}

/// Whether the payment gateway takes the price of a pool that is to be added.
async fn price_is_taken(with: SyncDeps<'_>, row: &WantedPool) -> Result<(), PriceError> {
    let view = with.engine.ask(row.event.clone(), EventNow).await?.value;
    check_prices(with.gateway, &view.settings, [(row.pool.as_str(), row.price_minor)])
}

async fn sync_one(
    with: SyncDeps<'_>,
    row: WantedPool,
    known: Option<PoolView>,
) -> Result<SyncedPool, InventoryError> {
    let WantedPool { event, pool, capacity, price_minor } = row.clone();
    let before = known.as_ref().map(|known| known.capacity);
    if known.is_none() {
        match price_is_taken(with, &row).await {
            Ok(()) => {}
            Err(PriceError::CannotTake { field: _, why }) => return Ok(refused(row, None, why)),
            Err(PriceError::Ask(error)) => return Err(error.into()),
        }
    }
    let (outcome, command) = match &known {
        None => {
            let spec = PoolSpec { pool: pool.clone(), capacity, price_minor };
            (Outcome::Added, Command::AddPool { spec })
        }
        Some(known) if known.capacity != capacity => {
            let why = format!("the inventory wants {capacity} units").into();
            let reason = Reason { by: with.by.into(), why };
            (Outcome::Adjusted, Command::AdjustCapacity { pool: pool.clone(), capacity, reason })
        }
        Some(known) => {
            let why = price_differs(known, price_minor);
            let (wanted, after) = (capacity, Some(capacity));
            let outcome = Outcome::Same;
            return Ok(SyncedPool { event, pool, outcome, wanted, before, after, why });
        }
    };
    match with.engine.execute(event.clone(), command).await {
        Ok(_) => {
            let why = known.as_ref().and_then(|known| price_differs(known, price_minor));
            let (wanted, after) = (capacity, Some(capacity));
            Ok(SyncedPool { event, pool, outcome, wanted, before, after, why })
        }
        Err(Failure::Refused(Refusal::CapacityBelowCommitted { committed })) => {
            Ok(refused(row, before, too_low(capacity, committed)))
        }
        // Another sync was quicker, or the rules do not like what the inventory says.
        Err(Failure::Refused(refusal)) => Ok(refused(row, before, refusal.to_string())),
        Err(failure) => Err(failure.into()),
    }
}

fn refused(row: WantedPool, before: Option<u32>, why: String) -> SyncedPool {
    SyncedPool {
        event: row.event,
        pool: row.pool,
        outcome: Outcome::Refused,
        wanted: row.capacity,
        before,
        after: before,
        why: Some(why),
    }
}

fn price_differs(known: &PoolView, wanted_minor: i64) -> Option<String> {
    let price_minor = known.price_minor;
    (price_minor != wanted_minor).then(|| {
        format!(
            "the inventory's price is {wanted_minor} minor units and the pool's {price_minor}; \
             change the pool's with PUT …/events/<event>/prices, or correct the inventory"
        )
    })
}

fn too_low(wanted: u32, committed: u32) -> String {
    format!(
        "{committed} units are held, sold or blocked, which is more than {wanted}; lower the \
         inventory no further than that, or take bookings back first"
    )
}

/// How a pool differs from what the inventory wants of it; `None` if it does not.
#[must_use]
pub fn drift(known: &PoolView, wanted: &WantedPool) -> Option<Drift> {
    let difference = i64::from(known.capacity) - i64::from(wanted.capacity);
    let committed = known.units.held + known.units.sold + known.units.blocked;
    let why = if difference == 0 {
        price_differs(known, wanted.price_minor)?
    } else if wanted.capacity < committed {
        too_low(wanted.capacity, committed)
    } else if difference > 0 {
        format!("the inventory has {difference} units fewer; sync-inventory takes them off sale")
    } else {
        format!("the inventory has {} units more; sync-inventory puts them on sale", -difference)
    };
    Some(Drift { wanted: wanted.capacity, difference, why })
}

#[cfg(test)]
mod tests {
    use super::*;
    use onrush_base::cluster_store::Pending;
    use onrush_core::settings::Settings;
    use onrush_core::view::Units;
    use onrush_store::embedded::{Embedded, Options};
    use std::collections::{BTreeMap, VecDeque};
    use std::future::ready;
    use std::sync::Mutex;

    /// An inventory that is another one each time it is read, and stays as it is in the end.
    struct Readings(Mutex<VecDeque<Vec<WantedPool>>>);

    impl Readings {
        fn new(readings: impl IntoIterator<Item = Vec<WantedPool>>) -> Self {
            Self(Mutex::new(readings.into_iter().collect()))
        }
    }

    impl ClusterStore for Readings {
        fn keep(&self, _: String, _: Vec<u8>) -> Pending<Vec<u8>> {
            unreachable!("nobody keeps a file")
        }

        fn fetch(&self, _: String) -> Pending<Option<Vec<u8>>> {
            unreachable!("nobody fetches a file")
        }

        fn all(&self, _: String) -> Pending<Vec<(String, Vec<u8>)>> {
            unreachable!("nobody asks for files")
        }

        fn replace(&self, _: String, _: Option<Vec<u8>>, _: Vec<u8>) -> Pending<bool> {
            unreachable!("nobody replaces a file")
        }

        fn forget(&self, _: Vec<String>) -> Pending<()> {
            unreachable!("nobody removes files")
        }

        fn take_turn(&self, _: String, _: u32) -> Pending<bool> {
            unreachable!("nobody takes a turn")
        }

        fn end_turn(&self, _: String) -> Pending<()> {
            unreachable!("nobody ends a turn")
        }

        fn inventory(&self, event: Option<EventId>) -> Pending<Vec<WantedPool>> {
            let mut left = self.0.lock().unwrap();
            let mut rows = left[0].clone();
            if left.len() > 1 {
                left.pop_front();
            }
            rows.retain(|row| event.as_ref().is_none_or(|event| row.event == *event));
            Box::pin(ready(Ok(rows)))
        }

        fn set_flag(&self, _: String, _: u8) -> Pending<()> {
            unreachable!("nobody sets a flag")
        }
    }

    fn row(event: &str, pool: &str, capacity: u32) -> WantedPool {
        let (event, pool) = (event.parse().unwrap(), pool.parse().unwrap());
        WantedPool { event, pool, capacity, price_minor: 0 }
    }

    /// An engine with these events, and 10 units of pool `ga` in each.
    async fn engine_with(dir: &tempfile::TempDir, events: &[&str]) -> Embedded {
        let engine = Embedded::open(dir.path(), Options::default()).unwrap();
        for event in events {
            let event: EventId = event.parse().unwrap();
            let settings = Box::new(Settings::new("Gala", "EUR".parse().unwrap()));
            let pool = "ga".parse().unwrap();
            let spec = PoolSpec { pool, capacity: 10, price_minor: 0 };
            for command in [Command::CreateEvent { settings }, Command::AddPool { spec }] {
                engine.execute(event.clone(), command).await.unwrap();
            }
        }
        engine
    }

    /// How many units each pool has.
    async fn capacities(engine: &Embedded, event: &str) -> Vec<u32> {
        let pools = pools_of(engine, &event.parse().unwrap()).await.unwrap().unwrap();
        let by_id: BTreeMap<PoolId, u32> =
            pools.into_iter().map(|(id, pool)| (id, pool.capacity)).collect();
        by_id.into_values().collect()
    }

    #[tokio::test]
    async fn a_capacity_that_is_lowered_while_another_event_is_done_is_not_put_back() {
        let dir = tempfile::tempdir().unwrap();
        let engine = engine_with(&dir, &["a", "b"]).await;
        let before = vec![row("a", "ga", 20), row("b", "ga", 20), row("c", "ga", 20)];
        let after = vec![row("a", "ga", 5), row("b", "ga", 4), row("c", "ga", 3)];
        let cluster = Readings::new([before.clone(), before, after]);
        let with = SyncDeps { engine: &engine, gateway: None, cluster: &cluster, by: "ops" };
        let synced = sync(with, None).await.unwrap();
        let found: Vec<_> = synced
            .iter()
            .map(|pool| (pool.event.as_str(), pool.outcome, pool.wanted, pool.before, pool.after))
            .collect();
        let expected = [
            ("a", Outcome::Adjusted, 20, Some(10), Some(20)),
            ("b", Outcome::Adjusted, 4, Some(10), Some(4)),
            ("c", Outcome::Refused, 3, None, None),
        ];
        assert_eq!(found, expected);
        assert_eq!(capacities(&engine, "b").await, [4]);
    }

    #[tokio::test]
    async fn a_capacity_that_is_lowered_while_many_pools_are_done_is_not_put_back() {
        let dir = tempfile::tempdir().unwrap();
        let engine = engine_with(&dir, &["a"]).await;
        let rows = |capacity| -> Vec<WantedPool> {
            let names = (0..CHANGES_PER_READING).map(|nth| format!("p{nth:03}"));
            let names = std::iter::once("ga".to_owned()).chain(names);
            names.map(|name| row("a", &name, capacity)).collect()
        };
        let cluster = Readings::new([rows(10), rows(7)]);
        let with = SyncDeps { engine: &engine, gateway: None, cluster: &cluster, by: "ops" };
        let event: Option<EventId> = Some("a".parse().unwrap());
        let synced = sync(with, event.clone()).await.unwrap();
        assert_eq!(synced.len(), rows(10).len(), "each once");
        let found = capacities(&engine, "a").await;
        assert!(found.iter().all(|capacity| *capacity == 10), "{found:?}");

        let cluster = Readings::new([rows(20), rows(7)]);
        let with = SyncDeps { cluster: &cluster, ..with };
        let synced = sync(with, event).await.unwrap();
        assert_eq!(synced.len(), rows(20).len(), "each once");
        let found = capacities(&engine, "a").await;
        let (last, first) = found.split_last().unwrap();
        assert!(first.iter().all(|capacity| *capacity == 20), "{found:?}");
        assert_eq!(*last, 7, "that was read again");
    }

    fn known(capacity: u32, sold: u32) -> PoolView {
        PoolView {
            pool: "ga".parse().unwrap(),
            price_minor: 500,
            first_minor: None,
            later: Vec::new(),
            types: Vec::new(),
            capacity,
            units: Units { free: capacity - sold, held: 0, sold, blocked: 0 },
            claimed: 0,
            claimed_by_services: 0,
            blocked_why: Vec::new(),
            allotted: Vec::new(),
        }
    }

    fn wanted(capacity: u32, price_minor: i64) -> WantedPool {
        let (event, pool) = ("show".parse().unwrap(), "ga".parse().unwrap());
        WantedPool { event, pool, capacity, price_minor }
    }

    #[test]
    fn a_drift_says_what_a_sync_would_do() {
        assert_eq!(drift(&known(10, 3), &wanted(10, 500)), None);
        for (pool, row, difference, words) in [
            (known(10, 3), wanted(8, 500), 2, "takes them off sale"),
            (known(10, 3), wanted(12, 500), -2, "puts them on sale"),
            (known(10, 3), wanted(2, 500), 8, "3 units are held, sold or blocked"),
            (known(10, 3), wanted(10, 600), 0, "change the pool's with PUT"),
        ] {
            let drift = drift(&pool, &row).expect("they differ");
            assert_eq!(drift.difference, difference);
            assert!(drift.why.contains(words), "{}", drift.why);
        }
    }
}
