//! What happens at Stripe's own desk: second payments, refunds and disputes that nobody here asked for.

use crate::at_stripe::{StripeShop, paying};
use crate::fake_stripe::signed;
use crate::inbox::Received;
use onrush_core::saga::{Stage, Step};
use onrush_ledger::money::{RefundCause, RefundStatus};
use onrush_ledger::saga::SagaRecord;
use onrush_saga::Action;
use serde_json::{Value, json};

/// A shop with one booking that is paid for: the booking and the payment's id.
pub(crate) async fn sold() -> (StripeShop, String, String) {
    let at = StripeShop::start().await;
    at.sell(10).await;
    let (booking, payment) = paying(&at.shop.guest().await, "k").await;
    assert!(at.fake.pay(&payment));
    at.bring_from(0).await;
    at.until(&booking, |record| record.saga.step == Step::Confirmed).await;
    (at, booking, payment)
}

/// A shop whose cards may pay for one unit each, with a booking that is being paid for.
async fn limited() -> (StripeShop, String, String) {
    let at = StripeShop::start().await;
    at.sell(10).await;
    at.shop.organise("PATCH", "/events/e", &json!({"max_per_card": 1})).await;
    let (booking, payment) = paying(&at.shop.guest().await, "k").await;
    (at, booking, payment)
}

fn is_void(record: &SagaRecord) -> bool {
    record.present().is_some_and(|payment| payment.stage == Stage::Void)
}

