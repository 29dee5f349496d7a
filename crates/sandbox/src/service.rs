//! Where every call of the sandbox is decided, written down and answered, or not answered.

use super::at_desk::AtDesk;
use super::book::{Book, Change, Message, NewPayment, Now, Payment, Refused, State};
use super::config::SandboxConfig;
use super::fault::{ByLot, Call, Fault, Script, card_fault, fingerprint};
use super::journal::{Gone, Journal};
use super::parcel::{Parcel, Webhook};
use axum::http::Uri;
use onrush_core::ids::{BookingId, EventId, PaymentId};
use onrush_core::money::Currency;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::sync::{mpsc, watch};

/// The wall clock in milliseconds.
pub(super) fn now_ms() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_millis()).unwrap_or(i64::MAX)
}

/// The state behind the listener.
pub(super) struct Service {
    book: Mutex<Book>,
    journal: Journal,
    parcels: mpsc::UnboundedSender<Parcel>,
    webhook_url: watch::Sender<Option<Uri>>,
    base_url: String,
    config: SandboxConfig,
}

/// How a call ends.
pub(super) enum Answer {
    /// With what it asked for.
    Done(Box<PaymentView>),
    /// With a refusal.
    Refused(Refused),
    /// With an error, once.
    Stumbled,
    /// Without a word, though it was done.
    Lost,
    /// With an error: the file cannot be written.
    Broken,
}

impl Service {
    /// Opens the books. What was not delivered is sent again.
    pub(super) fn new(
        config: SandboxConfig,
        base_url: String,
        (journal, book): (Journal, Book),
        parcels: mpsc::UnboundedSender<Parcel>,
    ) -> Self {
        for parcel in book.waiting.values() {
            // The other end is held by whoever calls.
            let _ = parcels.send(parcel.clone());
        }
        let webhook_url = watch::Sender::new(config.webhook_url.clone());
        Self { book: Mutex::new(book), journal, parcels, webhook_url, base_url, config }
    }

    pub(super) fn secret(&self) -> &str {
        self.config.secret.reveal()
    }

    pub(super) fn webhook_secret(&self) -> &[u8] {
        self.config.webhook_secret.reveal().as_bytes()
    }

    /// Where webhooks go, as soon as that is known.
    pub(super) async fn webhook_url(&self) -> Option<Uri> {
        let mut url = self.webhook_url.subscribe();
        url.wait_for(Option::is_some).await.ok()?.clone()
    }

    /// Closes the file: whoever is still at something is not answered any more.
    pub(super) fn close(&self) {
        self.journal.close();
    }

    pub(super) fn set_webhook_url(&self, url: Option<Uri>) {
        self.webhook_url.send_replace(url);
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        // A panic while the book was open has left it as the file cannot show it.
        self.book.lock().expect("nobody panicked over the book")
    }

    fn now(&self) -> Now {
        Now { ms: now_ms(), late_ms: i64::try_from(self.config.late_ms).unwrap_or(i64::MAX) }
    }

    /// Asks for a payment.
    pub(super) async fn create(&self, asked: NewPayment) -> Answer {
        let payment = asked.payment.clone();
        let key = payment.as_str().to_owned();
        self.call(Call::Create, &payment, &key, |book, _| book.decide_create(asked)).await
    }

    /// What became of a payment.
    pub(super) async fn status(&self, payment: &PaymentId) -> Answer {
        self.call(Call::Status, payment, "", |_, _| Ok(Vec::new())).await
    }

    /// Takes the money that is set aside.
    pub(super) async fn capture(&self, payment: &PaymentId) -> Answer {
        let now = self.now();
        let decide = |book: &Book, fault| book.decide_capture(payment, fault, now);
        self.call(Call::Capture, payment, payment.as_str(), decide).await
    }

    /// Calls a payment off.
    pub(super) async fn cancel(&self, payment: &PaymentId) -> Answer {
        let now = self.now();
        let decide = |book: &Book, fault| Ok(book.decide_cancel(payment, fault, now));
        self.call(Call::Cancel, payment, payment.as_str(), decide).await
    }

    /// Gives money back.
    pub(super) async fn refund(&self, payment: &PaymentId, key: &str, amount_minor: i64) -> Answer {
        let now = self.now();
        let decide =
            |book: &Book, fault| book.decide_refund(payment, key, amount_minor, fault, now);
        self.call(Call::Refund, payment, key, decide).await
    }

