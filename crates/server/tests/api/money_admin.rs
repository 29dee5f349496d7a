//! What the organiser sees of money: bookings and buyers, sagas, payments, refunds; and what people
//! read about events.

use crate::client::Answer;
use crate::paying::{GOOD_CARD, paid_shop, use_card};
use crate::sandboxed::Sandboxed;
use crate::shop::Shop;
use onrush_core::Command;
use onrush_core::lines::{Lines, PoolLine};
use onrush_core::types::AskedTypes;
use serde_json::{Value, json};
use std::time::Duration;

/// Asks until the answer is as it should be: the ledger follows the engine by the feed.
pub(crate) async fn until(shop: &Shop, path: &str, fits: impl Fn(&Value) -> bool) -> Value {
    let wait = async {
        loop {
            let answer = shop.admin("GET", path).send().await.expect(200).json();
            if fits(&answer) {
                return answer;
            }
            tokio::task::yield_now().await;
        }
    };
    let found = tokio::time::timeout(Duration::from_secs(20), wait).await;
    found.unwrap_or_else(|_| panic!("{path} never came to what was expected"))
}

fn count(answer: &Value, member: &str) -> usize {
    answer[member].as_array().map_or(0, Vec::len)
}

fn pay_body(name: &str, email: &str) -> Value {
    json!({"buyer": {"name": name, "email": email, "language": "th"}})
}

#[tokio::test]
async fn bookings_are_found_by_event_status_visitor_and_buyer() {
    let shop = paid_shop().await;
    let body = json!({"event": "other", "title": "Other", "currency": "EUR", "room": null});
    shop.organise("POST", "/events", &body).await;
    shop.add_pool("other", "ga", 10, 100).await;
    shop.organise_plainly("/events/other/open").await;
    let (ann, bob) = (shop.guest().await, shop.guest().await);
    let paid = ann.hold_ga("h", 1).await;
    let path = format!("/bookings/{paid}/payment");
    let body = pay_body("Ann Lee", "Ann@Example.org");
    let payment = ann.ask("POST", &path).key("p").json(&body).send().await.expect(201).json();
    use_card(payment["url"].as_str().unwrap(), GOOD_CARD).await.expect(200);
    ann.until_status(&paid, "confirmed").await;
    let wish = json!({"pools": {"ga": 2}});
    let other = bob.hold("other", "k", &wish).await.expect(201).text("booking");

    let all = until(&shop, "/bookings", |answer| count(answer, "bookings") == 2).await;
    assert!(all.get("next").is_none());
    let confirmed =
        until(&shop, "/bookings?status=confirmed", |answer| count(answer, "bookings") == 1).await;
    let row = &confirmed["bookings"][0];
    assert_eq!((&row["booking"], &row["event"]), (&json!(paid), &json!("e")));
    assert_eq!((&row["status"], &row["user"]), (&json!("confirmed"), &json!(ann.user)));
    assert_eq!(row["payment"], payment["payment"]);
    assert_eq!((&row["amount_minor"], &row["currency"]), (&json!(2_725), &json!("EUR")));
    assert_eq!(
        row["buyer"],
        json!({"name": "Ann Lee", "email": "Ann@Example.org", "language": "th"})
    );
    for (query, expected) in [
        ("event=other".to_owned(), vec![&other]),
        (format!("user={}", bob.user), vec![&other]),
        ("text=ann%20l".to_owned(), vec![&paid]),
        ("text=EXAMPLE".to_owned(), vec![&paid]),
        (format!("text={other}"), vec![&other]),
        ("event=e&status=held".to_owned(), vec![]),
    ] {
        let answer = shop.admin("GET", &format!("/bookings?{query}")).send().await.expect(200);
        let answer = answer.json();
        let rows = answer["bookings"].as_array().unwrap();
        let found: Vec<_> = rows.iter().map(|row| row["booking"].as_str().unwrap()).collect();
        assert_eq!(found, expected, "{query}");
    }
    // Page by page it is the same, each row once.
    let first = shop.admin("GET", "/bookings?limit=1").send().await.expect(200).json();
    let next = first["next"].as_str().unwrap().replace('/', "%2F");
    let path = format!("/bookings?limit=1&after={next}");
    let second = shop.admin("GET", &path).send().await.expect(200).json();
    assert_ne!(first["bookings"][0]["booking"], second["bookings"][0]["booking"]);
    assert!(second.get("next").is_none());
}

