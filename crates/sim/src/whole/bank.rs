//! The bank: a payment gateway with a book of its own, which the judges believe.

mod desk;
mod keys;

use super::story::Story;
use super::strikes::Strikes;
use crate::chance::Chance;
use axum::http::HeaderMap;
pub(super) use desk::{AtDesk, FirstAsk, Heard};
use keys::Keys;
use onrush_core::ids::{BookingId, PaymentId};
use onrush_core::money::Currency;
use onrush_ledger::desk::DeskStatus;
use onrush_ledger::money::Capture;
use onrush_saga::gateway::takes::Takes;
use onrush_saga::gateway::{
    Answer, DeskNews, Fingerprint, Gateway, GatewayError, News, NotGenuine, Notice, Order, Ours,
    RefundOrder, RefundStanding, Standing,
};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::sleep;

/// Of how many calls that move money or set it free, in a hundred, the server does not see the answer
/// because it has ended.
const LAST_CALLS_PERCENT: u32 = 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    /// Money is set aside.
    Authorised,
    Declined,
    Captured,
    Cancelled,
}

/// A payment in the book.
#[derive(Clone, Debug)]
struct Entry {
    booking: Option<BookingId>,
    amount_minor: i64,
    currency: Option<Currency>,
    state: State,
    /// When the money is taken.
    capture: Capture,
    /// The number of the card that was typed last.
    card: Option<u32>,
    /// By their keys.
    refunds: BTreeMap<String, i64>,
    /// Those that the bank still works on: how much, and for how many more looks.
    pending: BTreeMap<String, (i64, u32)>,
    /// What went back at its desk.
    desk: Vec<AtDesk>,
    /// What an operator gave back by other means.
    elsewhere_minor: i64,
    /// Whether the server has forgotten decisions since this was begun; and whether it had given
    /// something back by then.
    is_of_before: bool,
    had_refunds: bool,
    /// Whether the server has asked for more back than was taken; and whether for more than the desk
    /// had left of that.
    asked_too_much: bool,
    asked_beside_desk: bool,
    first_ask: Option<FirstAsk>,
}

impl Entry {
    /// One of which nothing else is known.
    fn of(state: State, capture: Capture) -> Self {
        Self {
            booking: None,
            amount_minor: 0,
            currency: None,
            state,
            capture,
            card: None,
            refunds: BTreeMap::new(),
            pending: BTreeMap::new(),
            desk: Vec::new(),
            elsewhere_minor: 0,
            is_of_before: false,
            had_refunds: false,
            asked_too_much: false,
            asked_beside_desk: false,
            first_ask: None,
        }
    }

    fn returned_minor(&self) -> i64 {
        self.refunds.values().sum()
    }

    fn asked_back_minor(&self) -> i64 {
        self.returned_minor() + self.pending.values().map(|(minor, _)| minor).sum::<i64>()
    }

    /// What the bank does about a refund that it is asked for, and says.
    fn refund(&mut self, key: &str, amount_minor: i64, fate: Fate) -> Result<Said, &'static str> {
        if self.refunds.contains_key(key) {
            return Ok(Said::Done { is_new: false });
        }
        let looks = match self.pending.get_mut(key) {
            Some((_, looks)) => looks,
            None => {
                let left_minor = self.amount_minor - self.back_minor();
                if self.state != State::Captured || amount_minor > left_minor {
                    return Err("more than was taken");
                }
                let looks = match fate {
                    Fate::Done | Fate::DoneInSilence => 0,
                    Fate::Pending(looks) => looks,
                };
                &mut self.pending.entry(key.to_owned()).or_insert((amount_minor, looks)).1
            }
        };
        if *looks > 0 {
            *looks -= 1;
            return Ok(Said::Pending { is_done: false });
        }
        self.pending.remove(key);
        self.refunds.insert(key.to_owned(), amount_minor);
        Ok(match fate {
            Fate::DoneInSilence => Said::Pending { is_done: true },
            Fate::Done | Fate::Pending(_) => Said::Done { is_new: true },
        })
    }
}

