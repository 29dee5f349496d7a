//! A server that speaks as much of Stripe's API as we use, strictly, and fails on request.

mod desk;

use crate::fake_stripe_form::{
    Form, Reply, check_charge, check_headers, failure, invalid, is_method,
};
use crate::inbox::{Received, now_s};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use onrush_base::signature::sign;
use onrush_saga::gateway::stripe::SIGNATURE;
use onrush_serve::{listen, serve_router};
use serde_json::{Value, json};
use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use tokio::sync::oneshot;

pub(crate) const WEBHOOK_SECRET: &str = "whsec_of_the_fake";

/// What goes wrong with the next call to a path that ends so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// Nothing is done, a 500 is answered and kept under the key.
    FailedBefore,
    /// It is done, a 500 is answered and kept under the key.
    FailedAfter,
    /// It is done, and no answer comes.
    Lost,
    /// Nothing is done, and no answer comes in time.
    Silent,
    /// Too many calls: nothing is done.
    TooMany,
    /// The key is in use by another call.
    KeyInUse,
}

/// What was answered under a key.
struct Kept {
    request: String,
    reply: Reply,
}

#[derive(Default)]
struct Books {
    intents: Vec<Value>,
    refunds: Vec<Value>,
    charges: Vec<Value>,
    disputes: Vec<Value>,
    /// Whether the account's key was taken back.
    revoked: bool,
    kept: HashMap<String, Kept>,
    trouble: VecDeque<(&'static str, Trouble)>,
    events: Vec<Value>,
    /// Whether searches find nothing, as they do when the index is behind.
    search_is_behind: bool,
    refunds_wait: bool,
    requests: Vec<String>,
}

/// The fake, until it is dropped.
pub(crate) struct FakeStripe {
    address: SocketAddr,
    books: Arc<Mutex<Books>>,
    _stop: oneshot::Sender<()>,
}

impl FakeStripe {
    pub(crate) fn start() -> Self {
        let books = Arc::new(Mutex::new(Books::default()));
        let listener = listen(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new().fallback(answer).with_state(books.clone());
        let (stop, stopped) = oneshot::channel();
        tokio::spawn(serve_router(listener, router, async { drop(stopped.await) }));
        Self { address, books, _stop: stop }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap()
    }

    /// Has the next call to a path that ends so go wrong.
    pub(crate) fn trouble(&self, path_end: &'static str, trouble: Trouble) {
        self.books().trouble.push_back((path_end, trouble));
    }

    pub(crate) fn let_search_fall_behind(&self) {
        self.books().search_is_behind = true;
    }

    /// Takes the account's key back, or gives it again.
    pub(crate) fn revoke_key(&self, revoked: bool) {
        self.books().revoked = revoked;
    }

    /// Has refunds wait from now on, as they do for an account that has no money.
    pub(crate) fn hold_refunds(&self) {
        self.books().refunds_wait = true;
    }

    /// Has a refund have `null` for metadata, which the API's documents allow.
    pub(crate) fn forget_metadata(&self, refund: usize) {
        self.books().refunds[refund]["metadata"] = Value::Null;
    }

    /// Forgets what was answered under keys, as happens after a day.
    pub(crate) fn forget_keys(&self) {
        self.books().kept.clear();
    }

    pub(crate) fn intents(&self) -> Vec<Value> {
        self.books().intents.clone()
    }

    pub(crate) fn refunds(&self) -> Vec<Value> {
        self.books().refunds.clone()
    }

    /// Method and path of every request so far.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.books().requests.clone()
    }

    fn change(&self, payment: &str, event: &str, change: impl FnOnce(&mut Value)) -> Value {
        let mut books = self.books();
        let found = books.intents.iter_mut().find(|it| it["metadata"]["payment"] == payment);
        let intent = found.expect("it was created");
        change(intent);
        let snapshot = intent.clone();
        books.tell(event, snapshot.clone());
        snapshot
    }

    /// The buyer confirms with a good card, unless it is too late.
    pub(crate) fn pay(&self, payment: &str) -> bool {
        self.pay_with(payment, Some("Xt5EWLLDS7FJjR1c"))
    }

