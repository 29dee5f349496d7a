//! Files that come back from a backup for good: an operator accepts what is lost, and the sale goes
//! on. In some sales the ledger is an older one, or none, beside a journal that is whole; in others
//! the whole directory is of before.

use super::files;
use crate::chance::Chance;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// In how many sales of a hundred it happens, and how often in one at most.
const SALES_PERCENT: u32 = 30;
const MOST: u64 = 2;
/// How often a pause is used for it, in a hundred.
const PAUSES_PERCENT: u32 = 30;

/// What was put back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Loss {
    OlderLedger,
    NoLedger,
    /// Everything is of before.
    Directory,
}

impl Loss {
    /// What the files have, as a story tells it.
    pub(super) fn told(self) -> &'static str {
        match self {
            Self::OlderLedger => "have their ledger put back from a backup",
            Self::NoLedger => "have lost their ledger",
            Self::Directory => "are put back from a backup, all of them",
        }
    }
}

/// What one sale loses so.
pub(super) struct Losses {
    chance: Chance,
    left: u64,
    /// Whether it loses whole directories, and not ledgers.
    of_directories: bool,
    backup: Option<TempDir>,
    /// What was put back, if no start has gone through since.
    to_accept: Option<Loss>,
    accepted: u64,
    directories: u64,
}

/// Whether files may come back for good in the sale of a seed.
pub(super) fn may_lose(seed: u64) -> bool {
    drawn(seed).percent(SALES_PERCENT)
}

fn drawn(seed: u64) -> Chance {
    Chance::of(seed, "losses", 0)
}

impl Losses {
    pub(super) fn of(seed: u64, happen: bool) -> Self {
        let mut chance = drawn(seed);
        let left = if happen && chance.percent(SALES_PERCENT) { MOST } else { 0 };
        let of_directories = chance.percent(50);
        let (backup, to_accept, accepted, directories) = (None, None, 0, 0);
        Self { chance, left, of_directories, backup, to_accept, accepted, directories }
    }

    /// The draw is not to be lost: it would have to be held again, and nobody would.
    pub(super) fn keep_decisions(&mut self) {
        self.of_directories = false;
    }

    /// Nothing runs: a backup is made, or put back. Says what was put back.
    pub(super) fn pass(&mut self, dir: &Path) -> Option<Loss> {
        if self.left == 0 || self.to_accept.is_some() || !self.chance.percent(PAUSES_PERCENT) {
            return None;
        }
        let Some(backup) = self.backup.take_if(|_| self.chance.percent(70)) else {
            self.backup = Some(files::copy(dir));
            return None;
        };
        self.left -= 1;
        let loss = match self.chance.percent(30) {
            _ if self.of_directories => Loss::Directory,
            true => Loss::NoLedger,
            false => Loss::OlderLedger,
        };
        match loss {
            Loss::Directory => {
                fs::remove_dir_all(dir).expect("a directory can be removed");
                files::copy_into(backup.path(), dir);
            }
            Loss::OlderLedger => {
                files::remove(&dir.join("ledger.db-shm"));
                files::put_back(dir, backup.path(), "ledger.db");
            }
            Loss::NoLedger => {
                for end in ["", "-wal", "-shm"] {
                    files::remove(&dir.join(format!("ledger.db{end}")));
                }
            }
        }
        self.to_accept = Some(loss);
        Some(loss)
    }

    /// Whether the next start is to accept what is lost.
    pub(super) fn is_to_be_accepted(&self) -> bool {
        self.to_accept.is_some()
    }

    /// A start has gone through, and all sales are paused.
    pub(super) fn accept(&mut self) {
        self.accepted += 1;
        self.directories += u64::from(self.to_accept.take() == Some(Loss::Directory));
    }

    /// How often something was accepted.
    pub(super) fn accepted(&self) -> u64 {
        self.accepted
    }

    /// How often that was a whole directory, and with it decisions.
    pub(super) fn directories(&self) -> u64 {
        self.directories
    }
}