#[tokio::test]
async fn lists_are_for_the_organiser_and_know_only_their_own_members() {
    let shop = Shop::start().await;
    let guest = shop.guest().await;
    for path in ["bookings", "bookings.csv", "sagas", "sagas/e.1", "payments", "refunds"] {
        let plain = shop.ask("GET", &format!("/admin/{path}")).send().await;
        assert_eq!(plain.problem(), (401, "TOKEN_MISSING".into()), "{path}");
        let visitor = guest.get(&format!("/admin/{path}")).await;
        assert_eq!(visitor.problem(), (401, "TOKEN_INVALID".into()), "{path}");
    }
    for query in [
        "bookings?colour=red",
        "bookings?status=lost",
        "bookings?text=",
        "bookings?limit=0",
        "bookings?limit=1001",
        "bookings?event=no%20id",
        "bookings.csv?limit=5",
        "sagas?step=PAID",
        "sagas?stuck=perhaps",
        "payments?stage=lost",
        "refunds?stage=open",
    ] {
        let answer = shop.admin("GET", &format!("/{query}")).send().await;
        assert_eq!(answer.problem(), (400, "INVALID_QUERY".into()), "{query}");
    }
}

/// A body in chunks as one.
pub(crate) fn unchunked(answer: &Answer) -> String {
    assert_eq!(answer.header("transfer-encoding"), Some("chunked"));
    let (mut rest, mut whole) = (answer.body.as_slice(), Vec::new());
    loop {
        let end = rest.windows(2).position(|pair| pair == b"\r\n").expect("a chunk has a size");
        let size = usize::from_str_radix(std::str::from_utf8(&rest[..end]).unwrap(), 16).unwrap();
        rest = &rest[end + 2..];
        if size == 0 {
            return String::from_utf8(whole).unwrap();
        }
        whole.extend_from_slice(&rest[..size]);
        rest = &rest[size + 2..];
    }
}

#[tokio::test]
async fn no_cell_of_the_table_runs_as_a_formula() {
    let shop = paid_shop().await;
    let guest = shop.guest().await;
    let booking = guest.hold_ga("h", 2).await;
    let path = format!("/bookings/{booking}/payment");
    let body = pay_body("=HYPERLINK(\"http://x\";\"y\")", "+1@example.org");
    guest.ask("POST", &path).key("p").json(&body).send().await.expect(201);
    until(&shop, "/bookings?status=paying", |answer| count(answer, "bookings") == 1).await;

    let table = shop.admin("GET", "/bookings.csv?event=e").send().await.expect(200);
    assert_eq!(table.header("content-type"), Some("text/csv; charset=utf-8; header=present"));
    assert_eq!(table.header("content-disposition"), Some("attachment; filename=\"bookings.csv\""));
    let text = unchunked(&table);
    assert!(text.starts_with("\u{feff}\"booking\","), "spreadsheets read it as UTF-8: {text}");
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let head = reader.headers().unwrap().clone();
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    let cell = |name: &str| &rows[0][head.iter().position(|other| other == name).unwrap()];
    assert_eq!(rows.len(), 1);
    assert_eq!((cell("booking"), cell("pools"), cell("seats")), (&*booking, "ga=2", ""));
    assert_eq!((cell("status"), cell("amount_minor")), ("paying", "5350"));
    assert_eq!(cell("name"), "'=HYPERLINK(\"http://x\";\"y\")");
    assert_eq!(cell("email"), "'+1@example.org");
    assert!(cell("created_at").ends_with('Z'), "{}", cell("created_at"));
}

