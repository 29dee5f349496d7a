//! What handlers take from a request's head: who asks, under which key, about what.

use crate::http::problem::{Code, Problem};
use crate::http::scopes;
use crate::http::sessions::cookie::checked_session_of;
use crate::http::state::Callers;
use axum::extract::rejection::PathRejection;
use axum::extract::{FromRef, FromRequestParts, Path, Query};
use axum::http::header::{AUTHORIZATION, HeaderName};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue};
use onrush_base::auth::address::client_address;
use onrush_base::auth::keyring::NamedKey;
use onrush_base::auth::session::Session;
use onrush_base::auth::shop::{ShopTokenError, ShopVisitor};
use onrush_base::auth::{TokenError, link, unix_now_s};
use onrush_core::ids::{EventId, UserId};
use onrush_core::spec::Reason;
use onrush_serve::connection::Connection;
use serde::de::DeserializeOwned;
use smallvec::SmallVec;
use std::net::IpAddr;
use std::sync::Arc;
use utoipa::IntoParams;

/// A visitor, by their token.
pub struct Visitor(pub UserId);

impl<S: Send + Sync> FromRequestParts<S> for Visitor
where
    Arc<Callers>: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let callers = Arc::<Callers>::from_ref(state);
        callers.admit(parts).await.map(|(ShopVisitor { user, .. }, _)| Self(user))
    }
}

/// A visitor who asks for a place in a queue: each address may ask for so many.
pub struct Joining(pub UserId);

impl<S: Send + Sync> FromRequestParts<S> for Joining
where
    Arc<Callers>: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Visitor(user) = Visitor::from_request_parts(parts, state).await?;
        let callers = Arc::<Callers>::from_ref(state);
        callers.let_begin(parts)?;
        callers.limits.join(callers.address_in(parts)?)?;
        Ok(Self(user))
    }
}

/// Somebody who may begin something: hold, claim, take a place. Guests of before guests were switched
/// off may not; what they own stays theirs to look at, to pay for and to give back.
///
/// It looks at a token that is known to be good: it comes behind whatever says who asks.
pub struct MayBegin;

impl<S: Send + Sync> FromRequestParts<S> for MayBegin
where
    Arc<Callers>: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        Arc::<Callers>::from_ref(state).let_begin(parts)?;
        Ok(Self)
    }
}

/// A guest, by a token of ours that may have expired: who shows it is known, and nothing else
/// follows from it.
pub struct GuestToken {
    /// Who.
    pub user: UserId,
    /// Whether the token counts no more.
    pub has_expired: bool,
}

impl<S: Send + Sync> FromRequestParts<S> for GuestToken
where
    Arc<Callers>: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let callers = Arc::<Callers>::from_ref(state);
        let token = bearer(parts)?;
        match callers.guests.read(token) {
            Ok((user, expires_s)) => Ok(Self { user, has_expired: callers.now_s() >= expires_s }),
            Err(_) => {
                // Whoever comes with the shop's token is told so; anything else is refused as everywhere.
                callers.visitor_of(token).await?;
                let why = "only guest tokens are renewed and carried; the shop gives its own anew";
                Err(Problem::new(Code::NotAGuest, why))
            }
        }
    }
}

/// Somebody with a key that gives the right to what is asked: `http/scopes.rs` says which scope
/// each path needs, and `http/doorkeeper.rs` lets nobody else in.
#[derive(Clone)]
pub struct Operator {
    /// Their key.
    pub key: Arc<NamedKey>,
    /// From which address they ask.
    pub address: IpAddr,
    /// Their session, if it was a browser's cookie that let them in.
    pub session: Option<Session>,
}

impl Operator {
    /// Why they do something, as histories keep it.
    #[must_use]
    pub fn because(&self, why: Box<str>) -> Reason {
        Reason { by: self.key.name.clone(), why }
    }

    /// Whether they are told who buys, as `http/scopes.rs` has it.
    #[must_use]
    pub fn is_told_buyers(&self) -> bool {
        scopes::BUYERS.iter().any(|scope| self.key.may(*scope))
    }
}

impl<S: Sync> FromRequestParts<S> for Operator {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        parts.extensions.get::<Self>().cloned().ok_or_else(|| {
            let why = "nobody has said which scope this path needs; please report this";
            Problem::new(Code::Internal, why)
        })
    }
}

/// After how long the shop's keys are looked for again, in milliseconds.
const KEYS_AGAIN_MS: u32 = 10_000;

/// How guests' tokens begin, and no other.
const OF_A_GUEST: &str = "g1.";

