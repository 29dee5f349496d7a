//! How a sandbox is set up.

use axum::http::Uri;
use onrush_base::config::{FaultMix, Secret, reached_from_here};
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
    /// The host by which buyers' browsers reach this machine, such as `tickets.example`; said of a
    /// sandbox that listens on all addresses and has no `public_url`.
    pub public_host: Option<String>,
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
            public_host: None,
            faults: FaultMix::default(),
            late_ms: 60_000,
            delay_ms: 2_000,
            allow_sandbox: false,
            client: HttpClient::new(AddressPolicy::Any),
        }
    }

    /// Where buyers' browsers find its pages, if it listens at `address`.
    pub(super) fn pages_url(&self, address: SocketAddr) -> String {
        match (&self.public_url, &self.public_host) {
            (Some(url), _) => url.trim_end_matches('/').to_owned(),
            (None, Some(host)) if address.ip().is_unspecified() => {
                format!("http://{host}:{}", address.port())
            }
            (None, Some(_) | None) => format!("http://{}", reached_from_here(address)),
        }
    }

    /// Whether others may reach it at `address`, and nothing says how.
    pub(super) fn leads_here_alone(&self, address: SocketAddr) -> bool {
        let is_said = self.public_url.is_some() || self.public_host.is_some();
        address.ip().is_unspecified() && !is_said
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buyers_are_sent_where_a_browser_can_go() {
        let (all, one) = ("0.0.0.0:8090", "192.0.2.7:8090");
        let (url, host) = (Some("http://pay.example/"), Some("tickets.example"));
        for (address, public_url, public_host, pages, alone) in [
            (all, None, None, "http://127.0.0.1:8090", true),
            ("[::]:8090", None, None, "http://[::1]:8090", true),
            (all, None, host, "http://tickets.example:8090", false),
            (all, None, Some("[2001:db8::7]"), "http://[2001:db8::7]:8090", false),
            (all, url, host, "http://pay.example", false),
            (one, None, None, "http://192.0.2.7:8090", false),
            (one, None, host, "http://192.0.2.7:8090", false),
        ] {
            let secret = || Secret::from("a secret of this sandbox".to_owned());
            let config = SandboxConfig {
                public_url: public_url.map(str::to_owned),
                public_host: public_host.map(str::to_owned),
                ..SandboxConfig::new(PathBuf::new(), secret(), secret())
            };
            let address = address.parse().unwrap();
            assert_eq!(config.pages_url(address), pages);
            assert_eq!(config.leads_here_alone(address), alone, "{address} {public_host:?}");
        }
    }
}
