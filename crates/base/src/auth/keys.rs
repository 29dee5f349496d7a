//! Secret files in `<data>/keys/`: readable by their owner only, written once, never overwritten.
//! One that was just drawn, and that nothing was done with, may go again; one of several of a kind is
//! retired by another name.

use crate::auth::random;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// How the names of keys begin of which there may be several, the newest of which signs.
const ROTATING: [&str; 3] = ["link-", "pass-", "ticket-"];
/// How the name of such a file ends once its key is not to be believed any more.
const RETIRED: &str = ".retired";

/// Which key a file was, by its name, if that is retired.
fn retired_key(name: &str) -> Option<&str> {
    let key = name.strip_suffix(RETIRED)?;
    ROTATING.iter().any(|prefix| key.starts_with(prefix)).then_some(key)
}

/// The directory with the secret files.
#[derive(Clone, Debug)]
pub struct KeyDir(PathBuf);

impl KeyDir {
    /// Opens the directory below `data`, and makes it if need be.
    ///
    /// # Errors
    /// Whatever the file system says.
    pub fn open(data: &Path) -> io::Result<Self> {
        let dir = data.join("keys");
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&dir)?;
        Ok(Self(dir))
    }

    /// The 32 bytes in a file; drawn and written if there is no such file.
    ///
    /// # Errors
    /// Whatever the file system says, or `InvalidData` if the file has another length.
    pub fn load_or_draw(&self, name: &str) -> io::Result<[u8; 32]> {
        if let Some(bytes) = self.load(name)? {
            return Ok(bytes);
        }
        self.store_new(name, &random::<32>())?;
        self.load(name)?.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
    }

    /// The 32 bytes in a file, if there is such a file.
    ///
    /// # Errors
    /// As [`Self::load_or_draw`].
    pub fn load(&self, name: &str) -> io::Result<Option<[u8; 32]>> {
        let path = self.path_of(name);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let wrong = || {
            let why =
                format!("{}: 32 bytes are expected; restore it from a backup", path.display());
            io::Error::new(io::ErrorKind::InvalidData, why)
        };
        bytes.try_into().map(Some).map_err(|_| wrong())
    }

    /// Writes a file that must not exist yet, durably. If another process was quicker, its file stays.
    ///
    /// # Errors
    /// Whatever the file system says.
    pub fn store_new(&self, name: &str, bytes: &[u8; 32]) -> io::Result<()> {
        // Written aside and linked, so that no reader ever sees half a key and no writer replaces one.
        let path = self.path_of(name);
        let aside = self.0.join(format!("{name}.{}.tmp", u64::from_le_bytes(random())));
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&aside)?;
        let written =
            file.write_all(bytes).and_then(|()| file.sync_all()).and_then(
                |()| match fs::hard_link(&aside, &path) {
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
                    linked => linked,
                },
            );
        fs::remove_file(&aside)?;
        written?;
        // The directory may be as new as the file: then its own name has to be durable as well.
        let above = self.0.parent().unwrap_or(Path::new("."));
        [self.0.as_path(), above].into_iter().try_for_each(|dir| fs::File::open(dir)?.sync_all())
    }

    /// The 32 bytes of a key that is retired here; nothing where its file has something else by now.
    ///
    /// # Errors
    /// Whatever the file system says.
    pub fn load_retired(&self, name: &str) -> io::Result<Option<[u8; 32]>> {
        match fs::read(self.path_of(&format!("{name}{RETIRED}"))) {
            Ok(bytes) => Ok(bytes.try_into().ok()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Where a file of this name is, or would be.
    pub(crate) fn path_of(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Removes a file that was just drawn, and that nothing was done with yet.
    ///
    /// # Errors
    /// Whatever the file system says.
    pub(crate) fn forget(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path_of(name))?;
        fs::File::open(&self.0)?.sync_all()
    }

    /// Retires a key, if its file is there; whether it was.
    ///
    /// # Errors
    /// Whatever the file system says.
    pub(crate) fn retire(&self, name: &str) -> io::Result<bool> {
        match fs::rename(self.0.join(name), self.0.join(format!("{name}{RETIRED}"))) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            renamed => renamed?,
        }
        fs::File::open(&self.0)?.sync_all()?;
        Ok(true)
    }

    /// The names of all files that begin with `prefix`, in order; without keys that are retired.
    ///
    /// # Errors
    /// Whatever the file system says.
    pub fn names(&self, prefix: &str) -> io::Result<Vec<String>> {
        let mut names = self.all()?;
        let retired = self.retired()?;
        names.retain(|name| {
            name.starts_with(prefix) && retired_key(name).is_none() && !retired.contains(name)
        });
        Ok(names)
    }

    /// The names of keys that are retired here, in order.
    ///
    /// # Errors
    /// Whatever the file system says.
    pub fn retired(&self) -> io::Result<Vec<String>> {
        Ok(self.all()?.iter().filter_map(|name| retired_key(name).map(str::to_owned)).collect())
    }

    fn all(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.0)? {
            let entry = entry?;
            // A directory has files of others' making.
            if let Ok(name) = entry.file_name().into_string()
                && !entry.file_type()?.is_dir()
                && !name.ends_with(".tmp")
            {
                names.push(name);
            }
        }
        names.sort_unstable();
        Ok(names)
    }
}
