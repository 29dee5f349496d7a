//! Nodes share what is due without one that leads.

use super::books::{Books, open, open_with};
use crate::rows::{booking_id, fact, message, moved, next, page, saga, to};
use onrush_core::Time;
use onrush_core::hold::HoldStatus;
use onrush_core::ids::BookingId;
use onrush_ledger::Ledger;
use onrush_ledger::delivery::Delivered;
use onrush_ledger::postgres::{PgLedger, PgOptions};
use onrush_ledger::projection::{Moved, Projection};
use onrush_ledger::saga::Saga;
use std::collections::HashSet;
use std::time::Duration;
use tokio::time::timeout;

async fn due(ledger: &dyn Ledger, at: i64, limit: usize) -> Vec<BookingId> {
    ledger.due(Time(at), limit).await.expect("read")
}

async fn due_deliveries(ledger: &dyn Ledger, at: i64, limit: usize) -> Vec<String> {
    let due = ledger.deliveries("mail", Time(at), limit).await.expect("read");
    due.into_iter().map(|delivery| delivery.message.id).collect()
}

fn claims_of(claim_ms: u32) -> PgOptions {
    PgOptions { pool_size: 2, claim_ms, ..PgOptions::default() }
}

/// Two more nodes on the same database, whose claims last for `claim_ms`.
async fn two(books: &Books, claim_ms: u32) -> (PgLedger, PgLedger) {
    let options = claims_of(claim_ms);
    (open_with(&books.url, options.clone()).await, open_with(&books.url, options).await)
}

async fn begin(ledger: &dyn Ledger, ids: &[&str]) {
    for (next_at, id) in (10..).zip(ids) {
        let row = Saga { next_at: Some(Time(next_at)), ..saga(id, 5) };
        ledger.advance(to(row)).await.expect("written");
    }
}

/// Asks until something is due.
async fn until_due(ledger: &dyn Ledger, at: i64) -> Vec<BookingId> {
    let comes = async {
        loop {
            let due = due(ledger, at, 9).await;
            if !due.is_empty() {
                return due;
            }
            tokio::task::yield_now().await;
        }
    };
    timeout(Duration::from_secs(20), comes).await.expect("it comes free")
}

#[tokio::test]
async fn saga_is_given_to_one_node_which_is_given_it_again() {
    let Some(books) = Books::new().await else { return };
    let (one, other) = two(&books, 60_000).await;
    begin(&*books, &["gala.1", "gala.2", "gala.3"]).await;
    assert_eq!(due(&one, 99, 2).await, ["gala.1", "gala.2"].map(booking_id));
    assert_eq!(due(&other, 99, 9).await, [booking_id("gala.3")]);
    assert_eq!(due(&one, 99, 9).await, ["gala.1", "gala.2"].map(booking_id));
    assert_eq!(due(&other, 99, 9).await, [booking_id("gala.3")]);
}

