//! Why there is no backup, or nothing was restored.

use std::fmt::Display;
use std::path::Path;

/// Why it ended. Nothing is left behind that could be taken for a backup, or for restored data.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The command line is wrong.
    Usage(String),
    /// The backup is not what was written.
    Violation(String),
    /// It could not be done.
    CouldNotRun(String),
}

impl Stop {
    /// Something about a file stands in the way.
    pub(crate) fn at(path: &Path) -> impl Fn(std::io::Error) -> Self + '_ {
        move |error| {
            let more = match error.kind() {
                std::io::ErrorKind::StorageFull => "; make room, or name another disk",
                _ => "",
            };
            Self::CouldNotRun(format!("{}: {error}{more}", path.display()))
        }
    }

    /// Something else does, which says so in a sentence.
    pub(crate) fn because(error: impl Display) -> Self {
        Self::CouldNotRun(error.to_string())
    }
}
