//! The server that is simulated: one life after the other on the same files.

use super::accepted::{Loss, Losses};
use super::bank::Bank;
use super::between::{Between, Pauses, Tries};
use super::client::{Soon, Ways};
use super::clocks::{Clocks, beat};
use super::disk::{End, ServerDisk};
use super::faults::Faults;
use super::net::Net;
use super::opening::{self, Opened};
use super::planted::Planted;
use super::receivers::Receivers;
use super::steps::{run_engine, run_ledger};
use super::storefront::Shop;
use super::story::Story;
use super::strikes::Strikes;
use super::world::has_receipts;
use crate::chance::Chance;
use onrush_api::draw::Draws;
use onrush_api::http::public_router;
use onrush_api::http::state::{HttpDeps, HttpState};
use onrush_api::http::unserved;
use onrush_api::restored::pause_open_sales;
use onrush_base::auth::keys::KeyDir;
use onrush_base::auth::payers::Payers;
use onrush_base::config::{Config, Patience, RetentionSettings, SellerSettings};
use onrush_core::ids::PaymentId;
use onrush_ledger::Ledger;
use onrush_ledger::sqlite::SqliteLedger;
use onrush_relay::RelayDeps;
use onrush_relay::messages::Channels;
use onrush_saga::pairing::remember_keys;
use onrush_saga::{Issuer, SagaDeps, Sagas};
use onrush_serve::{Terms, serve_doors};
use onrush_store::Engine;
use onrush_store::embedded::{Clock, Embedded, Options};
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
/// The power goes in one of so many starts.
const STARTS_ENDED: u32 = 10;
/// How long after a look a stream that is alive may not have told what the look has shown. What was
/// on its way before comes at once.
const TOLD_WITHIN: Duration = Duration::from_secs(10);
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
    /// How often a life was begun; the power may go before it is there.
    starts: u64,
}

/// The server. It is there all the time, and answers while it lives.
pub(super) struct Server {
    seed: u64,
    pub(super) faults: Faults,
    dir: PathBuf,
    bank: Arc<Bank>,
    receivers: Arc<Receivers>,
    net: Arc<Net>,
    story: Story,
    pub(super) clocks: Arc<Clocks>,
    pub(super) disk: ServerDisk,
    /// What is done to files while nothing runs.
    pauses: tokio::sync::Mutex<Pauses>,
    losses: Mutex<Losses>,
    /// Why there can be no life any more, once there cannot.
    failed: watch::Sender<Option<String>>,
    pub(super) calm: AtomicBool,
    /// Whether the sale is set up. Before, nobody would start a server again.
    is_open: AtomicBool,
    kills: AtomicU64,
    pub(super) strikes: Arc<Strikes>,
    state: Mutex<State>,
}

