//! What brings the tables up to date, one step after the other.

use super::error::PgOpenError;
use super::fault::{is_away, sentence};
use super::way::{Line, Way};
use std::time::Duration;
use tokio::time::{sleep, timeout};
use tokio_postgres::Client;

mod embedded {
    refinery::embed_migrations!("migrations/postgres");
}

/// How often a node looks for PostgreSQL before it gives up, as it looks for Redis.
const TRIES: u32 = 5;
/// How long it waits in between.
const PAUSE: Duration = Duration::from_millis(500);
/// Where the steps that were run are written down.
const TABLE: &str = "onrush_migrations";
/// Taken while steps are run, so that of several nodes that start at once only one runs them.
/// ("onrush", in bytes.)
const LOCK: i64 = 0x6f6e_7275_7368;

/// Runs the steps that are missing, each in a transaction.
pub(super) async fn run(way: &Way, patience: Duration) -> Result<(), PgOpenError> {
    let (client, connection) = connect_patiently(way, patience).await?;
    let connection = tokio::spawn(connection);
    let outcome = run_on(client).await;
    connection.abort();
    outcome
}

async fn connect(way: &Way, patience: Duration) -> Result<(Client, Line), PgOpenError> {
    match timeout(patience, way.connect()).await {
        Ok(Ok(connected)) => Ok(connected),
        Ok(Err(error)) if is_away(&error) => Err(PgOpenError::Unreachable(sentence(&error))),
        Ok(Err(error)) => Err(PgOpenError::Refused(sentence(&error))),
        Err(_) => Err(PgOpenError::Unreachable("it does not answer in time".into())),
    }
}

/// Looks for PostgreSQL, a few times: one that was started together with this node, or is changing
/// its primary, answers in a moment. One that refuses us would go on to.
async fn connect_patiently(way: &Way, patience: Duration) -> Result<(Client, Line), PgOpenError> {
    for _ in 1..TRIES {
        match connect(way, patience).await {
            Err(PgOpenError::Unreachable(why)) => {
                tracing::warn!(why, "PostgreSQL does not answer yet; it is asked again");
                sleep(PAUSE).await;
            }
            found => return found,
        }
    }
    connect(way, patience).await
}

async fn run_on(mut client: Client) -> Result<(), PgOpenError> {
    let tables = |error: tokio_postgres::Error| PgOpenError::Tables(sentence(&error));
    client.execute("SELECT pg_advisory_lock($1)", &[&LOCK]).await.map_err(tables)?;
    let mut runner = embedded::migrations::runner();
    runner.set_migration_table_name(TABLE);
    let known = runner.get_migrations().iter().map(|step| i64::from(step.version())).max();
    let newest = newest(&client).await.map_err(tables)?;
    if let (Some(newest), Some(known)) = (newest, known)
        && newest > known
    {
        return Err(PgOpenError::Newer { version: newest, known });
    }
    runner.run_async(&mut client).await.map_err(|error| PgOpenError::Tables(error.to_string()))?;
    // It would be given back with the connection, but only as soon as the server notices.
    client.execute("SELECT pg_advisory_unlock($1)", &[&LOCK]).await.map_err(tables)?;
    Ok(())
}

/// The version of the tables, if there are any.
async fn newest(client: &Client) -> Result<Option<i64>, tokio_postgres::Error> {
    let row = client.query_one("SELECT to_regclass($1) IS NOT NULL", &[&TABLE]).await?;
    if !row.try_get::<_, bool>(0)? {
        return Ok(None);
    }
    let sql = format!("SELECT max(version)::bigint FROM {TABLE}");
    client.query_one(&sql, &[]).await?.try_get(0)
}
