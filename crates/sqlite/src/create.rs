//! Files and directories that are their owner's alone.

use crate::error::FileError;
use crate::kind::{FileKind, beside};
use rusqlite::Connection;
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// Makes an empty file, which SQLite fills; it leaves its mode as it is.
pub(crate) fn make_empty(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

/// Makes the data directory if there is none, for its owner alone.
///
/// # Errors
/// What the system says.
pub fn make_dir(dir: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)
}

/// The file and its log are for their owner alone from now on, if everybody could read them; an
/// owner who let a group in knows why. SQLite gives new logs the file's own mode.
///
/// # Errors
/// What the system says.
pub fn close_files(path: &Path) -> io::Result<()> {
    for file in [path.to_owned(), beside(path, "-wal"), beside(path, "-shm")] {
        match fs::metadata(&file) {
            Ok(found) if found.permissions().mode() & 0o007 != 0 => {
                fs::set_permissions(&file, Permissions::from_mode(0o600))?;
            }
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

impl FileKind {
    /// Makes the file under another name, has it filled, and moves it into place, so that there is
    /// never half of one.
    ///
    /// # Errors
    /// See [`FileError`].
    pub fn create(
        &self,
        path: &Path,
        fill: impl FnOnce(&Connection) -> rusqlite::Result<()>,
    ) -> Result<(), FileError> {
        let draft = &path.with_extension("db.new");
        match fs::remove_file(draft) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(FileError::io(draft)(error)),
        }
        make_empty(draft).map_err(FileError::io(draft))?;
        let build = || -> rusqlite::Result<()> {
            let connection = Connection::open(draft)?;
            connection
                .execute_batch(&format!("PRAGMA application_id = {};", self.application_id))?;
            fill(&connection)?;
            connection.execute_batch("PRAGMA journal_mode = WAL;")?;
            connection.close().map_err(|(_, error)| error)
        };
        build().map_err(FileError::sqlite(draft))?;
        let sync = |path: &Path| File::open(path)?.sync_all();
        sync(draft).map_err(FileError::io(draft))?;
        fs::rename(draft, path).map_err(FileError::io(path))?;
        let dir = path.parent().unwrap_or(Path::new("."));
        sync(dir).map_err(FileError::io(dir))
    }
}
