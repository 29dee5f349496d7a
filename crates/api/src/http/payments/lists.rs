//! All payments and refunds, for the organiser.

use super::shapes::{LedgerPayments, LedgerRefunds, StageName};
use crate::http::body::json;
use crate::http::caller::{Operator, Strict};
use crate::http::openapi::ReadProblems;
use crate::http::problem::Problem;
use crate::http::shapes::page::page_size;
use crate::json::ids::{EventIdText, IdText};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use onrush_core::ids::{BookingId, EventId};
use onrush_core::saga::Stage;
use onrush_ledger::Ledger;
use onrush_ledger::money::PaymentFilter;
use serde::Deserialize;
use std::sync::Arc;
use utoipa::IntoParams;

/// Which payments, and which page of them.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct PaymentSearch {
    /// Only of this event.
    #[param(value_type = Option<EventIdText>, nullable = false)]
    event: Option<EventId>,
    /// Only for this booking.
    #[param(value_type = Option<IdText>, nullable = false)]
    booking: Option<BookingId>,
    /// Only those at this stage.
    #[param(value_type = Option<StageName>, nullable = false, inline)]
    stage: Option<Stage>,
    /// `true`: only those whose gateway contradicted what was asked for.
    #[param(nullable = false)]
    flagged: Option<bool>,
    /// The `next` of the page before.
    #[param(nullable = false)]
    after: Option<String>,
    /// How many at most; 100 if left out.
    #[param(minimum = 1, maximum = 1000, nullable = false)]
    limit: Option<usize>,
}

/// Payments, the latest first.
#[utoipa::path(
    get, path = "/api/v1/admin/payments", tag = "admin",
    params(PaymentSearch),
    responses((status = 200, description = "A page of payments", body = LedgerPayments), ReadProblems),
)]
pub async fn payments(
    State(ledger): State<Arc<dyn Ledger>>,
    _: Operator,
    Strict(query): Strict<PaymentSearch>,
) -> Result<Response, Problem> {
    let PaymentSearch { event, booking, stage, flagged, after, limit } = query;
    let limit = page_size(limit)?;
    let flagged = flagged.unwrap_or(false);
    let filter = PaymentFilter { event, booking, stage, flagged, after };
    let page = ledger.payments(filter, limit).await?;
    let payments = page.rows.into_iter().map(Into::into).collect();
    Ok(json(StatusCode::OK, &LedgerPayments { payments, next: page.next }))
}

/// Which refunds, and which page of them.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct RefundSearch {
    /// Only of this event.
    #[param(value_type = Option<EventIdText>, nullable = false)]
    event: Option<EventId>,
    /// Only for this booking.
    #[param(value_type = Option<IdText>, nullable = false)]
    booking: Option<BookingId>,
    /// The `next` of the page before.
    #[param(nullable = false)]
    after: Option<String>,
    /// How many at most; 100 if left out.
    #[param(minimum = 1, maximum = 1000, nullable = false)]
    limit: Option<usize>,
}

/// Refunds, the latest first.
#[utoipa::path(
    get, path = "/api/v1/admin/refunds", tag = "admin",
    params(RefundSearch),
    responses((status = 200, description = "A page of refunds", body = LedgerRefunds), ReadProblems),
)]
pub async fn refunds(
    State(ledger): State<Arc<dyn Ledger>>,
    _: Operator,
    Strict(query): Strict<RefundSearch>,
) -> Result<Response, Problem> {
    let RefundSearch { event, booking, after, limit } = query;
    let limit = page_size(limit)?;
    let filter = PaymentFilter { event, booking, after, ..PaymentFilter::default() };
    let page = ledger.refunds(filter, limit).await?;
    let refunds = page.rows.into_iter().map(Into::into).collect();
    Ok(json(StatusCode::OK, &LedgerRefunds { refunds, next: page.next }))
}
