//! Links: the way back to one booking that needs no account.

use crate::client::{Answer, Request};
use crate::limits::{check_told, until_limited};
use crate::shop::{ADMIN_KEY, Guest, Shop};
use onrush_base::config::GatewayName;
use onrush_base::config::limits::PerMin;
use onrush_core::hold::HoldStatus;
use onrush_ledger::booking::Booking;
use serde_json::{Value, json};

const DAY_MS: i64 = 24 * 3_600_000;

/// A shop whose guest tokens live a day, with the event `e` free of charge.
async fn shop() -> Shop {
    let shop = Shop::start_with(|config| config.guest_token_ttl_s = 86_400).await;
    shop.flash_sale("e").await;
    shop
}

impl Guest<'_> {
    async fn booked(&self, key: &str) -> String {
        let held = self.hold("e", key, &json!({"pools": {"ga": 1}})).await.expect(201);
        let booking = held.text("booking");
        self.ask("POST", &format!("/bookings/{booking}/confirm")).send().await.expect(200);
        booking
    }

    async fn link(&self, booking: &str) -> String {
        let answer = self.get(&format!("/bookings/{booking}/link")).await.expect(200);
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        answer.text("link")
    }
}

#[tokio::test]
async fn whoever_has_a_link_asks_as_often_as_a_visitor() {
    let shop = Shop::start_with(|config| {
        config.limits.user_reads_per_min = PerMin::of(20);
        config.limits.user_writes_per_min = PerMin::of(10);
    })
    .await;
    shop.flash_sale("e").await;
    let guest = shop.guest().await;
    let (first, second) = (guest.booked("k1").await, guest.booked("k2").await);
    let (link, other) = (guest.link(&first).await, guest.link(&second).await);
    let holder = Holder { shop: &shop, link };
    let reads = holder.ask("GET", &format!("/bookings/{first}/tickets"));
    let (sent, limited) = until_limited(&reads, 400).await;
    assert!(sent >= 20, "{sent}");
    check_told(&limited, "user_reads", 20);
    let writes = holder.ask("POST", &format!("/bookings/{first}/cancel"));
    let (_, limited) = until_limited(&writes, 400).await;
    check_told(&limited, "user_writes", 10);
    Holder { shop: &shop, link: other }.booking(&second).await;
}

/// Somebody who has a link and nothing else.
struct Holder<'a> {
    shop: &'a Shop,
    link: String,
}

impl Holder<'_> {
    fn ask(&self, method: &str, path: &str) -> Request {
        self.shop.ask(method, path).bearer(&self.link)
    }

    async fn get(&self, path: &str) -> Answer {
        self.ask("GET", path).send().await
    }

    async fn booking(&self, booking: &str) -> Value {
        self.get(&format!("/bookings/{booking}")).await.expect(200).json()
    }
}

#[tokio::test]
async fn a_booking_whose_token_has_died_is_opened_by_its_link() {
    let shop = shop().await;
    let guest = shop.guest().await;
    let booking = guest.booked("k").await;
    let seen = guest.get(&format!("/bookings/{booking}")).await.expect(200).json();
    let tickets = guest.get(&format!("/bookings/{booking}/tickets")).await.expect(200).json();
    let holder = Holder { shop: &shop, link: guest.link(&booking).await };
    shop.clock.advance_ms(400 * DAY_MS);
    let dead = guest.get(&format!("/bookings/{booking}")).await;
    assert_eq!(dead.problem(), (401, "TOKEN_EXPIRED".into()));

    let before = shop.committed();
    assert_eq!(holder.booking(&booking).await, seen);
    let path = format!("/bookings/{booking}/tickets");
    assert_eq!(holder.get(&path).await.expect(200).json(), tickets);
    let picture = holder.get(&format!("{path}/1.svg")).await.expect(200);
    let code = tickets["tickets"][0]["code"].as_str().unwrap();
    assert_eq!(picture.body, onrush_base::tickets::qr::svg(code).unwrap().into_bytes());
    let again = holder.get(&format!("/bookings/{booking}/link")).await.expect(200);
    assert_eq!(again.text("link"), holder.link);
    let free = holder.get(&format!("/bookings/{booking}/payment")).await;
    assert_eq!(free.problem(), (404, "SAGA_NOT_FOUND".into()));
    assert_eq!(shop.committed(), before, "looking changes nothing");

    let cancel = || holder.ask("POST", &format!("/bookings/{booking}/cancel")).key("c").send();
    assert_eq!(cancel().await.problem(), (409, "NOT_CANCELLABLE".into()));
}