#[tokio::test]
async fn a_booking_says_when_it_was_confirmed_in_lists_and_tables() {
    let shop = paid_shop().await;
    shop.flash_sale("free").await;
    let guest = shop.guest().await;
    let (sold, held) = (guest.hold_ga("sold", 1).await, guest.hold_ga("held", 1).await);
    let wish = json!({"pools": {"ga": 1}});
    let free = guest.hold("free", "free", &wish).await.expect(201).text("booking");
    shop.clock.advance_ms(60_000);
    let confirmed_at = shop.clock.now().0;
    let at_box_office = format!("/events/e/bookings/{sold}/confirm");
    shop.organise("POST", &at_box_office, &json!({"payment": "till-7"})).await;
    guest.ask("POST", &format!("/bookings/{free}/confirm")).send().await.expect(200);
    shop.clock.advance_ms(60_000);
    let reason = json!({"by": "Eve", "why": "rain"});
    shop.organise("POST", &format!("/events/e/bookings/{sold}/cancel"), &reason).await;

    let cancelled = |page: &Value| count(page, "bookings") == 1;
    until(&shop, "/bookings?status=cancelled", cancelled).await;
    let page = shop.admin("GET", "/bookings").send().await.expect(200).json();
    let rows = page["bookings"].as_array().unwrap();
    let told = |id: &str| {
        let row = rows.iter().find(|row| row["booking"] == id).expect("it is there");
        row.get("confirmed_at").and_then(Value::as_i64)
    };
    // What is cancelled was sold all the same.
    let expected = (Some(confirmed_at), Some(confirmed_at), None);
    assert_eq!((told(&sold), told(&free), told(&held)), expected, "{page}");

    let table = shop.admin("GET", "/bookings.csv").send().await.expect(200);
    let text = unchunked(&table);
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let head = reader.headers().unwrap().clone();
    let place = |name: &str| head.iter().position(|other| other == name).unwrap();
    assert_eq!(place("confirmed_at"), head.len() - 1, "what is new comes last");
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    let row = |id: &str| rows.iter().find(|row| &row[0] == id).unwrap();
    let told = |id: &str| &row(id)[place("confirmed_at")];
    // Nothing has happened to this one since.
    let when = &row(&free)[place("updated_at")];
    assert_eq!((told(&sold), told(&free), told(&held)), (when, when, ""));
    assert!(when > &row(&free)[place("created_at")], "{text}");
}

#[tokio::test]
async fn the_table_has_every_row_however_many_pages_it_takes() {
    const ROWS: usize = 1_205;
    let shop = Shop::start().await;
    let body = json!({"event": "e", "title": "Large", "currency": "EUR", "room": null});
    shop.organise("POST", "/events", &body).await;
    shop.add_pool("e", "ga", 2_000, 100).await;
    shop.organise_plainly("/events/e/open").await;
    let engine = shop.server.engine();
    for number in 0..ROWS {
        let line = PoolLine { pool: "ga".parse().unwrap(), quantity: 1 };
        let command = Command::Hold {
            booking: format!("e.{number:032x}").parse().unwrap(),
            user: format!("user-{number}").parse().unwrap(),
            lines: Lines::new(vec![line], Vec::new()).unwrap(),
            channels: Vec::new(),
            types: AskedTypes::default(),
        };
        engine.execute("e".parse().unwrap(), command).await.unwrap();
    }
    let last = format!("/bookings?user=user-{}", ROWS - 1);
    until(&shop, &last, |answer| count(answer, "bookings") == 1).await;
    let table = shop.admin("GET", "/bookings.csv?status=held").send().await.expect(200);
    let text = unchunked(&table);
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let mut ids: Vec<String> = reader.records().map(|row| row.unwrap()[0].to_owned()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), ROWS);
}

