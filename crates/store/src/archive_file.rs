//! Archive files: all decisions of an archived event in a file of its own, from an embedded engine's
//! journal or from a cluster's archive.
//!
//! `<event>.jsonl.gz` is JSON, line by line, compressed: a header, then for each decision a line with
//! its changes as they were kept, then a trailer with the number of decisions and the SHA-256 of all
//! text before it.

mod draft;
mod files;

pub use draft::{Draft, Drafted, ReadBack};
pub use files::Files;

use crate::engine::Seq;
use flate2::bufread::MultiGzDecoder;
use onrush_core::change::SaleChange;
use onrush_core::ids::EventId;
use onrush_core::settings::Digest;
use onrush_core::{Change, Time};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::path::Path;

/// The format of the files.
const FORMAT: u32 = 1;
/// How a file's name ends.
const ENDING: &str = ".jsonl.gz";
/// How much memory a line leaves to the next one, in bytes.
const KEPT_LINE: usize = 64 * 1_024;
/// How long a line may be: a decision of a hundred thousand seats has 20 MB. What is longer is none
/// of ours, and is not read into memory.
const MAX_LINE_BYTES: u64 = 256 << 20;

/// The name of an event's file.
#[must_use]
pub fn name_of(event: &EventId) -> String {
    format!("{event}{ENDING}")
}

/// The event whose file has this name.
#[must_use]
pub fn event_of(name: &str) -> Option<EventId> {
    name.strip_suffix(ENDING)?.parse().ok()
}

/// Where history was before it went into files.
#[derive(Clone, Debug)]
pub struct Origin {
    /// What it is, as sentences name it.
    pub noun: &'static str,
    /// Which one it is, as the files say.
    pub identity: String,
}

/// What is remembered of a file where its history was: it is that one and no other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// Decisions in it.
    pub decisions: u64,
    /// The first of them, which created the event.
    pub first: Seq,
    /// The last, which archived it.
    pub last: Seq,
    /// The SHA-256 of its text, but for the trailer.
    pub sha256: Digest,
}

/// How far archiving has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArchiveStep {
    /// An event's file is written under another name, and was not read back.
    Drafted(EventId),
    /// The file has its name, and is what was there before.
    Written(EventId),
    /// The event's changes are being taken out, and nothing of that is committed.
    Removing(EventId),
    /// The event's changes are in the file alone.
    Removed(EventId),
    /// The space that they took is free.
    Shrunk,
}

/// One event whose history went into a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ArchivedEvent {
    /// Which.
    pub event: EventId,
    /// Its decisions.
    pub decisions: u64,
    /// The length of its file.
    pub file_bytes: u64,
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

/// A decision in a file, as far as it counts for what happened.
#[derive(Deserialize)]
pub struct Decision {
    /// Its number among the decisions of all events.
    pub seq: Seq,
    /// When it was decided.
    pub at: Time,
    /// What changed.
    pub changes: Vec<Change>,
}

/// The line of a decision whose changes are the text `body`.
#[must_use]
pub fn line_of(seq: Seq, at: Time, body: &str) -> String {
    format!("{{\"seq\":{},\"at\":{},\"changes\":{body}}}\n", seq.0, at.0)
}

/// What a decision of a cluster has beside its number over all events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Own {
    /// The event's own number of it.
    pub seq: Seq,
    /// How often the event had been rebuilt.
    pub epoch: u64,
    /// Its mark, if it has one.
    pub mark: Option<u64>,
}

/// The same of a decision of a cluster.
#[must_use]
pub fn line_of_own(seq: Seq, at: Time, own: Own, body: &str) -> String {
    let Own { seq: Seq(own), epoch, mark } = own;
    let mark = mark.map_or("null".to_owned(), |mark| format!("\"{mark:016x}\""));
    let own = format!("{{\"seq\":{own},\"epoch\":{epoch},\"mark\":{mark}}}");
    format!("{{\"seq\":{},\"at\":{},\"own\":{own},\"changes\":{body}}}\n", seq.0, at.0)
}

/// What an event's first and last decision have to be, which stay where they are: when the file is
/// elsewhere, they say that the event was, and is archived.
///
/// # Errors
/// A sentence, if the changes `body` do not create, or archive, the event.
pub fn expect_end(body: &str, is_first: bool) -> Result<(), String> {
    let changes: Vec<Change> = serde_json::from_str(body)
        .map_err(|error| format!("a decision cannot be understood ({error})"))?;
    let is_it = if is_first {
        changes.first().is_some_and(Change::creates_event)
    } else {
        archives(&changes)
    };
    let which = if is_first { "first decision did not create" } else { "last did not archive" };
    if is_it { Ok(()) } else { Err(format!("the event's {which} it")) }
}

/// Whether these changes end with the event's being archived.
#[must_use]
pub fn archives(changes: &[Change]) -> bool {
    matches!(changes.last(), Some(Change::Sale(SaleChange::EventArchived { .. })))
}

/// A file that is being read. Errors are sentences about it.
pub struct FileReader {
    text: BufReader<MultiGzDecoder<BufReader<File>>>,
    header: Header,
    hash: Sha256,
    decisions: u64,
    line: String,
}

impl FileReader {
    /// Opens the file at `path`.
    ///
    /// # Errors
    /// Why it is none of ours.
    pub fn open(path: &Path) -> Result<Self, String> {
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
        // A seating plan has millions of bytes, and files of many events are read side by side.
        self.line.shrink_to(KEPT_LINE);
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

    /// Whether it is of this event, and of this origin.
    ///
    /// # Errors
    /// What it is of.
    pub fn check_header(&self, origin: &Origin, event: &EventId) -> Result<(), String> {
        if self.header.journal != origin.identity {
            return Err(format!("it is of another {}", origin.noun));
        }
        if self.header.event != *event {
            return Err(format!("it is of event {}", self.header.event));
        }
        Ok(())
    }

    /// The next decision's line; `None` at the end, if all before it is what was written.
    ///
    /// # Errors
    /// Why that is not so.
    pub fn next_line(&mut self) -> Result<Option<&str>, String> {
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
    ///
    /// # Errors
    /// As [`Self::next_line`].
    pub fn next_decision(&mut self) -> Result<Option<Decision>, String> {
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

/// Reads all of an event's file at `path`.
///
/// # Errors
/// Why it is not the one that is remembered, as a sentence.
pub fn check(path: &Path, origin: &Origin, event: &EventId, kept: &Kept) -> Result<(), String> {
    let mut file = FileReader::open(path)?;
    file.check_header(origin, event)?;
    while file.next_line()?.is_some() {}
    if (file.decisions, file.sha256()) != (kept.decisions, kept.sha256) {
        return Err(format!("it is whole, and not the one that the {} remembers", origin.noun));
    }
    Ok(())
}
