//! Choices that leave a free seat alone.

use crate::best::{any, hold_best, house_with, row};
use crate::stage::{Stage, hold, lines, release, settings};
use crate::types::{adult, set};
use onrush_core::best::{Best, Together};
use onrush_core::ids::SeatId;
use onrush_core::prices::Priced;
use onrush_core::settings::{Settings, SingleSeats};
use onrush_core::spec::{CategorySpec, SeatSpec};
use onrush_core::types::TicketType;
use onrush_core::{Command, Refusal, Reply};

/// The house of the best seats (row A of 6 with an aisle after the fourth, row B of 5, both of one
/// category; C and D of 3 in another), where single seats are refused.
fn house() -> Stage {
    house_with(strict())
}

fn strict() -> Settings {
    Settings { single_seats: SingleSeats::Refuse, max_per_user: None, ..settings() }
}

fn ids(seats: &[&str]) -> Vec<SeatId> {
    seats.iter().map(|seat| seat.parse().expect("an id")).collect()
}

/// Holds these seats, and lets go of them again if they were held.
#[track_caller]
fn refused(stage: &mut Stage, chosen: &[&str], alone: &[&str], instead: &[&str]) {
    let refusal = stage.run(hold("choice", "ann", lines(&[], chosen)));
    let (seats, instead) = (ids(alone), ids(instead));
    assert_eq!(refusal, Err(Refusal::LeavesSingleSeat { seats, instead }));
}

#[track_caller]
fn held(stage: &mut Stage, booking: &str, chosen: &[&str]) {
    stage.ok(hold(booking, "ann", lines(&[], chosen)));
}

#[test]
fn a_choice_that_leaves_a_seat_alone_is_refused_with_another_one() {
    let mut stage = house();
    refused(&mut stage, &["A2", "A3"], &["A1", "A4"], &["A1", "A2"]);
    refused(&mut stage, &["A1", "A2", "A3"], &["A4"], &["B1", "B2", "B3"]);
    refused(&mut stage, &["B2"], &["B1"], &["B1"]);
    refused(&mut stage, &["B4"], &["B5"], &["B3"]);
    refused(&mut stage, &["B1", "B3"], &["B2"], &["A1", "B3"]);
    assert_eq!(stage.free_seats(), 17, "a refusal changes nothing");
    held(&mut stage, "b1", &["A1", "A2"]);
    held(&mut stage, "b2", &["B1", "B2", "B3"]);
    stage.check_recovery();
}

