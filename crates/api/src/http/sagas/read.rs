//! Sagas: a page of them, or one with its history.

use super::shapes::{SagaFile, Sagas, StepName};
use crate::http::body::Json;
use crate::http::caller::{Ids, Operator, Strict};
use crate::http::openapi::ReadProblems;
use crate::http::problem::{Code, Problem};
use crate::http::shapes::page::{page_size, search};
use crate::json::ids::{EventIdText, IdText};
use axum::extract::State;
use onrush_core::ids::{BookingId, EventId};
use onrush_core::saga::Step;
use onrush_ledger::Ledger;
use onrush_ledger::saga::{SagaFilter, SagaRecord};
use std::sync::Arc;

search! {
    SagaSearch {
        /// `true`: only those that wait for an operator. `false`: only those that do not.
        #[param(nullable = false)]
        stuck: Option<bool>,
        /// Only those at this step.
        #[param(value_type = Option<StepName>, nullable = false, inline)]
        step: Option<Step>,
        /// Only of this event.
        #[param(value_type = Option<EventIdText>, nullable = false)]
        event: Option<EventId>,
    }
}

/// Sagas, the longest unchanged first.
#[utoipa::path(
    get, path = "/api/v1/admin/sagas", tag = "admin",
    params(SagaSearch),
    responses((status = 200, description = "A page of sagas", body = Sagas), ReadProblems),
)]
pub async fn sagas(
    State(ledger): State<Arc<dyn Ledger>>,
    _: Operator,
    Strict(query): Strict<SagaSearch>,
) -> Result<Json<Sagas>, Problem> {
    let SagaSearch { stuck, step, event, after, limit } = query;
    let filter = SagaFilter { event, step, stuck, after };
    Ok(Json(ledger.sagas(filter, page_size(limit)?).await?.into()))
}

/// Everything about one booking's money: its saga, payments, refunds, and what happened to it.
#[utoipa::path(
    get, path = "/api/v1/admin/sagas/{booking}", tag = "admin",
    params(("booking" = IdText, Path)),
    responses((status = 200, description = "The saga", body = SagaFile), ReadProblems),
)]
pub async fn saga(
    State(ledger): State<Arc<dyn Ledger>>,
    Ids(booking): Ids<BookingId>,
    _: Operator,
) -> Result<Json<SagaFile>, Problem> {
    let record = ledger.saga_record(&booking).await?;
    saga_answer(&*ledger, &booking, record).await
}

/// A saga with its history, if there is one.
pub(in crate::http) async fn saga_answer(
    ledger: &dyn Ledger,
    booking: &BookingId,
    record: Option<SagaRecord>,
) -> Result<Json<SagaFile>, Problem> {
    let none = || Problem::new(Code::SagaNotFound, "there is no saga of this booking");
    let record = record.ok_or_else(none)?;
    let history = ledger.history(booking).await?;
    Ok(Json(SagaFile::new(record, history)))
}
