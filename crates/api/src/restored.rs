//! Sales after a start on files that are older than what was sold.

use crate::draw::{Draws, is_left_to_the_organiser};
use onrush_core::ids::EventId;
use onrush_core::question::EventNow;
use onrush_core::{Command, Phase};
use onrush_store::{Ask, Engine, Failure};
use std::time::Duration;

/// How often a sale is looked at that should have opened by now, and for how long in between.
const LOOKS: u32 = 500;
const PAUSE: Duration = Duration::from_millis(10);

/// Why not every sale is paused.
#[derive(Debug, thiserror::Error)]
pub enum NotPaused {
    /// The engine could not do it.
    #[error("a restored sale cannot be paused: {0}")]
    Engine(#[from] Failure),
    /// This event should have opened by now, and does not.
    #[error(
        "{0} should have opened by now and does not, so that it cannot be paused: put back what \
         the log says is missing, and start again"
    )]
    NeverOpens(EventId),
}

/// Pauses every sale that is open, or should be by now: units that were sold since are free, until
/// somebody has blocked them. To be called before anybody is served.
///
/// # Errors
/// [`NotPaused`], at the first sale that cannot be paused.
pub async fn pause_open_sales(engine: &dyn Engine, draws: &Draws) -> Result<(), NotPaused> {
    for event in engine.events().await?.value {
        pause(engine, draws, &event).await?;
    }
    Ok(())
}

async fn pause(engine: &dyn Engine, draws: &Draws, event: &EventId) -> Result<(), NotPaused> {
    for _ in 0..LOOKS {
        let now = engine.ask(event.clone(), EventNow).await?;
        let opens_at = now.value.settings.opens_at;
        match now.value.phase {
            Phase::Open => {
                engine.execute(event.clone(), Command::Pause).await?;
                tracing::warn!(%event, "paused: what was sold since is not known");
                return Ok(());
            }
            // Nothing but the organiser opens it, and what they open by hand is not paused either.
            Phase::Scheduled | Phase::Prequeue if is_left_to_the_organiser(&now.value) => {
                return Ok(());
            }
            // It may have opened and sold since the backup: it opens now, and is paused.
            Phase::Scheduled | Phase::Prequeue if opens_at.is_some_and(|at| at <= now.at) => {
                draws.open_due().await;
                tokio::time::sleep(PAUSE).await;
            }
            Phase::Scheduled | Phase::Prequeue | Phase::Paused | Phase::Closed => return Ok(()),
        }
    }
    Err(NotPaused::NeverOpens(event.clone()))
}
