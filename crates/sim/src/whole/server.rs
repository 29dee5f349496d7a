//! The server that is simulated: one life after the other on the same files.

use super::Faults;
use super::bank::Bank;
use super::clocks::{Clocks, beat};
use super::net::Net;
use super::receivers::Receivers;
use super::story::Story;
use crate::chance::Chance;
use onrush_api::http::public_router;
use onrush_api::http::state::{HttpDeps, HttpState};
use onrush_api::http::unserved;
use onrush_base::config::{Config, Patience};
use onrush_ledger::Ledger;
use onrush_ledger::sqlite::{SqliteLedger, SteppedLedger};
use onrush_relay::RelayDeps;
use onrush_relay::messages::Channels;
use onrush_saga::{SagaDeps, Sagas};
use onrush_serve::{Terms, serve_doors};
use onrush_store::Engine;
use onrush_store::embedded::{Clock, Embedded, Options, Stepped};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

/// Decisions that followers find in memory: few, so that they read files as well.
const TAIL: usize = 64;
/// The operator's key.
pub(super) const ADMIN_KEY: &str = "the key of the one who sells";
/// The key of the scanners at the door.
pub(super) const SCANNER_KEY: &str = "the key of those at the door";
/// How long a life that is over may keep its files.
const GIVES_UP: Duration = Duration::from_secs(600);

/// What runs from a start to the end of that process.
pub(super) struct Life {
    pub(super) engine: Arc<Embedded>,
    pub(super) ledger: Arc<dyn Ledger>,
    pub(super) sagas: Arc<Sagas>,
    http: HttpState,
}

impl Life {
    /// Ends what runs by itself.
    async fn end(&self) {
        self.sagas.stop();
        self.http.streams.hub.close();
        self.http.streams.hub.ended().await;
    }
}

struct State {
    life: Option<Arc<Life>>,
    tasks: JoinSet<()>,
    files: Option<(Weak<Embedded>, Weak<SqliteLedger>)>,
    lives: u64,
}

/// The server. It is there all the time, and answers while it lives.
pub(super) struct Server {
    seed: u64,
    faults: Faults,
    dir: PathBuf,
    bank: Arc<Bank>,
    receivers: Arc<Receivers>,
    net: Arc<Net>,
    story: Story,
    clocks: Arc<Clocks>,
    /// Why there can be no life any more, once there cannot.
    failed: watch::Sender<Option<String>>,
    calm: AtomicBool,
    kills: AtomicU64,
    state: Mutex<State>,
}