/// How long the bank takes for a refund.
#[derive(Clone, Copy)]
enum Fate {
    Done,
    /// It says that it works on it, and sends a message once it is done, which is at once.
    DoneInSilence,
    /// It works on it until it was asked so often.
    Pending(u32),
}

/// What the bank says about a refund.
enum Said {
    Done { is_new: bool },
    Pending { is_done: bool },
}

struct Book {
    entries: BTreeMap<PaymentId, Entry>,
    /// What refunds are asked for under.
    keys: Keys,
    /// Messages, by their ids.
    sent: BTreeMap<String, Notice>,
    chance: Chance,
}

/// The bank.
pub(super) struct Bank {
    book: Mutex<Book>,
    has_faults: AtomicBool,
    /// Whether money goes back at its desk, too, in this sale.
    has_desk: bool,
    /// Ids of messages.
    news: UnboundedSender<String>,
    strikes: Arc<Strikes>,
    story: Story,
}

/// What the book says of one payment.
#[derive(Clone, Debug)]
pub(super) struct Paid {
    pub(super) payment: PaymentId,
    pub(super) booking: BookingId,
    pub(super) amount_minor: i64,
    pub(super) is_captured: bool,
    /// Whether its money is still set aside.
    pub(super) is_set_aside: bool,
    /// The number of the card that was typed last.
    pub(super) card: Option<u32>,
    /// What went back because the bank was asked to.
    pub(super) refunds_minor: Vec<i64>,
    /// What its desk did.
    pub(super) desk: Vec<AtDesk>,
    /// What an operator gave back by other means.
    pub(super) elsewhere_minor: i64,
    /// What is left of what was taken, beside all that went back at the bank or is about to.
    pub(super) left_minor: i64,
    /// Whether the server has asked for more back than the desk had left.
    pub(super) asked_beside_desk: bool,
    /// What it asked for first.
    pub(super) first_ask: Option<FirstAsk>,
    /// Whether the server has forgotten decisions since it was begun.
    pub(super) is_of_before: bool,
}

impl Paid {
    /// What went back at the desk.
    pub(super) fn at_desk_minor(&self) -> i64 {
        let back = self.desk.iter().filter(|made| made.stands() == DeskStatus::Moved);
        back.map(|made| made.amount_minor).sum()
    }
}

/// What the book says of one booking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Account {
    /// How often money was taken.
    pub(super) captures: u32,
    pub(super) captured_minor: i64,
    pub(super) returned_minor: i64,
    /// Whether the server has forgotten decisions since it gave something back.
    pub(super) had_refunds: bool,
    /// Whether the desk has done something with it.
    pub(super) is_at_desk: bool,
}

