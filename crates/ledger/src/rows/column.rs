//! What a value is in a column of SQLite, and back.

use crate::desk::{DeskKind, DeskStatus};
use crate::money::{Capture, OnDecline, RefundCause, RefundStatus};
use crate::receipt::{Document, ReceiptKind, Series};
use crate::words::Word;
use onrush_core::Time;
use onrush_core::hold::HoldStatus;
use onrush_core::ids::{BookingId, EventId, PaymentId, UserId};
use onrush_core::lines::Lines;
use onrush_core::money::Currency;
use onrush_core::saga::{Stage, Step};
use onrush_core::settings::Settings;
use onrush_core::types::HeldTypes;
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSqlOutput, ValueRef};
use rusqlite::{Row, ToSql};

/// Something that stands in one column.
pub(crate) trait Column: Sized {
    fn from_value(value: ValueRef<'_>) -> FromSqlResult<Self>;

    fn to_value(&self) -> rusqlite::Result<ToSqlOutput<'_>>;
}

/// Implements [`Column`] for types, by how a value is read and how it is written.
macro_rules! columns {
    ($($type:ty),*: |$value:ident| $read:expr, |$this:ident| $write:expr) => {$(
        impl Column for $type {
            fn from_value($value: ValueRef<'_>) -> FromSqlResult<Self> {
                $read
            }

            fn to_value(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
                let $this = self;
                $write
            }
        }
    )*};
}

columns! {
    String, bool, i64, u16, u32, [u8; 32], Vec<u8>:
    |value| FromSql::column_result(value),
    |this| this.to_sql()
}

// Versions, cursors and counts stay far below the limit.
columns! {
    u64:
    |value| i64::column_result(value).and_then(|number| {
        number.try_into().map_err(|_| FromSqlError::OutOfRange(number))
    }),
    |this| Ok(this.cast_signed().into())
}

columns! {
    Time:
    |value| i64::column_result(value).map(Time),
    |this| Ok(this.0.into())
}

// Ids, and other texts with a meaning.
columns! {
    BookingId, EventId, PaymentId, UserId, Currency, Series:
    |value| value.as_str()?.parse().map_err(FromSqlError::other),
    |this| Ok(this.as_str().into())
}

columns! {
    Step, Stage, HoldStatus, OnDecline, Capture, RefundCause, RefundStatus, DeskKind, DeskStatus,
    ReceiptKind:
    |value| {
        let word = value.as_str()?;
        word.parse().map_err(|_| FromSqlError::other(UnknownWord(word.to_owned())))
    },
    |this| Ok(this.word().into())
}

// What stands there as JSON.
columns! {
    Lines, Vec<i64>, Vec<String>, Box<HeldTypes>, Document, Settings:
    |value| serde_json::from_str(value.as_str()?).map_err(FromSqlError::other),
    |this| match serde_json::to_string(this) {
        Ok(json) => Ok(json.into()),
        Err(error) => Err(rusqlite::Error::ToSqlConversionFailure(error.into())),
    }
}

#[derive(Debug, thiserror::Error)]
#[error("\"{0}\" means nothing here")]
struct UnknownWord(String);

impl<T: Column> Column for Option<T> {
    fn from_value(value: ValueRef<'_>) -> FromSqlResult<Self> {
        if value == ValueRef::Null { Ok(None) } else { T::from_value(value).map(Some) }
    }

    fn to_value(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        self.as_ref().map_or_else(|| rusqlite::types::Null.to_sql(), T::to_value)
    }
}

/// A value as SQLite takes and gives it.
pub(super) struct Cell<T>(pub(super) T);

impl<T: Column> FromSql for Cell<T> {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        T::from_value(value).map(Self)
    }
}

impl<T: Column> ToSql for Cell<&T> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        self.0.to_value()
    }
}

/// A row that is read from left to right.
pub(crate) struct Columns<'a, 's> {
    row: &'a Row<'s>,
    next: usize,
}

impl Columns<'_, '_> {
    /// Reads a row.
    pub(crate) fn read<T: FromRow>(row: &Row<'_>) -> rusqlite::Result<T> {
        T::from_row(&mut Columns { row, next: 0 })
    }

    /// What stands in the next column.
    pub(crate) fn take<T: Column>(&mut self) -> rusqlite::Result<T> {
        self.next += 1;
        Ok(self.row.get::<_, Cell<T>>(self.next - 1)?.0)
    }
}

/// Something that is read from the next columns of a row.
pub(crate) trait FromRow: Sized {
    fn from_row(columns: &mut Columns<'_, '_>) -> rusqlite::Result<Self>;
}

impl<T: Column> FromRow for T {
    fn from_row(columns: &mut Columns<'_, '_>) -> rusqlite::Result<Self> {
        columns.take()
    }
}

/// Several, one after the other.
macro_rules! several {
    ($($part:ident)*) => {
        impl<$($part: FromRow),*> FromRow for ($($part,)*) {
            fn from_row(columns: &mut Columns<'_, '_>) -> rusqlite::Result<Self> {
                Ok(($($part::from_row(columns)?,)*))
            }
        }
    };
}

several!(A B);
several!(A B C);
several!(A B C D);
several!(A B C D E);
