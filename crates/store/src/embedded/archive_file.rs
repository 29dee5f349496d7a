//! Archive files: all decisions of an archived event in a file of its own, and what the journal
//! remembers of it.
//!
//! `archive/<event>.jsonl.gz` is JSON, line by line, compressed: a header, then for each decision a
//! line with its changes as the journal had them, then a trailer with the number of decisions and
//! the SHA-256 of all text before it.

use super::database;
use super::reader::{JournalReader, ReadError};
use crate::engine::Seq;
use flate2::Compression;
use flate2::bufread::MultiGzDecoder;
use flate2::write::GzEncoder;
use onrush_core::ids::EventId;
use onrush_core::settings::Digest;
use onrush_core::{Change, Time};
use rusqlite::Connection;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The format of the files.
const FORMAT: u32 = 1;
/// How long a line may be: a decision of a hundred thousand seats has 20 MB. What is longer is none
/// of ours, and is not read into memory.
const MAX_LINE_BYTES: u64 = 256 << 20;
/// What the journal has in place of changes that are in a file.
pub(super) const BLANK: &str = "[]";
/// How the keys of such memos begin.
const PREFIX: &str = "archive/";

/// The directory of the files.
pub(super) fn dir_in(data: &Path) -> PathBuf {
    data.join("archive")
}

/// The name of an event's file below the data directory, which is what the journal remembers it by.
pub(super) fn name_of(event: &EventId) -> String {
    format!("{PREFIX}{event}.jsonl.gz")
}

/// What the journal remembers of a file: it is that one and no other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Kept {
    /// Decisions in it.
    pub(super) decisions: u64,
    /// The first of them, which created the event.
    pub(super) first: Seq,
    /// The last, which archived it.
    pub(super) last: Seq,
    /// The SHA-256 of its text, but for the trailer.
    pub(super) sha256: Digest,
}

/// Whose history is in a file.
pub(super) fn kept(connection: &Connection) -> rusqlite::Result<Vec<(EventId, Kept)>> {
    let mut select = connection
        .prepare("SELECT key, value FROM meta WHERE key GLOB 'archive/*' ORDER BY key")?;
    let mut rows = select.query([])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let key = row.get_ref(0)?.as_str()?;
        let event = key.strip_prefix(PREFIX).and_then(|name| name.strip_suffix(".jsonl.gz"));
        let event = event.and_then(|event| event.parse().ok());
        let kept = serde_json::from_str(row.get_ref(1)?.as_str()?).ok();
        found.extend(event.zip(kept));
    }
    Ok(found)
}

