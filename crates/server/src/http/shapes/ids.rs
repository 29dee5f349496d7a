//! Ids, times and problems as the OpenAPI document describes them. These types describe and are never made.

use onrush_core::limits::{MAX_EVENT_ID_BYTES, MAX_ID_BYTES, MAX_TEXT_CHARS};
use serde_json::json;
use utoipa::openapi::schema::{Object, ObjectBuilder, Schema, SchemaFormat, Type};
use utoipa::openapi::{KnownFormat, RefOr};
use utoipa::{PartialSchema, ToSchema};

/// A described text.
macro_rules! text {
    ($(#[$doc:meta])* $name:ident, $pattern:expr, $max:expr, $example:expr) => {
        $(#[$doc])*
        pub enum $name {}

        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                let schema = ObjectBuilder::new()
                    .schema_type(Type::String)
                    .pattern(Some($pattern))
                    .min_length(Some(1))
                    .max_length(Some($max))
                    .examples([json!($example)]);
                schema.into()
            }
        }

        impl ToSchema for $name {}
    };
}

text!(
    /// An event's id.
    EventIdText, "^[A-Za-z0-9._-]{1,64}$", MAX_EVENT_ID_BYTES, "tour-1"
);
text!(
    /// A pool's, seat's, booking's, claim's, payment's or user's id.
    IdText, "^[A-Za-z0-9._-]{1,128}$", MAX_ID_BYTES, "ga"
);
text!(
    /// A place in the queue.
    PlaceIdText, "^[0-9a-f]{32}$", 32, "00112233445566778899aabbccddeeff"
);
text!(
    /// A SHA-256 or a seed.
    DigestText, "^[0-9a-f]{64}$", 64, "00".repeat(32)
);
text!(
    /// An ISO 4217 currency.
    CurrencyText, "^[A-Z]{3}$", 3, "EUR"
);
text!(
    /// A title, a name or a reason; at most 500 characters.
    FreeText, r"^[\s\S]*$", MAX_TEXT_CHARS, "Winter tour"
);
text!(
    /// A calendar day.
    DayText, "^[0-9]{4}-[0-9]{2}-[0-9]{2}$", 10, "2026-12-24"
);

/// A point in time: milliseconds since 1970-01-01T00:00:00Z.
pub enum TimeMs {}

impl PartialSchema for TimeMs {
    fn schema() -> RefOr<Schema> {
        integer().into()
    }
}

impl ToSchema for TimeMs {}

fn integer() -> Object {
    ObjectBuilder::new()
        .schema_type(Type::Integer)
        .format(Some(SchemaFormat::KnownFormat(KnownFormat::Int64)))
        .description(Some("Milliseconds since 1970-01-01T00:00:00Z."))
        .build()
}

/// A problem document (RFC 9457); the members after `retryable` depend on the code.
#[derive(ToSchema)]
#[schema(as = Problem)]
#[expect(dead_code, reason = "it describes what problem.rs writes")]
pub struct ProblemBody {
    /// Where the code is explained.
    #[schema(example = "/docs/errors#SEAT_UNAVAILABLE")]
    r#type: String,
    /// The code in words.
    title: String,
    /// The HTTP status again.
    status: u16,
    /// What is wrong and what to do, as a sentence.
    detail: String,
    /// The stable code.
    #[schema(pattern = "^[A-Z_]+$")]
    code: String,
    /// Whether the same request may succeed later without anything being mended.
    retryable: bool,
}
