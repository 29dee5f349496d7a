//! Ticket types: what units are bought as, for how much, and how many of each.

use crate::best::{any, hold_best, house_with};
use crate::stage::{Stage, booking_id, cancel, confirm, hold, hold_ga, lines, reason, settings};
use onrush_core::change::{Change, HoldChange, SetupChange};
use onrush_core::ids::SeatId;
use onrush_core::prices::{PriceStep, Priced};
use onrush_core::question::AvailabilityNow;
use onrush_core::settings::{Fees, RefundRule, Settings};
use onrush_core::types::{AskedTypes, HeldType, TicketType, TypeCounts, TypePrice, TypeView};
use onrush_core::view::AvailabilityView;
use onrush_core::{Command, Event, Refusal, Time};
use serde_json::json;

/// An open sale of ga and stalls at 1,000 each, without fees. Both have adults, and children at half the
/// price who show a proof; ga has groups of 3 to 5 at 200 less, too.
fn sale() -> Stage {
    sale_with(Settings { room: None, ..settings() })
}

fn sale_with(settings: Settings) -> Stage {
    let mut stage = Stage::created(settings);
    stage.stock_up(1_000);
    stage.ok(Command::OpenSale { seed: None, public_value: None });
    let group = TicketType { min: 3, max: Some(5), ..group() };
    stage.ok(set(ga(), vec![adult(), child(), group]));
    stage.ok(set(category("stalls"), vec![adult(), child()]));
    stage
}

pub(crate) fn ga() -> Priced {
    Priced::Pool("ga".parse().expect("an id"))
}

pub(crate) fn category(name: &str) -> Priced {
    Priced::Category(name.into())
}

pub(crate) fn a_type(id: &str, name: &str, price: TypePrice) -> TicketType {
    let id = id.parse().expect("an id");
    TicketType { id, name: name.into(), price, min: 0, max: None, proof: false }
}

pub(crate) fn adult() -> TicketType {
    a_type("adult", "Adult", TypePrice::PercentBp(10_000))
}

pub(crate) fn child() -> TicketType {
    TicketType { proof: true, ..a_type("child", "Child", TypePrice::PercentBp(5_000)) }
}

fn group() -> TicketType {
    a_type("group", "Group", TypePrice::LessMinor(200))
}

pub(crate) fn set(of: Priced, types: Vec<TicketType>) -> Command {
    Command::SetTypes { of, types, reason: reason() }
}

pub(crate) fn price(of: Priced, price_minor: i64, later: Vec<PriceStep>) -> Command {
    Command::ChangePrice { of, price_minor, later, reason: reason() }
}

fn counts(types: &[(&str, u32)]) -> TypeCounts {
    types.iter().map(|(id, count)| (id.parse().expect("an id"), *count)).collect()
}

/// Of pool ga so many of each type, of seats these types, and of the best seats so many of each.
pub(crate) fn asked(
    ga: &[(&str, u32)],
    seats: &[(&str, &str)],
    best: &[(&str, u32)],
) -> AskedTypes {
    let pools = [("ga".parse().expect("an id"), counts(ga))].into();
    let parse = |(seat, id): &(&str, &str)| (seat.parse().expect(""), id.parse().expect(""));
    let seats = seats.iter().map(parse).collect();
    AskedTypes::new(pools, seats, counts(best)).expect("types")
}

fn of_ga(types: &[(&str, u32)]) -> AskedTypes {
    asked(types, &[], &[])
}

pub(crate) fn of_best(types: &[(&str, u32)]) -> AskedTypes {
    asked(&[], &[], types)
}

pub(crate) fn typed(command: Command, types: AskedTypes) -> Command {
    match command {
        Command::Hold { booking, user, lines, channels, .. } => {
            Command::Hold { booking, user, lines, channels, types }
        }
        Command::HoldBest { booking, user, order, channels, .. } => {
            Command::HoldBest { booking, user, order, channels, types }
        }
        other => panic!("{other:?} has no types"),
    }
}

