//! Rates, each beside the rate of a bare server that does nothing.

use super::super::common::Common;
use super::super::goals;
use super::super::results::Results;
use super::super::results::median;
use super::super::server::Served;
use super::closed_loop::{DIGITS, Round, Template, round};
use crate::load::{Pool, Request};
use onrush_terminal::show::{Progress, count, ms, say};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Different visitors that hold.
const BUYERS: u64 = 8_192;
/// Visitors that wait while positions are asked for.
const WAITING: u64 = 100_000;
/// Connections that set things up.
pub(crate) const SET_UP_CONNECTIONS: u64 = 128;
const HOLD: &str = "{\"pools\":{\"ga\":1}}";

/// What a unit costs in the event that is on sale, and what the figures are called.
#[derive(Clone, Copy)]
pub(super) enum Price {
    Free,
    /// The ledger hears of each hold, too.
    Priced,
}

impl Price {
    fn minor(self) -> u32 {
        match self {
            Self::Free => 0,
            Self::Priced => 4_900,
        }
    }

    fn names(self) -> [&'static str; 3] {
        match self {
            Self::Free => ["echo", "holds", "hold"],
            Self::Priced => ["priced_echo", "priced_holds", "priced_hold"],
        }
    }
}

/// Durable holds, token checked, against the bare echo of the same request.
pub(super) async fn holds(
    common: &Common,
    rounds: u32,
    price: Price,
    results: &mut Results,
) -> Result<(), String> {
    let scratch = common.scratch()?;
    let product = match price {
        Price::Free => Served::product(scratch.path())?,
        Price::Priced => Served::selling(scratch.path(), &[])?,
    };
    let bare = Served::bare()?;
    let pool = Pool::new(product.address, SET_UP_CONNECTIONS as usize);
    let event = "{\"event\":\"flash\",\"title\":\"Benchmark\",\"currency\":\"EUR\",\"room\":null,\
                 \"max_per_user\":null,\"hold_ttl_ms\":86400000,\"hold_max_ms\":86400000}";
    Served::admin(&pool, "POST", "/events", event).await?;
    let stock =
        format!("{{\"pool\":\"ga\",\"capacity\":1000000000,\"price_minor\":{}}}", price.minor());
    Served::admin(&pool, "POST", "/events/flash/pools", &stock).await?;
    Served::admin(&pool, "POST", "/events/flash/open", "{}").await?;
    let tokens =
        visitors(&pool, common.size(BUYERS).max(256), "visitors", async |_| Ok(())).await?;

    let request =
        |path: &str, token: &String| Request::to("POST", path).token(token).key(DIGITS).json(HOLD);
    let [echo_name, holds_name, what] = price.names();
    let mut first = 0;
    for connections in [256, 64] {
        let (mut echo, mut hold, mut busy_s) = (Vec::new(), Vec::new(), Vec::new());
        for number in 1..=rounds {
            say(&format!("{holds_name} at {connections} connections: round {number} of {rounds}"));
            let echoes = spread(connections, &tokens, |token| request("/echo", token), 0);
            echo.push(measure(common, &bare, echoes).await?);
            let wishes = spread(
                connections,
                &tokens,
                |token| request("/api/v1/events/flash/bookings", token),
                first,
            );
            // No key is ever used twice, or an answer would be a repetition.
            first += 1 << 40;
            hold.push(measure(common, &product, wishes).await?);
            // What it still has to do is not the next round's.
            busy_s.push(product.rest().await?.as_secs_f64());
        }
        let suffix = if connections == 256 { String::new() } else { format!("_{connections}") };
        results.rounds(&format!("{what}_busy_after_s{suffix}"), busy_s);
        report(results, connections, &suffix, [(echo_name, &echo), (holds_name, &hold)], what);
    }
    Ok(())
}

/// Exact positions of people who wait, against a bare GET.
pub(super) async fn positions(
    common: &Common,
    rounds: u32,
    results: &mut Results,
) -> Result<(), String> {
    let scratch = common.scratch()?;
    let product = Served::product(scratch.path())?;
    let bare = Served::bare()?;
    let pool = Pool::new(product.address, SET_UP_CONNECTIONS as usize);
    let tokens = waiting(&pool, common.size(WAITING).max(256)).await?;

    let connections = 256;
    let request = |path: &str, token: &String| Request::to("GET", path).token(token).bare();
    let (mut get, mut position) = (Vec::new(), Vec::new());
    for number in 1..=rounds {
        say(&format!("positions at {connections} connections: round {number} of {rounds}"));
        let gets = spread(connections, &tokens, |token| request("/get", token), 0);
        get.push(measure(common, &bare, gets).await?);
        let asks =
            spread(connections, &tokens, |token| request("/api/v1/events/room/queue", token), 0);
        position.push(measure(common, &product, asks).await?);
    }
    report(results, connections, "", [("get", &get), ("positions", &position)], "position");
    Ok(())
}

