//! `onrush demo`: an arena sells out to a crowd, over real HTTP, and everything is counted twice.

mod api;
mod args;
mod chance;
#[cfg(feature = "servers")]
mod cluster;
mod encore;
mod fan;
mod house;
mod money;
mod report;
mod singles;
mod tally;
mod venue;
mod wanted;

use crate::load::{Pool, allow_open_files};
use api::{Api, Obstacle};
pub use args::DemoArgs;
use fan::{End, Fan, MAX_PER_USER, Manner, Record, Sale};
use house::House;
use onrush_audit::AuditArgs;
use onrush_base::config::Config;
use onrush_base::config::limits::LimitSettings;
use onrush_base::config::{ConnectionSettings, FaultMix, GatewayName, Patience, SandboxSettings};
use onrush_core::Change;
use onrush_core::change::{BookingChange, HoldChange};
use onrush_server::Server;
use onrush_store::embedded::{self, FeedAudit, JournalReader};
use onrush_store::{FeedEntry, Seq};
use onrush_terminal::exit::Exit;
use onrush_terminal::show::{Progress, count, print_json, say};
use report::Report;
use singles::Singles;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tally::{JournalTally, Stock, Tally};
use tokio::sync::watch;
use tokio::task::JoinSet;
use venue::Venue;

const EVENT: &str = "demo";
/// Open files that are neither a fan's nor the server's end of a connection.
const OTHER_FILES: u64 = 200;
/// How late the gateway tells of late money: after the hold has run out.
const LATE_MS: u64 = 9_000;
/// Journal entries read at a time.
const PAGE: usize = 10_000;
/// Complaints of one kind that are shown; the rest is only counted.
const SHOWN: usize = 20;

/// Why there is no result.
enum Failed {
    /// Ctrl-C.
    Interrupted,
    /// What stood in the way.
    Because(String),
}

impl From<Obstacle> for Failed {
    fn from(why: Obstacle) -> Self {
        Self::Because(why)
    }
}

/// Runs the demo.
pub fn run(args: &DemoArgs) -> Exit {
    let ended = onrush_terminal::process::runtime().map_err(Failed::Because).and_then(|runtime| {
        let ended = runtime.block_on(demo(args));
        // Fans that are still asleep have nothing to lose.
        runtime.shutdown_background();
        ended
    });
    match ended {
        Ok(exit) => exit,
        Err(Failed::Interrupted) => {
            say("interrupted: nothing was counted");
            Exit::CouldNotRun
        }
        Err(Failed::Because(why)) => {
            say(&format!("error: {why}"));
            Exit::CouldNotRun
        }
    }
}

