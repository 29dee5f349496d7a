//! When a certificate begins and ends: the one thing in it that rustls does not tell.
//!
//! Reads DER (X.690) as far as RFC 5280, section 4.1, puts the two dates, and no further.

use std::time::{Duration, SystemTime};

/// From when to when a certificate is valid, in seconds since the epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Validity {
    /// Its first second.
    pub not_before_s: i64,
    /// Its last second.
    pub not_after_s: i64,
}

/// Tags of what stands before the dates, and of the two ways to write a date.
const SEQUENCE: u8 = 0x30;
const VERSION: u8 = 0xa0;
const INTEGER: u8 = 0x02;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;

impl Validity {
    /// Reads it in a certificate, in DER; `None` if it is none.
    #[must_use]
    pub fn of(certificate: &[u8]) -> Option<Self> {
        let mut certificate = Reader(certificate).expect(SEQUENCE)?;
        let mut signed = certificate.expect(SEQUENCE)?;
        if signed.0.first() == Some(&VERSION) {
            signed.expect(VERSION)?;
        }
        signed.expect(INTEGER)?;
        // The algorithm of the signature, and who signed.
        signed.expect(SEQUENCE)?;
        signed.expect(SEQUENCE)?;
        let mut dates = signed.expect(SEQUENCE)?;
        Some(Self { not_before_s: dates.date()?, not_after_s: dates.date()? })
    }

    /// Whether a moment is in it.
    #[must_use]
    pub fn has(&self, at: SystemTime) -> bool {
        (self.not_before_s..=self.not_after_s).contains(&epoch_s(at))
    }
}

/// A moment in seconds since the epoch; one before it is 0.
#[must_use]
pub fn epoch_s(at: SystemTime) -> i64 {
    let since = at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

/// What is left to be read.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// The next value's tag and what is in it.
    fn next(&mut self) -> Option<(u8, Self)> {
        let (&[tag, first], rest) = self.0.split_first_chunk()?;
        let (length, rest) = match first {
            0..=0x7f => (usize::from(first), rest),
            // So many bytes of length follow; a certificate needs no more than three.
            0x81..=0x83 => {
                let (bytes, rest) = rest.split_at_checked(usize::from(first - 0x80))?;
                (bytes.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)), rest)
            }
            _ => return None,
        };
        let (value, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some((tag, Self(value)))
    }

    fn expect(&mut self, tag: u8) -> Option<Self> {
        self.next().filter(|(found, _)| *found == tag).map(|(_, value)| value)
    }

    /// A date as RFC 5280 has it: with seconds, and in UTC.
    fn date(&mut self) -> Option<i64> {
        let (tag, Self(text)) = self.next()?;
        let text = text.strip_suffix(b"Z")?;
        let (year, rest) = match tag {
            UTC_TIME => {
                let (year, rest) = text.split_at_checked(2)?;
                let year = number(year)?;
                (if year < 50 { 2_000 + year } else { 1_900 + year }, rest)
            }
            GENERALIZED_TIME => {
                let (year, rest) = text.split_at_checked(4)?;
                (number(year)?, rest)
            }
            _ => return None,
        };
        let parts: Vec<i64> = rest.chunks(2).map(number).collect::<Option<_>>()?;
        let [month, day, hour, minute, second] = parts.try_into().ok()?;
        let is_one = (1..=12).contains(&month) && (1..=31).contains(&day);
        let of_day = hour * 3_600 + minute * 60 + second;
        is_one.then(|| days(year, month, day) * 86_400 + of_day)
    }
}

/// A number of decimal digits.
fn number(digits: &[u8]) -> Option<i64> {
    let plain = digits.len().is_multiple_of(2) && digits.iter().all(u8::is_ascii_digit);
    plain.then(|| digits.iter().fold(0, |number, digit| number * 10 + i64::from(digit - b'0')))
}

/// Days since the epoch. Years begin in March, so that the day that comes and goes is their last.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    // So many days were from the first March of the count to the epoch.
    365 * year + leap_days + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Pair;
    use onrush_testkit::Authority;

    fn date(tag: u8, text: &str) -> Option<i64> {
        let mut der = vec![tag, u8::try_from(text.len()).unwrap()];
        der.extend(text.as_bytes());
        Reader(&der).date()
    }

    #[test]
    fn dates_are_read_in_both_ways_of_writing_them() {
        for (tag, text, expected) in [
            (UTC_TIME, "700101000000Z", Some(0)),
            (UTC_TIME, "991231235959Z", Some(946_684_799)),
            (UTC_TIME, "000229120000Z", Some(951_825_600)),
            (UTC_TIME, "261125072101Z", Some(1_795_591_261)),
            (UTC_TIME, "491231235959Z", Some(2_524_607_999)),
            (UTC_TIME, "500101000000Z", Some(-631_152_000)),
            (GENERALIZED_TIME, "20500101000000Z", Some(2_524_608_000)),
            (GENERALIZED_TIME, "21000301000000Z", Some(4_107_542_400)),
            (GENERALIZED_TIME, "99991231235959Z", Some(253_402_300_799)),
            (UTC_TIME, "261125072101", None),
            (UTC_TIME, "2611250721Z", None),
            (UTC_TIME, "261325072101Z", None),
            (UTC_TIME, "26112507210aZ", None),
            (INTEGER, "261125072101Z", None),
        ] {
            assert_eq!(date(tag, text), expected, "{text}");
        }
    }

    #[test]
    fn the_dates_of_a_certificate_are_its_own_and_nothing_else_has_any() {
        let issued = Authority::new("ours").server();
        let pair = Pair::new(issued.cert.into(), issued.key.into()).unwrap();
        let (chain, _) = pair.parsed().unwrap();
        // From 2020 to 2200, as the testkit has it.
        let validity = Validity { not_before_s: 1_577_836_800, not_after_s: 7_258_118_400 };
        assert_eq!(Validity::of(&chain[0]), Some(validity));
        assert!(validity.has(SystemTime::now()) && !validity.has(SystemTime::UNIX_EPOCH));
        for length in 0..150 {
            assert_eq!(Validity::of(&chain[0][..length]), None);
        }
        assert_eq!(Validity::of(&[SEQUENCE, 0x84, 1, 1, 1, 1]), None);
    }
}
