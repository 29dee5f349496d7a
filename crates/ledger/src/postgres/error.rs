//! Why a ledger on PostgreSQL cannot be opened.

use onrush_tls::Refusal;

/// Why a ledger on PostgreSQL cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PgOpenError {
    /// The address makes no sense.
    #[error(
        "the address of PostgreSQL makes no sense ({0}); write it as \
         postgres://user:password@host:port/database"
    )]
    Address(String),
    /// The server cannot be reached: it is away, starting, stopping, or has no connection left.
    #[error("PostgreSQL cannot be used: {}", with_advice(.0))]
    Unreachable(String),
    /// The server does not let us in, or not in this way.
    #[error("PostgreSQL cannot be used: {}", with_advice(.0))]
    Refused(String),
    /// The tables were made by a newer Onrush.
    #[error(
        "the tables in PostgreSQL were made by a newer onrush (version {version}, this one knows \
         {known}); start that one, or restore a backup"
    )]
    Newer {
        /// Their version.
        version: i64,
        /// The newest version that is known here.
        known: i64,
    },
    /// The tables cannot be brought up to date.
    #[error("the tables in PostgreSQL cannot be brought up to date: {0}")]
    Tables(String),
}

/// What went wrong, after what to do about it if that is known.
fn with_advice(why: &str) -> String {
    match advice(why) {
        Some(advice) => format!("{advice}. ({why})"),
        None => why.to_owned(),
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