    /// The same with a card of this fingerprint, or with a method that has none.
    pub(crate) fn pay_with(&self, payment: &str, fingerprint: Option<&str>) -> bool {
        let of_it = |it: &&Value| it["metadata"]["payment"] == payment;
        let Some(intent) = self.intents().iter().find(of_it).cloned() else { return false };
        let over = ["canceled", "succeeded", "requires_capture"];
        if over.iter().any(|status| intent["status"] == *status) {
            return false;
        }
        let details = match fingerprint {
            Some(text) => json!({"type": "card", "card": {"fingerprint": text, "brand": "visa"}}),
            None => json!({"type": "link", "link": {"country": "DE"}}),
        };
        let charge = json!({
            "id": format!("ch_{payment}"), "object": "charge", "payment_method_details": details,
        });
        self.books().charges.push(charge.clone());
        let later = intent["capture_method"] == "manual";
        let kind = if later { "amount_capturable_updated" } else { "succeeded" };
        self.change(payment, &format!("payment_intent.{kind}"), |intent| {
            intent["status"] = json!(if later { "requires_capture" } else { "succeeded" });
            intent["latest_charge"] = charge["id"].clone();
            let sum = if later { "amount_capturable" } else { "amount_received" };
            intent[sum] = intent["amount"].clone();
        });
        true
    }

    /// Money comes for a payment that was cancelled.
    pub(crate) fn pay_late(&self, payment: &str) {
        self.change(payment, "payment_intent.succeeded", |intent| {
            intent["status"] = json!("succeeded");
            intent["amount_received"] = intent["amount"].clone();
        });
    }

    /// Another amount is taken than was asked for.
    pub(crate) fn take_other(&self, payment: &str, amount: i64) {
        self.change(payment, "payment_intent.succeeded", |intent| {
            intent["status"] = json!("succeeded");
            intent["amount_received"] = json!(amount);
        });
    }

    /// The bank sets free what was set aside, as it does after some days.
    pub(crate) fn lapse(&self, payment: &str) {
        let lapsed = self.change(payment, "payment_intent.canceled", |intent| {
            intent["status"] = json!("canceled");
            intent["cancellation_reason"] = json!("automatic");
            intent["amount_capturable"] = json!(0);
        });
        self.books().set_free(&lapsed);
    }

    /// The buyer's card is declined.
    pub(crate) fn decline(&self, payment: &str, decline_code: &str) {
        self.change(payment, "payment_intent.payment_failed", |intent| {
            intent["last_payment_error"] =
                json!({"type": "card_error", "code": "card_declined", "decline_code": decline_code});
        });
    }

    /// The payment is under way and can neither be cancelled nor paid again.
    pub(crate) fn process(&self, payment: &str) {
        self.change(payment, "payment_intent.processing", |intent| {
            intent["status"] = json!("processing");
        });
    }

    /// Changes a refund's status, and tells.
    pub(crate) fn settle_refund(&self, refund: &str, status: &str, event: &str) {
        let mut books = self.books();
        let found = books.refunds.iter_mut().find(|it| it["metadata"]["refund"] == refund);
        let made = found.expect("it was made");
        made["status"] = json!(status);
        let snapshot = made.clone();
        books.tell(event, snapshot);
    }

