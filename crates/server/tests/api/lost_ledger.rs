//! Payments that the ledger has lost, while the journal knows what they bought.

use crate::books::audited;
use crate::desk::sold;
use crate::money_admin::until;
use crate::receipts::{issued, seller};
use crate::sandboxed::{Sandboxed, sandboxed};
use crate::shop::Shop;
use crate::till::Till;
use crate::webhooks::{AMOUNT_MINOR, shop_with};
use onrush_base::config::{Accept, Config};
use onrush_core::saga::{Stage, Step};
use onrush_ledger::receipt::ReceiptRule;
use onrush_ledger::saga::SagaRecord;
use onrush_saga::Action;
use serde_json::{Value, json};
use std::fs;
use std::io::ErrorKind;

/// What goes back of [`AMOUNT_MINOR`].
const PART_MINOR: i64 = 2_000;

/// The same shop, accepted without its ledger.
async fn without_its_ledger(shop: Shop, till: &Till) -> Shop {
    without_its_ledger_and(shop, |config| till.configure(config)).await
}

/// The same with these settings.
async fn without_its_ledger_and(shop: Shop, change: impl FnOnce(&mut Config)) -> Shop {
    let Shop { server, clock, dir } = shop;
    server.shutdown().await;
    for name in ["ledger.db", "ledger.db-wal", "ledger.db-shm"] {
        if let Err(error) = fs::remove_file(dir.path().join(name)) {
            assert_eq!(error.kind(), ErrorKind::NotFound, "{name}: {error}");
        }
    }
    Shop::start_in(dir, clock, |config| {
        config.accept_restored = Accept::Everything;
        change(config);
    })
    .await
}

fn has_given_back(record: &SagaRecord) -> bool {
    record.saga.step == Step::Failed && !record.refunds.is_empty()
}

#[tokio::test]
async fn a_booking_whose_payment_the_ledger_lost_is_refunded_when_it_is_cancelled() {
    let till = Till::start();
    let shop = shop_with(&till).await;
    let (booking, payment) = shop.sell(&till).await;
    let sold_at = shop.clock.now();
    let row = async |shop: &Shop| {
        let is_sold = |page: &Value| page["bookings"][0].is_object();
        until(shop, "/bookings?status=confirmed", is_sold).await["bookings"][0].clone()
    };
    let before = row(&shop).await;
    assert_eq!(before["confirmed_at"], sold_at.0);
    shop.clock.advance_ms(3_600_000);
    let shop = without_its_ledger(shop, &till).await;
    shop.until_step(&booking, Step::Confirmed).await;
    assert_eq!(row(&shop).await, before, "the journal tells the same again");
    shop.cancel(&booking).await.expect(200);
    let record = shop.until_record(&booking, has_given_back).await;
    let paid = record.present().expect("the gateway told of it");
    assert_eq!(paid.payment.as_str(), payment["payment"]);
    assert_eq!((paid.stage, paid.captured_minor), (Stage::Refunded, AMOUNT_MINOR));
    assert_eq!(record.saga.payment_completed_at, Some(sold_at));
    assert_eq!((till.totals(), till.calls().0), ((AMOUNT_MINOR, AMOUNT_MINOR), 1));
    let told = audited(shop.dir.path()).await;
    assert_eq!(told["violations"], 0, "{told}");
}

#[tokio::test]
async fn a_booking_that_was_cancelled_before_the_ledger_was_lost_is_refunded_all_the_same() {
    // The engine forgets what has ended after a day.
    for hours in [0, 25] {
        let till = Till::start();
        let shop = shop_with(&till).await;
        let (booking, _) = shop.sell(&till).await;
        till.down(true);
        let body = json!({"by": "crew", "why": "rain", "refund_minor": PART_MINOR});
        shop.organise("POST", &format!("/events/e/bookings/{booking}/cancel"), &body).await;
        shop.clock.advance_ms(hours * 3_600_000);
        let shop = without_its_ledger(shop, &till).await;
        till.down(false);
        // The gateway may have been asked in vain before.
        let record = shop.until_tried(&booking, has_given_back).await;
        assert_eq!(record.refunds[0].amount_minor, PART_MINOR);
        assert_eq!(till.totals(), (AMOUNT_MINOR, PART_MINOR));
    }
}