impl Server {
    pub(super) fn new(
        seed: u64,
        faults: Faults,
        dir: PathBuf,
        bank: Arc<Bank>,
        clocks: Arc<Clocks>,
        strikes: Arc<Strikes>,
        story: Story,
    ) -> Arc<Self> {
        let state = State { life: None, tasks: JoinSet::new(), files: None, lives: 0, starts: 0 };
        Arc::new(Self {
            seed,
            faults,
            disk: ServerDisk::new(&dir, faults.power, faults.planted.and_then(Planted::unsynced)),
            pauses: tokio::sync::Mutex::default(),
            losses: Mutex::new(Losses::of(seed, faults.losses)),
            dir,
            bank,
            receivers: Receivers::of(seed, faults.receivers, story.clone()),
            net: Arc::new(Net::new(faults.net)),
            story,
            clocks,
            failed: watch::Sender::new(None),
            calm: AtomicBool::new(false),
            is_open: AtomicBool::new(false),
            kills: AtomicU64::new(0),
            strikes,
            state: Mutex::new(state),
        })
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn losses(&self) -> std::sync::MutexGuard<'_, Losses> {
        self.losses.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How often an operator has accepted that something is lost.
    pub(super) fn accepted(&self) -> u64 {
        self.losses().accepted()
    }

    /// The present life, if there is one.
    pub(super) fn life(&self) -> Option<Arc<Life>> {
        self.state().life.clone()
    }

    /// Whom it tells.
    pub(super) fn receivers(&self) -> &Arc<Receivers> {
        &self.receivers
    }

    /// The way to it.
    pub(super) fn net(&self) -> &Arc<Net> {
        &self.net
    }

    /// What its files are on.
    pub(super) fn disk(&self) -> &ServerDisk {
        &self.disk
    }

    pub(super) fn kills(&self) -> u64 {
        self.kills.load(Ordering::Relaxed)
    }

    pub(super) fn story(&self) -> &Story {
        &self.story
    }

    /// Whether whoever pays gets a receipt.
    pub(super) fn has_receipts(&self) -> bool {
        has_receipts(self.seed)
    }

    /// How often that was the whole directory: then decisions were lost as well.
    pub(super) fn restores(&self) -> u64 {
        self.losses().directories()
    }

    /// From now on the power may go. Where the sale `is_drawn`, no decision gets lost.
    pub(super) fn open(&self, is_drawn: bool) {
        if is_drawn {
            self.losses().keep_decisions();
        }
        self.is_open.store(true, Ordering::Relaxed);
    }

    /// Whether the power holds.
    pub(super) fn is_safe(&self) -> bool {
        self.calm.load(Ordering::Relaxed) || !self.is_open.load(Ordering::Relaxed)
    }

    /// From now on the disk does what it is asked to, at once, and lines hold.
    pub(super) async fn calm(&self) {
        self.calm.store(true, Ordering::Relaxed);
        self.net.calm();
        self.receivers.calm();
        match self.disk.end() {
            Some(end) => self.kill(end).await,
            None => self.disk.go_on(),
        }
    }

    /// Waits until the server cannot go on, and says why.
    pub(super) async fn failed(&self) -> String {
        let mut failed = self.failed.subscribe();
        let why = failed.wait_for(Option::is_some).await.ok().and_then(|why| why.clone());
        why.unwrap_or_default()
    }

    pub(super) fn fail(&self, why: String) {
        self.story.tell("the server", &why);
        self.failed.send_replace(Some(why));
    }

    /// Starts a life, unless there is one: recovers from the files, and goes on. If the power goes
    /// meanwhile, it starts again.
    pub(super) async fn start(self: &Arc<Self>) {
        while self.life().is_none() && self.failed.borrow().is_none() {
            // A start that was given up has left something, perhaps.
            let mut left = std::mem::take(&mut self.state().tasks);
            left.shutdown().await;
            self.wait_for_files().await;
            let mut chance = {
                let mut state = self.state();
                state.starts += 1;
                Chance::of(self.seed, "power", state.starts)
            };
            if let Some(said) = self.disk.settle(&mut chance) {
                self.story.tell("the disk", said);
            }
            self.pause(&mut chance).await;
            if let Some(planted) = self.faults.planted {
                planted.into_files(&self.dir, self.kills());
            }
            if let Err(why) = self.begin_life(&mut chance).await {
                if !self.disk.ends_life() {
                    return self.fail(why);
                }
                self.story.tell("the server", "loses its power while it starts");
            }
        }
    }

    /// Nothing runs: files can be copied, and what may happen to them happens.
    async fn pause(&self, chance: &mut Chance) {
        let mut said = Vec::new();
        if !self.calm.load(Ordering::Relaxed) {
            let Faults { flips, restores, upgrades, .. } = self.faults;
            let tries = Tries { flips, restores, upgrades };
            let mut pauses = self.pauses.lock().await;
            pauses.pass(&self.dir, tries, chance, &mut said).await;
            let lost = self.is_open.load(Ordering::Relaxed).then(|| self.losses().pass(&self.dir));
            if let Some(lost) = lost.flatten() {
                pauses.forget_backup();
                if let Some(planted) = self.faults.planted {
                    planted.into_ledger_put_back(&self.dir);
                }
                self.bank.note_loss(lost == Loss::Directory);
                said.push(lost.told().into());
            }
        }
        said.into_iter().for_each(|said| self.story.tell("the files", said));
    }

    /// What was tried with the files while nothing ran, and what was wrong with it.
    pub(super) async fn between(&self) -> (Between, Vec<String>) {
        let mut pauses = self.pauses.lock().await;
        let counts = Between { losses: self.accepted(), ..pauses.counts };
        (counts, std::mem::take(&mut pauses.violations))
    }

    /// How often its files were made those of a version before.
    pub(super) async fn upgrades(&self) -> usize {
        usize::try_from(self.pauses.lock().await.counts.upgrades).unwrap_or(usize::MAX - 1)
    }

    async fn begin_life(self: &Arc<Self>, chance: &mut Chance) -> Result<(), String> {
        let steady = self.clocks.engine_time();
        let clock = Clock::Steady(steady.clone());
        let accept_restored = self.losses().is_to_be_accepted();
        let options = Options {
            clock: clock.clone(),
            tail_capacity: TAIL,
            accept_restored,
            ..Options::default()
        };
        self.disk.begin_risk(chance, if self.is_safe() { 0 } else { STARTS_ENDED });
        let Opened { engine, steps, ledger, ledger_steps, pairing } =
            opening::open(&self.dir, options).await?;
        self.disk.witness_is_synced();
        let kept: Arc<dyn Ledger> = ledger.clone();
        let config = self.config();
        let issuer = config.seller.as_ref().map(|seller| Issuer::of(seller, config.gateway));
        let sagas = Sagas::new(SagaDeps {
            engine: engine.clone(),
            ledger: kept.clone(),
            gateway: Some(self.bank.clone()),
            clock: clock.clone(),
            patience: Patience::default(),
            retention: RetentionSettings::default(),
            // Not drawn, so that whatever else is drawn stays as it is.
            payers: Payers::new(&[7; 32]),
            channels: Channels::of(&config),
            cluster: None,
            pairing: Some(pairing),
            issuer: issuer.transpose()?,
        });
        let deps = HttpDeps {
            engine: engine.clone(),
            ledger: kept.clone(),
            sagas: sagas.clone(),
            clock: clock.clone(),
            flags: Arc::default(),
            cluster: None,
            space: Some(engine.space()),
            disk: Some(engine.space()),
            publishers: None,
            certificate: None,
        };
        let (http, _) = onrush_api::http::state::open(self.config(), deps)
            .map_err(|error| format!("HTTP cannot be served: {error}"))?;
        let keys = KeyDir::open(&self.dir).map_err(|error| error.to_string())?;
        remember_keys(&engine, &keys)?;
        if self.disk.end_risk() {
            return Err("it was about to serve".into());
        }
        let seq = engine.committed().0;
        {
            let mut state = self.state();
            state.lives += 1;
            let lives = state.lives;
            state.files = Some((Arc::downgrade(&engine), Arc::downgrade(&ledger)));
            state.tasks.spawn(beat(steady));
            let chance = Chance::of(self.seed, "disk", lives);
            state.tasks.spawn(run_engine(self.clone(), steps, clock.clone(), chance));
            let chance = Chance::of(self.seed, "ledger", lives);
            state.tasks.spawn(run_ledger(self.clone(), ledger_steps, chance));
        }
        if accept_restored {
            self.accept(&*engine, &http.sale.draws).await?;
        }
        let mut state = self.state();
        let parts = RelayDeps {
            ledger: kept.clone(),
            engine: engine.clone(),
            tickets: http.signers.tickets.clone(),
            links: http.callers.links.clone(),
            clock,
        };
        let relay = self.receivers.relay(&self.config(), &parts);
        for task in sagas.run().into_iter().chain(relay.run(sagas.told.clone())) {
            // The end of a life ends it too, even if it comes before anything has run.
            let abort = AbortOnDrop(task);
            state.tasks.spawn(abort.over());
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
        Ok(())
    }

    /// What is lost is accepted: all sales are paused before anybody is served.
    async fn accept(&self, engine: &dyn Engine, draws: &Draws) -> Result<(), String> {
        loop {
            let paused = tokio::select! {
                biased;
                _ = self.disk.ends() => return Err("it was about to pause what is on sale".into()),
                paused = pause_open_sales(engine, draws) => paused,
            };
            match paused {
                Ok(held_back) if held_back.is_empty() => break,
                // Nothing here loses a seed.
                Ok(held_back) => return Err(format!("{held_back:?} should open and do not")),
                // The process ends, and whoever watches over it starts it again.
                Err(_) => sleep(Duration::from_secs(5)).await,
            }
        }
        self.losses().accept();
        self.story.tell("the operator", "accepts what is lost");
        Ok(())
    }

    fn config(&self) -> Config {
        let losses = self.losses();
        // Numbers that a lost ledger has given count no further: whose they were is not known.
        let series = losses.accepted() + u64::from(losses.is_to_be_accepted());
        drop(losses);
        let mut config = Config {
            data: self.dir.clone(),
            admin_key: Some(ADMIN_KEY.to_owned().into()),
            scanner_key: Some(SCANNER_KEY.to_owned().into()),
            seller: self.has_receipts().then(|| SellerSettings {
                name: "Hall".into(),
                address: vec!["1 Lane".into(), "Town".into()],
                tax_id: None,
                series: format!("R{series}"),
                from: None,
            }),
            ..Config::default()
        };
        self.receivers.configure(&mut config);
        config
    }

    /// Ends the present life, in the middle of whatever it does.
    pub(super) async fn kill(&self, end: End) {
        let (life, mut tasks) = {
            let mut state = self.state();
            (state.life.take(), std::mem::take(&mut state.tasks))
        };
        let Some(life) = life else { return };
        self.disk.stop(end);
        self.kills.fetch_add(1, Ordering::Relaxed);
        self.story.tell(
            "the server",
            match end {
                End::Process => "is killed",
                End::Power => "loses its power",
            },
        );
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
    pub(super) fn sync_time(&self, chance: &mut Chance) -> Duration {
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

impl Server {
    /// Does something in which the power goes, one time in so many while things go wrong.
    pub(super) fn risk<T>(&self, chance: &mut Chance, one_in: u32, what: impl FnOnce() -> T) -> T {
        let one_in = if self.is_safe() { 0 } else { one_in };
        self.disk.begin_risk(chance, one_in);
        let done = what();
        self.disk.end_risk();
        done
    }
}

impl Shop for Server {
    fn ways(&self) -> Arc<dyn Ways> {
        self.net.clone()
    }

    fn story(&self) -> &Story {
        &self.story
    }

    fn planted(&self) -> Option<Planted> {
        self.faults.planted
    }

    fn told_within(&self) -> Duration {
        TOLD_WITHIN
    }

    fn losses(&self) -> u64 {
        self.accepted()
    }

    fn restores(&self) -> u64 {
        Server::restores(self)
    }

    fn pay<'a>(&'a self, payment: &'a PaymentId, card: u32, is_good: bool) -> Soon<'a, ()> {
        self.bank.pay(payment, card, is_good);
        Box::pin(std::future::ready(()))
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
