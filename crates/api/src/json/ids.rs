//! Ids, numbers and times as the OpenAPI document describes them. These types describe and are never made.

use onrush_core::limits::{
    MAX_BEST_QUANTITY, MAX_DURATION_MS, MAX_EVENT_ID_BYTES, MAX_ID_BYTES, MAX_LINES_PER_HOLD,
    MAX_PER_PAYER, MAX_PLACES_PER_USER, MAX_POOL_CAPACITY, MAX_PRICE_MINOR, MAX_QUEUE_SIZE,
    MAX_ROOM_CAPACITY, MAX_SEAT_RANK, MAX_TAX_NAME_CHARS, MAX_TEXT_CHARS, MAX_UNITS_PER_HOLD,
    MAX_UNITS_PER_VISITOR,
};
use serde_json::json;
use utoipa::openapi::schema::{
    ArrayBuilder, Object, ObjectBuilder, OneOfBuilder, Schema, SchemaFormat, Type,
};
use utoipa::openapi::{KnownFormat, RefOr};
use utoipa::{PartialSchema, ToSchema};

/// The latest time that can be set: the last millisecond of the year 9999.
pub const LATEST_MS: i64 = 253_402_300_799_999;

/// A described text.
macro_rules! text {
    ($(#[$doc:meta])* $name:ident, $pattern:expr, $max:expr, $example:expr) => {
        text!($(#[$doc])* $name, 1, $pattern, $max, $example);
    };
    ($(#[$doc:meta])* $name:ident, $min:expr, $pattern:expr, $max:expr, $example:expr) => {
        $(#[$doc])*
        pub enum $name {}

        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                let schema = ObjectBuilder::new()
                    .schema_type(Type::String)
                    .pattern(Some($pattern))
                    .min_length(Some($min))
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
    /// What the ids of a stay's pools begin with: `.2026-12-24` follows.
    StayIdText, "^[A-Za-z0-9._-]{1,117}$", MAX_ID_BYTES - ".2026-12-24".len(), "deluxe"
);
text!(
    /// A place in the queue.
    PlaceIdText, "^[0-9a-f]{32}$", 32, "00112233445566778899aabbccddeeff"
);
text!(
    /// How far the event had come when it was answered: pass it back as it is.
    AsOfText, 3, "^[0-9]{1,19}-[0-9]{1,19}$", 39, "0-4711"
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
    /// What a tax is called; at most 40 characters on one line.
    TaxNameText, r"^[^\s\x00-\x1f\x7f-\x9f][^\x00-\x1f\x7f-\x9f]*$", MAX_TAX_NAME_CHARS, "VAT"
);
text!(
    /// A text that may be empty.
    LabelText, 0, r"^[\s\S]*$", MAX_TEXT_CHARS, "A"
);
text!(
    /// A title, a name or a reason; at most 500 characters.
    FreeText, r"^[\s\S]*$", MAX_TEXT_CHARS, "Winter tour"
);

text!(
    /// A value that a draw takes: printable ASCII, words parted by one space.
    PublicValueText, "^[!-~]+( [!-~]+)*$", MAX_TEXT_CHARS, "4 8 15 16 23 42"
);

/// A calendar day.
pub enum DayText {}

impl PartialSchema for DayText {
    fn schema() -> RefOr<Schema> {
        let schema = ObjectBuilder::new()
            .schema_type(Type::String)
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::Date)))
            .pattern(Some("^[0-9]{4}-[0-9]{2}-[0-9]{2}$"))
            .examples([json!("2026-12-24")]);
        schema.into()
    }
}

impl ToSchema for DayText {}

/// A described whole number.
macro_rules! number {
    ($(#[$doc:meta])* $name:ident, $least:expr, $most:expr) => {
        $(#[$doc])*
        pub enum $name {}

        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                let schema = ObjectBuilder::new()
                    .schema_type(Type::Integer)
                    .format(Some(SchemaFormat::KnownFormat(KnownFormat::Int64)))
                    .minimum(Some($least))
                    .maximum(Some($most));
                schema.into()
            }
        }

        impl ToSchema for $name {}
    };
}

number!(
    /// Units in one line of a wish.
    QuantityNumber, 1, MAX_UNITS_PER_HOLD
);
number!(
    /// Seats that are left to the server.
    BestQuantityNumber, 1, MAX_BEST_QUANTITY
);
number!(
    /// Wheelchair places among them.
    AccessibleNumber, 0, MAX_BEST_QUANTITY
);
number!(
    /// How good a seat is: the lower, the better.
    RankNumber, 0, MAX_SEAT_RANK
);
number!(
    /// Nights of a stay.
    NightsNumber, 1, MAX_LINES_PER_HOLD
);
number!(
    /// Units of a pool.
    CapacityNumber, 0, MAX_POOL_CAPACITY
);
number!(
    /// A price of one unit, in minor units.
    PriceNumber, 0, MAX_PRICE_MINOR
);
number!(
    /// A duration in milliseconds.
    DurationNumber, 1, MAX_DURATION_MS
);
number!(
    /// A limit of at least 1.
    LimitNumber, 1, u32::MAX
);
number!(
    /// A limit of at least 1 and at most 255.
    SmallLimitNumber, 1, u8::MAX
);
number!(
    /// Units that one payer may have.
    PayerLimitNumber, 1, MAX_PER_PAYER
);
number!(
    /// A number of times.
    TimesNumber, 0, u8::MAX
);
number!(
    /// Admitted visitors at a time.
    RoomCapacityNumber, 1, MAX_ROOM_CAPACITY
);
number!(
    /// People waiting at a time.
    QueueSizeNumber, 1, MAX_QUEUE_SIZE
);
number!(
    /// Places of one user.
    PlacesNumber, 1, MAX_PLACES_PER_USER
);
number!(
    /// Units reckoned for a visitor.
    UnitsPerVisitorNumber, 1, MAX_UNITS_PER_VISITOR
);
number!(
    /// Units more.
    MoreNumber, 1, MAX_POOL_CAPACITY
);
number!(
    /// Units fewer.
    FewerNumber, -i64::from(MAX_POOL_CAPACITY), -1
);
number!(
    /// A point in time that can be set: milliseconds since 1970-01-01T00:00:00Z, before the year 10000.
    SettableTime, 0, LATEST_MS
);
number!(
    /// Rows of a page, at most.
    RowsNumber, 1, 1_000
);
number!(
    /// A row's or a seat's number.
    LabelNumber, i32::MIN, i32::MAX
);

/// A row's or a seat's number, as plans write it.
pub enum TextOrNumber {}

impl PartialSchema for TextOrNumber {
    fn schema() -> RefOr<Schema> {
        OneOfBuilder::new().item(LabelText::schema()).item(LabelNumber::schema()).into()
    }
}

impl ToSchema for TextOrNumber {}

/// Units more or fewer, not 0.
pub enum AmountNumber {}

impl PartialSchema for AmountNumber {
    fn schema() -> RefOr<Schema> {
        OneOfBuilder::new().item(FewerNumber::schema()).item(MoreNumber::schema()).into()
    }
}

impl ToSchema for AmountNumber {}

/// Seats, each once.
pub enum SeatIds {}

impl PartialSchema for SeatIds {
    fn schema() -> RefOr<Schema> {
        let schema = ArrayBuilder::new()
            .items(IdText::schema())
            .unique_items(true)
            .max_items(Some(MAX_LINES_PER_HOLD));
        schema.into()
    }
}

impl ToSchema for SeatIds {}

/// Pools and how many units of each.
pub enum PoolQuantities {}

impl PartialSchema for PoolQuantities {
    fn schema() -> RefOr<Schema> {
        let id = match IdText::schema() {
            RefOr::T(schema) => Some(schema),
            RefOr::Ref(_) => None,
        };
        let schema = ObjectBuilder::new()
            .schema_type(Type::Object)
            .property_names(id)
            .additional_properties(Some(QuantityNumber::schema()))
            .max_properties(Some(MAX_LINES_PER_HOLD));
        schema.into()
    }
}

impl ToSchema for PoolQuantities {}

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
