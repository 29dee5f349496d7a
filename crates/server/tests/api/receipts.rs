//! Receipts and credit notes: issued for what was paid and given back, told to buyers and the
//! organiser, and posted for the books.

use crate::books::audited;
use crate::money_admin::unchunked;
use crate::paying::{GOOD_CARD, POOR_CARD, paid_event, paid_shop, use_card};
use crate::shop::{Guest, Shop};
use crate::steps::with_stripe;
use crate::till::{Till, message, send};
use onrush_api::http::shapes::table::readable;
use onrush_base::config::{Config, GatewayName, SellerSettings};
use onrush_core::saga::Step;
use onrush_ledger::money::RefundStatus;
use onrush_ledger::receipt::ReceiptRule;
use onrush_ledger::saga::SagaRecord;
use onrush_saga::Action;
use onrush_saga::gateway::{News, Notice, RefundStanding};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

pub(crate) fn seller() -> SellerSettings {
    SellerSettings {
        name: "Hall of Ours".into(),
        address: vec!["1 Long Lane".into(), "Town".into()],
        tax_id: Some("XX1".into()),
        series: "R".into(),
        from: None,
    }
}

/// A shop that issues receipts, with an event `e` of pool units at 25.00 and fees, tax included.
async fn shop() -> Shop {
    let shop = Shop::start_with(|config| {
        config.gateway = GatewayName::Sandbox;
        config.seller = Some(seller());
    });
    let shop = shop.await;
    let body = json!({"event": "e", "title": "=Gala", "currency": "EUR", "room": null,
        "max_per_user": 4, "fees": {"fixed_minor": 100, "percent_bp": 500},
        "tax": {"name": "VAT", "rate_bp": 1_900}});
    shop.organise("POST", "/events", &body).await;
    shop.add_pool("e", "ga", 10, 2_500).await;
    shop.organise_plainly("/events/e/open").await;
    shop
}

/// Holds and pays; says the booking's id.
async fn buy(guest: &Guest<'_>, name: &str, quantity: u32) -> String {
    let booking = guest.hold_ga(name, quantity).await;
    let body = json!({"buyer": {"name": name, "email": "a@example.org", "language": "en"}});
    let path = format!("/bookings/{booking}/payment");
    let payment = guest.ask("POST", &path).key("p").json(&body).send().await.expect(201).json();
    use_card(payment["url"].as_str().unwrap(), GOOD_CARD).await.expect(200);
    guest.until_status(&booking, "confirmed").await;
    booking
}

/// The organiser's list once it has so many: they are issued beside the payments.
pub(crate) async fn issued(shop: &Shop, count: usize) -> Vec<Value> {
    let wait = async {
        loop {
            let answer = shop.admin("GET", "/receipts").send().await.expect(200).json();
            let receipts = answer["receipts"].as_array().unwrap().clone();
            if receipts.len() >= count {
                return receipts;
            }
            tokio::task::yield_now().await;
        }
    };
    let found = tokio::time::timeout(Duration::from_secs(20), wait).await;
    let found = found.unwrap_or_else(|_| panic!("there were never {count}"));
    assert_eq!(found.len(), count, "{found:?}");
    found
}

async fn mine(guest: &Guest<'_>, booking: &str) -> Vec<Value> {
    let answer = guest.get(&format!("/bookings/{booking}/receipts")).await.expect(200).json();
    assert_eq!(answer["booking"], booking);
    answer["receipts"].as_array().unwrap().clone()
}

