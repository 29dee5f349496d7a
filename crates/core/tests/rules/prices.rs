//! Prices that change, now or when their time comes.

use crate::best::{any, hold_best, house_with};
use crate::stage::{Stage, booking_id, hold, hold_ga, lines, reason, settings};
use onrush_core::change::SetupChange;
use onrush_core::prices::{PriceStep, Priced};
use onrush_core::question::AvailabilityNow;
use onrush_core::settings::{Fees, Settings};
use onrush_core::view::{AvailabilityView, Reply};
use onrush_core::{Change, Command, Refusal, Time};

/// An open sale of ga and stalls at 1,000 each, with a fee of 10 %.
fn sale() -> Stage {
    let fees = Fees { percent_bp: 1_000, ..Fees::default() };
    let mut stage = Stage::created(Settings { room: None, fees, ..settings() });
    stage.stock_up(1_000);
    stage.ok(Command::OpenSale { seed: None, public_value: None });
    stage
}

fn ga() -> Priced {
    Priced::Pool("ga".parse().expect("an id"))
}

fn stalls() -> Priced {
    Priced::Category("stalls".into())
}

fn price(of: Priced, price_minor: i64, later: &[(Time, i64)]) -> Command {
    let step = |&(from, price_minor): &(Time, i64)| PriceStep { from, price_minor };
    let later = later.iter().map(step).collect();
    Command::ChangePrice { of, price_minor, later, reason: reason() }
}

/// What a booking costs, and the price of each unit as its terms tell it.
fn costs(stage: &Stage, booking: &str) -> (i64, Vec<i64>) {
    let terms = stage.booking(booking).terms;
    (terms.amount_minor, terms.prices_minor.clone())
}

fn availability(stage: &Stage) -> AvailabilityView {
    *stage.event.ask(stage.now, AvailabilityNow).expect("an event")
}

#[test]
fn what_is_held_keeps_its_price_and_the_next_pays_the_new_one() {
    let mut stage = sale();
    stage.ok(hold_ga("b1", "ann", 2));
    stage.ok(price(ga(), 1_500, &[]));
    stage.ok(hold_ga("b2", "bob", 2));
    stage.ok(hold("b3", "bob", lines(&[("ga", 1)], &["A-1", "A-2"])));
    assert_eq!(costs(&stage, "b1"), (2_200, vec![]));
    assert_eq!(costs(&stage, "b2"), (3_300, vec![1_500]));
    assert_eq!(costs(&stage, "b3"), (3_850, vec![1_500, 1_000, 1_000]));
    // Back at the first price there is nothing to tell.
    stage.ok(price(ga(), 1_000, &[]));
    stage.ok(hold_ga("b4", "cat", 1));
    assert_eq!(costs(&stage, "b4"), (1_100, vec![]));
    stage.check_recovery();
}

#[test]
fn a_price_holds_from_its_time_on_whenever_its_tick_comes() {
    let mut stage = sale();
    let (soon, then) = (stage.now.plus_ms(1_000), stage.now.plus_ms(5_000));
    stage.ok(price(stalls(), 800, &[(soon, 1_200), (then, 0)]));
    stage.ok(hold("b1", "ann", lines(&[], &["A-1"])));
    assert_eq!(costs(&stage, "b1"), (880, vec![800]));
    stage.now = soon.plus_ms(-1);
    stage.ok(hold("b2", "ann", lines(&[], &["A-2"])));
    assert_eq!(costs(&stage, "b2"), (880, vec![800]));
    stage.now = soon;
    stage.ok(hold("b3", "ann", lines(&[], &["A-3"])));
    assert_eq!(costs(&stage, "b3"), (1_320, vec![1_200]));
    // Two are due by now, and the later one counts.
    stage.now = then.plus_ms(7);
    stage.ok(hold("b4", "ann", lines(&[], &["A-4"])));
    assert_eq!(costs(&stage, "b4"), (0, vec![0]));
    let told = stage.journal.len();
    stage.pass_ms(0);
    let category = &availability(&stage).categories[0];
    assert_eq!((category.price_minor, category.first_minor), (0, Some(1_000)));
    assert!(category.later.is_empty());
    let steps: Vec<(i64, i64, bool)> = stage.journal[told..]
        .iter()
        .filter_map(|(_, change)| {
            let Change::Setup(SetupChange::PriceChanged {
                before_minor, price_minor, reason, ..
            }) = change
            else {
                return None;
            };
            Some((*before_minor, *price_minor, reason.is_none()))
        })
        .collect();
    assert_eq!(steps, [(800, 1_200, true), (1_200, 0, true)]);
    stage.check_recovery();
}

#[test]
fn another_price_forgets_what_was_to_come() {
    let mut stage = sale();
    let soon = stage.now.plus_ms(1_000);
    stage.ok(price(ga(), 1_000, &[(soon, 9_000)]));
    assert_eq!(stage.event.next_deadline(), Some(soon));
    assert_eq!(availability(&stage).pools[0].later, [PriceStep { from: soon, price_minor: 9_000 }]);
    // Its time has come, and its tick has not: whoever changes the price now has the last word.
    stage.now = soon.plus_ms(3);
    stage.ok(price(ga(), 1_100, &[]));
    assert_eq!(stage.event.next_deadline(), None);
    stage.ok(hold_ga("b1", "ann", 1));
    assert_eq!(costs(&stage, "b1"), (1_210, vec![1_100]));
    stage.check_recovery();
}

