//! The files beside journal and ledger: keys, drawings, lists, the sandbox's book, a snapshot.

use crate::stop::Stop;
use onrush_base::auth::hex;
use onrush_base::backup::{self, BackupFile};
use sha2::{Digest, Sha256};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

/// How much is read at a time.
const CHUNK: usize = 1 << 20;
/// How names begin, in a data directory, of what copies of journal and ledger stand for, or what
/// means nothing without the process that made it. The shop's published keys are fetched anew: one
/// that was withdrawn since the backup shall not count again.
const LEFT_OUT: [&str; 9] = [
    "engine.",
    "ledger.",
    "witness.",
    "snapshot",
    backup::FILE,
    LOST_AND_FOUND,
    "restored-",
    "accepted.",
    "shop-keys.",
];
/// Where file systems of Linux put what a check of theirs finds; only root may look into it.
const LOST_AND_FOUND: &str = "lost+found";
/// How names end, in the data directory itself, of files that are being written.
const UNFINISHED: [&str; 3] = [".tmp", ".new", ".partial"];
/// How the names of seeds of draws begin; their events' ids follow, which may end in anything.
const SEED: &str = "seed-";

/// The paths of all files below `dir`, parts parted by `/`, in order.
pub(crate) fn all(dir: &Path) -> Result<Vec<String>, Stop> {
    let mut found = Vec::new();
    walk(dir, "", &|_| true, &mut found)?;
    found.sort_unstable();
    Ok(found)
}

/// The same of a data directory. What a file system keeps in its root is nobody's of ours.
pub(crate) fn of_data(data: &Path) -> Result<Vec<String>, Stop> {
    let mut found = Vec::new();
    walk(data, "", &|path| path != LOST_AND_FOUND, &mut found)?;
    found.sort_unstable();
    Ok(found)
}

/// The same without what is left out.
pub(crate) fn beside_databases(data: &Path) -> Result<Vec<String>, Stop> {
    let mut found = Vec::new();
    let wanted = |path: &str| {
        !LEFT_OUT.iter().any(|begin| path.starts_with(begin)) && !is_being_written(path)
    };
    walk(data, "", &wanted, &mut found)?;
    found.sort_unstable();
    Ok(found)
}

/// Whether a file gets this name before it is whole, from whoever writes files there. No other is left
/// out for its name's end: half a seed too many does no harm, and without its seed no draw is held.
fn is_being_written(path: &str) -> bool {
    match path.split_once('/') {
        None => UNFINISHED.iter().any(|end| path.ends_with(end)),
        Some(("keys", name)) => name.ends_with(".tmp") && !name.starts_with(SEED),
        Some(("plans", name)) => name.ends_with(".json.tmp"),
        Some(("archive", name)) => name.ends_with(".gz.new"),
        Some(_) => false,
    }
}

fn walk(
    dir: &Path,
    above: &str,
    wanted: &dyn Fn(&str) -> bool,
    found: &mut Vec<String>,
) -> Result<(), Stop> {
    for entry in fs::read_dir(dir).map_err(Stop::at(dir))? {
        let path = entry.map_err(Stop::at(dir))?.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
            return Err(Stop::CouldNotRun(format!(
                "{}: its name is no text (UTF-8), so it is none of ours; move it away",
                path.display()
            )));
        };
        let name = format!("{above}{name}");
        if !wanted(&name) {
            continue;
        }
        match fs::metadata(&path) {
            Ok(there) if there.is_dir() => walk(&path, &format!("{name}/"), wanted, found)?,
            Ok(there) if there.is_file() => found.push(name),
            Ok(_) => {}
            // It went meanwhile.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(Stop::at(&path)(error)),
        }
    }
    Ok(())
}

/// Makes a directory for its owner alone, with those above it.
pub(crate) fn make_dir(dir: &Path) -> Result<(), Stop> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(Stop::at(dir))
}

/// Copies a file durably, for its owner alone: its first `limit` bytes at most. Nothing is said of
/// one that is not there. `breathe` is called after each MiB; what it has against going on ends it.
pub(crate) fn copy(
    from: &Path,
    to: &Path,
    limit: u64,
    breathe: &mut dyn FnMut() -> io::Result<()>,
) -> Result<Option<(u64, String)>, Stop> {
    let source = match File::open(from) {
        Ok(source) => source,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Stop::at(from)(error)),
    };
    if let Some(above) = to.parent() {
        make_dir(above)?;
    }
    let mut options = OpenOptions::new();
    let made = options.write(true).create_new(true).mode(0o600).open(to);
    let mut copy = made.map_err(Stop::at(to))?;
    let mut write = |chunk: &[u8]| -> Result<(), Stop> {
        copy.write_all(chunk).map_err(Stop::at(to))?;
        copy.sync_data().map_err(Stop::at(to))?;
        breathe().map_err(Stop::at(to))
    };
    let summed = read(source.take(limit), &mut write, from)?;
    copy.sync_all().map_err(Stop::at(to))?;
    Ok(Some(summed))
}

