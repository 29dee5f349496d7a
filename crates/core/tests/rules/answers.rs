//! Answers that agree: what a repeated request is told, and what is said of a session that is over,
//! one fact a test.

use crate::stage::{
    Stage, arrive, begin, confirm, hold_ga, join, leave, place_id, release, settings,
};
use onrush_core::question::PlaceOf;
use onrush_core::settings::{RoomSettings, Settings};
use onrush_core::view::{LeftFrom, PlaceView};
use onrush_core::{Command, Refusal, Reply};
use serde_json::{Value, json};

const DAY_MS: i64 = 24 * 3_600_000;

fn room(capacity: u32) -> RoomSettings {
    RoomSettings { capacity, ..RoomSettings::default() }
}

/// What the user is shown, as JSON.
fn shown(stage: &Stage, user: &str) -> Value {
    serde_json::to_value(stage.place(user).expect("a place")).expect("JSON")
}

/// A place's id is known as long as an ended booking's, so that no
/// number is given twice.
#[test]
fn a_request_to_join_is_known_for_a_day_after_its_place_is_gone() {
    let mut stage = Stage::with_room(room(1));
    stage.ok(join(1, "ann"));
    stage.ok(join(2, "bob"));
    stage.ok(join(3, "cid"));
    stage.tick();
    stage.ok(leave(2, "bob"));
    stage.refused(join(2, "bob"), "DUPLICATE");
    assert_eq!(stage.run(join(2, "bob")), Err(Refusal::Duplicate { place: place_id(2) }));
    // A session that ends goes the same way, and so does a place that lapses.
    stage.ok(leave(1, "ann"));
    stage.refused(join(1, "ann"), "DUPLICATE");
    stage.check_recovery();
    stage.pass_ms(300_000);
    assert!(stage.place("cid").is_err(), "an invitation that nobody came for");
    for (n, user) in [(1, "ann"), (2, "bob"), (3, "cid")] {
        stage.refused(join(n, user), "DUPLICATE");
    }
    // Another request is another place.
    let view = PlaceView::try_from(stage.ok(join(4, "bob"))).expect("a place");
    assert_eq!((view.place, view.number), (place_id(4), 4));
    stage.pass_ms(DAY_MS - 300_001);
    stage.refused(join(2, "bob"), "DUPLICATE");
    stage.pass_ms(1);
    let view = PlaceView::try_from(stage.ok(join(2, "bob"))).expect("a place");
    assert_eq!(view.number, 5);
    stage.check_recovery();
}

#[test]
fn a_place_that_lapsed_is_known_too_and_its_visitor_may_come_again() {
    let mut stage = Stage::with_room(RoomSettings { place_ttl_ms: 60_000, ..room(1) });
    stage.ok(join(1, "ann"));
    stage.tick();
    stage.ok(arrive(1, "ann"));
    stage.ok(join(2, "bob"));
    stage.pass_ms(60_000);
    assert!(stage.place("bob").is_err());
    stage.refused(join(2, "bob"), "DUPLICATE");
    stage.ok(join(3, "bob"));
    stage.check_recovery();
}

#[test]
fn a_place_that_is_gone_is_known_from_a_snapshot_too() {
    let mut stage = Stage::with_room(room(1));
    stage.ok(join(1, "ann"));
    stage.ok(leave(1, "ann"));
    let rows: Vec<_> = stage.event.snapshot().collect();
    let restored = onrush_core::Event::restore(stage.event.id().clone(), rows).expect("rows");
    let refusal = restored.decide(stage.now, &join(1, "ann")).expect_err("it was here before");
    assert_eq!(refusal.code(), "DUPLICATE");
}

#[test]
fn a_session_that_is_over_is_shown_while_its_hold_keeps_the_slot() {
    let mut stage = Stage::with_room(room(1));
    stage.ok(join(1, "ann"));
    stage.ok(join(2, "bob"));
    stage.tick();
    stage.ok(arrive(1, "ann"));
    stage.pass_ms(500_000);
    stage.ok(hold_ga("b1", "ann", 1));
    let until = stage.now.plus_ms(600_000);
    stage.pass_ms(100_000);
    let expected = json!({
        "place": place_id(1), "number": 1, "status": "ended", "until": until,
    });
    assert_eq!(shown(&stage, "ann"), expected);
    let first = PlaceOf { user: "ann".parse().expect("an id"), place: Some(place_id(1)) };
    let view = stage.event.ask(stage.now, first).expect("a place");
    assert_eq!(serde_json::to_value(view).expect("JSON"), expected);
    // Nothing but this place is named, and no other can be had meanwhile.
    stage.refused(join(1, "ann"), "DUPLICATE");
    let already = Refusal::AlreadyInQueue { place: place_id(1) };
    assert_eq!(stage.run(join(3, "ann")), Err(already));
    stage.refused(hold_ga("b2", "ann", 1), "SESSION_OVER");
    stage.refused(arrive(1, "ann"), "SESSION_OVER");
    // Once the hold is given back the slot is the next one's, and whoever had it may join again.
    stage.ok(release("b1", "ann"));
    assert!(stage.place("ann").is_err());
    stage.ok(join(3, "ann"));
    stage.check_recovery();
}

