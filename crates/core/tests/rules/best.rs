//! Holds that leave seats to the rules.

use crate::stage::{Stage, booking_id, confirm, hold, lines, release, settings};
use onrush_core::best::{Best, BestOrder, Together};
use onrush_core::hold::HoldStatus;
use onrush_core::ids::SeatId;
use onrush_core::lines::Lines;
use onrush_core::settings::Settings;
use onrush_core::spec::{Access, CategorySpec, SeatSpec};
use onrush_core::{Command, Refusal, Reply};
use std::sync::Arc;

/// A house of two sections. Stalls: row A of 6 with an aisle after the fourth (rank 1), row B of 5
/// (rank 2). Balcony: rows C and D of 3 (rank 9), cheaper.
fn house() -> Stage {
    house_with(settings())
}

/// The seats of one row, with an aisle after the fourth of row A, of a category named as the section.
pub(crate) fn row(
    section: &'static str,
    row: &'static str,
    seats: u32,
    rank: u32,
) -> impl Iterator<Item = SeatSpec> {
    (1..=seats).map(move |number| SeatSpec {
        seat: format!("{row}{number}").parse().expect("an id"),
        section: section.into(),
        row: row.into(),
        number: number.to_string().into(),
        category: section.into(),
        rank,
        aisle: row == "A" && number == 4,
        access: Access::Anyone,
    })
}

pub(crate) fn house_with(settings: Settings) -> Stage {
    let mut stage = Stage::created(Settings { room: None, ..settings });
    let stalls = row("stalls", "A", 6, 1).chain(row("stalls", "B", 5, 2));
    let balcony = row("balcony", "C", 3, 9).chain(row("balcony", "D", 3, 9));
    let price = |name: &str, price_minor| CategorySpec { name: name.into(), price_minor };
    let categories = vec![price("stalls", 8_000), price("balcony", 3_000)];
    stage.ok(Command::AddSeats { categories, seats: stalls.chain(balcony).collect() });
    stage.ok(Command::AddPool {
        spec: onrush_core::spec::PoolSpec {
            pool: "ga".parse().expect("an id"),
            capacity: 10,
            price_minor: 0,
        },
    });
    stage.ok(Command::OpenSale { seed: None, public_value: None });
    stage
}

pub(crate) fn any(quantity: u32) -> Best {
    Best::new(quantity, Together::Must).expect("a quantity")
}

fn of(quantity: u32, categories: &[&str], sections: &[&str]) -> Best {
    let boxed = |names: &[&str]| names.iter().map(|name| Box::from(*name)).collect();
    any(quantity).within(boxed(categories), boxed(sections)).expect("names")
}

