//! What a test's own thread logs.

use std::io;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use tracing::Dispatch;
use tracing::subscriber::{DefaultGuard, NoSubscriber, set_default};

/// Somebody else who listens, so that there are always two. Of a single one it is assumed that every
/// thread has it: what another test's thread says first would be kept from it for good.
static OTHER: LazyLock<Dispatch> = LazyLock::new(|| Dispatch::new(NoSubscriber::new()));

/// What is logged by the thread that began it.
#[derive(Clone, Debug, Default)]
pub struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    /// Keeps what this thread logs at `level` and above, until the guard is dropped.
    #[must_use]
    pub fn begin(level: tracing::Level) -> (Self, DefaultGuard) {
        LazyLock::force(&OTHER);
        let log = Self::default();
        let writer = log.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(level)
            .with_ansi(false)
            .with_writer(move || writer.clone())
            .finish();
        (log, set_default(subscriber))
    }

    /// All lines so far.
    #[must_use]
    pub fn text(&self) -> String {
        let bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// How often something was said.
    #[must_use]
    pub fn count(&self, said: &str) -> usize {
        self.text().matches(said).count()
    }
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
