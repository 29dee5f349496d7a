//! `onrush bench hostile`: clients that want a server to fail, beside buyers who behave, for some minutes.
//!
//! The server is a process of its own that is held to little memory and few files. Hostile clients
//! and buyers come from addresses of their own (all of 127.0.0.0/8 is this machine), under the
//! limits that are the defaults. What is promised is a figure each; what must hold (it lives,
//! nothing acknowledged is lost, the audit is clean) makes the run fail.

mod attacks;
mod buyers;
mod wire;

use super::common::Common;
use super::results::Results;
use super::results::resident_bytes;
use super::server::Served;
use crate::load::{Pool, Request};
use buyers::EVENT;
use onrush_terminal::show::{count, ms, say};
use serde::Deserialize;
use serde_json::json;
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// The house whose seat map is asked for.
const ARENA: &str = include_str!("../../../../../examples/arena.json");
/// Standing places: more than buyers and hostile clients can take.
const PLACES: u32 = 10_000_000;
/// The server's memory that a process may ask for, in bytes, and its open files.
const SERVER_BYTES: u64 = 1 << 30;
const SERVER_FILES: u64 = 1_200;
/// How long it goes on as a part of `bench all`, in minutes.
const MINUTES_AMONG_ALL: f64 = 5.0;
/// The shortest time that says something, in minutes.
const LEAST_MINUTES: f64 = 0.05;
/// How often the server's memory and the operator's listener are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// How long the operator's listener may take.
const OPERATOR_PATIENCE: Duration = Duration::from_secs(5);

/// What can be chosen.
#[derive(clap::Args)]
pub(crate) struct HostileArgs {
    /// How long, in minutes
    #[arg(long, default_value_t = 10.0, value_parser = minutes)]
    minutes: f64,
    /// Only these hostile clients [default: all]
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<attacks::Attack>,
    #[command(flatten)]
    pub(super) common: Common,
}

impl HostileArgs {
    /// All hostile clients, for a shorter time than by themselves.
    pub(crate) fn all(common: &Common) -> Self {
        Self { minutes: MINUTES_AMONG_ALL, only: Vec::new(), common: common.clone() }
    }
}

/// Whether the program is there that holds the server to little memory.
pub(crate) fn can_run() -> bool {
    let mut prlimit = Command::new("prlimit");
    prlimit.arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
}

fn minutes(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(minutes) if (LEAST_MINUTES..=60.0).contains(&minutes) => Ok(minutes),
        _ => Err("use a number from 0.05 to 60".into()),
    }
}

pub(crate) fn run(args: &HostileArgs, results: &mut Results) -> Result<(), String> {
    super::common::measure(measured(args, results))?;
    Ok(())
}

