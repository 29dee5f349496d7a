//! `onrush bench archive`: a year of sales, each event sold out, closed and archived, and its history
//! moved into a file; beside the same sales without archiving, and on Redis if there is one.
//!
//! What must hold (every seat is sold, the audit with all files is clean) makes the run fail; what
//! is left of memory and disk is a figure.

use super::commands::{flash_sale, id, long_id};
use super::common::{Common, measure};
use super::results::{Results, resident_bytes};
use onrush_core::Command;
use onrush_core::ids::{EventId, SeatId};
use onrush_core::lines::Lines;
use onrush_core::spec::{Access, CategorySpec, Reason, SeatSpec};
use onrush_core::types::AskedTypes;
use onrush_store::embedded::{
    ArchiveReport, AuditReport, Embedded, Options, archive, audit_with_archive,
};
use onrush_store::{Engine, Failure};
use onrush_terminal::show::{count, say};
use std::path::Path;
use std::time::{Duration, Instant};

/// Bookings under way at once.
const AT_ONCE: usize = 64;
/// The last decisions that the engine keeps for readers of its feed: few, because a year's memory
/// is compared with a day's.
const TAIL: usize = 1_024;

/// What can be chosen.
#[derive(clap::Args)]
pub(super) struct ArchiveArgs {
    /// How many events are sold out, one after the other
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u64).range(2..=100_000))]
    events: u64,
    /// How many seats each has
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u64).range(1..=50_000))]
    seats: u64,
    #[command(flatten)]
    pub(super) common: Common,
}

impl ArchiveArgs {
    /// Events, scaled.
    fn events(&self) -> u64 {
        self.common.size(self.events).max(2)
    }
}

/// What the sales of a year took up.
struct Year {
    /// Memory in use after the first event, in bytes.
    first: u64,
    /// The same after the last.
    last: u64,
    /// The same in an engine that was opened again.
    reopened: u64,
    reopened_in: Duration,
    /// The longest that one decision to archive took.
    longest: Duration,
}

/// Sells, and says what is left.
pub(super) fn run(args: &ArchiveArgs, results: &mut Results) -> Result<(), String> {
    // The one that is to give memory back comes first: what the other leaves to the allocator would
    // be counted for it.
    let scratch = args.common.scratch()?;
    say(&format!("{} events of {} seats, archived", args.events(), args.seats));
    let year = measure(sold(args, scratch.path(), true))?;
    tell_memory("archived", &year, results);
    let before = audited(scratch.path(), args)?;
    let first_day = first_day(args)?;
    let begun = Instant::now();
    let report = archive(scratch.path(), &mut |_| {}).map_err(|error| error.to_string())?;
    let took = begun.elapsed();
    let after = audited(scratch.path(), args)?;
    if (before.changes, before.sold) != (after.changes, after.sold) {
        return Err(format!("the audit with files says another thing: {before:?}, {after:?}"));
    }
    tell_files(&report, &first_day, took, args, results);

    say("the same, and nothing is archived");
    let kept = args.common.scratch()?;
    let year = measure(sold(args, kept.path(), false))?;
    tell_memory("kept", &year, results);
    #[cfg(feature = "servers")]
    on_redis::run(args, results)?;
    Ok(())
}

/// What archiving leaves of a journal with one event.
fn first_day(args: &ArchiveArgs) -> Result<ArchiveReport, String> {
    let scratch = args.common.scratch()?;
    let one = ArchiveArgs { events: 1, seats: args.seats, common: args.common.clone() };
    measure(async {
        let engine = open(scratch.path())?;
        sell_out(&engine, &event(0)?, &one).await?;
        give(&engine, &event(0)?, over()).await?;
        engine.close();
        Ok(())
    })?;
    archive(scratch.path(), &mut |_| {}).map_err(|error| error.to_string())
}

/// Everything recomputed, with all files there are.
fn audited(data: &Path, args: &ArchiveArgs) -> Result<AuditReport, String> {
    let report = audit_with_archive(data).map_err(|error| error.to_string())?;
    let wanted = args.events() * args.seats;
    if report.violation_count > 0 || report.sold != wanted {
        let AuditReport { sold, violations, .. } = report;
        return Err(format!(
            "{sold} seats are sold of {wanted}, and the audit found: {violations:?}"
        ));
    }
    Ok(report)
}

