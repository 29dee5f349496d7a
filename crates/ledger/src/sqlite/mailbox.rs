//! What is asked of the ledger and not taken up yet.

use super::statements::Statements;
use super::sync::{Condvar, Mutex, MutexGuard};
use crate::LedgerError;
use std::collections::VecDeque;
use std::sync::{Arc, PoisonError};
use tokio::sync::{Notify, oneshot};

/// Why one thing could not be done.
pub(super) enum Fault {
    /// The row is not what the asker took it for. Nothing was written.
    Conflict,
    /// The database does not do it.
    Database(rusqlite::Error),
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(error)
    }
}

/// One thing asked, which keeps its answer until that is durable.
pub(super) trait Job: Send {
    /// Does it. It may be done again, if the transaction it was done in came to nothing.
    ///
    /// # Errors
    /// What the database says; a refusal is an answer.
    fn run(&mut self, db: &Statements<'_>) -> rusqlite::Result<()>;

    /// Answers: what came of it, or why nothing did. One who does not wait any more is no concern of ours.
    fn answer(self: Box<Self>, failure: Option<&str>);
}

struct Task<T, F> {
    run: F,
    outcome: Option<Result<T, LedgerError>>,
    to: oneshot::Sender<Result<T, LedgerError>>,
}

impl<T, F> Job for Task<T, F>
where
    T: Send,
    F: FnMut(&Statements<'_>) -> Result<T, Fault> + Send,
{
    fn run(&mut self, db: &Statements<'_>) -> rusqlite::Result<()> {
        self.outcome = Some(match (self.run)(db) {
            Ok(answer) => Ok(answer),
            Err(Fault::Conflict) => Err(LedgerError::Conflict),
            Err(Fault::Database(error)) => return Err(error),
        });
        Ok(())
    }

    fn answer(self: Box<Self>, failure: Option<&str>) {
        let outcome = match (failure, self.outcome) {
            (Some(why), _) => Err(LedgerError::Unavailable(why.to_owned())),
            (None, Some(outcome)) => outcome,
            (None, None) => Err(LedgerError::Unavailable("it was not looked at".into())),
        };
        drop(self.to.send(outcome));
    }
}

/// Where an answer will come from.
pub(super) type Answer<T> = oneshot::Receiver<Result<T, LedgerError>>;

/// Makes a job of what is to be done.
pub(super) fn job<T, F>(run: F) -> (Box<dyn Job>, Answer<T>)
where
    T: Send + 'static,
    F: FnMut(&Statements<'_>) -> Result<T, Fault> + Send + 'static,
{
    let (to, answer) = oneshot::channel();
    (Box::new(Task { run, outcome: None, to }), answer)
}

/// What is done a portion at a time, each within another transaction.
struct Portions<F> {
    run: F,
    /// How many rows a portion has that may not be the last.
    at_once: u64,
    /// Rows of the portions that are durable.
    done: u64,
    /// Rows of the portion after them.
    rows: Option<u64>,
    mailbox: Arc<Mailbox>,
    to: oneshot::Sender<Result<u64, LedgerError>>,
}

impl<F> Job for Portions<F>
where
    F: FnMut(&Statements<'_>) -> rusqlite::Result<u64> + Send + 'static,
{
    fn run(&mut self, db: &Statements<'_>) -> rusqlite::Result<()> {
        self.rows = Some((self.run)(db)?);
        Ok(())
    }

    fn answer(mut self: Box<Self>, failure: Option<&str>) {
        let unavailable = |why: &str| Err(LedgerError::Unavailable(why.to_owned()));
        let outcome = match (failure, self.rows.take()) {
            (Some(why), _) => unavailable(why),
            (None, None) => unavailable("it was not looked at"),
            (None, Some(rows)) => {
                self.done += rows;
                if rows == self.at_once {
                    let mailbox = self.mailbox.clone();
                    // If nothing more is let in, whoever waits learns that it has stopped.
                    let _ = mailbox.put(self, Lane::Always);
                    return;
                }
                Ok(self.done)
            }
        };
        drop(self.to.send(outcome));
    }
}

/// Makes a job of what is done a portion at a time, of `at_once` rows each, until one has fewer. What
/// others ask is done in between. The rest is done whether or not anybody waits for it.
pub(super) fn portions<F>(
    mailbox: &Arc<Mailbox>,
    at_once: u64,
    run: F,
) -> (Box<dyn Job>, Answer<u64>)
where
    F: FnMut(&Statements<'_>) -> rusqlite::Result<u64> + Send + 'static,
{
    let (to, answer) = oneshot::channel();
    let mailbox = Arc::clone(mailbox);
    (Box::new(Portions { run, at_once, done: 0, rows: None, mailbox, to }), answer)
}

/// Whether something may be turned away when too much is waiting.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Lane {
    /// It may.
    Bounded,
    /// It is what money or a message came to: it is always let in.
    Always,
}

/// Why something was not let in.
pub(super) enum NotTaken {
    Full,
    Closed,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Box<dyn Job>>,
    closed: bool,
    /// Threads that wait for something to do.
    sleeping: usize,
}

impl State {
    fn give(&mut self, limit: usize, to: &mut Vec<Box<dyn Job>>) {
        let count = limit.min(self.jobs.len());
        to.extend(self.jobs.drain(..count));
    }
}

/// One queue, in the order in which things were asked.
pub(super) struct Mailbox {
    state: Mutex<State>,
    wake: Condvar,
    /// Rings beside `wake`, for those who wait without a thread of their own.
    bell: Notify,
    capacity: usize,
}

impl Mailbox {
    pub(super) fn new(capacity: usize) -> Self {
        Self { state: Mutex::default(), wake: Condvar::new(), bell: Notify::new(), capacity }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn put(&self, job: Box<dyn Job>, lane: Lane) -> Result<(), NotTaken> {
        let mut state = self.lock();
        if state.closed {
            return Err(NotTaken::Closed);
        }
        if state.jobs.len() >= self.capacity && lane == Lane::Bounded {
            return Err(NotTaken::Full);
        }
        state.jobs.push_back(job);
        let wake = state.sleeping > 0;
        drop(state);
        if wake {
            self.wake.notify_one();
            self.bell.notify_one();
        }
        Ok(())
    }

    /// Waits until there is something to take.
    pub(super) async fn asked(&self) {
        /// Whoever stops waiting does not sleep any more.
        struct Asleep<'a>(&'a Mailbox);
        impl Drop for Asleep<'_> {
            fn drop(&mut self) {
                self.0.lock().sleeping -= 1;
            }
        }
        loop {
            {
                let mut state = self.lock();
                if !state.jobs.is_empty() || state.closed {
                    return;
                }
                state.sleeping += 1;
            }
            let _asleep = Asleep(self);
            self.bell.notified().await;
        }
    }

    /// Moves up to `limit` jobs to `to`, and waits for the first. Moves none only if nothing more will come.
    pub(super) fn take(&self, limit: usize, to: &mut Vec<Box<dyn Job>>) {
        let mut state = self.lock();
        if state.jobs.is_empty() && !state.closed {
            state.sleeping += 1;
            state = self
                .wake
                .wait_while(state, |state| state.jobs.is_empty() && !state.closed)
                .unwrap_or_else(PoisonError::into_inner);
            state.sleeping -= 1;
        }
        state.give(limit, to);
    }

    /// Moves up to `limit` jobs to `to`, without waiting.
    pub(super) fn take_now(&self, limit: usize, to: &mut Vec<Box<dyn Job>>) {
        self.lock().give(limit, to);
    }

    /// Lets nothing more in; what is there is still done.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.ring_for_all();
    }

    /// Drops what is left: its askers learn that the ledger has stopped.
    pub(super) fn abandon(&self) {
        let mut state = self.lock();
        state.closed = true;
        let jobs = std::mem::take(&mut state.jobs);
        drop(state);
        self.ring_for_all();
        drop(jobs);
    }

    /// Whoever steps is one, and the bell keeps a ring for them until they wait.
    fn ring_for_all(&self) {
        self.wake.notify_all();
        self.bell.notify_one();
    }
}

/// Abandons the mailbox when the thread that serves it ends, however it does: nobody shall wait for nothing.
pub(super) struct Served<'a>(pub(super) &'a Mailbox);

impl Drop for Served<'_> {
    fn drop(&mut self) {
        self.0.abandon();
    }
}
