//! Receipts and credit notes: numbered without a gap, and never changed once they are issued.

use crate::booking::{Booking, Buyer};
use crate::money::Payment;
use crate::saga::{Saga, SagaRecord};
use onrush_core::Time;
use onrush_core::ids::{BookingId, EventId, PaymentId, PoolId, SeatId};
use onrush_core::money::Currency;
use onrush_core::tax::Tax;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::fmt;
use std::str::FromStr;

/// How many bookings [`crate::Ledger::receipt_basis`] and [`crate::Ledger::issue_receipts`] should
/// be asked about at once, so that nothing else waits for them.
pub const RECEIPTS_AT_ONCE: usize = 64;

/// What numbers begin with: 1 to 12 of `A-Z`, `a-z` and `0-9`. Each series counts from 1.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct Series(Box<str>);

impl Series {
    /// The series as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Why a text is no series, or no number of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("use 1 to 12 of A-Z, a-z and 0-9, and in a number then - and a count from 1")]
pub struct NotANumber;

impl FromStr for Series {
    type Err = NotANumber;

    fn from_str(text: &str) -> Result<Self, NotANumber> {
        let is_plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if (1..=12).contains(&text.len()) && is_plain {
            Ok(Self(text.into()))
        } else {
            Err(NotANumber)
        }
    }
}

impl TryFrom<String> for Series {
    type Error = NotANumber;

    fn try_from(text: String) -> Result<Self, NotANumber> {
        text.parse()
    }
}

/// The number of a receipt or credit note: `R-17`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReceiptNumber {
    /// What it begins with.
    pub series: Series,
    /// Its place in the series, from 1.
    pub number: u32,
}

impl fmt::Display for ReceiptNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.series.0, self.number)
    }
}

impl FromStr for ReceiptNumber {
    type Err = NotANumber;

    fn from_str(text: &str) -> Result<Self, NotANumber> {
        let (series, digits) = text.split_once('-').ok_or(NotANumber)?;
        let number: u32 = digits.parse().map_err(|_| NotANumber)?;
        let number = Self { series: series.parse()?, number };
        // One text for each: no zero before it, no sign.
        if number.number > 0 && number.to_string() == text { Ok(number) } else { Err(NotANumber) }
    }
}

impl Serialize for ReceiptNumber {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ReceiptNumber {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

/// Which of the two a document is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[derive(strum::EnumString, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum ReceiptKind {
    /// A booking was paid and confirmed.
    Receipt,
    /// Money of it went back.
    CreditNote,
}

/// Who sells, as it is printed on receipts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seller {
    /// The name of the business.
    pub name: String,
    /// Where it is, line by line.
    pub address: Vec<String>,
    /// What the tax office knows it by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tax_id: Option<String>,
}

/// What a line's money is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, strum::VariantArray)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// Units.
    Sales,
    /// What a booking costs beside its units.
    Fees,
}

/// One line of a document. A part of what was paid that goes back has neither units nor a price.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiptLine {
    /// What it is for.
    pub purpose: Purpose,
    /// The units' pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<PoolId>,
    /// The seat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seat: Option<SeatId>,
    /// The name of the units' ticket type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub type_name: Option<String>,
    /// How many units.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quantity: Option<u32>,
    /// What one of them costs, in minor units.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price_minor: Option<i64>,
    /// What all of the line comes to: `net_minor` and `tax_minor` together.
    pub amount_minor: i64,
    /// The line without its tax.
    pub net_minor: i64,
    /// The tax in it.
    pub tax_minor: i64,
}

/// What a receipt or credit note says beside its number; never changed once it is issued.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Document {
    /// Who sells, as they were then.
    pub seller: Seller,
    /// The event's title, as it was then.
    pub title: String,
    /// The tax that the amounts include, if the event told of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tax: Option<Tax>,
    /// What was paid for or went back.
    pub lines: Vec<ReceiptLine>,
    /// When the money was taken, or the refund was written down.
    pub moved_at: Time,
}

impl Document {
    /// The tax in all of it, in minor units.
    #[must_use]
    pub fn tax_minor(&self) -> i64 {
        self.lines.iter().map(|line| line.tax_minor).sum()
    }

    /// Whether the lines come to this amount, and each line's parts to the line.
    #[must_use]
    pub fn comes_to(&self, amount_minor: i64) -> bool {
        let whole = |line: &ReceiptLine| line.net_minor + line.tax_minor == line.amount_minor;
        let sum_minor: i64 = self.lines.iter().map(|line| line.amount_minor).sum();
        sum_minor == amount_minor && self.lines.iter().all(whole)
    }
}

/// A receipt or a credit note, as it was issued.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// Its number.
    pub number: ReceiptNumber,
    /// The refund that a credit note is for, and the receipt that it takes back; a receipt has none.
    pub corrects: Option<Corrects>,
    /// The booking that was paid.
    pub booking: BookingId,
    /// Its event.
    pub event: EventId,
    /// When it was issued: never before the number before it.
    pub issued_at: Time,
    /// The currency of all its amounts.
    pub currency: Currency,
    /// What was paid or went back, in minor units: more than nothing.
    pub amount_minor: i64,
    /// Who paid, if it was known and has not been erased since.
    pub buyer_name: Option<String>,
    /// Their e-mail address in small letters, as long as the name is there: the booking's buyer may be
    /// another one since.
    pub buyer_email_lower: Option<String>,
    /// The rest.
    pub document: Document,
}

/// What a credit note is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Corrects {
    /// The refund.
    pub refund: String,
    /// The receipt of which it takes something back.
    pub receipt: ReceiptNumber,
}

