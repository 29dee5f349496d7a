//! Goals of the figures that are told in several places: a printed line, docs/benchmarks.md, the chart.

/// A figure as a document of `bench all` names it, and its goal in words.
const GOALS: &[(&str, &str)] = &[
    ("engine.holds_per_s", "≥ 500,000/s"),
    ("engine.p99_ms", "≤ 15 ms"),
    ("engine.bytes_per_visitor", "≤ 110 bytes"),
    ("engine.best_to_named", "≥ 80 %"),
    ("http.hold_ratio", "≥ 70 %"),
    ("http.hold_ratio_64", "≥ 65 %"),
    ("http.priced_hold_ratio", "≥ 65 %"),
    ("http.priced_hold_ratio_64", "≥ 60 %"),
    ("http.position_ratio", "≥ 85 %"),
    ("paid.paid_bookings_per_s", "≥ 3,500/s"),
    // Beside a plain script that is asked one call at a time, too.
    ("redis.engine_ratio", "≥ 80 %"),
    // Of the middle round: one window with a hiccup of the disk decides over all bookings together.
    ("backup.backup_p99_ratio", "< 2"),
];

/// The goal of a figure, as people read it.
pub(super) fn of(figure: &str) -> &'static str {
    GOALS.iter().find(|goal| goal.0 == figure).map_or("none", |goal| goal.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = include_str!("../../../../docs/benchmarks.md");
    const CHART: &str = include_str!("../../../../scripts/bench_chart.py");
    /// How the row of a figure begins on the page.
    const ROWS: &[(&str, &str)] = &[
        ("engine.holds_per_s", "durable holds in process, 1,024 callers"),
        ("engine.p99_ms", "durable holds in process, 1,024 callers"),
        ("engine.bytes_per_visitor", "a waiting visitor with a 36-byte id"),
        ("engine.best_to_named", "the best four seats, 50,000 seats to 95 % sold"),
        ("http.hold_ratio", "HTTP holds, 256 connections"),
        ("http.hold_ratio_64", "HTTP holds, 64 connections"),
        ("http.priced_hold_ratio", "HTTP holds with a price, 256 connections"),
        ("http.priced_hold_ratio_64", "HTTP holds with a price, 64 connections"),
        ("http.position_ratio", "exact positions, 256 connections"),
        ("paid.paid_bookings_per_s", "paid bookings, from the queue"),
        ("redis.engine_ratio", "reserve through the engine on Redis"),
    ];

    /// The last cell of the first row that begins so.
    fn told(row: &str) -> Option<&'static str> {
        let line = PAGE.lines().find(|line| line.starts_with(&format!("| {row}")))?;
        line.trim_end_matches(" |").rsplit(" | ").next()
    }

    /// The figures of the chart, and their goals as people would read them.
    fn drawn() -> Vec<(&'static str, String)> {
        let figure = |line: &'static str| {
            let line = line.trim().strip_prefix("(\"")?.strip_suffix("),")?;
            let (figure, rest) = line.split_once('"')?;
            let ratio: f64 = rest.rsplit(", ").next()?.parse().ok()?;
            Some((figure, format!("≥ {:.0} %", ratio * 100.0)))
        };
        CHART.lines().filter_map(figure).collect()
    }

    #[test]
    fn page_tells_the_goals_that_are_printed() {
        for (figure, row) in ROWS {
            let told = told(row).unwrap_or("no row");
            assert!(told.split(", p99 ").any(|goal| goal == of(figure)), "{figure}: {told}");
        }
    }

    #[test]
    fn page_tells_the_goal_of_backups_in_its_text() {
        assert!(PAGE.contains(&format!("(goal {})", of("backup.backup_p99_ratio"))));
    }

    #[test]
    fn chart_draws_the_goals_that_are_printed() {
        let drawn = drawn();
        assert_eq!(drawn.len(), 6, "{drawn:?}");
        for (figure, goal) in drawn {
            assert_eq!(goal, of(figure), "{figure}");
        }
    }

    #[test]
    fn every_ratio_that_http_prints_has_a_goal() {
        let figures = ["hold_ratio", "hold_ratio_64", "priced_hold_ratio", "priced_hold_ratio_64"];
        for figure in figures.into_iter().chain(["position_ratio"]) {
            assert_ne!(of(&format!("http.{figure}")), "none", "{figure}");
        }
    }
}