/// Whether the history of an event is in a file.
pub(super) fn is_kept(connection: &Connection, event: &EventId) -> rusqlite::Result<bool> {
    Ok(database::memo(connection, &name_of(event))?.is_some())
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Header {
    onrush_archive: u32,
    journal: String,
    event: EventId,
    archived_at: Time,
}

#[derive(Serialize, Deserialize)]
struct Trailer {
    end: End,
}

#[derive(Serialize, Deserialize)]
struct End {
    decisions: u64,
    sha256: Digest,
}

#[derive(Deserialize)]
struct Decision {
    seq: Seq,
    at: Time,
    changes: Vec<Change>,
}

/// The line of a decision whose changes are the text `body`.
pub(super) fn line_of(seq: Seq, at: Time, body: &str) -> String {
    format!("{{\"seq\":{},\"at\":{},\"changes\":{body}}}\n", seq.0, at.0)
}

/// A file that is being written.
pub(super) struct FileWriter {
    out: GzEncoder<BufWriter<File>>,
    hash: Sha256,
    decisions: u64,
}

impl FileWriter {
    /// Begins a file at `path`, for its owner alone.
    pub(super) fn begin(
        path: &Path,
        journal: &str,
        event: &EventId,
        archived_at: Time,
    ) -> io::Result<Self> {
        let mut options = File::options();
        let file = options.write(true).create(true).truncate(true).mode(0o600).open(path)?;
        let out = GzEncoder::new(BufWriter::with_capacity(1 << 16, file), Compression::default());
        let mut writer = Self { out, hash: Sha256::new(), decisions: 0 };
        let (journal, event) = (journal.to_owned(), event.clone());
        let header = Header { onrush_archive: FORMAT, journal, event, archived_at };
        let header = serde_json::to_string(&header)?;
        writer.write(&format!("{header}\n"))?;
        Ok(writer)
    }

    fn write(&mut self, line: &str) -> io::Result<()> {
        self.hash.update(line);
        self.out.write_all(line.as_bytes())
    }

    /// Adds the line of a decision.
    pub(super) fn decision(&mut self, line: &str) -> io::Result<()> {
        self.decisions += 1;
        self.write(line)
    }

    /// Ends the file, durably; gives the SHA-256 of its text.
    pub(super) fn end(mut self) -> io::Result<Digest> {
        let sha256 = Digest(self.hash.finalize().into());
        let trailer = Trailer { end: End { decisions: self.decisions, sha256 } };
        let trailer = serde_json::to_string(&trailer)?;
        self.out.write_all(format!("{trailer}\n").as_bytes())?;
        let file = self.out.finish()?.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.sync_all()?;
        Ok(sha256)
    }
}

/// A file that is being read. Errors are sentences about it.
pub(super) struct FileReader {
    text: BufReader<MultiGzDecoder<BufReader<File>>>,
    header: Header,
    hash: Sha256,
    decisions: u64,
    line: String,
}

impl FileReader {
    /// Opens the file at `path`.
    pub(super) fn open(path: &Path) -> Result<Self, String> {
        let file = File::open(path).map_err(|error| {
            let is_missing = error.kind() == ErrorKind::NotFound;
            if is_missing { "it is missing".to_owned() } else { error.to_string() }
        })?;
        let text = BufReader::new(MultiGzDecoder::new(BufReader::with_capacity(1 << 16, file)));
        let (event, journal) = ("none".parse().map_err(|_| "no id")?, String::new());
        let header = Header { onrush_archive: FORMAT, journal, event, archived_at: Time(0) };
        let (hash, line) = (Sha256::new(), String::new());
        let mut reader = Self { text, header, hash, decisions: 0, line };
        reader.read_line()?;
        let header: Header = serde_json::from_str(&reader.line)
            .map_err(|error| format!("it is no archive file ({error})"))?;
        if header.onrush_archive != FORMAT {
            return Err(format!(
                "format {} is not known; a newer onrush wrote it",
                header.onrush_archive
            ));
        }
        reader.hash.update(&reader.line);
        reader.header = header;
        Ok(reader)
    }

    fn read_line(&mut self) -> Result<(), String> {
        self.line.clear();
        let mut limited = self.text.by_ref().take(MAX_LINE_BYTES);
        if let Err(error) = limited.read_line(&mut self.line) {
            let is_cut_off = error.kind() == ErrorKind::UnexpectedEof;
            return Err(if is_cut_off { self.cut_off() } else { damaged(&error) });
        }
        if self.line.ends_with('\n') { Ok(()) } else { Err(self.cut_off()) }
    }

    fn cut_off(&self) -> String {
        format!("it is cut off after {} decisions", self.decisions)
    }

    /// Whether it is of this journal and this event.
    pub(super) fn check_header(&self, journal: &str, event: &EventId) -> Result<(), String> {
        if self.header.journal != journal {
            return Err("it is of another journal".into());
        }
        if self.header.event != *event {
            return Err(format!("it is of event {}", self.header.event));
        }
        Ok(())
    }

    /// The next decision's line; `None` at the end, if all before it is what was written.
    pub(super) fn next_line(&mut self) -> Result<Option<&str>, String> {
        self.read_line()?;
        if !self.line.starts_with("{\"end\"") {
            self.hash.update(&self.line);
            self.decisions += 1;
            return Ok(Some(&self.line));
        }
        let Trailer { end } = serde_json::from_str(&self.line)
            .map_err(|error| format!("its last line cannot be understood ({error})"))?;
        if (end.decisions, end.sha256) != (self.decisions, self.sha256()) {
            return Err("its checksum is wrong: it was changed, or damaged".into());
        }
        match self.text.read(&mut [0]) {
            Ok(0) => Ok(None),
            Ok(_) => Err("something follows its last line".into()),
            Err(error) => Err(damaged(&error)),
        }
    }

    /// The SHA-256 of what was read.
    fn sha256(&self) -> Digest {
        Digest(self.hash.clone().finalize().into())
    }

    /// The next decision; `None` at the end.
    fn next_decision(&mut self) -> Result<Option<Decision>, String> {
        match self.next_line()? {
            None => Ok(None),
            Some(line) => serde_json::from_str(line).map(Some).map_err(|error| {
                format!("decision {} in it cannot be understood ({error})", self.decisions)
            }),
        }
    }
}

fn damaged(error: &io::Error) -> String {
    format!("it is damaged ({error})")
}

/// Reads all of an event's file.
///
/// # Errors
/// Why it is not the one that the journal remembers, as a sentence.
pub(super) fn check(
    data: &Path,
    journal: &str,
    event: &EventId,
    kept: &Kept,
) -> Result<(), String> {
    let mut file = FileReader::open(&data.join(name_of(event)))?;
    file.check_header(journal, event)?;
    while file.next_line()?.is_some() {}
    if (file.decisions, file.sha256()) != (kept.decisions, kept.sha256) {
        return Err("it is whole, and not the one that the journal remembers".into());
    }
    Ok(())
}

/// The files of a data directory, read beside its journal in the order of decisions.
pub(super) struct Files {
    data: PathBuf,
    /// Files that are what the journal remembers.
    whole: HashSet<EventId>,
    open: HashMap<EventId, FileReader>,
}

impl std::fmt::Debug for Files {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Files").field("data", &self.data).finish_non_exhaustive()
    }
}

