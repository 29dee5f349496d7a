//! The public listener's certificate, and what keeps it as it should be.

use onrush_acme::Acme;
use onrush_base::config::{ConfigError, TlsSettings};
use onrush_serve::Certificate;
use std::future::Future;
use std::path::Path;
use std::pin::Pin;

/// A certificate, and a task that takes up new files or fetches new ones.
pub(super) struct Tls {
    pub(super) certificate: Certificate,
    pub(super) upkeep: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl Tls {
    /// Reads what there is.
    ///
    /// # Errors
    /// Files cannot be read or used, as a sentence that names the place.
    pub(super) fn open(settings: &TlsSettings, data: &Path) -> Result<Self, ConfigError> {
        Ok(match &settings.acme {
            None => {
                let certificate = Certificate::open(settings)?;
                let upkeep = certificate.follow(settings.clone());
                Self { certificate, upkeep: Box::pin(upkeep) }
            }
            Some(acme) => {
                let acme = Acme::open(acme, data)?;
                let certificate = acme.shown().certificate();
                Self { certificate, upkeep: Box::pin(acme.run()) }
            }
        })
    }
}
