//! Every row that is more than a few columns, and what it is to the ledger.

use super::column::{Cell, Columns, FromRow};
use super::table::{Record, Stored, Table};
use crate::action::Action;
use crate::booking::{Booking, Buyer};
use crate::delivery::Message;
use crate::desk::{DeskEntry, DeskKind, DeskStatus, Settled};
use crate::money::{Capture, OnDecline, Payment, Refund, RefundCause, RefundStatus};
use crate::projection::CatalogueText;
use crate::receipt::{
    Corrects, Document, Receipt, ReceiptDraft, ReceiptKind, ReceiptNumber, Series,
};
use crate::saga::{Saga, SagaNote};
use crate::session::BrowserSession;
use onrush_core::Time;
use onrush_core::hold::HoldStatus;
use onrush_core::ids::{BookingId, EventId, PaymentId, UserId};
use onrush_core::lines::Lines;
use onrush_core::money::Currency;
use onrush_core::saga::{Stage, Step};
use onrush_core::types::HeldTypes;
use rusqlite::ToSql;
#[cfg(feature = "cluster")]
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::sync::LazyLock;

/// Tells of a record which of its fields stands in which column (of the same name, if none is
/// named), in which table, and by which key it is found. Fields after a `+` stand in no column.
macro_rules! row {
    (struct $record:ident in $table:literal by [$($key:literal),+] {
        $($field:ident: $type:ty,)+
    }) => {
        pub(crate) struct $record {
            $(pub(crate) $field: $type,)+
        }

        row!($record in $table by [$($key),+] { $($field: $type,)+ });
    };
    ($record:ident in $table:literal by [$($key:literal),+] { $($columns:tt)* }) => {
        row!($record in $table { $($columns)* });

        impl Stored for $record {
            fn table() -> &'static Table {
                static TABLE: LazyLock<Table> =
                    LazyLock::new(|| Table::of($table, &[$($key),+], $record::COLUMNS));
                &TABLE
            }
        }
    };
    ($record:ident in $table:literal {
        $($field:ident $(= $column:literal)?: $type:ty,)+
        $(+ $other:ident: $other_type:ty,)*
    }) => {
        const _: () = {
            impl FromRow for $record {
                fn from_row(columns: &mut Columns<'_, '_>) -> rusqlite::Result<Self> {
                    Ok(Self {
                        $($field: columns.take::<$type>()?,)+
                        $($other: <$other_type>::default(),)*
                    })
                }
            }

            impl Record for $record {
                const TABLE: &'static str = $table;
                const COLUMNS: &'static [&'static str] = &[$(row!(@$field $($column)?)),+];

                fn bind<R>(&self, run: impl FnOnce(&[&dyn ToSql]) -> R) -> R {
                    run(&[$(&Cell(&self.$field)),+])
                }

                #[cfg(feature = "cluster")]
                fn to_json<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                    Fields::serialize(self, serializer)
                }

                #[cfg(feature = "cluster")]
                fn from_json<'de, D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
                    Fields::deserialize(json)
                }
            }

            #[cfg(feature = "cluster")]
            type Whole = $record;

            #[cfg(feature = "cluster")]
            #[derive(Serialize, Deserialize)]
            #[serde(remote = "Whole")]
            struct Fields {
                $($(#[serde(rename = $column)])? $field: $type,)+
                $(#[serde(default)] $other: $other_type,)*
            }
        };
    };
    (@$field:ident) => { stringify!($field) };
    (@$field:ident $column:literal) => { $column };
}

/// Tells that a record is stored as another one, which has a field for each column.
macro_rules! stored_as {
    ($record:ident: $flat:ident) => {
        impl FromRow for $record {
            fn from_row(columns: &mut Columns<'_, '_>) -> rusqlite::Result<Self> {
                $flat::from_row(columns).map(Self::from)
            }
        }

        impl Record for $record {
            const TABLE: &'static str = $flat::TABLE;
            const COLUMNS: &'static [&'static str] = $flat::COLUMNS;

            fn bind<R>(&self, run: impl FnOnce(&[&dyn ToSql]) -> R) -> R {
                $flat::from(self).bind(run)
            }

            #[cfg(feature = "cluster")]
            fn to_json<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                $flat::from(self).to_json(serializer)
            }

            #[cfg(feature = "cluster")]
            fn from_json<'de, D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
                $flat::from_json(json).map(Self::from)
            }
        }

        impl Stored for $record {
            fn table() -> &'static Table {
                $flat::table()
            }
        }
    };
}

