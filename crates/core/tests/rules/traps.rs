//! Faults of earlier designs that this one must not have. Each test is named after its trap in the
//! requirements.

use crate::money::hold_view;
use crate::stage::{
    Stage, begin, booking_id, confirm, hold, hold_ga, join, leave, lines, reason, release, settings,
};
use onrush_core::change::HoldChange;
use onrush_core::hold::OnDecline;
use onrush_core::saga::{self as payment, Outcome, Position, Step, Todo, advance, todo};
use onrush_core::settings::{RoomSettings, Settings};
use onrush_core::view::{PlaceState, PlaceView};
use onrush_core::{Change, Command, Event};

fn paid(price_minor: i64) -> Stage {
    let mut stage = Stage::created(Settings { room: None, ..settings() });
    stage.stock_up(price_minor);
    stage.ok(Command::OpenSale { seed: None, public_value: None });
    stage
}

fn small_room(capacity: u32) -> Stage {
    Stage::with_room(RoomSettings { capacity, ..RoomSettings::default() })
}

#[test]
fn s0_stock_does_not_leak_when_a_hold_runs_out() {
    let mut stage = Stage::flash();
    for round in 0..20 {
        stage.ok(hold(&format!("b{round}"), "ann", lines(&[("ga", 10)], &["A-1"])));
        stage.pass_ms(600_000);
        assert_eq!((stage.free("ga"), stage.free_seats()), (10, 4));
    }
}

#[test]
fn s0_a_sync_of_the_capacity_does_not_resurrect_sold_stock() {
    let mut stage = Stage::flash();
    stage.ok(hold_ga("b1", "ann", 7));
    stage.ok(confirm("b1", "ann", None));
    let (pool, capacity) = ("ga".parse().expect("an id"), 10);
    stage.ok(Command::AdjustCapacity { pool, capacity, reason: reason() });
    assert_eq!(stage.free("ga"), 3);
}

#[test]
fn s0_the_client_does_not_name_the_price() {
    let mut stage = paid(2_500);
    let view = hold_view(stage.ok(hold("b1", "ann", lines(&[("ga", 2)], &["A-1"]))));
    assert_eq!(view.terms.amount_minor, 7_500);
}

#[test]
fn s0_the_users_count_outlives_his_holds_while_confirmed_seats_count() {
    let mut stage = Stage::open(Settings { room: None, max_per_user: Some(2), ..settings() });
    stage.ok(hold_ga("b1", "ann", 2));
    stage.ok(confirm("b1", "ann", None));
    stage.pass_ms(365 * 24 * 3_600_000);
    stage.refused(hold_ga("b2", "ann", 1), "USER_LIMIT_EXCEEDED");
}

#[test]
fn s0_asking_for_the_position_admits_nobody() {
    let mut stage = small_room(1);
    stage.ok(join(1, "ann"));
    stage.ok(join(2, "bob"));
    stage.tick();
    for _ in 0..10 {
        assert_eq!(stage.position("bob"), Some(1));
        stage.refused(hold_ga("b1", "bob", 1), "NOT_YOUR_TURN");
    }
}

#[test]
fn s1_a_refused_hold_cannot_be_released() {
    let mut stage = Stage::flash();
    stage.refused(hold_ga("b1", "ann", 11), "INSUFFICIENT_STOCK");
    stage.refused(release("b1", "ann"), "RESERVATION_NOT_FOUND");
    assert_eq!(stage.free("ga"), 10);
}

#[test]
fn s1_a_release_after_the_expiry_adds_no_stock() {
    let mut stage = Stage::flash();
    stage.ok(hold_ga("b1", "ann", 4));
    stage.pass_ms(600_000);
    stage.refused(release("b1", "ann"), "HOLD_EXPIRED");
    assert_eq!(stage.free("ga"), 10);
}

#[test]
fn s1_a_confirm_with_no_hold_left_does_not_succeed() {
    let mut stage = Stage::flash();
    stage.refused(confirm("b1", "ann", None), "RESERVATION_NOT_FOUND");
    stage.ok(hold_ga("b1", "ann", 4));
    stage.ok(release("b1", "ann"));
    stage.refused(confirm("b1", "ann", None), "ALREADY_RELEASED");
}

#[test]
fn s1_a_refused_reserve_is_not_compensated() {
    let sent = Position { step: Step::ReserveSent, stage: None };
    let refused = advance(sent, Outcome::NotHeld).expect("a refusal may come");
    assert_eq!(refused, Position { step: Step::Failed, stage: None });
    assert_eq!(todo(refused), Todo::Rest, "nothing is released, because nothing was taken");
}

