//! Archiving an event, one fact a test.

use crate::money::DAY_MS;
use crate::stage::{
    OPENING, Stage, cancel, confirm, hold, hold_ga, join, leave, lines, reason, settings,
};
use onrush_core::question::{EventNow, Query};
use onrush_core::settings::{RoomSettings, Settings};
use onrush_core::snapshot::{ArchivedRow, SnapshotRow};
use onrush_core::spec::Reason;
use onrush_core::{Command, Refusal};

fn archive() -> Command {
    Command::Archive { reason: reason() }
}

fn create() -> Command {
    Command::CreateEvent { settings: Box::new(settings()) }
}

#[test]
fn only_a_closed_event_is_archived_and_only_with_a_reason() {
    let mut stage = Stage::flash();
    stage.refused(archive(), "OTHER_STEP_FIRST");
    stage.ok(Command::Pause);
    stage.refused(archive(), "OTHER_STEP_FIRST");
    stage.ok(Command::Close);
    let nobody = Reason { by: "".into(), why: "over".into() };
    stage.refused(Command::Archive { reason: nobody }, "INVALID_SETTINGS");
    stage.ok(archive());
    stage.check_recovery();
}

#[test]
fn nobody_is_left_out_who_waits_is_inside_or_holds() {
    let room = RoomSettings { capacity: 1, ..RoomSettings::default() };
    let mut stage = Stage::with_room(room);
    stage.ok(join(1, "ann"));
    stage.ok(join(2, "bob"));
    stage.tick();
    stage.ok(crate::stage::arrive(1, "ann"));
    stage.ok(hold_ga("b1", "ann", 3));
    stage.ok(Command::Close);
    let in_use = |stage: &mut Stage, waiting, inside, held| {
        assert_eq!(stage.run(archive()), Err(Refusal::EventInUse { waiting, inside, held }));
    };
    in_use(&mut stage, 1, 1, 3);
    stage.ok(leave(2, "bob"));
    in_use(&mut stage, 0, 1, 3);
    stage.ok(confirm("b1", "ann", None));
    stage.ok(archive());
    stage.check_recovery();
}

#[test]
fn a_hold_that_a_payment_runs_for_keeps_the_event() {
    let mut stage = Stage::created(onrush_core::settings::Settings { room: None, ..settings() });
    stage.stock_up(100);
    stage.ok(Command::OpenSale { seed: None, public_value: None });
    stage.ok(hold_ga("b1", "ann", 1));
    stage.ok(crate::stage::begin("b1", "ann", "p1"));
    stage.ok(Command::Close);
    stage.refused(archive(), "EVENT_IN_USE");
    stage.ok(confirm("b1", "ann", Some("p1")));
    stage.ok(archive());
    stage.check_recovery();
}

/// An event that begins in a day, and is closed after its `sale`.
fn closed_a_day_before(sale: impl FnOnce(&mut Stage)) -> Stage {
    let starts_at = Some(OPENING.plus_ms(DAY_MS));
    let mut stage = Stage::open(Settings { room: None, starts_at, ..settings() });
    sale(&mut stage);
    stage.ok(Command::Close);
    stage
}

#[track_caller]
fn waits_for_the_beginning(stage: &mut Stage) {
    let refused = stage.run(archive()).expect_err("something is confirmed");
    assert_eq!(refused.code(), "OTHER_STEP_FIRST");
    assert!(refused.to_string().contains("starts_at"), "it says what to do: {refused}");
}

#[test]
fn what_is_confirmed_keeps_the_event_until_it_begins() {
    for bought in [lines(&[("ga", 2)], &[]), lines(&[], &["A-1"])] {
        let mut stage = closed_a_day_before(|stage| {
            stage.ok(hold("b1", "ann", bought));
            stage.ok(confirm("b1", "ann", None));
        });
        waits_for_the_beginning(&mut stage);
        stage.pass_ms(DAY_MS - 1);
        waits_for_the_beginning(&mut stage);
        stage.pass_ms(1);
        stage.ok(archive());
        stage.check_recovery();
    }
}

#[test]
fn an_event_to_come_is_archived_once_all_that_was_confirmed_is_cancelled() {
    let mut stage = closed_a_day_before(|stage| {
        for (booking, bought) in [("b1", lines(&[("ga", 2)], &[])), ("b2", lines(&[], &["A-1"]))] {
            stage.ok(hold(booking, "ann", bought));
            stage.ok(confirm(booking, "ann", None));
        }
    });
    for booking in ["b1", "b2"] {
        waits_for_the_beginning(&mut stage);
        stage.ok(cancel(booking, None));
    }
    stage.ok(archive());
    stage.check_recovery();
}

#[test]
fn an_event_to_come_is_archived_while_units_are_claimed_and_nothing_is_confirmed() {
    let mut stage = closed_a_day_before(|stage| {
        stage.ok(Command::Claim {
            claim: "c1".parse().expect("an id"),
            user: "ann".parse().expect("an id"),
            pool: "ga".parse().expect("an id"),
            quantity: 3,
            ttl_ms: None,
        });
    });
    stage.ok(archive());
    stage.check_recovery();
}

/// What is held goes by itself, so that trying again helps; what is confirmed does not.
#[test]
fn that_something_is_confirmed_is_told_before_that_something_is_held() {
    let mut stage = closed_a_day_before(|stage| {
        stage.ok(hold_ga("b1", "ann", 2));
        stage.ok(confirm("b1", "ann", None));
        stage.ok(hold_ga("b2", "bob", 1));
    });
    waits_for_the_beginning(&mut stage);
    stage.ok(cancel("b1", None));
    stage.refused(archive(), "EVENT_IN_USE");
}

#[test]
fn nothing_is_kept_of_an_archived_event_but_that_and_when() {
    let mut stage = Stage::flash();
    stage.ok(hold_ga("b1", "ann", 2));
    stage.ok(confirm("b1", "ann", None));
    stage.ok(Command::Close);
    stage.ok(archive());
    let at = stage.now;
    let rows: Vec<_> = stage.event.snapshot().collect();
    assert_eq!(rows, [SnapshotRow::Archived(ArchivedRow { at })]);
    assert_eq!(stage.event.archived_at(), Some(at));
    assert_eq!(stage.event.next_deadline(), None, "nothing is ever due again");
    stage.pass_ms(400 * 86_400_000);
    let gone = Refusal::EventArchived { archived_at: at };
    for command in [
        archive(),
        create(),
        Command::Tick,
        Command::Recover { gap_ms: 1 },
        Command::OpenSale { seed: None, public_value: None },
        hold_ga("b2", "ann", 1),
        confirm("b1", "ann", None),
    ] {
        assert_eq!(stage.run(command.clone()), Err(gone.clone()), "{command:?}");
    }
    assert_eq!(stage.event.query(stage.now, &Query::from(EventNow)), Err(gone));
    stage.check_recovery();
}

#[test]
fn a_restored_row_must_be_the_only_one() {
    let mut stage = Stage::flash();
    let mut rows: Vec<_> = stage.event.snapshot().collect();
    stage.ok(Command::Close);
    stage.ok(archive());
    rows.extend(stage.event.snapshot());
    let id = stage.event.id().clone();
    assert!(onrush_core::Event::restore(id, rows).is_err(), "an event is there, or archived");
}

#[test]
#[should_panic(expected = "an event is created once")]
fn a_journal_that_creates_an_archived_event_is_no_journal() {
    let mut stage = Stage::flash();
    stage.ok(Command::Close);
    stage.ok(archive());
    let (at, created) = stage.journal[0].clone();
    stage.event.evolve(at.max(stage.now), &created);
}
