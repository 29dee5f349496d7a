//! The disk under the server. It stops in the middle of a write, loses and tears what was not
//! synced, and is full for a while.
//!
//! SQLite's files are those of `onrush_disk`, which sees every write and sync. The rest is written
//! by the server itself, and dealt with here: the witness, which is overwritten without a sync, may
//! be as it was at any time since its last sync; a snapshot may have been cut short at any point.

use crate::chance::Chance;
use onrush_disk::{Cut, Disk, Refusal};
use onrush_store::embedded::Stepped;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// How a life ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The process is killed: what it wrote is there, synced or not.
    Process,
    /// The power goes: what was not synced may be gone.
    Power,
}

#[derive(Default)]
struct State {
    /// How the present life is about to end, or the one before ended.
    end: Option<End>,
    /// Whether the power may go just now.
    at_risk: bool,
    /// What the witness said since it was last synced, the newest last.
    witness: Vec<Vec<u8>>,
    /// What a snapshot was made of whose writing the power went in.
    torn_snapshot: Option<Torn>,
}

/// A snapshot that was being made.
struct Torn {
    /// The files that were there before.
    before: Vec<(PathBuf, Vec<u8>)>,
}

/// The disk.
pub(super) struct ServerDisk {
    disk: Arc<Disk>,
    dir: PathBuf,
    fails: bool,
    state: Mutex<State>,
    ends: Notify,
    cuts: AtomicU64,
    lost: AtomicU64,
}