    /// All events so far, signed as if they were sent just now.
    pub(crate) fn events(&self) -> Vec<Received> {
        self.books().events.iter().map(signed).collect()
    }
}

/// An event as it is sent.
pub(crate) fn signed(event: &Value) -> Received {
    let body = Bytes::from(event.to_string());
    let mut headers = HeaderMap::new();
    let signature = sign(WEBHOOK_SECRET.as_bytes(), &body, now_s());
    // Stripe sends a digest of an older scheme as well.
    headers.insert(SIGNATURE, format!("{signature},v0=00ff").parse().unwrap());
    Received { headers, body }
}

async fn answer(
    State(books): State<Arc<Mutex<Books>>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let (path, text) = (uri.path().to_owned(), String::from_utf8(body.to_vec()).unwrap());
    let trouble = {
        let mut books = books.lock().unwrap();
        books.requests.push(format!("{method} {path}"));
        // Only what has a key has an answer that is kept under it.
        let befalls = |trouble: &Trouble| {
            let is_kept = matches!(trouble, Trouble::FailedBefore | Trouble::FailedAfter);
            method != Method::GET || !is_kept
        };
        let mut waiting = books.trouble.iter();
        let index = waiting.position(|(end, trouble)| path.ends_with(end) && befalls(trouble));
        index.and_then(|index| books.trouble.remove(index)).map(|(_, trouble)| trouble)
    };
    if trouble == Some(Trouble::Silent) {
        std::future::pending::<()>().await;
    }
    let (reply, replayed) =
        books.lock().unwrap().reply(&method, &path, &uri, &headers, &text, trouble);
    if trouble == Some(Trouble::Lost) {
        let cut = futures_util::stream::once(async {
            Err::<Bytes, std::io::Error>(std::io::Error::other("lost"))
        });
        return Response::new(Body::from_stream(cut));
    }
    let (status, value) = reply;
    let mut response = (StatusCode::from_u16(status).unwrap(), value.to_string()).into_response();
    if replayed {
        response.headers_mut().insert("idempotent-replayed", "true".parse().unwrap());
    }
    response
}

impl Books {
    fn tell(&mut self, kind: &str, object: Value) {
        let id = format!("evt_{}", self.events.len());
        let event = json!({
            "id": id, "object": "event", "type": kind, "created": now_s(), "data": {"object": object},
        });
        self.events.push(event);
    }

    fn reply(
        &mut self,
        method: &Method,
        path: &str,
        uri: &Uri,
        headers: &HeaderMap,
        text: &str,
        trouble: Option<Trouble>,
    ) -> (Reply, bool) {
        if let Err(reply) = check_headers(method, headers, self.revoked) {
            return (reply, false);
        }
        match trouble {
            Some(Trouble::TooMany) => {
                return (failure(429, "invalid_request_error", "rate_limit", "slow down"), false);
            }
            Some(Trouble::KeyInUse) => {
                let code = "idempotency_key_in_use";
                return (failure(409, "idempotency_error", code, "another call has it"), false);
            }
            _ => {}
        }
        if method == Method::GET {
            let parameters = uri.query().unwrap_or_default();
            return (self.read(path, parameters).unwrap_or_else(|reply| reply), false);
        }
        let key = headers["idempotency-key"].to_str().unwrap().to_owned();
        let request = format!("{path}?{text}");
        if let Some(kept) = self.kept.get(&key) {
            if kept.request != request {
                let code = "idempotency_key_reused";
                let reply = failure(400, "idempotency_error", code, "other parameters");
                return (reply, false);
            }
            return (kept.reply.clone(), true);
        }
        let failed = || failure(500, "api_error", "internal", "something went wrong");
        let reply = match trouble {
            Some(Trouble::FailedBefore) => failed(),
            Some(Trouble::FailedAfter) => {
                drop(self.write(path, text));
                failed()
            }
            _ => match self.write(path, text) {
                Ok(reply) => reply,
                // What is wrong by itself is not kept; what went wrong while it was done is.
                Err(reply) if is_validation(&reply) => return (reply, false),
                Err(reply) => reply,
            },
        };
        self.kept.insert(key, Kept { request, reply: reply.clone() });
        (reply, false)
    }

    fn intent(&mut self, id: &str) -> Result<&mut Value, Reply> {
        let found = self.intents.iter_mut().find(|it| it["id"] == id);
        let message = format!("No such payment_intent: '{id}'");
        found.ok_or_else(|| failure(404, "invalid_request_error", "resource_missing", &message))
    }

    /// An intent as it is answered: with its charge where that was asked for, else with its id.
    fn shown(&self, intent: &Value, whole: bool) -> Value {
        let mut shown = intent.clone();
        let charge = self.charges.iter().find(|it| it["id"] == intent["latest_charge"]);
        if let Some(charge) = charge.filter(|_| whole) {
            shown["latest_charge"] = charge.clone();
        }
        shown
    }