impl Server {
    pub(super) fn new(
        seed: u64,
        faults: Faults,
        dir: PathBuf,
        bank: Arc<Bank>,
        clocks: Arc<Clocks>,
        story: Story,
    ) -> Arc<Self> {
        let state = State { life: None, tasks: JoinSet::new(), files: None, lives: 0 };
        Arc::new(Self {
            seed,
            faults,
            dir,
            bank,
            receivers: Receivers::of(seed, faults.receivers, story.clone()),
            net: Arc::new(Net::new(faults.net)),
            story,
            clocks,
            failed: watch::Sender::new(None),
            calm: AtomicBool::new(false),
            kills: AtomicU64::new(0),
            state: Mutex::new(state),
        })
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The present life, if there is one.
    pub(super) fn life(&self) -> Option<Arc<Life>> {
        self.state().life.clone()
    }

    pub(super) fn faults(&self) -> &Faults {
        &self.faults
    }

    /// Whom it tells.
    pub(super) fn receivers(&self) -> &Arc<Receivers> {
        &self.receivers
    }

    /// The way to it.
    pub(super) fn net(&self) -> &Arc<Net> {
        &self.net
    }

    pub(super) fn kills(&self) -> u64 {
        self.kills.load(Ordering::Relaxed)
    }

    pub(super) fn story(&self) -> &Story {
        &self.story
    }

    /// From now on the disk does what it is asked to, at once, and lines hold.
    pub(super) fn calm(&self) {
        self.calm.store(true, Ordering::Relaxed);
        self.net.calm();
        self.receivers.calm();
    }

    /// Waits until the server cannot go on, and says why.
    pub(super) async fn failed(&self) -> String {
        let mut failed = self.failed.subscribe();
        let why = failed.wait_for(Option::is_some).await.ok().and_then(|why| why.clone());
        why.unwrap_or_default()
    }

    fn fail(&self, why: String) {
        self.story.tell("the server", &why);
        self.failed.send_replace(Some(why));
    }

    /// Starts a life, unless there is one: recovers from the files, and goes on.
    pub(super) async fn start(self: &Arc<Self>) {
        if self.life().is_some() || self.failed.borrow().is_some() {
            return;
        }
        self.wait_for_files().await;
        if let Some(planted) = self.faults.planted {
            planted.into_files(&self.dir, self.kills());
        }
        let steady = self.clocks.engine_time();
        let clock = Clock::Steady(steady.clone());
        let options = Options { clock: clock.clone(), tail_capacity: TAIL, ..Options::default() };
        let (engine, steps) = match Stepped::open(&self.dir, options) {
            Ok(opened) => opened,
            Err(error) => return self.fail(format!("the journal is not taken: {error}")),
        };
        let (ledger, ledger_steps) = match SteppedLedger::open(&self.dir) {
            Ok(opened) => opened,
            Err(error) => return self.fail(format!("the ledger is not taken: {error}")),
        };
        let kept: Arc<dyn Ledger> = ledger.clone();
        let sagas = Sagas::new(SagaDeps {
            engine: engine.clone(),
            ledger: kept.clone(),
            gateway: Some(self.bank.clone()),
            clock: clock.clone(),
            patience: Patience::default(),
            channels: Channels::of(&self.config()),
            cluster: None,
            pairing: None,
        });
        let deps = HttpDeps {
            engine: engine.clone(),
            ledger: kept.clone(),
            sagas: sagas.clone(),
            clock: clock.clone(),
            flags: Arc::default(),
            cluster: None,
            space: Some(engine.space()),
        };
        let http = match onrush_api::http::state::open(self.config(), deps) {
            Ok((http, _)) => http,
            Err(error) => return self.fail(format!("HTTP cannot be served: {error}")),
        };
        let mut state = self.state();
        state.lives += 1;
        let lives = state.lives;
        state.files = Some((Arc::downgrade(&engine), Arc::downgrade(&ledger)));
        let seq = engine.committed().0;
        state.tasks.spawn(beat(steady));
        let chance = Chance::of(self.seed, "disk", lives);
        state.tasks.spawn(run_engine(self.clone(), steps, clock.clone(), chance));
        let chance = Chance::of(self.seed, "ledger", lives);
        state.tasks.spawn(run_ledger(self.clone(), ledger_steps, chance));
        let parts = RelayDeps {
            ledger: kept.clone(),
            engine: engine.clone(),
            tickets: http.signers.tickets.clone(),
            links: http.callers.links.clone(),
            clock,
        };
        let relay = self.receivers.relay(&self.config(), &parts);
        for task in sagas.run().into_iter().chain(relay.run(sagas.told.clone())) {
            // The end of a life ends it too.
            state.tasks.spawn(async move {
                let abort = AbortOnDrop(task);
                abort.over().await;
            });
        }
        let router = public_router(http.clone());
        let router = match self.faults.planted {
            Some(planted) => planted.into_router(router),
            None => router,
        };
        state.tasks.spawn(serve_doors(
            self.net.listen(),
            router,
            Terms::public(&self.config(), unserved()),
            Arc::default(),
            std::future::pending(),
        ));
        state.tasks.spawn(http.streams.samples.clone().run());
        state.tasks.spawn(http.sale.draws.clone().open_drawn_sales());
        http.set_ready(true);
        state.life = Some(Arc::new(Life { engine, ledger: kept, sagas, http }));
        drop(state);
        self.story.tell("the server", format!("starts with decision {seq}"));
    }

    fn config(&self) -> Config {
        let mut config = Config {
            data: self.dir.clone(),
            admin_key: Some(ADMIN_KEY.to_owned().into()),
            scanner_key: Some(SCANNER_KEY.to_owned().into()),
            ..Config::default()
        };
        self.receivers.configure(&mut config);
        config
    }

    /// Ends the present life as a power cut would, in the middle of whatever it does.
    pub(super) async fn kill(&self) {
        let (life, mut tasks) = {
            let mut state = self.state();
            (state.life.take(), std::mem::take(&mut state.tasks))
        };
        let Some(life) = life else { return };
        self.kills.fetch_add(1, Ordering::Relaxed);
        self.story.tell("the server", "is killed");
        tasks.shutdown().await;
        life.end().await;
    }

    /// Ends the last life, and waits until it has let go of its files.
    pub(super) async fn close(&self) {
        let (life, mut tasks) = {
            let mut state = self.state();
            (state.life.take(), std::mem::take(&mut state.tasks))
        };
        if let Some(life) = &life {
            life.end().await;
        }
        drop(life);
        tasks.shutdown().await;
        self.wait_for_files().await;
    }

    /// Waits until the life before has let go of its files: what it had under way learns that
    /// nobody answers any more, and ends.
    async fn wait_for_files(&self) {
        let Some((engine, ledger)) = self.state().files.take() else { return };
        let begun = Instant::now();
        while engine.strong_count() + ledger.strong_count() > 0 {
            assert!(begun.elapsed() < GIVES_UP, "a life that is over keeps its files");
            sleep(Duration::from_millis(50)).await;
        }
    }

    /// How long a write takes until it is durable.
    fn sync_time(&self, chance: &mut Chance) -> Duration {
        if !self.faults.disk || self.calm.load(Ordering::Relaxed) {
            return Duration::from_millis(1);
        }
        let ms = match chance.below(1_000) {
            0 => chance.within(1_000, 8_000),
            1..=20 => chance.within(50, 1_000),
            _ => chance.within(1, 20),
        };
        Duration::from_millis(ms.unsigned_abs())
    }
}

struct AbortOnDrop(tokio::task::JoinHandle<()>);

impl AbortOnDrop {
    async fn over(mut self) {
        // A task that panics has ended too, and what it left undone is found by the judges.
        drop((&mut self.0).await);
    }
}

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Decides, lets the disk take its time, commits, and so on. A snapshot is made now and then.
async fn run_engine(server: Arc<Server>, mut steps: Stepped, clock: Clock, mut chance: Chance) {
    loop {
        let due = steps.next_deadline().map(|at| at.since_ms(clock.now()).max(0).unsigned_abs());
        let due = async {
            match due {
                Some(ms) => sleep(Duration::from_millis(ms)).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = steps.asked() => {}
            () = server.clocks.moved() => {}
            () = due => {}
        }
        if server.faults.disk {
            let is_calm = server.calm.load(Ordering::Relaxed);
            let is_low = !is_calm && chance.below(200) == 0;
            steps.set_free_bytes(if is_low { 1 << 20 } else { u64::MAX });
        }
        if !steps.decide() {
            break;
        }
        // Decided and not durable: a process that ends here has told nobody.
        sleep(server.sync_time(&mut chance)).await;
        if !steps.commit() {
            break;
        }
        // Of a journal without a decision there is none: the real engine counts decisions.
        let has_past = server.life().is_some_and(|life| life.engine.committed().0 > 0);
        if chance.below(300) == 0
            && has_past
            && let Err(why) = steps.snapshot()
        {
            return server.fail(format!("no snapshot can be made: {why}"));
        }
    }
    if let Some(why) = steps.failure() {
        server.fail(format!("the engine stops by itself: {why}"));
    }
}

/// Does what the ledger is asked, as slowly as the disk.
async fn run_ledger(server: Arc<Server>, mut steps: SteppedLedger, mut chance: Chance) {
    loop {
        steps.asked().await;
        sleep(server.sync_time(&mut chance)).await;
        steps.step();
        // What is asked because of these answers belongs to the next transaction.
        tokio::task::yield_now().await;
    }
}

/// Kills the server at any moment, and starts it again after a while.
pub(super) async fn kill_now_and_then(server: Arc<Server>, seed: u64) {
    let mut chance = Chance::of(seed, "kills", 0);
    loop {
        let lives_ms = match chance.below(4) {
            0 => chance.within(1, 2_000),
            1 => chance.within(2_000, 20_000),
            _ => chance.within(20_000, 300_000),
        };
        sleep(Duration::from_millis(lives_ms.unsigned_abs())).await;
        server.kill().await;
        let away_ms = if chance.percent(80) {
            chance.within(200, 5_000)
        } else {
            chance.within(5_000, 120_000)
        };
        sleep(Duration::from_millis(away_ms.unsigned_abs())).await;
        server.start().await;
    }
}
