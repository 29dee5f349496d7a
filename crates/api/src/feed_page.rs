//! The next page of a feed, for readers who end where it ends.
//!
//! Such readers ask a feed only as long as it has not come to the last decision that was committed.
//! In a cluster it may never come there ([`Feed::next_if_any`]).

use crate::broken::Broken;
use onrush_store::{Feed, FeedPage};
use std::time::Duration;

/// How long one page may take: longer than a database that is asked again, and not for ever, for others
/// wait for their turn.
const PATIENCE: Duration = Duration::from_secs(30);

/// The next page; `None` where there is nothing more, or the engine has stopped.
///
/// # Errors
/// The feed cannot be read, or not within half a minute.
pub(crate) async fn next_page(feed: &mut dyn Feed) -> Result<Option<FeedPage>, Broken> {
    within_patience(feed.next_if_any()).await
}

/// The same for what is known to come: it is waited for, and not for ever either.
///
/// # Errors
/// As of [`next_page`].
pub(crate) async fn next_page_to_come(feed: &mut dyn Feed) -> Result<Option<FeedPage>, Broken> {
    within_patience(feed.next()).await
}

async fn within_patience(
    page: impl Future<Output = Result<Option<FeedPage>, String>>,
) -> Result<Option<FeedPage>, Broken> {
    match tokio::time::timeout(PATIENCE, page).await {
        Ok(Ok(page)) => Ok(page),
        Ok(Err(error)) => {
            tracing::error!(error, "the feed cannot be read");
            Err(Broken::new("reading the feed"))
        }
        Err(error) => Err(Broken::log("reading the feed", &error)),
    }
}
