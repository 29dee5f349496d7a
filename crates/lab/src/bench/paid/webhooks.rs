//! From the gateway's message to the confirmed booking.

use super::super::common::Common;
use super::super::results::Results;
use super::super::server::Served;
use super::shop::{Buyer, EVENT, PlaceBody, set_up};
use crate::load::{Latency, Pool, Request};
use onrush_base::signature::sign;
use onrush_sandbox::Webhook;
use onrush_terminal::show::{count, say};
use serde::Deserialize;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::task::JoinSet;

const PER_S: u64 = 500;
const SECONDS: u64 = 20;
const CONNECTIONS: usize = 64;
const SECRET: &str = "benchmark-webhook-secret";

pub(super) async fn run(common: &Common, results: &mut Results) -> Result<(), String> {
    let scratch = common.scratch()?;
    let served = Served::selling(
        scratch.path(),
        &[
            ("ONRUSH_SANDBOX_SECRET", "benchmark-secret-benchmark"),
            ("ONRUSH_SANDBOX_WEBHOOK_SECRET", SECRET),
        ],
    )?;
    let pool = Arc::new(Pool::new(served.address, CONNECTIONS));
    set_up(&pool, false).await?;
    let wanted = common.size(PER_S * SECONDS);
    say(&format!("webhooks: {} payments are begun", count(wanted)));
    let payments = begin(&pool, wanted).await?;

    let begun = Instant::now() + Duration::from_millis(50);
    let mut tasks = JoinSet::new();
    for (number, payment) in (0_u32..).zip(payments) {
        let due =
            begun + Duration::from_secs(1) / u32::try_from(PER_S).unwrap_or(u32::MAX) * number;
        tasks.spawn(tell(pool.clone(), payment, due));
    }
    let mut latency = Latency::new();
    while let Some(done) = tasks.join_next().await {
        latency.record(done.map_err(|error| error.to_string())??);
    }
    // The answers came after the confirmations, or they mean nothing.
    let sold = sold(&pool).await?;
    if sold != wanted {
        return Err(format!("{sold} bookings of {wanted} are confirmed"));
    }
    results.figure("webhook_p50_ms", latency.percentile_ms(50.0));
    results.figure("webhook_p99_ms", latency.percentile_ms(99.0));
    results.say(&format!(
        "webhooks   p50 {:.1} ms, p99 {:.1} ms from the scheduled message to the confirmed \
         booking, at {PER_S}/s (goal p99 ≤ 50 ms)",
        latency.percentile_ms(50.0),
        latency.percentile_ms(99.0)
    ));
    Ok(())
}

#[derive(Deserialize)]
struct EventNow {
    units: Units,
}

#[derive(Deserialize)]
struct Units {
    sold: u64,
}

/// Units confirmed so far.
pub(super) async fn sold(pool: &Pool) -> Result<u64, String> {
    let request = Request::to("GET", &format!("/api/v1/events/{EVENT}")).bare();
    Ok(Served::ask::<EventNow>(pool, request).await?.units.sold)
}

/// Begins payments, as many at a time as there are connections.
pub(super) async fn begin(pool: &Arc<Pool>, wanted: u64) -> Result<Vec<PlaceBody>, String> {
    let mut tasks = JoinSet::new();
    let at_a_time = CONNECTIONS as u64;
    for share in 0..at_a_time {
        let pool = pool.clone();
        let mine = wanted / at_a_time + u64::from(share < wanted % at_a_time);
        tasks.spawn(async move {
            let mut payments = Vec::new();
            for _ in 0..mine {
                let buyer = Buyer::new(&pool).await?;
                let booking = buyer.hold().await?;
                payments.push(buyer.pay(&booking).await?);
            }
            Ok::<_, String>(payments)
        });
    }
    let mut all = Vec::new();
    while let Some(done) = tasks.join_next().await {
        all.extend(done.map_err(|error| error.to_string())??);
    }
    Ok(all)
}

/// Says that a payment's money was taken; the answer comes when its booking is confirmed.
async fn tell(pool: Arc<Pool>, payment: PlaceBody, due: Instant) -> Result<Duration, String> {
    tokio::time::sleep_until(due.into()).await;
    let now_s = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let now_s = i64::try_from(now_s).unwrap_or(i64::MAX);
    let webhook = Webhook {
        id: format!("msg-{}", payment.payment),
        kind: "payment.captured".into(),
        payment: payment.payment.parse().map_err(|error| format!("{error}"))?,
        booking: payment.booking.parse().map_err(|error| format!("{error}"))?,
        reference: "benchmark".into(),
        amount_minor: payment.amount_minor,
        currency: "EUR".parse().map_err(|error| format!("{error}"))?,
        why: None,
        refund: None,
        created_s: now_s,
    };
    let body = serde_json::to_string(&webhook).map_err(|error| error.to_string())?;
    let signature = sign(SECRET.as_bytes(), body.as_bytes(), now_s);
    let request = Request::to("POST", "/api/v1/payments/webhook/sandbox");
    let request = request.header("onrush-signature", format_args!("{signature}")).json(&body);
    Served::ask::<serde_json::Value>(&pool, request).await?;
    Ok(due.elapsed())
}
