//! The next page of a feed, for readers who end where it ends.
//!
//! Such readers ask a feed only as long as it has not come to the last decision that was committed.
//! In a cluster it may never come there: after a failover to a standby that lagged behind, the archive
//! has less than was seen before, until as much again is decided.

use crate::broken::Broken;
use onrush_store::{Feed, FeedPage};
use std::time::Duration;

/// The next page; `None` if the engine has stopped, or nothing came for this long: then what was read
/// is all there is.
///
/// # Errors
/// The feed cannot be read.
pub(crate) async fn next_page(
    feed: &mut dyn Feed,
    patience: Duration,
) -> Result<Option<FeedPage>, Broken> {
    match tokio::time::timeout(patience, feed.next()).await {
        Ok(Ok(page)) => Ok(page),
        Ok(Err(error)) => {
            tracing::error!(error, "the feed cannot be read");
            Err(Broken::new("reading the feed"))
        }
        Err(_) => {
            tracing::warn!(
                "the feed says nothing before the last decision that was committed, as after a failover \
                 of PostgreSQL to a standby that lagged behind: what is there so far is answered"
            );
            Ok(None)
        }
    }
}