#[tokio::test]
async fn a_saga_tells_its_payments_and_its_history() {
    let shop = paid_shop().await;
    let guest = shop.guest().await;
    let booking = guest.hold_ga("h", 1).await;
    let payment = guest.pay(&booking, "p").await.expect(201).json();
    use_card(payment["url"].as_str().unwrap(), GOOD_CARD).await.expect(200);
    let path = format!("/sagas/{booking}");
    let record = until(&shop, &path, |record| record["saga"]["current_step"] == "CONFIRMED").await;
    let saga = &record["saga"];
    assert_eq!((&saga["event"], &saga["user"]), (&json!("e"), &json!(guest.user)));
    assert!(saga["reserve_completed_at"].is_i64() && saga["payment_completed_at"].is_i64());
    assert_eq!(record["payments"][0]["payment"], payment["payment"]);
    assert_eq!(record["payments"][0]["stage"], "captured");
    assert_eq!(record["payments"][0]["captured_minor"], 2_725);
    let history = record["history"].as_array().unwrap();
    let steps: Vec<_> = history.iter().map(|line| line["step"].as_str().unwrap()).collect();
    assert!(steps.contains(&"PAYMENT_SENT") && steps.contains(&"PAYMENT_OK"), "{steps:?}");
    assert_eq!(steps.last(), Some(&"CONFIRMED"));
    assert_eq!(history.last().unwrap()["version"], saga["version"]);

    let cancel = format!("/events/e/bookings/{booking}/cancel");
    shop.organise("POST", &cancel, &json!({"by": "Eve", "why": "rain"})).await;
    let record = until(&shop, &path, |record| record["saga"]["current_step"] == "FAILED").await;
    assert_eq!(record["refunds"][0]["refund"], format!("refund:{booking}:1"));
    assert_eq!(record["refunds"][0]["status"], "done");
    let refunds = until(&shop, "/refunds?event=e", |page| count(page, "refunds") == 1).await;
    assert_eq!(refunds["refunds"][0]["amount_minor"], 2_725);
    let path = format!("/refunds?booking={booking}.x");
    assert_eq!(count(&shop.admin("GET", &path).send().await.expect(200).json(), "refunds"), 0);
    for (query, expected) in [
        ("stage=refunded", 1),
        ("stage=open", 0),
        ("event=e", 1),
        ("event=f", 0),
        ("flagged=true", 0),
        ("flagged=false", 1),
    ] {
        let page = shop.admin("GET", &format!("/payments?{query}")).send().await.expect(200);
        assert_eq!(count(&page.json(), "payments"), expected, "{query}");
    }
    let failed = shop.admin("GET", "/sagas?step=FAILED&event=e").send().await.expect(200).json();
    assert_eq!(failed["sagas"][0]["booking"], json!(booking));

    let none = shop.admin("GET", "/sagas/e.00").send().await;
    assert_eq!(none.problem(), (404, "SAGA_NOT_FOUND".into()));
}

#[tokio::test]
async fn a_refund_does_not_wait_for_a_clock_that_was_set_back() {
    let shop = paid_shop().await;
    let guest = shop.guest().await;
    let booking = guest.hold_ga("h", 1).await;
    let payment = guest.pay(&booking, "p").await.expect(201).json();
    use_card(payment["url"].as_str().unwrap(), GOOD_CARD).await.expect(200);
    guest.until_status(&booking, "confirmed").await;
    // The engine has seen a time that everybody else will see in two hours only.
    let before = shop.clock.now();
    shop.clock.advance_ms(7_200_000);
    shop.server.engine().events().await.unwrap();
    shop.clock.set(before);
    let cancel = format!("/events/e/bookings/{booking}/cancel");
    shop.organise("POST", &cancel, &json!({"by": "Eve", "why": "rain"})).await;
    let path = format!("/sagas/{booking}");
    let record = until(&shop, &path, |record| record["saga"]["current_step"] == "FAILED").await;
    assert_eq!(record["refunds"][0]["status"], "done");
}

#[tokio::test]
async fn a_message_with_another_amount_flags_its_payment() {
    let sandboxed = Sandboxed::start(|_| {}).await;
    let guest = sandboxed.shop.guest().await;
    let booking = guest.hold_ga("h", 1).await;
    let payment = guest.pay(&booking, "p").await.expect(201).text("payment");
    let forged = sandboxed.message("payment.captured", &payment, &booking, 1);
    let answer = sandboxed.tell("/api/v1/payments/webhook/sandbox", &forged).await;
    assert_eq!(answer.problem(), (409, "WEBHOOK_MISMATCH".into()));
    let page =
        until(&sandboxed.shop, "/payments?flagged=true", |page| count(page, "payments") == 1);
    let page = page.await;
    assert_eq!(page["payments"][0]["payment"], json!(payment));
    assert_eq!(page["payments"][0]["captured_minor"], 0);
    assert_eq!(guest.booking(&booking).await["status"], "paying");
}

/// A shop whose sagas give up at once, and a booking whose payment the gateway could not create.
async fn stuck(sandboxed: &Sandboxed) -> String {
    sandboxed.script(&json!({"fault": "error_then_success", "on": "create"})).await;
    let guest = sandboxed.shop.guest().await;
    let booking = guest.hold_ga("h", 1).await;
    let answer = guest.pay(&booking, "p").await;
    assert_eq!(answer.status, 500, "{answer:?}");
    let page = until(&sandboxed.shop, "/sagas?stuck=true", |page| count(page, "sagas") == 1).await;
    assert_eq!(page["sagas"][0]["booking"], json!(booking));
    assert!(page["sagas"][0]["stuck"].is_string());
    booking
}

