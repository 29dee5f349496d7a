//! Why something could not be done.

use crate::LedgerError;
use deadpool_postgres::PoolError;
use deadpool_postgres::TimeoutType;
use onrush_tls::Refusal;
use std::error::Error;
use std::{fmt, io};
use tokio_postgres::error::SqlState;

/// Why something could not be done.
#[derive(Debug)]
pub(super) enum Fault {
    /// The row is not what the asker took it for.
    Conflict,
    /// PostgreSQL says no, or the connection is gone.
    Database(tokio_postgres::Error),
    /// There is no connection.
    Away(String),
    /// A row is not what this program writes.
    Unreadable(String),
    /// What was read was changed by somebody else before it was locked: it is worth another attempt.
    Overtaken,
    /// It takes too long.
    Slow,
}

impl Fault {
    /// Whether the fault lies with one job and not with the database: a row against the rules of the tables.
    pub(super) fn concerns_one(&self) -> bool {
        match self {
            // Data that does not fit its column, and rows against a constraint.
            Self::Database(error) => error.code().is_some_and(|state| {
                state.code().starts_with("22") || state.code().starts_with("23")
            }),
            Self::Unreadable(_) => true,
            Self::Conflict | Self::Away(_) | Self::Overtaken | Self::Slow => false,
        }
    }

    /// Whether the connection is to a server that writes nothing, or not any more.
    pub(super) fn only_reads(&self) -> bool {
        match self {
            Self::Database(error) => error.code() == Some(&SqlState::READ_ONLY_SQL_TRANSACTION),
            Self::Conflict | Self::Away(_) | Self::Unreadable(_) | Self::Overtaken | Self::Slow => {
                false
            }
        }
    }

    /// Whether it was done at the same time as something else that touched the same rows, and is
    /// worth another attempt.
    pub(super) fn is_collision(&self) -> bool {
        match self {
            Self::Database(error) => error.code().is_some_and(|state| {
                *state == SqlState::T_R_DEADLOCK_DETECTED
                    || *state == SqlState::T_R_SERIALIZATION_FAILURE
            }),
            Self::Overtaken => true,
            Self::Conflict | Self::Away(_) | Self::Unreadable(_) | Self::Slow => false,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Conflict => f.write_str("somebody else changed it meanwhile"),
            Self::Database(error) => f.write_str(&sentence(error)),
            Self::Away(why) => f.write_str(why),
            Self::Unreadable(why) => write!(f, "a row cannot be read: {why}"),
            Self::Overtaken => f.write_str("others change the same rows all the time"),
            Self::Slow => f.write_str("PostgreSQL does not answer in time"),
        }
    }
}

/// Whether a connection that was not made may be made later, with the same settings: the server
/// cannot be reached, starts, stops, or has no room. Where TLS or the login is in the way, it may not.
pub(super) fn is_away(error: &tokio_postgres::Error) -> bool {
    if let Some(said) = error.as_db_error() {
        // Connections that broke, resources that are used up, and what operators do.
        let code = said.code().code();
        return ["08", "53", "57"].iter().any(|class| code.starts_with(class));
    }
    let is_line = error.source().is_some_and(|source| {
        let broken = source.downcast_ref::<io::Error>();
        broken.is_some_and(|broken| broken.kind() != io::ErrorKind::InvalidData)
    });
    (is_line || error.is_closed()) && Refusal::of_text(&sentence(error)).is_none()
}

/// What PostgreSQL says, or what stands between it and us.
pub(super) fn sentence(error: &tokio_postgres::Error) -> String {
    if let Some(said) = error.as_db_error() {
        return format!("PostgreSQL says: {} ({})", said.message(), said.code().code());
    }
    match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

impl From<tokio_postgres::Error> for Fault {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Database(error)
    }
}

impl From<serde_json::Error> for Fault {
    fn from(error: serde_json::Error) -> Self {
        Self::Unreadable(error.to_string())
    }
}

impl From<PoolError> for Fault {
    fn from(error: PoolError) -> Self {
        match error {
            PoolError::Backend(error) => Self::Away(sentence(&error)),
            PoolError::Timeout(TimeoutType::Wait) => {
                Self::Away("too much is asked of PostgreSQL at once".into())
            }
            PoolError::Timeout(TimeoutType::Create | TimeoutType::Recycle) => Self::Slow,
            PoolError::Closed | PoolError::NoRuntimeSpecified | PoolError::PostCreateHook(_) => {
                Self::Away("it is closed".into())
            }
        }
    }
}

impl From<Fault> for LedgerError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Conflict => Self::Conflict,
            Fault::Database(_)
            | Fault::Away(_)
            | Fault::Unreadable(_)
            | Fault::Overtaken
            | Fault::Slow => Self::Unavailable(fault.to_string()),
        }
    }
}
