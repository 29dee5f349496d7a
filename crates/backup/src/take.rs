//! A backup of a data directory, of one moment.

use crate::check;
use crate::draft::Draft;
use crate::files;
use crate::stop::Stop;
use onrush_base::backup::{self, Manifest};
use onrush_ledger::sqlite::{self, HeldLedger};
use onrush_store::embedded::{HeldJournal, is_served};
use std::fs;
use std::io::{self, ErrorKind};
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
/// What has to be free on the data's disk when a backup begins, beside the copy if that goes there,
/// too, in bytes: twice what the server needs to take new business (`low_disk_bytes`), as both logs
/// grow while they are copied.
const LEFT_TO_THE_SALE: u64 = 512 << 20;
/// With less free on the data's disk, in bytes, a backup under way ends: the server begins to refuse
/// there, by half as much again as `low_disk_bytes`. The logs begin anew once nobody holds them.
const NEEDED_BY_THE_SALE: u64 = 384 << 20;
/// How far the process steps back behind others on the machine.
const NICENESS: i32 = 10;

/// What else was fixed at the moment.
struct Moment {
    /// How long the sandbox's file was, if there was one.
    sandbox_bytes: Option<u64>,
}

/// Tells how many bytes are free on the disk that a path is on, where the system tells.
type Free<'a> = &'a dyn Fn(&Path) -> Option<u64>;

/// Takes a backup of `data` into the directory `to`; what is wrong with archive files, too.
pub(crate) fn take(data: &Path, to: &Path, version: &str) -> Result<(Manifest, Vec<String>), Stop> {
    let free = |path: &Path| {
        let disk = rustix::fs::statvfs(path).ok()?;
        Some(disk.f_bavail.saturating_mul(disk.f_frsize))
    };
    take_while(data, to, version, &free)
}

