//! A house of 50,000 seats, by whose names people ask for four, or leave the choice to the server.

use super::commands::{flash_sale, id, long_id};
use onrush_core::Command;
use onrush_core::best::{Best, BestOrder, Together};
use onrush_core::channels::ChannelSpec;
use onrush_core::ids::{ChannelId, SeatId};
use onrush_core::lines::Lines;
use onrush_core::spec::{Access, CategorySpec, Reason, SeatSpec};
use onrush_core::types::AskedTypes;
use std::sync::Arc;

/// Seats that each wants.
pub(super) const PARTY: u32 = 4;

const SECTIONS: u32 = 20;
const ROWS: u32 = 50;
const SEATS: u32 = 50;
const CATEGORIES: u32 = 4;
/// Seats that one command adds.
const AT_ONCE: usize = 10_000;
/// Seats that one command moves into the channel.
const ALLOTTED_AT_ONCE: u32 = 400;
const CHANNEL: &str = "presale";

/// How many seats there are.
pub(super) const CAPACITY: u32 = SECTIONS * ROWS * SEATS;

/// The commands that put the house on sale.
pub(super) fn on_sale() -> Result<Vec<Command>, String> {
    let mut commands = vec![Command::CreateEvent { settings: Box::new(flash_sale()?) }];
    let mut categories: Vec<_> = (0..CATEGORIES)
        .map(|number| CategorySpec { name: category(number).into(), price_minor: 0 })
        .collect();
    let mut seats = Vec::with_capacity(CAPACITY as usize);
    for nth in 0..CAPACITY {
        seats.push(seat(nth)?);
    }
    for some in seats.chunks(AT_ONCE) {
        let categories = std::mem::take(&mut categories);
        commands.push(Command::AddSeats { categories, seats: some.to_vec() });
    }
    commands.push(Command::OpenSale { seed: None, public_value: None });
    Ok(commands)
}

/// The commands that put it on sale in a channel alone.
pub(super) fn on_sale_in_channel() -> Result<Vec<Command>, String> {
    let (channel, reason) = (id(CHANNEL)?, Reason { by: "bench".into(), why: "presale".into() });
    let spec =
        ChannelSpec { channel, quota: None, codes: Vec::new(), queued: false, release: None };
    let to = Some(spec.channel.clone());
    let mut commands = on_sale()?;
    commands.push(Command::SetChannel { spec, reason: reason.clone() });
    for first in (0..CAPACITY).step_by(ALLOTTED_AT_ONCE as usize) {
        let last = CAPACITY.min(first + ALLOTTED_AT_ONCE);
        let seats = (first..last).map(seat_id).collect::<Result<Vec<_>, _>>()?;
        let lines = Lines::new(Vec::new(), seats).map_err(|refusal| refusal.to_string())?;
        let (to, reason) = (to.clone(), reason.clone());
        commands.push(Command::Allot { lines, from: None, to, reason });
    }
    Ok(commands)
}

fn category(number: u32) -> String {
    format!("category {number}")
}

fn seat(nth: u32) -> Result<SeatSpec, String> {
    let (row, number) = (nth / SEATS, nth % SEATS);
    let section = row / ROWS;
    // The front rows and their middles are best.
    let from_middle = (2 * number + 1).abs_diff(SEATS) / 2;
    Ok(SeatSpec {
        seat: seat_id(nth)?,
        section: format!("section {section}").into(),
        row: (row % ROWS + 1).to_string().into(),
        number: (number + 1).to_string().into(),
        category: category(section % CATEGORIES).into(),
        rank: row % ROWS * SEATS + from_middle,
        aisle: false,
        access: Access::Anyone,
    })
}

fn seat_id(nth: u32) -> Result<SeatId, String> {
    id(&format!("s-{nth}"))
}

/// A hold of the four seats that nobody else names: of one party, or of the next in the row.
pub(super) fn named(number: u32) -> Result<Command, String> {
    // Two seats at the end of each row are left over.
    let parties = SEATS / PARTY;
    let first = number / parties * SEATS + number % parties * PARTY;
    let seats = (first..first + PARTY).map(seat_id).collect::<Result<Vec<_>, _>>()?;
    let lines = Lines::new(Vec::new(), seats).map_err(|refusal| refusal.to_string())?;
    let (booking, user) = (long_id('n', number.into())?, long_id('u', number.into())?);
    Ok(Command::Hold { booking, user, lines, channels: Vec::new(), types: AskedTypes::default() })
}

/// A hold of the four best seats, four times of five of one category: as many of each.
pub(super) fn best(number: u32) -> Result<Command, String> {
    best_of(number, Vec::new())
}

/// The same by somebody who may use the channel.
pub(super) fn best_in_channel(number: u32) -> Result<Command, String> {
    best_of(number, vec![id(CHANNEL)?])
}

fn best_of(number: u32, channels: Vec<ChannelId>) -> Result<Command, String> {
    let wanted = Best::new(PARTY, Together::Prefer).map_err(|refusal| refusal.to_string())?;
    let categories = if number.is_multiple_of(5) {
        Vec::new()
    } else {
        vec![category(number % CATEGORIES).into()]
    };
    let best = wanted.within(categories, Vec::new()).map_err(|refusal| refusal.to_string())?;
    let order = Arc::new(BestOrder::new(best, None).map_err(|refusal| refusal.to_string())?);
    let (booking, user) = (long_id('b', number.into())?, long_id('u', number.into())?);
    Ok(Command::HoldBest { booking, user, order, channels, types: AskedTypes::default() })
}
