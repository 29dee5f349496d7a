//! One order: an account, names that are proved, a certificate.

use crate::blocking;
use crate::http::Http;
use crate::kept::{self, Kept};
use crate::trouble::{Trouble, told};
use instant_acme::{
    Account, AuthorizationStatus, ChallengeType, Error, ExternalAccountKey, Identifier, NewAccount,
    NewOrder, Order, OrderStatus, RetryPolicy,
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

/// Fetches a certificate with a new key.
pub(crate) async fn fetch(
    settings: &AcmeSettings,
    http: &Http,
    kept: &Kept,
    challenges: &Challenges,
) -> Result<Pair, Trouble> {
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
    let proved = prove(&mut order, challenges).await;
    challenges.clear();
    proved?;
    let key = order.finalize().await?;
    let chain = order.poll_certificate(&PATIENCE).await?;
    Pair::new(chain.into(), key.into()).map_err(|why| Trouble::refused(why.to_string()))
}

/// Whether the authority knows nothing of the account that was kept.
fn is_forgotten(error: &Error) -> bool {
    matches!(error, Error::Api(problem) if problem.r#type.as_deref() == Some(NO_ACCOUNT))
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
    let credentials = serde_json::to_value(&found.credentials).map_err(Error::from)?;
    let builder = Account::builder_with_http(Box::new(http.clone()));
    let account = builder.from_credentials(found.credentials).await?;
    if !is_told {
        match account.update_contacts(&contacts(settings)).await {
            Err(error) if is_forgotten(&error) => return new_account(settings, http, kept).await,
            told => told?,
        }
        store(settings, kept, serde_json::from_value(credentials).map_err(Error::from)?).await?;
    }
    Ok(account)
}

/// An account with a key of its own, kept in the place of the one before.
async fn new_account(
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
    let builder = Account::builder_with_http(Box::new(http.clone()));
    let made = builder.create(&new, settings.directory.clone(), bound.as_ref()).await?;
    let (account, credentials) = made;
    store(settings, kept, credentials).await?;
    Ok(account)
}

fn contacts(settings: &AcmeSettings) -> Vec<&str> {
    settings.contact.as_deref().into_iter().collect()
}

async fn store(
    settings: &AcmeSettings,
    kept: &Kept,
    credentials: instant_acme::AccountCredentials,
) -> Result<(), Trouble> {
    let (directory, contact) = (settings.directory.clone(), settings.contact.clone());
    let account = kept::Account { directory, contact, credentials };
    let kept = kept.clone();
    blocking(move || kept.store_account(&account)).await.map_err(local)
}

/// Shows the authority that the names are ours.
async fn prove(order: &mut Order, challenges: &Challenges) -> Result<(), Trouble> {
    let mut authorizations = order.authorizations();
    while let Some(authorization) = authorizations.next().await {
        let mut authorization = authorization?;
        // One that was proved lately is believed for a while.
        if authorization.status == AuthorizationStatus::Valid {
            continue;
        }
        let name = authorization.identifier().to_string();
        let Some(mut challenge) = authorization.challenge(ChallengeType::TlsAlpn01) else {
            return Err(Trouble::refused(format!(
                "the authority does not offer to look at {name} by TLS-ALPN-01, the only way that \
                 there is here"
            )));
        };
        let digest = challenge.key_authorization().digest();
        let answer = answer(&name, digest.as_ref()).map_err(|error| local(error.to_string()))?;
        let shown = challenges.answer(&name, answer.0, answer.1);
        shown.map_err(|why| local(why.to_string()))?;
        challenge.set_ready().await?;
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
