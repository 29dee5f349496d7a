//! A file from its first line until it has its name: written, synced, read back, compared.

use super::{End, FORMAT, FileReader, Header, Kept, Origin, Trailer};
use crate::engine::Seq;
use flate2::Compression;
use flate2::write::GzEncoder;
use onrush_core::Time;
use onrush_core::ids::EventId;
use onrush_core::settings::Digest;
use sha2::{Digest as _, Sha256};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// A file that is being written, under another name than its own. Errors are sentences about it.
pub struct Draft {
    out: GzEncoder<BufWriter<File>>,
    hash: Sha256,
    decisions: u64,
    target: PathBuf,
    origin: Origin,
    event: EventId,
}

impl Draft {
    /// Begins the file that is to be at `target`, for its owner alone, in a directory that is made
    /// if it is not there. What was left of an earlier attempt is written anew.
    ///
    /// # Errors
    /// If there is a file of that name that is not of this event and origin: it is somebody's. What
    /// the system says.
    pub fn begin(
        target: &Path,
        origin: &Origin,
        event: &EventId,
        archived_at: Time,
    ) -> Result<Self, String> {
        if target.exists() {
            let own = FileReader::open(target).and_then(|file| file.check_header(origin, event));
            own.map_err(|why| format!("{why}; move it away, then try again"))?;
        }
        let io = |error: io::Error| format!("{}: {error}", draft_of(target).display());
        if let Some(dir) = target.parent() {
            onrush_sqlite::make_dir(dir).map_err(io)?;
        }
        let mut options = File::options();
        let options = options.write(true).create(true).truncate(true).mode(0o600);
        let file = options.open(draft_of(target)).map_err(io)?;
        let out = GzEncoder::new(BufWriter::with_capacity(1 << 16, file), Compression::default());
        let (target, origin, event) = (target.to_owned(), origin.clone(), event.clone());
        let journal = origin.identity.clone();
        let header = Header { onrush_archive: FORMAT, journal, event: event.clone(), archived_at };
        let header = serde_json::to_string(&header).map_err(|error| error.to_string())?;
        let mut draft = Self { out, hash: Sha256::new(), decisions: 0, target, origin, event };
        draft.write(&format!("{header}\n"))?;
        Ok(draft)
    }

    fn io(&self, error: &io::Error) -> String {
        format!("{}: {error}", draft_of(&self.target).display())
    }

    fn write(&mut self, line: &str) -> Result<(), String> {
        self.hash.update(line);
        self.out.write_all(line.as_bytes()).map_err(|error| self.io(&error))
    }

    /// Adds the line of a decision.
    ///
    /// # Errors
    /// What the system says.
    pub fn decision(&mut self, line: &str) -> Result<(), String> {
        self.decisions += 1;
        self.write(line)
    }

    /// Ends the file, durably; it is still to be read back.
    ///
    /// # Errors
    /// What the system says.
    pub fn end(self) -> Result<Drafted, String> {
        let Self { mut out, hash, decisions, target, origin, event } = self;
        let sha256 = Digest(hash.finalize().into());
        let trailer = Trailer { end: End { decisions, sha256 } };
        let trailer = serde_json::to_string(&trailer).map_err(|error| error.to_string())?;
        let mut end = || -> io::Result<File> {
            out.write_all(format!("{trailer}\n").as_bytes())?;
            out.try_finish()?;
            out.get_mut().flush()?;
            out.get_ref().get_ref().try_clone()
        };
        let synced = end().and_then(|file| file.sync_all());
        synced.map_err(|error| format!("{}: {error}", draft_of(&target).display()))?;
        Ok(Drafted { decisions, sha256, target, origin, event })
    }
}

/// A file that is written, and has to be read back.
pub struct Drafted {
    decisions: u64,
    sha256: Digest,
    target: PathBuf,
    origin: Origin,
    event: EventId,
}

impl Drafted {
    /// Opens it again.
    ///
    /// # Errors
    /// Why it is not what was written.
    pub fn read_back(self) -> Result<ReadBack, String> {
        let file = FileReader::open(&draft_of(&self.target))?;
        file.check_header(&self.origin, &self.event)?;
        Ok(ReadBack { file, drafted: self })
    }
}

/// A file that is read back, beside what it was written from.
pub struct ReadBack {
    file: FileReader,
    drafted: Drafted,
}

impl ReadBack {
    /// Compares the next line with the one that decision `seq` has to have.
    ///
    /// # Errors
    /// If it is another one.
    pub fn compare(&mut self, seq: Seq, line: &str) -> Result<(), String> {
        if self.file.next_line()? == Some(line) {
            return Ok(());
        }
        Err(format!("read back, decision {} is not what was written", seq.0))
    }

    /// Gives the file its name, durably, if all of it was compared: what is to be remembered of it,
    /// and how many bytes it has.
    ///
    /// # Errors
    /// If it has more than was written. What the system says.
    pub fn publish(mut self, first: Seq, last: Seq) -> Result<(Kept, u64), String> {
        if self.file.next_line()?.is_some() {
            return Err("read back, it has more than was written".into());
        }
        let Drafted { decisions, sha256, target, .. } = self.drafted;
        let publish = || -> io::Result<u64> {
            let draft = draft_of(&target);
            let bytes = fs::metadata(&draft)?.len();
            fs::rename(&draft, &target)?;
            // The directory may be new in its own.
            for dir in target.ancestors().skip(1).take(2) {
                let is_here = dir == Path::new("");
                File::open(if is_here { Path::new(".") } else { dir })?.sync_all()?;
            }
            Ok(bytes)
        };
        let bytes = publish().map_err(|error| error.to_string())?;
        Ok((Kept { decisions, first, last, sha256 }, bytes))
    }
}

/// The file as long as it was not read back.
fn draft_of(target: &Path) -> PathBuf {
    target.with_extension("gz.new")
}
