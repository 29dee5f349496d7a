//! The public listener's certificate, and what keeps it as it should be.

use crate::start_error::StartError;
use onrush_acme::Acme;
use onrush_base::config::TlsSettings;
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
    /// [`StartError::Certificate`] for what stands in files and cannot be read or used,
    /// [`StartError::Config`] for what stands in the settings.
    pub(super) fn open(settings: &TlsSettings, data: &Path) -> Result<Self, StartError> {
        Ok(match &settings.acme {
            None => {
                let certificate = Certificate::open(settings).map_err(|why| {
                    if settings.is_in_files() {
                        StartError::Certificate(why)
                    } else {
                        StartError::Config(why)
                    }
                })?;
                let upkeep = certificate.follow(settings.clone());
                Self { certificate, upkeep: Box::pin(upkeep) }
            }
            Some(acme) => {
                let acme = Acme::open(acme, data).map_err(StartError::Config)?;
                let certificate = acme.shown().certificate();
                Self { certificate, upkeep: Box::pin(acme.run()) }
            }
        })
    }
}