#[tokio::test]
async fn what_is_paid_has_a_receipt_and_what_goes_back_a_credit_note() {
    let shop = shop().await;
    let (ann, bo) = (shop.guest().await, shop.guest().await);
    let first = buy(&ann, "Ann", 2).await;
    issued(&shop, 1).await;
    let receipts = mine(&ann, &first).await;
    let [receipt] = &*receipts else { panic!("{receipts:?}") };
    assert_eq!((&receipt["number"], &receipt["kind"]), (&json!("R-1"), &json!("receipt")));
    assert_eq!((&receipt["amount_minor"], &receipt["currency"]), (&json!(5_350), &json!("EUR")));
    assert_eq!((&receipt["buyer_name"], &receipt["title"]), (&json!("Ann"), &json!("=Gala")));
    let seller =
        json!({"name": "Hall of Ours", "address": ["1 Long Lane", "Town"], "tax_id": "XX1"});
    assert_eq!(receipt["seller"], seller);
    // The same amounts as the summary's, to the cent.
    let summary = ann.get(&format!("/bookings/{first}/summary")).await.expect(200).json();
    assert_eq!(receipt["tax"], summary["tax"]);
    for member in ["amount_minor", "net_minor", "tax_minor", "quantity", "price_minor", "pool"] {
        for line in 0..2 {
            assert_eq!(receipt["lines"][line][member], summary["lines"][line][member], "{member}");
        }
    }
    assert_eq!(receipt["lines"][1]["purpose"], "fees");

    // Half of it goes back.
    let path = format!("/events/e/bookings/{first}/cancel");
    shop.organise("POST", &path, &json!({"by": "crew", "why": "ill", "refund_minor": 2_675})).await;
    issued(&shop, 2).await;
    let receipts = mine(&ann, &first).await;
    let note = &receipts[1];
    assert_eq!((&note["number"], &note["kind"]), (&json!("R-2"), &json!("credit_note")));
    assert_eq!((&note["corrects"], &note["amount_minor"]), (&json!("R-1"), &json!(2_675)));
    assert_eq!(note["tax"]["tax_minor"], 427);
    assert_eq!(receipts[0], *receipt, "what was issued never changes");

    // A second buyer; somebody whose card is declined has none.
    let second = buy(&bo, "Bo", 1).await;
    let half = bo.hold_ga("half", 1).await;
    let payment = bo.pay(&half, "q").await.expect(201).json();
    use_card(payment["url"].as_str().unwrap(), POOR_CARD).await;
    let all = issued(&shop, 3).await;
    let numbers: Vec<_> = all.iter().map(|row| row["number"].as_str().unwrap()).collect();
    assert_eq!(numbers, ["R-3", "R-2", "R-1"]);
    assert_eq!(mine(&bo, &second).await[0]["number"], "R-3");
    assert_eq!(mine(&bo, &half).await, [] as [Value; 0]);

    // Nobody else's, and not of what is no booking.
    for (guest, booking) in [(&bo, &*first), (&ann, "e.00000000000000000000000000000000")] {
        let answer = guest.get(&format!("/bookings/{booking}/receipts")).await;
        assert_eq!(answer.problem(), (404, "RESERVATION_NOT_FOUND".into()), "{booking}");
    }
    // Whoever has the link sees them as well.
    let link = bo.get(&format!("/bookings/{second}/link")).await.expect(200).text("link");
    let path = format!("/bookings/{second}/receipts");
    let by_link = shop.ask("GET", &path).bearer(&link).send().await.expect(200).json();
    assert_eq!(by_link["receipts"][0]["number"], "R-3");
    let report = audited(shop.dir.path()).await;
    assert_eq!((&report["found"], &report["issued"]["missing"]), (&json!([]), &json!(0)));
    let sums = json!({"issued_minor": 5_400, "missing_minor": 0, "paid_minor": 5_400});
    assert_eq!(report["issued"]["sums"], json!({"EUR": sums}));
}

