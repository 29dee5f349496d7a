//! The shop's published keys, fetched over real sockets: what is believed, and when they change.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use onrush_base::auth::shop::{ShopTokenError, ShopVerifier};
use onrush_base::config::{Config, ShopTokens};
use ring::rand::SystemRandom;
use ring::rsa::{KeyPair as RsaKeyPair, PublicKeyComponents};
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair, RSA_PKCS1_SHA256,
};
use serde_json::{Value, json};
use sha2::Sha256;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

const ISSUER: &str = "https://shop.example";
const NOW_S: i64 = 1_000;

/// A key of the shop's: one kind of three, made on the spot but for RSA, which takes too long.
enum Key {
    Rsa(Box<RsaKeyPair>),
    Ec(EcdsaKeyPair),
    Ed(Ed25519KeyPair),
}

impl Key {
    fn rsa() -> Self {
        let pair = RsaKeyPair::from_pkcs8(include_bytes!("rsa-of-tests.pk8"));
        Self::Rsa(Box::new(pair.expect("it is a key")))
    }

    fn ec() -> Self {
        let random = SystemRandom::new();
        let kind = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let made = EcdsaKeyPair::generate_pkcs8(kind, &random).expect("made");
        Self::Ec(EcdsaKeyPair::from_pkcs8(kind, made.as_ref(), &random).expect("a key"))
    }

    fn ed() -> Self {
        let made = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).expect("made");
        Self::Ed(Ed25519KeyPair::from_pkcs8(made.as_ref()).expect("a key"))
    }

    fn algorithm(&self) -> &'static str {
        match self {
            Self::Rsa(_) => "RS256",
            Self::Ec(_) => "ES256",
            Self::Ed(_) => "EdDSA",
        }
    }

    fn jwk(&self, kid: &str) -> Value {
        let text = |bytes: &[u8]| BASE64_URL_SAFE_NO_PAD.encode(bytes);
        match self {
            Self::Rsa(pair) => {
                let parts = PublicKeyComponents::<Vec<u8>>::from(pair.public());
                json!({"kty": "RSA", "kid": kid, "use": "sig", "n": text(&parts.n), "e": text(&parts.e)})
            }
            Self::Ec(pair) => {
                let point = pair.public_key().as_ref();
                let (x, y) = point[1..].split_at(32);
                json!({"kty": "EC", "crv": "P-256", "kid": kid, "x": text(x), "y": text(y)})
            }
            Self::Ed(pair) => {
                let x = text(pair.public_key().as_ref());
                json!({"kty": "OKP", "crv": "Ed25519", "kid": kid, "alg": "EdDSA", "x": x})
            }
        }
    }

    fn sign(&self, text: &str) -> Vec<u8> {
        let random = SystemRandom::new();
        match self {
            Self::Rsa(pair) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                let signed = pair.sign(&RSA_PKCS1_SHA256, &random, text.as_bytes(), &mut signature);
                signed.expect("signed");
                signature
            }
            Self::Ec(pair) => {
                pair.sign(&random, text.as_bytes()).expect("signed").as_ref().to_vec()
            }
            Self::Ed(pair) => pair.sign(text.as_bytes()).as_ref().to_vec(),
        }
    }

    fn token(&self, header: &Value) -> String {
        with_signature(header, |text| self.sign(text))
    }

    /// A token as the shop would make it.
    fn plain(&self, kid: &str) -> String {
        self.token(&json!({"alg": self.algorithm(), "kid": kid}))
    }
}

fn with_signature(header: &Value, sign: impl Fn(&str) -> Vec<u8>) -> String {
    let claims = json!({"iss": ISSUER, "sub": "42", "aud": "onrush", "exp": NOW_S + 60});
    let part = |value: &Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
    let text = format!("{}.{}", part(header), part(&claims));
    let signature = BASE64_URL_SAFE_NO_PAD.encode(sign(&text));
    format!("{text}.{signature}")
}

