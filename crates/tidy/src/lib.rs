//! Rules of the house as tests: who imports whom, how long lines and files are, tables against code.
//!
//! `tests/tidy` runs each rule on this repository. A rule is a function from a [`Repository`] to
//! findings: sentences that begin with a place and say what to do. It reads text and never builds
//! anything, so that it can be asked about a structure that does not compile yet.

pub mod circles;
pub mod crates;
pub mod documents;
pub mod examples;
pub mod imports;
pub mod lengths;
pub mod lua;
pub mod markdown;
pub mod repository;
pub mod rooms;
pub mod scripts;
pub mod servers;
mod tokens;

pub use repository::Repository;
