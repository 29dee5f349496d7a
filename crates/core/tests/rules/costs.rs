//! What is paid for, line by line, as an order and a receipt tell it.

use crate::stage::{Stage, hold, hold_ga, lines, settings};
use crate::types::{adult, asked, child, ga, price, set, typed};
use onrush_core::costs::{Cost, When, costs, unit_prices};
use onrush_core::question::AvailabilityNow;
use onrush_core::settings::{Fees, Settings};
use onrush_core::tax::{Tax, Taxed};
use onrush_core::view::{AvailabilityView, HoldView};
use onrush_core::{Command, Refusal};

/// An open sale of ga, for adults and children at half the price, and of stalls without types, at
/// 1,000 each.
fn sale(fees: Fees, tax: Option<Tax>) -> (Stage, Settings) {
    let settings = Settings { room: None, fees, tax, ..settings() };
    let mut stage = Stage::created(settings.clone());
    stage.stock_up(1_000);
    stage.ok(set(ga(), vec![adult(), child()]));
    stage.ok(Command::OpenSale { seed: None, public_value: None });
    (stage, settings)
}

fn ten_percent() -> Fees {
    Fees { percent_bp: 1_000, ..Fees::default() }
}

fn vat() -> Tax {
    Tax { name: "VAT".into(), rate_bp: 1_900 }
}

/// Holds two adults, a child and a seat.
fn hold_a_family(stage: &mut Stage) -> HoldView {
    let family = hold("b1", "ann", lines(&[("ga", 3)], &["A-1"]));
    stage.ok(typed(family, asked(&[("adult", 2), ("child", 1)], &[], &[])));
    stage.booking("b1")
}

fn costs_of<'a>(settings: &Settings, view: &'a HoldView) -> Vec<Cost<'a>> {
    let (terms, types) = (&view.terms, view.terms.types.as_deref());
    costs(settings, &terms.lines, types, &[1_000, 1_000], terms.fee_minor)
}

/// A cost in words: of what, how many, and at which price.
fn told(cost: &Cost<'_>) -> String {
    let Some(units) = cost.units else { return "fees".into() };
    let of = units.pool.map_or_else(|| units.seat.expect("a line").as_str(), |pool| pool.as_str());
    let held = units.held.map_or("untyped", |held| held.id.as_str());
    format!("{} {of} {held} at {}", units.quantity, units.price_minor)
}

fn availability(stage: &Stage) -> AvailabilityView {
    *stage.event.ask(stage.now, AvailabilityNow).expect("an event")
}

#[test]
fn a_booking_is_paid_for_line_by_line_and_its_fees_come_last() {
    let (mut stage, settings) = sale(ten_percent(), None);
    let view = hold_a_family(&mut stage);
    let costs = costs_of(&settings, &view);
    let expected = [
        ("2 ga adult at 1000", 2_000),
        ("1 ga child at 500", 500),
        ("1 A-1 untyped at 1000", 1_000),
        ("fees", 350),
    ];
    // Where no tax is told, all of it is net.
    let all_net = |gross_minor| Taxed { gross_minor, net_minor: gross_minor, tax_minor: 0 };
    let expected = expected.map(|(told, gross_minor)| (told.to_owned(), all_net(gross_minor)));
    let costs: Vec<_> = costs.iter().map(|cost| (told(cost), cost.taxed)).collect();
    assert_eq!(costs, expected);
    assert_eq!(view.terms.amount_minor, 3_850);
}

#[test]
fn the_taxes_of_all_lines_and_fees_add_up_to_the_tax_of_the_whole() {
    let (mut stage, settings) = sale(ten_percent(), Some(vat()));
    let view = hold_a_family(&mut stage);
    let costs = costs_of(&settings, &view);
    let taxes: Vec<i64> = costs.iter().map(|cost| cost.taxed.tax_minor).collect();
    assert_eq!(taxes, [319, 80, 160, 56]);
    let whole = Taxed { gross_minor: 3_850, net_minor: 3_235, tax_minor: 615 };
    assert_eq!(settings.taxed(view.terms.amount_minor), Some(whole));
    assert_eq!(Settings { tax: None, ..settings }.taxed(3_850), None);
}

#[test]
fn without_fees_there_is_no_line_of_them() {
    let (mut stage, settings) = sale(Fees::default(), None);
    let view = hold_a_family(&mut stage);
    let costs = costs_of(&settings, &view);
    assert_eq!(costs.len(), 3);
    assert!(costs.iter().all(|cost| cost.units.is_some()));
    // The smallest fee there is has one.
    assert!(
        onrush_core::costs::costs(&settings, &view.terms.lines, None, &[0, 0], 1)[2]
            .units
            .is_none()
    );
}

#[test]
fn unit_prices_are_those_that_there_were_first_or_that_there_are_now() {
    let (mut stage, _) = sale(Fees::default(), None);
    let both = lines(&[("ga", 3)], &["A-1"]);
    let prices = |stage: &Stage, when| unit_prices(&both, &["stalls"], &availability(stage), when);
    for when in [When::First, When::Now] {
        assert_eq!(prices(&stage, when), Ok(vec![1_000, 1_000]));
    }
    stage.ok(price(ga(), 1_500, vec![]));
    assert_eq!(prices(&stage, When::First), Ok(vec![1_000, 1_000]));
    assert_eq!(prices(&stage, When::Now), Ok(vec![1_500, 1_000]));
}

#[test]
fn what_is_not_there_has_no_price() {
    let (stage, _) = sale(Fees::default(), None);
    let left = availability(&stage);
    let pool = "nowhere".parse().expect("an id");
    let of_pool = unit_prices(&lines(&[("nowhere", 1)], &[]), &[""; 0], &left, When::Now);
    assert_eq!(of_pool, Err(Refusal::ZoneNotFound { pool }));
    let seat = "A-1".parse().expect("an id");
    let of_seat = unit_prices(&lines(&[], &["A-1"]), &["balcony"], &left, When::Now);
    assert_eq!(of_seat, Err(Refusal::SeatNotFound { seat }));
}

#[test]
fn each_ticket_has_the_type_of_its_unit() {
    let (mut stage, _) = sale(Fees::default(), None);
    let view = hold_a_family(&mut stage);
    let types = view.terms.types_of_tickets().map(|held| held.map(|held| held.id.to_string()));
    let types: Vec<Option<String>> = types.collect();
    let expected = [Some("adult"), Some("adult"), Some("child"), None];
    assert_eq!(types, expected.map(|id| id.map(str::to_owned)));
    stage.ok(hold_ga("b2", "bob", 1));
    let first = stage.booking("b2").terms;
    assert_eq!(first.types_of_tickets().count(), 1);
}
