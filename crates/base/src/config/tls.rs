//! The section `[tls]`: the public listener's own certificate.

use super::acme::AcmeSettings;
use super::certificates::{Pem, pair};
use onrush_tls::Pair;
use serde::Deserialize;
use std::time::Duration;

/// The section `[tls]`: the public listener speaks TLS, with a certificate in files or one that is
/// fetched.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlsSettings {
    /// The certificate and those between it and its authority, ours first.
    pub cert: Option<Pem>,
    /// Its key.
    pub key: Option<Pem>,
    /// How often the files are looked at.
    #[serde(skip, default = "look_every")]
    pub look_every: Duration,
    /// Who issues a certificate to the server itself.
    pub acme: Option<AcmeSettings>,
}

fn look_every() -> Duration {
    Duration::from_secs(5)
}

impl TlsSettings {
    /// A certificate in files, or in texts.
    #[must_use]
    pub fn of_files(cert: Pem, key: Pem) -> Self {
        Self { cert: Some(cert), key: Some(key), look_every: look_every(), acme: None }
    }

    /// Reads certificate and key.
    ///
    /// # Errors
    /// What is not set or cannot be read or used, as a sentence that names the place.
    pub fn load(&self) -> Result<Pair, String> {
        let read = |pem: &Pem, name: &str| pem.read().map_err(|why| format!("tls.{name}: {why}"));
        match (&self.cert, &self.key) {
            (Some(cert), Some(key)) => pair(read(cert, "cert")?, read(key, "key")?, "tls"),
            (None, None) => Err("tls: set cert and key, or [tls.acme]".into()),
            (Some(_), None) | (None, Some(_)) => Err("tls: cert and key go together".into()),
        }
    }

    /// What is wrong with it: one sentence each, with its place. `is_one_of_many` says whether other
    /// nodes have the same names.
    pub(super) fn complaints(&self, is_one_of_many: bool) -> Vec<String> {
        let Some(acme) = &self.acme else { return self.load().err().into_iter().collect() };
        let mut found = acme.complaints();
        if self.cert.is_some() || self.key.is_some() {
            found.push(
                "tls: cert and key are a certificate in files, [tls.acme] is one that is fetched; \
                 set one of the two"
                    .into(),
            );
        }
        if is_one_of_many {
            found.push(
                "tls.acme: an authority that looks at a name meets any of several nodes, and only \
                 the one that asked could answer; give all nodes the same files in tls.cert and \
                 tls.key, or let the load balancer speak TLS"
                    .into(),
            );
        }
        found
    }
}
