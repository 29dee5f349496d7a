//! What is answered when something is refused or fails: an RFC 9457 problem document with a stable code.

use axum::http::header::{CONNECTION, CONTENT_TYPE, HeaderName, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use onrush_core::{Class, Refusal};
use onrush_serve::ProblemCode;
use onrush_store::Failure;
use serde_json::{Map, Value, json};
use std::borrow::Cow;

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $code:literal $status:ident $again:ident;)+) => {
        /// The server's own codes; those of the rules are [`Refusal::code`]. docs/errors.md explains
        /// both.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Code {
            $($(#[$doc])* $name,)+
        }

        impl Code {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name),+];

            /// The code as it is sent, and its HTTP status.
            #[must_use]
            pub const fn facts(self) -> (&'static str, StatusCode) {
                match self {
                    $(Self::$name => ($code, StatusCode::$status),)+
                }
            }

            /// Whether the same request may succeed later without anything being mended.
            #[must_use]
            pub const fn is_retryable(self) -> bool {
                match self {
                    $(Self::$name => codes!(@again $again),)+
                }
            }
        }
    };
    (@again later) => { true };
    (@again never) => { false };
}

// Name = code, status, and whether the same request may succeed later.
codes! {
    /// The body is not JSON.
    MalformedJson = "MALFORMED_JSON" BAD_REQUEST never;
    /// The body is JSON of the wrong shape.
    InvalidBody = "INVALID_BODY" UNPROCESSABLE_ENTITY never;
    /// The body is not called `application/json`.
    UnsupportedMediaType = "UNSUPPORTED_MEDIA_TYPE" UNSUPPORTED_MEDIA_TYPE never;
    /// The request names no host, or two.
    InvalidHost = "INVALID_HOST" BAD_REQUEST never;
    /// The body is longer than allowed.
    BodyTooLarge = "BODY_TOO_LARGE" PAYLOAD_TOO_LARGE never;
    /// The body does not come, or comes too slowly.
    BodyTooSlow = "BODY_TOO_SLOW" REQUEST_TIMEOUT later;
    /// A part of the path, or an id in the body, is not an id.
    InvalidId = "INVALID_ID" BAD_REQUEST never;
    /// The query string is of the wrong shape.
    InvalidQuery = "INVALID_QUERY" BAD_REQUEST never;
    /// `Idempotency-Key` is missing.
    IdempotencyKeyRequired = "IDEMPOTENCY_KEY_REQUIRED" BAD_REQUEST never;
    /// `Idempotency-Key` is empty, too long or unprintable.
    IdempotencyKeyInvalid = "IDEMPOTENCY_KEY_INVALID" BAD_REQUEST never;
    /// Settings do not go together.
    SettingsConflict = "SETTINGS_CONFLICT" CONFLICT never;
    /// A setting is another by now than the one that was read.
    SettingsChanged = "SETTINGS_CHANGED" CONFLICT never;
    /// The seating plan cannot be used.
    InvalidPlan = "INVALID_PLAN" CONFLICT never;
    /// No token was sent.
    TokenMissing = "TOKEN_MISSING" UNAUTHORIZED never;
    /// The token is not one of ours.
    TokenInvalid = "TOKEN_INVALID" UNAUTHORIZED never;
    /// The token was valid once.
    TokenExpired = "TOKEN_EXPIRED" UNAUTHORIZED never;
    /// The shop's published keys cannot be fetched, and none of before is the one that a token names.
    ShopKeysUnavailable = "SHOP_KEYS_UNAVAILABLE" SERVICE_UNAVAILABLE later;
    /// The stream ticket is not one of ours, or was used.
    TicketInvalid = "TICKET_INVALID" UNAUTHORIZED never;
    /// The key is a right one, and gives no right to this.
    ScopeMissing = "SCOPE_MISSING" FORBIDDEN never;
    /// A page of another origin asks.
    OriginRefused = "ORIGIN_REFUSED" FORBIDDEN never;
    /// A signed-in browser's request lacks the token that proves that one of our pages sent it.
    CsrfRefused = "CSRF_REFUSED" FORBIDDEN never;
    /// No OpenID provider is configured.
    OidcOff = "OIDC_OFF" CONFLICT never;
    /// The OpenID provider does not answer.
    OidcUnavailable = "OIDC_UNAVAILABLE" SERVICE_UNAVAILABLE later;
    /// The sign-in was not begun in this browser, or is over.
    OidcNotBegun = "OIDC_NOT_BEGUN" BAD_REQUEST never;
    /// The OpenID provider signs nobody in.
    OidcRefused = "OIDC_REFUSED" FORBIDDEN never;
    /// The OpenID provider did not sign them in as is demanded.
    OidcInsufficient = "OIDC_INSUFFICIENT" FORBIDDEN never;
    /// What the OpenID provider tells cannot be believed.
    OidcNotGenuine = "OIDC_NOT_GENUINE" BAD_GATEWAY never;
    /// No group of theirs gives the right to anything.
    OidcNoScopes = "OIDC_NO_SCOPES" FORBIDDEN never;
    /// Guest tokens are switched off.
    GuestsDisabled = "GUESTS_DISABLED" FORBIDDEN never;
    /// It is for guests, and the token is the shop's.
    NotAGuest = "NOT_A_GUEST" FORBIDDEN never;
    /// The booking's link was withdrawn.
    LinkWithdrawn = "LINK_WITHDRAWN" UNAUTHORIZED never;
    /// There is no such code from another device.
    CarryCodeNotFound = "CARRY_CODE_NOT_FOUND" NOT_FOUND never;
    /// No channel of the event has such a code.
    ChannelCodeNotFound = "CHANNEL_CODE_NOT_FOUND" NOT_FOUND never;
    /// There is nothing at this path.
    PathNotFound = "PATH_NOT_FOUND" NOT_FOUND never;
    /// The path does not know this method.
    MethodNotAllowed = "METHOD_NOT_ALLOWED" METHOD_NOT_ALLOWED never;
    /// The event has no draw.
    DrawNotFound = "DRAW_NOT_FOUND" NOT_FOUND never;
    /// There is no flag of this name.
    FlagNotFound = "FLAG_NOT_FOUND" NOT_FOUND never;
    /// It concerns what nodes share, and this server shares nothing.
    NeedsCluster = "NEEDS_CLUSTER" CONFLICT never;
    /// The list of entrants is not fixed yet.
    PrequeueNotClosed = "PREQUEUE_NOT_CLOSED" CONFLICT later;
    /// The request should have been a WebSocket handshake.
    UpgradeRequired = "UPGRADE_REQUIRED" UPGRADE_REQUIRED never;
    /// A visitor or an address asks too often.
    RateLimited = "RATE_LIMITED" TOO_MANY_REQUESTS later;
    /// Too much is asked at once.
    Busy = "BUSY" SERVICE_UNAVAILABLE later;
    /// As many streams are open as may be.
    StreamsFull = "STREAMS_FULL" SERVICE_UNAVAILABLE later;
    /// As many streams of one visitor or address are open as one may have.
    TooManyStreams = "TOO_MANY_STREAMS" TOO_MANY_REQUESTS later;
    /// As many connections are open as may be.
    ConnectionsFull = "CONNECTIONS_FULL" SERVICE_UNAVAILABLE later;
    /// As many connections of one address are open as one may have.
    TooManyConnections = "TOO_MANY_CONNECTIONS" TOO_MANY_REQUESTS later;
    /// The disk is nearly full.
    DiskLow = "DISK_LOW" SERVICE_UNAVAILABLE later;
    /// The event lost its latest changes and is being rebuilt.
    EventRebuilding = "EVENT_REBUILDING" SERVICE_UNAVAILABLE later;
    /// The engine's servers do not answer.
    EngineUnreachable = "ENGINE_UNREACHABLE" SERVICE_UNAVAILABLE later;
    /// The engine has stopped, or the server is starting or stopping.
    Stopped = "STOPPED" SERVICE_UNAVAILABLE later;
    /// No payment gateway is configured.
    PaymentsOff = "PAYMENTS_OFF" CONFLICT never;
    /// No receipts are issued.
    ReceiptsOff = "RECEIPTS_OFF" CONFLICT never;
    /// There is no receipt of this number.
    ReceiptNotFound = "RECEIPT_NOT_FOUND" NOT_FOUND never;
    /// The payment gateway does not answer.
    GatewayUnavailable = "GATEWAY_UNAVAILABLE" SERVICE_UNAVAILABLE later;
    /// The payment gateway will not have the payment.
    GatewayRefused = "GATEWAY_REFUSED" BAD_GATEWAY never;
    /// The payment gateway takes no such currency or amount.
    GatewayCannotTake = "GATEWAY_CANNOT_TAKE" CONFLICT never;
    /// There is no gateway of this name.
    GatewayNotFound = "GATEWAY_NOT_FOUND" NOT_FOUND never;
    /// A gateway's message is not signed, wrongly signed or too old.
    WebhookNotGenuine = "WEBHOOK_NOT_GENUINE" BAD_REQUEST never;
    /// A gateway's message contradicts what was asked for.
    WebhookMismatch = "WEBHOOK_MISMATCH" CONFLICT never;
    /// The same request is under way.
    InProgress = "IN_PROGRESS" CONFLICT later;
    /// Nobody knows whether the same request was done, and doing it again would do it twice.
    OutcomeUnknown = "OUTCOME_UNKNOWN" CONFLICT never;
    /// Money of the event is still under way, or a document about it is missing.
    MoneyUnderWay = "MONEY_UNDER_WAY" CONFLICT later;
    /// The ledger cannot be read or written.
    LedgerUnavailable = "LEDGER_UNAVAILABLE" SERVICE_UNAVAILABLE later;
    /// There is no saga of this booking.
    SagaNotFound = "SAGA_NOT_FOUND" NOT_FOUND never;
    /// The saga goes on by itself.
    SagaNotStuck = "SAGA_NOT_STUCK" CONFLICT never;
    /// The ticket is not signed by us.
    TicketNotGenuine = "TICKET_NOT_GENUINE" UNPROCESSABLE_ENTITY never;
    /// The ticket is for another event.
    TicketForAnotherEvent = "TICKET_FOR_ANOTHER_EVENT" UNPROCESSABLE_ENTITY never;
    /// No mail is configured.
    MailOff = "MAIL_OFF" CONFLICT never;
    /// Nobody knows whom a mail about the booking would go to.
    BuyerNotKnown = "BUYER_NOT_KNOWN" CONFLICT never;
    /// The booking has another buyer by now than the one who was read.
    BuyerChanged = "BUYER_CHANGED" CONFLICT never;
    /// There is no such dead letter.
    MessageNotFound = "MESSAGE_NOT_FOUND" NOT_FOUND never;
    /// The gateway's own desk did nothing of this id.
    DeskEntryNotFound = "DESK_ENTRY_NOT_FOUND" NOT_FOUND never;
    /// Something is wrong on our side.
    Internal = "INTERNAL" INTERNAL_SERVER_ERROR never;
}

