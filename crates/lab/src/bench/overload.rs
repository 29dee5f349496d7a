//! `onrush bench overload`: many times more holds than the server can take, while others pay.
//!
//! First the rate of priced holds that the server takes is measured. Then thousands of connections
//! together want many times as many for a minute, and never heed Retry-After; buyers who held
//! before pay meanwhile. A connection asks again only when it has its answer, and whoever asks too
//! early gets the next refusal only when their time is over: what is sent is less than what is
//! wanted, and the figure says how much it was. Refusals of those who came too early are counted
//! apart.

use super::common::Common;
use super::http::closed_loop::{DIGITS, Template, round};
use super::paid::shop::{Buyer, EVENT, host_of, set_up, use_card};
use super::results::Results;
use super::results::resident_bytes;
use super::server::Served;
use crate::load::{Connection, Latency, Pool, Request, allow_open_files};
use onrush_terminal::show::{count, ms, say};
use serde::Deserialize;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// Connections of the load, and how many times the capacity they want, if nothing else is asked for.
const CONNECTIONS: u32 = 8_000;
const TIMES: u32 = 10;
/// Connections while the capacity is measured, and after the load.
const USUAL_CONNECTIONS: usize = 64;
/// Open files of this process that are not the load's connections.
const OTHER_FILES: u64 = 300;
/// Payments a second while the load lasts.
const PAYMENTS_PER_S: u64 = 10;
/// How long all who come at the same moment take to learn that they are too many.
const AT_FIRST: Duration = Duration::from_secs(1);
/// All is as usual again when as many holds in a row were placed without waiting.
const AS_USUAL_HOLDS: usize = 200;
/// How long a hold takes at most while all is as usual.
const AS_USUAL: Duration = Duration::from_millis(50);
/// How long it may take to be so again before the measurement gives up.
const GIVE_UP: Duration = Duration::from_secs(30);

/// What can be chosen.
#[derive(clap::Args)]
pub(super) struct OverloadArgs {
    /// Connections of the load
    #[arg(long, default_value_t = CONNECTIONS, value_parser = clap::value_parser!(u32).range(1..=60_000))]
    connections: u32,
    /// How many times the capacity is offered
    #[arg(long, default_value_t = TIMES, value_parser = clap::value_parser!(u32).range(1..=100))]
    times: u32,
    #[command(flatten)]
    pub(super) common: Common,
}

impl OverloadArgs {
    /// As it is measured without a choice.
    pub(super) fn all(common: &Common) -> Self {
        Self { connections: CONNECTIONS, times: TIMES, common: common.clone() }
    }
}

/// What a connection of the load saw, or all of them together.
struct Seen {
    sent: u64,
    placed: Latency,
    sent_away: Latency,
    /// In the first second, when all come at the same moment.
    sent_away_at_first: Latency,
    too_early: Latency,
    wrong: Vec<String>,
}

/// What a payment came to: the time to the answer of the request that began it, and to the confirmed booking.
struct Paid {
    begun: Duration,
    confirmed: Duration,
}

pub(super) fn run(args: &OverloadArgs, results: &mut Results) -> Result<(), String> {
    super::common::measure(measured(args, results))?;
    Ok(())
}

/// Holds a second that usual connections get, from a server that sends nobody away. It is one of its
/// own, so that the one under load begins with nothing to catch up with.
async fn capacity(common: &Common) -> Result<f64, String> {
    say("capacity: priced holds on 64 connections");
    let scratch = common.scratch()?;
    let served = Served::selling(scratch.path(), &[])?;
    let pool = Arc::new(Pool::new(served.address, USUAL_CONNECTIONS));
    set_up(&pool, false).await?;
    let tokens = tokens(&pool, USUAL_CONNECTIONS as u64).await?;
    let usual = (0_u64..)
        .zip(&tokens)
        .map(|(number, token)| vec![Template::new(hold_of(token).bytes(), number << 40)]);
    let usual = usual.collect();
    let (capacity, _) = round(served.address, usual, common.time(1.0), common.time(10.0)).await?;
    Ok(capacity.per_s)
}