/// The same, as long as the data's disk has room for the sale.
fn take_while(
    data: &Path,
    to: &Path,
    version: &str,
    free: Free<'_>,
) -> Result<(Manifest, Vec<String>), Stop> {
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
    // Without a sale, or once nobody holds its logs, a copy on another disk leaves the data's alone.
    let is_one_disk = device(data)? == device(draft.dir())?;
    let untold = |_: &Path| -> Option<u64> { None };
    let of_copies: Free<'_> = if is_one_disk { free } else { &untold };
    let of_sale = if is_served(data) { free } else { of_copies };
    has_room(data, draft.dir(), is_one_disk, (free, of_sale))?;
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
    let mut breathe = rests(data, of_sale);
    let followed = position.journal.is_some().then_some(position.seq);
    journal.write_to(draft.dir(), followed, &mut breathe).map_err(written)?;
    journal.let_go().map_err(Stop::because)?;
    ledger.write_to(draft.dir(), &mut breathe).map_err(written)?;
    ledger.let_go().map_err(Stop::because)?;
    let mut breathe = rests(data, of_copies);

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
    // While it is a draft: whoever waits for its name may take it away.
    let found = check::look_at_archive(draft.dir())?;
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
    Ok((manifest, found))
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

/// Rests after each piece, for as long as that took. Says stop when the data's disk runs low: what is
/// sold while both logs are held is in them until they are let go.
fn rests(data: &Path, free: Free<'_>) -> impl FnMut() -> io::Result<()> {
    let mut last = Instant::now();
    move || {
        thread::sleep(last.elapsed().min(LONGEST_REST));
        last = Instant::now();
        match free(data) {
            Some(free) if free < NEEDED_BY_THE_SALE => {
                let (free, data) = (free >> 20, data.display());
                let why = format!(
                    "it is not copied any further, as only {free} MiB are free on the disk of {data}, \
                     which the sale needs"
                );
                Err(io::Error::new(ErrorKind::StorageFull, why))
            }
            // A system that does not tell leaves it to the first write that fails.
            Some(_) | None => Ok(()),
        }
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

fn device(path: &Path) -> Result<u64, Stop> {
    fs::metadata(path).map(|there| there.dev()).map_err(Stop::at(path))
}

/// Whether both disks have room, as far as that can be said now: the copy's, and the sale's.
fn has_room(
    data: &Path,
    draft: &Path,
    is_one_disk: bool,
    free: (Free<'_>, Free<'_>),
) -> Result<(), Stop> {
    let mut wanted = 0;
    for path in files::of_data(data)? {
        // What goes meanwhile needs no room.
        wanted += fs::metadata(data.join(path)).map_or(0, |there| there.len());
    }
    have_room(data, draft, is_one_disk, wanted, free)
}

fn have_room(
    data: &Path,
    draft: &Path,
    is_one_disk: bool,
    wanted: u64,
    (free, of_sale): (Free<'_>, Free<'_>),
) -> Result<(), Stop> {
    let kept = if is_one_disk { LEFT_TO_THE_SALE } else { 0 };
    if let Some(free) = free(draft) {
        enough(draft, wanted, kept, free)?;
    }
    if !is_one_disk
        && let Some(free) = of_sale(data)
        && free < LEFT_TO_THE_SALE
    {
        return Err(Stop::CouldNotRun(format!(
            "{}: its disk has to have {} MiB free while a backup is taken beside a server, as what is \
             sold meanwhile stays in its logs, and {} are; make room there",
            data.display(),
            LEFT_TO_THE_SALE >> 20,
            free >> 20
        )));
    }
    Ok(())
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
    use onrush_core::settings::Settings;
    use onrush_core::spec::{Access, CategorySpec, SeatSpec};
    use onrush_core::{Command, ids};
    use onrush_ledger::Ledger;
    use onrush_ledger::projection::FeedPosition;
    use onrush_ledger::sqlite::SqliteLedger;
    use onrush_store::Engine;
    use onrush_store::embedded::{Embedded, Options};
    use std::cell::Cell;
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

    #[test]
    fn the_datas_disk_has_room_for_the_sale_wherever_the_backup_goes() {
        let (data, draft) = (Path::new("data"), Path::new("elsewhere/b.partial"));
        let room = |of_data: Option<u64>| {
            let free = |path: &Path| if path == data { of_data } else { Some(9 << 30) };
            have_room(data, draft, false, 1 << 30, (&free, &free))
        };
        assert_eq!(room(Some(LEFT_TO_THE_SALE)), Ok(()));
        assert_eq!(room(None), Ok(()), "the system does not tell");
        match room(Some(LEFT_TO_THE_SALE - 1)) {
            Err(Stop::CouldNotRun(why)) => {
                assert!(why.starts_with("data: its disk has to have 512 MiB free"), "{why}");
                assert!(why.ends_with("and 511 are; make room there"), "{why}");
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_backup_ends_where_the_datas_disk_runs_low_and_leaves_nothing() {
        let scratch = tempfile::tempdir().expect("a directory");
        let (data, to) = (scratch.path().join("data"), scratch.path().join("b"));
        let runtime = Runtime::new().expect("a runtime");
        let _entered = runtime.enter();
        let engine = Embedded::open(&data, Options::default()).expect("an engine");
        let ledger = SqliteLedger::open(&data).expect("a ledger");
        // A journal of some MiB.
        let event: ids::EventId = "hall".parse().expect("an id");
        let settings = Box::new(Settings::new("Hall", "EUR".parse().expect("a currency")));
        let seats = (0..20_000).map(|number| SeatSpec {
            seat: format!("seat-{number}").parse().expect("an id"),
            section: "x".repeat(100).into(),
            row: "1".into(),
            number: number.to_string().into(),
            category: "all".into(),
            rank: 0,
            aisle: true,
            access: Access::Anyone,
        });
        let categories = vec![CategorySpec { name: "all".into(), price_minor: 0 }];
        let seats = Command::AddSeats { categories, seats: seats.collect() };
        for command in [Command::CreateEvent { settings }, seats] {
            runtime.block_on(engine.execute(event.clone(), command)).expect("done");
        }

        let looks = Cell::new(0);
        let free = |path: &Path| {
            if path != data {
                return Some(u64::MAX);
            }
            looks.set(looks.get() + 1);
            Some(if looks.get() == 1 { NEEDED_BY_THE_SALE } else { NEEDED_BY_THE_SALE - 1 })
        };
        match take_while(&data, &to, "1", &free) {
            Err(Stop::CouldNotRun(why)) => {
                assert!(why.contains("only 383 MiB are free on the disk of"), "{why}");
                assert!(why.contains("nothing is left of the backup"), "{why}");
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(looks.get(), 2, "after the second MiB it ends");
        let left: Vec<_> = fs::read_dir(scratch.path()).expect("a directory").collect();
        assert_eq!(left.len(), 1, "the data alone: {left:?}");
        drop((engine, ledger));
    }
}
