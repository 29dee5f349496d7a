//! Claims get their first answer again, whatever it was (S2.2).
//!
//! A claim that was accepted is known to the rules, which say again what they said first. Of one
//! that was refused the rules know nothing, for a refusal changes nothing; so the answer is kept
//! beside other answers by key, in the ledger, as long as these and as many of one asker as of
//! these. Other requests have their refusals decided afresh.

use crate::http::once::{again, answer_of, broken_down, patiently};
use crate::http::problem::{Code, Problem};
use crate::http::state::App;
use axum::body::Body;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::Response;
use http_body_util::BodyExt;
use onrush_core::Refusal;
use onrush_ledger::request::{Begun, RequestKey, StoredAnswer};
use onrush_store::Failure;
use onrush_store::embedded::Need;
use sha2::Digest;
use sha2::Sha256;
use std::future::Future;
use std::sync::Arc;

/// Runs `work` unless it was refused before under this key; then that is the answer. `body` stands
/// for what is asked.
///
/// # Errors
/// `BOOKING_MISMATCH` if the key came with another body, `IN_PROGRESS`, `LEDGER_UNAVAILABLE`, `DISK_LOW`.
pub(super) async fn first_answer<F>(
    app: Arc<App>,
    scope: String,
    asker: &str,
    key: &str,
    body: &[u8],
    work: F,
) -> Result<Response, Problem>
where
    F: Future<Output = Result<Response, Problem>> + Send + 'static,
{
    let key = RequestKey { scope, key: key.to_owned(), asker: asker.to_owned() };
    let hash = Sha256::digest(body).into();
    // All of it goes on if the caller hangs up: nobody else would say that it ended.
    let done = tokio::spawn(async move {
        let (now, ledger) = (app.clock.now(), &app.ledger);
        let begun = if app.space.as_ref().is_none_or(|space| space.is_enough_for(Need::Key)) {
            ledger.begin(key.clone(), hash, app.run_id, now).await?
        } else {
            let known = ledger.known(key.clone(), hash, app.run_id, now).await?;
            known.ok_or(Failure::DiskLow)?
        };
        match begun {
            Begun::Fresh => {}
            Begun::InProgress => {
                let why = "the same request is under way; ask again in a moment, with the same key";
                return Err(Problem::new(Code::InProgress, why));
            }
            Begun::OtherBody => return Err(Refusal::BookingMismatch.into()),
            Begun::Answered(answer) => return Ok(again(answer)),
        }
        let (answer, refusal) = refused(answer_of(work).await).await;
        let finish = || app.ledger.finish(key.clone(), refusal.clone());
        if let Err(error) = patiently(finish).await {
            // Nothing was changed by a refusal, so it is as well decided afresh.
            tracing::error!(%error, scope = key.scope, "a first answer could not be kept");
        }
        Ok(answer)
    });
    done.await.unwrap_or_else(|_| Err(broken_down()))
}

/// The answer, and what is kept of it: only what the state does not allow, which another state may.
async fn refused(answer: Response) -> (Response, Option<StoredAnswer>) {
    let (parts, body) = answer.into_parts();
    // Bodies of ours are in memory already.
    let bytes = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    let content_type = parts.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let stored =
        matches!(parts.status, StatusCode::CONFLICT | StatusCode::PAYMENT_REQUIRED).then(|| {
            StoredAnswer {
                status: parts.status.as_u16(),
                content_type: content_type.unwrap_or_default().to_owned(),
                body: bytes.to_vec(),
            }
        });
    (Response::from_parts(parts, Body::from(bytes)), stored)
}
