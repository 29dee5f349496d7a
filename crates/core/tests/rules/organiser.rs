//! What organisers may set, one fact a test.

use crate::stage::{Stage, confirm, hold, hold_ga, lines, reason, settings};
use onrush_core::limits::MAX_TAX_BP;
use onrush_core::settings::{RoomSettings, Settings};
use onrush_core::spec::{Access, CategorySpec, PoolSpec, Reason, SeatSpec};
use onrush_core::tax::Tax;
use onrush_core::{Command, Event, Refusal, Time};

fn capacity(capacity: u32) -> Command {
    Command::AdjustCapacity { pool: "ga".parse().expect("an id"), capacity, reason: reason() }
}

#[test]
fn nothing_works_before_the_event_exists_and_it_is_created_once() {
    let event = Event::new("show".parse().expect("an id"));
    assert_eq!(
        event.decide(Time(0), &Command::OpenSale { seed: None, public_value: None }),
        Err(Refusal::EventNotFound)
    );
    assert_eq!(event.next_deadline(), None);
    let mut stage = Stage::created(settings());
    stage.refused(Command::CreateEvent { settings: Box::new(settings()) }, "EVENT_EXISTS");
}

#[test]
fn settings_out_of_range_are_refused() {
    let room = RoomSettings::default();
    let with_room = |room| Settings { room: Some(room), ..settings() };
    let bad = [
        Settings { title: "".into(), ..settings() },
        Settings { title: "gnp\u{202e}exe".into(), ..settings() },
        Settings { hold_ttl_ms: 0, ..settings() },
        Settings { hold_max_ms: 1, ..settings() },
        Settings { payment_window_ms: -1, ..settings() },
        Settings { payment_attempts: 0, ..settings() },
        Settings { max_per_user: Some(0), ..settings() },
        Settings { opens_at: Some(Time(2)), closes_at: Some(Time(2)), ..settings() },
        with_room(RoomSettings { capacity: 0, ..room.clone() }),
        with_room(RoomSettings { outflow_per_min: Some(0), ..room.clone() }),
        with_room(RoomSettings { session_ms: 0, ..room.clone() }),
        with_room(RoomSettings { max_queue_size: 0, ..room.clone() }),
        with_room(RoomSettings { places_per_user: 0, ..room }),
    ];
    for settings in bad {
        let event = Event::new("show".parse().expect("an id"));
        let refusal =
            event.decide(Time(0), &Command::CreateEvent { settings: Box::new(settings.clone()) });
        assert_eq!(refusal.expect_err("a refusal").code(), "INVALID_SETTINGS", "{settings:?}");
    }
}

#[test]
fn a_closing_time_that_is_set_is_to_come() {
    let closing = |title: &str, closes_at| {
        let settings = Settings { title: title.into(), closes_at, room: None, ..settings() };
        Box::new(settings)
    };
    let event = Event::new("show".parse().expect("an id"));
    let create =
        |closes_at| Command::CreateEvent { settings: closing("Gala", Some(Time(closes_at))) };
    for (closes_at, is_to_come) in [(99, false), (100, false), (101, true)] {
        let decided = event.decide(Time(100), &create(closes_at));
        let expected = if is_to_come { None } else { Some("INVALID_SETTINGS") };
        assert_eq!(decided.err().map(|refusal| refusal.code()), expected, "{closes_at}");
    }

    let mut stage = Stage::flash();
    let now = stage.now;
    let change = |title: &str, closes_at| Command::ChangeSettings {
        settings: closing(title, Some(closes_at)),
    };
    for ms in [-1, 0] {
        let refusal = stage.run(change("Gala", now.plus_ms(ms))).expect_err("a refusal");
        let told = "closes_at: use a time that is to come; to close now, close the sale";
        assert_eq!((refusal.code(), refusal.to_string().as_str()), ("INVALID_SETTINGS", told));
    }
    stage.ok(hold_ga("b1", "ann", 1));
    stage.ok(change("Gala", now.plus_ms(1)));
    stage.pass_ms(1);
    stage.refused(hold_ga("b2", "ann", 1), "EVENT_NOT_OPEN");
    // What is over keeps its closing time, whatever else is changed.
    stage.ok(change("Grand gala", now.plus_ms(1)));
    stage.refused(change("Grand gala", now), "INVALID_SETTINGS");
    stage.check_recovery();
}

