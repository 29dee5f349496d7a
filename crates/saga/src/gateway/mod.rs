//! Payment gateways, behind one seam. Each call carries a key, so that a repeated one does nothing twice.

pub mod health;
pub mod sandbox;
pub mod stripe;
pub mod takes;

use axum::http::HeaderMap;
use onrush_base::signature::Unsigned;
use onrush_core::ids::{BookingId, EventId, PaymentId};
use onrush_core::money::Currency;
use onrush_ledger::desk::{DeskKind, DeskStatus};
use onrush_ledger::money::Capture;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use takes::Takes;

/// The longest text that a gateway knows a card by, in bytes.
const MAX_FINGERPRINT_BYTES: usize = 255;

/// A future answer of a gateway.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, GatewayError>> + Send + 'a>>;

/// A service that takes money.
pub trait Gateway: Send + Sync + 'static {
    /// Its name, as it appears in paths, rows and logs.
    fn name(&self) -> &'static str;

    /// What amounts of a currency must be multiples of for this gateway, in minor units.
    fn step_minor(&self, currency: Currency) -> i64;

    /// Creates a payment, or finds the one that was created under the same id before.
    fn create<'a>(&'a self, order: &'a Order) -> Answer<'a, Standing>;

    /// What became of a payment that may or may not have been created.
    fn status<'a>(&'a self, order: &'a Order) -> Answer<'a, Standing>;

    /// Takes the money that is set aside, or finds that it was taken before. Asked again, it takes
    /// nothing twice. What is not set aside is not taken: the answer says where the payment stands.
    fn capture<'a>(&'a self, order: &'a Order) -> Answer<'a, Standing>;

    /// Makes sure that no money will be taken any more, if none was; what is set aside is set free. A
    /// payment that the gateway never heard of counts as cancelled only if the gateway will not
    /// create it later because of an earlier call that is still under way.
    fn cancel<'a>(&'a self, order: &'a Order) -> Answer<'a, Standing>;

    /// Gives money back, or finds the refund that was made under the same key before.
    fn refund<'a>(&'a self, order: &'a RefundOrder) -> Answer<'a, RefundStanding>;

    /// What amounts of a currency it takes.
    ///
    /// # Errors
    /// A sentence that says why it takes none.
    fn takes(&self, currency: Currency) -> Result<Takes, String>;

    /// Asks for something that changes nothing, to see whether the gateway answers and knows us.
    fn probe(&self) -> Answer<'_, ()>;

    /// Which payment of ours it is that the gateway calls `reference`; `None` if it is somebody else's,
    /// or no money was ever taken for it: of that a desk has nothing to tell.
    fn ours<'a>(&'a self, reference: &'a str) -> Answer<'a, Option<Ours>>;

    /// Refunds of the payment that it calls `reference` that were made at its own desk, the earliest
    /// first.
    fn desk_refunds<'a>(&'a self, reference: &'a str) -> Answer<'a, Vec<DeskNews>>;

    /// The same of a payment that is found again, whose own refunds whoever asks has forgotten as well.
    /// What a gateway does not say of these, the refunds' keys do.
    fn desk_history<'a>(&'a self, reference: &'a str) -> Answer<'a, Vec<FoundAtDesk>> {
        Box::pin(async move {
            let made = self.desk_refunds(reference).await?.into_iter();
            Ok(made.map(|news| FoundAtDesk { news, is_after_ours: false }).collect())
        })
    }

    /// Reads a message of the gateway: who sent it must be proven by its signature, and it must be fresh.
    ///
    /// # Errors
    /// [`NotGenuine`], with what is wrong.
    fn read_webhook(
        &self,
        headers: &HeaderMap,
        body: &[u8],
        now_s: i64,
    ) -> Result<Notice, NotGenuine>;
}

/// What is to be paid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// The payment: its idempotency key as well.
    pub payment: PaymentId,
    /// What it is for.
    pub booking: BookingId,
    /// The event.
    pub event: EventId,
    /// How much, in minor units.
    pub amount_minor: i64,
    /// In which currency.
    pub currency: Currency,
    /// When the money is to be taken.
    pub capture: Capture,
    /// What the buyer reads.
    pub description: String,
    /// What the gateway calls it, if it said so before.
    pub reference: Option<String>,
    /// When it was written down, in seconds since the epoch: the gateway was asked no earlier. Keys
    /// are kept for a day by gateways, so an older payment must not be repeated but looked up.
    pub written_at_s: i64,
}

