//! Leases, cursors and flags.

use super::books::{Books, open};
use onrush_ledger::LedgerError;
use onrush_ledger::postgres::PgLedger;
use std::time::Duration;
use tokio::time::{Instant, timeout};

async fn lease(ledger: &PgLedger, owner: &str, ttl_ms: u32) -> Option<u64> {
    ledger.lease("publisher", owner, ttl_ms).await.expect("an answer")
}

#[tokio::test]
async fn lease_has_one_owner_and_a_fence_that_rises_with_each_change_of_hands() {
    let Some(books) = Books::new().await else { return };
    let pg = books.pg();
    assert_eq!(lease(pg, "a", 60_000).await, Some(1));
    assert_eq!(lease(pg, "b", 60_000).await, None);
    assert_eq!(lease(pg, "a", 60_000).await, Some(1));
    assert_eq!(pg.lease("other", "b", 60_000).await, Ok(Some(1)));
    // Only its owner can give it back.
    pg.release("publisher", "b").await.expect("an answer");
    assert_eq!(lease(pg, "b", 60_000).await, None);
    pg.release("publisher", "a").await.expect("an answer");
    assert_eq!(lease(pg, "b", 60_000).await, Some(2));
    pg.release("publisher", "b").await.expect("an answer");
    assert_eq!(lease(pg, "b", 60_000).await, Some(3));
}

#[tokio::test]
async fn lease_that_ran_out_is_taken_by_another() {
    let Some(books) = Books::new().await else { return };
    let (pg, other) = (books.pg(), open(&books.url).await);
    assert_eq!(lease(pg, "a", 100).await, Some(1));
    let taken = async {
        loop {
            if let Some(fence) = lease(&other, "b", 60_000).await {
                return fence;
            }
        }
    };
    assert_eq!(timeout(Duration::from_secs(20), taken).await, Ok(2));
    assert_eq!(lease(pg, "a", 60_000).await, None);
    // Who let it run out has another one, also if nobody else had it meanwhile.
    assert_eq!(pg.lease("short", "a", 0).await, Ok(Some(1)));
    assert_eq!(pg.lease("short", "a", 60_000).await, Ok(Some(2)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_of_many_who_want_a_lease_has_it() {
    let Some(books) = Books::new().await else { return };
    let pending: Vec<_> = (0..20)
        .map(|n| tokio::spawn(books.pg().lease("publisher", &format!("owner-{n}"), 60_000)))
        .collect();
    let mut fences = Vec::new();
    for lease in pending {
        fences.extend(lease.await.expect("no panic").expect("an answer"));
    }
    assert_eq!(fences, [1]);
}

#[tokio::test]
async fn cursor_is_kept_and_not_written_under_an_older_fence() {
    let Some(mut books) = Books::new().await else { return };
    let pg = books.pg();
    assert_eq!(pg.cursor_of("kafka").await, Ok(0));
    pg.set_cursor("kafka", 3, 10).await.expect("written");
    pg.set_cursor("kafka", 3, 11).await.expect("written");
    assert_eq!(pg.set_cursor("kafka", 2, 99).await, Err(LedgerError::Conflict));
    books.reopen().await;
    let pg = books.pg();
    assert_eq!(pg.cursor_of("kafka").await, Ok(11));
    assert_eq!(pg.cursor_of("rabbit").await, Ok(0));
    pg.set_cursor("kafka", 4, 11).await.expect("written");
    assert_eq!(pg.set_cursor("kafka", 3, 12).await, Err(LedgerError::Conflict));
    assert_eq!(pg.cursor_of("kafka").await, Ok(11));
}

#[tokio::test]
async fn cursors_above_the_end_are_lowered_to_it_and_keep_their_fences() {
    let Some(books) = Books::new().await else { return };
    let pg = books.pg();
    for (name, value) in [("rabbit", 41), ("kafka", 50), ("at-its-end", 40), ("behind", 7)] {
        pg.set_cursor(name, 3, value).await.expect("written");
    }
    let lowered = vec![("kafka".to_owned(), 50), ("rabbit".to_owned(), 41)];
    assert_eq!(pg.lower_cursors(40).await, Ok(lowered));
    for (name, value) in [("rabbit", 40), ("kafka", 40), ("at-its-end", 40), ("behind", 7)] {
        assert_eq!(pg.cursor_of(name).await, Ok(value), "{name}");
    }
    assert_eq!(pg.lower_cursors(40).await, Ok(vec![]));
    // Whoever was overtaken before cannot write now either.
    assert_eq!(pg.set_cursor("kafka", 2, 99).await, Err(LedgerError::Conflict));
    pg.set_cursor("kafka", 3, 41).await.expect("written");
}

#[tokio::test]
async fn flag_is_heard_of_by_all_nodes_within_a_second() {
    let Some(books) = Books::new().await else { return };
    let other = open(&books.url).await;
    let mut watched = other.watch_flags();
    assert!(watched.borrow_and_update().is_empty());
    let mut took = Vec::new();
    for percent in [50, 100, 25, 75, 0] {
        books.pg().set_flag("streams_queue", percent).await.expect("set");
        let begun = Instant::now();
        let heard = watched.wait_for(|flags| flags.get("streams_queue") == Some(&percent));
        timeout(Duration::from_secs(20), heard).await.expect("in time").expect("it is open");
        took.push(begun.elapsed());
    }
    // The machine may be busy with something else once; looking every 2 s would not do.
    took.sort_unstable();
    assert!(took[2] < Duration::from_secs(1), "{took:?}");
    books.pg().set_flag("lua_atomic", 7).await.expect("set");
    let expected = [("lua_atomic".to_owned(), 7), ("streams_queue".to_owned(), 0)].into();
    assert_eq!(other.flags().await, Ok(expected));
    let late = open(&books.url).await;
    assert_eq!(late.watch_flags().borrow().get("lua_atomic"), Some(&7));
    let odd = books.pg().set_flag("lua_atomic", 101).await;
    assert!(matches!(odd, Err(LedgerError::Unavailable(_))), "{odd:?}");
}
