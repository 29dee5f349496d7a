//! A connection with its statements, each prepared once.

use rusqlite::{Connection, OptionalExtension, Params, Row, Statement};
use std::cell::RefCell;
use std::collections::HashMap;

/// A connection whose statements are kept ready. A statement's text is a constant, so its address names it.
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
    pub(super) fn first<T>(
        &self,
        sql: &'static str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<Option<T>> {
        self.with(sql, |statement| statement.query_row(params, read).optional())
    }

    /// All rows.
    pub(super) fn all<T>(
        &self,
        sql: &'static str,
        params: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<Vec<T>> {
        self.with(sql, |statement| statement.query_map(params, read)?.collect())
    }
}
