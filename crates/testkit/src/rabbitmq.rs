//! A RabbitMQ server.

use crate::authority::Tls;
use crate::free_port::free_port;
use crate::need::NotStarted;
use crate::running::{Running, Service};
use crate::server::{Server, program, tied_command};
use rustix::process::Signal;
use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

const START_WITHIN: Duration = Duration::from_secs(300);
const TIMEOUT: Duration = Duration::from_secs(5);

/// Debian's programs on the search path change the user before they read our settings; these do not.
const SCRIPTS: &str = "/usr/lib/rabbitmq/bin";

/// A RabbitMQ server with ports, a node name and an epmd of its own.
pub type RabbitMq = Running<RabbitMqService>;

/// A node, and the epmd that it needs.
#[derive(Debug)]
pub struct RabbitMqService {
    epmd: Server,
    node: Node,
}

/// What its programs must know to speak to it and to nobody else.
#[derive(Clone, Debug)]
struct Node {
    scripts: PathBuf,
    folder: PathBuf,
    amqp_port: u16,
    tls_port: u16,
    dist_port: u16,
    epmd_port: u16,
    ctl_port: u16,
}

impl RabbitMq {
    /// Starts one; takes some seconds. Quorum queues work, with one replica.
    ///
    /// # Errors
    ///
    /// If it is not installed, or does not start.
    pub fn start() -> Result<Self, NotStarted> {
        Self::start_with(None)
    }

    /// Starts one that listens on a second port, with TLS.
    ///
    /// # Errors
    ///
    /// If it is not installed, or does not start.
    pub fn start_with_tls(tls: &Tls) -> Result<Self, NotStarted> {
        Self::start_with(Some(tls))
    }

    fn start_with(tls: Option<&Tls>) -> Result<Self, NotStarted> {
        let missing = |what| {
            let install = "On Debian or Ubuntu: sudo apt-get install rabbitmq-server";
            NotStarted::missing(what, install)
        };
        let scripts = [Path::new(SCRIPTS)]
            .into_iter()
            .find(|folder| folder.join("rabbitmq-server").is_file())
            .map(Path::to_owned)
            .or_else(|| Some(program("rabbitmq-server", &[])?.parent()?.to_owned()))
            .ok_or_else(|| missing("rabbitmq-server"))?;
        let epmd = program("epmd", &[]).ok_or_else(|| missing("epmd"))?;
        Self::begin(|folder| {
            let node = Node {
                scripts: scripts.clone(),
                folder: folder.to_owned(),
                amqp_port: free_port(),
                tls_port: free_port(),
                dist_port: free_port(),
                epmd_port: free_port(),
                ctl_port: free_port(),
            };
            node.configure(tls)?;
            Ok(RabbitMqService { epmd: node.spawn_epmd(&epmd)?, node })
        })
    }

    /// `amqp://guest:guest@127.0.0.1:<port>/%2f`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("amqp://guest:guest@127.0.0.1:{}/%2f", self.service.node.amqp_port)
    }

    /// `amqps://guest:guest@localhost:<port>/%2f`, if it was started with TLS.
    #[must_use]
    pub fn tls_url(&self) -> String {
        format!("amqps://guest:guest@localhost:{}/%2f", self.service.node.tls_port)
    }

    /// The port for AMQP, also after a restart.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.service.node.amqp_port
    }

    /// The process ids of all that was started for it.
    #[must_use]
    pub fn pids(&self) -> [u32; 2] {
        [self.server.pid(), self.service.epmd.pid()]
    }

    /// What `rabbitmqctl` answers; takes about a second.
    ///
    /// # Errors
    ///
    /// If it fails.
    pub fn ctl(&self, arguments: &[&str]) -> Result<String, NotStarted> {
        let node = &self.service.node;
        let output = node
            .tell(Command::new(node.scripts.join("rabbitmqctl")))
            .args(["--quiet", "--timeout", "30"])
            .args(arguments)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| NotStarted::failed("rabbitmqctl", error))?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
        if output.status.success() {
            return Ok(text(&output.stdout));
        }
        let why = format!("{} {}", text(&output.stdout), text(&output.stderr));
        Err(NotStarted::failed("rabbitmqctl", why))
    }
}

impl Service for RabbitMqService {
    // Erlang's name for a port that is taken.
    const PORT_TAKEN: &[&str] = &["eaddrinuse", "in use"];
    // An end in order takes seconds, and nobody wants what it would save.
    const DROP: Signal = Signal::KILL;

    fn spawn(&self, _: &Path) -> Result<Server, NotStarted> {
        let node = &self.node;
        let command = node.tell(tied_command(&node.scripts.join("rabbitmq-server"), None));
        Server::spawn("rabbitmq-server", command, node.folder.join("rabbitmq.log"))?
            .ready(START_WITHIN, |server| {
                server.has_said("Server startup complete") && node.speaks_amqp()
            })
    }
}

