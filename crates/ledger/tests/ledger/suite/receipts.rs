use super::books::Books;
use crate::rows::{
    booking_id, event, fact, held, moved, next, page, payment, payment_id, refund, saga, to, user,
};
use onrush_core::Time;
use onrush_core::hold::HoldStatus;
use onrush_core::saga::{Stage, Step};
use onrush_ledger::booking::{Buyer, BuyerOf};
use onrush_ledger::money::{Refund, RefundStatus};
use onrush_ledger::projection::Moved;
use onrush_ledger::receipt::{
    Corrects, Document, Purpose, Receipt, ReceiptDraft, ReceiptFilter, ReceiptKind, ReceiptLine,
    ReceiptNumber, ReceiptRule, Seller, Series, Taking,
};
use onrush_ledger::retention::ERASED_AT_ONCE;
use onrush_ledger::saga::{Saga, Transition};
use onrush_ledger::{LedgerError, Page};

fn series(name: &str) -> Series {
    name.parse().expect("a series")
}

fn number(text: &str) -> ReceiptNumber {
    text.parse().expect("a number")
}

fn document(amount_minor: i64) -> Document {
    Document {
        seller: Seller {
            name: "Hall".into(),
            address: vec!["1 Lane".into()],
            tax_id: Some("X1".into()),
        },
        title: "Gala \u{e01}".into(),
        tax: None,
        lines: vec![ReceiptLine {
            purpose: Purpose::Sales,
            pool: Some("ga".parse().expect("an id")),
            seat: None,
            type_name: Some("Child".into()),
            quantity: Some(1),
            price_minor: Some(amount_minor),
            amount_minor,
            net_minor: amount_minor,
            tax_minor: 0,
        }],
        moved_at: Time(3),
    }
}

fn draft(booking: &str) -> ReceiptDraft {
    ReceiptDraft {
        booking: booking_id(booking),
        event: event("gala"),
        refund: None,
        currency: "EUR".parse().expect("a currency"),
        amount_minor: 1_050,
        noted_minor: 0,
        document: document(1_050),
    }
}

fn note(booking: &str, n: u32) -> ReceiptDraft {
    ReceiptDraft {
        refund: Some(format!("refund:{booking}:{n}")),
        amount_minor: 400,
        document: document(400),
        ..draft(booking)
    }
}

async fn issue(
    books: &Books,
    at: i64,
    drafts: Vec<ReceiptDraft>,
) -> Result<Vec<Receipt>, LedgerError> {
    books.issue_receipts(series("R"), Time(at), drafts).await
}

async fn all(books: &Books, filter: ReceiptFilter) -> Vec<Receipt> {
    books.receipts(filter, 999).await.expect("read").rows
}

fn numbers(receipts: &[Receipt]) -> Vec<String> {
    receipts.iter().map(|receipt| receipt.number.to_string()).collect()
}

#[tokio::test]
async fn what_is_issued_is_read_as_it_was_and_never_changes() {
    let Some(mut books) = Books::new().await else { return };
    let issued = issue(&books, 9, vec![draft("gala.1"), note("gala.1", 1)]).await.expect("issued");
    let [receipt, back] = &*issued else { panic!("{issued:?}") };
    assert_eq!(receipt.number, number("R-1"));
    assert_eq!((receipt.kind(), back.kind()), (ReceiptKind::Receipt, ReceiptKind::CreditNote));
    let corrects = Corrects { refund: "refund:gala.1:1".into(), receipt: number("R-1") };
    assert_eq!((back.number.clone(), back.corrects.clone()), (number("R-2"), Some(corrects)));
    assert_eq!(receipt.document, document(1_050));

    // Asked again, with other words and in another series: it stays what it was.
    let other = ReceiptDraft { amount_minor: 7, ..draft("gala.1") };
    let again = books.issue_receipts(series("S"), Time(99), vec![other]).await.expect("issued");
    assert_eq!(&again[..], std::slice::from_ref(receipt));
    books.reopen().await;
    let rising = ReceiptFilter { is_rising: true, ..ReceiptFilter::default() };
    assert_eq!(all(&books, rising).await, issued);
    let next = issue(&books, 10, vec![draft("gala.2")]).await.expect("issued");
    assert_eq!(numbers(&next), ["R-3"]);
}

