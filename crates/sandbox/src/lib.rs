//! The sandbox: a payment gateway that moves no money, as a service of its own.
//!
//! It has an API for the shop, a page where a person pays, and signed webhooks. Everything that
//! goes wrong with real gateways goes wrong here too, when it is asked to. docs/design/gateways.md
//! has the API, the test cards and the faults.

mod api;
mod at_desk;
mod book;
mod config;
mod courier;
mod fault;
mod journal;
mod page;
mod parcel;
mod service;

pub use config::SandboxConfig;
pub use courier::SIGNATURE;
pub use fault::{Call, Fault, Script};
pub use parcel::Webhook;
pub use service::{AskedView, CurrencyTotals, PaymentList, PaymentView, RefundView, SandboxTotals};

use at_desk::DeskThing;
use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::Uri;
use axum::routing::{get, post, put};
use journal::Journal;
use onrush_base::config::{own_secret_complaint, reached_from_here};
use onrush_core::ids::{BookingId, PaymentId};
use onrush_serve::{listen, serve_router};
use service::Service;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

/// The longest body, in bytes.
const MAX_BODY_BYTES: usize = 64 << 10;

/// Why a sandbox cannot start.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// Others could reach it, and that was not allowed.
    #[error(
        "{0} can be reached by others, who would pay without money; use a loopback address, or \
         --allow-sandbox if that is what you want"
    )]
    NotLocal(SocketAddr),
    /// What goes wrong by lot adds up to more than everything.
    #[error(
        "declined, duplicate, late and never are at most 100 percent together, and lost answers by \
         themselves"
    )]
    FaultsInvalid,
    /// A secret is empty, blank or too short: everybody could forge what it proves.
    #[error("the sandbox's secrets: {0}")]
    SecretInvalid(String),
    /// It cannot listen there.
    #[error("cannot listen on {0}: {1}")]
    Listen(SocketAddr, io::Error),
    /// Its file cannot be used.
    #[error("the sandbox's file cannot be used: {0}")]
    File(io::Error),
}

/// A running sandbox. Dropping it stops it too, without waiting until it has stopped.
pub struct Sandbox {
    address: SocketAddr,
    service: Arc<Service>,
    stop_serving: oneshot::Sender<()>,
    serving: JoinHandle<()>,
    stop_courier: oneshot::Sender<()>,
    courier: JoinHandle<()>,
}

impl Sandbox {
    /// Opens its file and listens. When this returns, requests are answered, and webhooks that had
    /// not arrived are sent.
    ///
    /// # Errors
    /// See [`SandboxError`].
    pub async fn start(config: SandboxConfig) -> Result<Self, SandboxError> {
        if !config.listen.ip().is_loopback() && !config.allow_sandbox {
            return Err(SandboxError::NotLocal(config.listen));
        }
        if !config.faults.is_valid() {
            return Err(SandboxError::FaultsInvalid);
        }
        for secret in [&config.secret, &config.webhook_secret] {
            if let Some(why) = own_secret_complaint(secret) {
                return Err(SandboxError::SecretInvalid(why));
            }
        }
        let dir = config.dir.clone();
        // Reading the file takes as long as it takes.
        let opened = tokio::task::spawn_blocking(move || Journal::open(&dir)).await;
        let opened = opened.map_err(io::Error::other).flatten().map_err(SandboxError::File)?;
        let asked = config.listen;
        let listener = listen(asked).map_err(|error| SandboxError::Listen(asked, error))?;
        let address = listener.local_addr().unwrap_or(asked);
        let base_url = config.pages_url(address);
        if config.leads_here_alone(address) {
            tracing::warn!(
                url = %base_url,
                "the sandbox sends buyers to an address that leads to their own machine; say how \
                 browsers reach it: --public-url of onrush sandbox, or public_url of the server"
            );
        }
        let (parcels, queue) = mpsc::unbounded_channel();
        let client = config.client.clone();
        let service = Arc::new(Service::new(config, base_url, opened, parcels));
        let (stop_courier, stopped) = oneshot::channel();
        let courier = tokio::spawn(courier::carry(client, service.clone(), queue, stopped));
        let (stop_serving, stopped) = oneshot::channel();
        let serving = tokio::spawn(serve_router(listener, router(service.clone()), async {
            drop(stopped.await);
        }));
        Ok(Self { address, service, stop_serving, serving, stop_courier, courier })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address of its API, as whoever drives payments takes it.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("http://{}", reached_from_here(self.address))
    }

