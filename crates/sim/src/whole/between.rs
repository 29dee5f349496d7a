//! What happens to files between two lives: a bit flips, parts come back from a backup, and a
//! version before wrote them. Flips and backups are tried on copies, so that the story goes on.

use super::files::{self, Facts};
use super::opening;
use crate::attempt::Quiet;
use crate::chance::Chance;
use onrush_audit::AuditArgs;
use onrush_core::Time;
use onrush_store::embedded::{Clock, ManualClock, Options};
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// What was tried between lives, and how it went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Between {
    /// Flipped bits with which the server does not start.
    pub flips_refused: u64,
    /// Flipped bits with which it starts, and everything is as it was.
    pub flips_harmless: u64,
    /// Flipped bits in the end of a log, of which nobody else had heard yet.
    pub flips_in_fresh_logs: u64,
    /// Flipped bits with which it starts, and which the audit finds.
    pub flips_audited: u64,
    /// Flipped bits within a row, which nothing notices (docs/reliability.md).
    pub flips_in_rows: u64,
    /// Backups of which a part was put back.
    pub restores: u64,
    /// Those of them with which the server does not start.
    pub restores_refused: u64,
    /// Ledgers and directories that were put back or lost for good, and accepted.
    pub losses: u64,
    /// Starts on files that a version before wrote.
    pub upgrades: u64,
}

impl Between {
    /// Adds the counts of another run.
    pub fn add(&mut self, other: Self) {
        self.flips_refused += other.flips_refused;
        self.flips_harmless += other.flips_harmless;
        self.flips_in_fresh_logs += other.flips_in_fresh_logs;
        self.flips_audited += other.flips_audited;
        self.flips_in_rows += other.flips_in_rows;
        self.restores += other.restores;
        self.restores_refused += other.restores_refused;
        self.losses += other.losses;
        self.upgrades += other.upgrades;
    }
}

/// What is tried.
#[derive(Clone, Copy)]
pub(super) struct Tries {
    pub(super) flips: bool,
    pub(super) restores: bool,
    pub(super) upgrades: bool,
}

/// What is kept from one pause to the next.
#[derive(Default)]
pub(super) struct Pauses {
    backup: Option<TempDir>,
    pub(super) counts: Between,
    pub(super) violations: Vec<String>,
}

/// A part of a directory that is not of the same moment as the rest.
#[derive(Clone, Copy, Debug)]
enum Restore {
    /// The journal comes from the backup.
    Journal,
    /// The ledger comes from the backup.
    Ledger,
    /// The journal was copied without its log.
    JournalWithoutLog,
    /// The ledger was copied without its log.
    LedgerWithoutLog,
    NoWitness,
    NoKeys,
    NoLedger,
    /// Everything comes from the backup.
    Whole,
}

const RESTORES: [Restore; 8] = [
    Restore::Journal,
    Restore::Ledger,
    Restore::JournalWithoutLog,
    Restore::LedgerWithoutLog,
    Restore::NoWitness,
    Restore::NoKeys,
    Restore::NoLedger,
    Restore::Whole,
];

impl Pauses {
    /// The server is not running. What is found is told in `said`.
    pub(super) async fn pass(
        &mut self,
        dir: &Path,
        tries: Tries,
        chance: &mut Chance,
        said: &mut Vec<String>,
    ) {
        if tries.flips && chance.percent(15) {
            said.push(self.flip(dir, chance).await);
        }
        if tries.restores {
            if let Some(backup) = self.backup.take_if(|_| chance.percent(20)) {
                said.push(self.restore(dir, backup.path(), chance).await);
            }
            // Nobody makes a backup of a server that was never there.
            let has_begun = dir.join("engine.db").exists();
            if self.backup.is_none() && has_begun && chance.percent(30) {
                // After a kill this is what a snapshot of a file system has of a running server.
                self.backup = Some(files::copy(dir));
            }
        }
        if tries.upgrades && chance.percent(5) && files::age(dir, chance) {
            self.counts.upgrades += 1;
            said.push("were written by a version before".into());
        }
    }

    /// What is kept is of another past than what is there from now on.
    pub(super) fn forget_backup(&mut self) {
        self.backup = None;
    }