#[tokio::test]
async fn a_link_opens_its_own_booking_and_nothing_else() {
    let shop = shop().await;
    let guest = shop.guest().await;
    let (booking, other) = (guest.booked("1").await, guest.booked("2").await);
    let holder = Holder { shop: &shop, link: guest.link(&booking).await };
    let before = shop.committed();
    for what in ["", "/tickets", "/tickets/1.svg", "/payment", "/link"] {
        let answer = holder.get(&format!("/bookings/{other}{what}")).await;
        assert_eq!(answer.problem(), (404, "RESERVATION_NOT_FOUND".into()), "{what}");
    }
    let cancel = holder.ask("POST", &format!("/bookings/{other}/cancel")).send().await;
    assert_eq!(cancel.problem(), (404, "RESERVATION_NOT_FOUND".into()));
    for (method, path) in [
        ("GET", "/bookings".to_owned()),
        ("POST", format!("/bookings/{booking}/extend")),
        ("POST", format!("/bookings/{booking}/confirm")),
        ("POST", format!("/bookings/{booking}/link")),
        ("DELETE", format!("/bookings/{booking}/buyer")),
        ("POST", "/stream-tickets".to_owned()),
        ("POST", "/visitors/renew".to_owned()),
        ("POST", "/visitors/carry".to_owned()),
        ("POST", "/events/e/queue".to_owned()),
        ("GET", "/events/e/stream".to_owned()),
        ("GET", "/admin/feed".to_owned()),
    ] {
        let answer = holder.ask(method, &path).send().await;
        assert_eq!(answer.problem(), (401, "TOKEN_INVALID".into()), "{method} {path}");
    }
    let pay = holder.ask("POST", &format!("/bookings/{booking}/payment")).key("p").send().await;
    assert_eq!(pay.problem(), (401, "TOKEN_INVALID".into()));
    let stranger = shop.guest().await;
    let theirs = stranger.get(&format!("/bookings/{booking}/link")).await;
    assert_eq!(theirs.problem(), (404, "RESERVATION_NOT_FOUND".into()));
    assert_eq!(shop.committed(), before);
    for forged in [
        holder.link.replace(&booking, &other),
        holder.link.replacen(".0.", ".1.", 1),
        format!("{}A", holder.link),
        "b1.".into(),
        "b1....".into(),
        format!("b1.{booking}.0.00000000.{}", "A".repeat(43)),
    ] {
        let answer = shop.ask("GET", &format!("/bookings/{booking}")).bearer(&forged).send().await;
        assert_eq!(answer.problem(), (401, "TOKEN_INVALID".into()), "{forged}");
    }
}

#[tokio::test]
async fn a_booking_is_cancelled_by_its_link_once_and_says_so_for_good() {
    let shop = Shop::start().await;
    let starts_at = shop.clock.now().0 + 60 * DAY_MS;
    let event = json!({"event": "e", "title": "T", "currency": "EUR", "room": null,
        "starts_at": starts_at, "refunds": [{"days_before": 1, "percent": 80}]});
    shop.organise("POST", "/events", &event).await;
    shop.add_pool("e", "ga", 10, 0).await;
    shop.organise_plainly("/events/e/open").await;
    let guest = shop.guest().await;
    let booking = guest.booked("k").await;
    let holder = Holder { shop: &shop, link: guest.link(&booking).await };
    let path = format!("/bookings/{booking}/cancel");
    let cancelled = holder.ask("POST", &path).key("c").send().await.expect(200).json();
    assert_eq!(cancelled["status"], "cancelled");
    assert_eq!(holder.ask("POST", &path).key("c").send().await.expect(200).json(), cancelled);
    assert_eq!(holder.booking(&booking).await["status"], "cancelled");
    let tickets = holder.get(&format!("/bookings/{booking}/tickets")).await;
    assert_eq!(tickets.problem(), (409, "INVALID_STATUS".into()));

    // The engine forgets what ended a day ago. The ledger, once it was told, does not.
    let (id, ledger) = (booking.parse().unwrap(), shop.server.ledger());
    let is_cancelled = |known: &Booking| known.status == HoldStatus::Cancelled;
    while !ledger.booking(&id).await.unwrap().as_ref().is_some_and(is_cancelled) {
        tokio::task::yield_now().await;
    }
    shop.clock.advance_ms(2 * DAY_MS);
    let later = holder.booking(&booking).await;
    for what in
        ["booking", "event", "status", "lines", "amount_minor", "created_at", "cancelled_at"]
    {
        assert_eq!(later[what], cancelled[what], "{what}: {later}");
    }
    let guest = guest.ask("GET", &format!("/bookings/{booking}")).send().await.expect(200);
    assert_eq!(guest.json(), later);
    let stranger = shop.guest().await.get(&format!("/bookings/{booking}")).await;
    assert_eq!(stranger.problem(), (404, "RESERVATION_NOT_FOUND".into()));
}

