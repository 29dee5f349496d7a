//! What a booking wants, as visitors write it.

use super::reason::reasoned;
use super::types::TypesWish;
use crate::http::problem::{Code, Problem};
use crate::json::ids::{
    AccessibleNumber, BestQuantityNumber, DayText, FreeText, IdText, NightsNumber, PoolQuantities,
    PriceNumber, QuantityNumber, SeatIds, StayIdText,
};
use crate::json::object::Object;
use crate::json::whole::Whole;
use crate::json::words::words;
use jiff::civil::Date;
use onrush_core::best::{Best, BestOrder, Together};
use onrush_core::ids::{BookingId, ChannelId, InvalidId, PoolId, SeatId, UserId};
use onrush_core::limits::{MAX_LINES_PER_HOLD, MAX_UNITS_PER_HOLD};
use onrush_core::lines::{Lines, PoolLine};
use onrush_core::types::AskedTypes;
use onrush_core::{Command, Refusal};
use serde::de::{self, MapAccess};
use serde::{Deserialize, Deserializer};
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use utoipa::ToSchema;

/// Units of pools, seats and stays, all or nothing: at most 1000 units and 400 lines together.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Wish)]
pub struct WishBody<'a> {
    /// Pools and how many units of each.
    #[serde(borrow, default)]
    #[schema(value_type = Option<PoolQuantities>, nullable = false)]
    pools: PoolWishes<'a>,
    /// Seats, each once.
    #[serde(borrow, default)]
    #[schema(value_type = Option<SeatIds>, nullable = false)]
    seats: Vec<Cow<'a, str>>,
    /// Stays of several nights.
    #[serde(borrow, default)]
    #[schema(value_type = Option<Vec<Stay>>, nullable = false, max_items = 400)]
    stays: Vec<Object<Stay<'a>>>,
    /// Seats that are left to the server: the best that are free.
    #[serde(borrow, default)]
    #[schema(value_type = Option<BestSeats>, nullable = false)]
    best: Option<Object<BestSeats<'a>>>,
    /// Codes that open channels: what is set aside there may be taken, too.
    #[serde(borrow, default)]
    #[schema(value_type = Option<Vec<FreeText>>, nullable = false, max_items = 5)]
    codes: Vec<Cow<'a, str>>,
    /// The ticket types of the units.
    #[serde(borrow, default)]
    #[schema(value_type = Option<TypesWish>, nullable = false)]
    types: Object<TypesWish<'a>>,
    /// What is held rather than nothing, if that cannot be had: the first of these that can.
    #[serde(borrow, default)]
    #[schema(value_type = Option<Vec<OtherWish>>, nullable = false, max_items = 5)]
    otherwise: Vec<Object<WishBody<'a>>>,
}

/// Something that is wanted rather than nothing, with the same codes.
#[derive(ToSchema)]
#[expect(dead_code, reason = "only the document says it: it is read as a wish")]
pub struct OtherWish<'a> {
    /// Pools and how many units of each.
    #[schema(value_type = Option<PoolQuantities>, nullable = false)]
    pools: PoolWishes<'a>,
    /// Seats, each once.
    #[schema(value_type = Option<SeatIds>, nullable = false)]
    seats: Vec<Cow<'a, str>>,
    /// Stays of several nights.
    #[schema(value_type = Option<Vec<Stay>>, nullable = false, max_items = 400)]
    stays: Vec<Object<Stay<'a>>>,
    /// Seats that are left to the server: the best that are free.
    #[schema(value_type = Option<BestSeats>, nullable = false)]
    best: Option<Object<BestSeats<'a>>>,
    /// The ticket types of the units.
    #[schema(value_type = Option<TypesWish>, nullable = false)]
    types: Object<TypesWish<'a>>,
}