    /// Something is done at the desk.
    pub(super) async fn at_desk(&self, payment: &PaymentId, what: &AtDesk) -> Answer {
        let now = self.now();
        // Nothing goes wrong at the desk: it does what it is told.
        self.call(Call::Desk, payment, "", |book, _| book.decide_at_desk(payment, what, now)).await
    }

    /// The buyer does not want to pay.
    pub(super) async fn give_up(&self, payment: &PaymentId) -> Answer {
        let now = self.now();
        self.call(Call::Pay, payment, "", |book, _| book.decide_give_up(payment, now)).await
    }

    /// The buyer pays, with a card that may do something to it.
    pub(super) async fn pay(&self, payment: &PaymentId, digits: &str) -> Answer {
        let (card, known_by) = (card_fault(digits), fingerprint(digits));
        let now = self.now();
        let mut acts = card;
        let decide = |book: &Book, scripted: Option<Fault>| {
            let first = book.payments.get(payment).is_some_and(|there| there.tries == 0);
            let by_lot = || self.config.faults.on_pay(payment).filter(|_| first);
            acts = scripted.or(card).or_else(by_lot);
            book.decide_pay(payment, Some(&known_by), acts, now)
        };
        let answer = self.call(Call::Pay, payment, "", decide).await;
        // A script's delay or loss is seen to already; a card's is not.
        match (answer, card.filter(|card| acts == Some(*card))) {
            (Answer::Done(_), Some(Fault::LostAnswer)) => Answer::Lost,
            (answer, Some(Fault::Delay)) => {
                self.delay().await;
                answer
            }
            (answer, _) => answer,
        }
    }

    async fn delay(&self) {
        tokio::time::sleep(Duration::from_millis(self.config.delay_ms)).await;
    }

    /// Decides a call, writes down what it changes, and sends the messages; then says how to answer.
    async fn call(
        &self,
        call: Call,
        payment: &PaymentId,
        key: &str,
        decide: impl FnOnce(&Book, Option<Fault>) -> Result<Vec<Change>, Refused>,
    ) -> Answer {
        let (written, answer, parcel, fault) = {
            let mut book = self.book();
            let script = book.script(call, payment);
            let fault = script.map(|(_, fault)| fault);
            let used = script.map(|(number, _)| Change::ScriptUsed { number });
            let decided = if fault == Some(Fault::ErrorThenSuccess) {
                Err(None)
            } else {
                decide(&book, fault).map_err(Some)
            };
            let (changes, refused) = match decided {
                Ok(changes) => (changes, None),
                Err(why) => (Vec::new(), Some(why)),
            };
            let parcel: Parcel = changes.iter().flat_map(Change::messages).cloned().collect();
            let stumbled = matches!(changes.first(), Some(Change::Stumbled { .. }));
            let loses = !changes.is_empty() && self.config.faults.loses_answer(call, key);
            let changes: Vec<Change> = used.into_iter().chain(changes).collect();
            let written = self.journal.append(&changes);
            for change in changes {
                book.apply(change);
            }
            let answer = match refused {
                Some(None) => Answer::Stumbled,
                Some(Some(why)) => Answer::Refused(why),
                None if stumbled => Answer::Stumbled,
                None if loses || fault == Some(Fault::LostAnswer) => Answer::Lost,
                None => self
                    .view(&book, payment)
                    .map_or_else(Answer::Refused, |view| Answer::Done(Box::new(view))),
            };
            (written, answer, parcel, fault)
        };
        let parcels = self.parcels.clone();
        // Whoever asked may hang up meanwhile, and what happened is told all the same.
        let told = tokio::spawn(async move {
            written.wait().await?;
            if !parcel.is_empty() {
                // When the courier is gone, the sandbox is being stopped, and the file has the message.
                let _ = parcels.send(parcel);
            }
            Ok::<(), Gone>(())
        });
        if !matches!(told.await, Ok(Ok(()))) {
            return Answer::Broken;
        }
        if fault == Some(Fault::Delay) {
            self.delay().await;
        }
        answer
    }

    fn view(&self, book: &Book, payment: &PaymentId) -> Result<PaymentView, Refused> {
        match book.payments.get(payment) {
            Some(there) => Ok(PaymentView::of(there, &self.base_url)),
            None if book.is_buried(payment) => Ok(PaymentView::buried(payment)),
            None => Err(Refused {
                status: 404,
                code: "PAYMENT_NOT_FOUND",
                detail: "there is no such payment",
            }),
        }
    }

