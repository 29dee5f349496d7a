//! What is wrong with a configuration.

/// What is wrong with the configuration: sentences that name the place, one a line. None of them
/// repeats a secret.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ConfigError(String);

impl ConfigError {
    /// An error with this sentence.
    #[must_use]
    pub fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }
}
