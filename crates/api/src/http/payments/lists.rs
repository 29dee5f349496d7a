//! All payments and refunds, for the organiser.

use super::shapes::{LedgerPayments, LedgerRefunds, StageName};
use crate::http::body::Json;
use crate::http::caller::{Operator, Strict};
use crate::http::openapi::ReadProblems;
use crate::http::problem::Problem;
use crate::http::shapes::page::{page_size, search};
use crate::json::ids::{EventIdText, IdText};
use axum::extract::State;
use onrush_core::ids::{BookingId, EventId};
use onrush_core::saga::Stage;
use onrush_ledger::Ledger;
use onrush_ledger::money::PaymentFilter;
use std::sync::Arc;

search! {
    PaymentSearch {
        /// Only of this event.
        #[param(value_type = Option<EventIdText>, nullable = false)]
        event: Option<EventId>,
        /// Only for this booking.
        #[param(value_type = Option<IdText>, nullable = false)]
        booking: Option<BookingId>,
        /// Only those at this stage.
        #[param(value_type = Option<StageName>, nullable = false, inline)]
        stage: Option<Stage>,
        /// `true`: only those whose gateway contradicted what was asked for. `false`: only the others.
        #[param(nullable = false)]
        flagged: Option<bool>,
    }
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
) -> Result<Json<LedgerPayments>, Problem> {
    let PaymentSearch { event, booking, stage, flagged, after, limit } = query;
    let filter = PaymentFilter { event, booking, stage, flagged, after };
    Ok(Json(ledger.payments(filter, page_size(limit)?).await?.into()))
}

search! {
    RefundSearch {
        /// Only of this event.
        #[param(value_type = Option<EventIdText>, nullable = false)]
        event: Option<EventId>,
        /// Only for this booking.
        #[param(value_type = Option<IdText>, nullable = false)]
        booking: Option<BookingId>,
    }
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
) -> Result<Json<LedgerRefunds>, Problem> {
    let RefundSearch { event, booking, after, limit } = query;
    let filter = PaymentFilter { event, booking, after, ..PaymentFilter::default() };
    Ok(Json(ledger.refunds(filter, page_size(limit)?).await?.into()))
}
