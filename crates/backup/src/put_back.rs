//! From a backup to a directory that a server can start on.

use crate::check;
use crate::draft::Draft;
use crate::files;
use crate::stop::Stop;
use onrush_base::backup::{self, BackupFile, Manifest};
use std::path::{Component, Path};

/// What SQLite leaves beside databases that somebody has read, an audit for instance. Nothing of it is
/// in a backup.
const LEFT_BY_READERS: [&str; 4] =
    ["engine.db-wal", "engine.db-shm", "ledger.db-wal", "ledger.db-shm"];

/// Puts the backup in `from` into the directory `to`, if every byte is what was written.
pub(crate) fn put_back(from: &Path, to: &Path) -> Result<Manifest, Stop> {
    let violation = |why: String| Stop::Violation(format!("{}: {why}", from.display()));
    let manifest = Manifest::read(from).map_err(Stop::Violation)?;
    let Some(manifest) = manifest else {
        return Err(if from.is_dir() {
            violation(format!(
                "it has no {}, so it is no whole backup; take another one",
                backup::FILE
            ))
        } else {
            Stop::Usage(format!("{}: there is no such directory", from.display()))
        });
    };
    // What somebody put there beside the backup's files would be taken for data by who expects it there.
    for path in files::all(from)? {
        let is_known = path == backup::FILE
            || LEFT_BY_READERS.contains(&path.as_str())
            || manifest.files.iter().any(|file| file.path == path);
        if !is_known {
            return Err(violation(format!(
                "{path} is not of this backup; move it away, or take another backup"
            )));
        }
    }
    let draft = Draft::begin(to)?;
    for file in &manifest.files {
        let BackupFile { path, bytes, sha256 } = file;
        if !Path::new(path).components().all(|part| matches!(part, Component::Normal(_))) {
            return Err(violation(format!("{path:?} is no path below it")));
        }
        let copied =
            files::copy(&from.join(path), &draft.dir().join(path), u64::MAX, &mut || Ok(()))?;
        match copied {
            None => return Err(violation(format!("{path} is missing; take another backup"))),
            Some((length, sum)) if length != *bytes || sum != *sha256 => {
                return Err(violation(format!(
                    "{path} is not what was written: it is damaged, or somebody changed it; take another \
                     backup"
                )));
            }
            Some(_) => {}
        }
    }
    let looked = check::look_over(draft.dir())?;
    let says = (manifest.journal.as_str(), manifest.decision, manifest.followed);
    if says != (looked.end.journal.as_str(), looked.end.seq.0, looked.followed) {
        return Err(violation("its manifest is of another moment than its files".into()));
    }
    // As long as this lies there, no server sells from it before somebody said so.
    files::write(&draft.dir().join(backup::FILE), &manifest.text())?;
    draft.finish()?;
    Ok(manifest)
}
