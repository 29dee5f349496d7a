//! The whole of a server in one process and in virtual time: the engine with its journal, the
//! ledger, the sagas between them and a bank, HTTP and live streams over lines that break, couriers
//! on their way to receivers that are ill or away, with buyers around it and everything going wrong.
//!
//! Nothing runs on a thread of its own, and nothing waits for real: the engine and the ledger are
//! run step by step, time passes when nobody has anything left to do, and all chance comes from the
//! seed. So one seed is one story.
//!
//! The disk forgets what was not synced when the power goes (`disk.rs`), and between two lives
//! files are damaged, put back and made older (`between.rs`).

mod accepted;
mod bank;
mod bank_news;
mod between;
mod buyer;
mod client;
mod clocks;
#[cfg(feature = "cluster")]
pub mod cluster;
mod command_line;
mod desk;
mod disk;
mod door;
mod ends;
mod faults;
mod files;
mod judges;
mod net;
mod noted;
mod opening;
mod operator;
mod organiser;
mod planted;
mod receivers;
mod server;

mod steps;
mod storefront;
mod story;
mod strikes;
mod till;
mod types;
mod watch;
mod world;

use crate::chance::Chance;
use bank::Bank;
pub use between::Between;
use clocks::Clocks;
pub(crate) use command_line::run as run_many;
pub use faults::Faults;
use judges::Seen;
use onrush_base::auth::chance::deal;
use operator::{DeskReader, Shift};
use organiser::Organiser;
pub use planted::Planted;
use server::Server;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use story::Story;
use strikes::Strikes;
use tokio::runtime::Builder;
use tokio::task::JoinSet;
use world::World;

/// What one seed came to.
#[derive(Debug)]
pub struct Outcome {
    /// The seed.
    pub seed: u64,
    /// Everything that could be seen, as SHA-256 in hexadecimal digits.
    pub hash: String,
    /// What the judges found, a sentence each; nothing if all is well.
    pub violations: Vec<String>,
    /// What happened, a sentence each.
    pub story: Vec<String>,
    /// Buyers who came to an end.
    pub journeys: u64,
    /// Requests over HTTP that were answered.
    pub requests: u64,
    /// Decisions in the journal.
    pub decisions: u64,
    /// How often the server was killed, or lost its power.
    pub kills: u64,
    /// How often it lost its power.
    pub power_cuts: u64,
    /// Writes that were lost or torn by that.
    pub lost_writes: u64,
    /// What was tried with its files between its lives.
    pub between: Between,
    /// Bookings that were confirmed in the end.
    pub confirmed: u64,
    /// How often money was taken.
    pub captures: u64,
    /// How often money went back.
    pub refunds: u64,
    /// How often the bank's own desk gave some back, or was about to.
    pub at_desk: u64,
    /// Messages that were taken, mail and webhooks; repeats count as well.
    pub messages: u64,
    /// How many of them had been taken before.
    pub repeats: u64,
}

/// How long buyers may take, all of them together, before somebody is said to wait without end.
const LONGEST: Duration = Duration::from_secs(24 * 3_600);
/// How long what is left to do may take once nothing goes wrong any more.
const SETTLES: Duration = Duration::from_secs(6 * 3_600);
/// The same where a receiver of messages is never there: they are tried for three days.
const GIVES_UP: Duration = Duration::from_secs(76 * 3_600);

/// Runs the sale of one seed.
///
/// # Panics
/// If no directory and no runtime can be had.
#[must_use]
pub fn run(seed: u64, faults: Faults) -> Outcome {
    run_for(seed, faults, None)
}

/// The same for a given number of buyers.
///
/// # Panics
/// If no directory and no runtime can be had.
#[must_use]
pub fn run_for(seed: u64, faults: Faults, buyers: Option<u32>) -> Outcome {
    let dir = tempfile::Builder::new().prefix("onrush-sim-").tempdir_in(files::memory());
    let dir = dir.expect("a directory");
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build();
    let runtime = runtime.expect("a runtime");
    let outcome = runtime.block_on(sale(seed, faults, buyers, dir.path().to_owned()));
    // Tasks that are left hold the files.
    drop(runtime);
    outcome
}

