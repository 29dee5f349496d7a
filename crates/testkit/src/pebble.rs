//! Pebble: an authority that issues certificates by ACME, as Let's Encrypt's does, and looks at
//! names before it does.

use crate::authority::{Authority, Tls};
use crate::free_port::free_port;
use crate::need::NotStarted;
use crate::running::{Running, Service};
use crate::server::{Server, program, tied_command};
use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

const START_WITHIN: Duration = Duration::from_secs(300);

/// How an authority is started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PebbleOptions {
    /// How long its certificates are valid, in seconds; years if left out.
    pub validity_s: Option<u32>,
    /// Whether it wants to know which account of its own somebody has:
    /// [`Pebble::EAB_KID`] with [`Pebble::EAB_HMAC_KEY`].
    pub binds_accounts: bool,
}

/// A running authority. Every name leads to this machine, and to [`Pebble::look_at`] there.
pub type Pebble = Running<PebbleService>;

/// What an authority is run with, and what stands around it.
#[derive(Debug)]
pub struct PebbleService {
    names: Server,
    program: PathBuf,
    port: u16,
    management_port: u16,
    names_port: u16,
    authority: Authority,
    door: Door,
}

impl Pebble {
    /// A name that it never issues a certificate for.
    pub const BLOCKED: &'static str = "blocked.example";
    /// The id of the only account of its own.
    pub const EAB_KID: &'static str = "kid-1";
    /// The key of that account, in base64url.
    pub const EAB_HMAC_KEY: &'static str =
        "zWNDZM6eQGHWpSRTPal5eIUYFTu7EajVIoguysqZ9wG44nMEtx3MUAsUDkMTQ12W";

    /// Starts one; takes a second.
    ///
    /// # Errors
    ///
    /// If it is not installed, or does not start.
    pub fn start(options: PebbleOptions) -> Result<Self, NotStarted> {
        let missing = |what| {
            let install = "On Debian or Ubuntu: sudo apt-get install pebble";
            NotStarted::missing(what, install)
        };
        let program = self::program("pebble", &[]).ok_or_else(|| missing("pebble"))?;
        let resolver = self::program("pebble-challtestsrv", &[]);
        let resolver = resolver.ok_or_else(|| missing("pebble-challtestsrv"))?;
        Self::begin(|folder| {
            let (port, management_port, names_port) = (free_port(), free_port(), free_port());
            let authority = Authority::new("of the directory");
            let door = Door::open().map_err(|error| NotStarted::failed("a port", error))?;
            configure(folder, [port, management_port, door.port], &authority, options)?;
            let names = spawn_names(&resolver, folder, names_port)?;
            let program = program.clone();
            Ok(PebbleService { names, program, port, management_port, names_port, authority, door })
        })
    }

    /// Its directory; the same after a restart, at which it forgets all accounts.
    #[must_use]
    pub fn directory(&self) -> String {
        format!("https://localhost:{}/dir", self.service.port)
    }

    /// Who signed the certificate of the directory itself, as PEM.
    #[must_use]
    pub fn directory_ca(&self) -> &str {
        self.service.authority.pem()
    }

    /// Where it tells, over TLS as at the directory, who signs what it issues: another after each start.
    #[must_use]
    pub fn root_url(&self) -> String {
        format!("https://localhost:{}/roots/0", self.service.management_port)
    }

    /// The process ids of all that was started for it.
    #[must_use]
    pub fn pids(&self) -> [u32; 2] {
        [self.server.pid(), self.service.names.pid()]
    }

    /// Where whoever it looks at listens; nobody does until this is said.
    pub fn look_at(&self, address: SocketAddr) {
        self.service.door.leads_to(Some(address));
    }

    /// Nobody listens there any more.
    pub fn look_at_nobody(&self) {
        self.service.door.leads_to(None);
    }

    /// How often it has looked at a name so far.
    #[must_use]
    pub fn looks(&self) -> u32 {
        self.service.door.passed.load(Ordering::Relaxed)
    }
}

