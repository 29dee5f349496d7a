//! Everything a cluster is made of, each a real process, with a proxy on every line between two.

use super::plan::{Fault, Line, NODES, Planned, Store};
use super::process::Process;
use super::proxy::{Mode, Proxy};
use crate::whole::story::Story;
use crate::whole::world::has_receipts;
use onrush_testkit::{NotStarted, Postgres, Redis, RedisOptions};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tempfile::TempDir;
use tokio::task::block_in_place;
use tokio::time::{Instant, sleep};

/// The key of whoever organises the sale, on servers that live as long as one run.
pub(super) const ADMIN_KEY: &str = "the key of a simulation";
/// What proves to the bank who asks.
pub(super) const BANK_SECRET: &str = "the bank of a simulation";
/// What signs the bank's messages.
const NEWS_SECRET: &str = "the news of a simulation";
/// How long a process may need to start once everything else works.
const STARTS_WITHIN: Duration = Duration::from_secs(90);
/// Between two tries to start.
const BETWEEN_TRIES: Duration = Duration::from_millis(200);

/// How often what happened.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) kills: AtomicU64,
    pub(super) pauses: AtomicU64,
    pub(super) lines: AtomicU64,
    pub(super) stores: AtomicU64,
}

/// A cluster.
pub(super) struct Site {
    program: PathBuf,
    nodes: Vec<tokio::sync::Mutex<Process>>,
    bank: tokio::sync::Mutex<Process>,
    /// Where the bank is now.
    bank_at: Mutex<Option<SocketAddr>>,
    redis: Mutex<Redis>,
    postgres: Mutex<Postgres>,
    lines: BTreeMap<Line, Arc<Proxy>>,
    pub(super) counts: Counts,
    /// What must never happen to a process.
    complaints: Mutex<Vec<String>>,
    story: Story,
    scratch: TempDir,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Site {
    /// Starts everything. Errors say what is not installed, or did not start.
    pub(super) async fn start(
        program: &Path,
        seed: u64,
        story: Story,
    ) -> Result<Arc<Self>, NotStarted> {
        let failed = |error: std::io::Error| NotStarted::Failed(error.to_string());
        let scratch = tempfile::Builder::new().prefix("onrush-sim-").tempdir().map_err(failed)?;
        let (redis, postgres) = block_in_place(|| {
            let options = RedisOptions { appendonly: true, ..RedisOptions::default() };
            Ok::<_, NotStarted>((Redis::start_with(&options)?, Postgres::start()?))
        })?;
        let mut lines = BTreeMap::new();
        for line in Line::all() {
            lines.insert(line, Proxy::open().await.map_err(failed)?);
        }
        let local = |port: u16| vec![SocketAddr::from(([127, 0, 0, 1], port))];
        for node in 0..NODES {
            lines[&Line::Redis(node)].lead_to(local(redis.port()));
            lines[&Line::Postgres(node)].lead_to(local(postgres.port()));
        }
        let files = Files { seed, scratch: scratch.path(), program, lines: &lines };
        let nodes = (0..NODES).map(|node| files.node(node)).collect::<Result<Vec<_>, _>>();
        let nodes = nodes.map_err(failed)?;
        files
            .configure("direct", &redis.url(), &postgres.url(), "http://127.0.0.1:1")
            .map_err(failed)?;
        let site = Arc::new(Self {
            program: program.to_owned(),
            nodes: nodes.into_iter().map(tokio::sync::Mutex::new).collect(),
            bank: tokio::sync::Mutex::new(files.bank()),
            bank_at: Mutex::default(),
            redis: Mutex::new(redis),
            postgres: Mutex::new(postgres),
            lines,
            counts: Counts::default(),
            complaints: Mutex::default(),
            story,
            scratch,
        });
        site.start_bank().await.map_err(NotStarted::Failed)?;
        for node in 0..NODES {
            let mut process = site.nodes[node].lock().await;
            site.start_node(node, &mut process).await.map_err(NotStarted::Failed)?;
        }
        Ok(site)
    }

    fn line(&self, line: Line) -> &Proxy {
        &self.lines[&line]
    }

    /// Where buyers reach the nodes.
    pub(super) fn fronts(&self) -> Vec<SocketAddr> {
        (0..NODES).map(|node| self.line(Line::Front(node)).address()).collect()
    }

    /// Where the bank is, if it is there.
    pub(super) fn bank_at(&self) -> Option<SocketAddr> {
        *locked(&self.bank_at)
    }

    /// Runs SQL in the cluster's database.
    pub(super) fn sql(&self, sql: &str) -> Result<String, String> {
        block_in_place(|| {
            let postgres = locked(&self.postgres);
            postgres.sql(&postgres.url(), sql).map_err(|error| error.to_string())
        })
    }

    /// Sends a command to Redis.
    pub(super) fn redis(&self, command: &[&str]) -> Result<String, String> {
        block_in_place(|| locked(&self.redis).command(command).map_err(|error| error.to_string()))
    }

    /// What became of the processes that must not be.
    pub(super) fn complaints(&self) -> Vec<String> {
        locked(&self.complaints).clone()
    }

    /// Lets one planned fault come and go.
    pub(super) async fn suffer(&self, planned: Planned, began: Instant) {
        tokio::time::sleep_until(began + Duration::from_millis(planned.at_ms)).await;
        let stays = Duration::from_millis(planned.for_ms);
        self.story.tell("the plan", format!("{} for {} ms", planned.fault, planned.for_ms));
        match planned.fault {
            Fault::Kill { node } => {
                self.counts.kills.fetch_add(1, Ordering::Relaxed);
                let mut process = self.nodes[node].lock().await;
                self.watch(node, &mut process);
                process.kill().await;
                self.lead_to_nodes(node, None);
                sleep(stays).await;
                // What it needs may be away as well: whoever watches it starts it again.
                let _ = self.try_node(node, &mut process).await;
            }
            Fault::Pause { node } => {
                self.counts.pauses.fetch_add(1, Ordering::Relaxed);
                let mut process = self.nodes[node].lock().await;
                process.pause();
                sleep(stays).await;
                process.resume();
            }
            Fault::Die { store } => {
                self.counts.stores.fetch_add(1, Ordering::Relaxed);
                self.die(store, stays).await;
            }
            Fault::Cut { line } => {
                self.counts.lines.fetch_add(1, Ordering::Relaxed);
                self.line(line).cut();
            }
            Fault::Refuse { line } => self.disturb(line, Mode::Refuse, true, stays, false).await,
            Fault::Delay { line, by_ms } => {
                self.disturb(line, Mode::Delay { by_ms }, false, stays, false).await;
            }
            Fault::Stall { line, then_cut } => {
                self.disturb(line, Mode::Stall, false, stays, then_cut).await;
            }
        }
    }

    async fn disturb(&self, line: Line, mode: Mode, cut: bool, stays: Duration, then_cut: bool) {
        self.counts.lines.fetch_add(1, Ordering::Relaxed);
        let line = self.line(line);
        line.set(mode);
        if cut {
            line.cut();
        }
        sleep(stays).await;
        if then_cut {
            line.cut();
        }
        line.set(Mode::Open);
    }

    async fn die(&self, store: Store, stays: Duration) {
        match store {
            Store::Redis => {
                block_in_place(|| locked(&self.redis).kill());
                sleep(stays).await;
                block_in_place(|| locked(&self.redis).restart()).expect("Redis starts again");
            }
            Store::Postgres => {
                block_in_place(|| locked(&self.postgres).kill());
                sleep(stays).await;
                block_in_place(|| locked(&self.postgres).restart())
                    .expect("PostgreSQL starts again");
            }
            Store::Bank => {
                *locked(&self.bank_at) = None;
                self.bank.lock().await.kill().await;
                sleep(stays).await;
                self.start_bank().await.expect("the bank starts again");
            }
        }
    }

    async fn start_bank(&self) -> Result<(), String> {
        let address = self.bank.lock().await.start().await?;
        for node in 0..NODES {
            self.line(Line::Bank(node)).lead_to(vec![address]);
        }
        *locked(&self.bank_at) = Some(address);
        Ok(())
    }

    /// Starts a node, however often that takes.
    async fn start_node(&self, node: usize, process: &mut Process) -> Result<(), String> {
        let deadline = Instant::now() + STARTS_WITHIN;
        loop {
            let tried = self.try_node(node, process).await;
            match tried {
                Ok(()) => return Ok(()),
                Err(why) if Instant::now() > deadline => {
                    return Err(format!("node {node} does not start: {why}; {}", process.log()));
                }
                Err(_) => sleep(BETWEEN_TRIES).await,
            }
        }
    }

    async fn try_node(&self, node: usize, process: &mut Process) -> Result<(), String> {
        match process.start().await {
            Ok(address) => {
                self.lead_to_nodes(node, Some(address));
                self.story.tell(&format!("node {node}"), "is ready");
                Ok(())
            }
            Err(why) => {
                self.story.tell(&format!("node {node}"), format!("does not start: {why}"));
                Err(why)
            }
        }
    }

    fn lead_to_nodes(&self, node: usize, address: Option<SocketAddr>) {
        self.line(Line::Front(node)).lead_to(address.into_iter().collect());
        // The bank reaches nodes by the lines that buyers use: whichever lets it in.
        self.line(Line::News).lead_to(self.fronts());
    }

    /// Notes that a node has ended by itself.
    fn watch(&self, node: usize, process: &mut Process) {
        if let Some(status) = process.ended() {
            self.story.tell(&format!("node {node}"), format!("has ended by itself: {status}"));
            let log = process.log();
            let last: Vec<&str> = log.lines().rev().take(3).collect();
            locked(&self.complaints)
                .push(format!("node {node} has ended by itself: {status}; its log ends: {last:?}"));
        }
    }

    /// Starts again whatever is not there, as those who run servers do, without end.
    pub(super) async fn keep_up(self: Arc<Self>) {
        loop {
            for node in 0..NODES {
                // A node that something befalls is looked at later.
                if let Ok(mut process) = self.nodes[node].try_lock() {
                    self.watch(node, &mut process);
                    if process.address().is_none() {
                        let _ = self.try_node(node, &mut process).await;
                    }
                }
            }
            sleep(BETWEEN_TRIES).await;
        }
    }

    /// Sees that everybody is there.
    pub(super) async fn calm(&self) -> Result<(), String> {
        for node in 0..NODES {
            let mut process = self.nodes[node].lock().await;
            self.watch(node, &mut process);
            if process.address().is_none() {
                self.start_node(node, &mut process).await?;
            }
        }
        Ok(())
    }

    /// What `onrush audit` says of Redis, PostgreSQL and the bank's file.
    pub(super) async fn audit(&self) -> Result<Vec<String>, String> {
        let mut command = Process::command(&self.program);
        command.args(["audit", "--json", "--config"]).arg(self.scratch.path().join("direct.toml"));
        command.arg("--sandbox").arg(self.scratch.path().join("bank"));
        let output = command.output().await.map_err(|error| error.to_string())?;
        let text = String::from_utf8_lossy(&output.stdout);
        let report: serde_json::Value = serde_json::from_str(text.trim()).map_err(|error| {
            format!("{error}: {text}{}", String::from_utf8_lossy(&output.stderr))
        })?;
        let found = report["found"].as_array().ok_or("no list of what was found")?;
        let found: Vec<String> = found.iter().map(|one| format!("the audit: {one}")).collect();
        if output.status.success() != found.is_empty() {
            return Err(format!("it ends with {} and has found {found:?}", output.status));
        }
        Ok(found)
    }

    /// Lines of the nodes' logs that nobody may ever write.
    pub(super) async fn panics(&self) -> Vec<String> {
        let mut panics = Vec::new();
        for (node, process) in self.nodes.iter().enumerate() {
            let log = process.lock().await.log();
            let lines = log.lines().filter(|line| line.contains("panicked at"));
            panics.extend(lines.map(|line| format!("node {node}: {line}")));
        }
        panics
    }

    /// Ends what was started here.
    pub(super) async fn close(&self) {
        for node in &self.nodes {
            node.lock().await.kill().await;
        }
        self.bank.lock().await.kill().await;
    }
}

/// What processes are started with.
struct Files<'a> {
    seed: u64,
    scratch: &'a Path,
    program: &'a Path,
    lines: &'a BTreeMap<Line, Arc<Proxy>>,
}

