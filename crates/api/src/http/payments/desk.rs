//! What the gateway's own desk did, and what was done about it.

use crate::http::body::{Json, JsonBody};
use crate::http::caller::{Operator, Strict};
use crate::http::openapi::{ReadProblems, WriteProblems};
use crate::http::problem::{Code, Problem};
use crate::http::shapes::page::{page, page_size, search};
use crate::json::ids::{CurrencyText, EventIdText, FreeText, IdText, TimeMs};
use crate::json::words::words;
use axum::extract::{Path, State};
use onrush_core::Time;
use onrush_core::ids::{BookingId, EventId, PaymentId};
use onrush_core::limits::fits_text;
use onrush_core::money::Currency;
use onrush_ledger::desk::{DeskEntry, DeskFilter, DeskKind, DeskStatus, Settled};
use onrush_ledger::{Ledger, LedgerError};
use onrush_saga::Sagas;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::ToSchema;

search! {
    DeskSearch {
        /// `true`: only those that nobody settled. `false`: only those that somebody did.
        #[param(nullable = false)]
        open: Option<bool>,
        /// Only for this booking.
        #[param(value_type = Option<IdText>, nullable = false)]
        booking: Option<BookingId>,
    }
}

/// What was done about an entry.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Settling {
    /// Read over: who asks is the key's name.
    #[serde(default)]
    #[schema(value_type = serde_json::Value, deprecated)]
    by: IgnoredAny,
    /// What they did.
    #[schema(value_type = FreeText)]
    why: Box<str>,
    /// The entry's `updated_at` as they read it: it is not settled if there was news since.
    #[serde(default)]
    #[schema(value_type = Option<TimeMs>, nullable = false)]
    updated_at: Option<Time>,
}

/// What the gateway's own desk did with our payments, the latest first: refunds, disputes and
/// second payments that were not asked for here. Nothing is undone because of them; their payments
/// are flagged.
#[utoipa::path(
    get, path = "/api/v1/admin/desk", tag = "admin",
    params(DeskSearch),
    responses((status = 200, description = "A page of entries", body = DeskPage), ReadProblems),
)]
pub async fn desk_entries(
    State(ledger): State<Arc<dyn Ledger>>,
    _: Operator,
    Strict(DeskSearch { open, booking, after, limit }): Strict<DeskSearch>,
) -> Result<Json<DeskPage>, Problem> {
    let filter = DeskFilter { open, booking, after };
    Ok(Json(ledger.desk(filter, page_size(limit)?).await?.into()))
}

/// Says what was done about an entry; it leaves the list of open ones until there is news of it. With
/// `updated_at` news that came since it was read is not taken for seen: 409 `MONEY_UNDER_WAY`.
#[utoipa::path(
    post, path = "/api/v1/admin/desk/{entry}/settle", tag = "admin",
    params(("entry" = String, Path, max_length = 255)),
    request_body = Settling,
    responses((status = 200, description = "The entry", body = DeskEntryBody), WriteProblems),
)]
pub async fn settle_desk_entry(
    State(sagas): State<Arc<Sagas>>,
    Path(entry): Path<String>,
    operator: Operator,
    JsonBody(Settling { by: IgnoredAny, why, updated_at }): JsonBody<Settling>,
) -> Result<Json<DeskEntryBody>, Problem> {
    if why.is_empty() || !fits_text(&why) {
        return Err(Problem::new(Code::InvalidBody, "why: use 1 to 500 characters").about("why"));
    }
    let by = operator.key.name.clone().into();
    match sagas.settle_desk(&entry, updated_at, by, why.into()).await {
        Ok(Some(entry)) => Ok(Json(entry.into())),
        Ok(None) => {
            let why = "the desk did nothing of this id; see /api/v1/admin/desk";
            Err(Problem::new(Code::DeskEntryNotFound, why))
        }
        Err(LedgerError::Conflict) => {
            let why = "there was news of it since it was read; read it again, and settle that";
            Err(Problem::new(Code::MoneyUnderWay, why).about("updated_at"))
        }
        Err(error) => Err(error.into()),
    }
}

page! {
    /// A page of entries, the latest first.
    DeskPage,
    /// The entries.
    entries: DeskEntryBody
}

/// One thing that the desk did.
#[derive(Serialize, ToSchema)]
#[schema(as = DeskEntry)]
pub struct DeskEntryBody {
    /// Its id: the gateway's name, a dot and what the gateway calls it.
    entry: String,
    #[schema(value_type = DeskKindName)]
    kind: DeskKind,
    #[schema(value_type = DeskStatusName)]
    status: DeskStatus,
    gateway: String,
    /// What the gateway calls it.
    reference: String,
    /// The payment of ours that it is about.
    #[schema(value_type = IdText)]
    payment: PaymentId,
    #[schema(value_type = IdText)]
    booking: BookingId,
    #[schema(value_type = EventIdText)]
    event: EventId,
    /// How much, in minor units.
    amount_minor: i64,
    #[schema(value_type = CurrencyText)]
    currency: Currency,
    /// Why, in the gateway's words.
    why: String,
    /// When it was first told of.
    #[schema(value_type = TimeMs)]
    created_at: Time,
    /// When that was last news.
    #[schema(value_type = TimeMs)]
    updated_at: Time,
    /// When somebody settled it; missing until then, and again when there is news.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<TimeMs>, nullable = false)]
    settled_at: Option<Time>,
    /// Who did.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    settled_by: Option<String>,
    /// What they did about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    settled_why: Option<String>,
}

impl From<DeskEntry> for DeskEntryBody {
    fn from(row: DeskEntry) -> Self {
        let (settled_at, settled_by, settled_why) = match row.settled {
            Some(Settled { at, by, why }) => (Some(at), Some(by), Some(why)),
            None => (None, None, None),
        };
        Self {
            entry: row.entry,
            kind: row.kind,
            status: row.status,
            gateway: row.gateway,
            reference: row.reference,
            payment: row.payment,
            booking: row.booking,
            event: row.event,
            amount_minor: row.amount_minor,
            currency: row.currency,
            why: row.why,
            created_at: row.created_at,
            updated_at: row.updated_at,
            settled_at,
            settled_by,
            settled_why,
        }
    }
}

words!(
    /// What was done at the desk.
    DeskKindName, "DeskKind", DeskKind
);

words!(
    /// Whether the money moved.
    DeskStatusName, "DeskStatus", DeskStatus
);
