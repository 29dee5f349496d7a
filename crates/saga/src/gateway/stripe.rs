//! Stripe, by its PaymentIntents: the buyer's page confirms them with the client secret, and money
//! is taken at once, or set aside and taken later.
//!
//! Only documented parameters are sent, so that any server that speaks this API will do. Keys are
//! good for a day at least (<https://docs.stripe.com/api/idempotent_requests>): what is older is
//! looked up and never repeated.

mod age;
mod desk;
mod methods;
pub mod money;
mod webhook;
mod wire;

use super::takes::Takes;
use super::{
    Answer, Away, DeskNews, FoundAtDesk, Gateway, GatewayError, NotGenuine, Notice, Order, Ours,
    RefundOrder, RefundStanding, Standing,
};
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE};
use axum::http::{HeaderMap, Method, Request, StatusCode};
use bytes::Bytes;
use form_urlencoded::Serializer;
use onrush_base::config::Secret;
use onrush_base::http_client::{AddressPolicy, HttpClient};
use onrush_base::signature;
use onrush_core::money::Currency;
use onrush_ledger::money::Capture;
use onrush_store::embedded::Clock;
use serde::de::DeserializeOwned;
use wire::{Event, Failure, FailureDetail, Intent, Page, Refund};

/// Stripe's own address.
pub const BASE_URL: &str = "https://api.stripe.com";
/// The version of the API that this was written against.
pub const API_VERSION: &str = "2025-08-27.basil";
/// The header that has the signature.
pub const SIGNATURE: &str = "stripe-signature";
/// How long an answer may take.
const TIMEOUT_MS: u64 = 20_000;
/// Objects on one page of a list.
const PAGE: &str = "100";

/// A client of Stripe's API.
pub struct StripeGateway {
    base_url: String,
    secret_key: Secret,
    webhook_secret: Secret,
    /// The parameters that keep payment methods away, by name.
    excluded: Vec<(String, &'static str)>,
    timeout_ms: u64,
    client: HttpClient,
    /// The clock by which what is asked for was written down.
    clock: Clock,
}

/// What became of a call.
enum Said<T> {
    /// It was done.
    Done(T),
    /// It will never be done.
    Refused(FailureDetail),
    /// There is no such thing.
    Missing,
    /// An earlier call under the same key has failed, and that is all it says from now on.
    FailedBefore(String),
}

impl<T> Said<T> {
    /// The thing itself, or why there is none.
    fn done(self) -> Result<T, GatewayError> {
        match self {
            Self::Done(done) => Ok(done),
            Self::Refused(detail) => Err(GatewayError::Refused(words(detail))),
            Self::Missing => Err(GatewayError::Refused("it knows nothing of this".into())),
            Self::FailedBefore(why) => unavailable(why),
        }
    }
}

fn words(detail: FailureDetail) -> String {
    let code = detail.code.unwrap_or(detail.kind);
    detail.message.map_or_else(|| code.clone(), |message| format!("{code}: {message}"))
}

fn unavailable<T>(why: impl Into<Away>) -> Result<T, GatewayError> {
    Err(GatewayError::Unavailable(why.into()))
}

/// What asking for a payment under its key gave.
enum Created {
    /// It is there.
    Found(Intent),
    /// The first call under the key has failed, and a search does not show that it did anything all the same.
    NotShown(String),
}

impl StripeGateway {
    /// A client with the account's secret key, and the secret of its webhook endpoint.
    #[must_use]
    pub fn new(secret_key: &Secret, webhook_secret: Secret) -> Self {
        Self {
            base_url: BASE_URL.to_owned(),
            secret_key: secret_key.clone(),
            webhook_secret,
            excluded: methods::excluded(false),
            timeout_ms: TIMEOUT_MS,
            client: HttpClient::new(AddressPolicy::Any),
            clock: Clock::default(),
        }
    }

    /// The same at another address, where somebody else speaks this API.
    #[must_use]
    pub fn with_base_url(mut self, url: &str) -> Self {
        url.trim_end_matches('/').clone_into(&mut self.base_url);
        self
    }

    /// The same, with or without debits, whose banks answer after days.
    #[must_use]
    pub fn with_delayed_methods(mut self, delayed: bool) -> Self {
        self.excluded = methods::excluded(delayed);
        self
    }

    /// The same, with another limit to how long an answer may take.
    #[must_use]
    pub fn with_timeout_ms(mut self, timeout_ms: u64) -> Self {
        self.timeout_ms = timeout_ms;
        self
    }

