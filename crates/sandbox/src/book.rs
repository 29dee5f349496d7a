//! The sandbox's books: what was asked for, paid and given back, as its file has it.

use super::at_desk::{DeskMade, DeskThing};
use super::fault::{Call, Fault, Script};
use onrush_core::ids::{BookingId, EventId, PaymentId};
use onrush_core::money::Currency;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How many messages there are about a payment before no decline is told of any more: whoever has its
/// page could fill the file, and have the shop be told, without end.
const MOST_MESSAGES: u32 = 100;

/// One thing that happened: a line of the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub(super) enum Change {
    /// A payment was asked for.
    Created(NewPayment),
    /// A payment that nobody asked for was called off: it can never be asked for any more.
    Buried { payment: PaymentId },
    /// A try to pay failed without being decided.
    Stumbled { payment: PaymentId },
    /// A try to pay was declined.
    Declined { payment: PaymentId, why: String, messages: Vec<Message> },
    /// Money was set aside.
    Authorised {
        payment: PaymentId,
        /// What the card is known by; some have nothing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        card: Option<String>,
        messages: Vec<Message>,
    },
    /// Money was taken.
    Captured { payment: PaymentId, messages: Vec<Message> },
    /// No money will be taken.
    Cancelled { payment: PaymentId, why: String, messages: Vec<Message> },
    /// Money went back.
    Refunded { payment: PaymentId, refund: Refund, messages: Vec<Message> },
    /// Something was done at the desk: a new thing, or another end of one that was open.
    AtDesk { payment: PaymentId, index: usize, made: DeskMade, messages: Vec<Message> },
    /// A message arrived, or was given up.
    Settled { message: String },
    /// Something is to go wrong.
    Scripted { script: Script },
    /// It went wrong once.
    ScriptUsed { number: u64 },
}

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct NewPayment {
    pub(super) payment: PaymentId,
    pub(super) booking: BookingId,
    pub(super) event: EventId,
    pub(super) amount_minor: i64,
    pub(super) currency: Currency,
    pub(super) description: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) return_url: Option<String>,
    #[serde(default, skip_serializing_if = "Capture::is_at_once")]
    pub(super) capture: Capture,
    #[serde(default)]
    pub(super) created_s: i64,
}

/// When money is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Capture {
    /// As soon as the buyer pays.
    #[default]
    AtOnce,
    /// When the shop says so.
    Later,
}

impl Capture {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
    fn is_at_once(&self) -> bool {
        *self == Self::AtOnce
    }
}

/// Money that went back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Refund {
    pub(super) refund: String,
    pub(super) reference: String,
    pub(super) amount_minor: i64,
}

/// What a message tells of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Kind {
    #[serde(rename = "payment.authorised")]
    Authorised,
    #[serde(rename = "payment.captured")]
    Captured,
    #[serde(rename = "payment.declined")]
    Declined,
    #[serde(rename = "payment.cancelled")]
    Cancelled,
    #[serde(rename = "refund.done")]
    RefundDone,
    #[serde(rename = "desk.refunded")]
    DeskRefunded,
    #[serde(rename = "dispute.opened")]
    DisputeOpened,
    #[serde(rename = "dispute.won")]
    DisputeWon,
    #[serde(rename = "dispute.lost")]
    DisputeLost,
}

/// A message that is to be sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Message {
    pub(super) id: String,
    pub(super) kind: Kind,
    pub(super) payment: PaymentId,
    /// The refund's key, if it is of a refund.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) refund: Option<String>,
    /// Which of the things that were done at the desk, if it is of one of those.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) desk: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) why: Option<String>,
    pub(super) created_s: i64,
    /// Not sent before this time.
    pub(super) due_ms: i64,
    /// Sent once more after it arrived.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) twice: bool,
}

/// Where a payment stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum State {
    Open,
    Declined {
        why: String,
    },
    Cancelled {
        why: String,
    },
    /// Money is set aside, of a card that is known by this, or by nothing.
    Authorised {
        card: Option<String>,
    },
    Captured,
}

/// A payment and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Payment {
    pub(super) asked: NewPayment,
    pub(super) state: State,
    pub(super) refunds: Vec<Refund>,
    /// What was done at the desk.
    pub(super) desk: Vec<DeskMade>,
    /// Tries to pay so far.
    pub(super) tries: u32,
    /// Messages made so far: they number their ids.
    messages: u32,
}

