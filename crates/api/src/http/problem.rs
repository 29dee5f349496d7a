//! What is answered when something is refused or fails: an RFC 9457 problem document with a stable code.

use axum::http::header::{CONNECTION, CONTENT_TYPE, HeaderName, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use onrush_core::{Class, Refusal};
use onrush_serve::ProblemCode;
use onrush_store::Failure;
use serde_json::{Map, Value, json};
use std::borrow::Cow;

/// The server's own codes; those of the rules are [`Refusal::code`]. docs/errors.md explains both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// The body is not JSON.
    MalformedJson,
    /// The body is JSON of the wrong shape.
    InvalidBody,
    /// The body is not called `application/json`.
    UnsupportedMediaType,
    /// The request names no host, or two.
    InvalidHost,
    /// The body is longer than allowed.
    BodyTooLarge,
    /// The body does not come, or comes too slowly.
    BodyTooSlow,
    /// A part of the path, or an id in the body, is not an id.
    InvalidId,
    /// The query string is of the wrong shape.
    InvalidQuery,
    /// `Idempotency-Key` is missing.
    IdempotencyKeyRequired,
    /// `Idempotency-Key` is empty, too long or unprintable.
    IdempotencyKeyInvalid,
    /// Settings do not go together.
    SettingsConflict,
    /// The seating plan cannot be used.
    InvalidPlan,
    /// No token was sent.
    TokenMissing,
    /// The token is not one of ours.
    TokenInvalid,
    /// The token was valid once.
    TokenExpired,
    /// The stream ticket is not one of ours, or was used.
    TicketInvalid,
    /// The key is a right one, and gives no right to this.
    ScopeMissing,
    /// A page of another origin asks.
    OriginRefused,
    /// A signed-in browser's request lacks the token that proves that one of our pages sent it.
    CsrfRefused,
    /// No OpenID provider is configured.
    OidcOff,
    /// The OpenID provider does not answer.
    OidcUnavailable,
    /// The sign-in was not begun in this browser, or is over.
    OidcNotBegun,
    /// The OpenID provider signs nobody in.
    OidcRefused,
    /// The OpenID provider did not sign them in as is demanded.
    OidcInsufficient,
    /// What the OpenID provider tells cannot be believed.
    OidcNotGenuine,
    /// No group of theirs gives the right to anything.
    OidcNoScopes,
    /// Guest tokens are switched off.
    GuestsDisabled,
    /// It is for guests, and the token is the shop's.
    NotAGuest,
    /// The booking's link was withdrawn.
    LinkWithdrawn,
    /// There is no such code from another device.
    CarryCodeNotFound,
    /// No channel of the event has such a code.
    ChannelCodeNotFound,
    /// There is nothing at this path.
    PathNotFound,
    /// The path does not know this method.
    MethodNotAllowed,
    /// The event has no draw.
    DrawNotFound,
    /// There is no flag of this name.
    FlagNotFound,
    /// It concerns what nodes share, and this server shares nothing.
    NeedsCluster,
    /// The list of entrants is not fixed yet.
    PrequeueNotClosed,
    /// The request should have been a WebSocket handshake.
    UpgradeRequired,
    /// A visitor or an address asks too often.
    RateLimited,
    /// Too much is asked at once.
    Busy,
    /// As many streams are open as may be.
    StreamsFull,
    /// As many streams of one visitor or address are open as one may have.
    TooManyStreams,
    /// As many connections are open as may be.
    ConnectionsFull,
    /// As many connections of one address are open as one may have.
    TooManyConnections,
    /// The disk is nearly full.
    DiskLow,
    /// The event lost its latest changes and is being rebuilt.
    EventRebuilding,
    /// The engine's servers do not answer.
    EngineUnreachable,
    /// The engine has stopped, or the server is starting or stopping.
    Stopped,
    /// No payment gateway is configured.
    PaymentsOff,
    /// No receipts are issued.
    ReceiptsOff,
    /// There is no receipt of this number.
    ReceiptNotFound,
    /// The payment gateway does not answer.
    GatewayUnavailable,
    /// The payment gateway will not have the payment.
    GatewayRefused,
    /// The payment gateway takes no such currency or amount.
    GatewayCannotTake,
    /// There is no gateway of this name.
    GatewayNotFound,
    /// A gateway's message is not signed, wrongly signed or too old.
    WebhookNotGenuine,
    /// A gateway's message contradicts what was asked for.
    WebhookMismatch,
    /// The same request is under way.
    InProgress,
    /// Nobody knows whether the same request was done, and doing it again would do it twice.
    OutcomeUnknown,
    /// Money of the event is still under way, or a document about it is missing.
    MoneyUnderWay,
    /// The ledger cannot be read or written.
    LedgerUnavailable,
    /// There is no saga of this booking.
    SagaNotFound,
    /// The saga goes on by itself.
    SagaNotStuck,
    /// The ticket is not signed by us.
    TicketNotGenuine,
    /// There is no such dead letter.
    MessageNotFound,
    /// The gateway's own desk did nothing of this id.
    DeskEntryNotFound,
    /// Something is wrong on our side.
    Internal,
}