    async fn call<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        key: Option<&str>,
        fields: &[(&str, &str)],
    ) -> Result<Said<T>, GatewayError> {
        let fields = Serializer::new(String::new()).extend_pairs(fields).finish();
        let get = method == Method::GET;
        let query = if get && !fields.is_empty() { format!("?{fields}") } else { String::new() };
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{}{path}{query}", self.base_url))
            .header(AUTHORIZATION, format!("Bearer {}", self.secret_key.reveal()))
            .header("Stripe-Version", API_VERSION);
        if let Some(key) = key {
            request = request.header("Idempotency-Key", key);
        }
        let body = if get {
            Bytes::new()
        } else {
            request = request.header(CONTENT_TYPE, "application/x-www-form-urlencoded");
            Bytes::from(fields)
        };
        let request = request.body(body);
        let request =
            request.map_err(|error| GatewayError::Unavailable(error.to_string().into()))?;
        let answer = self.client.call(request, self.timeout_ms).await;
        let answer = answer.map_err(|error| GatewayError::Unavailable(error.to_string().into()))?;
        let status = answer.status();
        if status.is_success() {
            return match serde_json::from_slice(answer.body()) {
                Ok(done) => Ok(Said::Done(done)),
                Err(error) => unavailable(format!("it cannot be understood: {error}")),
            };
        }
        let replayed = answer.headers().get("idempotent-replayed").is_some_and(|v| v == "true");
        let failure = serde_json::from_slice::<Failure>(answer.body());
        let known = failure.is_ok();
        let mut detail = failure.map(|failure| failure.error).unwrap_or_default();
        // Nobody shall read the key where a server repeats it.
        let without_key = |text: &mut String| {
            *text = text.replace(self.secret_key.reveal(), "(the key)");
        };
        without_key(&mut detail.kind);
        detail.code.iter_mut().chain(&mut detail.message).for_each(without_key);
        let said = words(detail.clone());
        // A key that is in use, or stands for something else: what became of the first call is not known.
        let key_trouble = status == StatusCode::CONFLICT || detail.kind == "idempotency_error";
        match status {
            StatusCode::NOT_FOUND if known => Ok(Said::Missing),
            StatusCode::BAD_REQUEST | StatusCode::PAYMENT_REQUIRED if !key_trouble && known => {
                Ok(Said::Refused(detail))
            }
            // Failures are kept under their key: asking again says the same, whatever was done.
            _ if status.is_server_error() && replayed => Ok(Said::FailedBefore(said)),
            // The first call had other parameters, such as another title or other methods: what
            // came of it is looked up.
            StatusCode::BAD_REQUEST if detail.kind == "idempotency_error" => {
                Ok(Said::FailedBefore(said))
            }
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                unavailable(Away::KeyRefused(format!("status {}: {said}", status.as_u16())))
            }
            // Too many calls, or a failure.
            _ => unavailable(format!("status {}: {said}", status.as_u16())),
        }
    }

    /// The payment that has our id, if it can be found. What is less than a minute old may be missed.
    async fn search(&self, order: &Order) -> Result<Option<Intent>, GatewayError> {
        // An id has no character that ends a quotation.
        let query = format!("metadata['payment']:'{}'", order.payment);
        let mut fields = vec![("query", query.as_str()), ("limit", "1")];
        fields.extend(expanded(order, "data.latest_charge"));
        let ours = |intent: &Intent| intent.metadata.get("payment") == Some(order.payment.as_str());
        let said = self.call(Method::GET, "/v1/payment_intents/search", None, &fields).await?;
        match said.done() {
            Ok(Page::<Intent> { data, .. }) => Ok(data.into_iter().find(ours)),
            // Whoever cannot search has not said that there is nothing.
            Err(GatewayError::Refused(why)) => unavailable(why),
            Err(error @ (GatewayError::Unavailable(_) | GatewayError::UnknownRefund(_))) => {
                Err(error)
            }
        }
    }

    async fn retrieve(
        &self,
        reference: &str,
        expand: Option<(&'static str, &'static str)>,
    ) -> Result<Option<Intent>, GatewayError> {
        let path = format!("/v1/payment_intents/{}", segment(reference)?);
        let fields: Vec<_> = expand.into_iter().collect();
        match self.call(Method::GET, &path, None, &fields).await? {
            Said::Missing => Ok(None),
            said => said.done().map(Some),
        }
    }

    /// Creates a payment under its key, or finds the one that is there.
    async fn created(&self, order: &Order) -> Result<Created, GatewayError> {
        let Some(amount) = money::to_stripe(order.amount_minor, order.currency) else {
            let amount = onrush_base::amount::readable(order.amount_minor, order.currency);
            return Err(GatewayError::Refused(format!("it cannot take {amount}")));
        };
        let currency = order.currency.as_str().to_ascii_lowercase();
        let text = amount.to_string();
        let mut fields = vec![
            ("amount", text.as_str()),
            ("currency", &currency),
            ("metadata[payment]", order.payment.as_str()),
            ("metadata[booking]", order.booking.as_str()),
            ("metadata[event]", order.event.as_str()),
        ];
        match order.capture {
            Capture::AtOnce => {
                fields.push(("automatic_payment_methods[enabled]", "true"));
                fields.extend(self.excluded.iter().map(|(name, method)| (name.as_str(), *method)));
            }
            // Only cards are known again by a fingerprint, so no other method is offered.
            Capture::Later => {
                fields.extend([("capture_method", "manual"), ("payment_method_types[0]", "card")]);
            }
        }
        // A parameter without a value is an error.
        if !order.description.is_empty() {
            fields.push(("description", &order.description));
        }
        let key = Some(order.payment.as_str());
        match self.call(Method::POST, "/v1/payment_intents", key, &fields).await? {
            Said::FailedBefore(why) => {
                let found = self.search(order).await?;
                let found = found.filter(|intent| intent.asks_for(amount, &currency));
                Ok(found.map_or(Created::NotShown(why), Created::Found))
            }
            Said::Missing => unavailable("what answers is not Stripe's API"),
            said => said.done().map(Created::Found),
        }
    }

    async fn captured(&self, reference: &str) -> Result<Standing, GatewayError> {
        let path = format!("/v1/payment_intents/{}/capture", segment(reference)?);
        // A new key each time, as for cancelling: Stripe takes once what is set aside, whatever the key.
        let key = format!("capture:{}", uuid::Uuid::now_v7());
        match self.call(Method::POST, &path, Some(&key), &[]).await? {
            Said::Refused(detail)
                if detail.code.as_deref() == Some("payment_intent_unexpected_state") =>
            {
                match self.retrieve(reference, None).await? {
                    Some(intent) => standing(intent),
                    None => unavailable("it refuses to capture what it does not have"),
                }
            }
            said => standing(said.done()?),
        }
    }

    async fn cancelled(&self, reference: &str) -> Result<Standing, GatewayError> {
        let path = format!("/v1/payment_intents/{}/cancel", segment(reference)?);
        // A new key each time: cancelling twice does nothing twice, and a refusal that was right a
        // minute ago must not be repeated from memory.
        let key = format!("cancel:{}", uuid::Uuid::now_v7());
        let fields = [("cancellation_reason", "abandoned")];
        match self.call(Method::POST, &path, Some(&key), &fields).await? {
            Said::Refused(detail)
                if detail.code.as_deref() == Some("payment_intent_unexpected_state") =>
            {
                match self.retrieve(reference, None).await? {
                    Some(intent) => standing(intent),
                    None => unavailable("it refuses to cancel what it does not have"),
                }
            }
            said => standing(said.done()?),
        }
    }

    /// The refunds of a payment, the newest first.
    async fn refunds_of(&self, reference: &str) -> Result<Vec<Refund>, GatewayError> {
        let mut all: Vec<Refund> = Vec::new();
        loop {
            let last = all.last().map(|last| last.id.clone());
            let mut fields = vec![("payment_intent", reference), ("limit", PAGE)];
            if let Some(after) = &last {
                fields.push(("starting_after", after));
            }
            let page = self.call(Method::GET, "/v1/refunds", None, &fields).await?.done();
            let page: Page<Refund> = looked_up(page)?;
            let more = page.has_more && !page.data.is_empty();
            all.extend(page.data);
            if !more {
                return Ok(all);
            }
        }
    }

    /// A refund that was made under our key, if it is among those of the payment. If it is not, there
    /// must be none under a key of ours that is not known any more.
    async fn find_refund(
        &self,
        order: &RefundOrder,
        reference: &str,
    ) -> Result<Option<Refund>, GatewayError> {
        let mut all = self.refunds_of(reference).await?;
        let of_order = |made: &Refund| made.key() == Some(order.refund.as_str());
        let Some(at) = all.iter().position(of_order) else {
            let is_unknown = |made: &Refund| {
                let key = made.key().filter(|key| order.known.iter().all(|known| known != key))?;
                made.is_alive().then(|| format!("{} was made under {key}", made.id))
            };
            return match all.iter().find_map(is_unknown) {
                Some(what) => {
                    let why = format!("{what}, which is not known here");
                    Err(GatewayError::UnknownRefund(why))
                }
                None => Ok(None),
            };
        };
        let made = all.swap_remove(at);
        if made.gives_back() != Some((order.amount_minor, order.payment.currency)) {
            let why = format!("a refund of another amount was made under its key: {}", made.id);
            // One that failed moved nothing, and its money may go back under another key.
            return Err(match made.is_alive() {
                true => GatewayError::UnknownRefund(why),
                false => GatewayError::Refused(why),
            });
        }
        Ok(Some(made))
    }

    async fn refunded(&self, order: &RefundOrder) -> Result<Refund, GatewayError> {
        if let Some(reference) = &order.reference {
            let path = format!("/v1/refunds/{}", segment(reference)?);
            return looked_up(self.call(Method::GET, &path, None, &[]).await?.done());
        }
        let payment = &order.payment;
        let reference = match &payment.reference {
            Some(reference) => reference.clone(),
            None => match self.search(payment).await? {
                Some(intent) => intent.id,
                None => return unavailable("the payment is not found, or not yet"),
            },
        };
        // Also while the key is new to us: after a restore it may be one that was used before, and Stripe
        // forgets keys. Refunds are rare.
        if let Some(made) = self.find_refund(order, &reference).await? {
            return Ok(made);
        }
        let Some(amount) = money::to_stripe(order.amount_minor, payment.currency) else {
            let amount = onrush_base::amount::readable(order.amount_minor, payment.currency);
            return Err(GatewayError::Refused(format!("it cannot give back {amount}")));
        };
        let amount = amount.to_string();
        let fields = [
            ("payment_intent", reference.as_str()),
            ("amount", &amount),
            ("metadata[refund]", &order.refund),
            ("metadata[payment]", payment.payment.as_str()),
            ("metadata[booking]", payment.booking.as_str()),
        ];
        match self.call(Method::POST, "/v1/refunds", Some(&order.refund), &fields).await? {
            Said::FailedBefore(why) => {
                let made = self.find_refund(order, &reference).await?;
                let kept = || unavailable(self.kept_refund(order.written_at_s, why));
                made.map_or_else(kept, Ok)
            }
            said => said.done(),
        }
    }
}

