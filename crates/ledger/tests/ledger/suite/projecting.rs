use super::books::Books;
use crate::rows::{
    booking, booking_id, event, fact, held, message, moved, next, page, payment, payment_id, saga,
    to,
};
use onrush_core::Time;
use onrush_core::hold::HoldStatus;
use onrush_core::saga::{Stage, Step};
use onrush_ledger::LedgerError;
use onrush_ledger::booking::Booking;
use onrush_ledger::projection::{Fact, FeedPosition, Moved, Projection};
use onrush_ledger::saga::{Saga, Transition};
use strum::VariantArray;

async fn saga_of(books: &Books, id: &str) -> Saga {
    books.saga_record(&booking_id(id)).await.expect("read").expect("there").saga
}

async fn booking_of(books: &Books, id: &str) -> Booking {
    books.booking(&booking_id(id)).await.expect("read").expect("there")
}

async fn project(books: &Books, cursor: u64, facts: Vec<Fact>) {
    let after = books.cursor().await.expect("read");
    books.project(Projection { after, ..page(cursor, facts) }).await.expect("written");
}

#[tokio::test]
async fn held_booking_is_read_as_it_was_projected_and_has_no_saga() {
    let Some(mut books) = Books::new().await else { return };
    assert_eq!(books.cursor().await, Ok(0));
    project(&books, 17, vec![held("gala.1", 5)]).await;
    books.reopen().await;
    assert_eq!(books.cursor().await, Ok(17));
    assert_eq!(booking_of(&books, "gala.1").await, booking("gala.1", 5));
    assert_eq!(books.saga_record(&booking_id("gala.1")).await, Ok(None));
    assert_eq!(books.history(&booking_id("gala.1")).await, Ok(vec![]));
    assert_eq!(books.booking(&booking_id("gala.2")).await, Ok(None));
}

#[tokio::test]
async fn saga_begins_when_somebody_pays_or_what_costs_something_is_confirmed() {
    let Some(books) = Books::new().await else { return };
    let begins = [
        (HoldStatus::Paying, Step::ReserveOk, Some(Time(9))),
        (HoldStatus::Confirmed, Step::Confirmed, None),
    ];
    for (cursor, (status, step, next_at)) in (1..).zip(begins) {
        let id = format!("gala.{status}");
        let move_ = Moved { wake: true, ..moved(&id, status, 9) };
        // Of the same page, as somebody finds it who was away.
        project(&books, cursor, vec![held(&id, 5), fact(move_)]).await;
        let begun = Saga {
            saga_id: format!("saga-{status}"),
            step,
            next_at,
            updated_at: Time(9),
            ..saga(&id, 5)
        };
        assert_eq!(saga_of(&books, &id).await, begun);
        let history = books.history(&booking_id(&id)).await.expect("read");
        assert_eq!((history.len(), history[0].version, history[0].step), (1, 1, step));
    }
    assert_eq!(books.due(Time(9), 9).await, Ok(vec![booking_id("gala.paying")]));
}

#[tokio::test]
async fn hold_that_nobody_paid_for_leaves_no_saga() {
    let Some(books) = Books::new().await else { return };
    let ends = [HoldStatus::Released, HoldStatus::Expired, HoldStatus::Cancelled, HoldStatus::Held];
    for (cursor, status) in (1..).zip(ends) {
        let id = format!("gala.{status}");
        let move_ = Moved { wake: true, ..moved(&id, status, 9) };
        project(&books, cursor, vec![held(&id, 5), fact(move_)]).await;
        assert_eq!(booking_of(&books, &id).await.status, status);
        assert_eq!(books.saga_record(&booking_id(&id)).await, Ok(None), "{status}");
    }
    assert_eq!(books.next_due().await, Ok(None));
}

