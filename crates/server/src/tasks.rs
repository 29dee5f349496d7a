//! Tasks that run for as long as the server does.

use tokio::sync::watch;
use tokio::task::JoinHandle;

/// The tasks of a server. Where one has panicked, what it was there for is not done any more:
/// payments, messages or openings would be missing without a word.
pub(crate) struct Tasks {
    running: Vec<JoinHandle<()>>,
    fallen: watch::Sender<Option<String>>,
}

impl Tasks {
    pub(crate) fn new() -> Self {
        Self { running: Vec::new(), fallen: watch::Sender::new(None) }
    }

    /// Watches one more.
    pub(crate) fn add(&mut self, task: JoinHandle<()>) {
        let fallen = self.fallen.clone();
        self.running.push(tokio::spawn(async move {
            if let Err(error) = task.await
                && error.is_panic()
            {
                fallen.send_replace(Some(format!("a part of the server has stopped: {error}")));
            }
        }));
    }

    /// Watches some more.
    pub(crate) fn extend(&mut self, tasks: impl IntoIterator<Item = JoinHandle<()>>) {
        tasks.into_iter().for_each(|task| self.add(task));
    }

    /// Waits until one has panicked, and says so.
    pub(crate) async fn fallen(&self) -> String {
        let mut seen = self.fallen.subscribe();
        // The sender is kept as long as this is.
        let said = seen.wait_for(Option::is_some).await;
        said.ok().and_then(|said| said.clone()).unwrap_or_default()
    }

    /// Waits until all have ended.
    pub(crate) async fn ended(self) {
        for task in self.running {
            drop(task.await);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_task_that_panics_is_told_of_and_one_that_ends_or_is_aborted_is_not() {
        let mut tasks = Tasks::new();
        tasks.add(tokio::spawn(async {}));
        let aborted = tokio::spawn(std::future::pending());
        aborted.abort();
        tasks.add(aborted);
        let (fall, asked) = tokio::sync::oneshot::channel::<()>();
        tasks.add(tokio::spawn(async {
            asked.await.expect("the test says when");
            panic!("an invariant is broken");
        }));
        let mut fallen = Box::pin(tasks.fallen());
        tokio::select! {
            biased;
            said = &mut fallen => panic!("nothing has happened: {said}"),
            () = std::future::ready(()) => {}
        }
        fall.send(()).expect("it waits");
        let said = fallen.await;
        assert!(said.contains("an invariant is broken"), "{said}");
        tasks.ended().await;
    }
}
