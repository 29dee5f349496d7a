//! Signing in with an OpenID provider: a real one, and what people and others try with it.

use crate::at_provider::{
    CLIENT, PUBLIC_URL, Traveller, impatient_shop_of, is_in, options, settings, shop_of, start,
};
use crate::client::Answer;
use crate::shop::{ADMIN_KEY, Shop};
use onrush_base::config::{CertificateSettings, Config, Pem};
use onrush_testkit::{Authority, Log, NotStarted, OidcOptions, OidcProvider, Tls, need};
use serde_json::{Value, json};
use std::time::Duration;

/// Where a browser is sent that is refused.
fn refusal(answer: &Answer) -> Option<&str> {
    answer.header("location").and_then(|to| to.strip_prefix("/admin?sign_in="))
}

async fn live_sessions(shop: &Shop) -> Vec<Value> {
    let live = shop.admin("GET", "/sessions").send().await.expect(200).json();
    live["sessions"].as_array().unwrap().clone()
}

async fn latest_action(shop: &Shop) -> Value {
    shop.admin("GET", "/actions?limit=1").send().await.expect(200).json()["actions"][0].clone()
}

#[tokio::test]
async fn who_signs_in_may_do_what_their_groups_may_and_histories_say_who() {
    let Some(provider) = need(start()) else { return };
    let shop = shop_of(&provider).await;
    shop.flash_sale("e").await;
    let guest = shop.guest().await;
    let mut ann = Traveller::new(&shop, &provider);
    let there = ann.begin("?to=/admin/events/e%3Ftab%3D1").await.expect(303);
    assert_eq!(there.header("cache-control"), Some("no-store"));
    let cookie = there.header("set-cookie").unwrap();
    assert!(cookie.starts_with("__Host-onrush_sign_in=f1."), "{cookie}");
    let flags = "; Path=/; Max-Age=600; HttpOnly; SameSite=Lax; Secure";
    assert!(cookie.ends_with(flags), "{cookie}");
    let location = there.header("location").unwrap().to_owned();
    for part in ["response_type=code", "code_challenge_method=S256", "&state=", "&nonce="] {
        assert!(location.contains(part), "{part}: {location}");
    }
    let back = ann.at_provider(&location, "ann").await;
    let answer = ann.come_back(&back).await.expect(303);
    assert_eq!(answer.header("location"), Some("/admin/events/e?tab=1"));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert_eq!(answer.header("referrer-policy"), Some("no-referrer"));
    let set: Vec<_> = answer.headers.iter().filter(|(name, _)| name == "set-cookie").collect();
    let [(_, session), (_, id_token), (_, over)] = set[..] else { panic!("{set:?}") };
    assert!(session.starts_with("__Host-onrush_session=o1."), "{session}");
    let flags = "; Path=/; Max-Age=43200; HttpOnly; SameSite=Strict; Secure";
    assert!(session.ends_with(flags), "{session}");
    // It goes where sessions begin and end, and nowhere else.
    assert!(id_token.starts_with("__Secure-onrush_id_token=eyJ"), "{id_token}");
    let flags = "; Path=/api/v1/session; Max-Age=43200; HttpOnly; SameSite=Strict; Secure";
    assert!(id_token.ends_with(flags), "{id_token}");
    assert!(over.starts_with("__Host-onrush_sign_in=; ") && over.contains("Max-Age=0"), "{over}");

    let shown = ann.ask("GET", "/session").send().await.expect(200).json();
    let name = shown["name"].as_str().unwrap().to_owned();
    assert!(name.starts_with("oidc:ann~") && name.len() == 17, "{name}");
    assert_eq!(shown["scopes"], json!(["sell", "door"]));
    let csrf = shown["csrf"].as_str().unwrap();
    let wish = json!({"why": "a bot", "ban": true});
    let path = format!("/admin/events/e/visitors/{}/remove", guest.user);
    let plain = ann.ask("POST", &path).json(&wish).send().await;
    assert_eq!(plain.problem(), (403, "CSRF_REFUSED".into()));
    ann.ask("POST", &path).header("X-CSRF-Token", csrf).json(&wish).send().await.expect(200);
    let bans = shop.admin("GET", "/events/e/bans").send().await.expect(200).json();
    assert_eq!(bans["bans"][0]["by"], json!(name));
    let stock = ann.ask("POST", "/admin/events/e/pools").header("X-CSRF-Token", csrf);
    let stock = stock.json(&json!({"pool": "b", "capacity": 1, "price_minor": 0})).send().await;
    assert_eq!(stock.problem(), (403, "SCOPE_MISSING".into()));

    let done = shop.admin("GET", "/actions").send().await.expect(200).json();
    let done: Vec<_> = done["actions"].as_array().unwrap().iter().collect();
    let of_ann = done.iter().filter(|row| row["name"] == json!(name));
    let of_ann: Vec<_> =
        of_ann.map(|row| (row["path"].as_str().unwrap(), &row["status"])).collect();
    assert!(of_ann.contains(&("/api/v1/session/oidc/callback", &json!(303))), "{of_ann:?}");
    // Where they came from is in no row: a code stands there.
    assert!(!done.iter().any(|row| row.to_string().contains("code=")), "{done:?}");
    assert_eq!(live_sessions(&shop).await[0]["name"], json!(name));
}