#[tokio::test]
async fn position_says_which_journal_was_followed_and_how_far() {
    let Some(mut books) = Books::new().await else { return };
    assert_eq!(books.position().await, Ok(FeedPosition::default()));
    let journal = Some("0123456789abcdef".to_owned());
    let begun = FeedPosition { journal: journal.clone(), ..FeedPosition::default() };
    books.follow(begun.clone()).await.expect("written");
    assert_eq!(books.position().await, Ok(begun));
    let page = Projection { at: Some(Time(1_700)), ..page(1, vec![held("gala.1", 5)]) };
    books.project(page.clone()).await.expect("written");
    books.reopen().await;
    let there = FeedPosition { seq: 1, at: Some(Time(1_700)), journal };
    assert_eq!(books.position().await, Ok(there.clone()));
    // A page that is projected already says nothing new.
    books.project(Projection { at: Some(Time(9)), ..page }).await.expect("passed over");
    assert_eq!(books.position().await, Ok(there));
    let back = FeedPosition { seq: 0, at: None, journal: Some("fedcba9876543210".into()) };
    books.follow(back.clone()).await.expect("written");
    assert_eq!(books.position().await, Ok(back));
}

#[tokio::test]
async fn booking_without_a_price_has_no_saga() {
    let Some(books) = Books::new().await else { return };
    let free = Booking { amount_minor: 0, ..booking("gala.1", 5) };
    let statuses = [HoldStatus::Paying, HoldStatus::Confirmed];
    let moves = statuses.map(|status| fact(moved("gala.1", status, 6)));
    project(&books, 1, [vec![Fact::Held(Box::new(free))], moves.into()].concat()).await;
    assert_eq!(books.saga_record(&booking_id("gala.1")).await, Ok(None));
    assert_eq!(booking_of(&books, "gala.1").await.status, HoldStatus::Confirmed);
}

#[tokio::test]
async fn page_that_comes_twice_is_projected_once() {
    let Some(books) = Books::new().await else { return };
    let twice = Projection {
        after: 0,
        cursor: 3,
        at: None,
        facts: vec![
            held("gala.1", 5),
            fact(Moved { wake: true, ..moved("gala.1", HoldStatus::Confirmed, 6) }),
            Fact::CheckedIn { booking: booking_id("gala.1"), at: Time(7) },
        ],
        messages: vec![message("m", 6, &["mail"])],
    };
    books.project(twice.clone()).await.expect("written");
    let (saga, booking) = (saga_of(&books, "gala.1").await, booking_of(&books, "gala.1").await);
    assert_eq!((booking.checked_in, saga.version), (1, 1));
    books.project(twice.clone()).await.expect("taken");
    books.project(Projection { cursor: 2, ..twice }).await.expect("taken");
    assert_eq!(saga_of(&books, "gala.1").await, saga);
    assert_eq!(booking_of(&books, "gala.1").await, booking);
    assert_eq!(books.cursor().await, Ok(3));
    assert_eq!(books.deliveries("mail", Time(99), 9).await.expect("read").len(), 1);
}

#[tokio::test]
async fn page_that_does_not_begin_at_the_cursor_is_a_conflict_and_changes_nothing() {
    let Some(books) = Books::new().await else { return };
    let check_in = Fact::CheckedIn { booking: booking_id("gala.1"), at: Time(6) };
    project(&books, 2, vec![held("gala.1", 5), check_in.clone()]).await;
    // One that overlaps, and one before which something is missing.
    for (after, cursor) in [(0, 3), (1, 3), (3, 4), (9, 10)] {
        let other = Projection {
            after,
            messages: vec![message("m", 6, &["mail"])],
            ..page(cursor, vec![check_in.clone(), held("gala.2", 7)])
        };
        assert_eq!(books.project(other).await, Err(LedgerError::Conflict), "after {after}");
    }
    assert_eq!(books.cursor().await, Ok(2));
    assert_eq!(booking_of(&books, "gala.1").await.checked_in, 1);
    assert_eq!(books.booking(&booking_id("gala.2")).await, Ok(None));
    assert_eq!(books.saga_record(&booking_id("gala.2")).await, Ok(None));
    assert_eq!(books.next_delivery("mail").await, Ok(None));
}

#[tokio::test]
async fn one_of_many_who_follow_the_feed_at_once_projects_a_page() {
    let Some(books) = Books::new().await else { return };
    project(&books, 1, vec![held("gala.1", 5)]).await;
    for cursor in 2..12 {
        let check_in = Fact::CheckedIn { booking: booking_id("gala.1"), at: Time(6) };
        let pending: Vec<_> = (0..8)
            .map(|_| tokio::spawn(books.project(page(cursor, vec![check_in.clone()]))))
            .collect();
        for page in pending {
            assert_eq!(page.await.expect("no panic"), Ok(()));
        }
    }
    assert_eq!(booking_of(&books, "gala.1").await.checked_in, 10);
}

