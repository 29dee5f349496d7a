//! What clients say on a stream: little, as streams only go to them.

use tokio::time::Instant;

/// Bytes that a client may say at once.
const AT_ONCE: u32 = 8_192;
/// Bytes that it may say in a second after that: some forty pings.
const PER_S: u128 = 256;

/// An allowance of bytes that comes back evenly.
#[derive(Debug)]
pub(super) struct Chatter {
    left: u32,
    since: Instant,
}

impl Chatter {
    /// A client that has said nothing yet.
    #[must_use]
    pub(super) fn new(now: Instant) -> Self {
        Self { left: AT_ONCE, since: now }
    }

    /// Takes what was said; `false` if it is too much.
    pub(super) fn hear(&mut self, bytes: usize, now: Instant) -> bool {
        let back = now.saturating_duration_since(self.since).as_millis() * PER_S / 1_000;
        // Less than a byte is left to grow.
        if back > 0 {
            let back = u32::try_from(back).unwrap_or(AT_ONCE);
            self.left = self.left.saturating_add(back).min(AT_ONCE);
            self.since = now;
        }
        match u32::try_from(bytes).ok().and_then(|bytes| self.left.checked_sub(bytes)) {
            Some(left) => {
                self.left = left;
                true
            }
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_burst_is_heard_and_then_as_much_as_comes_back() {
        let start = Instant::now();
        let mut chatter = Chatter::new(start);
        assert!(chatter.hear(AT_ONCE as usize, start));
        assert!(!chatter.hear(1, start));
        let later = start + Duration::from_secs(2);
        assert!(chatter.hear(512, later));
        assert!(!chatter.hear(1, later));
    }

    #[test]
    fn a_ping_a_second_is_heard_for_ever() {
        let start = Instant::now();
        let mut chatter = Chatter::new(start);
        assert!((0..100_000).all(|s| chatter.hear(131, start + Duration::from_secs(s))));
    }

    #[test]
    fn many_small_sayings_do_not_lose_what_comes_back() {
        let start = Instant::now();
        let mut chatter = Chatter::new(start);
        let heard = |ms: u64| chatter.hear(1, start + Duration::from_millis(ms * 5));
        assert!((0..100_000).all(heard), "a byte each 5 ms is 200 a second");
    }
}
