//! One order: an account, names that are proved, a certificate.

use crate::blocking;
use crate::http::Http;
use crate::kept::{self, Kept};
use crate::trouble::{Trouble, told};
use instant_acme::{
    Account, AccountBuilder, AccountCredentials, AuthorizationState, AuthorizationStatus,
    ChallengeType, Error, ExternalAccountKey, Identifier, Key, NewAccount, NewOrder, Order,
    OrderStatus, RetryPolicy,
};
use onrush_base::config::AcmeSettings;
use onrush_tls::rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use onrush_tls::{Challenges, Pair};
use rcgen::{CertificateParams, CustomExtension, DistinguishedName, KeyPair};
use std::time::Duration;

/// How often the authority is asked whether it has decided, and how long it may take.
const PATIENCE: RetryPolicy = RetryPolicy::new()
    .initial_delay(Duration::from_millis(250))
    .backoff(1.5)
    .timeout(Duration::from_secs(120));

/// The kind of problem of an account that was closed, or that another authority had.
const NO_ACCOUNT: &str = "urn:ietf:params:acme:error:accountDoesNotExist";
/// What authorities say that want to know the contact as soon as they are asked for an account: there is
/// no kind of problem for that.
const NO_CONTACT: [&str; 2] =
    ["urn:ietf:params:acme:error:malformed", "urn:ietf:params:acme:error:invalidContact"];

/// Fetches a certificate with a new key.
pub(crate) async fn fetch(
    settings: &AcmeSettings,
    http: &Http,
    kept: &Kept,
    challenges: &Challenges,
) -> Result<Pair, Trouble> {
    // Those of an order that failed, which its authority may have looked at until now.
    challenges.clear();
    let names: Vec<_> = settings.domains.iter().cloned().map(Identifier::Dns).collect();
    let wanted = NewOrder::new(&names);
    let account = account(settings, http, kept).await?;
    let mut order = match account.new_order(&wanted).await {
        Err(error) if is_forgotten(&error) => {
            let account = new_account(settings, http, kept).await?;
            account.new_order(&wanted).await?
        }
        ordered => ordered?,
    };
    answer_all(&mut order, challenges).await?;
    // From here on it looks at names, and counts each that it does not see, and what it issues.
    issue(&mut order, challenges).await.map_err(Trouble::counted)
}

/// Has the names looked at, and the certificate issued. Answers for names stay where that fails: the
/// authority may be about to look.
async fn issue(order: &mut Order, challenges: &Challenges) -> Result<Pair, Trouble> {
    prove(order).await?;
    challenges.clear();
    let key = order.finalize().await?;
    let chain = order.poll_certificate(&PATIENCE).await?;
    Pair::new(chain.into(), key.into()).map_err(|why| Trouble::refused(why.to_string()))
}

/// Whether the authority knows nothing of the account that was kept.
fn is_forgotten(error: &Error) -> bool {
    kind(error) == Some(NO_ACCOUNT)
}

/// Which kind of problem the authority has.
fn kind(error: &Error) -> Option<&str> {
    let Error::Api(problem) = error else { return None };
    problem.r#type.as_deref()
}

/// Something on this machine that fails. The authority may have made an account already, and counts
/// them, so it is not tried again at once.
fn local(why: String) -> Trouble {
    Trouble::refused(why)
}

/// The account that was kept, with the contact that the settings have now; or a new one.
async fn account(settings: &AcmeSettings, http: &Http, kept: &Kept) -> Result<Account, Trouble> {
    let (place, directory) = (kept.clone(), settings.directory.clone());
    let found = blocking(move || place.account(&directory)).await.map_err(local)?;
    let Some(found) = found else { return new_account(settings, http, kept).await };
    let is_told = found.contact == settings.contact;
    let credentials = copy(&found.credentials)?;
    let account = builder(http).from_credentials(found.credentials).await?;
    if !is_told {
        match account.update_contacts(&contacts(settings)).await {
            Err(error) if is_forgotten(&error) => return new_account(settings, http, kept).await,
            told => told?,
        }
        store(settings, kept, settings.contact.clone(), credentials).await?;
    }
    Ok(account)
}