#[tokio::test]
async fn fifty_at_once_have_the_numbers_to_fifty() {
    let Some(books) = Books::new().await else { return };
    let asked: Vec<_> = (1..=50)
        .map(|n| books.issue_receipts(series("R"), Time(5), vec![draft(&format!("gala.{n}"))]))
        .collect();
    // Each of them twice: whoever comes second is given what the first one has.
    let again: Vec<_> = (1..=50)
        .map(|n| books.issue_receipts(series("R"), Time(6), vec![draft(&format!("gala.{n}"))]))
        .collect();
    let tasks: Vec<_> = asked.into_iter().chain(again).map(tokio::spawn).collect();
    let mut issued = Vec::new();
    for task in tasks {
        issued.extend(task.await.expect("it ends").expect("issued"));
    }
    for (first, second) in issued[..50].iter().zip(&issued[50..]) {
        assert_eq!(first, second);
    }
    let mut given: Vec<u32> = issued[..50].iter().map(|receipt| receipt.number.number).collect();
    given.sort_unstable();
    assert_eq!(given, (1..=50).collect::<Vec<_>>());
}

#[tokio::test]
async fn an_issue_that_fails_half_way_leaves_no_gap() {
    let Some(books) = Books::new().await else { return };
    let nothing = ReceiptDraft { amount_minor: 0, ..draft("gala.2") };
    let without_receipt = note("gala.3", 1);
    for bad in [nothing, without_receipt] {
        let both = issue(&books, 5, vec![draft("gala.1"), bad]).await;
        assert!(matches!(both, Err(LedgerError::Unavailable(_))), "{both:?}");
    }
    assert_eq!(all(&books, ReceiptFilter::default()).await, []);
    let issued = issue(&books, 5, vec![draft("gala.4"), draft("gala.1")]).await.expect("issued");
    assert_eq!(numbers(&issued), ["R-1", "R-2"]);
}

/// A credit note over all of 1,050, of a booking whose notes came to `noted_minor` when it was drafted.
fn note_over_all(booking: &str, n: u32, noted_minor: i64) -> ReceiptDraft {
    let document = document(1_050);
    ReceiptDraft { amount_minor: 1_050, noted_minor, document, ..note(booking, n) }
}

#[tokio::test]
async fn a_credit_note_that_was_drafted_before_another_was_issued_is_left_out() {
    let Some(books) = Books::new().await else { return };
    issue(&books, 5, vec![draft("gala.1"), draft("gala.2")]).await.expect("issued");
    let first = issue(&books, 6, vec![note_over_all("gala.1", 2, 0)]).await.expect("issued");
    assert_eq!(numbers(&first), ["R-3"]);
    // Another clerk read the booking before that, and goes on with what is not so any more.
    for series_name in ["R", "S"] {
        let late = vec![note_over_all("gala.1", 1, 0)];
        let late = books.issue_receipts(series(series_name), Time(7), late).await;
        assert_eq!(late, Ok(vec![]), "in series {series_name}");
    }
    // What else was asked at once is issued without a gap, and what was issued is known still.
    let drafts =
        vec![note_over_all("gala.1", 1, 0), note("gala.2", 1), note_over_all("gala.1", 2, 0)];
    let issued = issue(&books, 8, drafts).await.expect("issued");
    assert_eq!(numbers(&issued), ["R-4", "R-3"]);
    // Notes of one draft after the other are told of each other.
    let second = ReceiptDraft { noted_minor: 400, ..note("gala.2", 2) };
    let third = ReceiptDraft { noted_minor: 800, ..note("gala.2", 3) };
    let issued = issue(&books, 9, vec![second, third]).await.expect("issued");
    assert_eq!(numbers(&issued), ["R-5", "R-6"]);
    let of_first =
        ReceiptFilter { booking: Some(booking_id("gala.1")), ..ReceiptFilter::default() };
    assert_eq!(numbers(&all(&books, of_first).await), ["R-3", "R-1"]);
}

