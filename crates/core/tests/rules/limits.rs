//! Limits of what one visitor may take, one fact a test.

use crate::best::{any, hold_best, house_with};
use crate::stage::{Stage, begin, cancel, confirm, hold, hold_ga, lines, release, settings};
use crate::types::{adult, asked, category, child, ga, of_best, seats_of, set, typed};
use onrush_core::best::{Best, Together};
use onrush_core::limits::ENDED_KNOWN_MS;
use onrush_core::prices::Priced;
use onrush_core::settings::Settings;
use onrush_core::user_limits::UserLimit;
use onrush_core::{Command, Refusal};

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

/// So many units of a pool or category, of one type or altogether.
fn limit(of: Priced, ticket_type: Option<&str>, max_per_user: u32) -> UserLimit {
    let ticket_type = ticket_type.map(|id| id.parse().expect("an id"));
    UserLimit { of, ticket_type, max_per_user }
}

fn limited(limits: &[UserLimit]) -> Settings {
    Settings { limits: limits.to_vec(), ..settings() }
}

/// An open event with these limits, whose seats and ga cost this much.
fn sale(limits: &[UserLimit], price_minor: i64) -> Stage {
    let mut stage = Stage::created(Settings { room: None, ..limited(limits) });
    stage.stock_up(price_minor);
    stage.ok(Command::OpenSale { seed: None, public_value: None });
    stage
}

/// The refusal of a limit, with what the user has of it.
fn exceeded(of: &UserLimit, held: u32) -> Refusal {
    let UserLimit { of, ticket_type, max_per_user } = of.clone();
    Refusal::UserLimitExceeded { limit: max_per_user, held, of: Some(of), ticket_type }
}

#[test]
fn a_pool_and_a_category_have_limits_of_their_own() {
    let (of_ga, of_stalls) = (limit(ga(), None, 3), limit(category("stalls"), None, 2));
    let mut stage = sale(&[of_ga.clone(), of_stalls.clone()], 0);
    assert_eq!(stage.run(hold_ga("b1", "ann", 4)), Err(exceeded(&of_ga, 0)));
    stage.ok(hold_ga("b1", "ann", 2));
    stage.ok(hold("b2", "ann", lines(&[("ga", 1)], &["A-1", "A-2"])));
    assert_eq!(stage.run(hold_ga("b3", "ann", 1)), Err(exceeded(&of_ga, 3)));
    let seat = || hold("b3", "ann", lines(&[], &["A-3"]));
    assert_eq!(stage.run(seat()), Err(exceeded(&of_stalls, 2)));
    stage.ok(hold("b4", "bob", lines(&[("ga", 3)], &["A-3", "A-4"])));
    stage.check_recovery();
}

#[test]
fn a_limit_counts_what_is_held_paid_for_or_bought_and_nothing_that_ended() {
    let of_ga = limit(ga(), None, 1);
    let mut stage = sale(std::slice::from_ref(&of_ga), 100);
    let refused = |stage: &mut Stage| {
        assert_eq!(stage.run(hold_ga("more", "ann", 1)), Err(exceeded(&of_ga, 1)));
    };
    stage.ok(hold_ga("given-back", "ann", 1));
    refused(&mut stage);
    stage.ok(release("given-back", "ann"));
    stage.ok(hold_ga("expired", "ann", 1));
    stage.pass_ms(600_000);
    stage.ok(hold_ga("bought", "ann", 1));
    stage.ok(begin("bought", "ann", "p1"));
    refused(&mut stage);
    stage.ok(confirm("bought", "ann", Some("p1")));
    refused(&mut stage);
    stage.ok(cancel("bought", None));
    stage.ok(hold_ga("again", "ann", 1));
    stage.check_recovery();
}

#[test]
fn live_claims_count_for_the_limit_of_their_pool() {
    let of_ga = limit(ga(), None, 2);
    let mut stage = sale(std::slice::from_ref(&of_ga), 0);
    stage.ok(claim("c1", "ann", Some(1_000)));
    stage.ok(claim("c2", "ann", None));
    assert_eq!(stage.run(claim("c3", "ann", None)), Err(exceeded(&of_ga, 2)));
    assert_eq!(stage.run(hold_ga("b1", "ann", 1)), Err(exceeded(&of_ga, 2)));
    stage.check_recovery();
    stage.ok(declaim("c2", "ann"));
    stage.ok(hold_ga("b1", "ann", 1));
    assert_eq!(stage.run(claim("c3", "ann", None)), Err(exceeded(&of_ga, 2)));
    stage.pass_ms(1_000);
    stage.ok(claim("c3", "ann", None));
    stage.check_recovery();
}