impl Bank {
    pub(super) fn open(
        seed: u64,
        has_faults: bool,
        has_desk: bool,
        strikes: Arc<Strikes>,
        story: Story,
    ) -> (Arc<Self>, UnboundedReceiver<String>) {
        let (news, told) = unbounded_channel();
        let book = Book {
            entries: BTreeMap::new(),
            keys: Keys::default(),
            sent: BTreeMap::new(),
            chance: Chance::of(seed, "bank", 0),
        };
        let has_faults = AtomicBool::new(has_faults);
        let book = Mutex::new(book);
        (Arc::new(Self { book, has_faults, has_desk, news, strikes, story }), told)
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on every answer comes, and at once.
    pub(super) fn calm(&self) {
        self.has_faults.store(false, Ordering::Relaxed);
    }

    /// How often money was taken, and how often it went back.
    pub(super) fn counts(&self) -> (u64, u64) {
        let book = self.book();
        let captured = book.entries.values().filter(|entry| entry.state == State::Captured);
        let is_back = |made: &&AtDesk| made.stands() == DeskStatus::Moved;
        let at_desk = |entry: &Entry| entry.desk.iter().filter(is_back).count();
        let back = |entry: &Entry| (entry.refunds.len() + at_desk(entry)) as u64;
        let refunds = book.entries.values().map(back).sum();
        (captured.count() as u64, refunds)
    }

    /// What the book says of each booking.
    pub(super) fn accounts(&self) -> BTreeMap<BookingId, Account> {
        let mut accounts = BTreeMap::<_, Account>::new();
        for entry in self.book().entries.values() {
            let Some(booking) = &entry.booking else { continue };
            let account = accounts.entry(booking.clone()).or_default();
            if entry.state == State::Captured {
                account.captures += 1;
                account.captured_minor += entry.amount_minor;
            }
            account.returned_minor += entry.returned_minor();
            account.had_refunds |= entry.had_refunds;
            account.is_at_desk |= !entry.desk.is_empty();
        }
        accounts
    }

    /// All payments that belong to a booking.
    pub(super) fn payments(&self) -> Vec<Paid> {
        let book = self.book();
        let paid = |(payment, entry): (&PaymentId, &Entry)| {
            Some(Paid {
                payment: payment.clone(),
                booking: entry.booking.clone()?,
                amount_minor: entry.amount_minor,
                is_captured: entry.state == State::Captured,
                is_set_aside: entry.state == State::Authorised,
                card: entry.card,
                refunds_minor: entry.refunds.values().copied().collect(),
                desk: entry.desk.clone(),
                elsewhere_minor: entry.elsewhere_minor,
                left_minor: entry.amount_minor - entry.back_minor(),
                asked_beside_desk: entry.asked_beside_desk,
                first_ask: entry.first_ask,
                is_of_before: entry.is_of_before,
            })
        };
        book.entries.iter().filter_map(paid).collect()
    }

    /// The server is about to begin again from before, with its decisions or without.
    pub(super) fn note_loss(&self, of_decisions: bool) {
        let mut book = self.book();
        book.keys.forgive();
        for entry in book.entries.values_mut().filter(|_| of_decisions) {
            entry.is_of_before = true;
            entry.had_refunds |= !entry.refunds.is_empty();
        }
    }

    /// The operator gives back all that is left of a payment, or sets it free.
    pub(super) fn give_back_by_hand(&self, payment: &PaymentId) {
        let mut book = self.book();
        let Some(entry) = book.entries.get_mut(payment) else { return };
        if entry.state == State::Authorised {
            entry.state = State::Cancelled;
        }
        let left_minor = entry.amount_minor - entry.returned_minor();
        if entry.state == State::Captured && left_minor > 0 {
            entry.refunds.insert("by hand".into(), left_minor);
        }
    }

    /// Payments of which more was asked back than was taken; the bank has refused that.
    pub(super) fn asked_too_much(&self) -> Vec<PaymentId> {
        let book = self.book();
        let over = book.entries.iter().filter(|(_, entry)| entry.asked_too_much);
        over.map(|(id, _)| id.clone()).collect()
    }

    /// What was asked for under keys that stand for another refund, a sentence each; the bank has refused
    /// that.
    pub(super) fn reused_keys(&self) -> Vec<String> {
        self.book().keys.reused()
    }

    /// The buyer types the card of this number on the bank's page. False if there is nothing to be
    /// paid any more.
    pub(super) fn pay(&self, payment: &PaymentId, card: u32, is_good: bool) -> bool {
        let mut book = self.book();
        let Some(entry) = book.entries.get_mut(payment) else { return false };
        if !matches!(entry.state, State::Open | State::Declined) {
            return false;
        }
        entry.card = Some(card);
        entry.state = match entry.capture {
            _ if !is_good => State::Declined,
            Capture::AtOnce => State::Captured,
            Capture::Later => State::Authorised,
        };
        self.story.tell("the bank", format!("{payment} is {:?}", entry.state));
        self.send(&mut book, payment);
        true
    }

    /// Has a message sent that tells where a payment stands.
    fn send(&self, book: &mut Book, payment: &PaymentId) {
        let Some(entry) = book.entries.get(payment) else { return };
        let standing = standing(payment, entry);
        let Some(booking) = entry.booking.clone() else { return };
        self.post(book, News::Payment { payment: payment.clone(), booking, standing });
    }

    fn post(&self, book: &mut Book, news: News) {
        let id = format!("n-{}", book.chance.any());
        book.sent.insert(id.clone(), Notice { id: id.clone(), news: Some(news) });
        // Nobody listens any more at the very end.
        drop(self.news.send(id));
    }

    /// Lets a call take its time. True if its answer gets lost.
    async fn way(&self) -> Result<bool, GatewayError> {
        let (before_ms, lost, never) = {
            let mut book = self.book();
            let chance = &mut book.chance;
            if self.has_faults.load(Ordering::Relaxed) {
                let ms = match chance.below(50) {
                    0 => chance.within(5_000, 40_000),
                    _ => chance.within(5, 400),
                };
                (ms, chance.percent(4), chance.percent(4))
            } else {
                (20, false, false)
            }
        };
        sleep(Duration::from_millis(before_ms.unsigned_abs())).await;
        let silent = || GatewayError::Unavailable("no answer".into());
        if never { Err(silent()) } else { Ok(lost) }
    }

    /// The same for a call after which money is somewhere else.
    async fn moving_way(&self) -> Result<bool, GatewayError> {
        if self.has_faults.load(Ordering::Relaxed) {
            self.strikes.draw(LAST_CALLS_PERCENT);
        }
        self.way().await
    }
}

fn answer<T>(lost: bool, value: T) -> Result<T, GatewayError> {
    if lost { Err(GatewayError::Unavailable("the answer got lost".into())) } else { Ok(value) }
}

fn reference(payment: &PaymentId) -> String {
    format!("at-the-bank-{payment}")
}

fn standing(payment: &PaymentId, entry: &Entry) -> Standing {
    let reference = reference(payment);
    match entry.state {
        State::Open => Standing::Open { reference, url: Some("page".into()), client_secret: None },
        State::Authorised => {
            let card = entry.card.and_then(|number| Fingerprint::new(format!("card-{number}")));
            Standing::Authorised { reference, card }
        }
        State::Declined => Standing::Declined { reference, why: "insufficient_funds".into() },
        State::Cancelled => {
            Standing::Cancelled { reference: Some(reference), why: "cancelled".into() }
        }
        State::Captured => match entry.currency {
            Some(currency) => {
                Standing::Captured { reference, amount_minor: entry.amount_minor, currency }
            }
            None => Standing::Unknown,
        },
    }
}

impl Gateway for Bank {
    fn name(&self) -> &'static str {
        "bank"
    }

