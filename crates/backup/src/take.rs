//! A backup of a data directory, of one moment.

use crate::check;
use crate::draft::Draft;
use crate::files;
use crate::stop::Stop;
use onrush_base::backup::{self, Manifest};
use onrush_ledger::sqlite::{self, HeldLedger};
use onrush_store::embedded::HeldJournal;
use onrush_terminal::show::say;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How long a moment is looked for at which nobody commits to the ledger. One is found within
/// milliseconds, unless something is wrong.
const PATIENCE: Duration = Duration::from_secs(30);
/// The longest rest between two pieces. Each is as long as the piece took, so that half of the disk
/// and of a processor is the sale's.
const LONGEST_REST: Duration = Duration::from_millis(100);
/// What a backup on the data's own disk leaves free, in bytes: twice what the server needs to take
/// new business (`low_disk_bytes`), as both logs grow while they are copied.
const LEFT_TO_THE_SALE: u64 = 512 << 20;
/// How far the process steps back behind others on the machine.
const NICENESS: i32 = 10;

/// What else was fixed at the moment.
struct Moment {
    /// How long the sandbox's file was, if there was one.
    sandbox_bytes: Option<u64>,
}

/// Takes a backup of `data` into the directory `to`.
pub(crate) fn take(data: &Path, to: &Path, version: &str) -> Result<Manifest, Stop> {
    // The sale comes first; where the system does not allow it, both are alike.
    let _ = rustix::process::setpriority_process(None, NICENESS);
    let journal = HeldJournal::open(data).map_err(Stop::because)?;
    let ledger = HeldLedger::open(data).map_err(|error| match error {
        sqlite::OpenError::Missing { path } => Stop::CouldNotRun(format!(
            "{}: it is missing, and a journal without its ledger is no backup. If the ledger is in \
             PostgreSQL, see docs/operating.md, \"Backup\"",
            path.display()
        )),
        sqlite::OpenError::Io { .. }
        | sqlite::OpenError::Locked { .. }
        | sqlite::OpenError::Foreign { .. }
        | sqlite::OpenError::Newer { .. }
        | sqlite::OpenError::Older { .. }
        | sqlite::OpenError::Damaged { .. }
        | sqlite::OpenError::Sqlite { .. } => Stop::because(error),
    })?;
    let draft = Draft::begin(to)?;
    is_outside(data, draft.dir())?;
    has_room(data, draft.dir())?;
    let begun = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let begun_ms = i64::try_from(begun.as_millis()).unwrap_or(i64::MAX);

    let sandbox = onrush_sandbox::file_in(&data.join("sandbox"));
    let moment = hold(&journal, &ledger, &sandbox, &mut || {})?;
    let end = journal.end().map_err(Stop::because)?;
    let position = ledger.position().map_err(Stop::because)?;
    let utc = |at_ms: i64| journal.utc(at_ms).map_err(Stop::because);
    let taken_at = utc(begun_ms)?;
    let decided_at = end.at.map(|at| utc(at.0)).transpose()?;
    let snapshot = journal.snapshot().map_err(Stop::because)?;
    let archive_files = journal.archive_files().map_err(Stop::because)?;
    let mut breathe = rests();
    let followed = position.journal.is_some().then_some(position.seq);
    journal.write_to(draft.dir(), followed, &mut breathe).map_err(written)?;
    journal.let_go().map_err(Stop::because)?;
    ledger.write_to(draft.dir(), &mut breathe).map_err(written)?;
    ledger.let_go().map_err(Stop::because)?;

    // They are written before what needs them is decided, and never changed into what does not fit:
    // later ones do as well. The book of the sandbox alone tells of payments, and has a length at the
    // moment.
    for path in files::beside_databases(data)? {
        let from = data.join(&path);
        let limit = match moment.sandbox_bytes {
            _ if from != sandbox => u64::MAX,
            None => continue,
            Some(bytes) => files::whole_lines(&sandbox, bytes).map_err(Stop::at(&sandbox))?,
        };
        files::copy(&from, &draft.dir().join(&path), limit, &mut breathe)?;
    }
    // An operator may keep them elsewhere: the sale needs none of them.
    for path in archive_files.iter().filter(|path| !draft.dir().join(path).exists()) {
        say(&format!(
            "warning: {path} is missing in {}, and is not in the backup: the history of its event is \
             nowhere else",
            data.display()
        ));
    }
    if let Some(file) = snapshot
        && let Some(name) = file.path.file_name()
    {
        // One that went meanwhile only made the start quicker.
        files::copy(&file.path, &draft.dir().join(name), u64::MAX, &mut breathe)?;
    }

    let looked = check::look_over(draft.dir()).map_err(|stop| match stop {
        Stop::CouldNotRun(why) => Stop::CouldNotRun(format!(
            "the copy would not start, so it is no backup; look after {}: {why}",
            data.display()
        )),
        other @ (Stop::Usage(_) | Stop::Violation(_)) => other,
    })?;
    let manifest = Manifest {
        onrush_backup: backup::FORMAT,
        version: version.to_owned(),
        taken_at,
        journal: looked.end.journal,
        decision: looked.end.seq.0,
        decided_at,
        followed: looked.followed,
        open_sagas: looked.totals.open_sagas,
        files: files::sums(draft.dir())?,
    };
    files::write(&draft.dir().join(backup::FILE), &manifest.text())?;
    draft.finish()?;
    Ok(manifest)
}

