use super::books::Books;
use crate::rows::{
    booking_id, held, message, next, page, payment, payment_id, refund, saga, to, user,
};
use onrush_core::Time;
use onrush_core::saga::{Stage, Step};
use onrush_ledger::LedgerError;
use onrush_ledger::booking::Buyer;
use onrush_ledger::money::{Capture, OnDecline, Payment, Refund, RefundCause, RefundStatus};
use onrush_ledger::saga::{Saga, Transition};
use std::time::Duration;
use strum::VariantArray;
use tokio::time::timeout;

#[tokio::test]
async fn file_is_read_as_it_was_written() {
    let Some(mut books) = Books::new().await else { return };
    let full = Saga {
        step: Step::Compensating,
        payment_completed_at: Some(Time(7)),
        payment: Some(payment_id("gala.1", 2)),
        next_at: None,
        tries: 3,
        stuck: Some("the gateway knows nothing of it".into()),
        ..saga("gala.1", 5)
    };
    let odd = Payment {
        reference: None,
        url: None,
        client_secret: None,
        captured_minor: 7,
        why: Some("another amount".into()),
        flagged: true,
        on_decline: OnDecline::Release,
        capture: Capture::Later,
        ..payment("gala.1", 2, Stage::Refunding, 6)
    };
    let transition = Transition {
        payments: vec![odd.clone(), payment("gala.1", 1, Stage::Void, 5)],
        refunds: vec![
            refund("gala.1", 2, RefundStatus::Requested, 9),
            refund("gala.1", 1, RefundStatus::Failed, 8),
        ],
        ..to(full.clone())
    };
    assert_eq!(books.saga_record(&booking_id("gala.1")).await, Ok(None));
    books.advance(transition).await.expect("written");
    books.reopen().await;
    let record = books.saga_record(&booking_id("gala.1")).await.expect("read").expect("there");
    assert_eq!(record.saga, full);
    assert_eq!(record.payments, [payment("gala.1", 1, Stage::Void, 5), odd]);
    assert_eq!(
        record.refunds,
        [
            refund("gala.1", 1, RefundStatus::Failed, 8),
            refund("gala.1", 2, RefundStatus::Requested, 9)
        ]
    );
    assert_eq!(books.saga_record(&booking_id("gala.10")).await, Ok(None));
}

#[tokio::test]
async fn every_step_stage_and_status_is_read_back() {
    let Some(books) = Books::new().await else { return };
    let steps = [
        Step::ReserveSent,
        Step::ReserveOk,
        Step::PaymentSent,
        Step::PaymentOk,
        Step::Confirmed,
        Step::Compensating,
        Step::Failed,
    ];
    for (n, step) in steps.into_iter().enumerate() {
        let id = format!("gala.step-{n}");
        books.advance(to(Saga { step, ..saga(&id, 1) })).await.expect("written");
        let record = books.saga_record(&booking_id(&id)).await.expect("read").expect("there");
        assert_eq!(record.saga.step, step);
    }
    let stages = [
        Stage::Creating,
        Stage::Open,
        Stage::Closing,
        Stage::Closed,
        Stage::Void,
        Stage::Captured,
        Stage::Refunding,
        Stage::Returned,
        Stage::Refunded,
    ];
    let statuses =
        [RefundStatus::Requested, RefundStatus::Sent, RefundStatus::Done, RefundStatus::Failed];
    let payments: Vec<_> =
        (1..).zip(stages).map(|(n, stage)| payment("gala.1", n, stage, 1)).collect();
    let mut refunds: Vec<_> =
        (1..).zip(statuses).map(|(n, status)| refund("gala.1", n, status, 1)).collect();
    let done = || refund("gala.1", 5, RefundStatus::Done, 1);
    refunds.extend((5..).zip(RefundCause::VARIANTS).map(|(n, &cause)| Refund {
        refund: format!("refund:gala.1:{n:02}"),
        cause,
        decided_by: Some("bo".into()),
        ..done()
    }));
    refunds.sort_by(|one, other| one.refund.cmp(&other.refund));
    let transition = Transition {
        payments: payments.clone(),
        refunds: refunds.clone(),
        ..to(saga("gala.1", 1))
    };
    books.advance(transition).await.expect("written");
    let record = books.saga_record(&booking_id("gala.1")).await.expect("read").expect("there");
    assert_eq!(record.payments, payments);
    assert_eq!(record.refunds, refunds);
}

