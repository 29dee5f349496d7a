//! The sandbox as a gateway: a client of its API.

use super::takes::Takes;
use super::{
    Answer, Away, DeskNews, Fingerprint, Gateway, GatewayError, News, NotGenuine, Notice, Order,
    Ours, RefundOrder, RefundStanding, Standing,
};
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE};
use axum::http::{HeaderMap, Method, Request, StatusCode};
use bytes::Bytes;
use onrush_base::amount;
use onrush_base::config::Secret;
use onrush_base::http_client::{AddressPolicy, HttpClient};
use onrush_base::signature;
use onrush_core::ids::{BookingId, EventId, PaymentId};
use onrush_core::money::Currency;
use onrush_ledger::desk::{DeskKind, DeskStatus};
use onrush_ledger::money::Capture;
use onrush_ledger::receipt::SANDBOX;
use onrush_sandbox::{PaymentView, SIGNATURE, Webhook};
use serde::{Deserialize, Serialize};

/// How long the sandbox may take to answer.
const TIMEOUT_MS: u64 = 10_000;
/// What the sandbox says of a key that stands for a refund of another amount.
const KEY_REUSED: &str = "KEY_REUSED";
/// The largest amount, in minor units.
const MAX_AMOUNT_MINOR: i64 = 1_000_000_000_000;

/// A client of the sandbox.
pub struct SandboxGateway {
    base_url: String,
    authorization: String,
    webhook_secret: Secret,
    return_base: Option<String>,
    timeout_ms: u64,
    client: HttpClient,
}

#[derive(Serialize)]
struct CreateBody<'a> {
    payment: &'a PaymentId,
    booking: &'a BookingId,
    event: &'a EventId,
    amount_minor: i64,
    currency: Currency,
    description: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    return_url: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    capture: Option<Capture>,
}

#[derive(Serialize)]
struct RefundBody {
    amount_minor: i64,
}

#[derive(Deserialize)]
struct Problem {
    code: String,
    detail: String,
}

impl SandboxGateway {
    /// A client of the sandbox at `base_url`, such as `http://127.0.0.1:8090`.
    #[must_use]
    pub fn new(base_url: &str, secret: &Secret, webhook_secret: Secret) -> Self {
        Self {
            base_url: base_url.trim_end_matches('/').to_owned(),
            authorization: format!("Bearer {}", secret.reveal()),
            webhook_secret,
            return_base: None,
            timeout_ms: TIMEOUT_MS,
            client: HttpClient::new(AddressPolicy::Any),
        }
    }

    /// The same, with a link on the pay page back to the booking: `<base>/bookings/<booking>`.
    #[must_use]
    pub fn with_return_base(mut self, base: &str) -> Self {
        self.return_base = Some(base.trim_end_matches('/').to_owned());
        self
    }

    /// The same, with another limit to how long an answer may take.
    #[must_use]
    pub fn with_timeout_ms(mut self, timeout_ms: u64) -> Self {
        self.timeout_ms = timeout_ms;
        self
    }

    async fn ask(
        &self,
        method: Method,
        path: &str,
        key: Option<&str>,
        body: Bytes,
    ) -> Result<(StatusCode, Bytes), GatewayError> {
        let uri = format!("{}{path}", self.base_url);
        let mut request = Request::builder()
            .method(method)
            .uri(uri)
            .header(AUTHORIZATION, &self.authorization)
            .header(CONTENT_TYPE, "application/json");
        if let Some(key) = key {
            request = request.header("Idempotency-Key", key);
        }
        let unavailable = |why: String| GatewayError::Unavailable(Away::Silent(why));
        let request = request.body(body).map_err(|error| unavailable(error.to_string()))?;
        let answer = self.client.call(request, self.timeout_ms).await;
        let answer = answer.map_err(|error| unavailable(error.to_string()))?;
        let (status, body) = (answer.status(), answer.into_body());
        if status.is_success() || status == StatusCode::NOT_FOUND {
            return Ok((status, body));
        }
        let why = match serde_json::from_slice::<Problem>(&body) {
            Ok(problem) => format!("{}: {}", problem.code, problem.detail),
            Err(_) => format!("status {}", status.as_u16()),
        };
        match status {
            StatusCode::BAD_REQUEST | StatusCode::CONFLICT | StatusCode::UNPROCESSABLE_ENTITY => {
                Err(GatewayError::Refused(why))
            }
            // A wrong secret is the operator's to mend, and what was asked is still wanted then.
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                Err(GatewayError::Unavailable(Away::KeyRefused(why)))
            }
            _ => Err(unavailable(why)),
        }
    }

    async fn payment(
        &self,
        method: Method,
        path: &str,
        key: Option<&str>,
        body: Bytes,
    ) -> Result<Option<PaymentView>, GatewayError> {
        let (status, body) = self.ask(method, path, key, body).await?;
        if status == StatusCode::NOT_FOUND {
            // Only the sandbox itself can say that it has no such payment.
            let code = serde_json::from_slice::<Problem>(&body).map(|problem| problem.code);
            return match code.as_deref() {
                Ok("PAYMENT_NOT_FOUND") => Ok(None),
                _ => Err(GatewayError::Unavailable("what answers is no sandbox".into())),
            };
        }
        parsed(&body).map(Some)
    }
}

