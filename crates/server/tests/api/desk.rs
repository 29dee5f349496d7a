//! What the gateway's own desk does: the sandbox can do it all, so that it can be tried.

use crate::books::audited;
use crate::paying::{GOOD_CARD, use_card};
use crate::receipts::{issued, seller};
use crate::sandboxed::Sandboxed;
use crate::shop::Shop;
use crate::till::{Till, message, send};
use crate::webhooks::{AMOUNT_MINOR, shop_with};
use onrush_core::saga::Step;
use onrush_ledger::money::{RefundCause, RefundStatus};
use onrush_ledger::saga::SagaRecord;
use serde_json::{Value, json};
use std::time::Duration;

/// A booking that is paid for in the sandbox: the booking and the payment's id.
pub(crate) async fn sold(at: &Sandboxed) -> (String, String) {
    let guest = at.shop.guest().await;
    let booking = guest.hold_ga("h", 1).await;
    let payment = guest.pay(&booking, "p").await.expect(201).json();
    use_card(payment["url"].as_str().unwrap(), GOOD_CARD).await.expect(200);
    guest.until_status(&booking, "confirmed").await;
    (booking, payment["payment"].as_str().unwrap().to_owned())
}

impl Shop {
    /// Waits until the list of what the desk did is as long, and as it should be.
    async fn until_desk(&self, fits: impl Fn(&[Value]) -> bool) -> Vec<Value> {
        let wait = async {
            loop {
                let list = self.admin("GET", "/desk").send().await.expect(200).json();
                let entries = list["entries"].as_array().unwrap().clone();
                if fits(&entries) {
                    return entries;
                }
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), wait).await.expect("it never is")
    }
}

#[tokio::test]
async fn the_sandboxs_desk_gives_back_takes_again_and_disputes_and_the_operator_is_told() {
    let at = Sandboxed::start(|_| {}).await;
    let (booking, payment) = sold(&at).await;
    at.desk(&payment, &json!({"do": "refund", "amount_minor": 725})).await.expect(200);
    let entries = at.shop.until_desk(|entries| entries.len() == 1).await;
    assert_eq!((&entries[0]["kind"], &entries[0]["status"]), (&json!("refund"), &json!("moved")));
    assert_eq!(entries[0]["amount_minor"], 725);
    at.desk(&payment, &json!({"do": "second_payment"})).await.expect(200);
    at.desk(&payment, &json!({"do": "dispute", "why": "fraudulent"})).await.expect(200);
    let entries = at.shop.until_desk(|entries| entries.len() == 3).await;
    let of = |kind: &str| entries.iter().find(|entry| entry["kind"] == kind).unwrap();
    assert_eq!(of("second_payment")["amount_minor"], 2_725);
    assert_eq!(of("dispute")["status"], "open");
    at.desk(&payment, &json!({"do": "lose_dispute"})).await.expect(200);
    let lost = |entry: &Value| entry["kind"] == "dispute" && entry["status"] == "moved";
    at.shop.until_desk(|entries| entries.iter().any(lost)).await;
    // Nobody takes the ticket away but the operator.
    let list = at.shop.admin("GET", "/payments?flagged=true").send().await.expect(200).json();
    assert_eq!(list["payments"][0]["payment"], json!(payment));
    let list = at.shop.admin("GET", "/payments?flagged=false").send().await.expect(200).json();
    assert_eq!(list["payments"], json!([]));
    let settled = at.shop.admin("GET", "/desk?open=false").send().await.expect(200).json();
    assert_eq!(settled["entries"], json!([]));
    let found = at.shop.admin("GET", &format!("/sagas/{booking}")).send().await.expect(200).json();
    assert_eq!(found["saga"]["current_step"], "CONFIRMED");
    let over = at.desk(&payment, &json!({"do": "refund", "amount_minor": 2_001})).await;
    assert_eq!((over.status, &over.json()["code"]), (409, &json!("OVER_REFUND")));
}

#[tokio::test]
async fn an_audit_tells_what_the_desk_did_in_a_sentence_and_finds_no_fault() {
    let at = Sandboxed::start(|_| {}).await;
    let (_, payment) = sold(&at).await;
    at.desk(&payment, &json!({"do": "refund", "amount_minor": 2_725})).await.expect(200);
    at.desk(&payment, &json!({"do": "second_payment"})).await.expect(200);
    at.shop.until_desk(|entries| entries.len() == 2).await;
    let report = audited(at.shop.dir.path()).await;
    assert_eq!(report["violations"], 0, "{report}");
    assert_eq!(report["unexplained_minor"], 0, "{report}");
    let noticed = report["noticed"].to_string();
    assert!(noticed.contains("27.25 EUR went back at the gateway's own desk"), "{noticed}");
    assert!(noticed.contains("27.25 EUR were paid a second time"), "{noticed}");
}

