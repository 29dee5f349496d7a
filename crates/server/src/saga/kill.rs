//! Points at which a test kills the process, with a signal that nothing can catch.

/// Dies here if `ONRUSH_KILL_AT` names this point; builds without the feature `testing` never do.
#[cfg(feature = "testing")]
pub(super) fn point(when: &str, position: onrush_core::booking::Position) {
    use onrush_core::booking::Position;
    use rustix::process::{Signal, getpid, kill_process};
    use std::sync::LazyLock;
    static WANTED: LazyLock<Option<String>> =
        LazyLock::new(|| std::env::var("ONRUSH_KILL_AT").ok());
    let Some(wanted) = &*WANTED else { return };
    let Position { step, stage } = position;
    let here = match stage {
        None => format!("{when}:{step:?}"),
        Some(stage) => format!("{when}:{step:?}:{stage:?}"),
    };
    if here == *wanted {
        kill_process(getpid(), Signal::KILL).expect("a process may kill itself");
        // The signal comes before this returns to anyone.
        loop {
            std::thread::park();
        }
    }
}

/// Nothing.
#[cfg(not(feature = "testing"))]
pub(super) fn point(_: &str, _: onrush_core::booking::Position) {}
