//! The same hold on PostgreSQL, in three ways that people write it, by `pgbench`.

use super::super::common::Common;
use super::shared::CLIENTS;
use onrush_testkit::{Postgres, PostgresOptions};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// How stock is kept, and who waits for whom.
#[derive(Clone, Copy)]
pub(super) enum Way {
    /// One statement that takes from one row: everybody waits for the row.
    HotRow,
    /// A row a unit: everybody takes another one.
    SkipLocked,
    /// A lock by number around the same statement: everybody waits for the lock.
    AdvisoryLock,
}

const TABLES: &str = "
    CREATE TABLE pools (id text PRIMARY KEY, free bigint NOT NULL);
    CREATE TABLE users (id text PRIMARY KEY, units bigint NOT NULL);
    CREATE TABLE holds (booking text PRIMARY KEY, user_id text NOT NULL, pool text NOT NULL,
        expires_at timestamptz NOT NULL);
    CREATE INDEX ON holds (expires_at);
    INSERT INTO pools VALUES ('ga', 1000000000);";

/// More units than can be sold in the time.
const UNITS: &str = "
    CREATE TABLE units (id bigint PRIMARY KEY, pool text NOT NULL, booking text);
    INSERT INTO units SELECT n, 'ga' FROM generate_series(1, 300000) AS n;
    CREATE INDEX ON units (pool) WHERE booking IS NULL;
    ANALYZE units;";

const CHANCE: &str = r"
\set user random(1, 1000000000)
\set booking random(1, 9000000000000000000)
";

/// One unit of the hot row, if there is one and the user may have it, with a deadline.
const HOT_ROW: &str = "
WITH taken AS (
  UPDATE pools SET free = free - 1
  WHERE id = 'ga' AND free >= 1
    AND coalesce((SELECT units FROM users WHERE id = 'u' || :user), 0) + 1 <= 4
  RETURNING id
), counted AS (
  INSERT INTO users SELECT 'u' || :user, 1 FROM taken
  ON CONFLICT (id) DO UPDATE SET units = users.units + 1
)
INSERT INTO holds SELECT 'b' || :booking, 'u' || :user, id, now() + interval '600 s' FROM taken;
";

/// One of the units that nobody else is about to take, on the same conditions.
const SKIP_LOCKED: &str = "
WITH one AS (
  SELECT id FROM units WHERE pool = 'ga' AND booking IS NULL LIMIT 1 FOR UPDATE SKIP LOCKED
), taken AS (
  UPDATE units SET booking = 'b' || :booking FROM one
  WHERE units.id = one.id
    AND coalesce((SELECT units FROM users WHERE id = 'u' || :user), 0) + 1 <= 4
  RETURNING units.pool
), counted AS (
  INSERT INTO users SELECT 'u' || :user, 1 FROM taken
  ON CONFLICT (id) DO UPDATE SET units = users.units + 1
)
INSERT INTO holds SELECT 'b' || :booking, 'u' || :user, pool, now() + interval '600 s' FROM taken;
";

impl Way {
    pub(super) const ALL: [Self; 3] = [Self::HotRow, Self::SkipLocked, Self::AdvisoryLock];

    /// What figures call it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::HotRow => "hot_row",
            Self::SkipLocked => "skip_locked",
            Self::AdvisoryLock => "advisory_lock",
        }
    }

    fn tables(self) -> String {
        match self {
            Self::HotRow | Self::AdvisoryLock => TABLES.to_owned(),
            Self::SkipLocked => [TABLES, UNITS].concat(),
        }
    }

    fn script(self) -> String {
        match self {
            Self::HotRow => [CHANCE, HOT_ROW].concat(),
            Self::SkipLocked => [CHANCE, SKIP_LOCKED].concat(),
            Self::AdvisoryLock => {
                [CHANCE, "BEGIN;\nSELECT pg_advisory_xact_lock(1);", HOT_ROW, "COMMIT;\n"].concat()
            }
        }
    }
}

/// Holds a second, each durable when it is answered.
pub(super) fn holds_per_s(common: &Common, way: Way) -> Result<f64, String> {
    let options = PostgresOptions { durable: true, ..PostgresOptions::default() };
    let postgres = Postgres::start_with(&options).map_err(|error| error.to_string())?;
    postgres.sql(&postgres.url(), &way.tables()).map_err(|error| error.to_string())?;
    let scratch = common.scratch()?;
    let script = scratch.path().join("hold.sql");
    std::fs::write(&script, way.script()).map_err(|error| error.to_string())?;
    let seconds = common.time(6.0).as_secs().max(1).to_string();
    let output = Command::new(pgbench())
        .args(["--no-vacuum", "--protocol=prepared", "--jobs=2"])
        .args(["--client", &CLIENTS.to_string(), "--time", &seconds])
        .args(["-h", "127.0.0.1", "-p", &postgres.port().to_string(), "-U", "onrush"])
        .arg("--file")
        .arg(&script)
        .arg("postgres")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("pgbench: {error}; install postgresql"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let said = text.lines().find_map(|line| line.strip_prefix("tps = "));
    let rate = said.and_then(|rest| rest.split(' ').next()?.parse().ok());
    rate.ok_or_else(|| format!("pgbench said no rate: {}", String::from_utf8_lossy(&output.stderr)))
}

/// Debian keeps it outside of the path, beside the server's programs.
fn pgbench() -> PathBuf {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let found = versions.map(|version| version.path().join("bin/pgbench")).filter(|p| p.exists());
    found.max().unwrap_or_else(|| "pgbench".into())
}