/// A booking line by line: its units, their types, and what one of them costs.
pub(crate) fn told(stage: &Stage, booking: &str) -> String {
    let terms = stage.booking(booking).terms;
    let parts = terms.parts().map(|part| match part.held {
        Some(held) => {
            format!("{}: {} {} at {}", part.line, part.quantity, held.id, held.price_minor)
        }
        None => format!("{}: {}", part.line, part.quantity),
    });
    Vec::from_iter(parts).join(", ")
}

pub(crate) fn amount(stage: &Stage, booking: &str) -> i64 {
    stage.booking(booking).terms.amount_minor
}

fn availability(stage: &Stage) -> AvailabilityView {
    *stage.event.ask(stage.now, AvailabilityNow).expect("an event")
}

fn prices_of(types: &[TypeView]) -> Vec<(&str, i64)> {
    types.iter().map(|view| (view.ticket_type.id.as_str(), view.price_minor)).collect()
}

#[test]
fn one_line_may_mix_types_and_costs_their_sum() {
    let mut stage = sale();
    let types = asked(&[("child", 2), ("group", 3)], &[("A-2", "child")], &[]);
    stage.ok(typed(hold("b1", "ann", lines(&[("ga", 6)], &["A-1", "A-2"])), types));
    let expected = "0: 1 adult at 1000, 0: 2 child at 500, 0: 3 group at 800, 1: 1 adult at 1000, \
                    2: 1 child at 500";
    assert_eq!(told(&stage, "b1"), expected);
    assert_eq!(amount(&stage, "b1"), 1_000 + 2 * 500 + 3 * 800 + 1_000 + 500);
    stage.check_recovery();
}

#[test]
fn a_unit_that_names_no_type_is_of_the_first() {
    let mut stage = sale();
    stage.ok(set(ga(), vec![child(), adult()]));
    stage.ok(hold_ga("b1", "ann", 2));
    assert_eq!((told(&stage, "b1"), amount(&stage, "b1")), ("0: 2 child at 500".into(), 1_000));
    stage.ok(typed(hold_ga("b2", "ann", 3), of_ga(&[("child", 1), ("adult", 1)])));
    assert_eq!(told(&stage, "b2"), "0: 2 child at 500, 0: 1 adult at 1000");
    stage.check_recovery();
}

#[test]
fn what_has_no_types_is_held_as_before() {
    let mut stage = Stage::flash();
    stage.ok(set(category("stalls"), vec![adult()]));
    stage.ok(hold_ga("b1", "ann", 2));
    let (_, change) = stage.journal.last().expect("a change");
    let text = serde_json::to_value(change).expect("JSON");
    assert_eq!(text["hold_placed"]["terms"].get("types"), None);
    assert_eq!(told(&stage, "b1"), "0: 2");
    stage.ok(hold("b2", "ann", lines(&[("ga", 2)], &["A-1"])));
    assert_eq!(told(&stage, "b2"), "0: 2, 1: 1 adult at 0");
    let hold_of_before =
        json!({"hold": {"booking": "b", "user": "u", "lines": {"pools": {"ga": 1}}}});
    let command: Command = serde_json::from_value(hold_of_before.clone()).expect("a command");
    assert_eq!(serde_json::to_value(&command).expect("JSON"), hold_of_before);
}

