//! Points around a remote call at which a test ends the process. Builds without the feature
//! `testing` pass them by.

#[cfg(feature = "testing")]
use std::sync::OnceLock;

#[cfg(feature = "testing")]
static HOOK: OnceLock<fn(&str)> = OnceLock::new();

/// Has `hook` hear of each point that is reached: `asking:Hold` before a hold's script is sent, and
/// `asked:Hold` once it ran and before anything is made of its answer.
#[cfg(feature = "testing")]
pub fn tell(hook: fn(&str)) {
    HOOK.get_or_init(|| hook);
}

#[cfg(feature = "testing")]
pub(super) fn reached(here: &str, counts: bool) {
    if let Some(hook) = HOOK.get().filter(|_| counts) {
        hook(here);
    }
}

/// Nothing.
#[cfg(not(feature = "testing"))]
pub(super) fn reached(_: &str, _: bool) {}