async fn sale(seed: u64, faults: Faults, buyers: Option<u32>, dir: PathBuf) -> Outcome {
    let (mut bytes, clocks) = (Chance::of(seed, "ids", 0), Clocks::new(seed, faults.clocks));
    let told = clocks.clone();
    let _dealt =
        deal(move |to| to.fill_with(|| bytes.any() as u8), move || told.look().wall.0 / 1_000);
    let story = Story::begin();
    let world = Arc::new(World::of(seed, buyers));
    let strikes = Strikes::new(seed);
    let (bank, news) =
        Bank::open(seed, faults.bank, world.has_desk, strikes.clone(), story.clone());
    let server = {
        let (bank, clocks, story) = (bank.clone(), clocks.clone(), story.clone());
        Server::new(seed, faults, dir.clone(), bank, clocks, strikes, story)
    };
    server.start().await;
    let mut organiser = Organiser::new(seed, world.clone(), server.clone());
    let mut violations = Vec::new();
    if let Err(why) = set_up(&mut organiser, &server).await {
        violations.push(format!("the sale cannot be set up: {why}"));
    }
    server.open(world.is_drawn);

    let mut around = JoinSet::new();
    around.spawn(bank_news::tell(news, bank.clone(), server.clone(), seed, faults.bank));
    if faults.kills || faults.power {
        around.spawn(ends::kill_now_and_then(server.clone(), seed));
    }
    if faults.power {
        around.spawn(ends::fill_now_and_then(server.clone(), seed));
    }
    if faults.clocks {
        around.spawn(clocks.go_wrong(seed, story.clone()));
    }
    let mut buyers = JoinSet::new();
    let comers = if violations.is_empty() { world.buyers } else { 0 };
    for number in 0..comers {
        let it = buyer::Buyer::new(seed, number, world.clone(), server.clone());
        buyers.spawn(it.live());
    }
    around.spawn(organiser.organise());
    around.spawn(door::let_in(world.clone(), server.clone(), seed));
    if world.has_till {
        around.spawn(till::sell(world.clone(), server.clone(), seed));
    }
    let reader = |shift| DeskReader::new(seed, shift, world.clone(), server.clone(), bank.clone());
    if world.has_desk {
        around.spawn(desk::give_back(world.clone(), bank.clone(), seed));
        around.spawn(operator::read_now_and_then(reader(Shift::DuringSale), seed));
    }
    let all = async {
        let mut told = Vec::new();
        while let Some(one) = buyers.join_next().await {
            match one {
                Ok(one) => told.push(one),
                Err(error) => story.tell("nobody", format!("a buyer panicked: {error}")),
            }
        }
        told
    };
    let told = tokio::select! {
        biased;
        why = server.failed() => {
            violations.push(why);
            Vec::new()
        }
        told = tokio::time::timeout(LONGEST, all) => told.unwrap_or_else(|_| {
            violations.push(format!("buyers have been waiting for {LONGEST:?}"));
            Vec::new()
        }),
    };
    let journeys = told.len() as u64;
    if journeys < u64::from(world.buyers) && violations.is_empty() {
        violations.push(format!("{} of {} buyers came to an end", journeys, world.buyers));
    }
    // From here on nothing goes wrong, and what is left to do must be done some time.
    around.abort_all();
    while let Some(ended) = around.join_next().await {
        if let Err(error) = ended
            && error.is_panic()
        {
            violations.push(format!("something around the server panicked: {error}"));
        }
    }
    server.calm().await;
    bank.calm();
    bank.close_desk();
    server.start().await;
    let mut seen = Seen::default();
    if server.life().is_some() {
        let patience = if server.receivers().has_lost() { GIVES_UP } else { SETTLES };
        let mut reader = world.has_desk.then(|| reader(Shift::AtTheEnd));
        judges::wait_for_rest(&server, patience, reader.as_mut(), &mut violations).await;
        if server.restores() > 0 && faults.planted != Some(Planted::OperatorForgets) {
            operator::compare_books(&server, &bank, seed).await;
        }
        seen = judges::look(&server, &world, &bank, &told, &mut violations).await;
    }
    let (kills, decisions) = (server.kills(), seen.decisions);
    violations.extend(world.complaints());
    violations.extend(server.net().faults());
    let (between, wrong) = server.between().await;
    violations.extend(wrong);
    server.close().await;
    judges::audit(&dir, &mut violations);
    for violation in &violations {
        story.tell("the judges", violation.clone());
    }
    let (captures, refunds) = bank.counts();
    let (messages, repeats) = server.receivers().counts();
    let (power_cuts, lost_writes) = server.disk().counts();
    Outcome {
        seed,
        hash: story.hash(&seen.journal),
        violations,
        story: story.lines(),
        journeys,
        requests: server.net().answered(),
        decisions,
        kills,
        power_cuts,
        lost_writes,
        between,
        confirmed: seen.confirmed,
        captures,
        refunds,
        at_desk: bank.at_desk().len() as u64,
        messages,
        repeats,
    }
}

/// Has everything made that is for sale, unless the server ends or nobody answers for too long.
async fn set_up(organiser: &mut Organiser, server: &Server) -> Result<(), String> {
    tokio::select! {
        biased;
        why = server.failed() => Err(why),
        done = tokio::time::timeout(LONGEST, organiser.set_up()) => {
            done.unwrap_or_else(|_| Err(format!("nobody has answered for {LONGEST:?}")))
        }
    }
}