#[tokio::test]
async fn who_is_in_no_group_that_counts_does_not_get_in() {
    let Some(provider) = need(start()) else { return };
    let shop = shop_of(&provider).await;
    for who in ["guest", "nobody"] {
        let mut person = Traveller::new(&shop, &provider);
        let answer = person.sign_in(who).await;
        assert_eq!(answer.problem(), (403, "OIDC_NO_SCOPES".into()), "{who}");
        assert!(answer.text("detail").contains("oidc:"), "{answer:?}");
        assert!(!is_in(&person).await && live_sessions(&shop).await.is_empty());
        let row = latest_action(&shop).await;
        assert!(row["name"].as_str().unwrap().starts_with("oidc:"), "{row}");
        assert_eq!((&row["status"], &row["code"]), (&json!(403), &json!("OIDC_NO_SCOPES")));
        // A browser is shown a page.
        person.wants_page = true;
        let answer = person.sign_in(who).await.expect(303);
        assert_eq!(refusal(&answer), Some("OIDC_NO_SCOPES"));
        assert!(answer.body.is_empty());
    }
}

#[tokio::test]
async fn a_sign_in_counts_only_in_the_browser_that_began_it_and_once() {
    let Some(provider) = need(start()) else { return };
    let shop = shop_of(&provider).await;
    let (mut ann, mut other) = (Traveller::new(&shop, &provider), Traveller::new(&shop, &provider));
    let back = ann.there_and_back("ann").await;
    let state = |back: &str| {
        let from = back.find("state=").unwrap() + "state=".len();
        back[from..from + 43].to_owned()
    };
    // Somebody else's browser: without a cookie, and with one of its own.
    let alone = other.come_back(&back).await;
    assert_eq!(alone.problem(), (400, "OIDC_NOT_BEGUN".into()));
    assert!(alone.text("detail").contains("https://tickets.example/admin"), "{alone:?}");
    let theirs = other.there_and_back("ann").await;
    assert_eq!(other.come_back(&back).await.problem().1, "OIDC_NOT_BEGUN");
    for wrong in [String::new(), state(&theirs), "x".repeat(43), state(&back)[..42].to_owned()] {
        let before = ann.cookies.clone();
        let answer = ann.come_back(&back.replace(&state(&back), &wrong)).await;
        assert_eq!(answer.problem().1, "OIDC_NOT_BEGUN", "{wrong}");
        // Each answer takes the cookie away.
        assert!(ann.cookies.is_empty());
        ann.cookies = before;
    }
    assert!(live_sessions(&shop).await.is_empty());
    let kept = ann.cookies.clone();
    ann.come_back(&back).await.expect(303);
    assert!(is_in(&ann).await);
    // The same address once more: with what the browser has now, and with a copy of its cookie.
    assert_eq!(ann.come_back(&back).await.problem().1, "OIDC_NOT_BEGUN");
    assert!(is_in(&ann).await, "who is signed in stays so");
    other.cookies = kept;
    assert_eq!(other.come_back(&back).await.problem(), (403, "OIDC_REFUSED".into()));
    assert!(!is_in(&other).await);
    assert_eq!(live_sessions(&shop).await.len(), 1);
}

