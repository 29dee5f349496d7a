//! `onrush simulate`.

use crate::counts::Counts;
#[cfg(feature = "whole")]
use crate::course::Course;
use crate::course::{Bound, TOLD_EVERY};
use crate::faults::{FAULTS, Fault};
use crate::run::Outcome;
use crate::shrink::{Shortest, shortest};
use crate::simulate;
use crate::world::World;
use onrush_terminal::exit::Exit;
use onrush_terminal::show::{count, print_json, say};
use serde::Serialize;
use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What to simulate.
#[derive(clap::Args)]
pub struct SimulateArgs {
    /// The number a sale is drawn from; without a bound, this one alone [default: a fresh one]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// How many seeds, one after the other
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    seeds: Option<u64>,
    /// How many hours
    #[arg(long, value_name = "H", conflicts_with_all = ["minutes", "commands", "seeds"])]
    hours: Option<u32>,
    /// How many minutes [default: 1, unless there is a seed]
    #[arg(long, value_name = "M", conflicts_with_all = ["commands", "seeds"])]
    minutes: Option<u32>,
    /// How many commands in all, at least
    #[arg(long, value_name = "N", conflicts_with = "seeds")]
    commands: Option<u64>,
    /// How many sales at a time
    #[arg(long, value_name = "J", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: u16,
    /// Print the result as one line of JSON
    #[arg(long)]
    json: bool,
    /// Leave a fault out: crash, downtime, clock-jump, clock-drift, pause, doubled, late, stale or
    /// late-tick
    #[arg(long, value_name = "FAULT")]
    without: Vec<Fault>,
    /// Run each seed twice, and compare everything that can be observed
    #[arg(long)]
    twice: bool,
    /// Simulate whole servers, with files, payments and kills, not the rules alone; what is left out
    /// by name is of the rules
    #[cfg(feature = "whole")]
    #[arg(long, group = "servers", conflicts_with_all = ["commands", "without"])]
    whole: bool,
    /// Simulate clusters: real nodes, Redis and PostgreSQL, in real time, a minute or two each; the
    /// seed gives the plan and not the timing
    #[cfg(feature = "cluster")]
    #[arg(long, group = "servers", conflicts_with_all = ["commands", "without", "twice", "jobs"])]
    cluster: bool,
    /// Have so many buyers come to each sale of a whole server or a cluster
    #[cfg(feature = "whole")]
    #[arg(long, value_name = "N", requires = "servers",
        value_parser = clap::value_parser!(u32).range(1..=100_000))]
    buyers: Option<u32>,
}

/// The result. Its JSON is one line.
#[derive(Debug, Default, Serialize)]
struct Report {
    version: String,
    first_seed: u64,
    seeds: u64,
    commands: u64,
    refused: u64,
    looks: u64,
    changes: u64,
    commands_per_s: u64,
    elapsed_s: f64,
    crashes: u64,
    lost: u64,
    rows_replayed: u64,
    faults: BTreeMap<&'static str, u64>,
    /// Seeds that came out the same when they were run twice.
    same_twice: u64,
    /// The hash of everything observable, if it was one seed.
    #[serde(skip_serializing_if = "Option::is_none")]
    observed: Option<String>,
    violations: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<Failure>,
}

/// A seed that failed.
#[derive(Debug, Serialize)]
struct Failure {
    seed: u64,
    judge: &'static str,
    why: String,
    steps: usize,
    story: Vec<String>,
}

impl Report {
    fn add(&mut self, outcome: &Outcome) {
        let Counts { commands, refused, looks, changes, crashes, lost, rows_replayed } =
            outcome.counts;
        self.seeds += 1;
        self.commands += commands;
        self.refused += refused;
        self.looks += looks;
        self.changes += changes;
        self.crashes += crashes;
        self.lost += lost;
        self.rows_replayed += rows_replayed;
        for (name, came) in FAULTS.iter().zip(outcome.faults) {
            *self.faults.entry(name).or_default() += came;
        }
    }

    fn measure(&mut self, elapsed: Duration) {
        self.elapsed_s = elapsed.as_secs_f64();
        self.commands_per_s = (self.commands as f64 / self.elapsed_s.max(0.001)) as u64;
    }

    fn faults_in_all(&self) -> u64 {
        self.faults.values().sum()
    }
}

/// What the jobs share.
struct Shared {
    next: AtomicU64,
    stop: AtomicBool,
    report: Mutex<Report>,
    failed: Mutex<Option<Outcome>>,
}

