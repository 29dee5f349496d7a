//! Keeps the parts of this node's pages where nodes of other versions find them, for as long as it runs.

use super::Source;
use super::versions::{Trouble, Versions, pack, version_of};
use onrush_base::beside::beside;
use onrush_base::config::Config;
use onrush_store::embedded::Clock;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

/// How often it is looked whether the parts are still there.
const LOOK_EVERY: Duration = Duration::from_secs(60);

/// What one node of a cluster does about its parts.
pub struct Upkeep {
    config: Arc<Config>,
    versions: Arc<Versions>,
    clock: Clock,
    trouble: Trouble,
}

impl Upkeep {
    /// Nothing is shared yet.
    #[must_use]
    pub fn new(config: Arc<Config>, versions: Arc<Versions>, clock: Clock) -> Self {
        Self { config, versions, clock, trouble: Trouble::default() }
    }

    /// Shares the parts if they are not there, and says now and then that a node has them.
    pub async fn look(&mut self) {
        let shared = self.share().await;
        if !self.trouble.is_news(shared.is_err()) {
            return;
        }
        match shared {
            Ok(()) => tracing::info!("nodes of other versions find this one's pages again"),
            Err(error) => tracing::warn!(
                %error,
                "nodes of other versions may lack this one's pages, which it tries to mend each minute"
            ),
        }
    }

    /// Looks each minute until the server stops.
    pub async fn run(mut self, stopped: impl Future<Output = ()>) {
        let mut stopped = pin!(stopped);
        loop {
            tokio::select! {
                biased;
                () = &mut stopped => return,
                () = tokio::time::sleep(LOOK_EVERY) => {}
            }
            self.look().await;
        }
    }

    async fn share(&self) -> io::Result<()> {
        let config = self.config.clone();
        let names = beside(move || Source::of(&config).part_names()).await;
        let names = names.map_err(io::Error::other)?;
        if names.is_empty() {
            return Ok(());
        }
        let packed = packed(self.config.clone());
        self.versions.keep_shared(&version_of(&names), self.clock.now(), packed).await
    }
}

async fn packed(config: Arc<Config>) -> io::Result<Vec<u8>> {
    let packed = beside(move || Source::of(&config).parts().map(|parts| pack(&parts))).await;
    packed.map_err(io::Error::other)?
}

#[cfg(test)]
mod tests {
    use super::super::in_memory::{Health, InMemory};
    use super::*;
    use tokio::sync::oneshot;

    #[tokio::test(start_paused = true)]
    async fn parts_are_shared_once_the_database_is_back_and_again_when_they_are_gone() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("assets")).unwrap();
        std::fs::write(dir.path().join("assets/index-B2c_x-9Z.js"), "here").unwrap();
        let config = Config { pages: Some(dir.path().to_owned()), ..Config::default() };
        let shared = InMemory::default();
        shared.be(Health::Away);
        let versions = Arc::new(shared.node());
        let mut upkeep = Upkeep::new(Arc::new(config), versions, Clock::default());
        upkeep.look().await;
        assert!(shared.names().is_empty(), "nothing could be put there");
        shared.be(Health::Well);
        let (stop, stopped) = oneshot::channel::<()>();
        let running = tokio::spawn(upkeep.run(async { drop(stopped.await) }));
        for _ in 0..2 {
            shared.replaced().await;
            let other = shared.node();
            let part = other.find(|| other.part("assets/index-B2c_x-9Z.js")).await;
            assert_eq!(part.as_deref(), Some(&b"here"[..]));
            shared.lose_files();
        }
        stop.send(()).unwrap();
        running.await.unwrap();
    }
}
