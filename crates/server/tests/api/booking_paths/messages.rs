//! Messages of the gateway over the inherited paths: forged, about another payment, repeated.

use super::{FAILURE, SUCCESS, available, s3_shop};
use crate::client::Request;
use crate::sandboxed::now_s;
use onrush_base::signature::sign;
use serde_json::json;

/// Trap: webhooks check no signature.
#[tokio::test]
async fn a_message_that_is_not_signed_by_the_gateway_changes_nothing() {
    let sandboxed = s3_shop(json!({})).await;
    let shop = &sandboxed.shop;
    let guest = shop.guest().await;
    guest.take("A-1").await;
    let (_, payment, booking) = guest.begin().await;
    // Whoever looks after sagas may look again meanwhile; what was paid may not change by it.
    let money = async || {
        let record =
            shop.admin("GET", &format!("/sagas/{booking}")).send().await.expect(200).json();
        (
            record["saga"]["current_step"].clone(),
            record["payments"].clone(),
            record["refunds"].clone(),
        )
    };
    let (before, owed) = (shop.committed(), money().await);
    for (path, kind) in [(SUCCESS, "payment.captured"), (FAILURE, "payment.declined")] {
        let message = sandboxed.message(kind, &payment, &booking, 2_500);
        let plain = Request::new(shop.server.public_addr(), "POST", path).body(message.clone());
        let answer = plain.send().await;
        assert_eq!(answer.problem(), (400, "WEBHOOK_NOT_GENUINE".into()));
        let other = sandboxed.message(kind, &payment, &booking, 2_501);
        let secret = b"the webhooks' secret in tests";
        for signature in [
            sign(b"another secret", &message, now_s()),
            sign(secret, &other, now_s()),
            sign(secret, &message, now_s() - 301),
            "t=1".to_owned(),
        ] {
            let answer = sandboxed.tell_signed(path, &message, &signature).await;
            assert_eq!(answer.problem(), (400, "WEBHOOK_NOT_GENUINE".into()), "{signature}");
        }
    }
    assert_eq!(shop.committed(), before);
    assert_eq!(money().await, owed);
    assert_eq!(guest.stands().await["state"], "payment_pending");
}

/// Trap: webhooks check no payment id.
#[tokio::test]
async fn a_message_about_another_payment_completes_nothing() {
    let sandboxed = s3_shop(json!({})).await;
    let shop = &sandboxed.shop;
    let (ann, bob) = (shop.guest().await, shop.guest().await);
    ann.take("A-1").await;
    bob.take("A-2").await;
    let (_, ann_pays, ann_books) = ann.begin().await;
    let (_, bob_pays, bob_books) = bob.begin().await;
    let unknown = format!("{ann_books}.000000000000");
    for (payment, booking, amount_minor) in [
        (&unknown, &ann_books, 2_500),
        (&bob_pays, &ann_books, 2_500),
        (&ann_pays, &bob_books, 2_500),
        (&ann_pays, &ann_books, 1),
    ] {
        let message = sandboxed.message("payment.captured", payment, booking, amount_minor);
        let answer = sandboxed.tell(SUCCESS, &message).await;
        assert_eq!(answer.problem(), (409, "WEBHOOK_MISMATCH".into()), "{payment} {booking}");
    }
    let message = sandboxed.message("payment.declined", &bob_pays, &ann_books, 2_500);
    assert_eq!(sandboxed.tell(FAILURE, &message).await.status, 409);
    for guest in [&ann, &bob] {
        assert_eq!(guest.stands().await["state"], "payment_pending");
    }
}

#[tokio::test]
async fn a_message_that_comes_twice_counts_once() {
    let sandboxed = s3_shop(json!({})).await;
    let shop = &sandboxed.shop;
    let guest = shop.guest().await;
    guest.take("A-1").await;
    let (_, payment, booking) = guest.begin().await;
    let message = sandboxed.message("payment.captured", &payment, &booking, 2_500);
    sandboxed.tell(SUCCESS, &message).await.expect(200);
    guest.until_state("completed").await;
    let before = shop.committed();
    sandboxed.tell(SUCCESS, &message).await.expect(200);
    // A decline that was overtaken frees nothing any more.
    let stale = sandboxed.message("payment.declined", &payment, &booking, 2_500);
    sandboxed.tell(FAILURE, &stale).await.expect(200);
    assert_eq!(shop.committed(), before);
    assert_eq!(available(shop, "s").await, json!(["A-2", "A-3"]));
    assert_eq!(guest.stands().await["state"], "completed");
}
