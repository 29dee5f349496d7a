//! An archive that forgets: it costs nothing, so that what is measured is Redis.

use onrush_core::ids::EventId;
use onrush_store::Seq;
use onrush_store::redis::{Archive, ArchiveError, ArchivePending, Archived, Head, ToArchive};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use tokio::sync::watch;

/// Remembers only how far each event is archived.
pub(super) struct Forgetful {
    heads: Mutex<HashMap<EventId, Head>>,
    newest: watch::Sender<Seq>,
}

impl Forgetful {
    pub(super) fn new() -> Self {
        Self { heads: Mutex::default(), newest: watch::channel(Seq::default()).0 }
    }

    fn head_of(&self, event: &EventId) -> Head {
        let heads = self.heads.lock().unwrap_or_else(PoisonError::into_inner);
        heads.get(event).copied().unwrap_or_default()
    }
}

fn ready<T: Send + 'static>(value: T) -> ArchivePending<T> {
    Box::pin(std::future::ready(Ok::<T, ArchiveError>(value)))
}

impl Archive for Forgetful {
    fn append(&self, what: ToArchive) -> ArchivePending<()> {
        if let Some(last) = what.decisions.last() {
            let mut heads = self.heads.lock().unwrap_or_else(PoisonError::into_inner);
            let head = Head { epoch: what.epoch, seq: last.entry.seq, mark: last.mark };
            heads.insert(what.event, head);
        }
        ready(())
    }

    fn read(&self, _after: Seq, _limit: usize) -> ArchivePending<Vec<Archived>> {
        ready(Vec::new())
    }

    fn read_event(
        &self,
        _event: EventId,
        _after: Seq,
        _limit: usize,
    ) -> ArchivePending<Vec<Archived>> {
        ready(Vec::new())
    }

    fn head(&self, event: EventId) -> ArchivePending<Head> {
        ready(self.head_of(&event))
    }

    fn begin_epoch(&self, event: EventId, epoch: u64) -> ArchivePending<Head> {
        ready(Head { epoch: epoch + 1, ..self.head_of(&event) })
    }

    fn events(&self) -> ArchivePending<Vec<EventId>> {
        ready(Vec::new())
    }

    fn newest(&self) -> watch::Receiver<Seq> {
        self.newest.subscribe()
    }

    fn lease(&self, _name: String, _ttl_ms: u32) -> ArchivePending<Option<u64>> {
        ready(Some(1))
    }

    fn release(&self, _name: String) -> ArchivePending<()> {
        ready(())
    }
}
