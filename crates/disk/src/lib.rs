//! A disk for simulations. SQLite's files stay real files; what it writes to a directory that is
//! watched is remembered until a sync makes it durable.
//!
//! A power cut ([`Disk::cut`]) takes some of what was not synced, and tears writes. Before that a
//! disk can stop in the middle of anything ([`Disk::stop_after`]), or be full for a while. All
//! draws are the caller's, so one seed is one story.
//!
//! What is seen: writes, truncations, creations, deletions and syncs by SQLite, through a VFS that
//! passes everything on to SQLite's own (`shim.rs`). What others do to files in the directory is not.

mod pending;
#[expect(unsafe_code, reason = "SQLite's VFS is a table of C functions")]
mod shim;

use pending::Step;
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// Draws a number below the one it is handed, which is at least 1.
pub type Draw<'a> = &'a mut dyn FnMut(u32) -> u32;

/// The disks that are watched now.
static DISKS: Mutex<Vec<Weak<Disk>>> = Mutex::new(Vec::new());

/// Why nothing is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The disk has stopped: nothing reaches it any more.
    Stopped,
    /// The disk has no space.
    Full,
}

/// What a power cut left of what was not synced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cut {
    /// Steps that were not durable.
    pub steps: usize,
    /// Those of them that are gone as a whole.
    pub lost: usize,
    /// Writes of which a part is there.
    pub torn: usize,
}

#[derive(Default)]
struct State {
    /// What each file has had done to it since its last sync.
    pending: BTreeMap<PathBuf, Vec<Step>>,
    refusal: Option<Refusal>,
    /// How many steps are still done before the refusal.
    countdown: Option<(u32, Refusal)>,
    /// Files with this in their names are never synced, whatever is asked.
    unsynced: Option<String>,
    /// Every sync fails.
    refuses_syncs: bool,
    syncs: u64,
}

/// A directory whose SQLite files are on a disk that can fail. It is watched until this is dropped.
pub struct Disk {
    dir: PathBuf,
    state: Mutex<State>,
}

impl Disk {
    /// Watches a directory from now on. Connections that are open already are not seen.
    ///
    /// # Errors
    /// If the directory cannot be found.
    ///
    /// # Panics
    /// If SQLite takes no VFS.
    pub fn watch(dir: &Path) -> io::Result<Arc<Self>> {
        shim::install();
        // SQLite resolves links before it opens a file.
        let disk = Arc::new(Self { dir: dir.canonicalize()?, state: Mutex::default() });
        let mut disks = DISKS.lock().unwrap_or_else(PoisonError::into_inner);
        disks.retain(|disk| disk.strong_count() > 0);
        disks.push(Arc::downgrade(&disk));
        Ok(disk)
    }

