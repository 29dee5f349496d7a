//! How those who carry the feed to RabbitMQ and Kafka are, for whoever looks.

use onrush_base::metrics::PublisherFigures;
use onrush_bridge::cursors::Cursors;
use onrush_bridge::{kafka, rabbit};
use onrush_store::{Engine, Seq};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// How long the cursor may take: nobody who looks should have to wait for a database.
const PATIENCE: Duration = Duration::from_secs(1);

/// Where each of them shows how it is, with the name of its cursor.
pub(super) struct Watched {
    engine: Weak<dyn Engine>,
    cursors: Weak<dyn Cursors>,
    pub(super) rabbit: Option<(String, Arc<rabbit::Health>)>,
    pub(super) kafka: Option<(String, Arc<kafka::Health>)>,
}

impl Watched {
    /// Nobody yet. Engine and cursors are not kept open by this.
    pub(super) fn new(engine: Arc<dyn Engine>, cursors: Arc<dyn Cursors>) -> Self {
        let (engine, cursors) = (Arc::downgrade(&engine), Arc::downgrade(&cursors));
        Self { engine, cursors, rabbit: None, kafka: None }
    }

    /// How they are now.
    pub(super) async fn figures(&self) -> Vec<PublisherFigures> {
        let mut figures = Vec::new();
        if let Some((cursor, health)) = &self.rabbit {
            let (state, counts) = (*health.state().borrow(), health.counts());
            figures.push(PublisherFigures {
                name: "rabbitmq",
                is_connected: health.is_connected(),
                is_publishing: state.publishing,
                behind: self.behind(cursor).await,
                sent: counts.published.load(Ordering::Relaxed),
                failed: counts.failures.load(Ordering::Relaxed),
            });
        }
        if let Some((cursor, health)) = &self.kafka {
            let state = *health.state().borrow();
            figures.push(PublisherFigures {
                name: "kafka",
                is_connected: state.connected,
                is_publishing: state.publishing,
                behind: self.behind(cursor).await,
                sent: state.acknowledged,
                failed: state.failures,
            });
        }
        figures
    }

    /// How far what was carried on is behind what was decided.
    async fn behind(&self, cursor: &str) -> Option<u64> {
        let Seq(committed) = self.engine.upgrade()?.committed();
        let asked = self.cursors.upgrade()?.cursor(cursor.to_owned());
        let Seq(carried) = tokio::time::timeout(PATIENCE, asked).await.ok()?.ok()?;
        Some(committed.saturating_sub(carried))
    }
}