/// A server that answers with a set of keys; none is 500.
struct Published {
    address: SocketAddr,
    set: Arc<Mutex<Option<Value>>>,
    asked: Arc<AtomicUsize>,
    /// Whoever has it keeps answers back.
    silence: Arc<tokio::sync::Mutex<()>>,
}

impl Published {
    async fn serve(keys: Vec<Value>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let set = Arc::new(Mutex::new(Some(json!({ "keys": keys }))));
        let asked = Arc::new(AtomicUsize::new(0));
        let silence = Arc::new(tokio::sync::Mutex::new(()));
        let (shown, count, broken) = (set.clone(), asked.clone(), silence.clone());
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut head = [0; 4_096];
                if stream.read(&mut head).await.is_err() {
                    continue;
                }
                count.fetch_add(1, Ordering::SeqCst);
                drop(broken.lock().await);
                let body = shown.lock().expect("no panic").as_ref().map(Value::to_string);
                let status = if body.is_some() { "200 OK" } else { "500 Broken" };
                let body = body.unwrap_or_default();
                let length = body.len();
                let answer = format!(
                    "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
                );
                drop(stream.write_all(answer.as_bytes()).await);
            }
        });
        Self { address, set, asked, silence }
    }

    fn publish(&self, keys: Option<Vec<Value>>) {
        *self.set.lock().expect("no panic") = keys.map(|keys| json!({ "keys": keys }));
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }

    /// What verifies with these keys; `more` are further settings.
    fn verifier(&self, more: &str) -> ShopVerifier {
        verifier(&format!("jwks = \"http://{}/jwks.json\"\n{more}", self.address))
    }
}

#[tokio::test]
async fn whoever_comes_while_keys_are_fetched_waits_for_them_also_if_the_first_hangs_up() {
    let ed = Key::ed();
    let published = Published::serve(vec![ed.jwk("d")]).await;
    let (shop, token) = (published.verifier(""), ed.plain("d"));
    let silence = published.silence.lock().await;
    let is_asked = async {
        while published.asked() == 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        found = shop.visitor_of(&token, NOW_S) => panic!("there is no answer yet: {found:?}"),
        () = is_asked => {}
    }
    // They are polled in this order: both wait before there is an answer.
    let speaks = async { drop(silence) };
    let (one, other, ()) =
        tokio::join!(is_believed(&shop, &token), is_believed(&shop, &token), speaks);
    assert_eq!((one, other, published.asked()), (true, true, 1));
}

fn settings(text: &str) -> Result<ShopTokens, String> {
    let text = format!("[shop_tokens]\nissuer = \"{ISSUER}\"\naudience = \"onrush\"\n{text}\n");
    let config = Config::parse(&text)?;
    config.check().map_err(|error| error.to_string())?;
    config.shop_tokens.ok_or_else(|| "there are none".to_owned())
}

fn verifier(text: &str) -> ShopVerifier {
    ShopVerifier::new(&settings(text).expect("settings"), None)
}

async fn is_believed(shop: &ShopVerifier, token: &str) -> bool {
    match shop.visitor_of(token, NOW_S).await {
        Ok(visitor) => {
            assert!(visitor.user.as_str().starts_with("u_"));
            true
        }
        Err(ShopTokenError::Invalid(_)) => false,
        Err(ShopTokenError::Expired) => panic!("it is not old"),
        Err(ShopTokenError::KeysAway) => panic!("keys were had"),
    }
}