impl Payment {
    /// What the gateway calls it.
    pub(super) fn reference(&self) -> String {
        format!("sandbox-{}", self.asked.payment)
    }

    pub(super) fn captured_minor(&self) -> i64 {
        if self.state == State::Captured { self.asked.amount_minor } else { 0 }
    }

    /// Money that is set aside.
    pub(super) fn authorised_minor(&self) -> i64 {
        if matches!(self.state, State::Authorised { .. }) { self.asked.amount_minor } else { 0 }
    }

    pub(super) fn refunded_minor(&self) -> i64 {
        self.refunds.iter().map(|refund| refund.amount_minor).sum()
    }
}

/// Why something is not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refused {
    pub(super) status: u16,
    pub(super) code: &'static str,
    pub(super) detail: &'static str,
}

pub(super) const fn refused<T>(
    status: u16,
    code: &'static str,
    detail: &'static str,
) -> Result<T, Refused> {
    Err(Refused { status, code, detail })
}

/// When it is, and how late the late ones are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Now {
    pub(super) ms: i64,
    pub(super) late_ms: i64,
}

/// Everything the sandbox knows.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Book {
    pub(super) payments: BTreeMap<PaymentId, Payment>,
    /// Payments that were called off before they were asked for.
    buried: std::collections::BTreeSet<PaymentId>,
    /// Messages that have not arrived, by payment and in the order they are sent in.
    pub(super) waiting: BTreeMap<PaymentId, Vec<Message>>,
    scripts: BTreeMap<u64, Script>,
    scripted: u64,
}

impl Book {
    /// Whether a payment was called off before it was asked for.
    pub(super) fn is_buried(&self, payment: &PaymentId) -> bool {
        self.buried.contains(payment)
    }

    /// The script that the next such call follows.
    pub(super) fn script(&self, call: Call, payment: &PaymentId) -> Option<(u64, Fault)> {
        let found = self.scripts.iter().find(|(_, script)| script.acts_on(call, payment));
        found.map(|(number, script)| (*number, script.fault))
    }

    pub(super) fn find(&self, payment: &PaymentId) -> Result<&Payment, Refused> {
        match self.payments.get(payment) {
            Some(found) => Ok(found),
            None => refused(404, "PAYMENT_NOT_FOUND", "there is no such payment"),
        }
    }

    /// What asking for a payment changes. Asking again for the same changes nothing: when it was
    /// and where the buyer goes afterwards are the first time's, since a shop that starts again may
    /// have another address.
    pub(super) fn decide_create(&self, asked: NewPayment) -> Result<Vec<Change>, Refused> {
        if self.is_buried(&asked.payment) {
            return Ok(Vec::new());
        }
        let Some(there) = self.payments.get(&asked.payment) else {
            return Ok(vec![Change::Created(asked)]);
        };
        let first = &there.asked;
        let (created_s, return_url) = (first.created_s, first.return_url.clone());
        if (NewPayment { created_s, return_url, ..asked }) == *first {
            Ok(Vec::new())
        } else {
            refused(409, "KEY_REUSED", "this key stands for a payment that was asked for otherwise")
        }
    }

    /// What calling a payment off changes. Money that was taken stays taken.
    pub(super) fn decide_cancel(
        &self,
        payment: &PaymentId,
        fault: Option<Fault>,
        now: Now,
    ) -> Vec<Change> {
        let Some(there) = self.payments.get(payment) else {
            let buried = self.is_buried(payment);
            let bury = (!buried).then(|| Change::Buried { payment: payment.clone() });
            return bury.into_iter().collect();
        };
        match there.state {
            State::Captured | State::Cancelled { .. } => Vec::new(),
            State::Open | State::Declined { .. } | State::Authorised { .. } => {
                let why = "called_off".to_owned();
                let told = WebhookFacts { kind: Kind::Cancelled, why: Some(&why), refund: None };
                let messages = there.messages(&[told], fault, now);
                vec![Change::Cancelled { payment: payment.clone(), why, messages }]
            }
        }
    }

