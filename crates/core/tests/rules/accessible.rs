//! Wheelchair places and their companions' seats.

use crate::best::hold_best;
use crate::stage::{Stage, begin, cancel, confirm, hold, lines, reason, release, settings};
use onrush_core::best::{Best, Together};
use onrush_core::ids::SeatId;
use onrush_core::settings::{Settings, SingleSeats};
use onrush_core::spec::{Access, CategorySpec, SeatSpec};
use onrush_core::{Command, Event, Refusal, Reply, Time};

/// A seat as its sign says: `.` anyone's, `W` a wheelchair place, `<` the companion of the place
/// before it, `>` of the one after it.
fn row(section: &str, row: &str, category: &str, rank: u32, drawn: &str) -> Vec<SeatSpec> {
    let id = |number: usize| format!("{row}{number}").parse().expect("an id");
    let seat = |(number, sign): (usize, char)| SeatSpec {
        seat: id(number),
        section: section.into(),
        row: row.into(),
        number: number.to_string().into(),
        category: category.into(),
        rank,
        aisle: false,
        access: match sign {
            'W' => Access::Wheelchair,
            '<' => Access::CompanionOf(id(number - 1)),
            '>' => Access::CompanionOf(id(number + 1)),
            _ => Access::Anyone,
        },
    };
    (1..).zip(drawn.chars()).map(seat).collect()
}

fn category(name: &str, price_minor: i64) -> CategorySpec {
    CategorySpec { name: name.into(), price_minor }
}

/// Stalls: A `..W<..` (rank 1) and B `>WW<..` (rank 2). Balcony, cheaper: C `W<<...`, where a
/// companion has two seats (rank 9).
fn house_with(settings: Settings) -> Stage {
    let mut stage = Stage::created(Settings { room: None, max_per_user: None, ..settings });
    let mut seats = row("stalls", "A", "stalls", 1, "..W<..");
    seats.extend(row("stalls", "B", "stalls", 2, ">WW<.."));
    let mut balcony = row("balcony", "C", "balcony", 9, "W<<...");
    balcony[2].access = Access::CompanionOf("C1".parse().expect("an id"));
    seats.extend(balcony);
    let categories = vec![category("stalls", 8_000), category("balcony", 3_000)];
    stage.ok(Command::AddSeats { categories, seats });
    stage.ok(Command::OpenSale { seed: None, public_value: None });
    stage
}

fn house() -> Stage {
    house_with(settings())
}

fn best(quantity: u32, accessible: u32) -> Best {
    let best = Best::new(quantity, Together::Must).expect("a quantity");
    best.with_accessible(accessible).expect("at most the quantity")
}

#[track_caller]
fn seats(stage: &mut Stage, booking: &str, best: Best) -> String {
    let Reply::Hold(view) = stage.ok(hold_best(booking, "ann", best, None)) else {
        panic!("a hold is answered");
    };
    let seats: Vec<&str> = view.terms.lines.seats().iter().map(SeatId::as_str).collect();
    seats.join(" ")
}

#[test]
fn the_best_seats_are_no_wheelchair_places_unless_they_are_asked_for() {
    let mut stage = house();
    assert_eq!(seats(&mut stage, "b1", best(2, 0)), "A1 A2");
    assert_eq!(seats(&mut stage, "b2", best(2, 0)), "A5 A6");
    assert_eq!(seats(&mut stage, "b3", best(2, 0)), "B5 B6");
    assert_eq!(seats(&mut stage, "b4", best(3, 0)), "C4 C5 C6");
    let refusal = stage.run(hold_best("b5", "ann", best(1, 0), None));
    assert_eq!(refusal, Err(Refusal::TooFewSeats { free: 0 }));
    assert_eq!(seats(&mut stage, "b5", best(1, 1)), "A3", "a companion need not come");
    stage.check_recovery();
}

#[test]
fn places_come_with_companions_seats_of_theirs() {
    let mut stage = house();
    assert_eq!(seats(&mut stage, "b1", best(2, 1)), "A3 A4");
    assert_eq!(seats(&mut stage, "b2", best(3, 1)), "C1 C2 C3", "the only one with two companions");
    assert_eq!(seats(&mut stage, "b3", best(3, 2)), "B1 B2 B3");
    stage.ok(release("b3", "ann"));
    assert_eq!(seats(&mut stage, "b4", best(4, 2)), "B1 B2 B3 B4");
    let none = stage.run(hold_best("b5", "ann", best(1, 1), None));
    assert_eq!(none, Err(Refusal::TooFewAccessible { free: 0 }));
    stage.check_recovery();
}

