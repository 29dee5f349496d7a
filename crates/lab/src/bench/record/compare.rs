//! Which figures of two runs differ by more than noise.
//!
//! A ratio comes from alternating rounds of one run, so it means the same on another day: it moved if
//! the rounds of both runs do not overlap. A rate or a time is also the machine's and its neighbours':
//! it moved if it is twice what it was, or half.

use super::Record;

/// By how much a rate or a time may differ for other reasons.
const NOISE: f64 = 2.0;
/// By how much a size, or a ratio that was measured once, may.
const SIZE_NOISE: f64 = 1.1;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Better,
    Worse,
    Same,
}

/// A figure that both runs have.
#[derive(Debug, PartialEq)]
pub(super) struct Moved {
    pub(super) name: String,
    pub(super) before: f64,
    pub(super) after: f64,
    pub(super) verdict: Verdict,
}

/// What the end of a figure's name tells of it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// More is better, and the machine is in it.
    Rate,
    /// Less is better, and the machine is in it.
    Time,
    /// Less is better.
    Size,
    /// More is better.
    Ratio,
    /// How many times as long something takes: less is better.
    Slowdown,
    /// Neither: how much there was to do.
    Amount,
}

fn kind(name: &str) -> Kind {
    // What follows says with how many it was measured: connections, visitors.
    let name = name.trim_end_matches(|sign: char| sign.is_ascii_digit()).trim_end_matches('_');
    let name = name.strip_suffix("_at").unwrap_or(name);
    let has = |words: &[&str]| name.split(['.', '_']).any(|word| words.contains(&word));
    if has(&["ratio"]) && has(&["p50", "p99"]) {
        Kind::Slowdown
    } else if name.ends_with("_sent_per_s") {
        // The load's, not the server's.
        Kind::Amount
    } else if has(&["ratio", "to", "against"]) {
        Kind::Ratio
    } else if name.ends_with("_per_s") {
        Kind::Rate
    } else if has(&["bytes", "kib", "mib"]) {
        Kind::Size
    } else if has(&["ms", "us", "ns", "s"]) {
        Kind::Time
    } else {
        Kind::Amount
    }
}

/// All figures of both that can be better or worse, by name.
pub(super) fn compare(before: &Record, after: &Record) -> Vec<Moved> {
    let both = before.figures.iter().filter_map(|(name, figure)| {
        Some((name, (*figure)?, after.figures.get(name).copied().flatten()?))
    });
    both.filter(|(name, ..)| kind(name) != Kind::Amount)
        .map(|(name, before_figure, after_figure)| {
            let kind = kind(name);
            let spreads = before.spreads.get(name).zip(after.spreads.get(name));
            let apart = match (kind, spreads) {
                (Kind::Ratio | Kind::Slowdown, Some((before, after))) => {
                    before[1] < after[0] || after[1] < before[0]
                }
                (Kind::Ratio | Kind::Slowdown | Kind::Size, _) => {
                    differ(before_figure, after_figure, SIZE_NOISE)
                }
                (Kind::Rate | Kind::Time | Kind::Amount, _) => {
                    differ(before_figure, after_figure, NOISE)
                }
            };
            let more_is_better = matches!(kind, Kind::Ratio | Kind::Rate);
            let verdict = match apart {
                false => Verdict::Same,
                true if (after_figure > before_figure) == more_is_better => Verdict::Better,
                true => Verdict::Worse,
            };
            let name = name.clone();
            Moved { name, before: before_figure, after: after_figure, verdict }
        })
        .collect()
}