#[tokio::test]
async fn of_clerks_who_draft_at_once_one_issues_the_credit_note() {
    let Some(books) = Books::new().await else { return };
    issue(&books, 5, vec![draft("gala.1")]).await.expect("issued");
    let asked = (1..=20).map(|n| {
        let series = series(if n % 2 == 0 { "R" } else { "S" });
        tokio::spawn(books.issue_receipts(series, Time(6), vec![note_over_all("gala.1", n, 0)]))
    });
    let mut issued = Vec::new();
    for task in asked.collect::<Vec<_>>() {
        issued.extend(task.await.expect("it ends").expect("an answer"));
    }
    assert_eq!(issued.len(), 1, "{:?}", numbers(&issued));
    assert_eq!(all(&books, ReceiptFilter::default()).await.len(), 2);
}

#[tokio::test]
async fn each_series_counts_by_itself_and_its_times_never_fall() {
    let Some(books) = Books::new().await else { return };
    let issued = issue(&books, 9, vec![draft("gala.1")]).await.expect("issued");
    assert_eq!(issued[0].issued_at, Time(9));
    // A clock that was set back dates no number before the one before it.
    let issued = issue(&books, 4, vec![draft("gala.2")]).await.expect("issued");
    assert_eq!((&*numbers(&issued), issued[0].issued_at), (&["R-2".to_owned()][..], Time(9)));
    let other = books.issue_receipts(series("R2"), Time(4), vec![draft("gala.3")]).await;
    let other = other.expect("issued");
    assert_eq!((&*numbers(&other), other[0].issued_at), (&["R2-1".to_owned()][..], Time(4)));
    // A credit note of the new series takes back a receipt of the old one.
    let notes = books.issue_receipts(series("R2"), Time(5), vec![note("gala.1", 1)]).await;
    let notes = notes.expect("issued");
    assert_eq!(notes[0].number, number("R2-2"));
    assert_eq!(notes[0].corrects.as_ref().map(|it| it.receipt.clone()), Some(number("R-1")));
}

#[tokio::test]
async fn they_are_listed_by_number_event_and_booking_a_page_at_a_time() {
    let Some(books) = Books::new().await else { return };
    let elsewhere = ReceiptDraft { event: event("expo"), ..draft("expo.1") };
    let drafts = vec![draft("gala.1"), elsewhere, draft("gala.2"), note("gala.1", 1)];
    issue(&books, 5, drafts).await.expect("issued");
    let filter = |event_id: Option<&str>, booking: Option<&str>| ReceiptFilter {
        event: event_id.map(event),
        booking: booking.map(booking_id),
        ..ReceiptFilter::default()
    };
    for (filter, expected) in [
        (filter(None, None), vec!["R-4", "R-3", "R-2", "R-1"]),
        (filter(Some("gala"), None), vec!["R-4", "R-3", "R-1"]),
        (filter(None, Some("gala.1")), vec!["R-4", "R-1"]),
        (filter(Some("expo"), Some("gala.1")), vec![]),
    ] {
        assert_eq!(numbers(&all(&books, filter.clone()).await), expected, "{filter:?}");
        let rising = ReceiptFilter { is_rising: true, ..filter };
        let expected: Vec<_> = expected.into_iter().rev().collect();
        assert_eq!(numbers(&all(&books, rising.clone()).await), expected, "{rising:?}");
    }
    let Page { rows, next } = books.receipts(filter(None, None), 3).await.expect("read");
    assert_eq!(
        (&*numbers(&rows), next.as_deref()),
        (&["R-4", "R-3", "R-2"].map(String::from)[..], Some("R-2"))
    );
    let rest = ReceiptFilter { after: next, ..ReceiptFilter::default() };
    assert_eq!(numbers(&all(&books, rest).await), ["R-1"]);
    let third = ReceiptFilter { number: Some(number("R-3")), ..filter(Some("gala"), None) };
    assert_eq!(numbers(&all(&books, third).await), ["R-3"]);
    let nonsense = ReceiptFilter { after: Some("5".into()), ..ReceiptFilter::default() };
    assert_eq!(all(&books, nonsense).await, []);
}

