//! All receipts and credit notes, for the organiser.

use super::Receipts;
use super::shapes::ReceiptPage;
use crate::http::body::json;
use crate::http::caller::{Operator, Strict};
use crate::http::openapi::ConflictProblems;
use crate::http::problem::Problem;
use crate::http::shapes::page::page_size;
use crate::json::ids::{EventIdText, IdText};
use axum::http::StatusCode;
use axum::response::Response;
use onrush_core::ids::{BookingId, EventId};
use onrush_ledger::receipt::ReceiptFilter;
use serde::Deserialize;
use utoipa::IntoParams;

/// Which receipts, and which page of them.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ReceiptSearch {
    /// Only of this event.
    #[param(value_type = Option<EventIdText>, nullable = false)]
    event: Option<EventId>,
    /// Only of this booking.
    #[param(value_type = Option<IdText>, nullable = false)]
    booking: Option<BookingId>,
    /// The `next` of the page before.
    #[param(nullable = false)]
    after: Option<String>,
    /// How many at most; 100 if left out.
    #[param(minimum = 1, maximum = 1000, nullable = false)]
    limit: Option<usize>,
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
) -> Result<Response, Problem> {
    let ReceiptSearch { event, booking, after, limit } = query;
    let limit = page_size(limit)?;
    let filter = ReceiptFilter { event, booking, after, ..ReceiptFilter::default() };
    let page = ledger.receipts(filter, limit).await?;
    let receipts = page.rows.into_iter().map(Into::into).collect();
    Ok(json(StatusCode::OK, &ReceiptPage { receipts, next: page.next }))
}

/// Which receipts a file has.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct FileSearch {
    /// Only of this event.
    #[param(value_type = Option<EventIdText>, nullable = false)]
    event: Option<EventId>,
    /// Only of this booking.
    #[param(value_type = Option<IdText>, nullable = false)]
    booking: Option<BookingId>,
}

impl FileSearch {
    /// All of them, the first number first.
    #[must_use]
    pub fn filter(self) -> ReceiptFilter {
        let Self { event, booking } = self;
        ReceiptFilter { event, booking, is_rising: true, ..ReceiptFilter::default() }
    }
}
