//! The longest time without an answer while a snapshot with a million visitors is made beside the sale.

use super::super::commands::{flash_sale, give, hold, id, insist, long_id, on_sale, one_unit};
use super::super::common::{Common, measure};
use super::super::results::Results;
use super::recovery::{many, snapshots};
use onrush_core::Command;
use onrush_core::ids::{EventId, PlaceId};
use onrush_core::settings::{RoomSettings, Settings};
use onrush_store::Engine;
use onrush_store::embedded::{Embedded, Options};
use onrush_terminal::show::{count, ms, say};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

const VISITORS: u64 = 1_000_000;
/// Decisions after the last visitor that bring the snapshot about.
const THEN: u64 = 100_000;
const CALLERS: u64 = 64;
/// How long a snapshot is waited for.
const PATIENCE: Duration = Duration::from_secs(120);

pub(super) fn run(common: &Common, results: &mut Results) -> Result<(), String> {
    say("snapshot: visitors come");
    measure(pause(common, results))
}

async fn pause(common: &Common, results: &mut Results) -> Result<(), String> {
    let scratch = common.scratch()?;
    let visitors = common.size(VISITORS);
    // Enough for the visitors and for the time without a snapshot that we compare with.
    let control = common.time(3.0);
    let options = Options { snapshot_every: visitors + THEN, ..Options::default() };
    let engine = Arc::new(Embedded::open(scratch.path(), options).map_err(|e| e.to_string())?);
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
    many(0..visitors, "joined", async |number| {
        let place = PlaceId::from_u128(u128::from(number));
        insist(&engine, &room, Command::Join { place, user: long_id('w', number)? }).await
    })
    .await?;

    say("snapshot: under load");
    let watch = Arc::new(Gaps::default());
    let mut callers = JoinSet::new();
    for caller in 0..CALLERS {
        callers.spawn(load(Arc::clone(&engine), flash.clone(), caller << 32, Arc::clone(&watch)));
    }
    // The snapshot begins once enough is decided, and ends when its file is there.
    let target = visitors + THEN;
    watch.start();
    while engine.committed().0 < target {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let before = watch.take();
    let begun = Instant::now();
    wait_for_snapshot(scratch.path(), begun).await?;
    let snapshot_s = begun.elapsed().as_secs_f64();
    let during = watch.take();
    tokio::time::sleep(control).await;
    let after = watch.take();
    callers.abort_all();

    results.figure("snapshot_s", snapshot_s);
    results.figure("snapshot_max_gap_ms", during);
    results.figure("no_snapshot_max_gap_ms", before.max(after));
    results.say(&format!(
        "snapshot   {} visitors, {snapshot_s:.1} s beside the sale: longest time without an answer \
         {} (goal ≤ 10 ms); without a snapshot {}",
        count(visitors),
        ms(during),
        ms(before.max(after))
    ));
    Ok(())
}

async fn wait_for_snapshot(dir: &Path, begun: Instant) -> Result<(), String> {
    while snapshots(dir)?.is_empty() {
        if begun.elapsed() > PATIENCE {
            return Err("no snapshot was made".into());
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    Ok(())
}

/// Holds until it is stopped.
async fn load(
    engine: Arc<Embedded>,
    event: EventId,
    first: u64,
    gaps: Arc<Gaps>,
) -> Result<(), String> {
    let lines = one_unit()?;
    for number in first.. {
        insist(&engine, &event, hold(number, &lines)?).await?;
        gaps.answered();
    }
    Ok(())
}

/// The longest time between two answers to anybody.
struct Gaps {
    epoch: Instant,
    last_ns: AtomicU64,
    longest_ns: AtomicU64,
}

impl Default for Gaps {
    fn default() -> Self {
        Self { epoch: Instant::now(), last_ns: AtomicU64::new(0), longest_ns: AtomicU64::new(0) }
    }
}

impl Gaps {
    fn now_ns(&self) -> u64 {
        u64::try_from(self.epoch.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    fn answered(&self) {
        let now = self.now_ns();
        let last = self.last_ns.fetch_max(now, Ordering::Relaxed);
        self.longest_ns.fetch_max(now.saturating_sub(last), Ordering::Relaxed);
    }

    /// Begins to look.
    fn start(&self) {
        self.last_ns.store(self.now_ns(), Ordering::Relaxed);
        self.longest_ns.store(0, Ordering::Relaxed);
    }

    /// The longest time since the last look, in milliseconds.
    fn take(&self) -> f64 {
        self.longest_ns.swap(0, Ordering::Relaxed) as f64 / 1e6
    }
}
