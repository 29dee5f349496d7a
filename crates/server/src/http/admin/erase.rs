//! `POST /admin/buyers/erase`.

use crate::http::body::{JsonBody, json};
use crate::http::caller::Admin;
use crate::http::openapi::WriteProblems;
use crate::http::problem::{Code, Problem};
use crate::http::shapes::payment::MAX_EMAIL_BYTES;
use crate::http::state::App;
use crate::json::ids::IdText;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use onrush_core::ids::{BookingId, UserId};
use onrush_ledger::booking::BuyerOf;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::ToSchema;

/// Whose data is to be forgotten: exactly one of the three.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Whose {
    /// One booking's buyer.
    #[schema(value_type = Option<IdText>, nullable = false)]
    booking: Option<BookingId>,
    /// A visitor's, for all of his bookings.
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
    erased: u64,
}

/// Forgets who people are: name, mail address and language. The bookings stay; no mail is sent for
/// them any more.
#[utoipa::path(
    post, path = "/api/v1/admin/buyers/erase", tag = "admin", operation_id = "erase_buyers",
    request_body = Whose,
    responses((status = 200, description = "How many bookings' buyers were erased", body = Erased),
        WriteProblems),
    security(("admin" = []))
)]
pub async fn erase(
    State(app): State<Arc<App>>,
    _: Admin,
    JsonBody(whose): JsonBody<Whose>,
) -> Result<Response, Problem> {
    let whose = match whose {
        Whose { booking: Some(booking), user: None, email: None } => BuyerOf::Booking(booking),
        Whose { booking: None, user: Some(user), email: None } => BuyerOf::User(user),
        Whose { booking: None, user: None, email: Some(email) }
            if (1..=MAX_EMAIL_BYTES).contains(&email.len()) =>
        {
            BuyerOf::Email(email)
        }
        Whose { .. } => {
            let why = "send exactly one of booking, user and email (1 to 254 bytes)";
            return Err(Problem::new(Code::InvalidBody, why));
        }
    };
    let erased = app.ledger.erase_buyer(whose).await?;
    Ok(json(StatusCode::OK, &Erased { erased }))
}
