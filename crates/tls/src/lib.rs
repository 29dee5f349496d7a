//! One TLS for all: whose certificates are trusted, our own, and what is wrong with either.
//!
//! Nothing here opens a socket. Whoever does takes a configuration of rustls, or the texts of the
//! certificates, and asks [`why_refused`] what to say when a connection does not come about.

#![forbid(unsafe_code)]

mod certificates;
mod challenge;
mod pair;
mod refused;
mod validity;
mod verify;

pub use certificates::{Certificates, Unusable};
pub use challenge::{CHALLENGE_PROTOCOL, Challenges, answering_config};
pub use pair::{Pair, server_config};
pub use refused::{Refusal, why_refused};
pub use rustls;
pub use validity::{Validity, epoch_s};
pub use verify::{Verification, client_config};

use rustls::crypto::CryptoProvider;
use std::sync::Arc;

/// The only cryptography there is.
fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}
