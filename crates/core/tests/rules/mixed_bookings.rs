//! Bookings that mix ticket types, whatever the types and the prices are.

use crate::best::{any, hold_best};
use crate::stage::{Stage, hold, lines, settings};
use crate::types::{a_type, asked, category, ga, of_best, price, set, typed};
use onrush_core::hold::HoldTerms;
use onrush_core::prices::{PriceStep, Priced};
use onrush_core::settings::{Fees, Settings};
use onrush_core::types::{Part, TicketType, TypePrice};
use onrush_core::user_limits::UserLimit;
use onrush_core::{Command, Event, Refusal};
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

/// The parts of a booking, with all of its types gone through for each line.
fn plain_parts(terms: &HoldTerms) -> Vec<Part<'_>> {
    let pools = terms.lines.pools().iter().map(|line| line.quantity);
    let lines = (0..).zip(pools.chain(terms.lines.seats().iter().map(|_| 1)));
    let of_line = lines.map(|(line, quantity)| {
        let held = terms.types.iter().flat_map(|types| &types.held);
        let its = held.flat_map(|held| held.units.iter().map(move |units| (held, units)));
        let its = its.filter(|(_, (of, _))| *of == line);
        let its =
            its.map(|(held, (_, quantity))| Part { line, held: Some(held), quantity: *quantity });
        let parts: Vec<_> = its.collect();
        if parts.is_empty() { vec![Part { line, held: None, quantity }] } else { parts }
    });
    of_line.flatten().collect()
}

/// A limit of ga or stalls, or of one of their types, if there is one; each once.
fn some_limits() -> impl Strategy<Value = Vec<UserLimit>> {
    let each = prop::collection::vec(prop::option::of(1..6_u32), 8);
    each.prop_map(|each| {
        let of = [ga(), category("stalls")].into_iter().flat_map(|of| {
            let types = [None, Some("t0"), Some("t1"), Some("t2")];
            types.into_iter().map(move |id| (of.clone(), id.map(|id| id.parse().expect("an id"))))
        });
        let limits = of.zip(each).filter_map(|((of, ticket_type), max_per_user)| {
            Some(UserLimit { of, ticket_type, max_per_user: max_per_user? })
        });
        limits.collect()
    })
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
            prop_assert!(terms.parts().eq(plain_parts(&terms)));
        }
        stage.check_recovery();
    }

    #[test]
    fn a_limit_refuses_what_a_plain_count_finds_too_many(
        limits in some_limits(),
        are_seats_typed in prop::bool::ANY,
        wishes in prop::collection::vec(wish(), 1..8),
    ) {
        let with = Settings { room: None, limits: limits.clone(), ..settings() };
        let mut stage = Stage::created(with);
        stage.stock_up(0);
        stage.ok(Command::OpenSale { seed: None, public_value: None });
        let types = || ["t0", "t1", "t2"].map(|id| a_type(id, "One", TypePrice::PriceMinor(0))).to_vec();
        stage.ok(set(ga(), types()));
        if are_seats_typed {
            stage.ok(set(category("stalls"), types()));
        }
        let mut has: BTreeMap<(Priced, Option<String>), u32> = BTreeMap::new();
        for (nth, (quantity, of_ga, of_seats, _)) in wishes.into_iter().enumerate() {
            let mut units = Vec::new();
            let named: u32 = of_ga.values().sum();
            if named > quantity || quantity == 0 && of_seats.is_empty() {
                continue;
            }
            units.extend(of_ga.iter().map(|(nth, count)| (ga(), Some(format!("t{nth}")), *count)));
            units.push((ga(), Some("t0".to_owned()), quantity - named));
            let of_seat = |nth: &u8| are_seats_typed.then(|| format!("t{nth}"));
            units.extend(of_seats.values().map(|nth| (category("stalls"), of_seat(nth), 1)));
            let mut more: BTreeMap<(Priced, Option<String>), u32> = BTreeMap::new();
            for (of, id, count) in units {
                *more.entry((of.clone(), None)).or_default() += count;
                if id.is_some() {
                    *more.entry((of, id)).or_default() += count;
                }
            }
            let exceeded = limits.iter().find_map(|limit| {
                let key = (limit.of.clone(), limit.ticket_type.as_ref().map(ToString::to_string));
                let [held, more] = [&has, &more].map(|counts| counts.get(&key).copied().unwrap_or(0));
                (more > 0 && held + more > limit.max_per_user).then(|| Refusal::UserLimitExceeded {
                    limit: limit.max_per_user,
                    held,
                    of: Some(limit.of.clone()),
                    ticket_type: limit.ticket_type.clone(),
                })
            });
            let counts: Vec<_> = of_ga.iter().map(|(nth, count)| (format!("t{nth}"), *count)).collect();
            let counts: Vec<_> = counts.iter().map(|(id, count)| (id.as_str(), *count)).collect();
            let seats: Vec<_> =
                of_seats.iter().map(|(seat, nth)| (format!("A-{seat}"), format!("t{nth}"))).collect();
            let named: Vec<_> = seats.iter().map(|(seat, id)| (seat.as_str(), id.as_str())).collect();
            let chosen: Vec<_> = named.iter().map(|(seat, _)| *seat).collect();
            let named = if are_seats_typed { &named[..] } else { &[] };
            let pools = [("ga", quantity)];
            let pools = if quantity == 0 { &[][..] } else { &pools };
            let wish = hold(&format!("b{nth}"), "ann", lines(pools, &chosen));
            match stage.run(typed(wish, asked(&counts, named, &[]))) {
                Ok(_) => {
                    prop_assert_eq!(exceeded, None);
                    more.into_iter().for_each(|(key, units)| *has.entry(key).or_default() += units);
                }
                Err(refusal @ Refusal::UserLimitExceeded { .. }) => {
                    prop_assert_eq!(Some(refusal), exceeded);
                }
                Err(_) => {}
            }
        }
    }
}