#[tokio::test]
async fn transition_from_another_version_is_a_conflict_and_changes_nothing() {
    let Some(books) = Books::new().await else { return };
    let id = booking_id("gala.1");
    let first = saga("gala.1", 5);
    let second = next(&first);
    for version in [0, 2, 3] {
        let early = to(Saga { version, ..first.clone() });
        assert_eq!(books.advance(early).await, Err(LedgerError::Conflict), "version {version}");
        assert_eq!(books.saga_record(&id).await, Ok(None));
    }
    books.advance(to(first.clone())).await.expect("written");
    books.advance(to(second.clone())).await.expect("written");
    let before = books.saga_record(&id).await;
    for version in [0, 1, 2, 4, u64::MAX] {
        let stale = Transition {
            payments: vec![payment("gala.1", 1, Stage::Captured, 6)],
            buyer: Some(Buyer { name: "Bo".into(), ..Buyer::default() }),
            messages: vec![message("m", 6, &["mail"])],
            ..to(Saga { version, step: Step::Failed, ..second.clone() })
        };
        assert_eq!(books.advance(stale).await, Err(LedgerError::Conflict), "version {version}");
    }
    assert_eq!(books.saga_record(&id).await, before);
    assert_eq!(books.buyer(&id).await, Ok(None));
    assert_eq!(books.deliveries("mail", Time(1_000), 9).await, Ok(vec![]));
    assert_eq!(books.history(&id).await.expect("read").len(), 2);
    books.advance(to(next(&second))).await.expect("written");
}

#[tokio::test]
async fn one_of_many_concurrent_transitions_wins() {
    let Some(books) = Books::new().await else { return };
    let mut latest = saga("gala.1", 5);
    books.advance(to(latest.clone())).await.expect("written");
    for _ in 0..20 {
        let after = next(&latest);
        let pending: Vec<_> = (0..16)
            .map(|racer| {
                let note = format!("racer {racer}");
                tokio::spawn(books.advance(Transition { note, ..to(after.clone()) }))
            })
            .collect();
        let mut winners = 0;
        for racer in pending {
            match racer.await.expect("no panic") {
                Ok(()) => winners += 1,
                Err(error) => assert_eq!(error, LedgerError::Conflict),
            }
        }
        assert_eq!(winners, 1);
        latest = after;
    }
    assert_eq!(books.history(&latest.booking).await.expect("read").len(), 21);
}

#[tokio::test]
async fn payments_and_refunds_are_replaced_by_their_ids() {
    let Some(books) = Books::new().await else { return };
    let first = saga("gala.1", 5);
    let begun = Transition {
        payments: vec![payment("gala.1", 1, Stage::Creating, 5)],
        ..to(first.clone())
    };
    books.advance(begun).await.expect("written");
    let second = next(&first);
    let requested = Transition {
        payments: vec![payment("gala.1", 1, Stage::Captured, 6)],
        refunds: vec![refund("gala.1", 1, RefundStatus::Requested, 6)],
        ..to(second.clone())
    };
    books.advance(requested).await.expect("written");
    let done = Transition {
        refunds: vec![refund("gala.1", 1, RefundStatus::Done, 7)],
        ..to(next(&second))
    };
    books.advance(done).await.expect("written");
    let record = books.saga_record(&first.booking).await.expect("read").expect("there");
    assert_eq!(record.payments, [payment("gala.1", 1, Stage::Captured, 6)]);
    assert_eq!(record.refunds, [refund("gala.1", 1, RefundStatus::Done, 7)]);
}

#[tokio::test]
async fn transition_brings_buyer_and_messages() {
    let Some(books) = Books::new().await else { return };
    let ann = Buyer { name: "Ann".into(), email: "ann@example.org".into(), language: "en".into() };
    let transition = Transition {
        buyer: Some(ann.clone()),
        messages: vec![message("m", 6, &["mail"])],
        ..to(saga("gala.1", 5))
    };
    books.advance(transition).await.expect("written");
    assert_eq!(books.buyer(&booking_id("gala.1")).await, Ok(Some(ann)));
    assert_eq!(books.next_delivery("mail").await, Ok(Some(Time(6))));
}