#[test]
fn claimed_units_have_no_type() {
    let mut stage = sale(&[limit(ga(), Some("adult"), 1)], 0);
    stage.ok(set(ga(), vec![adult(), child()]));
    stage.ok(claim("c1", "ann", None));
    stage.ok(claim("c2", "ann", None));
    stage.ok(hold_ga("b1", "ann", 1));
    stage.refused(hold_ga("b2", "ann", 1), "USER_LIMIT_EXCEEDED");
    stage.check_recovery();
}

#[test]
fn a_limit_of_a_type_counts_the_units_of_that_type_alone() {
    let of_child = limit(ga(), Some("child"), 2);
    let of_seats = limit(category("stalls"), Some("child"), 1);
    let mut stage = sale(&[of_child.clone(), of_seats.clone()], 1_000);
    stage.ok(hold_ga("b1", "ann", 3));
    stage.ok(set(ga(), vec![adult(), child()]));
    stage.ok(set(category("stalls"), vec![adult(), child()]));
    let of_ga = |children| asked(&[("child", children)], &[], &[]);
    assert_eq!(stage.run(typed(hold_ga("b2", "ann", 4), of_ga(3))), Err(exceeded(&of_child, 0)));
    stage.ok(typed(hold_ga("b2", "ann", 3), of_ga(1)));
    stage.ok(typed(hold_ga("b3", "ann", 1), of_ga(1)));
    assert_eq!(stage.run(typed(hold_ga("b4", "ann", 1), of_ga(1))), Err(exceeded(&of_child, 2)));
    stage.ok(hold_ga("b4", "ann", 1));
    let both = || hold("b5", "ann", lines(&[], &["A-1", "A-2"]));
    let children = asked(&[], &[("A-1", "child"), ("A-2", "child")], &[]);
    assert_eq!(stage.run(typed(both(), children)), Err(exceeded(&of_seats, 0)));
    stage.ok(typed(both(), asked(&[], &[("A-1", "child")], &[])));
    let another = hold("b6", "ann", lines(&[], &["A-3"]));
    let child = asked(&[], &[("A-3", "child")], &[]);
    assert_eq!(stage.run(typed(another, child)), Err(exceeded(&of_seats, 1)));
    stage.check_recovery();
}

#[test]
fn the_whole_events_limit_comes_first_and_then_limits_in_the_order_they_were_set() {
    let (of_stalls, of_ga) = (limit(category("stalls"), None, 1), limit(ga(), None, 1));
    let limits = vec![of_stalls.clone(), of_ga.clone()];
    let flash = Settings { room: None, ..limited(&limits) };
    let mut stage = sale(&limits, 0);
    let all = || hold("b1", "ann", lines(&[("ga", 2)], &["A-1", "A-2"]));
    assert_eq!(stage.run(all()), Err(exceeded(&of_stalls, 0)));
    let change = |settings: Settings| Command::ChangeSettings { settings: Box::new(settings) };
    stage.ok(change(Settings { limits: vec![of_ga.clone(), of_stalls], ..flash.clone() }));
    assert_eq!(stage.run(all()), Err(exceeded(&of_ga, 0)));
    stage.ok(change(Settings { max_per_user: Some(3), ..flash.clone() }));
    let whole = Refusal::UserLimitExceeded { limit: 3, held: 0, of: None, ticket_type: None };
    assert_eq!(stage.run(all()), Err(whole));
    stage.ok(change(Settings { limits: Vec::new(), ..flash }));
    stage.ok(all());
    stage.check_recovery();
}

#[test]
fn a_limit_of_what_does_not_exist_waits_for_it() {
    let of_late = limit(Priced::Pool("late".parse().expect("an id")), None, 1);
    let of_odd = limit(ga(), Some("child"), 1);
    let mut stage = sale(&[of_late.clone(), of_odd, limit(category("none"), None, 1)], 0);
    stage.ok(hold("b1", "ann", lines(&[("ga", 5)], &["A-1", "A-2"])));
    let pool = "late".parse().expect("an id");
    let spec = onrush_core::spec::PoolSpec { pool, capacity: 5, price_minor: 0 };
    stage.ok(Command::AddPool { spec });
    let late = hold("b2", "ann", lines(&[("late", 2)], &[]));
    assert_eq!(stage.run(late), Err(exceeded(&of_late, 0)));
    stage.check_recovery();
}

