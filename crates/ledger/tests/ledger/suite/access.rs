use super::books::Books;
use crate::rows::{booking, booking_id, page, saga, to, user};
use onrush_core::Time;
use onrush_core::ids::UserId;
use onrush_ledger::access::CarryCode;
use onrush_ledger::booking::{Buyer, BuyerOf};
use onrush_ledger::projection::Fact;
use tokio::task::JoinSet;

fn buyer(email: &str) -> Buyer {
    Buyer { name: "Ann".into(), email: email.into(), language: "th".into() }
}

fn code(hash: u8, user: UserId, expires_at: i64) -> CarryCode {
    CarryCode { hash: [hash; 32], user, expires_at: Time(expires_at) }
}

async fn generations(books: &Books, ids: &[&str]) -> Vec<u32> {
    let mut generations = Vec::new();
    for id in ids {
        generations.push(books.link_generation(&booking_id(id)).await.expect("read"));
    }
    generations
}

#[tokio::test]
async fn withdrawing_a_link_is_of_one_booking_and_lasts() {
    let Some(mut books) = Books::new().await else { return };
    let id = booking_id("gala.1");
    assert_eq!(books.link_generation(&id).await, Ok(0));
    assert_eq!(books.withdraw_link(&id).await, Ok(1));
    assert_eq!(books.withdraw_link(&id).await, Ok(2));
    books.reopen().await;
    assert_eq!(generations(&books, &["gala.1", "gala.2"]).await, [2, 0]);
}

#[tokio::test]
async fn whoever_is_erased_has_no_link_any_more() {
    let Some(books) = Books::new().await else { return };
    let whole = |id: &str| Fact::Held(Box::new(booking(id, 5)));
    books.project(page(1, vec![whole("gala.1"), whole("gala.2")])).await.expect("written");
    // Not in the bookings yet.
    books.advance(to(saga("gala.3", 5))).await.expect("written");
    for id in ["gala.1", "gala.4"] {
        books
            .set_buyer(&booking_id(id), &user("ann"), buyer("Ann@example.org"))
            .await
            .expect("kept");
    }
    let ids = ["gala.1", "gala.2", "gala.3", "gala.4", "gala.5"];
    // Nobody is known to have bought it, and a link may have been given to whoever holds it.
    assert_eq!(books.erase_buyer(BuyerOf::Booking(booking_id("gala.2"))).await, Ok(0));
    assert_eq!(generations(&books, &ids).await, [0, 1, 0, 0, 0]);
    assert_eq!(books.erase_buyer(BuyerOf::Email("ANN@example.org".into())).await, Ok(2));
    assert_eq!(generations(&books, &ids).await, [1, 1, 0, 1, 0]);
    assert_eq!(books.erase_buyer(BuyerOf::User(user("ann"))).await, Ok(0));
    assert_eq!(generations(&books, &ids).await, [2, 2, 1, 1, 0]);
}

#[tokio::test]
async fn code_carries_its_visitor_once_and_only_in_time() {
    let Some(mut books) = Books::new().await else { return };
    books.keep_code(code(1, user("ann"), 100), Time(0)).await.expect("kept");
    books.keep_code(code(2, user("bo"), 100), Time(0)).await.expect("kept");
    assert_eq!(books.take_code([3; 32], Time(99)).await, Ok(None));
    assert_eq!(books.take_code([1; 32], Time(100)).await, Ok(None));
    books.reopen().await;
    assert_eq!(books.take_code([1; 32], Time(99)).await, Ok(Some(user("ann"))));
    assert_eq!(books.take_code([1; 32], Time(99)).await, Ok(None));
    assert_eq!(books.take_code([2; 32], Time(99)).await, Ok(Some(user("bo"))));
}

#[tokio::test]
async fn visitors_newest_code_is_their_only_one() {
    let Some(books) = Books::new().await else { return };
    books.keep_code(code(1, user("ann"), 100), Time(0)).await.expect("kept");
    books.keep_code(code(2, user("ann"), 150), Time(50)).await.expect("kept");
    assert_eq!(books.take_code([1; 32], Time(60)).await, Ok(None));
    assert_eq!(books.take_code([2; 32], Time(60)).await, Ok(Some(user("ann"))));
    // Others' codes go when they are over.
    books.keep_code(code(3, user("bo"), 200), Time(100)).await.expect("kept");
    books.keep_code(code(4, user("cy"), 300), Time(200)).await.expect("kept");
    assert_eq!(books.take_code([3; 32], Time(150)).await, Ok(None));
}

#[tokio::test]
async fn of_many_that_take_a_code_at_once_one_gets_it() {
    let Some(books) = Books::new().await else { return };
    books.keep_code(code(1, user("ann"), 100), Time(0)).await.expect("kept");
    let mut asked = JoinSet::new();
    for _ in 0..20 {
        asked.spawn(books.take_code([1; 32], Time(1)));
    }
    let taken = asked.join_all().await;
    assert_eq!(taken.iter().filter(|taken| **taken == Ok(Some(user("ann")))).count(), 1);
    assert_eq!(taken.iter().filter(|taken| **taken == Ok(None)).count(), 19);
}