#[test]
fn a_price_by_a_rule_follows_the_price_of_its_time() {
    let mut stage = sale();
    let soon = stage.now.plus_ms(1_000);
    let fixed = a_type("crew", "Crew", TypePrice::PriceMinor(70));
    stage.ok(set(ga(), vec![adult(), child(), group(), fixed]));
    stage.ok(price(ga(), 1_001, vec![PriceStep { from: soon, price_minor: 150 }]));
    let types = || of_ga(&[("child", 1), ("group", 1), ("crew", 1)]);
    stage.ok(typed(hold_ga("b1", "ann", 4), types()));
    assert_eq!(
        told(&stage, "b1"),
        "0: 1 adult at 1001, 0: 1 child at 501, 0: 1 group at 801, 0: 1 crew at 70",
        "half a step counts as one"
    );
    let of_ga = |stage: &Stage| availability(stage).pools[0].types.clone();
    let now = [("adult", 1_001), ("child", 501), ("group", 801), ("crew", 70)];
    assert_eq!(prices_of(&of_ga(&stage)), now);
    // Its time has come, whether or not its tick has.
    stage.now = soon;
    stage.ok(typed(hold_ga("b2", "ann", 4), types()));
    assert_eq!(
        told(&stage, "b2"),
        "0: 1 adult at 150, 0: 1 child at 75, 0: 1 group at 0, 0: 1 crew at 70",
        "nothing costs less than nothing"
    );
    stage.pass_ms(0);
    let then = [("adult", 150), ("child", 75), ("group", 0), ("crew", 70)];
    assert_eq!(prices_of(&of_ga(&stage)), then);
    assert_eq!(
        prices_of(&availability(&stage).categories[0].types),
        [("adult", 1_000), ("child", 500)]
    );
    stage.check_recovery();
}

#[test]
fn a_share_of_a_price_is_a_whole_step() {
    let mut stage = sale_with(Settings { room: None, amount_step_minor: 10, ..settings() });
    stage.ok(set(ga(), vec![a_type("third", "Third", TypePrice::PercentBp(3_333))]));
    stage.ok(hold_ga("b1", "ann", 1));
    assert_eq!(amount(&stage, "b1"), 330);
    stage.ok(price(ga(), 1_050, vec![]));
    stage.ok(hold_ga("b2", "ann", 1));
    assert_eq!(amount(&stage, "b2"), 350);
}

#[test]
fn what_is_held_keeps_its_types_with_names_and_prices() {
    let mut stage = sale();
    let wish = || typed(hold_ga("b1", "ann", 2), of_ga(&[("child", 1)]));
    let first = stage.ok(wish());
    let renamed = TicketType { name: "Youth".into(), proof: false, ..child() };
    stage.ok(set(ga(), vec![renamed, adult()]));
    assert_eq!(told(&stage, "b1"), "0: 1 adult at 1000, 0: 1 child at 500");
    stage.ok(set(ga(), vec![]));
    assert_eq!(stage.ok(wish()), first, "a retry is told the same");
    let held = stage.booking("b1").terms.types.clone().expect("types").held;
    let child = HeldType {
        id: "child".parse().expect("an id"),
        name: "Child".into(),
        proof: true,
        price_minor: 500,
        units: vec![(0, 1)],
    };
    assert_eq!(held[1], child);
    stage.ok(confirm("b1", "ann", Some("p1")));
    stage.check_recovery();
}

#[test]
fn a_retry_asks_for_the_same_types() {
    let mut stage = sale();
    let wish = |types: AskedTypes| typed(hold_ga("b1", "ann", 2), types);
    stage.ok(wish(of_ga(&[("child", 1)])));
    stage.refused(wish(of_ga(&[("child", 2)])), "BOOKING_MISMATCH");
    stage.refused(wish(of_ga(&[])), "BOOKING_MISMATCH");
    stage.refused(wish(of_ga(&[("child", 1), ("adult", 1)])), "BOOKING_MISMATCH");
    stage.ok(wish(of_ga(&[("child", 1)])));
    stage.ok(hold_ga("b2", "ann", 1));
    stage.ok(hold_ga("b2", "ann", 1));
    let mut stage = house();
    let best = |types| typed(hold_best("b1", "ann", any(2), None), types);
    stage.ok(best(of_best(&[("child", 1)])));
    stage.refused(best(of_best(&[])), "BOOKING_MISMATCH");
    stage.ok(best(of_best(&[("child", 1)])));
}

