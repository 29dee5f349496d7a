//! How a sale stands, second by second, for the control room.

use crate::http::caller::{Ids, Operator};
use crate::http::openapi::ReadProblems;
use crate::http::problem::Problem;
use crate::http::sessions::streams::WhileSignedIn;
use crate::http::state::{Callers, Streams};
use crate::json::ids::EventIdText;
use crate::live::Permit;
use crate::live::sample::{Past, Sample};
use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderValue;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName};
use axum::response::Response;
use bytes::Bytes;
use http_body::Frame;
use onrush_core::ids::EventId;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::sync::mpsc;
use utoipa::ToSchema;

/// What the events of the stream say: `past` first, then a `sample` each second.
#[derive(ToSchema)]
#[schema(as = LiveSample)]
#[serde(untagged)]
pub enum LiveSample {
    /// The event `past`.
    Past(Past),
    /// The event `sample`.
    Sample(Sample),
}

/// How the sale stands, second by second, as server-sent events: `past` once, then `sample` each second.
///
/// Counts and refusals only grow, from when this node began to look at the event, so rates are
/// differences of samples. `counts` are the whole sale's, whichever node did it; `refused` is this
/// node's alone. A stream that is not read fast enough ends, and whoever connects again gets the
/// past anew. It also ends with the browser session that it was opened by.
#[utoipa::path(
    get, path = "/api/v1/admin/events/{event}/live", tag = "admin",
    params(("event" = EventIdText, Path)),
    responses((status = 200, description = "The stream", content_type = "text/event-stream",
        body = LiveSample), ReadProblems),
)]
pub async fn live_samples(
    State(streams): State<Arc<Streams>>,
    State(callers): State<Arc<Callers>>,
    Ids(event): Ids<EventId>,
    operator: Operator,
) -> Result<Response, Problem> {
    let permit = streams.hub.permit()?;
    let messages = streams.samples.watch(&event).await?;
    let session = operator.session.as_ref().map(|session| callers.while_signed_in(session));
    let body = LiveBody { messages, session, _permit: permit };
    let mut response = Response::new(Body::new(body));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // Some proxies collect an answer before they pass it on, unless told not to.
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    Ok(response)
}

/// Messages as the body of an answer that goes on until one side has enough.
struct LiveBody {
    messages: mpsc::Receiver<Bytes>,
    session: Option<WhileSignedIn>,
    _permit: Permit,
}

impl http_body::Body for LiveBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if let Some(session) = &mut self.session
            && session.poll_ended(context).is_ready()
        {
            return Poll::Ready(None);
        }
        let next = self.messages.poll_recv(context);
        next.map(|message| message.map(|message| Ok(Frame::data(message))))
    }
}