async fn demo(args: &DemoArgs) -> Result<Exit, Failed> {
    let begun = Instant::now();
    let mut interrupted = tokio::spawn(onrush_terminal::process::interrupted());
    let venue = Venue::read(args)?;
    let temporary =
        tempfile::tempdir().map_err(|error| format!("no temporary directory: {error}"))?;
    let data = args.keep.clone().unwrap_or_else(|| temporary.path().join("data"));
    if data.join("engine.db").exists() {
        return Err(Failed::Because(format!(
            "{}: has data already; choose another",
            data.display()
        )));
    }
    let (connections, streams) = within_limits(args.connections, args.streams.min(args.fans));

    #[cfg_attr(
        not(feature = "servers"),
        expect(unused_mut, reason = "a cluster is built differently")
    )]
    let mut config = configure(args, &data);
    #[cfg(not(feature = "servers"))]
    if args.cluster {
        let why = "this program was built for one process only; build it with --features lab";
        return Err(Failed::Because(why.into()));
    }
    #[cfg(feature = "servers")]
    let servers = start_servers(args, &mut config)?;
    let second = config.clone();
    let server = Server::start(config).await.map_err(|error| error.to_string())?;
    let second = start_second(args, second, &server).await?;
    let addresses = [Some(&server), second.as_ref()].into_iter().flatten().map(Server::public_addr);
    let pool = Pool::over(addresses.collect(), connections as usize);
    let sandbox = server.sandbox().ok_or_else(|| "the server has no sandbox".to_owned())?;
    let pages = Pool::new(sandbox.address(), (connections as usize).div_ceil(2));
    let api = Api::new(pool, pages, EVENT);
    let key =
        server.admin_key().ok_or_else(|| "the server has no admin key".to_owned())?.to_owned();
    venue.set_up(&api, &key, &wish(args)).await?;
    let house = House::new(api.seats(Instant::now()).await?);
    let address = server.public_addr();
    say(&format!("the pages are at http://{address}/"));
    if args.stay {
        say(&format!("the control room is at http://{address}/admin, with the admin key {key}"));
    }
    say(&format!(
        "{} seats and {} standing places on sale at {address}; {} fans are coming",
        count(venue.seats),
        count(args.zone_capacity.into()),
        count(args.fans.into())
    ));

    let (over_now, over) = watch::channel(false);
    let sale = Arc::new(Sale { api, house, over });
    let evening = tokio::select! {
        evening = sell(args, streams, &sale, &over_now, &key, venue.capacity()) => evening,
        _ = &mut interrupted => Err(Failed::Interrupted),
    };
    if evening.is_err() {
        over_now.send_replace(true);
    }
    let (records, sale_s) = evening?;
    let settled = money::settle(&server).await?;
    let feed = match &second {
        Some(_) => Some(read_feed(&server).await?),
        None => None,
    };
    if let Some(second) = second {
        second.shutdown().await;
    }
    let stays = match args.stay {
        true => Some(server),
        false => {
            server.shutdown().await;
            None
        }
    };
    let mut crowd = sale.api.crowd();
    let entries = match feed {
        Some(feed) => Entries::Feed(feed),
        None => Entries::Journal(&data),
    };
    #[cfg_attr(not(feature = "servers"), expect(unused_mut, reason = "only Redis adds to it"))]
    let (mut audit, journal) = entries.audit(&crowd, &sale.house)?;
    #[cfg(feature = "servers")]
    if let Some(servers) = &servers {
        audit.extend(servers.audit().await?);
    }
    let mut report = count_twice(args, journal, audit, &sale, &records);
    report.set_money(&settled);
    (report.streams, report.connections) = (streams, connections as usize);
    report.sale_s = report::round(sale_s, 3);
    let bought = records.iter().filter(|record| record.receipt.is_some()).count();
    report.paid_bookings_per_s = report::round(bought as f64 / sale_s.max(0.001), 1);
    let sale = Arc::into_inner(sale).ok_or_else(|| "a fan is still busy".to_owned())?;
    let (figures, refused) = sale.api.into_figures();
    report.refused = refused;
    report.set_figures(&figures);
    if args.keep.is_some() {
        say(&format!("the data is in {}", data.display()));
    }
    report.duration_s = report::round(begun.elapsed().as_secs_f64(), 3);
    if args.json {
        print_json(&report);
    } else {
        println!("{report}");
    }
    let evening = if report.is_clean() { Exit::Ok } else { Exit::Violation };

    let Some(server) = stays else { return Ok(evening) };
    let encore = encore::sell(args, &venue, &server, &key, &mut interrupted).await;
    server.shutdown().await;
    crowd.extend(encore?);
    let visitors = visitors_bookings(&data, &crowd)?;
    if args.json {
        print_json(&serde_json::json!({ "bookings_by_visitors": visitors }));
    } else {
        let bookings = if visitors == 1 { "booking" } else { "bookings" };
        println!("{} {bookings} by visitors", count(visitors));
    }
    let audit = onrush_audit::run(&AuditArgs::of(&data, args.json));
    Ok(if evening == Exit::Ok { audit } else { evening })
}

/// The configuration of the demo's server.
fn configure(args: &DemoArgs, data: &Path) -> Config {
    Config {
        data: data.to_owned(),
        listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
        operator_listen: None,
        // The whole crowd comes from one address, and each of them clicks faster than people do.
        visitors_per_min: u32::MAX,
        limits: LimitSettings::off(),
        // The fans take the processors from their server, and nobody else wants them.
        shed_after_ms: 0,
        connections: ConnectionSettings {
            connections_per_address: u32::MAX,
            streams_per_address: u32::MAX,
            ..ConnectionSettings::default()
        },
        gateway: GatewayName::Sandbox,
        sandbox: SandboxSettings {
            faults: FaultMix {
                seed: args.seed,
                declined_pct: args.declined_pct,
                lost_answer_pct: args.lost_answer_pct,
                duplicate_pct: args.duplicate_pct,
                late_pct: args.late_pct,
                never_pct: args.never_pct,
            },
            late_ms: LATE_MS,
            ..SandboxSettings::default()
        },
        // The evening is short, so nobody waits minutes before asking again.
        saga: Patience {
            ask_after_ms: 3_000,
            abandoned_after_ms: 2_000,
            first_pause_ms: 100,
            longest_pause_ms: 2_000,
            ..Patience::default()
        },
        booking_paths: true,
        ..Config::default()
    }
}

/// How many confirmed bookings are of people who did not come with the crowd.
fn visitors_bookings(data: &Path, crowd: &BTreeSet<String>) -> Result<u64, Obstacle> {
    let (mut held, mut bookings) = (BTreeSet::new(), 0);
    each_entry(data, |entry| {
        for change in &entry.changes {
            if let Change::Hold(HoldChange::HoldPlaced { terms, until: _ }) = change
                && !crowd.contains(terms.user.as_str())
            {
                held.insert(terms.booking.to_string());
            }
            if let Change::Booking(
                BookingChange::HoldConfirmed { booking, .. }
                | BookingChange::HoldConfirmedLate { booking, .. },
            ) = change
                && held.contains(booking.as_str())
            {
                bookings += 1;
            }
        }
    })?;
    Ok(bookings)
}

