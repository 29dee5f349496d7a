//! Which sequences are played on which engine.

use crate::embedded::EmbeddedSubject;
use crate::generator::{Recipe, kind_of, sequence};
use crate::play::{Mismatch, Subject, play, shrink};
use crate::redis::{RedisSubject, Way};
use crate::truth::{Op, Truth};
use crate::world::{START, id};
use onrush_core::Event;
use std::collections::BTreeMap;
use std::fmt::Write;

fn setting(name: &str) -> Option<String> {
    std::env::var(format!("ONRUSH_CONFORMANCE_{name}")).ok().filter(|value| !value.is_empty())
}

/// How many sequences to play where this many are usual.
fn runs(usual: u64) -> u64 {
    let times = setting("RUNS")
        .map_or(1.0, |runs| runs.parse().expect("ONRUSH_CONFORMANCE_RUNS is a number"));
    ((usual as f64 * times) as u64).max(1)
}

fn without() -> Vec<String> {
    setting("WITHOUT")
        .map_or_else(Vec::new, |groups| groups.split(',').map(str::to_owned).collect())
}

/// The seeds to play where this many are usual.
fn seeds(first: u64, usual: u64) -> Vec<u64> {
    match setting("SEED") {
        Some(seed) => vec![seed.parse().expect("ONRUSH_CONFORMANCE_SEED is a number")],
        None => (first..first + runs(usual)).collect(),
    }
}

/// Plays sequences; fails with the shortest sequences that differ.
fn play_all(
    name: &str,
    recipes: impl Iterator<Item = Recipe>,
    change: impl Fn(Vec<Op>) -> Vec<Op>,
    subject: &mut dyn Subject,
) {
    const MOST_FAILURES: usize = 4;
    let mut failures = Vec::new();
    if let Some(path) = setting("REPLAY") {
        let text = std::fs::read_to_string(&path).expect("the sequence can be read");
        let lines = text.lines().filter(|line| line.starts_with(['{', '"']));
        let ops: Vec<Op> =
            lines.map(|line| serde_json::from_str(line).expect("an operation")).collect();
        if let Err(mismatch) = play(&ops, text.contains("settles"), subject) {
            panic!("{}", told(&path, &ops, &mismatch));
        }
        return;
    }
    for recipe in recipes {
        let ops = change(sequence(&recipe));
        if let Err(mismatch) = play(&ops, recipe.settles, subject) {
            let (ops, mismatch) =
                shrink(ops, mismatch, |ops| play(ops, recipe.settles, subject).err());
            let title = format!(
                "{name}, seed {}{}",
                recipe.seed,
                if recipe.settles { ", settles" } else { "" }
            );
            failures.push(told(&title, &ops, &mismatch));
            if let Some(dir) = setting("FAILURES") {
                let path = format!("{dir}/{name}-{}.txt", recipe.seed);
                std::fs::write(path, failures.last().expect("a failure"))
                    .expect("the folder is there");
            }
            if failures.len() >= MOST_FAILURES {
                break;
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

/// A sequence that nothing is added to.
fn as_it_is(ops: Vec<Op>) -> Vec<Op> {
    ops
}

fn told(title: &str, ops: &[Op], mismatch: &Mismatch) -> String {
    let mut text = format!(
        "{title}: engine and rules differ after operation {}: {}\n",
        mismatch.op + 1,
        mismatch.what
    );
    for op in ops {
        let line = serde_json::to_string(op).expect("an operation is JSON");
        writeln!(text, "{line}").expect("a string takes everything");
    }
    text
}

#[test]
fn the_embedded_engine_agrees_with_the_rules() {
    let recipe = |seed| Recipe { seed, commands: 250, settles: true, without: without() };
    play_all(
        "embedded",
        seeds(1, 12).into_iter().map(recipe),
        as_it_is,
        &mut EmbeddedSubject::new(),
    );
}

#[test]
fn redis_agrees_with_the_rules() {
    let Some(url) = setting("REDIS") else { return };
    let recipe = |seed| Recipe { seed, commands: 300, settles: false, without: without() };
    let mut subject = RedisSubject::new(&[url], false, Way::Engine);
    play_all("redis", seeds(1_000, 60).into_iter().map(recipe), as_it_is, &mut subject);
}

/// Draws, and ticks where users have several places, need a node between the caller and the scripts.
fn for_scripts() -> Vec<String> {
    let mut without = without();
    without.extend(["draw".to_owned(), "streams".to_owned()]);
    without
}

#[test]
fn a_request_that_comes_twice_changes_redis_once() {
    let Some(url) = setting("REDIS") else { return };
    let recipe = |seed| Recipe { seed, commands: 200, settles: false, without: for_scripts() };
    let mut subject = RedisSubject::new(&[url], false, Way::Scripts);
    let resent = |ops: Vec<Op>| ops.into_iter().flat_map(|op| [op, Op::Resend]).collect();
    play_all("twice", seeds(3_000, 15).into_iter().map(recipe), resent, &mut subject);
}

#[test]
fn an_event_that_is_written_anew_into_redis_goes_on_as_if_nothing_had_been() {
    let Some(url) = setting("REDIS") else { return };
    let recipe = |seed| Recipe { seed, commands: 200, settles: false, without: for_scripts() };
    let mut subject = RedisSubject::new(&[url], false, Way::Scripts);
    let refilled = |ops: Vec<Op>| {
        let every = ops.into_iter().enumerate().flat_map(|(index, op)| {
            let refill = (index % 23 == 22).then_some(Op::Refill);
            [Some(op), refill].into_iter().flatten()
        });
        every.collect()
    };
    play_all("refill", seeds(5_000, 20).into_iter().map(recipe), refilled, &mut subject);
}

#[test]
fn the_sequences_reach_every_change_and_most_refusals() {
    let mut reached: BTreeMap<String, u32> = BTreeMap::new();
    for seed in 1..=60 {
        let ops = sequence(&Recipe { seed, commands: 400, settles: false, without: Vec::new() });
        let mut truth = Truth::new(Event::new(id("e")), START, false);
        for op in ops {
            let Op::Command(command) = op else {
                if let Op::Clock(clock) = op {
                    truth.set_clock(clock);
                }
                continue;
            };
            let outcome = truth.run(&command);
            for (_, changes) in &outcome.decided {
                changes.iter().for_each(|change| *reached.entry(kind_of(change)).or_default() += 1);
            }
            if let Err(refusal) = &outcome.answer {
                *reached.entry(refusal.code().to_owned()).or_default() += 1;
            }
        }
    }
    println!("{reached:#?}");
}