impl ServerDisk {
    /// The disk under a directory. If it `fails`, power goes; files with names that have `unsynced`
    /// in them are never durable.
    pub(super) fn new(dir: &Path, fails: bool, unsynced: Option<&str>) -> Self {
        let disk = Disk::watch(dir).expect("the directory is there");
        if let Some(of) = unsynced {
            disk.forget_syncs(of);
        }
        Self {
            disk,
            dir: dir.to_owned(),
            fails,
            state: Mutex::default(),
            ends: Notify::new(),
            cuts: AtomicU64::new(0),
            lost: AtomicU64::new(0),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How often the power was cut, and how many writes were lost or torn by that.
    pub(super) fn counts(&self) -> (u64, u64) {
        (self.cuts.load(Ordering::Relaxed), self.lost.load(Ordering::Relaxed))
    }

    /// The power goes in what follows, one time in so many; never if that is 0.
    pub(super) fn begin_risk(&self, chance: &mut Chance, one_in: u32) {
        if !self.fails || one_in == 0 || self.disk.refusal().is_some() || chance.below(one_in) > 0 {
            return;
        }
        let steps = match chance.below(3) {
            0 => chance.below(3),
            1 => chance.below(12),
            _ => chance.below(60),
        };
        self.disk.stop_after(steps);
        self.state().at_risk = true;
    }

    /// What was at risk is done, or the power has gone in it: then true.
    pub(super) fn end_risk(&self) -> bool {
        let was_at_risk = std::mem::take(&mut self.state().at_risk);
        if was_at_risk && !self.has_stopped() {
            self.disk.go_on();
        }
        self.has_stopped()
    }

    /// Whether nothing reaches the disk any more.
    pub(super) fn has_stopped(&self) -> bool {
        self.disk.refusal() == Some(Refusal::Stopped)
    }

    /// Whether the disk is why a step failed. Then somebody is to end this life.
    pub(super) fn ends_life(&self) -> bool {
        let end = match self.disk.refusal() {
            Some(Refusal::Stopped) => End::Power,
            Some(Refusal::Full) => End::Process,
            None => return false,
        };
        self.state().end.get_or_insert(end);
        self.ends.notify_one();
        true
    }

    /// How the disk is about to end the present life, if it is.
    pub(super) fn end(&self) -> Option<End> {
        let has_stopped = self.has_stopped().then_some(End::Power);
        has_stopped.or(self.state().end)
    }

    /// Waits until the disk ends a life.
    pub(super) async fn ends(&self) -> End {
        loop {
            self.ends.notified().await;
            if let Some(end) = self.state().end {
                return end;
            }
        }
    }

    /// From now on nothing is written: this life is over.
    pub(super) fn stop(&self, end: End) {
        self.disk.stop();
        self.state().end = Some(end);
    }

    /// The disk is about to be full, unless something else is the matter already.
    pub(super) fn fill(&self, chance: &mut Chance) -> bool {
        let works = self.disk.refusal().is_none();
        if works {
            self.disk.fill_after(chance.below(20));
        }
        works
    }

    /// Everything is written again.
    pub(super) fn go_on(&self) {
        self.disk.go_on();
    }

    /// The witness was written durably.
    pub(super) fn witness_is_synced(&self) {
        self.state().witness.clear();
        self.look_at_witness();
    }

    /// The witness may have been overwritten.
    pub(super) fn look_at_witness(&self) {
        let Ok(says) = fs::read(self.witness_path()) else { return };
        let mut state = self.state();
        if !self.has_stopped() && state.witness.last() != Some(&says) {
            state.witness.push(says);
        }
    }

    fn witness_path(&self) -> PathBuf {
        self.dir.join("witness.json")
    }

    /// Has a snapshot made, in which the power goes now and then unless `is_calm`.
    ///
    /// # Errors
    /// What stands in the way of it.
    pub(super) fn snapshot(
        &self,
        steps: &Stepped,
        chance: &mut Chance,
        is_calm: bool,
    ) -> Result<(), String> {
        let goes = self.fails && !is_calm && chance.below(4) == 0;
        let before = if goes { snapshots(&self.dir) } else { Vec::new() };
        steps.snapshot()?;
        if goes {
            self.state().torn_snapshot = Some(Torn { before });
            self.disk.stop();
            self.ends_life();
        }
        Ok(())
    }

    /// A life is over and nobody has a file open any more. If the power went, what was not synced
    /// may be gone; gives back a sentence about it.
    pub(super) fn settle(&self, chance: &mut Chance) -> Option<String> {
        let (end, witness, torn) = {
            let mut state = self.state();
            let torn = state.torn_snapshot.take();
            (state.end.take(), std::mem::take(&mut state.witness), torn)
        };
        let mut said = None;
        if end == Some(End::Power) {
            let Cut { steps, lost, torn } =
                self.disk.cut(&mut |end| chance.below(end)).expect("files can be changed");
            self.cuts.fetch_add(1, Ordering::Relaxed);
            self.lost.fetch_add((lost + torn) as u64, Ordering::Relaxed);
            said = Some(format!(
                "of {steps} writes that were not synced, {lost} are gone and {torn} torn"
            ));
            if let Some(says) = chance.any_of(&witness) {
                fs::write(self.witness_path(), says).expect("files can be written");
            }
        }
        if let Some(torn) = torn {
            torn.tear(&self.dir, chance);
        }
        self.disk.go_on();
        // What a life says that is over does not end the next one.
        let mut state = self.state();
        (state.end, state.at_risk) = (None, false);
        said
    }
}

impl Torn {
    /// Leaves what a power cut may leave of a snapshot that is written aside, synced, renamed and
    /// synced again before older ones are removed.
    fn tear(self, dir: &Path, chance: &mut Chance) {
        let now = snapshots(dir);
        for (path, bytes) in &self.before {
            fs::write(path, bytes).expect("files can be written");
        }
        let is_new = |path: &PathBuf| self.before.iter().all(|(known, _)| known != path);
        let Some((path, bytes)) = now.into_iter().find(|(path, _)| is_new(path)) else { return };
        // It may have got its name, or none yet.
        if chance.below(3) > 0 {
            fs::remove_file(&path).expect("files can be removed");
            let length = u32::try_from(bytes.len() + 1).unwrap_or(u32::MAX);
            let there = chance.below(length) as usize;
            fs::write(dir.join("snapshot.new"), &bytes[..there]).expect("files can be written");
        }
    }
}

/// The snapshots of a directory, in order of their names.
fn snapshots(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let files = fs::read_dir(dir).into_iter().flatten().flatten().map(|file| file.path());
    let is_one = |path: &PathBuf| path.extension() == Some("jsonl".as_ref());
    let mut found: Vec<_> =
        files.filter(is_one).filter_map(|path| Some((fs::read(&path).ok()?, path))).collect();
    found.sort_by(|(_, one), (_, other)| one.cmp(other));
    found.into_iter().map(|(bytes, path)| (path, bytes)).collect()
}
