//! Why a ledger on PostgreSQL cannot be opened.

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
            Self::Unreachable(why) => write!(f, "PostgreSQL cannot be used: {why}"),
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

impl std::error::Error for PgOpenError {}
