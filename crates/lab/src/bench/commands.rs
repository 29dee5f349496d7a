//! Commands that measurements give to engines, and how they give them.

use onrush_core::ids::{BookingId, EventId, UserId};
use onrush_core::limits::MAX_POOL_CAPACITY;
use onrush_core::lines::{Lines, PoolLine};
use onrush_core::settings::Settings;
use onrush_core::spec::PoolSpec;
use onrush_core::types::AskedTypes;
use onrush_core::{Command, Time};
use onrush_store::embedded::Embedded;
use onrush_store::{Engine, Failure};
use std::fmt::Display;
use std::str::FromStr;
use std::time::{SystemTime, UNIX_EPOCH};

pub(super) const POOL: &str = "ga";

/// An id that is known to be one.
pub(super) fn id<T: FromStr<Err: Display>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error: T::Err| error.to_string())
}

/// An id of 36 bytes, as long as a UUID is written.
pub(super) fn long_id<T: FromStr<Err: Display>>(kind: char, number: u64) -> Result<T, String> {
    id(&format!("{kind}{number:035x}"))
}

/// One unit of the pool.
pub(super) fn one_unit() -> Result<Lines, String> {
    let line = PoolLine { pool: id(POOL)?, quantity: 1 };
    Lines::new(vec![line], Vec::new()).map_err(|refusal| refusal.to_string())
}

/// A hold of one unit.
pub(super) fn hold(number: u64, lines: &Lines) -> Result<Command, String> {
    let booking: BookingId = long_id('b', number)?;
    let user: UserId = long_id('u', number)?;
    Ok(Command::Hold {
        booking,
        user,
        lines: lines.clone(),
        channels: Vec::new(),
        types: AskedTypes::default(),
    })
}

/// Settings without a waiting room, a limit per user, and ends that come while we measure.
pub(super) fn flash_sale() -> Result<Settings, String> {
    let mut settings = Settings::new("Benchmark", id("EUR")?);
    settings.max_per_user = None;
    (settings.hold_ttl_ms, settings.hold_max_ms) = (86_400_000, 86_400_000);
    Ok(settings)
}

/// The commands that make an event on sale, with as many units as a pool can have.
pub(super) fn on_sale(settings: Settings) -> Result<Vec<Command>, String> {
    let spec = PoolSpec { pool: id(POOL)?, capacity: MAX_POOL_CAPACITY, price_minor: 0 };
    Ok(vec![
        Command::CreateEvent { settings: Box::new(settings) },
        Command::AddPool { spec },
        Command::OpenSale { seed: None, public_value: None },
    ])
}

/// Gives commands to an engine, one after the other.
pub(super) async fn give(
    engine: &Embedded,
    event: &EventId,
    commands: Vec<Command>,
) -> Result<(), String> {
    for command in commands {
        engine.execute(event.clone(), command).await.map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// What the clock says.
pub(super) fn now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// Gives a command, and again as long as the engine is too busy.
pub(super) async fn insist(
    engine: &Embedded,
    event: &EventId,
    command: Command,
) -> Result<(), String> {
    loop {
        match engine.execute(event.clone(), command.clone()).await {
            Ok(_) => return Ok(()),
            Err(Failure::Busy { retry_after_ms }) => {
                tokio::time::sleep(std::time::Duration::from_millis(retry_after_ms.into())).await;
            }
            Err(error) => return Err(error.to_string()),
        }
    }
}