impl Node {
    fn configure(&self, tls: Option<&Tls>) -> Result<(), NotStarted> {
        let mut config = format!(
            "listeners.tcp.1 = 127.0.0.1:{}\nlog.console = true\nlog.console.level = info\nlog.file = false\n\
             disk_free_limit.absolute = 1MB\n",
            self.amqp_port
        );
        if let Some(tls) = tls {
            let files = tls.write(&self.folder)?;
            let (clients, asks) = match &files.clients {
                Some(clients) => (clients, true),
                None => (&files.cert, false),
            };
            config.push_str(&format!(
                "listeners.ssl.1 = 127.0.0.1:{port}\nssl_options.certfile = {cert}\n\
                 ssl_options.keyfile = {key}\nssl_options.cacertfile = {clients}\n\
                 ssl_options.verify = {verify}\nssl_options.fail_if_no_peer_cert = {asks}\n",
                port = self.tls_port,
                cert = files.cert.display(),
                key = files.key.display(),
                clients = clients.display(),
                verify = if asks { "verify_peer" } else { "verify_none" },
            ));
        }
        let write = |file: &str, text: &str| fs::write(self.folder.join(file), text);
        write("rabbitmq.conf", &config)
            .and_then(|()| write("enabled_plugins", "[].\n"))
            .and_then(|()| write("rabbitmq-env.conf", ""))
            .map_err(|error| NotStarted::failed("RabbitMQ's settings", error))
    }

    /// Everything goes into the folder, and nothing is read from `/etc` or from somebody's home.
    fn tell(&self, mut command: Command) -> Command {
        let Self { folder, amqp_port, dist_port, epmd_port, ctl_port, .. } = self;
        command
            .env("HOME", folder)
            .env("ERL_EPMD_PORT", epmd_port.to_string())
            .env("ERL_EPMD_ADDRESS", "127.0.0.1")
            .env("RABBITMQ_CONF_ENV_FILE", folder.join("rabbitmq-env.conf"))
            .env("RABBITMQ_CONFIG_FILE", folder.join("rabbitmq.conf"))
            .env("RABBITMQ_ENABLED_PLUGINS_FILE", folder.join("enabled_plugins"))
            .env("RABBITMQ_GENERATED_CONFIG_DIR", folder.join("config"))
            .env("RABBITMQ_MNESIA_BASE", folder.join("mnesia"))
            .env("RABBITMQ_LOG_BASE", folder)
            .env("RABBITMQ_PID_FILE", folder.join("pid"))
            .env("RABBITMQ_LOGS", "-")
            // The port is nobody else's, so the name is not either.
            .env("RABBITMQ_NODENAME", format!("onrush-{amqp_port}@localhost"))
            .env("RABBITMQ_NODE_IP_ADDRESS", "127.0.0.1")
            .env("RABBITMQ_NODE_PORT", amqp_port.to_string())
            .env("RABBITMQ_DIST_PORT", dist_port.to_string())
            .env("RABBITMQ_CTL_DIST_PORT_MIN", ctl_port.to_string())
            .env("RABBITMQ_CTL_DIST_PORT_MAX", (ctl_port + 20).to_string())
            // Erlang replaces the shell that starts it, so the process id stays the one that we know.
            .env("RUNNING_UNDER_SYSTEMD", "true")
            .env_remove("NOTIFY_SOCKET")
            .current_dir(folder);
        command
    }

    /// Erlang would start one by itself that outlives everybody.
    fn spawn_epmd(&self, program: &Path) -> Result<Server, NotStarted> {
        let mut command = tied_command(program, None);
        command.args(["-address", "127.0.0.1", "-port", &self.epmd_port.to_string()]);
        Server::spawn("epmd", command, self.folder.join("epmd.log"))?
            .ready(TIMEOUT, |_| self.speaks_epmd())
    }

    /// Whether an epmd has the port: of anybody else there Erlang would wait for an answer for ever.
    fn speaks_epmd(&self) -> bool {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, self.epmd_port));
        let names = || {
            let mut stream = TcpStream::connect_timeout(&address, TIMEOUT)?;
            stream.set_read_timeout(Some(TIMEOUT))?;
            // NAMES_REQ, one byte long; the answer begins with its port.
            stream.write_all(b"\x00\x01n")?;
            let mut port = [0; 4];
            stream.read_exact(&mut port)?;
            std::io::Result::Ok(u32::from_be_bytes(port))
        };
        names().is_ok_and(|port| port == u32::from(self.epmd_port))
    }

    fn speaks_amqp(&self) -> bool {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, self.amqp_port));
        let first_byte = || {
            let mut stream = TcpStream::connect_timeout(&address, TIMEOUT)?;
            stream.set_read_timeout(Some(TIMEOUT))?;
            stream.write_all(b"AMQP\x00\x00\x09\x01")?;
            let mut byte = [0];
            stream.read_exact(&mut byte)?;
            std::io::Result::Ok(byte[0])
        };
        // A method frame, the one with Connection.Start; another version's header would begin with an A.
        first_byte().is_ok_and(|byte| byte == 1)
    }
}