/// What was looked up. Whoever does not find it, as with another account's key, has not said that it
/// will never be made.
fn looked_up<T>(found: Result<T, GatewayError>) -> Result<T, GatewayError> {
    found.or_else(|error| match error {
        GatewayError::Refused(why) => {
            unavailable(format!("{why}: is the key that of the account which took the money?"))
        }
        error @ (GatewayError::Unavailable(_) | GatewayError::UnknownRefund(_)) => Err(error),
    })
}

/// One of Stripe's ids as a part of a path.
fn segment(reference: &str) -> Result<&str, GatewayError> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if !reference.is_empty() && reference.bytes().all(fits) {
        Ok(reference)
    } else {
        Err(GatewayError::Refused("what it is called is no name of Stripe's".into()))
    }
}

/// What asks for the charge beside the payment, where its card counts.
fn expanded(order: &Order, what: &'static str) -> Option<(&'static str, &'static str)> {
    match order.capture {
        Capture::AtOnce => None,
        Capture::Later => Some(("expand[]", what)),
    }
}

fn never_created() -> Standing {
    Standing::Cancelled { reference: None, why: "never_created".into() }
}

fn standing(intent: Intent) -> Result<Standing, GatewayError> {
    let unclear = || GatewayError::Unavailable("its status or amount cannot be understood".into());
    intent.standing().ok_or_else(unclear)
}

