//! The tax that prices and fees include, split out of them.

use crate::limits::MAX_TAX_NAME_CHARS;
use crate::money::{Currency, Rounding, share_minor};
use serde::{Deserialize, Serialize};

/// Basis points of a whole.
const WHOLE_BP: u32 = 10_000;

/// A tax that all prices and fees of an event include.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tax {
    /// What buyers know it by, such as `VAT`.
    pub name: Box<str>,
    /// The rate on the net amount, in basis points: 1900 is 19 %.
    pub rate_bp: u32,
}

/// An amount with its tax inside, and the two parts of it: `net_minor + tax_minor` is all of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Taxed {
    /// Tax included, in minor units.
    pub gross_minor: i64,
    /// What is left without the tax.
    pub net_minor: i64,
    /// The tax.
    pub tax_minor: i64,
}

impl Tax {
    /// Whether its name is one that can be shown: some characters on one line.
    #[must_use]
    pub fn has_name(&self) -> bool {
        let chars = self.name.chars().count();
        let is_one_line = !self.name.chars().any(char::is_control);
        !self.name.trim().is_empty() && chars <= MAX_TAX_NAME_CHARS && is_one_line
    }

    /// The amount split: the tax in it is `gross × rate ÷ (100 % + rate)`, to the nearest of the
    /// smallest amounts its currency has; the middle counts as the one above.
    ///
    /// The gateway's steps do not count: a tax is told and never paid by itself.
    #[must_use]
    pub fn split(&self, gross_minor: i64, currency: Currency) -> Taxed {
        let part = (self.rate_bp, WHOLE_BP + self.rate_bp);
        let step_minor = currency.step_minor();
        let tax_minor = share_minor(gross_minor, part, step_minor, Rounding::Nearest);
        // Of an amount that is no multiple of a step, from before there were steps, a step may be
        // more than there is.
        let tax_minor = tax_minor.min(gross_minor);
        Taxed { gross_minor, net_minor: gross_minor - tax_minor, tax_minor }
    }

    /// The parts of one amount, split so that their taxes add up to the tax of all of it, and none
    /// is further than a step from what it is by itself.
    ///
    /// Each has what the tax of all up to it is more than the tax of all before it. Amounts are
    /// multiples of the currency's step, as prices are that a gateway takes.
    pub fn split_all(
        &self,
        gross_minor: impl IntoIterator<Item = i64>,
        currency: Currency,
    ) -> impl Iterator<Item = Taxed> {
        let mut before = Taxed::default();
        gross_minor.into_iter().map(move |gross_minor| {
            let with = self.split(before.gross_minor + gross_minor, currency);
            let tax_minor = with.tax_minor - before.tax_minor;
            before = with;
            Taxed { gross_minor, net_minor: gross_minor - tax_minor, tax_minor }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::{MAX_PRICE_MINOR, MAX_TAX_BP};
    use proptest::prelude::*;

    fn vat(rate_bp: u32) -> Tax {
        Tax { name: "VAT".into(), rate_bp }
    }

    #[test]
    fn a_tax_is_split_out_to_the_nearest_amount_there_is() {
        for (currency, rate_bp, gross_minor, tax_minor) in [
            ("EUR", 1_900, 11_900, 1_900),
            ("EUR", 1_900, 100, 16),
            // 0.5 of a cent counts as one, a little less as none.
            ("EUR", 10_000, 1, 1),
            ("EUR", 9_999, 1, 0),
            ("EUR", 700, 0, 0),
            ("EUR", 0, 5_000, 0),
            ("VND", 800, 108_000, 8_000),
            // Fifths of an ariary: 20 minor units are the smallest there is.
            ("MGA", 2_000, 600, 100),
            ("MGA", 2_000, 540, 100),
            ("MGA", 2_000, 7, 0),
            ("MGA", 10_000, 25, 20),
        ] {
            let split = vat(rate_bp).split(gross_minor, currency.parse().unwrap());
            let net_minor = gross_minor - tax_minor;
            let expected = Taxed { gross_minor, net_minor, tax_minor };
            assert_eq!(split, expected, "{gross_minor} {currency} at {rate_bp}");
        }
    }

    #[test]
    fn equal_lines_share_the_cents_of_the_whole() {
        let currency = "EUR".parse().unwrap();
        let taxes: Vec<i64> =
            vat(1_900).split_all([1_000; 3], currency).map(|line| line.tax_minor).collect();
        assert_eq!(
            (taxes, vat(1_900).split(3_000, currency).tax_minor),
            (vec![160, 159, 160], 479)
        );
    }

    proptest! {
        #[test]
        fn parts_add_up_to_the_whole_and_each_is_as_near_as_can_be(
            steps in prop::collection::vec(0..=MAX_PRICE_MINOR / 20, 1..40),
            rate_bp in 0..=MAX_TAX_BP,
            is_in_fifths: bool,
        ) {
            let currency: Currency = if is_in_fifths { "MGA" } else { "EUR" }.parse().unwrap();
            let step_minor = currency.step_minor();
            let gross: Vec<i64> = steps.iter().map(|steps| steps * step_minor).collect();
            let tax = vat(rate_bp);
            let parts: Vec<Taxed> = tax.split_all(gross.iter().copied(), currency).collect();
            let whole = tax.split(gross.iter().sum(), currency);
            prop_assert_eq!(parts.iter().map(|part| part.tax_minor).sum::<i64>(), whole.tax_minor);
            prop_assert_eq!(parts.iter().map(|part| part.net_minor).sum::<i64>(), whole.net_minor);
            for (part, gross_minor) in parts.iter().zip(gross) {
                prop_assert_eq!(part.gross_minor, gross_minor);
                prop_assert_eq!(part.net_minor + part.tax_minor, gross_minor);
                prop_assert!(part.tax_minor >= 0 && part.net_minor >= 0, "{part:?}");
                prop_assert_eq!(part.tax_minor % step_minor, 0);
                let alone = tax.split(gross_minor, currency).tax_minor;
                prop_assert!((part.tax_minor - alone).abs() <= step_minor, "{part:?} {alone}");
            }
        }
    }
}