#[tokio::test]
async fn sagas_that_are_stuck_and_those_that_are_not_are_two_lists() {
    let sandboxed = Sandboxed::start(|config| config.saga.tries = 1).await;
    let (shop, stuck) = (&sandboxed.shop, stuck(&sandboxed).await);
    let guest = shop.guest().await;
    let other = guest.hold_ga("other", 1).await;
    guest.pay(&other, "p").await.expect(201);
    for (query, mut expected) in
        [("", vec![&stuck, &other]), ("?stuck=true", vec![&stuck]), ("?stuck=false", vec![&other])]
    {
        let page = shop.admin("GET", &format!("/sagas{query}")).send().await.expect(200).json();
        let rows = page["sagas"].as_array().unwrap().iter();
        let mut found: Vec<_> = rows.map(|row| row["booking"].as_str().unwrap()).collect();
        found.sort_unstable();
        expected.sort_unstable();
        assert_eq!(found, expected, "{query}");
    }
}

#[tokio::test]
async fn a_stuck_saga_that_is_tried_again_goes_on() {
    let sandboxed = Sandboxed::start(|config| config.saga.tries = 1).await;
    let booking = stuck(&sandboxed).await;
    let retry = sandboxed.shop.admin("POST", &format!("/sagas/{booking}/retry"));
    for body in [json!([]), json!({"by": "Eve", "why": "x"})] {
        let refused = retry.clone().json(&body).send().await;
        assert_eq!(refused.problem(), (422, "INVALID_BODY".into()), "{body}");
    }
    let record = retry.clone().json(&json!({"by": "Eve"})).send().await.expect(200).json();
    assert_eq!(record["saga"]["current_step"], "PAYMENT_SENT");
    assert!(record["saga"].get("stuck").is_none());
    assert_eq!(record["payments"][0]["stage"], "open");
    let history = record["history"].to_string();
    assert!(history.contains("admin: try again"), "{history}");
    let again = retry.json(&json!({"by": "Eve"})).send().await;
    assert_eq!(again.problem(), (409, "SAGA_NOT_STUCK".into()));
}

#[tokio::test]
async fn a_stuck_saga_can_be_ended_without_money() {
    let sandboxed = Sandboxed::start(|config| config.saga.tries = 1).await;
    let booking = stuck(&sandboxed).await;
    let path = format!("/sagas/{booking}/release");
    let record = sandboxed.shop.organise("POST", &path, &json!({"by": "Eve"})).await;
    assert_eq!(record["payments"][0]["stage"], "void");
    assert!(record["saga"].get("stuck").is_none());
    let (captured, _) = sandboxed.totals().await;
    assert_eq!(captured, 0);
}

#[tokio::test]
async fn an_action_needs_a_saga_that_is_stuck() {
    let shop = paid_shop().await;
    let guest = shop.guest().await;
    let booking = guest.hold_ga("h", 1).await;
    guest.pay(&booking, "p").await.expect(201);
    for action in ["retry", "refund", "release"] {
        let by = json!({"by": "Eve"});
        let path = format!("/sagas/{booking}/{action}");
        let answer = shop.admin("POST", &path).json(&by).send().await;
        assert_eq!(answer.problem(), (409, "SAGA_NOT_STUCK".into()), "{action}");
        let none = shop.admin("POST", &format!("/sagas/e.00/{action}")).json(&by).send().await;
        assert_eq!(none.problem(), (404, "SAGA_NOT_FOUND".into()), "{action}");
        let visitor = guest.ask("POST", &format!("/admin{path}")).json(&by).send().await;
        assert_eq!(visitor.problem(), (401, "TOKEN_INVALID".into()), "{action}");
    }
    assert_eq!(guest.booking(&booking).await["status"], "paying");
}

