//! SQLite files as the journal and the ledger have them: how one is made, locked, opened and copied,
//! and how its log stays short.
//!
//! What is in a file, which versions of it are read, and what people are told when it cannot be
//! used, is its owner's.

#![forbid(unsafe_code)]

mod checkpointer;
mod copy;
mod create;
mod error;
mod header;
mod kind;
mod lock;
mod mark;

pub use checkpointer::{Checkpointer, ROUND_PAGES};
pub use copy::copy;
pub use create::{close_files, make_dir};
pub use error::FileError;
pub use header::Header;
pub use kind::{FileKind, faults, has_log, log_of, open_unlocked};
pub use lock::Lock;
pub use mark::Mark;