#[tokio::test]
async fn a_buyer_who_is_erased_has_no_name_on_anything_and_the_amounts_stay() {
    let Some(books) = Books::new().await else { return };
    let buyer = |name: &str, email: &str| Buyer {
        name: name.into(),
        email: email.into(),
        language: "en".into(),
    };
    for (booking, email) in
        [("gala.1", "ann@x.org"), ("gala.2", "ann@x.org"), ("gala.3", "bo@x.org")]
    {
        let paid = Transition { buyer: Some(buyer("Ann", email)), ..to(saga(booking, 5)) };
        books.advance(paid).await.expect("written");
    }
    let of_cy = Saga { user: "cy".parse().expect("an id"), ..saga("gala.4", 5) };
    let paid = Transition { buyer: Some(buyer("Cy", "cy@x.org")), ..to(of_cy) };
    books.advance(paid).await.expect("written");
    let drafts =
        vec![draft("gala.1"), note("gala.1", 1), draft("gala.2"), draft("gala.3"), draft("gala.4")];
    let issued = issue(&books, 5, drafts).await.expect("issued");
    let named = async |books: &Books| -> Vec<bool> {
        let rising = ReceiptFilter { is_rising: true, ..ReceiptFilter::default() };
        let rows = all(books, rising).await;
        for (row, before) in rows.iter().zip(&issued) {
            let nameless = Receipt {
                buyer_name: row.buyer_name.clone(),
                buyer_email_lower: row.buyer_email_lower.clone(),
                ..before.clone()
            };
            assert_eq!(*row, nameless);
        }
        rows.iter().map(|row| row.buyer_name.is_some()).collect()
    };
    assert_eq!(named(&books).await, [true; 5]);
    assert_eq!(books.erase_buyer(BuyerOf::Booking(booking_id("gala.1"))).await, Ok(1));
    assert_eq!(named(&books).await, [false, false, true, true, true]);
    assert_eq!(books.erase_buyer(BuyerOf::Email("ANN@x.org".into())).await, Ok(1));
    assert_eq!(named(&books).await, [false, false, false, true, true]);
    let ann = "ann".parse().expect("an id");
    assert_eq!(books.erase_buyer(BuyerOf::User(ann)).await, Ok(1));
    assert_eq!(named(&books).await, [false, false, false, false, true]);
    // What is issued later has no name either.
    let later = issue(&books, 6, vec![note("gala.2", 1)]).await.expect("issued");
    assert_eq!(later[0].buyer_name, None);
}

