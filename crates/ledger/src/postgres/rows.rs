//! Rows on their way to PostgreSQL, and back.
//!
//! They travel as JSON whose fields are the tables' columns: `json_populate_recordset` makes any
//! number of rows of one parameter, and `row_to_json` makes one text of a row.

use super::database::{Params, all, execute, first};
use super::fault::Fault;
use crate::booking::Buyer;
use crate::delivery::Delivered;
use crate::rows::{Record, Stored, Table};
use deadpool_postgres::GenericClient;
use onrush_core::Time;
use onrush_core::ids::{BookingId, PaymentId, UserId};
use onrush_core::saga::Step;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// A row on its way to its table.
struct Out<'a, T>(&'a T);

impl<T: Record> Serialize for Out<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.to_json(serializer)
    }
}

/// A row as it was read.
struct In<T>(T);

impl<'de, T: Record> Deserialize<'de> for In<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::from_json(deserializer).map(Self)
    }
}

/// A line of a saga's history, and whose.
#[derive(Serialize)]
pub(super) struct NoteRow<'a> {
    pub(super) booking_id: &'a BookingId,
    pub(super) version: u64,
    pub(super) at: Time,
    pub(super) step: Step,
    /// The present payment: its stage is looked up.
    pub(super) payment_id: Option<&'a PaymentId>,
    pub(super) note: &'a str,
}

/// Who pays for which booking.
#[derive(Serialize)]
pub(super) struct BuyerRow<'a> {
    pub(super) booking_id: &'a BookingId,
    owner_id: &'a UserId,
    name: &'a str,
    pub(super) email: &'a str,
    language: &'a str,
    name_lower: String,
    email_lower: String,
}

impl<'a> BuyerRow<'a> {
    pub(super) fn of(booking_id: &'a BookingId, owner_id: &'a UserId, buyer: &'a Buyer) -> Self {
        let Buyer { name, email, language } = buyer;
        let (name_lower, email_lower) = (name.to_lowercase(), email.to_lowercase());
        Self { booking_id, owner_id, name, email, language, name_lower, email_lower }
    }
}

/// What became of a delivery. Exactly one of the times is there, or none if it is done.
#[derive(Serialize)]
pub(super) struct OutcomeRow<'a> {
    pub(super) message_id: &'a str,
    pub(super) channel: &'a str,
    /// How many more.
    attempts: u32,
    next_at: Option<Time>,
    died_at: Option<Time>,
    error: Option<&'a str>,
}

impl<'a> OutcomeRow<'a> {
    pub(super) fn of(channel: &'a str, message_id: &'a str, outcome: &'a Delivered) -> Self {
        let (next_at, died_at, error) = match outcome {
            Delivered::Done => (None, None, None),
            Delivered::Again { at, error } | Delivered::Waits { at, error } => {
                (Some(*at), None, Some(error.as_str()))
            }
            Delivered::Dead { at, error } => (None, Some(*at), Some(error.as_str())),
        };
        Self { message_id, channel, attempts: outcome.attempts(), next_at, died_at, error }
    }
}

/// Rows as the JSON of one parameter.
pub(super) fn json_of<'a, T: Record + 'a>(
    rows: impl IntoIterator<Item = &'a T>,
) -> Result<String, Fault> {
    json(&rows.into_iter().map(Out).collect::<Vec<_>>())
}

/// The JSON of one parameter. PostgreSQL keeps no NUL characters, so they are replaced.
pub(super) fn json(rows: &impl Serialize) -> Result<String, Fault> {
    let text = serde_json::to_string(rows)?;
    if !text.contains("\\u0000") {
        return Ok(text);
    }
    let mut value: Value = serde_json::from_str(&text)?;
    replace_nuls(&mut value);
    Ok(value.to_string())
}

fn replace_nuls(value: &mut Value) {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
        Value::String(text) => *text = text.replace('\0', "\u{fffd}"),
        Value::Array(values) => values.iter_mut().for_each(replace_nuls),
        Value::Object(fields) => fields.values_mut().for_each(replace_nuls),
    }
}

/// A row of what `row_to_json` says.
pub(super) fn parse<T: Record>(text: &str) -> Result<T, Fault> {
    Ok(serde_json::from_str::<In<T>>(text)?.0)
}

/// Rows of what `json_agg` says; nothing if there are none.
pub(super) fn parse_all<T: Record>(text: Option<&str>) -> Result<Vec<T>, Fault> {
    let Some(text) = text else { return Ok(Vec::new()) };
    let rows: Vec<In<T>> = serde_json::from_str(text)?;
    Ok(rows.into_iter().map(|row| row.0).collect())
}

/// The row that a statement says as `row_to_json`, if there is one.
pub(super) async fn row_of<T: Record>(
    db: &impl GenericClient,
    sql: &str,
    params: Params<'_>,
) -> Result<Option<T>, Fault> {
    first(db, sql, params).await?.map(|row| parse(row.try_get(0)?)).transpose()
}

/// All of them.
pub(super) async fn rows_of<T: Record>(
    db: &impl GenericClient,
    sql: &str,
    params: Params<'_>,
) -> Result<Vec<T>, Fault> {
    all(db, sql, params).await?.iter().map(|row| parse(row.try_get(0)?)).collect()
}

/// Adds a row, unless there is one with its key. Says whether there was none.
pub(super) async fn add<T: Stored>(db: &impl GenericClient, row: &T) -> Result<bool, Fault> {
    let row = json_of([row])?;
    Ok(execute(db, &T::table().all.add, &[&row]).await? > 0)
}

/// Adds or replaces rows.
pub(super) async fn put<'a, T: Stored + 'a>(
    db: &impl GenericClient,
    rows: impl IntoIterator<Item = &'a T>,
) -> Result<(), Fault> {
    let rows: Vec<_> = rows.into_iter().map(Out).collect();
    put_in(db, T::table(), &rows).await
}

/// The same, of what has a field for each of a table's columns.
pub(super) async fn put_in(
    db: &impl GenericClient,
    table: &Table,
    rows: &[impl Serialize],
) -> Result<(), Fault> {
    if rows.is_empty() {
        return Ok(());
    }
    let rows = json(&rows)?;
    execute(db, &table.all.put, &[&rows]).await.map(drop)
}

/// An id, or another text with a meaning.
pub(super) fn parsed<T: DeserializeOwned>(text: String) -> Result<T, Fault> {
    Ok(serde_json::from_value(Value::String(text))?)
}

/// A number as PostgreSQL has it. Versions, cursors and counts stay far below the limit; a
/// process's name uses all bits.
pub(super) fn signed(number: u64) -> i64 {
    number.cast_signed()
}

/// A number that was written by [`signed`].
pub(super) fn unsigned(number: i64) -> u64 {
    number.cast_unsigned()
}

/// A limit as PostgreSQL has it.
pub(super) fn limit(rows: usize) -> i64 {
    i64::try_from(rows).unwrap_or(i64::MAX)
}
