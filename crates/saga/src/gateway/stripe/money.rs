//! Amounts as Stripe counts them, which is not always in ISO 4217's minor units.
//!
//! Source: <https://docs.stripe.com/currencies>, "Supported presentment currencies", "Zero-decimal
//! currencies", "Three-decimal currencies", "Special cases" and "Minimum and maximum charge
//! amounts", as they stood in 2025.

use crate::gateway::takes::Takes;
use onrush_base::amount;
use onrush_core::money::Currency;

/// Currencies that are counted whole.
const ZERO_DECIMAL: [&str; 15] = [
    "BIF", "CLP", "DJF", "GNF", "JPY", "KMF", "KRW", "MGA", "PYG", "RWF", "VND", "VUV", "XAF",
    "XOF", "XPF",
];
/// Currencies that have no decimals any more, and are counted in hundredths as they used to be.
const FORMERLY_TWO_DECIMAL: [&str; 2] = ["ISK", "UGX"];
/// Currencies that are counted in thousandths, of which the last digit must be 0.
const THREE_DECIMAL: [&str; 5] = ["BHD", "JOD", "KWD", "OMR", "TND"];

/// Currencies that buyers can be charged in, beside those with three decimals. Which of them an
/// account may use depends on its country too.
const PRESENTMENT: &str = "AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BIF BMD BND BOB \
    BRL BSD BWP BYN BZD CAD CDF CHF CLP CNY COP CRC CVE CZK DJF DKK DOP DZD EGP ETB EUR FJD FKP \
    GBP GEL GIP GMD GNF GTQ GYD HKD HNL HTG HUF IDR ILS INR ISK JMD JPY KES KGS KHR KMF KRW KYD \
    KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK \
    NPR NZD PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR SEK SGD SHP SLE SOS SRD \
    STD SZL THB TJS TOP TRY TTD TWD TZS UAH UGX USD UYU UZS VND VUV WST XAF XCD XCG XOF XPF YER \
    ZAR ZMW";
/// The least that is charged, in Stripe's units. It is one of the currency that the account is paid
/// out in: where that is another, Stripe converts, and may want more. A currency that is not here
/// has no least of its own.
const LEAST: [(&str, i64); 24] = [
    ("USD", 50),
    ("AED", 200),
    ("AUD", 50),
    ("BGN", 100),
    ("BRL", 50),
    ("CAD", 50),
    ("CHF", 50),
    ("CZK", 1_500),
    ("DKK", 250),
    ("EUR", 50),
    ("GBP", 30),
    ("HKD", 400),
    ("HUF", 17_500),
    ("INR", 50),
    ("JPY", 50),
    ("MXN", 1_000),
    ("MYR", 200),
    ("NOK", 300),
    ("NZD", 50),
    ("PLN", 200),
    ("RON", 200),
    ("SEK", 300),
    ("SGD", 50),
    ("THB", 1_000),
];
/// How many digits an amount has at most, in Stripe's units: by cards, which take most.
const DIGITS: [(&str, u32); 6] =
    [("COP", 10), ("HUF", 10), ("IDR", 12), ("INR", 9), ("JPY", 10), ("LBP", 11)];
const OTHER_DIGITS: u32 = 8;

/// What Stripe takes of a currency, in minor units.
///
/// # Errors
/// A sentence that says why it takes none.
pub fn takes(currency: Currency) -> Result<Takes, String> {
    let code = currency.as_str();
    let unknown = || {
        format!(
            "Stripe does not take {code}; use a currency of docs.stripe.com/currencies, such as EUR, or a \
             server with another gateway"
        )
    };
    if !PRESENTMENT.split_whitespace().any(|known| known == code) && !THREE_DECIMAL.contains(&code)
    {
        return Err(unknown());
    }
    let iso_decimals = amount::decimals(currency).ok_or_else(unknown)?;
    let (decimals, ends_in_zero) = counting(currency, iso_decimals).ok_or_else(unknown)?;
    let find = |of: &str| of == code;
    let least = LEAST.iter().find(|(of, _)| find(of)).map_or(1, |(_, least)| *least);
    let digits = DIGITS.iter().find(|(of, _)| find(of)).map_or(OTHER_DIGITS, |(_, digits)| *digits);
    let most = 10_i64.pow(digits) - 1;
    // One of Stripe's units in minor units, and the other way round: one of both is 1.
    let (up, down) = (
        10_i64.pow(iso_decimals.saturating_sub(decimals)),
        10_i64.pow(decimals.saturating_sub(iso_decimals)),
    );
    let step_minor = if ends_in_zero { 10 } else { up };
    let least_minor = (least * up).div_euclid(down).max(step_minor);
    let most_minor = (most * up).div_euclid(down);
    Ok(Takes { least_minor, most_minor: most_minor - most_minor % step_minor, step_minor })
}

/// How many decimals Stripe counts with, and whether its last digit must be 0.
fn counting(currency: Currency, iso_decimals: u32) -> Option<(u32, bool)> {
    let code = currency.as_str();
    if ZERO_DECIMAL.contains(&code) {
        Some((0, false))
    } else if FORMERLY_TWO_DECIMAL.contains(&code) {
        Some((2, false))
    } else if THREE_DECIMAL.contains(&code) {
        Some((3, true))
    } else {
        // HUF and TWD are whole only when Stripe pays out; charges have their two decimals.
        (iso_decimals == 2).then_some((2, false))
    }
}

fn scaled(amount: i64, from: u32, to: u32) -> Option<i64> {
    if to >= from {
        return amount.checked_mul(10_i64.checked_pow(to - from)?);
    }
    let divisor = 10_i64.checked_pow(from - to)?;
    (amount % divisor == 0).then_some(amount / divisor)
}

