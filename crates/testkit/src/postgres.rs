//! A PostgreSQL server.

use crate::authority::Tls;
use crate::free_port::free_port;
use crate::need::NotStarted;
use crate::running::{Running, Service};
use crate::server::{Server, User, program, tied_command};
use rustix::process::Signal;
use std::fs;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

const START_WITHIN: Duration = Duration::from_secs(300);

/// Debian has each version in a folder of its own under this, none of them on the search path.
const VERSIONS: &str = "/usr/lib/postgresql";

/// Who owns everything in it.
const OWNER: &str = "onrush";

/// How a PostgreSQL server is started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PostgresOptions {
    /// Whether a commit waits for the disk. Without it a commit is still there after
    /// [`Postgres::kill`], not after a power cut.
    pub durable: bool,
    /// Lines for `postgresql.conf`, after ours.
    pub config: Vec<String>,
    /// Whether it speaks TLS too, on the same port. Whom it asks for certificates is for `hba` to say.
    pub tls: Option<Tls>,
    /// Lines for `pg_hba.conf`, before those that let everybody in.
    pub hba: Vec<String>,
}

/// A PostgreSQL server on a port of its own.
pub type Postgres = Running<PostgresService>;

/// Where a server listens and keeps its data, and what it is run with.
#[derive(Debug)]
pub struct PostgresService {
    port: u16,
    data: PathBuf,
    install: Install,
    databases: AtomicU32,
}

/// Where its programs are, and who runs them.
#[derive(Clone, Debug)]
struct Install {
    bin: PathBuf,
    user: Option<User>,
}

impl Postgres {
    /// Starts one that does not wait for the disk.
    ///
    /// # Errors
    ///
    /// If it is not installed, or does not start.
    pub fn start() -> Result<Self, NotStarted> {
        Self::start_with(&PostgresOptions::default())
    }

    /// Starts one as the options say.
    ///
    /// # Errors
    ///
    /// If it is not installed, or does not start.
    pub fn start_with(options: &PostgresOptions) -> Result<Self, NotStarted> {
        let install = Install::find()?;
        Self::begin(|folder| {
            install.own(folder)?;
            let data = folder.join("data");
            install.initdb(&data)?;
            let (conf, hba) = (data.join("postgresql.conf"), data.join("pg_hba.conf"));
            let port = free_port();
            let tls = match &options.tls {
                None => String::new(),
                Some(tls) => install.tls_config(tls, folder)?,
            };
            fs::read_to_string(&conf)
                .map(|defaults| format!("{defaults}\n{tls}\n{}", config(options, folder, port)))
                .and_then(|text| fs::write(&conf, text))
                .map_err(|error| NotStarted::failed("postgresql.conf", error))?;
            fs::read_to_string(&hba)
                .and_then(|rest| fs::write(&hba, format!("{}\n{rest}", options.hba.join("\n"))))
                .map_err(|error| NotStarted::failed("pg_hba.conf", error))?;
            let (install, databases) = (install.clone(), AtomicU32::new(0));
            Ok(PostgresService { port, data, install, databases })
        })
    }

    /// The URL of the database that every server has, `postgres://onrush@127.0.0.1:<port>/postgres`.
    #[must_use]
    pub fn url(&self) -> String {
        self.url_of("postgres")
    }

    /// The URL of a new, empty database: tests that share a server do not see each other.
    ///
    /// # Errors
    ///
    /// If it cannot be created.
    pub fn database(&self) -> Result<String, NotStarted> {
        let name = format!("test_{}", self.service.databases.fetch_add(1, Ordering::Relaxed) + 1);
        self.sql(&self.url(), &format!("CREATE DATABASE {name}"))?;
        Ok(self.url_of(&name))
    }

    fn url_of(&self, database: &str) -> String {
        format!("postgres://{OWNER}@127.0.0.1:{}/{database}", self.service.port)
    }

    /// The port it listens on, also after a restart.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.service.port
    }

    /// Runs SQL with `psql` in the database of the URL and returns the rows, columns parted by `|`.
    ///
    /// # Errors
    ///
    /// If it cannot be reached, or refuses.
    pub fn sql(&self, url: &str, sql: &str) -> Result<String, NotStarted> {
        let mut command = Command::new(self.service.install.bin.join("psql"));
        command
            .args(["--no-psqlrc", "--tuples-only", "--no-align", "-v", "ON_ERROR_STOP=1"])
            .args(["--dbname", url, "--command", sql]);
        Ok(run("psql", command)?.trim_end().to_owned())
    }

    /// Writes the database of the URL into a file, with `pg_dump`, while others use it.
    ///
    /// # Errors
    ///
    /// If it cannot be reached, or the file not be written.
    pub fn dump(&self, url: &str, to: &Path) -> Result<(), NotStarted> {
        let mut command = Command::new(self.service.install.bin.join("pg_dump"));
        command.args(["--format", "custom", "--dbname", url, "--file"]).arg(to);
        run("pg_dump", command).map(drop)
    }

    /// Has the database of the URL be what a file of [`Postgres::dump`] says, with `pg_restore`.
    ///
    /// # Errors
    ///
    /// If it cannot be reached, or somebody uses a table.
    pub fn load(&self, url: &str, from: &Path) -> Result<(), NotStarted> {
        let mut command = Command::new(self.service.install.bin.join("pg_restore"));
        command.args(["--clean", "--if-exists", "--exit-on-error", "--dbname", url]).arg(from);
        run("pg_restore", command).map(drop)
    }
}