#[tokio::test]
async fn saga_that_is_ahead_of_the_feed_stays_as_it_is() {
    let Some(books) = Books::new().await else { return };
    let ahead = Saga { step: Step::PaymentSent, ..next(&saga("gala.1", 5)) };
    books.advance(to(saga("gala.1", 5))).await.expect("written");
    books.advance(to(ahead.clone())).await.expect("written");
    project(&books, 1, vec![held("gala.1", 5)]).await;
    assert_eq!(saga_of(&books, "gala.1").await, ahead);
    assert_eq!(booking_of(&books, "gala.1").await.status, HoldStatus::Held);
    assert_eq!(books.history(&ahead.booking).await.expect("read").len(), 2);
}

#[tokio::test]
async fn moved_booking_has_its_new_status_and_keeps_what_is_not_spoken_of() {
    let Some(books) = Books::new().await else { return };
    let pay =
        Moved { payment: Some(payment_id("gala.1", 1)), ..moved("gala.1", HoldStatus::Paying, 6) };
    project(&books, 2, vec![held("gala.1", 5), fact(pay)]).await;
    project(&books, 3, vec![fact(moved("gala.1", HoldStatus::Confirmed, 7))]).await;
    let cancelled = Moved { refund_minor: 400, ..moved("gala.1", HoldStatus::Cancelled, 8) };
    project(&books, 4, vec![fact(cancelled)]).await;
    let expected = Booking {
        status: HoldStatus::Cancelled,
        payment: Some(payment_id("gala.1", 1)),
        refund_minor: 400,
        confirmed_at: Some(Time(7)),
        updated_at: Time(8),
        ..booking("gala.1", 5)
    };
    assert_eq!(booking_of(&books, "gala.1").await, expected);
    // Another hold with its id, once the rules have forgotten it: its tickets stay revoked.
    let again = [HoldStatus::Held, HoldStatus::Released, HoldStatus::Expired]
        .map(|status| fact(moved("gala.1", status, 9)));
    project(&books, 5, [vec![held("gala.1", 9)], again.into()].concat()).await;
    assert_eq!(booking_of(&books, "gala.1").await, expected);
    // Of a booking that nobody knows there is nothing to be moved.
    project(&books, 6, vec![fact(Moved { wake: true, ..moved("gala.2", HoldStatus::Expired, 9) })])
        .await;
    assert_eq!(books.booking(&booking_id("gala.2")).await, Ok(None));
    assert_eq!(books.cursor().await, Ok(6));
}

#[tokio::test]
async fn booking_is_confirmed_since_the_decision_and_goes_on_saying_so_once_it_is_cancelled() {
    let Some(mut books) = Books::new().await else { return };
    // Whoever follows has a clock that is behind the engine's.
    let decided = |id: &str, status: HoldStatus, at: i64| {
        fact(Moved { decided_at: Time(at), ..moved(id, status, 3) })
    };
    project(&books, 1, vec![held("gala.1", 5)]).await;
    let moves = [
        (HoldStatus::Paying, 6, None),
        (HoldStatus::Confirmed, 7, Some(7)),
        // By another history: the journal was put back from before it was sold.
        (HoldStatus::Held, 8, None),
        (HoldStatus::Expired, 9, None),
        (HoldStatus::Confirmed, 10, Some(10)),
        (HoldStatus::Cancelled, 11, Some(10)),
        // Another hold with its id, once the rules have forgotten it.
        (HoldStatus::Confirmed, 12, Some(10)),
    ];
    for (cursor, (status, at, confirmed_at)) in (2..).zip(moves) {
        project(&books, cursor, vec![decided("gala.1", status, at)]).await;
        let row = booking_of(&books, "gala.1").await;
        assert_eq!(row.confirmed_at, confirmed_at.map(Time), "{status} at {at}");
    }
    // The same on one page.
    let whole = [(HoldStatus::Confirmed, 7), (HoldStatus::Cancelled, 8)];
    let whole = whole.map(|(status, at)| decided("gala.2", status, at));
    let check_in = Fact::CheckedIn { booking: booking_id("gala.3"), at: Time(9) };
    let sold = vec![held("gala.3", 5), decided("gala.3", HoldStatus::Confirmed, 8), check_in];
    project(&books, 9, [vec![held("gala.2", 5)], whole.into(), sold].concat()).await;
    books.reopen().await;
    for (id, confirmed_at) in [("gala.1", 10), ("gala.2", 7), ("gala.3", 8)] {
        let row = booking_of(&books, id).await;
        assert_eq!(row.confirmed_at, Some(Time(confirmed_at)), "{id}");
    }
}

