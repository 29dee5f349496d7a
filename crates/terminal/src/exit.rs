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
    /// It could not run. What was in the way may pass by itself.
    CouldNotRun,
    /// It refuses to run on what it finds until somebody has looked.
    Refused,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Ok => 0,
            Exit::Violation => 1,
            // The parser of the command line ends with the same.
            Exit::Usage => 2,
            Exit::CouldNotRun => 3,
            // Whoever restarts what ended need not try again: deploy/systemd/onrush.service.
            Exit::Refused => 4,
        })
    }
}
