//! A server that dies while 100,000 payments are under way, and comes back.

use super::super::common::Common;
use super::super::results::Results;
use super::super::server::Served;
use super::shop::{set_up, use_card};
use super::webhooks::{begin, sold};
use crate::load::Pool;
use onrush_base::config::Secret;
use onrush_sandbox::{Sandbox, SandboxConfig};
use onrush_terminal::show::{count, say};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

const SAGAS: u64 = 100_000;
const SECRET: &str = "benchmark-secret-benchmark";
const WEBHOOK_SECRET: &str = "benchmark-webhook-secret";
const CONNECTIONS: usize = 64;

pub(super) async fn run(common: &Common, results: &mut Results) -> Result<(), String> {
    let scratch = common.scratch()?;
    let (data, till) = (scratch.path().join("data"), scratch.path().join("till"));
    // The gateway lives on when the server dies. It has no address for its messages: all of them are lost.
    let config = SandboxConfig::new(
        till,
        Secret::from(SECRET.to_owned()),
        Secret::from(WEBHOOK_SECRET.to_owned()),
    );
    let sandbox = Sandbox::start(config).await.map_err(|error| error.to_string())?;
    let url = sandbox.base_url();
    let settings = [
        ("ONRUSH_SANDBOX_URL", url.as_str()),
        ("ONRUSH_SANDBOX_SECRET", SECRET),
        ("ONRUSH_SANDBOX_WEBHOOK_SECRET", WEBHOOK_SECRET),
    ];
    let served = Served::selling(&data, &settings)?;
    let pool = Arc::new(Pool::new(served.address, CONNECTIONS));
    set_up(&pool, false).await?;
    let wanted = common.size(SAGAS);
    say(&format!("restart: {} payments are begun and paid, and nobody hears of it", count(wanted)));
    let payments = begin(&pool, wanted).await?;
    pay_all(&sandbox, payments).await?;
    drop(served);

    let begun = Instant::now();
    let served = Served::selling(&data, &settings)?;
    let pool = Pool::new(served.address, 2);
    let mut confirmed = sold(&pool).await?;
    let serving = begun.elapsed();
    say(&format!("restart: serving after {:.1} s", serving.as_secs_f64()));
    while confirmed < wanted {
        if begun.elapsed() > Duration::from_secs(600) {
            return Err(format!("only {} of {wanted} were confirmed", confirmed));
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
        confirmed = sold(&pool).await?;
    }
    let done = begun.elapsed();
    sandbox.shutdown().await;
    results.figure("restart_open_sagas", wanted as f64);
    results.figure("restart_serving_s", serving.as_secs_f64());
    results.figure("restart_driven_s", done.as_secs_f64());
    results.say(&format!(
        "restart    with {} payments under way: serving after {:.1} s (goal ≤ 5 s), all confirmed \
         after {:.1} s (goal ≤ 60 s)",
        count(wanted),
        serving.as_secs_f64(),
        done.as_secs_f64()
    ));
    Ok(())
}

async fn pay_all(sandbox: &Sandbox, payments: Vec<super::shop::PlaceBody>) -> Result<(), String> {
    let pages = Arc::new(Pool::new(sandbox.address(), CONNECTIONS));
    let mut tasks = JoinSet::new();
    let mut shares: Vec<Vec<_>> = (0..CONNECTIONS).map(|_| Vec::new()).collect();
    for (number, payment) in payments.into_iter().enumerate() {
        shares[number % CONNECTIONS].push(payment);
    }
    for share in shares {
        let pages = pages.clone();
        tasks.spawn(async move {
            for payment in &share {
                use_card(&pages, payment).await?;
            }
            Ok::<_, String>(())
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.map_err(|error| error.to_string())??;
    }
    Ok(())
}
