//! Claims and services' adjustments, one fact a test.

use crate::stage::{Stage, hold_ga, reason, settings};
use onrush_core::change::ClaimChange;
use onrush_core::settings::Settings;
use onrush_core::spec::PoolSpec;
use onrush_core::view::{ClaimState, ClaimView};
use onrush_core::{Change, Command};

fn claim(claim: &str, user: &str, quantity: u32, ttl_ms: Option<i64>) -> Command {
    Command::Claim {
        claim: claim.parse().expect("an id"),
        user: user.parse().expect("an id"),
        pool: "ga".parse().expect("an id"),
        quantity,
        ttl_ms,
    }
}

fn declaim(claim: &str, user: &str) -> Command {
    Command::Declaim { claim: claim.parse().expect("an id"), user: user.parse().expect("an id") }
}

fn adjust(claim: &str, amount: i64) -> Command {
    let (claim, pool) = (claim.parse().expect("an id"), "ga".parse().expect("an id"));
    Command::AdjustClaimed { claim, pool, amount, reason: reason() }
}

#[test]
fn a_claim_takes_units_at_once_and_a_declaim_gives_them_back() {
    let mut stage = Stage::flash();
    stage.ok(claim("c1", "ann", 3, None));
    assert_eq!(stage.free("ga"), 7);
    stage.pass_ms(30 * 24 * 3_600_000);
    assert_eq!(stage.free("ga"), 7);
    stage.ok(declaim("c1", "ann"));
    assert_eq!(stage.free("ga"), 10);
    stage.check_recovery();
}

#[test]
fn a_claim_seen_before_gets_its_first_answer() {
    let mut stage = Stage::flash();
    let first = stage.ok(claim("c1", "ann", 3, None));
    stage.ok(claim("c2", "bob", 2, None));
    assert_eq!(stage.ok(claim("c1", "ann", 3, None)), first);
    assert_eq!(stage.free("ga"), 5);
    stage.refused(claim("c1", "ann", 4, None), "BOOKING_MISMATCH");
    stage.refused(claim("c1", "bob", 3, None), "BOOKING_MISMATCH");
    stage.refused(claim("c1", "ann", 3, Some(0)), "INVALID_SETTINGS");
    let given_back = stage.ok(declaim("c1", "ann"));
    assert_eq!(stage.ok(declaim("c1", "ann")), given_back);
    assert_eq!(stage.free("ga"), 8);
}

#[test]
fn a_claims_first_answer_stays_what_it_was_when_the_units_are_back() {
    let mut stage = Stage::flash();
    let first = stage.ok(claim("c1", "ann", 3, None));
    stage.ok(declaim("c1", "ann"));
    assert_eq!(stage.ok(claim("c1", "ann", 3, None)), first);
    assert_eq!(stage.free("ga"), 10, "and nothing is taken by it");
    let first = stage.ok(claim("c2", "ann", 3, Some(60_000)));
    stage.check_recovery();
    // An outage moves its end, and not what was said.
    stage.now = stage.now.plus_ms(30_000);
    stage.ok(Command::Recover { gap_ms: 30_000 });
    assert_eq!(stage.ok(claim("c2", "ann", 3, Some(60_000))), first);
    stage.pass_ms(60_000);
    assert_eq!(stage.free("ga"), 10);
    assert_eq!(stage.ok(claim("c2", "ann", 3, Some(60_000))), first);
    stage.check_recovery();
}

#[test]
fn a_claim_never_exceeds_what_there_is() {
    let mut stage = Stage::flash();
    stage.refused(claim("c1", "ann", 11, None), "CLAIM_EXCEEDS_QUANTITY");
    stage.refused(claim("c1", "ann", 0, None), "INVALID_QUANTITY");
    stage.ok(hold_ga("b1", "bob", 5));
    stage.refused(claim("c1", "ann", 6, None), "CLAIM_EXCEEDS_QUANTITY");
    stage.ok(claim("c1", "ann", 5, None));
    stage.check_recovery();
}

#[test]
fn a_visitor_gives_back_only_his_own_claims() {
    let mut stage = Stage::flash();
    stage.ok(claim("c1", "ann", 1, None));
    stage.ok(adjust("s1", 2));
    stage.refused(declaim("c1", "bob"), "CLAIM_NOT_FOUND");
    stage.refused(declaim("s1", "ann"), "CLAIM_NOT_FOUND");
    assert_eq!(stage.free("ga"), 7);
}

#[test]
fn a_claim_with_a_time_to_live_comes_back_by_itself() {
    let mut stage = Stage::flash();
    stage.ok(claim("c1", "ann", 3, Some(60_000)));
    stage.pass_ms(59_999);
    assert_eq!(stage.free("ga"), 7);
    stage.pass_ms(1);
    assert_eq!(stage.free("ga"), 10);
    stage.ok(declaim("c1", "ann"));
    assert_eq!(stage.free("ga"), 10, "nothing comes back twice");
    stage.pass_ms(24 * 3_600_000);
    stage.refused(declaim("c1", "ann"), "CLAIM_NOT_FOUND");
    stage.check_recovery();
}

