//! An OpenID provider whose keys a test has: what is believed of what it says, over real sockets.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use onrush_base::auth::oidc::{NotSignedIn, Oidc, Returned, SignedIn};
use onrush_base::config::Config;
use ring::rand::SystemRandom;
use ring::signature::{Ed25519KeyPair, KeyPair};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const NOW_S: i64 = 1_790_000_000;

/// A key of the provider's, made on the spot.
struct Key(Ed25519KeyPair);

impl Key {
    fn new() -> Self {
        let made = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).expect("made");
        Self(Ed25519KeyPair::from_pkcs8(made.as_ref()).expect("a key"))
    }

    fn jwk(&self, kid: &str) -> Value {
        let x = BASE64_URL_SAFE_NO_PAD.encode(self.0.public_key().as_ref());
        json!({"kty": "OKP", "crv": "Ed25519", "kid": kid, "x": x})
    }

    fn token(&self, header: &Value, claims: &Value) -> String {
        signed(header, claims, |text| self.0.sign(text.as_bytes()).as_ref().to_vec())
    }
}

fn signed(header: &Value, claims: &Value, sign: impl Fn(&str) -> Vec<u8>) -> String {
    let part = |value: &Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
    let text = format!("{}.{}", part(header), part(claims));
    let signature = BASE64_URL_SAFE_NO_PAD.encode(sign(&text));
    format!("{text}.{signature}")
}

/// What the provider answers, by path; nothing is 404.
#[derive(Default)]
struct Pages {
    answers: HashMap<&'static str, (u16, String)>,
    /// Requests that came, each whole.
    asked: Vec<String>,
}

struct Provider {
    address: SocketAddr,
    pages: Arc<Mutex<Pages>>,
    /// Whoever has it keeps answers back.
    silence: Arc<tokio::sync::Mutex<()>>,
}

async fn whole_request(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let head = head.to_ascii_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if body.len() >= length.map_or(0, |length| length.parse().expect("a number")) {
                return Some(text);
            }
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
}

impl Provider {
    async fn serve() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let pages = Arc::new(Mutex::new(Pages::default()));
        let silence = Arc::new(tokio::sync::Mutex::new(()));
        let (shown, broken) = (pages.clone(), silence.clone());
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let Some(request) = whole_request(&mut stream).await else { continue };
                let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
                shown.lock().expect("no panic").asked.push(request);
                drop(broken.lock().await);
                let found = shown.lock().expect("no panic").answers.get(&*path).cloned();
                let (status, body) = found.unwrap_or((404, String::new()));
                let answer = format!(
                    "HTTP/1.1 {status} -\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
                    body.len()
                );
                drop(stream.write_all(answer.as_bytes()).await);
            }
        });
        let provider = Self { address, pages, silence };
        provider.show(DISCOVERY, 200, &provider.document());
        provider
    }

    fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    fn document(&self) -> Value {
        let url = self.url();
        json!({"issuer": url, "authorization_endpoint": format!("{url}/auth"),
            "token_endpoint": format!("{url}/token"), "jwks_uri": format!("{url}/jwks")})
    }

    fn show(&self, path: &'static str, status: u16, body: &Value) {
        let mut pages = self.pages.lock().expect("no panic");
        pages.answers.insert(path, (status, body.to_string()));
    }

    /// The latest request that begins like this.
    fn last_asked(&self, begins: &str) -> String {
        let pages = self.pages.lock().expect("no panic");
        let found = pages.asked.iter().rfind(|asked| asked.starts_with(begins));
        found.unwrap_or_else(|| panic!("no {begins}")).clone()
    }

    /// How many requests came.
    fn asked(&self) -> usize {
        self.pages.lock().expect("no panic").asked.len()
    }

    /// What signs in with it, with the default settings.
    fn oidc(&self) -> Oidc {
        self.oidc_with("")
    }

    /// The same, with these lines among the settings.
    fn oidc_with(&self, lines: &str) -> Oidc {
        let text = format!(
            "public_url = \"https://tickets.example\"\n[oidc]\nissuer = \"{}\"\n\
             client_id = \"on rush\"\nclient_secret = \"a:b/c+d\"\n{lines}\n[[oidc.groups]]\n\
             name = \"office\"\nscopes = [\"sell\"]\n",
            self.url()
        );
        let config = Config::parse(&text).expect("settings");
        Oidc::open(&config, &[7; 32]).expect("no certificates").expect("a provider")
    }
}

