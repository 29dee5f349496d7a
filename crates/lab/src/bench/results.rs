//! Figures as they come in, and all of them as one line at the end.

use onrush_terminal::show::print_json;
use serde_json::{Map, Number, Value};

/// The figures of one run.
pub(super) struct Results {
    json: bool,
    figures: Map<String, Value>,
}

impl Results {
    /// No figures yet. With `json`, people get nothing to read until the end.
    pub(super) fn new(json: bool) -> Self {
        Self { json, figures: Map::new() }
    }

    /// Adds a figure for machines, rounded to three decimals.
    pub(super) fn figure(&mut self, name: &str, value: f64) {
        let rounded = (value * 1000.0).round() / 1000.0;
        // What cannot be measured is null, and not a wrong number.
        let number = Number::from_f64(rounded).map_or(Value::Null, Value::Number);
        self.figures.insert(name.to_owned(), number);
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
    fn this_process_uses_memory() {
        assert!(resident_bytes(std::process::id()).is_none_or(|bytes| bytes > 0));
    }
}
