//! An SMTP server in a process of its own, which says what it got.

use onrush_testkit::Issued;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// The server; it is killed when this is dropped.
pub(crate) struct Sink {
    child: Child,
    lines: Option<BufReader<ChildStdout>>,
    dir: TempDir,
    pub(crate) port: u16,
}

impl Sink {
    /// Starts one, on a free port, in a directory of its own.
    pub(crate) fn start() -> Self {
        Self::start_as(None)
    }

    /// One that speaks TLS, from the first byte (`tls`) or after `starttls`.
    pub(crate) fn start_with_tls(how: &str, issued: &Issued) -> Self {
        Self::start_as(Some((how, issued)))
    }

    fn start_as(tls: Option<(&str, &Issued)>) -> Self {
        let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let python = repository.join("target/python/bin/python");
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/relay/smtp_sink.py");
        let dir = tempfile::tempdir().unwrap();
        let why = "the tests of mail need an SMTP server: run scripts/need.sh python3 aiosmtpd";
        let mut command = Command::new(python);
        command.arg(script).arg(dir.path());
        if let Some((how, issued)) = tls {
            let (cert, key) = issued.write(dir.path(), "sink").unwrap();
            command.arg(how).arg(cert).arg(key);
        }
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{why} ({error})"));
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        lines.read_line(&mut line).unwrap();
        let port = line.trim().parse().unwrap_or_else(|_| panic!("{why}"));
        Self { child, lines: Some(lines), dir, port }
    }

    fn busy_file(&self) -> PathBuf {
        self.dir.path().join("busy")
    }

    /// Has it refuse all mail for now, or take it again.
    pub(crate) fn set_busy(&self, busy: bool) {
        match busy {
            true => std::fs::write(self.busy_file(), "").unwrap(),
            false => std::fs::remove_file(self.busy_file()).unwrap(),
        }
    }

    /// What it says next: a mail, or that it was busy.
    pub(crate) async fn next(&mut self) -> Value {
        let mut lines = self.lines.take().unwrap();
        let reading = tokio::task::spawn_blocking(move || {
            let mut line = String::new();
            lines.read_line(&mut line).unwrap();
            (line, lines)
        });
        let read = tokio::time::timeout(Duration::from_secs(20), reading).await;
        let Ok(read) = read else {
            // Else the thread that reads would never end.
            self.child.kill().unwrap();
            panic!("no mail came");
        };
        let (line, lines) = read.unwrap();
        self.lines = Some(lines);
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("not JSON: {line}"))
    }

    /// Whether it said anything more by the time it is stopped.
    pub(crate) async fn stop_and_rest(mut self) -> Vec<String> {
        // The end of its input ends it, once everything that it took is printed.
        drop(self.child.stdin.take());
        let lines = self.lines.take().unwrap();
        tokio::task::spawn_blocking(|| lines.lines().map(Result::unwrap).collect()).await.unwrap()
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        // It may have ended already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
