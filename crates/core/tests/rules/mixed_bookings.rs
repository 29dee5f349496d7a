//! Bookings that mix ticket types, whatever the types and the prices are.

use crate::best::{any, hold_best};
use crate::stage::{Stage, hold, lines, settings};
use crate::types::{a_type, asked, category, ga, of_best, price, set, typed};
use onrush_core::prices::PriceStep;
use onrush_core::settings::{Fees, Settings};
use onrush_core::types::{Part, TicketType, TypePrice};
use onrush_core::{Command, Event};
use proptest::prelude::{ProptestConfig, Strategy, prop, prop_assert, prop_assert_eq, proptest};
use proptest::prop_oneof;
use std::collections::BTreeMap;

/// What a list of types may be: the price of each, by any of the rules.
fn some_types() -> impl Strategy<Value = Vec<TicketType>> {
    let price = prop_oneof![
        (0..5_000_i64).prop_map(TypePrice::PriceMinor),
        (0..=10_000_u32).prop_map(TypePrice::PercentBp),
        (0..5_000_i64).prop_map(TypePrice::LessMinor),
    ];
    let one = (price, 0..3_u32, prop::option::of(4..9_u32), prop::bool::ANY);
    prop::collection::vec(one, 1..6).prop_map(|types| {
        let all = (0..).zip(types).map(|(nth, (price, min, max, proof))| TicketType {
            min,
            max,
            proof,
            ..a_type(&format!("t{nth}"), "One", price)
        });
        all.collect()
    })
}

/// Units of ga, how many of them are named a type, seats and their types, and whether seats are left to
/// the rules instead.
fn wish() -> impl Strategy<Value = (u32, BTreeMap<u8, u32>, BTreeMap<u8, u8>, bool)> {
    let of_ga = prop::collection::btree_map(0..3_u8, 1..3_u32, 0..3);
    let of_seats = prop::collection::btree_map(1..5_u8, 0..3_u8, 0..3);
    (0..7_u32, of_ga, of_seats, prop::bool::ANY)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_booking_costs_the_sum_of_its_parts_and_a_restored_event_answers_alike(
        of_pool in some_types(),
        of_seats in some_types(),
        (base_minor, later_minor) in (0..9_000_i64, 0..9_000_i64),
        (step_minor, percent_bp) in (1..20_i64, 0..3_000_u32),
        wishes in prop::collection::vec(wish(), 1..6),
    ) {
        let fees = Fees { fixed_minor: 0, percent_bp };
        let with = Settings { room: None, fees, amount_step_minor: step_minor, ..settings() };
        let mut stage = Stage::created(with.clone());
        stage.stock_up(1_000);
        stage.ok(Command::OpenSale { seed: None, public_value: None });
        let soon = stage.now.plus_ms(3);
        let later = vec![PriceStep { from: soon, price_minor: later_minor }];
        stage.ok(price(ga(), base_minor, later));
        stage.ok(set(ga(), of_pool));
        stage.ok(set(category("stalls"), of_seats));
        for (nth, (quantity, of_ga, of_seats, is_best)) in wishes.into_iter().enumerate() {
            stage.now = stage.now.plus_ms(1);
            let id = |nth: u8| format!("t{nth}");
            let counts: Vec<_> = of_ga.iter().map(|(nth, count)| (id(*nth), *count)).collect();
            let counts: Vec<_> = counts.iter().map(|(id, count)| (id.as_str(), *count)).collect();
            let seats: Vec<_> = of_seats.iter().map(|(seat, nth)| (format!("A-{seat}"), id(*nth))).collect();
            let named: Vec<_> = seats.iter().map(|(seat, id)| (seat.as_str(), id.as_str())).collect();
            let chosen: Vec<_> = named.iter().map(|(seat, _)| *seat).collect();
            let booking = format!("b{nth}");
            let pools = [("ga", quantity)];
            let pools = if quantity == 0 { &[][..] } else { &pools };
            let wish = if is_best {
                typed(hold_best(&booking, "ann", any(1 + quantity.min(2)), None), of_best(&counts))
            } else if quantity == 0 && chosen.is_empty() {
                continue
            } else {
                typed(hold(&booking, "ann", lines(pools, &chosen)), asked(&counts, &named, &[]))
            };
            let rows: Vec<_> = stage.event.snapshot().collect();
            let restored = Event::restore(stage.event.id().clone(), rows).expect("rows");
            let (here, there) = (stage.event.decide(stage.now, &wish), restored.decide(stage.now, &wish));
            prop_assert_eq!(&here, &there);
            if here.is_err() {
                continue;
            }
            let first = stage.ok(wish.clone());
            prop_assert_eq!(stage.ok(wish), first);
            let terms = stage.booking(&booking).terms;
            let base_of = |line: u32| {
                if (line as usize) >= terms.lines.pools().len() {
                    1_000
                } else if stage.now < soon {
                    base_minor
                } else {
                    later_minor
                }
            };
            let one_minor = |part: &Part<'_>| {
                part.held.map_or(base_of(part.line), |held| held.price_minor)
            };
            let sum: i64 = terms.parts().map(|it| one_minor(&it) * i64::from(it.quantity)).sum();
            prop_assert_eq!(terms.amount_minor - terms.fee_minor, sum);
            prop_assert_eq!(terms.fee_minor, with.fees.on_minor_in_steps(sum, step_minor));
            let units: u32 = terms.parts().map(|part| part.quantity).sum();
            prop_assert_eq!(units, terms.lines.units());
            let types = terms.parts().flat_map(|it| std::iter::repeat_n(it.held, it.quantity as usize));
            let by_ticket = (1..=units).map(|ticket| terms.type_of_ticket(ticket));
            prop_assert!(types.eq(by_ticket));
        }
        stage.check_recovery();
    }
}
