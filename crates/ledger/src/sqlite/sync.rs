//! Locks and threads between askers and the ledger's threads, named in one place.
//!
//! In this crate's own unit tests they are shuttle's, so that the tests in `interleavings.rs` decide
//! who runs next; everywhere else they are the standard library's. Tokio's channels need no
//! counterpart: they never block a thread, so under shuttle each of their calls is one step.

#[cfg(test)]
pub(super) use shuttle::sync::{Condvar, Mutex, MutexGuard};
#[cfg(test)]
pub(super) use shuttle::thread::{Builder, JoinHandle};
#[cfg(not(test))]
pub(super) use std::sync::{Condvar, Mutex, MutexGuard};
#[cfg(not(test))]
pub(super) use std::thread::{Builder, JoinHandle};
