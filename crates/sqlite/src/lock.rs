//! The lock of a data directory: one process at a time has it.

use crate::error::FileError;
use std::fs::{File, TryLockError};
use std::io::ErrorKind;
use std::path::Path;

/// A file that is this process's as long as this is kept.
#[derive(Debug)]
pub struct Lock(File);

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing the file alone would leave the lock to a process that was forked a moment ago and
        // has not begun its own program yet. If this fails, closing is what is left.
        drop(self.0.unlock());
    }
}

impl Lock {
    /// Locks the file for this process, and makes it if there is none.
    ///
    /// # Errors
    /// [`FileError::Locked`] if another process has it.
    pub fn take(path: &Path) -> Result<Self, FileError> {
        let mut options = File::options();
        let file = options.create(true).truncate(false).write(true).open(path);
        Self::of(path, file.map_err(FileError::io(path))?)
    }

    /// Whether the file could be locked now; leaves nothing behind.
    ///
    /// # Errors
    /// As for [`Lock::take`].
    pub fn probe(path: &Path) -> Result<(), FileError> {
        match File::options().write(true).open(path) {
            Ok(file) => Self::of(path, file).map(drop),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            Err(error) => Err(FileError::io(path)(error)),
        }
    }

    /// Locks an open file until this is dropped, also if the process is just starting another one.
    ///
    /// # Errors
    /// [`TryLockError::WouldBlock`] if another process has it.
    pub fn on(file: File) -> Result<Self, TryLockError> {
        file.try_lock().map(|()| Self(file))
    }

    fn of(path: &Path, file: File) -> Result<Self, FileError> {
        match Self::on(file) {
            Ok(lock) => Ok(lock),
            Err(TryLockError::WouldBlock) => Err(FileError::Locked { path: path.to_owned() }),
            Err(TryLockError::Error(error)) => Err(FileError::io(path)(error)),
        }
    }
}