row!(Saga in "sagas" by ["booking_id"] {
    saga_id: String,
    booking = "booking_id": BookingId,
    event = "event_id": EventId,
    user = "user_id": UserId,
    amount_minor: i64,
    currency: Currency,
    step = "current_step": Step,
    reserve_completed_at: Option<Time>,
    payment_completed_at: Option<Time>,
    updated_at: Time,
    version: u64,
    payment = "payment_id": Option<PaymentId>,
    next_at: Option<Time>,
    tries: u32,
    stuck: Option<String>,
});

row!(SagaNote in "saga_history" {
    version: u64,
    at: Time,
    step: Step,
    stage: Option<Stage>,
    note: String,
});

row!(Payment in "payments" by ["booking_id", "payment_id"] {
    payment = "payment_id": PaymentId,
    booking = "booking_id": BookingId,
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
});

row!(Refund in "refunds" by ["booking_id", "refund_id"] {
    refund = "refund_id": String,
    booking = "booking_id": BookingId,
    payment = "payment_id": PaymentId,
    amount_minor: i64,
    currency: Currency,
    status: RefundStatus,
    cause: RefundCause,
    decided_by: Option<String>,
    why: String,
    reference: Option<String>,
    created_at: Time,
    updated_at: Time,
});

row!(Booking in "bookings" by ["booking_id"] {
    booking = "booking_id": BookingId,
    event = "event_id": EventId,
    user = "user_id": UserId,
    status: HoldStatus,
    lines: Lines,
    prices_minor: Vec<i64>,
    types: Option<Box<HeldTypes>>,
    amount_minor: i64,
    fee_minor: i64,
    currency: Currency,
    payment = "payment_id": Option<PaymentId>,
    refund_minor: i64,
    checked_in: u32,
    created_at: Time,
    confirmed_at: Option<Time>,
    updated_at: Time,
});

row!(Buyer in "buyers" {
    name: String,
    email: String,
    language: String,
});

row!(Message in "messages" by ["message_id"] {
    id = "message_id": String,
    kind: String,
    event = "event_id": EventId,
    booking = "booking_id": Option<BookingId>,
    at: Time,
    body: String,
    + channels: Vec<String>,
});

row!(CatalogueText in "catalogue_texts" {
    title: String,
    description: String,
    venue: String,
});

row!(Action in "actions" by ["request_id"] {
    request = "request_id": String,
    at: Time,
    name = "key_name": Option<String>,
    address: String,
    method: String,
    path: String,
    event = "event_id": Option<EventId>,
    status: u16,
    code: Option<String>,
});

row!(BrowserSession in "browser_sessions" by ["session_id"] {
    id = "session_id": String,
    name = "key_name": String,
    address: String,
    begun_at: Time,
    seen_at: Time,
    ends_at: Time,
});

row!(struct DeskRow in "desk_entries" by ["entry_id"] {
    entry_id: String,
    kind: DeskKind,
    status: DeskStatus,
    gateway: String,
    reference: String,
    payment_id: PaymentId,
    paid_as: Option<String>,
    booking_id: BookingId,
    event_id: EventId,
    amount_minor: i64,
    currency: Currency,
    why: String,
    created_at: Time,
    updated_at: Time,
    // All three, or none of them.
    settled_at: Option<Time>,
    settled_by: Option<String>,
    settled_why: Option<String>,
});

stored_as!(DeskEntry: DeskRow);

impl From<&DeskEntry> for DeskRow {
    fn from(entry: &DeskEntry) -> Self {
        let settled = entry.settled.as_ref();
        Self {
            entry_id: entry.entry.clone(),
            kind: entry.kind,
            status: entry.status,
            gateway: entry.gateway.clone(),
            reference: entry.reference.clone(),
            payment_id: entry.payment.clone(),
            paid_as: entry.paid_as.clone(),
            booking_id: entry.booking.clone(),
            event_id: entry.event.clone(),
            amount_minor: entry.amount_minor,
            currency: entry.currency,
            why: entry.why.clone(),
            created_at: entry.created_at,
            updated_at: entry.updated_at,
            settled_at: settled.map(|settled| settled.at),
            settled_by: settled.map(|settled| settled.by.clone()),
            settled_why: settled.map(|settled| settled.why.clone()),
        }
    }
}