#[tokio::test]
async fn a_code_of_another_sign_in_or_client_signs_nobody_in() {
    let Some(provider) = need(start()) else { return };
    let shop = shop_of(&provider).await;
    let (mut ann, mut mallory) =
        (Traveller::new(&shop, &provider), Traveller::new(&shop, &provider));
    let code_of = |back: &str| {
        let code = back.split(['?', '&']).find(|part| part.starts_with("code=")).unwrap();
        code.to_owned()
    };
    // Mallory's browser ends Ann's sign-in with a code for Mallory.
    let (back, planted) = (ann.there_and_back("ann").await, mallory.there_and_back("boss").await);
    let mixed = back.replace(&code_of(&back), &code_of(&planted));
    assert_eq!(ann.come_back(&mixed).await.problem(), (403, "OIDC_REFUSED".into()));
    assert!(!is_in(&ann).await);
    // A code that the provider gave to another of its clients.
    let there = mallory.begin("").await.expect(303);
    let there = there.header("location").unwrap().replace(
        &format!("client_id={CLIENT}"),
        &format!("client_id={}", OidcProvider::CLIENTS[1]),
    );
    let back = mallory.at_provider(&there, "boss").await;
    assert_eq!(mallory.come_back(&back).await.problem(), (403, "OIDC_REFUSED".into()));
    assert!(live_sessions(&shop).await.is_empty());
}

#[tokio::test]
async fn what_the_provider_or_another_one_says_instead_of_a_code_is_told_in_words_of_ours() {
    let Some(provider) = need(start()) else { return };
    let shop = shop_of(&provider).await;
    let mut ann = Traveller::new(&shop, &provider);
    let there = ann.begin("").await.expect(303).header("location").unwrap().to_owned();
    let back = ann.at_provider(&there, "cancel").await;
    assert!(back.contains("error=access_denied"), "{back}");
    let answer = ann.come_back(&back).await;
    assert_eq!(answer.problem(), (403, "OIDC_REFUSED".into()));
    assert!(!String::from_utf8_lossy(&answer.body).contains("went away"), "{answer:?}");
    let iss = |back: &str| back[back.find("&iss=").unwrap()..].to_owned();
    for other in ["&iss=https%3A%2F%2Fevil.example", ""] {
        let back = ann.there_and_back("ann").await;
        let answer = ann.come_back(&back.replace(&iss(&back), other)).await;
        assert_eq!(answer.problem(), (502, "OIDC_NOT_GENUINE".into()), "{other}");
    }
    assert!(live_sessions(&shop).await.is_empty());
}

#[tokio::test]
async fn nobody_is_sent_elsewhere_than_to_a_page_of_the_organisers() {
    let Some(provider) = need(start()) else { return };
    let shop = shop_of(&provider).await;
    let ann = Traveller::new(&shop, &provider);
    for to in
        ["//evil.example", "https://evil.example/admin", "/admin/..//x", "/events", "/admin%0d"]
    {
        let answer = ann.ask("GET", &format!("/session/oidc?to={to}")).send().await;
        assert_eq!(answer.problem(), (400, "INVALID_QUERY".into()), "{to}");
        assert_eq!(answer.header("set-cookie"), None);
    }
}

