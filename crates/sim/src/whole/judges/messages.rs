//! The judge of messages: whoever is to be told is told of what happened, once by the messages' ids,
//! with the journal's and the bank's amounts, and of nothing else.

use super::super::bank::{AtDesk, Bank, Paid};
use super::super::noted::Came;
use super::super::receivers::{Hook, Receivers, Said, Taken};
use super::super::server::Server;
use super::super::world::World;
use super::{Facts, Known};
use onrush_base::config::kinds::{
    BOOKING_CANCELLED, BOOKING_CONFIRMED, BOOKING_EXPIRED, BOOKING_REFUNDED, BOOKING_RELEASED,
    PAYMENT_FAILED, PAYMENT_LATE_REFUNDED, PAYMENT_REFUNDED_AT_DESK, TICKET_CHECKED_IN,
};
use onrush_core::Change;
use onrush_core::change::{BookingChange, HoldChange};
use onrush_core::hold::HoldStatus;
use onrush_core::ids::{BookingId, EventId};
use onrush_core::lines::Lines;
use onrush_ledger::delivery::DeadLetter;
use onrush_relay::messages::MAIL;
use onrush_store::FeedEntry;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// How long a message is tried at least: three days, less the pause that would lead beyond them.
const TRIED_MS: i64 = 3 * 24 * 3_600_000 - 75 * 60_000;
/// Dead letters that are read at once.
const PAGE: usize = 200;
/// What both kinds of refunds are called here: the bank knows of one.
const REFUND: &str = "a refund";

/// A kind, and whom it is about.
type About = (&'static str, BookingId);

/// What happened, and how often.
struct Happened {
    times: BTreeMap<About, usize>,
    refunds_minor: BTreeMap<BookingId, Vec<i64>>,
    /// What the bank's desk did, of bookings that it had to do with.
    at_desk: BTreeMap<BookingId, Vec<AtDesk>>,
    payments: Vec<Paid>,
}

/// Holds what was taken against what happened.
pub(super) async fn judge(
    server: &Arc<Server>,
    world: &World,
    bank: &Bank,
    facts: &Facts,
    entries: &[Arc<FeedEntry>],
    violations: &mut Vec<String>,
) {
    let receivers = server.receivers();
    if receivers.channels().is_empty() {
        return;
    }
    let happened = Happened::of(entries, bank.payments());
    let (taken, dead) = (receivers.taken(), dead_letters(server, violations).await);
    for letter in &dead {
        given_up(receivers, letter, violations);
    }
    let losses = server.accepted();
    let times_lost = usize::try_from(losses).unwrap_or_default();
    // Whoever was told of what got lost has nothing to hold it against.
    if server.restores() > 0 {
        return;
    }
    // A ledger of a version before, or one that was put back, does not know who got such a mail.
    let runs_out = 1 + server.upgrades().await + times_lost;
    let (happened, dead) = (&happened, &dead);
    let mut judge = Judge { world, facts, happened, dead, runs_out, losses, violations };
    for hook in &receivers.hooks {
        judge.hook(hook, &taken);
    }
    if receivers.has_mail() {
        judge.mail(&taken);
    }
}

async fn dead_letters(server: &Arc<Server>, violations: &mut Vec<String>) -> Vec<DeadLetter> {
    let (mut letters, mut after) = (Vec::new(), None);
    let life = server.life().expect("it was started");
    loop {
        match life.ledger.dead_letters(None, after, PAGE).await {
            Ok(page) => {
                letters.extend(page.rows);
                after = page.next;
            }
            Err(error) => {
                violations.push(format!("what was given up cannot be listed: {error}"));
                after = None;
            }
        }
        if after.is_none() {
            return letters;
        }
    }
}

/// A message is given up if it was refused for good, or was tried for three days.
fn given_up(receivers: &Receivers, letter: &DeadLetter, violations: &mut Vec<String>) {
    let DeadLetter { message, channel, attempts, died_at, error } = letter;
    let tried_ms = died_at.since_ms(message.at);
    if !receivers.refused(channel, &message.id) && tried_ms < TRIED_MS {
        let id = &message.id;
        violations.push(format!(
            "{id} to {channel} was given up after {attempts} attempts in {tried_ms} ms: {error}"
        ));
    }
}

/// The name here of a kind of message; `None` if nothing of this kind can happen.
fn kind(name: &str) -> Option<&'static str> {
    let kinds = [
        BOOKING_CONFIRMED,
        BOOKING_EXPIRED,
        BOOKING_RELEASED,
        BOOKING_CANCELLED,
        PAYMENT_FAILED,
        PAYMENT_REFUNDED_AT_DESK,
        TICKET_CHECKED_IN,
    ];
    match name {
        BOOKING_REFUNDED | PAYMENT_LATE_REFUNDED => Some(REFUND),
        _ => kinds.into_iter().find(|kind| *kind == name),
    }
}

