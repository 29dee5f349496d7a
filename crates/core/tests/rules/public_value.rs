//! Which public value a draw is promised, and that the sale opens with one only.

use crate::stage::{Stage, join, settings};
use onrush_core::question::EventNow;
use onrush_core::settings::{Digest, Order, RoomSettings, Settings};
use onrush_core::snapshot::{SnapshotRow, agree};
use onrush_core::waiting_room::draw;
use onrush_core::{Command, Refusal, Time};

const SEED: Digest = Digest([7; 32]);
const SOURCE: &str =
    "the six numbers of the \"lottery\" of 5 December 2026, ascending, with spaces";

/// A room with a draw that was promised this.
fn promised(source: Option<&str>) -> RoomSettings {
    let order = Order::Draw { seed_hash: draw::sha256(&SEED.0) };
    let public_value_source = source.map(Into::into);
    RoomSettings { order, public_value_source, ..RoomSettings::default() }
}

fn of_room(room: RoomSettings) -> Settings {
    Settings { room: Some(room), ..settings() }
}

fn change(room: RoomSettings) -> Command {
    Command::ChangeSettings { settings: Box::new(of_room(room)) }
}

fn open(seed: Digest, public_value: Option<&str>) -> Command {
    Command::OpenSale { seed: Some(seed), public_value: public_value.map(Into::into) }
}

/// A prequeue with this promise, in which somebody waits.
fn prequeue(source: Option<&str>) -> Stage {
    let mut stage = Stage::created(of_room(promised(source)));
    stage.ok(Command::OpenPrequeue);
    stage.ok(join(1, "ann"));
    stage
}

#[test]
fn a_draw_that_was_promised_a_value_opens_with_one_only() {
    let mut stage = prequeue(Some(SOURCE));
    stage.ok(Command::ClosePrequeue);
    let refusal = stage.event.decide(stage.now, &open(SEED, None)).expect_err("a refusal");
    assert_eq!(refusal, Refusal::PublicValueMissing { public_value_source: SOURCE.into() });
    assert!(refusal.to_string().ends_with(SOURCE), "{refusal}");
    stage.refused(open(SEED, None), "PUBLIC_VALUE_MISSING");
    stage.refused(open(Digest([8; 32]), None), "SEED_MISMATCH");
    stage.refused(Command::OpenSale { seed: None, public_value: None }, "SEED_MISMATCH");
    stage.refused(open(SEED, Some("")), "INVALID_SETTINGS");
    stage.check_recovery();
    stage.ok(open(SEED, Some("4 8 15 16 23 42")));
    stage.refused(open(SEED, None), "ALREADY_IN_PHASE");
    stage.check_recovery();
}

#[test]
fn the_list_is_fixed_before_a_promised_value_is_asked_for() {
    let mut stage = prequeue(Some(SOURCE));
    stage.refused(open(SEED, None), "OTHER_STEP_FIRST");
    stage.refused(open(SEED, Some("4 8 15")), "OTHER_STEP_FIRST");
    stage.refused(open(Digest([8; 32]), None), "SEED_MISMATCH");
    let mut scheduled = Stage::created(of_room(promised(Some(SOURCE))));
    scheduled.refused(open(SEED, None), "OTHER_STEP_FIRST");
}

#[test]
fn a_draw_without_a_promise_opens_with_any_value_and_with_none() {
    for public_value in [None, Some("4 8 15 16 23 42")] {
        let mut stage = prequeue(None);
        stage.ok(Command::ClosePrequeue);
        stage.ok(open(SEED, public_value));
    }
    let mut stage = prequeue(None);
    stage.ok(open(SEED, None));
}

#[test]
fn a_promise_may_change_until_the_list_is_fixed() {
    let mut stage = prequeue(None);
    for source in [Some(SOURCE), Some("the hash of the block 900000"), None, Some(SOURCE)] {
        stage.ok(change(promised(source)));
    }
    stage.ok(Command::ClosePrequeue);
    stage.refused(change(promised(None)), "SETTINGS_FIXED");
    stage.refused(change(promised(Some("another"))), "SETTINGS_FIXED");
    stage.ok(change(RoomSettings { capacity: 5, ..promised(Some(SOURCE)) }));
    stage.refused(open(SEED, None), "PUBLIC_VALUE_MISSING");
    stage.ok(open(SEED, Some("4 8 15 16 23 42")));
    stage.refused(change(promised(None)), "SETTINGS_FIXED");

    let mut stage = prequeue(None);
    stage.ok(Command::ClosePrequeue);
    stage.refused(change(promised(Some(SOURCE))), "SETTINGS_FIXED");
}