/// Reads the journal from its beginning.
fn each_entry(data: &Path, mut note: impl FnMut(&FeedEntry)) -> Result<(), Obstacle> {
    let mut reader = JournalReader::open(data).map_err(|error| error.to_string())?;
    let mut after = Seq::default();
    loop {
        let page = reader.page(after, PAGE).map_err(|error| error.to_string())?;
        let Some(last) = page.last() else { return Ok(()) };
        after = last.seq;
        page.iter().for_each(&mut note);
    }
}

/// As many connections and streams as the limit on open files allows; each needs two here, one for
/// either end.
fn within_limits(connections: u32, streams: u32) -> (u32, u32) {
    let wanted = 2 * (u64::from(connections) + u64::from(streams)) + OTHER_FILES;
    let limit = allow_open_files(wanted);
    if limit >= wanted {
        return (connections, streams);
    }
    let half = u32::try_from(limit.saturating_sub(OTHER_FILES) / 2).unwrap_or(u32::MAX);
    let connections = connections.min(half).max(1);
    let streams = streams.min(half.saturating_sub(connections));
    say(&format!(
        "only {limit} files may be open and the limit cannot be raised: {connections} connections, \
         {streams} streams"
    ));
    (connections, streams)
}

/// What it takes to create the evening's event.
fn wish(args: &DemoArgs) -> String {
    // Sessions and holds are short, so that what vanished fans had comes back while the sale runs.
    format!(
        "{{\"event\":\"{EVENT}\",\"title\":\"The first sale\",\"currency\":\"EUR\",\
         \"room\":{{\"capacity\":{},\"session_ms\":20000,\"arrive_ms\":6000,\"max_queue_size\":1000000,\
         \"units_per_visitor\":3}},\
         \"hold_ttl_ms\":4000,\"hold_max_ms\":10000,\"payment_window_ms\":5000,\
         \"max_per_user\":{MAX_PER_USER},\"fees\":{{\"fixed_minor\":100,\"percent_bp\":500}}}}",
        args.room_capacity
    )
}

/// Lets the fans come, opens the sale, and waits until all is sold or all fans are through.
async fn sell(
    args: &DemoArgs,
    streams: u32,
    sale: &Arc<Sale>,
    over_now: &watch::Sender<bool>,
    key: &str,
    capacity: u64,
) -> Result<(Vec<Record>, f64), Failed> {
    let begun = Instant::now();
    let mut fans = JoinSet::new();
    let opens_at = begun + fan::rush(args.fans);
    for number in 0..args.fans {
        // Three in five come before the opening, the others in a rush after it; every fortieth or
        // so watches a stream.
        let comes_at = begun + fan::rush(args.fans) * number / args.fans * 5 / 3;
        let watches = u64::from(number) * u64::from(streams) / u64::from(args.fans)
            != u64::from(number + 1) * u64::from(streams) / u64::from(args.fans);
        let manner = Manner { watches_stream: watches, insists: args.clicking };
        let fan = Fan::new(args.seed, number, comes_at, manner);
        fans.spawn(fan.live(Arc::clone(sale)));
    }

    let mut progress = Progress::new(capacity);
    let mut opened = None;
    let mut look = tokio::time::interval(Duration::from_millis(250));
    let mut records = Vec::with_capacity(args.fans as usize);
    loop {
        tokio::select! {
            record = fans.join_next() => match record {
                Some(Ok(record)) => records.push(record),
                Some(Err(error)) => return Err(Failed::Because(format!("a fan fell over: {error}"))),
                None => break,
            },
            _ = look.tick() => {
                if opened.is_none() && Instant::now() >= opens_at {
                    sale.api.admin("POST", &format!("/{EVENT}/open"), key, "{}").await?;
                    opened = Some(Instant::now());
                }
                let now = sale.api.event(Instant::now()).await?;
                let message = format!("sold, {} waiting, {} in the room",
                    count(now.waiting.into()), count(now.active.into()));
                progress.show(now.units.sold.into(), &message);
                if now.units.free == 0 && now.units.held == 0 {
                    over_now.send_replace(true);
                }
            }
        }
    }
    progress.finish();
    let sale_s = opened.map_or(0.0, |opened| opened.elapsed().as_secs_f64());
    sale.api.admin("POST", &format!("/{EVENT}/close"), key, "{}").await?;
    Ok((records, sale_s))
}

