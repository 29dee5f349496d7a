//! Unit tests start no server: `make check` runs them, where none may be installed.

use crate::repository::Repository;

/// Kafka's own TLS, whose feature `make check` does not build.
const APART: &str = "crates/bridge/src/kafka/encrypted.rs";

/// A sentence for each unit test that wants a server of `onrush_testkit`.
#[must_use]
pub fn findings(repository: &Repository) -> Vec<String> {
    let mut found = Vec::new();
    for (path, text) in repository.files().filter(|(path, _)| is_unit(path)) {
        for (line, number) in text.lines().zip(1..) {
            if wants_server(line) {
                found.push(format!(
                    "{path}:{number}: a unit test starts a server, and `make check` may have none; \
                     move it to the tests beside src.",
                ));
            }
        }
    }
    found
}

/// Whether a file may have unit tests, and is none of those that make servers.
fn is_unit(path: &str) -> bool {
    path.starts_with("crates/")
        && path.contains("/src/")
        && path.ends_with(".rs")
        && !path.starts_with("crates/testkit/")
        && path != APART
}

/// Whether `onrush_testkit::need` is called.
fn wants_server(line: &str) -> bool {
    let mut parts = line.split("need").peekable();
    while let Some(before) = parts.next() {
        let is_whole = !before.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        if is_whole && parts.peek().is_some_and(|after| after.starts_with('(')) {
            return true;
        }
    }
    false
}
