//! What looks at sagas come to.

use super::draft::Draft;
use super::gateway::{Away, GatewayError};
use onrush_core::Time;
use onrush_core::saga::Illegal;
use onrush_ledger::LedgerError;
use onrush_store::Failure;

/// Why a saga was not driven on.
#[derive(Debug)]
pub enum DriveError {
    /// There is no such saga.
    NoSaga,
    /// The ledger failed; the saga is as it was.
    Ledger(LedgerError),
}

impl From<LedgerError> for DriveError {
    fn from(error: LedgerError) -> Self {
        Self::Ledger(error)
    }
}

/// What one look at a saga came to.
pub(super) enum Look {
    /// Nothing is to be done now.
    Rest,
    /// Something is to be written, and then there may be more to do.
    Write(Draft),
    /// The same, and what only waits for others is to be looked at too.
    WriteAndAsk(Draft),
    /// Something is to be written, and that is all for now.
    WriteAndRest(Draft),
}

/// Why a look came to nothing: it is tried again later, or an operator has to act.
pub(super) enum Trouble {
    Later(String),
    /// Nothing else comes of it before this time: waiting for that uses up no patience.
    Until(Time, String),
    /// The engine says nothing just now. It comes back without anything that an operator could do about
    /// this saga: waiting for that uses up no patience either.
    NoEngine(String),
    Stuck(String),
}

impl Trouble {
    /// The one to write down of two: an operator's, else the one that is tried again sooner.
    pub(super) fn or_sooner(self, other: Self) -> Self {
        match (&self, &other) {
            (Self::Until(..), Self::Later(_) | Self::NoEngine(_)) => other,
            (Self::Until(at, _), Self::Until(before, _)) if before < at => other,
            (Self::Later(_) | Self::Until(..) | Self::NoEngine(_) | Self::Stuck(_), _) => self,
        }
    }

    /// What it says.
    pub(super) fn why(self) -> String {
        match self {
            Self::Later(why) | Self::Until(_, why) | Self::NoEngine(why) | Self::Stuck(why) => why,
        }
    }

    /// How often it was tried in vain, after so many times before. None counts where an operator has to
    /// act: news undoes only what used up the patience.
    pub(super) fn tries(&self, before: u32) -> u32 {
        match self {
            Self::Later(_) => before + 1,
            // Whoever asks in between finds that it is not the saga's turn.
            Self::Until(..) | Self::NoEngine(_) => before.max(1),
            Self::Stuck(_) => 0,
        }
    }
}

impl From<Illegal> for Trouble {
    fn from(illegal: Illegal) -> Self {
        Self::Stuck(illegal.to_string())
    }
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Self {
        match &failure {
            // Somebody has answered: nobody is away. What always errs needs an operator in the end.
            Failure::Refused(_) | Failure::Faulty => Self::Later(failure.to_string()),
            Failure::Busy { .. }
            | Failure::DiskLow
            | Failure::Rebuilding { .. }
            | Failure::Unreachable
            | Failure::Stopped => Self::NoEngine(failure.to_string()),
        }
    }
}

impl From<GatewayError> for Trouble {
    fn from(error: GatewayError) -> Self {
        match &error {
            GatewayError::Unavailable(Away::Kept { until_s, .. }) => {
                Self::Until(Time(until_s.saturating_mul(1_000)), error.to_string())
            }
            GatewayError::Unavailable(_) => Self::Later(error.to_string()),
            GatewayError::Refused(_) | GatewayError::UnknownRefund(_) => {
                Self::Stuck(error.to_string())
            }
        }
    }
}
