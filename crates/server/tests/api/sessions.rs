//! Signing in with a browser: the cookie, and the token that goes with it.

use crate::client::{Answer, Request};
use crate::shop::{ADMIN_KEY, Shop};
use onrush_base::config::{Config, Secret};
use serde_json::{Value, json};

const SCANNER_KEY: &str = "a scanner for tests only";

/// A browser that signed in.
struct Browser<'a> {
    shop: &'a Shop,
    cookie: String,
    csrf: String,
}

async fn shop() -> Shop {
    Shop::start_with(|config| config.scanner_key = Some(Secret::from(SCANNER_KEY.to_owned()))).await
}

async fn try_key(shop: &Shop, key: &str) -> Answer {
    shop.ask("POST", "/session").json(&json!({ "key": key })).send().await
}

/// What a browser would send of the cookie that an answer sets.
fn cookie_of(answer: &Answer) -> String {
    let set = answer.header("set-cookie").expect("a cookie");
    set.split(';').next().unwrap().to_owned()
}

async fn sign_in<'a>(shop: &'a Shop, key: &str) -> Browser<'a> {
    let answer = try_key(shop, key).await.expect(200);
    Browser { shop, cookie: cookie_of(&answer), csrf: answer.text("csrf") }
}

impl Browser<'_> {
    fn ask(&self, method: &str, path: &str) -> Request {
        self.shop.ask(method, path).header("Cookie", &format!("theme=dark; {}", self.cookie))
    }

    /// The same as one of our pages asks.
    fn page(&self, method: &str, path: &str) -> Request {
        self.ask(method, path).header("X-CSRF-Token", &self.csrf)
    }
}

fn event(id: &str) -> Value {
    json!({"event": id, "title": "T", "currency": "EUR", "room": null})
}

#[tokio::test]
async fn who_signs_in_with_the_admin_key_may_do_what_the_key_may() {
    let shop = shop().await;
    let answer = try_key(&shop, ADMIN_KEY).await.expect(200);
    assert_eq!(
        (answer.text("name").as_str(), answer.header("cache-control")),
        ("admin", Some("no-store"))
    );
    let browser = sign_in(&shop, ADMIN_KEY).await;
    browser.ask("GET", "/admin/feed").send().await.expect(200);
    browser.page("POST", "/admin/events").json(&event("e")).send().await.expect(201);
    let shown = browser.ask("GET", "/session").send().await.expect(200).json();
    assert_eq!((&shown["name"], &shown["csrf"]), (&json!("admin"), &json!(browser.csrf)));
    assert_eq!(shown["scopes"], json!(["admin"]));
    let left_ms = shown["until"].as_i64().unwrap() - crate::sandboxed::now_s() * 1_000;
    assert!((11 * 3_600_000..=12 * 3_600_000).contains(&left_ms), "{left_ms}");
    // A visitor is nobody's organiser.
    let visitor = browser.ask("GET", "/bookings").send().await;
    assert_eq!(visitor.problem(), (401, "TOKEN_MISSING".into()));
}

#[tokio::test]
async fn a_cookie_of_others_with_letters_beyond_ascii_hides_none_of_ours() {
    let shop = shop().await;
    let cookie = sign_in(&shop, ADMIN_KEY).await.cookie;
    let ask = |cookies: String| shop.ask("GET", "/session").header("Cookie", &cookies).send();
    for cookies in [format!("name=Jürgen; {cookie}"), format!("{cookie}; 席=A-1; theme=dark")] {
        ask(cookies).await.expect(200);
    }
    // A space that is none of ASCII belongs to the name: any page may set such a cookie.
    ask(format!("name=x;\u{a0}{cookie}")).await.expect(401);
}

