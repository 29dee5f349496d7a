//! Why live updates cannot be had.

use crate::broken::Broken;
use onrush_store::Failure;

/// Why live updates cannot be had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LiveError {
    /// The engine refuses or fails.
    #[error(transparent)]
    Ask(#[from] Failure),
    /// The server is stopping.
    #[error("the server is stopping; connect again")]
    Stopping,
    /// As many streams are open as may be.
    #[error("as many streams are open as may be; ask for your position instead")]
    Full,
    /// As many streams are open as one may have.
    #[error(
        "{limit} streams are open {whose}, as many as one may have; close one, or ask for your \
         position instead"
    )]
    TooMany {
        /// Who has them, such as `with your token`.
        whose: &'static str,
        /// How many that is.
        limit: u32,
    },
    /// The drawing of the seats cannot be read.
    #[error(transparent)]
    Broken(Broken),
}
