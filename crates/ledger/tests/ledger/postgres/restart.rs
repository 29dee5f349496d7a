//! A server that goes away and comes back.

use super::books::{Books, open_with};
use crate::rows::{booking_id, event, held, next, page, saga, to, user};
use onrush_core::Time;
use onrush_ledger::booking::{BookingFilter, Buyer};
use onrush_ledger::postgres::{PgLedger, PgOpenError, PgOptions, RowToArchive};
use onrush_ledger::request::{Begun, RequestKey};
use onrush_ledger::{Ledger, LedgerError};
use onrush_testkit::{Log, Postgres, need};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{Instant, timeout};
use tokio_postgres::NoTls;
use tracing::Level;

/// A server that no other test uses, and a ledger there.
async fn alone() -> Option<(Postgres, PgLedger)> {
    let server = need(Postgres::start())?;
    let options = PgOptions { pool_size: 4, ..PgOptions::default() };
    let ledger = open_with(&server.database().expect("a database"), options).await;
    Some((server, ledger))
}

fn is_unavailable<T>(outcome: &Result<T, LedgerError>) -> bool {
    matches!(outcome, Err(LedgerError::Unavailable(_)))
}

/// Asks until the ledger works.
async fn works(ledger: &PgLedger) {
    let works = async {
        while ledger.cursor().await.is_err() {
            tokio::task::yield_now().await;
        }
    };
    timeout(Duration::from_secs(30), works).await.expect("it works again");
}

/// Writes a saga until it is there. An attempt of which nothing was heard may have written it: then
/// the next one is a conflict.
async fn writes(ledger: &PgLedger, id: &str) {
    let writes = async {
        while is_unavailable(&ledger.advance(to(saga(id, 5))).await) {
            tokio::task::yield_now().await;
        }
    };
    timeout(Duration::from_secs(30), writes).await.expect("it writes again");
}

/// A ledger that waits a second for anything, opened as often as that is not enough for a busy machine.
async fn impatient(url: &str) -> PgLedger {
    let options = PgOptions { pool_size: 2, patience_ms: 1_000, ..PgOptions::default() };
    let opens = async {
        loop {
            match PgLedger::open(url, options.clone()).await {
                Err(PgOpenError::Unreachable(_)) => tokio::task::yield_now().await,
                opened => return opened.expect("opened"),
            }
        }
    };
    timeout(Duration::from_secs(60), opens).await.expect("in time")
}

#[tokio::test]
async fn server_that_is_away_makes_calls_fail_and_nothing_else() {
    let Some((mut server, ledger)) = alone().await else { return };
    let first = saga("gala.1", 5);
    ledger.advance(to(first.clone())).await.expect("written");
    server.stop();

    let begun = Instant::now();
    assert!(is_unavailable(&ledger.saga_record(&first.booking).await));
    assert!(is_unavailable(&ledger.advance(to(next(&first))).await));
    assert!(is_unavailable(&ledger.project(page(1, vec![held("gala.2", 5)])).await));
    assert!(is_unavailable(&ledger.bookings(BookingFilter::default(), 9).await));
    assert!(is_unavailable(&ledger.due(Time(9), 9).await));
    assert!(is_unavailable(&ledger.lease("l", "a", 1_000).await));
    assert!(begun.elapsed() < Duration::from_secs(30));

    server.restart().expect("it starts");
    works(&ledger).await;
    assert_eq!(ledger.cursor().await, Ok(0));
    assert_eq!(ledger.saga_record(&first.booking).await.expect("read").expect("there").saga, first);
    ledger.advance(to(next(&first))).await.expect("written");
    ledger.project(page(1, vec![held("gala.2", 5)])).await.expect("written");
}

