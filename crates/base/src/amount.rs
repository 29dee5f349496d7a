//! Amounts as people write them.

use onrush_core::money::Currency;

/// How many decimals a currency's minor unit has (ISO 4217); `None` if it is no currency with a minor unit.
#[must_use]
pub fn decimals(currency: Currency) -> Option<u32> {
    iso_currency::Currency::from_code(currency.as_str())?.exponent().map(u32::from)
}

/// An amount with its currency's decimals: `12.50 EUR`, `1250 JPY`, `1.250 KWD`. A currency that
/// ISO 4217 does not have is taken to have two.
#[must_use]
pub fn readable(amount_minor: i64, currency: Currency) -> String {
    let digits = decimals(currency).unwrap_or(2);
    let sign = if amount_minor < 0 { "-" } else { "" };
    let (amount, unit) = (amount_minor.unsigned_abs(), 10_u64.pow(digits));
    let (whole, rest) = (amount / unit, amount % unit);
    match digits {
        0 => format!("{sign}{whole} {currency}"),
        _ => format!("{sign}{whole}.{rest:0width$} {currency}", width = digits as usize),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Map, Value, json};

    /// Browsers have tables of their own, in which several currencies lost their decimals: the
    /// rupiah, the forint, the Iraqi dinar. Two and one stand for whatever the file does not name.
    #[test]
    fn pages_count_each_currency_as_the_server_does() {
        let letters = || b'A'..=b'Z';
        let codes = letters().flat_map(|a| letters().map(move |b| (a, b)));
        let codes = codes.flat_map(|(a, b)| letters().map(move |c| [a, b, c]));
        let (mut decimals_of, mut step_minor_of) = (Map::new(), Map::new());
        for code in codes.map(|code| String::from_utf8(code.into()).unwrap()) {
            let currency: Currency = code.parse().unwrap();
            if let Some(decimals) = decimals(currency).filter(|decimals| *decimals != 2) {
                decimals_of.insert(code.clone(), Value::from(decimals));
            }
            if currency.step_minor() != 1 {
                step_minor_of.insert(code, Value::from(currency.step_minor()));
            }
        }
        let table = json!({"decimals": decimals_of, "step_minor": step_minor_of});
        let text = serde_json::to_string_pretty(&table).unwrap() + "\n";
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../web/src/lib/currencies.json");
        if std::env::var_os("ONRUSH_WRITE_GOLDEN").is_some() {
            std::fs::write(file, &text).unwrap();
        }
        let there = std::fs::read_to_string(file).unwrap();
        assert_eq!(there, text, "run this test once with ONRUSH_WRITE_GOLDEN=1, and commit {file}");
    }

    #[test]
    fn amounts_have_their_currencys_decimals() {
        for (amount_minor, currency, text) in [
            (1_250, "EUR", "12.50 EUR"),
            (5, "EUR", "0.05 EUR"),
            (-5, "EUR", "-0.05 EUR"),
            (1_250, "JPY", "1250 JPY"),
            (1_250, "KWD", "1.250 KWD"),
            (0, "THB", "0.00 THB"),
            (i64::MIN, "JPY", "-9223372036854775808 JPY"),
        ] {
            assert_eq!(readable(amount_minor, currency.parse().unwrap()), text);
        }
    }
}