impl Code {
    /// All of them.
    pub const ALL: [Self; 67] = [
        Self::MalformedJson,
        Self::InvalidBody,
        Self::UnsupportedMediaType,
        Self::InvalidHost,
        Self::BodyTooLarge,
        Self::BodyTooSlow,
        Self::InvalidId,
        Self::InvalidQuery,
        Self::IdempotencyKeyRequired,
        Self::IdempotencyKeyInvalid,
        Self::SettingsConflict,
        Self::InvalidPlan,
        Self::TokenMissing,
        Self::TokenInvalid,
        Self::TokenExpired,
        Self::TicketInvalid,
        Self::ScopeMissing,
        Self::OriginRefused,
        Self::CsrfRefused,
        Self::OidcOff,
        Self::OidcUnavailable,
        Self::OidcNotBegun,
        Self::OidcRefused,
        Self::OidcInsufficient,
        Self::OidcNotGenuine,
        Self::OidcNoScopes,
        Self::GuestsDisabled,
        Self::NotAGuest,
        Self::LinkWithdrawn,
        Self::CarryCodeNotFound,
        Self::ChannelCodeNotFound,
        Self::PathNotFound,
        Self::MethodNotAllowed,
        Self::DrawNotFound,
        Self::FlagNotFound,
        Self::NeedsCluster,
        Self::PrequeueNotClosed,
        Self::UpgradeRequired,
        Self::RateLimited,
        Self::Busy,
        Self::StreamsFull,
        Self::TooManyStreams,
        Self::ConnectionsFull,
        Self::TooManyConnections,
        Self::DiskLow,
        Self::EventRebuilding,
        Self::EngineUnreachable,
        Self::Stopped,
        Self::PaymentsOff,
        Self::ReceiptsOff,
        Self::ReceiptNotFound,
        Self::GatewayUnavailable,
        Self::GatewayRefused,
        Self::GatewayCannotTake,
        Self::GatewayNotFound,
        Self::WebhookNotGenuine,
        Self::WebhookMismatch,
        Self::InProgress,
        Self::OutcomeUnknown,
        Self::MoneyUnderWay,
        Self::LedgerUnavailable,
        Self::SagaNotFound,
        Self::SagaNotStuck,
        Self::TicketNotGenuine,
        Self::MessageNotFound,
        Self::DeskEntryNotFound,
        Self::Internal,
    ];

