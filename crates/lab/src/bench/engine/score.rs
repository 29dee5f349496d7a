//! What a composite score costs.

use super::super::results::Results;
use onrush_core::Time;
use onrush_core::score::Scores;
use std::hint::black_box;
use std::time::Instant;

const CALLS: u32 = 10_000_000;

pub(super) fn run(results: &mut Results) {
    let mut scores = Scores::default();
    // 2026-01-01, and a millisecond more every 8,192 scores.
    let begin = Time(1_767_225_600_000);
    let begun = Instant::now();
    for call in 0..CALLS {
        black_box(scores.next(black_box(begin.plus_ms(i64::from(call >> 13)))));
    }
    let each_ns = begun.elapsed().as_nanos() as f64 / f64::from(CALLS);
    results.figure("score_ns", each_ns);
    results.say(&format!("score      {each_ns:.1} ns a call (goal < 100 ns)"));
}