const DISCOVERY: &str = "/.well-known/openid-configuration";

/// A sign-in that has begun: its cookie, and what the provider was told.
struct Begun {
    cookie: String,
    told: HashMap<String, String>,
}

async fn begin(oidc: &Oidc) -> Begun {
    let begun = oidc.begin("/admin", NOW_S).await.expect("it begins");
    let (_, query) = begun.location.split_once('?').expect("a query");
    let told = form_urlencoded::parse(query.as_bytes()).into_owned().collect();
    Begun { cookie: begun.cookie, told }
}

fn returned(begun: &Begun) -> Returned {
    let values = json!({"state": begun.told["state"], "code": "c0de"});
    serde_json::from_value(values).expect("it is one")
}

async fn finish(oidc: &Oidc, begun: &Begun) -> Result<SignedIn, NotSignedIn> {
    finish_with(oidc, begun, &returned(begun)).await
}

async fn finish_with(
    oidc: &Oidc,
    begun: &Begun,
    returned: &Returned,
) -> Result<SignedIn, NotSignedIn> {
    let flow = oidc.under_way(Some(&begun.cookie), returned, NOW_S)?;
    oidc.finish(flow, returned, NOW_S).await
}

fn claims(provider: &Provider, begun: &Begun) -> Value {
    json!({"iss": provider.url(), "aud": "on rush", "sub": "42", "nonce": begun.told["nonce"],
        "iat": NOW_S, "exp": NOW_S + 60, "preferred_username": "ann", "groups": ["office"]})
}

fn with(claims: &Value, claim: &str, value: Value) -> Value {
    let mut changed: Map<String, Value> = claims.as_object().expect("an object").clone();
    changed.insert(claim.to_owned(), value);
    changed.into()
}

fn header() -> Value {
    json!({"alg": "EdDSA", "kid": "1"})
}

#[tokio::test]
async fn only_a_token_of_the_provider_s_for_us_and_this_sign_in_signs_in() {
    let (provider, key, other) = (Provider::serve().await, Key::new(), Key::new());
    provider.show("/jwks", 200, &json!({"keys": [key.jwk("1")]}));
    let oidc = provider.oidc();
    let begun = begin(&oidc).await;
    let right = claims(&provider, &begun);
    let answer = |token: String| provider.show("/token", 200, &json!({"id_token": token}));

    answer(key.token(&header(), &right));
    let ann = finish(&oidc, &begun).await.expect("signed in");
    assert!(ann.person.name.starts_with("oidc:ann~"), "{:?}", ann.person);
    assert_eq!((ann.to.as_str(), ann.person.groups.len()), ("/admin", 1));
    // The verifier fits the challenge, and the secret is sent as the specification wants it.
    let asked = provider.last_asked("POST /token");
    let (_, body) = asked.split_once("\r\n\r\n").expect("a body");
    let sent: HashMap<_, _> = form_urlencoded::parse(body.as_bytes()).into_owned().collect();
    let challenge = BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(&sent["code_verifier"]));
    assert_eq!(challenge, begun.told["code_challenge"]);
    assert_eq!(sent["redirect_uri"], "https://tickets.example/api/v1/session/oidc/callback");
    let basic = base64::prelude::BASE64_STANDARD.encode("on+rush:a%3Ab%2Fc%2Bd");
    assert!(asked.contains(&format!("authorization: Basic {basic}")), "{asked}");

    for (token, said) in [
        (key.token(&header(), &with(&right, "nonce", json!("other"))), "nonce"),
        (key.token(&header(), &with(&right, "aud", json!("another"))), "aud"),
        (key.token(&header(), &with(&right, "azp", json!("another"))), "azp"),
        (key.token(&header(), &with(&right, "iss", json!("https://evil.example"))), "iss"),
        (key.token(&header(), &with(&right, "exp", json!(NOW_S))), "expired"),
        (key.token(&header(), &with(&right, "iat", json!(NOW_S - 3_600))), "just now"),
        (key.token(&header(), &with(&right, "sub", json!(""))), "sub"),
        (key.token(&json!({"alg": "EdDSA", "kid": "2"}), &right), "published keys"),
        (other.token(&header(), &right), "published keys"),
        (key.token(&json!({"alg": "EdDSA", "kid": "1", "crit": ["x"]}), &right), "crit"),
        (key.token(&json!({"alg": "EdDSA", "kid": "1", "typ": "at+jwt"}), &right), "typ"),
        (key.token(&json!({"alg": "RS256", "kid": "1"}), &right), "published keys"),
        (signed(&json!({"alg": "none"}), &right, |_| Vec::new()), "RS256"),
        (key.token(&json!({"alg": "none", "kid": "1"}), &right), "RS256"),
        ("no token".into(), "form"),
        (String::new(), "form"),
        (format!("{}x", key.token(&header(), &right)), "published keys"),
        ("a.".repeat(40_000), "form"),
    ] {
        answer(token.clone());
        match finish(&oidc, &begun).await {
            Err(NotSignedIn::NotGenuine(why)) => {
                let is_said =
                    why.contains(said) || said == "published keys" && why.contains("form");
                assert!(is_said, "{said}: {why}");
            }
            other => panic!("{said}: {other:?}"),
        }
    }
    // A secret of both, or the public key for one, signs nothing.
    for secret in [b"a:b/c+d".as_slice(), key.0.public_key().as_ref()] {
        let forged = signed(&json!({"alg": "HS256", "kid": "1"}), &right, |text| {
            let mut mac = Hmac::<Sha256>::new_from_slice(secret).expect("any length");
            mac.update(text.as_bytes());
            mac.finalize().into_bytes().to_vec()
        });
        answer(forged);
        let found = finish(&oidc, &begun).await;
        assert!(matches!(found, Err(NotSignedIn::NotGenuine(_))), "{found:?}");
    }
    answer(key.token(&header(), &with(&right, "groups", json!(["others"]))));
    let found = finish(&oidc, &begun).await;
    assert!(matches!(&found, Err(NotSignedIn::NoScopes(name)) if name.starts_with("oidc:ann~")));
}

