//! What happened, told in sentences.

use onrush_base::auth::hex;
use sha2::{Digest, Sha256};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::time::Instant;

/// The story so far. Clones tell the same one.
#[derive(Clone)]
pub(super) struct Story {
    began: Instant,
    lines: Arc<Mutex<Vec<String>>>,
}

impl Story {
    pub(super) fn begin() -> Self {
        Self { began: Instant::now(), lines: Arc::default() }
    }

    /// Tells that somebody did something just now.
    pub(super) fn tell(&self, who: &str, what: impl AsRef<str>) {
        let ms = self.began.elapsed().as_millis();
        let line = format!("{:>7}.{:03}  {who}: {}", ms / 1_000, ms % 1_000, what.as_ref());
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    }

    pub(super) fn lines(&self) -> Vec<String> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The story and what is written down of it, as one number.
    pub(super) fn hash(&self, journal: &[u8]) -> String {
        let mut hash = Sha256::new();
        for line in self.lines() {
            hash.update(line);
            hash.update("\n");
        }
        hash.update(journal);
        hex(&hash.finalize())
    }
}