/// The token of `Authorization: Bearer …`.
///
/// # Errors
/// `TOKEN_MISSING`, `TOKEN_INVALID`.
pub fn bearer(parts: &Parts) -> Result<&str, Problem> {
    let value = parts.headers.get(AUTHORIZATION).ok_or_else(|| {
        Problem::new(Code::TokenMissing, "send a token: Authorization: Bearer <token>")
    })?;
    let text = value.to_str().unwrap_or_default();
    match text.split_at_checked(7) {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("Bearer ") => Ok(token),
        Some(_) | None => {
            Err(Problem::new(Code::TokenInvalid, "use the form Authorization: Bearer <token>"))
        }
    }
}

impl Callers {
    /// The clock that guest tokens go by, in whole seconds: the engine's, which is the same on all
    /// nodes. The shop's tokens go by the system's.
    #[must_use]
    pub fn now_s(&self) -> i64 {
        self.clock.now().0.div_euclid(1_000)
    }

    /// The address behind the proxies that are trusted.
    pub fn address_of(&self, connection: &Connection, headers: &HeaderMap) -> IpAddr {
        let lines: SmallVec<[_; 4]> = headers.get_all("x-forwarded-for").iter().collect();
        let trusted = &self.config.trusted_proxies;
        self.forwarding.look(connection.peer, !lines.is_empty(), trusted);
        client_address(connection.peer, lines.into_iter().map(HeaderValue::as_bytes), trusted)
    }

    /// The address that a request came from.
    pub(super) fn address_in(&self, parts: &Parts) -> Result<IpAddr, Problem> {
        let connection = parts.extensions.get::<Connection>().ok_or_else(|| {
            Problem::new(Code::Internal, "the connection is not known; please report this")
        })?;
        Ok(self.address_of(connection, &parts.headers))
    }

    /// Whose key a request carries, or else who is signed in by its cookie.
    ///
    /// # Errors
    /// `TOKEN_MISSING`, `TOKEN_INVALID`, `TOKEN_EXPIRED`, `ORIGIN_REFUSED`, `CSRF_REFUSED`,
    /// `RATE_LIMITED`, `LEDGER_UNAVAILABLE`.
    pub(super) async fn operator_in(&self, parts: &Parts) -> Result<Operator, Problem> {
        let address = self.address_in(parts)?;
        // A program that sends a key means that key, whatever cookies come with it.
        if !parts.headers.contains_key(AUTHORIZATION)
            && let Some(session) = checked_session_of(self, parts).await?
        {
            return Ok(Operator { key: session.key.clone(), address, session: Some(session) });
        }
        let key = self.key_of(bearer(parts)?, address)?;
        key.map(|key| Operator { key, address, session: None }).ok_or_else(|| {
            Problem::new(
                Code::TokenInvalid,
                "nobody has this key; send one of the organiser's keys",
            )
        })
    }

    /// For how long a browser may do nothing, in milliseconds.
    #[must_use]
    pub fn idle_ms(&self) -> i64 {
        i64::from(self.config.session_idle_s) * 1_000
    }

    /// Whose key this is; `None` for a wrong one. Wrong ones are counted and logged with the
    /// address.
    ///
    /// # Errors
    /// `RATE_LIMITED`.
    pub fn key_of(&self, key: &str, address: IpAddr) -> Result<Option<Arc<NamedKey>>, Problem> {
        self.limits.wrong_keys.judge(address, self.keys.find(key))
    }

    /// The visitor whose token a request carries, and the address it came from: each may ask for
    /// so much.
    ///
    /// # Errors
    /// `TOKEN_MISSING`, `TOKEN_INVALID`, `TOKEN_EXPIRED`, `SHOP_KEYS_UNAVAILABLE`, `RATE_LIMITED`.
    pub(super) async fn admit(&self, parts: &Parts) -> Result<(ShopVisitor, IpAddr), Problem> {
        let token = bearer(parts)?;
        let visitor = self.visitor_of(token).await?;
        let address = self.address_in(parts)?;
        self.limits.visit(&parts.method, &visitor.user, address)?;
        Ok((visitor, address))
    }

    /// Refuses guests where there are none any more.
    fn let_begin(&self, parts: &Parts) -> Result<(), Problem> {
        if self.config.guest_tokens || !bearer(parts)?.starts_with(OF_A_GUEST) {
            return Ok(());
        }
        let why = "this shop has no guests any more; what you own stays yours, and for anything new \
                   come with the shop's token";
        Err(Problem::new(Code::GuestsDisabled, why))
    }

