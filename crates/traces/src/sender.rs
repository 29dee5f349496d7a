//! Sends spans to the collector, some hundred at a time, and tries again while it is away.

use super::troubles::Troubles;
use axum::http::header::{CONTENT_TYPE, USER_AGENT};
use axum::http::{HeaderName, HeaderValue, Method, Request, Uri};
use bytes::Bytes;
use onrush_base::config::TelemetrySettings;
use onrush_base::http_client::{AddressPolicy, HttpClient};
use onrush_base::spans::COUNTS;
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::transform::common::tonic::ResourceAttributesWithSchema;
use opentelemetry_proto::transform::trace::tonic::group_spans_by_resource_and_scope;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SpanData;
use prost::Message;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::time::{sleep, timeout};

/// What the settings call the certificates.
const CERTIFICATES: &str = "telemetry.certificates";
/// Spans of one request at most.
const BATCH: usize = 512;
/// How long spans wait for others to go with.
const GATHER: Duration = Duration::from_secs(1);
/// How long the collector may take to answer.
const ANSWER_MS: u64 = 10_000;
/// The pause after a failure; each further one doubles it.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// How long what still waits may take when the server ends.
const GOODBYE: Duration = Duration::from_secs(5);

/// The collector.
pub(super) struct Collector {
    client: HttpClient,
    address: Uri,
    headers: Vec<(HeaderName, HeaderValue)>,
    resource: ResourceAttributesWithSchema,
}

/// Some spans as a body, and how many they are.
struct Batch {
    body: Bytes,
    spans: u64,
}

/// What came of sending a batch.
enum Sent {
    /// The collector has all but so many.
    Taken { refused: u64, why: String },
    /// It will never have them.
    Refused(String),
    /// It may have them later.
    Later(String),
}

impl Collector {
    /// The collector of the settings.
    ///
    /// # Errors
    /// Which setting cannot be used, as a sentence.
    pub(super) fn of(settings: &TelemetrySettings, resource: &Resource) -> Result<Self, String> {
        let certificates = settings.certificates.load(CERTIFICATES)?;
        let client = HttpClient::with_certificates(
            AddressPolicy::Any,
            &certificates,
            CERTIFICATES.to_owned(),
        );
        Ok(Self {
            client: client.map_err(|why| format!("{CERTIFICATES}: {why}"))?,
            address: settings.address()?,
            headers: settings.header_lines()?,
            resource: resource.into(),
        })
    }

    fn batch(&self, spans: Vec<SpanData>) -> Batch {
        let count = spans.len() as u64;
        let resource_spans = group_spans_by_resource_and_scope(spans, &self.resource);
        let request = ExportTraceServiceRequest { resource_spans };
        Batch { body: request.encode_to_vec().into(), spans: count }
    }

    /// Sends a batch once.
    async fn send(&self, batch: &Batch) -> Sent {
        let mut request = Request::new(batch.body.clone());
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.address.clone();
        let agent = concat!("onrush/", env!("CARGO_PKG_VERSION"));
        let fixed = [
            (CONTENT_TYPE, HeaderValue::from_static("application/x-protobuf")),
            (USER_AGENT, HeaderValue::from_static(agent)),
        ];
        request.headers_mut().extend(fixed);
        request.headers_mut().extend(self.headers.iter().cloned());
        let answer = match self.client.call(request, ANSWER_MS).await {
            Ok(answer) => answer,
            Err(error) => return Sent::Later(error.to_string()),
        };
        match answer.status().as_u16() {
            200..=299 => {
                // An answer without a body says that all is well.
                let said = ExportTraceServiceResponse::decode(answer.body().clone());
                let partial = said.unwrap_or_default().partial_success.unwrap_or_default();
                let refused = u64::try_from(partial.rejected_spans).unwrap_or(0);
                Sent::Taken { refused: refused.min(batch.spans), why: partial.error_message }
            }
            // OTLP/HTTP, "Failures": these are tried again, and no others.
            status @ (429 | 502..=504) => Sent::Later(format!("it answers with status {status}")),
            status => Sent::Refused(format!("it answers with status {status}")),
        }
    }
}

/// The task that sends.
pub(super) struct Sender {
    collector: Collector,
    waiting: mpsc::Receiver<SpanData>,
    stopping: watch::Receiver<bool>,
    troubles: Troubles,
    overflows: Troubles,
    /// Drops that were told.
    told_dropped: u64,
}

impl Sender {
    pub(super) fn new(
        collector: Collector,
        waiting: mpsc::Receiver<SpanData>,
        stopping: watch::Receiver<bool>,
    ) -> Self {
        let (troubles, overflows) = (Troubles::default(), Troubles::default());
        Self { collector, waiting, stopping, troubles, overflows, told_dropped: 0 }
    }

