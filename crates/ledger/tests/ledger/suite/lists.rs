use super::books::Books;
use crate::rows::{booking, booking_id, event, page, payment, payment_id, refund, saga, to, user};
use onrush_core::Time;
use onrush_core::hold::HoldStatus;
use onrush_core::saga::{Stage, Step};
use onrush_ledger::booking::{Booking, BookingFilter, BookingText, Buyer};
use onrush_ledger::money::{Payment, PaymentFilter, Refund, RefundStatus, Totals};
use onrush_ledger::projection::Fact;
use onrush_ledger::saga::{Saga, SagaFilter, Transition};

async fn add(books: &Books, bookings: Vec<Booking>) {
    let facts = bookings.into_iter().map(|booking| Fact::Held(Box::new(booking))).collect();
    let cursor = books.cursor().await.expect("read");
    books.project(page(cursor + 1, facts)).await.expect("written");
}

fn of_anything(text: &str) -> BookingText {
    BookingText::OfAnything(text.into())
}

/// The ids of all bookings that fit, by pages of `limit`.
async fn ids(books: &Books, filter: BookingFilter, limit: usize) -> Vec<String> {
    let mut ids = Vec::new();
    let mut filter = filter;
    loop {
        let page = books.bookings(filter.clone(), limit).await.expect("read");
        assert!(page.rows.len() <= limit);
        ids.extend(page.rows.iter().map(|(booking, _)| booking.booking.to_string()));
        match page.next {
            Some(next) => {
                assert_eq!(page.rows.len(), limit);
                filter.after = Some(next);
            }
            None => return ids,
        }
    }
}

#[tokio::test]
async fn bookings_come_the_latest_first_whatever_the_page() {
    let Some(books) = Books::new().await else { return };
    let rows = [("gala.a", 5), ("gala.b", 7), ("gala.c", 7), ("gala.d", 7), ("gala.e", 6)];
    add(&books, rows.map(|(id, at)| booking(id, at)).into()).await;
    let expected = ["gala.d", "gala.c", "gala.b", "gala.e", "gala.a"];
    for limit in [1, 2, 3, 4, 5, 6, usize::MAX] {
        assert_eq!(ids(&books, BookingFilter::default(), limit).await, expected, "{limit}");
    }
    let none = books.bookings(BookingFilter::default(), 0).await.expect("read");
    assert_eq!((none.rows.len(), none.next), (0, None));
}

#[tokio::test]
async fn row_that_comes_in_between_shifts_no_page() {
    let Some(books) = Books::new().await else { return };
    add(&books, (1..=4).map(|n| booking(&format!("gala.{n}"), n)).collect()).await;
    let first = books.bookings(BookingFilter::default(), 2).await.expect("read");
    add(&books, vec![booking("gala.9", 9)]).await;
    let rest = BookingFilter { after: first.next, ..BookingFilter::default() };
    assert_eq!(ids(&books, rest, 2).await, ["gala.2", "gala.1"]);
}

#[tokio::test]
async fn bookings_are_filtered_by_all_that_is_set() {
    let Some(books) = Books::new().await else { return };
    let rows = vec![
        booking("gala.1", 1),
        Booking { status: HoldStatus::Confirmed, ..booking("gala.2", 2) },
        Booking { user: user("bo"), ..booking("gala.3", 3) },
        Booking { event: event("fair"), ..booking("fair.4", 4) },
    ];
    add(&books, rows).await;
    let all = BookingFilter::default;
    let of_gala = BookingFilter { event: Some(event("gala")), ..all() };
    assert_eq!(ids(&books, of_gala.clone(), 2).await, ["gala.3", "gala.2", "gala.1"]);
    let of_ann = BookingFilter { user: Some(user("ann")), ..all() };
    assert_eq!(ids(&books, of_ann, 2).await, ["fair.4", "gala.2", "gala.1"]);
    let held = BookingFilter { status: Some(HoldStatus::Held), ..all() };
    assert_eq!(ids(&books, held, 2).await, ["fair.4", "gala.3", "gala.1"]);
    let three = BookingFilter {
        status: Some(HoldStatus::Held),
        user: Some(user("ann")),
        text: Some(of_anything("gala")),
        ..of_gala
    };
    assert_eq!(ids(&books, three, 2).await, ["gala.1"]);
}

