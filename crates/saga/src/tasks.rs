//! The tasks that drive sagas and look after what they leave behind.

use super::sagas::Sagas;
use super::{clerk, follower, recovery, retention, wake};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;

/// How often is forgotten what lives for a day.
const TIDY_EVERY: Duration = Duration::from_secs(3_600);

impl Sagas {
    /// Starts the tasks that drive sagas; they end some time after [`Self::stop`].
    pub fn run(self: &Arc<Self>) -> [JoinHandle<()>; 7] {
        [
            tokio::spawn(follower::run(self.clone())),
            tokio::spawn(recovery::run(self.clone())),
            tokio::spawn(clerk::run(self.clone())),
            tokio::spawn(self.clone().forget_old()),
            tokio::spawn(retention::run(self.clone())),
            tokio::spawn(self.clone().look_after_gateway()),
            tokio::spawn(wake::run(self.clone())),
        ]
    }

    async fn look_after_gateway(self: Arc<Self>) {
        let Some(gateway) = &self.gateway else { return };
        let patience = Duration::from_millis(self.patience.gateway_timeout_ms);
        gateway.look_after(patience, self.stopped()).await;
    }

    /// Forgets answers to requests with a key a day after they were given, and hashes of addresses a day
    /// after they got mail.
    async fn forget_old(self: Arc<Self>) {
        loop {
            tokio::select! {
                biased;
                () = self.stopped() => return,
                () = tokio::time::sleep(TIDY_EVERY) => {}
            }
            let before = self.now().plus_ms(-onrush_ledger::request::KEPT_MS);
            if let Err(error) = self.ledger.forget_answers(before).await {
                tracing::warn!(%error, "old answers could not be forgotten");
            }
            // Mail forgets them as well, but only as long as any is sent.
            let before = self.now().plus_ms(-onrush_ledger::delivery::MAILED_FOR_MS);
            if let Err(error) = self.ledger.forget_mailed(before).await {
                tracing::warn!(%error, "hashes of addresses could not be forgotten");
            }
        }
    }
}
