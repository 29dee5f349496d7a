//! Buyers: named, corrected, and forgotten.

use super::find::{event_of_booking, find_anybodys};
use super::keeper::Owner;
use crate::http::body::{Json, JsonBody};
use crate::http::caller::{Ids, Operator};
use crate::http::events::read::is_archived;
use crate::http::openapi::{ReadProblems, WriteProblems};
use crate::http::problem::{Code, Problem};
use crate::http::state::Sale;
use crate::json::ids::IdText;
use axum::extract::State;
use onrush_base::mail_address;
use onrush_core::Refusal;
use onrush_core::hold::HoldState;
use onrush_core::ids::{BookingId, UserId};
use onrush_core::limits::turns_text;
use onrush_ledger::booking::{Buyer, BuyerOf, Correction};
use onrush_ledger::{Ledger, LedgerError};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::sync::Arc;
use utoipa::ToSchema;

/// The longest name of a buyer, in characters.
pub const MAX_NAME_CHARS: usize = 200;

/// Who pays, and where tickets go.
#[derive(Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Buyer)]
pub struct BuyerBody {
    /// As it is printed on the ticket: 1 to 200 characters.
    #[schema(min_length = 1, max_length = 200)]
    pub name: String,
    /// A mail address.
    #[schema(min_length = 3, max_length = 254, pattern = "^[!-~]+@[!-~]+$")]
    pub email: String,
    /// A language tag such as `en` or `th`.
    #[serde(default = "english")]
    #[schema(min_length = 2, max_length = 35, pattern = "^[A-Za-z0-9-]+$")]
    pub language: String,
}

fn english() -> String {
    "en".into()
}

impl BuyerBody {
    /// The buyer, if the three are what they should be.
    ///
    /// # Errors
    /// Which member is wrong, and a sentence that says what to send instead.
    pub fn buyer(self) -> Result<Buyer, (&'static str, &'static str)> {
        let Self { name, email, language } = self;
        let name_is_fine = (1..=MAX_NAME_CHARS).contains(&name.chars().count())
            && !name.chars().any(|sign| sign.is_control() || turns_text(sign));
        if !name_is_fine {
            let why = "buyer.name: use 1 to 200 characters, all of which can be seen";
            return Err(("name", why));
        }
        if !mail_address::can_be_written_to(&email) {
            let why = "buyer.email: use an address such as ann@example.org, in ASCII";
            return Err(("email", why));
        }
        let language_is_fine = (2..=35).contains(&language.len())
            && language.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        if !language_is_fine {
            return Err(("language", "buyer.language: use a language tag such as en or th"));
        }
        Ok(Buyer { name, email, language })
    }
}

impl From<Buyer> for BuyerBody {
    fn from(Buyer { name, email, language }: Buyer) -> Self {
        Self { name, email, language }
    }
}

/// The buyer that a body names, if it names one.
///
/// # Errors
/// `INVALID_BODY`, with what to send instead.
pub(in crate::http) fn parsed(body: Option<BuyerBody>) -> Result<Option<Buyer>, Problem> {
    let buyer = body.map(BuyerBody::buyer).transpose();
    buyer.map_err(|(member, why)| {
        Problem::new(Code::InvalidBody, why).about(format!("buyer.{member}"))
    })
}

/// Says who buys: where mail about the booking goes, and whose name the door reads. Again: the last
/// one counts. Where another address was known, the links that went there are withdrawn.
///
/// The confirmation is mailed as soon as the booking is confirmed: name the buyer before.
#[utoipa::path(
    put, path = "/api/v1/bookings/{booking}/buyer", tag = "bookings",
    params(("booking" = IdText, Path)),
    request_body = BuyerBody,
    responses((status = 200, description = "The buyer", body = BuyerBody), WriteProblems),
    security(("visitor" = []))
)]
pub async fn set_buyer(
    State(ledger): State<Arc<dyn Ledger>>,
    Ids(booking): Ids<BookingId>,
    owner: Owner,
    JsonBody(body): JsonBody<BuyerBody>,
) -> Result<Json<BuyerBody>, Problem> {
    let event = event_of_booking(&booking)?;
    let buyer = named(body)?;
    let view = owner.find(&event, &booking).await?;
    check_may_be_named(&view.state)?;
    ledger.set_buyer(&booking, &view.terms.user, buyer.clone()).await?;
    Ok(Json(BuyerBody::from(buyer)))
}

/// The buyer that a body is.
fn named(body: BuyerBody) -> Result<Buyer, Problem> {
    body.buyer().map_err(|(member, why)| Problem::new(Code::InvalidBody, why).about(member))
}

/// Whether somebody may be named for a booking that stands here.
fn check_may_be_named(state: &HoldState) -> Result<(), Refusal> {
    match state {
        HoldState::Held { .. } | HoldState::Paying { .. } | HoldState::Confirmed { .. } => Ok(()),
        HoldState::Released { .. } | HoldState::Expired { .. } | HoldState::Cancelled { .. } => {
            Err(Refusal::InvalidStatus { booking_status: state.status() })
        }
    }
}

/// Who is put in the place of the buyer that is known.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = BuyerCorrection)]
pub struct CorrectionBody {
    /// As it is printed on the ticket: 1 to 200 characters.
    #[schema(min_length = 1, max_length = 200)]
    name: String,
    /// A mail address.
    #[schema(min_length = 3, max_length = 254, pattern = "^[!-~]+@[!-~]+$")]
    email: String,
    /// A language tag such as `en` or `th`.
    #[serde(default = "english")]
    #[schema(min_length = 2, max_length = 35, pattern = "^[A-Za-z0-9-]+$")]
    language: String,
    /// The address that is known for the booking, as it was read; null if no buyer was known.
    #[serde(deserialize_with = "Option::deserialize")]
    #[schema(required, max_length = 254)]
    was: Option<String>,
}