#[tokio::test]
async fn an_address_is_found_on_what_was_issued_to_it_before_the_booking_had_another_buyer() {
    let Some(books) = Books::new().await else { return };
    let buyer = |name: &str, email: &str| Buyer {
        name: name.into(),
        email: email.into(),
        language: "en".into(),
    };
    for (id, buyer) in
        [("gala.1", buyer("Ann", "Ann@x.org")), ("gala.2", buyer("Ann", "ann@x.org"))]
    {
        let paid = Transition { buyer: Some(buyer), ..to(saga(id, 5)) };
        books.advance(paid).await.expect("written");
    }
    issue(&books, 5, vec![draft("gala.1"), draft("gala.2")]).await.expect("issued");
    books
        .set_buyer(&booking_id("gala.1"), &user("ann"), buyer("Bo", "bo@x.org"))
        .await
        .expect("kept");
    issue(&books, 6, vec![note("gala.1", 1)]).await.expect("issued");
    let names = async || -> Vec<Option<String>> {
        let rising = ReceiptFilter { is_rising: true, ..ReceiptFilter::default() };
        all(&books, rising).await.into_iter().map(|row| row.buyer_name).collect()
    };
    let (ann, bo) = (Some("Ann".to_owned()), Some("Bo".to_owned()));
    assert_eq!(names().await, [ann.clone(), ann.clone(), bo]);
    let of = |email: &str| BuyerOf::Email(email.into());
    let found = async |whose| books.bookings_of(whose, None, 9).await.expect("read").len();
    assert_eq!((found(of("ANN@x.org")).await, found(of("bo@x.org")).await), (2, 1));

    assert_eq!(books.erase_buyer(of("bo@x.org")).await, Ok(1));
    assert_eq!(names().await, [ann.clone(), ann, None], "what was issued to others stays");
    assert_eq!(books.erase_buyer(of("ann@x.ORG")).await, Ok(2));
    assert_eq!(names().await, [None, None, None]);
    assert_eq!(books.erase_buyer(of("ann@x.org")).await, Ok(0));
    assert_eq!(found(of("ann@x.org")).await, 0);
}

/// Names Ann on what was issued for a booking, and nobody as its buyer: Bo, who was its buyer after
/// her, was erased.
async fn issue_to_ann_alone(books: &Books, id: &str, saga: Saga) {
    let buyer = |name: &str, email: &str| Buyer {
        name: name.into(),
        email: email.into(),
        language: "en".into(),
    };
    let user = saga.user.clone();
    let paid = Transition { buyer: Some(buyer("Ann", "Ann@x.org")), ..to(saga) };
    books.advance(paid).await.expect("written");
    issue(books, 5, vec![draft(id), note(id, 1)]).await.expect("issued");
    books.set_buyer(&booking_id(id), &user, buyer("Bo", "bo@x.org")).await.expect("kept");
    assert_eq!(books.erase_buyer(BuyerOf::Email("bo@x.org".into())).await, Ok(1));
    assert_eq!(books.buyer(&booking_id(id)).await, Ok(None));
}

/// A saga with nothing left to do.
fn at_rest(id: &str) -> Saga {
    Saga { step: Step::Confirmed, next_at: None, ..saga(id, 5) }
}

/// The bookings whose documents name somebody, with the names, by number.
async fn named(books: &Books) -> Vec<(String, Option<String>, Option<String>)> {
    let rising = ReceiptFilter { is_rising: true, ..ReceiptFilter::default() };
    let named = all(books, rising)
        .await
        .into_iter()
        .filter(|row| row.buyer_name.is_some() || row.buyer_email_lower.is_some());
    named.map(|row| (row.booking.to_string(), row.buyer_name, row.buyer_email_lower)).collect()
}

#[tokio::test]
async fn an_earlier_buyer_is_erased_in_each_way_after_the_present_one_is_gone() {
    let ann = |id: &str| (id.to_owned(), Some("Ann".to_owned()), Some("ann@x.org".to_owned()));
    for (way, whose) in [
        ("booking", Some(BuyerOf::Booking(booking_id("gala.1")))),
        ("visitor", Some(BuyerOf::User("ann".parse().expect("an id")))),
        ("event", Some(BuyerOf::Event(event("gala")))),
        ("address", Some(BuyerOf::Email("ANN@x.org".into()))),
        ("retention", None),
    ] {
        let Some(books) = Books::new().await else { return };
        issue_to_ann_alone(&books, "gala.1", at_rest("gala.1")).await;
        assert_eq!(named(&books).await, [ann("gala.1"), ann("gala.1")], "{way}: as it was issued");
        let erase = async || match whose.clone() {
            Some(whose) => books.erase_buyer(whose).await,
            None => books.erase_buyers_of(&event("gala")).await,
        };
        assert_eq!(erase().await, Ok(1), "{way}: one booking");
        assert_eq!(named(&books).await, [], "{way}");
        assert_eq!(erase().await, Ok(0), "{way}: nobody is left");
    }
}

