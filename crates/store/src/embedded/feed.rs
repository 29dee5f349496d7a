//! The feed: committed decisions in order, from memory where they are recent, else from the journal.

use super::progress::Listener;
use super::reader::{JournalReader, ReadError};
use super::shared::Shared;
use super::tail::{Found, PAGE};
use crate::engine::{Feed, FeedPage, Seq};
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

/// One reader of the feed.
pub(super) struct TailFeed {
    cursor: Seq,
    shared: Arc<Shared>,
    progress: Listener,
    dir: PathBuf,
    /// Open while the reader is far behind.
    reader: Option<JournalReader>,
}

impl TailFeed {
    pub(super) fn new(cursor: Seq, shared: Arc<Shared>, progress: Listener, dir: PathBuf) -> Self {
        Self { cursor, shared, progress, dir, reader: None }
    }

    async fn wait(&mut self) -> Result<Option<FeedPage>, String> {
        loop {
            // Looked at before the tail: what is committed after this look wakes us below.
            let progress = self.progress.look();
            if self.cursor > self.shared.committed() {
                let Seq(cursor) = self.cursor;
                return Err(format!(
                    "the journal has no decision {cursor} yet: the cursor is not of this journal"
                ));
            }
            let page = match self.shared.tail.after(self.cursor) {
                Found::Page(page) => {
                    self.reader = None;
                    page
                }
                Found::Gone => self.read().await?,
                Found::Nothing if progress.stopped => return Ok(None),
                Found::Nothing => {
                    if !self.progress.changed().await {
                        return Ok(None);
                    }
                    continue;
                }
            };
            if let Some(last) = page.last() {
                self.cursor = last.seq;
                return Ok(Some(page));
            }
        }
    }

    async fn read(&mut self) -> Result<FeedPage, String> {
        let reader = self.reader.take();
        let dir = self.dir.clone();
        let cursor = self.cursor;
        let read = move || -> Result<_, ReadError> {
            let mut reader = match reader {
                Some(reader) => reader,
                None => JournalReader::open_own(&dir)?,
            };
            Ok((reader.committed_page(cursor, PAGE)?, reader))
        };
        let read = if self.shared.without_threads {
            read()
        } else {
            tokio::task::spawn_blocking(read).await.map_err(|error| error.to_string())?
        };
        let (page, reader) = read.map_err(|error| {
            self.shared.heard(&error);
            error.to_string()
        })?;
        self.reader = Some(reader);
        Ok(page.into_iter().map(Arc::new).collect())
    }
}

impl Feed for TailFeed {
    fn next(
        &mut self,
    ) -> Pin<Box<dyn Future<Output = Result<Option<FeedPage>, String>> + Send + '_>> {
        Box::pin(self.wait())
    }
}
