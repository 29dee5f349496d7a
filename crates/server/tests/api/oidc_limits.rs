//! Sign-ins with an OpenID provider that come to nothing: which are counted, and whom that stops.

use crate::at_provider::{PUBLIC_URL, Traveller, is_in, settings, settings_at, shop_of, start};
use crate::client::{Request, read_head};
use crate::shop::{ADMIN_KEY, Shop};
use onrush_testkit::{Log, need};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;

/// What an address may try a minute.
const ALLOWED: usize = 10;
/// More than comes back while a slow machine runs a test.
const TOO_MANY: usize = 30;

/// A provider that exchanges codes for what a test says, and tells when it is asked to.
struct Scripted {
    address: SocketAddr,
    /// What its token endpoint answers; none is silence.
    answer: Arc<Mutex<Option<(u16, Value)>>>,
    asked: UnboundedReceiver<()>,
    serving: JoinHandle<()>,
}

impl Scripted {
    async fn serve() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let answer = Arc::new(Mutex::new(None));
        let (tell, asked) = unbounded_channel();
        let said = answer.clone();
        let serving = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                tokio::spawn(serve(stream, address, said.clone(), tell.clone()));
            }
        });
        Self { address, answer, asked, serving }
    }

    fn says(&self, status: u16, body: Value) {
        *self.answer.lock().unwrap() = Some((status, body));
    }

    /// Nobody listens there any more.
    async fn stop(self) {
        self.serving.abort();
        self.serving.await.unwrap_err();
    }

    async fn shop(&self) -> Shop {
        let issuer = format!("http://{}", self.address);
        Shop::start_with(|config| settings_at(config, &issuer)).await
    }
}

/// Answers one request.
async fn serve(
    mut stream: TcpStream,
    address: SocketAddr,
    answer: Arc<Mutex<Option<(u16, Value)>>>,
    asked: UnboundedSender<()>,
) {
    let Some(path) = path_of_request(&mut stream).await else { return };
    let (status, body) = if path == "/token" {
        // A test that is over does not listen.
        asked.send(()).ok();
        let said = answer.lock().unwrap().clone();
        match said {
            Some(said) => said,
            None => std::future::pending().await,
        }
    } else {
        let url = format!("http://{address}");
        let document = json!({"issuer": url, "authorization_endpoint": format!("{url}/auth"),
            "token_endpoint": format!("{url}/token"), "jwks_uri": format!("{url}/jwks")});
        (200, document)
    };
    let body = body.to_string();
    let answer = format!(
        "HTTP/1.1 {status} -\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(answer.as_bytes()).await.ok();
}

/// The path of a request, once all of it has come.
async fn path_of_request(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let head = head.to_ascii_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
                return head.split(' ').nth(1).map(str::to_owned);
            }
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
}

/// Begins a sign-in, and asks to go on with it, with its cookie and state and a code of nobody's.
async fn callback(shop: &Shop) -> Request {
    let there = shop.ask("GET", "/session/oidc").send().await.expect(303);
    let location = there.header("location").unwrap();
    let state = location.split(['?', '&']).find(|part| part.starts_with("state=")).unwrap();
    let (cookie, _) = there.header("set-cookie").unwrap().split_once(';').unwrap();
    let path = format!("/session/oidc/callback?code=x&{state}");
    // Others on the same host may have set cookies with any letters.
    shop.ask("GET", &path).header("Cookie", &format!("name=Jürgen; {cookie}"))
}

#[tokio::test]
async fn whoever_hangs_up_before_the_provider_answers_has_tried_all_the_same() {
    let mut provider = Scripted::serve().await;
    let shop = provider.shop().await;
    let callback = callback(&shop).await;
    let mut tried = 0;
    let status = loop {
        let mut stream = callback.clone().start().await;
        tokio::select! {
            asked = provider.asked.recv() => asked.unwrap(),
            (status, _) = read_head(&mut stream) => break status,
        }
        tried += 1;
        assert!(tried < TOO_MANY, "nothing stops whoever hangs up");
    };
    assert_eq!(status, 429);
    assert!(tried >= ALLOWED, "{tried}");
    provider.says(400, json!({"error": "invalid_grant"}));
    assert_eq!(callback.send().await.problem(), (429, "RATE_LIMITED".into()));
}