#[test]
fn s1_a_confirm_of_a_hold_that_ran_out_under_its_payment_takes_no_other_seat_and_no_sold_one() {
    let mut stage = paid(100);
    stage.ok(hold("b1", "ann", lines(&[], &["A-1"])));
    stage.ok(begin("b1", "ann", "p1"));
    stage.pass_ms(600_000);
    stage.ok(hold("b2", "bob", lines(&[], &["A-1"])));
    stage.refused(confirm("b1", "ann", Some("p1")), "SEAT_UNAVAILABLE");
    assert_eq!((stage.status("b1"), stage.status("b2")), ("expired", "held"));
    assert_eq!(stage.free_seats(), 3);
}

#[test]
fn s1_a_failure_that_is_told_after_the_expiry_adds_no_stock() {
    let mut stage = paid(100);
    stage.ok(hold_ga("b1", "ann", 4));
    stage.ok(begin("b1", "ann", "p1"));
    stage.pass_ms(600_000);
    assert_eq!(stage.free("ga"), 10);
    let (payment, why) = ("p1".parse().expect("an id"), "timeout".into());
    let fail =
        Command::FailPayment { booking: booking_id("b1"), payment, why, then: OnDecline::Release };
    stage.ok(fail);
    assert_eq!(stage.free("ga"), 10);
}

#[test]
fn s1_reserve_ok_is_recovered() {
    for stage in [None, Some(payment::Stage::Void)] {
        let held = Position { step: Step::ReserveOk, stage };
        assert_eq!(todo(held), Todo::AskHold, "a hold without a payment is looked at");
        let ran_out = advance(held, Outcome::NotHeld).expect("a hold may run out");
        assert_eq!(ran_out, Position { step: Step::Failed, stage });
        let paid_at_the_box_office = advance(held, Outcome::HoldConfirmed).expect("or be final");
        assert_eq!(paid_at_the_box_office, Position { step: Step::Confirmed, stage });
    }
}

#[test]
fn s2_the_first_claim_checks_the_maximum_and_nothing_goes_below_zero() {
    let mut stage = Stage::flash();
    let first = Command::Claim {
        claim: "c1".parse().expect("an id"),
        user: "ann".parse().expect("an id"),
        pool: "ga".parse().expect("an id"),
        quantity: 11,
        ttl_ms: None,
    };
    stage.refused(first, "CLAIM_EXCEEDS_QUANTITY");
    let below = Command::AdjustClaimed {
        claim: "s1".parse().expect("an id"),
        pool: "ga".parse().expect("an id"),
        amount: -1,
        reason: reason(),
    };
    stage.refused(below, "CLAIM_BELOW_ZERO");
}

#[test]
fn s3_a_sold_seat_stays_sold() {
    let mut stage = small_room(2);
    stage.ok(join(1, "ann"));
    stage.ok(join(2, "bob"));
    stage.tick();
    stage.ok(hold("b1", "ann", lines(&[], &["A-1"])));
    stage.ok(confirm("b1", "ann", None));
    stage.refused(hold("b2", "bob", lines(&[], &["A-1"])), "SEAT_UNAVAILABLE");
    stage.pass_ms(3_600_000);
    stage.ok(join(3, "cat"));
    stage.tick();
    stage.refused(hold("b3", "cat", lines(&[], &["A-1"])), "SEAT_UNAVAILABLE");
}

#[test]
fn s3_the_same_seat_of_another_event_is_another_seat() {
    let (mut one, mut other) = (Stage::flash(), Stage::flash());
    one.ok(hold("b1", "ann", lines(&[], &["A-1"])));
    other.ok(hold("b1", "bob", lines(&[], &["A-1"])));
}

#[test]
fn s3_a_stale_tick_does_not_kill_a_later_session_of_the_same_user() {
    let mut stage = small_room(1);
    stage.ok(join(1, "ann"));
    stage.tick();
    let first_deadline = stage.event.next_deadline().expect("ann must show up");
    stage.ok(leave(1, "ann"));
    stage.pass_ms(60_000);
    stage.ok(join(2, "ann"));
    stage.tick();
    stage.now = first_deadline;
    let changes = stage.journal.len();
    stage.ok(Command::Tick);
    assert_eq!(stage.journal.len(), changes, "the old deadline means nothing to the new session");
    assert!(stage.is_active("ann"));
}

#[test]
fn s3_the_timeout_does_not_fire_while_a_payment_is_pending() {
    let mut stage = paid(100);
    stage.ok(hold_ga("b1", "ann", 1));
    stage.pass_ms(599_000);
    stage.ok(begin("b1", "ann", "p1"));
    stage.pass_ms(1_000);
    assert_eq!(stage.status("b1"), "paying", "600 s after the hold its payment still runs");
    stage.ok(confirm("b1", "ann", Some("p1")));
}