#[tokio::test]
async fn saga_is_woken_at_once_unless_it_is_due_earlier() {
    let Some(books) = Books::new().await else { return };
    let rows = [("gala.later", Some(90)), ("gala.never", None), ("gala.due", Some(3))];
    for (id, next_at) in rows {
        let row = Saga { next_at: next_at.map(Time), ..saga(id, 2) };
        books.advance(to(row)).await.expect("written");
    }
    let wake = |id: &str| fact(Moved { wake: true, ..moved(id, HoldStatus::Cancelled, 50) });
    project(&books, 1, vec![wake("gala.later"), wake("gala.never"), wake("gala.due")]).await;
    for (id, next_at) in [("gala.later", 50), ("gala.never", 50), ("gala.due", 3)] {
        let expected = Saga {
            next_at: Some(Time(next_at)),
            // Also where it is due already: who works on it must notice.
            version: 2,
            updated_at: Time(50),
            ..saga(id, 2)
        };
        assert_eq!(saga_of(&books, id).await, expected);
        let history = books.history(&booking_id(id)).await.expect("read");
        assert_eq!((history.len(), history[1].version, history[1].at), (2, 2, Time(50)));
    }
}

/// A saga at this step that is stuck, with a payment under way.
fn stuck(id: &str, step: Step) -> Transition {
    let payments = vec![payment(id, 1, Stage::Captured, 2)];
    let saga = Saga { step, tries: 60, stuck: Some("no gateway".into()), ..saga(id, 2) };
    Transition { payments, ..to(saga) }
}

#[tokio::test]
async fn stuck_saga_is_woken_when_its_booking_ends_and_for_nothing_else() {
    let Some(books) = Books::new().await else { return };
    for (cursor, status) in (1..).zip(HoldStatus::VARIANTS) {
        let id = format!("gala.{status}");
        let row = stuck(&id, Step::Confirmed);
        books.advance(row.clone()).await.expect("written");
        project(&books, cursor, vec![fact(Moved { wake: true, ..moved(&id, *status, 50) })]).await;
        let woken = Saga {
            next_at: Some(Time(50)),
            tries: 0,
            stuck: None,
            version: 2,
            updated_at: Time(50),
            ..row.saga.clone()
        };
        let expected = match status {
            HoldStatus::Cancelled | HoldStatus::Expired => woken,
            HoldStatus::Held
            | HoldStatus::Paying
            | HoldStatus::Confirmed
            | HoldStatus::Released => row.saga,
        };
        assert_eq!(saga_of(&books, &id).await, expected, "{status}");
    }
}

#[tokio::test]
async fn what_an_operator_is_waited_for_outlasts_the_end_of_the_hold_and_used_up_patience_does_not()
{
    let Some(books) = Books::new().await else { return };
    for (cursor, (id, tries, left)) in
        (1..).zip([("gala.seen", 0, Some("twice".to_owned())), ("gala.tried", 60, None)])
    {
        let why = Some("twice".into());
        let saga = Saga { step: Step::ReserveOk, tries, stuck: why, ..saga(id, 2) };
        books.advance(to(saga.clone())).await.expect("written");
        project(&books, cursor, vec![fact(moved(id, HoldStatus::Expired, 50))]).await;
        let (step, updated_at) = (Step::Failed, Time(50));
        let expected =
            Saga { step, tries: 0, stuck: left, version: 2, updated_at, next_at: None, ..saga };
        assert_eq!(saga_of(&books, id).await, expected);
    }
}