async fn measured(args: &OverloadArgs, results: &mut Results) -> Result<(), String> {
    let common = &args.common;
    let mut connections = u64::from(args.connections);
    let files = allow_open_files(connections + OTHER_FILES);
    if files < connections + OTHER_FILES {
        connections = files.saturating_sub(OTHER_FILES);
        say(&format!("only {files} files may be open: {connections} connections"));
    }
    let capacity = capacity(common).await?;
    let scratch = common.scratch()?;
    let served = Served::selling(scratch.path(), &[("ONRUSH_SHED_AFTER_MS", "50")])?;
    let pool = Arc::new(Pool::new(served.address, USUAL_CONNECTIONS));
    set_up(&pool, false).await?;
    let tokens = tokens(&pool, connections).await?;
    let seconds = common.time(60.0);
    let payments = (seconds.as_secs() * PAYMENTS_PER_S).max(PAYMENTS_PER_S);
    say(&format!("{} holds/s; {payments} buyers hold before the load", count(capacity as u64)));
    let (buyers, pages) = buyers(&pool, payments).await?;

    let offered_per_s = capacity * f64::from(args.times);
    let pause = Duration::from_secs_f64(connections as f64 / offered_per_s);
    say(&format!(
        "load: {} connections, {} holds/s wanted",
        count(connections),
        count(offered_per_s as u64)
    ));
    let held_before = units(&pool).await?;
    let begun = Instant::now();
    let until = begun + seconds;
    let mut load = JoinSet::new();
    for (number, token) in (0_u64..).zip(&tokens) {
        let offset = pause.mul_f64(number as f64 / connections as f64);
        load.spawn(press(
            served.address,
            hold_of(token).bytes().to_vec(),
            number << 40 | 1 << 32,
            begun + offset,
            pause,
            until,
        ));
    }
    let paying = pay_all(served.address, buyers, &pages, begun, seconds);
    let mut probe = Probe::new(served.address, tokens.first().ok_or("nobody is there")?);
    let ending = async { tokio::join!(paying, load.join_all()) };
    let ((paid, load), recovered) =
        recovered_beside(until.into(), ending, async || probe.hold().await).await;
    let (recovery, placed_after) = recovered?;
    // It is told no finer than the time that a hold may take when all is as usual.
    let recovery = recovery.max(AS_USUAL);

    let mut seen = Seen::new();
    load.into_iter().for_each(|one| seen.add(one));
    let placed = seen.placed.count();
    let wrong = seen.wrong.len();
    if let Some(first) = seen.wrong.first() {
        say(&format!("a wrong answer: {first}"));
    }
    let held_after = units(&pool).await?;
    let (lost, untold) = missing_and_untold(held_before + placed + placed_after, held_after);
    let (paid, unpaid): (Vec<_>, Vec<_>) = paid.into_iter().partition(Result::is_ok);
    if let Some(Err(why)) = unpaid.first() {
        say(&format!("a payment that did not pass: {why}"));
    }
    let mut to_begin = Latency::new();
    let mut to_confirm = Latency::new();
    for paid in paid.into_iter().flatten() {
        to_begin.record(paid.begun);
        to_confirm.record(paid.confirmed);
    }
    let sent_per_s = seen.sent as f64 / seconds.as_secs_f64();
    let placed_per_s = placed as f64 / seconds.as_secs_f64();
    let rss_mib = resident_bytes(served.pid()).map_or(f64::NAN, |bytes| bytes as f64 / 1_048_576.0);
    for (name, value) in [
        ("overload_capacity_per_s", capacity),
        ("overload_sent_per_s", sent_per_s),
        ("overload_placed_per_s", placed_per_s),
        ("overload_placed_p50_ms", seen.placed.percentile_ms(50.0)),
        ("overload_placed_p99_ms", seen.placed.percentile_ms(99.0)),
        ("overload_sent_away_p50_ms", seen.sent_away.percentile_ms(50.0)),
        ("overload_sent_away_p99_ms", seen.sent_away.percentile_ms(99.0)),
        ("overload_sent_away", seen.sent_away.count() as f64),
        ("overload_sent_away_at_first", seen.sent_away_at_first.count() as f64),
        ("overload_sent_away_at_first_p99_ms", seen.sent_away_at_first.percentile_ms(99.0)),
        ("overload_too_early", seen.too_early.count() as f64),
        ("overload_too_early_p99_ms", seen.too_early.percentile_ms(99.0)),
        ("overload_wrong", wrong as f64),
        ("overload_lost", lost as f64),
        ("overload_untold", untold as f64),
        ("overload_payments", to_confirm.count() as f64),
        ("overload_payments_failed", unpaid.len() as f64),
        ("overload_payment_begun_p50_ms", to_begin.percentile_ms(50.0)),
        ("overload_payment_begun_p99_ms", to_begin.percentile_ms(99.0)),
        ("overload_payment_confirmed_p99_ms", to_confirm.percentile_ms(99.0)),
        ("overload_recovery_ms", recovery.as_secs_f64() * 1_000.0),
        ("overload_rss_mib", rss_mib),
    ] {
        results.figure(name, value);
    }
    results.say(&format!(
        "overload   {} holds/s wanted ({} × the capacity of {}), {} sent, {} placed/s: p50 {}, p99 {} \
         (goal ≤ 250 ms); {} sent away in the first second: p99 {}; \
         {} later: p50 {}, p99 {} (goal ≤ 50 ms); {} more came again too early",
        count(offered_per_s as u64),
        args.times,
        count(capacity as u64),
        count(sent_per_s as u64),
        count(placed_per_s as u64),
        ms(seen.placed.percentile_ms(50.0)),
        ms(seen.placed.percentile_ms(99.0)),
        count(seen.sent_away_at_first.count()),
        ms(seen.sent_away_at_first.percentile_ms(99.0)),
        count(seen.sent_away.count()),
        ms(seen.sent_away.percentile_ms(50.0)),
        ms(seen.sent_away.percentile_ms(99.0)),
        count(seen.too_early.count()),
    ));
    results.say(&format!(
        "           {wrong} wrong answers, {lost} holds lost, {untold} that nobody was told of; {} of \
         {payments} payments confirmed, begun p50 {}, p99 {}, confirmed p99 {}; as usual again within {} \
         of the load's end (goal 1 s); {rss_mib:.0} MiB",
        to_confirm.count(),
        ms(to_begin.percentile_ms(50.0)),
        ms(to_begin.percentile_ms(99.0)),
        ms(to_confirm.percentile_ms(99.0)),
        ms(recovery.as_secs_f64() * 1_000.0),
    ));
    if wrong > 0 || lost > 0 || untold > 0 || !unpaid.is_empty() {
        return Err("answers were wrong, holds lost or untold, or payments did not pass".into());
    }
    Ok(())
}