fn parsed<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, GatewayError> {
    serde_json::from_slice(body).map_err(|error| {
        GatewayError::Unavailable(format!("it cannot be understood: {error}").into())
    })
}

/// What is sent has text keys only, which always can be written.
fn body(value: &impl Serialize) -> Bytes {
    serde_json::to_vec(value).expect("a request can be written as JSON").into()
}

fn standing(view: Option<PaymentView>) -> Result<Standing, GatewayError> {
    let Some(PaymentView { status, why, card, captured_minor, asked, .. }) = view else {
        return Ok(Standing::Unknown);
    };
    let why = why.unwrap_or_default();
    match (status.as_str(), asked) {
        ("cancelled", asked) => {
            Ok(Standing::Cancelled { reference: asked.map(|asked| asked.reference), why })
        }
        ("open", Some(asked)) => Ok(Standing::Open {
            reference: asked.reference,
            url: Some(asked.url),
            client_secret: None,
        }),
        ("authorised", Some(asked)) => {
            let card = card.and_then(Fingerprint::new);
            Ok(Standing::Authorised { reference: asked.reference, card })
        }
        ("declined", Some(asked)) => Ok(Standing::Declined { reference: asked.reference, why }),
        ("captured", Some(asked)) => Ok(Standing::Captured {
            reference: asked.reference,
            amount_minor: captured_minor,
            currency: asked.currency,
        }),
        _ => Err(GatewayError::Unavailable(format!("it has an unknown status: {status}").into())),
    }
}