pub(crate) fn hold_best(booking: &str, user: &str, best: Best, beside: Option<Lines>) -> Command {
    Command::HoldBest {
        booking: booking_id(booking),
        user: user.parse().expect("an id"),
        order: Arc::new(BestOrder::new(best, beside).expect("an order")),
        channels: Vec::new(),
        types: Default::default(),
    }
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
fn the_best_rank_comes_first_and_nobody_is_left_single() {
    let mut stage = house();
    assert_eq!(seats(&mut stage, "b1", any(2)), "A1 A2", "the better row, without single seats");
    assert_eq!(seats(&mut stage, "b2", any(2)), "A3 A4", "of equals, what was added first");
    assert_eq!(seats(&mut stage, "b3", any(1)), "A5", "a better rank counts for more than singles");
    assert_eq!(seats(&mut stage, "b4", any(1)), "A6");
    assert_eq!(seats(&mut stage, "b5", any(2)), "B1 B2", "the longest run stays");
    assert_eq!(
        seats(&mut stage, "b6", any(2)),
        "B3 B4",
        "a better rank counts for more than singles"
    );
    assert_eq!(seats(&mut stage, "b7", of(2, &["balcony"], &[])), "C1 C2");
    stage.check_recovery();
}

#[test]
fn what_comes_back_is_taken_again() {
    let mut stage = house();
    assert_eq!(seats(&mut stage, "b1", any(4)), "A1 A2 A3 A4");
    assert_eq!(seats(&mut stage, "b2", any(4)), "B1 B2 B3 B4");
    stage.ok(release("b1", "ann"));
    assert_eq!(seats(&mut stage, "b3", any(4)), "A1 A2 A3 A4");
    stage.ok(release("b2", "ann"));
    stage.ok(hold("b4", "bob", lines(&[], &["B3"])));
    assert_eq!(seats(&mut stage, "b5", any(2)), "A5 A6");
    assert_eq!(seats(&mut stage, "b6", any(2)), "B1 B2");
    stage.check_recovery();
}

#[test]
fn seats_are_of_the_categories_sections_and_prices_that_were_asked_for() {
    let mut stage = house();
    assert_eq!(seats(&mut stage, "b1", of(2, &["balcony"], &[])), "C1 C2");
    assert_eq!(seats(&mut stage, "b2", of(3, &[], &["balcony"])), "D1 D2 D3");
    let cheap = any(1).up_to(Some(3_000)).expect("a price");
    assert_eq!(seats(&mut stage, "b3", cheap.clone()), "C3");
    assert_eq!(
        stage.run(hold_best("b4", "ann", cheap, None)),
        Err(Refusal::TooFewSeats { free: 0 })
    );
    stage.refused(hold_best("b4", "ann", of(1, &["royal"], &[]), None), "CATEGORY_NOT_FOUND");
    stage.refused(hold_best("b4", "ann", of(1, &[], &["royal"]), None), "SECTION_NOT_FOUND");
    let neither = of(1, &["balcony"], &["stalls"]);
    stage.refused(hold_best("b4", "ann", neither, None), "TOO_FEW_SEATS");
}

#[test]
fn a_first_choice_is_taken_as_long_as_all_of_it_can_be_had() {
    let mut stage = house();
    assert_eq!(seats(&mut stage, "b1", rather(2, &["B3", "B2"])), "B2 B3", "not the best ones");
    assert_eq!(seats(&mut stage, "b2", rather(2, &["B3", "B4"])), "A1 A2", "B3 is gone");
    assert_eq!(seats(&mut stage, "b3", rather(2, &["C1", "D3"])), "C1 D3", "apart, if so chosen");
    let beside = |id: &str| Some(lines(&[], &[id]));
    let Reply::Hold(view) =
        stage.ok(hold_best("b4", "ann", rather(2, &["A3", "A4"]), beside("A4")))
    else {
        panic!("a hold is answered");
    };
    assert_eq!(view.terms.lines, lines(&[], &["A4", "A5", "A6"]), "A4 is named beside");
    stage.check_recovery();
}

#[test]
fn a_first_choice_is_of_the_categories_sections_and_prices_asked_for() {
    let mut stage = house();
    let first = |best: Best, id: &str| best.rather(seat_ids(&[id])).expect("one seat");
    assert_eq!(seats(&mut stage, "b1", first(of(1, &["balcony"], &[]), "B3")), "C1");
    assert_eq!(seats(&mut stage, "b2", first(of(1, &[], &["balcony"]), "B3")), "D1");
    let cheap = any(1).up_to(Some(3_000)).expect("a price");
    assert_eq!(seats(&mut stage, "b3", first(cheap.clone(), "B3")), "C2");
    assert_eq!(seats(&mut stage, "b4", first(cheap, "D2")), "D2");
    stage.refused(hold_best("b5", "ann", rather(1, &["Z9"]), None), "SEAT_NOT_FOUND");
    stage.ok(hold_best("b6", "ann", rather(1, &["B1"]), None));
    stage.refused(hold_best("b6", "ann", any(1), None), "BOOKING_MISMATCH");
    stage.check_recovery();
}

#[test]
fn a_first_choice_is_as_many_different_seats_as_are_asked_for() {
    for wrong in [&["A1"][..], &["A1", "A1"], &["A1", "A2", "A3"]] {
        let refusal = any(2).rather(seat_ids(wrong)).expect_err("two different ones");
        assert_eq!(refusal.code(), "INVALID_LINES");
    }
    let accessible = any(2).with_accessible(1).expect("one of two");
    assert!(accessible.rather(seat_ids(&["A1", "A2"])).is_err());
    assert_eq!(rather(2, &["A2", "A1"]), rather(2, &["A1", "A2"]), "in whatever order");
    assert_eq!(any(2).rather(Vec::new()), Ok(any(2)));
}

#[test]
fn a_refusal_tells_what_would_fit() {
    let mut stage = house();
    let refusal = stage.run(hold_best("b1", "ann", any(6), None)).expect_err("no row has six");
    assert_eq!(refusal, Refusal::NotTogether { longest: 5, free: 17 });
    let refusal = stage.run(hold_best("b1", "ann", any(18), None)).expect_err("there are 17");
    assert_eq!(refusal, Refusal::TooFewSeats { free: 17 });
    let beside = Some(lines(&[], &["B3"]));
    let refusal = stage.run(hold_best("b1", "ann", any(5), beside)).expect_err("B3 is named");
    assert_eq!(refusal, Refusal::NotTogether { longest: 4, free: 16 });
}

#[test]
fn who_cannot_sit_together_sits_in_few_groups_of_one_section() {
    let mut stage = house();
    let prefer = |quantity| Best::new(quantity, Together::Prefer).expect("a quantity");
    assert_eq!(seats(&mut stage, "b1", prefer(4)), "A1 A2 A3 A4", "together if that can be");
    assert_eq!(seats(&mut stage, "b2", prefer(7)), "A5 A6 B1 B2 B3 B4 B5");
    assert_eq!(seats(&mut stage, "b3", prefer(5)), "C1 C2 C3 D1 D2");
    stage.refused(hold_best("b4", "ann", prefer(2), None), "TOO_FEW_SEATS");
    stage.ok(release("b1", "ann"));
    stage.ok(hold("b5", "bob", lines(&[], &["A2"])));
    let refusal = stage.run(hold_best("b6", "ann", prefer(3), None)).expect_err("A1, A3 and A4");
    assert_eq!(refusal, Refusal::NotTogether { longest: 2, free: 4 });
}

#[test]
fn what_is_named_beside_is_held_with_it_or_nothing_is() {
    let mut stage = house();
    let beside = |pools: &[(&str, u32)], seats: &[&str]| Some(lines(pools, seats));
    let Reply::Hold(view) = stage.ok(hold_best("b1", "ann", any(2), beside(&[("ga", 3)], &["A1"])))
    else {
        panic!("a hold is answered");
    };
    assert_eq!(view.terms.lines, lines(&[("ga", 3)], &["A1", "A5", "A6"]));
    assert_eq!(view.terms.amount_minor, 3 * 8_000);
    for (beside, code) in [
        (beside(&[("ga", 8)], &[]), "INSUFFICIENT_STOCK"),
        (beside(&[], &["A1"]), "SEAT_UNAVAILABLE"),
        (beside(&[], &["Z1"]), "SEAT_NOT_FOUND"),
        (beside(&[("vip", 1)], &[]), "ZONE_NOT_FOUND"),
    ] {
        stage.refused(hold_best("b2", "ann", any(2), beside), code);
    }
    stage.refused(hold_best("b2", "ann", any(6), beside(&[("ga", 1)], &[])), "NOT_TOGETHER");
    assert_eq!((stage.free("ga"), stage.free_seats()), (7, 14));
    stage.check_recovery();
}

#[test]
fn the_same_key_has_the_same_seats() {
    let mut stage = house();
    let first = stage.ok(hold_best("b1", "ann", any(2), None));
    stage.ok(hold("b2", "bob", lines(&[], &["B1"])));
    assert_eq!(stage.ok(hold_best("b1", "ann", any(2), None)), first);
    for other in [
        hold_best("b1", "ann", any(3), None),
        hold_best("b1", "ann", any(2), Some(lines(&[("ga", 1)], &[]))),
        hold_best("b1", "ann", of(2, &["stalls"], &[]), None),
        hold_best("b1", "bob", any(2), None),
        hold("b1", "ann", lines(&[], &["A1", "A2"])),
        hold_best("b2", "bob", any(1), None),
    ] {
        stage.refused(other, "BOOKING_MISMATCH");
    }
    stage.ok(release("b1", "ann"));
    let Reply::Hold(again) = stage.ok(hold_best("b1", "ann", any(2), None)) else {
        panic!("a hold is answered");
    };
    assert_eq!(again.state.status(), HoldStatus::Released, "the key stays with its booking");
    stage.check_recovery();
}

#[test]
fn limits_count_all_units() {
    let mut stage = house_with(Settings { max_per_user: Some(4), ..settings() });
    stage.ok(hold_best("b1", "ann", any(2), Some(lines(&[("ga", 1)], &[]))));
    stage.refused(hold_best("b2", "ann", any(2), None), "USER_LIMIT_EXCEEDED");
    assert_eq!(seats(&mut stage, "b3", any(1)), "A3");
    stage.refused(hold_best("b4", "ann", any(1), None), "USER_LIMIT_EXCEEDED");
}

#[test]
fn a_booking_of_the_best_is_paid_and_confirmed_like_any_other() {
    let mut stage = house();
    stage.ok(hold_best("b1", "ann", any(2), None));
    stage.refused(confirm("b1", "ann", None), "PAYMENT_REQUIRED");
    stage.ok(crate::stage::begin("b1", "ann", "p1"));
    stage.ok(confirm("b1", "ann", Some("p1")));
    assert_eq!(stage.status("b1"), "confirmed");
    stage.check_recovery();
}

fn rather(quantity: u32, ids: &[&str]) -> Best {
    any(quantity).rather(seat_ids(ids)).expect("as many seats")
}

fn seat_ids(ids: &[&str]) -> Vec<SeatId> {
    ids.iter().map(|id| id.parse().expect("an id")).collect()
}

#[test]
fn wishes_are_checked_and_compare_by_what_they_say() {
    let boxed = |names: &[&str]| names.iter().map(|name| Box::from(*name)).collect::<Vec<_>>();
    assert_eq!(of(2, &["b", "a", "b"], &[]), of(2, &["a", "b"], &[]));
    for quantity in [0, 21] {
        let refusal = Best::new(quantity, Together::Must).expect_err("out of range");
        assert_eq!(refusal.code(), "INVALID_LINES");
    }
    let many: Vec<Box<str>> = (0..101).map(|n| n.to_string().into()).collect();
    assert!(any(1).within(many.clone(), vec![]).is_err());
    assert!(any(1).within(vec![], many).is_err());
    assert!(any(1).within(boxed(&[&"x".repeat(501)]), vec![]).is_err());
    assert!(any(1).up_to(Some(-1)).is_err());
    let all = lines(&[("ga", 990)], &[]);
    assert!(BestOrder::new(any(11), Some(all.clone())).is_err());
    assert!(BestOrder::new(any(10), Some(all)).is_ok());

    let order = BestOrder::new(of(2, &["a"], &[]), Some(lines(&[("ga", 1)], &[]))).expect("one");
    let text = r#"{"best":{"quantity":2,"categories":["a"],"together":"must"},"beside":{"pools":{"ga":1}}}"#;
    assert_eq!(serde_json::to_string(&order).expect("JSON"), text);
    assert_eq!(serde_json::from_str::<BestOrder>(text).expect("an order"), order);
    for wrong in [
        r#"{"best":{"quantity":0}}"#,
        r#"{"best":{"quantity":1,"row":"A"}}"#,
        r#"{"best":{"quantity":1},"beside":{}}"#,
    ] {
        assert!(serde_json::from_str::<BestOrder>(wrong).is_err(), "{wrong} is not taken");
    }
}

/// Runs of seats whose numbers follow each other.
fn groups(seats: &[SeatId]) -> usize {
    let number = |seat: &SeatId| seat.as_str()[1..].parse::<u32>().expect("a number");
    let mut numbers: Vec<u32> = seats.iter().map(number).collect();
    numbers.sort_unstable();
    1 + numbers.windows(2).filter(|pair| pair[0] + 1 != pair[1]).count()
}

/// Four hundred orders in a house of six rows that differ in ranks and aisles, some of which are given
/// back: whoever follows the rules must choose the same each time.
#[test]
fn a_house_fills_and_empties() {
    let mut stage = Stage::created(Settings { room: None, ..settings() });
    let seats = (0..72_u32).map(|n| SeatSpec {
        seat: format!("s{n}").parse().expect("an id"),
        section: if n < 48 { "left" } else { "right, far" }.into(),
        row: (n / 12).to_string().into(),
        number: (n % 12 + 1).to_string().into(),
        category: if n % 12 < 9 { "near" } else { "side" }.into(),
        rank: n / 24 * 10 + n.abs_diff(30) % 3,
        aisle: n % 12 == 3 && n < 36,
        access: Access::Anyone,
    });
    let price = |name: &str| CategorySpec { name: name.into(), price_minor: 0 };
    let (categories, seats) = (vec![price("near"), price("side")], seats.collect());
    stage.ok(Command::AddSeats { categories, seats });
    stage.ok(Command::OpenSale { seed: None, public_value: None });
    let (mut held, mut refused, mut apart) = (Vec::new(), 0, 0);
    // Nobody gives back more than is remembered of them.
    let who = |n: u32| ["ann", "bob", "cy", "dee", "eve"][n as usize % 5];
    for n in 0..400_u32 {
        // Any numbers that look drawn will do.
        let drawn = n.wrapping_mul(2_654_435_761) >> 7;
        let together = if drawn % 2 == 0 { Together::Prefer } else { Together::Must };
        let best = Best::new(1 + drawn / 2 % 9, together).expect("a quantity");
        let best = match drawn / 18 % 7 {
            0 => best.within(vec!["side".into()], vec![]).expect("names"),
            1 => best.within(vec![], vec!["right, far".into()]).expect("names"),
            _ => best,
        };
        match stage.run(hold_best(&format!("b{n}"), who(n), best, None)) {
            Ok(Reply::Hold(view)) => {
                held.push(n);
                apart += u32::from(groups(view.terms.lines.seats()) > 1);
            }
            Ok(reply) => panic!("a hold is answered by {reply:?}"),
            Err(_) => refused += 1,
        }
        if n % 3 == 2 && !held.is_empty() {
            let back = held.remove(drawn as usize % held.len());
            stage.ok(release(&format!("b{back}"), who(back)));
        }
    }
    assert!(refused > 20 && held.len() > 10, "{refused} refused, {} held", held.len());
    assert!(apart > 10, "{apart} sit in groups");
    stage.check_recovery();
}

#[test]
fn a_rank_has_an_end() {
    let mut stage = Stage::created(settings());
    let seat = |rank| SeatSpec {
        seat: "A1".parse().expect("an id"),
        section: "".into(),
        row: "".into(),
        number: "".into(),
        category: "all".into(),
        rank,
        aisle: false,
        access: Access::Anyone,
    };
    let add = |rank| Command::AddSeats {
        categories: vec![CategorySpec { name: "all".into(), price_minor: 0 }],
        seats: vec![seat(rank)],
    };
    stage.refused(add(1_000_001), "INVALID_SETTINGS");
    stage.ok(add(1_000_000));
}
