//! Lists, read a page at a time.

use super::statements::Statements;
use crate::Page;
use crate::lists::{Dialect, List, Value};
use rusqlite::types::ToSqlOutput;
use rusqlite::{Row, ToSql, params_from_iter};

pub(super) const SQLITE: Dialect = Dialect { sign: '?', truth: "1", has_nul: true };

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        match self {
            Self::Text(text) => text.to_sql(),
            Self::Integer(number) => number.to_sql(),
        }
    }
}

/// Reads one page.
pub(super) fn page<T>(
    db: &Statements<'_>,
    columns: &str,
    list: &List<T>,
    read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Page<T>> {
    let Some((sql, values)) = list.query(columns) else { return Ok(list.page(Vec::new())) };
    let mut statement = db.connection().prepare(&sql)?;
    let rows = statement.query_map(params_from_iter(values), read)?;
    Ok(list.page(rows.collect::<rusqlite::Result<Vec<T>>>()?))
}
