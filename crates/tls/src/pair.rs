//! A certificate with its key: ours as a server, or as somebody's client.

use crate::certificates::Unusable;
use crate::provider;
use crate::validity::Validity;
use rustls::ServerConfig;
use rustls::client::verify_server_name;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::ParsedCertificate;
use rustls::sign::CertifiedKey;
use std::fmt;

/// A chain of certificates, ours first, and the key that belongs to the first, as PEM.
///
/// The two were seen to belong together.
#[derive(Clone, PartialEq, Eq)]
pub struct Pair {
    chain: Vec<u8>,
    key: Vec<u8>,
}

impl fmt::Debug for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(a certificate and its key)")
    }
}

impl Pair {
    /// Takes the two texts, if they are a certificate and its key.
    ///
    /// # Errors
    /// One of them is none, or they do not belong together.
    pub fn new(chain: Vec<u8>, key: Vec<u8>) -> Result<Self, Unusable> {
        let pair = Self { chain, key };
        let (chain, key) = pair.parsed()?;
        // A key of a kind that cannot be compared is found out when it is used.
        let certified = CertifiedKey::from_der(chain, key, &provider());
        match certified.map(|certified| certified.keys_match()) {
            Ok(Ok(()))
            | Ok(Err(rustls::Error::InconsistentKeys(rustls::InconsistentKeys::Unknown))) => {
                Ok(pair)
            }
            Ok(Err(rustls::Error::InconsistentKeys(_)))
            | Err(rustls::Error::InconsistentKeys(_)) => Err(Unusable::KeyOfAnother),
            Ok(Err(error)) | Err(error) => Err(Unusable::Key(error.to_string())),
        }
    }

    /// The certificates, as PEM.
    #[must_use]
    pub fn chain(&self) -> &[u8] {
        &self.chain
    }

    /// The key, as PEM.
    #[must_use]
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// From when to when the first certificate is valid; `None` if its dates cannot be read.
    #[must_use]
    pub fn validity(&self) -> Option<Validity> {
        let (chain, _) = self.parsed().ok()?;
        Validity::of(chain.first()?)
    }

    /// Whether the first certificate is one for this name.
    #[must_use]
    pub fn is_for(&self, name: &str) -> bool {
        let Ok((chain, _)) = self.parsed() else { return false };
        let Ok(name) = ServerName::try_from(name) else { return false };
        let certificate = chain.first().map(ParsedCertificate::try_from);
        certificate.is_some_and(|parsed| {
            parsed.is_ok_and(|parsed| verify_server_name(&parsed, &name).is_ok())
        })
    }

    /// Both as rustls has them.
    pub(crate) fn parsed(
        &self,
    ) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), Unusable> {
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&self.chain).collect();
        let chain = chain.map_err(|_| Unusable::NoCertificate)?;
        if chain.is_empty() {
            return Err(Unusable::NoCertificate);
        }
        // The parser's own words may repeat what it read.
        let key = PrivateKeyDer::from_pem_slice(&self.key).map_err(|_| Unusable::NoKey)?;
        Ok((chain, key))
    }
}

/// What a server of ours does with its certificate: TLS 1.2 and 1.3, HTTP/1.1, no client certificates.
///
/// # Errors
/// The pair cannot be used.
pub fn server_config(pair: &Pair) -> Result<ServerConfig, Unusable> {
    let (chain, key) = pair.parsed()?;
    let config = ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(rustls::ALL_VERSIONS)
        .map_err(|error| Unusable::Key(error.to_string()))?
        .with_no_client_auth()
        .with_single_cert(chain, key);
    let mut config = config.map_err(|error| Unusable::Key(error.to_string()))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}
