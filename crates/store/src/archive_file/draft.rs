//! A file from its first line until it has its name: written, synced, read back, compared.

use super::{End, FORMAT, FileReader, Header, Kept, Origin, Trailer, check};
use crate::engine::Seq;
use flate2::Compression;
use flate2::write::GzEncoder;
use onrush_core::Time;
use onrush_core::ids::EventId;
use onrush_core::settings::Digest;
use onrush_sqlite::Lock;
use sha2::{Digest as _, Sha256};
use std::fs::{self, File, Permissions, TryLockError};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// A file that is being written, under another name than its own, and locked until it has that name
/// or is given up: what is buffered when a run is broken off reaches no other run's file. Errors are
/// sentences about it.
pub struct Draft {
    out: GzEncoder<BufWriter<File>>,
    hash: Sha256,
    decisions: u64,
    place: Place,
    // Let go last: what `out` has buffered is written before.
    lock: Lock,
}

/// Where a file is to be, and what of.
struct Place {
    target: PathBuf,
    origin: Origin,
    event: EventId,
    /// How many directories above it may have new entries.
    new_dirs: usize,
}

impl Place {
    /// Whether there is a file already that says what this one would.
    ///
    /// # Errors
    /// If there is one that says anything else: it is somebody's, or another history of the event.
    fn has(&self, kept: &Kept) -> Result<bool, String> {
        let Self { target, origin, event, .. } = self;
        if !target.exists() {
            return Ok(false);
        }
        let in_the_way = |why: String| format!("{why}; move it away, then try again");
        let mut there = FileReader::open(target).map_err(in_the_way)?;
        there.check_header(origin, event).map_err(in_the_way)?;
        if check(target, origin, event, kept).is_ok() {
            return Ok(true);
        }
        // One that is damaged is no history, and may be replaced.
        while let Ok(line) = there.next_line() {
            if line.is_none() {
                return Err(in_the_way("it is whole, and another history of the event".into()));
            }
        }
        Ok(false)
    }
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
        let io = |error: io::Error| format!("{}: {error}", draft_of(target).display());
        let dir = target.parent().unwrap_or(Path::new(""));
        let is_new = |dir: &&Path| *dir != Path::new("") && !dir.exists();
        let new_dirs = dir.ancestors().take_while(is_new).count();
        onrush_sqlite::make_dir(dir).map_err(io)?;
        let (file, lock) = locked(&draft_of(target))?;
        // Looked at under the lock: until then another run may have given a file this name.
        if target.exists() {
            let own = FileReader::open(target).and_then(|file| file.check_header(origin, event));
            own.map_err(|why| format!("{why}; move it away, then try again"))?;
        }
        let out = GzEncoder::new(BufWriter::with_capacity(1 << 16, file), Compression::default());
        let (target, origin, event) = (target.to_owned(), origin.clone(), event.clone());
        let journal = origin.identity.clone();
        let header = Header { onrush_archive: FORMAT, journal, event: event.clone(), archived_at };
        let header = serde_json::to_string(&header).map_err(|error| error.to_string())?;
        let place = Place { target, origin, event, new_dirs };
        let mut draft = Self { out, hash: Sha256::new(), decisions: 0, place, lock };
        draft.write(&format!("{header}\n"))?;
        Ok(draft)
    }

    fn io(&self, error: &io::Error) -> String {
        format!("{}: {error}", draft_of(&self.place.target).display())
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
        let Self { mut out, hash, decisions, place, lock } = self;
        let sha256 = Digest(hash.finalize().into());
        let trailer = Trailer { end: End { decisions, sha256 } };
        let trailer = serde_json::to_string(&trailer).map_err(|error| error.to_string())?;
        let mut end = || -> io::Result<()> {
            out.write_all(format!("{trailer}\n").as_bytes())?;
            out.try_finish()?;
            out.get_mut().flush()?;
            out.get_ref().get_ref().sync_all()
        };
        let ended = end();
        drop(out);
        ended.map_err(|error| format!("{}: {error}", draft_of(&place.target).display()))?;
        Ok(Drafted { decisions, sha256, place, _lock: lock })
    }
}

/// A file that is written, and has to be read back.
pub struct Drafted {
    decisions: u64,
    sha256: Digest,
    place: Place,
    _lock: Lock,
}