    fn read(&mut self, path: &str, parameters: &str) -> Result<Reply, Reply> {
        let mut form = Form::read(parameters)?;
        let parts: Vec<&str> = path.split('/').skip(1).collect();
        let value = match parts[..] {
            ["v1", "payment_intents", "search"] => {
                let (query, limit) = (form.need("query")?, form.take("limit"));
                let whole = form.expands("data.latest_charge")?;
                let wanted = query
                    .strip_prefix("metadata['payment']:'")
                    .and_then(|rest| rest.strip_suffix('\''))
                    .ok_or_else(|| invalid("query_invalid", &query))?;
                let limit: usize = limit.map_or(10, |text| text.parse().unwrap());
                let all = self.intents.iter();
                let found: Vec<Value> = all
                    .filter(|it| !self.search_is_behind && it["metadata"]["payment"] == wanted)
                    .take(limit)
                    .map(|it| self.shown(it, whole))
                    .collect();
                json!({"object": "search_result", "has_more": false, "data": found})
            }
            ["v1", "payment_intents"] => {
                let limit: usize = form.take("limit").map_or(10, |text| text.parse().unwrap());
                let page: Vec<&Value> = self.intents.iter().rev().take(limit).collect();
                json!({"object": "list", "has_more": self.intents.len() > limit, "data": page})
            }
            ["v1", "payment_intents", id] => {
                let whole = form.expands("latest_charge")?;
                let intent = self.intent(id)?.clone();
                self.shown(&intent, whole)
            }
            ["v1", "refunds"] => {
                let intent = form.take("payment_intent");
                let limit: usize = form.take("limit").map_or(10, |text| text.parse().unwrap());
                let after = form.take("starting_after");
                // The newest come first.
                let of =
                    |it: &&Value| intent.as_ref().is_none_or(|id| it["payment_intent"] == **id);
                let mut all = self.refunds.iter().rev().filter(of);
                if let Some(after) = after {
                    all.by_ref()
                        .find(|it| it["id"] == *after)
                        .ok_or_else(|| invalid("resource_missing", "no such starting_after"))?;
                }
                // Short pages, so that whoever reads only the first one is found out.
                let page: Vec<&Value> = all.by_ref().take(limit.min(2)).collect();
                json!({"object": "list", "has_more": all.next().is_some(), "data": page})
            }
            ["v1", "refunds", id] => {
                let found = self.refunds.iter().find(|it| it["id"] == id);
                let missing = failure(404, "invalid_request_error", "resource_missing", id);
                found.ok_or(missing)?.clone()
            }
            _ => return Err(failure(404, "invalid_request_error", "url_invalid", path)),
        };
        form.end()?;
        Ok((200, value))
    }

    fn write(&mut self, path: &str, text: &str) -> Result<Reply, Reply> {
        let mut form = Form::read(text)?;
        let parts: Vec<&str> = path.split('/').skip(1).collect();
        match parts[..] {
            ["v1", "payment_intents"] => self.create(form),
            ["v1", "payment_intents", id, "capture"] => {
                form.end()?;
                let intent = self.intent(id)?;
                if intent["status"] != "requires_capture" {
                    let message = "it has a status other than requires_capture";
                    return Err(invalid("payment_intent_unexpected_state", message));
                }
                intent["status"] = json!("succeeded");
                intent["amount_received"] = intent["amount"].clone();
                intent["amount_capturable"] = json!(0);
                let snapshot = intent.clone();
                self.tell("payment_intent.succeeded", snapshot.clone());
                Ok((200, snapshot))
            }
            ["v1", "payment_intents", id, "cancel"] => {
                let reason = form.take("cancellation_reason");
                form.end()?;
                let known = ["duplicate", "fraudulent", "requested_by_customer", "abandoned"];
                if reason.as_ref().is_some_and(|reason| !known.contains(&reason.as_str())) {
                    return Err(invalid("parameter_invalid", "cancellation_reason"));
                }
                let intent = self.intent(id)?;
                let status = intent["status"].as_str().unwrap();
                if matches!(status, "succeeded" | "canceled" | "processing") {
                    let message = format!("You cannot cancel it while its status is {status}.");
                    return Err(invalid("payment_intent_unexpected_state", &message));
                }
                let was_set_aside = status == "requires_capture";
                intent["status"] = json!("canceled");
                intent["amount_capturable"] = json!(0);
                intent["cancellation_reason"] = json!(reason);
                let snapshot = intent.clone();
                self.tell("payment_intent.canceled", snapshot.clone());
                if was_set_aside {
                    self.set_free(&snapshot);
                }
                Ok((200, snapshot))
            }
            ["v1", "refunds"] => self.refund(form),
            _ => Err(failure(404, "invalid_request_error", "url_invalid", path)),
        }
    }