impl Happened {
    fn of(entries: &[Arc<FeedEntry>], payments: Vec<Paid>) -> Self {
        let mut times = BTreeMap::new();
        for change in entries.iter().flat_map(|entry| &entry.changes) {
            if let Some(about) = about(change) {
                *times.entry(about).or_default() += 1;
            }
        }
        let mut refunds_minor = BTreeMap::<_, Vec<i64>>::new();
        let mut at_desk = BTreeMap::<_, Vec<AtDesk>>::new();
        for made in payments.iter().flat_map(|paid| &paid.desk) {
            let about = (PAYMENT_REFUNDED_AT_DESK, made.booking.clone());
            *times.entry(about).or_default() += made.stood.len();
            at_desk.entry(made.booking.clone()).or_default().push(made.clone());
        }
        for paid in &payments {
            *times.entry((REFUND, paid.booking.clone())).or_default() += paid.refunds_minor.len();
            let refunds = refunds_minor.entry(paid.booking.clone()).or_default();
            refunds.extend(&paid.refunds_minor);
            refunds.sort_unstable();
        }
        Self { times, refunds_minor, at_desk, payments }
    }

    fn times(&self, about: &About) -> usize {
        self.times.get(about).copied().unwrap_or_default()
    }

    fn of_booking<'a>(&'a self, booking: &'a BookingId) -> impl Iterator<Item = &'a Paid> {
        self.payments.iter().filter(move |paid| paid.booking == *booking)
    }
}

/// What a change is told as.
fn about(change: &Change) -> Option<About> {
    let (kind, booking) = match change {
        Change::Hold(change) => match change {
            HoldChange::HoldReleased { booking } => (BOOKING_RELEASED, booking),
            HoldChange::HoldExpired { booking } => (BOOKING_EXPIRED, booking),
            HoldChange::HoldPlaced { .. }
            | HoldChange::HoldExtended { .. }
            | HoldChange::HoldForgotten { .. } => return None,
        },
        Change::Booking(change) => match change {
            BookingChange::HoldConfirmed { booking, .. }
            | BookingChange::HoldConfirmedLate { booking, .. } => (BOOKING_CONFIRMED, booking),
            BookingChange::ConfirmedCancelled { booking, .. } => (BOOKING_CANCELLED, booking),
            BookingChange::PaymentFailed { booking, .. } => (PAYMENT_FAILED, booking),
            BookingChange::CheckedIn { booking, .. } => (TICKET_CHECKED_IN, booking),
            BookingChange::PayerNamed { .. }
            | BookingChange::PaymentBegun { .. }
            | BookingChange::LatePaymentFailed { .. } => return None,
        },
        Change::Setup(_)
        | Change::Sale(_)
        | Change::Queue(_)
        | Change::Visitor(_)
        | Change::Claim(_) => return None,
    };
    Some((kind, booking.clone()))
}

struct Judge<'a> {
    world: &'a World,
    facts: &'a Facts,
    happened: &'a Happened,
    dead: &'a [DeadLetter],
    /// How many mails at most one address gets about what nobody has paid for of one event.
    runs_out: usize,
    /// How often the ledger was put back or lost.
    losses: u64,
    violations: &'a mut Vec<String>,
}

