//! Certificates on the command line: whom to trust, and what to show.

use onrush_base::config::{CertificateSettings, Pem};
use onrush_tls::Certificates;
use std::path::PathBuf;

/// What settings would call them: sentences name what can be said here instead.
pub(super) const PLACE: &str = "certificates";

/// Whom to trust, and what to show.
#[derive(clap::Args)]
pub(crate) struct CertificateArgs {
    /// Trust the authorities in this PEM file, and nobody else [default: those of the public web]
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// Show the certificate in this PEM file, where one is asked for
    #[arg(long, value_name = "FILE", requires = "key")]
    cert: Option<PathBuf>,
    /// Its key
    #[arg(long, value_name = "FILE", requires = "cert")]
    key: Option<PathBuf>,
}

impl CertificateArgs {
    /// The certificates.
    ///
    /// # Errors
    /// A file cannot be read, or has no certificates.
    pub(super) fn load(&self) -> Result<Certificates, String> {
        let file = |path: &Option<PathBuf>| path.clone().map(Pem::File);
        let settings = CertificateSettings {
            ca: file(&self.ca),
            cert: file(&self.cert),
            key: file(&self.key),
        };
        settings.load(PLACE).map_err(|why| said(&why))
    }
}

/// A sentence about settings as one about the command line.
pub(super) fn said(why: &str) -> String {
    why.replace(&format!("{PLACE}."), "--")
}
