//! Whole numbers as JSON has them: `2` and `2.0` are the same number.

use serde::de::{self, Unexpected};
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;
use std::marker::PhantomData;

/// A whole number of type `T`, however it is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Whole<T>(pub T);

impl<'de, T: TryFrom<i64>> Deserialize<'de> for Whole<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor<T>(PhantomData<T>);

        impl<T: TryFrom<i64>> Visitor<T> {
            fn convert<E: de::Error>(&self, wide: i64, as_written: Unexpected<'_>) -> Result<T, E> {
                T::try_from(wide).map_err(|_| E::invalid_value(as_written, self))
            }
        }

        impl<T: TryFrom<i64>> de::Visitor<'_> for Visitor<T> {
            type Value = T;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number in its range")
            }
            fn visit_i64<E: de::Error>(self, number: i64) -> Result<T, E> {
                self.convert(number, Unexpected::Signed(number))
            }
            fn visit_u64<E: de::Error>(self, number: u64) -> Result<T, E> {
                // What no `i64` holds is in no range of ours.
                let wide = i64::try_from(number)
                    .map_err(|_| E::invalid_value(Unexpected::Unsigned(number), &self))?;
                self.convert(wide, Unexpected::Unsigned(number))
            }
            fn visit_f64<E: de::Error>(self, number: f64) -> Result<T, E> {
                let wide = number as i64;
                // The conversion cuts; beyond 53 bits a double does not say which whole number was meant.
                if wide as f64 == number && wide.unsigned_abs() < 1 << 53 {
                    self.convert(wide, Unexpected::Float(number))
                } else {
                    Err(E::invalid_type(Unexpected::Float(number), &self))
                }
            }
        }
        deserializer.deserialize_any(Visitor(PhantomData)).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_number_may_be_written_with_a_point_but_must_fit() {
        let parse = |text: &str| serde_json::from_str::<Whole<u8>>(text).ok().map(|whole| whole.0);
        assert_eq!(parse("2"), Some(2));
        assert_eq!(parse("2.0"), Some(2));
        assert!(serde_json::from_str::<Whole<i64>>("-9223372036854775809").is_err());
        for text in ["2.5", "256", "-1", "1e300", "99999999999999999999", "\"2\"", "null"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