#[tokio::test]
async fn a_session_outlives_a_restart_and_never_has_more_than_the_settings_say_now() {
    let Some(provider) = need(start()) else { return };
    let shop = shop_of(&provider).await;
    let mut ann = Traveller::new(&shop, &provider);
    ann.sign_in("ann").await.expect(303);
    let cookies = ann.cookies.clone();
    let (mut dir, mut clock) = (shop.dir, shop.clock);
    shop.server.shutdown().await;
    let scopes_of = |scopes: &'static [&'static str]| {
        move |config: &mut Config| {
            let groups = &mut config.oidc.as_mut().unwrap().groups;
            groups[0].scopes = scopes.iter().map(|scope| scope.parse().unwrap()).collect();
        }
    };
    type Change = Box<dyn FnOnce(&mut Config)>;
    let changes: [(Change, Option<Value>); 6] = [
        (Box::new(|_| {}), Some(json!(["sell", "door"]))),
        (Box::new(scopes_of(&["door"])), Some(json!(["door"]))),
        (Box::new(|config| config.oidc.as_mut().unwrap().groups[0].name = "staff".into()), None),
        (Box::new(|config| config.oidc = None), None),
        (Box::new(|config| config.oidc.as_mut().unwrap().client_id = "another".into()), None),
        (Box::new(|_| {}), Some(json!(["sell", "door"]))),
    ];
    for (nth, (change, expected)) in changes.into_iter().enumerate() {
        let shop = Shop::start_in(dir, clock, |config| {
            settings(config, &provider);
            change(config);
        })
        .await;
        let mut ann = Traveller::new(&shop, &provider);
        ann.cookies = cookies.clone();
        let answer = ann.ask("GET", "/session").send().await;
        match expected {
            Some(scopes) => assert_eq!(answer.expect(200).json()["scopes"], scopes, "{nth}"),
            None => assert_eq!(answer.problem(), (401, "TOKEN_EXPIRED".into()), "{nth}"),
        }
        (dir, clock) = (shop.dir, shop.clock);
        shop.server.shutdown().await;
    }
}

#[tokio::test]
async fn signing_out_an_admin_and_the_provider_s_own_time_end_a_session() {
    let Some(provider) = need(start()) else { return };
    let shop = Shop::start_with(|config| {
        settings(config, &provider);
        config.session_idle_s = 200;
        config.oidc.as_mut().unwrap().session_ttl_s = Some(300);
    })
    .await;
    let mut ann = Traveller::new(&shop, &provider);
    let mut sign_in = async || {
        ann.sign_in("ann").await.expect(303);
        assert!(is_in(&ann).await);
        let mut copy = Traveller::new(&shop, &provider);
        copy.cookies = ann.cookies.clone();
        copy
    };
    let copy = sign_in().await;
    let csrf = copy.ask("GET", "/session").send().await.expect(200).text("csrf");
    copy.ask("DELETE", "/session").header("X-CSRF-Token", &csrf).send().await.expect(200);
    assert!(!is_in(&copy).await);
    let copy = sign_in().await;
    let name = copy.ask("GET", "/session").send().await.expect(200).text("name");
    let ended = shop.admin("DELETE", &format!("/sessions?name={name}")).send().await.expect(200);
    assert_eq!(ended.json()["ended"], 1);
    assert!(!is_in(&copy).await);
    let copy = sign_in().await;
    shop.clock.advance_ms(199_000);
    assert!(is_in(&copy).await);
    shop.clock.advance_ms(102_000);
    assert!(!is_in(&copy).await);
    let copy = sign_in().await;
    shop.clock.advance_ms(201_000);
    assert!(!is_in(&copy).await);
}

/// A provider at which these three sign in in their own ways, and everybody else just so.
fn start_with_strengths() -> Result<OidcProvider, NotStarted> {
    let logins = json!({
        "ann": {"acr": "gold", "amr": ["pwd", "mfa"]},
        "boss": {"acr": "bronze", "amr": ["pwd"]},
        "eve": {"acr": "gold", "amr": ["mfa"], "age_s": 3_600},
    });
    OidcProvider::start(&OidcOptions {
        logins: logins.to_string(),
        acr_values: ["bronze", "gold"].map(str::to_owned).to_vec(),
        ..options()
    })
}

