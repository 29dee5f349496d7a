//! What the gateway's own desk did with our payments: refunds, disputes and second payments that
//! nobody here asked for.

use onrush_core::Time;
use onrush_core::ids::{BookingId, EventId, PaymentId};
use onrush_core::money::Currency;
use serde::{Deserialize, Serialize};

/// What was done at the desk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[derive(strum::EnumString, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum DeskKind {
    /// Money went back.
    Refund,
    /// The buyer's bank takes the money back until it is decided who is right.
    Dispute,
    /// The same order was paid once more.
    SecondPayment,
}

/// Whether the money moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[derive(strum::EnumString, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum DeskStatus {
    /// It is not decided.
    Open,
    /// It moved: the refund was made, the dispute is lost, the second payment was taken.
    Moved,
    /// It stayed: the refund failed, the dispute is won.
    Stayed,
}

/// What an operator did about an entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settled {
    /// When.
    pub at: Time,
    /// Who.
    pub by: String,
    /// What they did.
    pub why: String,
}

/// One thing that was done at the desk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeskEntry {
    /// Its id: the gateway's name, a dot and what the gateway calls it.
    pub entry: String,
    /// What was done.
    pub kind: DeskKind,
    /// Whether the money moved.
    pub status: DeskStatus,
    /// The gateway's name.
    pub gateway: String,
    /// What the gateway calls it.
    pub reference: String,
    /// The payment of ours that it is about.
    pub payment: PaymentId,
    /// What the gateway calls the payment of its own that was made as that one: another one for each
    /// time that an order is paid. `None` in rows of before that was kept, and where the ledger was lost and
    /// a refund of ours had been made before this one, until it is told once more: what such rows tell
    /// of is no part of what goes back.
    pub paid_as: Option<String>,
    /// That one's booking.
    pub booking: BookingId,
    /// That one's event.
    pub event: EventId,
    /// How much, in minor units.
    pub amount_minor: i64,
    /// In which currency.
    pub currency: Currency,
    /// Why, in the gateway's words.
    pub why: String,
    /// When it was first told of.
    pub created_at: Time,
    /// When that was last news.
    pub updated_at: Time,
    /// What an operator did about it; `None` until then, and again when there is news.
    pub settled: Option<Settled>,
}

impl DeskEntry {
    /// Whether this is news after `known`. What was decided does not become open again, and a refund
    /// that failed is over: messages come in any order.
    #[must_use]
    pub fn is_news_after(&self, known: DeskStatus) -> bool {
        let is_over = self.kind == DeskKind::Refund && known == DeskStatus::Stayed;
        self.status != known && self.status != DeskStatus::Open && !is_over
    }
}

/// Which entries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeskFilter {
    /// Only those that no operator did anything about, or only the others.
    pub open: Option<bool>,
    /// Of one booking.
    pub booking: Option<BookingId>,
    /// Where the page begins: the `next` of the one before.
    pub after: Option<String>,
}
