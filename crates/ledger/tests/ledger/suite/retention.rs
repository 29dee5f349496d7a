use super::books::Books;
use crate::rows::{booking, booking_id, event, message, page, payment, refund, saga, to, user};
use onrush_core::Time;
use onrush_core::ids::{BookingId, EventId};
use onrush_core::saga::{Stage, Step};
use onrush_ledger::booking::{Booking, Buyer, BuyerOf};
use onrush_ledger::delivery::{Delivered, Message};
use onrush_ledger::desk::{DeskEntry, DeskKind, DeskStatus, Settled};
use onrush_ledger::money::RefundStatus;
use onrush_ledger::projection::{Fact, Projection};
use onrush_ledger::retention::ERASED_AT_ONCE;
use onrush_ledger::saga::{Saga, Transition};

fn buyer(email: &str) -> Buyer {
    Buyer { name: "Ann".into(), email: email.into(), language: "en".into() }
}

fn created(id: &str) -> Fact {
    let (title, currency, settings) = ("T".into(), "EUR".into(), "{}".into());
    Fact::Event { event: event(id), title, currency, settings, at: Time(1) }
}

fn ids(ids: &[&str]) -> Vec<BookingId> {
    ids.iter().map(|id| booking_id(id)).collect()
}

fn events(ids: &[&str]) -> Vec<EventId> {
    ids.iter().map(|id| event(id)).collect()
}

#[tokio::test]
async fn bookings_of_a_person_are_found_by_booking_visitor_and_address_page_by_page() {
    let Some(books) = Books::new().await else { return };
    let of_bo = Booking { user: user("bo"), ..booking("gala.3", 5) };
    let facts = [booking("gala.1", 5), booking("gala.2", 5), of_bo];
    let facts = facts.map(|booking| Fact::Held(Box::new(booking)));
    books.project(page(1, facts.into())).await.expect("written");
    // Paid, and not in the bookings yet.
    let paid = Transition { buyer: Some(buyer("Ann@x.org")), ..to(saga("gala.4", 5)) };
    books.advance(paid).await.expect("written");
    books.set_buyer(&booking_id("gala.3"), &user("bo"), buyer("ann@X.org")).await.expect("kept");
    let of = async |whose: BuyerOf, after: Option<&str>, limit| {
        books.bookings_of(whose, after.map(booking_id), limit).await.expect("read")
    };
    let ann = || BuyerOf::User(user("ann"));
    assert_eq!(of(ann(), None, 9).await, ids(&["gala.1", "gala.2", "gala.4"]));
    assert_eq!(of(ann(), None, 2).await, ids(&["gala.1", "gala.2"]));
    assert_eq!(of(ann(), Some("gala.2"), 9).await, ids(&["gala.4"]));
    let email = |email: &str| BuyerOf::Email(email.into());
    assert_eq!(of(email("ANN@x.org"), None, 9).await, ids(&["gala.3", "gala.4"]));
    assert_eq!(of(email("ann"), None, 9).await, []);
    for id in ["gala.2", "gala.4"] {
        assert_eq!(of(BuyerOf::Booking(booking_id(id)), None, 9).await, ids(&[id]));
    }
    assert_eq!(of(BuyerOf::Booking(booking_id("gala.9")), None, 9).await, []);
}

#[tokio::test]
async fn messages_about_bookings_say_over_which_ways_they_have_not_arrived() {
    let Some(books) = Books::new().await else { return };
    let first = message("m-1", 5, &["mail", "webhook:crm"]);
    let second = Message { at: Time(4), ..message("m-2", 4, &["mail"]) };
    let other = Message { booking: Some(booking_id("gala.2")), ..message("m-3", 5, &["mail"]) };
    let none = Message { booking: None, ..message("m-4", 5, &["mail"]) };
    let messages = vec![first.clone(), second.clone(), other, none];
    let page = Projection { messages, ..page(1, vec![]) };
    books.project(page).await.expect("written");
    let done = vec![("m-1".to_owned(), Delivered::Done)];
    books.delivered("mail", done).await.expect("written");
    let told = books.messages_about(ids(&["gala.1", "gala.7"])).await.expect("read");
    let left = Message { channels: vec!["webhook:crm".into()], ..first };
    assert_eq!(told, [second, left]);
    assert_eq!(books.messages_about(vec![]).await, Ok(vec![]));
}

