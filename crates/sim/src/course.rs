//! How many seeds are run, and how.

use std::time::Duration;

/// How often progress is told.
pub(crate) const TOLD_EVERY: Duration = Duration::from_secs(5);

/// How long to go on.
#[derive(Clone, Copy)]
pub(crate) enum Bound {
    Seeds(u64),
    Time(Duration),
    Commands(u64),
}

/// What is asked for on the command line, of rules and of whole servers alike.
#[cfg(feature = "whole")]
pub(crate) struct Course<'a> {
    /// Which program it is.
    pub(crate) version: &'a str,
    pub(crate) first_seed: u64,
    pub(crate) bound: Bound,
    pub(crate) jobs: u16,
    pub(crate) twice: bool,
    pub(crate) json: bool,
    /// So many in each sale, in place of what the seed says.
    pub(crate) buyers: Option<u32>,
}
