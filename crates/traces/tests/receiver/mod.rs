//! A collector for tests: takes in what is sent by OTLP over HTTP, or does as a bad one does.

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header::CONTENT_TYPE};
use axum::routing::post;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::timeout;

const PATIENCE: Duration = Duration::from_secs(30);

/// What the collector does with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Does {
    Take,
    Answer(u16),
    /// It takes the request in and never says anything.
    Nothing,
}

/// What came, in order.
#[derive(Default)]
pub(crate) struct Came {
    pub(crate) bodies: Vec<Bytes>,
    pub(crate) headers: Vec<HeaderMap>,
    /// Requests of any kind.
    pub(crate) requests: usize,
}

/// The collector. It goes with its runtime.
#[derive(Clone)]
pub(crate) struct Receiver {
    pub(crate) address: SocketAddr,
    does: Arc<Mutex<Does>>,
    pub(crate) came: watch::Sender<Arc<Mutex<Came>>>,
}

impl Receiver {
    pub(crate) async fn start(does: Does) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let receiver = Self {
            address,
            does: Arc::new(Mutex::new(does)),
            came: watch::Sender::new(Arc::default()),
        };
        let router = receiver.router();
        tokio::spawn(async move { axum::serve(listener, router).await });
        receiver
    }

    /// What it answers with, for listeners of other kinds.
    pub(crate) fn router(&self) -> Router {
        Router::new().route("/v1/traces", post(take)).with_state(self.clone())
    }

    pub(crate) fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn now_does(&self, does: Does) {
        *self.does.lock().unwrap() = does;
    }

    /// All spans so far.
    pub(crate) fn spans(&self) -> Vec<Span> {
        let came = self.came.borrow().clone();
        let came = came.lock().unwrap();
        let requests = came.bodies.iter().map(|body| {
            ExportTraceServiceRequest::decode(body.clone()).expect("it is a request of OTLP")
        });
        let scopes = requests.flat_map(|of| of.resource_spans).flat_map(|of| of.scope_spans);
        scopes.flat_map(|of| of.spans).collect()
    }

    /// Waits until what came is as it should be.
    pub(crate) async fn until(&self, what: &str, holds: impl Fn(&Self) -> bool) {
        let mut news = self.came.subscribe();
        let waited = timeout(PATIENCE, async {
            while !holds(self) {
                news.changed().await.expect("the collector lives");
            }
        });
        assert!(waited.await.is_ok(), "{what}: {:#?}", self.spans());
    }

    pub(crate) fn requests(&self) -> usize {
        self.came.borrow().lock().unwrap().requests
    }
}

async fn take(State(receiver): State<Receiver>, headers: HeaderMap, body: Bytes) -> StatusCode {
    let does = *receiver.does.lock().unwrap();
    receiver.came.send_modify(|came| {
        let mut came = came.lock().unwrap();
        came.requests += 1;
        if does == Does::Take {
            assert_eq!(headers[CONTENT_TYPE], "application/x-protobuf");
            came.bodies.push(body);
            came.headers.push(headers);
        }
    });
    match does {
        Does::Take => StatusCode::OK,
        Does::Answer(status) => StatusCode::from_u16(status).unwrap(),
        Does::Nothing => std::future::pending().await,
    }
}

/// An attribute of a span, as text.
pub(crate) fn attribute(span: &Span, name: &str) -> Option<String> {
    let found = span.attributes.iter().find(|attribute| attribute.key == name)?;
    Some(match found.value.as_ref()?.value.as_ref()? {
        Value::StringValue(text) => text.clone(),
        Value::IntValue(number) => number.to_string(),
        Value::BoolValue(truth) => truth.to_string(),
        other => format!("{other:?}"),
    })
}