#[test]
fn a_declaim_at_the_deadline_is_an_expiry() {
    let mut stage = Stage::flash();
    stage.ok(claim("c1", "ann", 3, Some(60_000)));
    stage.now = stage.now.plus_ms(60_000);
    stage.ok(declaim("c1", "ann"));
    stage.tick();
    assert_eq!(stage.free("ga"), 10);
    stage.check_recovery();
}

#[test]
fn services_count_up_and_down_but_never_below_zero_or_above_what_there_is() {
    let mut stage = Stage::flash();
    stage.ok(claim("c1", "ann", 1, None));
    let view = ClaimView::try_from(stage.ok(adjust("s1", 4))).expect("a claim");
    assert_eq!((view.before, view.after), (1, 5));
    stage.ok(adjust("s1", 4));
    assert_eq!(stage.free("ga"), 5, "seen before: changes nothing");
    stage.refused(adjust("s1", 5), "BOOKING_MISMATCH");
    stage.refused(adjust("s2", 6), "CLAIM_EXCEEDS_QUANTITY");
    stage.refused(adjust("s2", -5), "CLAIM_BELOW_ZERO");
    stage.refused(adjust("s2", 0), "INVALID_QUANTITY");
    stage.refused(adjust("s2", i64::MIN), "INVALID_QUANTITY");
    stage.ok(adjust("s2", -4));
    assert_eq!(stage.free("ga"), 9, "what visitors claimed stays theirs");
    stage.check_recovery();
    stage.pass_ms(24 * 3_600_000);
    stage.check_recovery();
}

#[test]
fn every_change_of_claimed_stock_says_who_why_before_and_after() {
    let mut stage = Stage::flash();
    stage.ok(claim("c1", "ann", 3, None));
    stage.ok(adjust("s1", 2));
    stage.ok(declaim("c1", "ann"));
    let counts: Vec<_> = stage
        .journal
        .iter()
        .filter_map(|(_, change)| match change {
            Change::Claim(ClaimChange::Claimed { before, after, user, .. }) => {
                Some((*before, *after, user.to_string()))
            }
            Change::Claim(ClaimChange::ClaimedAdjusted { before, after, reason, .. }) => {
                Some((*before, *after, format!("{}: {}", reason.by, reason.why)))
            }
            Change::Claim(ClaimChange::Declaimed { before, after, claim, .. }) => {
                Some((*before, *after, claim.to_string()))
            }
            _ => None,
        })
        .collect();
    let expected = [(0, 3, "ann"), (3, 5, "box office: house seats"), (5, 2, "c1")];
    assert_eq!(counts, expected.map(|(before, after, who)| (before, after, who.to_owned())));
}

#[test]
fn no_claim_lasts_longer_than_the_organiser_allows() {
    let until_ms = |stage: &mut Stage, id: &str, ttl_ms| {
        let view = ClaimView::try_from(stage.ok(claim(id, "ann", 1, ttl_ms))).expect("a claim");
        match view.state {
            ClaimState::Claimed { until } => until.map(|until| until.since_ms(stage.now)),
            other => panic!("units are claimed, not {other:?}"),
        }
    };
    let longest = |claim_ttl_max_ms| Settings { room: None, claim_ttl_max_ms, ..settings() };
    let mut stage = Stage::open(longest(Some(60_000)));
    assert_eq!(until_ms(&mut stage, "c1", None), Some(60_000));
    assert_eq!(until_ms(&mut stage, "c2", Some(60_001)), Some(60_000));
    assert_eq!(until_ms(&mut stage, "c3", Some(59_999)), Some(59_999));
    stage.ok(Command::ChangeSettings { settings: Box::new(longest(None)) });
    assert_eq!(until_ms(&mut stage, "c4", None), None, "the organiser allows claims for good");
    assert_eq!(until_ms(&mut stage, "c1", None), Some(60_000), "its first answer");
    for ttl_ms in [0, -1, i64::MAX] {
        let settings = Box::new(longest(Some(ttl_ms)));
        stage.refused(Command::ChangeSettings { settings }, "INVALID_SETTINGS");
    }
    stage.check_recovery();
}

#[test]
fn what_costs_money_cannot_be_claimed() {
    let mut stage = Stage::flash();
    let spec = PoolSpec { pool: "vip".parse().expect("an id"), capacity: 5, price_minor: 100 };
    stage.ok(Command::AddPool { spec });
    let claim = Command::Claim {
        claim: "c1".parse().expect("an id"),
        user: "ann".parse().expect("an id"),
        pool: "vip".parse().expect("an id"),
        quantity: 1,
        ttl_ms: None,
    };
    stage.refused(claim, "PAYMENT_REQUIRED");
}

#[test]
fn claims_count_against_the_user_limit() {
    let mut stage = Stage::open(Settings { room: None, max_per_user: Some(2), ..settings() });
    stage.ok(claim("c1", "ann", 1, None));
    stage.ok(hold_ga("b1", "ann", 1));
    stage.refused(claim("c2", "ann", 1, None), "USER_LIMIT_EXCEEDED");
    stage.ok(declaim("c1", "ann"));
    stage.ok(claim("c2", "ann", 1, None));
    stage.check_recovery();
}
