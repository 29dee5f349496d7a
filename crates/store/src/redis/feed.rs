//! The feed of all events, from the archive.

use super::archive::{Archive, ArchiveError};
use crate::engine::{Feed, FeedEntry, FeedPage, Seq};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::sleep;

/// Entries in one page at most.
const PAGE: usize = 1_024;
/// How long to wait for an archive that cannot be read before it is tried again.
const RETRY: Duration = Duration::from_millis(500);

/// One reader of the feed.
pub(super) struct ArchiveFeed {
    cursor: Seq,
    archive: Arc<dyn Archive>,
    newest: watch::Receiver<Seq>,
    stopped: watch::Receiver<bool>,
}

impl ArchiveFeed {
    pub(super) fn new(
        cursor: Seq,
        archive: Arc<dyn Archive>,
        stopped: watch::Receiver<bool>,
    ) -> Self {
        let newest = archive.newest();
        Self { cursor, archive, newest, stopped }
    }

    /// The next page; where there is none yet, it is waited for if the reader `waits_for_more`.
    async fn page(&mut self, waits_for_more: bool) -> Result<Option<FeedPage>, String> {
        loop {
            // Both are looked at before the archive: what comes after this look wakes us below.
            self.newest.mark_unchanged();
            let stopped = *self.stopped.borrow_and_update();
            match self.archive.read(self.cursor, PAGE).await {
                Ok(page) => {
                    if let Some(last) = page.last() {
                        self.cursor = last.number;
                        let numbered = page.into_iter().map(|archived| {
                            Arc::new(FeedEntry { seq: archived.number, ..archived.entry })
                        });
                        return Ok(Some(numbered.collect()));
                    }
                    if stopped || !waits_for_more {
                        return Ok(None);
                    }
                    tokio::select! {
                        // Without a sender nothing new will be known of.
                        changed = self.newest.changed() => if changed.is_err() { return Ok(None) },
                        _ = self.stopped.changed() => {}
                    }
                }
                Err(_) if stopped => return Ok(None),
                // Waiting does not help, and whoever reads here may have a turn that another node could use.
                Err(error @ ArchiveError::Unreadable(_)) => return Err(error.to_string()),
                Err(error) => {
                    tracing::warn!(%error, "the feed waits for the archive");
                    tokio::select! {
                        () = sleep(RETRY) => {}
                        _ = self.stopped.changed() => {}
                    }
                }
            }
        }
    }
}

impl Feed for ArchiveFeed {
    fn next(
        &mut self,
    ) -> Pin<Box<dyn Future<Output = Result<Option<FeedPage>, String>> + Send + '_>> {
        Box::pin(self.page(true))
    }

    fn next_if_any(
        &mut self,
    ) -> Pin<Box<dyn Future<Output = Result<Option<FeedPage>, String>> + Send + '_>> {
        Box::pin(self.page(false))
    }
}
