//! A browser that goes to the OpenID provider and comes back.

use crate::client::{Answer, Request};
use crate::shop::Shop;
use axum::http::{self, Response};
use bytes::Bytes;
use onrush_base::config::{Config, OidcGroup, OidcSettings};
use onrush_base::http_client::{AddressPolicy, HttpClient};
use onrush_testkit::{Authority, NotStarted, OidcOptions, OidcProvider};
use onrush_tls::Certificates;
use std::collections::BTreeMap;

pub(crate) const CLIENT: &str = OidcProvider::CLIENTS[0];
/// Where people reach the server, as far as the provider knows.
pub(crate) const PUBLIC_URL: &str = "https://tickets.example";
const PATIENCE_MS: u64 = 20_000;
/// How long servers of tests wait for a provider that shares a busy machine with them.
const LONG_PATIENCE_MS: u64 = 60_000;

const PEOPLE: &str = r#"{
    "ann": {"preferred_username": "ann", "email": "ann@hall.example", "groups": ["office", "others"]},
    "boss": {"preferred_username": "boss", "groups": ["owners"]},
    "guest": {"preferred_username": "guest", "groups": ["others", "Office"]},
    "eve": {"preferred_username": "eve", "groups": ["office"]},
    "nobody": {"preferred_username": "nobody"}
}"#;

pub(crate) fn options() -> OidcOptions {
    OidcOptions {
        people: PEOPLE.to_owned(),
        redirect_uri: format!("{PUBLIC_URL}/api/v1/session/oidc/callback"),
        post_logout_redirect_uri: format!("{PUBLIC_URL}/admin"),
        ..OidcOptions::default()
    }
}

pub(crate) fn start() -> Result<OidcProvider, NotStarted> {
    OidcProvider::start(&options())
}

/// Has a server sign people in with this provider.
pub(crate) fn settings(config: &mut Config, provider: &OidcProvider) {
    settings_at(config, provider.issuer());
}

/// The same with a provider that answers at this address.
pub(crate) fn settings_at(config: &mut Config, issuer: &str) {
    let group = |name: &str, scopes: &[&str]| OidcGroup {
        name: name.to_owned(),
        scopes: scopes.iter().map(|scope| scope.parse().unwrap()).collect(),
    };
    config.public_url = Some(PUBLIC_URL.to_owned());
    config.oidc = Some(OidcSettings {
        name: None,
        issuer: issuer.to_owned(),
        client_id: CLIENT.to_owned(),
        client_secret: OidcProvider::SECRET.to_owned().into(),
        scopes: ["openid", "profile", "email", "groups"].map(str::to_owned).to_vec(),
        groups_claim: "groups".to_owned(),
        groups: vec![group("office", &["sell", "door"]), group("owners", &["admin"])],
        acr_values: Vec::new(),
        amr_values: Vec::new(),
        max_age_s: None,
        session_ttl_s: None,
        certificates: Default::default(),
        patience_ms: LONG_PATIENCE_MS,
    });
}

pub(crate) async fn shop_of(provider: &OidcProvider) -> Shop {
    Shop::start_with(|config| settings(config, provider)).await
}

/// The same, which has as little patience with the provider as servers have that are no test's.
pub(crate) async fn impatient_shop_of(provider: &OidcProvider) -> Shop {
    Shop::start_with(|config| {
        settings(config, provider);
        config.oidc.as_mut().unwrap().patience_ms = OidcSettings::PATIENCE_MS;
    })
    .await
}

/// A browser, with its cookies of the server and of the provider.
pub(crate) struct Traveller<'a> {
    shop: &'a Shop,
    issuer: String,
    client: HttpClient,
    pub(crate) cookies: BTreeMap<String, String>,
    theirs: BTreeMap<String, String>,
    /// Whether it asks for pages, as browsers do.
    pub(crate) wants_page: bool,
}

/// Takes up the cookies that an answer sets.
fn keep<'a>(jar: &mut BTreeMap<String, String>, set: impl Iterator<Item = &'a str>) {
    for line in set {
        let (pair, flags) = line.split_once(';').unwrap();
        let (name, value) = pair.split_once('=').unwrap();
        if value.is_empty() || flags.contains("Max-Age=0") {
            jar.remove(name);
        } else {
            jar.insert(name.to_owned(), value.to_owned());
        }
    }
}

fn line_of(jar: &BTreeMap<String, String>) -> String {
    let pairs = jar.iter().map(|(name, value)| format!("{name}={value}"));
    pairs.collect::<Vec<_>>().join("; ")
}

impl<'a> Traveller<'a> {
    pub(crate) fn new(shop: &'a Shop, provider: &OidcProvider) -> Self {
        Self::with(shop, provider, HttpClient::new(AddressPolicy::Any))
    }

    /// The same, which trusts this authority at the provider.
    pub(crate) fn trusting(shop: &'a Shop, provider: &OidcProvider, ca: &Authority) -> Self {
        let certificates = Certificates::new(Some(ca.pem().as_bytes().to_vec()), None).unwrap();
        let client =
            HttpClient::with_certificates(AddressPolicy::Any, &certificates, String::new());
        Self::with(shop, provider, client.unwrap())
    }