#[test]
fn a_type_that_is_not_there_is_refused() {
    let mut stage = sale();
    let senior = || "senior".parse().expect("an id");
    assert_eq!(
        stage.run(typed(hold_ga("b1", "ann", 2), of_ga(&[("senior", 1)]))),
        Err(Refusal::TypeNotFound { ticket_type: senior(), of: ga() })
    );
    let seat = hold("b1", "ann", lines(&[], &["A-1"]));
    let refused = stage.run(typed(seat, asked(&[], &[("A-1", "senior")], &[])));
    assert_eq!(
        refused,
        Err(Refusal::TypeNotFound { ticket_type: senior(), of: category("stalls") })
    );
    let text = serde_json::to_value(refused.expect_err("a refusal")).expect("JSON");
    let expected =
        json!({"code": "TYPE_NOT_FOUND", "ticket_type": "senior", "of": {"category": "stalls"}});
    assert_eq!(text, expected);
    let mut plain = Stage::flash();
    plain.refused(typed(hold_ga("b1", "ann", 2), of_ga(&[("adult", 1)])), "TYPE_NOT_FOUND");
}

#[test]
fn types_are_named_for_what_is_asked_for_and_no_more() {
    let mut stage = sale();
    let order = |types| typed(hold("b1", "ann", lines(&[("ga", 2)], &["A-1"])), types);
    for (types, field) in [
        (of_ga(&[("child", 1), ("adult", 2)]), "types.pools"),
        (asked(&[], &[("A-2", "child")], &[]), "types.seats"),
        (of_best(&[("child", 1)]), "types.best"),
    ] {
        let refused = stage.run(order(types));
        let named = match &refused {
            Err(Refusal::InvalidLines { field, .. }) => field.as_deref(),
            _ => None,
        };
        assert_eq!(named, Some(field), "{refused:?}");
    }
    let seats_alone = hold("b1", "ann", lines(&[], &["A-1"]));
    stage.refused(typed(seats_alone, of_ga(&[("child", 1)])), "INVALID_LINES");
    let mut stage = house();
    let best = |types| typed(hold_best("b1", "ann", any(2), None), types);
    stage.refused(best(of_best(&[("child", 3)])), "INVALID_LINES");
    stage.refused(best(asked(&[], &[("A1", "child")], &[])), "INVALID_LINES");
    stage.refused(best(of_ga(&[("child", 1)])), "INVALID_LINES");
    let of_nothing = json!({"pools": {"ga": {"child": 0}}});
    assert!(serde_json::from_value::<AskedTypes>(of_nothing).is_err());
}

#[test]
fn a_booking_has_as_many_of_a_type_as_that_allows() {
    let mut stage = sale();
    let groups = |asked| Refusal::TypeLimit {
        ticket_type: "group".parse().expect("an id"),
        of: ga(),
        min: 3,
        max: Some(5),
        asked,
    };
    for (count, refused) in [(0, false), (2, true), (3, false), (5, false), (6, true)] {
        let named = [("group", count)];
        let types = if count == 0 { of_ga(&[]) } else { of_ga(&named) };
        let booking = format!("b{count}");
        let answer = stage.run(typed(hold_ga(&booking, "ann", 6), types));
        let expected = refused.then(|| groups(count));
        assert_eq!(answer.err(), expected, "{count}");
        if !refused {
            stage.ok(crate::stage::release(&booking, "ann"));
        }
    }
    // Those of several lines count together, those of another category or pool do not.
    stage.ok(set(category("stalls"), vec![adult(), TicketType { max: Some(1), ..child() }]));
    let seats = |types: &[(&str, &str)]| {
        let types = asked(&[("child", 2)], types, &[]);
        typed(hold("s", "ann", lines(&[("ga", 2)], &["A-1", "A-2"])), types)
    };
    stage.refused(seats(&[("A-1", "child"), ("A-2", "child")]), "TYPE_LIMIT");
    stage.ok(seats(&[("A-1", "child")]));
    let text = groups(6).to_string();
    assert_eq!(text, "6 of ticket type group of pool ga: a booking has 3 to 5, or none");
}

#[test]
fn the_first_type_has_its_limits_for_those_who_name_none() {
    let mut stage = sale();
    stage.ok(set(ga(), vec![TicketType { max: Some(2), ..adult() }, child()]));
    stage.refused(hold_ga("b1", "ann", 3), "TYPE_LIMIT");
    stage.ok(typed(hold_ga("b1", "ann", 3), of_ga(&[("child", 1)])));
}

