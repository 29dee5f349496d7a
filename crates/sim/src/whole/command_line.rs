//! `onrush simulate --whole`.

use super::{Between, Faults, Outcome, run_for};
use crate::attempt::text_of;
use crate::course::{Bound, Course, TOLD_EVERY};
use onrush_terminal::exit::Exit;
use onrush_terminal::show::{count, print_json, say};
use serde::Serialize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// The result. Its JSON is one line.
#[derive(Debug, Default, Serialize)]
struct Report {
    version: String,
    first_seed: u64,
    seeds: u64,
    journeys: u64,
    requests: u64,
    decisions: u64,
    kills: u64,
    power_cuts: u64,
    lost_writes: u64,
    #[serde(skip)]
    between: Between,
    confirmed: u64,
    captures: u64,
    refunds: u64,
    at_desk: u64,
    messages: u64,
    repeats: u64,
    journeys_per_s: u64,
    elapsed_s: f64,
    /// Seeds that came out the same when they were run twice.
    same_twice: u64,
    /// The hash of everything observable, of the last seed.
    observed: String,
    violations: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<Failure>,
}

/// A seed that failed.
#[derive(Debug, Serialize)]
struct Failure {
    seed: u64,
    why: Vec<String>,
    story: Vec<String>,
}

impl Report {
    fn add(&mut self, one: Outcome, same: bool) {
        self.seeds += 1;
        self.journeys += one.journeys;
        self.requests += one.requests;
        self.decisions += one.decisions;
        self.kills += one.kills;
        self.power_cuts += one.power_cuts;
        self.lost_writes += one.lost_writes;
        self.between.add(one.between);
        self.confirmed += one.confirmed;
        self.captures += one.captures;
        self.refunds += one.refunds;
        self.at_desk += one.at_desk;
        self.messages += one.messages;
        self.repeats += one.repeats;
        self.same_twice += u64::from(same);
        self.observed = one.hash;
        if !one.violations.is_empty() {
            self.fail(one.seed, one.violations, one.story);
        }
    }

    fn fail(&mut self, seed: u64, why: Vec<String>, story: Vec<String>) {
        self.violations += why.len() as u64;
        self.failure.get_or_insert(Failure { seed, why, story });
    }

    fn line(&mut self, began: Instant) -> String {
        self.elapsed_s = began.elapsed().as_secs_f64();
        self.journeys_per_s = (self.journeys as f64 / self.elapsed_s.max(0.001)) as u64;
        format!(
            "{} seeds, {} journeys ({}/s), {} requests, {} decisions, {} kills survived",
            count(self.seeds),
            count(self.journeys),
            count(self.journeys_per_s),
            count(self.requests),
            count(self.decisions),
            count(self.kills),
        )
    }
}

/// Simulates servers until the bound, or until one fails.
pub(crate) fn run(course: &Course<'_>) -> Exit {
    let Course { version, first_seed, .. } = *course;
    let report = Report { version: version.to_owned(), first_seed, ..Report::default() };
    let (next, report, began) = (AtomicU64::new(first_seed), Mutex::new(report), Instant::now());
    std::thread::scope(|scope| {
        for _ in 0..course.jobs {
            scope.spawn(|| work(course, &next, &report, began));
        }
    });
    let mut report = report.into_inner().expect("no job panics");
    let line = report.line(began);
    if course.json {
        print_json(&report);
    } else {
        println!("{line} in {:.1} s", report.elapsed_s);
        let Report { confirmed, captures, refunds, messages, repeats, observed, .. } = &report;
        println!("{confirmed} bookings confirmed, {captures} payments taken, {refunds} given back");
        println!("{} refunds at the bank's own desk", report.at_desk);
        println!("{messages} messages taken, {repeats} of them repeats");
        let Report { kills, power_cuts, lost_writes, .. } = &report;
        println!("{kills} ends: {power_cuts} by power, which took {lost_writes} writes");
        let Between { restores, restores_refused, losses, upgrades, .. } = report.between;
        println!(
            "{restores} restores, {restores_refused} of them refused; {losses} losses accepted; \
             {upgrades} starts on older files"
        );
        println!("everything observable of the last seed: {observed}");
        if course.twice {
            println!("{} of {} seeds came out the same twice", report.same_twice, report.seeds);
        }
        match &report.failure {
            None => println!("no violation"),
            Some(Failure { seed, why, story }) => {
                story.iter().for_each(|sentence| println!("  {sentence}"));
                why.iter().for_each(|why| println!("VIOLATION of seed {seed} ({version}): {why}"));
                println!("Again: onrush simulate --whole --seed {seed}");
            }
        }
    }
    if report.violations == 0 { Exit::Ok } else { Exit::Violation }
}

/// One job: takes seeds until the bound.
fn work(course: &Course<'_>, next: &AtomicU64, report: &Mutex<Report>, began: Instant) {
    let mut told = Instant::now();
    loop {
        let seed = next.fetch_add(1, Ordering::Relaxed);
        let over = match course.bound {
            Bound::Seeds(seeds) => seed.wrapping_sub(course.first_seed) >= seeds,
            Bound::Time(time) => began.elapsed() >= time,
            // The command line has none for whole servers.
            Bound::Commands(_) => true,
        };
        if over || report.lock().expect("no job panics").failure.is_some() {
            return;
        }
        let run = || run_for(seed, Faults::ALL, course.buyers);
        let mut one = match catch_unwind(AssertUnwindSafe(run)) {
            Ok(one) => one,
            Err(panic) => {
                let why = format!("a panic: {}", text_of(panic.as_ref()));
                return report.lock().expect("no job panics").fail(seed, vec![why], Vec::new());
            }
        };
        let same = course.twice && {
            let again = run();
            let same = again.hash == one.hash;
            if !same {
                one.violations.push(format!("two runs came to {} and {}", one.hash, again.hash));
            }
            same
        };
        let mut report = report.lock().expect("no job panics");
        report.add(one, same);
        if told.elapsed() >= TOLD_EVERY {
            told = Instant::now();
            say(&report.line(began));
        }
    }
}
