//! A cluster, simulated: real nodes on a real Redis and PostgreSQL, with processes that are killed
//! and stand still, and a proxy on every line that cuts, refuses, delays and stalls.
//!
//! What goes wrong when, and what buyers want, follows from the seed; how long things take does
//! not, so a seed is one plan and not one story.

mod command_line;
mod http;
mod judges;
mod organiser;
mod plan;
mod process;
mod proxy;
mod shop;
mod site;

use super::buyer::{Buyer, Told};
use super::story::Story;
use super::world::World;
use crate::chance::Chance;
pub(crate) use command_line::run as run_many;
use http::ToBank;
use hyper::Method;
use judges::{Judges, Seen};
use onrush_terminal::process::interrupted;
use onrush_testkit::NotStarted;
use organiser::Organiser;
use plan::Plan;
use shop::Shop;
use site::Site;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::task::{JoinSet, block_in_place};
use tokio::time::{Instant, sleep_until, timeout};

/// How long buyers may take once nothing goes wrong any more, beside their sessions, before somebody
/// is said to wait without end.
const LONGEST: Duration = Duration::from_secs(240);

/// What is simulated.
#[derive(Clone, Debug)]
pub struct Options {
    /// The program whose nodes these are.
    pub program: PathBuf,
    /// What everything is drawn from.
    pub seed: u64,
    /// For how long things go wrong.
    pub faults_s: u32,
    /// So many buyers, in place of what the seed says.
    pub buyers: Option<u32>,
}

/// What one seed came to.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The seed.
    pub seed: u64,
    /// What the judges found, a sentence each; nothing if all is well.
    pub violations: Vec<String>,
    /// What was planned, and what happened, a sentence each.
    pub story: Vec<String>,
    /// Buyers who came to an end.
    pub journeys: u64,
    /// Requests over HTTP that were answered.
    pub requests: u64,
    /// Decisions in the archive.
    pub decisions: u64,
    /// How often a node was killed.
    pub kills: u64,
    /// How often a node stood still.
    pub pauses: u64,
    /// How often a line was cut, refused, delayed or stalled.
    pub lines: u64,
    /// How often Redis, PostgreSQL or the bank was killed.
    pub stores: u64,
    /// Bookings that were confirmed in the end.
    pub confirmed: u64,
    /// How often money was taken.
    pub captures: u64,
    /// How often money went back.
    pub refunds: u64,
    /// Keys that were asked again in the end.
    pub keys: u64,
}

/// A cluster at rest, for tests that falsify something and see that it is found.
pub struct AtRest<'a>(&'a Site);

impl AtRest<'_> {
    /// Runs SQL in the cluster's database.
    ///
    /// # Errors
    /// What the database says.
    pub fn sql(&self, sql: &str) -> Result<String, String> {
        self.0.sql(sql)
    }

    /// Sends a command to Redis.
    ///
    /// # Errors
    /// What Redis says.
    pub fn redis(&self, command: &[&str]) -> Result<String, String> {
        self.0.redis(command)
    }

    /// Asks the bank to do something, with a key if there is one.
    ///
    /// # Errors
    /// If it does not.
    pub fn bank(&self, path: &str, key: &str, body: &str) -> Result<(), String> {
        let address = self.0.bank_at().ok_or("the bank is away")?;
        let is_json = body.starts_with('{');
        let form = "application/x-www-form-urlencoded";
        let content_type = if is_json { "application/json" } else { form };
        let asked = ToBank { method: Method::POST, path, key, content_type, body: body.into() };
        let answer =
            block_in_place(|| Handle::current().block_on(asked.ask(address, site::BANK_SECRET)));
        match answer {
            Some((200..400, _)) => Ok(()),
            other => Err(format!("the bank answers {path} with {other:?}")),
        }
    }
}

