//! What the tests of the command line share: running the program, and speaking to a server it runs.

#![expect(dead_code, reason = "each test binary uses its own part of it")]

use serde_json::Value;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

/// The admin key of the servers that tests run.
pub(crate) const ADMIN_KEY: &str = "a-key-for-tests-only";

/// The program, without the variables of whoever runs the tests.
pub(crate) fn onrush() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_onrush"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("ONRUSH_") {
            command.env_remove(name);
        }
    }
    command.stdin(Stdio::null());
    command
}

/// Runs the program to its end.
pub(crate) fn run(arguments: &[&str]) -> Output {
    onrush().args(arguments).output().expect("the program can be started")
}

/// The exit code, and the last line of the output as JSON.
pub(crate) fn run_json(arguments: &[&str]) -> (Option<i32>, Value) {
    let output = run(arguments);
    let text = String::from_utf8_lossy(&output.stdout);
    let json = text.lines().last().and_then(|line| serde_json::from_str(line).ok());
    let errors = || String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), json.unwrap_or_else(|| panic!("no JSON: {text}\n{}", errors())))
}

/// An output on a disk that has no room left.
pub(crate) fn full_disk() -> File {
    OpenOptions::new().write(true).open("/dev/full").expect("Linux has one")
}

/// A file of the repository.
pub(crate) fn example(name: &str) -> String {
    format!("{}/../../examples/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// What all servers are started with.
const SERVE: [&str; 6] = ["serve", "--json", "--log", "error", "--listen", "127.0.0.1:0"];

/// A server in a process of its own; it is killed when this is dropped.
pub(crate) struct Served {
    child: Child,
    pub(crate) address: SocketAddr,
    /// The operator's listener, if there is one.
    pub(crate) operator: Option<SocketAddr>,
}

impl Served {
    /// Starts one on `data` and waits until it is ready.
    pub(crate) fn start(data: &Path) -> Self {
        Self::start_with(data, |_| {})
    }

    /// The same with more variables.
    pub(crate) fn start_with(data: &Path, change: impl FnOnce(&mut Command)) -> Self {
        let mut command = onrush();
        command.args(SERVE).args(["--operator-listen", "off", "--data"]).arg(data);
        Self::spawn(command, change)
    }

    /// The same, with what it has to say in a file.
    pub(crate) fn start_with_log(
        data: &Path,
        log: &Path,
        change: impl FnOnce(&mut Command),
    ) -> Self {
        let mut command = onrush();
        command.args(["serve", "--json", "--log", "info", "--listen", "127.0.0.1:0"]);
        command.args(["--operator-listen", "off", "--data"]).arg(data);
        command.stderr(std::fs::File::create(log).expect("it can be made"));
        Self::spawn(command, change)
    }

    /// The same with an operator's listener.
    pub(crate) fn start_watched(data: &Path, change: impl FnOnce(&mut Command)) -> Self {
        let mut command = onrush();
        command.args(SERVE).args(["--operator-listen", "127.0.0.1:0", "--data"]).arg(data);
        Self::spawn(command, change)
    }

    /// The same, with what it has to say in a file.
    pub(crate) fn start_watched_with_log(
        data: &Path,
        log: &Path,
        change: impl FnOnce(&mut Command),
    ) -> Self {
        let mut command = onrush();
        command.args(["serve", "--json", "--log", "info", "--listen", "127.0.0.1:0"]);
        command.args(["--operator-listen", "127.0.0.1:0", "--data"]).arg(data);
        command.stderr(std::fs::File::create(log).expect("it can be made"));
        Self::spawn(command, change)
    }

    /// Starts one with an operator's listener that may have so many files open, and not one more:
    /// it lets in as many connections as that allows.
    pub(crate) fn start_with_files(data: &Path, files: u32) -> Self {
        let mut command = Command::new("sh");
        let script = format!("ulimit -n {files} && exec \"$0\" \"$@\"");
        command.args(["-c", &script, env!("CARGO_BIN_EXE_onrush")]).args(SERVE);
        command.args(["--operator-listen", "127.0.0.1:0", "--data"]).arg(data).stdin(Stdio::null());
        // Asked for more, a privileged process would get it.
        command.env("ONRUSH_MAX_CONNECTIONS", (files / 4 * 3).to_string());
        Self::spawn(command, |_| {})
    }

    /// Starts one whose output is on a full disk and that has no admin key yet. Says which it drew.
    pub(crate) fn start_on_a_full_disk(data: &Path, arguments: &[&str]) -> (Self, String) {
        let mut command = onrush();
        command.args(["serve", "--listen", "127.0.0.1:0", "--operator-listen", "off", "--data"]);
        command.arg(data).args(arguments).env("ONRUSH_LIMITS", "off");
        command.env("ONRUSH_SHED_AFTER_MS", "0").stdout(full_disk()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program can be started");
        let log = BufReader::new(child.stderr.take().expect("its log is a pipe"));
        let mut lines = log.lines().map(|line| line.expect("its log can be read"));
        let mut after = |mark: &str| {
            let found =
                lines.find_map(|line| line.split_once(mark).map(|(_, rest)| rest.to_owned()));
            found.unwrap_or_else(|| panic!("its log has no {mark}"))
        };
        let address = after(" listen=").parse().expect("an address");
        let key = after("the admin API key, shown only this once: ");
        (Self { child, address, operator: None }, key)
    }

    fn spawn(mut command: Command, change: impl FnOnce(&mut Command)) -> Self {
        command
            .env("ONRUSH_ADMIN_KEY", ADMIN_KEY)
            .env("ONRUSH_VISITORS_PER_MIN", u32::MAX.to_string())
            .env("ONRUSH_LIMITS", "off")
            .env("ONRUSH_SHED_AFTER_MS", "0")
            .stdout(Stdio::piped());
        change(&mut command);
        let mut child = command.spawn().expect("the program can be started");
        let mut line = String::new();
        let out = child.stdout.take().expect("its output is a pipe");
        BufReader::new(out).read_line(&mut line).expect("its output can be read");
        let ready: Value = serde_json::from_str(&line).expect("it says where it listens");
        let address = |name: &str| ready[name].as_str().and_then(|text| text.parse().ok());
        let (operator, address) = (address("operator_listen"), address("listen"));
        Self { child, address: address.expect("an address"), operator }
    }

    /// Ends it as a power cut would.
    pub(crate) fn kill(mut self) {
        self.child.kill().expect("it can be killed");
        self.child.wait().expect("it has ended");
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal).expect("it runs");
    }

    /// Asks it to stop, and says how it ended.
    pub(crate) fn stop(mut self) -> Option<i32> {
        self.signal(rustix::process::Signal::TERM);
        self.child.wait().expect("it has ended").code()
    }

    /// Waits until it ends by itself, and says how.
    pub(crate) fn ended(mut self) -> Option<i32> {
        self.child.wait().expect("it has ended").code()
    }

    /// One request on a connection of its own, which must be accepted.
    pub(crate) fn ask(&self, method: &str, path: &str, token: &str, body: &str) -> Value {
        let mut connection = TcpStream::connect(self.address).expect("it listens");
        let answer = exchange(&mut connection, method, path, token, "", body);
        let (status, body) = answer.expect("it answers");
        assert!((200..300).contains(&status), "{method} {path}: {status} {body}");
        body
    }

    /// Creates an event on sale to anyone, with a pool `ga`.
    pub(crate) fn create_flash_sale(&self, event: &str, capacity: u32) {
        let create =
            format!(r#"{{"event":"{event}","title":"Test","currency":"EUR","max_per_user":null}}"#);
        self.ask("POST", "/api/v1/admin/events", ADMIN_KEY, &create);
        let pool = format!(r#"{{"pool":"ga","capacity":{capacity},"price_minor":0}}"#);
        self.ask("POST", &format!("/api/v1/admin/events/{event}/pools"), ADMIN_KEY, &pool);
        self.ask("POST", &format!("/api/v1/admin/events/{event}/open"), ADMIN_KEY, "{}");
    }

    /// A new visitor's token.
    pub(crate) fn visitor(&self) -> String {
        let visitor = self.ask("POST", "/api/v1/visitors", "", "");
        visitor["token"].as_str().expect("a token").to_owned()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends a request and reads its answer. An empty token, key or body is left out.
pub(crate) fn exchange(
    connection: &mut TcpStream,
    method: &str,
    path: &str,
    token: &str,
    key: &str,
    body: &str,
) -> io::Result<(u16, Value)> {
    let mut request = format!("{method} {path} HTTP/1.1\r\nhost: test\r\n");
    if !token.is_empty() {
        request.push_str(&format!("authorization: Bearer {token}\r\n"));
    }
    if !key.is_empty() {
        request.push_str(&format!("idempotency-key: {key}\r\n"));
    }
    if !body.is_empty() {
        request.push_str("content-type: application/json\r\n");
    }
    request.push_str(&format!("content-length: {}\r\n\r\n{body}", body.len()));
    connection.write_all(request.as_bytes())?;

    let mut reader = BufReader::new(connection);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let status = line.split(' ').nth(1).and_then(|text| text.parse().ok());
    let status = status.ok_or(io::ErrorKind::UnexpectedEof)?;
    let mut length = 0;
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        if line.trim_end().is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().map_err(io::Error::other)?;
        }
    }
    let mut bytes = vec![0; length];
    reader.read_exact(&mut bytes)?;
    let body = if bytes.is_empty() { Value::Null } else { serde_json::from_slice(&bytes)? };
    Ok((status, body))
}