#[test]
fn names_of_seats_read_as_they_are_written() {
    let mut stage = Stage::created(settings());
    let add = |category: &str, section: &str, row: &str, number: &str| Command::AddSeats {
        categories: vec![CategorySpec { name: category.into(), price_minor: 0 }],
        seats: vec![SeatSpec {
            seat: "A-1".parse().expect("an id"),
            section: section.into(),
            row: row.into(),
            number: number.into(),
            category: category.into(),
            rank: 0,
            aisle: false,
            access: Access::Anyone,
        }],
    };
    for turning in
        ["\u{61c}", "\u{200e}", "\u{200f}", "\u{202a}", "\u{202e}", "\u{2066}", "\u{2069}"]
    {
        stage.refused(add(turning, "", "", ""), "INVALID_SETTINGS");
        stage.refused(add("all", turning, "", ""), "INVALID_SETTINGS");
        stage.refused(add("all", "", turning, ""), "INVALID_SETTINGS");
        stage.refused(add("all", "", "", turning), "INVALID_SETTINGS");
    }
    // What runs from right to left by itself is fine.
    stage.ok(add("יציע", "שמאל", "א", "١"));
    stage.check_recovery();
}

#[test]
fn capacity_never_goes_below_what_is_committed() {
    let mut stage = Stage::flash();
    stage.ok(hold_ga("b1", "ann", 2));
    stage.ok(hold_ga("b2", "ann", 3));
    stage.ok(confirm("b2", "ann", None));
    stage.ok(Command::Block { lines: lines(&[("ga", 1)], &[]), reason: reason() });
    stage.refused(capacity(5), "CAPACITY_BELOW_COMMITTED");
    stage.ok(capacity(6));
    assert_eq!(stage.free("ga"), 0);
    stage.ok(capacity(1_000));
    assert_eq!(stage.free("ga"), 994);
    stage.check_recovery();
}

#[test]
fn blocked_units_are_off_sale_and_each_has_a_reason() {
    let mut stage = Stage::flash();
    let wheelchairs = Reason { by: "house".into(), why: "wheelchair places".into() };
    stage.ok(Command::Block { lines: lines(&[("ga", 4)], &["A-1"]), reason: reason() });
    stage.ok(Command::Block { lines: lines(&[("ga", 1)], &[]), reason: wheelchairs.clone() });
    assert_eq!((stage.free("ga"), stage.free_seats()), (5, 3));
    stage.refused(hold("b1", "ann", lines(&[], &["A-1"])), "SEAT_UNAVAILABLE");
    stage.refused(
        Command::Block { lines: lines(&[], &["A-1"]), reason: reason() },
        "SEAT_UNAVAILABLE",
    );
    let unblock =
        |quantity, reason| Command::Unblock { lines: lines(&[("ga", quantity)], &[]), reason };
    stage.refused(unblock(2, wheelchairs.clone()), "UNITS_NOT_BLOCKED");
    stage.ok(unblock(1, wheelchairs));
    stage.refused(
        Command::Unblock { lines: lines(&[], &["A-2"]), reason: reason() },
        "UNITS_NOT_BLOCKED",
    );
    stage.ok(Command::Unblock { lines: lines(&[("ga", 4)], &["A-1"]), reason: reason() });
    assert_eq!((stage.free("ga"), stage.free_seats()), (10, 4));
    stage.check_recovery();
}

