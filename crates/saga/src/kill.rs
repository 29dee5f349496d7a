//! Points at which a test kills the process, with a signal that nothing can catch.

/// Dies here if `ONRUSH_KILL_AT` names this point; builds without the feature `testing` never do.
///
/// A point is `before:<Step>[:<Stage>]` or `after:…`: before or after the write of that position.
#[cfg(feature = "testing")]
pub(super) fn point(when: &str, position: onrush_core::saga::Position) {
    use onrush_core::saga::Position;
    let Position { step, stage } = position;
    match stage {
        None => reached(&format!("{when}:{step:?}")),
        Some(stage) => reached(&format!("{when}:{step:?}:{stage:?}")),
    }
}

/// The same for a point with a name of its own: `answering:Hold` once the engine has answered, and
/// `asking:Hold` and `asked:Hold` around the script of an engine that is remote.
///
/// `ONRUSH_KILL_LOG` names a file that gets a line for each point reached.
#[cfg(feature = "testing")]
pub fn reached(here: &str) {
    use rustix::process::{Signal, getpid, kill_process};
    use std::io::Write;
    use std::sync::LazyLock;
    static WANTED: LazyLock<Option<String>> =
        LazyLock::new(|| std::env::var("ONRUSH_KILL_AT").ok());
    static LOG: LazyLock<Option<std::fs::File>> = LazyLock::new(|| {
        let path = std::env::var_os("ONRUSH_KILL_LOG")?;
        let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
        Some(file.expect("the log of points can be written"))
    });
    if let Some(mut log) = LOG.as_ref() {
        // One write a line, so that lines of two threads do not mix.
        log.write_all(format!("{here}\n").as_bytes()).expect("the log of points can be written");
    }
    if WANTED.as_deref() == Some(here) {
        kill_process(getpid(), Signal::KILL).expect("a process may kill itself");
        // The signal comes before this returns to anyone.
        loop {
            std::thread::park();
        }
    }
}

/// Nothing.
#[cfg(not(feature = "testing"))]
pub(super) fn point(_: &str, _: onrush_core::saga::Position) {}

/// Nothing.
#[cfg(not(feature = "testing"))]
pub fn reached(_: &str) {}
