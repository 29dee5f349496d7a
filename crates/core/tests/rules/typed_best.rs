//! Ticket types of seats that are left to the rules.

use crate::best::{any, hold_best};
use crate::stage::{Stage, lines, settings};
use crate::types::{
    adult, amount, asked, category, child, house, of_best, seats_of, set, told, typed,
};
use onrush_core::best::{Best, Together};
use onrush_core::settings::Settings;
use onrush_core::spec::{Access, CategorySpec, SeatSpec};
use onrush_core::types::TicketType;
use onrush_core::{Command, Refusal};

#[test]
fn chosen_seats_are_of_the_types_in_the_order_of_their_ids() {
    let mut stage = house();
    stage.ok(typed(hold_best("b1", "ann", any(3), None), of_best(&[("child", 1)])));
    assert_eq!(seats_of(&stage, "b1"), "A1 A2 A3");
    assert_eq!(
        told(&stage, "b1"),
        "0: 1 adult at 8000, 1: 1 adult at 8000, 2: 1 child at 4000",
        "those of no named type come first"
    );
    let beside = Some(lines(&[("ga", 1)], &["C1"]));
    let types = asked(&[], &[("C1", "senior")], &[("adult", 1), ("child", 1)]);
    stage.ok(typed(hold_best("b2", "ann", any(2), beside), types));
    assert_eq!(seats_of(&stage, "b2"), "A5 A6 C1");
    assert_eq!(
        told(&stage, "b2"),
        "0: 1, 1: 1 adult at 8000, 2: 1 child at 4000, 3: 1 senior at 3000"
    );
    assert_eq!(amount(&stage, "b2"), 8_000 + 4_000 + 3_000);
    stage.check_recovery();
}

#[test]
fn the_best_seats_are_of_a_category_that_has_all_named_types() {
    let mut stage = house();
    stage.ok(typed(hold_best("b1", "ann", any(2), None), of_best(&[("senior", 1)])));
    assert_eq!(seats_of(&stage, "b1"), "C1 C2");
    let stalls = || any(2).within(vec!["stalls".into()], vec![]).expect("names");
    let refused =
        stage.run(typed(hold_best("b2", "ann", stalls(), None), of_best(&[("senior", 1)])));
    let senior = "senior".parse().expect("an id");
    let missing = Refusal::TypeNotFound { ticket_type: senior, of: category("stalls") };
    assert_eq!(refused, Err(missing));
    let first_choice = any(2).rather(vec!["A1".parse().unwrap(), "A2".parse().unwrap()]).unwrap();
    stage.ok(typed(hold_best("b3", "ann", first_choice, None), of_best(&[("senior", 1)])));
    assert_eq!(seats_of(&stage, "b3"), "D1 D2", "a first choice without the type cannot be had");
}

#[test]
fn the_best_seats_are_of_a_category_that_allows_so_many_of_each_type() {
    let mut stage = house();
    stage.ok(set(category("stalls"), vec![adult(), TicketType { max: Some(1), ..child() }]));
    let two = || of_best(&[("child", 2)]);
    stage.ok(typed(hold_best("b1", "ann", any(2), None), two()));
    assert_eq!(seats_of(&stage, "b1"), "C1 C2");
    let stalls = any(2).within(vec!["stalls".into()], vec![]).expect("names");
    stage.refused(typed(hold_best("b2", "ann", stalls, None), two()), "TYPE_LIMIT");
    // What is named beside them counts too.
    let beside = Some(lines(&[], &["A1"]));
    let types = asked(&[], &[("A1", "child")], &[("child", 1)]);
    stage.ok(typed(hold_best("b3", "ann", any(1), beside), types));
    assert_eq!(seats_of(&stage, "b3"), "A1 C3");
}

#[test]
fn a_first_choice_with_too_few_of_a_type_in_a_category_cannot_be_had() {
    let mut stage = house();
    stage.ok(set(category("stalls"), vec![adult(), TicketType { min: 2, ..child() }]));
    let wish = |booking, seats: [&str; 2]| {
        let seats = seats.map(|seat| seat.parse().expect("an id"));
        let rather = any(2).rather(seats.to_vec()).expect("seats");
        typed(hold_best(booking, "ann", rather, None), of_best(&[("child", 2)]))
    };
    stage.ok(wish("b1", ["A4", "C1"]));
    assert_eq!(seats_of(&stage, "b1"), "A1 A2");
    stage.ok(wish("b2", ["C1", "D1"]));
    assert_eq!(seats_of(&stage, "b2"), "C1 D1");
}

#[test]
fn groups_of_several_categories_have_the_limits_of_each() {
    let mut stage = Stage::created(Settings { room: None, ..settings() });
    let seat = |row: &str, number: u32| SeatSpec {
        seat: format!("{row}{number}").parse().expect("an id"),
        section: "stalls".into(),
        row: row.into(),
        number: number.to_string().into(),
        category: row.into(),
        rank: 0,
        aisle: false,
        access: Access::Anyone,
    };
    let seats = ["A", "B"].into_iter().flat_map(|row| [seat(row, 1), seat(row, 2)]).collect();
    let price = |name: &str| CategorySpec { name: name.into(), price_minor: 100 };
    stage.ok(Command::AddSeats { categories: vec![price("A"), price("B")], seats });
    stage.ok(Command::OpenSale { seed: None, public_value: None });
    let four = || Best::new(4, Together::Prefer).expect("a quantity");
    let wish = || typed(hold_best("b1", "ann", four(), None), of_best(&[("child", 4)]));
    stage.ok(set(category("A"), vec![adult(), child()]));
    stage.ok(set(category("B"), vec![adult(), TicketType { min: 3, ..child() }]));
    let (ticket_type, of) = ("child".parse().expect("an id"), category("B"));
    let two = Refusal::TypeLimit { ticket_type, of, min: 3, max: None, asked: 2 };
    assert_eq!(stage.run(wish()), Err(two));
    stage.ok(set(category("B"), vec![adult(), TicketType { min: 2, ..child() }]));
    stage.ok(wish());
}

#[test]
fn a_bound_on_the_price_is_one_on_the_dearest_type_of_the_chosen_seats() {
    let mut stage = house();
    let up_to = |most| any(2).up_to(Some(most)).expect("a price");
    stage.ok(typed(hold_best("b1", "ann", up_to(4_000), None), of_best(&[("child", 2)])));
    assert_eq!(seats_of(&stage, "b1"), "A1 A2");
    stage.ok(typed(hold_best("b2", "ann", up_to(4_000), None), of_best(&[("child", 1)])));
    assert_eq!(seats_of(&stage, "b2"), "C1 C2", "with an adult the stalls are too dear");
    stage.ok(set(category("stalls"), vec![child(), adult()]));
    stage.ok(typed(hold_best("b3", "ann", up_to(4_000), None), of_best(&[("adult", 1)])));
    assert_eq!(seats_of(&stage, "b3"), "D1 D2", "whichever of the types comes first");
    stage.ok(hold_best("b4", "ann", up_to(4_000), None));
    assert_eq!(seats_of(&stage, "b4"), "A3 A4");
}