#[tokio::test]
async fn each_kind_of_key_verifies_what_it_signed_and_nothing_else() {
    let (rsa, ec, ed) = (Key::rsa(), Key::ec(), Key::ed());
    let keys = vec![rsa.jwk("r"), ec.jwk("c"), ed.jwk("d")];
    let published = Published::serve(keys).await;
    let shop = published.verifier("");
    for (key, kid) in [(&rsa, "r"), (&ec, "c"), (&ed, "d")] {
        let token = key.plain(kid);
        assert!(is_believed(&shop, &token).await, "{kid}");
        // Of its kind it is the only one, so it needs no name.
        assert!(is_believed(&shop, &key.token(&json!({"alg": key.algorithm()}))).await, "{kid}");
        let mut bytes = token.clone().into_bytes();
        let middle = token.rfind('.').expect("a signature") + 20;
        bytes[middle] = if bytes[middle] == b'A' { b'B' } else { b'A' };
        let changed = String::from_utf8(bytes).expect("text");
        assert!(!is_believed(&shop, &changed).await, "{kid}");
        for other in ["r", "c", "d"].iter().filter(|other| **other != kid) {
            assert!(!is_believed(&shop, &key.plain(other)).await, "{kid} as {other}");
        }
    }
    // Whoever else made a key of the same kind.
    for key in [Key::ec(), Key::ed()] {
        assert!(
            !is_believed(&shop, &key.plain(if key.algorithm() == "ES256" { "c" } else { "d" }))
                .await
        );
    }
    assert_eq!(published.asked(), 1);
}

#[tokio::test]
async fn no_header_makes_a_public_key_a_secret_or_a_signature_needless() {
    let ed = Key::ed();
    let jwk = ed.jwk("d");
    let published = Published::serve(vec![jwk.clone()]).await;
    let shared = "a shared secret of at least 32 bytes";
    for more in [String::new(), format!("secret = \"{shared}\"")] {
        let shop = published.verifier(&more);
        assert!(is_believed(&shop, &ed.plain("d")).await);
        // The public key is known to everybody: as bytes, as text, as the whole set.
        let x = jwk["x"].as_str().expect("text");
        let raw = BASE64_URL_SAFE_NO_PAD.decode(x).expect("bytes");
        for secret in [raw.as_slice(), x.as_bytes(), jwk.to_string().as_bytes()] {
            let header = json!({"alg": "HS256", "kid": "d"});
            let forged = with_signature(&header, |text| hs256(secret, text));
            assert!(!is_believed(&shop, &forged).await, "{more}");
        }
        for name in ["none", "None", "NONE", "", "HS512", "PS256", "ES384"] {
            let header = json!({"alg": name, "kid": "d"});
            assert!(!is_believed(&shop, &with_signature(&header, |_| Vec::new())).await, "{name}");
            assert!(!is_believed(&shop, &ed.token(&header)).await, "{name}");
        }
        assert!(
            !is_believed(&shop, &ed.token(&json!({"alg": "EdDSA", "kid": "d", "crit": ["x"]})))
                .await
        );
        // The shared secret counts only where there is one.
        let by_secret =
            with_signature(&json!({"alg": "HS256"}), |text| hs256(shared.as_bytes(), text));
        assert_eq!(is_believed(&shop, &by_secret).await, !more.is_empty());
    }
    // Without published keys nobody's public key counts.
    let shop = verifier(&format!("secret = \"{shared}\""));
    assert!(!is_believed(&shop, &ed.plain("d")).await);
}

fn hs256(secret: &[u8], text: &str) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).expect("a key of any length is accepted");
    mac.update(text.as_bytes());
    mac.finalize().into_bytes().to_vec()
}

#[tokio::test]
async fn only_the_configured_algorithms_and_keys_for_signatures_count() {
    let (ec, ed) = (Key::ec(), Key::ed());
    let mut other_use = ed.jwk("e");
    other_use["use"] = json!("enc");
    let mut other_algorithm = ec.jwk("f");
    other_algorithm["alg"] = json!("ES384");
    let secret = json!({"kty": "oct", "kid": "s", "k": "c2VjcmV0IG9mIGV2ZXJ5Ym9keSB3aG8gcmVhZHM"});
    let keys = vec![secret, other_use, other_algorithm, ec.jwk("c"), ed.jwk("d"), json!("no key")];
    let published = Published::serve(keys).await;
    let shop = published.verifier("algorithms = [\"ES256\"]");
    assert!(is_believed(&shop, &ec.plain("c")).await);
    assert!(!is_believed(&shop, &ed.plain("d")).await);
    let all = published.verifier("");
    for (key, kid) in [(&ed, "e"), (&ec, "f"), (&ed, "s")] {
        assert!(!is_believed(&all, &key.plain(kid)).await, "{kid}");
    }
    for wrong in ["algorithms = [\"HS256\"]", "algorithms = [\"none\"]", "algorithms = []"] {
        assert!(settings(&format!("jwks = \"keys.json\"\n{wrong}")).is_err(), "{wrong}");
    }
    for wrong in ["", "jwks = \"http://shop.example/jwks\"", "jwks = \"ftp://shop.example/\""] {
        assert!(settings(wrong).is_err(), "{wrong}");
    }
    settings("jwks = \"https://shop.example/jwks\"").expect("https");
}