#[tokio::test]
async fn nothing_changes_without_the_csrf_token_of_the_same_session() {
    let shop = shop().await;
    let browser = sign_in(&shop, ADMIN_KEY).await;
    let other = sign_in(&shop, ADMIN_KEY).await;
    let before = shop.committed();
    let create = || browser.ask("POST", "/admin/events").json(&event("e"));
    for csrf in [None, Some(""), Some("x"), Some(other.csrf.as_str()), Some(ADMIN_KEY)] {
        let request = csrf.map_or_else(&create, |csrf| create().header("X-CSRF-Token", csrf));
        assert_eq!(request.send().await.problem(), (403, "CSRF_REFUSED".into()), "{csrf:?}");
    }
    assert_eq!(browser.ask("DELETE", "/session").send().await.problem().0, 403);
    assert_eq!(shop.committed(), before);
    // A key that is sent is what counts.
    create().bearer("no such key at all").send().await.expect(401);
    create().bearer(ADMIN_KEY).send().await.expect(201);
}

#[tokio::test]
async fn a_page_of_another_origin_can_neither_sign_in_nor_use_a_session() {
    let shop = Shop::start_with(|config| {
        config.public_url = Some("https://tickets.example".into());
    })
    .await;
    let browser = sign_in(&shop, ADMIN_KEY).await;
    let from = |event_id: &str, origin: &str| {
        browser.page("POST", "/admin/events").json(&event(event_id)).header("Origin", origin)
    };
    let refused = from("e", "https://evil.example").send().await;
    assert_eq!(refused.problem(), (403, "ORIGIN_REFUSED".into()));
    from("e", "https://tickets.example").send().await.expect(201);
    let own = format!("http://{}", shop.server.public_addr());
    from("f", &own).send().await.expect(201);
    let sign_in = shop.ask("POST", "/session").json(&json!({"key": ADMIN_KEY}));
    let refused = sign_in.header("Origin", "https://evil.example").send().await;
    assert_eq!(refused.problem(), (403, "ORIGIN_REFUSED".into()));
}

#[tokio::test]
async fn a_scanner_checks_in_and_administers_nothing() {
    let shop = shop().await;
    let browser = sign_in(&shop, SCANNER_KEY).await;
    let shown = browser.ask("GET", "/session").send().await.expect(200);
    assert_eq!(shown.text("name"), "scanner");
    assert_eq!(shown.json()["scopes"], json!(["door"]));
    let wrong = json!({"code": "no ticket"});
    let scan = browser.page("POST", "/check-in").json(&wrong).send().await;
    assert_eq!(scan.problem(), (422, "TICKET_NOT_GENUINE".into()));
    let plain = browser.ask("POST", "/check-in").json(&wrong).send().await;
    assert_eq!(plain.problem(), (403, "CSRF_REFUSED".into()));
    let feed = browser.ask("GET", "/admin/feed").send().await;
    assert_eq!(feed.problem(), (403, "SCOPE_MISSING".into()));
    let create = browser.page("POST", "/admin/events").json(&event("e")).send().await;
    assert_eq!(create.problem(), (403, "SCOPE_MISSING".into()));
    // The admin's cookie opens the door as the key does.
    let admin = sign_in(&shop, ADMIN_KEY).await;
    let scan = admin.page("POST", "/check-in").json(&wrong).send().await;
    assert_eq!(scan.problem(), (422, "TICKET_NOT_GENUINE".into()));
}

#[tokio::test]
async fn the_cookie_is_for_this_host_and_no_script_and_goes_at_sign_out() {
    for (public_url, name, path, secure) in [
        (None, "onrush_session", "/api/v1", ""),
        (Some("https://tickets.example"), "__Host-onrush_session", "/", "; Secure"),
    ] {
        let shop =
            Shop::start_with(|config| config.public_url = public_url.map(str::to_owned)).await;
        let answer = try_key(&shop, ADMIN_KEY).await.expect(200);
        let cookie = cookie_of(&answer);
        assert!(cookie.starts_with(&format!("{name}=s2.admin.")), "{cookie}");
        let flags = |cookie: &str, age_s: u32| {
            format!("{cookie}; Path={path}; Max-Age={age_s}; HttpOnly; SameSite=Strict{secure}")
        };
        assert_eq!(answer.header("set-cookie"), Some(flags(&cookie, 43_200).as_str()));
        let browser = Browser { shop: &shop, cookie, csrf: answer.text("csrf") };
        let bye = browser.page("DELETE", "/session").send().await.expect(200);
        assert_eq!(bye.json(), json!({}));
        assert_eq!(bye.header("set-cookie"), Some(flags(&format!("{name}="), 0).as_str()));
    }
}