/// A problem on its way out.
#[derive(Debug)]
pub struct Problem(Box<Parts>);

#[derive(Debug)]
struct Parts {
    status: StatusCode,
    code: &'static str,
    detail: Cow<'static, str>,
    retryable: bool,
    retry_after_s: Option<u32>,
    headers: Vec<(HeaderName, HeaderValue)>,
    facts: Map<String, Value>,
}

impl Problem {
    /// One of the server's own, with a sentence that says what to do.
    #[must_use]
    pub fn new(code: Code, detail: impl Into<Cow<'static, str>>) -> Self {
        let (text, status) = code.facts();
        let retryable = code.is_retryable();
        // Every 429 and 503 says when to come back.
        let retry_after_s = match status {
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => Some(1),
            _ => None,
        };
        Self(Box::new(Parts {
            status,
            code: text,
            detail: detail.into(),
            retryable,
            retry_after_s,
            headers: Vec::new(),
            facts: Map::new(),
        }))
    }

    /// The same, with the time after which to come back, rounded up to whole seconds.
    #[must_use]
    pub fn after_ms(mut self, ms: u32) -> Self {
        self.0.retry_after_s = Some(ms.div_ceil(1_000).max(1));
        self
    }

    /// The same, with one more header.
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.0.headers.push((name, value));
        self
    }

    /// The same, with more members.
    #[must_use]
    pub fn with(mut self, facts: Map<String, Value>) -> Self {
        self.0.facts.extend(facts);
        self
    }

    /// The same, about one member of the request: a path such as `refunds[0].percent`.
    #[must_use]
    pub fn about(mut self, field: impl Into<String>) -> Self {
        self.0.facts.insert("field".into(), Value::String(field.into()));
        self
    }

    /// The same, where what it is about is inside of this member.
    #[must_use]
    pub fn within(self, member: &str) -> Self {
        let field = match self.0.facts.get("field").and_then(Value::as_str) {
            Some(field) => format!("{member}.{field}"),
            None => member.to_owned(),
        };
        self.about(field)
    }

    /// The same, with 409 for what is not there: the path is right, and the body names something
    /// that the event lacks.
    #[must_use]
    pub fn named_in_body(mut self) -> Self {
        if ["ZONE_NOT_FOUND", "SEAT_NOT_FOUND", "CATEGORY_NOT_FOUND"].contains(&self.0.code) {
            self.0.status = StatusCode::CONFLICT;
        }
        self
    }

    /// The same, with another sentence.
    #[must_use]
    pub fn saying(mut self, detail: &'static str) -> Self {
        self.0.detail = detail.into();
        self
    }

    /// The code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.0.code
    }

    /// The whole document.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let Parts { status, code, detail, retryable, facts, .. } = &*self.0;
        let mut document = json!({
            "type": format!("/docs/errors#{code}"),
            "title": title(code),
            "status": status.as_u16(),
            "detail": detail,
            "code": code,
            "retryable": retryable,
        });
        if let Value::Object(members) = &mut document {
            members.extend(facts.clone());
        }
        document
    }
}

