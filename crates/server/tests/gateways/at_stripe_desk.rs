//! What happens at Stripe's own desk: second payments, refunds and disputes that nobody here asked for.

use crate::at_stripe::{StripeShop, paying};
use crate::fake_stripe::signed;
use onrush_core::saga::Step;
use serde_json::{Value, json};

/// A shop with one booking that is paid for: the booking and the payment's id.
async fn sold() -> (StripeShop, String, String) {
    let at = StripeShop::start().await;
    at.sell(10).await;
    let (booking, payment) = paying(&at.shop.guest().await, "k").await;
    assert!(at.fake.pay(&payment));
    at.bring_from(0).await;
    at.until(&booking, |record| record.saga.step == Step::Confirmed).await;
    (at, booking, payment)
}

async fn entries(at: &StripeShop) -> Vec<Value> {
    let list = at.shop.admin("GET", "/desk").send().await.expect(200).json();
    list["entries"].as_array().unwrap().clone()
}

async fn flagged(at: &StripeShop) -> Vec<String> {
    let list = at.shop.admin("GET", "/payments?flagged=true").send().await.expect(200).json();
    let rows = list["payments"].as_array().unwrap();
    rows.iter().map(|row| row["payment"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_second_payment_for_the_same_booking_is_seen_and_flagged() {
    let (at, booking, payment) = sold().await;
    assert_eq!(entries(&at).await, Vec::<Value>::new());
    let told = at.fake.events().len();
    at.fake.pay_again(&payment);
    // It comes twice, as messages do.
    at.bring_from(told).await;
    at.bring_from(told).await;
    let list = entries(&at).await;
    let [entry] = &list[..] else { panic!("not one: {list:?}") };
    assert_eq!(entry["kind"], "second_payment");
    assert_eq!((&entry["booking"], &entry["payment"]), (&json!(booking), &json!(payment)));
    assert_eq!((&entry["amount_minor"], &entry["currency"]), (&json!(2_500), &json!("EUR")));
    assert_eq!((&entry["status"], &entry["reference"]), (&json!("moved"), &json!("pi_1")));
    assert_eq!(flagged(&at).await, [payment]);
    let record = at.saga_record(&booking).await;
    assert_eq!(
        (record.saga.step, record.present().unwrap().captured_minor),
        (Step::Confirmed, 2_500)
    );
    let history = at.shop.server.ledger().history(&record.saga.booking).await.unwrap();
    assert!(history.iter().any(|line| line.note.contains("25.00 EUR")), "{history:?}");
}

#[tokio::test]
async fn a_refund_at_the_desk_is_seen_once_and_takes_no_ticket_away() {
    let (at, booking, payment) = sold().await;
    let told = at.fake.events().len();
    at.fake.refund_at_desk(&payment, 2_500);
    at.fake.tell_of_refunds(&payment);
    at.bring_from(told).await;
    at.bring_from(told).await;
    let list = entries(&at).await;
    let [entry] = &list[..] else { panic!("not one: {list:?}") };
    assert_eq!((&entry["kind"], &entry["status"]), (&json!("refund"), &json!("moved")));
    assert_eq!((&entry["amount_minor"], &entry["payment"]), (&json!(2_500), &json!(payment)));
    assert_eq!(flagged(&at).await, [payment]);
    assert_eq!(at.saga_record(&booking).await.saga.step, Step::Confirmed);

    // The operator says what was done about it.
    let path = format!("/desk/{}/settle", entry["entry"].as_str().unwrap());
    let seen_at = entry["updated_at"].as_i64().unwrap();
    let body = json!({"by": "ann", "why": "the buyer keeps the ticket", "updated_at": seen_at});
    // There was news since another one of them read it.
    let stale = json!({"why": "the buyer keeps the ticket", "updated_at": seen_at - 1});
    let refused = at.shop.admin("POST", &path).json(&stale).send().await;
    assert_eq!(refused.problem(), (409, "MONEY_UNDER_WAY".into()));
    assert_eq!(entries(&at).await[0].get("settled_at"), None);
    let settled = at.shop.admin("POST", &path).json(&body).send().await.expect(200).json();
    assert_eq!((&settled["settled_by"], &settled["settled_why"]), (&json!("admin"), &body["why"]));
    let open = at.shop.admin("GET", "/desk?open=true").send().await.expect(200).json();
    assert_eq!(open["entries"], json!([]));
    let missing = at.shop.admin("POST", "/desk/stripe.re_99/settle").json(&body).send().await;
    assert_eq!(missing.problem(), (404, "DESK_ENTRY_NOT_FOUND".into()));
}

#[tokio::test]
async fn an_account_that_tells_of_charges_only_is_asked_for_its_refunds() {
    let (at, _, payment) = sold().await;
    at.fake.refund_at_desk(&payment, 1_000);
    let told = at.fake.events().len();
    at.fake.tell_of_refunds(&payment);
    at.bring_from(told).await;
    let list = entries(&at).await;
    let [entry] = &list[..] else { panic!("not one: {list:?}") };
    assert_eq!((&entry["kind"], &entry["amount_minor"]), (&json!("refund"), &json!(1_000)));
}

#[tokio::test]
async fn a_second_payments_refund_is_seen_although_the_first_one_went_back_as_well() {
    let (at, booking, payment) = sold().await;
    // What tells of the second payment itself comes last.
    at.fake.pay_again(&payment);
    let path = format!("/events/e/bookings/{booking}/cancel");
    let body = json!({"by": "ann", "why": "rain"});
    at.shop.admin("POST", &path).json(&body).send().await.expect(200);
    at.until(&booking, |record| record.saga.step == Step::Failed).await;
    at.fake.refund_at_desk(&payment, 2_500);
    let told = at.fake.events().len();
    at.fake.tell_of_refunds(&payment);
    at.bring_from(told).await;
    let kinds: Vec<Value> = entries(&at).await.iter().map(|entry| entry["kind"].clone()).collect();
    assert!(kinds.contains(&json!("refund")), "{kinds:?}");
}

#[tokio::test]
async fn a_dispute_is_seen_when_it_begins_and_when_it_is_decided() {
    let (at, booking, payment) = sold().await;
    let told = at.fake.events().len();
    at.fake.dispute(&payment, "fraudulent");
    at.bring_from(told).await;
    let list = entries(&at).await;
    let [entry] = &list[..] else { panic!("not one: {list:?}") };
    assert_eq!((&entry["kind"], &entry["status"]), (&json!("dispute"), &json!("open")));
    assert!(entry["why"].as_str().unwrap().contains("fraudulent"), "{entry}");
    at.fake.close_dispute("lost");
    at.bring_from(told + 1).await;
    // What was told before does not undo it.
    at.bring_from(told).await;
    let list = entries(&at).await;
    let [entry] = &list[..] else { panic!("not one: {list:?}") };
    assert_eq!((&entry["kind"], &entry["status"]), (&json!("dispute"), &json!("moved")));
    assert_eq!(at.saga_record(&booking).await.saga.step, Step::Confirmed);
}

#[tokio::test]
async fn an_inquiry_that_becomes_a_dispute_is_told_as_one() {
    let (at, _, payment) = sold().await;
    let told = at.fake.events().len();
    at.fake.dispute(&payment, "fraudulent");
    let dispute = at.fake.events().remove(told);
    let with = |status: &str| {
        let mut event: Value = serde_json::from_slice(&dispute.body).unwrap();
        event["id"] = json!(format!("evt_{status}"));
        event["data"]["object"]["status"] = json!(status);
        signed(&event)
    };
    // A bank asks, and takes nothing yet; the operator answers, and the bank is not content.
    at.bring(&with("warning_needs_response")).await.expect(200);
    at.bring(&with("warning_under_review")).await.expect(200);
    let open = at.shop.admin("GET", "/desk?open=true").send().await.expect(200).json();
    let path = format!("/desk/{}/settle", open["entries"][0]["entry"].as_str().unwrap());
    let body = json!({"by": "ann", "why": "the bank was answered"});
    at.shop.admin("POST", &path).json(&body).send().await.expect(200);
    at.bring(&with("warning_closed")).await.expect(200);
    at.bring(&dispute).await.expect(200);
    let open = at.shop.admin("GET", "/desk?open=true").send().await.expect(200).json();
    let entries = open["entries"].as_array().unwrap();
    let is_new = |entry: &&Value| {
        entry["status"] == "open" && entry["why"].as_str().unwrap().starts_with("needs_response")
    };
    assert_eq!(entries.iter().filter(is_new).count(), 1, "{open}");
}

#[tokio::test]
async fn a_refund_at_the_desk_is_seen_although_a_second_payment_went_back_before() {
    let (at, _, payment) = sold().await;
    let told = at.fake.events().len();
    at.fake.refund_at_desk(&payment, 2_500);
    at.fake.tell_of_refunds(&payment);
    let of_first = at.fake.events().remove(told + 1);
    at.fake.pay_again(&payment);
    at.fake.refund_at_desk(&payment, 2_500);
    let told = at.fake.events().len();
    at.fake.tell_of_refunds(&payment);
    at.bring_from(told).await;
    assert_eq!(entries(&at).await.len(), 1, "the second payment's");
    at.bring(&of_first).await.expect(200);
    assert_eq!(entries(&at).await.len(), 2, "and that of the booking's own");
}

#[tokio::test]
async fn refunds_of_our_own_and_what_others_do_at_the_account_are_nobodys_news() {
    let (at, booking, payment) = sold().await;
    let path = format!("/events/e/bookings/{booking}/cancel");
    let body = json!({"by": "ann", "why": "rain"});
    at.shop.admin("POST", &path).json(&body).send().await.expect(200);
    at.until(&booking, |record| record.saga.step == Step::Failed).await;
    let told = at.fake.events().len() - 1;
    at.fake.tell_of_refunds(&payment);
    at.bring_from(told).await;
    let others = json!({"id": "evt_x", "object": "event", "type": "charge.dispute.created", "created": 1,
        "data": {"object": {"id": "dp_x", "object": "dispute", "amount": 500, "currency": "eur",
            "charge": "ch_x", "payment_intent": "pi_of_others", "reason": "general",
            "status": "needs_response", "metadata": {}}}});
    at.bring(&signed(&others)).await.expect(200);
    assert_eq!(entries(&at).await, Vec::<Value>::new());
    assert_eq!(flagged(&at).await, Vec::<String>::new());
}

#[tokio::test]
async fn a_desk_whose_payment_cannot_be_asked_for_now_is_told_to_come_again() {
    let (at, _, payment) = sold().await;
    let told = at.fake.events().len();
    at.fake.refund_at_desk(&payment, 1_000);
    at.fake.revoke_key(true);
    let event = at.fake.events().remove(told);
    let answer = at.bring(&event).await;
    assert_eq!(answer.problem(), (503, "GATEWAY_UNAVAILABLE".into()));
    at.fake.revoke_key(false);
    at.bring(&event).await.expect(200);
    assert_eq!(entries(&at).await.len(), 1);
}