/// So many seats, the best that are free of those asked for, all of them or none.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BestSeats<'a> {
    /// How many.
    #[schema(value_type = BestQuantityNumber)]
    quantity: Quantity,
    /// Price categories, by name; all of them if left out or empty.
    #[serde(borrow, default)]
    #[schema(value_type = Option<Vec<FreeText>>, nullable = false, max_items = 100)]
    categories: Vec<Cow<'a, str>>,
    /// Sections of the house, by name; all of them if left out or empty.
    #[serde(borrow, default)]
    #[schema(value_type = Option<Vec<FreeText>>, nullable = false, max_items = 100)]
    sections: Vec<Cow<'a, str>>,
    /// `must`: side by side in one row; `prefer`: in groups of at least two in rows one behind the
    /// other, if side by side they cannot be.
    #[serde(default)]
    #[schema(value_type = Option<TogetherWord>, nullable = false)]
    together: Together,
    /// How many of them are wheelchair places; the others are their companions' seats. None of
    /// either is taken if it is left out, but companions' seats whose place is sold without them.
    #[schema(value_type = Option<AccessibleNumber>)]
    accessible: Option<Quantity>,
    /// What each seat may cost at most, in minor units, before fees.
    #[schema(value_type = Option<PriceNumber>)]
    price_max_minor: Option<Whole<i64>>,
    /// As many seats as `quantity` that are taken rather than the best ones, if all of them can be
    /// had; not together with `accessible`.
    #[serde(borrow, default)]
    #[schema(value_type = Option<SeatIds>, nullable = false)]
    first_choice: Vec<Cow<'a, str>>,
}

words!(
    /// Whether seats must be side by side.
    TogetherWord, "Together", Together
);

reasoned! {
    /// Units of pools and seats, and why they are taken off sale or put back.
    UnitsAndReason<'a> {
        /// Pools and how many units of each.
        #[serde(borrow, default)]
        #[schema(value_type = Option<PoolQuantities>, nullable = false)]
        pools: PoolWishes<'a>,
        /// Seats, each once.
        #[serde(borrow, default)]
        #[schema(value_type = Option<SeatIds>, nullable = false)]
        seats: Vec<Cow<'a, str>>,
    }
}

reasoned! {
    /// Free units of pools and seats that move between channels, and why.
    AllottedUnits<'a> {
        /// Pools and how many units of each.
        #[serde(borrow, default)]
        #[schema(value_type = Option<PoolQuantities>, nullable = false)]
        pools: PoolWishes<'a>,
        /// Seats, each once.
        #[serde(borrow, default)]
        #[schema(value_type = Option<SeatIds>, nullable = false)]
        seats: Vec<Cow<'a, str>>,
        /// The channel they are in; everybody's stock if left out.
        #[serde(borrow, default)]
        #[schema(value_type = Option<IdText>)]
        from: Option<Cow<'a, str>>,
        /// The channel they go to; everybody's stock if left out.
        #[serde(borrow, default)]
        #[schema(value_type = Option<IdText>)]
        to: Option<Cow<'a, str>>,
    }
}

/// What moves between channels, and why.
pub struct Allotment {
    /// The units.
    pub lines: Lines,
    /// The channel they are in; everybody's stock if there is none.
    pub from: Option<ChannelId>,
    /// The channel they go to; everybody's stock if there is none.
    pub to: Option<ChannelId>,
    /// Why.
    pub why: Box<str>,
}

impl AllottedUnits<'_> {
    /// What is meant.
    ///
    /// # Errors
    /// As [`WishBody::lines`].
    pub fn split(self) -> Result<Allotment, Problem> {
        let Self { pools, seats, from, to, why, .. } = self;
        let lines = WishBody { pools, seats, ..WishBody::default() }.lines()?;
        let named = |field: &'static str, channel: Option<Cow<'_, str>>| {
            channel.map(|it| id(&it).map_err(|problem| problem.about(field))).transpose()
        };
        Ok(Allotment { lines, from: named("from", from)?, to: named("to", to)?, why })
    }
}