#[tokio::test]
async fn a_second_factor_and_a_fresh_sign_in_may_be_demanded_of_the_provider() {
    let Some(provider) = need(start_with_strengths()) else { return };
    let demanding = |acr: &'static [&str], amr: &'static [&str], max_age_s: Option<u32>| {
        let texts = |values: &[&str]| values.iter().map(|value| (*value).to_owned()).collect();
        let provider = &provider;
        Shop::start_with(move |config| {
            settings(config, provider);
            let oidc = config.oidc.as_mut().unwrap();
            (oidc.acr_values, oidc.amr_values) = (texts(acr), texts(amr));
            oidc.max_age_s = max_age_s;
        })
    };
    for (shop, let_in, refused) in [
        (demanding(&[], &[], None).await, &["ann", "boss", "eve"][..], &[][..]),
        (
            demanding(&["silver", "gold"], &[], None).await,
            &["ann", "eve"],
            &[("boss", "acr is none of oidc.acr_values"), ("guest", "lacks acr")],
        ),
        (
            demanding(&[], &["mfa", "hwk"], None).await,
            &["ann", "eve"],
            &[("boss", "amr has none of oidc.amr_values"), ("guest", "lacks amr")],
        ),
        (
            demanding(&[], &[], Some(300)).await,
            &["ann", "boss"],
            &[("eve", "older than oidc.max_age_s")],
        ),
        (
            demanding(&["gold"], &["mfa"], Some(300)).await,
            &["ann"],
            &[("boss", "acr"), ("eve", "auth_time"), ("guest", "acr")],
        ),
    ] {
        for who in let_in {
            let mut person = Traveller::new(&shop, &provider);
            person.sign_in(who).await.expect(303);
            assert!(is_in(&person).await, "{who}");
        }
        for (who, said) in refused {
            let mut person = Traveller::new(&shop, &provider);
            let answer = person.sign_in(who).await;
            assert_eq!(answer.problem(), (403, "OIDC_INSUFFICIENT".into()), "{who}");
            assert!(answer.text("detail").contains(said), "{said}: {answer:?}");
            assert!(!is_in(&person).await, "{who}");
            person.wants_page = true;
            let answer = person.sign_in(who).await.expect(303);
            assert_eq!(refusal(&answer), Some("OIDC_INSUFFICIENT"));
        }
        assert_eq!(live_sessions(&shop).await.len(), let_in.len());
        shop.server.shutdown().await;
    }
}

#[tokio::test]
async fn who_signs_out_goes_on_to_sign_out_at_the_provider_and_comes_back() {
    let Some(provider) = need(start()) else { return };
    let shop = shop_of(&provider).await;
    let mut ann = Traveller::new(&shop, &provider);
    ann.sign_in("ann").await.expect(303);
    // As long as the provider knows her, it asks nothing.
    assert!(ann.there_and_back("cancel").await.contains("code="));
    let answer = ann.sign_out().await.expect(200);
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert!(live_sessions(&shop).await.is_empty());
    // What is left is of the sign-in that she has just begun.
    assert_eq!(ann.cookies.keys().collect::<Vec<_>>(), ["__Host-onrush_sign_in"]);
    let there = answer.text("logout_url");
    let begins = format!(
        "{}/session/end?client_id={CLIENT}&post_logout_redirect_uri=\
         https%3A%2F%2Ftickets.example%2Fadmin&id_token_hint=eyJ",
        provider.issuer()
    );
    assert!(there.starts_with(&begins), "{there}");
    assert_eq!(ann.sign_out_there(&there).await, format!("{PUBLIC_URL}/admin"));
    assert!(ann.there_and_back("cancel").await.contains("error=access_denied"));
    // Who is signed out already, or came with a key, has nowhere to go.
    let again = ann.ask("DELETE", "/session").send().await.expect(200);
    assert_eq!(again.json(), json!({}));
    let key = ann.ask("POST", "/session").json(&json!({"key": ADMIN_KEY})).send().await;
    let cookie = key.expect(200).header("set-cookie").unwrap().to_owned();
    let (name, value) = cookie.split_once(';').unwrap().0.split_once('=').unwrap();
    ann.cookies.insert(name.to_owned(), value.to_owned());
    assert_eq!(ann.sign_out().await.expect(200).json(), json!({}));
}

