//! What an operator does about a stuck saga.

use super::read::saga_answer;
use super::shapes::SagaFile;
use crate::http::body::{Json, JsonBody};
use crate::http::caller::{Ids, Operator};
use crate::http::openapi::WriteProblems;
use crate::http::problem::{Code, Problem};
use crate::json::ids::IdText;
use axum::extract::State;
use onrush_base::spans;
use onrush_core::ids::BookingId;
use onrush_ledger::Ledger;
use onrush_saga::{Action, DriveError, Sagas};
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::sync::Arc;
use utoipa::ToSchema;

/// Nothing: whose key it is, the saga's history names.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct By {
    /// Read over: who asks is the key's name.
    #[serde(default)]
    #[schema(value_type = serde_json::Value, deprecated)]
    by: IgnoredAny,
}

/// Handlers that do something about a stuck saga: who may ask, at which path, and what is done.
macro_rules! actions {
    ($($(#[$about:meta])* $name:ident($caller:ty) at $path:literal does $action:ident;)+) => {$(
        $(#[$about])*
        #[utoipa::path(
            post, path = $path, tag = "admin",
            params(("booking" = IdText, Path)),
            request_body = By,
            responses(
                (status = 200, description = "The saga as it is afterwards", body = SagaFile),
                WriteProblems,
            ),
        )]
        pub async fn $name(
            State(sagas): State<Arc<Sagas>>,
            State(ledger): State<Arc<dyn Ledger>>,
            Ids(booking): Ids<BookingId>,
            operator: $caller,
            JsonBody(By { by: IgnoredAny }): JsonBody<By>,
        ) -> Result<Json<SagaFile>, Problem> {
            act(sagas, ledger, booking, Action::$action, operator).await
        }
    )+};
}

actions! {
    /// Has a stuck saga try again what it was about to do; refunds that failed are asked for again.
    saga_retry(Operator) at "/api/v1/admin/sagas/{booking}/retry" does Retry;
    /// Has a stuck saga give back whatever money was taken.
    saga_refund(Operator) at "/api/v1/admin/sagas/{booking}/refund" does Refund;
    /// Ends a stuck saga without money, and gives its hold back: no money was taken, as the operator
    /// has made sure.
    saga_release(Operator) at "/api/v1/admin/sagas/{booking}/release" does Release;
}

/// Does something about a stuck saga, and answers with it as it is afterwards.
async fn act(
    sagas: Arc<Sagas>,
    ledger: Arc<dyn Ledger>,
    booking: BookingId,
    action: Action,
    operator: Operator,
) -> Result<Json<SagaFile>, Problem> {
    let of = booking.clone();
    // An operator who hangs up must not stop half-way what they began.
    let act = async move { sagas.act(&of, action, &operator.key.name).await };
    let done = tokio::spawn(spans::carried(act)).await;
    let record = match done {
        Ok(Ok(Some(record))) => Some(record),
        Ok(Ok(None)) => {
            let why = "the saga goes on by itself, or is over; look at its history";
            return Err(Problem::new(Code::SagaNotStuck, why));
        }
        Ok(Err(DriveError::NoSaga)) => None,
        Ok(Err(DriveError::Ledger(error))) => return Err(error.into()),
        Err(_) => {
            let why = "the saga broke down on the way; the log has more";
            return Err(Problem::new(Code::Internal, why));
        }
    };
    saga_answer(&*ledger, &booking, record).await
}
