//! Figures as they come in, and all of them as one line at the end.

use onrush_terminal::show::print_json;
use serde_json::{Map, Number, Value};
use std::collections::BTreeMap;

/// The figures of one run.
pub(super) struct Results {
    json: bool,
    /// Of which part the figures are that come in; none if there is only one.
    part: Option<&'static str>,
    figures: Map<String, Value>,
    /// The least and the most of those figures that are the middle of several rounds.
    spreads: BTreeMap<String, [f64; 2]>,
}

impl Results {
    /// No figures yet. With `json`, people get nothing to read until the end.
    pub(super) fn new(json: bool) -> Self {
        Self { json, part: None, figures: Map::new(), spreads: BTreeMap::new() }
    }

    /// From here on figures are of this part, and named so.
    pub(super) fn begin(&mut self, part: &'static str) {
        self.part = Some(part);
    }

    fn name(&self, name: &str) -> String {
        self.part.map_or_else(|| name.to_owned(), |part| format!("{part}.{name}"))
    }

    /// Adds a figure for machines, rounded to three decimals.
    pub(super) fn figure(&mut self, name: &str, value: f64) {
        // What cannot be measured is null, and not a wrong number.
        let number = Number::from_f64(rounded(value)).map_or(Value::Null, Value::Number);
        self.figures.insert(self.name(name), number);
    }

    /// Adds a figure of several rounds, with how far these lie apart, and returns the middle one.
    pub(super) fn rounds(&mut self, name: &str, rounds: Vec<f64>) -> f64 {
        let least = rounds.iter().copied().fold(f64::INFINITY, f64::min);
        let most = rounds.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let middle = median(rounds);
        self.figure(name, middle);
        if least.is_finite() && most.is_finite() {
            self.spreads.insert(self.name(name), [rounded(least), rounded(most)]);
        }
        middle
    }

    /// Says a result to people.
    pub(super) fn say(&self, line: &str) {
        if !self.json {
            println!("{line}");
        }
    }

    /// Prints the line for machines, if it is wanted.
    pub(super) fn finish(self) {
        if self.json {
            print_json(&self.figures);
        }
    }

    /// The figures by name until now, and the least and the most of those that have rounds.
    pub(super) fn so_far(&self) -> (BTreeMap<String, Option<f64>>, BTreeMap<String, [f64; 2]>) {
        let figures = self.figures.iter().map(|(name, value)| (name.clone(), value.as_f64()));
        (figures.collect(), self.spreads.clone())
    }
}

fn rounded(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

/// The middle one of some figures; the upper one of two. NaN if there are none.
pub(super) fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Memory that a process has in use, in bytes; `None` if the system does not tell.
pub(super) fn resident_bytes(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_is_the_middle_one() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert!(median(Vec::new()).is_nan());
    }

    #[test]
    fn figures_of_rounds_know_how_far_these_lie_apart() {
        let mut results = Results::new(true);
        results.begin("engine");
        assert_eq!(results.rounds("best_to_named", vec![0.75, 0.5, 1.0]), 0.75);
        results.figure("score_ns", 1.9);
        assert!(results.rounds("nothing", Vec::new()).is_nan());
        let (figures, spreads) = results.so_far();
        assert_eq!(figures["engine.best_to_named"], Some(0.75));
        assert_eq!(figures["engine.score_ns"], Some(1.9));
        assert_eq!(figures["engine.nothing"], None);
        assert_eq!(spreads, BTreeMap::from([("engine.best_to_named".into(), [0.5, 1.0])]));
    }

    #[test]
    fn this_process_uses_memory() {
        assert!(resident_bytes(std::process::id()).is_none_or(|bytes| bytes > 0));
    }
}