#[test]
fn late_money_does_not_lift_the_limit_of_a_type() {
    let of_child = limit(ga(), Some("child"), 1);
    let mut stage = sale(std::slice::from_ref(&of_child), 1_000);
    stage.ok(set(ga(), vec![adult(), child()]));
    let one_child = |booking| typed(hold_ga(booking, "ann", 2), asked(&[("child", 1)], &[], &[]));
    stage.ok(one_child("b1"));
    stage.ok(begin("b1", "ann", "p1"));
    stage.pass_ms(600_000);
    stage.ok(one_child("b2"));
    assert_eq!(stage.run(confirm("b1", "ann", Some("p1"))), Err(exceeded(&of_child, 1)));
    stage.ok(release("b2", "ann"));
    stage.ok(confirm("b1", "ann", Some("p1")));
    stage.refused(one_child("b3"), "USER_LIMIT_EXCEEDED");
    stage.check_recovery();
}

#[test]
fn the_best_seats_are_of_a_category_whose_limits_allow_them() {
    let of_stalls = limit(category("stalls"), None, 2);
    let of_balcony = limit(category("balcony"), Some("child"), 1);
    let mut stage = house_with(limited(&[of_stalls.clone(), of_balcony.clone()]));
    for name in ["stalls", "balcony"] {
        stage.ok(set(category(name), vec![adult(), child()]));
    }
    stage.ok(hold_best("b1", "ann", any(1), None));
    assert_eq!(seats_of(&stage, "b1"), "A1");
    stage.ok(hold_best("b2", "ann", any(2), None));
    assert_eq!(seats_of(&stage, "b2"), "C1 C2", "of the stalls they may have one more");
    let stalls = || any(2).within(vec!["stalls".into()], vec![]).expect("names");
    assert_eq!(stage.run(hold_best("b3", "ann", stalls(), None)), Err(exceeded(&of_stalls, 1)));
    let children = || of_best(&[("child", 2)]);
    let two = hold_best("b3", "ann", any(2), None);
    assert_eq!(stage.run(typed(two, children())), Err(exceeded(&of_stalls, 1)));
    let balcony = any(2).within(vec!["balcony".into()], vec![]).expect("names");
    let two = typed(hold_best("b3", "ann", balcony, None), children());
    assert_eq!(stage.run(two), Err(exceeded(&of_balcony, 0)));
    let first_choice = ["A2", "A3"].map(|seat| seat.parse().expect("an id"));
    let rather = any(2).rather(first_choice.to_vec()).expect("seats");
    stage.ok(typed(hold_best("b3", "ann", rather, None), of_best(&[("child", 1)])));
    assert_eq!(seats_of(&stage, "b3"), "D1 D2", "a first choice beyond a limit cannot be had");
    stage.ok(hold_best("b4", "bob", stalls(), None));
    assert_eq!(seats_of(&stage, "b4"), "A5 A6");
    stage.check_recovery();
}

#[test]
fn what_is_named_beside_the_best_seats_counts_with_them() {
    let (of_stalls, of_ga) = (limit(category("stalls"), None, 2), limit(ga(), None, 1));
    let mut stage = house_with(limited(&[of_stalls.clone(), of_ga.clone()]));
    let beside = |ga: &[(&str, u32)], seats: &[&str]| Some(lines(ga, seats));
    let with_three = hold_best("b1", "ann", any(1), beside(&[], &["B1", "B2", "B3"]));
    assert_eq!(stage.run(with_three), Err(exceeded(&of_stalls, 0)));
    let with_ga = hold_best("b1", "ann", any(1), beside(&[("ga", 2)], &[]));
    assert_eq!(stage.run(with_ga), Err(exceeded(&of_ga, 0)));
    stage.ok(hold_best("b1", "ann", any(1), beside(&[("ga", 1)], &["B1"])));
    assert_eq!(seats_of(&stage, "b1"), "A1 B1");
    stage.ok(hold_best("b2", "bob", any(1), beside(&[], &["B2", "B3"])));
    assert_eq!(seats_of(&stage, "b2"), "B2 B3 C1");
    let apart = Best::new(12, Together::Prefer).expect("a quantity");
    stage.refused(hold_best("b3", "bob", apart, None), "TOO_FEW_SEATS");
    stage.check_recovery();
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