#[tokio::test]
async fn stuck_saga_that_has_nothing_to_call_off_or_to_give_back_is_not_woken() {
    let Some(books) = Books::new().await else { return };
    let without = Transition { payments: vec![], ..stuck("gala.none", Step::ReserveOk) };
    let mut void = stuck("gala.void", Step::ReserveOk);
    void.payments[0].stage = Stage::Void;
    let at_its_end = stuck("gala.end", Step::Failed);
    for (cursor, row) in (1..).zip([without, void, at_its_end]) {
        books.advance(row.clone()).await.expect("written");
        let id = row.saga.booking.as_str();
        let wake = Moved { wake: true, ..moved(id, HoldStatus::Expired, 50) };
        project(&books, cursor, vec![fact(wake)]).await;
        assert_eq!(saga_of(&books, id).await, row.saga);
    }
}

#[tokio::test]
async fn saga_is_not_woken_for_the_payment_that_it_has_but_for_another() {
    let Some(books) = Books::new().await else { return };
    let paying = Saga {
        step: Step::PaymentSent,
        payment: Some(payment_id("gala.1", 2)),
        ..saga("gala.1", 2)
    };
    books.advance(to(paying.clone())).await.expect("written");
    let wake = |n| Moved {
        wake: true,
        payment: Some(payment_id("gala.1", n)),
        ..moved("gala.1", HoldStatus::Paying, 50)
    };
    project(&books, 1, vec![fact(wake(2))]).await;
    assert_eq!(saga_of(&books, "gala.1").await, paying);
    project(&books, 2, vec![fact(wake(1))]).await;
    let woken = saga_of(&books, "gala.1").await;
    assert_eq!((woken.version, woken.next_at), (2, Some(Time(50))));
    // Money that was taken is another matter than a payment that begins.
    project(&books, 3, vec![fact(Moved { status: HoldStatus::Confirmed, ..wake(2) })]).await;
    assert_eq!(saga_of(&books, "gala.1").await.version, 3);
}

#[tokio::test]
async fn hold_that_ends_unpaid_after_all_ends_its_saga() {
    let Some(books) = Books::new().await else { return };
    let ends = [
        (HoldStatus::Confirmed, Step::Confirmed),
        (HoldStatus::Released, Step::Failed),
        (HoldStatus::Expired, Step::Failed),
    ];
    for (cursor, (status, step)) in (1..).zip(ends) {
        let id = format!("gala.{status}");
        books.advance(to(saga(&id, 5))).await.expect("written");
        project(&books, cursor, vec![held(&id, 5), fact(moved(&id, status, 9))]).await;
        let expected =
            Saga { step, version: 2, updated_at: Time(9), next_at: None, ..saga(&id, 5) };
        assert_eq!(saga_of(&books, &id).await, expected);
        let history = books.history(&booking_id(&id)).await.expect("read");
        assert_eq!((history.len(), history[1].step, history[1].version), (2, step, 2));
    }
    assert_eq!(books.next_due().await, Ok(None));
}

#[tokio::test]
async fn saga_beyond_its_reservation_is_left_alone_without_a_call() {
    let Some(books) = Books::new().await else { return };
    let steps = [
        Step::ReserveSent,
        Step::PaymentSent,
        Step::PaymentOk,
        Step::Confirmed,
        Step::Compensating,
        Step::Failed,
    ];
    for (n, step) in steps.into_iter().enumerate() {
        let row = Saga { step, ..saga(&format!("gala.{n}"), 5) };
        books.advance(to(row.clone())).await.expect("written");
        let moved = |status: &HoldStatus| fact(moved(row.booking.as_str(), *status, 9));
        let facts = HoldStatus::VARIANTS.iter().map(moved).collect();
        project(&books, n as u64 + 1, facts).await;
        assert_eq!(saga_of(&books, row.booking.as_str()).await, row);
    }
    let reserved = saga("gala.held", 5);
    books.advance(to(reserved.clone())).await.expect("written");
    let facts = [HoldStatus::Cancelled, HoldStatus::Paying, HoldStatus::Held]
        .map(|status| fact(moved("gala.held", status, 9)));
    project(&books, 99, facts.into()).await;
    assert_eq!(saga_of(&books, "gala.held").await, reserved);
}

