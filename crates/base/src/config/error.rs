//! What is wrong with a configuration.

use std::fmt;

/// What is wrong with the configuration: sentences that name the place, one a line. None of them
/// repeats a secret.
#[derive(Debug)]
pub struct ConfigError(String);

impl ConfigError {
    /// An error with this sentence.
    #[must_use]
    pub fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ConfigError {}