#[tokio::test]
async fn a_hold_is_given_back_by_its_link() {
    let shop = shop().await;
    let guest = shop.guest().await;
    let held = guest.hold("e", "k", &json!({"pools": {"ga": 1}})).await.expect(201);
    let booking = held.text("booking");
    let holder = Holder { shop: &shop, link: guest.link(&booking).await };
    let path = format!("/bookings/{booking}/cancel");
    let released = holder.ask("POST", &path).send().await.expect(200).json();
    assert_eq!(released["status"], "released");
}

#[tokio::test]
async fn a_link_shows_how_the_payment_stands() {
    let shop = Shop::start_with(|config| config.gateway = GatewayName::Sandbox).await;
    crate::paying::open_paid_event(&shop).await;
    let guest = shop.guest().await;
    let booking = guest.hold_ga("k", 1).await;
    let payment = guest.pay(&booking, "p").await.expect(201).json();
    let holder = Holder { shop: &shop, link: guest.link(&booking).await };
    let path = format!("/bookings/{booking}/payment");
    assert_eq!(holder.get(&path).await.expect(200).json(), payment);
}

#[tokio::test]
async fn a_link_is_withdrawn_by_its_visitor_and_by_erasing_the_buyer() {
    let shop = shop().await;
    let guest = shop.guest().await;
    let (booking, other) = (guest.booked("1").await, guest.booked("2").await);
    let path = format!("/bookings/{booking}");
    let bystander = Holder { shop: &shop, link: guest.link(&other).await };
    let mut link = guest.link(&booking).await;
    let withdrawn = async |link: &str| {
        let answer = shop.ask("GET", &path).bearer(link).send().await;
        assert_eq!(answer.problem(), (401, "LINK_WITHDRAWN".into()));
    };
    let erase = |whose: Value| {
        shop.ask("POST", "/admin/buyers/erase").bearer(ADMIN_KEY).json(&whose).send()
    };
    for way in ["visitor", "erased by the visitor", "erased by the organiser"] {
        Holder { shop: &shop, link: link.clone() }.booking(&booking).await;
        match way {
            "visitor" => {
                let fresh = guest.ask("POST", &format!("{path}/link")).send().await.expect(201);
                assert_eq!(fresh.text("link"), guest.link(&booking).await);
            }
            "erased by the visitor" => {
                guest.ask("DELETE", &format!("{path}/buyer")).send().await.expect(200);
            }
            _ => drop(erase(json!({"booking": booking})).await.expect(200)),
        }
        withdrawn(&link).await;
        link = guest.link(&booking).await;
    }
    bystander.booking(&other).await;
    let ann = onrush_ledger::booking::Buyer {
        name: "Ann".into(),
        email: "ann@post.example".into(),
        language: "en".into(),
    };
    shop.server
        .ledger()
        .set_buyer(&booking.parse().unwrap(), &"ann".parse().unwrap(), ann)
        .await
        .unwrap();
    let erased = erase(json!({"email": "ANN@post.example"})).await.expect(200).json();
    assert_eq!(erased, json!({"erased": 1}));
    withdrawn(&link).await;
    bystander.booking(&other).await;
}

#[tokio::test]
async fn whoever_has_a_link_that_is_withdrawn_just_now_is_never_told_the_new_one() {
    let shop = shop().await;
    let guest = shop.guest().await;
    let booking = guest.booked("k").await;
    let path = format!("/bookings/{booking}/link");
    let mut link = guest.link(&booking).await;
    for _ in 0..50 {
        let holder = Holder { shop: &shop, link };
        let withdraw = guest.ask("POST", &path).send();
        let (asked, withdrawn) = tokio::join!(holder.get(&path), withdraw);
        if asked.status == 200 {
            assert_eq!(asked.text("link"), holder.link);
        } else {
            assert_eq!(asked.problem(), (401, "LINK_WITHDRAWN".into()));
        }
        link = withdrawn.expect(201).text("link");
    }
}

