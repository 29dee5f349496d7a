//! The same hold on PostgreSQL: one statement on one hot row, by `pgbench`.

use super::super::common::Common;
use super::shared::CLIENTS;
use onrush_testkit::{Postgres, PostgresOptions};
use std::path::PathBuf;
use std::process::{Command, Stdio};

const TABLES: &str = "
    CREATE TABLE pools (id text PRIMARY KEY, free bigint NOT NULL);
    CREATE TABLE users (id text PRIMARY KEY, units bigint NOT NULL);
    CREATE TABLE holds (booking text PRIMARY KEY, user_id text NOT NULL, pool text NOT NULL,
        expires_at timestamptz NOT NULL);
    CREATE INDEX ON holds (expires_at);
    INSERT INTO pools VALUES ('ga', 1000000000);";

/// One unit of the hot row, if there is one and the user may have it, with a deadline.
const HOLD: &str = r"
\set user random(1, 1000000000)
\set booking random(1, 9000000000000000000)
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

/// Holds a second, each durable when it is answered.
pub(super) fn hot_row(common: &Common) -> Result<f64, String> {
    let options = PostgresOptions { durable: true, ..PostgresOptions::default() };
    let postgres = Postgres::start_with(&options).map_err(|error| error.to_string())?;
    postgres.sql(&postgres.url(), TABLES).map_err(|error| error.to_string())?;
    let scratch = common.scratch()?;
    let script = scratch.path().join("hold.sql");
    std::fs::write(&script, HOLD).map_err(|error| error.to_string())?;
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
