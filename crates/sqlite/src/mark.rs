//! A file beside a database that says that damage was found in it.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// The file that says that damage was found. Whoever starts the process again, whatever its exit
/// code, shall not have it sell until the damage is found anew.
#[derive(Debug)]
pub struct Mark(PathBuf);

impl Mark {
    /// That of a database: `a.damaged` beside `a.db`.
    #[must_use]
    pub fn beside(path: &Path) -> Self {
        Self(path.with_extension("damaged"))
    }

    /// Whether damage was found, and nobody has found all of it whole since.
    #[must_use]
    pub fn is_set(&self) -> bool {
        self.0.exists()
    }

    /// Notes what was found, durably.
    ///
    /// # Errors
    /// What the system says.
    pub fn set(&self, why: &str) -> io::Result<()> {
        let mut file = File::create(&self.0)?;
        writeln!(file, "{why}")?;
        file.sync_all()
    }

    /// All is whole; nothing happens if nobody thought otherwise.
    ///
    /// # Errors
    /// What the system says.
    pub fn take_away(&self) -> io::Result<()> {
        match fs::remove_file(&self.0) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }
}
