//! What the tables' rows are to the ledger, and back.
//!
//! Rows travel as JSON whose fields are the tables' columns: `json_populate_recordset` makes any
//! number of rows of one parameter, and `row_to_json` makes one text of a row.

use super::fault::Fault;
use crate::action::Action;
use crate::booking::{Booking, Buyer};
use crate::delivery::{Delivered, Message};
use crate::desk::{DeskEntry, DeskKind, DeskStatus, Settled};
use crate::money::{Capture, OnDecline, Payment, Refund, RefundCause, RefundStatus};
use crate::projection::CatalogueText;
use crate::receipt::{Corrects, Document, Receipt, ReceiptNumber, Series};
use crate::saga::{Saga, SagaNote};
use crate::session::BrowserSession;
use onrush_core::Time;
use onrush_core::hold::HoldStatus;
use onrush_core::ids::{BookingId, EventId, PaymentId, UserId};
use onrush_core::lines::Lines;
use onrush_core::money::Currency;
use onrush_core::saga::{Stage, Step};
use onrush_core::types::HeldTypes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::Value;

#[derive(Serialize, Deserialize)]
#[serde(remote = "Saga")]
struct SagaColumns {
    saga_id: String,
    #[serde(rename = "booking_id")]
    booking: BookingId,
    #[serde(rename = "event_id")]
    event: EventId,
    #[serde(rename = "user_id")]
    user: UserId,
    amount_minor: i64,
    currency: Currency,
    #[serde(rename = "current_step")]
    step: Step,
    reserve_completed_at: Option<Time>,
    payment_completed_at: Option<Time>,
    updated_at: Time,
    version: u64,
    #[serde(rename = "payment_id")]
    payment: Option<PaymentId>,
    next_at: Option<Time>,
    tries: u32,
    stuck: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "SagaNote")]
struct SagaNoteColumns {
    version: u64,
    at: Time,
    step: Step,
    stage: Option<Stage>,
    note: String,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Payment")]
struct PaymentColumns {
    #[serde(rename = "payment_id")]
    payment: PaymentId,
    #[serde(rename = "booking_id")]
    booking: BookingId,
    gateway: String,
    reference: Option<String>,
    url: Option<String>,
    client_secret: Option<String>,
    amount_minor: i64,
    currency: Currency,
    stage: Stage,
    capture: Capture,
    captured_minor: i64,
    why: Option<String>,
    flagged: bool,
    on_decline: OnDecline,
    created_at: Time,
    updated_at: Time,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Refund")]
struct RefundColumns {
    #[serde(rename = "refund_id")]
    refund: String,
    #[serde(rename = "booking_id")]
    booking: BookingId,
    #[serde(rename = "payment_id")]
    payment: PaymentId,
    amount_minor: i64,
    currency: Currency,
    status: RefundStatus,
    cause: RefundCause,
    decided_by: Option<String>,
    why: String,
    reference: Option<String>,
    created_at: Time,
    updated_at: Time,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Booking")]
struct BookingColumns {
    #[serde(rename = "booking_id")]
    booking: BookingId,
    #[serde(rename = "event_id")]
    event: EventId,
    #[serde(rename = "user_id")]
    user: UserId,
    status: HoldStatus,
    lines: Lines,
    prices_minor: Vec<i64>,
    types: Option<Box<HeldTypes>>,
    amount_minor: i64,
    fee_minor: i64,
    currency: Currency,
    #[serde(rename = "payment_id")]
    payment: Option<PaymentId>,
    refund_minor: i64,
    checked_in: u32,
    created_at: Time,
    updated_at: Time,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Buyer")]
struct BuyerColumns {
    name: String,
    email: String,
    language: String,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Message")]
struct MessageColumns {
    #[serde(rename = "message_id")]
    id: String,
    kind: String,
    #[serde(rename = "event_id")]
    event: EventId,
    #[serde(rename = "booking_id")]
    booking: Option<BookingId>,
    at: Time,
    body: String,
    #[serde(default)]
    channels: Vec<String>,
}

/// Three columns that are filled together, or none of them.
#[derive(Default, Serialize, Deserialize)]
struct SettledColumns {
    settled_at: Option<Time>,
    settled_by: Option<String>,
    settled_why: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct DeskColumns {
    entry_id: String,
    kind: DeskKind,
    status: DeskStatus,
    gateway: String,
    reference: String,
    payment_id: PaymentId,
    booking_id: BookingId,
    event_id: EventId,
    amount_minor: i64,
    currency: Currency,
    why: String,
    created_at: Time,
    updated_at: Time,
    #[serde(flatten)]
    settled: SettledColumns,
}

#[derive(Serialize, Deserialize)]
struct ReceiptColumns {
    series: String,
    number: u32,
    refund_id: Option<String>,
    corrects_series: Option<String>,
    corrects_number: Option<u32>,
    booking_id: BookingId,
    event_id: EventId,
    issued_at: Time,
    currency: Currency,
    amount_minor: i64,
    buyer_name: Option<String>,
    buyer_email_lower: Option<String>,
    document: Document,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "CatalogueText")]
struct CatalogueTextColumns {
    title: String,
    description: String,
    venue: String,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Action")]
struct ActionColumns {
    #[serde(rename = "request_id")]
    request: String,
    at: Time,
    #[serde(rename = "key_name")]
    name: Option<String>,
    address: String,
    method: String,
    path: String,
    #[serde(rename = "event_id")]
    event: Option<EventId>,
    status: u16,
    code: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "BrowserSession")]
struct BrowserSessionColumns {
    #[serde(rename = "session_id")]
    id: String,
    #[serde(rename = "key_name")]
    name: String,
    address: String,
    begun_at: Time,
    seen_at: Time,
    ends_at: Time,
}

/// Something that is a row of a table.
pub(super) trait Stored: Sized {
    fn columns<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error>;

