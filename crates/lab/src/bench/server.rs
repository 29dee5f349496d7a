//! The servers that are measured, each a child process.

use crate::load::{Pool, Request};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The admin key of servers that live as long as one measurement, on loopback.
pub(super) const ADMIN_KEY: &str = "benchmark-benchmark";

/// How often a server is looked at that has to come to rest, and for how long.
const LOOK: Duration = Duration::from_millis(200);
/// How long it has to do nothing: what follows the feed pauses between its writes.
const REST: Duration = Duration::from_millis(1_500);
const LONGEST_REST: Duration = Duration::from_secs(60);

/// A child process that serves; it is killed when this is dropped, and ends by itself when this process does.
pub(super) struct Served {
    child: Child,
    pub(super) address: SocketAddr,
    /// Where operators connect, if they may.
    pub(super) operator: Option<SocketAddr>,
}

/// The line a server says when it is ready.
#[derive(Serialize, Deserialize)]
struct Ready {
    listen: SocketAddr,
    #[serde(default)]
    operator_listen: Option<SocketAddr>,
}

#[derive(Deserialize)]
struct Visitor {
    token: String,
}

impl Served {
    /// Starts the product on `data`.
    pub(super) fn product(data: &Path) -> Result<Self, String> {
        Self::start(Self::command(data)?)
    }

    fn command(data: &Path) -> Result<Command, String> {
        let mut command = this_program()?;
        command
            .args(["serve", "--json", "--log", "error", "--listen", "127.0.0.1:0"])
            .args(["--operator-listen", "off", "--stop-with-input", "--data"])
            .arg(data)
            .env("ONRUSH_ADMIN_KEY", ADMIN_KEY)
            // The load is a few visitors' on one address, as fast as they can.
            .env("ONRUSH_VISITORS_PER_MIN", u32::MAX.to_string())
            .env("ONRUSH_LIMITS", "off")
            // What is measured is how long things take, also when that is long.
            .env("ONRUSH_SHED_AFTER_MS", "0")
            .env("ONRUSH_CONNECTIONS_PER_ADDRESS", u32::MAX.to_string())
            .env("ONRUSH_STREAMS_PER_ADDRESS", u32::MAX.to_string());
        Ok(command)
    }

    /// Starts the product on `data` with the sandbox as its gateway, and with more variables.
    pub(super) fn selling(data: &Path, more: &[(&str, &str)]) -> Result<Self, String> {
        let mut command = Self::command(data)?;
        command.env("ONRUSH_GATEWAY", "sandbox").envs(more.iter().copied());
        Self::start(command)
    }

    /// Starts the product as a node that shares an engine and a ledger with others.
    #[cfg(feature = "servers")]
    pub(super) fn node(data: &Path, redis: &str, postgres: &str) -> Result<Self, String> {
        let text = format!(
            "engine = \"redis\"\nledger = \"postgres\"\n[redis]\nurls = [{redis:?}]\n\
             [postgres]\nurl = {postgres:?}\n"
        );
        std::fs::create_dir_all(data).map_err(|error| error.to_string())?;
        let file = data.join("onrush.toml");
        std::fs::write(&file, text).map_err(|error| error.to_string())?;
        let mut command = Self::command(data)?;
        command.arg("--config").arg(&file);
        Self::start(command)
    }

    /// Starts the product on `data` with the sandbox, under its own default limits, held to as much
    /// memory and as many files.
    pub(super) fn held(data: &Path, bytes: u64, files: u64) -> Result<Self, String> {
        let this = this_program()?;
        let mut command = Command::new("prlimit");
        command
            .arg(format!("--data={bytes}"))
            .arg(format!("--nofile={files}"))
            .arg(this.get_program())
            .args(["serve", "--json", "--log", "error", "--listen", "127.0.0.1:0"])
            .args(["--operator-listen", "127.0.0.1:0", "--stop-with-input", "--data"])
            .arg(data)
            .env("ONRUSH_ADMIN_KEY", ADMIN_KEY)
            .env("ONRUSH_GATEWAY", "sandbox")
            // A privileged process may raise its own ceiling, and would; it does not for what it can do with.
            .env("ONRUSH_MAX_CONNECTIONS", (files / 4 * 3).to_string());
        Self::start(command)
    }

    /// Starts the bare server.
    pub(super) fn bare() -> Result<Self, String> {
        let mut command = this_program()?;
        command.args(["bench", "bare"]);
        Self::start(command)
    }

