//! The witness: a small file that says how far journal and ledger had come, so that neither can
//! lose its end unnoticed.
//!
//! SQLite takes a write-ahead log that is cut, damaged or missing for one that a power cut tore,
//! and goes on without what was in it. The witness has no log. It is written after what it tells of
//! is durable, about once a second and at the end, so it never says too much: whoever knows less
//! than it says has lost something.

use crate::engine::Seq;
use onrush_core::Time;
use serde::{Deserialize, Serialize};
use std::cell::Cell;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::time::Instant;

/// How often it is written while something happens.
pub(super) const EVERY: Duration = Duration::from_secs(1);
/// What the file takes; a write of so little never tears.
const BYTES: usize = 256;

/// What the file says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Testimony {
    /// The journal's identity.
    pub(super) journal: String,
    /// The last decision that was seen there.
    pub(super) seq: Seq,
    /// When it was made; nothing if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) at: Option<Time>,
    /// How far the ledger had followed; nothing as long as no ledger did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) ledger: Option<u64>,
}

/// Where the file is.
pub(super) fn path_in(dir: &Path) -> PathBuf {
    dir.join("witness.json")
}

/// What the file in `dir` says; `None` if there is none.
///
/// # Errors
/// If it cannot be read, or not be understood, as a sentence.
pub(super) fn read(dir: &Path) -> Result<Option<Testimony>, String> {
    match fs::read(path_in(dir)) {
        Ok(bytes) => serde_json::from_slice(&bytes)
            .map(Some)
            .map_err(|error| format!("witness.json cannot be understood ({error})")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("witness.json cannot be read ({error})")),
    }
}

/// The file, while the journal thread writes it.
pub(super) struct Witness {
    file: File,
    journal: String,
    written: Cell<(Seq, Option<u64>)>,
    written_at: Cell<Instant>,
}

impl Witness {
    /// Writes the file as it is to be, durably, and keeps it open.
    pub(super) fn open(dir: &Path, says: Testimony) -> io::Result<Self> {
        let path = path_in(dir);
        let draft = path.with_extension("new");
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(true).mode(0o600);
        let file = options.open(&draft)?;
        let (seq, ledger) = (says.seq, says.ledger);
        file.write_all_at(&text(&says), 0)?;
        file.sync_all()?;
        fs::rename(&draft, &path)?;
        File::open(dir)?.sync_all()?;
        let written = Cell::new((seq, ledger));
        Ok(Self { file, journal: says.journal, written, written_at: Cell::new(Instant::now()) })
    }

    /// When to write next, if there is anything new.
    pub(super) fn patience(&self, seq: Seq, ledger: Option<u64>) -> Option<Duration> {
        let is_new = self.written.get() != (seq, ledger);
        is_new.then(|| EVERY.saturating_sub(self.written_at.get().elapsed()))
    }

    /// Writes what is new, if it is time. `at` says when decision `seq` was made.
    pub(super) fn saw(&self, seq: Seq, at: Option<Time>, ledger: Option<u64>) {
        if self.patience(seq, ledger) == Some(Duration::ZERO) {
            self.write(seq, at, ledger);
        }
    }

    /// Writes it a last time.
    pub(super) fn end(&self, seq: Seq, at: Option<Time>, ledger: Option<u64>) {
        self.write(seq, at, ledger);
        if let Err(error) = self.file.sync_all() {
            tracing::warn!(%error, "witness.json may not be on disk");
        }
    }

    fn write(&self, seq: Seq, at: Option<Time>, ledger: Option<u64>) {
        let says = Testimony { journal: self.journal.clone(), seq, at, ledger };
        self.written_at.set(Instant::now());
        match self.file.write_all_at(&text(&says), 0) {
            Ok(()) => self.written.set((seq, ledger)),
            // What it said before is true as well.
            Err(error) => tracing::warn!(%error, "witness.json cannot be written"),
        }
    }
}

/// The file's content: always of the same length, so that it is overwritten in place.
fn text(says: &Testimony) -> Vec<u8> {
    let mut text = serde_json::to_vec(says).expect("numbers and an identity are JSON");
    assert!(text.len() < BYTES, "a witness is a line of fixed length");
    text.resize(BYTES - 1, b' ');
    text.push(b'\n');
    text
}
