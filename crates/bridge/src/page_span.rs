//! The span of a page of the feed on its way to another server.

use onrush_base::spans::TARGET;
use onrush_store::FeedPage;
use tracing::{Span, trace_span};

/// The span of a page that is sent to `server`.
pub(crate) fn page_span(server: &'static str, page: &FeedPage) -> Span {
    trace_span!(
        target: TARGET,
        "publish",
        otel.name = server,
        otel.kind = "producer",
        onrush.decisions = page.len(),
        onrush.first_seq = page.first().map(|entry| entry.seq.0),
    )
}
