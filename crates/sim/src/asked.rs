//! What is asked in a run, by whom, and what came of it.

use onrush_core::event::Changes;
use onrush_core::question::{Query, View};
use onrush_core::view::Reply;
use onrush_core::{Command, Refusal, Time};
use std::fmt;

/// Who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// A buyer, or their gateway.
    Buyer(u32),
    /// The organiser, or whoever stands at the door.
    Organiser,
    /// Time.
    Clock,
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Buyer(number) => write!(f, "buyer {number}"),
            Self::Organiser => f.write_str("the organiser"),
            Self::Clock => f.write_str("the clock"),
        }
    }
}

/// One step of a run. A run is its plan and its steps, whoever thought of them.
#[derive(Clone, Debug)]
pub enum Step {
    /// Somebody asks for something. The answer waits for the next commit.
    Ask {
        /// What the clock shows.
        at: Time,
        /// Who.
        who: Who,
        /// For what.
        command: Command,
    },
    /// Somebody looks at something. The answer waits for the next commit.
    Look {
        /// What the clock shows.
        at: Time,
        /// Who.
        who: Who,
        /// At what.
        query: Query,
    },
    /// All decisions so far are written down, and all answers given.
    Commit,
    /// A snapshot is written of what is committed.
    Snapshot,
    /// The process dies: decisions that were not committed are lost, and their answers with them.
    Crash {
        /// What the clock shows.
        at: Time,
        /// Whether it starts from the last snapshot, if there is one, or from the journal alone.
        from_snapshot: bool,
    },
}

impl Step {
    /// What the clock shows, if it matters.
    #[must_use]
    pub fn at(&self) -> Option<Time> {
        match self {
            Self::Ask { at, .. } | Self::Look { at, .. } | Self::Crash { at, .. } => Some(*at),
            Self::Commit | Self::Snapshot => None,
        }
    }
}

/// Something asked, with its answer.
#[derive(Clone, Debug)]
pub struct Asked {
    /// When it was decided.
    pub at: Time,
    /// By whom.
    pub who: Who,
    /// What, and the answer.
    pub deal: Deal,
}

/// Something asked, and its answer.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "most are commands, and a box each would cost more")]
pub enum Deal {
    /// A command.
    Command {
        /// What.
        command: Command,
        /// The answer.
        said: Result<Reply, Refusal>,
        /// What it changed.
        changes: Changes,
    },
    /// A question.
    Look {
        /// What.
        query: Query,
        /// The answer.
        shown: Result<View, Refusal>,
    },
}