    /// The code as it is sent, and its HTTP status.
    #[must_use]
    pub const fn facts(self) -> (&'static str, StatusCode) {
        match self {
            Self::MalformedJson => ("MALFORMED_JSON", StatusCode::BAD_REQUEST),
            Self::InvalidBody => ("INVALID_BODY", StatusCode::UNPROCESSABLE_ENTITY),
            Self::UnsupportedMediaType => {
                ("UNSUPPORTED_MEDIA_TYPE", StatusCode::UNSUPPORTED_MEDIA_TYPE)
            }
            Self::InvalidHost => ("INVALID_HOST", StatusCode::BAD_REQUEST),
            Self::BodyTooLarge => ("BODY_TOO_LARGE", StatusCode::PAYLOAD_TOO_LARGE),
            Self::BodyTooSlow => ("BODY_TOO_SLOW", StatusCode::REQUEST_TIMEOUT),
            Self::InvalidId => ("INVALID_ID", StatusCode::BAD_REQUEST),
            Self::InvalidQuery => ("INVALID_QUERY", StatusCode::BAD_REQUEST),
            Self::IdempotencyKeyRequired => ("IDEMPOTENCY_KEY_REQUIRED", StatusCode::BAD_REQUEST),
            Self::IdempotencyKeyInvalid => ("IDEMPOTENCY_KEY_INVALID", StatusCode::BAD_REQUEST),
            Self::SettingsConflict => ("SETTINGS_CONFLICT", StatusCode::CONFLICT),
            Self::InvalidPlan => ("INVALID_PLAN", StatusCode::CONFLICT),
            Self::TokenMissing => ("TOKEN_MISSING", StatusCode::UNAUTHORIZED),
            Self::TokenInvalid => ("TOKEN_INVALID", StatusCode::UNAUTHORIZED),
            Self::TokenExpired => ("TOKEN_EXPIRED", StatusCode::UNAUTHORIZED),
            Self::TicketInvalid => ("TICKET_INVALID", StatusCode::UNAUTHORIZED),
            Self::ScopeMissing => ("SCOPE_MISSING", StatusCode::FORBIDDEN),
            Self::OriginRefused => ("ORIGIN_REFUSED", StatusCode::FORBIDDEN),
            Self::CsrfRefused => ("CSRF_REFUSED", StatusCode::FORBIDDEN),
            Self::OidcOff => ("OIDC_OFF", StatusCode::CONFLICT),
            Self::OidcUnavailable => ("OIDC_UNAVAILABLE", StatusCode::SERVICE_UNAVAILABLE),
            Self::OidcNotBegun => ("OIDC_NOT_BEGUN", StatusCode::BAD_REQUEST),
            Self::OidcRefused => ("OIDC_REFUSED", StatusCode::FORBIDDEN),
            Self::OidcInsufficient => ("OIDC_INSUFFICIENT", StatusCode::FORBIDDEN),
            Self::OidcNotGenuine => ("OIDC_NOT_GENUINE", StatusCode::BAD_GATEWAY),
            Self::OidcNoScopes => ("OIDC_NO_SCOPES", StatusCode::FORBIDDEN),
            Self::GuestsDisabled => ("GUESTS_DISABLED", StatusCode::FORBIDDEN),
            Self::NotAGuest => ("NOT_A_GUEST", StatusCode::FORBIDDEN),
            Self::LinkWithdrawn => ("LINK_WITHDRAWN", StatusCode::UNAUTHORIZED),
            Self::CarryCodeNotFound => ("CARRY_CODE_NOT_FOUND", StatusCode::NOT_FOUND),
            Self::ChannelCodeNotFound => ("CHANNEL_CODE_NOT_FOUND", StatusCode::NOT_FOUND),
            Self::PathNotFound => ("PATH_NOT_FOUND", StatusCode::NOT_FOUND),
            Self::MethodNotAllowed => ("METHOD_NOT_ALLOWED", StatusCode::METHOD_NOT_ALLOWED),
            Self::DrawNotFound => ("DRAW_NOT_FOUND", StatusCode::NOT_FOUND),
            Self::FlagNotFound => ("FLAG_NOT_FOUND", StatusCode::NOT_FOUND),
            Self::NeedsCluster => ("NEEDS_CLUSTER", StatusCode::CONFLICT),
            Self::PrequeueNotClosed => ("PREQUEUE_NOT_CLOSED", StatusCode::CONFLICT),
            Self::UpgradeRequired => ("UPGRADE_REQUIRED", StatusCode::UPGRADE_REQUIRED),
            Self::RateLimited => ("RATE_LIMITED", StatusCode::TOO_MANY_REQUESTS),
            Self::Busy => ("BUSY", StatusCode::SERVICE_UNAVAILABLE),
            Self::StreamsFull => ("STREAMS_FULL", StatusCode::SERVICE_UNAVAILABLE),
            Self::TooManyStreams => ("TOO_MANY_STREAMS", StatusCode::TOO_MANY_REQUESTS),
            Self::ConnectionsFull => ("CONNECTIONS_FULL", StatusCode::SERVICE_UNAVAILABLE),
            Self::TooManyConnections => ("TOO_MANY_CONNECTIONS", StatusCode::TOO_MANY_REQUESTS),
            Self::DiskLow => ("DISK_LOW", StatusCode::SERVICE_UNAVAILABLE),
            Self::EventRebuilding => ("EVENT_REBUILDING", StatusCode::SERVICE_UNAVAILABLE),
            Self::EngineUnreachable => ("ENGINE_UNREACHABLE", StatusCode::SERVICE_UNAVAILABLE),
            Self::Stopped => ("STOPPED", StatusCode::SERVICE_UNAVAILABLE),
            Self::PaymentsOff => ("PAYMENTS_OFF", StatusCode::CONFLICT),
            Self::ReceiptsOff => ("RECEIPTS_OFF", StatusCode::CONFLICT),
            Self::ReceiptNotFound => ("RECEIPT_NOT_FOUND", StatusCode::NOT_FOUND),
            Self::GatewayUnavailable => ("GATEWAY_UNAVAILABLE", StatusCode::SERVICE_UNAVAILABLE),
            Self::GatewayRefused => ("GATEWAY_REFUSED", StatusCode::BAD_GATEWAY),
            Self::GatewayCannotTake => ("GATEWAY_CANNOT_TAKE", StatusCode::CONFLICT),
            Self::GatewayNotFound => ("GATEWAY_NOT_FOUND", StatusCode::NOT_FOUND),
            Self::WebhookNotGenuine => ("WEBHOOK_NOT_GENUINE", StatusCode::BAD_REQUEST),
            Self::WebhookMismatch => ("WEBHOOK_MISMATCH", StatusCode::CONFLICT),
            Self::InProgress => ("IN_PROGRESS", StatusCode::CONFLICT),
            Self::OutcomeUnknown => ("OUTCOME_UNKNOWN", StatusCode::CONFLICT),
            Self::MoneyUnderWay => ("MONEY_UNDER_WAY", StatusCode::CONFLICT),
            Self::LedgerUnavailable => ("LEDGER_UNAVAILABLE", StatusCode::SERVICE_UNAVAILABLE),
            Self::SagaNotFound => ("SAGA_NOT_FOUND", StatusCode::NOT_FOUND),
            Self::SagaNotStuck => ("SAGA_NOT_STUCK", StatusCode::CONFLICT),
            Self::TicketNotGenuine => ("TICKET_NOT_GENUINE", StatusCode::UNPROCESSABLE_ENTITY),
            Self::MessageNotFound => ("MESSAGE_NOT_FOUND", StatusCode::NOT_FOUND),
            Self::DeskEntryNotFound => ("DESK_ENTRY_NOT_FOUND", StatusCode::NOT_FOUND),
            Self::Internal => ("INTERNAL", StatusCode::INTERNAL_SERVER_ERROR),
        }
    }

