//! Requests with a key are done once: the first answer is kept for a day and given again (S1.1).

use crate::app::App;
use crate::http::caller::OptionalKey;
use crate::http::problem::{Code, Problem};
use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use http_body_util::BodyExt;
use onrush_core::Refusal;
use onrush_ledger::LedgerError;
use onrush_ledger::request::{Begun, RequestKey, StoredAnswer};
use sha2::{Digest, Sha256};
use std::future::Future;
use std::sync::Arc;

impl From<LedgerError> for Problem {
    fn from(error: LedgerError) -> Self {
        tracing::error!(%error, "the ledger failed");
        Self::new(
            Code::LedgerUnavailable,
            "the ledger cannot be used now; ask again with the same key",
        )
    }
}

/// Runs `work` unless it ran before under this key, and answers as the first time.
///
/// The work goes on if the caller hangs up: nobody else would say that it ended.
///
/// # Errors
/// `BOOKING_MISMATCH` if the key came with another body, `IN_PROGRESS`, `LEDGER_UNAVAILABLE`.
pub async fn once<F>(
    app: Arc<App>,
    scope: String,
    key: &str,
    body: &[u8],
    work: F,
) -> Result<Response, Problem>
where
    F: Future<Output = Result<Response, Problem>> + Send + 'static,
{
    let key = RequestKey { scope, key: key.to_owned() };
    let hash = Sha256::digest(body).into();
    match app.ledger.begin(key.clone(), hash, app.run_id, app.clock.now()).await? {
        Begun::Fresh => {}
        Begun::InProgress => {
            let why = "the same request is under way; ask again in a moment, with the same key";
            return Err(Problem::new(Code::InProgress, why));
        }
        Begun::OtherBody => return Err(Refusal::BookingMismatch.into()),
        Begun::Answered(answer) => return Ok(again(answer)),
    }
    let done = tokio::spawn(async move {
        let answer = work.await.unwrap_or_else(IntoResponse::into_response);
        let (answer, stored) = stored(answer).await;
        let finished = app.ledger.finish(key, stored).await;
        if let Err(error) = finished {
            // The work is done, and doing it again does nothing twice: only this very answer may be lost.
            tracing::error!(%error, "an answer could not be kept");
        }
        answer
    });
    let broken = |_| Problem::new(Code::Internal, "the request broke down; the log has more");
    done.await.map_err(broken)
}

/// The same where the key is optional: without one, `work` runs each time.
///
/// # Errors
/// As [`once`].
pub async fn once_if_keyed<F>(
    app: Arc<App>,
    scope: String,
    key: &OptionalKey,
    body: &[u8],
    work: F,
) -> Result<Response, Problem>
where
    F: Future<Output = Result<Response, Problem>> + Send + 'static,
{
    match &key.0 {
        Some(key) => once(app, scope, key.as_str(), body, work).await,
        None => work.await,
    }
}

/// The answer, and what is kept of it: nothing if the same request may come to another end.
async fn stored(answer: Response) -> (Response, Option<StoredAnswer>) {
    let (parts, body) = answer.into_parts();
    // Bodies of ours are in memory already.
    let bytes = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    let status = parts.status;
    let content_type = parts.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let keep = !status.is_server_error() && status != StatusCode::TOO_MANY_REQUESTS;
    let stored = keep.then(|| StoredAnswer {
        status: status.as_u16(),
        content_type: content_type.unwrap_or_default().to_owned(),
        body: bytes.to_vec(),
    });
    (Response::from_parts(parts, Body::from(bytes)), stored)
}

fn again(answer: StoredAnswer) -> Response {
    let mut response = Response::new(Body::from(answer.body));
    *response.status_mut() =
        StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    if let Ok(value) = HeaderValue::from_str(&answer.content_type) {
        response.headers_mut().insert(CONTENT_TYPE, value);
    }
    response
}
