//! The lock of a data directory: one process at a time has it.

use super::error::OpenError;
use std::fs::{File, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

fn path_in(dir: &Path) -> PathBuf {
    dir.join("engine.lock")
}

/// A directory is this process's as long as this is kept.
#[derive(Debug)]
pub(super) struct Lock(File);

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing the file alone would leave the lock to a process that was forked a moment ago and
        // has not begun its own program yet. If this fails, closing is what is left.
        drop(self.0.unlock());
    }
}

/// Locks the directory for this process.
pub(super) fn take(dir: &Path) -> Result<Lock, OpenError> {
    let path = path_in(dir);
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)
        .map_err(OpenError::io(&path))?;
    lock(&path, file)
}

/// Whether the directory could be locked now; leaves nothing behind.
pub(super) fn probe(dir: &Path) -> Result<(), OpenError> {
    let path = path_in(dir);
    match File::options().write(true).open(&path) {
        Ok(file) => lock(&path, file).map(drop),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(source) => Err(OpenError::Io { path, source }),
    }
}

fn lock(path: &Path, file: File) -> Result<Lock, OpenError> {
    let path = path.to_owned();
    match file.try_lock() {
        Ok(()) => Ok(Lock(file)),
        Err(TryLockError::WouldBlock) => Err(OpenError::Locked { path }),
        Err(TryLockError::Error(source)) => Err(OpenError::Io { path, source }),
    }
}
