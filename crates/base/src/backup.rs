//! The manifest of a backup: which moment it is of, and what each of its files has to be.
//!
//! It is the last file that a backup gets, so that one without it is no backup. It goes along when a
//! backup is restored: as long as it lies in a data directory, the server knows that what happened
//! after its moment is not known there.

use crate::auth::hex;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs;
use std::io;
use std::path::Path;

/// The manifest's name in the directory of a backup.
pub const FILE: &str = "backup.json";
/// The format that is read and written.
pub const FORMAT: u32 = 1;

/// A file of a backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupFile {
    /// Its path in the directory, parts parted by `/`.
    pub path: String,
    /// Its length.
    pub bytes: u64,
    /// Its SHA-256, in hexadecimal digits.
    pub sha256: String,
}

/// What a backup is of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The format.
    pub onrush_backup: u32,
    /// The program that made it.
    pub version: String,
    /// When it was begun, by the system's clock, in UTC.
    pub taken_at: String,
    /// The journal's identity.
    pub journal: String,
    /// The journal's last decision.
    pub decision: u64,
    /// When that was made, in UTC; nothing if there is none.
    pub decided_at: Option<String>,
    /// How far the ledger has followed the journal.
    pub followed: u64,
    /// Sagas that had not come to their end.
    pub open_sagas: u64,
    /// All other files, by their paths.
    pub files: Vec<BackupFile>,
}

/// A manifest, with what shows that nobody changed it unwittingly.
#[derive(Serialize, Deserialize)]
struct Sealed {
    manifest: Manifest,
    /// The SHA-256 of the manifest as it is written here without spaces.
    sha256: String,
}

impl Manifest {
    /// Reads the manifest in a directory; `None` if there is none.
    ///
    /// # Errors
    /// Why it cannot be read, as a sentence.
    pub fn read(dir: &Path) -> Result<Option<Self>, String> {
        let path = dir.join(FILE);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(format!("{}: {error}", path.display())),
        };
        Self::parse(&bytes).map(Some).map_err(|why| format!("{}: {why}", path.display()))
    }

    fn parse(bytes: &[u8]) -> Result<Self, String> {
        let damaged = |why: String| format!("the manifest is damaged ({why}); take another backup");
        /// What every format has.
        #[derive(Deserialize)]
        struct Any {
            manifest: AnyManifest,
        }
        #[derive(Deserialize)]
        struct AnyManifest {
            onrush_backup: u32,
        }
        let any: Any = serde_json::from_slice(bytes).map_err(|error| damaged(error.to_string()))?;
        let format = any.manifest.onrush_backup;
        if format > FORMAT {
            return Err(format!(
                "written by a newer onrush (format {format}, this version knows {FORMAT}); restore it \
                 with that version"
            ));
        }
        let sealed: Sealed =
            serde_json::from_slice(bytes).map_err(|error| damaged(error.to_string()))?;
        if sealed.manifest.seal() != sealed.sha256 {
            return Err(damaged("it is not what its checksum says".into()));
        }
        Ok(sealed.manifest)
    }

    /// The file's text.
    #[must_use]
    pub fn text(&self) -> Vec<u8> {
        let sealed = Sealed { manifest: self.clone(), sha256: self.seal() };
        // Texts and numbers under text keys can always be written.
        let mut text = serde_json::to_vec_pretty(&sealed).expect("a manifest can be written");
        text.push(b'\n');
        text
    }

    fn seal(&self) -> String {
        let text = serde_json::to_vec(self).expect("a manifest can be written");
        hex(&Sha256::digest(text))
    }

    /// The moment, for people: the last decision, and when it was made.
    #[must_use]
    pub fn moment(&self) -> String {
        let Self { decision, decided_at, taken_at, .. } = self;
        match decided_at {
            Some(at) => format!("decision {decision}, made at {at}; taken at {taken_at}"),
            None => format!("before the first decision; taken at {taken_at}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest() -> Manifest {
        Manifest {
            onrush_backup: FORMAT,
            version: "0.1.0".into(),
            taken_at: "2026-11-24T16:00:01Z".into(),
            journal: "00".repeat(16),
            decision: 17,
            decided_at: Some("2026-11-24T16:00:00Z".into()),
            followed: 16,
            open_sagas: 2,
            files: vec![BackupFile { path: "engine.db".into(), bytes: 3, sha256: "ab".into() }],
        }
    }

    #[test]
    fn a_manifest_is_read_as_it_was_written() {
        let dir = tempfile::tempdir().expect("a directory");
        assert_eq!(Manifest::read(dir.path()), Ok(None));
        fs::write(dir.path().join(FILE), manifest().text()).expect("written");
        assert_eq!(Manifest::read(dir.path()), Ok(Some(manifest())));
    }

    #[test]
    fn a_manifest_with_any_other_byte_is_refused_or_says_the_same() {
        let text = manifest().text();
        for at in 0..text.len() {
            let mut other = text.clone();
            other[at] ^= 0x01;
            // Spaces and line ends say nothing.
            if let Ok(read) = Manifest::parse(&other) {
                assert_eq!(read, manifest(), "byte {at}");
            }
        }
    }

    #[test]
    fn a_newer_format_is_named() {
        let newer = Manifest { onrush_backup: FORMAT + 1, ..manifest() };
        let why = Manifest::parse(&newer.text()).expect_err("refused");
        assert!(why.contains("newer onrush"), "{why}");
    }
}
