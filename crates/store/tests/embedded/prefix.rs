//! Property: the journal up to any decision adds up to a sound state.

use crate::sale::{Sale, event, id, open_room_sale, seat, units};
use onrush_core::ids::PlaceId;
use onrush_core::types::AskedTypes;
use onrush_core::{Command, Event};
use onrush_store::embedded::JournalReader;
use onrush_store::{Engine, Seq};
use proptest::prelude::*;

/// A visitor's step: who, what, and how far the clock goes on before it.
type Step = (u8, u8, u8);

fn command(&(who, what, _): &Step) -> Command {
    let (n, user) = (u32::from(who % 12), id(&format!("v{}", who % 6)));
    let place = PlaceId::from_u128(u128::from(n) + 1);
    let booking = id(&format!("b{n}"));
    match what % 11 {
        0 | 1 => Command::Join { place, user },
        2 => Command::Leave { place, user },
        3 => Command::See { place, user },
        4 => Command::Arrive { place, user },
        5 => Command::Hold {
            booking,
            user,
            lines: seat(usize::from(who) % 20),
            channels: Vec::new(),
            types: AskedTypes::default(),
        },
        6 => Command::Hold {
            booking,
            user,
            lines: units(u32::from(who) % 30 + 1),
            channels: Vec::new(),
            types: AskedTypes::default(),
        },
        7 => Command::Release { booking, user },
        8 => Command::Confirm { booking, user, payment: None },
        9 => Command::Extend { booking, user, extension: None },
        _ => Command::Claim {
            claim: id(&format!("c{n}")),
            user,
            pool: id("ga"),
            quantity: 1,
            ttl_ms: (who % 2 == 0).then_some(60_000),
        },
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
    #[test]
    fn every_prefix_of_the_journal_is_a_sound_state(
        steps in prop::collection::vec(any::<Step>(), 1..120)
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let sale = Sale::new();
        let last = runtime.block_on(async {
            let engine = sale.open();
            open_room_sale(&engine).await;
            for step in &steps {
                sale.clock.advance_ms(i64::from(step.2) * 2_000);
                // Refusals are as good as replies here.
                drop(engine.execute(event(), command(step)).await);
            }
            let last = engine.committed();
            engine.close();
            last
        });
        let mut reader = JournalReader::open(sale.path()).expect("readable");
        prop_assert!(reader.last().expect("readable") >= last);
        let mut state = Event::new(event());
        for entry in reader.page(Seq(0), usize::MAX).expect("readable") {
            for change in &entry.changes {
                state.evolve(entry.at, change);
            }
            prop_assert_eq!(state.check(), Ok(()), "after decision {}", entry.seq.0);
        }
        let report = onrush_store::embedded::audit(sale.path()).expect("readable");
        prop_assert_eq!(report.violations, Vec::<String>::new());
    }
}
