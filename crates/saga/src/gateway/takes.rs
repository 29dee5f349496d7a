//! What amounts a gateway takes, and what is wrong with a price that it does not.

use onrush_base::amount::readable;
use onrush_core::money::Currency;
use onrush_core::settings::Fees;

/// What amounts of one currency a gateway takes, in minor units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Takes {
    /// The least.
    pub least_minor: i64,
    /// The most.
    pub most_minor: i64,
    /// Every amount is a multiple of this.
    pub step_minor: i64,
}

impl Takes {
    /// What is wrong with the price of one unit, as the end of a sentence that begins with what
    /// costs it; `None` if nothing is. What is free of charge never comes to a gateway.
    ///
    /// Of a booking of several units only the most can be more than is taken; that the gateway refuses then.
    #[must_use]
    pub fn complaint(
        &self,
        gateway: &str,
        currency: Currency,
        price_minor: i64,
        fees: &Fees,
    ) -> Option<String> {
        if price_minor == 0 {
            return None;
        }
        let cost = |minor| readable(minor, currency);
        let total_minor = price_minor.saturating_add(fees.on_minor(price_minor));
        let told = cost(total_minor);
        if total_minor < self.least_minor {
            let least = cost(self.least_minor);
            return Some(format!(
                "{told} with fees is less than {gateway} takes, which is {least} at least; use a higher \
                 price, or 0 for free of charge"
            ));
        }
        if total_minor > self.most_minor {
            let most = cost(self.most_minor);
            return Some(format!(
                "{told} with fees is more than {gateway} takes, which is {most} at most; use a lower price"
            ));
        }
        let steps = i128::from(self.step_minor);
        let share = i128::from(price_minor) * i128::from(fees.percent_bp);
        let whole = price_minor % self.step_minor == 0
            && fees.fixed_minor % self.step_minor == 0
            && (self.step_minor == 1 || share % (10_000 * steps) == 0);
        (!whole).then(|| {
            let step = cost(self.step_minor);
            format!(
                "{gateway} takes {currency} in steps of {step} only; use a price, and fees on it, that are \
                 multiples of {step}"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_with_their_fees_are_within_what_is_taken_and_a_multiple_of_the_step() {
        let takes = Takes { least_minor: 50, most_minor: 1_000, step_minor: 10 };
        for (price_minor, fixed_minor, percent_bp, said) in [
            (0, 7, 3, None),
            (50, 0, 0, None),
            (40, 0, 0, Some("0.040 KWD with fees is less")),
            (40, 10, 0, None),
            (1_000, 0, 0, None),
            (1_000, 10, 0, Some("1.010 KWD with fees is more")),
            (55, 0, 0, Some("steps of 0.010 KWD")),
            (60, 5, 0, Some("steps of 0.010 KWD")),
            (100, 0, 1_000, None),
            (100, 0, 250, Some("steps of 0.010 KWD")),
        ] {
            let fees = Fees { fixed_minor, percent_bp };
            let found = takes.complaint("it", "KWD".parse().unwrap(), price_minor, &fees);
            match said {
                None => assert_eq!(found, None),
                Some(said) => {
                    assert!(found.as_ref().is_some_and(|why| why.contains(said)), "{found:?}")
                }
            }
        }
    }
}