/// With the room, the promise, the seed and the list would go from what anybody can read.
#[test]
fn a_draw_is_there_for_as_long_as_its_event() {
    let without = || Command::ChangeSettings { settings: Box::new(settings()) };
    let mut stage = Stage::created(of_room(promised(Some(SOURCE))));
    stage.ok(without());
    stage.ok(change(promised(Some(SOURCE))));
    stage.ok(Command::OpenPrequeue);
    stage.refused(without(), "SETTINGS_FIXED");
    stage.ok(Command::ClosePrequeue);
    stage.refused(without(), "SETTINGS_FIXED");
    stage.ok(open(SEED, Some("4 8 15 16 23 42")));
    stage.refused(without(), "SETTINGS_FIXED");
    stage.ok(Command::Close);
    match stage.run(without()) {
        Err(Refusal::SettingsFixed { field: Some(field), .. }) => assert_eq!(field, "room.order"),
        other => panic!("{other:?}"),
    }
    let mut served_as_they_come = Stage::created(of_room(RoomSettings::default()));
    served_as_they_come.ok(Command::OpenSale { seed: None, public_value: None });
    served_as_they_come.ok(without());
}

#[test]
fn when_the_list_was_fixed_is_told_from_then_on() {
    let mut stage = prequeue(Some(SOURCE));
    let told = |stage: &Stage| stage.event.ask(stage.now, EventNow).expect("it is there").draw;
    assert_eq!(told(&stage).expect("a draw").list_fixed_at, None);
    stage.pass_ms(7_000);
    stage.ok(Command::ClosePrequeue);
    let fixed_at = Some(stage.now);
    stage.pass_ms(7_000);
    assert_eq!(told(&stage).expect("a draw").list_fixed_at, fixed_at);
    stage.check_recovery();
    stage.ok(open(SEED, Some("4 8 15 16 23 42")));
    assert_eq!(told(&stage).expect("a draw").list_fixed_at, fixed_at);
}

#[test]
fn a_snapshot_of_before_the_lists_time_was_kept_still_agrees() {
    let mut stage = prequeue(Some(SOURCE));
    stage.ok(Command::ClosePrequeue);
    let rows: Vec<_> = stage.event.snapshot().collect();
    let with = |fixed_at: Option<Time>| -> Vec<_> {
        let set = |mut row: SnapshotRow| {
            if let SnapshotRow::Event(event) = &mut row {
                event.entrants.as_mut().expect("a list").fixed_at = fixed_at;
            }
            row
        };
        rows.iter().cloned().map(set).collect()
    };
    assert!(with(None) != rows && agree(with(None), rows.clone()));
    assert!(!agree(with(Some(Time(1))), rows.clone()), "another time");
    assert!(!agree(rows.clone(), with(None)), "a time that nobody noted");
}

#[test]
fn a_promise_outlives_a_schedule_that_closes_the_prequeue() {
    let opens_at = Some(crate::stage::OPENING.plus_ms(1_000));
    let mut stage = Stage::created(Settings { opens_at, ..of_room(promised(Some(SOURCE))) });
    stage.pass_ms(5_000);
    stage.refused(change(promised(None)), "SETTINGS_FIXED");
    stage.refused(open(SEED, None), "PUBLIC_VALUE_MISSING");
    stage.check_recovery();
    stage.ok(open(SEED, Some("4 8 15 16 23 42")));
}

#[test]
fn a_promise_is_1_to_500_characters_of_a_draw() {
    let long = "é".repeat(500);
    for source in ["4", long.as_str()] {
        Stage::created(of_room(promised(Some(source))));
    }
    let longer = "é".repeat(501);
    let of_none = RoomSettings { order: Order::Fifo, ..promised(Some(SOURCE)) };
    let unfit = ["", &longer, "\u{202e}7", " ", "\u{200b}", "-", "4\n8", "\u{7}"];
    for room in unfit.map(|source| promised(Some(source))).into_iter().chain([of_none]) {
        let mut stage = Stage::created(of_room(promised(None)));
        match stage.run(change(room.clone())) {
            Err(Refusal::InvalidSettings { field: Some(field), .. }) => {
                assert_eq!(field, "room.public_value_source", "{room:?}");
            }
            other => panic!("{room:?}: {other:?}"),
        }
    }
}

/// What looks alike and is not the same would be several values to choose among.
#[test]
fn a_public_value_has_1_to_500_characters_and_one_reading() {
    let (longest, too_long) = ("x".repeat(500), "x".repeat(501));
    for value in [&*longest, "4 8 15 16 23 42", "~!\"#\\|0x9f"] {
        let mut stage = prequeue(None);
        stage.ok(Command::ClosePrequeue);
        stage.refused(Command::ClosePrequeue, "ALREADY_IN_PHASE");
        stage.ok(open(SEED, Some(value)));
    }
    let alike = [
        " 4 8",
        "4 8 ",
        "4  8",
        "4\t8",
        "4 8\n",
        "4\u{a0}8",
        "4\u{200b} 8",
        "\u{202e}8 4",
        "\u{664} 8",
        "4 8\u{7f}",
    ];
    for value in alike.into_iter().chain(["", " ", &too_long]) {
        let mut stage = prequeue(None);
        stage.ok(Command::ClosePrequeue);
        match stage.run(open(SEED, Some(value))) {
            Err(Refusal::InvalidSettings { field: Some(field), .. }) => {
                assert_eq!(field, "public_value", "{value:?}");
            }
            other => panic!("{value:?}: {other:?}"),
        }
    }
}