impl Receipt {
    /// Which of the two it is.
    #[must_use]
    pub const fn kind(&self) -> ReceiptKind {
        match self.corrects {
            None => ReceiptKind::Receipt,
            Some(_) => ReceiptKind::CreditNote,
        }
    }
}

/// A receipt or credit note that has no number yet. Who paid is looked up when it is issued: somebody
/// may be erased before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceiptDraft {
    /// The booking that was paid.
    pub booking: BookingId,
    /// Its event.
    pub event: EventId,
    /// The refund, if it is to be a credit note: the booking's receipt must be there, or among the
    /// drafts before it.
    pub refund: Option<String>,
    /// The currency of all its amounts.
    pub currency: Currency,
    /// What was paid or went back, in minor units.
    pub amount_minor: i64,
    /// What the booking's credit notes before it come to, those among the drafts too, in minor
    /// units: where they come to anything else, a credit note is not issued. A receipt has none.
    pub noted_minor: i64,
    /// The rest.
    pub document: Document,
}

impl ReceiptDraft {
    /// Which of the two it is to be.
    #[must_use]
    pub const fn kind(&self) -> ReceiptKind {
        match self.refund {
            None => ReceiptKind::Receipt,
            Some(_) => ReceiptKind::CreditNote,
        }
    }

    /// What it is with a number, that of the receipt which a credit note takes back, and who paid.
    pub(crate) fn issued(
        self,
        number: ReceiptNumber,
        receipt: Option<ReceiptNumber>,
        issued_at: Time,
        buyer: Option<Buyer>,
    ) -> Receipt {
        let Self { booking, event, refund, currency, amount_minor, noted_minor: _, document } =
            self;
        let corrects = refund.zip(receipt);
        let corrects = corrects.map(|(refund, receipt)| Corrects { refund, receipt });
        let buyer = buyer.filter(|buyer| !buyer.name.is_empty());
        Receipt {
            number,
            corrects,
            booking,
            event,
            issued_at,
            currency,
            amount_minor,
            buyer_email_lower: buyer.as_ref().map(|buyer| buyer.email.to_lowercase()),
            buyer_name: buyer.map(|buyer| buyer.name),
            document,
        }
    }
}

/// All that documents of one booking are made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceiptBasis {
    /// What was booked.
    pub booking: Booking,
    /// Its payments and refunds.
    pub record: SagaRecord,
    /// What was issued already, by number.
    pub issued: Vec<Receipt>,
}

/// The gateway that takes no real money, as payments name it.
pub const SANDBOX: &str = "sandbox";

/// Which payments have documents. Whatever it says, a receipt that was issued has its credit notes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiptRule {
    /// Whether those of the sandbox have: only while it is the gateway, as it takes no real money.
    pub with_sandbox: bool,
    /// Money that was taken before has none.
    pub from: Option<Time>,
}

impl ReceiptRule {
    /// All payments have.
    pub const EVERY: Self = Self { with_sandbox: true, from: None };

    /// Whether this payment of a saga, which its booking was confirmed with, has documents.
    #[must_use]
    pub fn covers(self, saga: &Saga, payment: &Payment) -> bool {
        let is_real = self.with_sandbox || payment.gateway != SANDBOX;
        is_real && self.from.is_none_or(|from| taken_at(saga, payment) >= from)
    }
}

/// When the money was taken of the payment that a saga's booking was confirmed with.
#[must_use]
pub fn taken_at(saga: &Saga, payment: &Payment) -> Time {
    saga.payment_completed_at.unwrap_or(payment.updated_at)
}

/// What credit notes about a payment come to at most, in minor units, however much of it went back.
///
/// That is all that was taken, and for a booking that was cancelled what the cancellation gave back
/// (`cancelled_minor`). An operator may have given back more before, in one refund: `refunds_minor`
/// are those that were done.
#[must_use]
pub fn owed_minor(
    captured_minor: i64,
    cancelled_minor: Option<i64>,
    refunds_minor: impl IntoIterator<Item = i64>,
) -> i64 {
    cancelled_minor.map_or(captured_minor, |cancelled_minor| {
        refunds_minor.into_iter().fold(cancelled_minor, i64::max).min(captured_minor)
    })
}

/// A payment that took money, and whether a document about it is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taking {
    /// The payment.
    pub payment: PaymentId,
    /// What it is for.
    pub booking: BookingId,
    /// When it was written down.
    pub created_at: Time,
    /// Whether its booking was confirmed with it, and lacks the receipt that a [`ReceiptRule`] gives
    /// it, or has that and lacks a credit note of a refund that was done.
    pub is_missing: bool,
}

/// Which receipts and credit notes. All that is set must fit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReceiptFilter {
    /// Of one event.
    pub event: Option<EventId>,
    /// Of one booking.
    pub booking: Option<BookingId>,
    /// The one with this number.
    pub number: Option<ReceiptNumber>,
    /// Whether the first number comes first, not the last.
    pub is_rising: bool,
    /// Where the page begins: the `next` of the one before.
    pub after: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_has_one_text() {
        let number = ReceiptNumber { series: "R2026".parse().unwrap(), number: 17 };
        assert_eq!(number.to_string(), "R2026-17");
        assert_eq!("R2026-17".parse(), Ok(number));
        let long = "A".repeat(13);
        for text in
            ["", "R", "R-", "R-0", "R-01", "R-+1", "-1", "R.-1", "R-1-1", "R-4294967296", "é-1"]
        {
            assert_eq!(text.parse::<ReceiptNumber>(), Err(NotANumber), "{text}");
        }
        assert_eq!(long.parse::<Series>(), Err(NotANumber));
    }
}