#[tokio::test]
async fn a_sign_in_without_the_demanded_strength_or_freshness_signs_nobody_in() {
    let (provider, key) = (Provider::serve().await, Key::new());
    provider.show("/jwks", 200, &json!({"keys": [key.jwk("1")]}));
    let url = format!("{}/me", provider.url());
    provider.show(DISCOVERY, 200, &with(&provider.document(), "userinfo_endpoint", json!(url)));
    // UserInfo is not signed: what it tells of these claims counts for nothing.
    let me = json!({"sub": "42", "groups": ["office"], "acr": "gold", "amr": ["mfa"],
        "auth_time": NOW_S});
    provider.show("/me", 200, &me);
    let settings = "acr_values = [\"gold\"]\namr_values = [\"mfa\"]\nmax_age_s = 300";
    let demanding = provider.oidc_with(settings);
    let lax = provider.oidc();
    let (begun, other) = (begin(&demanding).await, begin(&lax).await);
    assert_eq!((&*begun.told["acr_values"], &*begun.told["max_age"]), ("gold", "300"));
    assert!(begun.told["claims"].contains("amr"), "{:?}", begun.told);
    for asked in ["acr_values", "max_age", "claims"] {
        assert!(!other.told.contains_key(asked), "{asked}");
    }
    let token = |claims: Value| {
        let id_token = key.token(&header(), &claims);
        provider.show("/token", 200, &json!({"id_token": id_token, "access_token": "t0ken"}));
    };
    let told = [("acr", json!("gold")), ("amr", json!(["mfa"])), ("auth_time", json!(NOW_S - 9))];
    let mut right = claims(&provider, &begun);
    right.as_object_mut().expect("an object").remove("groups");
    for (claim, value) in told {
        right = with(&right, claim, value);
    }
    token(right.clone());
    finish(&demanding, &begun).await.expect("signed in");
    let without = |claim: &str| {
        let mut changed = right.clone();
        changed.as_object_mut().expect("an object").remove(claim);
        changed
    };
    for (changed, said) in [
        (with(&right, "acr", json!("silver")), "acr is none of"),
        (without("acr"), "lacks acr"),
        (with(&right, "amr", json!(["pwd"])), "amr has none of"),
        (without("amr"), "lacks amr"),
        (with(&right, "auth_time", json!(NOW_S - 361)), "older than"),
        (with(&right, "auth_time", json!(NOW_S + 61)), "in the future"),
        (without("auth_time"), "lacks auth_time"),
    ] {
        token(changed.clone());
        match finish(&demanding, &begun).await {
            Err(NotSignedIn::Insufficient(why)) => assert!(why.contains(said), "{said}: {why}"),
            other => panic!("{said}: {other:?}"),
        }
        // Who demands nothing takes it, as ever.
        token(with(&changed, "nonce", json!(other.told["nonce"])));
        finish(&lax, &other).await.expect("signed in");
    }
    // What is not genuine is told as that, however strong it says it is.
    token(with(&without("acr"), "nonce", json!("other")));
    let found = finish(&demanding, &begun).await;
    assert!(matches!(found, Err(NotSignedIn::NotGenuine(_))), "{found:?}");
    // A provider may say itself that it cannot.
    let values =
        json!({"state": begun.told["state"], "error": "unmet_authentication_requirements"});
    let refused: Returned = serde_json::from_value(values).expect("it is one");
    let found = finish_with(&demanding, &begun, &refused).await;
    assert!(matches!(found, Err(NotSignedIn::Insufficient(_))), "{found:?}");
}

