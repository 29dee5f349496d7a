//! How long an engine takes to come back.

use super::super::{Common, Results};
use super::{flash_sale, give, hold, id, insist, long_id, on_sale, one_unit};
use crate::cli::show::{Progress, count, say};
use onrush_core::Command;
use onrush_core::ids::{EventId, PlaceId};
use onrush_core::settings::{RoomSettings, Settings};
use onrush_store::embedded::Options;
use onrush_store::{Embedded, Engine};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

const CHANGES: u64 = 5_000_000;
const WAITING: u64 = 1_000_000;
const HOLDS: u64 = 100_000;
/// Commands under way while the journal is made.
const CALLERS: u64 = 2_048;

pub(super) fn run(common: &Common, results: &mut Results) -> Result<(), String> {
    let scratch = common.scratch()?;
    let runtime = crate::cli::runtime()?;
    say("recovery: making a journal");
    let changes = runtime.block_on(fill(common, scratch.path()))?;
    // Closing it has left a snapshot.
    let _inside = runtime.enter();
    let with = open(scratch.path())?;
    for file in snapshots(scratch.path())? {
        std::fs::remove_file(&file).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    let without = open(scratch.path())?;
    results.figure("recovery_changes", changes as f64);
    results.figure("recovery_s", without.as_secs_f64());
    results.figure("recovery_with_snapshot_s", with.as_secs_f64());
    results.say(&format!(
        "recovery   {:.1} s for {} changes without a snapshot (goal ≤ 15 s), {:.1} s with one (goal ≤ 3 s): {} waiting, {} holds",
        without.as_secs_f64(),
        count(changes),
        with.as_secs_f64(),
        count(common.size(WAITING)),
        count(common.size(HOLDS))
    ));
    Ok(())
}

/// Opens the engine and says how long that took; leaves again without changing more than it must.
fn open(dir: &Path) -> Result<Duration, String> {
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

/// Makes a journal: people who wait, holds that live, and holds that came and went. Says how many changes it has.
async fn fill(common: &Common, dir: &Path) -> Result<u64, String> {
    let (total, waiting, holds) = (common.size(CHANGES), common.size(WAITING), common.size(HOLDS));
    let gone = total.saturating_sub(waiting + holds) / 2;
    let engine = Arc::new(Embedded::open(dir, options()).map_err(|error| error.to_string())?);

    let room: EventId = id("room")?;
    let mut settings = Settings::new("Benchmark", id("EUR")?);
    settings.room = Some(RoomSettings { max_queue_size: 20_000_000, ..RoomSettings::default() });
    give(
        &engine,
        &room,
        vec![Command::CreateEvent { settings: Box::new(settings) }, Command::OpenPrequeue],
    )
    .await?;
    let flash: EventId = id("flash")?;
    give(&engine, &flash, on_sale(flash_sale()?)?).await?;

    let lines = one_unit()?;
    many(waiting, "joined", async |number| {
        let place = PlaceId::from_u128(u128::from(number));
        insist(&engine, &room, Command::Join { place, user: long_id('w', number)? }).await
    })
    .await?;
    many(holds + gone, "held", async |number| {
        insist(&engine, &flash, hold(number, &lines)?).await?;
        if number < holds {
            return Ok(());
        }
        let release =
            Command::Release { booking: long_id('b', number)?, user: long_id('u', number)? };
        insist(&engine, &flash, release).await
    })
    .await?;
    let decisions = engine.committed().0;
    Ok(decisions)
}

/// Does something for each of `total` numbers, with many under way at a time.
pub(super) async fn many(
    total: u64,
    what: &str,
    each: impl AsyncFn(u64) -> Result<(), String>,
) -> Result<(), String> {
    let next = AtomicU64::new(0);
    let mut progress = Progress::new(total);
    let caller = async || loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= total {
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
            _ = look.tick() => progress.show(next.load(Ordering::Relaxed).min(total), what),
        }
    }
}