#[tokio::test]
async fn a_refund_that_bounces_and_is_made_again_has_one_credit_note() {
    let shop = shop().await;
    let ann = shop.guest().await;
    let booking = buy(&ann, "Ann", 2).await;
    issued(&shop, 1).await;
    let path = format!("/events/e/bookings/{booking}/cancel");
    shop.organise("POST", &path, &json!({"by": "crew", "why": "ill", "refund_minor": 2_675})).await;
    issued(&shop, 2).await;
    let at_rest = |record: &SagaRecord| record.saga.next_at.is_none();
    let record = shop.until_record(&booking, at_rest).await;
    let refund = &record.refunds[0];
    let news = News::Refund {
        payment: refund.payment.clone(),
        refund: refund.refund.clone(),
        amount_minor: refund.amount_minor,
        currency: refund.currency,
        standing: RefundStanding::Failed { reference: None, why: "the account is closed".into() },
    };
    let notice = Notice { id: "bounce".into(), news: Some(news) };
    shop.server.sagas().notice(notice).await.expect("taken");
    let sums = async || {
        let report = audited(shop.dir.path()).await;
        let [issued_minor, missing_minor, paid_minor] =
            ["issued_minor", "missing_minor", "paid_minor"]
                .map(|sum| report["issued"]["sums"]["EUR"][sum].as_i64().unwrap());
        (report["found"].clone(), issued_minor, missing_minor, paid_minor)
    };
    assert_eq!(sums().await, (json!([]), 2_675, 2_675, 5_350));

    shop.act(&booking, Action::Retry).await.expect("there");
    let record = shop.until_record(&booking, at_rest).await;
    let statuses: Vec<_> = record.refunds.iter().map(|refund| refund.status).collect();
    assert_eq!(statuses, [RefundStatus::Failed, RefundStatus::Done]);
    // The sandbox was told nothing of the bounce, and has given back twice.
    let (found, issued_minor, missing_minor, paid_minor) = sums().await;
    assert_eq!((issued_minor, missing_minor, paid_minor), (2_675, 0, 2_675));
    let [only] = &**found.as_array().unwrap() else { panic!("{found}") };
    assert!(only.as_str().unwrap().contains("the gateway took 5350 and gave back 5350"), "{only}");
    let event = "e".parse().unwrap();
    let open = shop.server.ledger().open_money(&event, ReceiptRule::EVERY).await.unwrap();
    assert_eq!(open.without_document, 0);
    // Whoever buys next has the next number: no other note was issued in between.
    buy(&ann, "again", 1).await;
    let all = issued(&shop, 3).await;
    assert_eq!((&all[0]["kind"], &all[0]["number"]), (&json!("receipt"), &json!("R-3")));
}

#[tokio::test]
async fn money_that_went_back_twice_lacks_no_document_and_keeps_no_event_from_its_end() {
    goes_back_twice(2_725).await;
}

#[tokio::test]
async fn a_part_that_went_back_twice_lacks_no_document_either() {
    goes_back_twice(2_000).await;
}

/// Pays 27.25 and cancels for `refund_minor`, which an operator gives back by hand, and the gateway after
/// all.
async fn goes_back_twice(refund_minor: i64) {
    let till = Till::start();
    let shop = Shop::start_with(|config| {
        till.configure(config);
        config.seller = Some(seller());
    });
    let shop = shop.await;
    paid_event(&shop, "e").await;
    let (booking, _) = shop.sell(&till).await;
    till.refuse_refunds(true);
    let path = format!("/events/e/bookings/{booking}/cancel");
    let body = json!({"by": "crew", "why": "rain", "refund_minor": refund_minor});
    shop.organise("POST", &path, &body).await;
    shop.until_record(&booking, |record| record.saga.stuck.is_some()).await;
    // An operator gives it back by hand, and later the gateway has done so after all.
    shop.act(&booking, Action::Release).await.expect("it is stuck");
    shop.until_step(&booking, Step::Failed).await;
    issued(&shop, 2).await;
    let refund = &shop.saga_record(&booking).await.refunds[0];
    let news = News::Refund {
        payment: refund.payment.clone(),
        refund: refund.refund.clone(),
        amount_minor: refund.amount_minor,
        currency: refund.currency,
        standing: RefundStanding::Done { reference: "late".into() },
    };
    let notice = Notice { id: "late".into(), news: Some(news) };
    shop.server.sagas().notice(notice).await.expect("taken");
    let record = shop.saga_record(&booking).await;
    let statuses: Vec<_> = record.refunds.iter().map(|refund| refund.status).collect();
    assert_eq!(statuses, [RefundStatus::Done, RefundStatus::Done]);
    let why = record.saga.stuck.expect("an operator hears of it");
    assert!(why.contains("made after all, beside another one"), "{why}");
    shop.act(&booking, Action::Retry).await.expect("it is stuck");
    shop.until_record(&booking, |record| record.saga.next_at.is_none()).await;

    shop.organise_plainly("/events/e/close").await;
    let archive = shop.admin("POST", "/events/e/archive");
    archive.json(&json!({"why": "it is over"})).send().await.expect(200);
    issued(&shop, 2).await;
    let report = audited(shop.dir.path()).await;
    assert_eq!(report["issued"]["missing"], 0);
    let kept_minor = 2_725 - refund_minor;
    let sums = json!({"issued_minor": kept_minor, "missing_minor": 0, "paid_minor": kept_minor});
    assert_eq!(report["issued"]["sums"], json!({"EUR": sums}));
    // What went twice is found all the same.
    let found = report["found"].as_array().unwrap();
    let left = format!("{} minor units are left", kept_minor - refund_minor);
    assert!(found.iter().any(|why| why.as_str().unwrap().contains(&left)), "{found:?}");
    assert!(!found.iter().any(|why| why.as_str().unwrap().contains("R-")), "{found:?}");
}

