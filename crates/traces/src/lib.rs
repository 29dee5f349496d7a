//! What the server did, as spans of OpenTelemetry, sent to whoever collects them by OTLP over HTTP.
//!
//! ```text
//! spans of `tracing` ──► sampler ──► queue, bounded ──► sender, one task ──► collector
//!                                      └─ full: dropped and counted
//! ```
//!
//! Nobody who makes a span ever waits: a collector that is slow or away costs spans and nothing else.

mod queue;
mod sender;
mod troubles;

use onrush_base::config::TelemetrySettings;
use onrush_base::spans::TARGET;
use opentelemetry::KeyValue;
use opentelemetry::trace::TracerProvider;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{Sampler, SdkTracerProvider};
use queue::Queue;
use sender::{Collector, Sender};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tracing::Subscriber;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::registry::LookupSpan;

/// Traces on their way to a collector, until [`Traces::shutdown`].
pub struct Traces {
    provider: SdkTracerProvider,
    stop: watch::Sender<bool>,
    sender: JoinHandle<()>,
}

impl Traces {
    /// Begins to send what [`Self::layer`] will hear of. Must be called in a runtime.
    ///
    /// # Errors
    /// Which setting cannot be used, as a sentence.
    pub fn start(settings: &TelemetrySettings, instance: String) -> Result<Self, String> {
        let resource = Resource::builder()
            .with_service_name(settings.service_name.clone())
            .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
            .with_attribute(KeyValue::new("service.instance.id", instance))
            .build();
        let collector = Collector::of(settings, &resource)?;
        let most = usize::try_from(settings.queue_spans).unwrap_or(usize::MAX);
        let (waiting, queue) = mpsc::channel(most.min(tokio::sync::Semaphore::MAX_PERMITS));
        let (stop, stopping) = watch::channel(false);
        let sender = tokio::spawn(Sender::new(collector, queue, stopping).run());
        // Whoever begins a trace before us has decided for all of it.
        let sampler = Sampler::parent_based(Sampler::TraceIdRatioBased(settings.sample_ratio));
        let provider = SdkTracerProvider::builder()
            .with_resource(resource)
            .with_sampler(sampler)
            .with_span_processor(Queue(waiting))
            .build();
        Ok(Self { provider, stop, sender })
    }

    /// What hears of spans, and of nothing else: log lines may name people, and stay here.
    pub fn layer<S>(&self) -> impl Layer<S> + use<S>
    where
        S: Subscriber + for<'a> LookupSpan<'a>,
    {
        let ours = filter_fn(|of| of.is_span() && of.target() == TARGET);
        tracing_opentelemetry::layer()
            .with_tracer(self.provider.tracer("onrush"))
            .with_location(false)
            .with_target(false)
            .with_threads(false)
            .with_tracked_inactivity(false)
            .with_context_activation(false)
            .with_filter(ours.with_max_level_hint(LevelFilter::TRACE))
    }

    /// Sends what waits, for five seconds at most.
    pub async fn shutdown(self) {
        self.stop.send_replace(true);
        drop(self.sender.await);
    }
}
