//! Free space of the disk that a directory is on, looked up by a thread of its own.
//!
//! What needs space is refused in turn while it shrinks, so that what must go on never lacks any:
//! first new keys for requests that ask for more, then new business, last new payments. What ends
//! something, gives it back or was paid for is never refused.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// How often it is looked up. The fastest disks write less than half of the default's bytes meanwhile.
const EVERY: Duration = Duration::from_millis(250);

/// What wants space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// A record of a key for a request that asks for more and can wait.
    Key,
    /// Something new: an event, a place, a hold, a claim.
    Business,
    /// A new payment for what is held.
    Payment,
}

/// How much space there is.
#[derive(Debug)]
pub struct Space {
    free: AtomicU64,
    low_bytes: u64,
}

impl Space {
    /// Whether there is enough for this: half as much again as what counts as low for keys, a
    /// quarter of it for payments.
    #[must_use]
    pub fn is_enough_for(&self, need: Need) -> bool {
        self.is_enough_beside(0, need)
    }

    /// The same, once this many bytes are used up by something else.
    pub(super) fn is_enough_beside(&self, bytes: u64, need: Need) -> bool {
        let least = match need {
            Need::Key => self.low_bytes.saturating_add(self.low_bytes / 2),
            Need::Business => self.low_bytes,
            Need::Payment => self.low_bytes / 4,
        };
        self.free_bytes() >= least.saturating_add(bytes)
    }

    /// As much as this, of which so much counts as low.
    #[cfg(test)]
    pub(super) fn of(free: u64, low_bytes: u64) -> Self {
        Self { free: AtomicU64::new(free), low_bytes }
    }

    /// Says how many bytes are free, where nobody looks.
    pub(super) fn set_free_bytes(&self, free: u64) {
        self.free.store(free, Ordering::Relaxed);
    }

    /// Bytes that are free.
    #[must_use]
    pub fn free_bytes(&self) -> u64 {
        self.free.load(Ordering::Relaxed)
    }
}

/// Looks until it is dropped.
pub(super) struct Watch {
    pub(super) space: Arc<Space>,
    /// The thread ends when this goes.
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// Looks for the first time, and starts the thread.
    pub(super) fn start(dir: PathBuf, low_bytes: u64) -> io::Result<Self> {
        let space = Arc::new(Space { free: AtomicU64::new(u64::MAX), low_bytes });
        let mut eye = Eye { dir, space: space.clone(), was_enough: true };
        eye.look();
        let (stop, stopped) = mpsc::channel();
        let thread = thread::Builder::new().name("onrush-disk".into()).spawn(move || {
            while stopped.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
                eye.look();
            }
        })?;
        Ok(Self { space, stop: Some(stop), thread: Some(thread) })
    }
}

impl Watch {
    /// Looks never: there is as much space as is said.
    pub(super) fn blind(low_bytes: u64) -> Self {
        let space = Arc::new(Space { free: AtomicU64::new(u64::MAX), low_bytes });
        Self { space, stop: None, thread: None }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the thread that watches the disk panicked");
        }
    }
}

struct Eye {
    dir: PathBuf,
    space: Arc<Space>,
    was_enough: bool,
}

impl Eye {
    fn look(&mut self) {
        match rustix::fs::statvfs(&self.dir) {
            Ok(disk) => {
                let free = disk.f_bavail.saturating_mul(disk.f_frsize);
                self.space.free.store(free, Ordering::Relaxed);
                let enough = self.space.is_enough_for(Need::Business);
                if enough != self.was_enough {
                    self.was_enough = enough;
                    let low = self.space.low_bytes;
                    if enough {
                        tracing::info!(free, low, "the disk has space again");
                    } else {
                        tracing::warn!(free, low, "the disk is nearly full: nothing new is sold");
                    }
                }
            }
            Err(error) => tracing::warn!(%error, "cannot look up the free space of the disk"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_refused_before_business_and_business_before_payments() {
        let enough = |free| {
            let space = Space::of(free, 400);
            [Need::Key, Need::Business, Need::Payment].map(|need| space.is_enough_for(need))
        };
        assert_eq!(enough(600), [true, true, true]);
        assert_eq!(enough(599), [false, true, true]);
        assert_eq!(enough(400), [false, true, true]);
        assert_eq!(enough(399), [false, false, true]);
        assert_eq!(enough(100), [false, false, true]);
        assert_eq!(enough(99), [false, false, false]);
    }
}