/// The servers that two nodes share, if it is to be a cluster.
#[cfg(feature = "servers")]
fn start_servers(args: &DemoArgs, config: &mut Config) -> Result<Option<cluster::Servers>, Failed> {
    if !args.cluster {
        return Ok(None);
    }
    say("starting Redis, PostgreSQL, RabbitMQ and Kafka");
    let servers = cluster::Servers::start().map_err(Failed::Because)?;
    servers.configure(config);
    Ok(Some(servers))
}

/// The second node of a cluster; the sandbox is the first one's.
async fn start_second(
    args: &DemoArgs,
    mut config: Config,
    first: &Server,
) -> Result<Option<Server>, Failed> {
    if !args.cluster {
        return Ok(None);
    }
    config.data = config.data.with_extension("second");
    config.sandbox.url = first.sandbox().map(onrush_sandbox::Sandbox::base_url);
    let second = Server::start(config).await.map_err(|error| error.to_string())?;
    Ok(Some(second))
}

/// Every decision there is in the feed by now.
async fn read_feed(server: &Server) -> Result<Vec<Arc<FeedEntry>>, Obstacle> {
    let (engine, mut entries) = (server.engine(), Vec::new());
    let mut feed = engine.subscribe(Seq::default());
    let end = engine.committed();
    while entries.last().is_none_or(|last: &Arc<FeedEntry>| last.seq < end) {
        let Some(page) = feed.next().await? else { break };
        entries.extend(page);
    }
    Ok(entries)
}

/// Where the evening's decisions are.
enum Entries<'a> {
    Journal(&'a Path),
    Feed(Vec<Arc<FeedEntry>>),
}

impl Entries<'_> {
    /// What is wrong with them, one sentence each, and what they add up to.
    fn audit<'a>(
        self,
        crowd: &'a BTreeSet<String>,
        house: &House,
    ) -> Result<(Vec<String>, JournalTally<'a>), Obstacle> {
        let mut journal = JournalTally::new(EVENT, crowd).with_singles(Singles::new(house));
        match self {
            Self::Journal(data) => {
                each_entry(data, |entry| journal.add(entry))?;
                let audit = embedded::audit(data).map_err(|error| error.to_string())?;
                Ok((audit.violations, journal))
            }
            Self::Feed(entries) => {
                let mut audit = FeedAudit::default();
                for entry in &entries {
                    audit.note(entry);
                    journal.add(entry);
                }
                Ok((audit.finish().violations, journal))
            }
        }
    }
}

/// Counts from the decisions and from the receipts, and says where the two differ.
fn count_twice(
    args: &DemoArgs,
    journal: JournalTally<'_>,
    audit: Vec<String>,
    sale: &Sale,
    records: &[Record],
) -> Report {
    let single_seats = journal.singles();
    let (journal, admitted) = journal.finish();
    let (receipts, mut complaints) = Tally::from_receipts(records, &admitted);
    complaints.extend(Tally::differences(&journal, &receipts));
    complaints.extend(records.iter().filter_map(|record| record.trouble.clone()));
    if complaints.len() > SHOWN {
        let more = complaints.len() - SHOWN;
        complaints.truncate(SHOWN);
        complaints.push(format!("and {} more", count(more as u64)));
    }
    let audit_violations = audit.len() as u64;
    complaints.extend(audit.into_iter().take(SHOWN));

    let seats: BTreeSet<&str> = sale.house.ids().collect();
    let stock = Stock { has_seat: &|seat| seats.contains(seat), zone_capacity: args.zone_capacity };
    let (by_journal, by_receipts) = (journal.counts(&stock), receipts.counts(&stock));
    let mut ends: BTreeMap<&str, u64> = BTreeMap::new();
    for record in records {
        *ends.entry(words(record.end)).or_default() += 1;
    }
    Report {
        fans: args.fans,
        seats: seats.len() as u64,
        single_seats,
        zone_capacity: args.zone_capacity,
        capacity: seats.len() as u64 + u64::from(args.zone_capacity),
        confirmed_minor: journal.confirmed_minor,
        sold: by_journal.sold,
        oversold: by_journal.oversold.max(by_receipts.oversold),
        seats_sold_twice: by_journal.seats_sold_twice.max(by_receipts.seats_sold_twice),
        fifo_violations: by_journal.fifo_violations.max(by_receipts.fifo_violations),
        complaints,
        audit_violations,
        by_journal,
        by_receipts,
        ends,
        ..Report::default()
    }
}

/// How an evening ended, in words.
fn words(end: End) -> &'static str {
    match end {
        End::Bought => "bought",
        End::SoldOut => "found nothing left",
        End::TooSlow => "were too slow",
        End::Left => "left the queue",
        End::NoShow => "never showed up",
        End::Vanished => "vanished with something held",
        End::Declined => "were declined until they gave up",
        End::Refunded => "paid too late and got it back",
        End::StillWaiting => "were waiting when all was sold",
        End::Obstacle => "met with an error",
    }
}
