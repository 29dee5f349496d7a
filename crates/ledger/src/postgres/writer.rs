//! Batches: what has gathered is done in one transaction, and answered once that is durable.

use super::database::{Ask, Database};
use super::fault::Fault;
use crate::LedgerError;
use deadpool_postgres::{Client, Transaction};
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// What may be waiting before callers are told to come again later.
const CAPACITY: usize = 16_384;
/// Jobs in one transaction at most, so that the first of many answers does not wait for the last.
const MAX_BATCH: usize = 1_024;

/// Where an answer is kept until it is durable.
pub(super) struct Slot<T> {
    outcome: Option<Result<T, LedgerError>>,
    to: oneshot::Sender<Result<T, LedgerError>>,
}

/// Where an answer will come from.
pub(super) type Answer<T> = oneshot::Receiver<Result<T, LedgerError>>;

impl<T> Slot<T> {
    pub(super) fn new() -> (Self, Answer<T>) {
        let (to, answer) = oneshot::channel();
        (Self { outcome: None, to }, answer)
    }

    /// What to answer, if the transaction comes to its end.
    pub(super) fn put(&mut self, outcome: Result<T, LedgerError>) {
        self.outcome = Some(outcome);
    }

    /// Answers: what came of it, or why nothing did. One who does not wait any more is no concern of ours.
    pub(super) fn answer(self, failure: Option<&str>) {
        let outcome = match (failure, self.outcome) {
            (Some(why), _) => Err(LedgerError::Unavailable(why.to_owned())),
            (None, Some(outcome)) => outcome,
            (None, None) => Err(LedgerError::Unavailable("it was not looked at".into())),
        };
        drop(self.to.send(outcome));
    }
}

/// One thing to be written together with others.
pub(super) trait Job: Sized + Send + 'static {
    /// Does all of them in one transaction. They may be done again, if it came to nothing.
    fn run(
        jobs: &mut [Self],
        db: &Transaction<'_>,
    ) -> impl Future<Output = Result<(), Fault>> + Send;

    /// Answers one.
    fn answer(self, failure: Option<&str>);
}

/// Whether something may be turned away when too much is waiting.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Lane {
    /// It may.
    Bounded,
    /// It is what money or a message came to: it is always let in.
    Always,
}

struct Queued<J> {
    job: J,
    /// Until when somebody waits for it.
    until: Instant,
}

/// Lets jobs in and has them done, in the order they were asked.
pub(super) struct Writer<J> {
    to: mpsc::UnboundedSender<Queued<J>>,
    waiting: Arc<AtomicUsize>,
}

impl<J: Job + Sync> Writer<J> {
    /// Starts the task; it ends when everything that was let in is done and the writer is dropped.
    pub(super) fn start(database: Arc<Database>) -> (Self, JoinHandle<()>) {
        let (to, from) = mpsc::unbounded_channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        let task = tokio::spawn(serve(database, from, waiting.clone()));
        (Self { to, waiting }, task)
    }

    /// Lets a job in, or says why not.
    pub(super) fn put(&self, job: J, lane: Lane, until: Instant) {
        if lane == Lane::Bounded && self.waiting.load(Ordering::Acquire) >= CAPACITY {
            job.answer(Some("it is asked too much at once"));
            return;
        }
        self.waiting.fetch_add(1, Ordering::AcqRel);
        if let Err(refused) = self.to.send(Queued { job, until }) {
            refused.0.job.answer(Some("it has stopped"));
        }
    }
}

async fn serve<J: Job + Sync>(
    database: Arc<Database>,
    mut from: mpsc::UnboundedReceiver<Queued<J>>,
    waiting: Arc<AtomicUsize>,
) {
    let mut taken = Vec::new();
    while from.recv_many(&mut taken, MAX_BATCH).await > 0 {
        waiting.fetch_sub(taken.len(), Ordering::AcqRel);
        let now = Instant::now();
        let (in_time, late): (Vec<_>, Vec<_>) =
            taken.drain(..).partition(|queued| queued.until > now);
        for queued in late {
            // Its asker was told so already.
            queued.job.answer(Some("it was not done in time"));
        }
        let batch: Vec<J> = in_time.into_iter().map(|queued| queued.job).collect();
        if batch.is_empty() {
            continue;
        }
        let batch = Batch(Mutex::new(batch));
        let outcome = database.ask_until(&batch, now + database.patience()).await;
        let batch = batch.0.into_inner();
        match outcome {
            // What one asker wants is impossible: it shall not spoil the others' chances.
            Err(fault) if batch.len() > 1 && fault.concerns_one() => {
                for job in batch {
                    let alone = Batch(Mutex::new(vec![job]));
                    let deadline = Instant::now() + database.patience();
                    let outcome = database.ask_until(&alone, deadline).await;
                    answer(alone.0.into_inner(), outcome);
                }
            }
            outcome => answer(batch, outcome),
        }
    }
}

fn answer<J: Job>(batch: Vec<J>, outcome: Result<(), Fault>) {
    let why = outcome.err().map(|fault| fault.to_string());
    if let Some(why) = &why {
        tracing::error!(why, askers = batch.len(), "the ledger does not do what it was asked to");
    }
    for job in batch {
        job.answer(why.as_deref());
    }
}

/// Jobs that are done in one transaction.
struct Batch<J>(Mutex<Vec<J>>);

impl<J: Job + Sync> Ask<()> for Batch<J> {
    async fn run(&self, db: &mut Client) -> Result<(), Fault> {
        let mut jobs = self.0.lock().await;
        let transaction = db.transaction().await?;
        J::run(&mut jobs, &transaction).await?;
        Ok(transaction.commit().await?)
    }
}
