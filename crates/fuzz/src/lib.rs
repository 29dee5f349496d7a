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
pub mod verdict;

pub use targets::{TARGETS, Target, find};
pub use verdict::Verdict;