    fn with(shop: &'a Shop, provider: &OidcProvider, client: HttpClient) -> Self {
        let (cookies, theirs) = (BTreeMap::new(), BTreeMap::new());
        let issuer = provider.issuer().to_owned();
        Self { shop, issuer, client, cookies, theirs, wants_page: false }
    }

    /// A request to the server; the path begins behind `/api/v1`.
    pub(crate) fn ask(&self, method: &str, path: &str) -> Request {
        let request = self.shop.ask(method, path);
        let request = match self.wants_page {
            true => request.header("Accept", "text/html,application/xhtml+xml,*/*;q=0.8"),
            false => request,
        };
        match self.cookies.is_empty() {
            true => request,
            false => request.header("Cookie", &line_of(&self.cookies)),
        }
    }

    async fn go(&mut self, path: &str) -> Answer {
        let answer = self.ask("GET", path).send().await;
        let set = answer.headers.iter().filter(|(name, _)| name == "set-cookie");
        keep(&mut self.cookies, set.map(|(_, value)| value.as_str()));
        answer
    }

    /// Asks to be sent to the provider.
    pub(crate) async fn begin(&mut self, query: &str) -> Answer {
        self.go(&format!("/session/oidc{query}")).await
    }

    /// Goes to the provider's page, says who it is (or `cancel`), and is sent back to this address.
    pub(crate) async fn at_provider(&mut self, location: &str, who: &str) -> String {
        let mut next = location.to_owned();
        for _ in 0..8 {
            if next.starts_with(PUBLIC_URL) {
                return next;
            }
            if next.starts_with('/') {
                next = format!("{}{next}", self.issuer);
            }
            let (method, body) = match (next.contains("/interaction/"), who) {
                (false, _) => ("GET", String::new()),
                (true, "cancel") => ("POST", "do=cancel".to_owned()),
                (true, name) => ("POST", format!("do=in&name={name}")),
            };
            let answer = self.ask_there(method, &next, body).await;
            let to = answer.headers().get("location");
            let to =
                to.unwrap_or_else(|| panic!("{next}: {} {:?}", answer.status(), answer.body()));
            next = to.to_str().unwrap().to_owned();
        }
        panic!("the provider never sends back: {next}");
    }

    /// A request to the provider with the cookies that it set.
    async fn ask_there(&mut self, method: &str, url: &str, form: String) -> Response<Bytes> {
        let request = http::Request::builder().method(method).uri(url);
        let request = request.header("cookie", line_of(&self.theirs));
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        let request = request.body(Bytes::from(form)).unwrap();
        let answer = self.client.call(request, PATIENCE_MS).await.unwrap();
        let set = answer.headers().get_all("set-cookie").iter();
        keep(&mut self.theirs, set.map(|value| value.to_str().unwrap()));
        answer
    }

    /// Goes to the provider's page for signing out, says that it means it, and is sent to this address.
    pub(crate) async fn sign_out_there(&mut self, location: &str) -> String {
        let page = self.ask_there("GET", location, String::new()).await;
        let text = String::from_utf8(page.body().to_vec()).unwrap();
        let (_, rest) =
            text.split_once("name=\"xsrf\" value=\"").unwrap_or_else(|| panic!("{text}"));
        let (xsrf, _) = rest.split_once('"').unwrap();
        let confirm = format!("{}/session/end/confirm", self.issuer);
        let form = format!("xsrf={xsrf}&logout=yes");
        let answer = self.ask_there("POST", &confirm, form).await;
        answer.headers().get("location").unwrap().to_str().unwrap().to_owned()
    }

    /// Ends its session here, and is told this.
    pub(crate) async fn sign_out(&mut self) -> Answer {
        let csrf = self.ask("GET", "/session").send().await.expect(200).text("csrf");
        let answer = self.ask("DELETE", "/session").header("X-CSRF-Token", &csrf).send().await;
        let set = answer.headers.iter().filter(|(name, _)| name == "set-cookie");
        keep(&mut self.cookies, set.map(|(_, value)| value.as_str()));
        answer
    }

    pub(crate) async fn there_and_back(&mut self, who: &str) -> String {
        let there = self.begin("").await.expect(303);
        let location = there.header("location").unwrap().to_owned();
        self.at_provider(&location, who).await
    }

    /// Comes back to the address that the provider gave.
    pub(crate) async fn come_back(&mut self, back: &str) -> Answer {
        let path = back.strip_prefix(&format!("{PUBLIC_URL}/api/v1")).unwrap().to_owned();
        self.go(&path).await
    }

    pub(crate) async fn sign_in(&mut self, who: &str) -> Answer {
        // Where people are whoever they say, nobody is remembered.
        self.theirs.clear();
        let back = self.there_and_back(who).await;
        self.come_back(&back).await
    }
}

/// Whether somebody is signed in with what a browser has.
pub(crate) async fn is_in(person: &Traveller<'_>) -> bool {
    person
        .shop
        .ask("GET", "/session")
        .header("Cookie", &line_of(&person.cookies))
        .send()
        .await
        .status
        == 200
}
