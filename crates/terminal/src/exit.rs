//! How a run ends.

use std::process::ExitCode;

/// How a run ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exit {
    /// All is well.
    Ok,
    /// A violation was found.
    Violation,
    /// The command line or the configuration is wrong.
    Usage,
    /// It could not run.
    CouldNotRun,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Ok => 0,
            Exit::Violation => 1,
            // The parser of the command line ends with the same.
            Exit::Usage => 2,
            Exit::CouldNotRun => 3,
        })
    }
}
