//! A receiver of webhooks that remembers everything.

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::routing::post;
use onrush_saga::gateway::{Gateway, News, NotGenuine, Notice, Standing};
use onrush_serve::{listen, serve_router};
use serde_json::Value;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::{oneshot, watch};

/// How long a test waits for what must come.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// A message as it came.
#[derive(Clone, Debug)]
pub(crate) struct Received {
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Received {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    pub(crate) fn read(&self, gateway: &dyn Gateway) -> Result<Notice, NotGenuine> {
        gateway.read_webhook(&self.headers, &self.body, now_s())
    }
}

pub(crate) fn now_s() -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    now.as_secs() as i64
}

struct Shared {
    /// Messages that are answered with a 500.
    refuse: Mutex<u32>,
    received: watch::Sender<Vec<Received>>,
}

/// The receiver.
pub(crate) struct Inbox {
    address: SocketAddr,
    shared: Arc<Shared>,
    _stop: oneshot::Sender<()>,
}

async fn take(State(shared): State<Arc<Shared>>, headers: HeaderMap, body: Bytes) -> StatusCode {
    shared.received.send_modify(|all| all.push(Received { headers, body }));
    let mut refuse = shared.refuse.lock().unwrap();
    if *refuse > 0 {
        *refuse -= 1;
        return StatusCode::INTERNAL_SERVER_ERROR;
    }
    StatusCode::OK
}

impl Inbox {
    pub(crate) fn open() -> Self {
        let shared =
            Arc::new(Shared { refuse: Mutex::new(0), received: watch::Sender::new(Vec::new()) });
        let listener = listen(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new().route("/", post(take)).with_state(shared.clone());
        let (stop, stopped) = oneshot::channel();
        tokio::spawn(serve_router(listener, router, async { drop(stopped.await) }));
        Self { address, shared, _stop: stop }
    }

    pub(crate) fn url(&self) -> Uri {
        format!("http://{}/", self.address).parse().unwrap()
    }

    /// Has the next messages refused.
    pub(crate) fn refuse(&self, count: u32) {
        *self.shared.refuse.lock().unwrap() = count;
    }

    pub(crate) fn all(&self) -> Vec<Received> {
        self.shared.received.borrow().clone()
    }

    /// Waits until there are as many messages.
    pub(crate) async fn wait_for(&self, count: usize) -> Vec<Received> {
        let mut received = self.shared.received.subscribe();
        let enough = received.wait_for(|all| all.len() >= count);
        let all = tokio::time::timeout(PATIENCE, enough).await;
        match all {
            Ok(all) => all.unwrap().clone(),
            Err(_) => panic!("only {:?} came", self.all()),
        }
    }

    /// The types of all messages, in the order they came in.
    pub(crate) async fn types(&self, count: usize) -> Vec<String> {
        let all = self.wait_for(count).await;
        all.iter().map(|received| received.json()["type"].as_str().unwrap().to_owned()).collect()
    }
}

/// What a payment's message says of where it stands.
pub(crate) fn standing(notice: Notice) -> Standing {
    match notice.news {
        Some(News::Payment { standing, .. }) => standing,
        other => panic!("not of a payment: {other:?}"),
    }
}
