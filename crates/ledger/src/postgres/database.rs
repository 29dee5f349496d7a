//! Connections, and one thing asked of the database.

use super::fault::Fault;
use super::options::PgOptions;
use super::way::Way;
use crate::LedgerError;
use deadpool_postgres::{
    Client, GenericClient, Manager, ManagerConfig, Object, Pool, RecyclingMethod, Runtime,
    Transaction,
};
use std::future::Future;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Config, Row};

/// How often something is tried that met something else on the same rows.
const ATTEMPTS: u32 = 5;

/// Every statement goes by an index, but the sums and those of tables that stay small. Plans that are
/// made while the tables are small, and kept, would go through whole tables long after these have
/// grown: a sale fills them within minutes.
const PLANS: &str =
    "-c enable_seqscan=off -c enable_hashjoin=off -c enable_mergejoin=off -c jit=off";

/// Parameters of a statement.
pub(super) type Params<'a> = &'a [&'a (dyn ToSql + Sync)];

/// One thing asked of the database, and what answers it.
pub(super) trait Ask<T: Send>: Send + Sync {
    /// Does it, all of it or nothing. It may be done again if it met something else on the same rows.
    fn run(&self, db: &mut Client) -> impl Future<Output = Result<T, Fault>> + Send;
}

/// The connections.
pub(super) struct Database {
    pool: Pool,
    patience: Duration,
}

impl Database {
    /// Connects to nothing yet.
    pub(super) fn new(way: &Way, options: &PgOptions) -> Result<Self, Fault> {
        let patience = Duration::from_millis(options.patience_ms.into());
        // It is known of a connection whether it broke; asking over each before its use would cost
        // a round trip.
        let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let manager = with_limits(&way.config, patience);
        let manager = Manager::from_config(manager, way.tls.clone(), recycling);
        let pool = Pool::builder(manager)
            .max_size(options.pool_size.max(1))
            .wait_timeout(Some(patience))
            .create_timeout(Some(patience))
            .recycle_timeout(Some(patience))
            .runtime(Runtime::Tokio1)
            .build()
            .map_err(|error| Fault::Away(error.to_string()))?;
        Ok(Self { pool, patience })
    }

    pub(super) fn patience(&self) -> Duration {
        self.patience
    }

    pub(super) fn close(&self) {
        self.pool.close();
    }

    /// Asks, with as much patience as there is.
    pub(super) async fn ask<T: Send>(&self, what: &impl Ask<T>) -> Result<T, LedgerError> {
        Ok(self.ask_until(what, Instant::now() + self.patience).await?)
    }

    /// Asks until `deadline`.
    pub(super) async fn ask_until<T: Send>(
        &self,
        what: &impl Ask<T>,
        deadline: Instant,
    ) -> Result<T, Fault> {
        let mut attempt = 1;
        loop {
            match self.ask_once(what, deadline).await {
                Err(fault) if fault.is_collision() && attempt < ATTEMPTS => attempt += 1,
                outcome => return outcome,
            }
        }
    }

    async fn ask_once<T: Send>(&self, what: &impl Ask<T>, deadline: Instant) -> Result<T, Fault> {
        let client = timeout_at(deadline, self.pool.get()).await.map_err(|_| Fault::Slow)?;
        let mut client = client?;
        match timeout_at(deadline, what.run(&mut client)).await {
            Ok(Err(fault)) if fault.only_reads() => {
                // Behind the same address another one may be there that writes.
                drop(Object::take(client));
                Err(fault)
            }
            Ok(outcome) => outcome,
            Err(_) => {
                // Who knows what it is still at.
                drop(Object::take(client));
                Err(Fault::Slow)
            }
        }
    }
}

/// The configuration with limits of time, so that neither side waits for the other for ever.
fn with_limits(config: &Config, patience: Duration) -> Config {
    let mut config = config.clone();
    let patience_ms = patience.as_millis();
    let ours = format!(
        "{PLANS} -c statement_timeout={} -c idle_in_transaction_session_timeout={}",
        // What nobody waits for any more must not be done later.
        patience_ms,
        patience_ms.saturating_mul(2)
    );
    let options = match config.get_options() {
        Some(theirs) => format!("{ours} {theirs}"),
        None => ours,
    };
    config.options(&options).connect_timeout(patience).tcp_user_timeout(patience);
    if config.get_application_name().is_none() {
        config.application_name("onrush");
    }
    config
}

/// Begins a transaction in which a statement may take as long as is left until then. Whoever asks is
/// told something by then, and what nobody waits for any more must not go on.
pub(super) async fn begin_until(db: &mut Client, until: Instant) -> Result<Transaction<'_>, Fault> {
    let db = db.transaction().await?;
    // None would be no limit.
    let left_ms = until.saturating_duration_since(Instant::now()).as_millis().max(1);
    db.batch_execute(&format!("SET LOCAL statement_timeout = {left_ms}")).await?;
    Ok(db)
}

/// Runs a statement that is prepared once a connection; says how many rows it concerned.
pub(super) async fn execute(
    db: &impl GenericClient,
    sql: &str,
    params: Params<'_>,
) -> Result<u64, Fault> {
    let statement = db.prepare_cached(sql).await?;
    Ok(db.execute(&statement, params).await?)
}

/// All rows.
pub(super) async fn all(
    db: &impl GenericClient,
    sql: &str,
    params: Params<'_>,
) -> Result<Vec<Row>, Fault> {
    let statement = db.prepare_cached(sql).await?;
    Ok(db.query(&statement, params).await?)
}

/// The only row, if there is one.
pub(super) async fn first(
    db: &impl GenericClient,
    sql: &str,
    params: Params<'_>,
) -> Result<Option<Row>, Fault> {
    let statement = db.prepare_cached(sql).await?;
    Ok(db.query_opt(&statement, params).await?)
}