impl UnitsAndReason<'_> {
    /// The lines, and why.
    ///
    /// # Errors
    /// As [`WishBody::lines`].
    pub fn split(self) -> Result<(Lines, Box<str>), Problem> {
        let Self { pools, seats, why, .. } = self;
        let lines = WishBody { pools, seats, ..WishBody::default() }.lines()?;
        Ok((lines, why))
    }
}

/// Rooms for several nights: one unit a room of each night's pool, `<pool>.<day>`.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Stay<'a> {
    /// What the nights' pools begin with.
    #[schema(value_type = StayIdText)]
    #[serde(borrow)]
    pool: Cow<'a, str>,
    /// The first night.
    #[schema(value_type = DayText)]
    #[serde(borrow)]
    from: Cow<'a, str>,
    /// How many nights.
    #[schema(value_type = NightsNumber)]
    nights: Quantity,
    /// How many rooms; 1 if left out.
    #[schema(value_type = Option<QuantityNumber>)]
    rooms: Option<Quantity>,
}

/// A whole number of any size, so that an absurd one is refused as a quantity and not as JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantity(i64);

impl Quantity {
    /// The number, if it is one that can be asked for.
    ///
    /// # Errors
    /// `INVALID_QUANTITY`.
    pub fn units(self) -> Result<u32, Refusal> {
        match u32::try_from(self.0) {
            Ok(units @ 1..=MAX_UNITS_PER_HOLD) => Ok(units),
            Ok(_) | Err(_) => Err(Refusal::InvalidQuantity),
        }
    }

    /// The number as it is, as far as an `i64` goes.
    #[must_use]
    pub const fn signed(self) -> i64 {
        self.0
    }
}

impl<'de> Deserialize<'de> for Quantity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Quantity;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number")
            }
            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Quantity, E> {
                Ok(Quantity(number))
            }
            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Quantity, E> {
                Ok(Quantity(i64::try_from(number).unwrap_or(i64::MAX)))
            }
            fn visit_f64<E: de::Error>(self, number: f64) -> Result<Quantity, E> {
                // JSON does not tell 2 from 2.0, and writes what exceeds 64 bits like a fraction.
                if number.fract() == 0.0 {
                    Ok(Quantity(number as i64))
                } else {
                    Err(E::invalid_type(de::Unexpected::Float(number), &self))
                }
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

#[derive(Default)]
struct PoolWishes<'a>(Vec<(Cow<'a, str>, Quantity)>);

impl<'de: 'a, 'a> Deserialize<'de> for PoolWishes<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = PoolWishes<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map of pool ids to quantities")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut wishes = Vec::new();
                while let Some((Text(pool), quantity)) = map.next_entry()? {
                    wishes.push((pool, quantity));
                }
                Ok(PoolWishes(wishes))
            }
        }
        deserializer.deserialize_map(Visitor)
    }
}

/// A text that is borrowed from the body where it has no escapes; serde borrows a map's keys only
/// when told to.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// Wishes that one request may name beside the first.
const MAX_OTHERS: usize = 5;

