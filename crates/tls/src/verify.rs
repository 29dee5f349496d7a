//! How much of a server's certificate is looked at.

use crate::certificates::{Certificates, Unusable};
use crate::provider;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, SignatureScheme};
use std::sync::Arc;

/// How much of a server's certificate is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verification {
    /// Who signed it, whether it is valid now, and whether it is of the server that was asked for.
    Full,
    /// Who signed it and whether it is valid now; it may be of any server.
    Authority,
    /// Nothing: what is said is encrypted, and whoever answers may read it.
    Nothing,
}

/// How to speak TLS to a server: TLS 1.2 and 1.3.
///
/// # Errors
/// The certificates cannot be used.
pub fn client_config(
    certificates: &Certificates,
    verification: Verification,
) -> Result<ClientConfig, Unusable> {
    let unusable = |error: Error| Unusable::Key(error.to_string());
    let builder = ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(rustls::ALL_VERSIONS)
        .map_err(unusable)?;
    let builder = match verification {
        Verification::Full => builder.with_root_certificates(certificates.roots()?),
        Verification::Authority => {
            let roots = Arc::new(certificates.roots()?);
            let whole = WebPkiServerVerifier::builder_with_provider(roots, provider()).build();
            let whole = whole.map_err(|error| Unusable::NoAuthority(error.to_string()))?;
            let any_name = Lenient { whole: Some(whole), provider: provider() };
            builder.dangerous().with_custom_certificate_verifier(Arc::new(any_name))
        }
        Verification::Nothing => {
            let anybody = Lenient { whole: None, provider: provider() };
            builder.dangerous().with_custom_certificate_verifier(Arc::new(anybody))
        }
    };
    match certificates.own() {
        None => Ok(builder.with_no_client_auth()),
        Some(pair) => {
            let (chain, key) = pair.parsed()?;
            builder.with_client_auth_cert(chain, key).map_err(unusable)
        }
    }
}

/// Looks at all but the name, or believes everybody.
#[derive(Debug)]
struct Lenient {
    /// What looks at all of it; without it, nothing is looked at.
    whole: Option<Arc<WebPkiServerVerifier>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Lenient {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(whole) = &self.whole else { return Ok(ServerCertVerified::assertion()) };
        match whole.verify_server_cert(certificate, others, name, ocsp_response, now) {
            // The name is looked at last, so everything else is as it should be.
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
