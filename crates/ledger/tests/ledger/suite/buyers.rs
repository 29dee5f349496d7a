use super::books::Books;
use crate::rows::{booking, booking_id, page, saga, to, user};
use onrush_core::ids::BookingId;
use onrush_ledger::booking::{Booking, Buyer, BuyerOf};
use onrush_ledger::projection::Fact;
use onrush_ledger::saga::{Saga, Transition};

fn buyer(name: &str, email: &str) -> Buyer {
    Buyer { name: name.into(), email: email.into(), language: "th".into() }
}

async fn known(books: &Books, ids: &[&str]) -> Vec<bool> {
    let mut known = Vec::new();
    for id in ids {
        known.push(books.buyer(&booking_id(id)).await.expect("read").is_some());
    }
    known
}

#[tokio::test]
async fn buyer_is_kept_as_told_last() {
    let Some(mut books) = Books::new().await else { return };
    let id: BookingId = booking_id("gala.1");
    assert_eq!(books.buyer(&id).await, Ok(None));
    books.set_buyer(&id, &user("ann"), buyer("An", "a@example.org")).await.expect("kept");
    let last = buyer("สมหญิง ใจดี", "Ann@Example.org");
    books.set_buyer(&id, &user("ann"), last.clone()).await.expect("kept");
    books.reopen().await;
    assert_eq!(books.buyer(&id).await, Ok(Some(last)));
}

#[tokio::test]
async fn buyer_that_is_taken_back_leaves_the_bookings_link_and_all_other_buyers() {
    let Some(mut books) = Books::new().await else { return };
    for id in ["gala.1", "gala.2"] {
        let buyer = buyer("Ann", "ann@example.org");
        books.set_buyer(&booking_id(id), &user("ann"), buyer).await.expect("kept");
    }
    for _ in 0..2 {
        assert_eq!(books.unset_buyer(&booking_id("gala.1")).await, Ok(()));
    }
    books.reopen().await;
    assert_eq!(known(&books, &["gala.1", "gala.2"]).await, [false, true]);
    assert_eq!(books.link_generation(&booking_id("gala.1")).await, Ok(0));
}

#[tokio::test]
async fn buyer_of_one_booking_is_erased() {
    let Some(books) = Books::new().await else { return };
    for id in ["gala.1", "gala.2"] {
        books
            .set_buyer(&booking_id(id), &user("ann"), buyer("Ann", "ann@example.org"))
            .await
            .expect("kept");
    }
    let whose = BuyerOf::Booking(booking_id("gala.1"));
    assert_eq!(books.erase_buyer(whose.clone()).await, Ok(1));
    assert_eq!(books.erase_buyer(whose).await, Ok(0));
    assert_eq!(known(&books, &["gala.1", "gala.2"]).await, [false, true]);
}

#[tokio::test]
async fn address_is_erased_everywhere_in_whatever_capitals() {
    let Some(books) = Books::new().await else { return };
    let rows = [
        ("gala.1", "Ann@Example.ORG"),
        ("gala.2", "ann@example.org"),
        ("gala.3", "joann@example.org"),
        ("gala.4", "ÄNN@example.org"),
    ];
    for (id, email) in rows {
        books.set_buyer(&booking_id(id), &user("ann"), buyer("Ann", email)).await.expect("kept");
    }
    let whose = |email: &str| BuyerOf::Email(email.into());
    assert_eq!(books.erase_buyer(whose("ANN@example.org")).await, Ok(2));
    assert_eq!(books.erase_buyer(whose("änn@example.org")).await, Ok(1));
    let ids = ["gala.1", "gala.2", "gala.3", "gala.4"];
    assert_eq!(known(&books, &ids).await, [false, false, true, false]);
}

#[tokio::test]
async fn visitor_is_erased_whether_the_feed_was_followed_so_far_or_not() {
    let Some(books) = Books::new().await else { return };
    // Free of charge, so without a saga.
    let free = Fact::Held(Box::new(booking("gala.free", 5)));
    let of_bo = Booking { user: user("bo"), ..booking("gala.bo", 5) };
    let of_bo = Fact::Held(Box::new(of_bo));
    books.project(page(1, vec![free, of_bo])).await.expect("written");
    for (id, of) in [("gala.free", "ann"), ("gala.bo", "bo")] {
        let buyer = buyer("X", "x@example.org");
        books.set_buyer(&booking_id(id), &user(of), buyer).await.expect("kept");
    }
    // Paid, and not in the bookings yet.
    let paid =
        Transition { buyer: Some(buyer("Ann", "ann@example.org")), ..to(saga("gala.paid", 5)) };
    books.advance(paid).await.expect("written");
    let other = Transition {
        buyer: Some(buyer("Cy", "cy@example.org")),
        ..to(Saga { user: user("cy"), ..saga("gala.cy", 5) })
    };
    books.advance(other).await.expect("written");

    assert_eq!(books.erase_buyer(BuyerOf::User(user("ann"))).await, Ok(2));
    let ids = ["gala.free", "gala.bo", "gala.paid", "gala.cy"];
    assert_eq!(known(&books, &ids).await, [false, true, false, true]);
}