#[test]
fn a_refusal_tells_what_places_there_are() {
    let mut stage = house();
    let refusal = stage.run(hold_best("b1", "ann", best(5, 1), None));
    assert_eq!(refusal, Err(Refusal::NotTogether { longest: 3, free: 9 }));
    let refusal = stage.run(hold_best("b1", "ann", best(6, 5), None));
    assert_eq!(refusal, Err(Refusal::TooFewAccessible { free: 4 }));
    // Three places of the stalls follow each other; the fourth is in another section.
    let refusal = stage.run(hold_best("b1", "ann", best(4, 4), None));
    assert_eq!(refusal, Err(Refusal::NotTogether { longest: 0, free: 9 }));
    assert_eq!(seats(&mut stage, "b1", best(3, 3)), "A3 B2 B3");
    let cheap = best(1, 1).up_to(Some(3_000)).expect("a price");
    assert_eq!(seats(&mut stage, "b2", cheap.clone()), "C1");
    let refusal = stage.run(hold_best("b3", "ann", cheap, None));
    assert_eq!(refusal, Err(Refusal::TooFewAccessible { free: 0 }));
    assert!(Best::new(1, Together::Must).expect("a quantity").with_accessible(2).is_err());
}

/// Looked at once for each place, the seats that are kept took seconds, on the thread that decides for all.
#[test]
fn a_house_of_wheelchair_places_refuses_at_once() {
    let rows =
        (0..200).flat_map(|nth| row("stalls", &format!("R{nth}-"), "stalls", 1, &"W<".repeat(100)));
    let seats: Vec<SeatSpec> = rows.collect();
    assert_eq!(seats.len(), 40_000);
    let settings = Settings { room: None, max_per_user: None, ..settings() };
    // Only the rules are asked: whatever follows a stage need not take so large a plan.
    let (now, mut event) = (Time(1), Event::new("show".parse().expect("an id")));
    for command in [
        Command::CreateEvent { settings: Box::new(settings) },
        Command::AddSeats { categories: vec![category("stalls", 8_000)], seats },
        Command::OpenSale { seed: None, public_value: None },
    ] {
        let decision = event.decide(now, &command).expect("it is accepted");
        for change in decision.changes {
            event.evolve(now, &change);
        }
    }
    for (order, refusal) in [
        (best(3, 1), Refusal::NotTogether { longest: 2, free: 40_000 }),
        (best(20, 8), Refusal::NotTogether { longest: 16, free: 40_000 }),
        (best(1, 1).up_to(Some(1)).expect("a price"), Refusal::TooFewAccessible { free: 0 }),
    ] {
        let decision = event.decide(now, &hold_best("b1", "ann", order, None));
        assert_eq!(decision.map(|decision| decision.reply), Err(refusal));
    }
}

#[test]
fn categories_and_sections_are_those_of_the_places() {
    let mut stage = house();
    let boxed = |name: &str| vec![Box::from(name)];
    let of = |categories, sections| best(2, 1).within(categories, sections).expect("names");
    assert_eq!(seats(&mut stage, "b1", of(boxed("balcony"), vec![])), "C1 C2");
    assert_eq!(seats(&mut stage, "b2", of(vec![], boxed("stalls"))), "A3 A4");
    let refused = hold_best("b3", "ann", of(vec![], boxed("balcony")), None);
    assert_eq!(stage.run(refused), Err(Refusal::TooFewAccessible { free: 0 }));
    // A place and a companion that are named beside are not chosen once more.
    let beside = Some(lines(&[], &["B2", "B1"]));
    let Reply::Hold(view) = stage.ok(hold_best("b3", "ann", best(2, 1), beside)) else {
        panic!("a hold is answered");
    };
    assert_eq!(view.terms.lines, lines(&[], &["B1", "B2", "B3", "B4"]));
    stage.check_recovery();
}

