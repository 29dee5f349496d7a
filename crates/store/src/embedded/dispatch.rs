//! The way of answers back to those who wait for them.
//!
//! Waking a task from a thread outside the runtime goes through a queue that all workers share. So
//! a whole batch of answers is handed to one task inside the runtime with one wake-up, and that
//! task wakes the askers.

use super::mailbox::{Ask, Mailbox};
use super::progress::{Listener, Teller, progress};
use super::sync::spawn_task;
use crate::engine::Seq;
use std::sync::Arc;
use tokio::runtime::Handle;
use tokio::sync::mpsc;

struct Delivery {
    answered: Vec<Vec<Ask>>,
    committed: Seq,
}

/// Hands answers over; the way is closed when all of these are dropped.
#[derive(Clone)]
pub(super) struct Dispatch {
    deliveries: mpsc::UnboundedSender<Delivery>,
}

impl Dispatch {
    pub(super) fn start(
        runtime: &Handle,
        mailbox: Arc<Mailbox>,
        committed: Seq,
    ) -> (Self, Listener) {
        let (deliveries, inbox) = mpsc::unbounded_channel();
        let (progress, seen) = progress(committed);
        spawn_task(runtime, run(inbox, mailbox, progress));
        (Self { deliveries }, seen)
    }

    /// Gives all these their answers, everything up to `committed` being durable.
    pub(super) fn deliver(&self, answered: Vec<Vec<Ask>>, committed: Seq) {
        // It fails only if the runtime is gone, and all askers with it.
        drop(self.deliveries.send(Delivery { answered, committed }));
    }
}

async fn run(
    mut inbox: mpsc::UnboundedReceiver<Delivery>,
    mailbox: Arc<Mailbox>,
    progress: Teller,
) {
    while let Some(Delivery { answered, committed }) = inbox.recv().await {
        for mut asks in answered {
            // First, so that nobody who asks again at once finds their last ask still waiting.
            mailbox.answered(asks.len());
            asks.drain(..).for_each(Ask::deliver);
            mailbox.recycle(asks);
        }
        progress.committed(committed);
    }
    progress.stopped();
}
