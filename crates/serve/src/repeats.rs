//! Clients that ask again before their `Retry-After` is over.
//!
//! Sending a request away costs a third of serving it. Clients that only ask again at once would
//! keep the server busy with refusals, so the next refusal on the same connection comes when the
//! time is over, and not before.

use std::cell::Cell;
use std::time::Duration;
use tokio::time::Instant;

/// What a connection was told last.
#[derive(Debug)]
pub(super) struct Repeats {
    /// Until when it was asked to wait.
    not_before: Cell<Option<Instant>>,
    /// Whether one client is behind the connection; behind a proxy's are many, who were told nothing.
    single: bool,
}

impl Repeats {
    pub(super) fn new(single: bool) -> Self {
        Self { not_before: Cell::new(None), single }
    }

    /// Until when the client should have waited, if it did not.
    pub(super) fn early(&self, now: Instant) -> Option<Instant> {
        self.not_before.get().filter(|until| self.single && now < *until)
    }

    /// Remembers that a refusal at this time said after how long to come back.
    pub(super) fn told(&self, at: Instant, after: Duration) {
        self.not_before.set(Some(at + after));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn client_is_early_until_its_time_is_over() {
        let (repeats, start) = (Repeats::new(true), Instant::now());
        assert_eq!(repeats.early(start), None);
        repeats.told(start, 2 * SECOND);
        assert_eq!(repeats.early(start + SECOND), Some(start + 2 * SECOND));
        assert_eq!(repeats.early(start + 2 * SECOND), None);
    }

    #[test]
    fn clients_behind_a_proxy_are_never_early() {
        let (repeats, start) = (Repeats::new(false), Instant::now());
        repeats.told(start, 2 * SECOND);
        assert_eq!(repeats.early(start), None);
    }
}
