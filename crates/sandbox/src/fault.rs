//! What can go wrong on purpose: by card, by script, or by lot.

use onrush_base::config::FaultMix;
use onrush_core::ids::PaymentId;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// One thing that goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// The card has too little money: the payment is declined.
    InsufficientFunds,
    /// The card's bank does not answer: the payment is declined.
    Timeout,
    /// The buyer's bank calls it off: the payment is declined.
    Cancelled,
    /// It is done at once and answered late.
    Delay,
    /// It is done, and the connection is dropped without an answer.
    LostAnswer,
    /// Nothing is done and the answer is a 500, once.
    ErrorThenSuccess,
    /// It is done, and its webhook comes twice.
    Duplicate,
    /// A first try is declined and a second one takes the money; the webhook of the decline comes last.
    OutOfOrder,
    /// A first try is declined and a second one takes the money; the webhooks come in that order.
    SecondTry,
    /// It is done, and its webhook comes late.
    Late,
    /// It is done, and its webhook never comes.
    Never,
    /// It is done, and the card is known by nothing, as some wallets are.
    NoFingerprint,
}

impl Fault {
    /// Why the payment is declined, if that is what it does.
    pub(super) fn decline(self) -> Option<&'static str> {
        match self {
            Self::InsufficientFunds => Some("insufficient_funds"),
            Self::Timeout => Some("timeout"),
            Self::Cancelled => Some("cancelled"),
            Self::Delay
            | Self::LostAnswer
            | Self::ErrorThenSuccess
            | Self::Duplicate
            | Self::OutOfOrder
            | Self::SecondTry
            | Self::Late
            | Self::Never
            | Self::NoFingerprint => None,
        }
    }

    /// Which calls it can act on when its script names none.
    fn acts_on(self, call: Call) -> bool {
        match self {
            Self::Delay | Self::LostAnswer | Self::ErrorThenSuccess => call != Call::Desk,
            Self::InsufficientFunds
            | Self::Timeout
            | Self::Cancelled
            | Self::Duplicate
            | Self::OutOfOrder
            | Self::SecondTry
            | Self::Late
            | Self::Never
            | Self::NoFingerprint => call == Call::Pay,
        }
    }
}

/// What somebody asks of the gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Call {
    /// `POST /v1/payments`
    Create,
    /// `GET /v1/payments/{payment}`
    Status,
    /// `POST /v1/payments/{payment}/capture`
    Capture,
    /// `POST /v1/payments/{payment}/cancel`
    Cancel,
    /// `POST /v1/payments/{payment}/refunds`
    Refund,
    /// `POST /pay/{payment}`
    Pay,
    /// `POST /v1/payments/{payment}/desk`
    #[serde(skip)]
    Desk,
}

/// What is to go wrong with the next calls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// What goes wrong.
    pub fault: Fault,
    /// On which calls; without it on all that it can act on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<Call>,
    /// Only with payments whose id begins with this.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub payment_prefix: String,
    /// How many calls.
    #[serde(default = "once")]
    pub next_n: u32,
}

fn once() -> u32 {
    1
}

impl Script {
    pub(super) fn acts_on(&self, call: Call, payment: &PaymentId) -> bool {
        self.on.map_or_else(|| self.fault.acts_on(call), |on| on == call)
            && payment.as_str().starts_with(&self.payment_prefix)
    }
}

/// What goes wrong by lot.
pub(super) trait ByLot {
    /// What goes wrong with the first try to pay.
    fn on_pay(&self, payment: &PaymentId) -> Option<Fault>;
    /// Whether the answer to what was just done is lost. `key` names what was done.
    fn loses_answer(&self, call: Call, key: &str) -> bool;
}

impl ByLot for FaultMix {
    fn on_pay(&self, payment: &PaymentId) -> Option<Fault> {
        let mut left = draw(self, "pay", payment.as_str());
        for (share, fault) in [
            (self.declined_pct, Fault::InsufficientFunds),
            (self.duplicate_pct, Fault::Duplicate),
            (self.late_pct, Fault::Late),
            (self.never_pct, Fault::Never),
        ] {
            if left < share {
                return Some(fault);
            }
            left -= share;
        }
        None
    }

    fn loses_answer(&self, call: Call, key: &str) -> bool {
        let what = match call {
            Call::Create => "create",
            Call::Capture => "capture",
            Call::Cancel => "cancel",
            Call::Refund => "refund",
            Call::Status | Call::Pay | Call::Desk => return false,
        };
        draw(self, what, key) < self.lost_answer_pct
    }
}