/// The house of crate::best. Stalls have adults, and children at half of 8,000; the balcony has seniors
/// too, and everything for 3,000.
pub(crate) fn house() -> Stage {
    let mut stage = house_with(settings());
    stage.ok(set(category("stalls"), vec![adult(), child()]));
    let senior = a_type("senior", "Senior", TypePrice::LessMinor(0));
    stage.ok(set(category("balcony"), vec![adult(), child(), senior]));
    stage
}

pub(crate) fn seats_of(stage: &Stage, booking: &str) -> String {
    let terms = stage.booking(booking).terms;
    Vec::from_iter(terms.lines.seats().iter().map(SeatId::as_str)).join(" ")
}

#[test]
fn each_ticket_has_the_type_of_its_unit() {
    let mut stage = sale();
    stage.ok(Command::AddPool {
        spec: onrush_core::spec::PoolSpec {
            pool: "bus".parse().expect("an id"),
            capacity: 9,
            price_minor: 1,
        },
    });
    let types = asked(&[("child", 1)], &[("A-1", "child")], &[]);
    let order = lines(&[("ga", 3), ("bus", 1)], &["A-1", "A-2"]);
    stage.ok(typed(hold("b1", "ann", order), types));
    let terms = stage.booking("b1").terms;
    let of = |ticket| terms.type_of_ticket(ticket).map(|held| (held.id.as_str(), held.proof));
    let all: Vec<_> = (0..=7).map(of).collect();
    let (adult, child) = (Some(("adult", false)), Some(("child", true)));
    assert_eq!(all, [None, None, adult, adult, child, child, adult, None]);
}

#[test]
fn refunds_and_fees_go_by_what_the_types_cost() {
    let fees = Fees { fixed_minor: 100, percent_bp: 1_000 };
    let rule = RefundRule { days_before: 1, percent: 50 };
    let starts_at = Some(Time(crate::stage::OPENING.0 + 10 * 86_400_000));
    let with = Settings { room: None, fees, refunds: vec![rule], starts_at, ..settings() };
    let mut stage = sale_with(with);
    stage.ok(typed(hold_ga("b1", "ann", 2), of_ga(&[("child", 1)])));
    assert_eq!(amount(&stage, "b1"), 1_500 + 150 + 100);
    stage.ok(confirm("b1", "ann", Some("p1")));
    let settings = stage.event.ask(stage.now, onrush_core::question::EventNow).unwrap().settings;
    let refund = stage.booking("b1").refund_now(&settings, stage.now).expect("a refund");
    assert_eq!(refund.refund_minor, 750);
    stage.ok(cancel("b1", Some(750)));
    stage.check_recovery();
}

#[test]
fn what_is_claimed_is_of_the_first_type() {
    let mut stage = Stage::flash();
    let claim = || Command::Claim {
        claim: "c1".parse().expect("an id"),
        user: "ann".parse().expect("an id"),
        pool: "ga".parse().expect("an id"),
        quantity: 2,
        ttl_ms: None,
    };
    stage.ok(set(ga(), vec![a_type("paid", "Paid", TypePrice::PriceMinor(300)), child()]));
    assert_eq!(stage.run(claim()), Err(Refusal::PaymentRequired { amount_minor: 600 }));
    stage.ok(set(ga(), vec![child()]));
    stage.ok(claim());
}

#[test]
fn the_same_types_again_change_nothing() {
    let mut stage = sale();
    let before = stage.journal.len();
    stage.ok(set(category("stalls"), vec![adult(), child()]));
    assert_eq!(stage.journal.len(), before);
    stage.ok(set(category("stalls"), vec![child(), adult()]));
    stage.ok(set(category("stalls"), vec![]));
    stage.ok(set(category("stalls"), vec![]));
    let told = stage.journal[before..].iter().map(|(_, change)| match change {
        Change::Setup(SetupChange::TypesSet { types, .. }) => types.len(),
        other => panic!("{other:?}"),
    });
    assert_eq!(Vec::from_iter(told), [2, 0]);
    assert!(availability(&stage).categories[0].types.is_empty());
    stage.check_recovery();
}

