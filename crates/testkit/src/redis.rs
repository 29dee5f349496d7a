//! A Redis server.

pub(crate) mod cluster;
pub(crate) mod pair;
pub(crate) mod sentinel;

use crate::authority::Tls;
use crate::free_port::free_port;
use crate::need::NotStarted;
use crate::resp::{self, field};
use crate::running::{Running, Service};
use crate::server::{Server, program, tied_command};
use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

const START_WITHIN: Duration = Duration::from_secs(300);
/// How long those that are left may take to agree on a successor.
const FAILOVER_WITHIN: Duration = Duration::from_secs(120);

/// How a Redis server is started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RedisOptions {
    /// Whether every write is on the disk before it is answered: what was answered is there again
    /// after a kill.
    pub appendonly: bool,
    /// Lines for `redis.conf`, after ours.
    pub config: Vec<String>,
    /// Whether it listens on a second port, with TLS.
    pub tls: Option<Tls>,
}

/// A Redis server on a port of its own.
pub type Redis = Running<RedisService>;

/// What a Redis server is started as.
#[derive(Debug)]
pub struct RedisService {
    port: u16,
    tls_port: u16,
    kind: Kind,
}

/// What the program is started as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Server,
    Sentinel,
}

impl Redis {
    /// Starts one that keeps everything in memory.
    ///
    /// # Errors
    ///
    /// If it is not installed, or does not start.
    pub fn start() -> Result<Self, NotStarted> {
        Self::start_with(&RedisOptions::default())
    }

    /// Starts one as the options say.
    ///
    /// # Errors
    ///
    /// If it is not installed, or does not start.
    pub fn start_with(options: &RedisOptions) -> Result<Self, NotStarted> {
        Self::start_as(options, Kind::Server, |_| String::new())
    }

    /// Asks for more lines at every attempt, so that they can name other ports; `more` is told the port.
    fn start_as(
        options: &RedisOptions,
        kind: Kind,
        more: impl Fn(u16) -> String,
    ) -> Result<Self, NotStarted> {
        Self::begin(|folder| {
            let (port, tls_port) = (free_port(), free_port());
            let tls = match &options.tls {
                None => String::new(),
                Some(tls) => tls_config(tls, folder, tls_port)?,
            };
            let appendonly = if options.appendonly { "yes" } else { "no" };
            let of_servers = match kind {
                Kind::Sentinel => String::new(),
                Kind::Server => format!(
                    "save \"\"\nappendonly {appendonly}\nappendfsync always\n\
                     maxmemory-policy noeviction"
                ),
            };
            let config = format!(
                "bind 127.0.0.1\nport {port}\ndir {folder}\ndaemonize no\n{of_servers}\n{tls}\n\
                 {own}\n{more}\n",
                folder = folder.display(),
                own = options.config.join("\n"),
                more = more(port),
            );
            fs::write(folder.join("redis.conf"), config)
                .map_err(|error| NotStarted::failed("redis.conf", error))?;
            Ok(RedisService { port, tls_port, kind })
        })
    }

    /// `redis://127.0.0.1:<port>`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.service.port)
    }

    /// `rediss://localhost:<port>`, if it was started with TLS.
    #[must_use]
    pub fn tls_url(&self) -> String {
        format!("rediss://localhost:{}", self.service.tls_port)
    }

    /// The port with TLS.
    #[must_use]
    pub fn tls_port(&self) -> u16 {
        self.service.tls_port
    }

    /// The port it listens on, also after a restart.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.service.port
    }

    /// Sends one command over a connection of its own and returns what Redis says, one line an item
    /// for an array.
    ///
    /// WAIT waits for nothing here, as the connection has written nothing: see
    /// [`RedisPair::wait_for_replica`] and [`RedisCluster::wait_until_whole`].
    ///
    /// [`RedisPair::wait_for_replica`]: crate::RedisPair::wait_for_replica
    /// [`RedisCluster::wait_until_whole`]: crate::RedisCluster::wait_until_whole
    ///
    /// # Errors
    ///
    /// If it cannot be reached, or answers with an error.
    pub fn command(&self, parts: &[&str]) -> io::Result<String> {
        resp::command(self.service.port, parts)
    }

    fn info(&self, section: &str) -> String {
        self.command(&["INFO", section]).unwrap_or_default()
    }
}

fn tls_config(tls: &Tls, folder: &Path, port: u16) -> Result<String, NotStarted> {
    let files = tls.write(folder)?;
    // Nodes of a cluster believe each other by the same authority.
    let (clients, asks) = match &files.clients {
        Some(clients) => (clients, "yes"),
        None => (&files.cert, "no"),
    };
    Ok(format!(
        "tls-port {port}\ntls-cert-file {cert}\ntls-key-file {key}\ntls-ca-cert-file {clients}\n\
         tls-auth-clients {asks}",
        cert = files.cert.display(),
        key = files.key.display(),
        clients = clients.display(),
    ))
}

impl Service for RedisService {
    fn spawn(&self, folder: &Path) -> Result<Server, NotStarted> {
        let program = program("redis-server", &["/usr/local/bin", "/opt/homebrew/bin"]).ok_or(
            NotStarted::missing(
                "redis-server",
                "On Debian or Ubuntu: sudo apt-get install redis-server",
            ),
        )?;
        let mut command = tied_command(&program, None);
        command.arg(folder.join("redis.conf"));
        if self.kind == Kind::Sentinel {
            command.arg("--sentinel");
        }
        let server = Server::spawn("redis-server", command, folder.join("redis.log"))?;
        server.ready(START_WITHIN, |server| {
            // Another server may have taken the port: it has another process id. One that still loads
            // answers with an error.
            resp::command(self.port, &["INFO", "server"])
                .is_ok_and(|info| field(&info, "process_id") == Some(&server.pid().to_string()))
                && resp::command(self.port, &["PING"]).is_ok()
        })
    }
}