#[tokio::test]
async fn text_is_found_in_id_name_and_address_and_means_only_itself() {
    let Some(books) = Books::new().await else { return };
    add(&books, (1..=4).map(|n| booking(&format!("gala.{n}X"), n)).collect()).await;
    let buyers = [
        ("gala.1X", "Ann Ärmel", "ann@example.org"),
        ("gala.2X", "100% O'Neill_b", "one@EXAMPLE.com"),
        ("gala.3X", r"back\slash", "x@y.net"),
    ];
    for (id, name, email) in buyers {
        let buyer = Buyer { name: name.into(), email: email.into(), language: "en".into() };
        books.set_buyer(&booking_id(id), &user("ann"), buyer).await.expect("kept");
    }
    let found = async |text: &str| {
        let text = Some(of_anything(text));
        ids(&books, BookingFilter { text, ..BookingFilter::default() }, 9).await
    };
    assert_eq!(found("LA.4x").await, ["gala.4X"]);
    assert_eq!(found("äRMEL").await, ["gala.1X"]);
    assert_eq!(found("@example.").await, ["gala.2X", "gala.1X"]);
    assert_eq!(found("%").await, ["gala.2X"]);
    assert_eq!(found("l_b").await, ["gala.2X"]);
    assert_eq!(found("_").await, ["gala.2X"]);
    assert_eq!(found("'").await, ["gala.2X"]);
    assert_eq!(found(r"\").await, ["gala.3X"]);
    assert_eq!(found("nobody").await, [""; 0]);
    let page = books.bookings(BookingFilter::default(), 2).await.expect("read");
    assert_eq!(page.rows[0].1, None);
    assert_eq!(page.rows[1].1.as_ref().map(|buyer| buyer.name.as_str()), Some(r"back\slash"));
}

#[tokio::test]
async fn text_that_is_a_whole_id_or_address_finds_no_more_than_that() {
    let Some(books) = Books::new().await else { return };
    let rows = [("gala.1", 1), ("gala.12", 2), ("gala.3", 3), ("gala.4", 4)];
    add(&books, rows.map(|(id, at)| booking(id, at)).into()).await;
    for (id, email) in
        [("gala.1", "Ann@x.org"), ("gala.12", "joann@x.org"), ("gala.3", "ann@X.org")]
    {
        let buyer = Buyer { name: "Bo".into(), email: email.into(), language: "en".into() };
        books.set_buyer(&booking_id(id), &user("ann"), buyer).await.expect("kept");
    }
    let found = async |text: &str, of: Option<&str>| {
        let (text, event) = (Some(of_anything(text)), of.map(event));
        ids(&books, BookingFilter { text, event, ..BookingFilter::default() }, 1).await
    };
    assert_eq!(found("gala.1", None).await, ["gala.1"]);
    assert_eq!(found("ANN@x.org", None).await, ["gala.3", "gala.1"]);
    assert_eq!(found("ann@x.org", Some("gala")).await, ["gala.3", "gala.1"]);
    assert_eq!(found("ann@x.org", Some("expo")).await, [""; 0]);
    // Parts of them, and of names.
    assert_eq!(found("Gala.1", None).await, ["gala.12", "gala.1"]);
    assert_eq!(found("nn@x.org", None).await, ["gala.3", "gala.12", "gala.1"]);
    assert_eq!(found("bO", None).await, ["gala.3", "gala.12", "gala.1"]);
}

#[tokio::test]
async fn text_of_an_id_is_looked_for_in_ids_and_in_no_buyer() {
    let Some(books) = Books::new().await else { return };
    let rows = [("gala.1", 1), ("gala.12", 2), ("ann.3", 3)];
    add(&books, rows.map(|(id, at)| booking(id, at)).into()).await;
    for (id, email) in [("gala.1", "ann@x.org"), ("gala.12", "gala.12@x.org")] {
        let buyer = Buyer { name: "Ann Lee".into(), email: email.into(), language: "en".into() };
        books.set_buyer(&booking_id(id), &user("ann"), buyer).await.expect("kept");
    }
    let found = async |text: &str| {
        let text = Some(BookingText::OfId(text.into()));
        ids(&books, BookingFilter { text, ..BookingFilter::default() }, 1).await
    };
    assert_eq!(found("gala.1").await, ["gala.1"]);
    assert_eq!(found("LA.1").await, ["gala.12", "gala.1"]);
    assert_eq!(found("ANN").await, ["ann.3"]);
    for of_a_buyer in ["ann@x.org", "gala.12@x.org", "Ann Lee", "@", "Lee", "x.org"] {
        assert_eq!(found(of_a_buyer).await, [""; 0], "{of_a_buyer}");
    }
    assert_eq!(found("%").await, [""; 0]);
}

#[tokio::test]
async fn nothing_comes_after_a_text_that_is_no_next() {
    let Some(books) = Books::new().await else { return };
    add(&books, vec![booking("gala.1", 1)]).await;
    books.advance(to(saga("gala.1", 1))).await.expect("written");
    for odd in ["", "/", "x/gala.1", "99", "9999999999999999999999/x"] {
        let after = Some(odd.to_owned());
        let filter = BookingFilter { after: after.clone(), ..BookingFilter::default() };
        assert_eq!(ids(&books, filter, 9).await, [""; 0], "{odd}");
        let filter = SagaFilter { after, ..SagaFilter::default() };
        assert_eq!(books.sagas(filter, 9).await.expect("read").rows, [], "{odd}");
    }
}

/// Three bookings: one paid, one paid and going back, one flagged and of another event.
async fn money() -> Option<Books> {
    let books = Books::new().await?;
    let paid = Transition {
        payments: vec![
            payment("gala.1", 1, Stage::Void, 1),
            payment("gala.1", 2, Stage::Captured, 4),
        ],
        ..to(Saga { step: Step::Confirmed, next_at: None, ..saga("gala.1", 4) })
    };
    let back = Transition {
        payments: vec![Payment {
            captured_minor: 1_000,
            ..payment("gala.2", 1, Stage::Refunding, 2)
        }],
        refunds: vec![
            refund("gala.2", 1, RefundStatus::Done, 5),
            Refund { amount_minor: 30, ..refund("gala.2", 2, RefundStatus::Sent, 6) },
            Refund { amount_minor: 20, ..refund("gala.2", 3, RefundStatus::Requested, 6) },
            Refund { amount_minor: 9, ..refund("gala.2", 4, RefundStatus::Failed, 7) },
        ],
        ..to(Saga { step: Step::Compensating, ..saga("gala.2", 3) })
    };
    let flagged = Transition {
        payments: vec![Payment { flagged: true, ..payment("fair.3", 1, Stage::Open, 3) }],
        ..to(Saga {
            event: event("fair"),
            step: Step::PaymentSent,
            stuck: Some("another amount".into()),
            ..saga("fair.3", 2)
        })
    };
    for transition in [paid, back, flagged] {
        books.advance(transition).await.expect("written");
    }
    Some(books)
}

async fn payments(books: &Books, filter: PaymentFilter) -> Vec<String> {
    let mut ids = Vec::new();
    let mut filter = filter;
    loop {
        let page = books.payments(filter.clone(), 1).await.expect("read");
        ids.extend(page.rows.iter().map(|payment| payment.payment.to_string()));
        match page.next {
            Some(next) => filter.after = Some(next),
            None => return ids,
        }
    }
}

#[tokio::test]
async fn payments_come_the_latest_first_and_are_filtered() {
    let Some(books) = money().await else { return };
    let [second, fair, gala_2, first] =
        [("gala.1", 2), ("fair.3", 1), ("gala.2", 1), ("gala.1", 1)]
            .map(|(booking, n)| payment_id(booking, n).to_string());
    let all = PaymentFilter::default;
    assert_eq!(
        payments(&books, all()).await,
        [second.clone(), fair.clone(), gala_2.clone(), first.clone()]
    );
    let of_gala = PaymentFilter { event: Some(event("gala")), ..all() };
    assert_eq!(payments(&books, of_gala).await, [second.clone(), gala_2.clone(), first.clone()]);
    let of_one = PaymentFilter { booking: Some(booking_id("gala.1")), ..all() };
    assert_eq!(payments(&books, of_one).await, [second.clone(), first.clone()]);
    let others = PaymentFilter { flagged: Some(false), ..all() };
    assert_eq!(payments(&books, others).await, [second.clone(), gala_2, first]);
    let captured = PaymentFilter { stage: Some(Stage::Captured), ..all() };
    assert_eq!(payments(&books, captured).await, [second]);
    let flagged = PaymentFilter { flagged: Some(true), ..all() };
    assert_eq!(payments(&books, flagged).await, [fair]);
    let row = books.payments(all(), 1).await.expect("read").rows.remove(0);
    assert_eq!(row, payment("gala.1", 2, Stage::Captured, 4));
}

#[tokio::test]
async fn refunds_come_the_latest_first_and_are_filtered() {
    let Some(books) = money().await else { return };
    let mut filter = PaymentFilter { stage: Some(Stage::Void), ..PaymentFilter::default() };
    let mut ids = Vec::new();
    loop {
        let page = books.refunds(filter.clone(), 3).await.expect("read");
        ids.extend(page.rows.into_iter().map(|refund| refund.refund));
        filter.after = page.next;
        if filter.after.is_none() {
            break;
        }
    }
    let expected = [4, 3, 2, 1].map(|n| format!("refund:gala.2:{n}"));
    assert_eq!(ids, expected);
    let fair = PaymentFilter { event: Some(event("fair")), ..PaymentFilter::default() };
    assert_eq!(books.refunds(fair, 9).await.expect("read").rows, []);
    let other = PaymentFilter { booking: Some(booking_id("gala.1")), ..PaymentFilter::default() };
    assert_eq!(books.refunds(other, 9).await.expect("read").rows, []);
}

#[tokio::test]
async fn sagas_come_the_longest_unchanged_first_and_are_filtered() {
    let Some(books) = money().await else { return };
    let found = async |filter: SagaFilter| {
        let mut filter = filter;
        let mut ids = Vec::new();
        loop {
            let page = books.sagas(filter.clone(), 1).await.expect("read");
            ids.extend(page.rows.into_iter().map(|saga| saga.booking.to_string()));
            filter.after = page.next;
            if filter.after.is_none() {
                return ids;
            }
        }
    };
    let all = SagaFilter::default;
    assert_eq!(found(all()).await, ["fair.3", "gala.2", "gala.1"]);
    let of_gala = SagaFilter { event: Some(event("gala")), ..all() };
    assert_eq!(found(of_gala).await, ["gala.2", "gala.1"]);
    let confirmed = SagaFilter { step: Some(Step::Confirmed), ..all() };
    assert_eq!(found(confirmed).await, ["gala.1"]);
    let stuck = SagaFilter { stuck: Some(true), ..all() };
    assert_eq!(found(stuck.clone()).await, ["fair.3"]);
    let others = SagaFilter { stuck: Some(false), ..all() };
    assert_eq!(found(others).await, ["gala.2", "gala.1"]);
    let row = books.sagas(stuck, 9).await.expect("read").rows.remove(0);
    assert_eq!((row.stuck.as_deref(), row.updated_at), (Some("another amount"), Time(2)));
}

#[tokio::test]
async fn totals_add_everything_up() {
    let Some(books) = Books::new().await else { return };
    assert_eq!(books.totals().await, Ok(Totals::default()));
    let expected = Totals {
        open_sagas: 2,
        stuck_sagas: 1,
        captured_payments: 2,
        captured_minor: 2_050,
        refunded_minor: 400,
        refunding_minor: 50,
    };
    let Some(books) = money().await else { return };
    assert_eq!(books.totals().await, Ok(expected));
}

#[tokio::test]
async fn report_sees_what_was_answered_before() {
    let Some(books) = Books::new().await else { return };
    for n in 1..=200 {
        books.advance(to(saga(&format!("gala.{n}"), n))).await.expect("written");
        assert_eq!(books.totals().await.expect("read").open_sagas, n as u64);
    }
}