impl Files {
    /// Looks at every file that the journal remembers, and at the names of all others. Adds what is
    /// wrong with them to `found`, a sentence each; files at fault are not read later.
    pub(super) fn open(
        data: &Path,
        journal: &JournalReader,
        found: &mut Vec<String>,
    ) -> Result<Self, ReadError> {
        let identity = journal.identity()?.unwrap_or_default();
        let mut names = HashSet::new();
        let mut whole = HashSet::new();
        for (event, kept) in journal.archive_files()? {
            let name = name_of(&event);
            match check(data, &identity, &event, &kept) {
                Ok(()) => drop(whole.insert(event)),
                Err(why) => found.push(format!("{name}: {why}")),
            }
            names.insert(name);
        }
        for path in fs::read_dir(dir_in(data)).into_iter().flatten().flatten() {
            let name = format!("{PREFIX}{}", path.file_name().to_string_lossy());
            // One that has another ending is being written, or was broken off.
            if name.ends_with(".jsonl.gz")
                && !names.contains(&name)
                && is_foreign(&path.path(), &identity)
            {
                found.push(format!("{name}: the journal does not remember it"));
            }
        }
        Ok(Self { data: data.to_owned(), whole, open: HashMap::new() })
    }

    /// How many can be read.
    pub(super) fn len(&self) -> usize {
        self.whole.len()
    }

    /// The changes of a decision that the journal has no more; `None` if its file is at fault.
    pub(super) fn changes(
        &mut self,
        event: &EventId,
        seq: Seq,
        at: Time,
    ) -> Result<Option<Vec<Change>>, String> {
        if !self.whole.contains(event) {
            return Ok(None);
        }
        if !self.open.contains_key(event) {
            let file = FileReader::open(&self.data.join(name_of(event)))?;
            self.open.insert(event.clone(), file);
        }
        let Some(file) = self.open.get_mut(event) else { return Ok(None) };
        let name = name_of(event);
        while let Some(decision) = file.next_decision().map_err(|why| format!("{name}: {why}"))? {
            if decision.seq == seq && decision.at == at {
                return Ok(Some(decision.changes));
            }
            if decision.seq >= seq {
                break;
            }
        }
        Err(format!("{name}: it has not decision {}, as the journal has it", seq.0))
    }

    /// No more is read of an event's file: what follows is in the journal.
    pub(super) fn is_over(&mut self, event: &EventId) {
        self.open.remove(event);
    }
}

/// Whether a file that the journal does not remember is none that was just written for it: that one
/// is written again.
fn is_foreign(path: &Path, journal: &str) -> bool {
    FileReader::open(path).is_ok_and(|file| file.header.journal != journal)
}
