//! Challenges of an authority that looks whether a name is ours: TLS-ALPN-01 (RFC 8737).
//!
//! The authority connects to the listener, asks for a protocol that nobody speaks, and wants to be
//! shown a certificate with what was agreed on. Everybody else is shown ours.

use crate::certificates::Unusable;
use crate::pair::Pair;
use crate::provider;
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

/// The protocol that only such an authority asks for.
pub const CHALLENGE_PROTOCOL: &[u8] = b"acme-tls/1";

/// What is shown to whoever asks for [`CHALLENGE_PROTOCOL`], by name.
#[derive(Debug, Default)]
pub struct Challenges(RwLock<HashMap<String, Arc<CertifiedKey>>>);

impl Challenges {
    /// Answers for a name from now on.
    ///
    /// # Errors
    /// The key cannot be used.
    pub fn answer(
        &self,
        name: &str,
        certificate: CertificateDer<'static>,
        key: PrivateKeyDer<'static>,
    ) -> Result<(), Unusable> {
        let key = provider().key_provider.load_private_key(key);
        let key = key.map_err(|error| Unusable::Key(error.to_string()))?;
        // Whether they belong together is not looked at: what is agreed on stands in an extension
        // that nobody but the authority may understand.
        let certified = CertifiedKey::new(vec![certificate], key);
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        all.insert(name.to_ascii_lowercase(), Arc::new(certified));
        Ok(())
    }

    /// Answers for nobody any more.
    pub fn clear(&self) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn of(&self, name: &str) -> Option<Arc<CertifiedKey>> {
        let all = self.0.read().unwrap_or_else(PoisonError::into_inner);
        all.get(&name.to_ascii_lowercase()).cloned()
    }
}

/// As [`crate::server_config`], and answers challenges; without a pair nobody else is greeted.
///
/// # Errors
/// The pair cannot be used.
pub fn answering_config(
    pair: Option<&Pair>,
    challenges: Arc<Challenges>,
) -> Result<ServerConfig, Unusable> {
    let own = pair.map(certified).transpose()?;
    let mut config = ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(rustls::ALL_VERSIONS)
        .map_err(|error| Unusable::Key(error.to_string()))?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(Resolver { own, challenges }));
    config.alpn_protocols = vec![b"http/1.1".to_vec(), CHALLENGE_PROTOCOL.to_vec()];
    Ok(config)
}

fn certified(pair: &Pair) -> Result<Arc<CertifiedKey>, Unusable> {
    let (chain, key) = pair.parsed()?;
    let certified = CertifiedKey::from_der(chain, key, &provider());
    certified.map(Arc::new).map_err(|error| Unusable::Key(error.to_string()))
}

#[derive(Debug)]
struct Resolver {
    own: Option<Arc<CertifiedKey>>,
    challenges: Arc<Challenges>,
}

impl ResolvesServerCert for Resolver {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let mut protocols = hello.alpn().into_iter().flatten();
        // RFC 8737, section 3: the authority offers this one and no other.
        if protocols.next() == Some(CHALLENGE_PROTOCOL) && protocols.next().is_none() {
            return self.challenges.of(hello.server_name()?);
        }
        self.own.clone()
    }
}