impl Seen {
    fn new() -> Self {
        Self {
            sent: 0,
            placed: Latency::new(),
            sent_away: Latency::new(),
            sent_away_at_first: Latency::new(),
            too_early: Latency::new(),
            wrong: Vec::new(),
        }
    }

    fn add(&mut self, other: OneSeen) {
        self.sent += other.sent;
        for (all, one) in [
            (&mut self.placed, other.placed_us),
            (&mut self.sent_away, other.sent_away_us),
            (&mut self.sent_away_at_first, other.sent_away_at_first_us),
            (&mut self.too_early, other.too_early_us),
        ] {
            one.into_iter().for_each(|us| all.record(Duration::from_micros(us.into())));
        }
        self.wrong.extend(other.wrong);
    }
}

/// What one connection saw.
#[derive(Default)]
struct OneSeen {
    sent: u64,
    placed_us: Vec<u32>,
    sent_away_us: Vec<u32>,
    sent_away_at_first_us: Vec<u32>,
    /// Asked again before they should have.
    too_early_us: Vec<u32>,
    wrong: Option<String>,
}

/// Sends a hold whenever `pause` is over, but not before the last one is answered, until the time is up.
async fn press(
    address: SocketAddr,
    wish: Vec<u8>,
    first: u64,
    begin: Instant,
    pause: Duration,
    until: Instant,
) -> OneSeen {
    let mut seen = OneSeen::default();
    let mut template = Template::new(&wish, first);
    let mut due = begin;
    let mut connection = None;
    let mut not_before = begin;
    while due < until && seen.wrong.is_none() {
        tokio::time::sleep_until(due.into()).await;
        let mut open = match connection.take() {
            Some(open) => open,
            None => match Connection::open(address).await {
                Ok(open) => open,
                Err(error) => {
                    seen.wrong = Some(format!("no connection: {error}"));
                    break;
                }
            },
        };
        let asked = Instant::now();
        seen.sent += 1;
        match open.exchange(template.next()).await {
            Ok(answer) => {
                let us = u32::try_from(asked.elapsed().as_micros()).unwrap_or(u32::MAX);
                match (answer.status, answer.retry_after_s()) {
                    (201, _) => seen.placed_us.push(us),
                    (503, Some(after_s)) if is_busy(answer.body) => {
                        let seen = match asked < not_before {
                            true => &mut seen.too_early_us,
                            false if asked < begin + AT_FIRST => &mut seen.sent_away_at_first_us,
                            false => &mut seen.sent_away_us,
                        };
                        seen.push(us);
                        let told = Instant::now() + Duration::from_secs(after_s);
                        not_before = not_before.max(told);
                    }
                    (status, _) => {
                        let body = String::from_utf8_lossy(answer.body);
                        seen.wrong = Some(format!("status {status}: {body}"));
                    }
                }
            }
            Err(error) => seen.wrong = Some(format!("a connection broke: {error}")),
        }
        connection = Some(open);
        due = (due + pause).max(Instant::now());
    }
    seen
}