fn open(data: &Path) -> Result<Embedded, String> {
    let options = Options { tail_capacity: TAIL, ..Options::default() };
    Embedded::open(data, options).map_err(|error| error.to_string())
}

fn used() -> Result<u64, String> {
    resident_bytes(std::process::id()).ok_or_else(|| "the system does not tell of memory".into())
}

async fn sold(args: &ArchiveArgs, data: &Path, archives: bool) -> Result<Year, String> {
    let engine = open(data)?;
    let (mut first, mut longest) = (0, Duration::ZERO);
    for number in 0..args.events() {
        let event = event(number)?;
        sell_out(&engine, &event, args).await?;
        if archives {
            let begun = Instant::now();
            give(&engine, &event, over()).await?;
            longest = longest.max(begun.elapsed());
        }
        if number == 0 {
            first = used()?;
        }
    }
    let last = used()?;
    engine.close();
    let begun = Instant::now();
    let engine = open(data)?;
    let reopened_in = begun.elapsed();
    let reopened = used()?;
    engine.close();
    Ok(Year { first, last, reopened, reopened_in, longest })
}

fn event(number: u64) -> Result<EventId, String> {
    id(&format!("event-{number}"))
}

fn over() -> Command {
    Command::Archive { reason: Reason { by: "bench".into(), why: "it is over".into() } }
}

/// Gives a command, and again as long as the engine is too busy.
async fn give(engine: &impl Engine, event: &EventId, command: Command) -> Result<(), String> {
    loop {
        match engine.execute(event.clone(), command.clone()).await {
            Ok(_) => return Ok(()),
            Err(Failure::Busy { retry_after_ms }) => {
                tokio::time::sleep(Duration::from_millis(retry_after_ms.into())).await;
            }
            Err(error) => return Err(format!("{event}: {error}")),
        }
    }
}

/// Sells every seat of an event, each in a booking of its own, and closes it.
async fn sell_out(engine: &impl Engine, event: &EventId, args: &ArchiveArgs) -> Result<(), String> {
    let seat_id = |number: u64| id::<SeatId>(&format!("seat-{number}"));
    let seat = |number: u64| {
        Ok::<_, String>(SeatSpec {
            seat: seat_id(number)?,
            section: "Stalls".into(),
            row: (number / 20).to_string().into(),
            number: (number % 20).to_string().into(),
            category: "stalls".into(),
            rank: 0,
            aisle: false,
            access: Access::Anyone,
        })
    };
    let seats = (0..args.seats).map(seat).collect::<Result<_, _>>()?;
    let categories = vec![CategorySpec { name: "stalls".into(), price_minor: 0 }];
    for command in [
        Command::CreateEvent { settings: Box::new(flash_sale()?) },
        Command::AddSeats { categories, seats },
        Command::OpenSale { seed: None, public_value: None },
    ] {
        give(engine, event, command).await?;
    }
    let numbers: Vec<u64> = (0..args.seats).collect();
    for some in numbers.chunks(AT_ONCE) {
        let sold = some.iter().map(|number| async move {
            let (booking, user) = (long_id('b', *number)?, long_id('u', *number)?);
            let lines = Lines::new(Vec::new(), vec![seat_id(*number)?]);
            let lines = lines.map_err(|refusal| refusal.to_string())?;
            let (channels, types) = (Vec::new(), AskedTypes::default());
            give(engine, event, Command::Hold { booking, user, lines, channels, types }).await?;
            let (booking, user) = (long_id('b', *number)?, long_id('u', *number)?);
            give(engine, event, Command::Confirm { booking, user, payment: None }).await
        });
        futures_util::future::try_join_all(sold).await?;
    }
    give(engine, event, Command::Close).await
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / 1_048_576.0
}

fn tell_memory(name: &str, year: &Year, results: &mut Results) {
    let Year { first, last, reopened, reopened_in, longest } = year;
    let longest_ms = longest.as_secs_f64() * 1_000.0;
    let reopened_ms = reopened_in.as_secs_f64() * 1_000.0;
    results.figure(&format!("archive_{name}_first_mib"), mib(*first));
    results.figure(&format!("archive_{name}_last_mib"), mib(*last));
    results.figure(&format!("archive_{name}_reopened_mib"), mib(*reopened));
    results.figure(&format!("archive_{name}_reopen_ms"), reopened_ms);
    results.say(&format!(
        "{name:<10} memory {:.1} MiB after the first event, {:.1} MiB after the last, {:.1} MiB opened again \
         (in {reopened_ms:.0} ms); the slowest decision to archive {longest_ms:.1} ms",
        mib(*first),
        mib(*last),
        mib(*reopened),
    ));
}

