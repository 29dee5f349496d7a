//! The way to PostgreSQL: where it is, and how it is protected.

use super::fault::Fault;
use super::options::Protection;
use onrush_tls::{Certificates, Verification, client_config};
use std::time::Duration;
use tokio_postgres::config::{SslMode, TargetSessionAttrs};
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{Client, Config, Connection, Socket};
use tokio_postgres_rustls::MakeRustlsConnect;

/// How long nothing is said on a connection until it is looked at, and how often, and how many times
/// in vain until it is given up: the host behind it may be lost without a word.
const KEEPALIVE: (Duration, Duration, u32) = (Duration::from_secs(10), Duration::from_secs(5), 3);

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
        keep_alive(&mut config);
        Ok(Self { config, tls: MakeRustlsConnect::new(tls) })
    }

    /// Connects.
    pub(super) async fn connect(&self) -> Result<(Client, Line), tokio_postgres::Error> {
        self.config.connect(self.tls.clone()).await
    }
}

/// Sets what the address leaves open of how a connection is looked at on which nothing is said.
fn keep_alive(config: &mut Config) {
    let (idle, interval, retries) = KEEPALIVE;
    // The client's own idle time, two hours, stands for nothing said.
    if config.get_keepalives_idle() == Config::new().get_keepalives_idle() {
        config.keepalives_idle(idle);
    }
    if config.get_keepalives_interval().is_none() {
        config.keepalives_interval(interval);
    }
    if config.get_keepalives_retries().is_none() {
        config.keepalives_retries(retries);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(url: &str) -> (Duration, Option<Duration>, Option<u32>) {
        let way = Way::new(url.parse().expect("an address"), &Protection::Nothing);
        let config = way.expect("a way").config;
        let rest = (config.get_keepalives_interval(), config.get_keepalives_retries());
        (config.get_keepalives_idle(), rest.0, rest.1)
    }

    #[test]
    fn connection_on_which_nothing_is_said_is_looked_at_as_the_address_says() {
        let (idle, interval, retries) = KEEPALIVE;
        assert_eq!(told("postgres://db/onrush"), (idle, Some(interval), Some(retries)));
        let url =
            "postgres://db/onrush?keepalives_idle=60&keepalives_interval=7&keepalives_retries=2";
        assert_eq!(told(url), (Duration::from_mins(1), Some(Duration::from_secs(7)), Some(2)));
    }
}
