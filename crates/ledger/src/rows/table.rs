//! Tables, and the statements that are made of their columns.

use super::column::FromRow;
use rusqlite::ToSql;
#[cfg(feature = "cluster")]
use serde::{Deserializer, Serializer};

/// A row of a table, or a part of one.
pub(crate) trait Record: FromRow {
    /// The table.
    const TABLE: &'static str;
    /// The columns, as SQLite reads and binds them from left to right.
    const COLUMNS: &'static [&'static str];

    /// The columns as a query lists them.
    fn list() -> String {
        each(Self::COLUMNS, ", ", |column| format!("{}.{column}", Self::TABLE))
    }

    /// The query that reads rows, by what follows the table's name.
    fn select(rest: &str) -> String {
        format!("SELECT {} FROM {} {rest}", Self::list(), Self::TABLE)
    }

    /// Does something with the values of the columns.
    fn bind<R>(&self, run: impl FnOnce(&[&dyn ToSql]) -> R) -> R;

    #[cfg(feature = "cluster")]
    fn to_json<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error>;

    #[cfg(feature = "cluster")]
    fn from_json<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error>;
}

/// A whole row.
pub(crate) trait Stored: Record {
    /// The statements of its table.
    fn table() -> &'static Table;
}

/// A table's statements, made once. Values stand in the order of the columns, and keys in that
/// of the key's columns.
pub(crate) struct Table {
    columns: &'static [&'static str],
    /// Reads the row with a key.
    pub(crate) find: String,
    /// Adds a row.
    pub(crate) insert: String,
    /// Adds a row, unless there is one with its key.
    pub(crate) add: String,
    /// Writes a row in place of the one with its key.
    pub(crate) update: String,
    /// Those for any number of rows.
    #[cfg(feature = "cluster")]
    pub(crate) all: Recordset,
}

impl Table {
    pub(super) fn of(
        name: &str,
        keys: &'static [&'static str],
        columns: &'static [&'static str],
    ) -> Self {
        let (names, key) = (columns.join(", "), keys.join(", "));
        let values = each(columns, ", ", |column| place(columns, column));
        let insert = format!("INSERT INTO {name} ({names}) VALUES ({values})");
        let others: Vec<_> =
            columns.iter().copied().filter(|column| !keys.contains(column)).collect();
        let equal = |column: &str| format!("{column} = {}", place(columns, column));
        let (new, is_it) = (each(&others, ", ", equal), each(keys, " AND ", equal));
        let found = each(keys, " AND ", |column| format!("{column} = {}", place(keys, column)));
        Self {
            columns,
            find: format!("SELECT {names} FROM {name} WHERE {found}"),
            add: format!("{insert} ON CONFLICT ({key}) DO NOTHING"),
            update: format!("UPDATE {name} SET {new} WHERE {is_it}"),
            insert,
            #[cfg(feature = "cluster")]
            all: Recordset::of(name, &key, &names, others),
        }
    }

    /// The place of a column's value.
    pub(crate) fn place(&self, column: &str) -> String {
        place(self.columns, column)
    }
}

/// The statements for any number of rows, which PostgreSQL is given as the JSON of one parameter.
#[cfg(feature = "cluster")]
pub(crate) struct Recordset {
    /// The columns that are no part of the key.
    others: Vec<&'static str>,
    /// Adds rows.
    pub(crate) insert: String,
    /// Adds rows, but none where there is one with its key.
    pub(crate) add: String,
    /// Adds rows, or writes them in place of those with their keys.
    pub(crate) put: String,
}

#[cfg(feature = "cluster")]
impl Recordset {
    fn of(name: &str, key: &str, names: &str, others: Vec<&'static str>) -> Self {
        let insert = format!(
            "INSERT INTO {name} ({names}) SELECT {names} \
             FROM json_populate_recordset(NULL::{name}, $1::text::json)"
        );
        let new = assigned(&others, "excluded");
        Self {
            add: format!("{insert} ON CONFLICT ({key}) DO NOTHING"),
            put: format!("{insert} ON CONFLICT ({key}) DO UPDATE SET {new}"),
            insert,
            others,
        }
    }

    /// Sets the columns that are no part of the key to those of another row.
    pub(crate) fn assigned(&self, row: &str) -> String {
        assigned(&self.others, row)
    }
}

#[cfg(feature = "cluster")]
fn assigned(columns: &[&str], row: &str) -> String {
    each(columns, ", ", |column| format!("{column} = {row}.{column}"))
}

fn place(columns: &[&str], column: &str) -> String {
    let before = columns.iter().position(|known| *known == column);
    format!("?{}", before.expect("it is one of the columns") + 1)
}

fn each(columns: &[&str], between: &str, text: impl Fn(&str) -> String) -> String {
    columns.iter().map(|column| text(column)).collect::<Vec<_>>().join(between)
}
