//! Limits of what one visitor may take, one fact a test.

use crate::stage::{Stage, begin, confirm, hold_ga, release};
use onrush_core::Command;
use onrush_core::limits::ENDED_KNOWN_MS;
use onrush_core::settings::Settings;

/// An open event whose organiser has named a title and a currency, and nothing else.
fn plain() -> Stage {
    Stage::open(plain_settings())
}

fn plain_settings() -> Settings {
    Settings::new("A show", "EUR".parse().expect("a currency"))
}

fn claim(claim: &str, user: &str, ttl_ms: Option<i64>) -> Command {
    Command::Claim {
        claim: claim.parse().expect("an id"),
        user: user.parse().expect("an id"),
        pool: "ga".parse().expect("an id"),
        quantity: 1,
        ttl_ms,
    }
}

fn declaim(claim: &str, user: &str) -> Command {
    Command::Declaim { claim: claim.parse().expect("an id"), user: user.parse().expect("an id") }
}

#[test]
fn a_plain_event_can_be_held_from_at_once() {
    let mut stage = plain();
    stage.ok(hold_ga("b1", "ann", 1));
    stage.check_recovery();
}

#[test]
fn where_the_organiser_names_no_limit_a_visitor_may_have_eight() {
    let mut stage = plain();
    stage.refused(hold_ga("b1", "ann", 9), "USER_LIMIT_EXCEEDED");
    stage.ok(hold_ga("b1", "ann", 8));
    stage.refused(hold_ga("b2", "ann", 1), "USER_LIMIT_EXCEEDED");
    stage.refused(claim("c1", "ann", None), "USER_LIMIT_EXCEEDED");
    stage.ok(hold_ga("b2", "bob", 1));
}

#[test]
fn where_the_organiser_names_no_time_a_claim_comes_back_within_a_day() {
    for ttl_ms in [None, Some(30 * 24 * 3_600_000)] {
        let mut stage = plain();
        stage.ok(claim("c1", "ann", ttl_ms));
        stage.pass_ms(24 * 3_600_000 - 1);
        assert_eq!(stage.free("ga"), 9);
        stage.pass_ms(1);
        assert_eq!(stage.free("ga"), 10, "{ttl_ms:?}");
        stage.check_recovery();
    }
}

/// Takes one and gives it back, so many times.
fn churn(stage: &mut Stage, user: &str, from: usize, times: usize) {
    for n in from..from + times {
        stage.ok(hold_ga(&format!("{user}-{n}"), user, 1));
        stage.ok(release(&format!("{user}-{n}"), user));
    }
}

#[test]
fn a_visitor_who_lets_go_a_hundred_times_waits_until_the_oldest_is_forgotten() {
    let mut stage = plain();
    churn(&mut stage, "ann", 0, 1);
    stage.pass_ms(1_000);
    churn(&mut stage, "ann", 1, 99);
    stage.refused(hold_ga("b1", "ann", 1), "TOO_MANY_ENDED");
    stage.refused(claim("c1", "ann", None), "TOO_MANY_ENDED");
    stage.ok(hold_ga("b2", "bob", 1));
    stage.ok(hold_ga("ann-0", "ann", 1));
    assert_eq!(stage.status("ann-0"), "released", "its first answer is still known");
    stage.pass_ms(ENDED_KNOWN_MS - 1_001);
    stage.refused(hold_ga("b1", "ann", 1), "TOO_MANY_ENDED");
    stage.pass_ms(1);
    stage.ok(hold_ga("b1", "ann", 1));
    stage.ok(release("b1", "ann"));
    stage.refused(hold_ga("b3", "ann", 1), "TOO_MANY_ENDED");
    stage.check_recovery();
}

#[test]
fn claims_given_back_count_with_holds_given_back() {
    let mut stage = plain();
    for n in 0..60 {
        stage.ok(claim(&format!("c{n}"), "ann", Some(1_000)));
        if n % 2 == 0 {
            stage.ok(declaim(&format!("c{n}"), "ann"));
        } else {
            stage.pass_ms(1_000);
        }
    }
    churn(&mut stage, "ann", 0, 40);
    stage.refused(claim("c60", "ann", None), "TOO_MANY_ENDED");
    stage.check_recovery();
    stage.pass_ms(ENDED_KNOWN_MS);
    stage.ok(claim("c60", "ann", None));
    stage.check_recovery();
}

#[test]
fn whatever_ended_counts_once_and_what_is_bought_does_not() {
    let mut stage = Stage::created(plain_settings());
    stage.stock_up(100);
    stage.ok(Command::OpenSale { seed: None, public_value: None });
    // Bought, and never counted.
    stage.ok(hold_ga("bought", "ann", 1));
    stage.ok(confirm("bought", "ann", Some("p0")));
    // Ran out while it was paid for: counted once the payment has ended.
    stage.ok(hold_ga("late", "ann", 1));
    stage.ok(begin("late", "ann", "p1"));
    stage.pass_ms(600_000);
    churn(&mut stage, "ann", 0, 97);
    // Ran out.
    stage.ok(hold_ga("lapsed", "ann", 1));
    stage.pass_ms(600_000);
    // Cancelled after it was bought.
    stage.ok(hold_ga("b1", "ann", 1));
    stage.ok(confirm("b1", "ann", Some("p2")));
    stage.ok(crate::stage::cancel("b1", None));
    stage.ok(hold_ga("b2", "ann", 1));
    let why = "declined".into();
    let then = onrush_core::hold::OnDecline::Keep;
    let payment = "p1".parse().expect("an id");
    let booking = crate::stage::booking_id("late");
    stage.ok(Command::FailPayment { booking, payment, why, then });
    stage.refused(hold_ga("b3", "ann", 1), "TOO_MANY_ENDED");
    stage.check_recovery();
}