#[tokio::test]
async fn a_receipt_tells_when_its_own_payment_was_taken() {
    let till = Till::start();
    let shop = Shop::start_with(|config| {
        till.configure(config);
        config.seller = Some(seller());
    });
    let shop = shop.await;
    paid_event(&shop, "e").await;
    let ann = shop.guest().await;
    let booking = ann.hold_ga("h", 1).await;
    let first = ann.pay(&booking, "p").await.expect(201).json();
    send(&shop, &message("payment.declined", &first)).await.expect(200);
    shop.until_step(&booking, Step::ReserveOk).await;
    // Its money comes all the same, and goes back.
    till.capture(first["payment"].as_str().unwrap());
    send(&shop, &message("payment.captured", &first)).await.expect(200);
    shop.clock.advance_ms(60_000);
    let second = ann.pay(&booking, "p2").await.expect(201).json();
    till.capture(second["payment"].as_str().unwrap());
    send(&shop, &message("payment.captured", &second)).await.expect(200);
    shop.until_step(&booking, Step::Confirmed).await;
    issued(&shop, 1).await;
    let receipts = mine(&ann, &booking).await;
    assert_eq!(receipts[0]["moved_at"], shop.clock.now().0);
}

#[tokio::test]
async fn the_organiser_lists_them_by_event_booking_and_page() {
    let shop = shop().await;
    let ann = shop.guest().await;
    let (first, _) = (buy(&ann, "A", 1).await, buy(&ann, "B", 1).await);
    issued(&shop, 2).await;
    let get = async |query: &str| -> (Vec<String>, Option<String>) {
        let answer =
            shop.admin("GET", &format!("/receipts{query}")).send().await.expect(200).json();
        let rows = answer["receipts"].as_array().unwrap();
        let bookings = rows.iter().map(|row| row["booking"].as_str().unwrap().to_owned());
        (bookings.collect(), answer["next"].as_str().map(str::to_owned))
    };
    assert_eq!(get(&format!("?booking={first}")).await, (vec![first.clone()], None));
    assert_eq!(get("?event=e").await.0.len(), 2);
    assert_eq!(get("?event=other").await, (vec![], None));
    let (page, next) = get("?limit=1").await;
    assert_eq!((page.len(), next.as_deref()), (1, Some("R-2")));
    assert_eq!(get("?limit=1&after=R-2").await.0.len(), 1);
    for query in [
        "receipts?colour=red",
        "receipts?limit=0",
        "receipts.csv?limit=1",
        "bookkeeping.jsonl?event=no%20id",
    ] {
        let answer = shop.admin("GET", &format!("/{query}")).send().await;
        assert_eq!(answer.problem(), (400, "INVALID_QUERY".into()), "{query}");
    }
    for path in ["receipts", "receipts.csv", "bookkeeping.jsonl"] {
        let answer = ann.get(&format!("/admin/{path}")).await;
        assert_eq!(answer.problem(), (401, "TOKEN_INVALID".into()), "{path}");
    }
}

