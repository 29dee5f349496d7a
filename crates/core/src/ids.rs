//! Ids: short texts of `[A-Za-z0-9._-]`, one type for each thing they name.
//!
//! No colon and no brace is allowed, because ids build keys in other systems.

use crate::limits::{MAX_EVENT_ID_BYTES, MAX_ID_BYTES};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// Why a text is not an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidId {
    /// What the id would have named, as in "event id".
    pub what: &'static str,
    /// How many bytes it may have at most.
    pub max_bytes: usize,
}

impl fmt::Display for InvalidId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, max_bytes } = self;
        write!(f, "{what}: use 1 to {max_bytes} of the characters A-Z a-z 0-9 . _ -")
    }
}

impl std::error::Error for InvalidId {}

fn is_id(text: &str, max_bytes: usize) -> bool {
    (1..=max_bytes).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'))
}

/// As many bytes as fit beside a length and a tag in 40 bytes: a UUID with its hyphens has 36.
const SHORT_BYTES: usize = 38;

/// An id's text. Up to 38 bytes are stored in place: a waiting visitor's id then needs no
/// allocation of its own.
#[derive(Clone, PartialEq, Eq)]
enum IdText {
    Short { len: u8, bytes: [u8; SHORT_BYTES] },
    Long(Box<str>),
}

impl From<&str> for IdText {
    fn from(text: &str) -> Self {
        if text.len() > SHORT_BYTES {
            return Self::Long(text.into());
        }
        let mut bytes = [0; SHORT_BYTES];
        bytes[..text.len()].copy_from_slice(text.as_bytes());
        Self::Short { len: text.len() as u8, bytes }
    }
}

impl IdText {
    fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Short { len, bytes } => &bytes[..usize::from(*len)],
            Self::Long(text) => text.as_bytes(),
        }
    }
}

impl std::ops::Deref for IdText {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Self::Short { .. } => std::str::from_utf8(self.as_bytes()).expect("an id is ASCII"),
            Self::Long(text) => text,
        }
    }
}

impl PartialOrd for IdText {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for IdText {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        // Texts sort as their bytes do, and bytes need no look at whether they are text.
        self.as_bytes().cmp(other.as_bytes())
    }
}

impl std::hash::Hash for IdText {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($inner:ty), $what:literal, $max:expr) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name($inner);

        impl $name {
            /// The id as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = InvalidId;

            fn from_str(text: &str) -> Result<Self, InvalidId> {
                if is_id(text, $max) {
                    Ok(Self(text.into()))
                } else {
                    Err(InvalidId { what: $what, max_bytes: $max })
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl std::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Visitor;
                impl de::Visitor<'_> for Visitor {
                    type Value = $name;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        write!(f, "{}", InvalidId { what: $what, max_bytes: $max })
                    }
                    fn visit_str<E: de::Error>(self, text: &str) -> Result<$name, E> {
                        text.parse().map_err(E::custom)
                    }
                }
                deserializer.deserialize_str(Visitor)
            }
        }
    };
}

id!(
    /// What is on sale: one show, one hotel's season, one campaign. Shared, so that cloning is cheap.
    EventId(Arc<str>), "event id", MAX_EVENT_ID_BYTES
);
id!(
    /// Countable stock within an event: a standing zone, a room-night, a voucher.
    PoolId(Arc<str>), "pool id", MAX_ID_BYTES
);
id!(
    /// One channel (allotment) of an event.
    ChannelId(Arc<str>), "channel id", MAX_ID_BYTES
);
id!(
    /// One ticket type of a pool or a price category.
    TypeId(Arc<str>), "ticket type id", MAX_ID_BYTES
);
id!(
    /// One seat within an event.
    SeatId(Arc<str>), "seat id", MAX_ID_BYTES
);
id!(
    /// A visitor. Stored once in each event the visitor has to do with.
    UserId(IdText), "user id", MAX_ID_BYTES
);
id!(
    /// One booking: the caller names it, so that a retry is recognised.
    BookingId(IdText), "booking id", MAX_ID_BYTES
);
id!(
    /// One claim, declaim or adjustment of claimed stock: its request id.
    ClaimId(Box<str>), "claim id", MAX_ID_BYTES
);
id!(
    /// One payment attempt, as the gateway calls it.
    PaymentId(Box<str>), "payment id", MAX_ID_BYTES
);

