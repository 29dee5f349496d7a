//! The whole of a server, simulated: a few seeds, each the same twice.

use onrush_sim::whole::{Faults, run, run_for};

#[test]
fn seeds_pass_and_are_the_same_twice() {
    for seed in 1..=4 {
        let first = run(seed, Faults::ALL);
        assert!(
            first.violations.is_empty(),
            "seed {seed}: {:#?}\n{}",
            first.violations,
            first.story.join("\n")
        );
        assert!(first.decisions > 0 && first.kills > 0 && first.journeys > 0, "seed {seed}");
        let second = run(seed, Faults::ALL);
        assert_eq!(first.story, second.story, "seed {seed}");
        assert_eq!(first.hash, second.hash, "seed {seed}");
    }
}

/// People give money back at the bank's own desk, before and after its bookings are cancelled.
#[test]
fn sales_whose_bank_has_a_desk_pass_and_are_the_same_twice() {
    for seed in [7, 25, 39] {
        let first = run_for(seed, Faults::ALL, Some(40));
        assert!(
            first.violations.is_empty(),
            "seed {seed}: {:#?}\n{}",
            first.violations,
            first.story.join("\n")
        );
        assert!(first.at_desk > 0, "seed {seed}");
        let second = run_for(seed, Faults::ALL, Some(40));
        assert_eq!(first.story, second.story, "seed {seed}");
        assert_eq!(first.hash, second.hash, "seed {seed}");
    }
}

/// Streams of two visitors were told of their turns in the order of a hash, in the sale that this
/// seed was then.
#[test]
fn seed_that_was_not_the_same_twice_is() {
    let first = run_for(5_000_007, Faults::ALL, Some(60));
    assert!(first.violations.is_empty(), "{:#?}", first.violations);
    assert_eq!(run_for(5_000_007, Faults::ALL, Some(60)).story, first.story);
}

/// The power went while the sale was set up, and nobody was there to start the server again.
#[test]
fn power_holds_until_the_sale_is_set_up() {
    let once = run(414_812_413_079, Faults::ALL);
    assert!(once.violations.is_empty(), "{:#?}", once.violations);
}

/// The organiser was taking a booking back when the sale ended, and nobody had noted that.
#[test]
fn what_is_under_way_when_a_sale_ends_may_have_been_done() {
    let once = run(30_000_005, Faults::ALL);
    assert!(once.violations.is_empty(), "{:#?}", once.violations);
}

/// The disk was full for longer than a caller waits: the answer was given, and its key forgot it.
#[test]
fn answer_that_a_full_disk_did_not_take_is_kept_later() {
    let once = run(50_000_033, Faults::ALL);
    assert!(once.violations.is_empty(), "{:#?}", once.violations);
}

/// A booking that cost nothing was confirmed, the ledger was put back from before, and with it what the
/// key had kept was gone; the organiser took the booking back, and its buyer asked once more.
#[test]
fn key_that_went_with_the_ledger_does_not_bring_a_booking_back() {
    let once = run(15_000_512, Faults::ALL);
    assert!(once.violations.is_empty(), "{:#?}", once.violations);
}
