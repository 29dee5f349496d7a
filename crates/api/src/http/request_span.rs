//! The span of a request: its method, its route, what was answered. Never its path or query, which
//! name people and carry tokens.

use super::actions::note::REQUEST_ID;
use super::state::HttpState;
use axum::extract::Request;
use axum::http::{HeaderMap, Method};
use axum::response::Response;
use onrush_base::spans::{TARGET, are_wanted};
use onrush_serve::ProblemCode;
use onrush_serve::connection::Connection;
use opentelemetry::Context;
use opentelemetry::trace::{SpanContext, SpanId, TraceContextExt, TraceFlags, TraceId, TraceState};
use tracing::field::Empty;
use tracing::{Span, trace_span};
use tracing_opentelemetry::OpenTelemetrySpanExt;

/// The header by which a proxy says which trace a request belongs to (W3C Trace Context).
const TRACEPARENT: &str = "traceparent";

/// Begins the span of a request; none if nobody listens.
pub(super) fn begin(state: &HttpState, request: &Request) -> Span {
    if !are_wanted() {
        return Span::none();
    }
    let method = word(request.method());
    let span = trace_span!(
        target: TARGET,
        "request",
        otel.name = method,
        otel.kind = "server",
        http.request.method = method,
        http.route = Empty,
        http.response.status_code = Empty,
        "error.type" = Empty,
        onrush.request_id = Empty,
        otel.status_code = Empty,
    );
    let connection = request.extensions().get::<Connection>();
    let is_trusted = connection.is_some_and(|connection| {
        state.config.trusted_proxies.iter().any(|network| network.contains(connection.peer))
    });
    // Whoever else sends one would choose whose trace this is, and that it is kept.
    if is_trusted && let Some(parent) = parent(request.headers()) {
        // Nothing has begun it yet.
        drop(span.set_parent(Context::new().with_remote_span_context(parent)));
    }
    span
}

/// Says which route a request took.
pub(super) fn took_route(span: &Span, method: &Method, route: &str) {
    if !span.is_disabled() {
        span.record("http.route", route);
        span.record("otel.name", format!("{} {route}", word(method)));
    }
}

/// Says what was answered.
pub(super) fn answered(span: &Span, response: &Response) {
    if span.is_disabled() {
        return;
    }
    let status = response.status();
    span.record("http.response.status_code", status.as_u16());
    if let Some(code) = response.extensions().get::<ProblemCode>() {
        span.record("error.type", code.0);
    }
    if let Some(Ok(id)) = response.headers().get(&REQUEST_ID).map(|id| id.to_str()) {
        span.record("onrush.request_id", id);
    }
    if status.is_server_error() {
        span.record("otel.status_code", "ERROR");
    }
}

/// A method that everybody knows; a stranger's own word could be anything.
fn word(method: &Method) -> &'static str {
    let known = [
        Method::GET,
        Method::HEAD,
        Method::POST,
        Method::PUT,
        Method::DELETE,
        Method::CONNECT,
        Method::OPTIONS,
        Method::TRACE,
        Method::PATCH,
    ];
    let words = ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"];
    known.iter().position(|known| known == method).map_or("_OTHER", |index| words[index])
}

/// The one `traceparent` of a request, if it is whole.
fn parent(headers: &HeaderMap) -> Option<SpanContext> {
    let mut lines = headers.get_all(TRACEPARENT).iter();
    let (Some(line), None) = (lines.next(), lines.next()) else { return None };
    of_line(line.to_str().ok()?)
}

/// `00-<trace, 32 digits>-<span, 16 digits>-<flags, 2 digits>`; later versions may go on after that.
fn of_line(line: &str) -> Option<SpanContext> {
    let mut fields = line.trim().split('-');
    let mut digits = |length: usize| {
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        fields.next().filter(|field| field.len() == length && field.bytes().all(is_digit))
    };
    let (version, trace, span, flags) = (digits(2)?, digits(32)?, digits(16)?, digits(2)?);
    if version == "ff" || (version == "00" && fields.next().is_some()) {
        return None;
    }
    let flags = TraceFlags::new(u8::from_str_radix(flags, 16).ok()?) & TraceFlags::SAMPLED;
    let (trace, span) = (TraceId::from_hex(trace).ok()?, SpanId::from_hex(span).ok()?);
    let parent = SpanContext::new(trace, span, flags, true, TraceState::NONE);
    parent.is_valid().then_some(parent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_traceparent_is_one() {
        const GOOD: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let parent = of_line(GOOD).unwrap();
        assert_eq!(parent.trace_id().to_string(), "4bf92f3577b34da6a3ce929d0e0e4736");
        assert_eq!(parent.span_id().to_string(), "00f067aa0ba902b7");
        assert!(parent.is_sampled() && parent.is_remote());
        assert!(!of_line(&GOOD.replace("-01", "-00")).unwrap().is_sampled());
        assert!(of_line(&GOOD.replace("00-4", "01-4").replace("-01", "-01-more")).is_some());
        for wrong in [
            "",
            "00",
            &GOOD.replace("00-4", "ff-4"),
            &GOOD.replace("4bf9", "4BF9"),
            &GOOD.replace("4bf9", "4bf"),
            &GOOD.replace("-01", "-1"),
            &GOOD.replace("-01", "-01-more"),
            &GOOD.replace("00f067aa0ba902b7", "0000000000000000"),
            &GOOD.replace("4bf92f3577b34da6a3ce929d0e0e4736", &"0".repeat(32)),
        ] {
            assert!(of_line(wrong).is_none(), "{wrong}");
        }
        let mut headers = HeaderMap::new();
        headers.append(TRACEPARENT, GOOD.parse().unwrap());
        assert!(super::parent(&headers).is_some());
        headers.append(TRACEPARENT, GOOD.parse().unwrap());
        assert!(super::parent(&headers).is_none(), "two lines say two things");
    }

    #[test]
    fn a_method_that_nobody_knows_is_not_repeated() {
        assert_eq!(word(&Method::PATCH), "PATCH");
        assert_eq!(word(&"MONIKA".parse().unwrap()), "_OTHER");
    }
}
