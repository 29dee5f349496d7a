//! What scripts answer to questions: which question on the first line, then the parts of the
//! answer, one a line. A line that begins with `*` is a list, with tabs between its items.

use crate::verdict::{Verdict, assert_sentence};
use onrush_core::ids::EventId;
use onrush_core::question::{
    AvailabilityNow, BansAfter, BookingOf, BookingsOf, ClaimOf, EventNow, PlaceOf, SeatsNow,
};
use onrush_core::{Query, View};
use onrush_store::redis::fuzzing::answer;

/// Reads the answer.
///
/// # Panics
/// If it is read otherwise the second time, or a pool in it does not add up.
pub fn target(bytes: &[u8]) -> Verdict {
    let mut lines = bytes.split(|byte| *byte == b'\n').map(<[u8]>::to_vec);
    let first = lines.next().unwrap_or_default();
    let query = query(first.first().copied().unwrap_or_default());
    let parts: Vec<_> = lines.collect();
    let event: EventId = "e".parse().expect("it is an id");
    let read = answer(&event, &query, parts.clone());
    assert_eq!(read, answer(&event, &query, parts), "it is read in two ways");
    match &read {
        Ok(Some(View::Availability(view))) => view.pools.iter().for_each(|pool| {
            let units = pool.units;
            let all = [units.free, units.held, units.sold, units.blocked].map(u64::from);
            assert_eq!(all.iter().sum::<u64>(), u64::from(pool.capacity), "{pool:?}");
        }),
        Ok(Some(_) | None) => {}
        Err(why) => assert_sentence(why),
    }
    Verdict::on(&read)
}

fn query(which: u8) -> Query {
    let user = || "ann".parse().expect("it is an id");
    match which % 8 {
        0 => EventNow.into(),
        1 => AvailabilityNow.into(),
        2 => SeatsNow.into(),
        3 => PlaceOf { user: user(), place: None }.into(),
        4 => BookingOf { booking: "e.1".parse().expect("it is an id"), user: None }.into(),
        5 => BookingsOf { user: user(), after: None, limit: 10 }.into(),
        6 => ClaimOf { claim: "e.1".parse().expect("it is an id"), user: None }.into(),
        _ => BansAfter { after: None, at_most: 10 }.into(),
    }
}
