//! An Apache Kafka broker.

use crate::authority::Tls;
use crate::free_port::free_port;
use crate::need::NotStarted;
use crate::running::{Running, Service};
use crate::server::{Server, program, tied_command};
use rustix::process::Signal;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

const START_WITHIN: Duration = Duration::from_secs(300);

/// The version that `scripts/need.sh` fetches.
const VERSION: &str = "4.1.1";

/// Sixteen bytes in base64, as Kafka wants its clusters' names.
const CLUSTER_ID: &str = "b25ydXNoLXRlc3RraXQtMQ";

/// How a broker is started.
#[derive(Clone, Debug, Default)]
pub struct KafkaOptions {
    /// Lines for `server.properties`, after ours.
    pub config: Vec<String>,
    /// Whether it listens on a second port, with TLS.
    pub tls: Option<Tls>,
    /// Who may come in there, with a password; without one, whoever speaks TLS.
    pub user: Option<SaslUser>,
}

/// A user who logs in with PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512.
#[derive(Clone, Debug)]
pub struct SaslUser {
    /// Their name.
    pub name: String,
    /// Their password.
    pub password: String,
}

/// One Kafka broker that is its own controller.
pub type Kafka = Running<KafkaService>;

/// Where a broker listens, and what it is run with.
#[derive(Debug)]
pub struct KafkaService {
    port: u16,
    tls_port: u16,
    install: Install,
}

#[derive(Clone, Debug)]
struct Install {
    java: PathBuf,
    /// A pattern for all jars, as Java's class path has it.
    class_path: OsString,
}

impl Kafka {
    /// Starts one; takes some seconds. Topics are made when they are first named, with three partitions.
    ///
    /// # Errors
    ///
    /// If Java or Kafka's jars are missing, or it does not start.
    pub fn start() -> Result<Self, NotStarted> {
        Self::start_with(&[])
    }

    /// Starts one with more lines for `server.properties`, after ours.
    ///
    /// # Errors
    ///
    /// If Java or Kafka's jars are missing, or it does not start.
    pub fn start_with(config: &[&str]) -> Result<Self, NotStarted> {
        let config = config.iter().map(|line| (*line).to_owned()).collect();
        Self::start_as(&KafkaOptions { config, ..KafkaOptions::default() })
    }

    /// Starts one as the options say.
    ///
    /// # Errors
    ///
    /// If Java or Kafka's jars are missing, or it does not start.
    pub fn start_as(options: &KafkaOptions) -> Result<Self, NotStarted> {
        let install = Install::find()?;
        Self::begin(|folder| {
            let (port, tls_port) = (free_port(), free_port());
            configure(folder, port, tls_port, options)?;
            install.format(folder, options.user.as_ref())?;
            Ok(KafkaService { port, tls_port, install: install.clone() })
        })
    }

    /// `127.0.0.1:<port>`, what clients call `bootstrap.servers`.
    #[must_use]
    pub fn bootstrap_servers(&self) -> String {
        format!("127.0.0.1:{}", self.service.port)
    }

    /// `localhost:<port>`, for clients that speak TLS, if it was started with that.
    #[must_use]
    pub fn tls_bootstrap_servers(&self) -> String {
        format!("localhost:{}", self.service.tls_port)
    }

    /// The port for clients, also after a restart.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.service.port
    }
}

fn configure(
    folder: &Path,
    port: u16,
    tls_port: u16,
    options: &KafkaOptions,
) -> Result<(), NotStarted> {
    let controller = free_port();
    let (mut listener, mut advertised, mut protocol) =
        (String::new(), String::new(), String::new());
    let mut tls = String::new();
    if let Some(with) = &options.tls {
        listener = format!(",SECURE://127.0.0.1:{tls_port}");
        advertised = format!(",SECURE://localhost:{tls_port}");
        protocol = format!(",SECURE:{}", if options.user.is_some() { "SASL_SSL" } else { "SSL" });
        tls = tls_config(with, options.user.as_ref(), folder)?;
    }
    let text = format!(
        "process.roles=broker,controller\nnode.id=1\ncontroller.quorum.voters=1@127.0.0.1:{controller}\n\
         controller.listener.names=CONTROLLER\n\
         listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}{listener}\n\
         advertised.listeners=PLAINTEXT://127.0.0.1:{port}{advertised}\n\
         listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT{protocol}\n\
         log.dirs={data}\nnum.partitions=3\nnum.network.threads=2\nnum.io.threads=2\n\
         offsets.topic.replication.factor=1\noffsets.topic.num.partitions=1\n\
         transaction.state.log.replication.factor=1\ntransaction.state.log.min.isr=1\n\
         transaction.state.log.num.partitions=1\nshare.coordinator.state.topic.replication.factor=1\n\
         share.coordinator.state.topic.min.isr=1\ngroup.initial.rebalance.delay.ms=0\n{tls}{own}\n",
        data = folder.join("data").display(),
        own = options.config.join("\n")
    );
    fs::write(folder.join("server.properties"), text)
        .map_err(|error| NotStarted::failed("server.properties", error))
}