#[tokio::test]
async fn an_erased_buyer_is_nowhere_any_more() {
    let shop = paid_shop().await;
    let mut bookings = Vec::new();
    let guest = shop.guest().await;
    for (key, email) in
        [("a", "ann@example.org"), ("b", "ANN@example.org"), ("c", "bob@example.org")]
    {
        let booking = guest.hold_ga(key, 1).await;
        let path = format!("/bookings/{booking}/payment");
        let body = pay_body("Somebody", email);
        guest.ask("POST", &path).key("p").json(&body).send().await.expect(201);
        bookings.push(booking);
    }
    let known = |page: &Value| count(page, "bookings") == 3;
    until(&shop, "/bookings?text=somebody", known).await;
    let erase = |body: Value| shop.admin("POST", "/buyers/erase").json(&body).send();
    for body in [
        json!({}),
        json!({"booking": bookings[0], "user": guest.user}),
        json!({"email": ""}),
        json!({"booking": "no id"}),
        json!({"name": "Ann"}),
    ] {
        assert_eq!(erase(body.clone()).await.problem(), (422, "INVALID_BODY".into()), "{body}");
    }
    let erased = erase(json!({"email": "aNN@example.org"})).await.expect(200).json();
    assert_eq!(erased, json!({"erased": 2}));
    assert_eq!(erase(json!({"booking": bookings[0]})).await.json(), json!({"erased": 0}));
    assert_eq!(erase(json!({"booking": bookings[2]})).await.json(), json!({"erased": 1}));
    let page = shop.admin("GET", "/bookings?text=somebody").send().await.expect(200).json();
    assert_eq!(count(&page, "bookings"), 0);
    let all = shop.admin("GET", "/bookings").send().await.expect(200).json();
    assert_eq!(count(&all, "bookings"), 3);
    assert!(!all.to_string().contains("example.org"));
    assert_eq!(erase(json!({"user": guest.user})).await.json(), json!({"erased": 0}));
}

#[tokio::test]
async fn texts_are_set_by_the_organiser_and_read_by_anyone() {
    let shop = Shop::start().await;
    shop.flash_sale("e").await;
    let read = || shop.ask("GET", "/events/e/texts").send();
    assert_eq!(read().await.expect(200).json(), json!({"event": "e", "texts": {}}));
    let english = json!({"title": "Winter", "description": "Long.", "venue": "Arena"});
    shop.organise("PUT", "/events/e/texts/en", &json!({"title": "Wintre"})).await;
    shop.organise("PUT", "/events/e/texts/en", &english).await;
    let set = shop.organise("PUT", "/events/e/texts/th", &json!({"title": "ฤดูหนาว"})).await;
    let expected = json!({"event": "e", "texts": {"en": english,
        "th": {"title": "ฤดูหนาว", "description": "", "venue": ""}}});
    assert_eq!(set, expected);
    assert_eq!(read().await.expect(200).json(), expected);

    let put = |path: &str, body: Value| shop.admin("PUT", path).json(&body).send();
    let fine = json!({"title": "x"});
    let unknown = put("/events/f/texts/en", fine.clone()).await;
    assert_eq!(unknown.problem(), (404, "EVENT_NOT_FOUND".into()));
    let unknown = shop.ask("GET", "/events/f/texts").send().await;
    assert_eq!(unknown.problem(), (404, "EVENT_NOT_FOUND".into()));
    assert_eq!(put("/events/e/texts/e", fine.clone()).await.problem(), (400, "INVALID_ID".into()));
    for body in [
        json!({"title": ""}),
        json!({"title": "x".repeat(501)}),
        json!({"title": "x", "venue": "x".repeat(501)}),
        json!({"title": "x", "description": "x".repeat(10_001)}),
        json!({"title": "x", "price": 1}),
    ] {
        assert_eq!(put("/events/e/texts/en", body).await.problem(), (422, "INVALID_BODY".into()));
    }
    let visitor = shop.guest().await;
    let refused = visitor.ask("PUT", "/admin/events/e/texts/en").json(&fine).send().await;
    assert_eq!(refused.problem(), (401, "TOKEN_INVALID".into()));
    assert_eq!(read().await.expect(200).json(), expected);
}

#[tokio::test]
async fn a_ledger_that_cannot_be_read_is_a_503_and_never_half_a_table() {
    let shop = paid_shop().await;
    shop.server.sqlite_ledger().expect("a file").break_for_tests(true);
    for path in ["bookings", "bookings.csv", "sagas", "sagas/e.1", "payments", "refunds"] {
        let answer = shop.admin("GET", &format!("/{path}")).send().await;
        assert_eq!(answer.problem(), (503, "LEDGER_UNAVAILABLE".into()), "{path}");
    }
    shop.server.sqlite_ledger().expect("a file").break_for_tests(false);
    shop.admin("GET", "/bookings").send().await.expect(200);
}
