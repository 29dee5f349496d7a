//! Lists, read a page at a time.

use super::statements::Statements;
use crate::Page;
use crate::lists::{Dialect, List, Value};
use crate::rows::{Columns, FromRow, Record};
use rusqlite::types::ToSqlOutput;
use rusqlite::{ToSql, params_from_iter};

pub(super) const SQLITE: Dialect = Dialect { sign: '?', truth: "1", has_nul: true };

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        match self {
            Self::Text(text) => text.to_sql(),
            Self::Integer(number) => number.to_sql(),
        }
    }
}

/// Reads one page of a list of one table's rows.
pub(super) fn page<T: Record>(db: &Statements<'_>, list: &List<T>) -> rusqlite::Result<Page<T>> {
    page_of(db, &T::list(), list, |row| row)
}

/// Reads one page, each row made of what `columns` say.
pub(super) fn page_of<C: FromRow, T>(
    db: &Statements<'_>,
    columns: &str,
    list: &List<T>,
    row: fn(C) -> T,
) -> rusqlite::Result<Page<T>> {
    let Some((sql, values)) = list.query(columns) else { return Ok(list.page(Vec::new())) };
    let mut statement = db.connection().prepare(&sql)?;
    let rows =
        statement.query_map(params_from_iter(values), Columns::read)?.map(|read| read.map(row));
    Ok(list.page(rows.collect::<rusqlite::Result<Vec<T>>>()?))
}