    /// Sums over all payments, as `GET /v1/totals` has them; `None` if its file failed.
    pub async fn totals(&self) -> Option<SandboxTotals> {
        self.service.totals().await.ok()
    }

    /// Sends webhooks elsewhere from now on.
    pub fn set_webhook_url(&self, url: Option<Uri>) {
        self.service.set_webhook_url(url);
    }

    /// Lets requests under way end, and closes the file. Webhooks that have not arrived are sent
    /// after the next start.
    pub async fn shutdown(self) {
        let Self { service, stop_serving, serving, stop_courier, courier, .. } = self;
        for (stop, task) in [(stop_serving, serving), (stop_courier, courier)] {
            drop(stop);
            // A task that panicked has said so.
            let _ = task.await;
        }
        // Closing waits for the thread that writes the file.
        let _ = tokio::task::spawn_blocking(move || service.close()).await;
    }
}

/// What a sandbox did with the money of one payment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    /// The payment.
    pub payment: PaymentId,
    /// What it is for.
    pub booking: BookingId,
    /// Money that is set aside, in minor units.
    pub authorised_minor: i64,
    /// Money that was taken, in minor units.
    pub captured_minor: i64,
    /// Money that went back, in minor units.
    pub refunded_minor: i64,
    /// Money that went back at the desk, in minor units.
    pub desk_refunded_minor: i64,
    /// Money that was taken for the same order once more, in minor units.
    pub second_minor: i64,
    /// Money that a lost dispute took back, in minor units.
    pub lost_minor: i64,
}

/// The one file of a sandbox in its directory: a line for each thing that happened, each of them whole
/// before it is answered.
#[must_use]
pub fn file_in(dir: &Path) -> PathBuf {
    journal::path_in(dir)
}

/// Reads from its directory what a sandbox took and gave back, also beside a running one; `None` if
/// there was none.
///
/// # Errors
/// Whatever the file system says, or `InvalidData` with the line.
pub fn taken(dir: &Path) -> io::Result<Option<Vec<Taken>>> {
    let taken = |there: &book::Payment| Taken {
        payment: there.asked.payment.clone(),
        booking: there.asked.booking.clone(),
        authorised_minor: there.authorised_minor(),
        captured_minor: there.captured_minor(),
        refunded_minor: there.refunded_minor(),
        desk_refunded_minor: there.at_desk_minor(DeskThing::Refund),
        second_minor: there.at_desk_minor(DeskThing::SecondPayment),
        lost_minor: there.at_desk_minor(DeskThing::DisputeLost),
    };
    Ok(Journal::look(dir)?.map(|book| book.payments.values().map(taken).collect()))
}

fn router(service: Arc<Service>) -> Router {
    let guarded = Router::new()
        .route("/v1/payments", post(api::create).get(api::list))
        .route("/v1/payments/{payment}", get(api::status))
        .route("/v1/payments/{payment}/capture", post(api::capture))
        .route("/v1/payments/{payment}/cancel", post(api::cancel))
        .route("/v1/payments/{payment}/refunds", post(api::refund))
        .route("/v1/payments/{payment}/desk", post(api::at_desk))
        .route("/v1/totals", get(api::totals))
        .route("/v1/faults", post(api::script))
        .route("/v1/webhook", put(api::webhook))
        .layer(axum::middleware::from_fn_with_state(service.clone(), api::guard));
    Router::new()
        .route("/pay.css", get(page::style))
        .route("/pay/{payment}", get(page::show).post(page::pay))
        .merge(guarded)
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
        .with_state(service)
}
