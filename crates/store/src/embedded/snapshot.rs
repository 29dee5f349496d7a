//! Snapshot files: the state at one decision, so that recovery need not begin at the first.
//!
//! `snapshot-<seq>.jsonl` is JSON, line by line: a header, then for each event a line with its id
//! and its rows, then a trailer with the number of rows and a checksum of everything before it.

use super::disk::{Need, Space};
use super::events::{Events, guarded};
use crate::engine::Seq;
use onrush_core::ids::EventId;
use onrush_core::snapshot::SnapshotRow;
use onrush_core::{Event, Time};
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;

/// The format of the files.
const FORMAT: u32 = 1;
/// How many files are kept: if the newest is damaged, there is one more.
const KEEP: usize = 2;
/// Rows are passed between threads in parcels of this size.
const PARCEL: usize = 4_096;
/// How much is written at a time, in bytes.
const PIECE: usize = 1 << 20;

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Header {
    onrush_snapshot: u32,
    seq: Seq,
    at: Time,
    events: Vec<EventId>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Trailer {
    rows: u64,
    crc32: u32,
}

/// One line after the header.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    /// The rows of this event follow.
    Event(EventId),
    Row(SnapshotRow),
    End(Trailer),
}

/// A snapshot file, by its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SnapshotFile {
    /// The last decision that is in it.
    pub seq: Seq,
    /// Where it is.
    pub path: PathBuf,
}

/// What a snapshot file says.
pub(super) struct Snapshot {
    pub(super) seq: Seq,
    pub(super) at: Time,
    pub(super) events: Events,
}

/// The snapshot files in `dir`, newest first.
pub(super) fn list(dir: &Path) -> io::Result<Vec<SnapshotFile>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        let seq = path
            .file_name()
            .and_then(|name| name.to_str())
            .and_then(|name| name.strip_prefix("snapshot-")?.strip_suffix(".jsonl")?.parse().ok());
        if let Some(seq) = seq {
            files.push(SnapshotFile { seq: Seq(seq), path });
        }
    }
    files.sort_unstable();
    files.reverse();
    Ok(files)
}

/// Whether there is room for one more: half as long again as the last one, beside what new business
/// needs. The journal goes first.
pub(super) fn has_room(dir: &Path, space: &Space) -> io::Result<bool> {
    let last = list(dir)?.into_iter().next();
    let last_bytes = last.map_or(Ok(0), |file| fs::metadata(file.path).map(|file| file.len()))?;
    Ok(space.is_enough_beside(last_bytes + last_bytes / 2, Need::Business))
}

/// Whether the rest of one that is being written may be written, too: others write beside it, and what
/// it takes is not known before.
pub(super) fn may_go_on(space: &Space) -> bool {
    space.is_enough_for(Need::Business)
}