#[tokio::test]
async fn an_id_token_that_is_too_long_for_a_cookie_is_not_kept_and_signing_out_goes_without() {
    let others: Vec<String> = (0..200).map(|n| format!("others-{n}")).collect();
    let groups = [&["office".to_owned()][..], &others].concat();
    let people = json!({"ann": {"preferred_username": "ann", "groups": groups}}).to_string();
    let Some(provider) = need(OidcProvider::start(&OidcOptions { people, ..options() })) else {
        return;
    };
    let shop = shop_of(&provider).await;
    let mut ann = Traveller::new(&shop, &provider);
    ann.sign_in("ann").await.expect(303);
    assert_eq!(ann.cookies.keys().collect::<Vec<_>>(), ["__Host-onrush_session"]);
    let there = ann.sign_out().await.expect(200).text("logout_url");
    assert!(!there.contains("id_token_hint"), "{there}");
    assert_eq!(ann.sign_out_there(&there).await, format!("{PUBLIC_URL}/admin"));
}

#[tokio::test]
async fn a_session_ends_here_whatever_the_provider_does() {
    let Some(mut provider) = need(start()) else { return };
    let shop = impatient_shop_of(&provider).await;
    let (mut ann, mut boss) = (Traveller::new(&shop, &provider), Traveller::new(&shop, &provider));
    ann.sign_in("ann").await.expect(303);
    boss.sign_in("boss").await.expect(303);
    let (anns, bosses) = (ann.cookies.clone(), boss.cookies.clone());
    provider.pause();
    let answer = ann.sign_out().await.expect(200);
    provider.resume();
    assert!(answer.text("logout_url").starts_with(provider.issuer()));
    ann.cookies = anns;
    assert!(!is_in(&ann).await);
    provider.stop();
    let (dir, clock) = (shop.dir, shop.clock);
    shop.server.shutdown().await;
    // A server that has never seen the provider does not know where its pages are.
    let shop = Shop::start_in(dir, clock, |config| settings(config, &provider)).await;
    let mut boss = Traveller::new(&shop, &provider);
    boss.cookies = bosses.clone();
    assert_eq!(boss.sign_out().await.expect(200).json(), json!({}));
    boss.cookies = bosses;
    assert!(!is_in(&boss).await && live_sessions(&shop).await.is_empty());
}

#[tokio::test]
async fn keys_that_the_provider_draws_anew_are_fetched() {
    let Some(mut provider) = need(start()) else { return };
    let shop = shop_of(&provider).await;
    Traveller::new(&shop, &provider).sign_in("ann").await.expect(303);
    provider.rotate_keys().unwrap();
    // They may be asked for again ten seconds after the last time.
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(11)).await;
    tokio::time::resume();
    Traveller::new(&shop, &provider).sign_in("ann").await.expect(303);
}

#[tokio::test]
async fn a_provider_that_is_away_or_slow_changes_nothing_and_keys_go_on_working() {
    let Some(mut provider) = need(start()) else { return };
    provider.stop();
    let shop = impatient_shop_of(&provider).await;
    let mut ann = Traveller::new(&shop, &provider);
    let answer = ann.begin("").await;
    assert_eq!(answer.problem(), (503, "OIDC_UNAVAILABLE".into()));
    ann.wants_page = true;
    assert_eq!(refusal(&ann.begin("").await.expect(303)), Some("OIDC_UNAVAILABLE"));
    ann.wants_page = false;
    shop.admin("GET", "/sessions").send().await.expect(200);
    provider.restart().unwrap();
    // It is asked for again two seconds after the last time.
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(3)).await;
    tokio::time::resume();
    ann.begin("").await.expect(303);
    let back = ann.there_and_back("ann").await;
    provider.pause();
    let answer = ann.come_back(&back).await;
    provider.resume();
    assert_eq!(answer.problem(), (503, "OIDC_UNAVAILABLE".into()));
    assert!(!is_in(&ann).await);
    // It was nobody's fault: the next try is no wrong key.
    ann.sign_in("ann").await.expect(303);
}

