//! Nobody is let in to nothing: who is admitted finds something to take.

use crate::stage::{
    Stage, arrive, booking_id, cancel, confirm, hold, hold_ga, join, leave, lines, reason, release,
    settings,
};
use onrush_core::change::QueueChange;
use onrush_core::question::EventNow;
use onrush_core::settings::{RoomSettings, Settings};
use onrush_core::view::AdmissionState;
use onrush_core::{Change, Command};

/// Ten of `ga` and four seats, in a room for a thousand where so many units are reckoned for each.
fn crowd(units_per_visitor: u32) -> Stage {
    let room = RoomSettings { units_per_visitor, ..RoomSettings::default() };
    Stage::open(Settings { max_per_user: None, room: Some(room), ..settings() })
}

fn join_many(stage: &mut Stage, count: u128) {
    for n in 1..=count {
        stage.ok(join(n, &format!("u{n}")));
    }
    stage.tick();
}

fn admitted(stage: &Stage) -> usize {
    let is_admission =
        |change: &Change| matches!(change, Change::Queue(QueueChange::Admitted { .. }));
    stage.journal.iter().filter(|(_, change)| is_admission(change)).count()
}

fn admission(stage: &Stage) -> AdmissionState {
    stage.event.ask(stage.now, EventNow).expect("it exists").admission
}

/// Takes everything there is for the first who came in.
fn take_all(stage: &mut Stage) {
    let all = lines(&[("ga", 10)], &["A-1", "A-2", "A-3", "A-4"]);
    stage.ok(hold("all", "u1", all));
    stage.tick();
}

#[test]
fn as_many_come_in_as_there_is_something_for() {
    let mut stage = crowd(1);
    join_many(&mut stage, 20);
    assert_eq!(admitted(&stage), 14, "ten places and four seats");
    assert_eq!(admission(&stage), AdmissionState::Waits, "those inside may take all");
    stage.check_recovery();
}

#[test]
fn who_has_taken_something_is_reckoned_with_no_more() {
    let mut stage = crowd(1);
    join_many(&mut stage, 20);
    stage.ok(hold_ga("b1", "u1", 1));
    stage.tick();
    assert_eq!(admitted(&stage), 14, "13 are left for 13");
    stage.ok(leave(2, "u2"));
    stage.tick();
    assert_eq!(admitted(&stage), 15, "13 are left for 12");
    stage.ok(hold_ga("b3", "u3", 2));
    stage.tick();
    assert_eq!(admitted(&stage), 15, "11 are left for 12");
    stage.check_recovery();
}

#[test]
fn more_units_may_be_reckoned_for_each_visitor() {
    let mut stage = crowd(4);
    join_many(&mut stage, 20);
    assert_eq!(admitted(&stage), 3, "four each of fourteen");
    stage.ok(hold_ga("b1", "u1", 1));
    stage.tick();
    assert_eq!(admitted(&stage), 4, "13 are left, and eight are reckoned for two");
}

#[test]
fn what_is_left_in_the_end_is_for_one_at_a_time() {
    let mut stage = crowd(4);
    join_many(&mut stage, 20);
    stage.ok(hold("b1", "u1", lines(&[("ga", 10)], &["A-1"])));
    stage.tick();
    assert_eq!(admitted(&stage), 3, "three are left, and two are choosing");
    stage.ok(hold("b2", "u2", lines(&[], &["A-2"])));
    stage.ok(leave(3, "u3"));
    stage.tick();
    assert_eq!(admitted(&stage), 4, "two are left, and nobody is choosing");
    stage.ok(hold("b4", "u4", lines(&[], &["A-3"])));
    stage.tick();
    assert_eq!(admitted(&stage), 5, "the last one is for somebody");
    assert_eq!(admission(&stage), AdmissionState::Waits);
}

