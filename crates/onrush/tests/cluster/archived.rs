//! Decisions of nodes on Redis, once they are archived in PostgreSQL.

use onrush_core::Time;
use onrush_core::ids::EventId;
use onrush_ledger::postgres::{PgLedger, PgOptions};
use onrush_server::cluster::open_archive;
use onrush_store::redis::{Archived, Mark, ToArchive, ToArchiveEntry};
use onrush_store::{FeedEntry, Seq};
use onrush_testkit::{Postgres, need};
use std::sync::Arc;

#[tokio::test]
async fn decision_is_archived_as_redis_has_it() {
    let Some(server) = need(Postgres::start()) else { return };
    let url = server.database().expect("a database");
    let ledger = PgLedger::open(&url, PgOptions::default()).await.expect("opened");
    let ledger = Arc::new(ledger);
    let archive = open_archive(ledger.clone(), "one".to_owned());
    let event: EventId = "gala".parse().expect("an id");
    // With more in it than this version knows, and as nobody here would write it.
    let text = r#"[{"hold_forgotten": {"of_tomorrow": 1, "booking": "\u0062.1"}}]"#.to_owned();
    let changes = serde_json::from_str(&text).expect("changes");
    let entry = FeedEntry { seq: Seq(1), at: Time(5), event: event.clone(), changes };
    let decision = ToArchiveEntry { entry: entry.clone(), text: text.clone(), mark: Some(Mark(7)) };
    let decisions = vec![decision];
    let what = ToArchive { event: event.clone(), epoch: 0, before: None, decisions };
    assert_eq!(archive.append(what).await, Ok(()));
    let rows = ledger.read_event(event.clone(), 0, 9).await.expect("read");
    assert_eq!(rows[0].changes, text);
    let archived = Archived { number: Seq(1), entry, mark: Some(Mark(7)) };
    assert_eq!(archive.read_event(event, Seq(0), 9).await, Ok(vec![archived]));
}
