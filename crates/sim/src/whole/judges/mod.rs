//! The judges: what must be so in the end, from the bank's book, the journal's bare facts, and what
//! buyers were told.

mod cards;
mod desk;
mod door;
mod draw;
mod messages;
mod organiser;
mod payers;
pub(super) mod receipts;
mod rest;
mod returns;
mod tickets;
mod till;
mod types;

use super::bank::{Account, Bank};
use super::buyer::Told;
use super::client::Client;
use super::server::{ADMIN_KEY, Life, Server};
use super::world::{Looked, World};
use crate::chance::Chance;
use onrush_audit::AuditArgs;
use onrush_core::change::{BookingChange, HoldChange, SetupChange};
use onrush_core::hold::HoldStatus;
use onrush_core::ids::{BookingId, EventId, PaymentId, SeatId, UserId};
use onrush_core::lines::Lines;
use onrush_core::{Change, Time};
use onrush_relay::messages::CANCELLED_BY_BUYER;
use onrush_store::{Engine, FeedEntry, Seq};
pub(super) use rest::wait_for_rest;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::Arc;

/// Where whoever keeps the books sits.
const ADDRESS: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 5);

/// What was there to be seen.
#[derive(Default)]
pub(super) struct Seen {
    pub(super) decisions: u64,
    pub(super) confirmed: u64,
    /// The journal, as it is written down, and receipts.
    pub(super) journal: Vec<u8>,
}

/// Looks at everything there is.
pub(super) async fn look(
    server: &Arc<Server>,
    world: &World,
    bank: &Bank,
    told: &[Vec<Told>],
    violations: &mut Vec<String>,
) -> Seen {
    let life = server.life().expect("it was started");
    let entries = match journal(&life).await {
        Ok(entries) => entries,
        Err(why) => {
            violations.push(format!("the journal cannot be read: {why}"));
            return Seen::default();
        }
    };
    let facts = Facts::of(&entries, violations);
    let accounts = bank.accounts();
    for payment in bank.asked_too_much() {
        violations.push(format!("more was asked back than was taken for {payment}"));
    }
    violations.extend(bank.reused_keys());
    let restores = server.restores();
    let is_valid = |one: &&Told| one.restores == restores;
    let told: Vec<_> =
        told.iter().map(|all| all.iter().filter(is_valid).cloned().collect()).collect();
    compare(&facts, &accounts, &told, world, violations);
    for (booking, known) in &facts.bookings {
        let looked = world.status(server, booking).await;
        let may_be_gone =
            matches!(known.end, HoldStatus::Released | HoldStatus::Expired | HoldStatus::Cancelled);
        if looked != Looked::There(known.end) && !(may_be_gone && looked == Looked::Gone) {
            let (journal, engine) = (known.end, looked);
            violations
                .push(format!("{booking} is {journal:?} by the journal, {engine:?} if asked"));
        }
    }
    returns::judge(world, &facts, &entries, violations);
    organiser::judge(world, (server.accepted(), restores), &facts, &entries, violations);
    door::judge(world, restores, &entries, violations);
    till::judge(world, restores, &facts, violations);
    tickets::judge(world, restores, &entries, violations);
    types::judge(world, &entries, violations);
    payers::judge(world, &entries, violations);
    cards::judge(world, bank, &facts, &entries, violations);
    if world.has_desk {
        desk::judge(world, bank, &facts, server.upgrades().await, violations);
    }
    draw::judge(server, world, &entries, violations).await;
    messages::judge(server, world, bank, &facts, &entries, violations).await;
    let documents = issued(server, world, &accounts, &facts, violations).await;
    let confirmed = facts.bookings.values().filter(|known| known.end == HoldStatus::Confirmed);
    let confirmed = confirmed.count() as u64;
    let journal = entries.iter().flat_map(|entry| {
        let mut line = serde_json::to_vec(&(entry.seq, entry.at, &entry.changes))
            .expect("changes are written as JSON all the time");
        line.push(b'\n');
        line
    });
    let journal = journal.chain(documents.into_iter().flat_map(|one| one.to_string().into_bytes()));
    Seen { decisions: entries.len() as u64, confirmed, journal: journal.collect() }
}