#[test]
fn nobody_comes_in_while_nothing_is_free_and_the_next_does_when_something_is_back() {
    type GiveBack = fn(&mut Stage);
    let gives_back: [(&str, GiveBack); 7] = [
        ("a release", |stage| drop(stage.ok(release("all", "u1")))),
        ("an expiry", |stage| stage.pass_ms(600_000)),
        ("a cancellation", |stage| {
            stage.ok(confirm("all", "u1", None));
            stage.tick();
            assert_eq!(admitted(stage), 14, "what is sold is not free");
            stage.ok(cancel("all", None));
        }),
        ("more capacity", |stage| {
            let pool = "ga".parse().expect("an id");
            stage.ok(Command::AdjustCapacity { pool, capacity: 11, reason: reason() });
        }),
        ("another pool", |stage| {
            let pool = "balcony".parse().expect("an id");
            let spec = onrush_core::spec::PoolSpec { pool, capacity: 1, price_minor: 0 };
            stage.ok(Command::AddPool { spec });
        }),
        ("a claim that is given back", |stage| {
            let claim = "c1".parse().expect("an id");
            let user = "u2".parse().expect("an id");
            stage.ok(Command::Declaim { claim, user });
        }),
        ("units that were blocked", |stage| {
            let lines = lines(&[("ga", 1)], &[]);
            stage.ok(Command::Unblock { lines, reason: reason() });
        }),
    ];
    for (what, give_back) in gives_back {
        let mut stage = crowd(1);
        join_many(&mut stage, 14);
        let (claim, user) = ("c1".parse().expect("an id"), "u2".parse().expect("an id"));
        let pool = "ga".parse().expect("an id");
        stage.ok(Command::Claim { claim, user, pool, quantity: 1, ttl_ms: None });
        stage.ok(Command::Block { lines: lines(&[("ga", 1)], &[]), reason: reason() });
        stage.ok(hold("all", "u1", lines(&[("ga", 8)], &["A-1", "A-2", "A-3", "A-4"])));
        // Whoever is left inside goes, so that what comes back is for the next in line.
        for n in 2..=14 {
            stage.ok(leave(n, &format!("u{n}")));
        }
        stage.ok(join(99, "next"));
        stage.tick();
        assert_eq!(admitted(&stage), 14, "{what}: nothing is free");
        assert_eq!(admission(&stage), AdmissionState::Waits, "{what}: a hold may come back");
        give_back(&mut stage);
        stage.tick();
        assert_eq!(admitted(&stage), 15, "{what}");
        assert!(stage.is_active("next"), "{what}");
        stage.check_recovery();
    }
}

#[test]
fn those_who_wait_are_told_that_all_is_sold() {
    let mut stage = crowd(1);
    assert_eq!(admission(&stage), AdmissionState::GoesOn);
    join_many(&mut stage, 2);
    take_all(&mut stage);
    assert_eq!(admission(&stage), AdmissionState::Waits, "what is held may come back");
    stage.ok(confirm("all", "u1", None));
    assert_eq!(admission(&stage), AdmissionState::SoldOut);
    stage.ok(cancel("all", None));
    assert_eq!(admission(&stage), AdmissionState::GoesOn);
}

#[test]
fn an_event_without_stock_is_a_room_for_a_shop_elsewhere() {
    let mut stage = Stage::created(Settings { room: Some(RoomSettings::default()), ..settings() });
    stage.ok(Command::OpenSale { seed: None, public_value: None });
    join_many(&mut stage, 20);
    assert_eq!(admitted(&stage), 20);
    assert_eq!(admission(&stage), AdmissionState::GoesOn);
}

#[test]
fn a_sale_without_a_room_holds_nobody_up() {
    let mut stage = Stage::flash();
    stage.ok(hold_ga("b1", "u1", 10));
    stage.ok(hold("b2", "u1", lines(&[], &["A-1", "A-2", "A-3", "A-4"])));
    assert_eq!(admission(&stage), AdmissionState::GoesOn);
    assert_eq!(stage.booking("b1").terms.booking, booking_id("b1"));
}

#[test]
fn who_comes_in_and_shows_up_is_still_choosing() {
    let mut stage = crowd(1);
    join_many(&mut stage, 20);
    for n in 1..=14 {
        stage.ok(arrive(n, &format!("u{n}")));
    }
    stage.tick();
    assert_eq!(admitted(&stage), 14);
    // Their sessions end, and the next ones choose.
    stage.pass_ms(RoomSettings::default().session_ms);
    assert_eq!(admitted(&stage), 20);
}