impl Judge<'_> {
    fn say(&mut self, what: String) {
        self.violations.push(what);
    }

    /// What was given up on a channel without anybody having taken it.
    fn dead(&self, channel: &str, ids: &BTreeSet<&str>) -> BTreeMap<About, usize> {
        let mut dead = BTreeMap::new();
        for DeadLetter { message, .. } in self.dead.iter().filter(|one| one.channel == channel) {
            if let (Some(kind), Some(booking)) = (kind(&message.kind), &message.booking)
                && !ids.contains(message.id.as_str())
            {
                *dead.entry((kind, booking.clone())).or_default() += 1;
            }
        }
        dead
    }

    /// One receiver of webhooks.
    fn hook(&mut self, hook: &Hook, taken: &[Taken]) {
        let channel = hook.channel();
        let mut firsts = BTreeMap::<&str, &Value>::new();
        let mut told = BTreeMap::<About, Vec<&Value>>::new();
        for one in taken.iter().filter(|one| one.channel == channel) {
            let Said::Hook { body, is_signed } = &one.said else { continue };
            if !is_signed || body["id"] != one.id.as_str() {
                self.say(format!("{channel} was told {body} as {}, without its signature", one.id));
            }
            if let Some(first) = firsts.insert(&one.id, body) {
                // A refund that a ledger has lost and found again is told anew, when it was found.
                let is_same = match self.losses {
                    0 => first == body,
                    _ => except_time(first) == except_time(body),
                };
                if !is_same {
                    self.say(format!("{channel} was told {first}, and again {body}"));
                }
                continue;
            }
            let booking = body["booking"].as_str().and_then(|id| id.parse::<BookingId>().ok());
            let name = body["kind"].as_str().unwrap_or_default();
            let is_wanted = hook.kinds.is_none_or(|kinds| kinds.contains(&name));
            let (Some(kind), Some(booking), true) = (kind(name), booking, is_wanted) else {
                self.say(format!("{channel} was told {body}, which nobody wants to know"));
                continue;
            };
            self.data(&channel, kind, &booking, &body["data"]);
            told.entry((kind, booking)).or_default().push(&body["data"]);
        }
        let ids = firsts.into_keys().collect();
        let dead = self.dead(&channel, &ids);
        let wants = |about: &About| match about.0 {
            REFUND => hook.kinds.is_none(),
            name => hook.kinds.is_none_or(|kinds| kinds.contains(&name)),
        };
        let happened = self.happened;
        let all: BTreeSet<&About> = happened.times.keys().chain(told.keys()).collect();
        for about in all.into_iter().filter(|about| wants(about)) {
            let (of, told) = (happened.times(about), told.get(about).map_or(&[][..], |told| told));
            let given_up = dead.get(about).copied().unwrap_or_default();
            let owed = match about.0 {
                REFUND => self.refunds(&about.1, of),
                PAYMENT_REFUNDED_AT_DESK => self.at_desk(&about.1, of),
                _ => (of, of),
            };
            self.count(&channel, about, owed, told.len(), given_up);
            if about.0 == REFUND && self.losses == 0 {
                let mut minor: Vec<_> =
                    told.iter().filter_map(|data| data["refund_minor"].as_i64()).collect();
                minor.sort_unstable();
                if !self.are_refunds(&about.1, &minor, given_up) {
                    self.say(format!("{channel} was told of refunds of {minor:?} for {}", about.1));
                }
            }
        }
    }

    /// How often so many refunds are told, at least and at most. A ledger that has lost one asks for it
    /// again, finds it at the bank, and tells it as a new one; what it has not asked for again it
    /// cannot tell. What went back at the desk is told as well once it counts, in parts perhaps, and so
    /// is what an operator gave back by other means.
    fn refunds(&self, booking: &BookingId, times: usize) -> (usize, usize) {
        let beside = self.happened.at_desk.get(booking).map_or(0, |made| 2 * made.len() + 2);
        let most = (times + beside) * (1 + usize::try_from(self.losses).unwrap_or_default());
        (if self.losses == 0 { times } else { 0 }, most)
    }

    /// The same of what the desk did, which stood in so many ways: each of them is told once, but those
    /// that the server heard of too late, and how it ended is always.
    fn at_desk(&self, booking: &BookingId, times: usize) -> (usize, usize) {
        (self.happened.at_desk.get(booking).map_or(0, Vec::len), times)
    }

    /// Whether these are the refunds of a booking, if all of them are told. Where the bank's desk gave
    /// something back, they come to all that had to go back, with what came back and went once more.
    fn are_refunds(&self, booking: &BookingId, told_minor: &[i64], given_up: usize) -> bool {
        let none = Vec::new();
        let refunds_minor = self.happened.refunds_minor.get(booking).unwrap_or(&none);
        let Some(made) = self.happened.at_desk.get(booking) else {
            return told_minor.len() != refunds_minor.len()
                || told_minor == refunds_minor.as_slice();
        };
        if given_up > 0 {
            return true;
        }
        let mut left_minor = told_minor.to_vec();
        let has_all = refunds_minor.iter().all(|minor| {
            let at = left_minor.iter().position(|told| told == minor);
            at.map(|at| left_minor.remove(at)).is_some()
        });
        let taken = self.happened.of_booking(booking).filter(|paid| paid.is_captured);
        let taken_minor: i64 = taken.map(|paid| paid.amount_minor).sum();
        let kept_minor = self.facts.bookings.get(booking).map_or(0, Known::kept_minor);
        let stayed = made.iter().filter(|made| made.has_stayed());
        let stayed_minor: i64 = stayed.map(|made| made.amount_minor).sum();
        let owed_minor = taken_minor - kept_minor;
        let told_minor: i64 = told_minor.iter().sum();
        has_all && (owed_minor..=owed_minor + stayed_minor).contains(&told_minor)
    }

    /// Sees that something is told as often as it happened: at least and at most so often.
    fn count(
        &mut self,
        channel: &str,
        about: &About,
        owed: (usize, usize),
        told: usize,
        given_up: usize,
    ) {
        let (kind, booking) = about;
        if told > owed.1 {
            let most = owed.1;
            self.say(format!("{channel} was told {told} times of {kind} of {booking}, not {most}"));
        }
        if told + given_up < owed.0 {
            let least = owed.0;
            self.say(format!(
                "{channel} was told {told} times of {kind} of {booking}, not {least}"
            ));
        }
    }

    /// What a webhook says is what the journal and the bank say.
    fn data(&mut self, channel: &str, kind: &str, booking: &BookingId, data: &Value) {
        let Some(known) = self.facts.bookings.get(booking) else {
            return self.say(format!("{channel} was told of {booking}, which never was: {data}"));
        };
        let lines = serde_json::from_value::<Lines>(data["lines"].clone()).ok();
        let mut is_right = data["amount_minor"] == known.amount_minor
            && lines.is_some_and(|lines| lines == known.lines);
        if kind == BOOKING_CANCELLED {
            is_right &= data["refund_minor"] == known.refund_minor;
        }
        // What was lost since may have come to another end.
        if kind == REFUND && self.losses == 0 {
            is_right &= may_have_been(&data["booking_status"], known.end);
        }
        if kind == PAYMENT_REFUNDED_AT_DESK {
            let made = self.happened.at_desk.get(booking).into_iter().flatten();
            is_right &= made.into_iter().any(|made| is_told(made, data));
        }
        if kind == BOOKING_CONFIRMED {
            let payment = data["payment"].as_str().unwrap_or_default();
            let paid = self.happened.payments.iter().find(|paid| paid.payment.as_str() == payment);
            let is_at_bank = paid.is_some_and(|paid| {
                paid.is_captured
                    && paid.booking == *booking
                    && paid.amount_minor == known.amount_minor
            });
            let named = known.payment.as_ref().map_or("", |payment| payment.as_str());
            is_right &= payment == named && (is_at_bank || !known.is_paid_at_bank());
        }
        if !is_right {
            self.say(format!(
                "{channel} was told {data} of {kind} of {booking}, which is {known:?}"
            ));
        }
    }

    /// Everybody's mail.
    fn mail(&mut self, taken: &[Taken]) {
        let mut ids = BTreeSet::new();
        let mut told = BTreeMap::<About, Vec<&str>>::new();
        let mut refunds = BTreeMap::<BookingId, Vec<i64>>::new();
        let mut limited = BTreeMap::<(String, EventId), usize>::new();
        for one in taken {
            let Said::Mail { to, subject, text } = &one.said else { continue };
            if !ids.insert(one.id.as_str()) {
                continue;
            }
            let booking = row(text, "Booking").and_then(|id| id.parse::<BookingId>().ok());
            let (Some(kind), Some(booking)) = (kind_of_mail(subject), booking) else {
                self.say(format!("{to} got a mail that cannot be understood: {subject}: {text}"));
                continue;
            };
            self.letter(to, kind, &booking, text);
            if kind == REFUND {
                let refund_minor = row(text, "Refund").and_then(minor).unwrap_or_default();
                refunds.entry(booking.clone()).or_default().push(refund_minor);
            }
            if let Some(known) = self.facts.bookings.get(&booking)
                && is_limited(kind, known)
            {
                *limited.entry((to.clone(), known.event.clone())).or_default() += 1;
            }
            told.entry((kind, booking)).or_default().push(to);
        }
        let most = self.runs_out;
        for ((to, event), times) in limited.iter().filter(|(_, times)| **times > most) {
            self.say(format!("{to} got {times} mails about {event} for which nobody has paid"));
        }
        let dead = self.dead(MAIL, &ids);
        // Of what was given up nobody knows whether it counted.
        for (_, booking) in dead.keys() {
            let known = self.facts.bookings.get(booking);
            if let (Some(address), Some(known)) = (self.world.address(booking), known) {
                limited.entry((address.to, known.event.clone())).or_default();
            }
        }
        let happened = self.happened;
        let all: BTreeSet<&About> = happened.times.keys().chain(told.keys()).collect();
        for about in all {
            let told = told.get(about).map_or(0, Vec::len);
            let given_up = dead.get(about).copied().unwrap_or_default();
            let owed = self.owed(about, &limited);
            self.count(MAIL, about, owed, told, given_up);
            if about.0 == REFUND && self.losses == 0 && given_up == 0 && self.is_reached(&about.1) {
                let mut refunds_minor = refunds.remove(&about.1).unwrap_or_default();
                refunds_minor.sort_unstable();
                if !self.are_refunds(&about.1, &refunds_minor, given_up) {
                    let booking = &about.1;
                    self.say(format!("{MAIL} told of refunds of {refunds_minor:?} for {booking}"));
                }
            }
        }
    }

    /// Whether the server has said that it knows where mail about a booking goes, and still does.
    fn is_reached(&self, booking: &BookingId) -> bool {
        let address = self.world.address(booking);
        address.is_some_and(|address| address.known_after == Some(self.losses))
    }

    /// How often a buyer is to get mail about something, at least and at most.
    fn owed(&self, about: &About, limited: &BTreeMap<(String, EventId), usize>) -> (usize, usize) {
        let (kind, booking) = about;
        let (times, known) = (self.happened.times(about), self.facts.bookings.get(booking));
        let (Some(address), Some(known)) = (self.world.address(booking), known) else {
            return (0, 0);
        };
        // What nobody has paid for is told once to an address.
        let had_one = limited.contains_key(&(address.to.clone(), known.event.clone()));
        let is_left_out = had_one && is_limited(kind, known);
        let is_tried = |paid: &Paid| paid.card.is_some();
        let (least, most) = match *kind {
            // Tickets that are void are not sent.
            BOOKING_CONFIRMED if known.end == HoldStatus::Cancelled => (0, times),
            // What costs nothing the box office may have confirmed before its buyer said where to.
            BOOKING_CONFIRMED if known.amount_minor == 0 && self.was_at_till(booking) => (0, times),
            BOOKING_CONFIRMED | BOOKING_CANCELLED if is_left_out => (0, times),
            BOOKING_CONFIRMED | BOOKING_CANCELLED => (times, times),
            REFUND => self.refunds(booking, times),
            BOOKING_EXPIRED if !self.happened.of_booking(booking).any(is_tried) => (0, 0),
            // Whose money was taken hears of that instead, and of another card that was typed in the
            // server may never have heard.
            BOOKING_EXPIRED => (0, times),
            _ => (0, 0),
        };
        (if address.known_after == Some(self.losses) { least } else { 0 }, most)
    }

    /// Whether the box office may have confirmed it. Of what costs nothing the journal does not tell.
    fn was_at_till(&self, booking: &BookingId) -> bool {
        self.world.taken().iter().any(|it| it.booking == *booking && it.came != Came::Refused)
    }

    /// A mail goes to whose booking it is about, and its amounts are the journal's and the bank's.
    fn letter(&mut self, to: &str, kind: &str, booking: &BookingId, text: &str) {
        let Some(known) = self.facts.bookings.get(booking) else {
            return self.say(format!("{to} got a mail about {booking}, which never was"));
        };
        if self.world.address(booking).is_none_or(|address| address.to != to) {
            self.say(format!("{to} got a mail about {booking}, which is not theirs"));
        }
        let refund_minor = row(text, "Refund").and_then(minor).unwrap_or_default();
        let Known { amount_minor, .. } = known;
        let is_right = row(text, "Total").and_then(minor) == Some(*amount_minor)
            && match kind {
                BOOKING_CANCELLED => refund_minor == known.refund_minor,
                // Of what went back at the desk as much is told as counts.
                REFUND if self.happened.at_desk.contains_key(booking) => {
                    (1..=*amount_minor).contains(&refund_minor)
                }
                REFUND => self
                    .happened
                    .of_booking(booking)
                    .any(|paid| paid.refunds_minor.contains(&refund_minor)),
                BOOKING_CONFIRMED => {
                    let mut at_bank = self.happened.of_booking(booking);
                    !known.is_paid_at_bank()
                        || at_bank
                            .any(|paid| paid.is_captured && paid.amount_minor == *amount_minor)
                }
                _ => true,
            };
        if !is_right {
            self.say(format!("{to} got a mail about {booking}, which is {known:?}: {text}"));
        }
    }
}