/// What is to be given back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefundOrder {
    /// Its idempotency key: `refund:<booking>:<n>`, or of a stray payment `refund:<payment>:<n>`.
    pub refund: String,
    /// What was paid.
    pub payment: Order,
    /// How much goes back, in minor units.
    pub amount_minor: i64,
    /// When it was written down, in seconds since the epoch.
    pub written_at_s: i64,
    /// What the gateway calls it, if it said so before.
    pub reference: Option<String>,
    /// The keys of all refunds of this payment that are written down, its own among them. They are before
    /// the gateway is asked, so that one which it made under another key was made before the books
    /// were lost: what it gave back may be what is asked for.
    pub known: Vec<String>,
}

/// Where a payment stands at the gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The gateway never heard of it.
    Unknown,
    /// It waits for the buyer.
    Open {
        /// What the gateway calls it.
        reference: String,
        /// Where the buyer pays, if the gateway has a page.
        url: Option<String>,
        /// What the buyer's page needs to pay, if the gateway works that way.
        client_secret: Option<String>,
    },
    /// The buyer did their part and the money is under way, which may take days: it can neither be
    /// cancelled nor be paid again until the gateway knows.
    Processing {
        /// What the gateway calls it.
        reference: String,
    },
    /// The card's bank has set the money aside, and none was taken. It is taken by `capture`, and
    /// set free by `cancel`, or by the bank after some days.
    Authorised {
        /// What the gateway calls it.
        reference: String,
        /// What the gateway knows the card by; `None` if it knows it by nothing, or if a message
        /// tells, which need not say.
        card: Option<Fingerprint>,
    },
    /// The buyer's attempt was declined. Money may still be taken, unless it is cancelled.
    Declined {
        /// What the gateway calls it.
        reference: String,
        /// `insufficient_funds`, `timeout`, `cancelled`, or another word of the gateway's.
        why: String,
    },
    /// No money was taken, and none will be.
    Cancelled {
        /// What the gateway calls it, if it ever made one.
        reference: Option<String>,
        /// Why, in the gateway's words.
        why: String,
    },
    /// Money was taken.
    Captured {
        /// What the gateway calls it.
        reference: String,
        /// How much, in minor units.
        amount_minor: i64,
        /// In which currency.
        currency: Currency,
    },
}

/// What a gateway knows a card by: the same for each payment with that card, and never its number.
#[derive(Clone, PartialEq, Eq)]
pub struct Fingerprint(String);

impl Fingerprint {
    /// The gateway's text; `None` if it is empty or longer than any of theirs.
    #[must_use]
    pub fn new(text: String) -> Option<Self> {
        (1..=MAX_FINGERPRINT_BYTES).contains(&text.len()).then_some(Self(text))
    }

    /// The text, of which a keyed hash may be kept, and nothing else.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

/// Cards are nobody's business in logs.
impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(a card)")
    }
}

/// Where a refund stands at the gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RefundStanding {
    /// The gateway works on it.
    Pending {
        /// What the gateway calls it.
        reference: String,
    },
    /// The money is back.
    Done {
        /// What the gateway calls it.
        reference: String,
    },
    /// It will not be made, or came back.
    Failed {
        /// What the gateway calls it, if it made one.
        reference: Option<String>,
        /// Why, in the gateway's words.
        why: String,
    },
}

/// A genuine message of a gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// The message's own id.
    pub id: String,
    /// What it tells of; `None` if it is nothing that concerns payments or refunds of ours.
    pub news: Option<News>,
}