/// Whether this is the answer of a server that has too much to do.
fn is_busy(body: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct ProblemBody {
        code: String,
        retryable: bool,
    }
    serde_json::from_slice::<ProblemBody>(body)
        .is_ok_and(|told| told.code == "BUSY" && told.retryable)
}

fn hold_of(token: &str) -> Request {
    let path = format!("/api/v1/events/{EVENT}/bookings");
    Request::to("POST", &path).token(token).key(DIGITS).json(r#"{"pools":{"ga":1}}"#)
}

/// A token for each connection, so that nobody is one person.
async fn tokens(pool: &Pool, wanted: u64) -> Result<Vec<String>, String> {
    let mut tokens = Vec::new();
    for _ in 0..wanted {
        tokens.push(Buyer::new(pool).await?.into_token());
    }
    Ok(tokens)
}

/// Buyers who have something to pay for, and where the gateway's pages are.
async fn buyers(
    pool: &Arc<Pool>,
    wanted: u64,
) -> Result<(Vec<(String, String)>, Arc<Pool>), String> {
    let mut buyers = Vec::new();
    for _ in 0..wanted {
        let buyer = Buyer::new(pool).await?;
        let booking = buyer.hold().await?;
        buyers.push((buyer.into_token(), booking));
    }
    // One more who pays at once, to learn where the pages are.
    let buyer = Buyer::new(pool).await?;
    let payment = buyer.pay(&buyer.hold().await?).await?;
    let pages = Arc::new(Pool::new(host_of(&payment.url)?, USUAL_CONNECTIONS));
    use_card(&pages, &payment).await?;
    Ok((buyers, pages))
}

/// Has everybody pay, spread over the time that the load lasts.
async fn pay_all(
    address: SocketAddr,
    buyers: Vec<(String, String)>,
    pages: &Arc<Pool>,
    begin: Instant,
    time: Duration,
) -> Vec<Result<Paid, String>> {
    let pool = Arc::new(Pool::new(address, USUAL_CONNECTIONS));
    let every = time.div_f64(buyers.len().max(1) as f64);
    let mut tasks = JoinSet::new();
    for (number, (token, booking)) in (0_u32..).zip(buyers) {
        let (pool, pages) = (pool.clone(), pages.clone());
        let due = begin + every * number;
        tasks.spawn(async move {
            tokio::time::sleep_until(due.into()).await;
            let buyer = Buyer::known(&pool, token);
            let payment = buyer.pay(&booking).await?;
            let begun = due.elapsed();
            use_card(&pages, &payment).await?;
            buyer.confirmed(&booking).await?;
            Ok(Paid { begun, confirmed: due.elapsed() })
        });
    }
    tasks.join_all().await
}

/// Somebody who holds after the load, and comes anew when they are sent away.
struct Probe {
    address: SocketAddr,
    template: Template,
    connection: Option<Connection>,
}

impl Probe {
    fn new(address: SocketAddr, token: &str) -> Self {
        let template = Template::new(hold_of(token).bytes(), 1 << 62);
        Self { address, template, connection: None }
    }

    /// Holds once; whether it was placed.
    async fn hold(&mut self) -> Result<bool, String> {
        let broke = |error: std::io::Error| error.to_string();
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => Connection::open(self.address).await.map_err(broke)?,
        };
        let is_placed =
            connection.exchange(self.template.next()).await.map_err(broke)?.status == 201;
        // Who asks again too early on a connection waits for the next refusal: that is no measure of
        // whether the server is as usual.
        self.connection = is_placed.then_some(connection);
        Ok(is_placed)
    }
}

