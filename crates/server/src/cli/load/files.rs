//! The limit on open files, which is also the limit on connections.

use rustix::process::{Resource, getrlimit, setrlimit};

/// Raises the limit on open files to at least `wanted` if that is allowed, and says what it is now.
pub(crate) fn allow_open_files(wanted: u64) -> u64 {
    let mut limit = getrlimit(Resource::Nofile);
    // No limit at all is written as `None`.
    let soft = limit.current.unwrap_or(u64::MAX);
    if soft >= wanted {
        return soft;
    }
    let hard = limit.maximum.unwrap_or(u64::MAX);
    if hard < wanted {
        // Only a privileged process may raise its own ceiling; asking costs nothing.
        let raised = rustix::process::Rlimit { current: Some(wanted), maximum: Some(wanted) };
        if setrlimit(Resource::Nofile, raised).is_ok() {
            return wanted;
        }
    }
    limit.current = Some(wanted.min(hard));
    match setrlimit(Resource::Nofile, limit) {
        Ok(()) => wanted.min(hard),
        Err(_) => soft,
    }
}
