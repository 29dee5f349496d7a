//! Nodes of one deployment, each a process of its own, on throw-away servers: Redis, PostgreSQL, a
//! sandbox gateway.

use crate::cli_support::{ADMIN_KEY, exchange, onrush, run_json};
use onrush_testkit::{NotStarted, Postgres, Redis, RedisCluster, RedisOptions};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How long anything may take that has to happen.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
/// Between two looks at the same thing: other processes need the processor as well.
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);
const SANDBOX_SECRET: &str = "a sandbox for tests only";
const WEBHOOK_SECRET: &str = "webhooks for tests only";
pub(crate) const GOOD_CARD: &str = "4242424242424242";

/// Waits for a condition; `what` says which.
#[track_caller]
pub(crate) fn until<T>(what: impl std::fmt::Display, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "{what} never came");
        std::thread::park_timeout(BETWEEN_LOOKS);
    }
}

/// A process that says where it listens; it is killed when this is dropped.
pub(crate) struct Process {
    child: Child,
    pub(crate) address: SocketAddr,
    /// The operator's listener, if it has one.
    pub(crate) operator: Option<SocketAddr>,
}

impl Process {
    fn start(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().expect("the program can be started");
        let mut line = String::new();
        let out = child.stdout.take().expect("its output is a pipe");
        BufReader::new(out).read_line(&mut line).expect("its output can be read");
        let ready: Value = serde_json::from_str(&line)
            .unwrap_or_else(|error| panic!("it does not say where it listens: {error}: {line:?}"));
        let address = |name: &str| ready[name].as_str().and_then(|text| text.parse().ok());
        let operator = address("operator_listen");
        Self { child, address: address("listen").expect("an address"), operator }
    }

    /// Ends it as a power cut would.
    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("it can be killed");
        self.child.wait().expect("it has ended");
    }

    /// One request on a connection of its own; an error if nobody answers.
    pub(crate) fn try_ask(
        &self,
        method: &str,
        path: &str,
        token: &str,
        key: &str,
        body: &str,
    ) -> std::io::Result<(u16, Value)> {
        Self::try_ask_at(self.address, method, path, token, key, body)
    }

    /// The same by its address.
    pub(crate) fn try_ask_at(
        address: SocketAddr,
        method: &str,
        path: &str,
        token: &str,
        key: &str,
        body: &str,
    ) -> std::io::Result<(u16, Value)> {
        let mut connection = TcpStream::connect(address)?;
        connection.set_read_timeout(Some(PATIENCE))?;
        exchange(&mut connection, method, path, token, key, body)
    }

    /// The same with an answer.
    #[track_caller]
    pub(crate) fn ask(
        &self,
        method: &str,
        path: &str,
        token: &str,
        key: &str,
        body: &str,
    ) -> (u16, Value) {
        let answer = self.try_ask(method, path, token, key, body);
        answer.unwrap_or_else(|error| panic!("{method} {path}: {error}"))
    }

    /// What the organiser asks, which must be accepted.
    #[track_caller]
    pub(crate) fn organise(&self, method: &str, path: &str, body: &Value) -> Value {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let path = format!("/api/v1/admin{path}");
        let (status, answer) = self.ask(method, &path, ADMIN_KEY, "", &body);
        assert!((200..300).contains(&status), "{method} {path}: {status} {answer}");
        answer
    }

    /// A new visitor's token.
    #[track_caller]
    pub(crate) fn visitor(&self) -> String {
        let (status, visitor) = self.ask("POST", "/api/v1/visitors", "", "", "");
        assert_eq!(status, 201, "{visitor}");
        visitor["token"].as_str().expect("a token").to_owned()
    }

    /// Asks until there is an answer that is no 503: what is away for a moment comes back.
    #[track_caller]
    pub(crate) fn insist(
        &self,
        method: &str,
        path: &str,
        token: &str,
        key: &str,
        body: &str,
    ) -> (u16, Value) {
        until(format!("an answer to {method} {path}"), || {
            self.try_ask(method, path, token, key, body).ok().filter(|(status, _)| *status != 503)
        })
    }
}

/// A stream of events that a visitor listens to.
pub(crate) struct Stream(BufReader<TcpStream>);

impl Stream {
    /// Reads on until it says this.
    #[track_caller]
    pub(crate) fn until(&mut self, kind: &str) {
        let wanted = format!("\"type\":\"{kind}\"");
        loop {
            let mut line = String::new();
            let read = self.0.read_line(&mut line).expect("the stream goes on");
            assert!(read > 0, "the stream ended before {kind}");
            if line.contains(&wanted) {
                return;
            }
        }
    }
}

