//! What brings the tables up to date, one step after the other.

use super::error::PgOpenError;
use super::fault::{is_away, sentence};
use super::way::{Line, Way};
use refinery::Runner;
use refinery::error::Kind;
use std::time::Duration;
use tokio::time::{sleep, timeout};
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

mod embedded {
    refinery::embed_migrations!("migrations/postgres");
}

/// What the user's or the database's own limits give way to while steps are waited for and made.
const NO_LIMITS: &str = "SET statement_timeout = 0; SET lock_timeout = 0";

/// How often a node looks for PostgreSQL before it gives up, as it looks for Redis.
const TRIES: u32 = 5;
/// How long it waits in between.
const PAUSE: Duration = Duration::from_millis(500);
/// Where the steps that were run are written down.
const TABLE: &str = "onrush_migrations";
/// Taken while steps are run, so that of several nodes that start at once only one runs them.
/// ("onrush", in bytes.)
const LOCK: i64 = 0x6f6e_7275_7368;
/// How long a step waits for a table that others use. Whoever asks for that table meanwhile waits behind
/// it, and nodes give up after 5 s; vacuuming makes way after 1 s (`deadlock_timeout`).
const LOCK_TIMEOUT: &str = "SET lock_timeout = '2s'";
/// How long a step leaves such a table to the others before it is tried again: at first, and at most.
const LEFT_TO_OTHERS: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));
/// Who may be in the way: whoever uses a table in a transaction that is older than a step waits, and
/// those of whom this user may not know how old it is.
const IN_THE_WAY: &str = "\
    SELECT string_agg(DISTINCT concat_ws(' ', pid, usename, nullif(application_name, '')), ', ') \
    FROM pg_locks JOIN pg_stat_activity USING (pid) \
    WHERE locktype = 'relation' AND granted AND pid <> pg_backend_pid() \
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) \
    AND coalesce(xact_start < now() - interval '2 seconds', TRUE)";

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
    // A database may end what takes long, as it does for its user elsewhere: waiting and steps may.
    client.batch_execute(NO_LIMITS).await.map_err(tables)?;
    take_turn(&client).await.map_err(tables)?;
    let mut runner = embedded::migrations::runner();
    runner.set_migration_table_name(TABLE);
    let known = runner.get_migrations().iter().map(|step| i64::from(step.version())).max();
    let newest = newest(&client).await.map_err(tables)?;
    if let (Some(newest), Some(known)) = (newest, known)
        && newest > known
    {
        return Err(PgOpenError::Newer { version: newest, known });
    }
    // Not before: another node may be at its steps for longer.
    client.batch_execute(LOCK_TIMEOUT).await.map_err(tables)?;
    run_steps(&mut client, &runner).await?;
    // It would be given back with the connection, but only as soon as the server notices.
    client.execute("SELECT pg_advisory_unlock($1)", &[&LOCK]).await.map_err(tables)?;
    Ok(())
}

/// Waits until no other node is at the steps, for as long as that may be, and says so.
async fn take_turn(client: &Client) -> Result<(), tokio_postgres::Error> {
    let row = client.query_one("SELECT pg_try_advisory_lock($1)", &[&LOCK]).await?;
    if row.try_get::<_, bool>(0)? {
        return Ok(());
    }
    tracing::info!(
        "another node brings tables in PostgreSQL up to date; this node starts once that is done"
    );
    client.execute("SELECT pg_advisory_lock($1)", &[&LOCK]).await?;
    Ok(())
}

/// Runs what is missing, step by step. One whose table is in use all the time, as all are while they are
/// dumped, is tried again and again: in one long wait it would have everybody else wait behind it.
async fn run_steps(client: &mut Client, runner: &Runner) -> Result<(), PgOpenError> {
    let (mut pause, longest) = LEFT_TO_OTHERS;
    loop {
        let step = match runner.run_async(client).await {
            Ok(_) => return Ok(()),
            Err(error) => match kept_waiting(&error) {
                Some(step) => step.to_owned(),
                None => return Err(PgOpenError::Tables(error.to_string())),
            },
        };
        // A hint for whoever reads the log: the node goes on without.
        let sessions = in_the_way(client).await;
        let sessions = sessions.unwrap_or_else(|why| format!("unknown: {}", sentence(&why)));
        tracing::warn!(
            step,
            sessions,
            "tables in PostgreSQL cannot be brought up to date as long as others use them; this node \
             starts once they are done: end dumps and long queries"
        );
        sleep(pause).await;
        pause = longest.min(pause * 2);
    }
}

/// What could not be done, if that is because a table was in use for too long, or by somebody who waited
/// for what the step had locked already: PostgreSQL ends one of the two, and that may be the step.
fn kept_waiting(error: &refinery::Error) -> Option<&str> {
    let Kind::Connection(what, why) = error.kind() else { return None };
    let code = why.downcast_ref::<tokio_postgres::Error>()?.code()?;
    let is_in_use =
        *code == SqlState::LOCK_NOT_AVAILABLE || *code == SqlState::T_R_DEADLOCK_DETECTED;
    is_in_use.then_some(what.as_str())
}

/// Process id, user and program of each session that may be in the way.
async fn in_the_way(client: &Client) -> Result<String, tokio_postgres::Error> {
    let row = client.query_one(IN_THE_WAY, &[]).await?;
    Ok(row.try_get::<_, Option<String>>(0)?.unwrap_or_default())
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
