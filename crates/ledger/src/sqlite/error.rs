//! Why a ledger cannot be opened.

use super::database;
use onrush_sqlite::FileError;
use std::io;
use std::path::{Path, PathBuf};

/// Why a ledger cannot be used. Nothing in its file was changed.
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
    /// Another process writes to the ledger.
    #[error(
        "{path}: another onrush process uses this ledger; stop it, or choose another directory"
    )]
    Locked {
        /// The file it has locked.
        path: PathBuf,
    },
    /// There is no ledger to read.
    #[error("{path}: there is no ledger; check the directory")]
    Missing {
        /// Where it would be.
        path: PathBuf,
    },
    /// The file is not an Onrush ledger.
    #[error(
        "{path}: not an onrush ledger ({what}); move the file away, or choose another directory"
    )]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What it is instead.
        what: String,
    },
    /// The ledger was written by a newer Onrush.
    #[error(
        "{path}: written by a newer onrush (version {version}, this one knows {known}); start that \
         one, or restore a backup"
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        version: u32,
        /// The newest version that is known here.
        known: u32,
    },
    /// The ledger was written by an older Onrush, and a reader does not bring it up to date.
    #[error(
        "{path}: written by an older onrush (version {version}, this one reads {known}); start the \
         server once to bring it up to date"
    )]
    Older {
        /// The file.
        path: PathBuf,
        /// Its version.
        version: u32,
        /// The version that can be read.
        known: u32,
    },
    /// Pages of the ledger are not what was written.
    #[error(
        "{path}: the ledger is damaged: {}. Nothing was changed; keep a copy, then restore the \
         whole directory from a backup. Without one, see docs/operating.md, \
         \"A start that is refused\"",
        .found.join("; ")
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What SQLite's own check says, a few lines.
        found: Vec<String>,
    },
    /// SQLite cannot open the file for another reason.
    #[error("{path}: {why}")]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// What SQLite says.
        why: String,
    },
}

impl OpenError {
    pub(super) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        |source| Self::Io { path: path.to_owned(), source }
    }

    pub(super) fn sqlite(path: &Path) -> impl Fn(rusqlite::Error) -> Self + '_ {
        |error| {
            let (path, why) = (path.to_owned(), error.to_string());
            if database::is_damage(&error) {
                Self::Damaged { path, found: vec![why] }
            } else {
                Self::Sqlite { path, why }
            }
        }
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