/// Makes a room, and so many visitors wait before it; says their tokens.
pub(crate) async fn waiting(pool: &Pool, total: u64) -> Result<Vec<String>, String> {
    let event = "{\"event\":\"room\",\"title\":\"Benchmark\",\"currency\":\"EUR\",\"room\":{}}";
    Served::admin(pool, "POST", "/events", event).await?;
    Served::admin(pool, "POST", "/events/room/prequeue", "{}").await?;
    visitors(pool, total, "waiting", async |token: &str| {
        let join = Request::to("POST", "/api/v1/events/room/queue").token(token).bare();
        Served::ask::<serde_json::Value>(pool, join).await.map(drop)
    })
    .await
}

/// Makes visitors, does something with each one's token, and says all tokens.
async fn visitors(
    pool: &Pool,
    total: u64,
    what: &str,
    then: impl AsyncFn(&str) -> Result<(), String>,
) -> Result<Vec<String>, String> {
    let done = AtomicU64::new(0);
    let caller = async |first: u64| {
        let mut tokens = Vec::new();
        for _ in (first..total).step_by(SET_UP_CONNECTIONS as usize) {
            let token = Served::visitor(pool).await?;
            then(&token).await?;
            tokens.push(token);
            done.fetch_add(1, Ordering::Relaxed);
        }
        Ok::<_, String>(tokens)
    };
    let all = futures_util::future::try_join_all((0..SET_UP_CONNECTIONS.min(total)).map(caller));
    let mut all = std::pin::pin!(all);
    let mut progress = Progress::new(total);
    let mut look = tokio::time::interval(Duration::from_millis(250));
    loop {
        tokio::select! {
            tokens = &mut all => {
                progress.finish();
                return Ok(tokens?.into_iter().flatten().collect());
            }
            _ = look.tick() => progress.show(done.load(Ordering::Relaxed), what),
        }
    }
}

/// Spreads visitors over connections. Each one's keys count up from a number of their own.
pub(crate) fn spread(
    connections: usize,
    tokens: &[String],
    request: impl Fn(&String) -> Request,
    first: u64,
) -> Vec<Vec<Template>> {
    let template = |index: usize| {
        // Keys only have to differ within one visitor.
        Template::new(request(&tokens[index]).bytes(), first)
    };
    (0..connections)
        .map(|connection| (connection..tokens.len()).step_by(connections).map(template).collect())
        .collect()
}

async fn measure(
    common: &Common,
    server: &Served,
    load: Vec<Vec<Template>>,
) -> Result<Round, String> {
    round(server.address, load, common.time(0.4), common.time(2.0)).await.map(|(round, _)| round)
}

/// Adds the figures of a pair of measurements, and their ratio: the median of the ratios of each round.
fn report(
    results: &mut Results,
    connections: usize,
    suffix: &str,
    [(bare_name, bare), (name, product)]: [(&str, &[Round]); 2],
    what: &str,
) {
    let rate = |rounds: &[Round]| median(rounds.iter().map(|round| round.per_s).collect());
    let ratios = bare.iter().zip(product).map(|(bare, product)| product.per_s / bare.per_s);
    let ratio = results.rounds(&format!("{what}_ratio{suffix}"), ratios.collect());
    let of = |percent: f64| {
        median(product.iter().map(|round| round.latency.percentile_ms(percent)).collect())
    };
    results.figure(&format!("{bare_name}_per_s{suffix}"), rate(bare));
    results.figure(&format!("{name}_per_s{suffix}"), rate(product));
    results.figure(&format!("{what}_p50_ms{suffix}"), of(50.0));
    results.figure(&format!("{what}_p99_ms{suffix}"), of(99.0));
    let goal = goals::of(&format!("http.{what}_ratio{suffix}"));
    results.say(&format!(
        "{name:<12} {}/s at {connections} connections, bare {bare_name} {}/s: {:.0} % (goal \
         {goal}); p50 {}, p99 {}",
        count(rate(product) as u64),
        count(rate(bare) as u64),
        ratio * 100.0,
        ms(of(50.0)),
        ms(of(99.0))
    ));
}
