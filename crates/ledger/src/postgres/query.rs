//! Lists, read a page at a time.

use super::database::{Ask, all};
use super::fault::Fault;
use super::rows::parse;
use crate::Page;
use crate::lists::{Dialect, List, Value};
use crate::rows::Record;
use deadpool_postgres::{Client, GenericClient};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

pub(super) const POSTGRES: Dialect = Dialect { sign: '$', truth: "TRUE", has_nul: false };

/// One page of a list.
pub(super) struct PageOf<T> {
    pub(super) columns: String,
    pub(super) list: List<T>,
    pub(super) read: fn(&Row) -> Result<T, Fault>,
}

impl<T: Record> PageOf<T> {
    /// Of a list of one table's rows.
    pub(super) fn rows(list: List<T>) -> Self {
        let columns = format!("row_to_json({})::text", T::TABLE);
        Self { columns, list, read: |row| parse(row.try_get(0)?) }
    }
}

impl<T: Send> Ask<Page<T>> for PageOf<T> {
    async fn run(&self, db: &mut Client) -> Result<Page<T>, Fault> {
        self.on(&*db).await
    }
}

impl<T> PageOf<T> {
    /// Reads it over a connection, or within a transaction.
    pub(super) async fn on(&self, db: &impl GenericClient) -> Result<Page<T>, Fault> {
        let Self { columns, list, read } = self;
        let Some((sql, values)) = list.query(columns) else { return Ok(list.page(Vec::new())) };
        let params: Vec<_> = values.iter().map(param).collect();
        let rows = all(db, &sql, &params).await?;
        Ok(list.page(rows.iter().map(read).collect::<Result<_, _>>()?))
    }
}

fn param(value: &Value) -> &(dyn ToSql + Sync) {
    match value {
        Value::Text(text) => text,
        Value::Integer(number) => number,
    }
}
