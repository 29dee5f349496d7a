//! Server-sent events: `GET /events/{event}/stream`.

use crate::http::caller::{Ids, Strict, Visitor};
use crate::http::openapi::StreamProblems;
use crate::http::origin::check_origin;
use crate::http::problem::{Code, Problem};
use crate::http::state::{Callers, Streams};
use crate::json::ids::{EventIdText, PlaceIdText};
use crate::live::Open;
use axum::body::Body;
use axum::extract::{FromRef, FromRequestParts, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName};
use axum::http::request::Parts;
use axum::http::{HeaderValue, Method, Version};
use axum::response::Response;
use bytes::Bytes;
use http_body::Frame;
use onrush_base::auth::{TokenError, unix_now_s};
use onrush_core::ids::{EventId, PlaceId, UserId};
use onrush_serve::connection::Connection;
use onrush_serve::subscriber;
use serde::Deserialize;
use std::convert::Infallible;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use utoipa::IntoParams;

/// Who opens a stream, about which place.
pub struct StreamCaller {
    /// The visitor.
    pub user: UserId,
    /// The place, if a particular one is meant.
    pub place: Option<PlaceId>,
    /// Whose share of streams it is part of, beside the visitor's; nobody's where only the proxy is known.
    pub address: Option<IpAddr>,
    /// Over which connection.
    pub connection: Option<Connection>,
}

/// The query of a stream's address.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct StreamQuery {
    /// A stream ticket, for callers that cannot send headers.
    ticket: Option<String>,
    /// The place; if left out, the visitor's session if there is one, else their place that is served first.
    #[param(value_type = Option<PlaceIdText>, nullable = false)]
    place: Option<PlaceId>,
}

impl<S: Send + Sync> FromRequestParts<S> for StreamCaller
where
    Arc<Callers>: FromRef<S>,
    Arc<Streams>: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let callers = Arc::<Callers>::from_ref(state);
        check_origin(&parts.headers, &callers.config)?;
        let Strict(query) = Strict::<StreamQuery>::from_request_parts(parts, state).await?;
        let user = match query.ticket {
            None => Visitor::from_request_parts(parts, state).await?.0,
            Some(ticket) => Arc::<Streams>::from_ref(state)
                .tickets
                .redeem(&ticket, unix_now_s())
                .map_err(|error| match error {
                TokenError::Invalid => {
                    Problem::new(Code::TicketInvalid, "a ticket works once; ask for a new one")
                }
                TokenError::Expired => {
                    Problem::new(Code::TokenExpired, "the ticket has expired; ask for a new one")
                }
            })?,
        };
        let connection = parts.extensions.get::<Connection>().cloned();
        let address =
            connection.as_ref().map(|connection| callers.address_of(connection, &parts.headers));
        let proxies = &callers.config.trusted_proxies;
        let address = address
            .filter(|address| !proxies.iter().any(|proxy| proxy.contains(*address)))
            .map(subscriber);
        Ok(Self { user, place: query.place, address, connection })
    }
}

/// Live updates as server-sent events; each event's data is one JSON object with `type`.
#[utoipa::path(
    get, path = "/api/v1/events/{event}/stream", tag = "live",
    params(("event" = EventIdText, Path), StreamQuery),
    responses((status = 200, description = "The stream", content_type = "text/event-stream",
        body = String), StreamProblems),
    security(("visitor" = []), ())
)]
pub async fn stream(
    State(streams): State<Arc<Streams>>,
    Ids(event): Ids<EventId>,
    caller: StreamCaller,
    request: axum::extract::Request,
) -> Result<Response, Problem> {
    let StreamCaller { user, place, address, connection } = caller;
    let open = streams.hub.open(event, user, place, address).await?;
    let handed_over = request.method() == Method::GET && request.version() == Version::HTTP_11;
    let body = match connection.filter(|_| handed_over) {
        Some(connection) => connection.handover.offer(open.chunks()),
        // Older clients know no chunks, and who asks for the head alone gets no stream.
        None => Body::new(SseBody { open }),
    };
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // Some proxies collect an answer before they pass it on, unless told not to.
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    Ok(response)
}

/// A stream as the body of an answer that goes on until one side has enough.
struct SseBody {
    open: Open,
}

impl http_body::Body for SseBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let next = self.open.poll_next(context);
        next.map(|message| message.map(|message| Ok(Frame::data(message.sse()))))
    }
}
