//! How much room the history of sold-out events takes in PostgreSQL, and how much of it comes back.

use crate::moving::Archive;
use onrush_core::Command;
use onrush_core::ids::EventId;
use onrush_core::lines::{Lines, PoolLine};
use onrush_core::settings::Settings;
use onrush_core::spec::{PoolSpec, Reason};
use onrush_core::types::AskedTypes;
use onrush_store::embedded::{Embedded, JournalReader, Options};
use onrush_store::{Engine, Seq};
use onrush_testkit::{Postgres, need};
use std::sync::Arc;

/// Units of each event: two decisions each.
const UNITS: u32 = 1_000;
/// Events of a season; set `ONRUSH_ARCHIVED_EVENTS` for more.
const EVENTS: u32 = 10;

fn id<T: std::str::FromStr<Err: std::fmt::Debug>>(text: &str) -> T {
    text.parse().expect("an id")
}

/// The decisions of an event that is sold out, closed and archived, as JSON.
async fn sold_out() -> Vec<String> {
    let dir = tempfile::tempdir().expect("a directory");
    let engine = Embedded::open(dir.path(), Options::default()).expect("opened");
    let event: EventId = id("gala");
    let run = |command| engine.execute(event.clone(), command);
    let settings = Box::new(Settings::new("Gala", id("EUR")));
    run(Command::CreateEvent { settings }).await.expect("created");
    let spec = PoolSpec { pool: id("ga"), capacity: UNITS, price_minor: 0 };
    run(Command::AddPool { spec }).await.expect("added");
    run(Command::OpenSale { seed: None, public_value: None }).await.expect("open");
    let name = |unit: u32| (id(&format!("gala.{unit:032x}")), id(&format!("v{unit:032x}")));
    let hold = |unit: u32| {
        let (booking, user) = name(unit);
        let lines = Lines::new(vec![PoolLine { pool: id("ga"), quantity: 1 }], vec![]);
        let (lines, channels) = (lines.expect("lines"), Vec::new());
        run(Command::Hold { booking, user, lines, channels, types: AskedTypes::default() })
    };
    let confirm = |unit: u32| {
        let (booking, user) = name(unit);
        run(Command::Confirm { booking, user, payment: None })
    };
    let held: Vec<_> = (0..UNITS).map(hold).collect();
    for held in held {
        held.await.expect("held");
    }
    let sold: Vec<_> = (0..UNITS).map(confirm).collect();
    for sold in sold {
        sold.await.expect("sold");
    }
    run(Command::Close).await.expect("closed");
    let reason = Reason { by: "office".into(), why: "it is over".into() };
    run(Command::Archive { reason }).await.expect("archived");
    let mut journal = JournalReader::open(dir.path()).expect("a journal");
    let entries = journal.page(Seq(0), usize::MAX).expect("read");
    engine.close();
    entries.iter().map(|entry| serde_json::to_string(&entry.changes).expect("JSON")).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_season_sold_out_and_archived_leaves_room_for_the_next_and_full_vacuum_gives_it_back() {
    // Alone: a transaction in any database of a server keeps pages that VACUUM emptied from being used.
    let Some(server) = need(Postgres::start()) else { return };
    let archive = Archive::empty(Arc::new(server)).await;
    let events = std::env::var("ONRUSH_ARCHIVED_EVENTS").ok();
    let events = events.map_or(EVENTS, |events| events.parse().expect("a number"));
    let decisions: Vec<(u64, String)> = (1..).zip(sold_out().await).collect();
    let bytes = || -> u64 {
        let sizes = "SELECT pg_total_relation_size('feed'), pg_database_size(current_database())";
        let sizes = archive.sql(sizes);
        println!("archive and database: {sizes}");
        sizes.split('|').next().and_then(|bytes| bytes.parse().ok()).expect("a number")
    };
    let season = async |number: u32| {
        for event in 0..events {
            for page in decisions.chunks(500) {
                archive.append(&format!("gala-{number}-{event}"), page).await;
            }
        }
    };
    let before = bytes();
    season(1).await;
    let full = bytes();
    let moved = archive.moved().await.expect("moved");
    assert_eq!(moved.archived.len() as u32, events);
    let files: u64 = moved.archived.iter().map(|archived| archived.file_bytes).sum();
    let after = bytes();
    season(2).await;
    let next = bytes();
    archive.moved().await.expect("moved");
    archive.sql("VACUUM FULL feed");
    let shrunk = bytes();
    println!(
        "{events} events of {} decisions: the archive has {before} bytes, {full} when they are sold out, \
         {after} when {files} bytes of files have them, {next} with as many more, {shrunk} when these \
         are in files and the table is written anew",
        decisions.len()
    );
    assert!(next < full + full / 10, "the next season takes up the room of the first");
    assert!(shrunk < before + u64::from(2 * events) * 2_000 + 32_768, "{shrunk} bytes are left");
}
