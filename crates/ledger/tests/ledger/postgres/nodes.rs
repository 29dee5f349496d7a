//! Several nodes on one database.

use super::books::{Books, database, open, open_with};
use crate::rows::{
    answered_by_mail_servers, answers_are_kept_without_addresses, booking_id,
    confirmations_that_are_told, fact, held, known_confirmations, message, moved, next, page,
    payment, refunds_of_before, saga, sold_before, to, user,
};
use onrush_core::Time;
use onrush_core::hold::HoldStatus;
use onrush_core::saga::Stage;
use onrush_ledger::booking::BuyerOf;
use onrush_ledger::postgres::{PgLedger, PgOpenError, PgOptions};
use onrush_ledger::projection::Projection;
use onrush_ledger::request::{Begun, RequestKey, StoredAnswer};
use onrush_ledger::saga::Transition;
use onrush_ledger::{Ledger, LedgerError};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;
use tokio_postgres::NoTls;

/// Takes the tables back to before they had their last indexes, of which one goes with its column.
const WITHOUT_INDEXES: &str = "DROP INDEX messages_by_booking; DROP INDEX sagas_by_event; \
                               ALTER TABLE buyers DROP COLUMN owner_id; \
                               DROP INDEX requests_left_behind; DROP INDEX sagas_by_time; \
                               DELETE FROM onrush_migrations WHERE version >= 19";

fn key() -> RequestKey {
    RequestKey { scope: "ann pays gala.1".into(), key: "k".into(), asker: Some("ann".into()) }
}

#[tokio::test]
async fn nodes_that_start_at_once_make_the_tables_once() {
    let Some((server, url)) = database() else { return };
    let opened: Vec<_> = (0..6)
        .map(|_| {
            let url = url.clone();
            tokio::spawn(async move { open(&url).await })
        })
        .collect();
    for node in opened {
        let node = node.await.expect("no panic");
        assert_eq!(node.cursor().await, Ok(0));
    }
    // Their numbers have no gap.
    let sql = "SELECT count(*) > 0 AND count(*) = max(version) FROM onrush_migrations";
    assert_eq!(server.sql(&url, sql).expect("read"), "t");
}

#[tokio::test]
async fn tables_of_a_newer_version_are_refused_and_left_alone() {
    let Some(books) = Books::new().await else { return };
    books.sql(
        "INSERT INTO onrush_migrations (version, name, applied_on, checksum) \
         VALUES (99, 'later', '2030-01-01T00:00:00Z', '1')",
    );
    let steps = books.sql("SELECT * FROM onrush_migrations ORDER BY version");
    let error = PgLedger::open(&books.url, PgOptions::default()).await.err().expect("refused");
    assert!(matches!(error, PgOpenError::Newer { version: 99, known: 1.. }), "{error}");
    assert!(error.to_string().contains("newer onrush"), "{error}");
    assert_eq!(books.sql("SELECT * FROM onrush_migrations ORDER BY version"), steps);
}

#[tokio::test]
async fn nodes_of_before_write_messages_while_the_index_of_sagas_is_made() {
    let Some(books) = Books::new().await else { return };
    books.sql(WITHOUT_INDEXES);
    let (client, connection) = tokio_postgres::connect(&books.url, NoTls).await.expect("connected");
    let connection = tokio::spawn(connection);
    // Whoever has written sagas and has not committed yet is waited for.
    let writes = "BEGIN; LOCK TABLE sagas IN ROW EXCLUSIVE MODE";
    client.batch_execute(writes).await.expect("locked");
    let url = books.url.clone();
    let newer = tokio::spawn(async move { open(&url).await });
    let waits = async {
        let sql = "SELECT 1 FROM pg_locks WHERE relation = 'sagas'::regclass AND NOT granted";
        while client.query(sql, &[]).await.expect("read").is_empty() {
            tokio::task::yield_now().await;
        }
    };
    timeout(Duration::from_secs(20), waits).await.expect("in time");
    let told = Projection { messages: vec![message("m1", 5, &["mail"])], ..page(1, vec![]) };
    books.project(told).await.expect("written");
    client.batch_execute("ROLLBACK").await.expect("given back");
    connection.abort();
    let newer = newer.await.expect("no panic");
    assert_eq!(newer.cursor().await, Ok(1));
}

