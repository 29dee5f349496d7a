//! What a test does when a server is not installed: it says so where it is counted, and fails under CI.

use std::fmt;
use std::io::Write;
use std::path::PathBuf;

/// A program that a test needs is not installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// What could not be found.
    pub what: &'static str,
    /// What to do about it.
    pub install: &'static str,
}

/// Why a server does not run.
#[derive(Debug, thiserror::Error)]
pub enum NotStarted {
    /// It is not installed.
    #[error("{} is not installed. {}", .0.what, .0.install)]
    Missing(Missing),
    /// It is installed and did not start, or what was asked of it failed: why, and the end of its log.
    #[error("{0}")]
    Failed(String),
}

impl NotStarted {
    pub(crate) fn missing(what: &'static str, install: &'static str) -> Self {
        Self::Missing(Missing { what, install })
    }

    pub(crate) fn failed(what: &str, why: impl fmt::Display) -> Self {
        Self::Failed(format!("{what}: {why}"))
    }
}

/// The server, or `None` where it is not installed: the test then returns, having run nothing.
///
/// The line `NOT RUN <test>: <what to install>` goes to standard error and to the end of the file
/// that `ONRUSH_NOT_RUN` names, so that these tests can be counted apart.
///
/// # Panics
///
/// If the server is installed and does not start. With `CI` set, also if it is not installed.
#[track_caller]
pub fn need<T>(started: Result<T, NotStarted>) -> Option<T> {
    let missing = match started {
        Ok(server) => return Some(server),
        Err(NotStarted::Missing(missing)) => missing,
        Err(NotStarted::Failed(why)) => panic!("{why}"),
    };
    let line =
        format!("NOT RUN {}: {} is not installed. {}", test_name(), missing.what, missing.install);
    note(&line);
    None
}

/// Says that a test runs on less than the real thing, in a line that is counted like one that did not run.
///
/// The line is `ON A MOCK: <test>: <instead of what, and why>`.
///
/// # Panics
///
/// With `CI` set.
#[track_caller]
pub fn on_a_mock(why: impl fmt::Display) {
    note(&format!("ON A MOCK: {}: {why}", test_name()));
}

#[track_caller]
fn note(line: &str) {
    assert!(std::env::var_os("CI").is_none_or(|ci| ci.is_empty()), "{line}");
    eprintln!("{line}");
    let Some(path) = std::env::var_os("ONRUSH_NOT_RUN") else { return };
    // One write to a file opened for appending: lines of tests that run at once do not mix.
    let mut file = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(&path)
        .expect("ONRUSH_NOT_RUN names a file that can be written");
    file.write_all(format!("{line}\n").as_bytes()).expect("a line fits on the disk");
}

/// The test binary and the test, as `cargo test` names them.
fn test_name() -> String {
    let binary = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("test"));
    let stem = binary.file_stem().and_then(|stem| stem.to_str()).unwrap_or("test");
    // `conformance-5f1d…`: the hash is Cargo's.
    let binary = stem.rsplit_once('-').map_or(stem, |(name, _)| name);
    match std::thread::current().name() {
        Some(test) if test != "main" => format!("{binary}::{test}"),
        _ => binary.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Missing, NotStarted, need, test_name};

    #[test]
    fn test_that_cannot_run_is_named() {
        assert_eq!(test_name(), "onrush_testkit::need::tests::test_that_cannot_run_is_named");
    }

    #[test]
    #[should_panic(expected = "redis: the last lines of its log")]
    fn server_that_does_not_start_fails_the_test() {
        need::<()>(Err(NotStarted::failed("redis", "the last lines of its log")));
    }

    #[test]
    fn missing_server_says_what_to_install() {
        let missing = NotStarted::Missing(Missing { what: "redis-server", install: "Install it." });
        assert_eq!(missing.to_string(), "redis-server is not installed. Install it.");
    }
}