    fn from_columns<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error>;
}

macro_rules! stored {
    ($($row:ty as $columns:ty),*) => {$(
        impl Stored for $row {
            fn columns<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                <$columns>::serialize(self, serializer)
            }

            fn from_columns<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                <$columns>::deserialize(deserializer)
            }
        }
    )*};
}

stored!(
    Saga as SagaColumns,
    SagaNote as SagaNoteColumns,
    Payment as PaymentColumns,
    Refund as RefundColumns,
    Booking as BookingColumns,
    Buyer as BuyerColumns,
    Message as MessageColumns,
    CatalogueText as CatalogueTextColumns,
    Action as ActionColumns,
    BrowserSession as BrowserSessionColumns
);

impl Stored for DeskEntry {
    fn columns<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let settled = self.settled.clone().map_or_else(SettledColumns::default, |settled| {
            let Settled { at, by, why } = settled;
            SettledColumns { settled_at: Some(at), settled_by: Some(by), settled_why: Some(why) }
        });
        let row = DeskColumns {
            entry_id: self.entry.clone(),
            kind: self.kind,
            status: self.status,
            gateway: self.gateway.clone(),
            reference: self.reference.clone(),
            payment_id: self.payment.clone(),
            booking_id: self.booking.clone(),
            event_id: self.event.clone(),
            amount_minor: self.amount_minor,
            currency: self.currency,
            why: self.why.clone(),
            created_at: self.created_at,
            updated_at: self.updated_at,
            settled,
        };
        row.serialize(serializer)
    }