#[test]
fn a_companion_comes_with_the_place_or_not_at_all() {
    let mut stage = house();
    let alone = |seats: &[&str]| Refusal::CompanionAlone {
        seats: seats.iter().map(|seat| seat.parse().expect("an id")).collect(),
    };
    let refusal = stage.run(hold("b1", "ann", lines(&[], &["A4", "A5"])));
    assert_eq!(refusal, Err(alone(&["A4"])));
    let refusal = stage.run(hold("b1", "ann", lines(&[], &["B1", "B3", "C2", "C3"])));
    assert_eq!(refusal, Err(alone(&["B1", "C2", "C3"])), "these are no places of theirs");
    let beside = Some(lines(&[], &["A4"]));
    let refusal = stage.run(hold_best("b1", "ann", best(1, 1), beside));
    assert_eq!(refusal, Err(alone(&["A4"])), "whichever place would be the best");
    assert_eq!(stage.free_seats(), 18, "a refusal changes nothing");
    stage.ok(hold("b1", "ann", lines(&[], &["A3", "A4"])));
    stage.ok(hold("b2", "ann", lines(&[], &["B2"])));
    stage.check_recovery();
}

#[test]
fn a_plan_has_the_place_of_each_companion() {
    let mut stage = Stage::created(Settings { room: None, ..settings() });
    for drawn in [">.", ".<", "><"] {
        let categories = vec![category("stalls", 8_000)];
        let seats = row("stalls", "A", "stalls", 1, drawn);
        stage.refused(Command::AddSeats { categories, seats }, "INVALID_SETTINGS");
    }
    let categories = vec![category("stalls", 8_000)];
    stage.ok(Command::AddSeats { categories, seats: row("stalls", "A", "stalls", 1, ">W<") });
    // A companion's place is of the same plan, not of an earlier one.
    let mut more = row("stalls", "B", "stalls", 1, "W<");
    more[1].access = Access::CompanionOf("A2".parse().expect("an id"));
    let more = Command::AddSeats { categories: vec![], seats: more };
    stage.refused(more, "INVALID_SETTINGS");
    stage.check_recovery();
}

#[test]
fn single_seats_are_none_of_a_wheelchair_places_business() {
    let mut stage = house_with(Settings { single_seats: SingleSeats::Refuse, ..settings() });
    // A2 has A1 and no place beside it; who takes a place leaves nobody alone.
    stage.ok(hold("b1", "ann", lines(&[], &["A3", "A4", "A1", "A2"])));
    stage.refused(hold("b2", "ann", lines(&[], &["C5"])), "LEAVES_SINGLE_SEAT");
    stage.ok(hold("b2", "ann", lines(&[], &["C1"])));
    assert_eq!(seats(&mut stage, "b3", best(1, 0)), "C4");
    stage.check_recovery();
}

/// Buys these seats, as a booking of this id.
#[track_caller]
fn buy(stage: &mut Stage, booking: &str, seats: &[&str]) {
    stage.ok(hold(booking, "ann", lines(&[], seats)));
    stage.ok(begin(booking, "ann", booking));
    stage.ok(confirm(booking, "ann", Some(booking)));
}

#[test]
fn a_companions_seat_is_anybodys_once_its_place_is_sold_without_it() {
    let mut stage = house();
    let companion = || hold("b2", "bob", lines(&[], &["A4"]));
    stage.ok(hold("b1", "ann", lines(&[], &["A3"])));
    stage.refused(companion(), "COMPANION_ALONE");
    stage.ok(begin("b1", "ann", "p1"));
    stage.refused(companion(), "COMPANION_ALONE");
    stage.ok(confirm("b1", "ann", Some("p1")));
    stage.check_recovery();
    assert_eq!(seats(&mut stage, "b3", best(3, 0)), "A4 A5 A6", "and found like any other");
    stage.ok(release("b3", "ann"));
    let rather = best(1, 0).rather(vec!["A4".parse().expect("an id")]).expect("one seat");
    assert_eq!(seats(&mut stage, "b4", rather), "A4");
    stage.ok(release("b4", "ann"));
    stage.ok(companion());
    stage.refused(hold("b5", "ann", lines(&[], &["A3", "A4"])), "SEAT_UNAVAILABLE");
    stage.check_recovery();
}

