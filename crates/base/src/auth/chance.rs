//! Chance and the time of day as a simulation deals them, in place of the operating system's: never
//! built into a server that is to be released.

use std::cell::RefCell;

type Dealer = Box<dyn FnMut(&mut [u8])>;
type Clock = Box<dyn Fn() -> i64>;

thread_local! {
    static DEALER: RefCell<Option<Dealer>> = const { RefCell::new(None) };
    static CLOCK: RefCell<Option<Clock>> = const { RefCell::new(None) };
}

/// Deals all chance of this thread, and tells it the time, until it is dropped.
#[derive(Debug)]
pub struct Dealt(());

impl Drop for Dealt {
    fn drop(&mut self) {
        drop(DEALER.take());
        drop(CLOCK.take());
    }
}

/// Has `dealer` deal all chance of this thread, and `clock` tell it the seconds since 1970.
#[must_use]
pub fn deal(dealer: impl FnMut(&mut [u8]) + 'static, clock: impl Fn() -> i64 + 'static) -> Dealt {
    DEALER.set(Some(Box::new(dealer)));
    CLOCK.set(Some(Box::new(clock)));
    Dealt(())
}

/// Fills the bytes; false if nobody deals.
pub(super) fn fill(bytes: &mut [u8]) -> bool {
    DEALER.with_borrow_mut(|dealer| dealer.as_mut().map(|deal| deal(bytes)).is_some())
}

/// The time of day in whole seconds, if somebody tells it.
pub(crate) fn now_s() -> Option<i64> {
    CLOCK.with_borrow(|clock| clock.as_ref().map(|now_s| now_s()))
}