    fn start(mut command: Command) -> Result<Self, String> {
        let spawned = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = spawned.map_err(|error| format!("cannot start a server: {error}"))?;
        let mut line = String::new();
        let read = child.stdout.take().map(|out| BufReader::new(out).read_line(&mut line));
        match (read, serde_json::from_str::<Ready>(&line)) {
            (Some(Ok(_)), Ok(ready)) => {
                Ok(Self { child, address: ready.listen, operator: ready.operator_listen })
            }
            (_, _) => {
                // It has said on the error output why it is not ready.
                let _ = child.kill();
                let _ = child.wait();
                Err(format!("the server did not start: {line:?}"))
            }
        }
    }

    /// Waits until it has nothing to do any more, for a minute at most; how long that took.
    ///
    /// # Errors
    /// Where the system does not tell what a process uses.
    pub(super) async fn rest(&self) -> Result<Duration, String> {
        let begun = Instant::now();
        let mut used = processor_ticks(self.pid())?;
        let mut busy = Duration::ZERO;
        loop {
            tokio::time::sleep(LOOK).await;
            let now = processor_ticks(self.pid())?;
            // A tick is a hundredth of a second: so little is its timers.
            if now > used + 1 {
                busy = begun.elapsed();
            }
            used = now;
            if begun.elapsed() >= busy + REST || begun.elapsed() > LONGEST_REST {
                return Ok(busy);
            }
        }
    }

    /// Its process id.
    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Asks something that must be accepted.
    pub(super) async fn ask<T: DeserializeOwned>(
        pool: &Pool,
        request: Request,
    ) -> Result<T, String> {
        let answer = pool.exchange(&request, |answer| match answer.status {
            200..=299 => serde_json::from_slice(answer.body).map_err(|error| error.to_string()),
            status => Err(format!("status {status}: {}", String::from_utf8_lossy(answer.body))),
        });
        answer.await.map_err(|error| error.to_string())?
    }

    /// A new visitor's token.
    pub(super) async fn visitor(pool: &Pool) -> Result<String, String> {
        let visitor = Self::ask(pool, Request::to("POST", "/api/v1/visitors").bare()).await;
        visitor.map(|Visitor { token }| token)
    }

    /// Asks something of the admin paths.
    pub(super) async fn admin(
        pool: &Pool,
        method: &str,
        path: &str,
        body: &str,
    ) -> Result<(), String> {
        let path = format!("/api/v1/admin{path}");
        let request = Request::to(method, &path).token(ADMIN_KEY).json(body);
        Self::ask::<serde_json::Value>(pool, request).await.map(drop)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // If it is gone already there is nothing to do.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(super) fn this_program() -> Result<Command, String> {
    std::env::current_exe()
        .map(Command::new)
        .map_err(|error| format!("cannot find this program: {error}"))
}

/// What the bare server echoes: the body of a hold.
#[derive(Serialize, Deserialize)]
struct Echo {
    pools: BTreeMap<String, u32>,
}

/// What the bare server answers to a GET.
#[derive(Serialize)]
struct Pong {
    status: &'static str,
    position: u32,
}

/// Serves a JSON echo and a GET, with the product's own accept loop and settings.
pub(super) async fn bare() -> Result<(), String> {
    let router = Router::new()
        .route("/echo", post(async |Json(body): Json<Echo>| Json(body)))
        .route("/get", get(async || Json(Pong { status: "queued", position: 1 })));
    let listener = onrush_serve::listen((Ipv4Addr::LOCALHOST, 0).into());
    let listener = listener.map_err(|error| format!("cannot listen: {error}"))?;
    let listen = listener.local_addr().map_err(|error| error.to_string())?;
    onrush_terminal::show::print_json(&Ready { listen, operator_listen: None });
    onrush_serve::serve_router(listener, router, onrush_terminal::process::input_ended()).await;
    Ok(())
}

/// The processor time that a process has used, in ticks.
pub(super) fn processor_ticks(pid: u32) -> Result<u64, String> {
    let file = format!("/proc/{pid}/stat");
    let text = std::fs::read_to_string(&file).map_err(|error| format!("{file}: {error}"))?;
    // Its name is in brackets, and may have anything in it; of what follows, the 12th and 13th are
    // the time in the program and in the system.
    let after_name = text.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks = after_name.split_whitespace().skip(11).take(2).map(str::parse::<u64>);
    ticks.sum::<Result<u64, _>>().map_err(|_| format!("{file}: no processor time in {text:?}"))
}
