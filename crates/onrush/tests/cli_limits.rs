//! Limits while the system's clock is set: they know how much time has passed, and not what time it is.

mod cli_support;

use cli_support::Served;
use onrush_testkit::{Missing, NotStarted, need};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;

/// What sets a process' clock wrong.
const FAKETIME: &str = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1";

/// The status and Retry-After of a request for a guest token.
fn ask_for_a_token(served: &Served) -> (u16, Option<u64>) {
    let mut connection = TcpStream::connect(served.address).expect("it listens");
    let request = "POST /api/v1/visitors HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\
                   Content-Length: 0\r\n\r\n";
    connection.write_all(request.as_bytes()).expect("it reads");
    let mut answer = String::new();
    connection.read_to_string(&mut answer).expect("it answers");
    let status = answer.split(' ').nth(1).and_then(|text| text.parse().ok());
    let mut headers = answer.lines().filter_map(|line| line.split_once(": "));
    let retry = headers.find(|(name, _)| name.eq_ignore_ascii_case("retry-after"));
    (status.expect("a status"), retry.map(|(_, text)| text.parse().expect("seconds")))
}

#[test]
fn a_clock_set_back_by_two_hours_keeps_nobody_waiting() {
    let install = "On Debian or Ubuntu: sudo apt-get install faketime";
    let missing = || NotStarted::Missing(Missing { what: "libfaketime", install });
    let there = Path::new(FAKETIME).exists().then_some(()).ok_or_else(missing);
    let Some(()) = need(there) else { return };
    let scratch = tempfile::tempdir().expect("a directory");
    let clock = scratch.path().join("clock");
    std::fs::write(&clock, "+2h").expect("written");
    let served = Served::start_with(&scratch.path().join("data"), |command| {
        command
            .env("LD_PRELOAD", FAKETIME)
            .env("FAKETIME_TIMESTAMP_FILE", &clock)
            .env("FAKETIME_NO_CACHE", "1")
            .env("FAKETIME_DONT_FAKE_MONOTONIC", "1")
            .env("ONRUSH_VISITORS_PER_MIN", "1");
    });
    assert_eq!(ask_for_a_token(&served).0, 201);
    std::fs::write(&clock, "+0s").expect("written");
    let (status, retry_after_s) = ask_for_a_token(&served);
    assert_eq!(status, 429);
    let retry_after_s = retry_after_s.expect("when to come back");
    assert!(retry_after_s <= 60, "to come back after {retry_after_s} s");
}
