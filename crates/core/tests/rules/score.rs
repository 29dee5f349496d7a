//! Composite scores.

use onrush_core::Time;
use onrush_core::score::{Score, Scores};

/// 2026-12-01T10:00:00Z.
const NOON: Time = Time(1_796_119_200_000);

#[test]
fn ten_thousand_scores_in_one_millisecond_are_all_different_and_rising() {
    let mut scores = Scores::default();
    let made: Vec<Score> = (0..10_000).map(|_| scores.next(NOON).expect("a score")).collect();
    assert!(made.windows(2).all(|pair| pair[0] < pair[1]));
    assert!(made.iter().all(|score| score.at() == NOON), "14 bits hold 16,384 of them");
}

#[test]
fn a_full_millisecond_spills_into_the_next() {
    let mut scores = Scores::default();
    let made: Vec<Score> = (0..20_000).map(|_| scores.next(NOON).expect("a score")).collect();
    assert!(made.windows(2).all(|pair| pair[0] < pair[1]));
    assert_eq!(made[16_383].counter(), 16_383);
    assert_eq!((made[16_384].at(), made[16_384].counter()), (NOON.plus_ms(1), 0));
}

#[test]
fn a_clock_that_goes_back_does_not_take_the_scores_with_it() {
    let mut scores = Scores::default();
    let first = scores.next(NOON).expect("a score");
    let then = scores.next(NOON.plus_ms(-5_000)).expect("a score");
    assert!(first < then);
}

#[test]
fn a_double_keeps_both_parts() {
    let last_ms = Time(1_704_067_200_000 + (1 << 39) - 1);
    for (at, counter) in
        [(NOON, 0), (NOON, 16_383), (last_ms, 16_383), (Time(1_704_067_200_000), 1)]
    {
        let score = Score::new(at, counter).expect("a score");
        let back = Score::from_f64(score.to_f64()).expect("the same score");
        assert_eq!((back.at(), back.counter()), (at, counter));
        assert!(score.to_f64() < (1_u64 << 53) as f64);
    }
}

#[test]
fn what_does_not_fit_is_not_a_score() {
    let last_ms = Time(1_704_067_200_000 + (1 << 39) - 1);
    assert_eq!(Score::new(Time(1_704_067_199_999), 0), None);
    assert_eq!(Score::new(last_ms.plus_ms(1), 0), None);
    assert_eq!(Score::new(NOON, 16_384), None);
    for value in [-1.0, 0.5, f64::NAN, f64::INFINITY, (1_u64 << 53) as f64] {
        assert_eq!(Score::from_f64(value), None);
    }
    let mut scores = Scores::default();
    for _ in 0..16_384 {
        assert!(scores.next(last_ms).is_some());
    }
    assert_eq!(scores.next(last_ms), None, "the last millisecond has no next one to spill into");
}
