//! The sandbox's file: one line of JSON for each thing that happened, written before it is answered.
//!
//! Lines are not synced to the disk: they survive the end of the process, which is what tests need,
//! and not a power cut.

use super::book::{Book, Change};
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;
use tokio::sync::{mpsc, oneshot};

/// The file's name in the data directory.
const FILE: &str = "sandbox.jsonl";
/// Lines that are written at once, at most.
const BATCH: usize = 1_024;

/// Where the file is.
pub(super) fn path_in(dir: &Path) -> PathBuf {
    dir.join(FILE)
}

/// Lines on their way to the file.
struct Entry {
    lines: Vec<u8>,
    written: oneshot::Sender<()>,
}

/// The file could not be written, and nothing can be promised any more.
#[derive(Debug)]
pub(super) struct Gone;

/// The open file.
pub(super) struct Journal {
    open: Mutex<Option<Open>>,
}

struct Open {
    entries: mpsc::UnboundedSender<Entry>,
    writer: JoinHandle<()>,
}

impl Journal {
    /// Opens the file and reads what happened so far. A last line that was cut off was never
    /// answered, and goes.
    pub(super) fn open(dir: &Path) -> io::Result<(Self, Book)> {
        std::fs::create_dir_all(dir)?;
        let path = path_in(dir);
        let mut file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        file.try_lock().map_err(|_| {
            io::Error::new(io::ErrorKind::ResourceBusy, "another sandbox uses this directory")
        })?;
        let (book, length) = read(&file)?;
        file.set_len(length)?;
        file.seek(SeekFrom::Start(length))?;
        let (entries, queue) = mpsc::unbounded_channel();
        let writer = std::thread::Builder::new()
            .name("sandbox-journal".into())
            .spawn(move || write(file, queue))?;
        Ok((Self { open: Mutex::new(Some(Open { entries, writer })) }, book))
    }

    /// Reads what happened so far, also beside a running sandbox; `None` if there is no file.
    pub(super) fn look(dir: &Path) -> io::Result<Option<Book>> {
        match File::open(path_in(dir)) {
            Ok(file) => read(&file).map(|(book, _)| Some(book)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Puts changes into the line for the file. Whoever changes the book does it under the book's
    /// lock, so that the file has the book's order.
    pub(super) fn append(&self, changes: &[Change]) -> Written {
        let mut lines = Vec::with_capacity(changes.len() * 256);
        for change in changes {
            // Changes have text keys only, which always can be written.
            serde_json::to_writer(&mut lines, change).expect("a change can be written as JSON");
            lines.push(b'\n');
        }
        let (written, wait) = oneshot::channel();
        // If the writer is gone, the waiting one hears of it.
        if let Some(Open { entries, .. }) =
            &*self.open.lock().unwrap_or_else(PoisonError::into_inner)
        {
            let _ = entries.send(Entry { lines, written });
        }
        Written(wait)
    }

    /// Writes what there is and gives the file free, also for the next sandbox; what comes later is
    /// gone. A request whose caller hung up may still be at something, so this must not wait until
    /// the last one lets go.
    pub(super) fn close(&self) {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(Open { entries, writer }) = open {
            drop(entries);
            // A writer that panicked has said so.
            let _ = writer.join();
        }
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        self.close();
    }
}

/// Changes that will be in the file soon.
#[must_use]
pub(super) struct Written(oneshot::Receiver<()>);

impl Written {
    /// Waits until they are.
    pub(super) async fn wait(self) -> Result<(), Gone> {
        self.0.await.map_err(|_| Gone)
    }
}

fn write(mut file: File, mut queue: mpsc::UnboundedReceiver<Entry>) {
    let (mut batch, mut bytes) = (Vec::with_capacity(BATCH), Vec::new());
    while queue.blocking_recv_many(&mut batch, BATCH) > 0 {
        bytes.clear();
        for entry in &batch {
            bytes.extend_from_slice(&entry.lines);
        }
        if let Err(error) = file.write_all(&bytes) {
            tracing::error!(%error, "the sandbox's file cannot be written; nothing is answered any more");
            return;
        }
        for entry in batch.drain(..) {
            // Whoever waited may have gone.
            let _ = entry.written.send(());
        }
    }
    // Closing it would leave the lock to a process that was forked a moment ago and has not begun
    // its own program yet.
    if let Err(error) = file.unlock() {
        tracing::debug!(%error, "the sandbox's file stays locked until it is closed");
    }
}

/// The book as the file has it, and how many bytes of the file are whole lines.
fn read(file: &File) -> io::Result<(Book, u64)> {
    let (mut reader, mut book) = (BufReader::with_capacity(1 << 20, file), Book::default());
    let (mut line, mut length, mut number) = (Vec::new(), 0, 0_u64);
    loop {
        line.clear();
        let read = reader.read_until(b'\n', &mut line)?;
        if read == 0 || line.last() != Some(&b'\n') {
            return Ok((book, length));
        }
        number += 1;
        let change: Change = serde_json::from_slice(&line).map_err(|error| {
            io::Error::new(io::ErrorKind::InvalidData, format!("{FILE}, line {number}: {error}"))
        })?;
        book.apply(change);
        length += read as u64;
    }
}