#[tokio::test]
async fn a_provider_signs_people_out_if_it_has_a_page_for_it_and_is_there() {
    let provider = Provider::serve().await;
    assert_eq!(provider.oidc().logout_url(Some("a.b.c")).await, None);
    let page = format!("{}/bye", provider.url());
    let showing = |page: &str| {
        let document = with(&provider.document(), "end_session_endpoint", json!(page));
        provider.show(DISCOVERY, 200, &document);
        provider.oidc()
    };
    let after = "post_logout_redirect_uri=https%3A%2F%2Ftickets.example%2Fadmin";
    let oidc = showing(&page);
    let bare = format!("{page}?client_id=on+rush&{after}");
    assert_eq!(oidc.logout_url(None).await, Some(bare.clone()));
    let hint = format!("{bare}&id_token_hint=a.b.c%26x%3D1");
    assert_eq!(oidc.logout_url(Some("a.b.c&x=1")).await, Some(hint));
    let own = showing(&format!("{page}?p=b2c"));
    assert_eq!(own.logout_url(None).await, Some(format!("{page}?p=b2c&client_id=on+rush&{after}")));
    // An address that nobody may be sent to is none, and people sign in all the same.
    for unsafe_page in ["javascript:alert(1)", "http://a.example/\r\nx: y", "ftp://a.example/"] {
        let oidc = showing(unsafe_page);
        assert_eq!(oidc.logout_url(None).await, None, "{unsafe_page}");
        begin(&oidc).await;
    }
    provider.show(DISCOVERY, 503, &json!({}));
    assert_eq!(provider.oidc().logout_url(None).await, None);
}

#[tokio::test]
async fn a_token_endpoint_that_refuses_fails_or_talks_on_signs_nobody_in() {
    let provider = Provider::serve().await;
    provider.show("/jwks", 200, &json!({"keys": [Key::new().jwk("1")]}));
    let oidc = provider.oidc();
    let begun = begin(&oidc).await;
    let refused = |status: u16, body: Value| provider.show("/token", status, &body);
    refused(400, json!({"error": "invalid_grant", "error_description": "s3cret"}));
    let said = |found: Result<SignedIn, NotSignedIn>| match found {
        Err(why) if !why.is_try() => panic!("it is no try: {why:?}"),
        Err(NotSignedIn::Refused(why) | NotSignedIn::Failing(why)) => why,
        other => panic!("{other:?}"),
    };
    assert_eq!(said(finish(&oidc, &begun).await), "the code was refused with invalid_grant");
    refused(401, json!({"error": "s3cret\n of somebody"}));
    let why = said(finish(&oidc, &begun).await);
    assert!(!why.contains("s3cret") && why.contains("oidc.client_secret"), "{why}");
    // Not every provider keeps to the statuses that the specification has.
    for (status, body) in [
        (403, json!({"error": "invalid_grant"})),
        (403, json!("a wall's page")),
        (422, json!({"error": "invalid_grant"})),
    ] {
        refused(status, body);
        let found = finish(&oidc, &begun).await;
        assert!(matches!(found, Err(NotSignedIn::Refused(_))), "{status}: {found:?}");
    }
    for (status, body) in [(429, json!({"error": "slow_down"})), (404, json!({}))] {
        refused(status, body);
        let found = finish(&oidc, &begun).await;
        assert!(matches!(found, Err(NotSignedIn::Failing(_))), "{status}: {found:?}");
    }
    refused(500, json!({}));
    assert_eq!(said(finish(&oidc, &begun).await), "its token endpoint answers 500");
    refused(302, json!({}));
    assert_eq!(said(finish(&oidc, &begun).await), "its token endpoint answers 302");
    refused(200, json!({"id_token": "x".repeat(2 << 20)}));
    assert!(said(finish(&oidc, &begun).await).contains("longer than"));
    refused(200, json!({"access_token": "a"}));
    let found = finish(&oidc, &begun).await;
    assert!(matches!(found, Err(NotSignedIn::NotGenuine(_))), "{found:?}");
}