fn tell_files(
    report: &ArchiveReport,
    first_day: &ArchiveReport,
    took: Duration,
    args: &ArchiveArgs,
    results: &mut Results,
) {
    let decisions: u64 = report.archived.iter().map(|archived| archived.decisions).sum();
    let files: u64 = report.archived.iter().map(|archived| archived.file_bytes).sum();
    let growth = report.journal_bytes.saturating_sub(first_day.journal_bytes);
    let each = growth / (args.events() - 1);
    results.figure("archive_decisions", decisions as f64);
    results.figure("archive_journal_before_bytes", report.journal_bytes_before as f64);
    results.figure("archive_journal_bytes", report.journal_bytes as f64);
    results.figure("archive_journal_first_day_bytes", first_day.journal_bytes as f64);
    results.figure("archive_journal_bytes_per_event", each as f64);
    results.figure("archive_files_bytes", files as f64);
    results.figure("archive_took_s", took.as_secs_f64());
    results.say(&format!(
        "files      {} decisions: the journal had {:.2} MiB and has {:.2} MiB (the first day's {:.2} MiB), \
         {} bytes an event; files {:.2} MiB; in {:.1} s; audit with all files: clean",
        count(decisions),
        mib(report.journal_bytes_before),
        mib(report.journal_bytes),
        mib(first_day.journal_bytes),
        count(each),
        mib(files),
        took.as_secs_f64(),
    ));
}

/// The same sales on Redis, with an archive that forgets.
#[cfg(feature = "servers")]
mod on_redis {
    use super::super::cluster;
    use super::{ArchiveArgs, Results, count, event, give, measure, over, say, sell_out};
    use onrush_testkit::Redis;
    use std::time::{Duration, Instant};

    /// How long the last stream may take to be archived.
    const PATIENCE: Duration = Duration::from_secs(60);

    /// Sells there, unless there is no Redis on this machine.
    pub(super) fn run(args: &ArchiveArgs, results: &mut Results) -> Result<(), String> {
        let redis = match Redis::start() {
            Ok(redis) => redis,
            Err(error) => {
                say(&format!("not measured on Redis: {error}"));
                return Ok(());
            }
        };
        say("the same on Redis, archived");
        let (first, last) = measure(sold(args, &redis))?;
        let each = last.saturating_sub(first) / (args.events() - 1);
        results.figure("archive_redis_first_bytes", first as f64);
        results.figure("archive_redis_last_bytes", last as f64);
        results.figure("archive_redis_bytes_per_event", each as f64);
        results.say(&format!(
            "redis      {} bytes used after the first event, {} after the last: {} an event",
            count(first),
            count(last),
            count(each)
        ));
        Ok(())
    }

    async fn sold(args: &ArchiveArgs, redis: &Redis) -> Result<(u64, u64), String> {
        let engine = cluster::redis_engine(redis).await?;
        let mut first = 0;
        for number in 0..args.events() {
            let event = event(number)?;
            sell_out(&*engine, &event, args).await?;
            give(&*engine, &event, over()).await?;
            if number == 0 {
                first = used(redis).await?;
            }
        }
        Ok((first, used(redis).await?))
    }

    /// `used_memory` once nothing is on its way into the archive any more, without the answers that
    /// go by themselves.
    async fn used(redis: &Redis) -> Result<u64, String> {
        let ask = |words: &[&str]| redis.command(words).map_err(|error| format!("Redis: {error}"));
        let begun = Instant::now();
        loop {
            let keys = ask(&["KEYS", "*"])?;
            let (recent, kept): (Vec<&str>, Vec<&str>) =
                keys.lines().partition(|key| key.contains(":recent"));
            for key in recent {
                ask(&["DEL", key])?;
            }
            if !kept.iter().any(|key| key.ends_with(":feed")) {
                break;
            }
            if begun.elapsed() > PATIENCE {
                return Err("a stream never went into the archive".into());
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let info = ask(&["INFO", "memory"])?;
        let line = info.lines().find_map(|line| line.strip_prefix("used_memory:"));
        let bytes = line.and_then(|bytes| bytes.trim().parse().ok());
        bytes.ok_or_else(|| "Redis does not tell of memory".into())
    }
}