    fn create(&mut self, mut form: Form) -> Result<Reply, Reply> {
        let amount = form.amount()?;
        let currency = form.need("currency")?;
        if currency.len() != 3 || !currency.bytes().all(|byte| byte.is_ascii_lowercase()) {
            return Err(invalid("parameter_invalid", "currency"));
        }
        if ["bhd", "jod", "kwd", "omr", "tnd"].contains(&currency.as_str()) && amount % 10 != 0 {
            return Err(invalid("parameter_invalid", "amount"));
        }
        check_charge(amount, &currency)?;
        let description = form.take("description");
        let excluded = form.list("excluded_payment_method_types");
        if let Some(odd) = excluded.iter().find(|method| !is_method(method)) {
            return Err(invalid("parameter_invalid", odd));
        }
        let capture_method =
            form.take("capture_method").unwrap_or_else(|| "automatic_async".into());
        if !["automatic", "automatic_async", "manual"].contains(&capture_method.as_str()) {
            return Err(invalid("parameter_invalid", "capture_method"));
        }
        let methods = form.list("payment_method_types");
        if let Some(odd) = methods.iter().find(|method| !is_method(method)) {
            return Err(invalid("parameter_invalid", odd));
        }
        // One says which methods there are, or leaves that to what is set at Stripe, never both.
        let automatic = form.take("automatic_payment_methods[enabled]");
        match (methods.is_empty(), automatic.as_deref()) {
            (true, Some("true")) => {}
            (false, None) if excluded.is_empty() => {}
            _ => return Err(invalid("parameter_invalid", "automatic_payment_methods")),
        }
        let metadata = form.metadata()?;
        form.end()?;
        let id = format!("pi_{}", self.intents.len());
        let intent = json!({
            "id": id, "object": "payment_intent", "amount": amount, "amount_received": 0,
            "currency": currency, "client_secret": format!("{id}_secret"), "description": description,
            "status": "requires_payment_method", "metadata": metadata, "last_payment_error": null,
            "cancellation_reason": null, "excluded_payment_method_types": excluded,
            "capture_method": capture_method, "payment_method_types": methods,
            "amount_capturable": 0, "latest_charge": null,
        });
        self.intents.push(intent.clone());
        self.tell("payment_intent.created", intent.clone());
        Ok((200, intent))
    }

    fn refund(&mut self, mut form: Form) -> Result<Reply, Reply> {
        let (reference, amount) = (form.need("payment_intent")?, form.amount()?);
        let metadata = form.metadata()?;
        form.end()?;
        let intent = self.intent(&reference)?.clone();
        if intent["status"] != "succeeded" {
            let message = "it has no successful charge to refund";
            return Err(invalid("payment_intent_unexpected_state", message));
        }
        let of_it = self.refunds.iter().filter(|it| it["payment_intent"] == *reference);
        let alive = of_it.filter(|it| it["status"] != "failed");
        let before: i64 = alive.map(|it| it["amount"].as_i64().unwrap()).sum();
        let left = intent["amount_received"].as_i64().unwrap() - before;
        if left == 0 {
            return Err(invalid("charge_already_refunded", "nothing is left to refund"));
        }
        if amount > left {
            let message = "the refund is greater than the unrefunded amount on the charge";
            return Err(invalid("amount_too_large", message));
        }
        let made = json!({
            "id": format!("re_{}", self.refunds.len()), "object": "refund", "amount": amount,
            "currency": intent["currency"], "payment_intent": reference, "metadata": metadata,
            "status": if self.refunds_wait { "pending" } else { "succeeded" },
            "failure_reason": null,
        });
        self.refunds.push(made.clone());
        self.tell("refund.created", made.clone());
        Ok((200, made))
    }
}

fn is_validation(reply: &Reply) -> bool {
    let code = reply.1["error"]["code"].as_str().unwrap_or_default();
    code.starts_with("parameter_")
}