fn configure(
    folder: &Path,
    [port, management_port, door_port]: [u16; 3],
    authority: &Authority,
    options: PebbleOptions,
) -> Result<(), NotStarted> {
    let files = Tls::new(authority.server()).write(folder)?;
    let validity = options.validity_s.map(|s| format!("\"certificateValidityPeriod\": {s},"));
    let text = format!(
        "{{\"pebble\": {{\"listenAddress\": \"127.0.0.1:{port}\", \
         \"managementListenAddress\": \"127.0.0.1:{management_port}\", \
         \"certificate\": {cert:?}, \"privateKey\": {key:?}, \
         \"httpPort\": {door_port}, \"tlsPort\": {door_port}, \"ocspResponderURL\": \"\", {validity} \
         \"domainBlocklist\": [\"{blocked}\"], \"externalAccountBindingRequired\": {binds}, \
         \"externalAccountMACKeys\": {{\"{kid}\": \"{hmac}\"}}}}}}",
        cert = files.cert,
        key = files.key,
        validity = validity.unwrap_or_default(),
        blocked = Pebble::BLOCKED,
        binds = options.binds_accounts,
        kid = Pebble::EAB_KID,
        hmac = Pebble::EAB_HMAC_KEY,
    );
    fs::write(folder.join("pebble.json"), text)
        .map_err(|error| NotStarted::failed("Pebble's settings", error))
}

impl Service for PebbleService {
    const PORT_TAKEN: &[&str] = &["address already in use"];

    fn spawn(&self, folder: &Path) -> Result<Server, NotStarted> {
        let mut command = tied_command(&self.program, None);
        command
            .arg("-config")
            .arg(folder.join("pebble.json"))
            .args(["-dnsserver", &format!("127.0.0.1:{}", self.names_port)])
            // Names are looked at at once, every time, and no good request is refused for a joke.
            .env("PEBBLE_VA_NOSLEEP", "1")
            .env("PEBBLE_AUTHZREUSE", "0")
            .env("PEBBLE_WFE_NONCEREJECT", "0")
            .current_dir(folder);
        // It opens them one after the other, in any order.
        let ports = [self.port, self.management_port];
        let listens = |port| TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok();
        Server::spawn("pebble", command, folder.join("pebble.log"))?
            .ready(START_WITHIN, |_| ports.into_iter().all(listens))
    }
}

/// What resolves names: all of them to this machine.
fn spawn_names(program: &Path, folder: &Path, port: u16) -> Result<Server, NotStarted> {
    let mut command = tied_command(program, None);
    command
        .args(["-dns01", &format!("127.0.0.1:{port}"), "-management", ""])
        .args(["-http01", "", "-https01", "", "-tlsalpn01", ""])
        .args(["-defaultIPv4", "127.0.0.1", "-defaultIPv6", ""])
        .current_dir(folder);
    Server::spawn("pebble-challtestsrv", command, folder.join("names.log"))?
        .ready(START_WITHIN, |_| TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok())
}

/// The port that the authority looks at, which is known before anybody listens behind it.
#[derive(Debug)]
struct Door {
    port: u16,
    to: Arc<Mutex<Leads>>,
    passed: Arc<AtomicU32>,
}

/// Where a door leads.
#[derive(Clone, Copy, Debug)]
enum Leads {
    To(SocketAddr),
    Nowhere,
    /// It is gone.
    Closed,
}

impl Door {
    fn open() -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = listener.local_addr()?.port();
        let to = Arc::new(Mutex::new(Leads::Nowhere));
        let passed = Arc::<AtomicU32>::default();
        let (leads, count) = (to.clone(), passed.clone());
        thread::spawn(move || {
            for visitor in listener.incoming() {
                let leads = *leads.lock().unwrap_or_else(PoisonError::into_inner);
                match (visitor, leads) {
                    (_, Leads::Closed) => return,
                    (Ok(visitor), Leads::To(address)) => {
                        count.fetch_add(1, Ordering::Relaxed);
                        thread::spawn(move || pass(&visitor, address));
                    }
                    // Closed at once.
                    (Ok(_), Leads::Nowhere) | (Err(_), _) => {}
                }
            }
        });
        Ok(Self { port, to, passed })
    }

    fn leads_to(&self, address: Option<SocketAddr>) {
        self.set(address.map_or(Leads::Nowhere, Leads::To));
    }

    fn set(&self, leads: Leads) {
        *self.to.lock().unwrap_or_else(PoisonError::into_inner) = leads;
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.set(Leads::Closed);
        // It waits for somebody to come.
        drop(TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)));
    }
}

/// Carries bytes both ways until either side is through.
fn pass(visitor: &TcpStream, address: SocketAddr) {
    let Ok(house) = TcpStream::connect(address) else { return };
    let carry = |mut from: &TcpStream, mut to: &TcpStream| {
        // A connection that breaks is over, whichever way.
        drop(io::copy(&mut from, &mut to));
        drop(to.shutdown(std::net::Shutdown::Write));
    };
    thread::scope(|scope| {
        scope.spawn(|| carry(visitor, &house));
        carry(&house, visitor);
    });
}