/// What the listener with TLS is told.
fn tls_config(tls: &Tls, user: Option<&SaslUser>, folder: &Path) -> Result<String, NotStarted> {
    let ours = "listener.name.secure";
    let files = tls.write(folder)?;
    // Java wants both in one file.
    let whole = folder.join("keystore.pem");
    fs::write(&whole, format!("{}{}", tls.issued.key, tls.issued.cert))
        .map_err(|error| NotStarted::failed("keystore.pem", error))?;
    let mut text =
        format!("{ours}.ssl.keystore.type=PEM\n{ours}.ssl.keystore.location={}\n", whole.display());
    if let Some(clients) = files.clients {
        text.push_str(&format!(
            "{ours}.ssl.truststore.type=PEM\n{ours}.ssl.truststore.location={}\n\
             {ours}.ssl.client.auth=required\n",
            clients.display()
        ));
    }
    if let Some(SaslUser { name, password }) = user {
        let modules = "org.apache.kafka.common.security";
        text.push_str(&format!(
            "sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512\n\
             {ours}.plain.sasl.jaas.config={modules}.plain.PlainLoginModule required \
             user_{name}=\"{password}\";\n"
        ));
        for kind in ["256", "512"] {
            text.push_str(&format!(
                "{ours}.scram-sha-{kind}.sasl.jaas.config={modules}.scram.ScramLoginModule required;\n"
            ));
        }
    }
    Ok(text)
}

impl Install {
    fn find() -> Result<Self, NotStarted> {
        let java = program("java", &[]).ok_or(NotStarted::missing(
            "java",
            "On Debian or Ubuntu: sudo apt-get install default-jre-headless",
        ))?;
        let libs = libs().ok_or(NotStarted::missing(
            "Apache Kafka",
            "Run scripts/need.sh kafka, which fetches its jars with Maven",
        ))?;
        let mut class_path = libs.into_os_string();
        class_path.push("/*");
        Ok(Self { java, class_path })
    }

    fn format(&self, folder: &Path, user: Option<&SaslUser>) -> Result<(), NotStarted> {
        let mut command = tied_command(&self.java, None);
        let scram = user.into_iter().flat_map(|SaslUser { name, password }| {
            ["256", "512"].map(|kind| {
                format!("--add-scram=SCRAM-SHA-{kind}=[name={name},password={password}]")
            })
        });
        let output = command
            .args(["-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp"])
            .arg(&self.class_path)
            .args(["kafka.tools.StorageTool", "format", "--cluster-id", CLUSTER_ID, "--config"])
            .arg(folder.join("server.properties"))
            .args(scram)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| NotStarted::failed("Kafka's StorageTool", error))?;
        if output.status.success() {
            return Ok(());
        }
        let text = [output.stdout, output.stderr].concat();
        Err(NotStarted::failed("Kafka's StorageTool", String::from_utf8_lossy(&text)))
    }
}

impl Service for KafkaService {
    // An end in order takes seconds, and nobody wants what it would save.
    const DROP: Signal = Signal::KILL;

    fn spawn(&self, folder: &Path) -> Result<Server, NotStarted> {
        let mut command = tied_command(&self.install.java, None);
        command
            .args(["-Xms64m", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"])
            .arg("-cp")
            .arg(&self.install.class_path)
            .arg("kafka.Kafka")
            .arg(folder.join("server.properties"))
            .current_dir(folder);
        Server::spawn("kafka", command, folder.join("kafka.log"))?
            .ready(START_WITHIN, |server| server.has_said("Kafka Server started"))
    }
}

/// The folder with the jars: the one that `ONRUSH_KAFKA_LIBS` names, or where `scripts/need.sh` puts them.
fn libs() -> Option<PathBuf> {
    let var = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = || var("XDG_CACHE_HOME").or_else(|| Some(var("HOME")?.join(".cache")));
    let libs = match var("ONRUSH_KAFKA_LIBS") {
        Some(libs) => libs,
        None => cache()?.join(format!("onrush/kafka-{VERSION}")),
    };
    libs.join(format!("kafka_2.13-{VERSION}.jar")).is_file().then_some(libs)
}
