//! Where ended spans wait to be sent.

use onrush_base::metrics::count;
use onrush_base::spans::COUNTS;
use opentelemetry::Context;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{Span, SpanData, SpanProcessor};
use std::time::Duration;
use tokio::sync::mpsc;

/// Takes ended spans in, as far as there is room.
#[derive(Debug)]
pub(super) struct Queue(pub(super) mpsc::Sender<SpanData>);

impl SpanProcessor for Queue {
    fn on_start(&self, _: &mut Span, _: &Context) {}

    fn on_end(&self, span: SpanData) {
        if span.span_context.is_sampled() && self.0.try_send(span).is_err() {
            count(&COUNTS.dropped);
        }
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    /// The sender is told to end by itself, in time.
    fn shutdown_with_timeout(&self, _: Duration) -> OTelSdkResult {
        Ok(())
    }
}
