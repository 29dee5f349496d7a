//! What clients ask an engine for that each wait for their answer before they ask again.

use super::super::common::Common;
use crate::bench::commands::{hold, id, long_id, one_unit};
use onrush_core::ids::{EventId, PlaceId};
use onrush_core::question::PlaceOf;
use onrush_core::settings::{RoomSettings, Settings};
use onrush_core::{Command, limits::MAX_POOL_CAPACITY, spec::PoolSpec};
use onrush_store::{Ask, Engine};
use std::sync::Arc;
use std::time::Instant;
use tokio::task::JoinSet;

/// Clients at a time, the same for everything that is compared.
pub(super) const CLIENTS: u32 = 50;

/// The job that is compared: one unit of a hot zone, at most four a user, for ten minutes.
pub(super) fn job() -> Result<Settings, String> {
    let mut settings = Settings::new("Benchmark", id("EUR")?);
    settings.max_per_user = Some(4);
    Ok(settings)
}

/// Puts an event on sale.
pub(super) async fn put_on_sale<E: Engine>(
    engine: &E,
    event: &EventId,
    settings: Settings,
) -> Result<(), String> {
    let spec = PoolSpec { pool: id("ga")?, capacity: MAX_POOL_CAPACITY, price_minor: 15_000 };
    let commands = [
        Command::CreateEvent { settings: Box::new(settings) },
        Command::AddPool { spec },
        Command::OpenSale { seed: None, public_value: None },
    ];
    for command in commands {
        engine.execute(event.clone(), command).await.map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// The same with a line before it, which is as long as people come.
pub(super) fn queueing() -> Result<Settings, String> {
    let room = RoomSettings { capacity: 1, ..RoomSettings::default() };
    Ok(Settings { room: Some(room), ..job()? })
}

/// Holds a second by [`CLIENTS`] clients, after a second that is not counted.
pub(super) async fn holds_per_s<E: Engine>(
    common: &Common,
    engine: &Arc<E>,
    event: &EventId,
) -> Result<f64, String> {
    let (event, lines) = (event.clone(), one_unit()?);
    let ask = move |engine: Arc<E>, number: u64| {
        let held = hold(number, &lines).map(|command| engine.execute(event.clone(), command));
        async move { held?.await.map(drop).map_err(|error| error.to_string()) }
    };
    per_s(common, engine, ask).await
}

/// Joins a second by [`CLIENTS`] clients, until so many wait.
pub(super) async fn joins_per_s<E: Engine>(
    engine: &Arc<E>,
    event: &EventId,
    waiting: u64,
) -> Result<f64, String> {
    let begun = Instant::now();
    let mut clients = JoinSet::new();
    for client in 0..u64::from(CLIENTS) {
        let (engine, event) = (Arc::clone(engine), event.clone());
        clients.spawn(async move {
            for number in (client..waiting).step_by(CLIENTS as usize) {
                let (user, place) = (long_id('u', number)?, place(number));
                let join = engine.execute(event.clone(), Command::Join { place, user });
                join.await.map_err(|error| error.to_string())?;
            }
            Ok::<_, String>(())
        });
    }
    while let Some(done) = clients.join_next().await {
        done.map_err(|error| error.to_string())??;
    }
    Ok(waiting as f64 / begun.elapsed().as_secs_f64())
}

/// A place that is random, as in earnest, and always the same for a number.
pub(super) fn place(number: u64) -> PlaceId {
    PlaceId::from_u128(u128::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c))
}

/// Exact positions a second of so many who wait, by [`CLIENTS`] clients.
pub(super) async fn positions_per_s<E: Engine>(
    common: &Common,
    engine: &Arc<E>,
    event: &EventId,
    waiting: u64,
) -> Result<f64, String> {
    let event = event.clone();
    let ask = move |engine: Arc<E>, number: u64| {
        // Clients count from numbers of their own: neighbours in the line are asked for far apart.
        let whose = long_id('u', number.wrapping_mul(0x9e37_79b9) % waiting);
        let place = whose.map(|user| engine.ask(event.clone(), PlaceOf { user, place: None }));
        async move { place?.await.map(drop).map_err(|error| error.to_string()) }
    };
    per_s(common, engine, ask).await
}

/// Answers a second to [`CLIENTS`] clients, each with numbers of its own, after a second that is not
/// counted.
async fn per_s<E, F, A>(common: &Common, engine: &Arc<E>, ask: F) -> Result<f64, String>
where
    E: Engine,
    F: Fn(Arc<E>, u64) -> A + Clone + Send + 'static,
    A: Future<Output = Result<(), String>> + Send,
{
    let from = Instant::now() + common.time(1.0);
    let until = from + common.time(6.0);
    let mut clients = JoinSet::new();
    for client in 1..=u64::from(CLIENTS) {
        let (engine, ask) = (Arc::clone(engine), ask.clone());
        clients.spawn(async move {
            let mut answers = 0_u32;
            for number in (client << 32).. {
                ask(Arc::clone(&engine), number).await?;
                let answered = Instant::now();
                if answered >= until {
                    break;
                }
                answers += u32::from(answered >= from);
            }
            Ok::<u32, String>(answers)
        });
    }
    let mut answers = 0;
    while let Some(of_client) = clients.join_next().await {
        answers += of_client.map_err(|error| error.to_string())??;
    }
    Ok(f64::from(answers) / (until - from).as_secs_f64())
}