#[tokio::test]
async fn the_table_has_a_row_for_each_and_no_cell_runs_as_a_formula() {
    let shop = shop().await;
    let ann = shop.guest().await;
    let booking = buy(&ann, "+Ann", 2).await;
    issued(&shop, 1).await;
    let answer = shop.admin("GET", "/receipts.csv").send().await.expect(200);
    assert_eq!(answer.header("content-disposition"), Some("attachment; filename=\"receipts.csv\""));
    let text = unchunked(&answer);
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let head = reader.headers().unwrap().clone();
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    let cell = |name: &str| &rows[0][head.iter().position(|other| other == name).unwrap()];
    assert_eq!((rows.len(), cell("number"), cell("booking")), (1, "R-1", &*booking));
    assert_eq!((cell("buyer_name"), cell("title")), ("'+Ann", "'=Gala"));
    assert_eq!(
        (cell("amount_minor"), cell("net_minor"), cell("tax_minor")),
        ("5350", "4496", "854")
    );
    assert_eq!((cell("tax_name"), cell("rate_bp")), ("VAT", "1900"));
    assert_eq!(head.iter().position(|name| name == "tax_minor"), Some(13), "none has moved");
    assert!(cell("issued_at").ends_with('Z'), "{}", cell("issued_at"));
}

#[tokio::test]
async fn postings_of_each_document_come_to_the_same_on_both_sides() {
    let shop = shop().await;
    let ann = shop.guest().await;
    let booking = buy(&ann, "Ann", 2).await;
    issued(&shop, 1).await;
    let path = format!("/events/e/bookings/{booking}/cancel");
    shop.organise("POST", &path, &json!({"by": "crew", "why": "ill", "refund_minor": 5_100})).await;
    issued(&shop, 2).await;
    let answer = shop.admin("GET", "/bookkeeping.jsonl?event=e").send().await.expect(200);
    let text = unchunked(&answer);
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut postings = BTreeMap::new();
    let mut balances: BTreeMap<&str, i64> = BTreeMap::new();
    for line in &lines {
        let document = line["document"].as_str().unwrap();
        let amounts =
            (line["debit_minor"].as_i64().unwrap(), line["credit_minor"].as_i64().unwrap());
        *balances.entry(document).or_default() += amounts.0 - amounts.1;
        let account = line["account"].as_str().unwrap();
        postings.insert((document, account), amounts);
        let rate_bp = (account != "payments_received").then_some(1_900);
        assert_eq!(line.get("rate_bp").and_then(Value::as_u64), rate_bp, "{line}");
        assert_eq!((&line["booking"], &line["currency"]), (&json!(booking), &json!("EUR")));
    }
    assert_eq!(balances, BTreeMap::from([("R-1", 0), ("R-2", 0)]));
    // 50.00 and 3.50 with 19 % in both; then all the units and 1.00 of the fees.
    let expected = BTreeMap::from([
        (("R-1", "payments_received"), (5_350, 0)),
        (("R-1", "sales"), (0, 4_202)),
        (("R-1", "fees"), (0, 294)),
        (("R-1", "tax"), (0, 854)),
        (("R-2", "payments_received"), (0, 5_100)),
        (("R-2", "sales"), (4_202, 0)),
        (("R-2", "fees"), (84, 0)),
        (("R-2", "tax"), (814, 0)),
    ]);
    assert_eq!(postings, expected);
}

/// The same shop with a seller, after another start.
async fn restart(shop: Shop) -> Shop {
    restart_with(shop, |_| {}).await
}

