//! What the log says when spans do not arrive: why, and not for each batch of them.

use std::time::Duration;
use tokio::time::Instant;

/// How long nothing more is said after a line was.
const QUIET: Duration = Duration::from_secs(60);

/// When something was said last, if something is wrong.
#[derive(Debug, Default)]
pub(super) struct Troubles(Option<Instant>);

impl Troubles {
    /// Something is wrong: whether it is time to say so.
    pub(super) fn is_worth_a_line(&mut self) -> bool {
        let now = Instant::now();
        let is_new = self.0.is_none_or(|said_at| now.duration_since(said_at) >= QUIET);
        if is_new {
            self.0 = Some(now);
        }
        is_new
    }

    /// All is well: whether that is news.
    pub(super) fn are_over(&mut self) -> bool {
        self.0.take().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_first_trouble_is_told_then_one_a_minute_and_then_the_end() {
        let mut troubles = Troubles::default();
        assert!(!troubles.are_over(), "nothing was wrong");
        assert!(troubles.is_worth_a_line());
        tokio::time::advance(QUIET - Duration::from_millis(1)).await;
        assert!(!troubles.is_worth_a_line());
        tokio::time::advance(Duration::from_millis(1)).await;
        assert!(troubles.is_worth_a_line());
        assert!(troubles.are_over());
        assert!(!troubles.are_over(), "it was told");
        assert!(troubles.is_worth_a_line(), "that is another trouble");
    }
}
