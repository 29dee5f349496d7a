//! `onrush simulate --cluster`.

use super::{Options, Outcome, run as run_one};
use crate::course::{Bound, Course};
use onrush_terminal::exit::Exit;
use onrush_terminal::show::{count, print_json, say};
use serde::Serialize;
use std::time::Instant;

/// For how long things go wrong in one run, which takes as long again to start, settle and judge.
const FAULTS_S: u32 = 30;

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
    pauses: u64,
    lines: u64,
    stores: u64,
    confirmed: u64,
    captures: u64,
    refunds: u64,
    /// Keys that were asked again in the end.
    keys: u64,
    elapsed_s: f64,
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
    fn add(&mut self, one: Outcome) {
        self.seeds += 1;
        self.journeys += one.journeys;
        self.requests += one.requests;
        self.decisions += one.decisions;
        self.kills += one.kills;
        self.pauses += one.pauses;
        self.lines += one.lines;
        self.stores += one.stores;
        self.confirmed += one.confirmed;
        self.captures += one.captures;
        self.refunds += one.refunds;
        self.keys += one.keys;
        if !one.violations.is_empty() {
            self.violations += one.violations.len() as u64;
            let failure = Failure { seed: one.seed, why: one.violations, story: one.story };
            self.failure.get_or_insert(failure);
        }
    }

    fn line(&mut self, began: Instant) -> String {
        self.elapsed_s = began.elapsed().as_secs_f64();
        format!(
            "{} seeds, {} journeys, {} requests, {} decisions; {} kills and {} pauses of nodes, {} \
             deaths of servers, {} troubles of lines",
            count(self.seeds),
            count(self.journeys),
            count(self.requests),
            count(self.decisions),
            count(self.kills),
            count(self.pauses),
            count(self.stores),
            count(self.lines),
        )
    }
}

/// Simulates clusters, one after the other, until the bound or until one fails.
pub(crate) fn run(course: &Course<'_>) -> Exit {
    let Course { version, first_seed, bound, buyers, json, .. } = *course;
    let program = match std::env::current_exe() {
        Ok(program) => program,
        Err(error) => {
            say(&format!("error: cannot find this program: {error}"));
            return Exit::CouldNotRun;
        }
    };
    let mut report = Report { version: version.to_owned(), first_seed, ..Report::default() };
    let (mut seed, began) = (first_seed, Instant::now());
    while report.failure.is_none() {
        let over = match bound {
            Bound::Seeds(seeds) => seed.wrapping_sub(first_seed) >= seeds,
            Bound::Time(time) => began.elapsed() >= time,
            // The command line has none for clusters.
            Bound::Commands(_) => true,
        };
        if over {
            break;
        }
        let options = Options { program: program.clone(), seed, faults_s: FAULTS_S, buyers };
        match run_one(&options) {
            Ok(one) => report.add(one),
            Err(error) => {
                say(&format!("error: {error}"));
                return Exit::CouldNotRun;
            }
        }
        say(&report.line(began));
        seed = seed.wrapping_add(1);
    }
    let line = report.line(began);
    if json {
        print_json(&report);
    } else {
        println!("{line} in {:.1} s", report.elapsed_s);
        let Report { confirmed, captures, refunds, keys, .. } = &report;
        println!(
            "{confirmed} bookings confirmed, {captures} payments taken, {refunds} given back, \
             {keys} keys asked again"
        );
        match &report.failure {
            None => println!("no violation"),
            Some(Failure { seed, why, story }) => {
                story.iter().for_each(|sentence| println!("  {sentence}"));
                why.iter().for_each(|why| println!("VIOLATION of seed {seed} ({version}): {why}"));
                println!("The same plan again: onrush simulate --cluster --seed {seed}");
            }
        }
    }
    if report.violations == 0 { Exit::Ok } else { Exit::Violation }
}
