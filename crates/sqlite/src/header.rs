//! The beginning of a file, looked at before SQLite is asked.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

const BYTES: usize = 100;
const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// The first hundred bytes of a file. SQLite might create files beside the one it looks at.
#[derive(Debug)]
pub struct Header {
    bytes: Vec<u8>,
    file_bytes: u64,
}

impl Header {
    /// Reads it; `None` if there is no file.
    ///
    /// # Errors
    /// What the system says.
    pub fn read(path: &Path) -> io::Result<Option<Self>> {
        let mut file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut bytes = Vec::with_capacity(BYTES);
        file.by_ref().take(BYTES as u64).read_to_end(&mut bytes)?;
        Ok(Some(Self { bytes, file_bytes: file.metadata()?.len() }))
    }

    /// How long the file is.
    #[must_use]
    pub fn file_bytes(&self) -> u64 {
        self.file_bytes
    }

    /// Whether all of the hundred bytes are there.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.bytes.len() == BYTES
    }

    /// Whether it begins as SQLite's files do, as far as it goes.
    #[must_use]
    pub fn is_sqlite(&self) -> bool {
        MAGIC.starts_with(&self.bytes[..self.bytes.len().min(MAGIC.len())])
    }

    /// SQLite's `application_id`. The header must be whole, here and below.
    #[must_use]
    pub fn application_id(&self) -> u32 {
        self.number(68)
    }

    /// SQLite's `user_version`.
    #[must_use]
    pub fn user_version(&self) -> u32 {
        self.number(60)
    }

    /// How long the file should be; what is missing at its end may be in its log.
    #[must_use]
    pub fn expected_bytes(&self) -> u64 {
        let page_bytes = match u64::from(self.number(16) >> 16) {
            1 => 65_536,
            bytes => bytes,
        };
        page_bytes * u64::from(self.number(28))
    }

    fn number(&self, offset: usize) -> u32 {
        u32::from_be_bytes([0, 1, 2, 3].map(|byte: usize| self.bytes[offset + byte]))
    }
}