impl WishBody<'_> {
    /// What holds all of it for this booking; then what holds other things rather than nothing, in the
    /// order they are wanted.
    ///
    /// # Errors
    /// As [`Self::lines`], and `INVALID_BODY` for too many, or for one that has codes or others itself.
    pub fn commands(
        &self,
        booking: &BookingId,
        user: &UserId,
        channels: &[ChannelId],
    ) -> Result<Vec<Command>, Problem> {
        if self.otherwise.len() > MAX_OTHERS {
            let why = format!("otherwise: name at most {MAX_OTHERS}");
            return Err(Problem::new(Code::InvalidBody, why).about("otherwise"));
        }
        let command = |wish: &Self| wish.command(booking.clone(), user.clone(), channels.to_vec());
        let mut commands = Vec::with_capacity(1 + self.otherwise.len());
        commands.push(command(self)?);
        for (nth, Object(wish)) in self.otherwise.iter().enumerate() {
            if !wish.codes.is_empty() || !wish.otherwise.is_empty() {
                let why =
                    "otherwise: name pools, seats, stays, best and types; codes stand beside it";
                return Err(Problem::new(Code::InvalidBody, why).about(format!("otherwise[{nth}]")));
            }
            commands.push(command(wish).map_err(|it| it.within(&format!("otherwise[{nth}]")))?);
        }
        Ok(commands)
    }

    /// Whether it says what is wanted rather than nothing.
    #[must_use]
    pub fn has_others(&self) -> bool {
        !self.otherwise.is_empty()
    }

    /// What holds all of it for this booking, and nothing else.
    ///
    /// # Errors
    /// As [`Self::lines`].
    fn command(
        &self,
        booking: BookingId,
        user: UserId,
        channels: Vec<ChannelId>,
    ) -> Result<Command, Problem> {
        let types = self.types()?;
        let Some(Object(best)) = &self.best else {
            return Ok(Command::Hold { booking, user, lines: self.lines()?, channels, types });
        };
        let names_nothing =
            self.pools.0.is_empty() && self.seats.is_empty() && self.stays.is_empty();
        let beside = if names_nothing { None } else { Some(self.lines()?) };
        let order = Arc::new(BestOrder::new(best.wish()?, beside)?);
        Ok(Command::HoldBest { booking, user, order, channels, types })
    }

    /// Codes that open channels.
    #[must_use]
    pub fn codes(&self) -> &[Cow<'_, str>] {
        &self.codes
    }

    /// The ticket types that are named.
    ///
    /// # Errors
    /// As [`TypesWish::asked`].
    pub fn types(&self) -> Result<AskedTypes, Problem> {
        self.types.0.asked()
    }

    /// Whether seats are left to the server.
    #[must_use]
    pub fn leaves_seats_to_us(&self) -> bool {
        self.best.is_some()
    }

    /// The lines, in their canonical order.
    ///
    /// # Errors
    /// `INVALID_ID`, `INVALID_QUANTITY`, `INVALID_LINES`, and `INVALID_BODY` for a day that is none.
    pub fn lines(&self) -> Result<Lines, Problem> {
        let mut pools = Vec::with_capacity(self.pools.0.len());
        for (pool, quantity) in &self.pools.0 {
            let quantity = quantity.units();
            let quantity =
                quantity.map_err(|why| Problem::from(why).about(format!("pools.{pool}")))?;
            pools.push(PoolLine { pool: id(pool).map_err(|why| why.about("pools"))?, quantity });
        }
        for (index, Object(stay)) in self.stays.iter().enumerate() {
            stay.nights(index, &mut pools)?;
        }
        Ok(Lines::new(pools, seat_ids("seats", &self.seats)?)?)
    }
}