impl Process {
    /// Opens a stream of events.
    pub(crate) fn listen(&self, path: &str, token: &str) -> Stream {
        let mut connection = TcpStream::connect(self.address).expect("it listens");
        connection.set_read_timeout(Some(PATIENCE)).expect("a timeout can be set");
        let request =
            format!("GET {path} HTTP/1.1\r\nhost: test\r\nauthorization: Bearer {token}\r\n\r\n");
        connection.write_all(request.as_bytes()).expect("it listens");
        Stream(BufReader::new(connection))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What runs the rules.
pub(crate) enum RedisKind {
    One(Redis),
    Cluster(RedisCluster),
}

impl RedisKind {
    /// A server that keeps what it was told, whatever happens to it.
    pub(crate) fn durable() -> Result<Self, NotStarted> {
        let options = RedisOptions { appendonly: true, ..RedisOptions::default() };
        Redis::start_with(&options).map(Self::One)
    }

    /// Three primaries with a replica each.
    pub(crate) fn cluster() -> Result<Self, NotStarted> {
        RedisCluster::start().map(Self::Cluster)
    }

    fn settings(&self) -> String {
        let list = |urls: Vec<String>| {
            urls.iter().map(|url| format!("{url:?}")).collect::<Vec<_>>().join(", ")
        };
        match self {
            Self::One(redis) => format!("urls = [{:?}]", redis.url()),
            Self::Cluster(cluster) => {
                format!("urls = [{}]\ncluster = true", list(cluster.urls()))
            }
        }
    }

    /// The one server.
    pub(crate) fn one(&mut self) -> &mut Redis {
        match self {
            Self::One(redis) => redis,
            Self::Cluster(_) => panic!("there are six of them"),
        }
    }
}

/// One deployment.
pub(crate) struct Deployment {
    pub(crate) nodes: Vec<Process>,
    sandbox: Process,
    pub(crate) redis: RedisKind,
    pub(crate) postgres: Postgres,
    scratch: TempDir,
    started: usize,
}

impl Deployment {
    /// So many nodes on a Redis that keeps what it was told.
    ///
    /// # Errors
    /// If a server is not installed.
    pub(crate) fn start(nodes: usize) -> Result<Self, NotStarted> {
        Self::start_with(nodes, RedisKind::durable()?, "")
    }

    /// The same with a Redis of this kind and more sections of settings.
    ///
    /// # Errors
    /// If a server is not installed.
    pub(crate) fn start_with(
        nodes: usize,
        redis: RedisKind,
        settings: &str,
    ) -> Result<Self, NotStarted> {
        let postgres = Postgres::start()?;
        let scratch = tempfile::tempdir().expect("a directory");
        let sandbox = Process::start(
            onrush()
                .args(["sandbox", "--json", "--log", "error", "--listen", "127.0.0.1:0"])
                .arg("--data")
                .arg(scratch.path().join("sandbox"))
                .env("ONRUSH_SANDBOX_SECRET", SANDBOX_SECRET)
                .env("ONRUSH_SANDBOX_WEBHOOK_SECRET", WEBHOOK_SECRET),
        );
        let config = format!(
            "engine = \"redis\"\nledger = \"postgres\"\ngateway = \"sandbox\"\n\
             visitors_per_min = 1000000\nadmin_key = \"{ADMIN_KEY}\"\noperator_listen = \"off\"\n\
             [redis]\n{}\nsweep_ms = 200\n[postgres]\nurl = \"{}\"\n\
             [sandbox]\nurl = \"http://{}\"\nsecret = \"{SANDBOX_SECRET}\"\nwebhook_secret = \
             \"{WEBHOOK_SECRET}\"\n\
             [saga]\ngateway_timeout_ms = 5000\nask_after_ms = 60000\nabandoned_after_ms = 200\n\
             first_pause_ms = 20\nlongest_pause_ms = 200\ntries = 200\n{settings}\n",
            redis.settings(),
            postgres.url(),
            sandbox.address
        );
        std::fs::write(scratch.path().join("onrush.toml"), config).expect("a file can be written");
        let mut deployment =
            Self { nodes: Vec::new(), sandbox, redis, postgres, scratch, started: 0 };
        for _ in 0..nodes {
            let node = deployment.start_node(|_| {});
            deployment.nodes.push(node);
        }
        if nodes > 0 {
            deployment.send_webhooks_to(0);
        }
        Ok(deployment)
    }

    pub(crate) fn sandbox_address(&self) -> SocketAddr {
        self.sandbox.address
    }

    pub(crate) fn config(&self) -> PathBuf {
        self.scratch.path().join("onrush.toml")
    }

    /// One more node, with a directory of its own.
    pub(crate) fn start_node(&mut self, change: impl FnOnce(&mut Command)) -> Process {
        self.started += 1;
        self.start_in(self.started, change)
    }

    /// The directory of the node that was started as this one, from 1 on.
    pub(crate) fn data_of(&self, nth: usize) -> PathBuf {
        self.scratch.path().join(format!("node-{nth}"))
    }

    /// Starts it again, once it has ended.
    pub(crate) fn start_again(&self, nth: usize) -> Process {
        self.start_in(nth, |_| {})
    }

    fn start_in(&self, nth: usize, change: impl FnOnce(&mut Command)) -> Process {
        let data = self.data_of(nth);
        let mut command = onrush();
        command.args(["serve", "--json", "--log", "error", "--listen", "127.0.0.1:0", "--data"]);
        command
            .arg(data)
            .arg("--config")
            .arg(self.config())
            .env("ONRUSH_LIMITS", "off")
            .env("ONRUSH_SHED_AFTER_MS", "0");
        change(&mut command);
        Process::start(&mut command)
    }

    /// Has the gateway tell this node.
    pub(crate) fn send_webhooks_to(&self, node: usize) {
        let address = self.nodes[node].address;
        let url = format!("http://{address}/api/v1/payments/webhook/sandbox");
        self.sandbox("PUT", "/v1/webhook", &json!({ "url": url }).to_string());
    }

    /// Asks the sandbox something that it must accept.
    #[track_caller]
    pub(crate) fn sandbox(&self, method: &str, path: &str, body: &str) -> Value {
        let (status, answer) = self.sandbox.ask(method, path, SANDBOX_SECRET, "", body);
        assert!((200..300).contains(&status), "{method} {path}: {status} {answer}");
        answer
    }

    /// Types a good card into the payment's page and presses "pay".
    #[track_caller]
    pub(crate) fn use_card(&self, url: &str, card: &str) {
        let path = url.strip_prefix(&format!("http://{}", self.sandbox.address));
        let form = format!("card={card}&action=pay");
        let path = path.expect("the sandbox's page");
        // The browser is sent to the page again, which says what happened.
        assert_eq!(self.sandbox.ask("POST", path, "", "", &form).0, 303);
    }

    /// Adds everything up: Redis, archive, ledger and the gateway's own book. No violation may be there.
    #[track_caller]
    pub(crate) fn audit(&self) -> Value {
        let config = self.config();
        let config = config.to_str().expect("a plain path");
        let (code, audit) = run_json(&["audit", "--json", "--config", config]);
        assert_eq!((code, &audit["violations"]), (Some(0), &json!(0)), "{audit}");
        assert_eq!(audit["seats_sold_twice"], 0, "{audit}");
        audit
    }
}

/// What a buyer does, at any node.
impl Deployment {
    /// Holds `wish`, pays for it, and waits until it is confirmed; each step at the next node.
    #[track_caller]
    pub(crate) fn buy(&self, token: &str, event: &str, key: &str, wish: &Value) -> String {
        let node = |step: usize| &self.nodes[step % self.nodes.len()];
        let path = format!("/api/v1/events/{event}/bookings");
        let (status, held) = node(0).insist("POST", &path, token, key, &wish.to_string());
        assert_eq!(status, 201, "{held}");
        let booking = held["booking"].as_str().expect("an id").to_owned();
        let url = self.pay(node(1), token, &booking, "pay");
        self.use_card(&url, GOOD_CARD);
        self.until_status(node(2), token, &booking, "confirmed");
        booking
    }

    /// Begins a payment; says where it is paid.
    #[track_caller]
    pub(crate) fn pay(&self, node: &Process, token: &str, booking: &str, key: &str) -> String {
        let body = json!({"buyer": {"name": "Ann", "email": "ann@example.org"}}).to_string();
        let path = format!("/api/v1/bookings/{booking}/payment");
        let (status, answer) = node.insist("POST", &path, token, key, &body);
        assert!(matches!(status, 200 | 201), "{status}: {answer}");
        answer["url"].as_str().expect("a page").to_owned()
    }

    /// Waits until a booking has a status.
    #[track_caller]
    pub(crate) fn until_status(&self, node: &Process, token: &str, booking: &str, wanted: &str) {
        let path = format!("/api/v1/bookings/{booking}");
        until(format!("{wanted} for {booking}"), || {
            let (status, answer) = node.try_ask("GET", &path, token, "", "").ok()?;
            (status == 200 && answer["status"] == wanted).then_some(())
        });
    }
}
