//! Payment methods that are kept away from buyers.

/// Payment methods that answer after days: bank debits, bank transfers and vouchers. No hold waits that
/// long.
///
/// The order stays as it is. A payment whose answer was lost is asked for again under its key, by a
/// newer node perhaps, and Stripe refuses a key that comes with other parameters: each method is one,
/// with its number in this list.
///
/// Source: <https://docs.stripe.com/payments/payment-methods>, "Bank debits", "Bank transfers",
/// "Vouchers": delayed notification. Only names that this version of the API knows can be excluded.
const DELAYED_METHODS: [&str; 12] = [
    "acss_debit",
    "au_becs_debit",
    "bacs_debit",
    "boleto",
    "customer_balance",
    "konbini",
    "multibanco",
    "nz_bank_account",
    "oxxo",
    "sepa_debit",
    "sofort",
    "us_bank_account",
];
/// Those of them with which the buyer does all of their part at once. The payment is `processing` until
/// the bank answers, which nobody can call off.
///
/// With the others a payment may wait for its buyer for days, and such a one is called off with its
/// hold: until they have paid a voucher or made a transfer, or, with `acss_debit` and `us_bank_account`,
/// until they have told which small sum came to their account, if it cannot be verified at once.
///
/// Source: <https://docs.stripe.com/payments/ach-direct-debit>,
/// <https://docs.stripe.com/payments/acss-debit>: microdeposits.
const DEBITS: [&str; 5] =
    ["au_becs_debit", "bacs_debit", "nz_bank_account", "sepa_debit", "sofort"];

/// Parameters, by name, that keep away whatever no hold waits for, but for debits if they are wanted.
pub(super) fn excluded(with_debits: bool) -> Vec<(String, &'static str)> {
    let name = |n: usize| format!("excluded_payment_method_types[{n}]");
    let is_wanted = |method: &str| with_debits && DEBITS.contains(&method);
    let methods = DELAYED_METHODS.into_iter().filter(|method| !is_wanted(method));
    methods.enumerate().map(|(n, method)| (name(n), method)).collect()
}
