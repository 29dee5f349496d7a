//! `POST /api/booking/payment/failure`.

use super::hear;
use crate::http::body::RawBody;
use crate::http::openapi::WebhookProblems;
use crate::http::problem::Problem;
use crate::http::state::App;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use std::sync::Arc;

/// The gateway tells that a payment failed (S3.7): seat and slot are free again.
///
/// The message must be signed, fresh, and fit what was asked for, exactly as at
/// `/api/v1/payments/webhook/{gateway}`.
#[utoipa::path(
    post, path = "/api/booking/payment/failure", tag = "s3", operation_id = "s3_payment_failure",
    request_body(content = String, description = "As the gateway sends it",
        content_type = "application/json"),
    responses((status = 200, description = "Taken in", body = serde_json::Value), WebhookProblems),
)]
pub async fn failure(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    RawBody(body): RawBody,
) -> Result<Response, Problem> {
    hear(app, &headers, &body).await
}
