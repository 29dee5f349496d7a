//! Panics that are expected: the rules meet what contradicts their state with one, and whoever reads
//! files makes a sentence of it.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};

thread_local! {
    static EXPECTED: Cell<bool> = const { Cell::new(false) };
}

/// Says nothing of panics that are expected, and calls `then` after every other one.
pub fn install(then: fn()) {
    let tell = take_hook();
    set_hook(Box::new(move |panic| {
        if !EXPECTED.get() {
            tell(panic);
            then();
        }
    }));
}

/// Runs what may panic and catches that itself.
pub fn expecting<T>(run: impl FnOnce() -> T) -> T {
    let before = EXPECTED.replace(true);
    let done = run();
    EXPECTED.set(before);
    done
}

/// Runs what may panic; gives the panic's sentence if it does.
///
/// # Errors
/// The sentence.
pub fn guarded<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    let done = expecting(|| catch_unwind(AssertUnwindSafe(run)));
    done.map_err(|panic| match panic.downcast::<String>() {
        Ok(why) => *why,
        Err(panic) => (*panic.downcast_ref::<&str>().unwrap_or(&"")).to_owned(),
    })
}
