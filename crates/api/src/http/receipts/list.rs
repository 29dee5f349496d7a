//! All receipts and credit notes, for the organiser.

use super::Receipts;
use super::shapes::ReceiptPage;
use crate::http::body::Json;
use crate::http::caller::{Operator, Strict};
use crate::http::openapi::ConflictProblems;
use crate::http::problem::Problem;
use crate::http::shapes::page::{page_size, search};
use crate::json::ids::{EventIdText, IdText};
use onrush_core::ids::{BookingId, EventId};
use onrush_ledger::receipt::ReceiptFilter;

search! {
    ReceiptSearch, FileSearch {
        /// Only of this event.
        #[param(value_type = Option<EventIdText>, nullable = false)]
        event: Option<EventId>,
        /// Only of this booking.
        #[param(value_type = Option<IdText>, nullable = false)]
        booking: Option<BookingId>,
    }
}

/// Receipts and credit notes, the last number first.
#[utoipa::path(
    get, path = "/api/v1/admin/receipts", tag = "admin",
    params(ReceiptSearch),
    responses((status = 200, description = "A page of them", body = ReceiptPage), ConflictProblems),
)]
pub async fn receipts(
    _: Operator,
    Receipts(ledger): Receipts,
    Strict(query): Strict<ReceiptSearch>,
) -> Result<Json<ReceiptPage>, Problem> {
    let ReceiptSearch { event, booking, after, limit } = query;
    let filter = ReceiptFilter { event, booking, after, ..ReceiptFilter::default() };
    Ok(Json(ledger.receipts(filter, page_size(limit)?).await?.into()))
}

impl FileSearch {
    /// All of them, the first number first.
    #[must_use]
    pub fn filter(self) -> ReceiptFilter {
        let Self { event, booking } = self;
        ReceiptFilter { event, booking, is_rising: true, ..ReceiptFilter::default() }
    }
}
