//! A gateway that is away: whoever asks again waits for the running attempt, and uses up nobody's patience.

use crate::paying::paid_event;
use crate::shop::Shop;
use crate::stuck::as_if_it_had_died;
use crate::till::{Till, message, send};
use crate::webhooks::shop_with;
use onrush_core::Command;
use onrush_core::ids::{BookingId, UserId};
use onrush_core::saga::{Stage, Step};
use onrush_ledger::money::RefundStatus;
use onrush_ledger::saga::SagaRecord;
use serde_json::json;

/// A shop that gives up after so few failures that any repeat would count.
async fn impatient(till: &Till) -> Shop {
    let shop = Shop::start_with(|config| {
        till.configure(config);
        config.saga.tries = 5;
    })
    .await;
    paid_event(&shop, "e").await;
    shop
}

#[tokio::test]
async fn repeats_of_a_pay_request_do_not_use_up_the_sagas_tries() {
    let till = Till::start();
    let shop = impatient(&till).await;
    let guest = shop.guest().await;
    let booking = guest.hold_ga("h", 1).await;
    till.down(true);
    for repeat in 0..70 {
        // The same request, and another one of the same buyer.
        let key = if repeat % 2 == 0 { "p" } else { "q" };
        let refused = guest.pay(&booking, key).await;
        assert_eq!(refused.problem(), (503, "GATEWAY_UNAVAILABLE".into()), "repeat {repeat}");
        let seconds: u32 = refused.header("retry-after").unwrap().parse().unwrap();
        assert!((1..=60).contains(&seconds), "{refused:?}");
    }
    let record = shop.saga_record(&booking).await;
    assert_eq!(record.saga.stuck, None);
    // The first request asked, and so did whoever the feed woke; time stands still, so it is
    // nobody's turn again.
    assert!(record.saga.tries <= 2, "{:?}", record.saga);
    assert!(till.creates_asked() <= 3, "{}", till.creates_asked());

    till.down(false);
    shop.clock.advance_ms(2_000);
    let is_open =
        |record: &SagaRecord| record.present().is_some_and(|payment| payment.stage == Stage::Open);
    let record = shop.until_record(&booking, is_open).await;
    let payment = record.present().unwrap().payment.to_string();
    let running = guest.pay(&booking, "p").await.expect(200).json();
    assert_eq!(running["payment"], json!(payment));
    till.capture(&payment);
    send(&shop, &message("payment.captured", &running)).await.expect(200);
    shop.until_step(&booking, Step::Confirmed).await;
}

#[tokio::test]
async fn news_of_a_refund_that_come_again_and_again_do_not_use_up_the_sagas_tries() {
    let till = Till::start();
    let shop = impatient(&till).await;
    let (booking, payment) = shop.sell(&till).await;
    till.down(true);
    shop.cancel(&booking).await.expect(200);
    let record = shop.until_record(&booking, |record| record.saga.tries > 0).await;
    let mut told = message("refund.done", &payment);
    told["refund"] = json!(record.refunds[0].refund);
    for _ in 0..20 {
        send(&shop, &told).await.expect(200);
    }
    let record = shop.saga_record(&booking).await;
    assert_eq!((record.saga.stuck, record.saga.tries), (None, 1));
    till.down(false);
    shop.clock.advance_ms(2_000);
    shop.until_step(&booking, Step::Failed).await;
}

#[tokio::test]
async fn news_of_a_refund_wakes_a_saga_that_had_given_up() {
    let till = Till::start();
    let shop = impatient(&till).await;
    let (booking, payment) = shop.sell(&till).await;
    till.down(true);
    shop.cancel(&booking).await.expect(200);
    let record = shop.until_tried(&booking, |record| record.saga.stuck.is_some()).await;
    till.down(false);
    let mut told = message("refund.done", &payment);
    told["refund"] = json!(record.refunds[0].refund);
    send(&shop, &told).await.expect(200);
    let record = shop.until_step(&booking, Step::Failed).await;
    assert_eq!((record.saga.stuck, record.refunds[0].status), (None, RefundStatus::Done));
}

/// As an engine is that lost what it had been told last, although the ledger had passed it.
#[tokio::test]
async fn a_payment_that_the_ledger_has_ended_and_the_engine_runs_is_ended_there_too() {
    for waits in [false, true] {
        let till = Till::start();
        let shop = shop_with(&till).await;
        let guest = shop.guest().await;
        let text = guest.hold_ga("h", 1).await;
        let first = guest.pay(&text, "p").await.expect(201).json();
        send(&shop, &message("payment.declined", &first)).await.expect(200);
        let is_void = |record: &SagaRecord| {
            record.present().is_some_and(|payment| payment.stage == Stage::Void)
        };
        shop.until_record(&text, is_void).await;
        let (booking, user): (BookingId, UserId) =
            (text.parse().unwrap(), guest.user.parse().unwrap());
        let payment = first["payment"].as_str().unwrap().parse().unwrap();
        shop.clock.advance_ms(1);
        as_if_it_had_died(&shop, Command::BeginPayment { booking, user, payment }).await;
        if waits {
            // Recovery finds it by itself, at the latest when the hold has run out.
            shop.clock.advance_ms(700_000);
            shop.server.sagas().look();
            let record = shop.until_step(&text, Step::Failed).await;
            assert_eq!(record.saga.stuck, None);
            let view = guest.booking(&text).await;
            assert_eq!(view["status"], "expired");
            continue;
        }
        let second = guest.pay(&text, "again").await.expect(201).json();
        assert_ne!(second["payment"], first["payment"]);
        till.capture(second["payment"].as_str().unwrap());
        send(&shop, &message("payment.captured", &second)).await.expect(200);
        let record = shop.until_step(&text, Step::Confirmed).await;
        assert_eq!(record.saga.stuck, None);
    }
}