#[tokio::test]
async fn whatever_the_provider_answers_is_a_try_but_its_absence_is_none() {
    for (status, body, told) in [
        (403, json!({"error": "invalid_grant"}), (403, "OIDC_REFUSED")),
        (429, json!({}), (503, "OIDC_UNAVAILABLE")),
        (500, json!({}), (503, "OIDC_UNAVAILABLE")),
    ] {
        let provider = Scripted::serve().await;
        provider.says(status, body);
        let shop = provider.shop().await;
        let callback = callback(&shop).await;
        let mut tried = 0;
        let limited = loop {
            let answer = callback.clone().send().await;
            if answer.status == 429 {
                break answer;
            }
            assert_eq!(answer.problem(), (told.0, told.1.into()), "{status}");
            tried += 1;
            assert!(tried < TOO_MANY, "nothing stops whoever tries: {status}");
        };
        assert!(tried >= ALLOWED, "{status}: {tried}");
        assert_eq!(limited.problem().1, "RATE_LIMITED", "{status}");
        shop.server.shutdown().await;
    }
    let provider = Scripted::serve().await;
    let shop = provider.shop().await;
    let callback = callback(&shop).await;
    provider.stop().await;
    for _ in 0..TOO_MANY {
        let answer = callback.clone().send().await;
        assert_eq!(answer.problem(), (503, "OIDC_UNAVAILABLE".into()));
    }
}

#[tokio::test]
async fn tries_that_come_to_nothing_are_limited_by_address_and_lock_no_key_out() {
    let Some(provider) = need(start()) else { return };
    let shop = Shop::start_with(|config| {
        settings(config, &provider);
        config.trusted_proxies = vec!["127.0.0.0/8".parse().unwrap()];
    })
    .await;
    let mut mallory = Traveller::new(&shop, &provider);
    let back = mallory.there_and_back("ann").await;
    let code = back.split(['?', '&']).find(|part| part.starts_with("code=")).unwrap();
    let wrong = back.replace(code, "code=x");
    let path = wrong.strip_prefix(&format!("{PUBLIC_URL}/api/v1")).unwrap();
    let mut tried = 0;
    let limited = loop {
        let request = mallory.ask("GET", path).header("X-Forwarded-For", "203.0.113.9");
        let answer = request.send().await;
        if answer.status != 403 {
            break answer;
        }
        tried += 1;
        assert!(tried < TOO_MANY, "nothing stops whoever tries");
    };
    assert!(tried >= ALLOWED, "{tried}");
    assert_eq!(limited.problem(), (429, "RATE_LIMITED".into()));
    let key = shop.ask("POST", "/session").header("X-Forwarded-For", "203.0.113.9");
    let key = key.json(&json!({"key": ADMIN_KEY})).send().await;
    // Whoever shares the address is not kept from signing in with a key.
    assert_eq!(key.status, 200);
    Traveller::new(&shop, &provider).sign_in("ann").await.expect(303);
}

#[tokio::test]
async fn whoever_is_sent_back_without_a_sign_in_of_their_own_has_tried_nothing() {
    let Some(provider) = need(start()) else { return };
    let shop = shop_of(&provider).await;
    let mut ann = Traveller::new(&shop, &provider);
    let theirs = Traveller::new(&shop, &provider).there_and_back("ann").await;
    let theirs = theirs.strip_prefix(&format!("{PUBLIC_URL}/api/v1")).unwrap();
    // Any page can have a browser ask for these, with pictures or by sending it there.
    for path in ["/session/oidc/callback", "/session/oidc/callback?code=x&state=y", theirs] {
        for _ in 0..2 * ALLOWED {
            let answer = shop.ask("GET", path).send().await;
            assert_eq!(answer.problem(), (400, "OIDC_NOT_BEGUN".into()), "{path}");
        }
    }
    let noted = shop.admin("GET", "/actions").send().await.expect(200).json();
    assert!(!noted.to_string().contains("OIDC_NOT_BEGUN"), "{noted}");
    ann.sign_in("ann").await.expect(303);
    assert!(is_in(&ann).await);
}

#[tokio::test]
async fn strangers_do_not_fill_the_log_with_sign_ins_that_come_to_nothing() {
    const ASKED: usize = 300;
    let provider = Scripted::serve().await;
    let shop = provider.shop().await;
    provider.stop().await;
    // This thread runs all of the server but for its engine.
    let (log, _guard) = Log::begin(tracing::Level::WARN);
    for (path, status, line) in [
        ("/session/oidc", 503, "nobody can be sent to the OpenID provider"),
        ("/session/oidc/callback", 400, "nobody was signed in by the OpenID provider"),
    ] {
        for _ in 0..ASKED {
            shop.ask("GET", path).send().await.expect(status);
        }
        // More than 60 if it takes longer than a minute.
        let lines = log.count(line);
        assert!((1..=ASKED / 2).contains(&lines), "{lines} lines: {line}");
    }
}
