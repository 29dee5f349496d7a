//! The way to PostgreSQL: where it is, and how it is protected.

use super::fault::Fault;
use super::options::Protection;
use onrush_tls::{Certificates, Verification, client_config};
use tokio_postgres::config::{SslMode, TargetSessionAttrs};
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{Client, Config, Connection, Socket};
use tokio_postgres_rustls::MakeRustlsConnect;

/// What connections run over, protected or not.
type Stream = <MakeRustlsConnect as MakeTlsConnect<Socket>>::Stream;
/// What a connection's client speaks through, once it is made.
pub(super) type Line = Connection<Socket, Stream>;

/// Where PostgreSQL is, and how the way there is protected.
#[derive(Clone)]
pub(super) struct Way {
    pub(super) config: Config,
    pub(super) tls: MakeRustlsConnect,
}

impl Way {
    /// The way to an address that was read.
    pub(super) fn new(mut config: Config, protection: &Protection) -> Result<Self, Fault> {
        let (mode, tls) = match protection {
            Protection::Nothing => {
                // Never used, but the same kind of connection.
                let unused = client_config(&Certificates::default(), Verification::Full);
                (SslMode::Disable, unused.map_err(|error| Fault::Away(error.to_string()))?)
            }
            Protection::IfOffered(tls) => (SslMode::Prefer, (**tls).clone()),
            Protection::Tls(tls) => (SslMode::Require, (**tls).clone()),
        };
        config.ssl_mode(mode);
        // Whoever answers and only reads is a standby, or a primary of before.
        config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        Ok(Self { config, tls: MakeRustlsConnect::new(tls) })
    }

    /// Connects.
    pub(super) async fn connect(&self) -> Result<(Client, Line), tokio_postgres::Error> {
        self.config.connect(self.tls.clone()).await
    }
}