    /// A bit flips in what is at rest: the server must not start, or go on as if nothing were.
    async fn flip(&mut self, dir: &Path, chance: &mut Chance) -> String {
        // The rules stop at what no journal of theirs has, and a start tells that as damage.
        let _quiet = Quiet::begin();
        let copy = files::copy(dir);
        let Some((name, at)) = flip_a_bit(copy.path(), chance) else { return "are empty".into() };
        let flipped = files::copy(copy.path());
        let outcome = start(copy.path(), false).await;
        let where_ = format!("have a bit flipped in {name}");
        if outcome.is_err() {
            self.counts.flips_refused += 1;
            return format!("{where_}: the server does not start");
        }
        let before = Facts::of(files::copy(dir).path());
        let after = Facts::of(files::copy(flipped.path()).path());
        let audit_finds_it = is_found_by_audit(flipped.path());
        let (before, after) = match (before, after) {
            (Ok(before), Ok(after)) => (before, after),
            // Rows from before the newest snapshot are read by the audit alone.
            (Ok(_), Err(_)) if audit_finds_it => {
                self.counts.flips_audited += 1;
                return format!("{where_}, which the audit finds");
            }
            (Err(why), _) | (_, Err(why)) => {
                self.violations.push(format!("{where_} at byte {at}: cannot be read: {why}"));
                return where_;
            }
        };
        let differs = before.differs_from(&after);
        if differs.is_empty() {
            self.counts.flips_harmless += 1;
            return format!("{where_}, which harms nothing");
        }
        if name.ends_with("-wal") {
            // What SQLite drops from a log's end is noticed as soon as another file knew of it.
            self.counts.flips_in_fresh_logs += 1;
            if after.is_behind_others(&before) {
                self.violations
                    .push(format!("{where_} at byte {at}, which lost {differs:?} unseen"));
            }
            return format!("{where_}: its end is gone, of which nobody had heard");
        }
        if audit_finds_it {
            self.counts.flips_audited += 1;
            return format!("{where_}, which the audit finds");
        }
        self.counts.flips_in_rows += 1;
        if !before.has_rows_of(&after) {
            self.violations.push(format!("{where_} at byte {at}, which lost {differs:?} unseen"));
        }
        format!("{where_}, within a row")
    }

    /// A part of a directory comes from a backup: the server must not start before somebody
    /// accepts what is lost, and the audit must name it.
    async fn restore(&mut self, dir: &Path, backup: &Path, chance: &mut Chance) -> String {
        let restore = *chance.pick(&RESTORES);
        let copy = files::copy(dir);
        let at = copy.path();
        restore.put_into(at, backup);
        let said = format!("have a copy put back ({restore:?})");
        let now = Facts::of(files::copy(dir).path());
        let then = Facts::of(files::copy(at).path());
        self.counts.restores += 1;
        let refusal = start(at, false).await.err();
        self.counts.restores_refused += u64::from(refusal.is_some());
        let (now, then) = match (now, then) {
            (Ok(now), Ok(then)) => (now, then),
            // A file without its log need not be one that can be read. Rows from before the newest
            // snapshot are read by the audit alone.
            (Ok(_), Err(_))
                if refusal.is_some() || (restore.is_without_log() && is_found_by_audit(at)) =>
            {
                return format!("{said}, which is damage");
            }
            (Err(why), _) | (_, Err(why)) => {
                self.violations.push(format!("{said}: cannot be read: {why}"));
                return said;
            }
        };
        if refusal.is_none() {
            if restore.is_known_by_others(&now, &then, at) {
                self.violations.push(format!("{said}: the server starts all the same"));
            }
            return format!("{said}, and nobody can know");
        }
        match Facts::of(files::copy(at).path()) {
            Ok(refused) if then.differs_from(&refused).is_empty() => {}
            Ok(refused) => {
                let differs = then.differs_from(&refused);
                self.violations.push(format!("{said}: a refused start changed {differs:?}"));
            }
            Err(why) => self.violations.push(format!("{said}: cannot be read any more: {why}")),
        }
        self.audit(at, &said, &then, restore);
        match start(at, true).await {
            Ok(()) => {}
            // Pages that were on their way from the log into the file are in neither.
            Err(why) if restore.is_without_log() && why.contains("is damaged") => {
                return format!("{said}, which is damage");
            }
            Err(why) => self
                .violations
                .push(format!("{said} and is accepted: the server does not start: {why}")),
        }
        format!("{said}: the server does not start until that is accepted")
    }

    /// The audit must name each booking that the ledger has and the journal has not.
    fn audit(&mut self, at: &Path, said: &str, facts: &Facts, restore: Restore) {
        let lost: Vec<_> =
            facts.bookings_in_ledger.difference(&facts.bookings_in_journal).collect();
        let found = match onrush_audit::audit(&AuditArgs::of(at, true)) {
            Ok(report) => report.found,
            Err(why) if lost.is_empty() => vec![why],
            // The audit changes no file: an older one is brought up to date by a start, which is
            // where what was put back is told.
            Err(why) if why.contains("written by an older onrush") => return,
            // Pages that were on their way from the log into the file are in neither.
            Err(_) if restore.is_without_log() => return,
            Err(why) => {
                let why = why.replace(&*at.to_string_lossy(), "");
                self.violations.push(format!("{said}: the audit says only: {why}"));
                return;
            }
        };
        for booking in lost {
            if !found.iter().any(|sentence| sentence.contains(booking.as_str())) {
                self.violations.push(format!("{said}: the audit does not name {booking}"));
            }
        }
    }
}

