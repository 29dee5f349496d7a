//! A directory that is written under another name and gets its own when it is whole.

use crate::stop::Stop;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// What stands behind the name of a directory that is not whole yet.
const UNFINISHED: &str = ".partial";

/// The directory; it goes again unless it is finished.
#[derive(Debug)]
pub(crate) struct Draft {
    target: PathBuf,
    dir: PathBuf,
    is_finished: bool,
}

impl Draft {
    /// Begins a directory, for its owner alone, that is to be `target`.
    pub(crate) fn begin(target: &Path) -> Result<Self, Stop> {
        let usage = |why: &str| Stop::Usage(format!("{}: {why}", target.display()));
        let (there, target_path) = match fs::canonicalize(target) {
            Ok(path) => (true, path),
            Err(error) if error.kind() == ErrorKind::NotFound => (false, target.to_owned()),
            Err(error) => return Err(Stop::at(target)(error)),
        };
        let name = target_path.file_name().ok_or_else(|| usage("name a directory below it"))?;
        let parent = match target_path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            Some(_) | None => Path::new("."),
        };
        let above = fs::metadata(parent).map_err(Stop::at(parent))?;
        if there {
            let found = fs::metadata(&target_path).map_err(Stop::at(target))?;
            if !found.is_dir() {
                return Err(usage("it is no directory; name one that is empty, or not there yet"));
            }
            if found.dev() != above.dev() {
                return Err(usage("a disk begins here; name a directory below it"));
            }
            if fs::read_dir(&target_path).map_err(Stop::at(target))?.next().is_some() {
                return Err(usage(
                    "it is not empty; name a directory that is, or is not there yet",
                ));
            }
        }
        let mut draft: OsString = name.to_owned();
        draft.push(UNFINISHED);
        let dir = parent.join(draft);
        match fs::DirBuilder::new().mode(0o700).create(&dir) {
            Ok(()) => Ok(Self { target: target_path, dir, is_finished: false }),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                Err(Stop::CouldNotRun(format!(
                    "{}: it is being written just now, or was broken off; delete it in the latter case",
                    dir.display()
                )))
            }
            Err(error) => Err(Stop::at(&dir)(error)),
        }
    }

    /// Where to write.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Gives it its name, durably.
    pub(crate) fn finish(mut self) -> Result<(), Stop> {
        sync_all(&self.dir)?;
        fs::rename(&self.dir, &self.target).map_err(Stop::at(&self.target))?;
        self.is_finished = true;
        let parent = self.dir.parent().unwrap_or(Path::new("."));
        sync(parent)
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if !self.is_finished {
            // What cannot be removed says by its name what it is.
            drop(fs::remove_dir_all(&self.dir));
        }
    }
}

/// Has the names in a directory, and in those below, be durable.
fn sync_all(dir: &Path) -> Result<(), Stop> {
    for entry in fs::read_dir(dir).map_err(Stop::at(dir))? {
        let path = entry.map_err(Stop::at(dir))?.path();
        if path.is_dir() {
            sync_all(&path)?;
        }
    }
    sync(dir)
}

fn sync(dir: &Path) -> Result<(), Stop> {
    File::open(dir).and_then(|dir| dir.sync_all()).map_err(Stop::at(dir))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draft_that_is_not_finished_leaves_nothing() {
        let parent = tempfile::tempdir().expect("a directory");
        let target = parent.path().join("b");
        let draft = Draft::begin(&target).expect("a draft");
        fs::write(draft.dir().join("a"), "a").expect("written");
        drop(draft);
        assert_eq!(fs::read_dir(parent.path()).expect("a directory").count(), 0);
    }

    #[test]
    fn a_draft_takes_the_place_of_an_empty_directory_only() {
        let parent = tempfile::tempdir().expect("a directory");
        let target = parent.path().join("b");
        fs::create_dir(&target).expect("made");
        let draft = Draft::begin(&target).expect("a draft");
        fs::write(draft.dir().join("a"), "a").expect("written");
        let second = Draft::begin(&target).expect_err("one at a time");
        assert!(
            matches!(&second, Stop::CouldNotRun(why) if why.contains("b.partial")),
            "{second:?}"
        );
        draft.finish().expect("finished");
        assert_eq!(fs::read(target.join("a")).expect("a file"), b"a");

        let full = Draft::begin(&target).expect_err("it is not empty");
        assert!(matches!(&full, Stop::Usage(why) if why.contains("not empty")), "{full:?}");
        let file = Draft::begin(&target.join("a")).expect_err("a file");
        assert!(matches!(&file, Stop::Usage(why) if why.contains("no directory")), "{file:?}");
        let nowhere = Draft::begin(&parent.path().join("c/d")).expect_err("nothing above it");
        assert!(matches!(nowhere, Stop::CouldNotRun(_)), "{nowhere:?}");
    }
}