    /// Whether the same request may succeed later without anything being mended.
    #[must_use]
    pub const fn is_retryable(self) -> bool {
        match self {
            Self::PrequeueNotClosed
            | Self::RateLimited
            | Self::Busy
            | Self::StreamsFull
            | Self::TooManyStreams
            | Self::ConnectionsFull
            | Self::TooManyConnections
            | Self::BodyTooSlow
            | Self::DiskLow
            | Self::EventRebuilding
            | Self::EngineUnreachable
            | Self::Stopped
            | Self::GatewayUnavailable
            | Self::OidcUnavailable
            | Self::InProgress
            | Self::MoneyUnderWay
            | Self::LedgerUnavailable => true,
            Self::MalformedJson
            | Self::InvalidBody
            | Self::UnsupportedMediaType
            | Self::BodyTooLarge
            | Self::InvalidHost
            | Self::InvalidId
            | Self::InvalidQuery
            | Self::IdempotencyKeyRequired
            | Self::IdempotencyKeyInvalid
            | Self::SettingsConflict
            | Self::InvalidPlan
            | Self::TokenMissing
            | Self::TokenInvalid
            | Self::TokenExpired
            | Self::TicketInvalid
            | Self::ScopeMissing
            | Self::OriginRefused
            | Self::CsrfRefused
            | Self::OidcOff
            | Self::OidcNotBegun
            | Self::OidcRefused
            | Self::OidcInsufficient
            | Self::OidcNotGenuine
            | Self::OidcNoScopes
            | Self::GuestsDisabled
            | Self::NotAGuest
            | Self::LinkWithdrawn
            | Self::CarryCodeNotFound
            | Self::ChannelCodeNotFound
            | Self::PathNotFound
            | Self::MethodNotAllowed
            | Self::DrawNotFound
            | Self::FlagNotFound
            | Self::NeedsCluster
            | Self::UpgradeRequired
            | Self::PaymentsOff
            | Self::ReceiptsOff
            | Self::ReceiptNotFound
            | Self::GatewayRefused
            | Self::GatewayCannotTake
            | Self::GatewayNotFound
            | Self::WebhookNotGenuine
            | Self::WebhookMismatch
            | Self::OutcomeUnknown
            | Self::SagaNotFound
            | Self::SagaNotStuck
            | Self::TicketNotGenuine
            | Self::MessageNotFound
            | Self::DeskEntryNotFound
            | Self::Internal => false,
        }
    }
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
            Failure::Unreachable => {
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
