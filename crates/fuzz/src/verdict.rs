//! What comes of an input.

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

/// Holds that an error is a sentence that somebody can read.
///
/// # Panics
/// If it says nothing.
pub fn assert_sentence(why: &str) {
    assert!(why.chars().any(char::is_alphabetic), "an error says nothing: {why:?}");
}
