//! Why a ledger on PostgreSQL cannot be opened.

use onrush_tls::Refusal;
use std::fmt;

/// Why a ledger on PostgreSQL cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PgOpenError {
    /// The address makes no sense.
    Address(String),
    /// The server cannot be reached, or does not let us in.
    Unreachable(String),
    /// The tables were made by a newer Onrush.
    Newer {
        /// Their version.
        version: i64,
        /// The newest version that is known here.
        known: i64,
    },
    /// The tables cannot be brought up to date.
    Tables(String),
}

impl fmt::Display for PgOpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(why) => write!(
                f,
                "the address of PostgreSQL makes no sense ({why}); write it as \
                 postgres://user:password@host:port/database"
            ),
            Self::Unreachable(why) => match advice(why) {
                Some(advice) => write!(f, "PostgreSQL cannot be used: {advice}. ({why})"),
                None => write!(f, "PostgreSQL cannot be used: {why}"),
            },
            Self::Newer { version, known } => write!(
                f,
                "the tables in PostgreSQL were made by a newer onrush (version {version}, this one \
                 knows {known}); start that one, or restore a backup"
            ),
            Self::Tables(why) => {
                write!(f, "the tables in PostgreSQL cannot be brought up to date: {why}")
            }
        }
    }
}

/// What to do about a connection that TLS or the login is in the way of.
fn advice(why: &str) -> Option<String> {
    if let Some(refusal) = Refusal::of_text(why) {
        return Some(refusal.sentence("postgres.certificates"));
    }
    let signs = [
        (
            "server does not support TLS",
            "it offers no TLS, and the sslmode in postgres.url wants \
          it; switch it on there, or look at the address",
        ),
        ("28P01", "it does not let this user in; look at user and password in postgres.url"),
        (
            "28000",
            "it does not let this user in, or not in this way; look at user, sslmode and \
          certificates in postgres.url, and at the server's pg_hba.conf",
        ),
    ];
    signs.iter().find(|(sign, _)| why.contains(sign)).map(|(_, advice)| (*advice).to_owned())
}

impl std::error::Error for PgOpenError {}