/// Ids of seats in the member of this name.
fn seat_ids(name: &str, ids: &[Cow<'_, str>]) -> Result<Vec<SeatId>, Problem> {
    let numbered = ids.iter().enumerate();
    let ids = numbered
        .map(|(index, text)| id(text).map_err(|problem| problem.about(format!("{name}[{index}]"))));
    ids.collect()
}

impl BestSeats<'_> {
    fn wish(&self) -> Result<Best, Problem> {
        let names = |names: &[Cow<'_, str>]| names.iter().map(|name| Box::from(&**name)).collect();
        // What is no number of seats is refused like one that is out of range.
        let quantity = u32::try_from(self.quantity.signed()).unwrap_or(0);
        let accessible =
            self.accessible.map_or(0, |count| u32::try_from(count.signed()).unwrap_or(u32::MAX));
        let best = Best::new(quantity, self.together)?
            .within(names(&self.categories), names(&self.sections))?
            .with_accessible(accessible)?
            .up_to(self.price_max_minor.map(|Whole(most)| most))?;
        Ok(best.rather(seat_ids("best.first_choice", &self.first_choice)?)?)
    }
}

impl Stay<'_> {
    fn nights(&self, index: usize, pools: &mut Vec<PoolLine>) -> Result<(), Problem> {
        let about = |field: &str| {
            let field = format!("stays[{index}].{field}");
            move |problem: Problem| problem.about(field)
        };
        let units = |quantity: Quantity| quantity.units().map_err(Problem::from);
        let rooms = self.rooms.map_or(Ok(1), units).map_err(about("rooms"))?;
        let nights = units(self.nights).map_err(about("nights"))?;
        if nights as usize > MAX_LINES_PER_HOLD {
            let field = Some(format!("stays[{index}].nights").into());
            let why = "use at most 400 nights".into();
            return Err(Refusal::InvalidLines { field, why }.into());
        }
        // Before any night is written out: a body has room for a thousand stays.
        if pools.len() + nights as usize > MAX_LINES_PER_HOLD {
            let why = "use at most 400 lines".into();
            return Err(Refusal::InvalidLines { field: None, why }.into());
        }
        let stay: PoolId = id(&self.pool).map_err(about("pool"))?;
        let mut night = Some(day(&self.from).map_err(about("from"))?);
        for _ in 0..nights {
            // The calendar ends with the year 9999, and no pool is named after a later night.
            let Some(date) = night else {
                return Err(Refusal::ZoneNotFound { pool: stay }.into());
            };
            let pool: PoolId = id(&format!("{stay}.{date}")).map_err(about("pool"))?;
            pools.push(PoolLine { pool, quantity: rooms });
            night = date.tomorrow().ok();
        }
        Ok(())
    }
}

/// A day of the years 0001 to 9999, written as `2026-12-24` and in no other of the forms that ISO 8601 has.
fn day(text: &str) -> Result<Date, Problem> {
    let plain = text.len() == 10 && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    let day: Option<Date> = plain.then(|| text.parse().ok()).flatten();
    match day {
        Some(day) if day.year() >= 1 => Ok(day),
        Some(_) | None => {
            Err(Problem::new(Code::InvalidBody, "from: use a day such as 2026-12-24"))
        }
    }
}