    fn from_columns<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let row = DeskColumns::deserialize(deserializer)?;
        let SettledColumns { settled_at, settled_by, settled_why } = row.settled;
        let settled = settled_at.map(|at| Settled {
            at,
            by: settled_by.unwrap_or_default(),
            why: settled_why.unwrap_or_default(),
        });
        Ok(Self {
            entry: row.entry_id,
            kind: row.kind,
            status: row.status,
            gateway: row.gateway,
            reference: row.reference,
            payment: row.payment_id,
            booking: row.booking_id,
            event: row.event_id,
            amount_minor: row.amount_minor,
            currency: row.currency,
            why: row.why,
            created_at: row.created_at,
            updated_at: row.updated_at,
            settled,
        })
    }
}

impl Stored for Receipt {
    fn columns<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let corrects = self.corrects.as_ref();
        let row = ReceiptColumns {
            series: self.number.series.as_str().to_owned(),
            number: self.number.number,
            refund_id: corrects.map(|corrects| corrects.refund.clone()),
            corrects_series: corrects.map(|it| it.receipt.series.as_str().to_owned()),
            corrects_number: corrects.map(|corrects| corrects.receipt.number),
            booking_id: self.booking.clone(),
            event_id: self.event.clone(),
            issued_at: self.issued_at,
            currency: self.currency,
            amount_minor: self.amount_minor,
            buyer_name: self.buyer_name.clone(),
            buyer_email_lower: self.buyer_email_lower.clone(),
            document: self.document.clone(),
        };
        row.serialize(serializer)
    }

    fn from_columns<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let row = ReceiptColumns::deserialize(deserializer)?;
        let number = |series: String, number| {
            let series: Series = series.parse().map_err(de::Error::custom)?;
            Ok(ReceiptNumber { series, number })
        };
        let corrects = match (row.refund_id, row.corrects_series, row.corrects_number) {
            (Some(refund), Some(series), Some(nth)) => {
                Some(Corrects { refund, receipt: number(series, nth)? })
            }
            _ => None,
        };
        Ok(Self {
            number: number(row.series, row.number)?,
            corrects,
            booking: row.booking_id,
            event: row.event_id,
            issued_at: row.issued_at,
            currency: row.currency,
            amount_minor: row.amount_minor,
            buyer_name: row.buyer_name,
            buyer_email_lower: row.buyer_email_lower,
            document: row.document,
        })
    }
}

/// A row on its way to its table.
struct Out<'a, T>(&'a T);

impl<T: Stored> Serialize for Out<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.columns(serializer)
    }
}

/// A row as it was read.
struct In<T>(T);

impl<'de, T: Stored> Deserialize<'de> for In<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::from_columns(deserializer).map(Self)
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
    name: &'a str,
    email: &'a str,
    language: &'a str,
    name_lower: String,
    email_lower: String,
}

impl<'a> BuyerRow<'a> {
    pub(super) fn of(booking_id: &'a BookingId, buyer: &'a Buyer) -> Self {
        let Buyer { name, email, language } = buyer;
        let (name_lower, email_lower) = (name.to_lowercase(), email.to_lowercase());
        Self { booking_id, name, email, language, name_lower, email_lower }
    }
}

/// What became of a delivery. Exactly one of the times is there, or none if it is done.
#[derive(Serialize)]
pub(super) struct OutcomeRow<'a> {
    pub(super) message_id: &'a str,
    pub(super) channel: &'a str,
    next_at: Option<Time>,
    died_at: Option<Time>,
    error: Option<&'a str>,
}

impl<'a> OutcomeRow<'a> {
    pub(super) fn of(channel: &'a str, message_id: &'a str, outcome: &'a Delivered) -> Self {
        let (next_at, died_at, error) = match outcome {
            Delivered::Done => (None, None, None),
            Delivered::Again { at, error } => (Some(*at), None, Some(error.as_str())),
            Delivered::Dead { at, error } => (None, Some(*at), Some(error.as_str())),
        };
        Self { message_id, channel, next_at, died_at, error }
    }
}

/// Rows as the JSON of one parameter.
pub(super) fn json_of<'a, T: Stored + 'a>(
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
pub(super) fn parse<T: Stored>(text: &str) -> Result<T, Fault> {
    Ok(serde_json::from_str::<In<T>>(text)?.0)
}

/// Rows of what `json_agg` says; nothing if there are none.
pub(super) fn parse_all<T: Stored>(text: Option<&str>) -> Result<Vec<T>, Fault> {
    let Some(text) = text else { return Ok(Vec::new()) };
    let rows: Vec<In<T>> = serde_json::from_str(text)?;
    Ok(rows.into_iter().map(|row| row.0).collect())
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