/// A number below 100.
fn draw(mix: &FaultMix, what: &str, key: &str) -> u32 {
    let mut hash = Sha256::new();
    hash.update(mix.seed.to_be_bytes());
    hash.update(what);
    hash.update([0]);
    hash.update(key);
    let digest = hash.finalize();
    let bits = digest[..8].iter().fold(0_u64, |bits, byte| (bits << 8) | u64::from(*byte));
    (bits % 100) as u32
}

/// Test cards: the number, what it does in a few words, and the fault. All other numbers pay.
pub(super) const CARDS: [(&str, &str, Option<Fault>); 13] = [
    ("4242 4242 4242 4242", "pays", None),
    ("4000 0000 0000 0010", "declined: insufficient_funds", Some(Fault::InsufficientFunds)),
    ("4000 0000 0000 0020", "declined: timeout", Some(Fault::Timeout)),
    ("4000 0000 0000 0030", "declined: cancelled", Some(Fault::Cancelled)),
    ("4000 0000 0000 0040", "pays, the answer comes late", Some(Fault::Delay)),
    ("4000 0000 0000 0050", "pays, the answer is lost", Some(Fault::LostAnswer)),
    ("4000 0000 0000 0060", "an error first, then pays", Some(Fault::ErrorThenSuccess)),
    ("4000 0000 0000 0070", "pays, the webhook comes twice", Some(Fault::Duplicate)),
    ("4000 0000 0000 0080", "pays, a stale decline comes after", Some(Fault::OutOfOrder)),
    ("4000 0000 0000 0090", "declined, then pays", Some(Fault::SecondTry)),
    ("4000 0000 0000 0100", "pays, the webhook comes late", Some(Fault::Late)),
    ("4000 0000 0000 0110", "pays, the webhook never comes", Some(Fault::Never)),
    ("4000 0000 0000 0120", "pays, known by no fingerprint", Some(Fault::NoFingerprint)),
];

/// A card's number as its digits; `None` if it cannot be one.
pub(super) fn card_digits(text: &str) -> Option<String> {
    let digits: String = text.chars().filter(|c| !matches!(c, ' ' | '-')).collect();
    let fits =
        (12..=19).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
    fits.then_some(digits)
}

/// What the shop knows a card by: the same for the same number, and nothing of the number itself
/// stands in it. (Cards of a sandbox are nobody's: of real ones a plain hash could be tried out.)
pub(super) fn fingerprint(digits: &str) -> String {
    let digest =
        Sha256::new().chain_update("a card of the sandbox").chain_update(digits).finalize();
    digest[..8].iter().fold("card_".to_owned(), |text, byte| text + &format!("{byte:02x}"))
}

/// What goes wrong with a card.
pub(super) fn card_fault(digits: &str) -> Option<Fault> {
    let same = |number: &str| card_digits(number).is_some_and(|other| other == digits);
    CARDS.iter().find(|(number, ..)| same(number)).and_then(|(.., fault)| *fault)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lot_is_the_same_for_the_same_seed_and_near_its_shares() {
        let mix = FaultMix {
            seed: 7,
            declined_pct: 20,
            never_pct: 5,
            lost_answer_pct: 10,
            ..FaultMix::default()
        };
        let ids: Vec<PaymentId> = (0..10_000).map(|n| format!("p-{n}").parse().unwrap()).collect();
        let drawn = |mix: FaultMix| ids.iter().map(|id| mix.on_pay(id)).collect::<Vec<_>>();
        assert_eq!(drawn(mix), drawn(mix));
        assert_ne!(drawn(mix), drawn(FaultMix { seed: 8, ..mix }));
        let count = |fault| drawn(mix).iter().filter(|drawn| **drawn == Some(fault)).count();
        assert!((1_800..2_200).contains(&count(Fault::InsufficientFunds)));
        assert!((400..600).contains(&count(Fault::Never)));
        assert_eq!(count(Fault::Late), 0);
        let lost = ids.iter().filter(|id| mix.loses_answer(Call::Create, id.as_str())).count();
        assert!((850..1_150).contains(&lost));
    }

    #[test]
    fn cards_are_read_with_and_without_gaps() {
        assert_eq!(card_digits("4000-0000 00000010").as_deref(), Some("4000000000000010"));
        assert_eq!(card_digits("4000"), None);
        assert_eq!(card_digits("4000 0000 0000 00x0"), None);
        assert_eq!(card_fault("4000000000000110"), Some(Fault::Never));
        assert_eq!(card_fault("4000000000009999"), None);
    }
}