#[tokio::test]
async fn a_key_that_is_new_is_looked_for_at_once_and_no_more_often_than_allowed() {
    let (first, second, third) = (Key::ed(), Key::ed(), Key::ec());
    let published = Published::serve(vec![first.jwk("1")]).await;
    let shop = published.verifier("jwks_refresh_s = 60");
    assert!(is_believed(&shop, &first.plain("1")).await);
    published.publish(Some(vec![first.jwk("1"), second.jwk("2")]));
    // Strangers who make names up make nobody ask more often than every ten seconds.
    for n in 0..50 {
        assert!(!is_believed(&shop, &third.plain(&format!("made-up-{n}"))).await);
    }
    assert!(!is_believed(&shop, &second.plain("2")).await);
    assert_eq!(published.asked(), 1);
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(11)).await;
    tokio::time::resume();
    assert!(is_believed(&shop, &second.plain("2")).await);
    assert!(is_believed(&shop, &first.plain("1")).await);
    assert_eq!(published.asked(), 2);
    // A server that is ill takes no keys away, and may have new ones by now.
    published.publish(None);
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(11)).await;
    tokio::time::resume();
    let found = shop.visitor_of(&third.plain("3"), NOW_S).await;
    assert_eq!(found, Err(ShopTokenError::KeysAway));
    assert_eq!(published.asked(), 3);
    assert!(is_believed(&shop, &second.plain("2")).await);
    // Whoever forges what a known key signs gains nothing by that.
    assert!(!is_believed(&shop, &first.plain("2")).await);
    // One that is withdrawn goes with the next look.
    published.publish(Some(vec![second.jwk("2"), third.jwk("3")]));
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(11)).await;
    tokio::time::resume();
    assert!(is_believed(&shop, &third.plain("3")).await);
    assert!(!is_believed(&shop, &first.plain("1")).await);
}

#[tokio::test]
async fn a_key_that_takes_the_name_of_another_or_has_none_is_believed_after_a_rotation() {
    for kid in [None, Some("current")] {
        let jwk = |key: &Key| {
            let mut jwk = key.jwk("current");
            if kid.is_none() {
                jwk.as_object_mut().expect("an object").remove("kid");
            }
            jwk
        };
        let token = |key: &Key| match kid {
            Some(kid) => key.plain(kid),
            None => key.token(&json!({"alg": key.algorithm()})),
        };
        let (old, new, of_nobody) = (Key::ed(), Key::ed(), Key::ed());
        let published = Published::serve(vec![jwk(&old)]).await;
        let shop = published.verifier("jwks_refresh_s = 3600");
        assert!(is_believed(&shop, &token(&old)).await, "{kid:?}");
        published.publish(Some(vec![jwk(&new)]));
        // Forgeries have nobody ask more often than made-up names do.
        for _ in 0..50 {
            assert!(!is_believed(&shop, &token(&of_nobody)).await, "{kid:?}");
        }
        assert_eq!(published.asked(), 1);
        tokio::time::pause();
        tokio::time::advance(Duration::from_secs(11)).await;
        tokio::time::resume();
        assert!(is_believed(&shop, &token(&new)).await, "{kid:?}");
        assert!(!is_believed(&shop, &token(&old)).await, "{kid:?}");
        assert_eq!(published.asked(), 2);
    }
}