    /// Writes down what nobody waits for.
    pub(super) fn note(&self, change: Change) {
        let mut book = self.book();
        drop(self.journal.append(std::slice::from_ref(&change)));
        book.apply(change);
    }

    /// Has something go wrong with the next calls.
    pub(super) async fn script(&self, script: Script) -> Result<(), Gone> {
        let written = {
            let mut book = self.book();
            let change = Change::Scripted { script };
            let written = self.journal.append(std::slice::from_ref(&change));
            book.apply(change);
            written
        };
        written.wait().await
    }

    /// Waits until everything that was seen so far is in the file.
    async fn settled(&self) -> Result<(), Gone> {
        self.journal.append(&[]).wait().await
    }

    /// Payments in the order of their ids.
    pub(super) async fn list(
        &self,
        after: Option<&PaymentId>,
        limit: usize,
    ) -> Result<PaymentList, Gone> {
        let list = {
            let book = self.book();
            let from = after.map_or(Bound::Unbounded, Bound::Excluded);
            let range = (from, Bound::Unbounded::<&PaymentId>);
            let mut found = book.payments.range::<PaymentId, _>(range).map(|(_, there)| there);
            let payments: Vec<PaymentView> = found
                .by_ref()
                .take(limit)
                .map(|there| PaymentView::of(there, &self.base_url))
                .collect();
            let more = found.next().is_some();
            let next = payments.last().filter(|_| more).map(|last| last.payment.clone());
            PaymentList { payments, next }
        };
        self.settled().await.map(|()| list)
    }

    /// Sums over all payments.
    pub(super) async fn totals(&self) -> Result<SandboxTotals, Gone> {
        let totals = {
            let book = self.book();
            let mut totals = SandboxTotals {
                messages_waiting: book.waiting.values().map(Vec::len).sum::<usize>() as u64,
                ..SandboxTotals::default()
            };
            for there in book.payments.values() {
                totals.add(there);
            }
            totals
        };
        self.settled().await.map(|()| totals)
    }

    /// A message as it is sent.
    pub(super) fn webhook(&self, message: &Message) -> Option<Webhook> {
        let book = self.book();
        let there = book.payments.get(&message.payment)?;
        let of = message.refund.as_ref();
        let refund = of.and_then(|key| there.refunds.iter().find(|refund| refund.refund == *key));
        let refund = refund.map(|made| (&made.reference, made.amount_minor));
        let made = message.desk.and_then(|index| there.desk.get(index));
        let made = made.map(|made| (&made.reference, made.amount_minor)).or(refund);
        Some(Webhook {
            id: message.id.clone(),
            kind: message.kind.name().to_owned(),
            payment: message.payment.clone(),
            booking: there.asked.booking.clone(),
            reference: made.map_or_else(|| there.reference(), |(reference, _)| reference.clone()),
            amount_minor: made.map_or(there.asked.amount_minor, |(_, amount_minor)| amount_minor),
            currency: there.asked.currency,
            why: message.why.clone(),
            refund: message.refund.clone(),
            created_s: message.created_s,
        })
    }
}

/// A payment as the sandbox shows it. One that was called off before it was asked for has no more
/// than its id and status.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PaymentView {
    /// Its id.
    pub payment: PaymentId,
    /// `open`, `declined`, `cancelled`, `authorised` or `captured`.
    pub status: String,
    /// Why it was declined or cancelled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// What the card is known by whose money is set aside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub card: Option<String>,
    /// Money that was taken, in minor units.
    pub captured_minor: i64,
    /// Money that went back, in minor units.
    pub refunded_minor: i64,
    /// What was asked for.
    #[serde(flatten)]
    pub asked: Option<AskedView>,
}

/// What was asked for, as the sandbox shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskedView {
    /// What is paid for.
    pub booking: BookingId,
    /// The event.
    pub event: EventId,
    /// What the sandbox calls the payment.
    pub reference: String,
    /// The page where the buyer pays.
    pub url: String,
    /// How much, in minor units.
    pub amount_minor: i64,
    /// In which currency.
    pub currency: Currency,
    /// What the buyer reads.
    pub description: String,
    /// Where the buyer goes from the page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub return_url: Option<String>,
    /// When it was asked for, in seconds since the epoch.
    pub created_s: i64,
    /// Money that went back.
    pub refunds: Vec<RefundView>,
}