impl From<DeskRow> for DeskEntry {
    fn from(row: DeskRow) -> Self {
        let (by, why) = (row.settled_by, row.settled_why);
        Self {
            entry: row.entry_id,
            kind: row.kind,
            status: row.status,
            gateway: row.gateway,
            reference: row.reference,
            payment: row.payment_id,
            paid_as: row.paid_as,
            booking: row.booking_id,
            event: row.event_id,
            amount_minor: row.amount_minor,
            currency: row.currency,
            why: row.why,
            created_at: row.created_at,
            updated_at: row.updated_at,
            settled: row.settled_at.map(|at| Settled {
                at,
                by: by.unwrap_or_default(),
                why: why.unwrap_or_default(),
            }),
        }
    }
}

row!(struct ReceiptRow in "receipts" by ["series", "number"] {
    series: Series,
    number: u32,
    kind: ReceiptKind,
    refund_id: Option<String>,
    corrects_series: Option<Series>,
    corrects_number: Option<u32>,
    booking_id: BookingId,
    event_id: EventId,
    issued_at: Time,
    currency: Currency,
    amount_minor: i64,
    buyer_name: Option<String>,
    buyer_email_lower: Option<String>,
    document: Document,
});

stored_as!(Receipt: ReceiptRow);

impl ReceiptRow {
    /// What is issued of a draft. A credit note without its receipt is against the table's rules.
    pub(crate) fn of(draft: &ReceiptDraft, issued: &Receipt) -> Self {
        Self { kind: draft.kind(), refund_id: draft.refund.clone(), ..issued.into() }
    }
}

impl From<&Receipt> for ReceiptRow {
    fn from(receipt: &Receipt) -> Self {
        let corrects = receipt.corrects.as_ref();
        Self {
            series: receipt.number.series.clone(),
            number: receipt.number.number,
            kind: receipt.kind(),
            refund_id: corrects.map(|corrects| corrects.refund.clone()),
            corrects_series: corrects.map(|corrects| corrects.receipt.series.clone()),
            corrects_number: corrects.map(|corrects| corrects.receipt.number),
            booking_id: receipt.booking.clone(),
            event_id: receipt.event.clone(),
            issued_at: receipt.issued_at,
            currency: receipt.currency,
            amount_minor: receipt.amount_minor,
            buyer_name: receipt.buyer_name.clone(),
            buyer_email_lower: receipt.buyer_email_lower.clone(),
            document: receipt.document.clone(),
        }
    }
}

impl From<ReceiptRow> for Receipt {
    fn from(row: ReceiptRow) -> Self {
        let corrected = (row.refund_id, row.corrects_series, row.corrects_number);
        Self {
            number: ReceiptNumber { series: row.series, number: row.number },
            corrects: match corrected {
                (Some(refund), Some(series), Some(number)) => {
                    Some(Corrects { refund, receipt: ReceiptNumber { series, number } })
                }
                _ => None,
            },
            booking: row.booking_id,
            event: row.event_id,
            issued_at: row.issued_at,
            currency: row.currency,
            amount_minor: row.amount_minor,
            buyer_name: row.buyer_name,
            buyer_email_lower: row.buyer_email_lower,
            document: row.document,
        }
    }
}

/// Tables whose rows are put together of several things.
macro_rules! tables {
    ($($name:ident: $table:literal by [$($key:literal),+] [$($column:literal),+];)+) => {$(
        pub(crate) static $name: LazyLock<Table> =
            LazyLock::new(|| Table::of($table, &[$($key),+], &[$($column),+]));
    )+};
}

tables! {
    BUYERS: "buyers" by ["booking_id"]
        ["booking_id", "owner_id", "name", "email", "language", "name_lower", "email_lower"];
    CATALOGUE_EVENTS: "catalogue_events" by ["event_id"]
        ["event_id", "title", "currency", "settings", "updated_at"];
    CATALOGUE_PRICES: "catalogue_prices" by ["event_id", "kind", "name"]
        ["event_id", "kind", "name", "price_minor"];
    CATALOGUE_TEXTS: "catalogue_texts" by ["event_id", "language"]
        ["event_id", "language", "title", "description", "venue"];
}