#[test]
fn a_session_that_is_over_can_be_left_with_its_hold() {
    let mut stage = Stage::with_room(room(1));
    stage.ok(join(1, "ann"));
    stage.tick();
    stage.ok(hold_ga("b1", "ann", 2));
    stage.pass_ms(599_999);
    stage.ok(Command::Extend {
        booking: crate::stage::booking_id("b1"),
        user: "ann".parse().expect("an id"),
        extension: None,
    });
    stage.pass_ms(1);
    assert_eq!(shown(&stage, "ann")["status"], "ended");
    assert_eq!(stage.ok(leave(1, "ann")), Reply::Left(LeftFrom::Active));
    assert_eq!(stage.free("ga"), 10);
    stage.ok(join(2, "ann"));
    stage.check_recovery();
}

#[test]
fn a_later_place_is_shown_before_a_session_that_is_over() {
    let mut stage = Stage::with_room(RoomSettings { places_per_user: 2, ..room(1) });
    stage.ok(join(1, "ann"));
    stage.tick();
    stage.ok(arrive(1, "ann"));
    stage.ok(join(2, "ann"));
    stage.pass_ms(500_000);
    stage.ok(hold_ga("b1", "ann", 1));
    assert_eq!(shown(&stage, "ann")["status"], "active");
    stage.pass_ms(100_000);
    let view = shown(&stage, "ann");
    assert_eq!((&view["status"], &view["number"]), (&json!("queued"), &json!(2)));
    stage.ok(confirm("b1", "ann", None));
    stage.tick();
    assert!(stage.is_active("ann"));
}

/// Between a session's end and the tick that deals with it nothing else is said than after it.
#[test]
fn a_session_whose_time_is_up_is_over_before_its_tick_too() {
    let mut stage = Stage::with_room(room(1));
    stage.ok(join(1, "ann"));
    stage.tick();
    stage.now = stage.now.plus_ms(120_000);
    let view = shown(&stage, "ann");
    assert_eq!((&view["status"], &view["until"]), (&json!("ended"), &json!(stage.now)));
    stage.refused(join(2, "ann"), "ALREADY_IN_QUEUE");
    stage.refused(hold_ga("b1", "ann", 1), "SESSION_OVER");
    stage.tick();
    assert!(stage.place("ann").is_err());
    stage.ok(join(2, "ann"));
}

/// The head of the line is nobody's for ever: whoever was called and does not come makes room by `arrive_ms`.
#[test]
fn a_visitor_who_can_never_come_does_not_block_the_head_of_the_line() {
    let mut stage = Stage::created(settings_with_room(1));
    stage.stock_up(0);
    stage.ok(Command::OpenPrequeue);
    stage.ok(join(1, "ghost"));
    stage.ok(join(2, "ann"));
    // Days go by, and the prequeue knows no time to live.
    stage.pass_ms(3 * DAY_MS);
    stage.ok(Command::OpenSale { seed: None, public_value: None });
    stage.tick();
    assert!(stage.is_active("ghost"));
    stage.pass_ms(RoomSettings::default().arrive_ms);
    assert!(stage.is_active("ann"), "the slot is the next one's");
    stage.refused(join(1, "ghost"), "DUPLICATE");
}

fn settings_with_room(capacity: u32) -> Settings {
    Settings { room: Some(room(capacity)), ..settings() }
}

/// One code, one meaning: each has what a caller can do about it.
#[test]
fn each_reason_why_a_state_does_not_allow_something_has_a_code_of_its_own() {
    let mut stage = Stage::flash();
    stage.refused(join(1, "ann"), "NO_WAITING_ROOM");
    stage.ok(hold_ga("b1", "ann", 1));
    stage.refused(begin("b1", "ann", "p1"), "NOTHING_TO_PAY");
    let early = Command::OpenSale { seed: None, public_value: Some("x".into()) };
    let mut fresh = Stage::created(Settings { room: None, ..settings() });
    fresh.refused(early, "NO_DRAW");
    fresh.refused(Command::OpenPrequeue, "NO_WAITING_ROOM");

    let mut stage = Stage::with_room(room(1));
    stage.refused(hold_ga("b1", "ann", 1), "NOT_YOUR_TURN");
    stage.ok(join(1, "ann"));
    stage.ok(join(2, "bob"));
    stage.tick();
    stage.refused(arrive(2, "bob"), "NOT_YOUR_TURN");
    stage.refused(hold_ga("b1", "bob", 1), "NOT_YOUR_TURN");
}