#[test]
fn prices_of_one_time_are_told_categories_first() {
    let mut stage = sale();
    let soon = stage.now.plus_ms(1_000);
    stage.ok(price(ga(), 1_000, &[(soon, 1)]));
    stage.ok(price(stalls(), 1_000, &[(soon, 2)]));
    stage.pass_ms(1_000);
    let told = stage.journal.iter().rev().take(2).map(|(_, change)| change);
    let of: Vec<&Priced> = told
        .map(|change| match change {
            Change::Setup(SetupChange::PriceChanged { of, .. }) => of,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(of, [&ga(), &stalls()]);
}

#[test]
fn orders_that_leave_seats_to_the_rules_go_by_the_price_of_the_moment() {
    let mut stage = house_with(settings());
    let soon = stage.now.plus_ms(1_000);
    let dear = || any(2).up_to(Some(5_000)).expect("a price");
    let balcony = Priced::Category("balcony".into());
    stage.ok(price(balcony, 3_000, &[(soon, 6_000)]));
    stage.ok(price(stalls(), 8_000, &[(soon, 5_000)]));
    let seats_of = |reply: Reply| match reply {
        Reply::Hold(view) => view.terms.lines.seats().to_vec(),
        other => panic!("{other:?}"),
    };
    let first = seats_of(stage.ok(hold_best("b1", "ann", dear(), None)));
    assert!(first.iter().all(|seat| seat.as_str().starts_with('C')), "{first:?}");
    stage.now = soon;
    let second = seats_of(stage.ok(hold_best("b2", "ann", dear(), None)));
    assert!(second.iter().all(|seat| seat.as_str().starts_with('A')), "{second:?}");
    assert_eq!(stage.booking("b2").terms.prices_minor, [5_000, 5_000]);
}

#[test]
fn what_becomes_free_of_charge_can_be_claimed_and_what_is_not_cannot() {
    let mut stage = sale();
    let soon = stage.now.plus_ms(1_000);
    stage.ok(price(ga(), 1_000, &[(soon, 0), (soon.plus_ms(1), 300)]));
    let claim = |claim: &str| Command::Claim {
        claim: claim.parse().expect("an id"),
        user: "ann".parse().expect("an id"),
        pool: "ga".parse().expect("an id"),
        quantity: 2,
        ttl_ms: None,
    };
    stage.refused(claim("c1"), "PAYMENT_REQUIRED");
    stage.now = soon;
    stage.ok(claim("c1"));
    stage.now = soon.plus_ms(1);
    assert_eq!(stage.run(claim("c2")), Err(Refusal::PaymentRequired { amount_minor: 600 }));
}

#[test]
fn prices_that_cannot_be_are_refused_and_change_nothing() {
    let mut stage = sale();
    let (now, soon) = (stage.now, stage.now.plus_ms(1));
    let year_10000 = Time(253_402_300_800_000);
    let many: Vec<_> = (1..=21).map(|ms| (now.plus_ms(ms), 1)).collect();
    for (wrong, field) in [
        (price(ga(), -1, &[]), "price_minor"),
        (price(ga(), 1_000_000_000_001, &[]), "price_minor"),
        (price(ga(), 1, &[(soon, -1)]), "later"),
        (price(ga(), 1, &[(now, 1)]), "later"),
        (price(ga(), 1, &[(soon, 1), (soon, 2)]), "later"),
        (price(ga(), 1, &[(soon.plus_ms(1), 1), (soon, 2)]), "later"),
        (price(ga(), 1, &[(year_10000, 1)]), "later"),
        (price(ga(), 1, &many), "later"),
    ] {
        let refused = stage.run(wrong.clone());
        let named = match &refused {
            Err(Refusal::InvalidSettings { field, .. }) => field.as_deref(),
            _ => None,
        };
        assert_eq!(named, Some(field), "{wrong:?}: {refused:?}");
    }
    stage.ok(price(ga(), 1_000, &many[..20]));
    stage.refused(price(Priced::Pool("gb".parse().expect("an id")), 1, &[]), "ZONE_NOT_FOUND");
    stage.refused(price(Priced::Category("gods".into()), 1, &[]), "CATEGORY_NOT_FOUND");
    let nobody = onrush_core::spec::Reason { by: "".into(), why: "a sale".into() };
    let unsigned = Command::ChangePrice { of: ga(), price_minor: 1, later: vec![], reason: nobody };
    stage.refused(unsigned, "INVALID_SETTINGS");
    assert_eq!(availability(&stage).pools[0].price_minor, 1_000);
}

#[test]
fn a_late_payment_is_taken_at_the_price_of_the_hold() {
    let mut stage = sale();
    stage.ok(hold_ga("b1", "ann", 1));
    stage.ok(crate::stage::begin("b1", "ann", "p1"));
    stage.ok(price(ga(), 5_000, &[]));
    stage.pass_ms(86_400_000);
    assert_eq!(stage.status("b1"), "expired");
    stage.ok(crate::stage::confirm("b1", "ann", Some("p1")));
    assert_eq!(stage.booking("b1").terms.amount_minor, 1_100);
    assert_eq!(booking_id("b1"), stage.booking("b1").terms.booking);
    stage.check_recovery();
}