    /// What taking the money that is set aside changes. What is not set aside stays as it is, and so
    /// does what was taken before.
    pub(super) fn decide_capture(
        &self,
        payment: &PaymentId,
        fault: Option<Fault>,
        now: Now,
    ) -> Result<Vec<Change>, Refused> {
        let there = self.find(payment)?;
        match there.state {
            State::Open | State::Declined { .. } | State::Captured | State::Cancelled { .. } => {
                Ok(Vec::new())
            }
            State::Authorised { .. } => {
                let told = WebhookFacts { kind: Kind::Captured, why: None, refund: None };
                let messages = there.messages(&[told], fault, now);
                Ok(vec![Change::Captured { payment: payment.clone(), messages }])
            }
        }
    }

    /// What giving money back changes.
    pub(super) fn decide_refund(
        &self,
        payment: &PaymentId,
        key: &str,
        amount_minor: i64,
        fault: Option<Fault>,
        now: Now,
    ) -> Result<Vec<Change>, Refused> {
        let there = self.find(payment)?;
        if let Some(made) = there.refunds.iter().find(|refund| refund.refund == key) {
            return if made.amount_minor == amount_minor {
                Ok(Vec::new())
            } else {
                refused(409, "KEY_REUSED", "this key stands for a refund of another amount")
            };
        }
        if there.state != State::Captured {
            return refused(409, "NOT_CAPTURED", "no money was taken, so none can go back");
        }
        let at_desk_minor = there.at_desk_minor(DeskThing::Refund);
        if amount_minor > there.asked.amount_minor - there.refunded_minor() - at_desk_minor {
            return refused(
                409,
                "OVER_REFUND",
                "more would go back than is left of what was taken",
            );
        }
        let reference = format!("{}-r{}", there.reference(), there.refunds.len() + 1);
        let refund = Refund { refund: key.to_owned(), reference, amount_minor };
        let told = WebhookFacts { kind: Kind::RefundDone, why: None, refund: Some(key) };
        let messages = there.messages(&[told], fault, now);
        Ok(vec![Change::Refunded { payment: payment.clone(), refund, messages }])
    }

    /// What the buyer's "no" changes.
    pub(super) fn decide_give_up(
        &self,
        payment: &PaymentId,
        now: Now,
    ) -> Result<Vec<Change>, Refused> {
        match self.find(payment)?.state {
            State::Authorised { .. } | State::Captured | State::Cancelled { .. } => Ok(Vec::new()),
            State::Open | State::Declined { .. } => {
                self.decide_pay(payment, None, Some(Fault::Cancelled), now)
            }
        }
    }

    /// What a try to pay changes, with a card that is known by `card`.
    pub(super) fn decide_pay(
        &self,
        payment: &PaymentId,
        card: Option<&str>,
        fault: Option<Fault>,
        now: Now,
    ) -> Result<Vec<Change>, Refused> {
        let there = self.find(payment)?;
        match there.state {
            State::Authorised { .. } | State::Captured => return Ok(Vec::new()),
            State::Cancelled { .. } => {
                return refused(409, "PAYMENT_CANCELLED", "this payment was called off");
            }
            State::Open | State::Declined { .. } => {}
        }
        let payment = payment.clone();
        if let Some(why) = fault.and_then(Fault::decline) {
            if there.messages >= MOST_MESSAGES {
                return refused(409, "TOO_MANY_TRIES", "this payment was declined too often");
            }
            let told = WebhookFacts { kind: Kind::Declined, why: Some(why), refund: None };
            let messages = there.messages(&[told], None, now);
            return Ok(vec![Change::Declined { payment, why: why.to_owned(), messages }]);
        }
        if fault == Some(Fault::ErrorThenSuccess) && there.tries == 0 {
            return Ok(vec![Change::Stumbled { payment }]);
        }
        let kind = match there.asked.capture {
            Capture::AtOnce => Kind::Captured,
            Capture::Later => Kind::Authorised,
        };
        let paid = WebhookFacts { kind, why: None, refund: None };
        let declined =
            WebhookFacts { kind: Kind::Declined, why: Some("insufficient_funds"), refund: None };
        let messages = match fault {
            Some(Fault::OutOfOrder) => there.messages(&[paid, declined], None, now),
            Some(Fault::SecondTry) => there.messages(&[declined, paid], None, now),
            _ => there.messages(&[paid], fault, now),
        };
        let card = card.filter(|_| fault != Some(Fault::NoFingerprint)).map(str::to_owned);
        Ok(vec![match there.asked.capture {
            Capture::AtOnce => Change::Captured { payment, messages },
            Capture::Later => Change::Authorised { payment, card, messages },
        }])
    }