/// An id in a body.
///
/// # Errors
/// `INVALID_ID`.
pub fn id<T: std::str::FromStr<Err = InvalidId>>(text: &str) -> Result<T, Problem> {
    text.parse().map_err(|error: InvalidId| Problem::new(Code::InvalidId, error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(json: &str) -> Result<Lines, &'static str> {
        let wish: WishBody<'_> = serde_json::from_str(json).map_err(|_| "INVALID_BODY")?;
        wish.lines().map_err(|problem| problem.code())
    }

    #[test]
    fn a_stay_is_a_line_for_each_night() {
        let stay =
            r#"{"stays": [{"pool": "deluxe", "from": "2026-12-30", "nights": 3, "rooms": 2}]}"#;
        let nights = r#"{"pools": {"deluxe.2026-12-30": 2, "deluxe.2026-12-31": 2, "deluxe.2027-01-01": 2}}"#;
        assert_eq!(lines(stay), lines(nights));
        assert!(lines(stay).is_ok());
    }

    #[test]
    fn the_most_a_seat_may_cost_may_be_written_with_a_point() {
        for (written, most) in [("9000", Some(9_000)), ("9000.0", Some(9_000)), ("null", None)] {
            let json = format!(r#"{{"best": {{"quantity": 1, "price_max_minor": {written}}}}}"#);
            let wish: WishBody<'_> = serde_json::from_str(&json).expect(written);
            let Object(best) = wish.best.expect("the best seats are asked for");
            assert_eq!(best.wish().expect("it can be").price_max_minor(), most, "{written}");
        }
        assert_eq!(
            lines(r#"{"best": {"quantity": 1, "price_max_minor": 2.5}}"#),
            Err("INVALID_BODY")
        );
    }

    #[test]
    fn what_is_empty_may_be_written_or_left_out() {
        assert_eq!(lines(r#"{"seats": ["A-1"], "pools": {}}"#), lines(r#"{"seats": ["A-1"]}"#));
        assert_eq!(lines(r#"{"pools": {"ga": 1}, "seats": []}"#), lines(r#"{"pools": {"ga": 1}}"#));
    }

    #[test]
    fn bad_wishes_name_the_part_that_is_bad() {
        let cases = [
            (r#"{"pools": {"ga": 1, "vip": 0}}"#, "pools.vip"),
            (r#"{"pools": {"g a": 1}}"#, "pools"),
            (r#"{"seats": ["A-1", "A:1"]}"#, "seats[1]"),
            (r#"{"seats": ["A-1", "A-1"]}"#, "seats"),
            (r#"{"stays": [{"pool": "d", "from": "20260201", "nights": 1}]}"#, "stays[0].from"),
            (
                r#"{"stays": [{"pool": "d", "from": "2026-02-01", "nights": 401}]}"#,
                "stays[0].nights",
            ),
        ];
        for (json, field) in cases {
            let wish: WishBody<'_> = serde_json::from_str(json).unwrap();
            assert_eq!(wish.lines().unwrap_err().to_json()["field"], field, "{json}");
        }
    }

    #[test]
    fn bad_wishes_have_the_code_that_says_what_is_bad() {
        let cases = [
            (r#"{}"#, "INVALID_QUANTITY"),
            (r#"{"pools": {"ga": 0}}"#, "INVALID_QUANTITY"),
            (r#"{"pools": {"ga": -1}}"#, "INVALID_QUANTITY"),
            (r#"{"pools": {"ga": 1001}}"#, "INVALID_QUANTITY"),
            (r#"{"pools": {"ga": 99999999999999999999999}}"#, "INVALID_QUANTITY"),
            (r#"{"pools": {"ga": 1.5}}"#, "INVALID_BODY"),
            (r#"{"pools": {"ga": "1"}}"#, "INVALID_BODY"),
            (r#"{"pools": {"g a": 1}}"#, "INVALID_ID"),
            (r#"{"seats": ["A:1"]}"#, "INVALID_ID"),
            (r#"{"pools": {"ga": 600, "vip": 600}}"#, "INVALID_LINES"),
            (r#"{"seats": ["A-1", "A-1"]}"#, "INVALID_LINES"),
            (r#"{"seats": [], "pools": {}, "stays": []}"#, "INVALID_QUANTITY"),
            (r#"{"stays": [{"pool": "d", "from": "20260201", "nights": 1}]}"#, "INVALID_BODY"),
            (r#"{"stays": [{"pool": "d", "from": "0000-02-01", "nights": 1}]}"#, "INVALID_BODY"),
            (r#"{"stays": [{"pool": "d", "from": "9999-12-31", "nights": 2}]}"#, "ZONE_NOT_FOUND"),
            (r#"{"seats": ["A-1"], "price": 1}"#, "INVALID_BODY"),
            (r#"{"stays": [{"pool": "d", "from": "2026-02-30", "nights": 1}]}"#, "INVALID_BODY"),
            (
                r#"{"stays": [{"pool": "d", "from": "2026-02-01", "nights": 0}]}"#,
                "INVALID_QUANTITY",
            ),
            (r#"{"stays": [{"pool": "d", "from": "2026-02-01", "nights": 401}]}"#, "INVALID_LINES"),
        ];
        for (json, code) in cases {
            assert_eq!(lines(json), Err(code), "{json}");
        }
        // A body has room for a thousand such stays: none is written out once there are too many.
        let two = r#"{"stays": [{"pool": "d", "from": "2026-02-01", "nights": 400},
            {"pool": "d", "from": "not looked at", "nights": 400}]}"#;
        assert_eq!(lines(two), Err("INVALID_LINES"));
    }
}