/// All receipts and credit notes, which are looked at.
async fn issued(
    server: &Arc<Server>,
    world: &World,
    accounts: &BTreeMap<BookingId, Account>,
    facts: &Facts,
    violations: &mut Vec<String>,
) -> Vec<Value> {
    if !world.has_receipts {
        return Vec::new();
    }
    let device = Chance::of(0, "books", 0);
    let mut client = Client::new(server.net().clone(), ADDRESS.into(), device);
    client.token = Some(ADMIN_KEY.to_owned());
    let documents = match receipts::documents(&mut client).await {
        Ok(documents) => documents,
        Err(why) => {
            violations.push(why);
            return Vec::new();
        }
    };
    let forgotten = accounts.iter().filter(|(_, account)| account.had_refunds);
    let forgotten = forgotten.map(|(booking, _)| booking.clone()).collect();
    let books = receipts::Books {
        tax: world.settings.tax.as_ref(),
        shown: &world.shown(),
        losses: server.accepted(),
        forgotten: &forgotten,
    };
    receipts::judge(&documents, facts, &books, violations);
    documents
}

/// Holds the bank's book and what buyers were told against the bare facts.
pub(super) fn compare(
    facts: &Facts,
    accounts: &BTreeMap<BookingId, Account>,
    told: &[Vec<Told>],
    world: &World,
    violations: &mut Vec<String>,
) {
    let booked = facts.bookings.keys().filter(|booking| !accounts.contains_key(*booking));
    for booking in accounts.keys().chain(booked) {
        let account = accounts.get(booking).copied().unwrap_or_default();
        money(booking, account, facts.bookings.get(booking), violations);
    }
    for one in told.iter().flatten() {
        let known = facts.bookings.get(&one.booking);
        match known {
            None => {
                violations.push(format!("{} was said to be held, and is nowhere", one.booking));
            }
            Some(known) => {
                if (known.amount_minor, &known.lines) != (one.amount_minor, &one.lines) {
                    violations.push(format!(
                        "{} was said to be {:?} for {}, and is written down as {:?} for {}",
                        one.booking, one.lines, one.amount_minor, known.lines, known.amount_minor
                    ));
                }
                if let (Some(at), Some(until)) = (known.expired_at, one.until)
                    && at < until
                {
                    violations.push(format!(
                        "{} was said to be held until {}, and ran out at {}",
                        one.booking, until.0, at.0
                    ));
                }
                if one.released && known.end != HoldStatus::Released {
                    violations.push(format!(
                        "{} was said to be released, and is {:?}",
                        one.booking, known.end
                    ));
                }
                if one.cancelled && known.end != HoldStatus::Cancelled {
                    violations.push(format!(
                        "{} was said to be cancelled, and is {:?}",
                        one.booking, known.end
                    ));
                }
                if one.confirmed
                    && !matches!(known.end, HoldStatus::Confirmed | HoldStatus::Cancelled)
                {
                    violations.push(format!(
                        "{} was said to be confirmed, and is {:?}",
                        one.booking, known.end
                    ));
                }
            }
        }
    }
    for (user, held) in &facts.held_by {
        if let Some(wishes) = world.wishes(user.as_str())
            && *held > wishes
        {
            violations.push(format!("{user} asked for {wishes} holds, and has had {held}"));
        }
    }
}

/// One booking's money: paid once if it is confirmed, all of it back if it was taken back, and
/// nothing kept for what nobody got.
fn money(
    booking: &BookingId,
    account: Account,
    known: Option<&Known>,
    violations: &mut Vec<String>,
) {
    // Where its desk gave something back, that is a part of it, payment by payment: another judge's.
    if account.is_at_desk {
        return;
    }
    let kept_minor = account.captured_minor - account.returned_minor;
    let due_minor = known.map_or(0, Known::kept_minor);
    // A restore forgets who was given their money back: then it is as if they had bought.
    let is_forgotten = account.had_refunds && (0..due_minor).contains(&kept_minor);
    if kept_minor != due_minor && !is_forgotten {
        violations.push(format!(
            "{booking}: the bank took {} in {} payments and gave {} back; {due_minor} are due for \
             what became of it: {known:?}",
            account.captured_minor, account.captures, account.returned_minor
        ));
    }
}

/// The whole journal.
async fn journal(life: &Life) -> Result<Vec<Arc<FeedEntry>>, String> {
    let last = life.engine.committed();
    let mut feed = life.engine.subscribe(Seq::default());
    let mut entries: Vec<Arc<FeedEntry>> = Vec::new();
    while entries.last().is_none_or(|entry| entry.seq < last) {
        let Some(page) = feed.next().await? else { break };
        entries.extend(page.iter().cloned());
    }
    Ok(entries)
}

/// What the journal says of one booking.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub(super) event: EventId,
    pub(super) lines: Lines,
    pub(super) amount_minor: i64,
    /// Its fee, which is a part of that.
    fee_minor: i64,
    refund_minor: i64,
    /// Whether its buyer has given it back.
    is_given_back: bool,
    /// What it was confirmed with, last.
    payment: Option<PaymentId>,
    /// When it ran out, if it did.
    expired_at: Option<Time>,
    /// Whether one of its tickets has let somebody in.
    is_used: bool,
    pub(super) end: HoldStatus,
}

