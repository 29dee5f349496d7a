//! What the gateway's own desk did, as the organiser sees it.

use crate::json::ids::{CurrencyText, EventIdText, IdText, TimeMs};
use onrush_core::Time;
use onrush_core::ids::{BookingId, EventId, PaymentId};
use onrush_core::money::Currency;
use onrush_ledger::desk::{DeskEntry, DeskKind, DeskStatus, Settled};
use serde::Serialize;
use utoipa::ToSchema;

/// A page of entries, the latest first.
#[derive(Serialize, ToSchema)]
pub struct DeskPage {
    /// The entries.
    pub entries: Vec<DeskEntryBody>,
    /// What to ask for next as `after`; missing on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub next: Option<String>,
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

/// What was done at the desk.
#[derive(ToSchema)]
#[schema(as = DeskKind, rename_all = "snake_case")]
pub enum DeskKindName {
    /// Money went back.
    Refund,
    /// The buyer's bank takes the money back until it is decided who is right.
    Dispute,
    /// The same order was paid once more.
    SecondPayment,
}

/// Whether the money moved.
#[derive(ToSchema)]
#[schema(as = DeskStatus, rename_all = "snake_case")]
pub enum DeskStatusName {
    /// It is not decided.
    Open,
    /// It moved: the refund was made, the dispute is lost, the second payment was taken.
    Moved,
    /// It stayed: the refund failed, the dispute is won.
    Stayed,
}