fn differ(before: f64, after: f64, times: f64) -> bool {
    let (less, more) = (before.min(after), before.max(after));
    more > less * times
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(figures: &[(&str, f64)], spreads: &[(&str, [f64; 2])]) -> Record {
        let named = |name: &str| name.to_owned();
        let figures = figures.iter().map(|(name, value)| (named(name), Some(*value)));
        let machine = serde_json::json!({
            "processor": "x", "processors": 2, "memory_mib": 1, "system": "linux", "fdatasync_ms": 0.3
        });
        Record {
            version: "0".into(),
            begun_at: "2026-11-24T10:00:00Z".into(),
            machine: serde_json::from_value(machine).expect("a machine"),
            scale: 1.0,
            figures: figures.collect(),
            spreads: spreads.iter().map(|(name, spread)| (named(name), *spread)).collect(),
        }
    }

    /// One figure before and after, each with its rounds if it has several.
    fn verdict(
        name: &str,
        before: (f64, Option<[f64; 2]>),
        after: (f64, Option<[f64; 2]>),
    ) -> Verdict {
        let one = |(figure, spread): (f64, Option<[f64; 2]>)| {
            let spreads: Vec<_> = spread.into_iter().map(|spread| (name, spread)).collect();
            record(&[(name, figure)], &spreads)
        };
        let compared = compare(&one(before), &one(after));
        assert_eq!(compared.len(), 1, "{name}");
        compared[0].verdict
    }

    #[test]
    fn ratio_moved_if_its_rounds_do_not_overlap() {
        let name = "http.hold_ratio_64";
        let before = (0.50, Some([0.47, 0.52]));
        assert_eq!(verdict(name, before, (0.45, Some([0.43, 0.46]))), Verdict::Worse);
        assert_eq!(verdict(name, before, (0.45, Some([0.43, 0.48]))), Verdict::Same);
        assert_eq!(verdict(name, before, (0.60, Some([0.53, 0.66]))), Verdict::Better);
    }

    #[test]
    fn rates_and_times_move_with_the_machine() {
        assert_eq!(verdict("engine.holds_per_s", (300e3, None), (160e3, None)), Verdict::Same);
        assert_eq!(verdict("engine.holds_per_s", (300e3, None), (140e3, None)), Verdict::Worse);
        assert_eq!(verdict("http.hold_p99_ms_64", (8.0, None), (15.0, None)), Verdict::Same);
        assert_eq!(verdict("http.hold_p99_ms_64", (8.0, None), (17.0, None)), Verdict::Worse);
        assert_eq!(
            verdict("engine.position_ns_at_1000", (82.0, None), (30.0, None)),
            Verdict::Better
        );
    }

    #[test]
    fn less_is_better_of_how_many_times_as_long_something_takes() {
        let name = "backup.backup_p99_ratio";
        assert_eq!(verdict(name, (1.2, None), (3.0, None)), Verdict::Worse);
        assert_eq!(verdict(name, (3.0, None), (1.2, None)), Verdict::Better);
        let before = (1.2, Some([1.0, 1.4]));
        assert_eq!(verdict(name, before, (1.6, Some([1.3, 1.9]))), Verdict::Same);
        assert_eq!(verdict(name, before, (1.9, Some([1.5, 2.3]))), Verdict::Worse);
    }

    #[test]
    fn overload_and_nodes_are_judged_by_what_their_figures_are() {
        for name in ["overload.overload_recovery_ms", "nodes.node_position_us"] {
            assert_eq!(verdict(name, (50.0, None), (120.0, None)), Verdict::Worse, "{name}");
        }
        for name in ["overload.overload_placed_per_s", "overload.overload_capacity_per_s"] {
            assert_eq!(verdict(name, (120.0, None), (50.0, None)), Verdict::Worse, "{name}");
        }
        // What the load sends is not the server's merit.
        let sent = record(&[("overload.overload_sent_per_s", 9e3)], &[]);
        assert_eq!(compare(&sent, &sent), Vec::new());
    }

    #[test]
    fn sizes_do_not_move_with_the_machine() {
        let name = "engine.bytes_per_visitor_at_1000000";
        assert_eq!(verdict(name, (130.0, None), (150.0, None)), Verdict::Worse);
        assert_eq!(verdict(name, (130.0, None), (140.0, None)), Verdict::Same);
    }

    #[test]
    fn what_one_run_lacks_and_mere_amounts_are_not_compared() {
        let before = record(&[("engine.room_visitors", 10.0), ("engine.score_ns", 2.0)], &[]);
        let mut after = record(&[("engine.room_visitors", 1.0)], &[]);
        after.figures.insert("engine.score_ns".into(), None);
        assert_eq!(compare(&before, &after), Vec::new());
    }
}
