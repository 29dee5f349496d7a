//! The judge of tickets: they are for what was held, unit by unit, and of the types it was held as.

use super::super::noted::Ticket;
use super::super::world::World;
use onrush_core::Change;
use onrush_core::change::HoldChange;
use onrush_core::hold::HoldTerms;
use onrush_core::ids::BookingId;
use onrush_store::FeedEntry;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// How often a booking has each unit, as tickets tell it.
type Units = BTreeMap<String, u32>;

/// Tickets of before the last of so many restores may be for bookings that got lost.
pub(super) fn judge(
    world: &World,
    restores: u64,
    entries: &[Arc<FeedEntry>],
    violations: &mut Vec<String>,
) {
    let mut held = BTreeMap::<BookingId, Units>::new();
    for change in entries.iter().flat_map(|entry| &entry.changes) {
        if let Change::Hold(HoldChange::HoldPlaced { terms, .. }) = change {
            held.insert(terms.booking.clone(), units_of(terms));
        }
    }
    let mut told = BTreeMap::<(BookingId, u32), String>::new();
    let tickets = world.tickets();
    for Ticket { booking, number, unit, .. } in
        tickets.into_iter().filter(|ticket| ticket.restores == restores)
    {
        let before = told.entry((booking.clone(), number)).or_insert_with(|| unit.clone());
        if *before != unit {
            violations.push(format!("ticket {number} of {booking} was for {before}, then {unit}"));
        }
    }
    for ((booking, number), unit) in told {
        match held.get_mut(&booking).and_then(|units| units.get_mut(&unit)) {
            Some(left) if *left > 0 => *left -= 1,
            _ => violations.push(format!("ticket {number} of {booking} is for {unit}")),
        }
    }
}

fn units_of(terms: &HoldTerms) -> Units {
    let pools = terms.lines.pools().iter();
    let pools = pools.map(|line| (json!({ "pool": line.pool.as_str() }), line.quantity));
    let seats = terms.lines.seats().iter().map(|seat| (json!({ "seat": seat.as_str() }), 1));
    let mut units = Units::new();
    for (nth, (unit, quantity)) in pools.chain(seats).enumerate() {
        let mut untyped = quantity;
        for held in terms.types.iter().flat_map(|types| &types.held) {
            for (_, typed) in held.units.iter().filter(|(line, _)| *line as usize == nth) {
                *units.entry(format!("{unit} {}", json!(held.id.as_str()))).or_default() += typed;
                untyped -= typed;
            }
        }
        *units.entry(format!("{unit} {}", Value::Null)).or_default() += untyped;
    }
    units
}
