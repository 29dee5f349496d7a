//! The program while the disk is full that its output or its log is written to.

mod cli_support;

use cli_support::{Served, full_disk, onrush};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Stdio;

/// The first line of what a server answers without a key.
fn status_of(served: &Served, path: &str) -> String {
    let mut connection = TcpStream::connect(served.address).expect("it listens");
    let request = format!("GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    connection.write_all(request.as_bytes()).expect("it reads");
    let mut answer = String::new();
    connection.read_to_string(&mut answer).expect("it answers");
    answer.lines().next().expect("a line").to_owned()
}

#[test]
fn a_server_that_cannot_say_where_it_listens_serves_and_shows_a_new_key_in_its_log() {
    let plainly: &[&str] = &[];
    for arguments in [plainly, &["--json"]] {
        let scratch = tempfile::tempdir().expect("a directory");
        let (served, key) = Served::start_on_a_full_disk(scratch.path(), arguments);
        assert_eq!(status_of(&served, "/readyz"), "HTTP/1.1 200 OK", "{arguments:?}");
        served.ask("GET", "/api/v1/admin/feed", &key, "");
        assert_eq!(served.stop(), Some(0), "{arguments:?}");
    }
}

#[test]
fn a_log_that_cannot_be_written_changes_no_exit_code() {
    for (arguments, code) in [
        (&["serve", "--config", "/there/is/no/such/file.toml"][..], 2),
        (&["audit", "--data", "/there/is/no/such/directory"], 3),
    ] {
        let mut command = onrush();
        command.args(arguments).stdout(Stdio::null()).stderr(full_disk());
        let status = command.status().expect("the program can be started");
        assert_eq!(status.code(), Some(code), "{arguments:?}");
    }
}

#[test]
fn a_result_that_cannot_be_written_is_no_success() {
    let scratch = tempfile::tempdir().expect("a directory");
    let data = scratch.path().display().to_string();
    let served = Served::start(scratch.path());
    assert_eq!(served.stop(), Some(0));
    for arguments in [
        &["audit", "--json", "--data", &data][..],
        &["key", "new", "--name", "ann", "--scopes", "read"],
        &["config", "--template"],
    ] {
        let ends_well = |out: Stdio| {
            let mut command = onrush();
            command.args(arguments).stdout(out).stderr(Stdio::null());
            command.status().expect("the program can be started").success()
        };
        assert!(ends_well(Stdio::null()), "{arguments:?}");
        assert!(!ends_well(full_disk().into()), "{arguments:?}");
    }
}