macro_rules! bits {
    ($(#[$doc:meta])* $name:ident, $what:literal) => {
        $(#[$doc])*
        ///
        /// Kept as two halves, so that a record that has one is aligned to eight bytes.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name([u64; 2]);

        impl $name {
            /// The one with these 128 bits.
            #[must_use]
            pub const fn from_u128(bits: u128) -> Self {
                Self([(bits >> 64) as u64, bits as u64])
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:016x}{:016x}", self.0[0], self.0[1])
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = InvalidId;

            fn from_str(text: &str) -> Result<Self, InvalidId> {
                let wrong = InvalidId {
                    what: concat!($what, " (32 lowercase hexadecimal digits)"),
                    max_bytes: 32,
                };
                halves(text).map(Self).ok_or(wrong)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
                text.parse().map_err(de::Error::custom)
            }
        }
    };
}

bits!(
    /// A place in the queue: 128 bits, written as 32 hexadecimal digits.
    PlaceId, "place id"
);
bits!(
    /// A payer of one event: 128 bits, written as 32 hexadecimal digits. Whoever makes them derives
    /// them with a secret key from the event and from an e-mail address or a card, and neither can be
    /// had from them again.
    PayerId, "payer id"
);
bits!(
    /// One scan of a ticket at the door: 128 bits, written as 32 hexadecimal digits. Whoever makes
    /// them derives them from the ticket, the scanner's key and the key of its request, so that the
    /// same request has the same one.
    ScanId, "scan id"
);
bits!(
    /// One request for more time: 128 bits, written as 32 hexadecimal digits. Whoever makes them derives
    /// them from the booking and the key of the request, so that the same request has the same one.
    ExtensionId, "extension id"
);

/// The two halves that 32 lowercase hexadecimal digits write; `None` for any other text.
fn halves(text: &str) -> Option<[u64; 2]> {
    let is_digit = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    if text.len() != 32 || !text.bytes().all(is_digit) {
        return None;
    }
    let half = |part: &str| u64::from_str_radix(part, 16).ok();
    Some([half(&text[..16])?, half(&text[16..])?])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hash::{BuildHasher, Hash};

    fn hash(it: &(impl Hash + ?Sized)) -> u64 {
        foldhash::fast::FixedState::default().hash_one(it)
    }

    #[test]
    fn ids_of_up_to_38_bytes_need_no_memory_of_their_own() {
        let is_short = |len| matches!(IdText::from(&*"x".repeat(len)), IdText::Short { .. });
        assert_eq!([1, 37, 38, 39].map(is_short), [true, true, true, false]);
    }

    #[test]
    fn an_id_sorts_and_hashes_as_its_text_does() {
        let texts = ["-", "0", "a", &"a".repeat(38), &"a".repeat(39), "ab", "b"];
        let ids: Vec<UserId> = texts.iter().map(|text| text.parse().unwrap()).collect();
        assert!(ids.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(ids.windows(2).all(|pair| pair[1] > pair[0]));
        let hashes: Vec<u64> = ids.iter().map(hash).collect();
        assert_eq!(hashes, texts.map(hash));
        assert!(hashes.windows(2).all(|pair| pair[0] != pair[1]));
    }

    #[test]
    fn what_is_no_id_is_told_what_to_use() {
        for text in ["", "a b", "a:b", "{a}", "\u{e9}", &"x".repeat(MAX_ID_BYTES + 1)] {
            let error = text.parse::<PoolId>().expect_err(text);
            let sentence = "pool id: use 1 to 128 of the characters A-Z a-z 0-9 . _ -";
            assert_eq!(error.to_string(), sentence);
        }
        assert!("x".repeat(MAX_ID_BYTES).parse::<PoolId>().is_ok());
        let number = serde_json::from_str::<PoolId>("7").expect_err("no text");
        assert!(number.to_string().contains("expected pool id: use 1 to 128"), "{number}");
    }

    #[test]
    fn bits_are_32_lowercase_hexadecimal_digits() {
        let digits = "00000000000000ff0000000000000a01";
        let place: PlaceId = digits.parse().unwrap();
        assert_eq!(
            (place, place.to_string()),
            (PlaceId::from_u128(0xff << 64 | 0xa01), digits.into())
        );
        for text in
            ["", "ff", &digits.replace('f', "F"), &digits.replace('f', "g"), &"0".repeat(33)]
        {
            assert!(text.parse::<PlaceId>().is_err(), "{text:?}");
        }
    }
}
