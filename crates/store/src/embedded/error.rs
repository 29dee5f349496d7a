//! Why an engine cannot be opened.

use crate::engine::Seq;
use onrush_sqlite::FileError;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// What to do about files that do not belong together.
pub const WAY_OUT: &str = "Nothing was changed. Put the whole directory back as it was at one \
    moment, logs and all. If there is no such copy and you want to go on with what is here, read \
    docs/operating.md, \"A start that is refused\", and start once with --accept-restored: units \
    that were sold since are sold again";

/// Why a data directory cannot be used. Nothing in it was changed.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// A file or directory cannot be read or written.
    #[error("{path}: {source}")]
    Io {
        /// Which.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// Another engine runs on the same directory.
    #[error(
        "{path}: another onrush process uses this directory; stop it, or choose another directory"
    )]
    Locked {
        /// The file it has locked.
        path: PathBuf,
    },
    /// There is no journal to read.
    #[error("{path}: there is no journal; check the directory")]
    Missing {
        /// Where it would be.
        path: PathBuf,
    },
    /// The file is not an Onrush journal.
    #[error(
        "{path}: not an onrush journal ({what}); move the file away, or choose another directory"
    )]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What it is instead.
        what: String,
    },
    /// The journal was written by a newer Onrush.
    #[error(
        "{path}: written by a newer onrush (format {format}, this version knows {known}); start \
         that version, or restore a backup"
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its format.
        format: u32,
        /// The newest format that this version knows.
        known: u32,
    },
    /// The journal has members of changes that a newer Onrush wrote, and that this one would read over.
    #[error(
        "{path}: a newer onrush wrote {what} here, which this version does not know; start that \
         version, or restore a backup"
    )]
    Unread {
        /// The file.
        path: PathBuf,
        /// The first such member.
        what: String,
    },
    /// The journal is truncated or corrupt.
    #[error("{0}")]
    Damaged(Box<Damage>),
    /// The journal is whole, and it is not the one that was here: an older copy, or one without its
    /// latest decisions.
    #[error("{path}: {why}. {WAY_OUT}")]
    Restored {
        /// The journal.
        path: PathBuf,
        /// What shows it.
        why: String,
    },
    /// SQLite cannot open the file for another reason.
    #[error("{path}: {why}")]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// What SQLite says.
        why: String,
    },
    /// There is no tokio runtime to answer in: open within one, or name one in the options.
    #[error("open the engine within a tokio runtime")]
    NoRuntime,
}

impl OpenError {
    pub(super) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        |source| Self::Io { path: path.to_owned(), source }
    }

    pub(super) fn sqlite(path: &Path) -> impl Fn(rusqlite::Error) -> Self + '_ {
        |error| Self::Sqlite { path: path.to_owned(), why: error.to_string() }
    }
}

impl From<FileError> for OpenError {
    fn from(error: FileError) -> Self {
        match error {
            FileError::Io { path, source } => Self::Io { path, source },
            FileError::Locked { path } => Self::Locked { path },
            FileError::Sqlite { path, source } => Self::sqlite(&path)(source),
        }
    }
}

/// What is wrong with a journal, and what of it can still be read.
#[derive(Clone, Debug)]
pub struct Damage {
    /// The file.
    pub path: PathBuf,
    /// What was noticed.
    pub what: String,
    /// Decisions that can be read from the first one on without a gap.
    pub readable: u64,
    /// The number of the last of these.
    pub last_readable: Seq,
    /// The last decision that can be read at all, after a gap; the same if there is none.
    pub last_seen: Seq,
    /// What SQLite's own check says, at most 20 lines.
    pub integrity: Vec<String>,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, what, readable, last_readable, last_seen, integrity } = self;
        write!(
            f,
            "{}: the journal is damaged: {what}. Still readable: {readable} decisions up to number {}",
            path.display(),
            last_readable.0
        )?;
        if last_seen > last_readable {
            write!(f, ", and some more up to number {}", last_seen.0)?;
        }
        f.write_str(". Nothing was changed; keep a copy, then restore a backup")?;
        for line in integrity {
            write!(f, "\n  {line}")?;
        }
        Ok(())
    }
}
