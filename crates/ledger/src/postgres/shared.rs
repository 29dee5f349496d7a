//! Small things that nodes share: leases, cursors and flags.

use super::database::{Ask, all, execute, first};
use super::fault::Fault;
use super::rows::{signed, unsigned};
use deadpool_postgres::{Client, GenericClient};
use std::collections::BTreeMap;

/// Where nodes hear that a flag was set; what is said is its name.
pub(super) const FLAGS_CHANNEL: &str = "onrush_flags";

/// Flags with the percentage of users for whom they are on.
pub type Flags = BTreeMap<String, u8>;

/// Takes or renews a lease.
pub(super) struct Lease {
    pub(super) name: String,
    pub(super) owner: String,
    pub(super) ttl_ms: u32,
}

impl Ask<Option<u64>> for Lease {
    async fn run(&self, db: &mut Client) -> Result<Option<u64>, Fault> {
        // One that ran out is another one, also for the same owner, who may have been taken for
        // dead meanwhile.
        let taken = first(
            db,
            "INSERT INTO leases AS known (name, owner, fence, expires_at) \
             VALUES ($1, $2, 1, clock_timestamp() + $3::double precision * interval '1 millisecond') \
             ON CONFLICT (name) DO UPDATE SET owner = $2, \
             expires_at = clock_timestamp() + $3::double precision * interval '1 millisecond', \
             fence = CASE WHEN known.owner = $2 AND known.expires_at > clock_timestamp() \
             THEN known.fence ELSE known.fence + 1 END \
             WHERE known.owner IS NULL OR known.owner = $2 \
             OR known.expires_at <= clock_timestamp() RETURNING fence",
            &[&self.name, &self.owner, &f64::from(self.ttl_ms)],
        )
        .await?;
        taken.map(|row| Ok(unsigned(row.try_get(0)?))).transpose()
    }
}

/// Gives a lease back.
pub(super) struct Release {
    pub(super) name: String,
    pub(super) owner: String,
}

impl Ask<()> for Release {
    async fn run(&self, db: &mut Client) -> Result<(), Fault> {
        let sql = "UPDATE leases SET owner = NULL WHERE name = $1 AND owner = $2";
        execute(db, sql, &[&self.name, &self.owner]).await.map(drop)
    }
}

/// How far somebody has come.
pub(super) struct CursorOf(pub(super) String);

impl Ask<u64> for CursorOf {
    async fn run(&self, db: &mut Client) -> Result<u64, Fault> {
        let row = first(db, "SELECT value FROM cursors WHERE name = $1", &[&self.0]).await?;
        row.map_or(Ok(0), |row| Ok(unsigned(row.try_get(0)?)))
    }
}

/// Says how far somebody has come.
pub(super) struct SetCursor {
    pub(super) name: String,
    pub(super) fence: u64,
    pub(super) value: u64,
}

impl Ask<()> for SetCursor {
    async fn run(&self, db: &mut Client) -> Result<(), Fault> {
        let written = execute(
            db,
            "INSERT INTO cursors AS known (name, fence, value) VALUES ($1, $2, $3) \
             ON CONFLICT (name) DO UPDATE SET fence = excluded.fence, value = excluded.value \
             WHERE known.fence <= excluded.fence",
            &[&self.name, &signed(self.fence), &signed(self.value)],
        )
        .await?;
        if written == 0 { Err(Fault::Conflict) } else { Ok(()) }
    }
}

/// Lowers to this number whatever is above it. Gives who had come farther, by name, and how far.
pub(super) struct LowerCursors(pub(super) u64);

impl Ask<Vec<(String, u64)>> for LowerCursors {
    async fn run(&self, db: &mut Client) -> Result<Vec<(String, u64)>, Fault> {
        // Fences stay: who wrote last keeps the right to write, and everybody before has lost it.
        let lowered = all(
            db,
            "WITH above AS (SELECT name, value FROM cursors WHERE value > $1 FOR UPDATE), \
             lowered AS (UPDATE cursors SET value = $1 FROM above \
             WHERE cursors.name = above.name RETURNING above.name, above.value) \
             SELECT name, value FROM lowered ORDER BY name",
            &[&signed(self.0)],
        )
        .await?;
        lowered.iter().map(|row| Ok((row.try_get(0)?, unsigned(row.try_get(1)?)))).collect()
    }
}

/// All flags.
pub(super) struct AllFlags;

impl Ask<Flags> for AllFlags {
    async fn run(&self, db: &mut Client) -> Result<Flags, Fault> {
        read_flags(db).await
    }
}

pub(super) async fn read_flags(db: &impl GenericClient) -> Result<Flags, Fault> {
    let found = all(db, "SELECT name, percent FROM flags", &[]).await?;
    found
        .iter()
        .map(|row| {
            let percent: i64 = row.try_get(1)?;
            let percent = u8::try_from(percent)
                .map_err(|_| Fault::Unreadable(format!("{percent} is no percentage")))?;
            Ok((row.try_get(0)?, percent))
        })
        .collect()
}

/// Sets a flag, and tells all nodes.
pub(super) struct SetFlag {
    pub(super) name: String,
    pub(super) percent: u8,
}

impl Ask<()> for SetFlag {
    async fn run(&self, db: &mut Client) -> Result<(), Fault> {
        // What is told is told when the flag is there to be read.
        let sql = "WITH written AS (INSERT INTO flags (name, percent) VALUES ($1, $2) \
                   ON CONFLICT (name) DO UPDATE SET percent = excluded.percent RETURNING name) \
                   SELECT pg_notify($3, name) FROM written";
        let percent = i64::from(self.percent);
        execute(db, sql, &[&self.name, &percent, &FLAGS_CHANNEL]).await.map(drop)
    }
}
