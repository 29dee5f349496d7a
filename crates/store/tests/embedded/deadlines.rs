//! Deadlines fire from the engine's own index, at their time, in their order; downtime empties no queue.

use crate::sale::{
    HOLD_MS, START, Sale, availability, booking, done, feed_to, flash_settings, hold, id,
    join_command, open_room_sale, units,
};
use onrush_core::change::HoldChange;
use onrush_core::hold::HoldState;
use onrush_core::ids::EventId;
use onrush_core::question::PlaceOf;
use onrush_core::view::PlaceState;
use onrush_core::{Change, Command};
use onrush_store::embedded::{Embedded, Options};
use onrush_store::{Ask, Engine, Seq};

#[tokio::test]
async fn deadlines_of_all_events_fire_in_order_at_their_time() {
    let sale = Sale::new();
    let engine = sale.open();
    // Three sales whose holds last 300, 200 and 100 s.
    let events: Vec<EventId> = (1..=3).map(|n| id(&format!("e{n}"))).collect();
    for (event, ttl_ms) in events.iter().zip([300_000, 200_000, 100_000]) {
        let settings = onrush_core::settings::Settings { hold_ttl_ms: ttl_ms, ..flash_settings() };
        let spec = crate::sale::pool_spec("ga", 10);
        for command in [
            Command::CreateEvent { settings: Box::new(settings) },
            Command::AddPool { spec },
            Command::OpenSale { seed: None, public_value: None },
            crate::sale::hold_command("b", units(1)),
        ] {
            engine.execute(event.clone(), command).await.expect("accepted");
        }
    }
    let before = engine.committed();
    sale.clock.advance_ms(99_999);
    // An answered query shows that the engine has looked at the clock and found nothing due.
    engine.events().await.expect("an answer");
    assert_eq!(engine.committed(), before);

    sale.clock.advance_ms(1);
    let first = feed_to(&engine, before, Seq(before.0 + 1)).await;
    assert_eq!(first[0].event, events[2]);
    assert_eq!(first[0].at, START.plus_ms(100_000));

    sale.clock.advance_ms(1_000_000);
    let rest = feed_to(&engine, Seq(before.0 + 1), Seq(before.0 + 3)).await;
    let order: Vec<&EventId> = rest.iter().map(|entry| &entry.event).collect();
    assert_eq!(order, [&events[1], &events[0]]);
    for entry in first.iter().chain(&rest) {
        assert!(
            matches!(entry.changes[..], [Change::Hold(HoldChange::HoldExpired { .. })]),
            "{entry:?}"
        );
    }
}

#[tokio::test]
async fn deadline_fires_by_the_system_clock() {
    let sale = Sale::new();
    let engine = Embedded::open(sale.path(), Options::default()).expect("opened");
    let settings = onrush_core::settings::Settings { hold_ttl_ms: 20, ..flash_settings() };
    crate::sale::create(&engine, settings).await;
    done(&engine, Command::OpenSale { seed: None, public_value: None }).await;
    let view = hold(&engine, "b1", units(1)).await.expect("held");
    let until = view.state.until().expect("a live hold");
    let held = engine.committed();
    let entries = feed_to(&engine, held, Seq(held.0 + 1)).await;
    assert!(matches!(entries[0].changes[..], [Change::Hold(HoldChange::HoldExpired { .. })]));
    assert!(entries[0].at >= until);
}

#[tokio::test]
async fn burst_of_deadlines_is_worked_off_and_stock_comes_back() {
    let sale = Sale::new();
    let engine = sale.open();
    let spec = crate::sale::pool_spec("big", 10_000);
    crate::sale::open_flash_sale(&engine).await;
    done(&engine, Command::AddPool { spec }).await;
    let lines = || {
        let line = onrush_core::lines::PoolLine { pool: id("big"), quantity: 1 };
        onrush_core::lines::Lines::new(vec![line], vec![]).expect("lines")
    };
    let answers: Vec<_> = (0..5_000)
        .map(|n| crate::sale::hold_command(&format!("b{n}"), lines()))
        .map(|command| engine.execute(crate::sale::event(), command))
        .collect();
    for answer in answers {
        answer.await.expect("held");
    }
    let held = engine.committed();
    sale.clock.advance_ms(HOLD_MS);
    let entries = feed_to(&engine, held, Seq(held.0 + 5_000)).await;
    assert!(
        entries.iter().all(|entry| matches!(
            entry.changes[..],
            [Change::Hold(HoldChange::HoldExpired { .. })]
        ))
    );
    assert_eq!(availability(&engine).await.pools[1].units.free, 10_000);
}

#[tokio::test]
async fn downtime_moves_deadlines_on() {
    let sale = Sale::new();
    let engine = sale.opened().await;
    hold(&engine, "b1", units(1)).await.expect("held");
    engine.close();

    let day_ms = 24 * 3_600_000;
    sale.clock.advance_ms(day_ms);
    let engine = sale.open();
    let state = booking(&engine, "b1").await.expect("known");
    assert_eq!(state, HoldState::Held { until: START.plus_ms(day_ms + HOLD_MS) });
    engine.close();

    // The gap is counted once, and a short one not at all.
    sale.clock.advance_ms(999);
    let engine = sale.open();
    assert_eq!(booking(&engine, "b1").await.expect("known"), state);
}

#[tokio::test]
async fn downtime_empties_no_queue() {
    let sale = Sale::new();
    let engine = sale.open();
    open_room_sale(&engine).await;
    for n in 1..=5 {
        done(&engine, join_command(n)).await;
    }
    engine.close();
    sale.clock.advance_ms(24 * 3_600_000);
    let engine = sale.open();
    for n in 1..=5 {
        let first = PlaceOf { user: id(&format!("v{n}")), place: None };
        let view = engine.ask(crate::sale::event(), first).await.expect("still there").value;
        match view.state {
            PlaceState::Active { .. } => assert!(n <= 2),
            PlaceState::Queued { position, .. } => assert_eq!(position, Some(n - 2)),
            PlaceState::Ended { .. } => panic!("downtime ends no session"),
        }
    }
}

#[tokio::test]
async fn time_never_goes_back() {
    let sale = Sale::new();
    let engine = sale.opened().await;
    sale.clock.advance_ms(5_000);
    hold(&engine, "b1", units(1)).await.expect("held");
    sale.clock.set(START);
    let again = hold(&engine, "b2", units(1)).await.expect("held");
    assert_eq!(again.terms.created_at, START.plus_ms(5_000));
    engine.close();
    let engine = sale.open();
    let later = hold(&engine, "b3", units(1)).await.expect("held");
    assert_eq!(later.terms.created_at, START.plus_ms(5_000), "nor across a restart");
}