#[tokio::test]
async fn while_no_keys_were_ever_had_nobody_is_told_that_a_token_is_forged() {
    let (ec, ed) = (Key::ec(), Key::ed());
    let published = Published::serve(Vec::new()).await;
    published.publish(None);
    let shop = published.verifier("algorithms = [\"EdDSA\"]");
    let token = ed.plain("d");
    for _ in 0..2 {
        assert_eq!(shop.visitor_of(&token, NOW_S).await, Err(ShopTokenError::KeysAway));
    }
    // What no key of the set could have signed is none of the shop's, with keys or without.
    for other in [ec.plain("d"), ed.token(&json!({"alg": "none", "kid": "d"})), "x".into()] {
        assert!(!is_believed(&shop, &other).await, "{other}");
    }
    assert_eq!(published.asked(), 1);
    // A set without keys is none.
    published.publish(Some(Vec::new()));
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(11)).await;
    tokio::time::resume();
    assert_eq!(shop.visitor_of(&token, NOW_S).await, Err(ShopTokenError::KeysAway));
    published.publish(Some(vec![ed.jwk("d")]));
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(11)).await;
    tokio::time::resume();
    assert!(is_believed(&shop, &token).await);
    assert!(!is_believed(&shop, &Key::ed().plain("d")).await);
    assert_eq!(published.asked(), 3);
}

#[tokio::test]
async fn a_start_while_the_address_is_away_goes_on_with_the_keys_of_before() {
    let (key, next) = (Key::ed(), Key::ed());
    let (published, other) =
        (Published::serve(vec![key.jwk("1")]).await, Published::serve(vec![]).await);
    let dir = tempfile::tempdir().expect("a directory");
    let start = |of: &Published| {
        let tokens = settings(&format!("jwks = \"http://{}/jwks.json\"", of.address));
        ShopVerifier::new(&tokens.expect("settings"), Some(dir.path()))
    };
    assert!(is_believed(&start(&published), &key.plain("1")).await);
    let file = dir.path().join("shop-keys.json");
    let mode = std::fs::metadata(&file).expect("it is kept").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    published.publish(None);
    let shop = start(&published);
    assert!(is_believed(&shop, &key.plain("1")).await);
    assert!(!is_believed(&shop, &next.plain("1")).await);
    // While the server was down the shop may have gone over to a key that is not kept.
    let found = shop.visitor_of(&next.plain("2"), NOW_S).await;
    assert_eq!(found, Err(ShopTokenError::KeysAway));
    let of_another_kind = Key::ec().plain("1");
    let found = shop.visitor_of(&of_another_kind, NOW_S).await;
    assert_eq!(found, Err(ShopTokenError::KeysAway));
    // It was asked first, and once.
    assert_eq!(published.asked(), 2);
    // The keys of one address are not another's.
    other.publish(None);
    let found = start(&other).visitor_of(&key.plain("1"), NOW_S).await;
    assert_eq!(found, Err(ShopTokenError::KeysAway));
    // What was withdrawn between two starts does not count while the address answers, nor later.
    published.publish(Some(vec![next.jwk("2")]));
    assert!(!is_believed(&start(&published), &key.plain("1")).await);
    published.publish(None);
    let shop = start(&published);
    assert!(is_believed(&shop, &next.plain("2")).await);
    let found = shop.visitor_of(&key.plain("1"), NOW_S).await;
    assert_eq!(found, Err(ShopTokenError::KeysAway));
    // A file that is damaged is none, and is written anew.
    std::fs::write(&file, "{").expect("written");
    let found = start(&published).visitor_of(&next.plain("2"), NOW_S).await;
    assert_eq!(found, Err(ShopTokenError::KeysAway));
    published.publish(Some(vec![next.jwk("2")]));
    assert!(is_believed(&start(&published), &next.plain("2")).await);
    published.publish(None);
    assert!(is_believed(&start(&published), &next.plain("2")).await);
}

#[tokio::test]
async fn keys_may_stand_in_a_file() {
    let key = Key::ec();
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("jwks.json");
    std::fs::write(&file, json!({"keys": [key.jwk("c")]}).to_string()).expect("written");
    let shop = verifier(&format!("jwks = \"{}\"", file.display()));
    assert!(is_believed(&shop, &key.plain("c")).await);
}