#[test]
fn a_companions_seat_is_kept_again_once_its_place_is_given_back() {
    let mut stage = house();
    buy(&mut stage, "b1", &["A3"]);
    stage.ok(cancel("b1", None));
    stage.refused(hold("b2", "bob", lines(&[], &["A4"])), "COMPANION_ALONE");
    assert_eq!(seats(&mut stage, "b3", best(2, 0)), "A1 A2");
    assert_eq!(seats(&mut stage, "b4", best(2, 0)), "A5 A6");
    assert_eq!(seats(&mut stage, "b5", best(2, 1)), "A3 A4");
    stage.check_recovery();
}

#[test]
fn a_place_that_is_given_back_after_its_companions_seat_was_taken_has_none() {
    let mut stage = house();
    buy(&mut stage, "b1", &["A3"]);
    stage.ok(hold("b2", "ann", lines(&[], &["A4"])));
    stage.ok(cancel("b1", None));
    stage.check_recovery();
    assert_eq!(seats(&mut stage, "b3", best(2, 1)), "B1 B2", "the place of row A has no companion");
    assert_eq!(seats(&mut stage, "b4", best(1, 1)), "A3");
    stage.ok(begin("b2", "ann", "p2"));
    stage.ok(confirm("b2", "ann", Some("p2")));
    stage.ok(cancel("b2", None));
    stage.refused(hold("b5", "bob", lines(&[], &["A4"])), "COMPANION_ALONE");
    stage.check_recovery();
}

#[test]
fn each_companions_seat_follows_its_own_place() {
    let mut stage = house();
    buy(&mut stage, "b1", &["C1", "C2"]);
    buy(&mut stage, "b2", &["C3"]);
    // B1 stands before its place in the plan, and belongs to B2; B4 belongs to B3.
    buy(&mut stage, "b3", &["B2"]);
    stage.refused(hold("b4", "bob", lines(&[], &["B4"])), "COMPANION_ALONE");
    stage.ok(hold("b4", "bob", lines(&[], &["B1"])));
    stage.check_recovery();
    stage.ok(cancel("b1", None));
    assert_eq!(seats(&mut stage, "b5", best(2, 1).up_to(Some(3_000)).expect("a price")), "C1 C2");
    stage.check_recovery();
}

#[test]
fn a_companions_seat_stays_kept_while_its_place_is_blocked() {
    let mut stage = house();
    stage.ok(Command::Block { lines: lines(&[], &["A3"]), reason: reason() });
    stage.refused(hold("b1", "ann", lines(&[], &["A4"])), "COMPANION_ALONE");
    assert_eq!(seats(&mut stage, "b1", best(2, 1)), "B1 B2");
    stage.ok(Command::Unblock { lines: lines(&[], &["A3"]), reason: reason() });
    assert_eq!(seats(&mut stage, "b2", best(2, 1)), "A3 A4");
    stage.check_recovery();
}

#[test]
fn a_companions_seat_that_is_anybodys_is_no_exception_of_single_seats() {
    let mut stage = house_with(Settings { single_seats: SingleSeats::Refuse, ..settings() });
    stage.ok(hold("b1", "bob", lines(&[], &["A5", "A6"])));
    stage.ok(release("b1", "bob"));
    buy(&mut stage, "b2", &["A3"]);
    stage.refused(hold("b3", "bob", lines(&[], &["A5", "A6"])), "LEAVES_SINGLE_SEAT");
    stage.ok(hold("b3", "bob", lines(&[], &["A4"])));
    stage.check_recovery();
}

#[test]
fn late_money_buys_a_companions_seat_that_was_anybodys_when_it_was_held() {
    let mut stage = house();
    buy(&mut stage, "b1", &["A3"]);
    stage.ok(hold("b2", "bob", lines(&[], &["A4"])));
    stage.ok(begin("b2", "bob", "p2"));
    stage.pass_ms(3_600_000);
    assert_eq!(stage.status("b2"), "expired");
    stage.ok(cancel("b1", None));
    stage.refused(hold("b3", "cy", lines(&[], &["A4"])), "COMPANION_ALONE");
    stage.ok(confirm("b2", "bob", Some("p2")));
    assert_eq!(stage.status("b2"), "confirmed");
    stage.check_recovery();
}