#[tokio::test]
async fn whoever_comes_while_the_document_is_fetched_waits_for_it_also_if_the_first_hangs_up() {
    let provider = Provider::serve().await;
    let oidc = provider.oidc();
    let silence = provider.silence.lock().await;
    let is_asked = async {
        while provider.asked() == 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        begun = oidc.begin("/admin", NOW_S) => panic!("there is no answer yet: {begun:?}"),
        () = is_asked => {}
    }
    // They are polled in this order: both wait before there is an answer.
    let speaks = async { drop(silence) };
    let (one, other, ()) =
        tokio::join!(oidc.begin("/admin", NOW_S), oidc.begin("/admin", NOW_S), speaks);
    assert!(one.is_ok() && other.is_ok(), "{one:?}, {other:?}");
    assert_eq!(provider.asked(), 1);
}

#[tokio::test]
async fn a_document_of_another_issuer_or_with_unsafe_addresses_is_not_used() {
    for (member, value, said) in [
        ("issuer", json!("https://evil.example"), "another issuer"),
        ("token_endpoint", json!("ftp://127.0.0.1/token"), "token_endpoint is no https"),
        ("jwks_uri", json!("javascript:alert(1)"), "jwks_uri is no https"),
        ("authorization_endpoint", json!("http://a.example/\r\nx: y"), "is no https"),
        ("authorization_endpoint", json!(null), "no discovery document"),
    ] {
        let provider = Provider::serve().await;
        provider.show(DISCOVERY, 200, &with(&provider.document(), member, value));
        match provider.oidc().begin("/admin", NOW_S).await {
            Err(NotSignedIn::Away(why)) => assert!(why.contains(said), "{said}: {why}"),
            other => panic!("{said}: {other:?}"),
        }
    }
    let provider = Provider::serve().await;
    provider.show(DISCOVERY, 404, &json!({}));
    let found = provider.oidc().begin("/admin", NOW_S).await;
    assert!(matches!(found, Err(NotSignedIn::Away(why)) if why.contains("oidc.issuer")));
}

/// Waits until keys that could not be had are asked for again.
async fn later() {
    tokio::time::pause();
    tokio::time::advance(std::time::Duration::from_secs(11)).await;
    tokio::time::resume();
}