#[tokio::test]
async fn over_https_a_cookie_that_another_host_may_set_signs_nobody_in() {
    let https = |config: &mut Config| config.public_url = Some("https://tickets.example".into());
    let shop = Shop::start_with(https).await;
    let cookie = cookie_of(&try_key(&shop, ADMIN_KEY).await.expect(200));
    let ask = |cookie: String| shop.ask("GET", "/session").header("cookie", &cookie).send();
    ask(cookie.clone()).await.expect(200);
    let planted = cookie.replace("__Host-", "");
    assert_eq!(ask(planted).await.problem(), (401, "TOKEN_MISSING".into()));
}

#[tokio::test]
async fn nobody_is_signed_in_without_a_genuine_cookie() {
    let shop = shop().await;
    let nobody = shop.ask("GET", "/session").send().await;
    assert_eq!(nobody.problem(), (401, "TOKEN_MISSING".into()));
    let mut browser = sign_in(&shop, SCANNER_KEY).await;
    browser.cookie = browser.cookie.replace("scanner", "admin");
    for path in ["/session", "/admin/feed"] {
        let forged = browser.ask("GET", path).send().await;
        assert_eq!(forged.problem(), (401, "TOKEN_EXPIRED".into()), "{path}");
    }
    // Who is not signed in any more is signed out all the same.
    browser.ask("DELETE", "/session").send().await.expect(200);
    shop.ask("DELETE", "/session").send().await.expect(200);
}

#[tokio::test]
async fn a_session_outlives_a_restart_and_ends_when_its_key_is_changed() {
    let shop = shop().await;
    let (admin, scanner) = (sign_in(&shop, ADMIN_KEY).await, sign_in(&shop, SCANNER_KEY).await);
    let cookies = [admin.cookie, scanner.cookie];
    let (mut dir, mut clock) = (shop.dir, shop.clock);
    shop.server.shutdown().await;
    let keys = [
        (ADMIN_KEY, Some(SCANNER_KEY), [200, 200]),
        (ADMIN_KEY, Some("another scanner for tests"), [200, 401]),
        ("another key for tests", Some(SCANNER_KEY), [401, 200]),
        (ADMIN_KEY, None, [200, 401]),
    ];
    for (admin_key, scanner_key, expected) in keys {
        let shop = Shop::start_in(dir, clock, |config| {
            config.admin_key = Some(Secret::from(admin_key.to_owned()));
            config.scanner_key = scanner_key.map(|key| Secret::from(key.to_owned()));
        })
        .await;
        for (cookie, status) in cookies.iter().zip(expected) {
            let answer = shop.ask("GET", "/session").header("Cookie", cookie).send().await;
            assert_eq!(answer.status, status, "{admin_key} {scanner_key:?} {cookie}");
        }
        (dir, clock) = (shop.dir, shop.clock);
        shop.server.shutdown().await;
    }
}

#[tokio::test]
async fn wrong_keys_are_limited_by_address_and_right_ones_cost_nothing() {
    let shop = Shop::start_with(|config| {
        config.trusted_proxies = vec!["127.0.0.0/8".parse().unwrap()];
    })
    .await;
    for _ in 0..20 {
        try_key(&shop, ADMIN_KEY).await.expect(200);
    }
    let from = |address: &str, key: &str| {
        let request = shop.ask("POST", "/session").header("X-Forwarded-For", address);
        request.json(&json!({ "key": key })).send()
    };
    let mut wrong = 0;
    // The allowance grows while it is used up.
    let limited = loop {
        let answer = from("203.0.113.9", "a key for tests onlY").await;
        if answer.status != 401 {
            break answer;
        }
        assert_eq!(answer.problem(), (401, "TOKEN_INVALID".into()));
        wrong += 1;
        assert!(wrong < 100, "nothing stops whoever tries keys");
    };
    assert!(wrong >= 10, "{wrong}");
    assert_eq!(limited.problem(), (429, "RATE_LIMITED".into()));
    from("203.0.113.10", ADMIN_KEY).await.expect(200);
}

