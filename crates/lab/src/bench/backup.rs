//! `onrush bench backup`: paid bookings at a fixed rate, with backups of the running server in between.
//!
//! Windows without and with backups take turns in one run, so that both see the same machine; in one
//! with, a backup follows the other. What must hold (every booking is confirmed, the audits of the
//! server's data and of each round's last backup are clean) makes the run fail; the ratio is a figure.

use super::common::{Common, measure};
use super::goals;
use super::paid::shop::{Buyer, host_of, set_up, use_card};
use super::results::{Results, median};
use super::server::{Served, this_program};
use crate::load::{Latency, Pool};
use onrush_terminal::show::{count, ms, say};
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::process::Command;
use tokio::task::JoinSet;
use tokio::time::Instant;

const CONNECTIONS: usize = 128;
/// What is measured if nothing else is asked for.
const PER_MIN: u32 = 2_000;
const ROUNDS: u32 = 5;
const STOCK: u64 = 50_000;
const WINDOW_S: f64 = 20.0;
/// How long the sale goes on before anything counts.
const WARM_UP_S: f64 = 5.0;
/// How long before their hold is due visitors come, so that their coming is no part of what is timed.
const AHEAD: Duration = Duration::from_secs(1);

/// What can be chosen.
#[derive(clap::Args)]
pub(super) struct BackupArgs {
    /// Paid bookings a minute
    #[arg(long, default_value_t = PER_MIN, value_parser = clap::value_parser!(u32).range(1..=60_000))]
    per_min: u32,
    /// Pairs of windows, one without and one with a backup each
    #[arg(long, default_value_t = ROUNDS, value_parser = clap::value_parser!(u32).range(1..=50))]
    rounds: u32,
    /// Bookings that are sold beforehand, so that there is something to copy
    #[arg(long, default_value_t = STOCK)]
    stock: u64,
    /// How long a window is, in seconds; one with backups ends when its last one does
    #[arg(long, default_value_t = WINDOW_S, value_parser = seconds)]
    window_s: f64,
    #[command(flatten)]
    pub(super) common: Common,
}

impl BackupArgs {
    /// As it is measured without a choice.
    pub(super) fn all(common: &Common) -> Self {
        let common = common.clone();
        Self { per_min: PER_MIN, rounds: ROUNDS, stock: STOCK, window_s: WINDOW_S, common }
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(seconds) if (0.5..=600.0).contains(&seconds) => Ok(seconds),
        _ => Err("use a number from 0.5 to 600".into()),
    }
}

/// Sells, and backs up meanwhile.
pub(super) fn run(args: &BackupArgs, results: &mut Results) -> Result<(), String> {
    measure(measured(args, results))
}

/// The server, its gateway's pages, and the rate.
struct Shop {
    pool: Arc<Pool>,
    pages: Arc<OnceLock<Arc<Pool>>>,
    every: Duration,
}