/// Cancels a booking of 27.25 for so much, and comes to its end: all that is said of it must add up, and
/// the gateway must have been asked for as much as this.
async fn cancelled_for(at: &Sandboxed, booking: &str, refund_minor: i64, asked_minor: i64) {
    let path = format!("/events/e/bookings/{booking}/cancel");
    let body = json!({"why": "ill", "refund_minor": refund_minor});
    at.shop.organise("POST", &path, &body).await;
    let is_over =
        |record: &SagaRecord| record.saga.step == Step::Failed || record.saga.stuck.is_some();
    let record = at.shop.until_record(booking, is_over).await;
    assert_eq!(record.saga.stuck, None, "{record:?}");
    let back_minor = refund_minor - asked_minor;
    let expected = [(RefundCause::AtDesk, back_minor), (RefundCause::Cancelled, asked_minor)];
    let expected: Vec<_> = expected.into_iter().filter(|(_, minor)| *minor > 0).collect();
    let rows = record.refunds.iter().map(|row| (row.cause, row.amount_minor));
    assert_eq!(rows.collect::<Vec<_>>(), expected);
    assert!(record.refunds.iter().all(|row| row.status == RefundStatus::Done), "{record:?}");
    assert_eq!(at.totals().await, (2_725, asked_minor));
    let documents = issued(&at.shop, 1 + expected.len()).await;
    let notes = documents.iter().filter(|row| row["kind"] == "credit_note");
    let noted_minor: i64 = notes.map(|row| row["amount_minor"].as_i64().unwrap()).sum();
    assert_eq!(noted_minor, refund_minor);
    let report = audited(at.shop.dir.path()).await;
    assert_eq!(report["violations"], 0, "{report}");
    assert_eq!(report["refunded_minor"], refund_minor, "{report}");
    assert_eq!(report["kept_minor"], 2_725 - refund_minor, "{report}");
    assert_eq!(report["issued"]["missing"], 0, "{report}");
}

#[tokio::test]
async fn what_went_back_at_the_desk_is_a_part_of_what_a_cancellation_gives_back() {
    // What the desk gave back, what the cancellation gives back, and what the gateway is asked for.
    for (back_minor, refund_minor, asked_minor) in
        [(2_725, 2_725, 0), (1_000, 2_725, 1_725), (1_000, 1_000, 0), (2_725, 1_000, 0)]
    {
        let at = Sandboxed::start(|config| config.seller = Some(seller())).await;
        let (booking, payment) = sold(&at).await;
        let body = json!({"do": "refund", "amount_minor": back_minor});
        at.desk(&payment, &body).await.expect(200);
        // It is flagged once its entry is there.
        let is_flagged = |record: &SagaRecord| record.present().is_some_and(|row| row.flagged);
        at.shop.until_record(&booking, is_flagged).await;
        cancelled_for(&at, &booking, refund_minor, asked_minor).await;
    }
}

#[tokio::test]
async fn what_a_lost_dispute_took_is_a_part_of_what_a_cancellation_gives_back() {
    let at = Sandboxed::start(|config| config.seller = Some(seller())).await;
    let (booking, payment) = sold(&at).await;
    at.desk(&payment, &json!({"do": "dispute", "why": "fraudulent"})).await.expect(200);
    let is_flagged = |record: &SagaRecord| record.present().is_some_and(|row| row.flagged);
    at.shop.until_record(&booking, is_flagged).await;
    at.desk(&payment, &json!({"do": "lose_dispute"})).await.expect(200);
    at.shop.until_desk(|entries| entries.iter().any(|entry| entry["status"] == "moved")).await;
    cancelled_for(&at, &booking, 2_725, 0).await;
}

#[tokio::test]
async fn an_audit_tells_what_the_box_office_is_to_give_back_to_buyers_who_returned_it() {
    let shop = Shop::start().await;
    let body = json!({"event": "e", "title": "Show", "currency": "EUR",
        "starts_at": 4_000_000_000_000_i64, "refunds": [{"days_before": 7, "percent": 50}]});
    shop.organise("POST", "/events", &body).await;
    shop.add_pool("e", "ga", 5, 1_000).await;
    shop.organise_plainly("/events/e/open").await;
    let guest = shop.guest().await;
    let mut bookings = Vec::new();
    for till in ["till-7", "till.8"] {
        let booking = guest.hold_ga(till, 1).await;
        let path = format!("/events/e/bookings/{booking}");
        shop.organise("POST", &format!("{path}/confirm"), &json!({ "payment": till })).await;
        bookings.push(booking);
    }
    let [returned, called_off] = [&bookings[0], &bookings[1]];
    guest.ask("POST", &format!("/bookings/{returned}/cancel")).send().await.expect(200);
    // Whoever is at the counter knows what they give back.
    shop.cancel(called_off).await.expect(200);
    for booking in [returned, called_off] {
        shop.until_step(booking, Step::Failed).await;
    }
    let report = audited(shop.dir.path()).await;
    assert_eq!(report["violations"], 0, "{report}");
    let said = format!(
        "booking {returned}: its buyer gave it back, and 5.00 EUR of what was paid elsewhere as \
         till-7 are to go back there"
    );
    assert_eq!(report["noticed"], json!([said]));
}

#[tokio::test]
async fn a_mismatch_is_told_in_amounts_that_people_can_read() {
    let till = Till::start();
    let shop = shop_with(&till).await;
    let guest = shop.guest().await;
    let booking = guest.hold_ga("h", 1).await;
    let payment = guest.pay(&booking, "p").await.expect(201).json();
    let mut told = message("payment.captured", &payment);
    told["amount_minor"] = json!(AMOUNT_MINOR - 1);
    let answer = send(&shop, &told).await;
    assert_eq!(answer.problem(), (409, "WEBHOOK_MISMATCH".into()));
    let detail = answer.text("detail");
    assert!(detail.contains("27.24 EUR") && detail.contains("27.25 EUR"), "{detail}");
}

#[tokio::test]
async fn the_page_where_the_buyer_pays_has_the_events_title() {
    let at = Sandboxed::start(|_| {}).await;
    let guest = at.shop.guest().await;
    let booking = guest.hold_ga("h", 1).await;
    let payment = guest.pay(&booking, "p").await.expect(201).json();
    let rest = payment["url"].as_str().unwrap().strip_prefix("http://").unwrap();
    let (host, path) = rest.split_at(rest.find('/').unwrap());
    let page = crate::client::Request::new(host.parse().unwrap(), "GET", path).send().await;
    let page = String::from_utf8(page.expect(200).body).unwrap();
    assert!(page.contains("<h1>Paid</h1>") && !page.contains("saga-"), "{page}");
}
