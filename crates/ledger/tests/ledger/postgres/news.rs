//! What other nodes do, seen without a connection that says so.

use super::books::{database, open, open_with};
use crate::rows::event;
use onrush_core::Time;
use onrush_ledger::Ledger;
use onrush_ledger::postgres::{Appended, PgLedger, PgOptions, RowToArchive};
use onrush_ledger::request::{Begun, RequestKey};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_postgres::NoTls;

async fn archives(ledger: &PgLedger, seq: u64) {
    let row = RowToArchive { seq, at: Time(5), changes: "[]".into(), mark: None };
    let appended = ledger.append(event("gala"), 0, None, vec![row]).await;
    assert_eq!(appended, Ok(Appended::Archived));
}

async fn sees(ledger: &PgLedger, number: u64) {
    let mut newest = ledger.newest();
    let sees = newest.wait_for(|newest| *newest == number);
    timeout(Duration::from_secs(20), sees).await.expect("in time").expect("it is open");
}

/// PostgreSQL has no room for another connection, and those that there are work.
#[tokio::test]
async fn node_that_cannot_listen_sees_what_others_archive_and_counts_as_alive() {
    let Some((server, url)) = database() else { return };
    let elsewhere = server.database().expect("another");
    let (node, other) = (open(&url).await, open(&url).await);
    let key = RequestKey { scope: "s".into(), key: "k".into(), asker: None };
    assert_eq!(node.begin(key, [1; 32], 7, Time(5)).await, Ok(Begun::Fresh));
    archives(&other, 1).await;
    sees(&node, 1).await;
    let (client, line) = tokio_postgres::connect(&url, NoTls).await.expect("connected");
    let line = tokio::spawn(line);
    let (_, name) = url.rsplit_once('/').expect("a database");
    let full = format!("ALTER DATABASE {name} ALLOW_CONNECTIONS false");
    server.sql(&elsewhere, &full).expect("full");
    let cut_off = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                   WHERE datname = current_database() AND query ~ '^(LISTEN|SELECT 1$)'";
    client.execute(cut_off, &[]).await.expect("cut off");
    archives(&other, 2).await;
    sees(&node, 2).await;
    client.execute("UPDATE nodes SET alive_until = 'epoch'", &[]).await.expect("written");
    let is_alive = "SELECT 1 FROM nodes WHERE alive_until > clock_timestamp()";
    let says_so = async {
        while client.query_opt(is_alive, &[]).await.expect("read").is_none() {
            tokio::task::yield_now().await;
        }
    };
    timeout(Duration::from_secs(20), says_so).await.expect("it says that it is alive");
    line.abort();
}

/// Connections that have begun to listen: how many, and over how many of them, from the first on,
/// nothing goes any more.
#[derive(Default)]
struct Listening {
    begun: u64,
    lost: u64,
}

/// Forwards to a server: which port to ask, and what listens there.
async fn forwarding(to: u16) -> (u16, watch::Sender<Listening>) {
    let there = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = there.local_addr().expect("an address").port();
    let listening = watch::Sender::new(Listening::default());
    let listens = listening.clone();
    tokio::spawn(async move {
        while let Ok((client, _)) = there.accept().await {
            let server = TcpStream::connect(("127.0.0.1", to)).await.expect("it is there");
            tokio::spawn(forward(client, server, listens.clone()));
        }
    });
    (port, listening)
}

async fn forward(mut client: TcpStream, mut server: TcpStream, listens: watch::Sender<Listening>) {
    const LISTENS: &[u8] = b"LISTEN onrush_feed";
    let (mut asked, mut told) = ([0; 8_192], [0; 8_192]);
    let (mut begins, mut nth) = (false, None);
    let is_lost = |nth: Option<u64>| nth.is_some_and(|nth| nth <= listens.borrow().lost);
    loop {
        let done = tokio::select! {
            read = client.read(&mut asked) => {
                let asked = &asked[..read.unwrap_or(0)];
                begins |= asked.windows(LISTENS.len()).any(|words| words == LISTENS);
                asked.is_empty() || (!is_lost(nth) && server.write_all(asked).await.is_err())
            }
            read = server.read(&mut told) => {
                let told = &told[..read.unwrap_or(0)];
                let done =
                    told.is_empty() || (!is_lost(nth) && client.write_all(told).await.is_err());
                if std::mem::take(&mut begins) {
                    listens.send_modify(|listening| {
                        listening.begun += 1;
                        nth = Some(listening.begun);
                    });
                }
                done
            }
        };
        if done {
            return;
        }
    }
}

/// The host behind it is gone without a word, or something between forgot the connection.
#[tokio::test]
async fn connection_on_which_nothing_is_heard_any_more_is_given_up_for_another() {
    let Some((server, url)) = database() else { return };
    let (port, listening) = forwarding(server.port()).await;
    let through = url.replace(&format!(":{}/", server.port()), &format!(":{port}/"));
    let options = PgOptions { pool_size: 2, patience_ms: 5_000, ..PgOptions::default() };
    let node = open_with(&through, options).await;
    let mut heard = listening.subscribe();
    let mut has_another = async || {
        let has = heard.wait_for(|listening| listening.begun > listening.lost);
        timeout(Duration::from_secs(60), has).await.map(drop)
    };
    has_another().await.expect("it listens");
    // A busy machine may have had it connect more than once by now.
    listening.send_modify(|listening| listening.lost = listening.begun);
    has_another().await.expect("it listens on another connection");
    archives(&open(&url).await, 1).await;
    sees(&node, 1).await;
}
