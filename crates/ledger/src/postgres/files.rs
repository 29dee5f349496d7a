//! Files that all nodes have alike, and the organiser's inventory.

use super::PgLedger;
use super::database::{Ask, all, execute, first};
use super::fault::Fault;
use crate::Pending;
use deadpool_postgres::Client;
use onrush_core::ids::{EventId, PoolId};

/// What the organiser's own system wants of a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InventoryRow {
    /// The event.
    pub event: EventId,
    /// The pool.
    pub pool: PoolId,
    /// Units there are.
    pub capacity: u32,
    /// The price of one unit, in minor units.
    pub price_minor: i64,
}

impl PgLedger {
    /// Keeps a file that is written once; gives what is kept, which is another's if that was quicker.
    pub fn keep_file(&self, name: String, bytes: Vec<u8>) -> Pending<Vec<u8>> {
        self.write(KeepFile { name, bytes })
    }

    /// A file's content, if there is one.
    pub fn file_content(&self, name: String) -> Pending<Option<Vec<u8>>> {
        self.read(FindFile { name })
    }

    /// All files whose names begin with `prefix`, by name.
    pub fn files(&self, prefix: String) -> Pending<Vec<(String, Vec<u8>)>> {
        self.read(ListFiles { prefix })
    }

    /// Replaces a file if it still is what it was (`None`: there is none); whether it was.
    pub fn replace_file(
        &self,
        name: String,
        before: Option<Vec<u8>>,
        bytes: Vec<u8>,
    ) -> Pending<bool> {
        self.write(ReplaceFile { name, before, bytes })
    }

    /// Removes files; those that are not there are passed over.
    pub fn forget_files(&self, names: Vec<String>) -> Pending<()> {
        self.write(ForgetFiles { names })
    }

    /// The organiser's inventory, of one event or of all, by event and pool.
    pub fn inventory(&self, event: Option<EventId>) -> Pending<Vec<InventoryRow>> {
        self.read(ListInventory { event })
    }
}

struct KeepFile {
    name: String,
    bytes: Vec<u8>,
}

impl Ask<Vec<u8>> for KeepFile {
    async fn run(&self, db: &mut Client) -> Result<Vec<u8>, Fault> {
        let sql = "INSERT INTO files (name, content) VALUES ($1, $2) ON CONFLICT DO NOTHING";
        execute(db, sql, &[&self.name, &self.bytes]).await?;
        // A statement of its own: it sees what another transaction has written meanwhile.
        let kept = first(db, "SELECT content FROM files WHERE name = $1", &[&self.name]).await?;
        match kept {
            Some(row) => Ok(row.try_get(0)?),
            None => {
                Err(Fault::Unreadable(format!("the file {} was kept and is not there", self.name)))
            }
        }
    }
}

struct FindFile {
    name: String,
}

impl Ask<Option<Vec<u8>>> for FindFile {
    async fn run(&self, db: &mut Client) -> Result<Option<Vec<u8>>, Fault> {
        let found = first(db, "SELECT content FROM files WHERE name = $1", &[&self.name]).await?;
        found.map(|row| row.try_get(0)).transpose().map_err(Fault::from)
    }
}

struct ListFiles {
    prefix: String,
}

impl Ask<Vec<(String, Vec<u8>)>> for ListFiles {
    async fn run(&self, db: &mut Client) -> Result<Vec<(String, Vec<u8>)>, Fault> {
        let sql = "SELECT name, content FROM files WHERE starts_with(name, $1) ORDER BY name";
        let found = all(db, sql, &[&self.prefix]).await?;
        found.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
    }
}

struct ReplaceFile {
    name: String,
    before: Option<Vec<u8>>,
    bytes: Vec<u8>,
}

impl Ask<bool> for ReplaceFile {
    async fn run(&self, db: &mut Client) -> Result<bool, Fault> {
        let written = match &self.before {
            None => {
                let sql =
                    "INSERT INTO files (name, content) VALUES ($1, $2) ON CONFLICT DO NOTHING";
                execute(db, sql, &[&self.name, &self.bytes]).await?
            }
            Some(before) => {
                let sql = "UPDATE files SET content = $2 WHERE name = $1 AND content = $3";
                execute(db, sql, &[&self.name, &self.bytes, before]).await?
            }
        };
        Ok(written == 1)
    }
}

struct ForgetFiles {
    names: Vec<String>,
}

impl Ask<()> for ForgetFiles {
    async fn run(&self, db: &mut Client) -> Result<(), Fault> {
        execute(db, "DELETE FROM files WHERE name = ANY($1)", &[&self.names]).await.map(drop)
    }
}

struct ListInventory {
    event: Option<EventId>,
}

impl Ask<Vec<InventoryRow>> for ListInventory {
    async fn run(&self, db: &mut Client) -> Result<Vec<InventoryRow>, Fault> {
        let sql = "SELECT event_id, pool_id, capacity, price_minor FROM inventory \
             WHERE $1::text IS NULL OR event_id = $1 ORDER BY event_id, pool_id";
        let event = self.event.as_ref().map(|event| event.as_str());
        let found = all(db, sql, &[&event]).await?;
        let odd =
            |what: &str| Fault::Unreadable(format!("a row of the inventory has an odd {what}"));
        let read = |row: &tokio_postgres::Row| {
            let (event, pool): (&str, &str) = (row.try_get(0)?, row.try_get(1)?);
            let capacity: i64 = row.try_get(2)?;
            Ok(InventoryRow {
                event: event.parse().map_err(|_| odd("event_id"))?,
                pool: pool.parse().map_err(|_| odd("pool_id"))?,
                capacity: capacity.try_into().map_err(|_| odd("capacity"))?,
                price_minor: row.try_get(3)?,
            })
        };
        found.iter().map(read).collect()
    }
}