#[tokio::test]
async fn a_confirmation_that_is_refused_withdraws_no_link() {
    let shop = shop().await;
    shop.add_pool("e", "paid", 5, 4_200).await;
    let guest = shop.guest().await;
    let held = guest.hold("e", "k", &json!({"pools": {"paid": 1}})).await.expect(201);
    let booking = held.text("booking");
    let holder = Holder { shop: &shop, link: guest.link(&booking).await };
    let body = json!({"buyer": {"name": "Ann", "email": "ann@post.example"}});
    let path = format!("/bookings/{booking}/confirm");
    let refused = guest.ask("POST", &path).json(&body).send().await;
    assert_eq!(refused.problem(), (402, "PAYMENT_REQUIRED".into()));
    let buyer = shop.server.ledger().buyer(&booking.parse().unwrap()).await.unwrap();
    assert_eq!(buyer, None);
    holder.booking(&booking).await;
    assert_eq!(guest.link(&booking).await, holder.link);
}

#[tokio::test]
async fn links_outlive_a_restart_and_a_new_key_and_end_with_their_own() {
    let shop = shop().await;
    let (booking, link) = {
        let guest = shop.guest().await;
        let booking = guest.booked("k").await;
        let link = guest.link(&booking).await;
        (booking, link)
    };
    let path = format!("/bookings/{booking}");
    let keys = shop.dir.path().join("keys");
    let files = || {
        let names = std::fs::read_dir(&keys).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
        names.retain(|name| name.starts_with("link-"));
        names.sort();
        names
    };
    let [first]: [String; 1] = files().try_into().unwrap();
    let (dir, clock) = (shop.dir, shop.clock);
    shop.server.shutdown().await;
    // A key of later on signs from now on.
    std::fs::write(keys.join("link-999999999999.key"), [9; 32]).unwrap();
    let shop = Shop::start_in(dir, clock, |_| {}).await;
    let old = Holder { shop: &shop, link: link.clone() };
    old.booking(&booking).await;
    let fresh = old.get(&format!("{path}/link")).await.expect(200).text("link");
    assert_ne!(fresh, link);
    let (dir, clock) = (shop.dir, shop.clock);
    shop.server.shutdown().await;
    std::fs::remove_file(keys.join(first)).unwrap();
    let shop = Shop::start_in(dir, clock, |_| {}).await;
    let old = shop.ask("GET", &path).bearer(&link).send().await;
    assert_eq!(old.problem(), (401, "TOKEN_INVALID".into()));
    Holder { shop: &shop, link: fresh }.booking(&booking).await;
}

#[tokio::test]
async fn an_answer_says_where_the_link_leads_in_a_browser() {
    let shop = Shop::start_with(|config| {
        config.public_url = Some("https://tickets.example".into());
    })
    .await;
    shop.flash_sale("e").await;
    let guest = shop.guest().await;
    let booking = guest.booked("k").await;
    let answer = guest.get(&format!("/bookings/{booking}/link")).await.expect(200).json();
    let link = answer["link"].as_str().unwrap();
    assert!(link.starts_with(&format!("b1.{booking}.0.")), "{link}");
    assert_eq!(answer["url"], format!("https://tickets.example/bookings/{booking}#{link}"));
}

#[tokio::test]
async fn pages_of_bookings_tell_nobody_where_their_reader_comes_from() {
    let shop = shop().await;
    let get = |path: &str| Request::new(shop.server.public_addr(), "GET", path).send();
    for path in ["/bookings", "/bookings/e.1", "/bookings/e.1/tickets", "/carry"] {
        let page = get(path).await.expect(200);
        assert_eq!(page.header("referrer-policy"), Some("no-referrer"), "{path}");
        assert_eq!(page.header("cache-control"), Some("no-store"), "{path}");
        assert_eq!(page.header("x-robots-tag"), Some("noindex, nofollow"), "{path}");
    }
    for (path, policy) in [("/", "same-origin"), ("/admin/bookings?event=e", "no-referrer")] {
        let page = get(path).await.expect(200);
        assert_eq!(page.header("referrer-policy"), Some(policy), "{path}");
        assert_eq!(page.header("x-robots-tag"), None, "{path}");
    }
}