#[tokio::test]
async fn what_is_not_done_in_time_fails_and_is_not_done_later() {
    let Some(books) = Books::new().await else { return };
    let ledger = impatient(&books.url).await;
    // Somebody has locked what everybody needs.
    let (client, connection) = tokio_postgres::connect(&books.url, NoTls).await.expect("connected");
    let connection = tokio::spawn(connection);
    client.batch_execute("BEGIN; LOCK TABLE sagas, buyers, feed_cursor").await.expect("locked");
    let id = booking_id("gala.1");
    let begun = Instant::now();
    let written = ledger.advance(to(saga("gala.1", 5)));
    let kept = ledger.set_buyer(&id, &user("ann"), Buyer::default());
    let read = ledger.saga_record(&id);
    let followed = ledger.project(page(1, vec![held("gala.2", 5)]));
    assert!(is_unavailable(&written.await));
    assert!(is_unavailable(&kept.await));
    assert!(is_unavailable(&read.await));
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    assert!(is_unavailable(&followed.await));
    client.batch_execute("ROLLBACK").await.expect("given back");
    connection.abort();
    works(&ledger).await;
    // What was refused is not waiting anywhere.
    writes(&ledger, "gala.3").await;
    assert_eq!(books.saga_record(&id).await, Ok(None));
    assert_eq!(books.buyer(&id).await, Ok(None));
    assert_eq!(books.cursor().await, Ok(0));
}

/// Whoever began them was told that nobody knows, and asks again with the same key.
#[tokio::test]
async fn requests_that_began_unheard_amid_a_stall_are_not_under_way_for_ever() {
    let Some(books) = Books::new().await else { return };
    let options = PgOptions { pool_size: 2, patience_ms: 5_000, ..PgOptions::default() };
    let ledger = open_with(&books.url, options).await;
    let (client, connection) = tokio_postgres::connect(&books.url, NoTls).await.expect("connected");
    let connection = tokio::spawn(connection);
    let key = |key: &str| RequestKey { scope: "s".into(), key: key.into(), asker: None };
    let begin = |name: &str| ledger.begin(key(name), [1; 32], 7, Time(5));
    client.batch_execute("BEGIN; LOCK TABLE requests").await.expect("locked");
    let first = begin("k1");
    let waits = async {
        let sql = "SELECT 1 FROM pg_locks WHERE relation = 'requests'::regclass AND NOT granted";
        while client.query_opt(sql, &[]).await.expect("read").is_none() {
            tokio::task::yield_now().await;
        }
    };
    timeout(Duration::from_secs(20), waits).await.expect("in time");
    // It is taken up when the first one is given up, and has as long again as its asker waits.
    let second = begin("k2");
    let (first, second) = tokio::join!(first, second);
    assert!(is_unavailable(&first) && is_unavailable(&second), "{first:?} {second:?}");
    client.batch_execute("ROLLBACK").await.expect("given back");
    connection.abort();
    assert_eq!(begin("k3").await, Ok(Begun::Fresh));
    for name in ["k1", "k2"] {
        ledger.leave_behind(key(name), 7).await.expect("left");
        let begun = begin(name).await.expect("an answer");
        assert_ne!(begun, Begun::InProgress, "{name}");
    }
}

#[tokio::test]
async fn server_that_says_nothing_is_given_up_in_time() {
    // It lets in everybody and answers nobody.
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = silent.local_addr().expect("an address").port();
    let url = format!("postgres://onrush@127.0.0.1:{port}/onrush");
    let options = PgOptions { patience_ms: 300, ..PgOptions::default() };
    let opening = timeout(Duration::from_secs(10), PgLedger::open(&url, options));
    let error = opening.await.expect("in time").err().expect("refused");
    assert!(matches!(error, PgOpenError::Unreachable(_)), "{error}");
}

/// A server that answers each connection with this error, and how often it did.
async fn answering(code: &str) -> (u16, Arc<AtomicU64>) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let fields = format!("SFATAL\0VFATAL\0C{code}\0Mnot now\0\0");
    let length = u32::try_from(fields.len() + 4).expect("it is short");
    let answer = [b"E", &length.to_be_bytes()[..], fields.as_bytes()].concat();
    let asked = Arc::<AtomicU64>::default();
    let count = asked.clone();
    tokio::spawn(async move {
        while let Ok((mut connection, _)) = listener.accept().await {
            count.fetch_add(1, Ordering::SeqCst);
            let mut startup = [0; 1_024];
            // Whatever it is asked for; that somebody is gone already is seen by what they say.
            drop(connection.read(&mut startup).await);
            drop(connection.write_all(&answer).await);
        }
    });
    (port, asked)
}

