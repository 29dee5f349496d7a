//! A connection with its statements, each prepared once.

use crate::rows::{Columns, FromRow, Stored, Table};
use rusqlite::{Connection, OptionalExtension, Params, Statement, ToSql};
use std::cell::RefCell;
use std::collections::HashMap;

/// A connection whose statements are kept ready. A statement's text never changes, so its address names it.
pub(super) struct Statements<'c> {
    connection: &'c Connection,
    idle: RefCell<HashMap<*const str, Statement<'c>>>,
}

impl<'c> Statements<'c> {
    pub(super) fn new(connection: &'c Connection) -> Self {
        Self { connection, idle: RefCell::default() }
    }

    pub(super) fn connection(&self) -> &'c Connection {
        self.connection
    }

    /// Does this with all that it deletes overwritten. Elsewhere a page that becomes empty keeps
    /// what was in it until it is used again, because overwriting it costs a write.
    pub(super) fn overwriting<T>(
        &self,
        delete: impl FnOnce() -> rusqlite::Result<T>,
    ) -> rusqlite::Result<T> {
        let set =
            |how| self.connection.pragma_update_and_check(None, "secure_delete", how, |_| Ok(()));
        set("ON")?;
        let outcome = delete();
        set("FAST")?;
        outcome
    }

    fn with<T>(
        &self,
        sql: &'static str,
        run: impl FnOnce(&mut Statement<'c>) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<T> {
        let name: *const str = sql;
        let idle = self.idle.borrow_mut().remove(&name);
        let mut statement = match idle {
            Some(statement) => statement,
            None => self.connection.prepare(sql)?,
        };
        let outcome = run(&mut statement);
        self.idle.borrow_mut().insert(name, statement);
        outcome
    }

    /// Runs a statement; says how many rows it changed.
    pub(super) fn execute(
        &self,
        sql: &'static str,
        params: impl Params,
    ) -> rusqlite::Result<usize> {
        self.with(sql, |statement| statement.execute(params))
    }

    /// The first row, if there is one.
    pub(super) fn first<T: FromRow>(
        &self,
        sql: &'static str,
        params: impl Params,
    ) -> rusqlite::Result<Option<T>> {
        self.with(sql, |statement| statement.query_row(params, Columns::read).optional())
    }

    /// All rows.
    pub(super) fn all<T: FromRow>(
        &self,
        sql: &'static str,
        params: impl Params,
    ) -> rusqlite::Result<Vec<T>> {
        self.with(sql, |statement| statement.query_map(params, Columns::read)?.collect())
    }

    /// The row with a key, if there is one.
    pub(super) fn find<T: Stored>(&self, key: impl Params) -> rusqlite::Result<Option<T>> {
        self.first(&T::table().find, key)
    }

    /// Adds a row.
    pub(super) fn insert(&self, row: &impl Stored) -> rusqlite::Result<()> {
        run(row, |table, values| self.execute(&table.insert, values).map(drop))
    }

    /// Adds a row, unless there is one with its key. Says whether there was none.
    pub(super) fn add(&self, row: &impl Stored) -> rusqlite::Result<bool> {
        run(row, |table, values| Ok(self.execute(&table.add, values)? > 0))
    }

    /// Adds a row, in place of the one with its key if there is one.
    pub(super) fn put(&self, row: &impl Stored) -> rusqlite::Result<()> {
        run(row, |table, values| self.put_values(table, values))
    }

    /// The same, of the values of a table's columns. Most rows are known already, and SQLite's
    /// `DO UPDATE` costs it a temporary table each time.
    pub(super) fn put_values(
        &self,
        table: &'static Table,
        values: &[&dyn ToSql],
    ) -> rusqlite::Result<()> {
        if self.execute(&table.update, values)? == 0 {
            self.execute(&table.insert, values)?;
        }
        Ok(())
    }
}

/// Does something with a row's table and values.
fn run<S: Stored, T>(row: &S, run: impl FnOnce(&'static Table, &[&dyn ToSql]) -> T) -> T {
    row.bind(|values| run(S::table(), values))
}
