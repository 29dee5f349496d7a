//! Ledgers of before that are brought up to date.

use super::books::{Books, open, until_wait_for};
use crate::rows::{booking_id, held, page};
use onrush_ledger::Ledger;
use onrush_testkit::Log;
use std::time::Duration;
use tokio::time::timeout;
use tokio_postgres::{Client, NoTls};
use tracing::Level;

/// Takes the tables back to before bookings said when they were confirmed.
const WITHOUT_CONFIRMED_AT: &str = "ALTER TABLE bookings DROP COLUMN confirmed_at; \
                                    DELETE FROM onrush_migrations WHERE version >= 26";

async fn connected(url: &str) -> Client {
    let (client, line) = tokio_postgres::connect(url, NoTls).await.expect("connected");
    tokio::spawn(line);
    client
}

/// As a dump does, which reads all tables in one transaction.
#[tokio::test]
async fn others_read_and_write_a_table_that_a_step_waits_for_while_it_is_read_for_long() {
    let Some(books) = Books::new().await else { return };
    books.project(page(1, vec![held("gala.1", 5)])).await.expect("written");
    books.sql(WITHOUT_CONFIRMED_AT);
    let (log, _guard) = Log::begin(Level::WARN);
    let (reader, seller) = (connected(&books.url).await, connected(&books.url).await);
    reader.batch_execute("BEGIN; SELECT count(*) FROM bookings").await.expect("read");
    let new_node = || {
        let url = books.url.clone();
        tokio::spawn(async move { open(&url).await })
    };
    // One of them takes the step; the other waits until it is taken, for as long as that may be.
    let nodes = [new_node(), new_node()];
    until_wait_for(&reader, 1).await;
    let columns = "event_id, user_id, status, lines, amount_minor, fee_minor, currency, \
                   refund_minor, checked_in, created_at, updated_at";
    let sells = format!(
        "INSERT INTO bookings (booking_id, {columns}) \
         SELECT 'gala.2', {columns} FROM bookings WHERE booking_id = 'gala.1'"
    );
    let sold = timeout(Duration::from_secs(20), seller.execute(&sells, &[])).await;
    assert_eq!(sold.expect("in time").expect("written"), 1);

    let said = async {
        while log.count("as long as others use them") == 0 {
            tokio::task::yield_now().await;
        }
    };
    timeout(Duration::from_secs(20), said).await.expect("it says so");
    let its_id = reader.query_one("SELECT pg_backend_pid()", &[]).await.expect("a row");
    let in_the_way = format!("{} onrush", its_id.get::<_, i32>(0));
    assert!(log.text().contains(&in_the_way), "{in_the_way}: {}", log.text());
    assert!(nodes.iter().all(|node| !node.is_finished()));

    reader.batch_execute("COMMIT").await.expect("it has read");
    for node in nodes {
        let opened = timeout(Duration::from_secs(60), node).await;
        let node = opened.expect("in time").expect("no panic");
        for id in ["gala.1", "gala.2"] {
            let row = node.booking(&booking_id(id)).await.expect("read").expect("there");
            assert_eq!(row.confirmed_at, None, "{id}");
        }
    }
    let steps = "SELECT count(*) > 0 AND count(*) = max(version) FROM onrush_migrations";
    assert_eq!(books.sql(steps), "t");
}
