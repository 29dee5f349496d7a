//! How far the feed was sent on, and who sends it: what publishers on many nodes agree by.
//!
//! A publisher takes a lease under a name of its own, reads its cursor, sends what comes after it,
//! and moves the cursor. One that dies is followed by another once its lease has run out, and that
//! one repeats what was sent after the cursor was moved last: at least once, never less. One that
//! was only asleep wakes up with an old fence, and cannot move the cursor.

use onrush_store::Seq;
use std::fmt;
use std::future::Future;
use std::pin::Pin;

/// The number of a lease: it rises each time the lease changes hands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Fence(pub u64);

impl fmt::Display for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Why a lease or a cursor could not be read or written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CursorError {
    /// Somebody else has the lease by now; nothing was written.
    #[error("somebody else has the lease by now")]
    Fenced,
    /// They cannot be reached now.
    #[error("leases and cursors cannot be used: {0}")]
    Unavailable(String),
}

/// A future answer.
pub type Pending<T> = Pin<Box<dyn Future<Output = Result<T, CursorError>> + Send>>;

/// Where leases and cursors are kept, as one node sees it. Every write is durable before it is answered.
pub trait Cursors: Send + Sync + 'static {
    /// Takes or renews this node's lease for `ttl_ms` from now, by the store's own clock; `None` if
    /// another node has it.
    ///
    /// A renewed lease keeps its number, also when it had run out and nobody else took it.
    fn lease(&self, name: String, ttl_ms: u32) -> Pending<Option<Fence>>;

    /// Gives a lease back, if this node has it, so that the next one need not wait.
    fn release(&self, name: String) -> Pending<()>;

    /// The number of the last feed entry that was sent on; [`Seq::default`] if there is none.
    fn cursor(&self, name: String) -> Pending<Seq>;

    /// Moves the cursor of the same name as the lease.
    ///
    /// # Errors
    /// [`CursorError::Fenced`] if the lease has another number by now.
    fn set_cursor(&self, name: String, fence: Fence, value: Seq) -> Pending<()>;
}

#[cfg(feature = "testing")]
pub use memory::MemoryCursors;

#[cfg(feature = "testing")]
mod memory {
    use super::{CursorError, Cursors, Fence, Pending};
    use onrush_core::Time;
    use onrush_store::Seq;
    use onrush_store::embedded::Clock;
    use std::collections::HashMap;
    use std::sync::{Arc, Mutex, PoisonError};

    /// Leases and cursors in memory, for tests: one store that any number of nodes share.
    pub struct MemoryCursors {
        node: u32,
        clock: Clock,
        shared: Arc<Mutex<Shared>>,
    }

    #[derive(Default)]
    struct Shared {
        nodes: u32,
        leases: HashMap<String, Lease>,
        cursors: HashMap<String, Seq>,
        unavailable: bool,
    }

    struct Lease {
        node: Option<u32>,
        fence: Fence,
        until: Time,
    }

    impl MemoryCursors {
        /// An empty store, as its first node sees it; leases run by `clock`.
        #[must_use]
        pub fn new(clock: Clock) -> Self {
            Self { node: 0, clock, shared: Arc::default() }
        }

        /// The same store, as another node sees it.
        #[must_use]
        pub fn another_node(&self) -> Self {
            let node = self.with(|shared| {
                shared.nodes += 1;
                shared.nodes
            });
            Self { node, clock: self.clock.clone(), shared: self.shared.clone() }
        }

        /// Has every call fail from now on, or work again.
        pub fn set_unavailable(&self, unavailable: bool) {
            self.with(|shared| shared.unavailable = unavailable);
        }

        fn with<T>(&self, act: impl FnOnce(&mut Shared) -> T) -> T {
            act(&mut self.shared.lock().unwrap_or_else(PoisonError::into_inner))
        }