    /// Sends what comes until it is told to stop, and then what waits.
    pub(super) async fn run(mut self) {
        let mut unsent = None;
        while unsent.is_none()
            && let Some(batch) = self.next().await
        {
            unsent = self.deliver(batch).await;
        }
        // Whatever ends from now on is dropped.
        self.waiting.close();
        let left = unsent.as_ref().map_or(0, |batch| batch.spans);
        let waiting = self.waiting.len() as u64;
        let mut given_up = left + waiting;
        if timeout(GOODBYE, self.say_goodbye(unsent, &mut given_up)).await.is_err() {
            tracing::warn!("the collector of traces takes too long; the rest of them is given up");
        }
        COUNTS.dropped.fetch_add(given_up, Ordering::Relaxed);
    }

    /// The next spans to send; `None` once it is time to stop.
    async fn next(&mut self) -> Option<Batch> {
        let mut spans = Vec::new();
        let gather = async {
            if self.waiting.recv_many(&mut spans, BATCH).await == 0 {
                return;
            }
            let others = async {
                while spans.len() < BATCH {
                    let room = BATCH - spans.len();
                    if self.waiting.recv_many(&mut spans, room).await == 0 {
                        return;
                    }
                }
            };
            drop(timeout(GATHER, others).await);
        };
        tokio::select! {
            biased;
            () = stopped(&mut self.stopping) => {}
            () = gather => {}
        }
        (!spans.is_empty()).then(|| self.collector.batch(spans))
    }

    /// Sends a batch until the collector has it or will not have it; gives it back if it is time to stop.
    async fn deliver(&mut self, batch: Batch) -> Option<Batch> {
        let mut pause = FIRST_PAUSE;
        loop {
            let sent = tokio::select! {
                biased;
                () = stopped(&mut self.stopping) => return Some(batch),
                sent = self.collector.send(&batch) => sent,
            };
            if self.has_ended(&sent, &batch) {
                return None;
            }
            tokio::select! {
                biased;
                () = stopped(&mut self.stopping) => return Some(batch),
                () = sleep(pause) => {}
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Sends what is left, each batch once, and notes how much of it is not sent yet.
    async fn say_goodbye(&mut self, unsent: Option<Batch>, left: &mut u64) {
        let mut next = unsent;
        loop {
            let batch = match next.take() {
                Some(batch) => batch,
                None => {
                    let mut spans = Vec::new();
                    if self.waiting.recv_many(&mut spans, BATCH).await == 0 {
                        return;
                    }
                    self.collector.batch(spans)
                }
            };
            let sent = self.collector.send(&batch).await;
            if !self.has_ended(&sent, &batch) {
                return;
            }
            *left = left.saturating_sub(batch.spans);
        }
    }

    /// Counts what came of a batch, and says so once in a while if it is bad; whether that was the end of it.
    fn has_ended(&mut self, sent: &Sent, batch: &Batch) -> bool {
        let add = |to: &AtomicU64, count: u64| to.fetch_add(count, Ordering::Relaxed);
        match sent {
            Sent::Taken { refused, why } => {
                add(&COUNTS.sent, batch.spans - refused);
                add(&COUNTS.refused, *refused);
                if *refused > 0 {
                    self.say_refused(*refused, why);
                } else if self.troubles.are_over() {
                    tracing::info!("the collector of traces takes spans again");
                }
                self.say_dropped();
                true
            }
            Sent::Refused(why) => {
                add(&COUNTS.refused, batch.spans);
                self.say_refused(batch.spans, why);
                true
            }
            Sent::Later(why) => {
                if self.troubles.is_worth_a_line() {
                    let setting = "telemetry.otlp_endpoint";
                    let dropped = COUNTS.dropped.load(Ordering::Relaxed);
                    tracing::warn!(setting, why, dropped, "no traces arrive; the sale goes on");
                }
                false
            }
        }
    }

    fn say_refused(&mut self, refused: u64, why: &str) {
        if self.troubles.is_worth_a_line() {
            tracing::warn!(refused, why, "the collector of traces will not have some spans");
        }
    }

    /// Says that spans were dropped although the collector answers: there are too many for it.
    fn say_dropped(&mut self) {
        let dropped = COUNTS.dropped.load(Ordering::Relaxed);
        if dropped > self.told_dropped && self.overflows.is_worth_a_line() {
            let more = dropped - self.told_dropped;
            self.told_dropped = dropped;
            let setting = "telemetry.sample_ratio";
            tracing::warn!(setting, dropped = more, "there were more spans than could be sent");
        }
    }
}

async fn stopped(stopping: &mut watch::Receiver<bool>) {
    // Whoever could say so being gone is a reason to stop as well.
    drop(stopping.wait_for(|stop| *stop).await);
}
