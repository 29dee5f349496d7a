//! Messages of payment gateways.

use crate::http::body::{Json, RawBody};
use crate::http::openapi::WebhookProblems;
use crate::http::problem::{Code, Problem};
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use onrush_base::auth::unix_now_s;
use onrush_base::spans;
use onrush_saga::gateway::NotGenuine;
use onrush_saga::{NoticeError, Sagas};
use serde_json::json;
use std::sync::Arc;

/// A gateway tells of a payment. The message must be signed, fresh, and fit what was asked for:
/// booking, amount, currency.
///
/// When this is answered, what it told is durable. The same message again changes nothing.
#[utoipa::path(
    post, path = "/api/v1/payments/webhook/{gateway}", tag = "gateways",
    params(("gateway" = String, Path, pattern = "^[a-z]+$")),
    request_body(content = String, description = "As the gateway sends it",
        content_type = "application/json"),
    responses((status = 200, description = "Taken in", body = serde_json::Value), WebhookProblems),
)]
pub async fn webhook(
    State(sagas): State<Arc<Sagas>>,
    Path(name): Path<String>,
    headers: HeaderMap,
    RawBody(body): RawBody,
) -> Result<Json<serde_json::Value>, Problem> {
    take_in(sagas, &name, &headers, &body).await?;
    Ok(Json(json!({ "received": true })))
}

/// Takes a gateway's message in.
///
/// # Errors
/// `GATEWAY_NOT_FOUND`, `WEBHOOK_NOT_GENUINE`, `WEBHOOK_MISMATCH`, `GATEWAY_UNAVAILABLE`,
/// `LEDGER_UNAVAILABLE`.
pub(crate) async fn take_in(
    sagas: Arc<Sagas>,
    name: &str,
    headers: &HeaderMap,
    body: &[u8],
) -> Result<(), Problem> {
    let gateway = sagas.gateway().filter(|gateway| gateway.name() == name).ok_or_else(|| {
        Problem::new(Code::GatewayNotFound, "no gateway of this name is configured; check the path")
    })?;
    let notice = gateway
        .read_webhook(headers, body, unix_now_s())
        .map_err(|error| not_genuine(name, &error))?;
    // A gateway that hangs up must not stop half-way what its message began.
    let taken = tokio::spawn(spans::carried(async move { sagas.notice(notice).await })).await;
    match taken {
        Ok(Ok(())) => Ok(()),
        Ok(Err(NoticeError::Mismatch(why))) => {
            tracing::warn!(gateway = name, why, "a message of the gateway's was refused");
            Err(Problem::new(Code::WebhookMismatch, why))
        }
        Ok(Err(NoticeError::Ledger(error))) => Err(error.into()),
        Ok(Err(NoticeError::Gateway(why))) => Err(Problem::new(Code::GatewayUnavailable, why)),
        Err(_) => {
            Err(Problem::new(Code::Internal, "the message could not be taken in; send it again"))
        }
    }
}

/// A message that is not believed. A signed one is the gateway's: whoever runs this has to hear that it
/// cannot be understood. Anybody may send the others.
fn not_genuine(gateway: &str, error: &NotGenuine) -> Problem {
    match error {
        NotGenuine::Unreadable => {
            tracing::warn!(gateway, %error, "a message of the gateway's was refused");
        }
        NotGenuine::SignatureMissing | NotGenuine::SignatureWrong | NotGenuine::TooOld => {}
    }
    Problem::new(Code::WebhookNotGenuine, error.to_string())
}