async fn measured(args: &BackupArgs, results: &mut Results) -> Result<(), String> {
    let scratch = args.common.scratch()?;
    let data = scratch.path().join("data");
    let served = Served::selling(&data, &[])?;
    let shop = Shop {
        pool: Arc::new(Pool::new(served.address, CONNECTIONS)),
        pages: Arc::default(),
        every: Duration::from_secs(60) / args.per_min,
    };
    set_up(&shop.pool, false).await?;
    let stock = args.common.size(args.stock);
    say(&format!("{} bookings are sold beforehand", count(stock)));
    shop.sell_at_once(stock).await?;
    let window = args.common.time(args.window_s);
    say(&format!(
        "{} bookings a minute, without and with a backup in turn",
        count(args.per_min.into())
    ));
    shop.window(args.common.time(WARM_UP_S), async {}).await?;

    let (mut without, mut with) = (Latency::new(), Latency::new());
    let (mut backups, mut took, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..args.rounds {
        say(&format!("round {} of {}", round + 1, args.rounds));
        let quiet = shop.window(window, async {}).await?;
        let to = scratch.path().join(format!("round-{round}"));
        let mut made = Ok(Vec::new());
        let beside = async { made = back_up(&data, &to, window).await };
        let busy = shop.window(window, beside).await?;
        took.extend(made?);
        ratios.push(p99_ratio(&busy, &quiet));
        without.add(&quiet);
        with.add(&busy);
        backups.push(keep_last(&to)?);
    }
    drop(served);
    audit(&data)?;
    for backup in &backups {
        audit(backup)?;
    }
    report(&without, &with, &ratios, &took, &backups, results)
}

/// How many times as long the slowest of a hundred took.
fn p99_ratio(with: &Latency, without: &Latency) -> f64 {
    with.percentile_ms(99.0) / without.percentile_ms(99.0)
}

/// How much longer a booking takes, in words: first the figure that has the goal, then all rounds
/// together.
fn told_ratio(of_rounds: f64, over_all: f64) -> String {
    let goal = goals::of("backup.backup_p99_ratio");
    format!(
        "p99 {of_rounds:.2} times as long in the middle round (goal {goal}), {over_all:.2} over all"
    )
}

fn report(
    without: &Latency,
    with: &Latency,
    ratios: &[f64],
    took: &[f64],
    backups: &[PathBuf],
    results: &mut Results,
) -> Result<(), String> {
    let size = |path: &PathBuf| -> Result<u64, String> {
        let mut bytes = 0;
        for name in ["engine.db", "ledger.db"] {
            let file = std::fs::metadata(path.join(name)).map_err(|error| error.to_string())?;
            bytes += file.len();
        }
        Ok(bytes)
    };
    let bytes = backups.last().map_or(Ok(0), size)?;
    for (name, latency) in [("without", without), ("with", with)] {
        results.figure(&format!("backup_{name}_bookings"), latency.count() as f64);
        results.figure(&format!("backup_{name}_p50_ms"), latency.percentile_ms(50.0));
        results.figure(&format!("backup_{name}_p99_ms"), latency.percentile_ms(99.0));
        results.figure(&format!("backup_{name}_max_ms"), latency.max_ms());
    }
    let of_rounds = results.rounds("backup_p99_ratio", ratios.to_vec());
    results.figure("backup_took_s", median(took.to_vec()));
    results.figure("backup_bytes", bytes as f64);
    results.say(&format!(
        "backup     a booking from the hold to the confirmation, without: {} p50 {}, p99 {}; during a \
         backup: {} p50 {}, p99 {}; {}; {} backups of {:.0} MiB in {:.1} s; audits of the data and of each \
         round's backup: clean",
        count(without.count()),
        ms(without.percentile_ms(50.0)),
        ms(without.percentile_ms(99.0)),
        count(with.count()),
        ms(with.percentile_ms(50.0)),
        ms(with.percentile_ms(99.0)),
        told_ratio(of_rounds, p99_ratio(with, without)),
        took.len(),
        bytes as f64 / 1_048_576.0,
        median(took.to_vec()),
    ));
    Ok(())
}

impl Shop {
    /// Sells so many bookings, as fast as it goes.
    async fn sell_at_once(&self, wanted: u64) -> Result<(), String> {
        let mut tasks = JoinSet::new();
        let at_a_time = CONNECTIONS as u64;
        for share in 0..at_a_time {
            let (pool, pages) = (self.pool.clone(), self.pages.clone());
            let mine = wanted / at_a_time + u64::from(share < wanted % at_a_time);
            tasks.spawn(async move {
                for _ in 0..mine {
                    let buyer = Buyer::new(&pool).await?;
                    let booking = pay(&buyer, &pages).await?;
                    buyer.confirmed(&booking).await?;
                }
                Ok::<_, String>(())
            });
        }
        while let Some(done) = tasks.join_next().await {
            done.map_err(|error| error.to_string())??;
        }
        Ok(())
    }

    /// Buys at the rate, for the time, and until `beside` is over; how long the bookings took.
    async fn window(
        &self,
        time: Duration,
        beside: impl Future<Output = ()>,
    ) -> Result<Latency, String> {
        let come = || {
            let pool = self.pool.clone();
            async move { Ok(Buyer::new(&pool).await?.into_token()) }
        };
        let (pool, pages) = (self.pool.clone(), self.pages.clone());
        let buy = move |token| {
            let (pool, pages) = (pool.clone(), pages.clone());
            async move {
                let buyer = Buyer::known(&pool, token);
                let booking = pay(&buyer, &pages).await?;
                buyer.watch_confirmed(&booking).await
            }
        };
        paced(self.every, time, beside, come, buy).await
    }
}

/// Begins bookings at the rate, whether earlier ones are answered or not, for the time, and until
/// `beside` is over; how long they took. Each is timed from when it was to begin, by a visitor who
/// came some time before.
async fn paced<C, B>(
    every: Duration,
    time: Duration,
    beside: impl Future<Output = ()>,
    come: impl Fn() -> C,
    buy: impl Fn(String) -> B + Clone + Send + 'static,
) -> Result<Latency, String>
where
    C: Future<Output = Result<String, String>> + Send + 'static,
    B: Future<Output = Result<(), String>> + Send + 'static,
{
    let mut beside = std::pin::pin!(beside);
    let (mut is_over, mut tasks) = (false, JoinSet::new());
    let ahead = AHEAD.div_duration_f64(every).ceil() as usize;
    let mut visitors: VecDeque<_> = (0..ahead).map(|_| tokio::spawn(come())).collect();
    // The first of them is here before the first is wanted.
    tokio::time::sleep(AHEAD).await;
    let begun = Instant::now();
    let mut due = begun;
    while due < begun + time || !is_over {
        visitors.push_back(tokio::spawn(come()));
        let (visitor, buy) = (visitors.pop_front(), buy.clone());
        tasks.spawn(async move {
            let visitor = visitor.ok_or("nobody came")?.await.map_err(|error| error.to_string())?;
            buy(visitor?).await?;
            Ok::<_, String>(due.elapsed())
        });
        due += every;
        let wait = tokio::time::sleep_until(due);
        tokio::pin!(wait);
        loop {
            tokio::select! {
                () = &mut wait => break,
                () = &mut beside, if !is_over => is_over = true,
            }
        }
    }
    let mut latency = Latency::new();
    while let Some(done) = tasks.join_next().await {
        latency.record(done.map_err(|error| error.to_string())??);
    }
    Ok(latency)
}

/// Holds and pays, so that the booking is about to be confirmed; which one it is.
async fn pay(buyer: &Buyer<'_>, pages: &OnceLock<Arc<Pool>>) -> Result<String, String> {
    let booking = buyer.hold().await?;
    let payment = buyer.pay(&booking).await?;
    let host: SocketAddr = host_of(&payment.url)?;
    let pages = pages.get_or_init(|| Arc::new(Pool::new(host, CONNECTIONS))).clone();
    use_card(&pages, &payment).await?;
    Ok(booking)
}

/// Takes backups into `to`, one after the other, until the time is up. How long each took.
async fn back_up(data: &Path, to: &Path, time: Duration) -> Result<Vec<f64>, String> {
    std::fs::create_dir(to).map_err(|error| format!("{}: {error}", to.display()))?;
    let (begun, mut took) = (Instant::now(), Vec::new());
    while took.is_empty() || begun.elapsed() < time {
        let one = Instant::now();
        let mut command = Command::from(this_program()?);
        let to = to.join(name_of(took.len()));
        let command = command.args(["backup", "--data"]).arg(data).arg("--to").arg(to);
        let output = command.stdin(Stdio::null()).kill_on_drop(true).output().await;
        let output = output.map_err(|error| format!("no backup: {error}"))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(format!("the backup failed: {said}"));
        }
        took.push(one.elapsed().as_secs_f64());
    }
    Ok(took)
}

