//! `onrush bench map`: how many people get the map of a large house while its seats are being taken.
//!
//! A viewer reads the drawing and then who has which seat, both compressed, as the pages do. Beside
//! them as many viewers as can be read the whole map in one, as programs may: the same house, the
//! same connections, as many seats taken meanwhile.

use super::common::{Common, measure};
use super::results::Results;
use super::server::Served;
use crate::load::{Connection, Latency, Pool, Request};
use onrush_terminal::show::{count, ms, say};
use serde::Deserialize;
use serde_json::{Value, json};
use std::f64::consts::TAU;
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

const EVENT: &str = "bowl";
/// Wedges of the bowl, rows in each, seats in each row.
const SECTIONS: u32 = 20;
const ROWS: u32 = 50;
const SEATS: u32 = 50;
const CATEGORIES: [&str; 4] = ["Floor", "Lower bowl", "Upper bowl", "Gods"];
/// Seats that one buyer takes.
const PARTY: u32 = 4;
/// Of so many seats one is taken while a round lasts: 5 %.
const TAKEN_OF: u32 = 20;
const CONNECTIONS: usize = 64;

/// What can be chosen.
#[derive(clap::Args)]
pub(super) struct MapArgs {
    #[command(flatten)]
    pub(super) common: Common,
}

impl MapArgs {
    /// All rows, as they are measured without a choice.
    pub(super) fn all(common: &Common) -> Self {
        Self { common: common.clone() }
    }
}

/// Runs the measurement.
pub(super) fn run(args: &MapArgs, results: &mut Results) -> Result<(), String> {
    measure(measured(&args.common, results))?;
    Ok(())
}

/// What viewers saw in one round.
struct Seen {
    viewers: u64,
    bytes: u64,
    /// Until a viewer had everything.
    took: Latency,
}

async fn measured(common: &Common, results: &mut Results) -> Result<(), String> {
    let scratch = common.scratch()?;
    let served = Served::product(scratch.path())?;
    let pool = Pool::new(served.address, 4);
    say(&format!("a bowl of {} seats", count(u64::from(SECTIONS * ROWS * SEATS))));
    on_sale(&pool).await?;
    let path = |rest: &str| format!("/api/v1/events/{EVENT}/seats{rest}");
    let as_pages = [path("/plan"), path("/status")];
    let in_one = [path("")];
    let time = common.time(30.0);
    let mut per_s = Vec::new();
    for (round, (name, paths)) in (0..).zip([("map", &as_pages[..]), ("whole_map", &in_one[..])]) {
        let taking = take_seats(&pool, round, time);
        let (seen, taken) = tokio::join!(view(served.address, paths, time), taking);
        let (seen, taken) = (seen?, taken?);
        let seconds = time.as_secs_f64();
        let bytes = seen.bytes as f64 / seen.viewers.max(1) as f64;
        per_s.push(seen.viewers as f64 / seconds);
        results.figure(&format!("{name}_viewers"), seen.viewers as f64);
        results.figure(&format!("{name}_bytes"), bytes);
        results.figure(&format!("{name}_p99_ms"), seen.took.percentile_ms(99.0));
        results.figure(&format!("{name}_seats_taken"), taken.seats as f64);
        results.figure(&format!("{name}_hold_p99_ms"), taken.took.percentile_ms(99.0));
        results.say(&format!(
            "{name}: {} viewers in {seconds:.0} s, {} bytes each, p50 {} p99 {}; {} seats taken \
             meanwhile, holds p99 {}",
            count(seen.viewers),
            count(bytes as u64),
            ms(seen.took.percentile_ms(50.0)),
            ms(seen.took.percentile_ms(99.0)),
            count(taken.seats),
            ms(taken.took.percentile_ms(99.0)),
        ));
    }
    let times = per_s[0] / per_s[1];
    results.figure("map_against_whole_map", times);
    results.say(&format!("{times:.2} times as many viewers as with drawing and statuses in one"));
    Ok(())
}

/// Has viewers come one after the other on each connection, as fast as they are served.
async fn view(address: SocketAddr, paths: &[String], time: Duration) -> Result<Seen, String> {
    let requests: Vec<Request> = paths
        .iter()
        .map(|path| {
            let head = Request::to("GET", path);
            head.header("accept-encoding", format_args!("gzip")).bare()
        })
        .collect();
    let until = Instant::now() + time;
    let mut viewers = JoinSet::new();
    for _ in 0..CONNECTIONS {
        viewers.spawn(view_in_turn(address, requests.clone(), until));
    }
    let mut all = Seen { viewers: 0, bytes: 0, took: Latency::new() };
    for seen in viewers.join_all().await {
        let seen = seen?;
        all.viewers += seen.viewers;
        all.bytes += seen.bytes;
        all.took.add(&seen.took);
    }
    Ok(all)
}