/// What Stripe calls an amount; `None` if it has no way to express it.
#[must_use]
pub fn to_stripe(amount_minor: i64, currency: Currency) -> Option<i64> {
    let iso_decimals = amount::decimals(currency)?;
    let (decimals, ends_in_zero) = counting(currency, iso_decimals)?;
    let amount = scaled(amount_minor, iso_decimals, decimals)?;
    (amount > 0 && (!ends_in_zero || amount % 10 == 0)).then_some(amount)
}

/// What amounts of a currency must be multiples of for Stripe to express them, in minor units; 1
/// where it has no such currency at all.
#[must_use]
pub fn step_minor(currency: Currency) -> i64 {
    let counting = amount::decimals(currency).and_then(|iso| Some((iso, counting(currency, iso)?)));
    let Some((iso_decimals, (decimals, ends_in_zero))) = counting else { return 1 };
    let last = if ends_in_zero { 10 } else { 1 };
    10_i64.pow(iso_decimals.saturating_sub(decimals)) * last
}

/// What an amount of Stripe's is in minor units, and its currency; `None` if that cannot be told.
#[must_use]
pub fn from_stripe(amount: i64, currency: &str) -> Option<(i64, Currency)> {
    let currency: Currency = currency.to_ascii_uppercase().parse().ok()?;
    let iso_decimals = amount::decimals(currency)?;
    let (decimals, _) = counting(currency, iso_decimals)?;
    // Money that went back is told as an amount of its own, never as one below nothing.
    let amount_minor = scaled(amount, decimals, iso_decimals)?;
    (amount_minor >= 0).then_some((amount_minor, currency))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amount_below_nothing_is_none() {
        assert_eq!(from_stripe(0, "eur").map(|(amount_minor, _)| amount_minor), Some(0));
        assert_eq!(from_stripe(-1_250, "eur"), None);
    }

    #[test]
    fn amounts_are_counted_as_stripe_does() {
        for (amount_minor, code, expected) in [
            (1_250, "EUR", Some(1_250)),
            (1_250, "THB", Some(1_250)),
            (1_045, "HUF", Some(1_045)),
            (80_045, "TWD", Some(80_045)),
            (500, "JPY", Some(500)),
            (500, "VND", Some(500)),
            // ISO 4217 gives the ariary two decimals, and Stripe none.
            (500, "MGA", Some(5)),
            (550, "MGA", None),
            (5, "ISK", Some(500)),
            (5, "UGX", Some(500)),
            (5_120, "KWD", Some(5_120)),
            (5_124, "KWD", None),
            // Three decimals that Stripe does not have.
            (5_120, "IQD", None),
            (5_120, "LYD", None),
            (1, "CLF", None),
            (1, "XAU", None),
            (1, "QQQ", None),
            (0, "EUR", None),
            (-1, "EUR", None),
            (i64::MAX, "ISK", None),
        ] {
            let currency = code.parse().unwrap();
            assert_eq!(to_stripe(amount_minor, currency), expected, "{amount_minor} {code}");
            if let Some(amount) = expected {
                let back = from_stripe(amount, &code.to_ascii_lowercase());
                assert_eq!(back, Some((amount_minor, currency)), "{amount} {code}");
            }
        }
    }

    #[test]
    fn every_step_can_be_expressed_and_nothing_between() {
        for (code, step) in [
            ("EUR", 1),
            ("JPY", 1),
            ("ISK", 1),
            ("UGX", 1),
            ("BHD", 10),
            ("JOD", 10),
            ("KWD", 10),
            ("OMR", 10),
            ("TND", 10),
            ("MGA", 100),
            ("IQD", 1),
        ] {
            let currency: Currency = code.parse().unwrap();
            assert_eq!(step_minor(currency), step, "{code}");
            assert_eq!(
                step % currency.step_minor(),
                0,
                "{code}: the currency's own steps count, too"
            );
            for amount_minor in 1..=2 * step {
                let expressible = to_stripe(amount_minor, currency).is_some();
                let has_it = code != "IQD";
                assert_eq!(
                    expressible,
                    has_it && amount_minor % step == 0,
                    "{amount_minor} {code}"
                );
            }
        }
    }

    #[test]
    fn what_is_taken_of_a_currency_is_told_in_minor_units() {
        for (code, expected) in [
            ("EUR", Some((50, 99_999_999, 1))),
            ("GBP", Some((30, 99_999_999, 1))),
            ("JPY", Some((50, 9_999_999_999, 1))),
            ("IDR", Some((1, 999_999_999_999, 1))),
            ("ISK", Some((1, 999_999, 1))),
            ("KWD", Some((10, 99_999_990, 10))),
            ("MGA", Some((100, 9_999_999_900, 100))),
            ("IQD", None),
            ("LYD", None),
            ("CLF", None),
            ("XAU", None),
            ("ZZZ", None),
            ("KPW", None),
        ] {
            let found = takes(code.parse().unwrap());
            let found = found.map(|it| (it.least_minor, it.most_minor, it.step_minor));
            assert_eq!(found.ok(), expected, "{code}");
        }
        for (code, _) in LEAST {
            let currency = code.parse().unwrap();
            let Takes { least_minor, most_minor, step_minor } = takes(currency).unwrap();
            for minor in [least_minor, most_minor, least_minor + step_minor] {
                assert!(to_stripe(minor, currency).is_some(), "{minor} {code}");
            }
        }
    }

    #[test]
    fn amounts_of_stripe_that_we_cannot_have_are_none() {
        assert_eq!(from_stripe(501, "isk"), None);
        assert_eq!(from_stripe(100, "qqq"), None);
        assert_eq!(from_stripe(100, "euro"), None);
    }
}
