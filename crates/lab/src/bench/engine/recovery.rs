//! How long an engine takes to come back.

use super::super::commands::{flash_sale, give, hold, id, insist, long_id, on_sale, one_unit};
use super::super::common::{Common, measure};
use super::super::results::Results;
use onrush_core::Command;
use onrush_core::ids::{EventId, PlaceId};
use onrush_core::settings::{RoomSettings, Settings};
use onrush_store::Engine;
use onrush_store::embedded::{Embedded, Options};
use onrush_terminal::show::{Progress, count, say};
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

const CHANGES: u64 = 5_000_000;
const WAITING: u64 = 1_000_000;
const HOLDS: u64 = 100_000;
/// The event that people hold in.
const FLASH: &str = "flash";
/// Commands under way while the journal is made.
const CALLERS: u64 = 2_048;

pub(super) fn run(common: &Common, results: &mut Results) -> Result<(), String> {
    let scratch = common.scratch()?;
    let (waiting, holds) = (common.size(WAITING), common.size(HOLDS));
    say("recovery: people come and hold");
    measure(come_and_hold(waiting, holds, scratch.path()))?;
    // Closing it has left a snapshot, unless there is too little to be worth one.
    let with = open(scratch.path())?;
    say("recovery: others hold and release");
    let gone = common.size(CHANGES).saturating_sub(waiting + holds) / 2;
    let changes = measure(hold_and_release(holds..holds + gone, scratch.path()))?;
    for file in snapshots(scratch.path())? {
        std::fs::remove_file(&file).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    let without = open(scratch.path())?;
    results.figure("recovery_changes", changes as f64);
    results.figure("recovery_s", without.as_secs_f64());
    results.figure("recovery_with_snapshot_s", with.as_secs_f64());
    results.say(&format!(
        "recovery   {:.1} s for {} changes without a snapshot (goal ≤ 15 s); {:.1} s with one \
         (goal ≤ 3 s) of {} waiting and {} holds",
        without.as_secs_f64(),
        count(changes),
        with.as_secs_f64(),
        count(waiting),
        count(holds)
    ));
    Ok(())
}

/// Opens the engine and says how long that took; leaves again without changing more than it must.
fn open(dir: &Path) -> Result<Duration, String> {
    let runtime = onrush_terminal::process::runtime()?;
    let _inside = runtime.enter();
    let begun = Instant::now();
    let engine = Embedded::open(dir, options()).map_err(|error| error.to_string())?;
    let time = begun.elapsed();
    engine.close();
    Ok(time)
}

fn options() -> Options {
    Options { snapshot_every: u64::MAX, ..Options::default() }
}

/// Snapshot files in a data directory.
pub(super) fn snapshots(dir: &Path) -> Result<Vec<std::path::PathBuf>, String> {
    let files = std::fs::read_dir(dir).map_err(|error| format!("{}: {error}", dir.display()))?;
    Ok(files
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or("");
            name.starts_with("snapshot-") && name.ends_with(".jsonl")
        })
        .collect())
}

/// Makes a journal with people who wait and holds that live.
async fn come_and_hold(waiting: u64, holds: u64, dir: &Path) -> Result<(), String> {
    let engine = Embedded::open(dir, options()).map_err(|error| error.to_string())?;
    let room: EventId = id("room")?;
    let mut settings = Settings::new("Benchmark", id("EUR")?);
    settings.room = Some(RoomSettings { max_queue_size: 20_000_000, ..RoomSettings::default() });
    let create = Command::CreateEvent { settings: Box::new(settings) };
    give(&engine, &room, vec![create, Command::OpenPrequeue]).await?;
    let flash: EventId = id(FLASH)?;
    give(&engine, &flash, on_sale(flash_sale()?)?).await?;

    many(0..waiting, "joined", async |number| {
        let place = PlaceId::from_u128(u128::from(number));
        insist(&engine, &room, Command::Join { place, user: long_id('w', number)? }).await
    })
    .await?;
    let lines = one_unit()?;
    many(0..holds, "held", async |number| insist(&engine, &flash, hold(number, &lines)?).await)
        .await
}

/// Adds holds that come and go; says how many changes the journal has then.
async fn hold_and_release(numbers: Range<u64>, dir: &Path) -> Result<u64, String> {
    let engine = Embedded::open(dir, options()).map_err(|error| error.to_string())?;
    let flash: EventId = id(FLASH)?;
    let lines = one_unit()?;
    many(numbers, "held and released", async |number| {
        insist(&engine, &flash, hold(number, &lines)?).await?;
        let (booking, user) = (long_id('b', number)?, long_id('u', number)?);
        insist(&engine, &flash, Command::Release { booking, user }).await
    })
    .await?;
    // Here every decision is one change.
    Ok(engine.committed().0)
}

/// Does something for each of `numbers`, with many under way at a time.
pub(super) async fn many(
    numbers: Range<u64>,
    what: &str,
    each: impl AsyncFn(u64) -> Result<(), String>,
) -> Result<(), String> {
    let next = AtomicU64::new(numbers.start);
    let total = numbers.end - numbers.start;
    let mut progress = Progress::new(total);
    let caller = async || loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= numbers.end {
            return Ok(());
        }
        each(number).await?;
    };
    let all = futures_util::future::try_join_all((0..CALLERS.min(total)).map(|_| caller()));
    let mut all = std::pin::pin!(all);
    let mut look = tokio::time::interval(Duration::from_millis(250));
    loop {
        tokio::select! {
            done = &mut all => {
                progress.finish();
                return done.map(|_: Vec<()>| ());
            }
            _ = look.tick() => {
                progress.show((next.load(Ordering::Relaxed) - numbers.start).min(total), what);
            },
        }
    }
}
