//! Whatever strangers and old files hand to Onrush, as targets for a fuzzer.
//!
//! A target takes any bytes and panics if they come to something that must not be: what was
//! accepted is not accepted again as it was written, what was changed still verifies, what was
//! refused has no sentence. `scripts/fuzz.sh` looks for such bytes; `tests/corpus.rs` shows every
//! target all that is in `corpus/`, which has what was ever found.

pub mod edits;
pub mod quiet;
pub mod sale;
pub mod targets;

/// What came of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is what it should be, in part at least.
    Accepted,
    /// All of it was refused, as it must be.
    Refused,
}

impl Verdict {
    /// The verdict on what was read with this result.
    pub fn on<T, E>(result: &Result<T, E>) -> Self {
        if result.is_ok() { Self::Accepted } else { Self::Refused }
    }

    /// Accepted if one of two is.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        match self {
            Self::Accepted => Self::Accepted,
            Self::Refused => other,
        }
    }
}

/// One thing that bytes are handed to.
#[derive(Clone, Copy)]
pub struct Target {
    /// Its name, and that of its folder in `corpus/`.
    pub name: &'static str,
    /// Panics if something comes of the bytes that must not be.
    pub run: fn(&[u8]) -> Verdict,
}

/// All targets.
pub const TARGETS: [Target; 11] = [
    Target { name: "plans", run: targets::plans::target },
    Target { name: "bodies", run: targets::bodies::target },
    Target { name: "tokens", run: targets::tokens::target },
    Target { name: "shop_tokens", run: targets::shop_tokens::target },
    Target { name: "signed", run: targets::signed::target },
    Target { name: "webhooks", run: targets::webhooks::target },
    Target { name: "journal", run: targets::journal::target },
    Target { name: "snapshots", run: targets::snapshots::target },
    Target { name: "redis_records", run: targets::redis_records::target },
    Target { name: "redis_answers", run: targets::redis_answers::target },
    Target { name: "config", run: targets::config::target },
];

/// The target of this name.
#[must_use]
pub fn find(name: &str) -> Option<Target> {
    TARGETS.into_iter().find(|target| target.name == name)
}

/// Holds that an error is a sentence that somebody can read.
///
/// # Panics
/// If it says nothing.
pub fn assert_sentence(why: &str) {
    assert!(why.chars().any(char::is_alphabetic), "an error says nothing: {why:?}");
}