/// An account with a key of its own, kept in the place of the one before.
///
/// The key is kept before the authority is asked: should the answer be lost, it is asked again with the
/// same key, which has it say which account that is (RFC 8555, section 7.3) and make no other. The
/// contact is told afterwards, because the protocol's crate says none for a key that it is given.
async fn new_account(
    settings: &AcmeSettings,
    http: &Http,
    kept: &Kept,
) -> Result<Account, Trouble> {
    // Nor does it say whose external account that is, and it has the terms agreed to.
    if settings.external_account().is_some() || !settings.accept_terms {
        return new_account_at_once(settings, http, kept).await;
    }
    let key = account_key(settings, kept).await?;
    let made = builder(http).create_from_key(key, settings.directory.clone()).await;
    let (account, credentials) = match made {
        Err(error)
            if settings.contact.is_some()
                && kind(&error).is_some_and(|kind| NO_CONTACT.contains(&kind)) =>
        {
            return new_account_at_once(settings, http, kept).await;
        }
        made => made?,
    };
    let again = copy(&credentials)?;
    store(settings, kept, None, credentials).await?;
    if settings.contact.is_some() {
        account.update_contacts(&contacts(settings)).await?;
        store(settings, kept, settings.contact.clone(), again).await?;
    }
    Ok(account)
}

/// The key that an account was asked for with before, or a new one.
async fn account_key(
    settings: &AcmeSettings,
    kept: &Kept,
) -> Result<(Key, PrivateKeyDer<'static>), Trouble> {
    let (kept, directory) = (kept.clone(), settings.directory.clone());
    let key = blocking(move || {
        if let Some(key) = kept.account_key(&directory)? {
            return Ok(key);
        }
        let key = KeyPair::generate().map_err(|error| error.to_string())?;
        kept.store_account_key(&key.serialize_pem(), &directory)?;
        Ok(PrivatePkcs8KeyDer::from(key.serialize_der()))
    });
    let key = key.await.map_err(local)?;
    Ok((Key::from_pkcs8_der(key.clone_key())?, key.into()))
}

/// An account with all that there is to say of it, and a key that is kept once it is made.
async fn new_account_at_once(
    settings: &AcmeSettings,
    http: &Http,
    kept: &Kept,
) -> Result<Account, Trouble> {
    let new = NewAccount {
        contact: &contacts(settings),
        terms_of_service_agreed: settings.accept_terms,
        only_return_existing: false,
    };
    let bound = settings.external_account();
    let bound = bound.map(|(kid, key)| ExternalAccountKey::new(kid.to_owned(), &key));
    let made = builder(http).create(&new, settings.directory.clone(), bound.as_ref()).await?;
    let (account, credentials) = made;
    store(settings, kept, settings.contact.clone(), credentials).await?;
    Ok(account)
}

fn builder(http: &Http) -> AccountBuilder {
    Account::builder_with_http(Box::new(http.clone()))
}

/// The same once more, for a second one who keeps them.
fn copy(credentials: &AccountCredentials) -> Result<AccountCredentials, Error> {
    let credentials = serde_json::to_value(credentials)?;
    serde_json::from_value(credentials).map_err(Error::from)
}

fn contacts(settings: &AcmeSettings) -> Vec<&str> {
    settings.contact.as_deref().into_iter().collect()
}

/// Keeps an account, and which contact its authority was told.
async fn store(
    settings: &AcmeSettings,
    kept: &Kept,
    contact: Option<String>,
    credentials: AccountCredentials,
) -> Result<(), Trouble> {
    let directory = settings.directory.clone();
    let account = kept::Account { directory, contact, credentials };
    let kept = kept.clone();
    blocking(move || kept.store_account(&account)).await.map_err(local)
}