impl Drafted {
    /// Opens it again.
    ///
    /// # Errors
    /// Why it is not what was written.
    pub fn read_back(self) -> Result<ReadBack, String> {
        let file = FileReader::open(&draft_of(&self.place.target))?;
        file.check_header(&self.place.origin, &self.place.event)?;
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
    /// and how many bytes it has. One that says the same, left by a run that was broken off, stays.
    ///
    /// # Errors
    /// If it has more than was written. If there is a file of that name with another history. What the
    /// system says.
    pub fn publish(mut self, first: Seq, last: Seq) -> Result<(Kept, u64), String> {
        if self.file.next_line()?.is_some() {
            return Err("read back, it has more than was written".into());
        }
        let Drafted { decisions, sha256, place, _lock } = self.drafted;
        let kept = Kept { decisions, first, last, sha256 };
        let is_there = place.has(&kept)?;
        let Place { target, new_dirs, .. } = place;
        let publish = || -> io::Result<u64> {
            let draft = draft_of(&target);
            if is_there {
                fs::remove_file(&draft)?;
            } else {
                fs::rename(&draft, &target)?;
            }
            // The directory may be new in its own, and that in another.
            for dir in target.ancestors().skip(1).take(1 + new_dirs.max(1)) {
                let is_here = dir == Path::new("");
                File::open(if is_here { Path::new(".") } else { dir })?.sync_all()?;
            }
            Ok(fs::metadata(&target)?.len())
        };
        let bytes = publish().map_err(|error| error.to_string())?;
        Ok((kept, bytes))
    }
}

/// An empty file for its owner alone, which no other run writes to meanwhile. What was left of an
/// attempt that was broken off is taken over.
fn locked(draft: &Path) -> Result<(File, Lock), String> {
    let sentence = |why: &dyn std::fmt::Display| format!("{}: {why}", draft.display());
    let io = |error: io::Error| sentence(&error);
    let mut options = File::options();
    let options = options.write(true).create(true).truncate(false).mode(0o600);
    let file = options.open(draft).map_err(io)?;
    let lock = Lock::on(file.try_clone().map_err(io)?).map_err(|error| match error {
        TryLockError::WouldBlock => {
            sentence(&"another run is writing it; let that end, then try again")
        }
        TryLockError::Error(error) => io(error),
    })?;
    // Another run may have given it its name before it let the lock go.
    let (ours, there) = (file.metadata().map_err(io)?, fs::metadata(draft));
    if !there.is_ok_and(|there| (there.dev(), there.ino()) == (ours.dev(), ours.ino())) {
        return Err(sentence(&"another run has just ended it; try again"));
    }
    file.set_permissions(Permissions::from_mode(0o600)).map_err(io)?;
    file.set_len(0).map_err(io)?;
    Ok((file, lock))
}

/// The file as long as it was not read back.
fn draft_of(target: &Path) -> PathBuf {
    target.with_extension("gz.new")
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVENT: &str = "gala";

    fn origin() -> Origin {
        Origin { noun: "archive", identity: "ours".into() }
    }

    fn begin(target: &Path) -> Result<Draft, String> {
        Draft::begin(target, &origin(), &EVENT.parse().expect("an id"), Time(7))
    }

    /// Writes these lines, and gives the file its name.
    fn written(target: &Path, lines: &[&str]) -> Result<Kept, String> {
        let mut draft = begin(target)?;
        for line in lines {
            draft.decision(line)?;
        }
        let mut back = draft.end()?.read_back()?;
        for (line, seq) in lines.iter().zip(1..) {
            back.compare(Seq(seq), line)?;
        }
        back.publish(Seq(1), Seq(2)).map(|(kept, _)| kept)
    }

    fn is_whole(target: &Path, kept: &Kept) {
        check(target, &origin(), &EVENT.parse().expect("an id"), kept).expect("whole");
    }

    const LINES: [&str; 2] = ["{\"seq\":1}\n", "{\"seq\":2}\n"];

    #[test]
    fn run_that_stalls_keeps_others_off_and_harms_no_file_when_it_ends() {
        let dir = tempfile::tempdir().expect("a directory");
        let target = dir.path().join("new/er/gala.jsonl.gz");
        let mut stalled = begin(&target).expect("begun");
        stalled.decision(LINES[0]).expect("written");
        let refused = written(&target, &LINES).expect_err("it is being written");
        assert!(refused.contains("another run is writing it"), "{refused}");
        // A process that is just being started has all files of this one, for a moment.
        let inherited = stalled.out.get_ref().get_ref().try_clone().expect("another handle");
        drop(stalled);
        let kept = written(&target, &LINES).expect("the other run has ended");
        drop(inherited);
        is_whole(&target, &kept);
        assert_eq!(fs::read_dir(target.parent().expect("a directory")).expect("it").count(), 1);
    }

    #[test]
    fn draft_of_a_run_that_was_broken_off_is_taken_over_for_its_owner_alone() {
        let dir = tempfile::tempdir().expect("a directory");
        let target = dir.path().join("gala.jsonl.gz");
        fs::write(draft_of(&target), "half of something").expect("written");
        fs::set_permissions(draft_of(&target), Permissions::from_mode(0o644)).expect("set");
        let kept = written(&target, &LINES).expect("written anew");
        is_whole(&target, &kept);
        assert_eq!(fs::metadata(&target).expect("it").mode() & 0o777, 0o600);
    }

    #[test]
    fn file_with_another_history_of_the_event_is_not_replaced() {
        let dir = tempfile::tempdir().expect("a directory");
        let target = dir.path().join("gala.jsonl.gz");
        let kept = written(&target, &LINES).expect("written");
        let before = fs::read(&target).expect("it");
        let refused = written(&target, &["{\"seq\":3}\n"]).expect_err("another history");
        assert!(refused.contains("another history"), "{refused}");
        assert_eq!(fs::read(&target).expect("it"), before);
        // The same again, as after a crash before the rows went.
        assert_eq!(written(&target, &LINES), Ok(kept.clone()));
        is_whole(&target, &kept);
        assert!(!draft_of(&target).exists());
        // What is cut off is no history.
        fs::write(&target, &before[..before.len() - 12]).expect("cut off");
        assert_eq!(written(&target, &LINES), Ok(kept.clone()));
        is_whole(&target, &kept);
    }
}