        fn answer<T: Send + 'static>(
            &self,
            act: impl FnOnce(&mut Shared) -> Result<T, CursorError>,
        ) -> Pending<T> {
            let answer = self.with(|shared| match shared.unavailable {
                true => Err(CursorError::Unavailable("a test says so".into())),
                false => act(shared),
            });
            Box::pin(std::future::ready(answer))
        }
    }

    impl Cursors for MemoryCursors {
        fn lease(&self, name: String, ttl_ms: u32) -> Pending<Option<Fence>> {
            let (node, now) = (Some(self.node), self.clock.now());
            self.answer(|shared| {
                let lease = shared.leases.entry(name).or_insert(Lease {
                    node: None,
                    fence: Fence(0),
                    until: Time::MIN,
                });
                if lease.node != node {
                    if lease.node.is_some() && now < lease.until {
                        return Ok(None);
                    }
                    lease.node = node;
                    lease.fence.0 += 1;
                }
                lease.until = now.plus_ms(i64::from(ttl_ms));
                Ok(Some(lease.fence))
            })
        }

        fn release(&self, name: String) -> Pending<()> {
            self.answer(|shared| {
                if let Some(lease) = shared.leases.get_mut(&name)
                    && lease.node == Some(self.node)
                {
                    lease.node = None;
                }
                Ok(())
            })
        }

        fn cursor(&self, name: String) -> Pending<Seq> {
            self.answer(|shared| Ok(shared.cursors.get(&name).copied().unwrap_or_default()))
        }

        fn set_cursor(&self, name: String, fence: Fence, value: Seq) -> Pending<()> {
            self.answer(|shared| {
                if shared.leases.get(&name).is_none_or(|lease| lease.fence != fence) {
                    return Err(CursorError::Fenced);
                }
                shared.cursors.insert(name, value);
                Ok(())
            })
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;
        use onrush_store::embedded::ManualClock;

        const NAME: &str = "publisher";

        #[tokio::test]
        async fn lease_is_one_nodes_until_it_runs_out_or_is_given_back() {
            let clock = ManualClock::new(Time(1_000));
            let first = MemoryCursors::new(Clock::Manual(clock.clone()));
            let second = first.another_node();

            assert_eq!(first.lease(NAME.into(), 500).await, Ok(Some(Fence(1))));
            assert_eq!(second.lease(NAME.into(), 500).await, Ok(None));
            clock.advance_ms(499);
            assert_eq!(second.lease(NAME.into(), 500).await, Ok(None));
            clock.advance_ms(1);
            assert_eq!(second.lease(NAME.into(), 500).await, Ok(Some(Fence(2))));
            assert_eq!(second.lease(NAME.into(), 500).await, Ok(Some(Fence(2))), "renewed");

            first.release(NAME.into()).await.expect("nothing to give back is no failure");
            assert_eq!(first.lease(NAME.into(), 500).await, Ok(None));
            second.release(NAME.into()).await.expect("it is given back");
            assert_eq!(first.lease(NAME.into(), 500).await, Ok(Some(Fence(3))));
        }

        #[tokio::test]
        async fn cursor_is_moved_under_the_present_fence_only() {
            let clock = ManualClock::new(Time(1_000));
            let first = MemoryCursors::new(Clock::Manual(clock.clone()));
            let second = first.another_node();
            let old = first.lease(NAME.into(), 10).await.expect("it works").expect("it is free");
            first.set_cursor(NAME.into(), old, Seq(7)).await.expect("the lease is ours");
            clock.advance_ms(10);
            let new = second.lease(NAME.into(), 10).await.expect("it works").expect("it ran out");

            assert_eq!(first.set_cursor(NAME.into(), old, Seq(8)).await, Err(CursorError::Fenced));
            assert_eq!(second.cursor(NAME.into()).await, Ok(Seq(7)));
            second.set_cursor(NAME.into(), new, Seq(9)).await.expect("the lease is ours");
            assert_eq!(first.cursor(NAME.into()).await, Ok(Seq(9)));
            assert_eq!(first.cursor("another".into()).await, Ok(Seq(0)));
        }
    }
}
