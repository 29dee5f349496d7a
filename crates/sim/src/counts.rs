//! How much happened.

/// What happened so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Commands decided, whether committed or lost.
    pub commands: u64,
    /// Of the committed ones, those that were refused.
    pub refused: u64,
    /// Questions answered.
    pub looks: u64,
    /// Changes committed.
    pub changes: u64,
    /// Restarts.
    pub crashes: u64,
    /// Decisions and answers lost in them.
    pub lost: u64,
    /// Rows read to start again.
    pub rows_replayed: u64,
}
