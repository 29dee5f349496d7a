//! One server for the tests of a binary that run at the same time.

use crate::need::NotStarted;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// A server that is started when a test first wants it and stopped when no test holds it any more.
///
/// A plain `static` server would outlive the last test, as statics are never dropped.
///
/// ```no_run
/// # use onrush_testkit::{Redis, Shared, need};
/// static REDIS: Shared<Redis> = Shared::new();
/// # fn main() {
/// let Some(redis) = need(REDIS.get(Redis::start)) else { return };
/// # }
/// ```
#[derive(Debug)]
pub struct Shared<T>(Mutex<Weak<T>>);

impl<T> Shared<T> {
    /// Starts nothing yet.
    #[must_use]
    pub const fn new() -> Self {
        Self(Mutex::new(Weak::new()))
    }

    /// The server that other tests use, or a new one.
    ///
    /// # Errors
    ///
    /// If it had to be started and was not.
    pub fn get(&self, start: impl FnOnce() -> Result<T, NotStarted>) -> Result<Arc<T>, NotStarted> {
        let mut running = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(server) = running.upgrade() {
            return Ok(server);
        }
        let server = Arc::new(start()?);
        *running = Arc::downgrade(&server);
        Ok(server)
    }
}

impl<T> Default for Shared<T> {
    fn default() -> Self {
        Self::new()
    }
}
