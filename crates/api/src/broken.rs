//! Something of ours that does not work, such as a disk.

use std::error::Error;

/// Something of ours does not work. Why stands in the log, which is for operators; others hear only what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} failed on our side; the log has more")]
pub struct Broken {
    what: &'static str,
}

impl Broken {
    /// What does not work; the log has why already.
    #[must_use]
    pub fn new(what: &'static str) -> Self {
        Self { what }
    }

    /// What does not work, and why, for the log.
    #[must_use]
    pub fn log(what: &'static str, error: &dyn Error) -> Self {
        tracing::error!(%error, what, "a request failed");
        Self { what }
    }
}