/// The desk's part is lost with the ledger, so that all of it is asked for, under the key of the rest.
#[tokio::test]
async fn a_rest_beside_what_the_desk_gave_back_is_not_given_back_again_once_the_ledger_is_lost() {
    let (back_minor, desk_minor) = (1_000, 400);
    let at = Sandboxed::start(|_| {}).await;
    let (booking, payment) = sold(&at).await;
    let body = json!({"do": "refund", "amount_minor": desk_minor});
    at.desk(&payment, &body).await.expect(200);
    let is_flagged = |record: &SagaRecord| record.present().is_some_and(|row| row.flagged);
    at.shop.until_record(&booking, is_flagged).await;
    let body = json!({"why": "rain", "refund_minor": back_minor});
    at.shop.organise("POST", &format!("/events/e/bookings/{booking}/cancel"), &body).await;
    at.shop.until_step(&booking, Step::Failed).await;
    assert_eq!(at.totals().await, (AMOUNT_MINOR, back_minor - desk_minor));

    let at = Sandboxed { shop: without_its_ledger_and(at.shop, sandboxed).await };
    let is_over = |record: &SagaRecord| record.saga.stuck.is_some() || has_given_back(record);
    let record = at.shop.until_tried(&booking, is_over).await;
    assert_eq!(at.totals().await, (AMOUNT_MINOR, back_minor - desk_minor), "{record:?}");
    let why = record.saga.stuck.unwrap_or_default();
    assert!(why.contains("KEY_REUSED"), "{why}");

    // There is no other key to ask under: only an operator who has looked ends it.
    let still = at.shop.act(&booking, Action::Retry).await.expect("it is stuck");
    assert!(still.saga.stuck.is_some(), "{still:?}");
    assert_eq!(at.totals().await, (AMOUNT_MINOR, back_minor - desk_minor));
    at.shop.act(&booking, Action::Release).await.expect("it is stuck");
    let record = at.shop.until_step(&booking, Step::Failed).await;
    assert_eq!(at.totals().await, (AMOUNT_MINOR, back_minor - desk_minor), "{record:?}");
}

/// The booking is told of long before its payment is found.
#[tokio::test]
async fn a_payment_that_was_lost_and_found_has_a_receipt_without_another_start() {
    let till = Till::start();
    let shop = shop_with(&till).await;
    let (booking, _) = shop.sell(&till).await;
    till.down(true);
    let with_seller = |config: &mut Config| {
        till.configure(config);
        config.seller = Some(seller());
    };
    let shop = without_its_ledger_and(shop, with_seller).await;
    shop.until_record(&booking, |record| record.saga.tries > 0).await;
    till.down(false);
    shop.until_tried_to(&booking, Step::Confirmed).await;
    let receipts = issued(&shop, 1).await;
    assert_eq!(receipts[0]["booking"], booking);
    assert_eq!(receipts[0]["amount_minor"], AMOUNT_MINOR);
    let event = "e".parse().unwrap();
    let open = shop.server.ledger().open_money(&event, ReceiptRule::EVERY).await.unwrap();
    assert_eq!(open.without_document, 0, "its event may be archived");
}

/// As programs before this one left it: confirmed as if the box office had been paid.
#[tokio::test]
async fn a_payment_that_was_taken_for_a_box_offices_is_looked_for_when_its_booking_is_cancelled() {
    let till = Till::start();
    let shop = shop_with(&till).await;
    let (booking, _) = shop.sell(&till).await;
    let Shop { server, clock, dir } = shop;
    server.shutdown().await;
    let ledger = rusqlite::Connection::open(dir.path().join("ledger.db")).unwrap();
    ledger.execute_batch("UPDATE sagas SET payment_id = NULL; DELETE FROM payments").unwrap();
    drop(ledger);
    let shop = Shop::start_in(dir, clock, |config| till.configure(config)).await;
    shop.cancel(&booking).await.expect(200);
    shop.until_record(&booking, has_given_back).await;
    assert_eq!(till.totals(), (AMOUNT_MINOR, AMOUNT_MINOR));
}

#[tokio::test]
async fn a_lost_payment_that_the_gateway_does_not_know_waits_for_an_operator() {
    let (till, other) = (Till::start(), Till::start());
    let shop = shop_with(&till).await;
    let (booking, payment) = shop.sell(&till).await;
    let shop = without_its_ledger(shop, &other).await;
    let record = shop.until_record(&booking, |record| record.saga.stuck.is_some()).await;
    let why = record.saga.stuck.unwrap_or_default();
    assert!(why.contains(payment["payment"].as_str().unwrap()), "{why}");
    assert!(record.payments.is_empty(), "nothing is made up: {:?}", record.payments);
    let still = shop.act(&booking, Action::Retry).await.expect("it is stuck");
    assert!(still.saga.stuck.is_some());
    shop.act(&booking, Action::Release).await.expect("it is stuck");
    let record = shop.until_step(&booking, Step::Failed).await;
    assert_eq!((record.saga.stuck, other.totals()), (None, (0, 0)));
}