/// Whether somebody is signed in with what a browser has.
async fn is_in(browser: &Browser<'_>) -> bool {
    let answer = browser.ask("GET", "/session").send().await;
    if answer.status != 200 {
        assert_eq!(answer.problem(), (401, "TOKEN_EXPIRED".into()));
    }
    answer.status == 200
}

#[tokio::test]
async fn a_copy_of_the_cookie_is_of_no_use_after_sign_out() {
    let shop = shop().await;
    let (mine, other) = (sign_in(&shop, ADMIN_KEY).await, sign_in(&shop, ADMIN_KEY).await);
    mine.page("DELETE", "/session").send().await.expect(200);
    assert!(!is_in(&mine).await);
    let feed = mine.ask("GET", "/admin/feed").send().await;
    assert_eq!(feed.problem(), (401, "TOKEN_EXPIRED".into()));
    assert!(is_in(&other).await);
}

#[tokio::test]
async fn sessions_are_listed_and_ended_one_by_one_by_name_and_all_at_once() {
    let shop = shop().await;
    let [first, second] = [sign_in(&shop, ADMIN_KEY).await, sign_in(&shop, ADMIN_KEY).await];
    let scanner = sign_in(&shop, SCANNER_KEY).await;
    let list = async || {
        let live = shop.admin("GET", "/sessions").send().await.expect(200).json();
        live["sessions"].as_array().unwrap().clone()
    };
    let all = list().await;
    let mut names: Vec<_> = all.iter().map(|it| it["name"].as_str().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, ["admin", "admin", "scanner"]);
    for session in &all {
        // What is listed signs nobody in.
        let id = session["session"].as_str().unwrap();
        assert!(![&first, &second, &scanner].iter().any(|it| it.cookie.contains(id)), "{id}");
    }
    let end = async |query: &str| {
        let ended = shop.admin("DELETE", &format!("/sessions{query}")).send().await.expect(200);
        ended.json()["ended"].clone()
    };
    let of_scanner = all.iter().find(|it| it["name"] == "scanner").unwrap();
    assert_eq!(end(&format!("/{}", of_scanner["session"].as_str().unwrap())).await, json!(1));
    assert_eq!([is_in(&scanner).await, is_in(&first).await], [false, true]);
    assert_eq!(end("?name=scanner").await, json!(0));
    assert_eq!(end("?name=admin").await, json!(2));
    assert_eq!([is_in(&first).await, is_in(&second).await], [false, false]);
    let again = sign_in(&shop, SCANNER_KEY).await;
    assert_eq!(end("").await, json!(1));
    assert!(!is_in(&again).await);
    assert_eq!(list().await, [json!(null); 0]);
    // Who lets people in may not.
    let refused = shop.ask("DELETE", "/admin/sessions").bearer(SCANNER_KEY).send().await;
    assert_eq!(refused.problem(), (403, "SCOPE_MISSING".into()));
}

#[tokio::test]
async fn a_session_ends_when_nobody_uses_it_and_in_the_end_however_much_it_is_used() {
    let shop = Shop::start_with(|config| {
        (config.session_idle_s, config.session_ttl_s) = (600, 2_000);
    })
    .await;
    let (used, idle) = (sign_in(&shop, ADMIN_KEY).await, sign_in(&shop, ADMIN_KEY).await);
    for _ in 0..3 {
        shop.clock.advance_ms(599_000);
        assert!(is_in(&used).await);
    }
    assert!(!is_in(&idle).await);
    shop.clock.advance_ms(203_000);
    assert!(!is_in(&used).await);
}