/// Whether a mail is one of those of which an address gets one a day: about what nobody has paid for, by
/// its buyer's own doing.
fn is_limited(kind: &str, known: &Known) -> bool {
    match kind {
        BOOKING_EXPIRED => true,
        BOOKING_CONFIRMED => known.amount_minor == 0,
        BOOKING_CANCELLED => known.amount_minor == 0 && known.is_given_back,
        _ => false,
    }
}

/// Whether this is what is told of something that the bank's desk did.
fn is_told(made: &AtDesk, data: &Value) -> bool {
    let status = serde_json::from_value(data["status"].clone());
    data["entry"] == made.entry().as_str()
        && data["payment"] == made.payment.as_str()
        && data["moved_minor"] == made.amount_minor
        && status.is_ok_and(|status| made.stood.contains(&status))
}

/// Whether a booking that came to this end may have stood like that before: what was sold is sold until
/// it is cancelled, and then for good.
fn may_have_been(told: &Value, end: HoldStatus) -> bool {
    let Ok(told) = serde_json::from_value::<HoldStatus>(told.clone()) else { return false };
    match told {
        HoldStatus::Confirmed => matches!(end, HoldStatus::Confirmed | HoldStatus::Cancelled),
        HoldStatus::Cancelled => end == HoldStatus::Cancelled,
        HoldStatus::Held | HoldStatus::Paying | HoldStatus::Released | HoldStatus::Expired => true,
    }
}

