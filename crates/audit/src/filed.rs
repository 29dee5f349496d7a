//! The history of a cluster's archived events in its place: from files, beside what is left of it in
//! the archive.

use onrush_core::ids::EventId;
use onrush_ledger::postgres::HistoryFile;
use onrush_store::archive_file::{Decision, FileReader, Files};
use onrush_store::{FeedEntry, Seq};
use std::collections::{BTreeMap, HashMap};

/// All decisions in their order, told one by one: those of the archive are brought, and what is in
/// files comes in between. Of events whose files are not read, one decision without changes is told.
pub(super) struct Filed<'a> {
    files: Option<&'a Files>,
    /// What the archive remembers, by event.
    remembered: HashMap<&'a EventId, &'a HistoryFile>,
    /// The next decision of each file that is open, by number.
    next: BTreeMap<Seq, (EventId, Decision, FileReader)>,
}

impl<'a> Filed<'a> {
    pub(super) fn new(files: Option<&'a Files>, remembered: &'a [HistoryFile]) -> Self {
        let remembered = remembered.iter().map(|file| (&file.event, file)).collect();
        Self { files, remembered, next: BTreeMap::new() }
    }

    /// Tells what comes before the archive's decision, and that one.
    pub(super) fn tell(
        &mut self,
        entry: &FeedEntry,
        note: &mut dyn FnMut(&FeedEntry),
    ) -> Result<(), String> {
        self.tell_before(entry.seq, note)?;
        note(entry);
        let FeedEntry { seq, at, event, .. } = entry;
        match self.remembered.get(event) {
            Some(file) if file.first == seq.0 && file.decisions > 2 => match self.open(event)? {
                Some(reader) => self.read_on(event.clone(), reader)?,
                None => {
                    let (event, changes) = (event.clone(), Vec::new());
                    note(&FeedEntry { seq: *seq, at: *at, event, changes });
                }
            },
            Some(_) | None => {}
        }
        Ok(())
    }

    /// Tells what comes before this number and is in files.
    pub(super) fn tell_before(
        &mut self,
        seq: Seq,
        note: &mut dyn FnMut(&FeedEntry),
    ) -> Result<(), String> {
        while let Some(first) = self.next.first_entry()
            && *first.key() < seq
        {
            let (event, Decision { seq, at, changes }, reader) = first.remove();
            let entry = FeedEntry { seq, at, event, changes };
            note(&entry);
            self.read_on(entry.event, reader)?;
        }
        Ok(())
    }

    /// An event's file after its first decision, which the archive has; `None` if it is not read.
    fn open(&self, event: &EventId) -> Result<Option<FileReader>, String> {
        let Some(files) = self.files else { return Ok(None) };
        let Some(mut reader) = files.of(event)? else { return Ok(None) };
        reader.next_line().map_err(|why| files.sentence(event, &why))?;
        Ok(Some(reader))
    }

    /// Takes a file's next decision up, unless the archive has it.
    fn read_on(&mut self, event: EventId, mut reader: FileReader) -> Result<(), String> {
        let (Some(files), Some(kept)) = (self.files, self.remembered.get(&event)) else {
            return Ok(());
        };
        let decision = reader.next_decision().map_err(|why| files.sentence(&event, &why))?;
        if let Some(decision) = decision.filter(|decision| decision.seq.0 < kept.last) {
            self.next.insert(decision.seq, (event, decision, reader));
        }
        Ok(())
    }
}