    /// Writes down what happened.
    pub(super) fn apply(&mut self, change: Change) {
        match change {
            Change::Created(asked) => {
                let payment = Payment {
                    state: State::Open,
                    refunds: Vec::new(),
                    desk: Vec::new(),
                    tries: 0,
                    messages: 0,
                    asked,
                };
                self.payments.insert(payment.asked.payment.clone(), payment);
            }
            Change::Buried { payment } => {
                self.buried.insert(payment);
            }
            Change::Stumbled { payment } => self.change(&payment, |there| there.tries += 1),
            Change::Declined { payment, why, messages } => {
                self.send(&payment, messages);
                self.change(&payment, |there| {
                    there.tries += 1;
                    there.state = State::Declined { why };
                });
            }
            Change::Authorised { payment, card, messages } => {
                self.send(&payment, messages);
                self.change(&payment, |there| {
                    there.tries += 1;
                    there.state = State::Authorised { card };
                });
            }
            Change::Captured { payment, messages } => {
                self.send(&payment, messages);
                self.change(&payment, |there| {
                    // What was set aside was tried before.
                    there.tries += u32::from(there.asked.capture == Capture::AtOnce);
                    there.state = State::Captured;
                });
            }
            Change::Cancelled { payment, why, messages } => {
                self.send(&payment, messages);
                self.change(&payment, |there| there.state = State::Cancelled { why });
            }
            Change::Refunded { payment, refund, messages } => {
                self.send(&payment, messages);
                self.change(&payment, |there| there.refunds.push(refund));
            }
            Change::AtDesk { payment, index, made, messages } => {
                self.send(&payment, messages);
                self.change(&payment, |there| match there.desk.get_mut(index) {
                    Some(known) => *known = made,
                    None => there.desk.push(made),
                });
            }
            Change::Settled { message } => self.settle(&message),
            Change::Scripted { script } => {
                self.scripts.insert(self.scripted, script);
                self.scripted += 1;
            }
            Change::ScriptUsed { number } => {
                if let Some(script) = self.scripts.get_mut(&number) {
                    script.next_n -= 1;
                    if script.next_n == 0 {
                        self.scripts.remove(&number);
                    }
                }
            }
        }
    }

    fn change(&mut self, payment: &PaymentId, change: impl FnOnce(&mut Payment)) {
        change(self.payments.get_mut(payment).expect("only payments that are there change"));
    }

    fn send(&mut self, payment: &PaymentId, messages: Vec<Message>) {
        if messages.is_empty() {
            return;
        }
        self.change(payment, |there| there.messages += messages.len() as u32);
        self.waiting.entry(payment.clone()).or_default().extend(messages);
    }

    fn settle(&mut self, message: &str) {
        // A message's id is its payment's, a full stop, and a number.
        let payment = message.rsplit_once('.').map(|(payment, _)| payment);
        let Some((payment, waiting)) =
            payment.and_then(|payment| Some((payment, self.waiting.get_mut(payment)?)))
        else {
            return;
        };
        waiting.retain(|other| other.id != message);
        if waiting.is_empty() {
            self.waiting.remove(payment);
        }
    }
}

/// What a message says.
pub(super) struct WebhookFacts<'a> {
    pub(super) kind: Kind,
    pub(super) why: Option<&'a str>,
    pub(super) refund: Option<&'a str>,
}

impl Payment {
    /// The messages that tell of it, as far as the fault lets them.
    pub(super) fn messages(
        &self,
        told: &[WebhookFacts<'_>],
        fault: Option<Fault>,
        now: Now,
    ) -> Vec<Message> {
        if fault == Some(Fault::Never) {
            return Vec::new();
        }
        let wait_ms = if fault == Some(Fault::Late) { now.late_ms } else { 0 };
        let message = |(n, told): (u32, &WebhookFacts<'_>)| Message {
            id: format!("{}.{}", self.asked.payment, self.messages + n),
            kind: told.kind,
            payment: self.asked.payment.clone(),
            refund: told.refund.map(str::to_owned),
            desk: None,
            why: told.why.map(str::to_owned),
            created_s: now.ms / 1_000,
            due_ms: now.ms + wait_ms,
            twice: fault == Some(Fault::Duplicate),
        };
        (0..).zip(told).map(message).collect()
    }
}