    fn step_minor(&self, _: Currency) -> i64 {
        1
    }

    fn create<'a>(&'a self, order: &'a Order) -> Answer<'a, Standing> {
        Box::pin(async move {
            let lost = self.way().await?;
            let mut book = self.book();
            let entry = book.entries.entry(order.payment.clone()).or_insert_with(|| Entry {
                booking: Some(order.booking.clone()),
                amount_minor: order.amount_minor,
                currency: Some(order.currency),
                ..Entry::of(State::Open, order.capture)
            });
            answer(lost, standing(&order.payment, entry))
        })
    }

    fn status<'a>(&'a self, order: &'a Order) -> Answer<'a, Standing> {
        Box::pin(async move {
            let lost = self.way().await?;
            let book = self.book();
            let entry = book.entries.get(&order.payment);
            answer(lost, entry.map_or(Standing::Unknown, |entry| standing(&order.payment, entry)))
        })
    }

    fn capture<'a>(&'a self, order: &'a Order) -> Answer<'a, Standing> {
        Box::pin(async move {
            let lost = self.moving_way().await?;
            let mut book = self.book();
            let payment = &order.payment;
            let Some(entry) = book.entries.get_mut(payment) else {
                return answer(lost, Standing::Unknown);
            };
            let is_taken = entry.state == State::Authorised;
            if is_taken {
                entry.state = State::Captured;
                self.story.tell("the bank", format!("{payment} is captured"));
            }
            let standing = standing(payment, entry);
            if is_taken {
                self.send(&mut book, payment);
            }
            answer(lost, standing)
        })
    }

