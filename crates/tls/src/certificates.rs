//! Whose certificates are trusted, and what we show of ourselves.

use crate::pair::Pair;
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

/// What one connects to a server with: the authorities whose certificates are believed, and our own
/// certificate if the server wants to see one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Certificates {
    authorities: Option<Vec<u8>>,
    own: Option<Pair>,
}

/// Why a certificate or key cannot be used. None of it repeats a key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unusable {
    /// There is no certificate in the text.
    #[error(
        "there is no whole certificate in it; use PEM, which begins with \
         -----BEGIN CERTIFICATE-----"
    )]
    NoCertificate,
    /// There is no private key in the text.
    #[error(
        "there is no private key in it; use PEM without a passphrase, which begins with \
         -----BEGIN PRIVATE KEY-----"
    )]
    NoKey,
    /// The key does not belong to the certificate.
    #[error("the key belongs to another certificate; set both of the same pair")]
    KeyOfAnother,
    /// A certificate cannot be an authority's.
    #[error("a certificate in it is no authority's: {0}")]
    NoAuthority(String),
    /// The key or its certificate is of a kind that is not known here.
    #[error("the certificate or its key cannot be used: {0}")]
    Key(String),
}

impl Certificates {
    /// Takes authorities' certificates as PEM, instead of those of the public web, and our own.
    ///
    /// # Errors
    /// There is no certificate in `authorities`, or one that is none of an authority.
    pub fn new(authorities: Option<Vec<u8>>, own: Option<Pair>) -> Result<Self, Unusable> {
        let certificates = Self { authorities, own };
        certificates.roots()?;
        Ok(certificates)
    }

    /// The authorities' certificates as PEM; `None` if those of the public web are trusted.
    #[must_use]
    pub fn authorities(&self) -> Option<&[u8]> {
        self.authorities.as_deref()
    }

    /// Our own certificate.
    #[must_use]
    pub fn own(&self) -> Option<&Pair> {
        self.own.as_ref()
    }

    /// Whether nothing was set.
    #[must_use]
    pub fn is_default(&self) -> bool {
        self.authorities.is_none() && self.own.is_none()
    }

    /// Who is trusted, as rustls has it.
    pub(crate) fn roots(&self) -> Result<RootCertStore, Unusable> {
        let Some(pem) = &self.authorities else {
            return Ok(RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() });
        };
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(pem) {
            let certificate = certificate.map_err(|_| Unusable::NoCertificate)?;
            roots.add(certificate).map_err(|error| Unusable::NoAuthority(error.to_string()))?;
        }
        if roots.is_empty() { Err(Unusable::NoCertificate) } else { Ok(roots) }
    }
}