#[tokio::test]
async fn clock_of_a_node_that_is_wrong_takes_nothing_from_another() {
    let Some(books) = Books::new().await else { return };
    let (one, ahead) = two(&books, 60_000).await;
    begin(&*books, &["gala.1"]).await;
    assert_eq!(due(&one, 99, 9).await, [booking_id("gala.1")]);
    // Its clock is an hour fast: claims are not measured by it.
    assert_eq!(due(&ahead, 99 + 3_600_000, 9).await, []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn saga_is_never_with_two_nodes_at_once() {
    let Some(books) = Books::new().await else { return };
    let (one, other) = two(&books, 60_000).await;
    let ids: Vec<String> = (0..300).map(|n| format!("gala.{n:03}")).collect();
    begin(&*books, &ids.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let take = async |ledger: &PgLedger| {
        let mut taken = Vec::new();
        loop {
            let known: HashSet<_> = taken.iter().cloned().collect();
            // Its own are given again, so it asks for more than it has.
            let due = due(ledger, 10_000, taken.len() + 7).await;
            let new: Vec<_> = due.into_iter().filter(|id| !known.contains(id)).collect();
            taken.extend(new.iter().cloned());
            // Half is enough, so that a slow one finds something too.
            if new.is_empty() || taken.len() >= 150 {
                return taken;
            }
        }
    };
    let (first, second) = tokio::join!(take(&one), take(&other));
    assert_eq!(first.len() + second.len(), 300);
    let all: HashSet<_> = first.iter().chain(&second).collect();
    assert_eq!(all.len(), 300);
}

#[tokio::test]
async fn what_a_dead_node_took_up_comes_free() {
    let Some(books) = Books::new().await else { return };
    let (dead, other) = two(&books, 300).await;
    begin(&*books, &["gala.1"]).await;
    assert_eq!(due(&dead, 99, 9).await, [booking_id("gala.1")]);
    // It never says anything again.
    std::mem::forget(dead);
    assert_eq!(until_due(&other, 99).await, [booking_id("gala.1")]);
}

#[tokio::test]
async fn node_that_leaves_in_order_gives_back_what_it_took_up() {
    let Some(books) = Books::new().await else { return };
    let (one, other) = two(&books, 600_000).await;
    begin(&*books, &["gala.1"]).await;
    books
        .project(Projection { messages: vec![message("m", 7, &["mail"])], ..page(1, vec![]) })
        .await
        .expect("written");
    assert_eq!(due(&one, 99, 9).await, [booking_id("gala.1")]);
    assert_eq!(due_deliveries(&one, 99, 9).await, ["m"]);
    one.close().await;
    assert_eq!(due(&other, 99, 9).await, [booking_id("gala.1")]);
    assert_eq!(due_deliveries(&other, 99, 9).await, ["m"]);
}

#[tokio::test]
async fn deliveries_stay_with_the_node_that_keeps_them() {
    let Some(books) = Books::new().await else { return };
    let one = open_with(&books.url, claims_of(300_000)).await;
    let other = open_with(&books.url, claims_of(600_000)).await;
    let messages = ["m1", "m2", "m3"].map(|id| message(id, 7, &["mail"]));
    let told = Projection { messages: messages.into(), ..page(1, vec![]) };
    books.project(told).await.expect("written");
    assert_eq!(due_deliveries(&one, 99, 2).await, ["m1", "m2"]);
    assert_eq!(due_deliveries(&other, 99, 9).await, ["m3"]);
    let keep = async |ledger: &PgLedger, ids: &[&str]| {
        let ids = ids.iter().map(|id| (*id).to_owned()).collect();
        ledger.keep_deliveries("mail", ids).await.expect("written")
    };
    // Nobody keeps what another node has.
    assert_eq!(keep(&other, &["m1", "m3"]).await, ["m3"]);
    let claimed = "SELECT claimed_until - clock_timestamp() BETWEEN '4 min' AND '5 min' \
                   FROM deliveries WHERE message_id IN ('m1', 'm2')";
    assert_eq!(books.sql(claimed), "t\nt", "as long as the node was told");
    // Not kept in time they come free, and the first node is told. The time passes at once.
    books.sql(
        "UPDATE deliveries SET claimed_until = clock_timestamp() WHERE message_id IN ('m1', 'm2')",
    );
    assert_eq!(due_deliveries(&other, 99, 9).await.len(), 3);
    assert_eq!(keep(&one, &["m1", "m2"]).await, [""; 0]);
    assert_eq!(
        (one.keeps_for(), books.keeps_for().is_some()),
        (Some(Duration::from_secs(300)), true)
    );
}

#[tokio::test]
async fn transition_ends_the_claim_and_a_call_by_the_feed_does_not() {
    let Some(books) = Books::new().await else { return };
    let (one, other) = two(&books, 600_000).await;
    begin(&*books, &["gala.1"]).await;
    assert_eq!(due(&one, 99, 9).await, [booking_id("gala.1")]);
    // Whoever works on it notices by the version.
    let wake = Moved { wake: true, ..moved("gala.1", HoldStatus::Cancelled, 20) };
    books.project(page(1, vec![fact(wake)])).await.expect("written");
    assert_eq!(due(&other, 99, 9).await, []);
    let stored = books.saga_record(&booking_id("gala.1")).await.expect("read").expect("there").saga;
    let again = Saga { next_at: Some(Time(30)), ..next(&stored) };
    one.advance(to(again)).await.expect("written");
    assert_eq!(due(&other, 99, 9).await, [booking_id("gala.1")]);
    assert_eq!(due(&one, 99, 9).await, []);
}

#[tokio::test]
async fn what_another_node_has_is_looked_for_when_it_comes_free() {
    let Some(books) = Books::new().await else { return };
    let (one, other) = two(&books, 60_000).await;
    begin(&*books, &["gala.1", "gala.2"]).await;
    assert_eq!(due(&one, 10, 9).await, [booking_id("gala.1")]);
    // As long as nobody said what time it is, a saga is due when its row says so.
    assert_eq!(one.next_due().await, Ok(Some(Time(10))));
    assert_eq!(other.next_due().await, Ok(Some(Time(11))));
    assert_eq!(due(&one, 11, 9).await.len(), 2);
    assert_eq!(due(&other, 1_000, 9).await, []);
    let next = other.next_due().await.expect("read").expect("there is one").0;
    assert!((1_000..=71_000).contains(&next), "{next}");
    assert!(next > 31_000, "{next}");
    assert_eq!(one.next_due().await, Ok(Some(Time(10))));
}

#[tokio::test]
async fn delivery_is_given_to_one_node_until_it_is_told_what_became_of_it() {
    let Some(books) = Books::new().await else { return };
    let (one, other) = two(&books, 60_000).await;
    let messages = ["a", "b", "c"].map(|id| message(id, 7, &["mail"])).into();
    books.project(Projection { messages, ..page(1, vec![]) }).await.expect("written");
    let first = due_deliveries(&one, 99, 2).await;
    assert_eq!(first.len(), 2);
    let second = due_deliveries(&other, 99, 9).await;
    assert_eq!(second.len(), 1);
    assert!(!first.contains(&second[0]));
    assert_eq!(due_deliveries(&one, 99, 9).await.len(), 2);
    // None is free: the next look is when the other's claim runs out.
    let third = open(&books.url).await;
    assert_eq!(due_deliveries(&third, 99, 9).await, [""; 0]);
    assert!(third.next_delivery("mail").await.expect("read").expect("one") > Time(30_000));
    let again = Delivered::Again { at: Time(50), error: "timed out".into() };
    one.delivered("mail", vec![(first[0].clone(), again)]).await.expect("written");
    assert_eq!(third.next_delivery("mail").await, Ok(Some(Time(50))));
    assert_eq!(due_deliveries(&third, 99, 9).await, [first[0].clone()]);
}