/// The length and the SHA-256 of a file.
pub(crate) fn sum(path: &Path) -> Result<(u64, String), Stop> {
    let file = File::open(path).map_err(Stop::at(path))?;
    read(file, &mut |_| Ok(()), path)
}

fn read(
    mut from: impl Read,
    each: &mut dyn FnMut(&[u8]) -> Result<(), Stop>,
    path: &Path,
) -> Result<(u64, String), Stop> {
    let (mut hash, mut bytes, mut chunk) = (Sha256::new(), 0, vec![0; CHUNK]);
    loop {
        let length = match from.read(&mut chunk) {
            Ok(0) => return Ok((bytes, hex(&hash.finalize()))),
            Ok(length) => length,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(Stop::at(path)(error)),
        };
        hash.update(&chunk[..length]);
        each(&chunk[..length])?;
        bytes += length as u64;
    }
}

/// What each file below `dir` is.
pub(crate) fn sums(dir: &Path) -> Result<Vec<BackupFile>, Stop> {
    all(dir)?
        .into_iter()
        .map(|path| {
            let (bytes, sha256) = sum(&dir.join(&path))?;
            Ok(BackupFile { path, bytes, sha256 })
        })
        .collect()
}

/// How many bytes of a file that is only ever appended to are whole lines, of its first `limit`.
pub(crate) fn whole_lines(path: &Path, limit: u64) -> io::Result<u64> {
    let file = File::open(path)?;
    let (mut from, mut at, mut whole, mut chunk) = (file.take(limit), 0, 0, vec![0; CHUNK]);
    loop {
        let length = match from.read(&mut chunk) {
            Ok(0) => return Ok(whole),
            Ok(length) => length,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if let Some(last) = chunk[..length].iter().rposition(|byte| *byte == b'\n') {
            whole = at + last as u64 + 1;
        }
        at += length as u64;
    }
}

/// Writes a new file durably, for its owner alone.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), Stop> {
    let mut options = OpenOptions::new();
    let mut write = || {
        let mut file = options.write(true).create_new(true).mode(0o600).open(path)?;
        file.write_all(bytes)?;
        file.sync_all()
    };
    write().map_err(Stop::at(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_not_whole_is_not_copied() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("a");
        fs::write(&path, "one\ntwo\nthr").expect("written");
        for (limit, whole) in [(u64::MAX, 8), (8, 8), (7, 4), (3, 0), (0, 0)] {
            assert_eq!(whole_lines(&path, limit).expect("read"), whole, "{limit}");
        }
    }

    #[test]
    fn what_a_file_system_keeps_in_its_root_is_not_looked_into() {
        let dir = tempfile::tempdir().expect("a directory");
        for path in ["lost+found/its", "keys/ids.key"] {
            let path = dir.path().join(path);
            fs::create_dir(path.parent().expect("a directory")).expect("made");
            fs::write(path, "x").expect("written");
        }
        assert_eq!(of_data(dir.path()).expect("read"), ["keys/ids.key"]);
    }

    #[test]
    fn what_is_beside_the_databases_is_found_and_what_is_being_written_is_not() {
        let dir = tempfile::tempdir().expect("a directory");
        for name in ["keys", "keys/acme", "plans", "archive", "engine.d"] {
            fs::create_dir(dir.path().join(name)).expect("made");
        }
        let files = [
            "engine.db",
            "engine.db-wal",
            "engine.lock",
            "ledger.db",
            "ledger.lock",
            "witness.json",
            "snapshot-7.jsonl",
            "snapshot.new",
            "backup.json",
            "restored-7.json",
            "accepted.json",
            "shop-keys.json",
            "keys/ids.key",
            "keys/ids.key.17.tmp",
            "keys/acme/account.json.tmp",
            "keys/seed-gala.new",
            "keys/seed-gala.partial",
            "keys/seed-gala.tmp",
            "plans/plan-e.json",
            "plans/plan-e.json.tmp",
            "archive/gala.jsonl.gz.new",
            "new-thing",
            "of-somebody.partial",
        ];
        for name in files {
            fs::write(dir.path().join(name), name).expect("written");
        }
        let found = beside_databases(dir.path()).expect("read");
        let seeds = ["keys/seed-gala.new", "keys/seed-gala.partial", "keys/seed-gala.tmp"];
        let expected =
            ["keys/ids.key", seeds[0], seeds[1], seeds[2], "new-thing", "plans/plan-e.json"];
        assert_eq!(found, expected);
    }
}
