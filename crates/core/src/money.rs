//! Money: integer minor units of one currency. There are no floats here.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::fmt;
use std::str::FromStr;

/// An ISO 4217 currency code, such as `THB`.
///
/// Which codes exist is the edge's business; the rules only keep amounts of one currency together.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Currency([u8; 3]);

/// The text is not three capital letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotACurrency;

impl fmt::Display for NotACurrency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a currency is three capital letters, such as EUR")
    }
}

impl std::error::Error for NotACurrency {}

impl Currency {
    /// The smallest amount there is of this currency, in minor units: all amounts are multiples of it.
    ///
    /// ISO 4217 gives the ariary and the ouguiya two decimals, and both are divided into fifths.
    #[must_use]
    pub fn step_minor(&self) -> i64 {
        match self.as_str() {
            "MGA" | "MRU" => 20,
            _ => 1,
        }
    }

    /// The code as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("a currency is three ASCII letters")
    }
}

/// Which way a share of an amount is rounded that lies between two steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// To the next step above: in favour of whoever gets it.
    Up,
    /// To the nearest step; the middle counts as the one above.
    Nearest,
}

/// A share of an amount, in whole steps: `amount × part ÷ whole`.
///
/// Amount, part and step are what limits allow, so that the share is an amount as well.
#[must_use]
pub fn share_minor(
    amount_minor: i64,
    (part, whole): (u32, u32),
    step_minor: i64,
    rounding: Rounding,
) -> i64 {
    let divisor = i128::from(whole) * i128::from(step_minor);
    let more = match rounding {
        Rounding::Up => divisor - 1,
        Rounding::Nearest => divisor / 2,
    };
    let steps = (i128::from(amount_minor) * i128::from(part) + more).div_euclid(divisor);
    let share_minor = steps * i128::from(step_minor);
    i64::try_from(share_minor).expect("a share of an amount, and a step, fit")
}

impl FromStr for Currency {
    type Err = NotACurrency;

    fn from_str(text: &str) -> Result<Self, NotACurrency> {
        match text.as_bytes() {
            &[a, b, c] if [a, b, c].iter().all(u8::is_ascii_uppercase) => Ok(Self([a, b, c])),
            _ => Err(NotACurrency),
        }
    }
}

impl fmt::Display for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Currency {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Currency {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}