#[tokio::test]
async fn indexes_that_were_made_beforehand_stay() {
    let page = include_str!("../../../../../docs/operating.md");
    let Some(mut books) = Books::new().await else { return };
    let all = "FROM pg_class WHERE relname IN ('messages_by_booking', 'sagas_by_event', \
               'buyers_by_owner', 'requests_left_behind', 'sagas_by_time') ORDER BY relname";
    let are_like = format!("SELECT pg_get_indexdef(oid) {all}");
    let column = "SELECT attname, atttypid::regtype, attcollation, attnotnull \
                  FROM pg_attribute WHERE attrelid = 'buyers'::regclass AND attname = 'owner_id'";
    let ours = (books.sql(&are_like), books.sql(column));
    assert_eq!((ours.0.lines().count(), ours.1.lines().count()), (5, 1));
    books.sql(WITHOUT_INDEXES);
    let said = page.split("```sql\n").nth(1).and_then(|rest| rest.split("```").next());
    // One at a time: this cannot be done in a transaction.
    for statement in said.expect("statements").split_inclusive(";\n") {
        books.sql(statement);
    }
    assert_eq!((books.sql(&are_like), books.sql(column)), ours);
    let are = format!("SELECT oid {all}");
    let made = books.sql(&are);
    books.reopen().await;
    assert_eq!(books.sql(&are), made);
}

/// They write no owner beside a buyer, and ask for the bookings of a user beside their buyers.
#[tokio::test]
async fn buyers_that_nodes_of_before_name_are_found_by_their_bookings() {
    let Some(books) = Books::new().await else { return };
    books.project(page(1, vec![held("gala.1", 5)])).await.expect("written");
    books.sql(
        "INSERT INTO buyers (booking_id, name, email, language, name_lower, email_lower) \
         VALUES ('gala.1', 'Ann', 'a@x.org', 'en', 'ann', 'a@x.org')",
    );
    let list = "SELECT bookings.booking_id FROM bookings \
                LEFT JOIN buyers ON buyers.booking_id = bookings.booking_id WHERE user_id = 'ann'";
    assert_eq!(books.sql(list), "gala.1");
    assert_eq!(books.user_of(&booking_id("gala.1")).await, Ok(Some(user("ann"))));
    assert_eq!(books.erase_buyer(BuyerOf::User(user("ann"))).await, Ok(1));
}

#[tokio::test]
async fn address_that_leads_nowhere_is_refused_in_a_sentence() {
    let error = PgLedger::open("postgres//x", PgOptions::default()).await.err().expect("refused");
    assert!(matches!(error, PgOpenError::Address(_)), "{error}");
    let nobody = "postgres://onrush@127.0.0.1:1/onrush";
    let error = PgLedger::open(nobody, PgOptions::default()).await.err().expect("refused");
    assert!(matches!(error, PgOpenError::Unreachable(_)), "{error}");
}