fn name_of(nth: usize) -> String {
    format!("backup-{nth}")
}

/// Removes all backups of a round but the last, which it gives.
///
/// Between two windows, and until the disk is done with it: a file system that tells the disk at
/// once what is free (`discard`) keeps whoever syncs waiting meanwhile.
fn keep_last(round: &Path) -> Result<PathBuf, String> {
    let remove = || -> std::io::Result<PathBuf> {
        let made = std::fs::read_dir(round)?.count();
        let last = round.join(name_of(made.saturating_sub(1)));
        for nth in 0..made.saturating_sub(1) {
            std::fs::remove_dir_all(round.join(name_of(nth)))?;
        }
        std::fs::File::open(round)?.sync_all()?;
        Ok(last)
    };
    remove().map_err(|error| format!("{}: {error}", round.display()))
}

/// Has everything recomputed from the files.
fn audit(data: &Path) -> Result<(), String> {
    let mut command = this_program()?;
    let audit = command.args(["audit", "--data"]).arg(data).stdin(Stdio::null());
    let output = audit.output().map_err(|error| format!("no audit: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let found = String::from_utf8_lossy(&output.stdout);
    Err(format!("the audit of {} found: {found}", data.display()))
}

#[cfg(test)]
mod tests {
    use super::super::paid::shop::{LOOK, PlaceBody, until_confirmed};
    use super::*;
    use tokio::time::sleep;

    /// A window against a server that confirms so long after the card was used.
    async fn confirming_after(after: Duration) -> Latency {
        let come = || async {
            sleep(Duration::from_millis(40)).await;
            Ok("a token".to_owned())
        };
        let buy = move |_| async move {
            let card = Instant::now();
            let ask = || async move {
                let status = if card.elapsed() < after { "paying" } else { "confirmed" };
                Ok(serde_json::from_value::<PlaceBody>(serde_json::json!({"status": status}))
                    .unwrap())
            };
            until_confirmed(LOOK, ask).await
        };
        let every = Duration::from_millis(30);
        paced(every, Duration::from_secs(3), async {}, come, buy).await.expect("all are confirmed")
    }

    #[tokio::test(start_paused = true)]
    async fn window_holds_the_servers_time_and_nothing_of_the_buyers() {
        let quiet = confirming_after(Duration::from_millis(5)).await;
        let busy = confirming_after(Duration::from_millis(45)).await;
        assert_eq!((quiet.count(), busy.count()), (100, 100));
        assert!(quiet.percentile_ms(50.0) < 10.0, "{} ms", quiet.percentile_ms(50.0));
        assert!(p99_ratio(&busy, &quiet) > 3.0, "{}", p99_ratio(&busy, &quiet));
    }

    #[test]
    fn goal_stands_behind_the_figure_that_it_is_of() {
        assert_eq!(
            told_ratio(1.63, 2.2),
            "p99 1.63 times as long in the middle round (goal < 2), 2.20 over all",
        );
    }

    #[tokio::test(start_paused = true)]
    async fn booking_that_is_not_to_be_confirmed_ends_the_window() {
        let buy = |_| async { Err("b1 is expired".to_owned()) };
        let come = || async { Ok(String::new()) };
        let every = Duration::from_millis(30);
        let window = paced(every, Duration::from_secs(1), async {}, come, buy).await;
        assert_eq!(window.err().as_deref(), Some("b1 is expired"));
    }
}