#[test]
fn types_that_cannot_be_are_refused_and_change_nothing() {
    let mut stage = sale();
    let many = (0..21).map(|nth| TicketType { id: format!("t{nth}").parse().unwrap(), ..adult() });
    let many: Vec<_> = many.collect();
    for wrong in [
        many.clone(),
        vec![adult(), child(), adult()],
        vec![TicketType { name: "".into(), ..adult() }],
        vec![TicketType { name: "Adult\u{202e}".into(), ..adult() }],
        vec![TicketType { price: TypePrice::PriceMinor(-1), ..adult() }],
        vec![TicketType { price: TypePrice::PriceMinor(1_000_000_000_001), ..adult() }],
        vec![TicketType { price: TypePrice::LessMinor(-1), ..adult() }],
        vec![TicketType { price: TypePrice::PercentBp(10_001), ..adult() }],
        vec![TicketType { min: 3, max: Some(2), ..adult() }],
        vec![TicketType { min: 1_001, ..adult() }],
        vec![TicketType { max: Some(0), ..adult() }],
        vec![TicketType { max: Some(1_001), ..adult() }],
    ] {
        let refused = stage.run(set(ga(), wrong.clone()));
        let named = match &refused {
            Err(Refusal::InvalidSettings { field, .. }) => field.as_deref(),
            _ => None,
        };
        assert_eq!(named, Some("types"), "{wrong:?}: {refused:?}");
    }
    let none = Priced::Pool("gb".parse().expect("an id"));
    stage.refused(set(none, vec![adult()]), "ZONE_NOT_FOUND");
    stage.refused(set(category("gods"), vec![]), "CATEGORY_NOT_FOUND");
    let nobody = onrush_core::spec::Reason { by: "".into(), why: "a sale".into() };
    let unsigned = Command::SetTypes { of: ga(), types: vec![], reason: nobody };
    stage.refused(unsigned, "INVALID_SETTINGS");
    assert_eq!(availability(&stage).pools[0].types.len(), 3);
    stage.ok(set(ga(), many[..20].to_vec()));
}

#[test]
fn types_are_kept_in_journal_and_snapshot() {
    let mut stage = sale();
    let types = asked(&[("child", 1)], &[("A-1", "child")], &[]);
    stage.ok(typed(hold("b1", "ann", lines(&[("ga", 2)], &["A-1"])), types));
    for (_, change) in &stage.journal {
        let text = serde_json::to_string(change).expect("JSON");
        assert_eq!(serde_json::from_str::<Change>(&text).expect("and back"), *change);
    }
    let (_, last) = stage.journal.last().expect("a change");
    let Change::Hold(HoldChange::HoldPlaced { terms, .. }) = last else { panic!("{last:?}") };
    assert_eq!(
        serde_json::to_value(&terms.types).expect("JSON"),
        json!({
            "asked": {"pools": {"ga": {"child": 1}}, "seats": {"A-1": "child"}},
            "held": [
                {"id": "adult", "name": "Adult", "price_minor": 1000, "units": [[0, 1]]},
                {"id": "child", "name": "Child", "proof": true, "price_minor": 500, "units": [[0, 1]]},
                {"id": "child", "name": "Child", "proof": true, "price_minor": 500, "units": [[1, 1]]},
            ],
        })
    );
    assert_eq!(terms.booking, booking_id("b1"));
    let rows: Vec<_> = stage.event.snapshot().collect();
    let restored = Event::restore(stage.event.id().clone(), rows).expect("rows");
    let view = serde_json::to_value(availability(&stage)).expect("JSON");
    assert_eq!(
        view["pools"][0]["types"][1],
        json!({
            "id": "child", "name": "Child", "price": {"percent_bp": 5000}, "proof": true,
            "price_minor": 500,
        })
    );
    assert_eq!(serde_json::from_value::<AvailabilityView>(view).unwrap(), availability(&stage));
    assert_eq!(restored.ask(stage.now, AvailabilityNow), Ok(availability(&stage).into()));
    stage.check_recovery();
}
