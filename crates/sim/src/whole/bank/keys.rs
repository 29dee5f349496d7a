//! The keys that the server asks for refunds under. As at real gateways each stands for one refund: whoever
//! asks for another one under it is refused.

use onrush_core::ids::PaymentId;
use std::collections::BTreeMap;

/// What each key stands for.
#[derive(Default)]
pub(super) struct Keys {
    /// Of which payment how much was asked for first.
    first: BTreeMap<String, (PaymentId, i64)>,
    /// What else was asked for under one of them, a sentence each.
    reused: Vec<String>,
    /// Whether the server's files have come back for good.
    has_lost: bool,
}

impl Keys {
    /// The server's files have come back for good: what it asked for before it may not know. A real gateway
    /// refuses then as well, and an operator adds up; here is none, so that it is told what was made.
    pub(super) fn forgive(&mut self) {
        self.has_lost = true;
    }

    /// Whether a refund may be asked for under a key; notes it if something else was before.
    pub(super) fn admit(&mut self, key: &str, payment: &PaymentId, amount_minor: i64) -> bool {
        let asked = (payment.clone(), amount_minor);
        let first = self.first.entry(key.to_owned()).or_insert_with(|| asked.clone());
        if *first == asked || self.has_lost {
            return true;
        }
        let (of, first_minor) = first;
        self.reused.push(format!(
            "{key} was asked for {first_minor} of {of}, and again for {amount_minor} of {payment}"
        ));
        false
    }

    /// What was asked for under keys that stand for something else, a sentence each.
    pub(super) fn reused(&self) -> Vec<String> {
        self.reused.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_stands_for_one_refund_until_files_come_back_for_good() {
        let payment = |id: &str| id.parse::<PaymentId>().expect("an id");
        let (one, other) = (payment("sale.1.000000000001"), payment("sale.1.000000000002"));
        let mut keys = Keys::default();
        assert!(keys.admit("refund:sale.1:1", &one, 1_500));
        assert!(keys.admit("refund:sale.1:1", &one, 1_500));
        assert!(keys.admit("refund:sale.1:2", &one, 2_000));
        assert!(keys.reused().is_empty());
        assert!(!keys.admit("refund:sale.1:1", &one, 2_000));
        assert!(!keys.admit("refund:sale.1:1", &other, 1_500));
        assert_eq!(keys.reused().len(), 2);
        keys.forgive();
        assert!(keys.admit("refund:sale.1:1", &other, 2_500));
        assert_eq!(keys.reused().len(), 2);
    }
}