/// Waits for all that still ends after the load, and for the server to be as usual meanwhile.
async fn recovered_beside<T>(
    until: tokio::time::Instant,
    ending: impl Future<Output = T>,
    hold: impl AsyncFnMut() -> Result<bool, String>,
) -> (T, Result<(Duration, u64), String>) {
    tokio::join!(ending, recovered(until, hold))
}

/// How long after the end of the load holds were placed without waiting again, one after the other,
/// and how many were placed until that was sure.
async fn recovered(
    until: tokio::time::Instant,
    mut hold: impl AsyncFnMut() -> Result<bool, String>,
) -> Result<(Duration, u64), String> {
    tokio::time::sleep_until(until).await;
    let (mut since, mut in_a_row, mut placed) = (until, 0, 0);
    while in_a_row < AS_USUAL_HOLDS {
        let asked = tokio::time::Instant::now();
        if asked > until + GIVE_UP {
            return Err(format!("holds are not as usual after {} s", GIVE_UP.as_secs()));
        }
        let is_placed = hold().await?;
        placed += u64::from(is_placed);
        if is_placed && asked.elapsed() <= AS_USUAL {
            in_a_row += 1;
        } else {
            (since, in_a_row) = (tokio::time::Instant::now(), 0);
        }
    }
    Ok((since - until, placed))
}

/// Holds that somebody was told of and that are not there, and those that nobody was told of.
fn missing_and_untold(told: u64, held: u64) -> (u64, u64) {
    (told.saturating_sub(held), held.saturating_sub(told))
}

/// Units held and sold.
async fn units(pool: &Pool) -> Result<u64, String> {
    #[derive(Deserialize)]
    struct EventNow {
        units: Units,
    }
    #[derive(Deserialize)]
    struct Units {
        held: u64,
        sold: u64,
    }
    let request = Request::to("GET", &format!("/api/v1/admin/inventory-status?event={EVENT}"));
    #[derive(Deserialize)]
    struct Status {
        events: Vec<EventNow>,
    }
    let request = request.token(super::server::ADMIN_KEY).bare();
    let status: Status = Served::ask(pool, request).await?;
    let units = status.events.first().map(|event| &event.units).ok_or("the event is gone")?;
    Ok(units.held + units.sold)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::{Instant, sleep, sleep_until};

    const LOAD: Duration = Duration::from_secs(60);
    const SLOW: Duration = Duration::from_secs(2);

    /// Recovery of a server that places holds late, or none, for a while after the load, beside payments
    /// that end when it is over.
    async fn recovery(places_meanwhile: bool) -> Result<(Duration, u64), String> {
        let until = Instant::now() + LOAD;
        let hold = async || {
            let is_slow = Instant::now() < until + SLOW;
            sleep(Duration::from_millis(if is_slow { 100 } else { 1 })).await;
            Ok(places_meanwhile || !is_slow)
        };
        let payments = async {
            sleep_until(until + Duration::from_secs(5)).await;
            "all confirmed"
        };
        let (ended, recovered) = recovered_beside(until, payments, hold).await;
        assert_eq!(ended, "all confirmed");
        recovered
    }

    #[tokio::test(start_paused = true)]
    async fn recovery_counts_from_the_end_of_the_load_and_not_of_its_payments() {
        for places_meanwhile in [true, false] {
            let (after, placed) = recovery(places_meanwhile).await.expect("it recovers");
            assert!(after >= SLOW && after < SLOW + AS_USUAL * 4, "{after:?}");
            assert!(placed >= AS_USUAL_HOLDS as u64, "{placed}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn server_that_stays_slow_is_given_up() {
        let hold = async || {
            sleep(2 * AS_USUAL).await;
            Ok(true)
        };
        let ((), recovered) = recovered_beside(Instant::now(), async {}, hold).await;
        assert!(recovered.is_err_and(|why| why.contains("not as usual after 30 s")));
    }

    #[test]
    fn holds_that_nobody_was_told_of_are_counted_as_those_that_are_missing() {
        assert_eq!(missing_and_untold(10, 10), (0, 0));
        assert_eq!(missing_and_untold(10, 8), (2, 0));
        assert_eq!(missing_and_untold(8, 10), (0, 2));
    }
}
