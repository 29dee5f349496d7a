//! Why live updates cannot be had.

use crate::broken::Broken;
use onrush_store::Failure;
use std::fmt;

/// Why live updates cannot be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LiveError {
    /// The engine refuses or fails.
    Ask(Failure),
    /// The server is stopping.
    Stopping,
    /// As many streams are open as may be.
    Full,
    /// As many streams are open as one may have.
    TooMany {
        /// Who has them, such as `with your token`.
        whose: &'static str,
        /// How many that is.
        limit: u32,
    },
    /// The drawing of the seats cannot be read.
    Broken(Broken),
}

impl fmt::Display for LiveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ask(error) => error.fmt(f),
            Self::Broken(broken) => broken.fmt(f),
            Self::Stopping => f.write_str("the server is stopping; connect again"),
            Self::Full => {
                f.write_str("as many streams are open as may be; ask for your position instead")
            }
            Self::TooMany { whose, limit } => write!(
                f,
                "{limit} streams are open {whose}, as many as one may have; close one, or ask for \
                 your position instead"
            ),
        }
    }
}

impl std::error::Error for LiveError {}

impl From<Failure> for LiveError {
    fn from(failure: Failure) -> Self {
        Self::Ask(failure)
    }
}
