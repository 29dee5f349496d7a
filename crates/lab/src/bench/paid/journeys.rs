//! Buyers who come, pay and go, one after the other, many at a time.

use super::super::common::Common;
use super::super::goals;
use super::super::results::Results;
use super::super::server::Served;
use super::shop::{Buyer, host_of, set_up, use_card};
use crate::load::{Latency, Pool};
use onrush_terminal::show::{count, say};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

const SECONDS: f64 = 20.0;
const WARM_UP_S: f64 = 3.0;
const CONNECTIONS: usize = 128;

struct Fair {
    pool: Pool,
    pages: OnceLock<Pool>,
}

pub(super) async fn run(common: &Common, buyers: u32, results: &mut Results) -> Result<(), String> {
    let scratch = common.scratch()?;
    let served = Served::selling(scratch.path(), &[])?;
    let fair =
        Arc::new(Fair { pool: Pool::new(served.address, CONNECTIONS), pages: OnceLock::new() });
    set_up(&fair.pool, true).await?;
    say(&format!("journeys: {buyers} buyers at a time"));
    let from = Instant::now() + common.time(WARM_UP_S);
    let until = from + common.time(SECONDS);
    let mut tasks = JoinSet::new();
    for _ in 0..buyers {
        tasks.spawn(buy(fair.clone(), from, until));
    }
    let mut latency = Latency::new();
    while let Some(done) = tasks.join_next().await {
        done.map_err(|error| error.to_string())??.into_iter().for_each(|time| latency.record(time));
    }
    let per_s = latency.count() as f64 / (until - from).as_secs_f64();
    results.figure("paid_bookings_per_s", per_s);
    results.figure("paid_journey_p50_ms", latency.percentile_ms(50.0));
    results.figure("paid_journey_p99_ms", latency.percentile_ms(99.0));
    results.say(&format!(
        "paid       {}/s from the queue to the confirmed booking (goal {}), {} buyers at a time; \
         the whole way p50 {:.0} ms, p99 {:.0} ms",
        count(per_s as u64),
        goals::of("paid.paid_bookings_per_s"),
        buyers,
        latency.percentile_ms(50.0),
        latency.percentile_ms(99.0)
    ));
    Ok(())
}

/// One after the other until time is up; how long those took that ended within the time.
async fn buy(fair: Arc<Fair>, from: Instant, until: Instant) -> Result<Vec<Duration>, String> {
    let mut times = Vec::new();
    loop {
        let begun = Instant::now();
        let buyer = Buyer::new(&fair.pool).await?;
        buyer.queue().await?;
        let booking = buyer.hold().await?;
        let payment = buyer.pay(&booking).await?;
        let host = host_of(&payment.url)?;
        let pages = fair.pages.get_or_init(|| Pool::new(host, CONNECTIONS));
        use_card(pages, &payment).await?;
        buyer.confirmed(&booking).await?;
        let now = Instant::now();
        if now >= until {
            return Ok(times);
        }
        if now >= from {
            times.push(now - begun);
        }
    }
}