/// Simulates sales; `version` says which program it is.
#[must_use]
pub fn run(args: &SimulateArgs, version: &str) -> Exit {
    let fresh = || RandomState::new().hash_one("a fresh seed") >> 24;
    let first_seed = args.seed.unwrap_or_else(fresh);
    let minutes = |minutes: u64| Bound::Time(Duration::from_secs(60 * minutes));
    let bound = match (args.hours, args.minutes, args.commands, args.seeds) {
        (Some(hours), _, _, _) => minutes(60 * u64::from(hours)),
        (_, Some(asked), _, _) => minutes(u64::from(asked)),
        (_, _, Some(commands), _) => Bound::Commands(commands),
        (_, _, _, Some(seeds)) => Bound::Seeds(seeds),
        (None, None, None, None) if args.seed.is_some() => Bound::Seeds(1),
        (None, None, None, None) => minutes(1),
    };
    say(&format!("onrush {version}: simulating from seed {first_seed} on"));
    #[cfg(feature = "whole")]
    if args.whole {
        let SimulateArgs { jobs, twice, json, buyers, .. } = *args;
        let course = Course { version, first_seed, bound, jobs, twice, json, buyers };
        return crate::whole::run_many(&course);
    }
    #[cfg(feature = "cluster")]
    if args.cluster {
        let SimulateArgs { jobs, twice, json, buyers, .. } = *args;
        let course = Course { version, first_seed, bound, jobs, twice, json, buyers };
        return crate::cluster::run_many(&course);
    }
    let report = Report { version: version.to_owned(), first_seed, ..Report::default() };
    let shared = Shared {
        next: AtomicU64::new(first_seed),
        stop: AtomicBool::new(false),
        report: Mutex::new(report),
        failed: Mutex::new(None),
    };
    let started = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..args.jobs {
            scope.spawn(|| work(args, &shared, bound, first_seed, started));
        }
    });
    let mut report = shared.report.into_inner().expect("no job panics");
    report.measure(started.elapsed());
    let failed = shared.failed.into_inner().expect("no job panics");
    if let Some(outcome) = failed {
        report.violations = 1;
        report.failure = explain(&outcome, &args.without);
    }
    tell(args, &report);
    if report.violations == 0 { Exit::Ok } else { Exit::Violation }
}

/// One job: takes seeds until the bound.
fn work(args: &SimulateArgs, shared: &Shared, bound: Bound, first: u64, started: Instant) {
    let mut told = Instant::now();
    while !shared.stop.load(Ordering::Relaxed) {
        let seed = shared.next.fetch_add(1, Ordering::Relaxed);
        let done = seed.wrapping_sub(first);
        let over = match bound {
            Bound::Seeds(seeds) => done >= seeds,
            Bound::Time(time) => started.elapsed() >= time,
            Bound::Commands(commands) => {
                shared.report.lock().expect("no job panics").commands >= commands
            }
        };
        if over {
            return;
        }
        let mut outcome = simulate(seed, &args.without, false);
        let same = args.twice && is_same(&mut outcome, args);
        let mut report = shared.report.lock().expect("no job panics");
        report.add(&outcome);
        report.same_twice += u64::from(same);
        report.observed = matches!(bound, Bound::Seeds(1)).then(|| outcome.observed.clone());
        if outcome.violation.is_some() {
            shared.stop.store(true, Ordering::Relaxed);
            shared.failed.lock().expect("no job panics").get_or_insert(outcome);
            return;
        }
        if told.elapsed() >= TOLD_EVERY {
            told = Instant::now();
            report.measure(started.elapsed());
            say(&line(&report));
        }
    }
}

/// Whether a second run comes out the same. If not, that is the outcome.
fn is_same(outcome: &mut Outcome, args: &SimulateArgs) -> bool {
    let again = simulate(outcome.seed, &args.without, false);
    let same = again.observed == outcome.observed;
    if !same && outcome.violation.is_none() {
        let why = format!("two runs came to {} and {}", outcome.observed, again.observed);
        outcome.violation = Some(crate::judges::Violation { judge: "twice", why });
    }
    same
}

fn line(report: &Report) -> String {
    format!(
        "{} seeds, {} commands ({}/s), {} faults survived",
        count(report.seeds),
        count(report.commands),
        count(report.commands_per_s),
        count(report.faults_in_all()),
    )
}

/// Runs a seed that failed once more, and finds the shortest part that does.
fn explain(outcome: &Outcome, without: &[Fault]) -> Option<Failure> {
    let violation = outcome.violation.clone()?;
    let recorded = simulate(outcome.seed, without, true);
    let Shortest { steps, violation, story } = shortest(&World::new, recorded.steps, &violation);
    Some(Failure {
        seed: outcome.seed,
        judge: violation.judge,
        why: violation.why,
        steps: steps.len(),
        story,
    })
}

fn tell(args: &SimulateArgs, report: &Report) {
    if args.json {
        print_json(report);
        return;
    }
    println!("{} in {:.1} s", line(report), report.elapsed_s);
    println!(
        "{} refused, {} looks, {} changes; {} restarts lost {} answers and read {} rows",
        count(report.refused),
        count(report.looks),
        count(report.changes),
        count(report.crashes),
        count(report.lost),
        count(report.rows_replayed),
    );
    for (name, came) in &report.faults {
        println!("  {name:<12} {}", count(*came));
    }
    if args.twice {
        println!("{} of {} seeds came out the same twice", report.same_twice, report.seeds);
    }
    if let Some(observed) = &report.observed {
        println!("everything observable: {observed}");
    }
    let Some(failure) = &report.failure else {
        println!("no violation");
        return;
    };
    let Failure { seed, judge, why, steps, story } = failure;
    println!("VIOLATION of seed {seed} ({}), found by {judge}: {why}", report.version);
    println!("The shortest part that was found has {steps} steps:");
    story.iter().for_each(|sentence| println!("  {sentence}"));
    println!("Again: onrush simulate --seed {seed}");
}