impl Files<'_> {
    /// Writes the settings of a node; waits are short, as a run is.
    fn configure(
        &self,
        name: &str,
        redis: &str,
        postgres: &str,
        bank: &str,
    ) -> std::io::Result<PathBuf> {
        let text = format!(
            "engine = \"redis\"\nledger = \"postgres\"\ngateway = \"sandbox\"\n\
             visitors_per_min = 1000000\nadmin_key = \"{ADMIN_KEY}\"\noperator_listen = \"off\"\n\
             [redis]\nurls = [\"{redis}\"]\nsweep_ms = 200\n[postgres]\nurl = \"{postgres}\"\n\
             [sandbox]\nurl = \"{bank}\"\nsecret = \"{BANK_SECRET}\"\n\
             webhook_secret = \"{NEWS_SECRET}\"\n\
             [saga]\ngateway_timeout_ms = 2000\nask_after_ms = 2000\nabandoned_after_ms = 3000\n\
             first_pause_ms = 50\nlongest_pause_ms = 1000\ntries = 1000\n"
        );
        let seller = match has_receipts(self.seed) {
            true => "[seller]\nname = \"Hall\"\naddress = [\"1 Lane\", \"Town\"]\n",
            false => "",
        };
        let text = text + seller;
        let path = self.scratch.join(format!("{name}.toml"));
        std::fs::write(&path, text)?;
        Ok(path)
    }

    fn node(&self, node: usize) -> std::io::Result<Process> {
        let address = |line| self.lines[&line].address();
        let redis = format!("redis://{}", address(Line::Redis(node)));
        let postgres = format!("postgres://onrush@{}/postgres", address(Line::Postgres(node)));
        let bank = format!("http://{}", address(Line::Bank(node)));
        let name = format!("node-{node}");
        let config = self.configure(&name, &redis, &postgres, &bank)?;
        let words = ["serve", "--json", "--log", "warn", "--listen", "127.0.0.1:0"];
        let mut arguments: Vec<String> = words.map(str::to_owned).to_vec();
        let data = self.scratch.join(&name).display().to_string();
        let config = config.display().to_string();
        arguments.extend(["--stop-with-input".into(), "--data".into(), data]);
        arguments.extend(["--config".into(), config]);
        // The crowd has one address.
        let many = || "100000".to_owned();
        let variables = vec![
            ("ONRUSH_LIMITS", "off".into()),
            ("ONRUSH_SHED_AFTER_MS", "0".into()),
            ("ONRUSH_CONNECTIONS_PER_ADDRESS", many()),
            ("ONRUSH_STREAMS_PER_ADDRESS", many()),
        ];
        let log = self.scratch.join(format!("{name}.log"));
        Ok(Process::new(self.program, arguments, variables, log))
    }

    fn bank(&self) -> Process {
        let news = self.lines[&Line::News].address();
        let webhooks = format!("http://{news}/api/v1/payments/webhook/sandbox");
        let words = ["sandbox", "--json", "--log", "error", "--listen", "127.0.0.1:0"];
        let mut arguments: Vec<String> = words.map(str::to_owned).to_vec();
        let lots = [
            ("--seed", self.seed.to_string()),
            ("--declined-pct", "10".into()),
            ("--lost-answer-pct", "10".into()),
            ("--duplicate-pct", "10".into()),
            ("--late-pct", "10".into()),
            ("--never-pct", "10".into()),
            ("--late-ms", "6000".into()),
            ("--webhook-url", webhooks),
            ("--data", self.scratch.join("bank").display().to_string()),
        ];
        arguments.push("--stop-with-input".into());
        arguments.extend(lots.into_iter().flat_map(|(name, value)| [name.to_owned(), value]));
        let variables = vec![
            ("ONRUSH_SANDBOX_SECRET", BANK_SECRET.into()),
            ("ONRUSH_SANDBOX_WEBHOOK_SECRET", NEWS_SECRET.into()),
        ];
        Process::new(self.program, arguments, variables, self.scratch.join("bank.log"))
    }
}