    fn cancel<'a>(&'a self, order: &'a Order) -> Answer<'a, Standing> {
        Box::pin(async move {
            let lost = self.moving_way().await?;
            let mut book = self.book();
            // One that is not known will not be created later either.
            let unknown = || Entry::of(State::Cancelled, order.capture);
            let entry = book.entries.entry(order.payment.clone()).or_insert_with(unknown);
            if matches!(entry.state, State::Open | State::Declined | State::Authorised) {
                entry.state = State::Cancelled;
            }
            answer(lost, standing(&order.payment, entry))
        })
    }

    fn refund<'a>(&'a self, order: &'a RefundOrder) -> Answer<'a, RefundStanding> {
        Box::pin(async move {
            let lost = self.moving_way().await?;
            let mut book = self.book();
            let payment = &order.payment.payment;
            let refused = |why: &str| Err(GatewayError::Refused(why.into()));
            let fate = match self.has_faults.load(Ordering::Relaxed) {
                true => match book.chance.below(10) {
                    0 => Fate::DoneInSilence,
                    1 => Fate::Pending(1 + book.chance.below(3)),
                    _ => Fate::Done,
                },
                false => Fate::Done,
            };
            if !book.keys.admit(&order.refund, payment, order.amount_minor) {
                return refused("another refund was asked for under its key");
            }
            let Some(entry) = book.entries.get_mut(payment) else {
                return refused("there is no such payment");
            };
            entry.note_ask(order.amount_minor);
            let said = match entry.refund(&order.refund, order.amount_minor, fate) {
                Ok(said) => said,
                Err(why) => {
                    let left_minor = entry.amount_minor - entry.asked_back_minor();
                    let is_desks = entry.at_desk_minor() > 0 && order.amount_minor <= left_minor;
                    entry.asked_beside_desk |= is_desks;
                    entry.asked_too_much |= !is_desks && !entry.had_refunds;
                    return refused(why);
                }
            };
            let reference = format!("{}-{}", reference(payment), order.refund);
            if matches!(said, Said::Done { is_new: true } | Said::Pending { is_done: true }) {
                let told = format!("{} goes back for {payment}", order.amount_minor);
                self.story.tell("the bank", told);
                let news = News::Refund {
                    payment: payment.clone(),
                    refund: order.refund.clone(),
                    amount_minor: order.amount_minor,
                    currency: order.payment.currency,
                    standing: RefundStanding::Done { reference: reference.clone() },
                };
                self.post(&mut book, news);
                if self.has_desk {
                    self.tell_what_went_back(&mut book, payment);
                }
            }
            let standing = match said {
                Said::Done { .. } => RefundStanding::Done { reference },
                Said::Pending { .. } => RefundStanding::Pending { reference },
            };
            answer(lost, standing)
        })
    }

    fn takes(&self, _: Currency) -> Result<Takes, String> {
        Ok(Takes { least_minor: 1, most_minor: i64::MAX, step_minor: 1 })
    }

    fn probe(&self) -> Answer<'_, ()> {
        Box::pin(async move {
            let lost = self.way().await?;
            answer(lost, ())
        })
    }

    fn ours<'a>(&'a self, name: &'a str) -> Answer<'a, Option<Ours>> {
        Box::pin(async move {
            let lost = self.way().await?;
            let book = self.book();
            let found = book.entries.iter().find(|(payment, entry)| {
                entry.state == State::Captured && reference(payment) == name
            });
            let ours = found.and_then(|(payment, entry)| {
                Some(Ours { payment: payment.clone(), booking: entry.booking.clone()? })
            });
            answer(lost, ours)
        })
    }

    fn desk_refunds<'a>(&'a self, name: &'a str) -> Answer<'a, Vec<DeskNews>> {
        Box::pin(async move {
            let lost = self.way().await?;
            answer(lost, self.desk_news(name))
        })
    }

    /// A message has its id alone: what it says is looked up, and ids are too long to be guessed.
    fn read_webhook(&self, _: &HeaderMap, body: &[u8], _: i64) -> Result<Notice, NotGenuine> {
        let body: Value = serde_json::from_slice(body).map_err(|_| NotGenuine::Unreadable)?;
        let sent = body["id"].as_str().and_then(|id| self.book().sent.get(id).cloned());
        sent.ok_or(NotGenuine::Unreadable)
    }
}