#[tokio::test]
async fn a_provider_whose_keys_cannot_be_fetched_is_away_only_if_it_does_not_answer() {
    let (provider, key, next) = (Provider::serve().await, Key::new(), Key::new());
    provider.show("/jwks", 500, &json!({}));
    let oidc = provider.oidc();
    let begun = begin(&oidc).await;
    let answer = |token: String| provider.show("/token", 200, &json!({"id_token": token}));
    // The provider had work with it, as it has where its token endpoint answers 500: that is a try.
    let is_failing = |found: Result<SignedIn, NotSignedIn>| match found {
        Err(why) => matches!(why, NotSignedIn::Failing(_)) && why.is_try(),
        Ok(_) => false,
    };
    answer(key.token(&header(), &claims(&provider, &begun)));
    assert!(is_failing(finish(&oidc, &begun).await), "it is asked");
    assert!(is_failing(finish(&oidc, &begun).await), "it was asked just now");
    for (status, body) in [
        (404, json!({})),
        (200, json!("a wall's page")),
        (200, json!({"keys": [{"kty": "oct"}]})),
        (200, json!({"keys": ["x".repeat(2 << 20)]})),
    ] {
        provider.show("/jwks", status, &body);
        later().await;
        assert!(is_failing(finish(&oidc, &begun).await), "{status}");
    }
    provider.show("/jwks", 200, &json!({"keys": [key.jwk("1")]}));
    later().await;
    finish(&oidc, &begun).await.expect("signed in");
    // It signs with another key, and does not tell which.
    provider.show("/jwks", 500, &json!({}));
    later().await;
    answer(next.token(&json!({"alg": "EdDSA", "kid": "2"}), &claims(&provider, &begun)));
    assert!(is_failing(finish(&oidc, &begun).await), "its key of now is not known");
    provider.show("/jwks", 200, &json!({"keys": [key.jwk("1")]}));
    later().await;
    let found = finish(&oidc, &begun).await;
    assert!(matches!(found, Err(NotSignedIn::NotGenuine(_))), "{found:?}");
    // Nobody listens where its keys are said to be.
    let nobody = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = nobody.local_addr().expect("an address");
    drop(nobody);
    let elsewhere = json!(format!("http://{address}/jwks"));
    provider.show(DISCOVERY, 200, &with(&provider.document(), "jwks_uri", elsewhere));
    let oidc = provider.oidc();
    let begun = begin(&oidc).await;
    answer(key.token(&header(), &claims(&provider, &begun)));
    for _ in 0..2 {
        let found = finish(&oidc, &begun).await;
        assert!(matches!(found, Err(NotSignedIn::Away(_))), "{found:?}");
        assert!(!found.is_err_and(|why| why.is_try()), "nobody tried anything");
    }
}

#[tokio::test]
async fn what_user_info_says_of_somebody_else_signs_nobody_in() {
    let (provider, key) = (Provider::serve().await, Key::new());
    provider.show("/jwks", 200, &json!({"keys": [key.jwk("1")]}));
    let url = format!("{}/me", provider.url());
    provider.show(DISCOVERY, 200, &with(&provider.document(), "userinfo_endpoint", json!(url)));
    let oidc = provider.oidc();
    let begun = begin(&oidc).await;
    let mut bare = claims(&provider, &begun);
    bare.as_object_mut().expect("an object").remove("groups");
    let token = key.token(&header(), &bare);
    provider.show("/token", 200, &json!({"id_token": token, "access_token": "t0ken"}));
    provider.show("/me", 200, &json!({"sub": "43", "groups": ["office"]}));
    let found = finish(&oidc, &begun).await;
    assert!(matches!(found, Err(NotSignedIn::NotGenuine(why)) if why.contains("sub")));
    provider.show("/me", 500, &json!({}));
    assert!(matches!(finish(&oidc, &begun).await, Err(NotSignedIn::Failing(_))));
    provider.show("/me", 200, &json!({"sub": "42", "groups": ["office"]}));
    finish(&oidc, &begun).await.expect("signed in");
    assert!(provider.last_asked("GET /me").contains("authorization: Bearer t0ken"));
}

#[tokio::test]
async fn an_answer_counts_only_with_the_cookie_and_the_state_of_one_sign_in_in_its_time() {
    let (provider, key) = (Provider::serve().await, Key::new());
    provider.show("/jwks", 200, &json!({"keys": [key.jwk("1")]}));
    let oidc = provider.oidc();
    let (begun, other) = (begin(&oidc).await, begin(&oidc).await);
    let token = key.token(&header(), &claims(&provider, &begun));
    provider.show("/token", 200, &json!({"id_token": token}));
    let stateless: Returned = serde_json::from_value(json!({"code": "c0de"})).expect("it is one");
    let right = returned(&begun);
    for (cookie, returned, now_s) in [
        (None, &right, NOW_S),
        (Some(&*other.cookie), &right, NOW_S),
        (Some(&*begun.cookie), &returned(&other), NOW_S),
        (Some(&*begun.cookie), &stateless, NOW_S),
        (Some(&*begun.cookie), &right, NOW_S + 600),
    ] {
        let found = oidc.under_way(cookie, returned, now_s);
        assert!(matches!(found, Err(NotSignedIn::NotBegun)), "{found:?}");
        assert!(!found.is_err_and(|why| why.is_try()), "any page can send browsers here");
    }
    // Nothing of it reached the provider.
    assert!(!provider.pages.lock().expect("no panic").asked.iter().any(|it| it.contains("/token")));
    finish(&oidc, &begun).await.expect("signed in");
}
