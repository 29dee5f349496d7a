use super::books::Books;
use crate::rows::{booking_id, event, message, payment_id};
use onrush_core::Time;
use onrush_ledger::LedgerError;
use onrush_ledger::desk::{DeskEntry, DeskFilter, DeskKind, DeskStatus, Settled};

fn entry(reference: &str, at: i64) -> DeskEntry {
    DeskEntry {
        entry: format!("stripe.{reference}"),
        kind: DeskKind::Dispute,
        status: DeskStatus::Open,
        gateway: "stripe".into(),
        reference: reference.into(),
        payment: payment_id("gala.1", 1),
        paid_as: Some("pi_1".into()),
        booking: booking_id("gala.1"),
        event: event("gala"),
        amount_minor: 1_050,
        currency: "EUR".parse().expect("a currency"),
        why: "needs_response: fraudulent".into(),
        created_at: Time(at),
        updated_at: Time(at),
        settled: None,
    }
}

async fn list(books: &Books, filter: DeskFilter) -> Vec<DeskEntry> {
    books.desk(filter, 99).await.expect("read").rows
}

#[tokio::test]
async fn what_the_desk_did_is_noted_once_and_told_once() {
    let Some(mut books) = Books::new().await else { return };
    let dispute = entry("dp_1", 5);
    let told = message("desk-stripe.dp_1-open", 5, &["webhook:crm"]);
    assert_eq!(books.note_desk(dispute.clone(), Some(told.clone())).await, Ok(true));
    assert_eq!(books.note_desk(dispute.clone(), Some(told)).await, Ok(false));
    books.reopen().await;
    assert_eq!(list(&books, DeskFilter::default()).await, [dispute]);
    let due = books.deliveries("webhook:crm", Time(9), 9).await.expect("read");
    assert_eq!(due.len(), 1);
}

#[tokio::test]
async fn what_is_decided_is_not_undone_by_a_message_that_comes_late() {
    let Some(books) = Books::new().await else { return };
    let open = entry("dp_1", 5);
    let lost = DeskEntry {
        status: DeskStatus::Moved,
        why: "lost: fraudulent".into(),
        updated_at: Time(9),
        ..open.clone()
    };
    assert_eq!(books.note_desk(open.clone(), None).await, Ok(true));
    let settled = Settled { at: Time(7), by: "ann".into(), why: "evidence was sent".into() };
    let done = books.settle_desk(&open.entry, None, settled.clone()).await.expect("written");
    assert_eq!(done, Some(DeskEntry { settled: Some(settled), ..open.clone() }));
    assert_eq!(list(&books, DeskFilter { open: Some(true), ..DeskFilter::default() }).await, []);
    // News wants to be looked at again.
    assert_eq!(books.note_desk(lost.clone(), None).await, Ok(true));
    assert_eq!(list(&books, DeskFilter { open: Some(false), ..DeskFilter::default() }).await, []);
    let expected = DeskEntry { created_at: Time(5), ..lost.clone() };
    assert_eq!(books.note_desk(open, None).await, Ok(false));
    assert_eq!(books.note_desk(lost, None).await, Ok(false));
    assert_eq!(
        list(&books, DeskFilter { open: Some(true), ..DeskFilter::default() }).await,
        [expected]
    );
}

/// Versions of before did not keep it, and what the desk gave back counts only with it.
#[tokio::test]
async fn an_entry_that_does_not_know_the_gateways_payment_learns_it_with_the_next_news() {
    let Some(books) = Books::new().await else { return };
    let open = DeskEntry { paid_as: None, ..entry("dp_1", 5) };
    let lost = DeskEntry {
        status: DeskStatus::Moved,
        paid_as: Some("pi_1".into()),
        updated_at: Time(9),
        ..open.clone()
    };
    assert_eq!(books.note_desk(open.clone(), None).await, Ok(true));
    assert_eq!(list(&books, DeskFilter::default()).await, std::slice::from_ref(&open));
    assert_eq!(books.note_desk(lost.clone(), None).await, Ok(true));
    assert_eq!(list(&books, DeskFilter::default()).await, std::slice::from_ref(&lost));
    // News that does not name it takes nothing away.
    let won = DeskEntry { status: DeskStatus::Stayed, updated_at: Time(12), ..open };
    assert_eq!(books.note_desk(won.clone(), None).await, Ok(true));
    let expected = DeskEntry { paid_as: lost.paid_as, ..won };
    assert_eq!(list(&books, DeskFilter::default()).await, [expected]);
}