/// Names the buyer of anybody's booking, or corrects them, as its visitor may. Where another address
/// was known, the links that went there are withdrawn. Whoever was not read is not replaced: 409
/// `BUYER_CHANGED`.
///
/// Nothing is mailed: `POST …/mail` sends the confirmation again. Tickets stay as they are, and so do
/// names on receipts that were issued.
#[utoipa::path(
    put, path = "/api/v1/admin/bookings/{booking}/buyer", tag = "admin",
    params(("booking" = IdText, Path)),
    request_body = CorrectionBody,
    responses((status = 200, description = "The buyer", body = BuyerBody), WriteProblems),
)]
pub async fn correct_buyer(
    State(sale): State<Arc<Sale>>,
    State(ledger): State<Arc<dyn Ledger>>,
    Ids(booking): Ids<BookingId>,
    _: Operator,
    JsonBody(CorrectionBody { name, email, language, was }): JsonBody<CorrectionBody>,
) -> Result<Json<BuyerBody>, Problem> {
    let buyer = named(BuyerBody { name, email, language })?;
    let (_, view) = find_anybodys(&sale, &booking).await?;
    check_may_be_named(&view.state)?;
    let user = view.terms.user.clone();
    let correction = Correction { booking, user, was, buyer: buyer.clone() };
    ledger.correct_buyer(correction).await.map_err(changed_meanwhile)?;
    Ok(Json(BuyerBody::from(buyer)))
}

/// Why a buyer was not put in the place of the one who was read.
fn changed_meanwhile(error: LedgerError) -> Problem {
    match error {
        LedgerError::Conflict => {
            let why = "the booking has another buyer by now than the one who was read; read it again, \
                and correct that one";
            Problem::new(Code::BuyerChanged, why)
        }
        LedgerError::Unavailable(_) => error.into(),
    }
}

/// Forgets who pays for a booking: name, mail address and language. The booking stays; no mail is
/// sent for it any more.
#[utoipa::path(
    delete, path = "/api/v1/bookings/{booking}/buyer", tag = "bookings",
    params(("booking" = IdText, Path)),
    responses((status = 200, description = "How many bookings' buyers were erased",
        body = serde_json::Value), ReadProblems),
    security(("visitor" = []))
)]
pub async fn erase_buyer(
    State(ledger): State<Arc<dyn Ledger>>,
    Ids(booking): Ids<BookingId>,
    owner: Owner,
) -> Result<Json<serde_json::Value>, Problem> {
    let event = event_of_booking(&booking)?;
    match owner.find(&event, &booking).await {
        Ok(_) => {}
        // The engine forgets what ended long ago, and events that were archived; the ledger knows
        // whose it was, and who paid.
        Err(problem)
            if problem.code() == Refusal::ReservationNotFound.code() || is_archived(&problem) =>
        {
            let known = ledger.user_of(&booking).await?;
            if known.is_none_or(|known| known != owner.user) {
                return Err(problem);
            }
        }
        Err(problem) => return Err(problem),
    }
    let erased = ledger.erase_buyer(BuyerOf::Booking(booking)).await?;
    Ok(Json(json!({ "erased": erased })))
}

/// Whose data is to be forgotten: exactly one of the three.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Whose {
    /// One booking's buyer.
    #[schema(value_type = Option<IdText>, nullable = false)]
    booking: Option<BookingId>,
    /// A visitor's, for all of their bookings.
    #[schema(value_type = Option<IdText>, nullable = false)]
    user: Option<UserId>,
    /// Everybody with this mail address, in whatever capitals.
    #[schema(min_length = 1, max_length = 254, nullable = false)]
    email: Option<String>,
}

/// What was forgotten.
#[derive(Serialize, ToSchema)]
pub struct Erased {
    /// For how many bookings.
    pub(in crate::http) erased: u64,
}

/// Forgets who people are: name, mail address and language. The bookings stay; no mail is sent for
/// them any more.
#[utoipa::path(
    post, path = "/api/v1/admin/buyers/erase", tag = "admin",
    request_body = Whose,
    responses((status = 200, description = "How many bookings' buyers were erased", body = Erased),
        WriteProblems),
)]
pub async fn erase_buyers(
    State(ledger): State<Arc<dyn Ledger>>,
    _: Operator,
    JsonBody(whose): JsonBody<Whose>,
) -> Result<Json<Erased>, Problem> {
    let Whose { booking, user, email } = whose;
    let whose = self::whose(booking, user, email)?;
    let erased = ledger.erase_buyer(whose).await?;
    Ok(Json(Erased { erased }))
}

/// Whose data a body is about.
///
/// # Errors
/// `INVALID_BODY` unless it names exactly one.
pub(super) fn whose(
    booking: Option<BookingId>,
    user: Option<UserId>,
    email: Option<String>,
) -> Result<BuyerOf, Problem> {
    match (booking, user, email) {
        (Some(booking), None, None) => Ok(BuyerOf::Booking(booking)),
        (None, Some(user), None) => Ok(BuyerOf::User(user)),
        (None, None, Some(email)) if (1..=mail_address::MAX_BYTES).contains(&email.len()) => {
            Ok(BuyerOf::Email(email))
        }
        _ => {
            let why = "send exactly one of booking, user and email (1 to 254 bytes)";
            Err(Problem::new(Code::InvalidBody, why))
        }
    }
}