#[tokio::test]
async fn an_earlier_buyer_is_erased_in_time_as_a_present_one_is() {
    let Some(books) = Books::new().await else { return };
    let stuck = Saga { stuck: Some("no answer".into()), ..at_rest("gala.stuck") };
    // An event whose id begins like this one's keeps its own.
    for (id, saga) in [
        ("gala.1", at_rest("gala.1")),
        ("gala.2", at_rest("gala.2")),
        ("gala.stuck", stuck),
        ("gala.2026.1", at_rest("gala.2026.1")),
    ] {
        issue_to_ann_alone(&books, id, saga).await;
    }
    let present = Buyer { name: "Cy".into(), email: "cy@x.org".into(), language: "en".into() };
    for n in 1..ERASED_AT_ONCE {
        let id = booking_id(&format!("gala.held-{n}"));
        books.set_buyer(&id, &user("ann"), present.clone()).await.expect("kept");
    }
    let erase = async || books.erase_buyers_of(&event("gala")).await;
    assert_eq!(erase().await, Ok(ERASED_AT_ONCE));
    assert_eq!(erase().await, Ok(1));
    assert_eq!(erase().await, Ok(0));
    let left: Vec<_> = named(&books).await.into_iter().map(|(booking, ..)| booking).collect();
    assert_eq!(left, ["gala.stuck", "gala.stuck", "gala.2026.1", "gala.2026.1"]);
}

#[tokio::test]
async fn whoever_is_erased_takes_no_name_off_what_was_issued_to_others() {
    let Some(books) = Books::new().await else { return };
    for id in ["gala.1", "gala.2"] {
        issue_to_ann_alone(&books, id, at_rest(id)).await;
    }
    let of_cy = Saga { user: "cy".parse().expect("an id"), ..at_rest("gala.3") };
    issue_to_ann_alone(&books, "gala.3", of_cy).await;
    assert_eq!(books.erase_buyer(BuyerOf::Booking(booking_id("gala.1"))).await, Ok(1));
    let left = async || -> Vec<String> {
        named(&books).await.into_iter().map(|(booking, ..)| booking).collect()
    };
    assert_eq!(left().await, ["gala.2", "gala.2", "gala.3", "gala.3"]);
    assert_eq!(books.erase_buyer(BuyerOf::User("ann".parse().expect("an id"))).await, Ok(1));
    assert_eq!(left().await, ["gala.3", "gala.3"]);
    assert_eq!(books.erase_buyer(BuyerOf::Event(event("expo"))).await, Ok(0));
    assert_eq!(left().await, ["gala.3", "gala.3"]);
}

/// Whether each payment that took money lacks documents, the earliest first.
async fn takings(books: &Books) -> Vec<(String, bool)> {
    takings_by(books, ReceiptRule::EVERY).await
}

async fn takings_by(books: &Books, rule: ReceiptRule) -> Vec<(String, bool)> {
    let mut found = Vec::new();
    let mut after = None;
    loop {
        let Page { rows, next } = books.takings(rule, after, 2).await.expect("read");
        found.extend(
            rows.into_iter()
                .map(|Taking { booking, is_missing, .. }| (booking.to_string(), is_missing)),
        );
        after = next;
        if after.is_none() {
            return found;
        }
    }
}

