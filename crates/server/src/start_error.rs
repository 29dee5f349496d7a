//! Why a server cannot start.

use onrush_base::auth::keyring::KeyInvalid;
use onrush_base::config::ConfigError;
use onrush_ledger::sqlite::OpenError as LedgerOpenError;
use onrush_store::embedded::OpenError;
use std::io;
use std::net::SocketAddr;

/// Why a server cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The configuration is wrong.
    #[error("{0}")]
    Config(ConfigError),
    /// What stands in the files of the listener's own certificate cannot be read, or does not belong
    /// together. Whoever renews them may have written one and not yet the other.
    #[error("{0}")]
    Certificate(ConfigError),
    /// The engine cannot be opened.
    #[error("{0}")]
    Engine(OpenError),
    /// An address cannot be listened on.
    #[error("cannot listen on {0}: {1}")]
    Listen(SocketAddr, io::Error),
    /// The data directory cannot be used.
    #[error("the data directory cannot be used: {0}")]
    Data(io::Error),
    /// The ledger cannot be opened.
    #[error("{0}")]
    Ledger(LedgerOpenError),
    /// Files of the data directory do not belong together: one is older than the others, or missing.
    #[error("{0}")]
    Restored(String),
    /// What nodes share cannot be used.
    #[error("{0}")]
    Cluster(String),
    /// The tables that nodes share were made by a newer version.
    #[error("{0}")]
    NewerTables(String),
    /// Engine, ledger or keys were opened, and cannot be read or written.
    #[error("{0}")]
    Unavailable(String),
    /// The payment gateway cannot be used.
    #[error("the payment gateway cannot be used: {0}")]
    Gateway(io::Error),
}

/// Why a server has stopped by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stopped {
    /// The reason, as a sentence.
    pub why: String,
    /// What helps.
    pub remedy: Remedy,
}

impl Stopped {
    /// One that another start may go on from.
    pub(crate) fn of_the_moment(why: String) -> Self {
        Self { why, remedy: Remedy::AnotherStart }
    }
}

/// What helps a server to start that could not, or to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Other settings.
    Settings,
    /// Another start: what is in the way may pass by itself, such as a full disk, a database that is
    /// away, or half of a new certificate.
    AnotherStart,
    /// Somebody who looks at the data. However often it is started, it is refused until then.
    Operator,
}

impl StartError {
    /// What opening the data directory ended with. A configured key that cannot be used is a matter
    /// of the settings, although only the directory may show it: it has the hash of the drawn key.
    pub(crate) fn of_directory(error: io::Error) -> Self {
        let invalid = |KeyInvalid(why)| Self::Config(ConfigError::new(why));
        error.downcast().map_or_else(Self::Data, invalid)
    }

    /// What helps.
    #[must_use]
    pub fn remedy(&self) -> Remedy {
        match self {
            Self::Config(_) => Remedy::Settings,
            Self::Engine(error) => of_journal(error),
            Self::Ledger(error) => of_ledger(error),
            Self::Restored(_) | Self::NewerTables(_) => Remedy::Operator,
            Self::Certificate(_)
            | Self::Listen(..)
            | Self::Data(_)
            | Self::Cluster(_)
            | Self::Unavailable(_)
            | Self::Gateway(_) => Remedy::AnotherStart,
        }
    }
}

fn of_journal(error: &OpenError) -> Remedy {
    match error {
        // Whoever has it locked may end by itself, as `onrush archive` does.
        OpenError::Io { .. }
        | OpenError::Locked { .. }
        | OpenError::Sqlite { .. }
        | OpenError::NoRuntime => Remedy::AnotherStart,
        OpenError::Missing { .. }
        | OpenError::Foreign { .. }
        | OpenError::Newer { .. }
        | OpenError::Unread { .. }
        | OpenError::Damaged(_)
        | OpenError::Restored { .. } => Remedy::Operator,
    }
}

fn of_ledger(error: &LedgerOpenError) -> Remedy {
    match error {
        LedgerOpenError::Io { .. }
        | LedgerOpenError::Locked { .. }
        | LedgerOpenError::Sqlite { .. } => Remedy::AnotherStart,
        LedgerOpenError::Missing { .. }
        | LedgerOpenError::Foreign { .. }
        | LedgerOpenError::Newer { .. }
        | LedgerOpenError::Older { .. }
        | LedgerOpenError::Damaged { .. } => Remedy::Operator,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    #[test]
    fn a_full_disk_is_tried_again_and_data_of_another_time_is_not() {
        let path = PathBuf::from("data/engine.db");
        let full = || io::Error::from(io::ErrorKind::StorageFull);
        let journal = |error| StartError::Engine(error);
        let ledger = |error| StartError::Ledger(error);
        let wrong = |why: &str| ConfigError::new(why);
        let (why, what) = ("disk I/O error".to_owned(), "a picture".to_owned());
        for (error, remedy) in [
            (journal(OpenError::Io { path: path.clone(), source: full() }), Remedy::AnotherStart),
            (
                journal(OpenError::Sqlite { path: path.clone(), why: why.clone() }),
                Remedy::AnotherStart,
            ),
            (journal(OpenError::Locked { path: path.clone() }), Remedy::AnotherStart),
            (journal(OpenError::Restored { path: path.clone(), why }), Remedy::Operator),
            (
                journal(OpenError::Newer { path: path.clone(), format: 9, known: 1 }),
                Remedy::Operator,
            ),
            (journal(OpenError::Foreign { path: path.clone(), what }), Remedy::Operator),
            (
                ledger(LedgerOpenError::Io { path: path.clone(), source: full() }),
                Remedy::AnotherStart,
            ),
            (ledger(LedgerOpenError::Damaged { path, found: vec![] }), Remedy::Operator),
            (StartError::of_directory(full()), Remedy::AnotherStart),
            (StartError::of_directory(io::Error::other("a key")), Remedy::AnotherStart),
            (
                StartError::of_directory(io::Error::other(KeyInvalid("two are one".into()))),
                Remedy::Settings,
            ),
            (StartError::Certificate(wrong("tls.key: of another pair")), Remedy::AnotherStart),
            (StartError::Config(wrong("tls: cert and key go together")), Remedy::Settings),
            (StartError::Cluster("PostgreSQL cannot be used".into()), Remedy::AnotherStart),
            (StartError::NewerTables("made by a newer onrush".into()), Remedy::Operator),
            (StartError::Restored("an older copy".into()), Remedy::Operator),
        ] {
            assert_eq!(error.remedy(), remedy, "{error:?}");
        }
    }
}
