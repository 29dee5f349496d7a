//! Who takes money: which gateway, what goes wrong with the sandbox, and how patient sagas are.

use super::secret::Secret;
use serde::Deserialize;
use std::net::{Ipv4Addr, SocketAddr};

/// Who takes money.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GatewayName {
    /// Nobody: only what is free of charge can be sold, and what the box office takes money for.
    #[default]
    None,
    /// The sandbox: a real service that takes no real money.
    Sandbox,
    /// Stripe, or whoever speaks its API.
    Stripe,
}

/// The sandbox gateway. Without a URL it runs in the same process, on an address of its own.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SandboxSettings {
    /// Where the sandbox runs, if it is a process of its own, such as `http://127.0.0.1:8090`.
    pub url: Option<String>,
    /// Where it listens if it runs in this process; port 0 takes a free one.
    pub listen: SocketAddr,
    /// What proves to it who asks; drawn if it runs in this process.
    pub secret: Option<Secret>,
    /// What signs its webhooks; drawn if it runs in this process.
    pub webhook_secret: Option<Secret>,
    /// What goes wrong with payments, if it runs in this process.
    pub faults: FaultMix,
    /// How late a late webhook is, in milliseconds.
    pub late_ms: u64,
}

impl Default for SandboxSettings {
    fn default() -> Self {
        Self {
            url: None,
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            secret: None,
            webhook_secret: None,
            faults: FaultMix::default(),
            late_ms: 60_000,
        }
    }
}

/// Stripe's settings.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StripeSettings {
    /// The secret key (`sk_…`).
    pub secret_key: Secret,
    /// The webhook endpoint's signing secret (`whsec_…`).
    pub webhook_secret: Secret,
    /// What the shop's own page pays with (`pk_…`); shown to buyers.
    #[serde(default)]
    pub publishable_key: Option<String>,
    /// Where the API is.
    #[serde(default = "stripe_url")]
    pub base_url: String,
    /// Whether bank debits are offered, which answer after days, when the hold has long run out.
    /// Vouchers, bank transfers and the debits of US and Canadian banks, which may wait for their buyer
    /// for days, never are.
    #[serde(default)]
    pub delayed_methods: bool,
}

fn stripe_url() -> String {
    "https://api.stripe.com".into()
}

/// How many payments of a hundred go wrong, and how. Which ones follows from the seed and their ids alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FaultMix {
    /// Another seed, other payments.
    pub seed: u64,
    /// The first try is declined for want of money.
    pub declined_pct: u32,
    /// What is asked is done, and not answered: drawn for each payment's create, cancel and refunds
    /// by themselves.
    pub lost_answer_pct: u32,
    /// The webhook of the money comes twice.
    pub duplicate_pct: u32,
    /// The webhook of the money comes late.
    pub late_pct: u32,
    /// The webhook of the money never comes.
    pub never_pct: u32,
}

impl FaultMix {
    /// Whether the shares fit into a hundred.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        let shares = [self.declined_pct, self.duplicate_pct, self.late_pct, self.never_pct];
        shares.iter().map(|share| u64::from(*share)).sum::<u64>() <= 100
            && self.lost_answer_pct <= 100
    }
}

/// How patient the driver is. All durations are milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Patience {
    /// How long a gateway may take to answer.
    pub gateway_timeout_ms: u64,
    /// After how long without news the gateway is asked what became of a payment.
    pub ask_after_ms: i64,
    /// After how long a step is taken to be abandoned by a process that died.
    pub abandoned_after_ms: i64,
    /// The first pause after a failure; each further one is twice as long.
    pub first_pause_ms: i64,
    /// The longest pause.
    pub longest_pause_ms: i64,
    /// After how many failures in a row a saga waits for an operator.
    pub tries: u32,
    /// Sagas that recovery drives at a time.
    pub at_a_time: usize,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            gateway_timeout_ms: 10_000,
            ask_after_ms: 300_000,
            abandoned_after_ms: 30_000,
            first_pause_ms: 500,
            longest_pause_ms: 60_000,
            tries: 60,
            at_a_time: 128,
        }
    }
}

impl Patience {
    /// Says what cannot work: a gateway that is given up on before it can answer, or asked without
    /// pause.
    pub(super) fn complaints(&self, mut wrong: impl FnMut(&str)) {
        let Self {
            gateway_timeout_ms,
            ask_after_ms,
            abandoned_after_ms,
            first_pause_ms,
            longest_pause_ms,
            tries,
            at_a_time,
        } = *self;
        if tries == 0 || at_a_time == 0 || first_pause_ms < 1 {
            wrong("saga: tries, at_a_time and first_pause_ms must be at least 1");
        }
        if !(100..=600_000).contains(&gateway_timeout_ms) {
            wrong("saga.gateway_timeout_ms: use 100 to 600000 milliseconds");
        }
        if ask_after_ms < 1_000 {
            wrong("saga.ask_after_ms: use at least 1000 milliseconds");
        }
        if longest_pause_ms < first_pause_ms {
            wrong("saga.longest_pause_ms: use at least first_pause_ms");
        }
        // Less than the gateway's time is work done twice and no more: steps have versions.
        if abandoned_after_ms < 100 {
            wrong("saga.abandoned_after_ms: use at least 100 milliseconds");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patience_that_cannot_work_is_named() {
        let named = |change: fn(&mut Patience)| {
            let (mut patience, mut found) = (Patience::default(), Vec::new());
            change(&mut patience);
            patience.complaints(|why| found.push(why.split(':').next().unwrap_or("").to_owned()));
            found.join(" ")
        };
        assert_eq!(named(|_| {}), "");
        assert_eq!(named(|it| it.tries = 0), "saga");
        // Whoever thinks in seconds.
        assert_eq!(named(|it| it.gateway_timeout_ms = 10), "saga.gateway_timeout_ms");
        assert_eq!(named(|it| it.ask_after_ms = 300), "saga.ask_after_ms");
        assert_eq!(named(|it| it.ask_after_ms = -1), "saga.ask_after_ms");
        assert_eq!(named(|it| it.longest_pause_ms = 0), "saga.longest_pause_ms");
        assert_eq!(named(|it| it.abandoned_after_ms = 0), "saga.abandoned_after_ms");
    }

    #[test]
    fn shares_of_more_than_a_hundred_are_invalid() {
        assert!(FaultMix { declined_pct: 99, never_pct: 1, ..FaultMix::default() }.is_valid());
        assert!(!FaultMix { declined_pct: 99, never_pct: 2, ..FaultMix::default() }.is_valid());
        assert!(!FaultMix { lost_answer_pct: 101, ..FaultMix::default() }.is_valid());
    }
}