impl Known {
    /// Whether somebody has had it for good.
    fn was_sold(&self) -> bool {
        matches!(self.end, HoldStatus::Confirmed | HoldStatus::Cancelled)
    }

    /// Whether its money is the box office's, by the form of its number.
    fn is_paid_elsewhere(&self) -> bool {
        self.payment.as_ref().is_some_and(|payment| payment.as_str().starts_with("till-"))
    }

    /// Whether it was sold for money that the bank has.
    fn is_paid_at_bank(&self) -> bool {
        self.amount_minor > 0 && !self.is_paid_elsewhere()
    }

    /// What the bank is to keep of its money.
    fn kept_minor(&self) -> i64 {
        match self.end {
            _ if self.is_paid_elsewhere() => 0,
            HoldStatus::Confirmed => self.amount_minor,
            HoldStatus::Cancelled => self.amount_minor - self.refund_minor,
            HoldStatus::Held | HoldStatus::Paying | HoldStatus::Released | HoldStatus::Expired => 0,
        }
    }

    /// Units of the pool.
    fn units(&self) -> u32 {
        units_of_pools(&self.lines)
    }
}

fn units_of_pools(lines: &Lines) -> u32 {
    lines.pools().iter().map(|line| line.quantity).sum()
}

/// What the journal's facts come to, counted anew and without a rule.
#[derive(Default)]
pub(super) struct Facts {
    pub(super) bookings: BTreeMap<BookingId, Known>,
    /// How many holds each visitor has had.
    held_by: BTreeMap<UserId, u32>,
    pub(super) stock: BTreeMap<EventId, Stock>,
}

/// What one event has.
#[derive(Default)]
pub(super) struct Stock {
    pub(super) capacity: u32,
    /// Units that are held, sold or off sale.
    pub(super) taken: u32,
    pub(super) owners: BTreeMap<SeatId, BookingId>,
    pub(super) seats: BTreeSet<SeatId>,
    /// Seats that the organiser took off sale.
    off_sale: BTreeSet<SeatId>,
}

impl Facts {
    fn of(entries: &[Arc<FeedEntry>], violations: &mut Vec<String>) -> Self {
        let mut facts = Self::default();
        let mut last = None;
        for entry in entries {
            if last.is_some_and(|(seq, at)| entry.seq.0 != seq + 1 || entry.at < at) {
                violations.push(format!("decision {} is out of order", entry.seq.0));
            }
            last = Some((entry.seq.0, entry.at));
            for change in &entry.changes {
                facts.add(&entry.event, change, entry.seq, violations);
                if let Change::Hold(HoldChange::HoldExpired { booking }) = change
                    && let Some(known) = facts.bookings.get_mut(booking)
                {
                    known.expired_at = Some(entry.at);
                }
            }
        }
        facts
    }

    /// Adds what one decision changed.
    pub(super) fn add(
        &mut self,
        event: &EventId,
        change: &Change,
        seq: Seq,
        violations: &mut Vec<String>,
    ) {
        let stock = self.stock.entry(event.clone()).or_default();
        match change {
            Change::Setup(SetupChange::PoolAdded { spec }) => stock.capacity += spec.capacity,
            Change::Setup(SetupChange::SeatsAdded { seats, .. }) => {
                stock.seats.extend(seats.iter().map(|seat| seat.seat.clone()));
            }
            Change::Setup(SetupChange::CapacityAdjusted { after, .. }) => stock.capacity = *after,
            Change::Setup(SetupChange::UnitsBlocked { lines, .. }) => {
                stock.taken += units_of_pools(lines);
                for seat in lines.seats() {
                    if let Some(owner) = stock.owners.get(seat) {
                        violations.push(format!("{seat} is taken off sale, and is {owner}'s"));
                    }
                    stock.off_sale.insert(seat.clone());
                }
            }
            Change::Setup(SetupChange::UnitsUnblocked { lines, .. }) => {
                stock.taken -= units_of_pools(lines);
                for seat in lines.seats() {
                    stock.off_sale.remove(seat);
                }
            }
            Change::Hold(change) => self.hold(event, change, seq, violations),
            Change::Booking(change) => self.booking(change, seq, violations),
            // Nothing here has to do with units.
            Change::Setup(_)
            | Change::Sale(_)
            | Change::Queue(_)
            | Change::Visitor(_)
            | Change::Claim(_) => {}
        }
        if let Some(Stock { taken, capacity, .. }) = self.stock.get(event)
            && taken > capacity
        {
            violations.push(format!("{taken} of {capacity} units are taken at decision {}", seq.0));
        }
    }

