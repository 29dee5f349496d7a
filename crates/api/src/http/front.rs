//! What every request meets first: its host is looked at, and what a rush asks for goes to its
//! handler without a walk through the router. On the way out answers get the headers of
//! [`headers`](super::headers).

use super::caller::Plain;
use super::headers::{Also, check_host, check_path};
use super::state::HttpState;
use super::{bookings, queue, request_span};
use axum::Router;
use axum::extract::Request;
use axum::handler::Handler;
use axum::http::Method;
use axum::response::{IntoResponse, Response};
use axum::routing::future::RouteFuture;
use onrush_core::ids::EventId;
use pin_project_lite::pin_project;
use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tower_service::Service;
use tracing::Span;

/// How the paths of an event begin.
const EVENTS: &str = "/api/v1/events/";

/// All paths, with what stands before them.
#[derive(Clone)]
pub(super) struct Front {
    router: Router,
    state: HttpState,
}

impl Front {
    /// These paths, which `state` is given to.
    pub(super) fn of(router: Router, state: HttpState) -> Router {
        Router::new().fallback_service(Self { router, state })
    }
}

/// What a rush asks for. None of it needs a key, so no doorkeeper stands before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hot {
    Hold,
    Join,
    Position,
}

impl Hot {
    /// The route, as the router has it.
    fn route(self) -> &'static str {
        match self {
            Self::Hold => "/api/v1/events/{event}/bookings",
            Self::Join | Self::Position => "/api/v1/events/{event}/queue",
        }
    }

    /// What of it a request asks for, and of which event. An event that is written in any other way
    /// than plainly is left to the router.
    fn of(method: &Method, path: &str) -> Option<(Self, EventId)> {
        let (event, what) = path.strip_prefix(EVENTS)?.split_once('/')?;
        let hot = match (what, method) {
            ("bookings", &Method::POST) => Self::Hold,
            ("queue", &Method::POST) => Self::Join,
            ("queue", &Method::GET) => Self::Position,
            _ => return None,
        };
        Some((hot, event.parse().ok()?))
    }
}

impl Service<Request> for Front {
    type Response = Response;
    type Error = Infallible;
    type Future = Answer;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request) -> Answer {
        let also = Also::of(request.uri().path(), self.state.config.is_https());
        let span = request_span::begin(&self.state, &request);
        let work = match check_host(&request).and_then(|()| check_path(&request)) {
            Err(problem) => Work::Refused { answer: Some(problem.into_response()) },
            Ok(()) => match Hot::of(request.method(), request.uri().path()) {
                None => Work::Routed { answer: self.router.call(request) },
                Some((hot, event)) => {
                    request_span::took_route(&span, request.method(), hot.route());
                    request.extensions_mut().insert(Plain(event));
                    let state = self.state.clone();
                    let answer = match hot {
                        Hot::Hold => bookings::hold::hold.call(request, state),
                        Hot::Join => queue::join::join.call(request, state),
                        Hot::Position => queue::place::position.call(request, state),
                    };
                    Work::Direct { answer }
                }
            },
        };
        Answer { work, also, span }
    }
}

pin_project! {
    #[project = WorkProjection]
    enum Work {
        Routed { #[pin] answer: RouteFuture<Infallible> },
        Direct { answer: Pin<Box<dyn Future<Output = Response> + Send>> },
        Refused { answer: Option<Response> },
    }
}

pin_project! {
    /// An answer under way.
    pub(super) struct Answer {
        #[pin]
        work: Work,
        also: Also,
        span: Span,
    }
}

impl Future for Answer {
    type Output = Result<Response, Infallible>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let _within = this.span.enter();
        let mut response = match this.work.project() {
            WorkProjection::Routed { answer } => match ready!(answer.poll(context)) {
                Ok(response) => response,
                Err(never) => match never {},
            },
            WorkProjection::Direct { answer } => ready!(answer.as_mut().poll(context)),
            WorkProjection::Refused { answer } => answer.take().expect("an answer is polled once"),
        };
        this.also.say(response.headers_mut());
        request_span::answered(this.span, &response);
        Poll::Ready(Ok(response))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::scopes;

    #[test]
    fn only_what_is_written_plainly_goes_past_the_router() {
        let of = |method, path| Hot::of(&method, path).map(|(hot, event)| (hot, event.to_string()));
        let gala = "gala".to_owned();
        assert_eq!(
            of(Method::POST, "/api/v1/events/gala/bookings"),
            Some((Hot::Hold, gala.clone()))
        );
        assert_eq!(of(Method::POST, "/api/v1/events/gala/queue"), Some((Hot::Join, gala.clone())));
        assert_eq!(of(Method::GET, "/api/v1/events/gala/queue"), Some((Hot::Position, gala)));
        for (method, path) in [
            (Method::GET, "/api/v1/events/gala/bookings"),
            (Method::HEAD, "/api/v1/events/gala/queue"),
            (Method::DELETE, "/api/v1/events/gala/queue"),
            (Method::POST, "/api/v1/events/gala/queue/"),
            (Method::POST, "/api/v1/events/gala/queue/arrive"),
            (Method::POST, "/api/v1/events/ga%6ca/bookings"),
            (Method::POST, "/api/v1/events//bookings"),
            (Method::POST, "/api/v1/events/bookings"),
            (Method::POST, "/api/v1/admin/events/gala/bookings"),
            (Method::POST, "//api/v1/events/gala/bookings"),
        ] {
            assert_eq!(of(method.clone(), path), None, "{method} {path}");
        }
    }

    /// The doorkeeper is not asked there.
    #[test]
    fn nothing_that_needs_a_key_goes_past_the_router() {
        for (method, what) in
            [(Method::POST, "bookings"), (Method::POST, "queue"), (Method::GET, "queue")]
        {
            assert!(Hot::of(&method, &format!("{EVENTS}gala/{what}")).is_some());
            let path = format!("{EVENTS}{{event}}/{what}");
            assert!(scopes::needed(&method, &path).is_none(), "{method} {path}");
        }
    }
}
