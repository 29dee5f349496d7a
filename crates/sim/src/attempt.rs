//! A run may end in a broken assertion of the rules, which is a violation like any other.

use crate::judges::Violation;
use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

thread_local! {
    static IS_QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Runs this, and gives a panic as a violation, without a word on the error output.
///
/// # Errors
/// The violation.
pub(crate) fn quietly(run: impl FnOnce() -> Result<(), Violation>) -> Result<(), Violation> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let loud = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !IS_QUIET.get() {
                loud(info);
            }
        }));
    });
    IS_QUIET.set(true);
    let caught = catch_unwind(AssertUnwindSafe(run));
    IS_QUIET.set(false);
    caught.unwrap_or_else(|panic| {
        let why = format!("an assertion failed: {}", text_of(panic.as_ref()));
        Err(Violation { judge: "rules", why })
    })
}

/// What a panic said.
pub(crate) fn text_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic without a text")
}