#[tokio::test]
async fn an_event_is_over_from_when_it_was_seen_first() {
    let Some(mut books) = Books::new().await else { return };
    let facts = ["a", "b", "c"].map(created);
    books.project(page(1, facts.into())).await.expect("written");
    assert_eq!(books.events_not_over(None, 2).await, Ok(events(&["a", "b"])));
    assert_eq!(books.events_not_over(Some(event("b")), 2).await, Ok(events(&["c"])));
    books.note_over(events(&["a", "b"]), Time(100)).await.expect("written");
    books.note_over(events(&["b"]), Time(200)).await.expect("written");
    books.reopen().await;
    assert_eq!(books.events_not_over(None, 9).await, Ok(events(&["c"])));
    assert_eq!(books.events_over(Time(99), None, 9).await, Ok(vec![]));
    assert_eq!(books.events_over(Time(100), None, 9).await, Ok(events(&["a", "b"])));
    assert_eq!(books.events_over(Time(100), Some(event("a")), 9).await, Ok(events(&["b"])));
}

#[tokio::test]
async fn who_bought_at_an_event_is_erased_some_at_a_time_and_nobody_elsewhere() {
    let Some(books) = Books::new().await else { return };
    let most = usize::try_from(ERASED_AT_ONCE).expect("a count");
    for n in 0..=most {
        books
            .set_buyer(&booking_id(&format!("gala.{n}")), &user("ann"), buyer("a@x.org"))
            .await
            .expect("kept");
    }
    // Ids that begin like the event's own.
    let others = ["gala.2026.1", "gala2.1", "gal.1"];
    for id in others {
        books.set_buyer(&booking_id(id), &user("ann"), buyer("a@x.org")).await.expect("kept");
    }
    let before = books.link_generation(&booking_id("gala.0")).await.expect("read");
    assert_eq!(books.erase_buyers_of(&event("gala")).await, Ok(ERASED_AT_ONCE));
    assert_eq!(books.erase_buyers_of(&event("gala")).await, Ok(1));
    assert_eq!(books.erase_buyers_of(&event("gala")).await, Ok(0));
    for id in others {
        assert!(books.buyer(&booking_id(id)).await.expect("read").is_some(), "{id}");
    }
    assert_eq!(books.link_generation(&booking_id("gala.0")).await, Ok(before + 1));
    assert_eq!(books.erase_buyers_of(&event("gala.2026")).await, Ok(1));
}

#[tokio::test]
async fn nobody_is_erased_while_money_or_an_operators_work_is_under_way() {
    let Some(books) = Books::new().await else { return };
    let advance = async |id: &str, saga: Saga, stage: Stage, refund_at: Option<RefundStatus>| {
        let transition = Transition {
            buyer: Some(buyer("a@x.org")),
            payments: vec![payment(id, 1, stage, 5)],
            refunds: refund_at.into_iter().map(|status| refund(id, 1, status, 6)).collect(),
            ..to(saga)
        };
        books.advance(transition).await.expect("written");
    };
    let rest = |id: &str| Saga { step: Step::Confirmed, next_at: None, ..saga(id, 5) };
    advance("gala.done", rest("gala.done"), Stage::Captured, None).await;
    advance("gala.back", rest("gala.back"), Stage::Refunded, Some(RefundStatus::Done)).await;
    advance("gala.due", saga("gala.due", 5), Stage::Void, None).await;
    let stuck = Saga { stuck: Some("why".into()), ..rest("gala.stuck") };
    advance("gala.stuck", stuck, Stage::Captured, None).await;
    advance("gala.open", rest("gala.open"), Stage::Open, None).await;
    advance("gala.sent", rest("gala.sent"), Stage::Captured, Some(RefundStatus::Sent)).await;
    advance("gala.desk", rest("gala.desk"), Stage::Captured, None).await;
    let entry = DeskEntry {
        entry: "stripe.dp_1".into(),
        kind: DeskKind::Dispute,
        status: DeskStatus::Open,
        gateway: "stripe".into(),
        reference: "dp_1".into(),
        payment: crate::rows::payment_id("gala.desk", 1),
        paid_as: Some("pi_1".into()),
        booking: booking_id("gala.desk"),
        event: event("gala"),
        amount_minor: 1_050,
        currency: "EUR".parse().expect("a currency"),
        why: "fraudulent".into(),
        created_at: Time(5),
        updated_at: Time(5),
        settled: None,
    };
    assert_eq!(books.note_desk(entry, None).await, Ok(true));
    assert_eq!(books.erase_buyers_of(&event("gala")).await, Ok(2));
    for id in ["gala.due", "gala.stuck", "gala.open", "gala.sent", "gala.desk"] {
        assert!(books.buyer(&booking_id(id)).await.expect("read").is_some(), "{id}");
    }
    let settled = Settled { at: Time(9), by: "bo".into(), why: "lost".into() };
    books.settle_desk("stripe.dp_1", None, settled).await.expect("written");
    assert_eq!(books.erase_buyers_of(&event("gala")).await, Ok(1));
}