    /// The disk that a file is on, if it is watched.
    fn of(file: &Path) -> Option<Arc<Self>> {
        let disks = DISKS.lock().unwrap_or_else(PoisonError::into_inner);
        let mut disks = disks.iter().filter_map(Weak::upgrade);
        disks.find(|disk| file.parent() == Some(&disk.dir))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nothing is written from now on, until [`Disk::go_on`].
    pub fn stop(&self) {
        self.state().refuse(Refusal::Stopped);
    }

    /// Does so many more steps, and then nothing, as if the power went in the middle of the next one.
    pub fn stop_after(&self, steps: u32) {
        self.state().countdown = Some((steps, Refusal::Stopped));
    }

    /// Does so many more steps; then writes find no space, until [`Disk::go_on`].
    pub fn fill_after(&self, steps: u32) {
        self.state().countdown = Some((steps, Refusal::Full));
    }

    /// Everything is done from now on.
    pub fn go_on(&self) {
        let mut state = self.state();
        (state.refusal, state.countdown, state.refuses_syncs) = (None, None, false);
    }

    /// Writes are done and every sync fails from now on, until [`Disk::go_on`]: as if a process ended
    /// between the two.
    pub fn refuse_syncs(&self) {
        self.state().refuses_syncs = true;
    }

    /// Why nothing is written now, if that is so.
    #[must_use]
    pub fn refusal(&self) -> Option<Refusal> {
        self.state().refusal
    }

    /// From now on the disk only says that it has synced files whose names have this in them.
    pub fn forget_syncs(&self, of: &str) {
        self.state().unsynced = Some(of.to_owned());
    }

    /// How often something was synced.
    #[must_use]
    pub fn syncs(&self) -> u64 {
        self.state().syncs
    }

    /// The power is cut: of what no sync has made durable, a part is gone. Nobody may have a file
    /// of the directory open.
    ///
    /// # Errors
    /// If files cannot be changed.
    ///
    /// # Panics
    /// If somebody has.
    pub fn cut(&self, draw: Draw<'_>) -> io::Result<Cut> {
        assert!(!shim::is_open(&self.dir), "nobody has a file open when the power is gone");
        let pending = std::mem::take(&mut self.state().pending);
        let mut cut = Cut::default();
        for (path, steps) in pending {
            cut.steps += steps.len();
            pending::undo(&path, &steps)?;
            pending::redo_some(&path, &steps, draw, &mut cut)?;
        }
        // The index of a log is shared memory.
        for file in fs::read_dir(&self.dir)? {
            let path = file?.path();
            if path.to_string_lossy().ends_with("-shm") {
                gone(&path)?;
            }
        }
        Ok(cut)
    }
}

impl State {
    fn refuse(&mut self, refusal: Refusal) {
        (self.refusal, self.countdown) = (Some(refusal), None);
    }

    /// Whether the next step is done. One that the power cut came into is half done: a disk may
    /// have any part of it.
    fn take_step(&mut self) -> Turn {
        if let Some(refusal) = self.refusal {
            return Turn::Refused(refusal);
        }
        match self.countdown {
            Some((0, refusal)) => {
                self.refuse(refusal);
                Turn::Last(refusal)
            }
            Some((left, refusal)) => {
                self.countdown = Some((left - 1, refusal));
                Turn::Done
            }
            None => Turn::Done,
        }
    }
}

/// What becomes of a step.
enum Turn {
    Done,
    /// The disk stops in the middle of it.
    Last(Refusal),
    Refused(Refusal),
}

/// What the VFS tells of.
impl Disk {
    /// Something is about to be done to a file.
    fn begin(&self, path: &Path, step: Step) -> Result<(), Refusal> {
        let mut state = self.state();
        let (remembered, outcome) = match state.take_step() {
            Turn::Done => (true, Ok(())),
            Turn::Last(refusal) => (refusal == Refusal::Stopped, Err(refusal)),
            Turn::Refused(refusal) => (false, Err(refusal)),
        };
        if remembered {
            state.pending.entry(path.to_owned()).or_default().push(step);
        }
        outcome
    }

    /// A file is to be durable. A file that was created makes its directory durable with it, as
    /// SQLite's own VFS does.
    fn sync(&self, path: &Path, directory: bool) -> Result<(), Refusal> {
        let mut state = self.state();
        match state.take_step() {
            Turn::Done => {}
            // A full disk can sync what it has.
            Turn::Last(Refusal::Full) | Turn::Refused(Refusal::Full) => {}
            Turn::Last(refusal) | Turn::Refused(refusal) => return Err(refusal),
        }
        if state.refuses_syncs {
            return Err(Refusal::Stopped);
        }
        let name = path.to_string_lossy();
        if state.unsynced.as_ref().is_some_and(|part| name.contains(part.as_str())) {
            return Ok(());
        }
        state.syncs += 1;
        state.pending.remove(path);
        if directory {
            state.sync_directory();
        }
        Ok(())
    }

    fn sync_directory(&self) {
        self.state().sync_directory();
    }
}

impl State {
    /// Files that are gone are gone for good.
    fn sync_directory(&mut self) {
        for steps in self.pending.values_mut() {
            let after = steps.iter().rposition(|step| matches!(step, Step::Deleted { .. }));
            if let Some(after) = after {
                steps.drain(..=after);
            }
        }
        self.pending.retain(|_, steps| !steps.is_empty());
    }
}

/// Removes a file that may be gone already.
fn gone(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}