async fn view_in_turn(
    address: SocketAddr,
    requests: Vec<Request>,
    until: Instant,
) -> Result<Seen, String> {
    let broke = |error: std::io::Error| format!("a viewer's connection: {error}");
    let mut connection = Connection::open(address).await.map_err(broke)?;
    let mut seen = Seen { viewers: 0, bytes: 0, took: Latency::new() };
    while Instant::now() < until {
        let begun = Instant::now();
        for request in &requests {
            let answer = connection.exchange(request.bytes()).await.map_err(broke)?;
            if answer.status != 200 {
                return Err(format!("a viewer was answered {}", answer.status));
            }
            seen.bytes += answer.body.len() as u64;
        }
        seen.took.record(begun.elapsed());
        seen.viewers += 1;
    }
    Ok(seen)
}

/// Seats that were taken, and how long each hold took.
struct Taken {
    seats: u64,
    took: Latency,
}

/// Takes one seat of twenty, evenly over the time, four at once in rows that others leave alone.
async fn take_seats(pool: &Pool, round: u32, time: Duration) -> Result<Taken, String> {
    #[derive(Deserialize)]
    struct Held {}
    let token = Served::visitor(pool).await?;
    let holds = SECTIONS * ROWS * SEATS / TAKEN_OF / PARTY;
    let begun = Instant::now();
    let mut taken = Taken { seats: 0, took: Latency::new() };
    for nth in 0..holds {
        let due = begun + time.mul_f64(f64::from(nth) / f64::from(holds));
        tokio::time::sleep_until(due.into()).await;
        // Each row has twelve such groups; the rounds take different ones.
        let row = nth % (SECTIONS * ROWS);
        let group = round * 6 + nth / (SECTIONS * ROWS);
        let seats: Vec<String> =
            (1..=PARTY).map(|number| seat_id(row, group * PARTY + number)).collect();
        let asking = Request::to("POST", &format!("/api/v1/events/{EVENT}/bookings"))
            .token(&token)
            .key(&format!("map-{round}-{nth}"))
            .json(&json!({"seats": seats}).to_string());
        let sent = Instant::now();
        let Held {} = Served::ask(pool, asking).await?;
        taken.took.record(sent.elapsed());
        taken.seats += u64::from(PARTY);
    }
    Ok(taken)
}

/// Creates the event with its house, and opens it.
async fn on_sale(pool: &Pool) -> Result<(), String> {
    let event = json!({
        "event": EVENT, "title": "Bowl", "currency": "EUR", "room": null, "max_per_user": null,
    });
    Served::admin(pool, "POST", "/events", &event.to_string()).await?;
    let prices: Value = CATEGORIES.iter().map(|name| ((*name).to_owned(), json!(0))).collect();
    let map = json!({"plan": plan(), "prices": prices});
    Served::admin(pool, "PUT", &format!("/events/{EVENT}/seat-map"), &map.to_string()).await?;
    Served::admin(pool, "POST", &format!("/events/{EVENT}/open"), "{}").await
}

fn seat_id(row: u32, number: u32) -> String {
    format!("{}-{}-{number}", row / ROWS + 1, row % ROWS + 1)
}

/// A round house, in the format of pretix: rows are arcs, so that no two seats lie alike.
fn plan() -> Value {
    let zones: Vec<Value> = (0..SECTIONS)
        .map(|section| {
            let rows: Vec<Value> = (0..ROWS).map(|row| row_of(section, row)).collect();
            json!({
                "name": format!("Section {}", section + 1), "zone_id": format!("zone-{section}"),
                "uuid": format!("zone-{section}"), "position": {"x": 0.0, "y": 0.0}, "rows": rows,
                "areas": [],
            })
        })
        .collect();
    let categories: Vec<Value> =
        CATEGORIES.iter().map(|name| json!({"name": name, "color": "#3a6ea5"})).collect();
    json!({
        "name": "Bowl", "size": {"width": 4_000.0, "height": 4_000.0}, "categories": categories,
        "zones": zones,
    })
}

fn row_of(section: u32, row: u32) -> Value {
    let radius = 500.0 + 28.0 * f64::from(row);
    let category = CATEGORIES[(row / 13).min(3) as usize];
    let seats: Vec<Value> = (1..=SEATS)
        .map(|number| {
            // A gap as wide as two seats is left between wedges.
            let step = TAU / f64::from(SECTIONS * (SEATS + 2));
            let angle = f64::from(section * (SEATS + 2) + number) * step;
            let hundredths = |at: f64| (at * 100.0).round() / 100.0;
            json!({
                "seat_guid": seat_id(section * ROWS + row, number),
                "seat_number": number.to_string(),
                "category": category, "uuid": seat_id(section * ROWS + row, number),
                "position": {
                    "x": hundredths(2_000.0 + radius * angle.cos()),
                    "y": hundredths(2_000.0 + radius * angle.sin()),
                },
            })
        })
        .collect();
    json!({
        "row_number": (row + 1).to_string(), "row_number_position": "both", "uuid": format!("row-{row}"),
        "position": {"x": 0.0, "y": 0.0}, "seats": seats,
    })
}