#[tokio::test]
async fn server_that_starts_is_asked_five_times_and_one_that_knows_no_such_user_once() {
    // Starting, stopping, no connection left; then a wrong password, and no such database.
    let cases = ["57P03", "57P01", "53300", "28P01", "3D000"];
    let opening = cases.map(async |code| {
        let (port, asked) = answering(code).await;
        let url = format!("postgres://onrush@127.0.0.1:{port}/onrush");
        let error = PgLedger::open(&url, PgOptions::default()).await.err().expect("refused");
        assert!(error.to_string().contains(code), "{error}");
        (code, matches!(error, PgOpenError::Unreachable(_)), asked.load(Ordering::SeqCst))
    });
    let told = futures_util::future::join_all(opening).await;
    let expected = [
        ("57P03", true, 5),
        ("57P01", true, 5),
        ("53300", true, 5),
        ("28P01", false, 1),
        ("3D000", false, 1),
    ];
    assert_eq!(told, expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn server_that_is_killed_amid_callers_loses_nothing_that_was_answered() {
    const CALLERS: usize = 32;
    let Some((mut server, ledger)) = alone().await else { return };
    let ledger = Arc::new(ledger);
    let answered: Arc<Vec<AtomicU64>> = Arc::new((0..CALLERS).map(|_| AtomicU64::new(0)).collect());
    let stop = Arc::new(AtomicU64::new(u64::MAX));
    let mut callers = Vec::new();
    for caller in 0..CALLERS {
        let (ledger, answered, stop) = (ledger.clone(), answered.clone(), stop.clone());
        callers.push(tokio::spawn(async move {
            let id = booking_id(&format!("gala.{caller}"));
            let mut row = saga(id.as_str(), 5);
            while row.version < stop.load(Ordering::Acquire) {
                match ledger.advance(to(row.clone())).await {
                    Ok(()) => {
                        answered[caller].store(row.version, Ordering::Release);
                        row = next(&row);
                    }
                    // What came of it is not known: only the ledger says.
                    Err(LedgerError::Unavailable(_) | LedgerError::Conflict) => loop {
                        let Ok(record) = ledger.saga_record(&id).await else {
                            tokio::task::yield_now().await;
                            continue;
                        };
                        row = record
                            .map_or_else(|| saga(id.as_str(), 5), |record| next(&record.saga));
                        break;
                    },
                }
            }
        }));
    }
    let snapshot = || -> Vec<u64> { answered.iter().map(|n| n.load(Ordering::Acquire)).collect() };
    let passed = async |least: u64| {
        let passes = async {
            while !snapshot().iter().all(|version| *version >= least) {
                tokio::task::yield_now().await;
            }
        };
        timeout(Duration::from_secs(60), passes).await.expect("they go on");
    };
    passed(5).await;
    for _ in 0..2 {
        server.kill();
        let before = snapshot();
        server.restart().expect("it starts");
        works(&ledger).await;
        for (caller, answered) in before.iter().enumerate() {
            let record =
                ledger.saga_record(&booking_id(&format!("gala.{caller}"))).await.expect("read");
            let version = record.map_or(0, |record| record.saga.version);
            assert!(version >= *answered, "{caller} was told {answered}, and {version} is left");
        }
        passed(before.iter().max().expect("callers") + 5).await;
    }
    stop.store(0, Ordering::Release);
    for caller in callers {
        timeout(Duration::from_secs(60), caller).await.expect("in time").expect("no panic");
    }
    let versions = ledger.totals().await.expect("read").open_sagas;
    assert_eq!(versions, CALLERS as u64);
}

/// A standby, or an old primary that has become one.
#[tokio::test]
async fn server_that_only_reads_is_not_held_on_to_once_another_answers() {
    let Some((server, ledger)) = alone().await else { return };
    let url = server.url();
    // What is on from here on is so for connections that are made later.
    let (client, line) = tokio_postgres::connect(&url, NoTls).await.expect("connected");
    let line = tokio::spawn(line);
    let only_reads = async |is_on: bool| {
        let sql = format!("ALTER ROLE CURRENT_USER SET default_transaction_read_only = {is_on}");
        client.batch_execute(&sql).await.expect("set");
        let cut_off = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                       WHERE application_name = 'onrush'";
        client.batch_execute(if is_on { cut_off } else { "" }).await.expect("cut off");
    };
    only_reads(true).await;
    for _ in 0..8 {
        assert!(is_unavailable(&ledger.advance(to(saga("gala.1", 5))).await));
        assert!(is_unavailable(
            &ledger.set_buyer(&booking_id("gala.1"), &user("ann"), Buyer::default()).await
        ));
    }
    only_reads(false).await;
    writes(&ledger, "gala.1").await;
    ledger.set_buyer(&booking_id("gala.1"), &user("ann"), Buyer::default()).await.expect("kept");
    line.abort();
}

/// Whoever forwards connections may have found another server behind them.
#[tokio::test]
async fn connection_on_which_nothing_can_be_written_any_more_is_given_up() {
    let Some((server, ledger)) = alone().await else { return };
    writes(&ledger, "gala.1").await;
    let (client, line) = tokio_postgres::connect(&server.url(), NoTls).await.expect("connected");
    let line = tokio::spawn(line);
    let ours = "SELECT array_agg(pid) FROM pg_stat_activity WHERE application_name = 'onrush'";
    let before: Vec<i32> = client.query_one(ours, &[]).await.expect("a row").get(0);
    client.batch_execute("SET default_transaction_read_only = off").await.expect("set");
    client.batch_execute("ALTER SYSTEM SET default_transaction_read_only = on").await.expect("set");
    client.batch_execute("SELECT pg_reload_conf()").await.expect("read");
    let given_up = async {
        let still = "SELECT count(*) FROM pg_stat_activity WHERE pid = ANY ($1)";
        // One of them listens, and writes nothing.
        while client.query_one(still, &[&before]).await.expect("a row").get::<_, i64>(0) > 1 {
            drop(ledger.advance(to(saga("gala.2", 5))).await);
            drop(ledger.set_buyer(&booking_id("gala.2"), &user("ann"), Buyer::default()).await);
        }
    };
    timeout(Duration::from_secs(30), given_up).await.expect("it gives them up");
    client.batch_execute("ALTER SYSTEM RESET default_transaction_read_only").await.expect("reset");
    client.batch_execute("SELECT pg_reload_conf()").await.expect("read");
    let id = booking_id("gala.2");
    let kept = async {
        while ledger.set_buyer(&id, &user("ann"), Buyer::default()).await.is_err() {
            tokio::task::yield_now().await;
        }
    };
    timeout(Duration::from_secs(30), kept).await.expect("it writes again");
    line.abort();
}

#[tokio::test]
async fn news_are_heard_again_after_a_restart() {
    let Some((mut server, ledger)) = alone().await else { return };
    let (mut newest, mut flags) = (ledger.newest(), ledger.watch_flags());
    server.restart().expect("it starts");
    works(&ledger).await;
    let row = RowToArchive { seq: 1, at: Time(5), changes: "[]".into(), mark: None };
    ledger.append(event("gala"), 0, None, vec![row]).await.expect("archived");
    ledger.set_flag("lua_atomic", 5).await.expect("set");
    let heard = async {
        newest.wait_for(|newest| *newest == 1).await.expect("it is open");
        flags.wait_for(|flags| flags.get("lua_atomic") == Some(&5)).await.expect("it is open");
    };
    timeout(Duration::from_secs(20), heard).await.expect("in time");
}

#[tokio::test]
async fn news_that_are_not_heard_are_told_of_once() {
    let Some((mut server, ledger)) = alone().await else { return };
    let (log, _guard) = Log::begin(Level::WARN);
    server.stop();
    // Whoever listens is let in and hung up on, again and again.
    let there = tokio::net::TcpListener::bind(("127.0.0.1", server.port())).await.expect("free");
    let tried = async {
        for _ in 0..6 {
            drop(there.accept().await.expect("a connection"));
        }
    };
    timeout(Duration::from_secs(30), tried).await.expect("it goes on trying");
    assert_eq!(log.count("what other nodes do is not heard"), 1, "{}", log.text());
    drop((there, ledger));
}