/// What is free of charge comes to no other table before it is confirmed.
#[tokio::test]
async fn whoever_was_named_for_what_was_never_confirmed_is_found_and_erased() {
    let Some(mut books) = Books::new().await else { return };
    let name = async |books: &Books, id: &str, of: &str| {
        let named = buyer("Ann", "ann@example.org");
        books.set_buyer(&booking_id(id), &user(of), named).await.expect("kept");
    };
    for (id, of) in [("gala.1", "ann"), ("gala.2", "bo"), ("expo.1", "ann"), ("gala.x.1", "bo")] {
        name(&books, id, of).await;
    }
    books.reopen().await;
    assert_eq!(books.user_of(&booking_id("gala.1")).await, Ok(Some(user("ann"))));
    assert_eq!(books.user_of(&booking_id("gala.9")).await, Ok(None));
    let of_ann = || BuyerOf::User(user("ann"));
    let theirs = vec![booking_id("expo.1"), booking_id("gala.1")];
    assert_eq!(books.bookings_of(of_ann(), None, 9).await, Ok(theirs));
    assert_eq!(books.erase_buyer(of_ann()).await, Ok(2));
    assert_eq!(books.bookings_of(of_ann(), None, 9).await, Ok(vec![]));
    let ids = ["gala.1", "gala.2", "expo.1", "gala.x.1"];
    assert_eq!(known(&books, &ids).await, [false, true, false, true]);
    assert_eq!(books.link_generation(&booking_id("gala.1")).await, Ok(1), "its link is withdrawn");

    name(&books, "gala.1", "ann").await;
    let of_event = || BuyerOf::Event("gala".parse().expect("an id"));
    assert_eq!(books.erase_buyer(of_event()).await, Ok(2));
    assert_eq!(books.erase_buyer(of_event()).await, Ok(0));
    assert_eq!(known(&books, &ids).await, [false, false, false, true], "another event's stays");
}

#[tokio::test]
async fn whose_a_booking_is_its_saga_and_its_row_say_as_well() {
    let Some(books) = Books::new().await else { return };
    let free = Fact::Held(Box::new(booking("gala.free", 5)));
    books.project(page(1, vec![free])).await.expect("written");
    books.advance(to(Saga { user: user("bo"), ..saga("gala.paid", 5) })).await.expect("written");
    for (id, of) in [("gala.free", "ann"), ("gala.paid", "bo")] {
        assert_eq!(books.user_of(&booking_id(id)).await, Ok(Some(user(of))), "{id}");
    }
}

#[tokio::test]
async fn what_was_bought_is_known_after_its_buyer_was_erased() {
    let Some(books) = Books::new().await else { return };
    let paid = Transition { buyer: Some(buyer("Ann", "ann@x.org")), ..to(saga("gala.1", 5)) };
    books.advance(paid).await.expect("written");
    let whole = Fact::Held(Box::new(booking("gala.1", 5)));
    books.project(page(1, vec![whole])).await.expect("written");
    books.erase_buyer(BuyerOf::Email("ann@x.org".into())).await.expect("erased");
    assert!(books.saga_record(&booking_id("gala.1")).await.expect("read").is_some());
    assert!(books.booking(&booking_id("gala.1")).await.expect("read").is_some());
}

#[tokio::test]
async fn event_is_erased_for_everybody_who_bought_and_no_other_event() {
    let Some(books) = Books::new().await else { return };
    let other = Booking { event: "other".parse().expect("an id"), ..booking("other.1", 5) };
    let held = |booking| Fact::Held(Box::new(booking));
    books.project(page(1, vec![held(booking("gala.1", 5)), held(other)])).await.expect("written");
    for id in ["gala.1", "other.1"] {
        books
            .set_buyer(&booking_id(id), &user("ann"), buyer("X", "x@example.org"))
            .await
            .expect("kept");
    }
    let paid = Transition { buyer: Some(buyer("Ann", "ann@x.org")), ..to(saga("gala.2", 5)) };
    books.advance(paid).await.expect("written");
    let whose = BuyerOf::Event("gala".parse().expect("an id"));
    assert_eq!(books.erase_buyer(whose.clone()).await, Ok(2));
    assert_eq!(books.erase_buyer(whose).await, Ok(0));
    assert_eq!(known(&books, &["gala.1", "gala.2", "other.1"]).await, [false, false, true]);
    assert_eq!(books.link_generation(&booking_id("gala.1")).await, Ok(1), "its link is withdrawn");
}