impl Gateway for StripeGateway {
    fn name(&self) -> &'static str {
        "stripe"
    }

    fn step_minor(&self, currency: Currency) -> i64 {
        money::step_minor(currency)
    }

    fn create<'a>(&'a self, order: &'a Order) -> Answer<'a, Standing> {
        Box::pin(async move {
            if self.is_fresh(order.written_at_s) {
                return match self.created(order).await? {
                    Created::Found(intent) => standing(intent),
                    Created::NotShown(why) => unavailable(why),
                };
            }
            match self.search(order).await? {
                Some(intent) => standing(intent),
                None => Ok(never_created()),
            }
        })
    }

    fn status<'a>(&'a self, order: &'a Order) -> Answer<'a, Standing> {
        Box::pin(async move {
            let found = match &order.reference {
                Some(reference) => {
                    self.retrieve(reference, expanded(order, "latest_charge")).await?
                }
                None => self.search(order).await?,
            };
            found.map_or(Ok(Standing::Unknown), standing)
        })
    }

    fn capture<'a>(&'a self, order: &'a Order) -> Answer<'a, Standing> {
        Box::pin(async move {
            if let Some(reference) = &order.reference {
                return self.captured(reference).await;
            }
            // Whoever was told that money is set aside was told what it is called, too.
            match self.search(order).await? {
                Some(intent) => self.captured(&intent.id).await,
                None => unavailable("the payment is not found, or not yet"),
            }
        })
    }

    fn cancel<'a>(&'a self, order: &'a Order) -> Answer<'a, Standing> {
        Box::pin(async move {
            if let Some(reference) = &order.reference {
                return self.cancelled(reference).await;
            }
            // A search may miss what was created just now, or what an earlier call is still
            // creating. Creating it under its key does not: there is one payment then, and it can
            // be cancelled.
            let found = if self.is_fresh(order.written_at_s) {
                match self.created(order).await {
                    Ok(Created::Found(intent)) => Some(intent),
                    // Nothing can be created under this key any more, and by now a search would
                    // show what was.
                    Ok(Created::NotShown(_)) if self.is_shown(order.written_at_s) => None,
                    Ok(Created::NotShown(why)) => {
                        return unavailable(self.kept_payment(order.written_at_s, why));
                    }
                    // An earlier call was refused as well.
                    Err(GatewayError::Refused(why)) => {
                        return Ok(Standing::Cancelled { reference: None, why });
                    }
                    Err(error) => return Err(error),
                }
            } else {
                self.search(order).await?
            };
            match found {
                Some(intent) => {
                    let reference = intent.id.clone();
                    match standing(intent)? {
                        Standing::Open { .. }
                        | Standing::Authorised { .. }
                        | Standing::Processing { .. }
                        | Standing::Declined { .. }
                        | Standing::Unknown => self.cancelled(&reference).await,
                        ended @ (Standing::Cancelled { .. } | Standing::Captured { .. }) => {
                            Ok(ended)
                        }
                    }
                }
                None => Ok(never_created()),
            }
        })
    }

    fn refund<'a>(&'a self, order: &'a RefundOrder) -> Answer<'a, RefundStanding> {
        Box::pin(async move {
            let made = self.refunded(order).await?;
            let unclear = || GatewayError::Unavailable("its status cannot be understood".into());
            made.standing().ok_or_else(unclear)
        })
    }

    fn takes(&self, currency: Currency) -> Result<Takes, String> {
        money::takes(currency)
    }

    fn probe(&self) -> Answer<'_, ()> {
        Box::pin(async move {
            let fields = [("limit", "1")];
            let page: Page<Refund> =
                self.call(Method::GET, "/v1/refunds", None, &fields).await?.done()?;
            drop(page);
            Ok(())
        })
    }

    fn ours<'a>(&'a self, reference: &'a str) -> Answer<'a, Option<Ours>> {
        Box::pin(async move {
            let paid = self.retrieve(reference, None).await?.filter(Intent::took_money);
            Ok(paid.and_then(|intent| desk::ours(&intent.metadata)))
        })
    }

    fn desk_refunds<'a>(&'a self, reference: &'a str) -> Answer<'a, Vec<DeskNews>> {
        Box::pin(async move {
            let found = self.refunds_at_desk(reference).await?;
            Ok(found.into_iter().map(|found| found.news).collect())
        })
    }

    fn desk_history<'a>(&'a self, reference: &'a str) -> Answer<'a, Vec<FoundAtDesk>> {
        Box::pin(async move { self.refunds_at_desk(reference).await })
    }

    fn read_webhook(
        &self,
        headers: &HeaderMap,
        body: &[u8],
        now_s: i64,
    ) -> Result<Notice, NotGenuine> {
        let header = headers.get(SIGNATURE).and_then(|value| value.to_str().ok());
        let header = header.ok_or(NotGenuine::SignatureMissing)?;
        signature::verify(self.webhook_secret.reveal().as_bytes(), header, body, now_s)?;
        let event: Event = serde_json::from_slice(body).map_err(|_| NotGenuine::Unreadable)?;
        let id = event.id.clone();
        Ok(Notice { id, news: webhook::news(event)? })
    }
}
