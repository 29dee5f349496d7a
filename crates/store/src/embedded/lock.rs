//! The lock of a data directory: one process at a time has it.

use super::error::OpenError;
use std::fs::{File, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

fn path_in(dir: &Path) -> PathBuf {
    dir.join("engine.lock")
}

/// Locks the directory for this process, as long as the file is kept.
pub(super) fn take(dir: &Path) -> Result<File, OpenError> {
    let path = path_in(dir);
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)
        .map_err(OpenError::io(&path))?;
    held(&path, &file)?;
    Ok(file)
}

/// Whether the directory could be locked now; leaves nothing behind.
pub(super) fn probe(dir: &Path) -> Result<(), OpenError> {
    let path = path_in(dir);
    match File::options().write(true).open(&path) {
        Ok(file) => held(&path, &file),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(source) => Err(OpenError::Io { path, source }),
    }
}

fn held(path: &Path, file: &File) -> Result<(), OpenError> {
    let path = path.to_owned();
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(OpenError::Locked { path }),
        Err(TryLockError::Error(source)) => Err(OpenError::Io { path, source }),
    }
}