#[tokio::test]
async fn what_was_confirmed_lacks_a_receipt_and_what_went_back_a_credit_note() {
    let Some(books) = Books::new().await else { return };
    let ids = ["gala.1", "gala.2", "gala.3", "gala.4"];
    let facts = ids.iter().map(|id| held(id, 5)).collect();
    books.project(page(1, facts)).await.expect("written");
    for (at, id) in (6..).zip(ids) {
        books.advance(to(saga(id, 5))).await.expect("written");
        let stage = if id == "gala.4" { Stage::Open } else { Stage::Captured };
        let paid = Transition {
            payments: vec![payment(id, 1, stage, at)],
            ..to(Saga { version: 2, ..saga(id, 5) })
        };
        books.advance(paid).await.expect("written");
    }
    let confirmed = |id: &str, n: u32| {
        let payment = Some(payment_id(id, n));
        fact(Moved { payment, ..moved(id, HoldStatus::Confirmed, 9) })
    };
    // The second one is confirmed with another payment than ours, and the third one expired.
    let facts = vec![
        confirmed("gala.1", 1),
        confirmed("gala.2", 2),
        fact(moved("gala.3", HoldStatus::Expired, 9)),
    ];
    books.project(page(2, facts)).await.expect("written");
    let of = |missing: bool| -> Vec<(String, bool)> {
        [("gala.1", missing), ("gala.2", false), ("gala.3", false)]
            .map(|(id, is)| (id.into(), is))
            .into()
    };
    assert_eq!(takings(&books).await, of(true));
    // Its money was taken at 6.
    let rule = |with_sandbox, from: Option<i64>| ReceiptRule { with_sandbox, from: from.map(Time) };
    for (rule, lacks) in
        [(rule(false, None), false), (rule(true, Some(6)), true), (rule(true, Some(7)), false)]
    {
        assert_eq!(takings_by(&books, rule).await, of(lacks), "{rule:?}");
    }

    let basis = books.receipt_basis(ids.map(booking_id).into()).await.expect("read");
    assert_eq!(basis.len(), 4);
    assert_eq!((basis[0].issued.len(), basis[0].booking.status), (0, HoldStatus::Confirmed));
    issue(&books, 9, vec![draft("gala.1")]).await.expect("issued");
    assert_eq!(takings(&books).await, of(false));

    let cancelled = Moved { refund_minor: 400, ..moved("gala.1", HoldStatus::Cancelled, 10) };
    books.project(page(3, vec![fact(cancelled)])).await.expect("written");
    let back = async |status| {
        let record = books.saga_record(&booking_id("gala.1")).await.expect("read");
        let refunds = vec![refund("gala.1", 1, status, 11)];
        let transition = Transition { refunds, ..to(next(&record.expect("there").saga)) };
        books.advance(transition).await.expect("written");
    };
    back(RefundStatus::Sent).await;
    assert_eq!(takings(&books).await, of(false));
    back(RefundStatus::Done).await;
    assert_eq!(takings(&books).await, of(true));
    assert_eq!(takings_by(&books, rule(false, Some(7))).await, of(true), "it has its receipt");
    issue(&books, 12, vec![note("gala.1", 1)]).await.expect("issued");
    assert_eq!(takings(&books).await, of(false));
    let basis = books.receipt_basis(vec![booking_id("gala.1"), booking_id("gala.9")]).await;
    let [basis] = &*basis.expect("read") else { panic!("one of them is known") };
    assert_eq!((basis.issued.len(), basis.record.refunds.len()), (2, 1));

    // The refund bounces after its note was issued, and another one stands for it.
    back(RefundStatus::Failed).await;
    assert_eq!(takings(&books).await, of(false));
    let record = books.saga_record(&booking_id("gala.1")).await.expect("read");
    let refunds = vec![refund("gala.1", 2, RefundStatus::Done, 13)];
    let again = Transition { refunds, ..to(next(&record.expect("there").saga)) };
    books.advance(again).await.expect("written");
    assert_eq!(takings(&books).await, of(false));
    // The first one was made after all: what went back twice was owed once.
    back(RefundStatus::Done).await;
    assert_eq!(takings(&books).await, of(false));
}

