//! The way of answers back to those who wait for them.
//!
//! Waking a task from a thread outside the runtime goes through a queue that all workers share. So a whole batch of
//! answers is handed to one task inside the runtime with one wake-up, and that task wakes the askers.

use super::mailbox::Result;
use crate::engine::Seq;
use onrush_core::ids::EventId;
use onrush_core::{Reply, View};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot, watch};

/// An answer and whose it is.
#[derive(Debug)]
pub(super) enum Outcome {
    Reply(oneshot::Sender<Result<Reply>>, Result<Reply>),
    View(oneshot::Sender<Result<View>>, Result<View>),
    Events(oneshot::Sender<Result<Vec<EventId>>>, Result<Vec<EventId>>),
}

impl Outcome {
    /// An asker who does not wait any more is no concern of ours.
    fn deliver(self) {
        match self {
            Self::Reply(to, answer) => drop(to.send(answer)),
            Self::View(to, answer) => drop(to.send(answer)),
            Self::Events(to, answer) => drop(to.send(answer)),
        }
    }
}

/// How far the journal is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Progress {
    pub(super) committed: Seq,
    /// Nothing more will come.
    pub(super) stopped: bool,
}

struct Delivery {
    answers: Vec<Outcome>,
    committed: Seq,
}

/// Hands answers over; the way is closed when all of these are dropped.
#[derive(Clone)]
pub(super) struct Dispatch {
    deliveries: mpsc::UnboundedSender<Delivery>,
}

impl Dispatch {
    pub(super) fn start(runtime: &Handle, committed: Seq) -> (Self, watch::Receiver<Progress>) {
        let (deliveries, inbox) = mpsc::unbounded_channel();
        let (progress, seen) = watch::channel(Progress { committed, stopped: false });
        runtime.spawn(run(inbox, progress));
        (Self { deliveries }, seen)
    }

    /// Answers, everything up to `committed` being durable.
    pub(super) fn deliver(&self, answers: Vec<Outcome>, committed: Seq) {
        // It fails only if the runtime is gone, and all askers with it.
        drop(self.deliveries.send(Delivery { answers, committed }));
    }
}

async fn run(mut inbox: mpsc::UnboundedReceiver<Delivery>, progress: watch::Sender<Progress>) {
    while let Some(Delivery { answers, committed }) = inbox.recv().await {
        for outcome in answers {
            outcome.deliver();
        }
        progress.send_if_modified(|progress| {
            let moved = progress.committed < committed;
            if moved {
                progress.committed = committed;
            }
            moved
        });
    }
    progress.send_modify(|progress| progress.stopped = true);
}