#[tokio::test]
async fn groups_that_only_user_info_tells_count_as_well() {
    let options = OidcOptions { user_info_only: true, ..options() };
    let Some(provider) = need(OidcProvider::start(&options)) else { return };
    let shop = shop_of(&provider).await;
    let mut ann = Traveller::new(&shop, &provider);
    ann.sign_in("ann").await.expect(303);
    let shown = ann.ask("GET", "/session").send().await.expect(200).json();
    assert_eq!(shown["scopes"], json!(["sell", "door"]));
    assert!(shown["name"].as_str().unwrap().starts_with("oidc:ann~"), "{shown}");
}

#[tokio::test]
async fn a_provider_behind_a_private_authority_is_trusted_if_it_is_named_and_not_otherwise() {
    let (ours, theirs) = (Authority::new("ours"), Authority::new("theirs"));
    let options = OidcOptions { tls: Some(Tls::new(ours.server())), ..options() };
    let Some(provider) = need(OidcProvider::start(&options)) else { return };
    for (ca, fits) in [(Some(&ours), true), (Some(&theirs), false), (None, false)] {
        let shop = Shop::start_with(|config| {
            settings(config, &provider);
            config.oidc.as_mut().unwrap().certificates = CertificateSettings {
                ca: ca.map(|ca| Pem::from(ca.pem().to_owned())),
                ..CertificateSettings::default()
            };
        })
        .await;
        let mut ann = Traveller::trusting(&shop, &provider, &ours);
        if fits {
            ann.sign_in("ann").await.expect(303);
            assert!(is_in(&ann).await);
        } else {
            assert_eq!(ann.begin("").await.problem(), (503, "OIDC_UNAVAILABLE".into()));
        }
        shop.server.shutdown().await;
    }
}

#[tokio::test]
async fn the_page_is_told_the_ways_to_sign_in_and_without_a_provider_there_is_one() {
    let Some(provider) = need(start()) else { return };
    let with = Shop::start_with(|config| {
        settings(config, &provider);
        config.oidc.as_mut().unwrap().name = Some("Hall of Ours".into());
    })
    .await;
    let ways = with.ask("GET", "/session/ways").send().await.expect(200);
    assert_eq!(ways.json(), json!({"oidc": {"name": "Hall of Ours"}}));
    let without = Shop::start().await;
    assert_eq!(without.ask("GET", "/session/ways").send().await.expect(200).json(), json!({}));
    for path in ["/session/oidc", "/session/oidc/callback?code=x&state=y"] {
        let answer = without.ask("GET", path).send().await;
        assert_eq!(answer.problem(), (409, "OIDC_OFF".into()), "{path}");
    }
}

#[tokio::test]
async fn nothing_that_signs_in_is_logged() {
    let Some(provider) = need(start()) else { return };
    // This thread runs all of the server but for its engine.
    let (log, _guard) = Log::begin(tracing::Level::TRACE);
    let shop = shop_of(&provider).await;
    let (mut ann, mut other) = (Traveller::new(&shop, &provider), Traveller::new(&shop, &provider));
    let back = ann.there_and_back("ann").await;
    let mut secrets: Vec<String> = ann.cookies.values().cloned().collect();
    other.come_back(&back).await.expect(400);
    let kept = ann.cookies.clone();
    ann.come_back(&back).await.expect(303);
    secrets.extend(ann.cookies.values().cloned());
    other.cookies = kept;
    other.come_back(&back).await.expect(403);
    secrets.extend(back.split(['?', '&', '=']).filter(|part| part.len() >= 20).map(str::to_owned));
    let csrf = ann.ask("GET", "/session").send().await.expect(200).text("csrf");
    ann.sign_out().await.expect(200);
    secrets.extend([csrf, OidcProvider::SECRET.to_owned(), "eyJ".to_owned(), "Basic ".to_owned()]);
    let text = log.text();
    // What was refused is there, and from where.
    assert!(text.contains("NotBegun") && text.contains("127.0.0.1"), "{text}");
    assert!(text.contains("invalid_grant"), "{text}");
    for secret in secrets {
        assert!(!text.contains(&secret), "{secret} is in the log:\n{text}");
    }
    assert!(PUBLIC_URL.starts_with("https://"));
}