async fn measured(args: &HostileArgs, results: &mut Results) -> Result<(), String> {
    let scratch = args.common.scratch()?;
    let served = Served::held(scratch.path(), SERVER_BYTES, SERVER_FILES)?;
    set_up(&served).await?;
    let minutes = (args.minutes * args.common.scale).max(LEAST_MINUTES);
    let time = Duration::from_secs_f64(minutes * 60.0);
    let until = Instant::now() + time;
    let attacks: Vec<_> =
        attacks::all().filter(|it| args.only.is_empty() || args.only.contains(it)).collect();
    say(&format!("{} kinds of hostile clients for {minutes:.1} minutes", attacks.len()));

    let mut hostile = JoinSet::new();
    for attack in &attacks {
        attacks::start(*attack, served.address, until, &mut hostile);
    }
    let operator = served.operator.ok_or("the server has no listener for operators")?;
    let watched = watch(served.pid(), operator, until);
    let (bought, watched) = tokio::join!(buyers::buy(served.address, until.into()), watched);
    let mut done: BTreeMap<&'static str, u64> = BTreeMap::new();
    for (what, number) in hostile.join_all().await {
        *done.entry(what).or_default() += number;
    }
    let bought = bought?;
    let lost = bought.lost(served.address).await?;
    let audit = audit(scratch.path());

    let mib = |bytes: u64| bytes as f64 / 1_048_576.0;
    results.figure("hostile_minutes", minutes);
    results.figure("hostile_rss_max_mib", mib(watched.most_bytes));
    results.figure("hostile_buyers_p50_ms", bought.latency.percentile_ms(50.0));
    results.figure("hostile_buyers_p99_ms", bought.latency.percentile_ms(99.0));
    results.figure("hostile_bookings", bought.receipts.len() as f64);
    results.figure("hostile_lost", lost.len() as f64);
    results.figure("hostile_sent_away", bought.sent_away as f64);
    results.figure("hostile_broken", bought.broken as f64);
    results.figure("hostile_operator_silent", watched.silent as f64);
    for (what, number) in &done {
        results.say(&format!("           {what}: {}", count(*number)));
    }
    results.say(&format!(
        "hostile    {} at most (goal ≤ 600 MiB); buyers who behave: {} bookings, {} things done, from \
         the first try p50 {}, p99 {} (goal ≤ 100 ms); {} times asked to come again, {} connections \
         broke; {} acknowledged and lost; the operator's listener was silent {} times; audit: {}",
        format_args!("{:.0} MiB", mib(watched.most_bytes)),
        count(bought.receipts.len() as u64),
        count(bought.latency.count()),
        ms(bought.latency.percentile_ms(50.0)),
        ms(bought.latency.percentile_ms(99.0)),
        count(bought.sent_away),
        count(bought.broken),
        lost.len(),
        watched.silent,
        if audit.is_ok() { "clean" } else { "VIOLATIONS" },
    ));
    if let Some(first) = lost.first() {
        return Err(format!("acknowledged and lost: {first}"));
    }
    if watched.silent > 0 {
        return Err("the operator's listener did not answer in time".into());
    }
    audit
}

/// What was seen of the server while it was under attack.
struct Watched {
    most_bytes: u64,
    /// How often the operator's listener did not answer in time.
    silent: u64,
}

async fn watch(pid: u32, operator: SocketAddr, until: Instant) -> Watched {
    let mut watched = Watched { most_bytes: 0, silent: 0 };
    let health = Request::to("GET", "/healthz").bare();
    while Instant::now() < until {
        watched.most_bytes = watched.most_bytes.max(resident_bytes(pid).unwrap_or(0));
        let asked = wire::ask_from(Ipv4Addr::LOCALHOST, operator, health.bytes());
        let answered = tokio::time::timeout(OPERATOR_PATIENCE, asked).await;
        if !matches!(answered, Ok(Ok(200))) {
            watched.silent += 1;
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
    watched
}

/// A hall with seats and standing places, on sale without a waiting room.
async fn set_up(served: &Served) -> Result<(), String> {
    #[derive(Deserialize)]
    struct Plan {
        categories: Vec<Category>,
    }
    #[derive(Deserialize)]
    struct Category {
        name: String,
    }
    let plan: Plan = serde_json::from_str(ARENA).map_err(|error| error.to_string())?;
    let prices: BTreeMap<_, _> = plan.categories.into_iter().map(|it| (it.name, 5_000)).collect();
    let plan: serde_json::Value = serde_json::from_str(ARENA).map_err(|error| error.to_string())?;
    let pool = Pool::new(served.address, 1);
    let event = json!({"event": EVENT, "title": "Hostile", "currency": "EUR", "room": null});
    Served::admin(&pool, "POST", "/events", &event.to_string()).await?;
    let stock = json!({"pool": "ga", "capacity": PLACES, "price_minor": 4_900});
    Served::admin(&pool, "POST", &format!("/events/{EVENT}/pools"), &stock.to_string()).await?;
    let map = json!({"plan": plan, "prices": prices}).to_string();
    Served::admin(&pool, "PUT", &format!("/events/{EVENT}/seat-map"), &map).await?;
    Served::admin(&pool, "POST", &format!("/events/{EVENT}/open"), "{}").await
}

/// Has everything recomputed from the files, beside the running server.
fn audit(data: &Path) -> Result<(), String> {
    let mut command = super::server::this_program()?;
    let audit = command.args(["audit", "--data"]).arg(data).stdin(Stdio::null());
    let output = audit.output().map_err(|error| format!("no audit: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("the audit found: {}", String::from_utf8_lossy(&output.stdout)))
}
