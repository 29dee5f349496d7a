//! How a sandbox is set up.

use axum::http::Uri;
use onrush_base::config::{FaultMix, Secret};
use onrush_base::http_client::{AddressPolicy, HttpClient};
use std::net::SocketAddr;
use std::path::PathBuf;

/// How a sandbox is set up.
#[derive(Clone, Debug)]
pub struct SandboxConfig {
    /// Where it listens; port 0 takes a free one.
    pub listen: SocketAddr,
    /// The directory that has its file.
    pub dir: PathBuf,
    /// What the shop must show.
    pub secret: Secret,
    /// What webhooks are signed with.
    pub webhook_secret: Secret,
    /// Where webhooks go. Without it they wait.
    pub webhook_url: Option<Uri>,
    /// How buyers' browsers reach it, such as `http://pay.example:8090`; without it by the address
    /// it listens on.
    pub public_url: Option<String>,
    /// What goes wrong by lot.
    pub faults: FaultMix,
    /// How much later late webhooks are, in milliseconds.
    pub late_ms: u64,
    /// How much later delayed answers are, in milliseconds.
    pub delay_ms: u64,
    /// Whether it may listen where others can reach it: whoever can, pays without money.
    pub allow_sandbox: bool,
    /// What webhooks are sent with.
    pub client: HttpClient,
}

impl SandboxConfig {
    /// A sandbox on a free port of this machine, with nothing that goes wrong by lot.
    #[must_use]
    pub fn new(dir: PathBuf, secret: Secret, webhook_secret: Secret) -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            dir,
            secret,
            webhook_secret,
            webhook_url: None,
            public_url: None,
            faults: FaultMix::default(),
            late_ms: 60_000,
            delay_ms: 2_000,
            allow_sandbox: false,
            client: HttpClient::new(AddressPolicy::Any),
        }
    }
}
