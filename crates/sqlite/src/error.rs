//! What stands in the way of making, locking or copying a file.

use std::io;
use std::path::{Path, PathBuf};

/// What stands in the way of making, locking or copying a file.
#[derive(Debug)]
pub enum FileError {
    /// A file or directory cannot be read or written.
    Io {
        /// Which.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// Another process has it.
    Locked {
        /// The file it has locked.
        path: PathBuf,
    },
    /// SQLite cannot do it.
    Sqlite {
        /// The file.
        path: PathBuf,
        /// What SQLite says.
        source: rusqlite::Error,
    },
}

impl FileError {
    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        |source| Self::Io { path: path.to_owned(), source }
    }

    pub(crate) fn sqlite(path: &Path) -> impl FnOnce(rusqlite::Error) -> Self + '_ {
        |source| Self::Sqlite { path: path.to_owned(), source }
    }
}
