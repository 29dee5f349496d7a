use super::books::Books;
use crate::rows::{booking, booking_id, page, saga, to, user};
use onrush_core::ids::BookingId;
use onrush_ledger::LedgerError;
use onrush_ledger::booking::{Booking, Buyer, BuyerOf, Correction};
use onrush_ledger::projection::Fact;
use onrush_ledger::saga::{Saga, Transition};
use tokio::task::JoinSet;

fn buyer(name: &str, email: &str) -> Buyer {
    Buyer { name: name.into(), email: email.into(), language: "th".into() }
}

/// A correction of the booking `gala.1`, which had this address when it was read.
fn correction(was: Option<&str>, buyer: &Buyer) -> Correction {
    let (was, buyer) = (was.map(str::to_owned), buyer.clone());
    Correction { booking: booking_id("gala.1"), user: user("ann"), was, buyer }
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
    // Whoever was named since stays.
    assert_eq!(books.unset_buyer(&booking_id("gala.1"), "bo@example.org").await, Ok(false));
    assert_eq!(known(&books, &["gala.1", "gala.2"]).await, [true, true]);
    for was_known in [true, false] {
        let unset = books.unset_buyer(&booking_id("gala.1"), "ann@example.org");
        assert_eq!(unset.await, Ok(was_known));
    }
    books.reopen().await;
    assert_eq!(known(&books, &["gala.1", "gala.2"]).await, [false, true]);
    assert_eq!(books.link_generation(&booking_id("gala.1")).await, Ok(0));
}

#[tokio::test]
async fn buyer_who_is_put_in_the_place_of_another_ends_the_links_that_went_there() {
    let Some(mut books) = Books::new().await else { return };
    let (id, other) = (booking_id("gala.1"), booking_id("gala.2"));
    let mut was = None;
    // Whose address, whether that is news, and which generation of links counts then.
    for (name, email, is_news, generation) in [
        // Nobody had a link.
        ("Ann", "ann@exmaple.org", true, 0),
        ("Ann Lee", "ann@exmaple.org", true, 0),
        ("Ann Lee", "ann@example.org", true, 1),
        ("Ann Lee", "ann@example.org", false, 1),
        ("Ann Lee", "lee@example.org", true, 2),
    ] {
        let named = buyer(name, email);
        let corrected = books.correct_buyer(correction(was, &named)).await;
        assert_eq!(corrected, Ok(is_news), "{name} {email}");
        was = Some(email);
        assert_eq!(books.buyer(&id).await, Ok(Some(named.clone())));
        assert_eq!(books.link_generation(&id).await, Ok(generation), "{name} {email}");
        // So it is where whoever bought says so, whoever was known.
        books.set_buyer(&other, &user("bo"), named).await.expect("kept");
        assert_eq!(books.link_generation(&other).await, Ok(generation), "{name} {email}");
    }
    books.reopen().await;
    assert_eq!(books.link_generation(&id).await, Ok(2));
    assert_eq!(books.bookings_of(BuyerOf::User(user("ann")), None, 9).await, Ok(vec![id]));
    // Nothing is left of the one before.
    let of = |email: &str| books.erase_buyer(BuyerOf::Email(email.into()));
    assert_eq!(of("ann@exmaple.org").await, Ok(0));
    assert_eq!(of("lee@example.org").await, Ok(2));
}

/// Mail may have gone to whom an earlier payment named: its money was given back.
#[tokio::test]
async fn buyer_whom_another_payment_names_ends_the_links_that_went_to_the_one_before() {
    let Some(mut books) = Books::new().await else { return };
    let id = booking_id("gala.1");
    for (version, name, email, generation) in [
        // Nobody had a link.
        (1, "Ann", "ann@exmaple.org", 0),
        (2, "Ann Lee", "ann@exmaple.org", 0),
        (3, "Ann Lee", "ann@example.org", 1),
        (4, "Ann Lee", "ann@example.org", 1),
    ] {
        let named = buyer(name, email);
        let next = Saga { version, ..saga("gala.1", 5) };
        let paying = Transition { buyer: Some(named.clone()), ..to(next) };
        books.advance(paying).await.expect("written");
        assert_eq!(books.buyer(&id).await, Ok(Some(named)));
        assert_eq!(books.link_generation(&id).await, Ok(generation), "{name} {email}");
    }
    books.reopen().await;
    assert_eq!(books.link_generation(&id).await, Ok(1));
}

#[tokio::test]
async fn of_two_who_correct_the_same_buyer_the_later_one_changes_nothing() {
    let Some(books) = Books::new().await else { return };
    let id = booking_id("gala.1");
    let conflict = Err(LedgerError::Conflict);
    let [wrong, right] = ["ann@exmaple.org", "ann@example.org"].map(|email| buyer("Ann", email));
    let renamed = Buyer { name: "Ann Lee".into(), ..wrong.clone() };
    for (generation, was, first, late) in
        [(0, None, &wrong, &right), (1, Some("ann@exmaple.org"), &right, &renamed)]
    {
        // The same again is what somebody asks who did not hear the answer.
        for is_news in [true, false] {
            assert_eq!(books.correct_buyer(correction(was, first)).await, Ok(is_news));
            assert_eq!(books.correct_buyer(correction(was, late)).await, conflict);
            assert_eq!(books.buyer(&id).await, Ok(Some(first.clone())));
            assert_eq!(books.link_generation(&id).await, Ok(generation));
        }
    }
    // Who was erased is not known again by what was read before.
    assert_eq!(books.erase_buyer(BuyerOf::Booking(id.clone())).await, Ok(1));
    let late = correction(Some("ann@example.org"), &right);
    assert_eq!(books.correct_buyer(late).await, conflict);
    assert_eq!(books.buyer(&id).await, Ok(None));
}

#[tokio::test]
async fn of_many_who_correct_the_same_buyer_at_once_one_does() {
    let Some(books) = Books::new().await else { return };
    let id = booking_id("gala.1");
    let mut was: Option<String> = None;
    for round in 0..2 {
        let named = |n: usize| buyer("Ann", &format!("ann{round}{n}@example.org"));
        let mut asked = JoinSet::new();
        for n in 0..9 {
            asked.spawn(books.correct_buyer(correction(was.as_deref(), &named(n))));
        }
        let outcomes = asked.join_all().await;
        let done = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
        let refused = outcomes.iter().filter(|&outcome| *outcome == Err(LedgerError::Conflict));
        assert_eq!((done, refused.count()), (1, 8), "{outcomes:?}");
        was = books.buyer(&id).await.expect("read").map(|buyer| buyer.email);
        assert_eq!(books.link_generation(&id).await, Ok(round));
    }
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
