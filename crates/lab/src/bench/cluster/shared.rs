//! Holds through an engine: clients that each wait for their answer before they ask again.

use super::super::common::Common;
use crate::bench::commands::{hold, id, one_unit};
use onrush_core::ids::EventId;
use onrush_core::settings::Settings;
use onrush_core::{Command, limits::MAX_POOL_CAPACITY, spec::PoolSpec};
use onrush_store::Engine;
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

/// Holds a second by [`CLIENTS`] clients, after a second that is not counted.
pub(super) async fn holds_per_s<E: Engine>(
    common: &Common,
    engine: &Arc<E>,
    event: &EventId,
) -> Result<f64, String> {
    let from = Instant::now() + common.time(1.0);
    let until = from + common.time(6.0);
    let mut clients = JoinSet::new();
    for client in 1..=u64::from(CLIENTS) {
        let (engine, event, lines) = (Arc::clone(engine), event.clone(), one_unit()?);
        clients.spawn(async move {
            let mut answers = 0_u32;
            for number in (client << 32).. {
                let command = hold(number, &lines)?;
                engine.execute(event.clone(), command).await.map_err(|error| error.to_string())?;
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
