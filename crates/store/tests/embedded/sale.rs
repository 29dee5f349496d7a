//! A small sale to test with: a hall of twenty seats, a standing zone, and a clock that the test moves.

use onrush_core::hold::HoldState;
use onrush_core::ids::{EventId, PlaceId};
use onrush_core::lines::{Lines, PoolLine};
use onrush_core::question::{AvailabilityNow, BookingOf};
use onrush_core::settings::{RoomSettings, Settings};
use onrush_core::spec::{Access, CategorySpec, PoolSpec, SeatSpec};
use onrush_core::types::AskedTypes;
use onrush_core::view::{AvailabilityView, HoldView};
use onrush_core::{Command, Reply, Time};
use onrush_store::embedded::{Clock, Embedded, ManualClock, OpenError, Options};
use onrush_store::{Ask, Engine, Failure, FeedEntry, Seq};
use std::path::Path;
use std::sync::Arc;
use tempfile::TempDir;

pub(crate) const START: Time = Time(1_780_000_000_000);
pub(crate) const HOLD_MS: i64 = 600_000;
pub(crate) const SEATS: usize = 20;

pub(crate) fn id<T: std::str::FromStr<Err = onrush_core::ids::InvalidId>>(text: &str) -> T {
    text.parse().expect("a test's ids are ids")
}

pub(crate) fn event() -> EventId {
    id("gala")
}

/// A directory, a clock, and what an engine is opened with.
pub(crate) struct Sale {
    pub(crate) dir: TempDir,
    pub(crate) clock: ManualClock,
}

impl Sale {
    pub(crate) fn new() -> Self {
        Self { dir: tempfile::tempdir().expect("a directory"), clock: ManualClock::new(START) }
    }

    pub(crate) fn options(&self) -> Options {
        Options { clock: Clock::Manual(self.clock.clone()), ..Options::default() }
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn try_open(&self) -> Result<Embedded, OpenError> {
        Embedded::open(self.path(), self.options())
    }

    pub(crate) fn open(&self) -> Embedded {
        self.try_open().expect("the engine opens")
    }

    /// Opens an engine with an open sale: no waiting room, a pool `ga` of 100 and seats `s0` to `s19`.
    pub(crate) async fn opened(&self) -> Embedded {
        let engine = self.open();
        open_flash_sale(&engine).await;
        engine
    }

    /// A copy of the files as they are now: what is left if the process ends at this moment.
    pub(crate) fn copy(&self) -> Self {
        let copy =
            Self { dir: tempfile::tempdir().expect("a directory"), clock: self.clock.clone() };
        copy_files(self.path(), copy.path());
        copy
    }
}

pub(crate) fn copy_files(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).expect("a directory") {
        let entry = entry.expect("a file");
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() {
            std::fs::create_dir_all(&to).expect("a directory");
            copy_files(&from, &to);
        } else {
            std::fs::copy(from, to).expect("a copy");
        }
    }
}

pub(crate) fn flash_settings() -> Settings {
    let mut settings = Settings::new("Gala", "EUR".parse().expect("a currency"));
    settings.max_per_user = None;
    settings.hold_ttl_ms = HOLD_MS;
    settings
}

pub(crate) async fn create(engine: &Embedded, settings: Settings) {
    done(engine, Command::CreateEvent { settings: Box::new(settings) }).await;
    done(engine, Command::AddPool { spec: pool_spec("ga", 100) }).await;
    let categories = vec![CategorySpec { name: "stalls".into(), price_minor: 0 }];
    let seat = |n: usize| SeatSpec {
        seat: id(&format!("s{n}")),
        section: "Stalls".into(),
        row: "A".into(),
        number: n.to_string().into(),
        category: "stalls".into(),
        rank: 0,
        aisle: false,
        access: Access::Anyone,
    };
    let seats = (0..SEATS).map(seat).collect();
    done(engine, Command::AddSeats { categories, seats }).await;
}

pub(crate) async fn open_flash_sale(engine: &Embedded) {
    create(engine, flash_settings()).await;
    done(engine, Command::OpenSale { seed: None, public_value: None }).await;
}