/// Puts up what the authority is to see of each name. Nothing is looked at yet.
async fn answer_all(order: &mut Order, challenges: &Challenges) -> Result<(), Trouble> {
    let mut authorizations = order.authorizations();
    while let Some(authorization) = authorizations.next().await {
        let mut authorization = authorization?;
        if is_proved(&authorization) {
            continue;
        }
        let name = authorization.identifier().to_string();
        let Some(challenge) = authorization.challenge(ChallengeType::TlsAlpn01) else {
            return Err(Trouble::refused(format!(
                "the authority does not offer to look at {name} by TLS-ALPN-01, the only way that \
                 there is here"
            )));
        };
        let digest = challenge.key_authorization().digest();
        let answer = answer(&name, digest.as_ref()).map_err(|error| local(error.to_string()))?;
        let shown = challenges.answer(&name, answer.0, answer.1);
        shown.map_err(|why| local(why.to_string()))?;
    }
    Ok(())
}

/// Whether the authority looked at a name lately, and believes it for a while.
fn is_proved(authorization: &AuthorizationState) -> bool {
    authorization.status == AuthorizationStatus::Valid
}

/// Has the authority look, and waits for what it makes of it.
async fn prove(order: &mut Order) -> Result<(), Trouble> {
    let mut authorizations = order.authorizations();
    while let Some(authorization) = authorizations.next().await {
        let mut authorization = authorization?;
        if is_proved(&authorization) {
            continue;
        }
        if let Some(mut challenge) = authorization.challenge(ChallengeType::TlsAlpn01) {
            challenge.set_ready().await?;
        }
    }
    match order.poll_ready(&PATIENCE).await {
        Ok(OrderStatus::Ready | OrderStatus::Valid) => Ok(()),
        Ok(OrderStatus::Pending | OrderStatus::Processing | OrderStatus::Invalid) => {
            let why = not_proved(order).await;
            Err(why
                .unwrap_or_else(|| Trouble::refused("the authority does not say why it refuses")))
        }
        // Some authorities say it with the order, too.
        Err(error @ Error::Api(_)) => {
            Err(not_proved(order).await.unwrap_or_else(|| Trouble::from(error)))
        }
        Err(error) => Err(error.into()),
    }
}

/// The certificate that proves a name (RFC 8737, section 3), and its key.
fn answer(
    name: &str,
    digest: &[u8],
) -> Result<(CertificateDer<'static>, PrivateKeyDer<'static>), rcgen::Error> {
    let mut params = CertificateParams::new([name.to_owned()])?;
    params.distinguished_name = DistinguishedName::new();
    params.custom_extensions = vec![CustomExtension::new_acme_identifier(digest)];
    let key = KeyPair::generate()?;
    let certificate = params.self_signed(&key)?;
    let key = PrivatePkcs8KeyDer::from(key.serialize_der());
    Ok((certificate.der().clone(), key.into()))
}

