//! Chance that a simulation deals, in place of the operating system's: never built into a server
//! that is to be released.

use std::cell::RefCell;

type Dealer = Box<dyn FnMut(&mut [u8])>;

thread_local! {
    static DEALER: RefCell<Option<Dealer>> = const { RefCell::new(None) };
}

/// Deals all chance of this thread until it is dropped.
#[derive(Debug)]
pub struct Dealt(());

impl Drop for Dealt {
    fn drop(&mut self) {
        drop(DEALER.take());
    }
}

/// Has `dealer` deal all chance of this thread.
#[must_use]
pub fn deal(dealer: impl FnMut(&mut [u8]) + 'static) -> Dealt {
    DEALER.set(Some(Box::new(dealer)));
    Dealt(())
}

/// Fills the bytes; false if nobody deals.
pub(super) fn fill(bytes: &mut [u8]) -> bool {
    DEALER.with_borrow_mut(|dealer| dealer.as_mut().map(|deal| deal(bytes)).is_some())
}