#[test]
fn s3_a_payment_result_for_another_payment_does_nothing() {
    let mut stage = paid(100);
    stage.ok(hold_ga("b1", "ann", 1));
    stage.ok(begin("b1", "ann", "p1"));
    stage.refused(confirm("b1", "ann", Some("p9")), "PAYMENT_MISMATCH");
    let (payment, why) = ("p9".parse().expect("an id"), "timeout".into());
    let fail =
        Command::FailPayment { booking: booking_id("b1"), payment, why, then: OnDecline::Keep };
    stage.refused(fail, "PAYMENT_MISMATCH");
    assert_eq!(stage.status("b1"), "paying");
}

#[test]
fn s3_the_first_in_line_is_admitted_without_a_freed_slot() {
    let mut stage = small_room(1_000);
    stage.ok(join(1, "ann"));
    assert!(
        stage.event.next_deadline().is_some_and(|due| due <= stage.now),
        "a tick is due at once"
    );
    stage.tick();
    assert!(stage.is_active("ann"));
}

#[test]
fn s3_one_decision_that_frees_several_slots_admits_as_many() {
    let mut stage = small_room(3);
    for n in 1..=6 {
        stage.ok(join(n, &format!("u{n}")));
    }
    stage.tick();
    stage.pass_ms(120_000);
    for n in 4..=6 {
        assert!(stage.is_active(&format!("u{n}")), "u{n} got a slot of those who never came");
    }
}

#[test]
fn s4_the_displayed_position_falls() {
    let mut stage = small_room(1);
    for n in 1..=4 {
        stage.ok(join(n, &format!("u{n}")));
    }
    stage.tick();
    let mut seen = vec![stage.position("u4")];
    for n in 1..=2 {
        stage.ok(leave(n, &format!("u{n}")));
        stage.tick();
        seen.push(stage.position("u4"));
    }
    assert_eq!(seen, [Some(3), Some(2), Some(1)]);
}

#[test]
fn s4_ghosts_at_the_head_do_not_stall_the_queue() {
    let mut stage = small_room(10);
    for n in 1..=100 {
        stage.ok(join(n, &format!("ghost{n}")));
    }
    stage.ok(join(101, "ann"));
    stage.tick();
    stage.pass_ms(10 * 120_000);
    assert!(stage.is_active("ann"), "ten rounds of ghosts later");
}

#[test]
fn s4_an_expired_hold_leaves_no_seat_marked() {
    let mut stage = Stage::flash();
    stage.ok(hold("b1", "ann", lines(&[], &["A-1"])));
    stage.pass_ms(600_000);
    stage.ok(hold("b2", "bob", lines(&[], &["A-1"])));
}

#[test]
fn s4_a_session_that_is_over_is_checked() {
    let mut stage = small_room(1);
    stage.ok(join(1, "ann"));
    stage.tick();
    stage.ok(crate::stage::arrive(1, "ann"));
    stage.now = stage.now.plus_ms(600_000);
    stage.refused(hold_ga("b1", "ann", 1), "SESSION_OVER");
}

#[test]
fn s4_a_missing_pool_is_refused_and_not_left_behind_as_empty() {
    let mut stage = Stage::flash();
    let rows = stage.event.snapshot().count();
    stage.refused(hold("b1", "ann", lines(&[("nope", 1)], &[])), "ZONE_NOT_FOUND");
    assert_eq!(stage.event.snapshot().count(), rows);
}

#[test]
fn s4_nothing_is_kept_of_users_who_are_through() {
    let mut stage = Stage::with_room(RoomSettings {
        places_per_user: 5,
        capacity: 100,
        ..RoomSettings::default()
    });
    let empty =
        Event::restore(stage.event.id().clone(), stage.event.snapshot()).expect("a snapshot");
    for n in 0..50_u128 {
        let user = format!("u{}", n % 10);
        stage.ok(join(n, &user));
    }
    stage.tick();
    stage.ok(hold_ga("b1", "u1", 1));
    stage.pass_ms(3 * 24 * 3_600_000);
    let users = |event: &Event| format!("{event:?}").matches("User {").count();
    assert_eq!(users(&stage.event), users(&empty), "no user is left behind");
    let forgotten =
        |change: &Change| matches!(change, Change::Hold(HoldChange::HoldForgotten { .. }));
    assert!(stage.journal.iter().any(|(_, change)| forgotten(change)));
}

#[test]
fn s4_order_comes_from_the_one_state_and_not_from_clocks() {
    // Two nodes whose clocks disagree give their commands the same engine time: the place's number
    // orders them.
    let mut stage = small_room(1);
    for n in 1..=3 {
        let view = PlaceView::try_from(stage.ok(join(n, &format!("u{n}")))).expect("a place");
        assert_eq!(u128::from(view.number), n);
        let PlaceState::Queued { position: Some(position), .. } = view.state else {
            panic!("u{n} waits at a position: {view:?}")
        };
        assert_eq!(u128::from(position), n);
    }
}
