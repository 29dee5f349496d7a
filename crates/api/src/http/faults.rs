//! The problems that failures of services become.

use crate::broken::Broken;
use crate::draw::DrawError;
use crate::http::problem::{Code, Problem};
use crate::inventory::InventoryError;
use crate::live::error::LiveError;
use crate::prices::PriceError;
use onrush_base::cluster_store::TurnError;
use onrush_core::Refusal;

/// After how long to come back when there is no room for a stream.
const COME_BACK_MS: u32 = 10_000;

/// Something of ours does not work, such as a disk.
#[must_use]
pub fn broken(what: &'static str, error: &dyn std::error::Error) -> Problem {
    Broken::log(what, error).into()
}

/// A refusal that the edge gives itself, with the words of the rules.
#[must_use]
pub fn refused(refusal: Refusal) -> Problem {
    refusal.into()
}

/// An unknown event in the id of a booking or claim means that there is no such thing.
#[must_use]
pub fn hide_event(problem: Problem, instead: Refusal) -> Problem {
    if problem.code() == Refusal::EventNotFound.code() { instead.into() } else { problem }
}

impl From<Broken> for Problem {
    fn from(broken: Broken) -> Self {
        Self::new(Code::Internal, broken.to_string())
    }
}

impl From<TurnError> for Problem {
    fn from(TurnError(error): TurnError) -> Self {
        broken("waiting for other nodes", &error)
    }
}

impl From<DrawError> for Problem {
    fn from(error: DrawError) -> Self {
        let code = match error {
            DrawError::Ask(error) => return error.into(),
            DrawError::Broken(broken) => return broken.into(),
            DrawError::NoDraw => Code::DrawNotFound,
            DrawError::PrequeueNotClosed => Code::PrequeueNotClosed,
            DrawError::SeedMissing | DrawError::OtherEntrants => Code::Internal,
            DrawError::Stopped => Code::Stopped,
        };
        Self::new(code, error.to_string())
    }
}

impl From<PriceError> for Problem {
    fn from(error: PriceError) -> Self {
        match error {
            PriceError::CannotTake { field, why } => {
                let problem = Self::new(Code::GatewayCannotTake, why);
                match field {
                    Some(field) => problem.about(field),
                    None => problem,
                }
            }
            PriceError::Ask(error) => error.into(),
        }
    }
}

impl From<InventoryError> for Problem {
    fn from(error: InventoryError) -> Self {
        match error {
            InventoryError::Unread => Self::new(Code::LedgerUnavailable, error.to_string()),
            InventoryError::Ask(error) => error.into(),
        }
    }
}

impl From<LiveError> for Problem {
    fn from(error: LiveError) -> Self {
        match error {
            LiveError::Ask(error) => error.into(),
            LiveError::Broken(broken) => broken.into(),
            LiveError::Stopping => Self::new(Code::Stopped, error.to_string()),
            LiveError::Full => {
                Self::new(Code::StreamsFull, error.to_string()).after_ms(COME_BACK_MS)
            }
            LiveError::TooMany { .. } => {
                Self::new(Code::TooManyStreams, error.to_string()).after_ms(COME_BACK_MS)
            }
        }
    }
}