/// What a message tells of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// Of a payment.
    Payment {
        /// Which.
        payment: PaymentId,
        /// What it is said to be for.
        booking: BookingId,
        /// Where it stands.
        standing: Standing,
    },
    /// Of a refund.
    Refund {
        /// Of which payment.
        payment: PaymentId,
        /// Its key.
        refund: String,
        /// How much goes back, in minor units.
        amount_minor: i64,
        /// In which currency.
        currency: Currency,
        /// Where it stands.
        standing: RefundStanding,
    },
    /// Of something that the gateway's own desk did.
    Desk(DeskNews),
    /// Of money that went back altogether, of which the gateway's desk may have sent some.
    WentBack {
        /// What the gateway calls the payment.
        reference: String,
        /// Our payment, if the message names it.
        payment: Option<PaymentId>,
        /// How much went back so far, in minor units.
        back_minor: i64,
    },
}

/// A payment of ours, as the gateway remembers it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ours {
    /// The payment.
    pub payment: PaymentId,
    /// What it is for.
    pub booking: BookingId,
}

/// Something that the gateway's own desk did: nobody here asked for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeskNews {
    /// What was done.
    pub kind: DeskKind,
    /// Whether the money moved.
    pub status: DeskStatus,
    /// What the gateway calls it.
    pub reference: String,
    /// What the gateway calls the payment that it is about.
    pub of: String,
    /// Which payment of ours that is, if the message says so.
    pub ours: Option<Ours>,
    /// How much, in minor units.
    pub amount_minor: i64,
    /// In which currency.
    pub currency: Currency,
    /// Why, in the gateway's words.
    pub why: String,
}

/// A refund of the gateway's desk, found again with its payment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundAtDesk {
    /// What was done.
    pub news: DeskNews,
    /// Whether a refund of ours that stands was made before it: of that it was no part.
    pub is_after_ours: bool,
}

/// Why a gateway's answer is not there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GatewayError {
    /// No answer, or one that says to come again. Whether it did what was asked is unknown: ask
    /// again with the same key.
    #[error("the payment gateway {0}")]
    Unavailable(Away),
    /// It understood, and will never do it.
    #[error("the payment gateway refuses: {0}")]
    Refused(String),
    /// It understood, and gave money of this payment back in a way that whoever asks does not know of:
    /// their books are older than that. It did nothing now. Under another key it might give the same
    /// money back once more, so that a person has to look first.
    #[error("the payment gateway gave back what is not known here: {0}")]
    UnknownRefund(String),
}

/// Why a gateway is of no use now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Away {
    /// It does not answer, or says to come again.
    Silent(String),
    /// It does not know us: the account's key is wrong, was revoked, or may not do this. Nothing
    /// was done, and nothing will be until an operator mends it.
    KeyRefused(String),
    /// It repeats from memory how the first call under the key failed, and what was asked for is not
    /// to be found: before this time it says nothing else, however often it is asked.
    Kept {
        /// How that failed, in its words.
        why: String,
        /// From when on asking again may tell more, in seconds since the epoch.
        until_s: i64,
    },
}

impl From<String> for Away {
    fn from(why: String) -> Self {
        Self::Silent(why)
    }
}

impl From<&str> for Away {
    fn from(why: &str) -> Self {
        Self::Silent(why.to_owned())
    }
}

impl fmt::Display for Away {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Silent(why) => write!(f, "does not answer: {why}"),
            Self::KeyRefused(why) => write!(f, "does not know our key: {why}"),
            Self::Kept { why, .. } => {
                write!(f, "repeats how it failed, and says no more for now: {why}")
            }
        }
    }
}

/// Why a message is not believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotGenuine {
    /// It has no signature, or one of the wrong form.
    #[error("the message is not signed; sign it with the shared secret")]
    SignatureMissing,
    /// The signature does not fit.
    #[error("the signature does not fit; check the shared secret")]
    SignatureWrong,
    /// It was signed more than five minutes ago, or in the future.
    #[error("the signature is more than five minutes old or new; check both clocks")]
    TooOld,
    /// It is signed and cannot be understood.
    #[error("the message is signed and cannot be understood")]
    Unreadable,
}

impl From<Unsigned> for NotGenuine {
    fn from(why: Unsigned) -> Self {
        match why {
            Unsigned::Malformed => Self::SignatureMissing,
            Unsigned::Wrong => Self::SignatureWrong,
            Unsigned::TooOld => Self::TooOld,
        }
    }
}