    /// Whose token this is, a guest's, or the shop's if it is configured, and the channels that the
    /// shop's token says they may use.
    ///
    /// # Errors
    /// `TOKEN_INVALID`, `TOKEN_EXPIRED`, `SHOP_KEYS_UNAVAILABLE`.
    async fn visitor_of(&self, token: &str) -> Result<ShopVisitor, Problem> {
        if token.starts_with(link::PREFIX) {
            let why = "this is the link of a booking: it opens that booking, and does nothing else";
            return Err(Problem::new(Code::TokenInvalid, why));
        }
        let user = match &self.shop {
            Some(shop) if !token.starts_with(OF_A_GUEST) => {
                // Its times are those of the shop's clock, which the system's keeps up with.
                return Ok(shop.visitor_of(token, unix_now_s()).await?);
            }
            Some(_) | None => self.guests.verify(token, self.now_s()),
        };
        user.map(|user| ShopVisitor { user, channels: Vec::new() }).map_err(|error| match error {
            TokenError::Invalid => {
                Problem::new(Code::TokenInvalid, "the token is not valid; ask for a new one")
            }
            TokenError::Expired => {
                let why = "the token has expired; renew it (POST /visitors/renew), or get the shop's anew";
                Problem::new(Code::TokenExpired, why)
            }
        })
    }
}

impl From<ShopTokenError> for Problem {
    fn from(error: ShopTokenError) -> Self {
        match error {
            ShopTokenError::Invalid(why) => Self::new(Code::TokenInvalid, why),
            ShopTokenError::Expired => {
                Self::new(Code::TokenExpired, "the token has expired; ask the shop for a new one")
            }
            ShopTokenError::KeysAway => {
                let why = "the shop's keys cannot be had just now, so nobody can say whether the token \
                           is right; come again with the same one";
                Self::new(Code::ShopKeysUnavailable, why).after_ms(KEYS_AGAIN_MS)
            }
        }
    }
}

/// The header that names one wish: the same wish again has the same key.
static IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// The key of a request that needs one.
#[derive(IntoParams)]
#[into_params(names("Idempotency-Key"), parameter_in = Header)]
pub struct IdempotencyKey(
    #[param(value_type = String, min_length = 1, max_length = 255, pattern = "^[!-~]+$")]
    HeaderValue,
);

impl IdempotencyKey {
    /// 1 to 255 visible ASCII characters.
    #[must_use]
    pub fn as_str(&self) -> &str {
        // Checked when it was taken from the request.
        self.0.to_str().unwrap_or_default()
    }
}

impl<S: Sync> FromRequestParts<S> for IdempotencyKey {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        optional_key(parts)?.ok_or_else(|| {
            Problem::new(
                Code::IdempotencyKeyRequired,
                "send Idempotency-Key: a fresh random text for each new wish, the same one for a retry",
            )
        })
    }
}

/// The key of a request that may have one.
#[derive(IntoParams)]
#[into_params(names("Idempotency-Key"), parameter_in = Header)]
pub struct OptionalKey(
    #[param(value_type = Option<String>, min_length = 1, max_length = 255, pattern = "^[!-~]+$")]
    pub Option<IdempotencyKey>,
);

impl<S: Sync> FromRequestParts<S> for OptionalKey {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        optional_key(parts).map(Self)
    }
}

fn optional_key(parts: &mut Parts) -> Result<Option<IdempotencyKey>, Problem> {
    let Some(value) = parts.headers.remove(&IDEMPOTENCY_KEY) else { return Ok(None) };
    if (1..=255).contains(&value.len()) && value.as_bytes().iter().all(u8::is_ascii_graphic) {
        Ok(Some(IdempotencyKey(value)))
    } else {
        Err(Problem::new(
            Code::IdempotencyKeyInvalid,
            "Idempotency-Key: use 1 to 255 visible ASCII characters",
        ))
    }
}

/// The ids in the path.
pub struct Ids<T>(pub T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Ids<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        match Path::<T>::from_request_parts(parts, state).await {
            Ok(Path(ids)) => Ok(Self(ids)),
            Err(PathRejection::FailedToDeserializePathParams(error)) => {
                Err(Problem::new(Code::InvalidId, error.body_text()))
            }
            Err(_) => Err(Problem::new(Code::Internal, "the path has no such part")),
        }
    }
}

/// The event of a path that the router has not seen.
#[derive(Clone)]
pub(super) struct Plain(pub(super) EventId);

/// The event in the path, where `http/front.rs` may have found it.
pub struct Event(pub EventId);

impl<S: Send + Sync> FromRequestParts<S> for Event {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        if let Some(Plain(event)) = parts.extensions.remove() {
            return Ok(Self(event));
        }
        Ids::from_request_parts(parts, state).await.map(|Ids(event)| Self(event))
    }
}

/// The query string, strictly: what is unknown is refused.
pub struct Strict<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Strict<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        match Query::<T>::try_from_uri(&parts.uri) {
            Ok(Query(query)) => Ok(Self(query)),
            Err(error) => Err(Problem::new(Code::InvalidQuery, error.body_text())),
        }
    }
}