/// Holds journal and ledger, and the length of the sandbox's file, at one moment.
///
/// The ledger is held, then the journal. If nobody has committed to the ledger by then, both are as
/// they were when the journal was held; else it is tried again. `between` is called in the middle.
fn hold(
    journal: &HeldJournal,
    ledger: &HeldLedger,
    sandbox: &Path,
    between: &mut dyn FnMut(),
) -> Result<Moment, Stop> {
    let begun = Instant::now();
    loop {
        let commits = ledger.commits().map_err(Stop::because)?;
        ledger.hold().map_err(Stop::because)?;
        between();
        journal.hold().map_err(Stop::because)?;
        // What the ledger knows of payments was in that file before.
        let sandbox_bytes = fs::metadata(sandbox).ok().map(|there| there.len());
        if ledger.commits().map_err(Stop::because)? == commits {
            return Ok(Moment { sandbox_bytes });
        }
        journal.let_go().map_err(Stop::because)?;
        ledger.let_go().map_err(Stop::because)?;
        if begun.elapsed() > PATIENCE {
            return Err(Stop::CouldNotRun(
                "the ledger was written to without a pause for half a minute; try again".into(),
            ));
        }
    }
}

/// Rests after each piece, for as long as that took.
fn rests() -> impl FnMut() {
    let mut last = Instant::now();
    move || {
        thread::sleep(last.elapsed().min(LONGEST_REST));
        last = Instant::now();
    }
}

/// A backup in the data itself would be a part of the next one.
fn is_outside(data: &Path, draft: &Path) -> Result<(), Stop> {
    let real = |path: &Path| fs::canonicalize(path).map_err(Stop::at(path));
    if real(draft)?.starts_with(real(data)?) {
        let data = data.display();
        return Err(Stop::Usage(format!("{data}: the backup must not go into the data itself")));
    }
    Ok(())
}

/// Whether the disk has room, as far as that can be said now.
fn has_room(data: &Path, draft: &Path) -> Result<(), Stop> {
    let mut wanted = 0;
    for path in files::of_data(data)? {
        // What goes meanwhile needs no room.
        wanted += fs::metadata(data.join(path)).map_or(0, |there| there.len());
    }
    // A system that does not tell leaves it to the first write that fails.
    let Ok(disk) = rustix::fs::statvfs(draft) else { return Ok(()) };
    let device = |path: &Path| fs::metadata(path).map(|there| there.dev()).map_err(Stop::at(path));
    let kept = if device(data)? == device(draft)? { LEFT_TO_THE_SALE } else { 0 };
    enough(draft, wanted, kept, disk.f_bavail.saturating_mul(disk.f_frsize))
}

fn enough(draft: &Path, wanted: u64, kept: u64, free: u64) -> Result<(), Stop> {
    if wanted + kept <= free {
        return Ok(());
    }
    let mib = |bytes: u64| bytes.div_ceil(1 << 20);
    let sale = if kept > 0 {
        format!(", {} are left to the sale on the same disk", mib(kept))
    } else {
        String::new()
    };
    Err(Stop::CouldNotRun(format!(
        "{}: the backup takes up to {} MiB{sale}, and {} are free; make room, or name another disk",
        draft.display(),
        mib(wanted),
        mib(free)
    )))
}

/// Why a copy of a database could not be written.
fn written(error: impl std::fmt::Display) -> Stop {
    Stop::CouldNotRun(format!(
        "{error}; nothing is left of the backup. Look whether the disk is full"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use onrush_ledger::Ledger;
    use onrush_ledger::projection::FeedPosition;
    use onrush_ledger::sqlite::SqliteLedger;
    use onrush_store::embedded::{Embedded, Options};
    use std::io::Write;
    use tokio::runtime::Runtime;

    #[test]
    fn what_is_committed_between_the_two_files_has_them_held_anew() {
        let dir = tempfile::tempdir().expect("a directory");
        let runtime = Runtime::new().expect("a runtime");
        let _entered = runtime.enter();
        let engine = Embedded::open(dir.path(), Options::default()).expect("an engine");
        let ledger = SqliteLedger::open(dir.path()).expect("a ledger");
        let journal = HeldJournal::open(dir.path()).expect("a journal");
        let held = HeldLedger::open(dir.path()).expect("a ledger");
        let book = dir.path().join("book");
        fs::write(&book, "one\n").expect("written");
        let mut times = 0;
        let moment = hold(&journal, &held, &book, &mut || {
            times += 1;
            if times == 1 {
                let seq = FeedPosition { seq: 0, at: None, journal: Some("j".into()) };
                runtime.block_on(ledger.follow(seq)).expect("written");
                let mut book = fs::File::options().append(true).open(&book).expect("a file");
                book.write_all(b"two\n").expect("written");
            }
        });
        let moment = moment.expect("a moment");
        assert_eq!(times, 2);
        assert_eq!(moment.sandbox_bytes, Some(8));
        assert_eq!(held.position().expect("read").journal.as_deref(), Some("j"));

        // What is committed from now on is not seen.
        let seq = FeedPosition { seq: 0, at: None, journal: Some("k".into()) };
        runtime.block_on(ledger.follow(seq)).expect("written");
        assert_eq!(held.position().expect("read").journal.as_deref(), Some("j"));
        drop((engine, ledger));
    }

    #[test]
    fn a_disk_without_room_is_named_before_anything_is_copied() {
        let draft = Path::new("b.partial");
        let why = |wanted, kept| match enough(draft, wanted, kept, 5 << 20) {
            Err(Stop::CouldNotRun(why)) => why,
            other => panic!("{other:?}"),
        };
        assert_eq!(enough(draft, 5 << 20, 0, 5 << 20), Ok(()));
        let full = why((5 << 20) + 1, 0);
        assert!(full.contains("takes up to 6 MiB, and 5 are free"), "{full}");
        let shared = why(4 << 20, 2 << 20);
        let told = "takes up to 4 MiB, 2 are left to the sale on the same disk, and 5 are free";
        assert!(shared.contains(told), "{shared}");
    }
}