/// A refund as the sandbox shows it. All of them are done at once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefundView {
    /// Its key.
    pub refund: String,
    /// What the sandbox calls it.
    pub reference: String,
    /// How much, in minor units.
    pub amount_minor: i64,
    /// `done`.
    pub status: String,
}

impl PaymentView {
    fn of(there: &Payment, base_url: &str) -> Self {
        let asked = &there.asked;
        let (status, why, card) = match &there.state {
            State::Open => ("open", None, None),
            State::Declined { why } => ("declined", Some(why.clone()), None),
            State::Cancelled { why } => ("cancelled", Some(why.clone()), None),
            State::Authorised { card } => ("authorised", None, card.clone()),
            State::Captured => ("captured", None, None),
        };
        let refunds = there.refunds.iter().map(|made| RefundView {
            refund: made.refund.clone(),
            reference: made.reference.clone(),
            amount_minor: made.amount_minor,
            status: "done".into(),
        });
        Self {
            payment: asked.payment.clone(),
            status: status.into(),
            why,
            card,
            captured_minor: there.captured_minor(),
            refunded_minor: there.refunded_minor(),
            asked: Some(AskedView {
                booking: asked.booking.clone(),
                event: asked.event.clone(),
                reference: there.reference(),
                url: format!("{base_url}/pay/{}", asked.payment),
                amount_minor: asked.amount_minor,
                currency: asked.currency,
                description: asked.description.clone(),
                return_url: asked.return_url.clone(),
                created_s: asked.created_s,
                refunds: refunds.collect(),
            }),
        }
    }

    fn buried(payment: &PaymentId) -> Self {
        Self {
            payment: payment.clone(),
            status: "cancelled".into(),
            why: Some("never_created".into()),
            card: None,
            captured_minor: 0,
            refunded_minor: 0,
            asked: None,
        }
    }
}

/// A page of payments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PaymentList {
    /// In the order of their ids.
    pub payments: Vec<PaymentView>,
    /// Where the next page begins; missing on the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<PaymentId>,
}

/// Sums over everything. Money of all currencies is added up, and apart by currency.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxTotals {
    /// Payments that were asked for.
    pub payments: u64,
    /// Payments that wait for the buyer.
    pub open: u64,
    /// Payments whose last try was declined.
    pub declined: u64,
    /// Payments that were called off.
    pub cancelled: u64,
    /// Payments whose money is set aside.
    #[serde(default, skip_serializing_if = "is_none")]
    pub authorised: u64,
    /// Payments from which money was taken.
    pub captured_payments: u64,
    /// Money that was taken, in minor units.
    pub captured_minor: i64,
    /// Refunds that were made.
    pub refunds: u64,
    /// Money that went back, in minor units.
    pub refunded_minor: i64,
    /// Webhooks that have not arrived yet.
    pub messages_waiting: u64,
    /// Money by currency.
    pub currencies: BTreeMap<String, CurrencyTotals>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_none(count: &u64) -> bool {
    *count == 0
}

/// Sums of one currency.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CurrencyTotals {
    /// Money that was taken, in minor units.
    pub captured_minor: i64,
    /// Money that went back, in minor units.
    pub refunded_minor: i64,
}

impl SandboxTotals {
    fn add(&mut self, there: &Payment) {
        self.payments += 1;
        match there.state {
            State::Open => self.open += 1,
            State::Declined { .. } => self.declined += 1,
            State::Cancelled { .. } => self.cancelled += 1,
            State::Authorised { .. } => self.authorised += 1,
            State::Captured => {
                let (captured, refunded) = (there.captured_minor(), there.refunded_minor());
                self.captured_payments += 1;
                self.captured_minor += captured;
                self.refunds += there.refunds.len() as u64;
                self.refunded_minor += refunded;
                let currency = there.asked.currency.as_str().to_owned();
                let sums = self.currencies.entry(currency).or_default();
                sums.captured_minor += captured;
                sums.refunded_minor += refunded;
            }
        }
    }
}

impl Change {
    /// The messages that tell of it.
    fn messages(&self) -> &[Message] {
        match self {
            Self::Declined { messages, .. }
            | Self::Authorised { messages, .. }
            | Self::Captured { messages, .. }
            | Self::Cancelled { messages, .. }
            | Self::Refunded { messages, .. }
            | Self::AtDesk { messages, .. } => messages,
            Self::Created(_)
            | Self::Buried { .. }
            | Self::Stumbled { .. }
            | Self::Settled { .. }
            | Self::Scripted { .. }
            | Self::ScriptUsed { .. } => &[],
        }
    }
}
