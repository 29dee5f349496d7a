//! Receipts and credit notes: a booking's, all of them, and as postings for the books.

pub mod bookkeeping;
pub mod list;
pub mod mine;
pub mod paper;
pub mod shapes;
pub mod table;

use crate::http::problem::{Code, Problem};
use crate::http::state::HttpState;
use axum::extract::{FromRef, FromRequestParts};
use axum::http::request::Parts;
use onrush_ledger::Ledger;
use onrush_saga::Sagas;
use std::sync::Arc;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The paths of receipts.
pub fn routes() -> OpenApiRouter<HttpState> {
    OpenApiRouter::new()
        .routes(routes!(mine::booking_receipts))
        .routes(routes!(paper::booking_receipt_pdf))
        .routes(routes!(list::receipts))
        .routes(routes!(paper::receipt_pdf))
        .routes(routes!(table::receipts_csv))
        .routes(routes!(bookkeeping::bookkeeping))
}

/// What remembers receipts, where any are issued: `RECEIPTS_OFF` otherwise.
pub struct Receipts(pub Arc<dyn Ledger>);

impl<S: Send + Sync> FromRequestParts<S> for Receipts
where
    Arc<Sagas>: FromRef<S>,
    Arc<dyn Ledger>: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request_parts(_: &mut Parts, state: &S) -> Result<Self, Problem> {
        if Arc::<Sagas>::from_ref(state).issues_receipts() {
            return Ok(Self(FromRef::from_ref(state)));
        }
        let why = "no receipts are issued here; add [seller] to the configuration";
        Err(Problem::new(Code::ReceiptsOff, why))
    }
}