/// An open sale with a waiting room for two.
pub(crate) async fn open_room_sale(engine: &Embedded) {
    let mut settings = flash_settings();
    settings.room =
        Some(RoomSettings { capacity: 2, places_per_user: 3, ..RoomSettings::default() });
    create(engine, settings).await;
    done(engine, Command::OpenPrequeue).await;
    done(engine, Command::OpenSale { seed: None, public_value: None }).await;
}

pub(crate) fn pool_spec(pool: &str, capacity: u32) -> PoolSpec {
    PoolSpec { pool: id(pool), capacity, price_minor: 0 }
}

pub(crate) async fn run(engine: &Embedded, command: Command) -> Result<Reply, Failure> {
    engine.execute(event(), command).await.map(|answer| answer.value)
}

pub(crate) async fn done(engine: &Embedded, command: Command) {
    run(engine, command).await.expect("the command is accepted");
}

pub(crate) fn units(quantity: u32) -> Lines {
    Lines::new(vec![PoolLine { pool: id("ga"), quantity }], vec![]).expect("lines")
}

pub(crate) fn seat(n: usize) -> Lines {
    Lines::new(vec![], vec![id(&format!("s{n}"))]).expect("lines")
}

pub(crate) fn hold_command(booking: &str, lines: Lines) -> Command {
    Command::Hold {
        booking: id(booking),
        user: id(&format!("u-{booking}")),
        lines,
        channels: Vec::new(),
        types: AskedTypes::default(),
    }
}

pub(crate) async fn hold(
    engine: &Embedded,
    booking: &str,
    lines: Lines,
) -> Result<HoldView, Failure> {
    Ok(engine.run(event(), hold_command(booking, lines)).await?.value)
}

pub(crate) async fn release(engine: &Embedded, booking: &str) -> Result<Reply, Failure> {
    let command = Command::Release { booking: id(booking), user: id(&format!("u-{booking}")) };
    run(engine, command).await
}

pub(crate) async fn confirm(engine: &Embedded, booking: &str) -> Result<Reply, Failure> {
    let user = id(&format!("u-{booking}"));
    run(engine, Command::Confirm { booking: id(booking), user, payment: None }).await
}

pub(crate) fn join_command(n: u32) -> Command {
    Command::Join { place: PlaceId::from_u128(u128::from(n)), user: id(&format!("v{n}")) }
}

pub(crate) async fn booking(engine: &Embedded, booking: &str) -> Result<HoldState, Failure> {
    let anyones = BookingOf { booking: id(booking), user: None };
    Ok(engine.ask(event(), anyones).await?.value.state)
}

pub(crate) async fn availability(engine: &Embedded) -> AvailabilityView {
    *engine.ask(event(), AvailabilityNow).await.expect("an answer").value
}

/// The feed from `after` up to `last`.
pub(crate) async fn feed_to(engine: &Embedded, after: Seq, last: Seq) -> Vec<Arc<FeedEntry>> {
    let mut feed = engine.subscribe(after);
    let mut entries: Vec<Arc<FeedEntry>> = Vec::new();
    while entries.last().map_or(after, |entry| entry.seq) < last {
        let page = feed.next().await.expect("the feed can be read").expect("the engine runs");
        assert!(!page.is_empty(), "a page has at least one entry");
        entries.extend(page);
    }
    entries
}

/// Waits for a condition, giving other tasks their turn; gives up after half a minute.
pub(crate) async fn until(what: &str, condition: impl Fn() -> bool) {
    let begin = std::time::Instant::now();
    while !condition() {
        assert!(begin.elapsed().as_secs() < 30, "never happened: {what}");
        tokio::task::yield_now().await;
    }
}

/// The engine's state is sound by every measure there is.
pub(crate) fn assert_audit_is_clean(dir: &Path) {
    let report = onrush_store::embedded::audit(dir).expect("the audit can read the files");
    assert_eq!(report.violations, Vec::<String>::new());
}