impl Service for PostgresService {
    const STOP: Signal = Signal::INT;
    // SIGTERM would wait for all clients to leave.
    const DROP: Signal = Signal::QUIT;

    fn spawn(&self, folder: &Path) -> Result<Server, NotStarted> {
        let Install { bin, user } = &self.install;
        let mut command = tied_command(&bin.join("postgres"), user.as_ref());
        command.arg("-D").arg(&self.data).current_dir("/");
        let server = Server::spawn("postgres", command, folder.join("postgres.log"))?;
        server.ready(START_WITHIN, |server| {
            // It writes there itself that it takes connections; a file of an earlier start has
            // another process id.
            let file = self.data.join("postmaster.pid");
            let Ok(text) = fs::read_to_string(file) else { return false };
            let lines: Vec<_> = text.lines().map(str::trim).collect();
            lines.first() == Some(&server.pid().to_string().as_str())
                && lines.get(7) == Some(&"ready")
        })
    }
}

impl Drop for PostgresService {
    /// A server that was killed leaves a few bytes of System V shared memory, which its next start
    /// would have freed.
    fn drop(&mut self) {
        let Ok(text) = fs::read_to_string(self.data.join("postmaster.pid")) else { return };
        let Some(id) = text.lines().nth(6).and_then(|line| line.split_whitespace().nth(1)) else {
            return;
        };
        let _ = Command::new("ipcrm").args(["-m", id]).stderr(Stdio::null()).status();
    }
}

/// Runs a program to its end, and returns what it printed.
fn run(name: &str, mut command: Command) -> Result<String, NotStarted> {
    let output = command.env("PGCONNECT_TIMEOUT", "10").stdin(Stdio::null()).output();
    let output = output.map_err(|error| NotStarted::failed(name, error))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(NotStarted::failed(name, String::from_utf8_lossy(&output.stderr)))
}

fn config(options: &PostgresOptions, folder: &Path, port: u16) -> String {
    let disk = if options.durable { "on" } else { "off" };
    format!(
        "listen_addresses = '127.0.0.1'\nport = {port}\nunix_socket_directories = '{folder}'\n\
         max_connections = 200\nshared_buffers = 32MB\nfsync = {disk}\nfull_page_writes = {disk}\n\
         logging_collector = off\nlog_destination = stderr\nlc_messages = 'C'\n{own}\n",
        folder = folder.display(),
        own = options.config.join("\n")
    )
}

impl Install {
    fn find() -> Result<Self, NotStarted> {
        let missing = |what| {
            let install = "On Debian or Ubuntu: sudo apt-get install postgresql util-linux";
            NotStarted::missing(what, install)
        };
        let mut versions: Vec<(u32, PathBuf)> = fs::read_dir(VERSIONS)
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| {
                Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin")))
            })
            .filter(|(_, bin)| bin.join("postgres").is_file())
            .collect();
        versions.sort_unstable();
        let bin = match versions.pop() {
            Some((_, bin)) => bin,
            None => program("postgres", &["/usr/local/pgsql/bin", "/opt/homebrew/bin"])
                .and_then(|program| program.parent().map(Path::to_owned))
                .ok_or_else(|| missing("postgres"))?,
        };
        let mut user = None;
        if rustix::process::geteuid().is_root() {
            // PostgreSQL refuses to be run by root.
            user = Some(someone_else().ok_or_else(|| missing("a user that is not root"))?);
            program("setpriv", &[]).ok_or_else(|| missing("setpriv"))?;
        }
        Ok(Self { bin, user })
    }

    fn own(&self, folder: &Path) -> Result<(), NotStarted> {
        let Some(user) = self.user else { return Ok(()) };
        chown(folder, Some(user.uid), Some(user.gid))
            .map_err(|error| NotStarted::failed("a folder for PostgreSQL", error))
    }

    fn tls_config(&self, tls: &Tls, folder: &Path) -> Result<String, NotStarted> {
        let files = tls.write(folder)?;
        self.own(&files.key)?;
        let mut text = format!(
            "ssl = on\nssl_cert_file = '{}'\nssl_key_file = '{}'\n",
            files.cert.display(),
            files.key.display()
        );
        if let Some(clients) = files.clients {
            text.push_str(&format!("ssl_ca_file = '{}'\n", clients.display()));
        }
        Ok(text)
    }

    fn initdb(&self, data: &Path) -> Result<(), NotStarted> {
        let mut command = tied_command(&self.bin.join("initdb"), self.user.as_ref());
        command
            .args(["--username", OWNER, "--auth", "trust", "--encoding", "UTF8", "--no-locale"])
            .args(["--no-sync", "--no-instructions", "-D"])
            .arg(data)
            .current_dir("/");
        run("initdb", command).map(drop)
    }
}

/// A user that PostgreSQL may be run by: its own, or the one that owns nothing.
fn someone_else() -> Option<User> {
    let users = fs::read_to_string("/etc/passwd").ok()?;
    ["postgres", "nobody"].into_iter().find_map(|name| {
        let line = users.lines().find(|line| line.split(':').next() == Some(name))?;
        let mut ids = line.split(':').skip(2).map(str::parse);
        Some(User { uid: ids.next()?.ok()?, gid: ids.next()?.ok()? })
    })
}
