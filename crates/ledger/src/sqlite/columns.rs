//! What a row's columns are to the ledger, and back.

use onrush_core::Time;
use rusqlite::Row;
use rusqlite::types::{FromSql, Type};
use std::error::Error;
use std::str::FromStr;

/// A number as SQLite has it. Versions, cursors and counts stay far below the limit; a process's
/// name uses all bits.
pub(super) fn signed(number: u64) -> i64 {
    number.cast_signed()
}

/// A row that is read from left to right.
pub(super) struct Columns<'a, 's> {
    row: &'a Row<'s>,
    next: usize,
}

impl<'a, 's> Columns<'a, 's> {
    pub(super) fn of(row: &'a Row<'s>) -> Self {
        Self { row, next: 0 }
    }

    fn step(&mut self) -> usize {
        self.next += 1;
        self.next - 1
    }

    /// A column as it is.
    pub(super) fn take<T: FromSql>(&mut self) -> rusqlite::Result<T> {
        let column = self.step();
        self.row.get(column)
    }

    /// A count.
    pub(super) fn count<T: TryFrom<i64>>(&mut self) -> rusqlite::Result<T> {
        let column = self.step();
        let number: i64 = self.row.get(column)?;
        T::try_from(number).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(column, number))
    }

    pub(super) fn time(&mut self) -> rusqlite::Result<Time> {
        self.take().map(Time)
    }

    pub(super) fn time_if_any(&mut self) -> rusqlite::Result<Option<Time>> {
        Ok(self.take::<Option<i64>>()?.map(Time))
    }

    /// An id, or another text with a meaning.
    pub(super) fn parsed<T>(&mut self) -> rusqlite::Result<T>
    where
        T: FromStr<Err: Error + Send + Sync + 'static>,
    {
        let column = self.step();
        let text = self.row.get_ref(column)?.as_str()?;
        text.parse().map_err(|error| unreadable(column, error))
    }

    pub(super) fn parsed_if_any<T>(&mut self) -> rusqlite::Result<Option<T>>
    where
        T: FromStr<Err: Error + Send + Sync + 'static>,
    {
        let column = self.step();
        let text = self.row.get_ref(column)?.as_str_or_null()?;
        text.map(|text| text.parse().map_err(|error| unreadable(column, error))).transpose()
    }

    pub(super) fn json<T: serde::de::DeserializeOwned>(&mut self) -> rusqlite::Result<T> {
        let column = self.step();
        let text = self.row.get_ref(column)?.as_str()?;
        serde_json::from_str(text).map_err(|error| unreadable(column, error))
    }

    pub(super) fn json_if_any<T: serde::de::DeserializeOwned>(
        &mut self,
    ) -> rusqlite::Result<Option<T>> {
        let column = self.step();
        let text: Option<&str> = self.row.get_ref(column)?.as_str_or_null()?;
        let read = |text| serde_json::from_str(text).map_err(|error| unreadable(column, error));
        text.map(read).transpose()
    }

    pub(super) fn word<T: FromStr>(&mut self) -> rusqlite::Result<T> {
        let column = self.step();
        let word = self.row.get_ref(column)?.as_str()?;
        word.parse().map_err(|_| unreadable(column, UnknownWord(word.to_owned())))
    }

    pub(super) fn word_if_any<T: FromStr>(&mut self) -> rusqlite::Result<Option<T>> {
        let column = self.step();
        let word = self.row.get_ref(column)?.as_str_or_null()?;
        let meaning =
            |word: &str| word.parse().map_err(|_| unreadable(column, UnknownWord(word.to_owned())));
        word.map(meaning).transpose()
    }
}

fn unreadable(column: usize, error: impl Error + Send + Sync + 'static) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, Type::Text, Box::new(error))
}

#[derive(Debug, thiserror::Error)]
#[error("\"{0}\" means nothing here")]
struct UnknownWord(String);
