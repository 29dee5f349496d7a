//! Locks, flags and threads between askers, engine and journal, named in one place.
//!
//! In this crate's own unit tests they are shuttle's, so that the tests in `interleavings.rs` decide
//! who runs next; everywhere else they are the standard library's. Tokio's channels need no
//! counterpart: they never block a thread, so under shuttle each of their calls is one step.

#[cfg(test)]
pub(super) use shuttle::sync::atomic::AtomicU64;
#[cfg(test)]
pub(super) use shuttle::sync::{Condvar, Mutex, MutexGuard, RwLock, RwLockWriteGuard};
#[cfg(test)]
pub(super) use shuttle::thread::{Builder, JoinHandle};
#[cfg(not(test))]
pub(super) use std::sync::atomic::AtomicU64;
#[cfg(not(test))]
pub(super) use std::sync::{Condvar, Mutex, MutexGuard, RwLock, RwLockWriteGuard};
#[cfg(not(test))]
pub(super) use std::thread::{Builder, JoinHandle};

use std::future::Future;
use tokio::runtime::Handle;

/// Runs a task beside its askers, until it ends by itself.
pub(super) fn spawn_task(runtime: &Handle, task: impl Future<Output = ()> + Send + 'static) {
    #[cfg(not(test))]
    drop(runtime.spawn(task));
    #[cfg(test)]
    {
        let _: &Handle = runtime;
        drop(shuttle::future::spawn(task));
    }
}
