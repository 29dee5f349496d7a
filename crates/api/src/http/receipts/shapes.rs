//! Receipts and credit notes, as buyers and the organiser see them.

use crate::http::events::shapes::money::TaxOf;
use crate::http::shapes::page::page;
use crate::json::ids::{CurrencyText, EventIdText, IdText, TimeMs};
use crate::json::words::words;
use onrush_core::Time;
use onrush_core::ids::{BookingId, EventId, PoolId, SeatId};
use onrush_core::tax::Tax;
use onrush_ledger::receipt::{
    Corrects, Document, Purpose, Receipt, ReceiptKind, ReceiptLine, Seller,
};
use serde::Serialize;
use utoipa::ToSchema;

words!(
    /// Which of the two a document is.
    KindName, "ReceiptKind", ReceiptKind
);

words!(
    /// What a line's money is for.
    PurposeName, "ReceiptPurpose", Purpose
);

/// A receipt or a credit note, as it was issued.
#[derive(Serialize, ToSchema)]
#[schema(as = Receipt)]
pub struct ReceiptBody {
    /// Its number, such as `R-17`: without a gap in each series.
    #[schema(pattern = "^[A-Za-z0-9]{1,12}-[1-9][0-9]{0,9}$")]
    number: String,
    #[schema(value_type = KindName)]
    kind: ReceiptKind,
    /// The receipt that a credit note takes something back of.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    corrects: Option<String>,
    /// The refund that a credit note is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    refund: Option<String>,
    /// The booking that was paid.
    #[schema(value_type = IdText)]
    booking: BookingId,
    #[schema(value_type = EventIdText)]
    event: EventId,
    /// The event's title, as it was then.
    title: String,
    /// When it was issued.
    #[schema(value_type = TimeMs)]
    issued_at: Time,
    /// When the money was taken, or went back.
    #[schema(value_type = TimeMs)]
    moved_at: Time,
    #[schema(value_type = CurrencyText)]
    currency: String,
    /// What was paid or went back, in minor units.
    amount_minor: i64,
    /// Who paid; missing if that is not known, or was erased.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    buyer_name: Option<String>,
    seller: SellerBody,
    /// Lines come to the amount, and their taxes to the tax.
    lines: Vec<LineBody>,
    /// How much of the amount is tax; missing where the event told of none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    tax: Option<TaxOf>,
}

/// Who sells, as they were then.
#[derive(Serialize, ToSchema)]
#[schema(as = Seller)]
pub struct SellerBody {
    name: String,
    /// Line by line.
    address: Vec<String>,
    /// What the tax office knows them by.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    tax_id: Option<String>,
}

/// A line of a receipt. A part that went back has neither units nor a price.
#[derive(Serialize, ToSchema)]
#[schema(as = ReceiptLine)]
pub struct LineBody {
    #[schema(value_type = PurposeName)]
    purpose: Purpose,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<IdText>, nullable = false)]
    pool: Option<PoolId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<IdText>, nullable = false)]
    seat: Option<SeatId>,
    /// The name of the units' ticket type.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    type_name: Option<String>,
    /// Units.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    quantity: Option<u32>,
    /// What one of them costs, in minor units.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    price_minor: Option<i64>,
    /// What all of the line comes to: `net_minor` and `tax_minor` together.
    amount_minor: i64,
    /// The line without its tax.
    net_minor: i64,
    /// The tax in it.
    tax_minor: i64,
}

/// Receipts and credit notes of a booking, the first one first.
#[derive(Serialize, ToSchema)]
pub struct BookingReceipts {
    /// The booking.
    #[schema(value_type = IdText)]
    pub booking: BookingId,
    /// None yet, if it was confirmed a moment ago.
    pub receipts: Vec<ReceiptBody>,
}

page! {
    /// A page of receipts and credit notes, the last number first.
    ReceiptPage,
    /// The documents.
    receipts: ReceiptBody
}

impl From<Receipt> for ReceiptBody {
    fn from(receipt: Receipt) -> Self {
        let kind = receipt.kind();
        let Receipt { number, corrects, booking, event, issued_at, currency, .. } = receipt;
        let Document { seller, title, tax, lines, moved_at } = receipt.document;
        let tax_minor: i64 = lines.iter().map(|line| line.tax_minor).sum();
        let net_minor = receipt.amount_minor - tax_minor;
        let (refund, corrects) = match corrects {
            Some(Corrects { refund, receipt }) => (Some(refund), Some(receipt.to_string())),
            None => (None, None),
        };
        Self {
            number: number.to_string(),
            kind,
            corrects,
            refund,
            booking,
            event,
            title,
            issued_at,
            moved_at,
            currency: currency.to_string(),
            amount_minor: receipt.amount_minor,
            buyer_name: receipt.buyer_name,
            seller: seller.into(),
            lines: lines.into_iter().map(Into::into).collect(),
            tax: tax.map(|Tax { name, rate_bp }| TaxOf { name, rate_bp, net_minor, tax_minor }),
        }
    }
}

impl From<Seller> for SellerBody {
    fn from(Seller { name, address, tax_id }: Seller) -> Self {
        Self { name, address, tax_id }
    }
}

impl From<ReceiptLine> for LineBody {
    fn from(line: ReceiptLine) -> Self {
        let ReceiptLine { purpose, pool, seat, type_name, quantity, price_minor, .. } = line;
        let (amount_minor, net_minor, tax_minor) =
            (line.amount_minor, line.net_minor, line.tax_minor);
        Self {
            purpose,
            pool,
            seat,
            type_name,
            quantity,
            price_minor,
            amount_minor,
            net_minor,
            tax_minor,
        }
    }
}