#[tokio::test]
async fn due_sagas_come_the_most_overdue_first_and_stuck_ones_never() {
    let Some(books) = Books::new().await else { return };
    assert_eq!(books.next_due().await, Ok(None));
    let rows = [
        ("gala.late", Some(30), None),
        ("gala.stuck", Some(1), Some("no gateway")),
        ("gala.soon", Some(20), None),
        ("gala.never", None, None),
        ("gala.first", Some(10), None),
    ];
    for (id, next_at, stuck) in rows {
        let row = Saga { next_at: next_at.map(Time), stuck: stuck.map(Into::into), ..saga(id, 5) };
        books.advance(to(row)).await.expect("written");
    }
    let due = async |at, limit| books.due(Time(at), limit).await.expect("read");
    assert_eq!(due(9, 9).await, []);
    assert_eq!(due(10, 9).await, [booking_id("gala.first")]);
    assert_eq!(due(99, 9).await, ["gala.first", "gala.soon", "gala.late"].map(booking_id));
    assert_eq!(due(99, 2).await, ["gala.first", "gala.soon"].map(booking_id));
    assert_eq!(books.next_due().await, Ok(Some(Time(10))));

    let done = Saga { next_at: None, version: 2, ..saga("gala.first", 5) };
    books.advance(to(done)).await.expect("written");
    assert_eq!(books.next_due().await, Ok(Some(Time(20))));
    assert_eq!(due(99, 9).await, ["gala.soon", "gala.late"].map(booking_id));
}

/// What is tried again and again in an outage has one line.
#[tokio::test]
async fn transition_that_says_nothing_has_no_line_in_the_history() {
    let Some(books) = Books::new().await else { return };
    let first = saga("gala.1", 5);
    books.advance(to(first.clone())).await.expect("written");
    let silent = Transition { note: String::new(), ..to(next(&first)) };
    books.advance(silent.clone()).await.expect("written");
    books.advance(to(next(&silent.saga))).await.expect("it is the version after that");
    let history = books.history(&first.booking).await.expect("read");
    assert_eq!(history.iter().map(|line| line.version).collect::<Vec<_>>(), [1, 3]);
}

#[tokio::test]
async fn history_has_a_line_for_each_transition() {
    let Some(books) = Books::new().await else { return };
    let id = booking_id("gala.1");
    assert_eq!(books.history(&id).await, Ok(vec![]));
    let first = saga("gala.1", 5);
    books.advance(to(first.clone())).await.expect("written");
    let second =
        Saga { step: Step::PaymentSent, payment: Some(payment_id("gala.1", 1)), ..next(&first) };
    let paying = Transition {
        payments: vec![payment("gala.1", 1, Stage::Creating, 6)],
        ..to(second.clone())
    };
    books.advance(paying).await.expect("written");
    // The stage of a payment that stays as it was is known too.
    books.advance(to(next(&second))).await.expect("written");
    let lines: Vec<_> = books
        .history(&id)
        .await
        .expect("read")
        .into_iter()
        .map(|line| (line.version, line.at.0, line.step, line.stage, line.note))
        .collect();
    let creating = Some(Stage::Creating);
    assert_eq!(
        lines,
        [
            (1, 5, Step::ReserveOk, None, "version 1".to_owned()),
            (2, 6, Step::PaymentSent, creating, "version 2".to_owned()),
            (3, 7, Step::PaymentSent, creating, "version 3".to_owned()),
        ]
    );
}

#[tokio::test]
async fn transition_against_the_rules_of_the_tables_fails_alone_and_whole() {
    let Some(books) = Books::new().await else { return };
    let wrong = Transition {
        payments: vec![Payment { captured_minor: -1, ..payment("gala.bad", 1, Stage::Void, 5) }],
        ..to(saga("gala.bad", 5))
    };
    // Asked at once, so that they meet in one transaction.
    let mut good = Vec::new();
    for n in 0..50 {
        good.push(books.advance(to(saga(&format!("gala.{n}"), 5))));
    }
    let wrong = books.advance(wrong);
    for n in 50..100 {
        good.push(books.advance(to(saga(&format!("gala.{n}"), 5))));
    }
    assert!(matches!(wrong.await, Err(LedgerError::Unavailable(_))));
    for pending in good {
        pending.await.expect("written");
    }
    assert_eq!(books.saga_record(&booking_id("gala.bad")).await, Ok(None));
    assert_eq!(books.totals().await.expect("read").open_sagas, 100);
}

#[tokio::test]
async fn what_is_dropped_unawaited_is_done_all_the_same() {
    let Some(books) = Books::new().await else { return };
    drop(books.advance(to(saga("gala.1", 5))));
    drop(books.set_buyer(&booking_id("gala.1"), &user("ann"), Buyer::default()));
    drop(books.project(page(1, vec![held("gala.2", 5)])));
    let written = async {
        while books.saga_record(&booking_id("gala.1")).await.expect("read").is_none()
            || books.buyer(&booking_id("gala.1")).await.expect("read").is_none()
            || books.cursor().await.expect("read") == 0
        {
            tokio::task::yield_now().await;
        }
    };
    timeout(Duration::from_secs(20), written).await.expect("written");
}
