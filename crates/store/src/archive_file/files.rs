//! The files of a directory, read beside what is left where their history was.

use super::{ENDING, FileReader, Kept, Origin, check, name_of};
use crate::engine::Seq;
use onrush_core::ids::EventId;
use onrush_core::{Change, Time};
use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The files of a directory. Sentences about them begin with their names.
pub struct Files {
    dir: PathBuf,
    /// What their names begin with in sentences.
    prefix: String,
    /// Files that are what is remembered of them.
    whole: HashSet<EventId>,
    /// Files of which decisions are read one after the other.
    open: HashMap<EventId, FileReader>,
}

impl std::fmt::Debug for Files {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Files").field("dir", &self.dir).finish_non_exhaustive()
    }
}

impl Files {
    /// Looks at every file that is remembered, and at the names of all others in the directory. Adds
    /// what is wrong with them to `found`, a sentence each; files at fault are not read later.
    #[must_use]
    pub fn open(
        dir: &Path,
        prefix: &str,
        origin: &Origin,
        remembered: &[(EventId, Kept)],
        found: &mut Vec<String>,
    ) -> Self {
        let mut names = HashSet::new();
        let mut whole = HashSet::new();
        for (event, kept) in remembered {
            let name = name_of(event);
            match check(&dir.join(&name), origin, event, kept) {
                Ok(()) => drop(whole.insert(event.clone())),
                Err(why) => found.push(format!("{prefix}{name}: {why}")),
            }
            names.insert(name);
        }
        for path in fs::read_dir(dir).into_iter().flatten().flatten() {
            let name = path.file_name().to_string_lossy().into_owned();
            // One that has another ending is being written, or was broken off.
            let is_known = !name.ends_with(ENDING) || names.contains(&name);
            if !is_known && is_foreign(&path.path(), origin) {
                found.push(format!("{prefix}{name}: the {} does not remember it", origin.noun));
            }
        }
        Self { dir: dir.to_owned(), prefix: prefix.to_owned(), whole, open: HashMap::new() }
    }

    /// How many can be read.
    #[must_use]
    pub fn count(&self) -> usize {
        self.whole.len()
    }

    /// An event's file, from its first decision on; `None` if it is at fault.
    ///
    /// # Errors
    /// Why it cannot be opened.
    pub fn of(&self, event: &EventId) -> Result<Option<FileReader>, String> {
        if !self.whole.contains(event) {
            return Ok(None);
        }
        let file = FileReader::open(&self.dir.join(name_of(event)));
        file.map(Some).map_err(|why| self.sentence(event, &why))
    }

    /// A sentence about an event's file.
    #[must_use]
    pub fn sentence(&self, event: &EventId, why: &str) -> String {
        format!("{}{}: {why}", self.prefix, name_of(event))
    }

    /// The changes of a decision that are in the event's file alone; `None` if that is at fault.
    /// Decisions have to be asked for in their order.
    pub(crate) fn changes(
        &mut self,
        event: &EventId,
        seq: Seq,
        at: Time,
    ) -> Result<Option<Vec<Change>>, String> {
        if !self.open.contains_key(event) {
            let Some(file) = self.of(event)? else { return Ok(None) };
            self.open.insert(event.clone(), file);
        }
        let Some(file) = self.open.get_mut(event) else { return Ok(None) };
        loop {
            match file.next_decision() {
                Ok(Some(decision)) if decision.seq == seq && decision.at == at => {
                    return Ok(Some(decision.changes));
                }
                Ok(Some(decision)) if decision.seq < seq => {}
                Ok(_) => break,
                Err(why) => return Err(self.sentence(event, &why)),
            }
        }
        let why = format!("it has not decision {}, as the journal has it", seq.0);
        Err(self.sentence(event, &why))
    }

    /// No more is read of an event's file: what follows is in the journal.
    pub(crate) fn is_over(&mut self, event: &EventId) {
        self.open.remove(event);
    }
}

/// Whether a file that is not remembered is none that was just written: that one is written again.
fn is_foreign(path: &Path, origin: &Origin) -> bool {
    FileReader::open(path).is_ok_and(|file| file.header.journal != origin.identity)
}