/// What a webhook says, but for when it happened, and for how a booking stood then whose money went back.
fn except_time(body: &Value) -> Value {
    let mut body = body.clone();
    body["at"] = Value::Null;
    body["data"]["booking_status"] = Value::Null;
    body
}

/// What a mail is about, by its subject.
fn kind_of_mail(subject: &str) -> Option<&'static str> {
    [
        ("Your tickets:", BOOKING_CONFIRMED),
        ("Your reservation has run out:", BOOKING_EXPIRED),
        ("Your booking is cancelled:", BOOKING_CANCELLED),
        ("Your refund:", REFUND),
        ("Your payment came too late:", REFUND),
    ]
    .into_iter()
    .find_map(|(begin, kind)| subject.starts_with(begin).then_some(kind))
}

/// What stands in a row of a mail.
fn row<'a>(text: &'a str, label: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(label)?.strip_prefix(": "))
}

/// An amount of a currency with cents, as mails write it: `25.00 EUR`.
fn minor(text: &str) -> Option<i64> {
    let (whole, cents) = text.split(' ').next()?.split_once('.')?;
    Some(whole.parse::<i64>().ok()? * 100 + cents.parse::<i64>().ok()?)
}

// Beside this file, and not in a folder of its own: the judges that import each other are in this one.
#[cfg(test)]
#[path = "messages_tests.rs"]
mod tests;
