//! The tables' rows: which columns each has, told once for both databases.
//!
//! SQLite reads and binds columns from left to right. Through PostgreSQL rows travel as JSON whose
//! fields are the columns.

mod column;
mod table;
mod tables;

pub(crate) use column::{Columns, FromRow};
pub(crate) use table::{Record, Stored, Table};
pub(crate) use tables::{BUYERS, CATALOGUE_EVENTS, CATALOGUE_PRICES, CATALOGUE_TEXTS, ReceiptRow};