    fn hold(
        &mut self,
        event: &EventId,
        change: &HoldChange,
        seq: Seq,
        violations: &mut Vec<String>,
    ) {
        match change {
            HoldChange::HoldPlaced { terms, .. } => {
                let known = Known {
                    event: event.clone(),
                    lines: terms.lines.clone(),
                    amount_minor: terms.amount_minor,
                    fee_minor: terms.fee_minor,
                    refund_minor: 0,
                    is_given_back: false,
                    payment: None,
                    expired_at: None,
                    is_used: false,
                    end: HoldStatus::Held,
                };
                self.take(&terms.booking, &known, seq, violations);
                *self.held_by.entry(terms.user.clone()).or_default() += 1;
                self.bookings.insert(terms.booking.clone(), known);
            }
            HoldChange::HoldReleased { booking } => self.end(booking, HoldStatus::Released),
            HoldChange::HoldExpired { booking } => self.end(booking, HoldStatus::Expired),
            HoldChange::HoldExtended { .. } | HoldChange::HoldForgotten { .. } => {}
        }
    }

    fn booking(&mut self, change: &BookingChange, seq: Seq, violations: &mut Vec<String>) {
        match change {
            BookingChange::PaymentBegun { booking, .. } => self.is(booking, HoldStatus::Paying),
            BookingChange::PaymentFailed { booking, .. } => self.is(booking, HoldStatus::Held),
            BookingChange::HoldConfirmed { booking, payment } => {
                self.confirm(booking, payment.as_ref());
            }
            BookingChange::HoldConfirmedLate { booking, payment } => {
                if let Some(known) = self.bookings.get(booking).cloned() {
                    self.take(booking, &known, seq, violations);
                }
                self.confirm(booking, Some(payment));
            }
            BookingChange::ConfirmedCancelled { booking, refund_minor, reason } => {
                self.end(booking, HoldStatus::Cancelled);
                if let Some(known) = self.bookings.get_mut(booking) {
                    known.refund_minor = *refund_minor;
                    known.is_given_back = &*reason.why == CANCELLED_BY_BUYER;
                    if known.is_used {
                        violations.push(format!("{booking} is taken back, and somebody is in"));
                    }
                }
            }
            BookingChange::CheckedIn { booking, .. } => {
                if let Some(known) = self.bookings.get_mut(booking) {
                    known.is_used = true;
                    if known.end != HoldStatus::Confirmed {
                        violations.push(format!("{booking} lets somebody in, and is {known:?}"));
                    }
                }
            }
            BookingChange::PayerNamed { .. } | BookingChange::LatePaymentFailed { .. } => {}
        }
    }

    fn take(&mut self, booking: &BookingId, known: &Known, seq: Seq, violations: &mut Vec<String>) {
        let stock = self.stock.entry(known.event.clone()).or_default();
        stock.taken += known.units();
        for seat in known.lines.seats() {
            if !stock.seats.contains(seat) {
                violations.push(format!("{booking} has {seat}, which does not exist"));
            }
            if stock.off_sale.contains(seat) {
                violations.push(format!("{booking} has {seat}, which is not on sale"));
            }
            if let Some(owner) = stock.owners.insert(seat.clone(), booking.clone()) {
                let at = seq.0;
                violations.push(format!("{seat} goes to {booking} at {at}, and is {owner}'s"));
            }
        }
    }

    fn confirm(&mut self, booking: &BookingId, payment: Option<&PaymentId>) {
        self.is(booking, HoldStatus::Confirmed);
        if let Some(known) = self.bookings.get_mut(booking) {
            known.payment = payment.cloned();
        }
    }

    fn is(&mut self, booking: &BookingId, status: HoldStatus) {
        if let Some(known) = self.bookings.get_mut(booking) {
            known.end = status;
        }
    }

    fn end(&mut self, booking: &BookingId, status: HoldStatus) {
        self.is(booking, status);
        if let Some(known) = self.bookings.get(booking)
            && let Some(stock) = self.stock.get_mut(&known.event)
        {
            stock.taken -= known.units();
            for seat in known.lines.seats() {
                if stock.owners.get(seat) == Some(booking) {
                    stock.owners.remove(seat);
                }
            }
        }
    }
}

/// Has everything added up again from the files that are left.
pub(super) fn audit(dir: &Path, violations: &mut Vec<String>) {
    match onrush_audit::audit(&AuditArgs::of(dir, true)) {
        Ok(report) => violations.extend(report.found),
        Err(why) => violations.push(format!("the files cannot be audited: {why}")),
    }
}