#[test]
fn a_pool_or_seat_is_added_once_and_seats_all_or_nothing() {
    let mut stage = Stage::flash();
    let spec = PoolSpec { pool: "ga".parse().expect("an id"), capacity: 1, price_minor: 0 };
    stage.refused(Command::AddPool { spec }, "POOL_EXISTS");
    let seat = |id: &str, category: &str| SeatSpec {
        seat: id.parse().expect("an id"),
        section: "stalls".into(),
        row: "B".into(),
        number: "1".into(),
        category: category.into(),
        rank: 0,
        aisle: false,
        access: Access::Anyone,
    };
    let add = |seats| Command::AddSeats { categories: vec![], seats };
    stage.refused(add(vec![seat("B-1", "stalls"), seat("A-1", "stalls")]), "SEAT_EXISTS");
    stage.refused(add(vec![seat("B-1", "stalls"), seat("B-1", "stalls")]), "SEAT_EXISTS");
    stage.refused(add(vec![seat("B-1", "circle")]), "INVALID_SETTINGS");
    stage.refused(add(vec![]), "INVALID_SETTINGS");
    let dearer = CategorySpec { name: "stalls".into(), price_minor: 1 };
    let command =
        Command::AddSeats { categories: vec![dearer], seats: vec![seat("B-1", "stalls")] };
    stage.refused(command, "SETTINGS_FIXED");
    let two = ["circle", "circle"].map(|name| CategorySpec { name: name.into(), price_minor: 7 });
    let mut twice = two.to_vec();
    twice[1].price_minor = 8;
    let command = Command::AddSeats { categories: twice, seats: vec![seat("B-1", "circle")] };
    stage.refused(command, "INVALID_SETTINGS");
    stage.ok(add(vec![seat("B-1", "stalls")]));
    assert_eq!(stage.free_seats(), 5);
    stage.check_recovery();
}

#[test]
fn phases_follow_each_other() {
    let mut stage = Stage::created(settings());
    let open = Command::OpenSale { seed: None, public_value: None };
    stage.refused(Command::Pause, "EVENT_NOT_OPEN");
    stage.refused(Command::ClosePrequeue, "OTHER_STEP_FIRST");
    stage.ok(Command::OpenPrequeue);
    stage.refused(Command::OpenPrequeue, "ALREADY_IN_PHASE");
    stage.ok(open.clone());
    stage.refused(open.clone(), "ALREADY_IN_PHASE");
    stage.refused(Command::OpenPrequeue, "EVENT_NOT_OPEN");
    stage.refused(Command::Resume, "ALREADY_IN_PHASE");
    stage.ok(Command::Pause);
    stage.refused(open.clone(), "OTHER_STEP_FIRST");
    stage.refused(Command::Pause, "ALREADY_IN_PHASE");
    stage.ok(Command::Resume);
    stage.ok(Command::Close);
    stage.refused(Command::Close, "ALREADY_IN_PHASE");
    stage.refused(open, "EVENT_NOT_OPEN");
    stage.check_recovery();
}

#[test]
fn the_room_is_switched_only_while_nobody_is_in_it() {
    let mut stage = Stage::open(settings());
    let off = Command::ChangeSettings { settings: Box::new(Settings { room: None, ..settings() }) };
    stage.ok(crate::stage::join(1, "ann"));
    stage.refused(off.clone(), "SETTINGS_FIXED");
    stage.ok(crate::stage::leave(1, "ann"));
    stage.ok(off);
    stage.ok(hold_ga("b1", "ann", 1));
    stage.check_recovery();
}

#[test]
fn settings_that_cannot_change_any_more_are_refused() {
    let mut stage = Stage::flash();
    let dollars =
        Settings { currency: "USD".parse().expect("a currency"), room: None, ..settings() };
    stage.refused(Command::ChangeSettings { settings: Box::new(dollars) }, "SETTINGS_FIXED");
}

#[test]
fn a_tax_is_set_until_there_are_prices_and_then_it_stays() {
    let taxed = |rate_bp| {
        let tax = Some(Tax { name: "VAT".into(), rate_bp });
        let settings = Settings { tax, room: None, ..settings() };
        Command::ChangeSettings { settings: Box::new(settings) }
    };
    let mut stage = Stage::created(Settings { room: None, ..settings() });
    stage.refused(taxed(MAX_TAX_BP + 1), "INVALID_SETTINGS");
    for rate_bp in [0, MAX_TAX_BP, 1_900] {
        stage.ok(taxed(rate_bp));
    }
    let spec = PoolSpec { pool: "ga".parse().expect("an id"), capacity: 5, price_minor: 1_000 };
    stage.ok(Command::AddPool { spec });
    stage.ok(taxed(1_900));
    stage.refused(taxed(700), "SETTINGS_FIXED");
    stage.check_recovery();
}