/// `SEAT_UNAVAILABLE` as `Seat unavailable`.
fn title(code: &str) -> String {
    let mut title = code.to_ascii_lowercase().replace('_', " ");
    if let Some(first) = title.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    title
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = self.to_json().to_string();
        let mut response = Response::new(body.into());
        *response.status_mut() = self.0.status;
        response.extensions_mut().insert(ProblemCode(self.0.code));
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if let Some(seconds) = self.0.retry_after_s {
            headers.insert(RETRY_AFTER, seconds.into());
        }
        headers.extend(self.0.headers);
        // The rest of the body is not waited for.
        if [StatusCode::REQUEST_TIMEOUT, StatusCode::PAYLOAD_TOO_LARGE].contains(&self.0.status) {
            headers.insert(CONNECTION, HeaderValue::from_static("close"));
        }
        if self.0.status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

impl From<Failure> for Problem {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Refused(refusal) => refusal.into(),
            Failure::Busy { retry_after_ms } => {
                Self::new(Code::Busy, failure.to_string()).after_ms(retry_after_ms)
            }
            Failure::DiskLow => Self::new(Code::DiskLow, failure.to_string()).after_ms(60_000),
            Failure::Rebuilding { retry_after_ms } => {
                Self::new(Code::EventRebuilding, failure.to_string()).after_ms(retry_after_ms)
            }
            Failure::Unreachable | Failure::Faulty => {
                Self::new(Code::EngineUnreachable, failure.to_string()).after_ms(1_000)
            }
            Failure::Stopped => Self::new(Code::Stopped, failure.to_string()),
        }
    }
}

/// The HTTP status of a refusal.
#[must_use]
pub const fn status_of(class: Class) -> StatusCode {
    match class {
        Class::NotFound => StatusCode::NOT_FOUND,
        Class::Invalid => StatusCode::UNPROCESSABLE_ENTITY,
        Class::Conflict => StatusCode::CONFLICT,
        Class::Unpaid => StatusCode::PAYMENT_REQUIRED,
        Class::Forbidden => StatusCode::FORBIDDEN,
        Class::Gone => StatusCode::GONE,
    }
}

/// Facts about a refusal that a program may want to know, beside the code and the sentence.
fn facts_of(refusal: &Refusal) -> Map<String, Value> {
    let mut facts = match serde_json::to_value(refusal) {
        Ok(Value::Object(facts)) => facts,
        Ok(_) | Err(_) => Map::new(),
    };
    facts.remove("code");
    facts.remove("why");
    facts
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        let facts = facts_of(&refusal);
        Self(Box::new(Parts {
            status: status_of(refusal.facts().class),
            code: refusal.code(),
            detail: refusal.to_string().into(),
            retryable: refusal.is_retryable(),
            retry_after_s: None,
            headers: Vec::new(),
            facts,
        }))
    }
}