#[tokio::test]
async fn one_of_two_nodes_writes_a_saga_and_the_other_has_a_conflict() {
    let Some(books) = Books::new().await else { return };
    let (one, other) = (open(&books.url).await, open(&books.url).await);
    let mut latest = saga("gala.1", 5);
    for round in 0..30 {
        let (first, second) =
            tokio::join!(one.advance(to(latest.clone())), other.advance(to(latest.clone())));
        let outcomes = [first, second];
        assert!(outcomes.contains(&Ok(())), "{round}: {outcomes:?}");
        assert!(outcomes.contains(&Err(LedgerError::Conflict)), "{round}: {outcomes:?}");
        latest = next(&latest);
    }
    assert_eq!(books.history(&booking_id("gala.1")).await.expect("read").len(), 30);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_that_write_the_same_rows_in_any_order_all_come_to_an_end() {
    const SAGAS: usize = 24;
    let Some(books) = Books::new().await else { return };
    let nodes: Vec<_> = [open(&books.url).await, open(&books.url).await, open(&books.url).await]
        .into_iter()
        .map(Arc::new)
        .collect();
    let mut tasks = Vec::new();
    for task in 0..9 {
        let node = nodes[task % 3].clone();
        tasks.push(tokio::spawn(async move {
            let mut written = 0;
            for turn in 0..10 {
                // Each begins somewhere else and goes around, all at once.
                let pending: Vec<_> = (0..SAGAS)
                    .map(|n| {
                        let id = format!("gala.{}", (n * (task + 1) + turn) % SAGAS);
                        let node = node.clone();
                        tokio::spawn(async move {
                            let record = node.saga_record(&booking_id(&id)).await.expect("read");
                            let row = record.map_or(saga(&id, 5), |record| next(&record.saga));
                            let transition = Transition {
                                payments: vec![payment(&id, 1, Stage::Open, 5)],
                                messages: vec![message(&format!("m{turn}"), 5, &["mail"])],
                                ..to(row)
                            };
                            node.advance(transition).await
                        })
                    })
                    .collect();
                for outcome in pending {
                    match outcome.await.expect("no panic") {
                        Ok(()) => written += 1,
                        Err(error) => assert_eq!(error, LedgerError::Conflict),
                    }
                }
            }
            written
        }));
    }
    let mut written = 0;
    for task in tasks {
        written += task.await.expect("no panic");
    }
    let versions = books.sql("SELECT sum(version) FROM sagas");
    assert_eq!(versions, written.to_string());
    assert_eq!(books.sql("SELECT count(*) FROM saga_history"), written.to_string());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn feed_that_is_followed_while_others_begin_the_same_sagas_is_projected_whole() {
    let Some(books) = Books::new().await else { return };
    let other = Arc::new(open(&books.url).await);
    for round in 0..10 {
        let ids: Vec<String> = (0..40).map(|n| format!("gala.{round}-{n}")).collect();
        let paying = |id: &String| [held(id, 5), fact(moved(id, HoldStatus::Paying, 5))];
        let facts = ids.iter().flat_map(paying).collect();
        let begun: Vec<_> =
            ids.iter().rev().map(|id| tokio::spawn(other.advance(to(saga(id, 5))))).collect();
        books.project(page(round + 1, facts)).await.expect("written");
        for outcome in begun {
            let outcome = outcome.await.expect("no panic");
            assert!(matches!(outcome, Ok(()) | Err(LedgerError::Conflict)), "{outcome:?}");
        }
    }
    assert_eq!(books.sql("SELECT count(*), sum(version) FROM sagas"), "400|400");
    assert_eq!(books.sql("SELECT count(*) FROM saga_history"), "400");
    assert_eq!(books.sql("SELECT count(*) FROM bookings"), "400");
}

#[tokio::test]
async fn request_that_another_node_is_at_is_in_progress_until_that_node_is_gone() {
    let Some(books) = Books::new().await else { return };
    let (one, other) = (open(&books.url).await, open(&books.url).await);
    assert_eq!(one.begin(key(), [1; 32], 1, Time(5)).await, Ok(Begun::Fresh));
    assert_eq!(other.begin(key(), [1; 32], 2, Time(6)).await, Ok(Begun::InProgress));
    assert_eq!(other.begin(key(), [2; 32], 2, Time(6)).await, Ok(Begun::OtherBody));
    one.close().await;
    assert_eq!(other.begin(key(), [1; 32], 2, Time(7)).await, Ok(Begun::Unfinished));
    let answer = StoredAnswer { status: 201, content_type: "text/plain".into(), body: vec![0, 1] };
    other.finish(key(), Some(answer.clone())).await.expect("kept");
    let third = open(&books.url).await;
    assert_eq!(third.begin(key(), [1; 32], 3, Time(8)).await, Ok(Begun::Answered(answer)));
}

#[tokio::test]
async fn request_that_a_dead_node_left_begins_anew_when_it_counts_as_dead() {
    let Some(books) = Books::new().await else { return };
    let (dead, other) = (open(&books.url).await, open(&books.url).await);
    assert_eq!(dead.begin(key(), [1; 32], 1, Time(5)).await, Ok(Begun::Fresh));
    assert_eq!(other.begin(key(), [1; 32], 2, Time(6)).await, Ok(Begun::InProgress));
    // Nothing is heard of it from now on, and the time passes at once.
    drop(dead);
    let begun = async {
        loop {
            books.sql("UPDATE nodes SET alive_until = clock_timestamp() WHERE owner = 1");
            match other.begin(key(), [1; 32], 2, Time(7)).await.expect("an answer") {
                Begun::InProgress => tokio::task::yield_now().await,
                begun => return begun,
            }
        }
    };
    assert_eq!(timeout(Duration::from_secs(20), begun).await, Ok(Begun::Unfinished));
}

#[tokio::test]
async fn what_is_waiting_when_the_ledger_closes_is_done_and_answered() {
    let Some(books) = Books::new().await else { return };
    let ledger = open(&books.url).await;
    let pending: Vec<_> =
        (0..500).map(|n| ledger.advance(to(saga(&format!("gala.{n}"), 5)))).collect();
    ledger.close().await;
    for written in pending {
        written.await.expect("written");
    }
    assert_eq!(books.totals().await.expect("read").open_sagas, 500);
}

#[tokio::test]
async fn too_much_at_once_is_refused_but_never_what_money_came_to() {
    let Some(books) = Books::new().await else { return };
    let patient = PgOptions { patience_ms: 60_000, ..PgOptions::default() };
    let ledger = open_with(&books.url, patient).await;
    let key =
        |n: usize| RequestKey { scope: "s".into(), key: n.to_string(), asker: Some("ann".into()) };
    // Nothing is taken up before this task waits for the first time.
    let pending: Vec<_> = (0..20_000).map(|n| ledger.begin(key(n), [1; 32], 1, Time(5))).collect();
    let paid: Vec<_> =
        (0..100).map(|n| ledger.advance(to(saga(&format!("gala.{n}"), 5)))).collect();
    let mut refused = 0;
    for begun in pending {
        match begun.await {
            Ok(begun) => assert_eq!(begun, Begun::Fresh),
            Err(LedgerError::Unavailable(why)) => {
                assert!(why.contains("too much at once"), "{why}");
                refused += 1;
            }
            Err(LedgerError::Conflict) => panic!("a request conflicts with nobody"),
        }
    }
    assert_eq!(refused, 20_000 - 16_384);
    for outcome in paid {
        outcome.await.expect("written");
    }
}

#[tokio::test]
async fn text_with_a_character_that_postgresql_has_not_is_kept_without_it() {
    let Some(books) = Books::new().await else { return };
    let options = PgOptions { pool_size: 2, ..PgOptions::default() };
    let ledger = open_with(&books.url, options).await;
    let stuck = Transition { note: "a\0b".into(), ..to(saga("gala.1", 5)) };
    ledger.advance(stuck).await.expect("written");
    let history = ledger.history(&booking_id("gala.1")).await.expect("read");
    assert_eq!(history[0].note, "a\u{fffd}b");
    let mut told = message("m", 5, &["mail"]);
    told.body = r#"{"why":"\u0000 and \\u0000"}"#.into();
    let page = Projection { messages: vec![told.clone()], ..page(1, vec![]) };
    ledger.project(page).await.expect("written");
    let due = ledger.deliveries("mail", Time(9), 9).await.expect("read");
    assert_eq!(due[0].message.body, told.body);
    let odd = RequestKey { scope: "s\0".into(), key: "k\0".into(), asker: Some("ann".into()) };
    assert_eq!(ledger.begin(odd.clone(), [1; 32], 1, Time(5)).await, Ok(Begun::Fresh));
    assert_eq!(ledger.begin(odd, [1; 32], 1, Time(5)).await, Ok(Begun::InProgress));
}

#[tokio::test]
async fn refunds_of_before_causes_were_kept_are_understood() {
    let Some(mut books) = Books::new().await else { return };
    let before = refunds_of_before();
    books.advance(before.stored).await.expect("written");
    books.sql(
        "ALTER TABLE refunds DROP COLUMN cause, DROP COLUMN decided_by; \
         ALTER TABLE bookings DROP COLUMN prices_minor; \
         ALTER TABLE bookings DROP COLUMN types; \
         DROP TABLE receipts; DROP TABLE receipt_series; \
         ALTER TABLE payments DROP COLUMN capture; DROP TABLE actions; DROP TABLE browser_sessions; \
         DROP TABLE events_over; ALTER TABLE feed DROP COLUMN mark; \
         DROP TABLE feed_files; ALTER TABLE feed_head DROP COLUMN identity; \
         DROP INDEX messages_by_booking; DROP INDEX sagas_by_event; \
         DELETE FROM onrush_migrations WHERE version >= 8",
    );
    books.reopen().await;
    let record = books.saga_record(&booking_id("gala.1")).await.expect("read").expect("there");
    assert_eq!(record.refunds, before.understood);
}

#[tokio::test]
async fn answers_of_before_in_which_an_address_stands_are_not_kept() {
    let Some(mut books) = Books::new().await else { return };
    answered_by_mail_servers(&*books).await;
    books.sql(
        "DROP INDEX messages_by_booking; DROP INDEX sagas_by_event; DROP INDEX receipts_named; \
         DELETE FROM onrush_migrations WHERE version >= 18",
    );
    books.reopen().await;
    answers_are_kept_without_addresses(&*books).await;
}

#[tokio::test]
async fn bookings_of_before_say_when_they_were_confirmed_if_one_process_sold_them() {
    const WITHOUT: &str = "ALTER TABLE bookings DROP COLUMN confirmed_at; \
                           DELETE FROM onrush_migrations WHERE version >= 26";
    let Some(mut books) = Books::new().await else { return };
    sold_before(&*books).await;
    books.sql(WITHOUT);
    books.reopen().await;
    assert_eq!(known_confirmations(&*books).await, confirmations_that_are_told());
    // Of a cluster, whose decisions are archived here, the rows had the time of some node.
    books.sql(WITHOUT);
    books.sql(
        "INSERT INTO feed (number, event, seq, epoch, at, changes) VALUES (1, 'gala', 1, 0, 6, '[]')",
    );
    books.reopen().await;
    let known = known_confirmations(&*books).await;
    assert!(known.len() == 7 && known.iter().all(|(_, at)| at.is_none()), "{known:?}");
}
