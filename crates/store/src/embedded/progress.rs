//! How far the journal is, for those who wait for more.
//!
//! They are woken in the order in which they began to wait. (tokio's `watch` draws that order from a
//! chance of its own, and no simulation would go the same way twice.)

use crate::engine::Seq;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// How far the journal is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Progress {
    pub(super) committed: Seq,
    /// Nothing more will come.
    pub(super) stopped: bool,
}

struct State {
    progress: Progress,
    /// Nobody tells any more.
    closed: bool,
}

struct Board {
    state: Mutex<State>,
    changed: Notify,
}

impl Board {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells how far the journal is; when it is dropped, nothing more will be told.
pub(super) struct Teller(Arc<Board>);

/// Hears how far the journal is.
#[derive(Clone)]
pub(super) struct Listener {
    board: Arc<Board>,
    /// What was heard last.
    heard: Progress,
}

/// A journal that is so far, and a way to hear when it is further.
pub(super) fn progress(committed: Seq) -> (Teller, Listener) {
    let heard = Progress { committed, stopped: false };
    let state = Mutex::new(State { progress: heard, closed: false });
    let board = Arc::new(Board { state, changed: Notify::new() });
    (Teller(board.clone()), Listener { board, heard })
}

impl Teller {
    /// Everything up to here is committed.
    pub(super) fn committed(&self, committed: Seq) {
        let mut state = self.0.state();
        if state.progress.committed < committed {
            state.progress.committed = committed;
            drop(state);
            self.0.changed.notify_waiters();
        }
    }

    /// Nothing more will come.
    pub(super) fn stopped(&self) {
        self.0.state().progress.stopped = true;
        self.0.changed.notify_waiters();
    }
}

impl Drop for Teller {
    fn drop(&mut self) {
        self.0.state().closed = true;
        self.0.changed.notify_waiters();
    }
}

impl Listener {
    /// How far the journal is now.
    pub(super) fn look(&mut self) -> Progress {
        self.heard = self.board.state().progress;
        self.heard
    }

    /// Waits until it is further than at the last look, or stopped; `false` if nobody will ever tell.
    pub(super) async fn changed(&mut self) -> bool {
        let board = self.board.clone();
        loop {
            let mut changed = pin!(board.changed.notified());
            // From here on no change is missed.
            changed.as_mut().enable();
            {
                let state = board.state();
                if state.progress != self.heard {
                    return true;
                }
                if state.closed {
                    return false;
                }
            }
            changed.await;
        }
    }

    /// Waits until nothing more will come.
    pub(super) async fn stopped(&mut self) {
        while !self.look().stopped && self.changed().await {}
    }
}

#[cfg(test)]
mod tests {
    use super::progress;
    use crate::engine::Seq;
    use std::pin::pin;
    use std::sync::{Arc, Mutex};
    use std::task::{Context, Poll, Waker};

    fn at_once<T>(waiting: impl Future<Output = T>) -> Option<T> {
        match pin!(waiting).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(value) => Some(value),
            Poll::Pending => None,
        }
    }

    #[test]
    fn a_change_between_a_look_and_the_wait_is_not_missed() {
        let (teller, mut listener) = progress(Seq(1));
        assert!(!listener.look().stopped);
        assert_eq!(at_once(listener.changed()), None);
        teller.committed(Seq(2));
        assert_eq!(at_once(listener.changed()), Some(true));
        assert_eq!(listener.look().committed, Seq(2));
        teller.committed(Seq(2));
        assert_eq!(at_once(listener.changed()), None);
        drop(teller);
        assert_eq!(at_once(listener.changed()), Some(false));
        assert_eq!(at_once(listener.stopped()), Some(()));
    }

    #[test]
    fn they_are_woken_in_the_order_in_which_they_began_to_wait() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        for _ in 0..20 {
            let (teller, listener) = progress(Seq(1));
            let woken = Arc::new(Mutex::new(Vec::new()));
            let order = woken.clone();
            runtime.block_on(async move {
                let waiting: Vec<_> = (0..6)
                    .map(|number| {
                        let (mut listener, woken) = (listener.clone(), woken.clone());
                        tokio::spawn(async move {
                            listener.changed().await;
                            woken.lock().expect("nobody panics with it").push(number);
                        })
                    })
                    .collect();
                tokio::task::yield_now().await;
                teller.committed(Seq(2));
                for one in waiting {
                    one.await.expect("it was woken");
                }
            });
            assert_eq!(*order.lock().expect("nobody panics with it"), [0, 1, 2, 3, 4, 5]);
        }
    }
}