/// Starts a server on a copy, and ends it at once.
async fn start(dir: &Path, accept_restored: bool) -> Result<(), String> {
    let clock = Clock::Manual(ManualClock::new(Time(1_796_119_200_000)));
    let options = Options { clock, accept_restored, ..Options::default() };
    // Where a copy is differs from run to run.
    let nameless = |why: String| why.replace(&*dir.to_string_lossy(), "");
    opening::open(dir, options).await.map(drop).map_err(nameless)
}

/// Flips one bit in one of the files; says which, and where.
fn flip_a_bit(dir: &Path, chance: &mut Chance) -> Option<(String, usize)> {
    let mut names: Vec<PathBuf> =
        fs::read_dir(dir).ok()?.flatten().map(|file| file.path()).collect();
    names.retain(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_ours = [".db", ".db-wal", ".json", ".jsonl"].iter().any(|end| name.ends_with(end));
        is_ours && fs::metadata(path).is_ok_and(|file| file.len() > 0)
    });
    names.sort();
    let path = chance.any_of(&names)?;
    let mut bytes = fs::read(path).ok()?;
    let at = chance.below(u32::try_from(bytes.len()).ok()?) as usize;
    bytes[at] ^= 1 << chance.below(8);
    fs::write(path, bytes).expect("files can be written");
    Some((path.file_name()?.to_string_lossy().into_owned(), at))
}

/// Whether the audit does not call this directory whole.
fn is_found_by_audit(dir: &Path) -> bool {
    onrush_audit::audit(&AuditArgs::of(dir, true)).map_or(true, |report| report.violations > 0)
}

impl Restore {
    fn put_into(self, dir: &Path, backup: &Path) {
        match self {
            Self::Journal => files::put_back(dir, backup, "engine.db"),
            Self::Ledger => files::put_back(dir, backup, "ledger.db"),
            Self::JournalWithoutLog => files::remove(&dir.join("engine.db-wal")),
            Self::LedgerWithoutLog => files::remove(&dir.join("ledger.db-wal")),
            Self::NoWitness => files::remove(&dir.join("witness.json")),
            Self::NoKeys => {
                fs::remove_dir_all(dir.join("keys")).expect("there are keys");
            }
            Self::NoLedger => {
                for end in ["", "-wal", "-shm"] {
                    files::remove(&dir.join(format!("ledger.db{end}")));
                }
            }
            Self::Whole => {
                fs::remove_dir_all(dir).expect("a copy can be removed");
                files::copy_into(backup, dir);
            }
        }
    }

    fn is_without_log(self) -> bool {
        matches!(self, Self::JournalWithoutLog | Self::LedgerWithoutLog)
    }

    /// Whether another file knows what the restored one does not.
    fn is_known_by_others(self, now: &Facts, then: &Facts, dir: &Path) -> bool {
        match self {
            Self::Journal | Self::JournalWithoutLog => {
                now.witnessed.max(now.followed) > then.decisions || then.has_later_snapshot(dir)
            }
            Self::Ledger | Self::LedgerWithoutLog => now.ledger_witnessed > then.followed,
            Self::NoWitness => then.is_witnessed,
            Self::NoKeys | Self::NoLedger => then.decisions > 0 && then.remembers_keys,
            Self::Whole => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::files::tests::open;
    use super::*;
    use tokio::runtime::Builder;

    /// A journal was put back beside a ledger of an older version, which the audit does not read.
    #[test]
    fn audit_asks_for_a_start_before_it_reads_an_older_ledger() {
        let dir = tempfile::tempdir().expect("a directory");
        open(dir.path());
        let mut pauses = Pauses::default();
        let mut lost = Facts::default();
        lost.bookings_in_ledger.insert("sale.1".into());
        pauses.audit(dir.path(), "now", &lost, Restore::Journal);
        assert_eq!(pauses.violations, ["now: the audit does not name sale.1"]);
        pauses.violations.clear();
        assert!(files::age(dir.path(), &mut Chance::of(1, "files", 0)));
        pauses.audit(dir.path(), "before", &lost, Restore::Journal);
        assert!(pauses.violations.is_empty(), "{:?}", pauses.violations);
    }

    /// An empty directory was put back as a backup, and the audit was to name what it lacked.
    #[test]
    fn backups_are_of_servers_that_have_begun() {
        let runtime = Builder::new_current_thread().build().expect("a runtime");
        let dir = tempfile::tempdir().expect("a directory");
        let (mut pauses, mut chance) = (Pauses::default(), Chance::of(1, "pauses", 0));
        let tries = Tries { flips: false, restores: true, upgrades: false };
        for _ in 0..40 {
            runtime.block_on(pauses.pass(dir.path(), tries, &mut chance, &mut Vec::new()));
            assert!(pauses.backup.is_none());
        }
        fs::write(dir.path().join("engine.db"), "").expect("a file can be written");
        while pauses.backup.is_none() {
            runtime.block_on(pauses.pass(dir.path(), tries, &mut chance, &mut Vec::new()));
        }
    }
}