impl Gateway for SandboxGateway {
    fn name(&self) -> &'static str {
        SANDBOX
    }

    fn step_minor(&self, _: Currency) -> i64 {
        1
    }

    fn create<'a>(&'a self, order: &'a Order) -> Answer<'a, Standing> {
        Box::pin(async move {
            let return_url =
                self.return_base.as_ref().map(|base| format!("{base}/bookings/{}", order.booking));
            let body = body(&CreateBody {
                payment: &order.payment,
                booking: &order.booking,
                event: &order.event,
                amount_minor: order.amount_minor,
                currency: order.currency,
                description: &order.description,
                return_url: return_url.as_deref(),
                capture: Some(order.capture).filter(|capture| *capture == Capture::Later),
            });
            let key = Some(order.payment.as_str());
            standing(self.payment(Method::POST, "/v1/payments", key, body).await?)
        })
    }

    fn status<'a>(&'a self, order: &'a Order) -> Answer<'a, Standing> {
        Box::pin(async move {
            let path = format!("/v1/payments/{}", order.payment);
            standing(self.payment(Method::GET, &path, None, Bytes::new()).await?)
        })
    }

    fn capture<'a>(&'a self, order: &'a Order) -> Answer<'a, Standing> {
        Box::pin(async move {
            let path = format!("/v1/payments/{}/capture", order.payment);
            let key = format!("capture:{}", order.payment);
            let view = self.payment(Method::POST, &path, Some(&key), Bytes::new()).await?;
            standing(view)
        })
    }

    fn cancel<'a>(&'a self, order: &'a Order) -> Answer<'a, Standing> {
        Box::pin(async move {
            let path = format!("/v1/payments/{}/cancel", order.payment);
            standing(self.payment(Method::POST, &path, None, Bytes::new()).await?)
        })
    }

    fn refund<'a>(&'a self, order: &'a RefundOrder) -> Answer<'a, RefundStanding> {
        Box::pin(async move {
            let path = format!("/v1/payments/{}/refunds", order.payment.payment);
            let body = body(&RefundBody { amount_minor: order.amount_minor });
            let view = self.payment(Method::POST, &path, Some(&order.refund), body).await;
            let view = view.map_err(|error| match error {
                GatewayError::Refused(why) if why.starts_with(KEY_REUSED) => {
                    GatewayError::UnknownRefund(why)
                }
                error => error,
            })?;
            let refunds = view.and_then(|view| view.asked).map(|asked| asked.refunds);
            let Some(refunds) = refunds else {
                return Err(GatewayError::Refused("it knows no such payment".into()));
            };
            match refunds.into_iter().find(|made| made.refund == order.refund) {
                Some(made) => Ok(RefundStanding::Done { reference: made.reference }),
                None => Err(GatewayError::Unavailable("it does not show the refund".into())),
            }
        })
    }

    fn takes(&self, currency: Currency) -> Result<Takes, String> {
        match amount::decimals(currency) {
            Some(_) => Ok(Takes { least_minor: 1, most_minor: MAX_AMOUNT_MINOR, step_minor: 1 }),
            None => Err(format!("the sandbox does not take {currency}; use one of ISO 4217")),
        }
    }

    fn probe(&self) -> Answer<'_, ()> {
        Box::pin(async move {
            let asked = self.ask(Method::GET, "/v1/payments?limit=1", None, Bytes::new());
            match asked.await? {
                (StatusCode::NOT_FOUND, _) => {
                    Err(GatewayError::Unavailable("what answers is no sandbox".into()))
                }
                _ => Ok(()),
            }
        })
    }

    fn ours<'a>(&'a self, reference: &'a str) -> Answer<'a, Option<Ours>> {
        Box::pin(async move {
            let Some(payment) = reference.strip_prefix("sandbox-") else { return Ok(None) };
            let path = format!("/v1/payments/{payment}");
            let view = self.payment(Method::GET, &path, None, Bytes::new()).await?;
            Ok(view.filter(|view| view.captured_minor > 0).and_then(|view| {
                Some(Ours { payment: view.payment, booking: view.asked?.booking })
            }))
        })
    }

    /// Each of them is told by a message of its own.
    fn desk_refunds<'a>(&'a self, _: &'a str) -> Answer<'a, Vec<DeskNews>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn read_webhook(
        &self,
        headers: &HeaderMap,
        body: &[u8],
        now_s: i64,
    ) -> Result<Notice, NotGenuine> {
        let header = headers.get(SIGNATURE).and_then(|value| value.to_str().ok());
        let header = header.ok_or(NotGenuine::SignatureMissing)?;
        let secret = self.webhook_secret.reveal().as_bytes();
        signature::verify(secret, header, body, now_s)?;
        let told: Webhook = serde_json::from_slice(body).map_err(|_| NotGenuine::Unreadable)?;
        let Webhook { id, kind, payment, booking, reference, amount_minor, currency, .. } = told;
        // Money that went back is told as an amount of its own, never as one below nothing.
        if amount_minor < 0 {
            return Err(NotGenuine::Unreadable);
        }
        let why = told.why.unwrap_or_default();
        let desk = match kind.as_str() {
            "desk.refunded" => Some((DeskKind::Refund, DeskStatus::Moved)),
            "dispute.opened" => Some((DeskKind::Dispute, DeskStatus::Open)),
            "dispute.won" => Some((DeskKind::Dispute, DeskStatus::Stayed)),
            "dispute.lost" => Some((DeskKind::Dispute, DeskStatus::Moved)),
            _ => None,
        };
        if let Some((kind, status)) = desk {
            let of = format!("sandbox-{payment}");
            let ours = Some(Ours { payment, booking });
            let news = DeskNews { kind, status, reference, of, ours, amount_minor, currency, why };
            return Ok(Notice { id, news: Some(News::Desk(news)) });
        }
        let standing = match (kind.as_str(), told.refund) {
            ("payment.captured", None) => Standing::Captured { reference, amount_minor, currency },
            // Which card it is, is asked for: what was only told decides nothing.
            ("payment.authorised", None) => Standing::Authorised { reference, card: None },
            ("payment.declined", None) => Standing::Declined { reference, why },
            ("payment.cancelled", None) => Standing::Cancelled { reference: Some(reference), why },
            ("refund.done", Some(refund)) => {
                let standing = RefundStanding::Done { reference };
                let news = News::Refund { payment, refund, amount_minor, currency, standing };
                return Ok(Notice { id, news: Some(news) });
            }
            (
                "payment.captured" | "payment.authorised" | "payment.declined"
                | "payment.cancelled" | "refund.done",
                _,
            ) => return Err(NotGenuine::Unreadable),
            _ => return Ok(Notice { id, news: None }),
        };
        Ok(Notice { id, news: Some(News::Payment { payment, booking, standing }) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_of_an_amount_below_nothing_is_not_understood() {
        let (secret, now_s) = (|| Secret::from("0123456789abcdef".to_owned()), 1_790_000_000);
        let gateway = SandboxGateway::new("http://127.0.0.1:1", &secret(), secret());
        let read = |amount_minor: i64| {
            let body = format!(
                r#"{{"id": "m", "type": "desk.refunded", "payment": "p", "booking": "e.1", "reference": "r",
                "amount_minor": {amount_minor}, "currency": "EUR", "created_s": {now_s}}}"#
            );
            let header = signature::sign(secret().reveal().as_bytes(), body.as_bytes(), now_s);
            let headers = [(SIGNATURE, header)].into_iter().map(|(name, value)| {
                (name.parse().expect("a name of a header"), value.parse().expect("printable"))
            });
            gateway.read_webhook(&headers.collect::<HeaderMap>(), body.as_bytes(), now_s)
        };
        assert!(read(1_250).is_ok_and(|notice| notice.news.is_some()));
        assert_eq!(read(-1_250), Err(NotGenuine::Unreadable));
    }
}
