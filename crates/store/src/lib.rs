//! The engine: it runs the rules, one command at a time, and keeps what they decide.

#![warn(clippy::wildcard_enum_match_arm)]

pub mod archive_file;
pub mod durations;
pub mod embedded;
pub mod engine;
pub mod flags;
#[cfg(feature = "cluster")]
pub mod redis;

pub use engine::{
    Answer, AsOf, Ask, CopyFigures, Engine, Failure, Feed, FeedEntry, FeedPage, Figures, Hindrance,
    NoAsOf, Pending, Seq,
};