#[tokio::test]
async fn saga_that_ends_with_a_stray_payment_is_still_looked_at() {
    let Some(books) = Books::new().await else { return };
    for (id, stage) in [("gala.stray", Stage::Captured), ("gala.void", Stage::Void)] {
        let row = Transition { payments: vec![payment(id, 1, stage, 6)], ..to(saga(id, 5)) };
        books.advance(row).await.expect("written");
    }
    let ends = ["gala.stray", "gala.void"].map(|id| fact(moved(id, HoldStatus::Expired, 9)));
    project(&books, 1, ends.into()).await;
    let stray = saga_of(&books, "gala.stray").await;
    assert_eq!((stray.step, stray.next_at), (Step::Failed, Some(Time(9))));
    let void = saga_of(&books, "gala.void").await;
    assert_eq!((void.step, void.next_at), (Step::Failed, None));
}

/// As it is where the ledger was lost, or put back from before the payment.
#[tokio::test]
async fn saga_that_lacks_the_payment_its_booking_was_confirmed_with_is_looked_at() {
    let Some(books) = Books::new().await else { return };
    let paid = |id: &str, n| {
        let payment = Some(payment_id(id, n));
        fact(Moved { payment, ..moved(id, HoldStatus::Confirmed, 9) })
    };
    let mut cursor = 0;
    let mut project = async |facts: Vec<Fact>| {
        cursor += 1;
        project(&books, cursor, facts).await;
    };
    // None was begun, so far as anybody knows.
    project(vec![held("gala.new", 5), paid("gala.new", 1)]).await;
    let begun = saga_of(&books, "gala.new").await;
    assert_eq!((begun.step, begun.next_at), (Step::ReserveOk, Some(Time(9))));
    // One is to be looked at, one waits, and one was thought to be over.
    for (id, step, next_at) in [
        ("gala.due", Step::ReserveOk, Some(Time(3))),
        ("gala.held", Step::ReserveOk, Some(Time(90))),
        ("gala.over", Step::Failed, None),
    ] {
        let row = Saga { step, next_at, ..saga(id, 2) };
        books.advance(to(row.clone())).await.expect("written");
        project(vec![paid(id, 1)]).await;
        let next_at = Some(next_at.map_or(Time(9), |at| at.min(Time(9))));
        let step = Step::ReserveOk;
        let expected = Saga { step, next_at, version: 2, updated_at: Time(9), ..row };
        assert_eq!(saga_of(&books, id).await, expected);
    }
    // Whoever is at a payment finds out by that, and what is known is no news.
    for (id, step, n) in [
        ("gala.paying", Step::PaymentSent, 2),
        ("gala.sold", Step::Confirmed, 1),
        ("gala.back", Step::Failed, 1),
    ] {
        let row = Saga { step, payment: Some(payment_id(id, n)), ..saga(id, 2) };
        books.advance(to(row.clone())).await.expect("written");
        project(vec![paid(id, 1)]).await;
        assert_eq!(saga_of(&books, id).await, row);
    }
}

#[tokio::test]
async fn every_check_in_counts() {
    let Some(books) = Books::new().await else { return };
    let check_in = |at| Fact::CheckedIn { booking: booking_id("gala.1"), at: Time(at) };
    project(&books, 1, vec![held("gala.1", 5), check_in(8)]).await;
    project(&books, 2, vec![check_in(9)]).await;
    let booking = booking_of(&books, "gala.1").await;
    assert_eq!((booking.checked_in, booking.updated_at), (2, Time(9)));
}

#[tokio::test]
async fn page_that_cannot_be_written_leaves_the_cursor_where_it_was() {
    let Some(books) = Books::new().await else { return };
    let impossible =
        Fact::Price { event: event("gala"), kind: "neither", name: "ga".into(), price_minor: 1 };
    let whole = Projection { after: 0, ..page(2, vec![held("gala.1", 5), impossible]) };
    let outcome = books.project(whole).await;
    assert!(matches!(outcome, Err(LedgerError::Unavailable(_))), "{outcome:?}");
    assert_eq!(books.cursor().await, Ok(0));
    assert_eq!(books.booking(&booking_id("gala.1")).await, Ok(None));
    assert_eq!(books.saga_record(&booking_id("gala.1")).await, Ok(None));
}
