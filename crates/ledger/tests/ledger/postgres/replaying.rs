//! Replaying all of a channel, beside others.

use super::books::{Books, open_with, until_wait_for};
use crate::rows::{message, page};
use onrush_core::Time;
use onrush_ledger::delivery::{Delivered, REPLAYED_AT_ONCE};
use onrush_ledger::postgres::PgOptions;
use onrush_ledger::projection::Projection;
use onrush_ledger::{Ledger, LedgerError};
use tokio_postgres::NoTls;

/// However much a channel gave up, all of it need not have time for one statement.
#[tokio::test]
async fn a_channel_is_replayed_some_messages_at_a_time() {
    let Some(books) = Books::new().await else { return };
    let options = PgOptions { pool_size: 4, patience_ms: 2_000, ..PgOptions::default() };
    let ledger = open_with(&books.url, options).await;
    let ids: Vec<String> = (0..=REPLAYED_AT_ONCE).map(|n| format!("m{n:03}")).collect();
    let messages = ids.iter().map(|id| message(id, 5, &["mail"])).collect();
    books.project(Projection { messages, ..page(1, vec![]) }).await.expect("written");
    let dead = || Delivered::Dead { at: Time(9), error: "gone".into() };
    let given_up = ids.iter().map(|id| (id.clone(), dead())).collect();
    books.delivered("mail", given_up).await.expect("written");
    // Somebody is at the last one.
    let (client, line) = tokio_postgres::connect(&books.url, NoTls).await.expect("connected");
    let line = tokio::spawn(line);
    let last = ids.last().expect("some");
    let lock = format!("BEGIN; SELECT 1 FROM deliveries WHERE message_id = '{last}' FOR UPDATE");
    client.batch_execute(&lock).await.expect("locked");
    let replay = async || ledger.replay("mail", None, Time(50)).await;
    let replayed = replay().await;
    assert!(matches!(replayed, Err(LedgerError::Unavailable(_))), "{replayed:?}");
    let left = books.dead_letters(None, None, 9).await.expect("read").rows;
    let left: Vec<_> = left.iter().map(|dead| &dead.message.id).collect();
    assert_eq!(left, [last]);
    // PostgreSQL may give the statement up a moment after the ledger did.
    until_wait_for(&client, 0).await;
    client.batch_execute("ROLLBACK").await.expect("given back");
    line.abort();
    assert_eq!(replay().await, Ok(1), "it goes on where it ended");
    assert_eq!(replay().await, Ok(0));
}