/// The same where something else is configured, too.
async fn restart_with(shop: Shop, change: impl FnOnce(&mut Config)) -> Shop {
    let Shop { server, clock, dir } = shop;
    server.shutdown().await;
    let seller = SellerSettings {
        name: "Hall".into(),
        address: vec!["1 Lane".into()],
        tax_id: None,
        series: "A7".into(),
        from: None,
    };
    let change = |config: &mut Config| {
        config.gateway = GatewayName::Sandbox;
        config.seller = Some(seller);
        change(config);
    };
    Shop::start_in(dir, clock, change).await
}

#[tokio::test]
async fn what_the_sandbox_took_has_no_receipt_where_another_gateway_is_set_and_keeps_no_event() {
    let shop = paid_shop().await;
    let booking = buy(&shop.guest().await, "A", 1).await;
    shop.until_step(&booking, Step::Confirmed).await;
    shop.organise_plainly("/events/e/close").await;
    let shop = restart_with(shop, with_stripe).await;
    shop.organise("POST", "/events/e/archive", &json!({"why": "it was a trial"})).await;
    issued(&shop, 0).await;
    // At the sandbox again, it was no trial; and whatever has its receipt keeps it.
    let shop = restart(shop).await;
    let rows = issued(&shop, 1).await;
    assert_eq!((&rows[0]["number"], &rows[0]["booking"]), (&json!("A7-1"), &json!(booking)));
    let shop = restart_with(shop, with_stripe).await;
    issued(&shop, 1).await;
}

#[tokio::test]
async fn what_was_taken_before_the_day_that_the_seller_names_has_no_receipt() {
    let shop = paid_shop().await;
    let ann = shop.guest().await;
    let before = buy(&ann, "A", 1).await;
    shop.until_step(&before, Step::Confirmed).await;
    shop.clock.advance_ms(2_000);
    let from = Some(readable(shop.clock.now().plus_ms(-1_000)));
    let shop = restart_with(shop, |config| config.seller.as_mut().unwrap().from = from).await;
    // The clerk looks at everything before it is told of this one.
    let booking = buy(&shop.guest().await, "B", 1).await;
    let rows = issued(&shop, 1).await;
    assert_eq!((&rows[0]["number"], &rows[0]["booking"]), (&json!("A7-1"), &json!(booking)));
    shop.until_step(&booking, Step::Confirmed).await;
    shop.organise_plainly("/events/e/close").await;
    shop.organise("POST", "/events/e/archive", &json!({"why": "it is over"})).await;
    let report = audited(shop.dir.path()).await;
    assert_eq!((&report["found"], &report["issued"]["receipts"]), (&json!([]), &json!(1)));
}

#[tokio::test]
async fn what_was_paid_before_there_was_a_seller_is_issued_in_order_of_time() {
    let shop = paid_shop().await;
    let ann = shop.guest().await;
    let first = buy(&ann, "A", 1).await;
    shop.clock.advance_ms(1);
    let bookings = [first, buy(&ann, "B", 1).await];
    for path in ["/receipts", "/receipts.csv", "/bookkeeping.jsonl"] {
        let answer = shop.admin("GET", path).send().await;
        assert_eq!(answer.problem(), (409, "RECEIPTS_OFF".into()), "{path}");
    }
    let answer = ann.get(&format!("/bookings/{}/receipts", bookings[0])).await;
    assert_eq!(answer.problem(), (409, "RECEIPTS_OFF".into()));
    assert!(answer.text("detail").contains("[seller]"));

    let shop = restart(shop).await;
    let rows = issued(&shop, 2).await;
    let found: Vec<_> = rows.iter().rev().map(|row| row["booking"].as_str().unwrap()).collect();
    assert_eq!(found, bookings);
    assert_eq!(rows[1]["number"], "A7-1");
    // Nothing twice after another start.
    let shop = restart(shop).await;
    let third = buy(&shop.guest().await, "C", 1).await;
    let rows = issued(&shop, 3).await;
    assert_eq!((&rows[0]["number"], &rows[0]["booking"]), (&json!("A7-3"), &json!(third)));
}