/// What the authority says of names that it does not believe to be ours, if it is that.
async fn not_proved(order: &mut Order) -> Option<Trouble> {
    let mut found = Vec::new();
    let mut authorizations = order.authorizations();
    while let Some(Ok(mut authorization)) = authorizations.next().await {
        let name = authorization.identifier().to_string();
        let Ok(state) = authorization.refresh().await else { continue };
        let errors = state.challenges.iter().filter_map(|challenge| challenge.error.as_ref());
        found.extend(errors.map(|problem| format!("{name}: {}", told(problem))));
    }
    let why = || {
        format!(
            "the authority could not see that the names are ours; it connects to port 443 of each, \
             which has to be this listener's: {}",
            found.join("; ")
        )
    };
    (!found.is_empty()).then(|| Trouble::refused(why()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trouble::Fault;
    use onrush_base::config::Config;
    use onrush_tls::Certificates;
    use serde_json::{Value, json};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};

    const NAME: &str = "tickets.example";

    fn settings(authority: &TcpListener) -> AcmeSettings {
        let text = format!("[tls.acme]\ndomains = [\"{NAME}\"]\naccept_terms = true\n");
        let acme = Config::parse(&text).unwrap().tls.unwrap().acme.unwrap();
        let directory = format!("http://{}/directory", authority.local_addr().unwrap());
        AcmeSettings { directory, ..acme }
    }

    /// Replies as an authority does, until somebody asks for `path`: what they said, and their line.
    async fn reply_until(authority: &TcpListener, path: &str) -> (String, TcpStream) {
        loop {
            let (mut line, _) = authority.accept().await.unwrap();
            let request = heard(&mut line).await;
            let asked = request.split(' ').nth(1).unwrap();
            if asked == path {
                return (request, line);
            }
            reply(&mut line, asked).await;
        }
    }

    /// One request: what is posted is JSON with one brace at its end.
    async fn heard(line: &mut TcpStream) -> String {
        let mut request = Vec::new();
        loop {
            assert_ne!(line.read_buf(&mut request).await.unwrap(), 0, "the line broke");
            let end: &[u8] = if request.starts_with(b"POST") { b"}" } else { b"\r\n\r\n" };
            if request.ends_with(end) {
                return String::from_utf8(request).unwrap();
            }
        }
    }

    /// What an authority says that wants to look at one name.
    async fn reply(line: &mut TcpStream, path: &str) {
        let url = format!("http://{}", line.local_addr().unwrap());
        let look = json!({
            "type": "tls-alpn-01", "url": format!("{url}/look"), "token": "t", "status": "pending",
        });
        let body = match path {
            "/directory" => json!({
                "newNonce": format!("{url}/nonce"),
                "newAccount": format!("{url}/accounts"),
                "newOrder": format!("{url}/orders"),
            })
            .to_string(),
            "/nonce" => String::new(),
            "/accounts" => json!({"status": "valid"}).to_string(),
            "/orders" => json!({
                "status": "pending",
                "authorizations": [format!("{url}/names/1")],
                "finalize": format!("{url}/finalize"),
            })
            .to_string(),
            "/names/1" => json!({
                "identifier": {"type": "dns", "value": NAME},
                "status": "pending",
                "challenges": [look],
            })
            .to_string(),
            "/look" => look.to_string(),
            _ => panic!("nobody is to ask for {path}"),
        };
        say(line, "200 OK", &format!("{url}{path}/1"), &body).await;
    }

    /// Says it, with a nonce that is always the same, and nothing more over this line.
    async fn say(line: &mut TcpStream, status: &str, location: &str, body: &str) {
        let length = body.len();
        let answer = format!(
            "HTTP/1.1 {status}\r\nReplay-Nonce: once\r\nLocation: {location}\r\n\
             Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        );
        line.write_all(answer.as_bytes()).await.unwrap();
    }

    /// Two that talk to each other, both through.
    async fn both<A, B>(one: impl Future<Output = A>, other: impl Future<Output = B>) -> (A, B) {
        let both = async { tokio::join!(one, other) };
        tokio::time::timeout(Duration::from_secs(120), both).await.expect("they come to an end")
    }

    fn is_answered(challenges: &Challenges) -> bool {
        format!("{challenges:?}").contains(NAME)
    }

    /// What was signed with a posted request: the key with an unchanging nonce, and the address.
    fn signed(request: &str) -> Value {
        let (_, posted) = request.split_once("\r\n\r\n").unwrap();
        let mut posted: Value = serde_json::from_str(posted).unwrap();
        posted["protected"].take()
    }

    #[tokio::test]
    async fn account_whose_answer_is_lost_is_asked_for_with_the_same_key() {
        let authority = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (data, challenges) = (tempfile::tempdir().unwrap(), Challenges::default());
        let (settings, kept) = (settings(&authority), Kept::below(data.path()));
        let http = Http::new(&Certificates::default()).unwrap();
        let mut asked = Vec::new();
        for path in ["/accounts", "/accounts", "/orders"] {
            let part = async {
                let (request, line) = reply_until(&authority, path).await;
                drop(line);
                signed(&request)
            };
            let (fetched, signed) = both(fetch(&settings, &http, &kept, &challenges), part).await;
            let trouble = fetched.unwrap_err();
            assert!(trouble.why.contains("its answer is lost"), "{}", trouble.why);
            assert_eq!(trouble.fault, Fault::Refused);
            asked.push(signed);
            let is_known = kept.account(&settings.directory).unwrap().is_some();
            assert_eq!(is_known, path == "/orders");
            assert_eq!(kept.account_key(&settings.directory).unwrap().is_none(), is_known);
        }
        assert!(asked[0].is_string());
        assert_eq!(asked[0], asked[1], "the key is the same");
    }

    #[tokio::test]
    async fn authority_that_breaks_off_before_anything_is_posted_was_not_asked() {
        let authority = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (data, challenges) = (tempfile::tempdir().unwrap(), Challenges::default());
        let (settings, kept) = (settings(&authority), Kept::below(data.path()));
        let http = Http::new(&Certificates::default()).unwrap();
        for path in ["/directory", "/nonce"] {
            let part = async { drop(reply_until(&authority, path).await) };
            let (fetched, ()) = both(fetch(&settings, &http, &kept, &challenges), part).await;
            let trouble = fetched.unwrap_err();
            assert!(trouble.why.contains("cannot be asked: the connection"), "{}", trouble.why);
            assert_eq!(trouble.fault, Fault::Unreached, "{path}");
        }
    }

    #[tokio::test]
    async fn contact_is_told_once_there_is_an_account_or_at_once_where_that_is_wanted() {
        let http = Http::new(&Certificates::default()).unwrap();
        let contact = || Some("mailto:ops@shop.example".to_owned());
        for wants_contact in [false, true] {
            let authority = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let (data, challenges) = (tempfile::tempdir().unwrap(), Challenges::default());
            let settings = AcmeSettings { contact: contact(), ..settings(&authority) };
            let kept = Kept::below(data.path());
            let part = async {
                if wants_contact {
                    let (_, mut line) = reply_until(&authority, "/accounts").await;
                    let problem = json!({"type": NO_CONTACT[0], "detail": "who are you?"});
                    say(&mut line, "400 Bad Request", "/", &problem.to_string()).await;
                } else {
                    let (_, mut line) = reply_until(&authority, "/accounts/1").await;
                    let account = kept.account(&settings.directory).unwrap().expect("it is kept");
                    assert_eq!(account.contact, None, "it is not told yet");
                    say(&mut line, "200 OK", "/", &json!({"status": "valid"}).to_string()).await;
                }
                drop(reply_until(&authority, "/orders").await);
            };
            let (fetched, ()) = both(fetch(&settings, &http, &kept, &challenges), part).await;
            fetched.unwrap_err();
            let account = kept.account(&settings.directory).unwrap().expect("it is kept");
            assert_eq!(account.contact, contact());
            assert!(kept.account_key(&settings.directory).unwrap().is_none());
        }
    }

    #[tokio::test]
    async fn authority_that_may_be_looking_is_answered_and_not_asked_again_soon() {
        let authority = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (data, challenges) = (tempfile::tempdir().unwrap(), Challenges::default());
        let (settings, kept) = (settings(&authority), Kept::below(data.path()));
        let http = Http::new(&Certificates::default()).unwrap();
        let looks = async {
            let (_, mut line) = reply_until(&authority, "/look").await;
            // It is away by the time that it is asked what it saw.
            drop(authority);
            reply(&mut line, "/look").await;
        };
        let (fetched, ()) = both(fetch(&settings, &http, &kept, &challenges), looks).await;
        let trouble = fetched.unwrap_err();
        assert!(trouble.why.contains("cannot be asked: no connection: "), "{}", trouble.why);
        assert_eq!(trouble.fault, Fault::Refused, "it may count a name that it does not see");
        assert!(is_answered(&challenges), "it may look yet");

        let trouble = fetch(&settings, &http, &kept, &challenges).await.unwrap_err();
        assert_eq!(trouble.fault, Fault::Unreached, "{}", trouble.why);
        assert!(!is_answered(&challenges));
    }
}