/// Removes what was begun and never finished, if there is such a file.
pub(super) fn remove_draft(dir: &Path) -> io::Result<()> {
    match fs::remove_file(draft_in(dir)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

fn draft_in(dir: &Path) -> PathBuf {
    dir.join("snapshot.new")
}

/// Writes the state after decision `seq` beside the journal and removes all older files but one.
/// `may_go_on` is asked before each MiB. What cannot be written to its end is not left there: it may
/// have filled the disk.
pub(super) fn write(
    dir: &Path,
    seq: Seq,
    at: Time,
    events: &Events,
    may_go_on: &dyn Fn() -> bool,
) -> io::Result<SnapshotFile> {
    let path = dir.join(format!("snapshot-{}.jsonl", seq.0));
    let draft = draft_in(dir);
    let written = write_draft(&draft, seq, at, events, may_go_on);
    let written = written.and_then(|()| fs::rename(&draft, &path));
    if let Err(error) = written {
        drop(remove_draft(dir));
        return Err(error);
    }
    File::open(dir)?.sync_all()?;
    for old in list(dir)?.into_iter().skip(KEEP) {
        fs::remove_file(old.path)?;
    }
    Ok(SnapshotFile { seq, path })
}

fn write_draft(
    draft: &Path,
    seq: Seq,
    at: Time,
    events: &Events,
    may_go_on: &dyn Fn() -> bool,
) -> io::Result<()> {
    let file = Stoppable { inner: create_private(draft)?, may_go_on };
    let file = write_to(BufWriter::with_capacity(PIECE, file), seq, at, events)?;
    file.into_inner().map_err(io::IntoInnerError::into_error)?.inner.sync_all()
}

/// Writes the text of a snapshot, and gives back what it was written to.
pub(super) fn write_to<W: Write>(out: W, seq: Seq, at: Time, events: &Events) -> io::Result<W> {
    let mut file = Summed { inner: out, crc: crc32fast::Hasher::new() };
    let header = Header { onrush_snapshot: FORMAT, seq, at, events: events.ids() };
    file.line(&header)?;
    let mut rows = 0;
    for event in events.iter() {
        file.line(&Line::Event(event.id().clone()))?;
        for row in event.snapshot() {
            file.line(&Line::Row(row))?;
            rows += 1;
        }
    }
    let crc32 = file.crc.clone().finalize();
    file.line(&Line::End(Trailer { rows, crc32 }))?;
    Ok(file.inner)
}

/// Snapshots name people's bookings: they are for their owner alone, as the journal is.
fn create_private(path: &Path) -> io::Result<File> {
    File::options().write(true).create(true).truncate(true).mode(0o600).open(path)
}

/// Writes as long as it may.
struct Stoppable<'a, W> {
    inner: W,
    may_go_on: &'a dyn Fn() -> bool,
}

impl<W: Write> Write for Stoppable<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !(self.may_go_on)() {
            let why = "the disk has no room for the rest of it";
            return Err(io::Error::new(io::ErrorKind::StorageFull, why));
        }
        self.inner.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// Adds a checksum to what is written.
struct Summed<W> {
    inner: W,
    crc: crc32fast::Hasher,
}

impl<W: Write> Write for Summed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.crc.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl<W: Write> Summed<W> {
    fn line(&mut self, value: &impl Serialize) -> io::Result<()> {
        serde_json::to_writer(&mut *self, value)?;
        self.write_all(b"\n")
    }
}

/// What the reading thread passes on.
enum Parcel {
    Header(Header),
    Event(EventId),
    Rows(Vec<SnapshotRow>),
    /// Every line was read, and they are what was written.
    End,
}

/// Reads a snapshot.
///
/// # Errors
/// If it is not what was written, in a sentence.
pub(super) fn read(file: &SnapshotFile) -> Result<Snapshot, String> {
    let opened = File::open(&file.path).map_err(|error| error.to_string())?;
    read_from(BufReader::with_capacity(1 << 20, opened), file.seq)
}

/// Reads the text of the snapshot of decision `seq`. Lines are parsed on a thread of their own
/// beside the building of the state.
///
/// # Errors
/// As [`read`].
pub(super) fn read_from(text: impl BufRead + Send, seq: Seq) -> Result<Snapshot, String> {
    let (parcels, inbox) = mpsc::sync_channel(16);
    thread::scope(|scope| {
        let parser = scope.spawn(|| parse(text, parcels));
        let built = guarded(|| build(seq, inbox)).and_then(|built| built);
        // A parser that stopped says why; the builder only sees that something is missing.
        match parser.join() {
            Ok(Ok(())) => built,
            Ok(Err(why)) => Err(why),
            Err(_) => Err("reading it panicked".into()),
        }
    })
}

#[expect(clippy::needless_pass_by_value, reason = "the channel closes with the end of the thread")]
fn parse(mut file: impl BufRead, parcels: mpsc::SyncSender<Parcel>) -> Result<(), String> {
    let io = |error: io::Error| error.to_string();
    let json = |line: u64| move |error: serde_json::Error| format!("line {line}: {error}");
    // A builder that gave up says why; here there is nothing more to do.
    let pass =
        |parcel: Parcel| parcels.send(parcel).map_err(|_| "it does not fit together".to_owned());
    let mut crc = crc32fast::Hasher::new();
    let mut text = Vec::new();
    let mut number = 0;
    let mut rows = Vec::new();
    let mut row_count = 0;
    loop {
        text.clear();
        if file.read_until(b'\n', &mut text).map_err(io)? == 0 || text.last() != Some(&b'\n') {
            return Err(format!("it is cut off after line {number}"));
        }
        number += 1;
        if number == 1 {
            let header: Header = serde_json::from_slice(&text).map_err(json(number))?;
            if header.onrush_snapshot != FORMAT {
                return Err(format!("format {} is not known", header.onrush_snapshot));
            }
            pass(Parcel::Header(header))?;
            crc.update(&text);
            continue;
        }
        match serde_json::from_slice(&text).map_err(json(number))? {
            Line::Row(row) => {
                row_count += 1;
                rows.push(row);
                if rows.len() == PARCEL {
                    pass(Parcel::Rows(std::mem::take(&mut rows)))?;
                }
            }
            Line::Event(id) => {
                pass(Parcel::Rows(std::mem::take(&mut rows)))?;
                pass(Parcel::Event(id))?;
            }
            Line::End(trailer) => {
                pass(Parcel::Rows(std::mem::take(&mut rows)))?;
                if trailer.rows != row_count || trailer.crc32 != crc.finalize() {
                    return Err("its checksum is wrong".into());
                }
                return pass(Parcel::End);
            }
        }
        crc.update(&text);
    }
}

#[expect(clippy::needless_pass_by_value, reason = "the channel closes when building gives up")]
fn build(seq: Seq, inbox: mpsc::Receiver<Parcel>) -> Result<Snapshot, String> {
    let misplaced = || "its lines are out of order".to_owned();
    let Ok(Parcel::Header(header)) = inbox.recv() else { return Err(misplaced()) };
    if header.seq != seq {
        return Err(format!("it is of decision {}", header.seq.0));
    }
    let mut events = Events::default();
    let mut next = inbox.recv();
    loop {
        match next {
            Ok(Parcel::Rows(rows)) if rows.is_empty() => next = inbox.recv(),
            Ok(Parcel::Event(id)) => {
                // The rows of one event end where something else begins.
                let mut follows = None;
                let rows = std::iter::from_fn(|| match inbox.recv() {
                    Ok(Parcel::Rows(rows)) => Some(rows),
                    other => {
                        follows = Some(other);
                        None
                    }
                });
                let event = Event::restore(id, rows.flatten())?;
                let id = event.id().clone();
                if events.find(&id).is_some() {
                    return Err(format!("event {id} is in it twice"));
                }
                events.insert(event);
                next = follows.ok_or_else(misplaced)?;
            }
            Ok(Parcel::End) => {
                if events.ids() != header.events {
                    return Err("it has not the events that it says".into());
                }
                return Ok(Snapshot { seq, at: header.at, events });
            }
            Ok(Parcel::Header(_) | Parcel::Rows(_)) | Err(_) => return Err(misplaced()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onrush_core::change::SetupChange;
    use onrush_core::settings::Settings;
    use std::cell::Cell;

    fn file_names(dir: &Path) -> Vec<String> {
        let files = fs::read_dir(dir).expect("it can be listed").map(|file| file.expect("a file"));
        files.map(|file| file.file_name().to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn what_cannot_be_finished_is_not_left_behind() {
        let dir = tempfile::tempdir().expect("a directory");
        // A directory of its name, with something in it: nothing can be given that name.
        fs::create_dir_all(dir.path().join("snapshot-7.jsonl/x")).expect("it is made");
        let written = write(dir.path(), Seq(7), Time(0), &Events::default(), &|| true);
        assert!(written.is_err(), "{written:?}");
        assert_eq!(file_names(dir.path()), ["snapshot-7.jsonl"]);
    }

    /// Events whose snapshot takes several pieces.
    fn many_events() -> Events {
        let mut events = Events::default();
        let settings = Settings::new(&"x".repeat(1_000), "EUR".parse().expect("a currency"));
        for n in 0..4 * PIECE / 1_000 {
            let mut event = Event::new(format!("e-{n}").parse().expect("an id"));
            let settings = Box::new(settings.clone());
            event.evolve(Time(0), &SetupChange::EventCreated { settings }.into());
            events.insert(event);
        }
        events
    }

    #[test]
    fn a_snapshot_ends_where_the_disk_fills_up_meanwhile_and_is_made_when_it_has_room_again() {
        let dir = tempfile::tempdir().expect("a directory");
        let (space, events) = (Space::of(1_000, 400), many_events());
        let looks = Cell::new(0);
        let fills_up = || {
            looks.set(looks.get() + 1);
            if looks.get() == 3 {
                space.set_free_bytes(399);
            }
            may_go_on(&space)
        };
        let written = write(dir.path(), Seq(7), Time(0), &events, &fills_up);
        let error = written.expect_err("it does not go on");
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        assert!(looks.get() >= 3, "{looks:?}");
        assert!(file_names(dir.path()).is_empty(), "{:?}", file_names(dir.path()));
        space.set_free_bytes(400);
        let written = write(dir.path(), Seq(7), Time(0), &events, &|| may_go_on(&space));
        assert_eq!(read(&written.expect("written")).map(|it| it.events.len()), Ok(events.len()));
    }

    #[test]
    fn a_snapshot_leaves_new_business_its_room() {
        let dir = tempfile::tempdir().expect("a directory");
        fs::write(dir.path().join("snapshot-7.jsonl"), [b' '; 100]).expect("it is written");
        let has_room = |free| has_room(dir.path(), &Space::of(free, 400)).expect("it can be read");
        assert_eq!([549, 550].map(has_room), [false, true]);
    }
}