#[tokio::test]
async fn what_was_paid_before_there_was_a_seller_is_issued_although_its_event_was_archived() {
    let shop = paid_shop().await;
    let ann = shop.guest().await;
    let first = buy(&ann, "A", 1).await;
    shop.clock.advance_ms(1);
    let bookings = [first, buy(&ann, "B", 2).await];
    for booking in &bookings {
        shop.until_step(booking, Step::Confirmed).await;
    }
    shop.organise_plainly("/events/e/close").await;
    shop.organise("POST", "/events/e/archive", &json!({"why": "it is over"})).await;

    let shop = restart(shop).await;
    let rows = issued(&shop, 2).await;
    let found: Vec<_> = rows.iter().rev().map(|row| row["booking"].as_str().unwrap()).collect();
    assert_eq!(found, bookings);
    let receipt = &rows[0];
    assert_eq!((&receipt["title"], &receipt["amount_minor"]), (&json!("Paid"), &json!(5_350)));
    let units = &receipt["lines"][0];
    assert_eq!((&units["quantity"], &units["price_minor"]), (&json!(2), &json!(2_500)));
    assert_eq!(receipt["lines"][1]["amount_minor"], 350);
    let report = audited(shop.dir.path()).await;
    assert_eq!((&report["found"], &report["issued"]["missing"]), (&json!([]), &json!(0)));
}

#[tokio::test]
async fn a_buyer_who_is_erased_has_no_name_on_a_receipt() {
    let shop = shop().await;
    let ann = shop.guest().await;
    let booking = buy(&ann, "Ann", 1).await;
    issued(&shop, 1).await;
    shop.organise("POST", "/buyers/erase", &json!({"booking": booking})).await;
    let receipts = mine(&ann, &booking).await;
    assert!(receipts[0].get("buyer_name").is_none(), "{receipts:?}");
    assert_eq!(
        (&receipts[0]["number"], &receipts[0]["amount_minor"]),
        (&json!("R-1"), &json!(2_725))
    );
}

#[tokio::test]
async fn a_receipt_is_a_pdf_for_whoever_keeps_the_booking_and_for_the_organiser() {
    let shop = shop().await;
    let (ann, bo) = (shop.guest().await, shop.guest().await);
    let (first, second) = (buy(&ann, "Ann", 1).await, buy(&bo, "Bo", 1).await);
    issued(&shop, 2).await;
    let number = mine(&ann, &first).await[0]["number"].as_str().unwrap().to_owned();
    let path = format!("/bookings/{first}/receipts/{number}.pdf");
    let answer = ann.get(&path).await.expect(200);
    assert_eq!(answer.header("content-type"), Some("application/pdf"));
    assert_eq!(answer.header("cache-control"), Some("private, no-store"));
    let name = format!("inline; filename=\"{number}.pdf\"");
    assert_eq!(answer.header("content-disposition"), Some(&*name));
    assert!(answer.body.starts_with(b"%PDF-"));
    let all = shop.admin("GET", &format!("/receipts/{number}.pdf")).send().await.expect(200);
    assert!(all.body == answer.body, "the same document comes to the same bytes");
    let thai = ann.get(&format!("{path}?language=th")).await.expect(200);
    assert!(thai.body != answer.body);

    assert_eq!(bo.get(&path).await.problem(), (404, "RESERVATION_NOT_FOUND".into()));
    let of_another = format!("/bookings/{second}/receipts/{number}.pdf");
    assert_eq!(bo.get(&of_another).await.problem(), (404, "RECEIPT_NOT_FOUND".into()));
    let unknown = shop.admin("GET", "/receipts/R-99.pdf").send().await;
    assert_eq!(unknown.problem(), (404, "RECEIPT_NOT_FOUND".into()));
    for file in ["R-1", "R-01.pdf", "1.pdf", "R-1.svg"] {
        let answer = shop.admin("GET", &format!("/receipts/{file}")).send().await;
        assert_eq!(answer.problem(), (400, "INVALID_ID".into()), "{file}");
    }
    let answer = ann.get(&format!("{path}?language=tlh")).await;
    assert_eq!(answer.problem(), (400, "INVALID_QUERY".into()));
}