/// Brings what is told since then and is of these types, of which there is one each.
async fn bring_of(at: &StripeShop, first: usize, kinds: &[&str]) {
    let is_wanted = |event: &Received| kinds.iter().any(|kind| event.json()["type"] == *kind);
    let told = at.fake.events().split_off(first);
    let wanted: Vec<Received> = told.into_iter().filter(is_wanted).collect();
    assert_eq!(wanted.len(), kinds.len(), "{wanted:?}");
    for event in &wanted {
        at.bring(event).await.expect(200);
    }
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
async fn what_becomes_of_another_intent_with_our_metadata_is_not_believed_of_ours() {
    for (status, event) in [
        ("canceled", "payment_intent.canceled"),
        ("requires_payment_method", "payment_intent.payment_failed"),
    ] {
        let at = StripeShop::start().await;
        at.sell(10).await;
        let guest = at.shop.guest().await;
        let (booking, payment) = paying(&guest, "k").await;
        let told = at.fake.events().len();
        at.fake.tell_of_twin(&payment, status, event);
        at.bring_from(told).await;
        let shown = guest.get(&format!("/bookings/{booking}")).await.expect(200).json();
        assert_eq!(shown["status"], "paying", "{event}");
        assert_eq!(at.saga_record(&booking).await.present().unwrap().stage, Stage::Open);
        let told = at.fake.events().len();
        assert!(at.fake.pay(&payment), "{event}");
        at.bring_from(told).await;
        at.until(&booking, |record| record.saga.step == Step::Confirmed).await;
    }
}

#[tokio::test]
async fn what_another_intent_with_our_metadata_has_set_aside_is_set_free() {
    let (at, booking, payment) = limited().await;
    let told = at.fake.events().len();
    let event = "payment_intent.amount_capturable_updated";
    at.fake.tell_of_twin(&payment, "requires_capture", event);
    bring_of(&at, told, &[event]).await;
    let statuses = at.fake.intents().into_iter().map(|it| it["status"].clone());
    assert_eq!(statuses.collect::<Vec<_>>(), ["requires_payment_method", "canceled"]);
    let record = at.saga_record(&booking).await;
    let row = record.present().unwrap();
    assert_eq!((row.stage, row.reference.as_deref()), (Stage::Open, Some("pi_0")));
    assert!(at.fake.pay(&payment));
    at.bring_from(told).await;
    let record = at.until(&booking, |record| record.saga.step == Step::Confirmed).await;
    assert_eq!(record.present().unwrap().reference.as_deref(), Some("pi_0"));
    assert_eq!(entries(&at).await, Vec::<Value>::new());
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

/// The ways in which money that is set free is told of as a refund.
const SET_FREE: [&[&str]; 3] =
    [&["refund.created"], &["charge.refunded"], &["refund.created", "charge.refunded"]];

#[tokio::test]
async fn money_that_is_set_free_for_a_card_with_enough_is_no_refund_at_the_desk() {
    for kinds in SET_FREE {
        let (at, first, payment) = limited().await;
        assert!(at.fake.pay(&payment));
        at.bring_from(0).await;
        at.until(&first, |record| record.saga.step == Step::Confirmed).await;
        let told = at.fake.events().len();
        let (booking, payment) = paying(&at.shop.guest().await, "again").await;
        assert!(at.fake.pay(&payment));
        bring_of(&at, told, &["payment_intent.amount_capturable_updated"]).await;
        at.until(&booking, is_void).await;
        bring_of(&at, told, kinds).await;
        assert_eq!(entries(&at).await, Vec::<Value>::new(), "{kinds:?}");
        assert_eq!(flagged(&at).await, Vec::<String>::new(), "{kinds:?}");
        let record = at.saga_record(&booking).await;
        assert_eq!(record.present().unwrap().why.as_deref(), Some("card_limit"), "{kinds:?}");
    }
}

#[tokio::test]
async fn money_that_a_bank_sets_free_is_no_refund_at_the_desk() {
    for kinds in SET_FREE {
        let (at, booking, payment) = limited().await;
        assert!(at.fake.pay(&payment));
        at.fake.lapse(&payment);
        // That it was ever set aside, and that it is cancelled, is told after that.
        bring_of(&at, 0, kinds).await;
        assert_eq!(entries(&at).await, Vec::<Value>::new(), "{kinds:?}");
        at.bring_from(0).await;
        at.until(&booking, is_void).await;
        assert_eq!(entries(&at).await, Vec::<Value>::new(), "{kinds:?}");
        assert_eq!(flagged(&at).await, Vec::<String>::new(), "{kinds:?}");
    }
}

#[tokio::test]
async fn a_refund_at_the_desk_of_money_that_nobody_told_of_yet_is_seen() {
    for kind in ["refund.created", "charge.refunded"] {
        let at = StripeShop::start().await;
        at.sell(10).await;
        let (booking, payment) = paying(&at.shop.guest().await, "k").await;
        assert!(at.fake.pay(&payment));
        at.fake.refund_at_desk(&payment, 1_000);
        at.fake.tell_of_refunds(&payment);
        bring_of(&at, 0, &[kind]).await;
        let list = entries(&at).await;
        let [entry] = &list[..] else { panic!("not one: {list:?}") };
        assert_eq!((&entry["kind"], &entry["amount_minor"]), (&json!("refund"), &json!(1_000)));
        assert_eq!(flagged(&at).await, [payment]);
        at.bring_from(0).await;
        at.until(&booking, |record| record.saga.step == Step::Confirmed).await;
        assert_eq!(entries(&at).await.len(), 1, "{kind}");
    }
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

/// Cancels a booking, whose money is to go back as a whole.
async fn cancel(at: &StripeShop, booking: &str) {
    let path = format!("/events/e/bookings/{booking}/cancel");
    at.shop.organise("POST", &path, &json!({"why": "rain"})).await;
}

/// Cause, amount and status of each refund.
pub(crate) fn refunds(record: &SagaRecord) -> Vec<(RefundCause, i64, RefundStatus)> {
    record.refunds.iter().map(|row| (row.cause, row.amount_minor, row.status)).collect()
}

/// How much each refund is of that Stripe has, also of those that failed.
pub(crate) fn made_minor(at: &StripeShop) -> Vec<i64> {
    at.fake.refunds().iter().map(|made| made["amount"].as_i64().unwrap()).collect()
}

/// An operator does something about a saga that is stuck.
pub(crate) async fn act(at: &StripeShop, booking: &str, action: Action) {
    let sagas = at.shop.server.sagas();
    let record = sagas.act(&booking.parse().unwrap(), action, "crew").await.unwrap();
    record.expect("it is stuck");
}

#[tokio::test]
async fn a_refund_at_the_desk_that_is_told_of_after_the_cancellation_counts_at_the_next_try() {
    for (back_minor, rest_minor) in [(2_500, 0), (1_000, 1_500)] {
        let (at, booking, payment) = sold().await;
        let told = at.fake.events().len();
        at.fake.refund_at_desk(&payment, back_minor);
        cancel(&at, &booking).await;
        at.until(&booking, |record| record.saga.stuck.is_some()).await;
        at.bring_from(told).await;
        act(&at, &booking, Action::Retry).await;
        let record = at.until(&booking, |record| record.saga.step == Step::Failed).await;
        let mut expected = vec![
            (RefundCause::Cancelled, 2_500, RefundStatus::Failed),
            (RefundCause::AtDesk, back_minor, RefundStatus::Done),
        ];
        if rest_minor > 0 {
            expected.push((RefundCause::Cancelled, rest_minor, RefundStatus::Done));
        }
        assert_eq!((refunds(&record), record.saga.stuck.as_deref()), (expected, None));
        assert_eq!(made_minor(&at).into_iter().sum::<i64>(), 2_500);
    }
}

#[tokio::test]
async fn what_goes_back_of_a_second_payment_is_no_part_of_a_cancellation() {
    let (at, booking, payment) = sold().await;
    let told = at.fake.events().len();
    at.fake.pay_again(&payment);
    at.fake.refund_at_desk(&payment, 2_500);
    at.bring_from(told).await;
    assert_eq!((entries(&at).await.len(), flagged(&at).await.len()), (2, 1));
    cancel(&at, &booking).await;
    let record = at.until(&booking, |record| record.saga.step == Step::Failed).await;
    assert_eq!(refunds(&record), [(RefundCause::Cancelled, 2_500, RefundStatus::Done)]);
    let made = at.fake.refunds().into_iter().map(|made| made["payment_intent"].clone());
    assert_eq!(made.collect::<Vec<_>>(), ["pi_1", "pi_0"]);
}

#[tokio::test]
async fn money_that_comes_back_from_a_desks_refund_is_owed_still() {
    let (at, booking, payment) = sold().await;
    let told = at.fake.events().len();
    at.fake.refund_at_desk(&payment, 2_500);
    at.bring_from(told).await;
    cancel(&at, &booking).await;
    let record = at.until(&booking, |record| record.saga.step == Step::Failed).await;
    assert_eq!(refunds(&record), [(RefundCause::AtDesk, 2_500, RefundStatus::Done)]);
    let told = at.fake.events().len();
    at.fake.bounce_at_desk();
    // It comes twice, as messages do.
    for _ in 0..2 {
        at.bring_from(told).await;
        let record = at.saga_record(&booking).await;
        assert_eq!(refunds(&record), [(RefundCause::AtDesk, 2_500, RefundStatus::Failed)]);
        assert_eq!(record.present().unwrap().stage, Stage::Refunding);
        assert!(record.saga.stuck.is_some(), "{record:?}");
    }
}

/// Whether Stripe works on the last refund.
fn is_last_sent(record: &SagaRecord) -> bool {
    record.refunds.last().is_some_and(|row| row.status == RefundStatus::Sent)
}

/// A cancelled booking of which the desk had given 10.00 back, while Stripe works on the rest: the
/// booking, and that refund's id.
async fn rest_under_way() -> (StripeShop, String, String) {
    let (at, booking, payment) = sold().await;
    let told = at.fake.events().len();
    at.fake.refund_at_desk(&payment, 1_000);
    at.bring_from(told).await;
    at.fake.hold_refunds();
    cancel(&at, &booking).await;
    let record = at.until(&booking, is_last_sent).await;
    let expected = [
        (RefundCause::AtDesk, 1_000, RefundStatus::Done),
        (RefundCause::Cancelled, 1_500, RefundStatus::Sent),
    ];
    assert_eq!(refunds(&record), expected);
    let rest = record.refunds[1].refund.clone();
    (at, booking, rest)
}

/// Has Stripe come to an end with a refund of ours, and brings what it tells of that.
async fn settle(at: &StripeShop, refund: &str, status: &str, event: &str) {
    let told = at.fake.events().len();
    at.fake.settle_refund(refund, status, event);
    at.bring_from(told).await;
}

#[tokio::test]
async fn money_that_comes_back_from_a_desks_refund_is_owed_although_the_rest_went_back() {
    let (at, booking, rest) = rest_under_way().await;
    let told = at.fake.events().len();
    at.fake.bounce_at_desk();
    at.bring_from(told).await;
    settle(&at, &rest, "succeeded", "refund.updated").await;
    let record = at.saga_record(&booking).await;
    let mut expected = vec![
        (RefundCause::AtDesk, 1_000, RefundStatus::Failed),
        (RefundCause::Cancelled, 1_500, RefundStatus::Done),
    ];
    assert_eq!(refunds(&record), expected);
    assert_eq!(record.present().unwrap().stage, Stage::Refunding);
    let why = record.saga.stuck.as_deref().unwrap_or_default();
    assert!(why.contains("10.00 EUR did not go back"), "{why}");

    // The gateway is asked for what the desk's refund was of, and for no more.
    act(&at, &booking, Action::Retry).await;
    let record = at.until(&booking, is_last_sent).await;
    assert_eq!(made_minor(&at), [1_000, 1_500, 1_000]);
    settle(&at, &record.refunds[2].refund, "succeeded", "refund.updated").await;
    let record = at.until(&booking, |record| record.saga.step == Step::Failed).await;
    expected.push((RefundCause::Cancelled, 1_000, RefundStatus::Done));
    assert_eq!((refunds(&record), record.saga.stuck.as_deref()), (expected, None));
}

/// What the desk gave back is the other part of the same money, and not the same part once more.
#[tokio::test]
async fn a_rest_that_is_made_after_all_stands_beside_no_other_refund() {
    let (at, booking, rest) = rest_under_way().await;
    settle(&at, &rest, "failed", "refund.failed").await;
    at.until(&booking, |record| record.saga.stuck.is_some()).await;
    settle(&at, &rest, "succeeded", "refund.updated").await;
    let record = at.saga_record(&booking).await;
    assert_eq!(record.saga.stuck, None, "nothing went back twice: {record:?}");
    let record = at.until(&booking, |record| record.saga.step == Step::Failed).await;
    let expected = vec![
        (RefundCause::AtDesk, 1_000, RefundStatus::Done),
        (RefundCause::Cancelled, 1_500, RefundStatus::Done),
    ];
    assert_eq!((refunds(&record), record.saga.stuck.as_deref()), (expected, None));
}

#[tokio::test]
async fn a_rest_that_is_made_after_all_leaves_owed_what_came_back_from_the_desk() {
    let (at, booking, rest) = rest_under_way().await;
    settle(&at, &rest, "failed", "refund.failed").await;
    at.until(&booking, |record| record.saga.stuck.is_some()).await;
    let told = at.fake.events().len();
    at.fake.bounce_at_desk();
    at.bring_from(told).await;
    settle(&at, &rest, "succeeded", "refund.updated").await;
    let record = at.until(&booking, |record| record.saga.stuck.is_some()).await;
    let expected = [
        (RefundCause::AtDesk, 1_000, RefundStatus::Failed),
        (RefundCause::Cancelled, 1_500, RefundStatus::Done),
    ];
    assert_eq!(refunds(&record), expected);
    assert_eq!(record.present().unwrap().stage, Stage::Refunding);
}

#[tokio::test]
async fn a_part_that_is_seen_to_by_hand_leaves_the_other_one_to_the_gateway() {
    let (at, booking, rest) = rest_under_way().await;
    let told = at.fake.events().len();
    at.fake.bounce_at_desk();
    at.bring_from(told).await;
    at.until(&booking, |record| record.saga.stuck.is_some()).await;
    act(&at, &booking, Action::Release).await;
    let record = at.saga_record(&booking).await;
    let expected = |rest| {
        vec![
            (RefundCause::AtDesk, 1_000, RefundStatus::Failed),
            (RefundCause::Cancelled, 1_500, rest),
            (RefundCause::ByHand, 1_000, RefundStatus::Done),
        ]
    };
    let was = (refunds(&record), record.saga.stuck.as_deref());
    assert_eq!(was, (expected(RefundStatus::Sent), None));
    settle(&at, &rest, "succeeded", "refund.updated").await;
    let record = at.until(&booking, |record| record.saga.step == Step::Failed).await;
    let is = (refunds(&record), record.saga.stuck.as_deref());
    assert_eq!(is, (expected(RefundStatus::Done), None));
}

#[tokio::test]
async fn an_operators_refund_of_money_that_bought_nothing_is_of_what_the_desk_left() {
    // What the desk gave back of 25.01, and what the gateway is asked for.
    for (back_minor, rest_minor) in [(1_000, 1_501), (2_501, 0)] {
        let at = StripeShop::start().await;
        at.sell(10).await;
        let (booking, payment) = paying(&at.shop.guest().await, "k").await;
        // Another amount is taken than was asked for, and five minutes without news have it found out.
        at.fake.take_other(&payment, 2_501);
        at.shop.clock.advance_ms(301_000);
        at.until(&booking, |record| record.saga.stuck.is_some()).await;
        let told = at.fake.events().len();
        at.fake.refund_at_desk(&payment, back_minor);
        at.bring_from(told).await;
        let record = at.saga_record(&booking).await;
        assert_eq!((record.saga.step, refunds(&record)), (Step::PaymentSent, vec![]));

        act(&at, &booking, Action::Refund).await;
        let is_over =
            |record: &SagaRecord| record.saga.step == Step::Failed || record.saga.stuck.is_some();
        let record = at.until(&booking, is_over).await;
        assert_eq!(record.saga.stuck, None, "{record:?}");
        let rest = (RefundCause::Operator, rest_minor, RefundStatus::Done);
        let parts = [(RefundCause::AtDesk, back_minor, RefundStatus::Done), rest];
        let expected: Vec<_> = parts.into_iter().filter(|(_, minor, _)| *minor > 0).collect();
        assert_eq!(refunds(&record), expected);
        assert_eq!(made_minor(&at).into_iter().sum::<i64>(), 2_501);
    }
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