/// Rows longer than the best seats are ever counted in.
#[test]
fn a_choice_of_more_seats_than_can_be_asked_for_as_the_best_is_looked_at_too() {
    let hall = |rows: &[(&'static str, u32)]| {
        let mut stage = Stage::created(Settings { room: None, ..strict() });
        let seats = rows.iter().flat_map(|(name, seats)| row("hall", name, *seats, 1)).collect();
        let categories = vec![CategorySpec { name: "hall".into(), price_minor: 100 }];
        stage.ok(Command::AddSeats { categories, seats });
        stage.ok(Command::OpenSale { seed: None, public_value: None });
        stage
    };
    let side_by_side = |row: &str, seats: std::ops::RangeInclusive<u32>| -> Vec<String> {
        seats.map(|number| format!("{row}{number}")).collect()
    };
    let names = |seats: &[String]| lines(&[], &seats.iter().map(|it| &**it).collect::<Vec<_>>());
    for (of_row, seats) in [(22, 21), (23, 22), (250, 249)] {
        let mut stage = hall(&[("P", of_row)]);
        let chosen = side_by_side("P", 2..=seats + 1);
        let held = stage.run(hold("b1", "ann", names(&chosen)));
        assert!(held.is_ok(), "{seats} of {of_row}: {held:?}");

        let mut stage = hall(&[("P", of_row), ("Q", seats)]);
        let refusal = stage.run(hold("b1", "ann", names(&chosen)));
        let instead = side_by_side("Q", 1..=seats);
        let instead = instead.iter().map(|seat| seat.parse().expect("an id")).collect();
        let expected = Refusal::LeavesSingleSeat { seats: ids(&["P1"]), instead };
        assert_eq!(refusal, Err(expected), "{seats} of {of_row}");
    }
}

#[test]
fn a_choice_that_cannot_help_it_is_held() {
    let mut stage = house();
    held(&mut stage, "b1", &["A1", "A2", "A3", "A4"]);
    held(&mut stage, "b2", &["B1", "B2", "B3"]);
    // Pairs are left: whoever comes alone leaves somebody alone.
    held(&mut stage, "b3", &["A5"]);
    refused(&mut stage, &["B4"], &["B5"], &["A6"]);
    held(&mut stage, "b4", &["A6"]);
    held(&mut stage, "b5", &["B5"]);
    // The other category is no help, and does not need any.
    refused(&mut stage, &["C2"], &["C1", "C3"], &["C1"]);
    held(&mut stage, "b6", &["C1", "D1", "D2", "D3"]);
    held(&mut stage, "b7", &["C3"]);
    stage.check_recovery();
}

#[test]
fn the_best_seats_leave_nobody_alone_where_they_need_not() {
    let mut stage = house();
    let seats = |stage: &mut Stage, booking: &str, best: Best| {
        let Reply::Hold(view) = stage.ok(hold_best(booking, "ann", best, None)) else {
            panic!("a hold is answered");
        };
        view.terms.lines.seats().iter().map(SeatId::as_str).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(seats(&mut stage, "b1", any(3)), "B1 B2 B3", "A would leave one alone");
    assert_eq!(seats(&mut stage, "b2", any(1)), "A1");
    assert_eq!(seats(&mut stage, "b3", any(1)), "A2");
    assert_eq!(seats(&mut stage, "b4", any(1)), "C1", "A and B have pairs left");
    assert_eq!(seats(&mut stage, "b5", any(3)), "D1 D2 D3");
    assert_eq!(seats(&mut stage, "b6", any(1)), "A3", "now it cannot be helped");
    assert_eq!(seats(&mut stage, "b7", any(1)), "A4");
    let prefer = Best::new(4, Together::Prefer).expect("a quantity");
    assert_eq!(seats(&mut stage, "b8", any(2)), "A5 A6");
    stage.refused(hold_best("b9", "ann", prefer, None), "NOT_TOGETHER");
    stage.check_recovery();
}

#[test]
fn what_is_named_beside_the_best_leaves_nobody_alone_either() {
    let mut stage = house();
    let beside = |seats: &[&str]| Some(lines(&[], seats));
    let refusal = stage.run(hold_best("b1", "ann", any(2), beside(&["B4"])));
    let (seats, instead) = (ids(&["B5"]), ids(&["A1", "A2", "B3"]));
    assert_eq!(refusal, Err(Refusal::LeavesSingleSeat { seats, instead }));
    let Reply::Hold(view) = stage.ok(hold_best("b1", "ann", any(2), beside(&["B5"]))) else {
        panic!("a hold is answered");
    };
    assert_eq!(view.terms.lines, lines(&[], &["A1", "A2", "B5"]));
    stage.check_recovery();
}

#[test]
fn a_first_choice_leaves_nobody_alone_either() {
    let mut stage = house();
    let rather = |seats: &[&str], beside| {
        let best = Best::new(seats.len() as u32, Together::Must).expect("a quantity");
        hold_best("b1", "ann", best.rather(ids(seats)).expect("as many"), beside)
    };
    let refusal = stage.run(rather(&["B3", "B4"], None));
    let (seats, instead) = (ids(&["B5"]), ids(&["B4", "B5"]));
    assert_eq!(refusal, Err(Refusal::LeavesSingleSeat { seats, instead }));
    let Reply::Hold(view) = stage.ok(rather(&["B2", "B3"], Some(lines(&[], &["B1"])))) else {
        panic!("a hold is answered");
    };
    assert_eq!(view.terms.lines, lines(&[], &["B1", "B2", "B3"]), "with B1 nobody is alone");
    stage.check_recovery();
}

#[test]
fn seats_that_the_rules_choose_are_theirs_although_they_were_a_first_choice_that_did_not_suit() {
    let mut stage = Stage::created(Settings { room: None, ..strict() });
    let of = |category: &'static str| move |seat| SeatSpec { category: category.into(), ..seat };
    let seats = row("S1", "A", 3, 1).map(of("X")).chain(row("S1", "B", 3, 1).map(of("Y")));
    let seats = seats.chain(row("S2", "C", 2, 1).map(of("X"))).collect();
    let price = |name: &str| CategorySpec { name: name.into(), price_minor: 100 };
    stage.ok(Command::AddSeats { categories: vec![price("X"), price("Y")], seats });
    stage.ok(Command::OpenSale { seed: None, public_value: None });
    let fours = TicketType { min: 4, ..adult() };
    stage.ok(set(Priced::Category("X".into()), vec![fours]));
    let best = Best::new(4, Together::Prefer).expect("a quantity");
    let best = best.within(vec![], vec!["S1".into()]).expect("names");
    let best = best.rather(ids(&["A1", "A2", "B1", "B2"])).expect("as many");
    // A3 would be alone, and C1 and C2 would not leave it so: that is said of named seats only.
    stage.refused(hold_best("b1", "ann", best, None), "TYPE_LIMIT");
}

#[test]
fn an_organiser_may_allow_single_seats_and_does_unless_told() {
    assert_eq!(settings().single_seats, SingleSeats::Allow);
    let mut stage = house_with(settings());
    held(&mut stage, "b1", &["A2", "A3"]);
    stage.ok(release("b1", "ann"));
    let strict = Settings { room: None, ..strict() };
    stage.ok(Command::ChangeSettings { settings: Box::new(strict) });
    refused(&mut stage, &["A2", "A3"], &["A1", "A4"], &["A1", "A2"]);
    stage.ok(hold("b2", "ann", lines(&[("ga", 2)], &["A1", "A2"])));
    stage.check_recovery();
}