/// Something that a test makes wrong in a cluster at rest, and right again.
pub struct Planted {
    /// What is wrong.
    pub what: &'static str,
    /// Makes it wrong.
    pub plant: fn(&AtRest<'_>) -> Result<(), String>,
    /// Makes it right.
    pub mend: fn(&AtRest<'_>) -> Result<(), String>,
}

/// Runs the sale of one seed.
///
/// # Errors
/// If a server is not installed, or does not start.
///
/// # Panics
/// If no runtime can be had, or a server does not come back.
pub fn run(options: &Options) -> Result<Outcome, NotStarted> {
    run_with(options, &[]).map(|(outcome, _)| outcome)
}

/// The same, and then plants one thing after the other: says what the judges find of each.
///
/// # Errors
/// If a server is not installed, or does not start.
///
/// # Panics
/// If no runtime can be had, a server does not come back, or something cannot be planted.
pub fn run_with(
    options: &Options,
    planted: &[Planted],
) -> Result<(Outcome, Vec<Vec<String>>), NotStarted> {
    let runtime = onrush_terminal::process::runtime().map_err(NotStarted::Failed)?;
    runtime.block_on(async {
        let story = Story::begin();
        let site = Site::start(&options.program, options.seed, story.clone()).await?;
        let done = tokio::select! {
            done = Sale::new(options, site.clone(), story).run(planted) => Ok(done),
            // Servers and their files go as they always do.
            () = interrupted() => Err(NotStarted::Failed("it was interrupted".into())),
        };
        site.close().await;
        done
    })
}

/// What the sale of a cluster is: so much on sale for so many, and short times, as a run is short.
fn world(seed: u64, buyers: Option<u32>) -> World {
    let mut chance = Chance::of(seed, "cluster", 0);
    let buyers = buyers.unwrap_or(*chance.pick(&[40, 60, 90]));
    let mut world = World::of(seed, Some(buyers));
    // The organiser of a cluster's sale has no rule for it, and nobody is at the sandbox's desk.
    (world.refund_percent, world.has_desk) = (None, false);
    let settings = &mut world.settings;
    (settings.hold_ttl_ms, settings.hold_max_ms) =
        *chance.pick(&[(8_000, 20_000), (20_000, 40_000)]);
    settings.payment_window_ms = *chance.pick(&[6_000, 15_000]);
    if let Some(room) = &mut settings.room {
        // Holds keep their slots for up to a minute after a payment failed, and all shall come in.
        room.capacity = *chance.pick(&[buyers / 3, buyers / 2, buyers]);
        (room.session_ms, room.arrive_ms) = (6_000, 4_000);
    }
    world
}

/// One run.
struct Sale {
    plan: Plan,
    seed: u64,
    world: Arc<World>,
    site: Arc<Site>,
    shop: Arc<Shop>,
    organiser: Arc<Organiser>,
    story: Story,
}

impl Sale {
    fn new(options: &Options, site: Arc<Site>, story: Story) -> Self {
        let Options { seed, faults_s, buyers, .. } = *options;
        let world = Arc::new(world(seed, buyers));
        let plan = Plan::of(seed, world.buyers, u64::from(faults_s) * 1_000);
        let shop = Shop::new(site.clone(), story.clone());
        let ways = shop.streets().clone();
        let organiser = Organiser::new(seed, world.clone(), ways, story.clone());
        Self { plan, seed, world, site, shop, organiser, story }
    }

    async fn run(self, planted: &[Planted]) -> (Outcome, Vec<Vec<String>>) {
        for planned in &self.plan.faults {
            self.story.tell("the plan", planned.to_string());
        }
        let mut violations = Vec::new();
        let told = match self.organiser.set_up().await {
            Ok(()) => self.sell(&mut violations).await,
            Err(why) => {
                violations.push(format!("the sale cannot be set up: {why}"));
                Vec::new()
            }
        };
        let journeys = told.len() as u64;
        let judges = Judges {
            site: self.site.clone(),
            world: self.world.clone(),
            told,
            answers: self.shop.answers(),
            organiser: self.organiser.clone(),
        };
        let seen = self.judge(&judges, &mut violations).await;
        let mut findings = Vec::new();
        // What went wrong is told first: where nothing was sold, nothing can be planted.
        for planted in planted.iter().filter(|_| violations.is_empty()) {
            findings.push(self.plant(&judges, planted).await);
        }
        violations.iter().for_each(|violation| self.story.tell("the judges", violation));
        let counts = &self.site.counts;
        let count = |of: &std::sync::atomic::AtomicU64| of.load(Ordering::Relaxed);
        let outcome = Outcome {
            seed: self.seed,
            violations,
            story: self.story.lines(),
            journeys,
            requests: self.shop.streets().answered(),
            decisions: seen.decisions,
            kills: count(&counts.kills),
            pauses: count(&counts.pauses),
            lines: count(&counts.lines),
            stores: count(&counts.stores),
            confirmed: seen.confirmed,
            captures: seen.captures,
            refunds: seen.refunds,
            keys: seen.keys,
        };
        (outcome, findings)
    }

    /// Has everybody come while things go wrong, and waits until all have left.
    async fn sell(&self, violations: &mut Vec<String>) -> Vec<Vec<Told>> {
        let began = Instant::now();
        let (mut buyers, mut around, mut faults) = (JoinSet::new(), JoinSet::new(), JoinSet::new());
        for (number, at_ms) in (0..).zip(self.plan.arrivals_ms.clone()) {
            let it = Buyer::new(self.seed, number, self.world.clone(), self.shop.clone());
            buyers.spawn(async move {
                sleep_until(began + Duration::from_millis(at_ms)).await;
                it.live().await
            });
        }
        around.spawn(self.site.clone().keep_up());
        let organiser = around.spawn(self.organiser.clone().organise());
        for planned in self.plan.faults.clone() {
            let site = self.site.clone();
            faults.spawn(async move { site.suffer(planned, began).await });
        }
        while let Some(one) = faults.join_next().await {
            if let Err(error) = one {
                violations.push(format!("what was planned did not happen: {error}"));
            }
        }
        organiser.abort();
        violations.extend(self.site.calm().await.err());
        self.organiser.calm().await;
        self.story.tell("the plan", "from here on nothing goes wrong");
        let mut told = Vec::new();
        let all = async {
            while let Some(one) = buyers.join_next().await {
                match one {
                    Ok(one) => told.push(one),
                    Err(error) => violations.push(format!("a buyer panicked: {error}")),
                }
            }
        };
        // The last units are for one visitor at a time, who may look at them to a session's end.
        let session_ms = self.world.settings.room.as_ref().map_or(0, |room| room.session_ms);
        let alone = Duration::from_millis(session_ms.unsigned_abs()) * self.world.buyers;
        let longest = LONGEST + alone;
        if timeout(longest, all).await.is_err() {
            let (left, all) = (told.len(), self.world.buyers);
            violations.push(format!("{left} of {all} buyers came to an end within {longest:?}"));
        }
        around.shutdown().await;
        told
    }

    /// Waits for rest and looks at everything.
    async fn judge(&self, judges: &Judges, violations: &mut Vec<String>) -> Seen {
        violations.extend(judges.wait_for_rest().await.err());
        violations.extend(self.site.complaints());
        violations.extend(self.site.panics().await);
        match judges.look().await {
            Ok((seen, found)) => {
                violations.extend(found);
                seen
            }
            Err(why) => {
                violations.push(format!("it cannot be judged: {why}"));
                Seen::default()
            }
        }
    }

    /// What the judges find of something that is planted, which is mended again.
    async fn plant(&self, judges: &Judges, planted: &Planted) -> Vec<String> {
        let Planted { what, plant, mend } = planted;
        let at_rest = AtRest(&self.site);
        self.story.tell("the test", what);
        plant(&at_rest).unwrap_or_else(|why| panic!("{what}: {why}"));
        let found = judges.look().await.map_or_else(|why| vec![why], |(_, found)| found);
        mend(&at_rest).unwrap_or_else(|why| panic!("{what}, to be mended: {why}"));
        found
    }
}
