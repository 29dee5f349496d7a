//! `onrush bench compare`: the same job on four engines.

use super::super::common::{Common, measure};
use super::super::results::Results;
use super::shared::{self, CLIENTS};
use super::{plain, postgres, redis};
use crate::bench::commands::id;
use onrush_core::ids::EventId;
use onrush_store::embedded::{Embedded, Options};
use onrush_terminal::show::say;
use std::sync::Arc;

pub(super) fn run(common: &Common, results: &mut Results) -> Result<(), String> {
    say("compare: embedded");
    let embedded = measure(embedded(common))?;
    say("compare: Redis engine and plain script");
    let (engine, plain) = measure(on_redis(common))?;
    say("compare: PostgreSQL");
    let postgres = postgres::hot_row(common)?;
    let rates = [
        ("embedded", embedded),
        ("redis", engine),
        ("plain_script", plain),
        ("postgres_row", postgres),
    ];
    for (name, rate) in rates {
        results.figure(name, rate);
        results.say(&format!(
            "{name:<13} {rate:>9.0} holds/s  {:>6.2} × the plain script ({CLIENTS} clients)",
            rate / plain
        ));
    }
    Ok(())
}

async fn embedded(common: &Common) -> Result<f64, String> {
    let scratch = common.scratch()?;
    let engine = Embedded::open(scratch.path(), Options::default()).map_err(|e| e.to_string())?;
    let (engine, event): (_, EventId) = (Arc::new(engine), id("flash")?);
    shared::put_on_sale(&*engine, &event, shared::job()?).await?;
    shared::holds_per_s(common, &engine, &event).await
}

async fn on_redis(common: &Common) -> Result<(f64, f64), String> {
    let server = redis::server()?;
    let engine = redis::engine(&server).await?;
    let event: EventId = id("flash")?;
    shared::put_on_sale(&*engine, &event, shared::job()?).await?;
    let ours = shared::holds_per_s(common, &engine, &event).await?;
    drop(engine);
    let scale = common.scale;
    let share = move |full: u64| ((full as f64 * scale) as u64).max(1_000);
    let plain = tokio::task::spawn_blocking(move || plain::reserve(&server, share))
        .await
        .map_err(|error| error.to_string())??;
    Ok((ours, plain))
}
