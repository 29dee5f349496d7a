//! What a test does when its server is not installed.

use onrush_testkit::{Missing, NotStarted, need, on_a_mock};
use std::process::{Command, Output};

fn missing() -> Result<(), NotStarted> {
    Err(NotStarted::Missing(Missing { what: "a server", install: "Install it." }))
}

#[test]
#[ignore = "the other tests run it in a process of its own"]
fn wants_a_server() {
    on_a_mock("half a server");
    if need(missing()).is_some() {
        unreachable!("nobody has it");
    }
}

fn run(not_run: &std::path::Path, ci: &str) -> Output {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "wants_a_server", "--ignored", "--nocapture"])
        .env("ONRUSH_NOT_RUN", not_run)
        .env("CI", ci)
        .output()
        .unwrap()
}

#[test]
fn test_without_its_server_passes_and_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("not-run");
    for _ in 0..2 {
        let output = run(&file, "");
        assert!(output.status.success());
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(
            errors.contains("NOT RUN need::wants_a_server: a server is not installed. Install it."),
            "{errors}"
        );
    }
    let lines = std::fs::read_to_string(&file).unwrap();
    let lines: Vec<_> = lines.lines().collect();
    let once = [
        "ON A MOCK: need::wants_a_server: half a server",
        "NOT RUN need::wants_a_server: a server is not installed. Install it.",
    ];
    assert_eq!(lines, [once, once].concat());
}

#[test]
fn test_without_its_server_fails_under_ci() {
    let folder = tempfile::tempdir().unwrap();
    assert!(!run(&folder.path().join("not-run"), "true").status.success());
}