#[tokio::test]
async fn money_that_is_still_to_come_or_to_go_is_counted_for_its_event_alone() {
    let Some(books) = Books::new().await else { return };
    let open = async |books: &Books| {
        let open = books.open_money(&event("gala"), ReceiptRule::EVERY).await.expect("read");
        (open.under_way, open.without_document)
    };
    assert_eq!(open(&books).await, (0, 0));
    books.project(page(1, vec![held("gala.1", 5)])).await.expect("written");
    let rest = |version, step| Saga { version, step, next_at: None, ..saga("gala.1", 5) };
    let paid = |version, step, payments| Transition { payments, ..to(rest(version, step)) };
    books.advance(to(saga("gala.1", 5))).await.expect("written");
    // Each way to be under way, by itself.
    for (version, saga) in (2..).zip([
        Saga { next_at: Some(Time(9)), ..rest(0, Step::Confirmed) },
        Saga { stuck: Some("no answer".into()), ..rest(0, Step::Failed) },
        rest(0, Step::PaymentSent),
        rest(0, Step::Compensating),
    ]) {
        books.advance(to(Saga { version, ..saga })).await.expect("written");
        assert_eq!(open(&books).await, (1, 0), "version {version}");
    }
    let closing = vec![payment("gala.1", 1, Stage::Closing, 5)];
    books.advance(paid(6, Step::Failed, closing)).await.expect("written");
    assert_eq!(open(&books).await, (1, 0), "a payment that is not at its end");
    let captured = vec![payment("gala.1", 1, Stage::Captured, 5)];
    books.advance(paid(7, Step::Confirmed, captured)).await.expect("written");
    assert_eq!(open(&books).await, (0, 0), "nobody confirmed it yet");
    let confirmed = Moved {
        payment: Some(payment_id("gala.1", 1)),
        ..moved("gala.1", HoldStatus::Confirmed, 9)
    };
    books.project(page(2, vec![fact(confirmed)])).await.expect("written");
    assert_eq!(open(&books).await, (0, 1), "its receipt is missing");
    let none = ReceiptRule { with_sandbox: false, from: None };
    let left = books.open_money(&event("gala"), none).await.expect("read");
    assert_eq!(left.without_document, 0, "it gets none");
    issue(&books, 9, vec![draft("gala.1")]).await.expect("issued");
    assert_eq!(open(&books).await, (0, 0));
    let asked = vec![refund("gala.1", 1, RefundStatus::Requested, 9)];
    let asked = Transition { refunds: asked, ..to(rest(8, Step::Confirmed)) };
    books.advance(asked).await.expect("written");
    assert_eq!(open(&books).await, (1, 0), "money is to go back");
    let failed = vec![refund("gala.1", 1, RefundStatus::Failed, 9)];
    let failed = Transition { refunds: failed, ..to(rest(9, Step::Failed)) };
    books.advance(failed).await.expect("written");
    // All of it went back twice: the second time, there is nothing left that a note could be over.
    for (version, number, lacks_one) in [(10, 2, 1), (11, 3, 0)] {
        let done = refund("gala.1", number, RefundStatus::Done, 10);
        let refunds = vec![Refund { amount_minor: 1_050, ..done }];
        let done = Transition { refunds, ..to(rest(version, Step::Failed)) };
        books.advance(done).await.expect("written");
        assert_eq!(open(&books).await, (0, lacks_one), "refund {number}");
        let note =
            ReceiptDraft { amount_minor: 1_050, document: document(1_050), ..note("gala.1", 2) };
        issue(&books, 10, vec![note]).await.expect("issued");
        assert_eq!(open(&books).await, (0, 0));
    }
    let other = books.open_money(&event("other"), ReceiptRule::EVERY).await.expect("read");
    assert_eq!((other.under_way, other.without_document), (0, 0));
}