/// A gateway's message can be sent again, and is no news then: it is the way out for what does not count.
#[tokio::test]
async fn an_entry_learns_the_gateways_payment_from_what_is_no_news_and_stays_settled() {
    let Some(mut books) = Books::new().await else { return };
    let lost = DeskEntry { status: DeskStatus::Moved, why: "lost".into(), ..entry("dp_1", 5) };
    let unknown = DeskEntry { paid_as: None, ..lost.clone() };
    assert_eq!(books.note_desk(unknown.clone(), None).await, Ok(true));
    let settled = Settled { at: Time(7), by: "ann".into(), why: "seen".into() };
    let done = books.settle_desk(&lost.entry, None, settled.clone()).await.expect("written");
    assert_eq!(done, Some(DeskEntry { settled: Some(settled.clone()), ..unknown.clone() }));
    let told = message("desk-stripe.dp_1-moved", 9, &["webhook:crm"]);
    let again = DeskEntry { why: "lost: fraudulent".into(), updated_at: Time(9), ..lost.clone() };
    assert_eq!(books.note_desk(again, Some(told)).await, Ok(false));
    books.reopen().await;
    let expected = DeskEntry { settled: Some(settled), ..lost };
    assert_eq!(list(&books, DeskFilter::default()).await, std::slice::from_ref(&expected));
    assert_eq!(books.deliveries("webhook:crm", Time(9), 9).await.expect("read"), []);
    // One that names none, or another, changes nothing.
    for paid_as in [None, Some("pi_2".into())] {
        let late = DeskEntry { status: DeskStatus::Open, paid_as, ..unknown.clone() };
        assert_eq!(books.note_desk(late, None).await, Ok(false));
        assert_eq!(list(&books, DeskFilter::default()).await, std::slice::from_ref(&expected));
    }
}

#[tokio::test]
async fn news_that_came_since_an_entry_was_read_is_not_settled_with_it() {
    let Some(books) = Books::new().await else { return };
    let open = entry("dp_1", 5);
    let lost = DeskEntry { status: DeskStatus::Moved, updated_at: Time(9), ..open.clone() };
    assert_eq!(books.note_desk(open.clone(), None).await, Ok(true));
    let read = list(&books, DeskFilter::default()).await.remove(0);
    assert_eq!(books.note_desk(lost.clone(), None).await, Ok(true));
    let settled = Settled { at: Time(10), by: "ann".into(), why: "evidence was sent".into() };
    let seen = |at: Time| books.settle_desk(&open.entry, Some(at), settled.clone());
    assert_eq!(seen(read.updated_at).await, Err(LedgerError::Conflict));
    let expected = DeskEntry { created_at: Time(5), ..lost };
    assert_eq!(list(&books, DeskFilter::default()).await, std::slice::from_ref(&expected));
    let done = DeskEntry { settled: Some(settled.clone()), ..expected };
    assert_eq!(seen(Time(9)).await, Ok(Some(done)));
}

#[tokio::test]
async fn entries_are_listed_by_booking_and_page_and_unknown_ones_are_not_settled() {
    let Some(books) = Books::new().await else { return };
    for (reference, at) in [("re_1", 1), ("re_2", 2), ("re_3", 2)] {
        assert_eq!(books.note_desk(entry(reference, at), None).await, Ok(true));
    }
    let other = DeskEntry { booking: booking_id("gala.2"), ..entry("re_4", 3) };
    assert_eq!(books.note_desk(other, None).await, Ok(true));
    let of = |rows: &[DeskEntry]| -> Vec<String> {
        rows.iter().map(|entry| entry.reference.clone()).collect()
    };
    let mut filter = DeskFilter { booking: Some(booking_id("gala.1")), ..DeskFilter::default() };
    let first = books.desk(filter.clone(), 2).await.expect("read");
    assert_eq!(of(&first.rows), ["re_3", "re_2"]);
    filter.after = first.next;
    let second = books.desk(filter, 2).await.expect("read");
    assert_eq!((of(&second.rows), second.next), (vec!["re_1".to_owned()], None));
    let settled = Settled { at: Time(7), by: "ann".into(), why: "seen".into() };
    for seen in [None, Some(Time(1))] {
        assert_eq!(books.settle_desk("stripe.re_9", seen, settled.clone()).await, Ok(None));
    }
}
