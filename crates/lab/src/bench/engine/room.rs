//! A waiting room with ten million visitors: what each one costs, and what a position costs. The rules alone.

use super::super::commands::{id, long_id, now};
use super::super::common::Common;
use super::super::goals;
use super::super::results::Results;
use super::super::results::resident_bytes;
use onrush_core::ids::{PlaceId, UserId};
use onrush_core::question::PlaceOf;
use onrush_core::settings::{RoomSettings, Settings};
use onrush_core::{Command, Event, Query, Time};
use onrush_terminal::show::{Progress, count};
use std::hint::black_box;
use std::time::Instant;

const VISITORS: u64 = 10_000_000;
/// Positions asked for at each size.
const POSITIONS: u64 = 100_000;
/// Commands between two looks at the progress.
const STEP: u64 = 8_192;

pub(super) fn run(common: &Common, results: &mut Results) -> Result<(), String> {
    let visitors = common.size(VISITORS);
    let mut room = Room::new()?;
    let before = resident_bytes(std::process::id());

    let mut progress = Progress::new(visitors);
    let begun = Instant::now();
    let mut asking = std::time::Duration::ZERO;
    let mut sizes: Vec<u64> =
        [1_000, 10_000, 100_000, 1_000_000].into_iter().filter(|n| *n < visitors).collect();
    sizes.push(visitors);
    let mut sizes = sizes.into_iter().peekable();
    for number in 0..visitors {
        room.join(number)?;
        if sizes.peek() == Some(&(number + 1)) {
            sizes.next();
            let asked = Instant::now();
            measure_size(&room, number + 1, before, results)?;
            asking += asked.elapsed();
        }
        if number % STEP == 0 {
            progress.show(number, "joined");
        }
    }
    progress.finish();
    let joining = begun.elapsed() - asking;

    let begun = Instant::now();
    let mut progress = Progress::new(visitors);
    room.run(&Command::OpenSale { seed: None, public_value: None })?;
    for number in 0..visitors {
        room.serve(number)?;
        if number % STEP == 0 {
            progress.show(number, "served");
        }
    }
    progress.finish();
    let per_s = |time: std::time::Duration| visitors as f64 / time.as_secs_f64();
    results.figure("room_visitors", visitors as f64);
    results.figure("room_joined_per_s", per_s(joining));
    results.figure("room_served_per_s", per_s(begun.elapsed()));
    results.say(&format!(
        "room       {} visitors joined ({}/s) and served in order ({}/s), the rules alone",
        count(visitors),
        count(per_s(joining) as u64),
        count(per_s(begun.elapsed()) as u64)
    ));
    Ok(())
}

/// Memory and the cost of a position with `size` people waiting.
fn measure_size(
    room: &Room,
    size: u64,
    before: Option<u64>,
    results: &mut Results,
) -> Result<(), String> {
    let used = resident_bytes(std::process::id())
        .zip(before)
        .map(|(now, before)| now.saturating_sub(before));
    let bytes_each = used.map_or(f64::NAN, |bytes| bytes as f64 / size as f64);
    let asked = POSITIONS.min(size);
    // The same visitors everywhere in the line, in no order that a cache could guess.
    let queries: Result<Vec<Query>, String> = (0..asked)
        .map(|i| {
            let number = i.wrapping_mul(0x9e37_79b9_7f4a_7c15) % size;
            Ok(PlaceOf { user: user(number)?, place: None }.into())
        })
        .collect();
    let queries = queries?;
    let begun = Instant::now();
    for query in &queries {
        let view = room.event.query(room.at, query).map_err(|refusal| refusal.to_string())?;
        black_box(view);
    }
    let each_ns = begun.elapsed().as_nanos() as f64 / asked as f64;
    results.figure(&format!("position_ns_at_{size}"), each_ns);
    // A small room is lost in what the process has reserved already.
    if size >= 1_000_000 {
        results.figure(&format!("bytes_per_visitor_at_{size}"), bytes_each);
        results.say(&format!(
            "visitors   {bytes_each:.0} bytes each with {} waiting, ids of 36 bytes (goal {})",
            count(size),
            goals::of("engine.bytes_per_visitor"),
        ));
    }
    results.say(&format!("position   {each_ns:.0} ns with {} waiting", count(size)));
    Ok(())
}

struct Room {
    event: Event,
    at: Time,
}

impl Room {
    fn new() -> Result<Self, String> {
        let mut room = Self { event: Event::new(id("room")?), at: now() };
        let mut settings = Settings::new("Benchmark", id("EUR")?);
        settings.room = Some(RoomSettings {
            capacity: 1,
            max_queue_size: 20_000_000,
            ..RoomSettings::default()
        });
        room.run(&Command::CreateEvent { settings: Box::new(settings) })?;
        room.run(&Command::OpenPrequeue)?;
        Ok(room)
    }

    fn run(&mut self, command: &Command) -> Result<(), String> {
        let decision =
            self.event.decide(self.at, command).map_err(|refusal| refusal.to_string())?;
        for change in &decision.changes {
            self.event.evolve(self.at, change);
        }
        Ok(())
    }

    fn join(&mut self, number: u64) -> Result<(), String> {
        self.run(&Command::Join { place: place(number), user: user(number)? })
    }

    /// Admits the next visitor, who must be this one, and lets them go.
    fn serve(&mut self, number: u64) -> Result<(), String> {
        self.run(&Command::Tick)?;
        self.run(&Command::Arrive { place: place(number), user: user(number)? })?;
        self.run(&Command::Leave { place: place(number), user: user(number)? })
    }
}

fn user(number: u64) -> Result<UserId, String> {
    long_id('u', number)
}

fn place(number: u64) -> PlaceId {
    // Places are random in real life, so their tables get no order to profit from.
    let mixed = u128::from(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    PlaceId::from_u128(mixed << 64 | u128::from(number))
}
