//! The money, audited: what the gateway took is a confirmed booking or went back, and nothing is
//! paid for twice.
//!
//! Three books are compared: the feed (what is confirmed), the ledger (what was to be paid, taken
//! and given back), and the gateway's own (what it took and gave back). Only sagas at their end are
//! judged, so that a server may be running.

use super::books::{Feed, Rows};
use super::borrowed::Borrowed;
use super::receipts::{Issued, ReceiptAudit};
use super::sold::{Sold, State};
use super::verdict::{AtGateway, SagaPlace, Sums, given_back, is_at_its_end, judge, judge_unknown};
use onrush_base::amount::readable;
use onrush_core::Change;
use onrush_core::change::{BookingChange, HoldChange};
use onrush_core::hold::HoldStatus;
use onrush_core::ids::{BookingId, EventId, PaymentId};
use onrush_ledger::booking::Booking;
use onrush_ledger::booking_of;
use onrush_ledger::desk::{DeskKind, DeskStatus};
use onrush_ledger::receipt::ReceiptRule;
use onrush_ledger::saga::SagaRecord;
use onrush_saga::pairing::{another_past, shorter};
use onrush_saga::{desk_sentence, is_buyers_return};
use onrush_sandbox::{Taken, taken};
use onrush_store::FeedEntry;
use serde::Serialize;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt;
use std::path::Path;

/// What the audit of the money found.
#[derive(Debug, Default, Serialize)]
pub(super) struct Money {
    /// Money that was taken, as the ledger says, in minor units of all currencies together; with
    /// what the gateway took for payments that nobody knows.
    pub(super) captured_minor: i64,
    /// Money that went back.
    pub(super) refunded_minor: i64,
    /// The price of bookings that are confirmed and paid for through a gateway.
    pub(super) confirmed_minor: i64,
    /// What buyers who cancelled did not get back, by the organiser's rules.
    pub(super) kept_minor: i64,
    /// Money of sagas that have not come to their end.
    pub(super) pending_minor: i64,
    /// Money of events whose history is in archive files that were not read.
    #[serde(skip_serializing_if = "is_zero")]
    pub(super) unread_minor: i64,
    /// Money that is none of these: must be 0.
    pub(super) unexplained_minor: i64,
    /// Bookings for which more was kept than they cost.
    pub(super) paid_twice: u64,
    /// Sagas that have not come to their end.
    pub(super) open_sagas: u64,
    /// Sagas that wait for an operator.
    pub(super) stuck_sagas: u64,
    /// Whether the gateway's own book was compared too.
    pub(super) gateway: bool,
    /// What the gateway's own desk did, one sentence each: explained, and somebody's to look at.
    pub(super) noticed: Vec<String>,
    /// What was issued, if anything was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) issued: Option<Issued>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(minor: &i64) -> bool {
    *minor == 0
}

impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { captured_minor, refunded_minor, confirmed_minor, kept_minor, .. } = self;
        let Self { pending_minor, unexplained_minor, open_sagas, stuck_sagas, .. } = self;
        write!(
            f,
            "money in minor units: {captured_minor} taken = {confirmed_minor} confirmed + \
             {refunded_minor} given back + {kept_minor} kept + {pending_minor} pending + "
        )?;
        if self.unread_minor != 0 {
            write!(f, "{} of events whose history is in files + ", self.unread_minor)?;
        }
        write!(
            f,
            "{unexplained_minor} unexplained; {open_sagas} sagas open, {stuck_sagas} of them stuck; "
        )?;
        f.write_str(if self.gateway {
            "compared with the gateway's own book"
        } else {
            "the gateway's own book was not at hand"
        })?;
        match &self.issued {
            None => Ok(()),
            Some(Issued { receipts, credit_notes, missing, .. }) => write!(
                f,
                "; {receipts} receipts and {credit_notes} credit notes issued, {missing} missing"
            ),
        }
    }
}

/// Compares the books and, if its directory is known, the sandbox's file; receipts by the rule of which
/// payments have them, if that is known.
///
/// # Errors
/// A sentence that says what cannot be read.
pub(super) fn audit(
    feed: &mut dyn Feed,
    ledger: &mut dyn Rows,
    sandbox: Option<&Path>,
    rule: Option<ReceiptRule>,
    violations: &mut Vec<String>,
) -> Result<Money, String> {
    let look = || match sandbox {
        None => Ok(None),
        Some(sandbox) => taken(sandbox).map_err(|error| format!("the sandbox's file: {error}")),
    };
    let before = look()?;
    // The ledger is read as it was before the feed: what is at its end there is at its end in the feed too.
    let followed = ledger.begin()?;
    violations.extend(ledger.faults()?);
    let faults = feed.faults(&followed)?;
    let mut are_paired = faults.is_empty();
    violations.extend(faults);
    let filed = feed.filed()?;
    let mut bookings = HashMap::new();
    let (mut unread, mut returned) = (HashSet::new(), HashSet::new());
    let (mut last, mut made_at) = (0, None);
    feed.each_decision(&mut |entry| {
        last = entry.seq.0;
        if entry.changes.is_empty() && !unread.contains(&entry.event) {
            unread.insert(entry.event.clone());
        }
        if last == followed.seq {
            made_at = Some(entry.at);
        }
        for change in &entry.changes {
            note(&mut bookings, entry, filed.contains(&entry.event), change);
            if let Change::Booking(BookingChange::ConfirmedCancelled { booking, reason, .. }) =
                change
                && is_buyers_return(&reason.why)
            {
                returned.insert(booking.clone());
            }
        }
    })?;
    if followed.seq > last {
        are_paired = false;
        violations.push(shorter(last, followed.seq));
    } else if let (Some(at), Some(made_at)) = (followed.at, made_at)
        && at != made_at
    {
        are_paired = false;
        violations.push(another_past(followed.seq, at, made_at));
    }
    let after = look()?;
    let noticed = notice(ledger, after.as_deref().unwrap_or_default())?;
    let gateway = after.map(|after| Gateway::new(before.unwrap_or_default(), after));
    let mut auditor = Auditor {
        money: Money { gateway: gateway.is_some(), noticed, ..Money::default() },
        gateway,
        borrowed: Borrowed::among(&bookings),
        bookings,
        returned,
        unread,
        sagas: HashMap::new(),
        followed: followed.seq,
        comparable: if are_paired { followed.seq } else { 0 },
        filed: BTreeSet::new(),
        receipts: ReceiptAudit::by(rule),
        violations,
    };
    let mut after = None;
    loop {
        let page = ledger.receipts(after)?;
        page.rows.iter().for_each(|receipt| auditor.receipts.note(receipt));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    loop {
        let page = ledger.sagas(after)?;
        for saga in &page.rows {
            if let Some(record) = ledger.saga_record(&saga.booking)? {
                auditor.look(&record);
            }
        }
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    loop {
        let page = ledger.bookings(after)?;
        page.rows.iter().for_each(|booking| auditor.look_at_booking(booking));
        after = page.next;
        if after.is_none() {
            return Ok(auditor.finish());
        }
    }
}

/// What the gateway's own desk did, as the ledger has it, and what of it only the gateway's book has.
fn notice(ledger: &mut dyn Rows, taken: &[Taken]) -> Result<Vec<String>, String> {
    let mut noticed = Vec::new();
    let mut known: HashMap<(PaymentId, DeskKind), i64> = HashMap::new();
    let mut after = None;
    loop {
        let page = ledger.desk(after)?;
        for entry in &page.rows {
            let (booking, told) = (&entry.booking, desk_sentence(entry));
            let settled = match &entry.settled {
                Some(settled) => format!("{} settled it: {}", settled.by, settled.why),
                None => "nobody settled it".into(),
            };
            noticed.push(format!("booking {booking}: {told}; {settled}"));
            if entry.status == DeskStatus::Moved {
                *known.entry((entry.payment.clone(), entry.kind)).or_default() +=
                    entry.amount_minor;
            }
        }
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    for at_gateway in taken {
        let Taken { payment, desk_refunded_minor, second_minor, lost_minor, .. } = at_gateway;
        for (kind, minor, what) in [
            (DeskKind::Refund, desk_refunded_minor, "gone back at its desk"),
            (DeskKind::SecondPayment, second_minor, "been paid a second time"),
            (DeskKind::Dispute, lost_minor, "been lost to disputes"),
        ] {
            let heard = known.get(&(payment.clone(), kind)).copied().unwrap_or_default();
            if heard != *minor {
                noticed.push(format!(
                    "payment {payment}: by the gateway's own book {minor} minor units have {what}, and the \
                     ledger has heard of {heard}"
                ));
            }
        }
    }
    Ok(noticed)
}

fn note(
    bookings: &mut HashMap<BookingId, Sold>,
    entry: &FeedEntry,
    is_filed: bool,
    change: &Change,
) {
    let seq = entry.seq.0;
    let mut confirm = |booking: &BookingId, payment: Option<PaymentId>| {
        if let Some(sold) = bookings.get_mut(booking) {
            sold.state = State::Confirmed(payment);
            sold.decided = seq;
            sold.confirmed_at = Some(entry.at);
        }
    };
    match change {
        Change::Hold(change) => match change {
            HoldChange::HoldPlaced { terms, .. } => {
                // What is held under the id of a booking that was cancelled is another hold, made with a
                // key that was used again: its money is accounted for as before.
                let known = bookings.get_mut(&terms.booking);
                let is_again = known.is_some();
                if let Some(sold) = known
                    && matches!(sold.state, State::Cancelled { .. })
                {
                    sold.is_again = true;
                } else {
                    let sold = Sold { is_again, is_filed, ..Sold::held(terms.amount_minor, seq) };
                    bookings.insert(terms.booking.clone(), sold);
                }
            }
            HoldChange::HoldExtended { .. }
            | HoldChange::HoldReleased { .. }
            | HoldChange::HoldExpired { .. }
            | HoldChange::HoldForgotten { .. } => {}
        },
        Change::Booking(change) => match change {
            BookingChange::HoldConfirmed { booking, payment } => {
                confirm(booking, payment.clone());
            }
            BookingChange::HoldConfirmedLate { booking, payment } => {
                confirm(booking, Some(payment.clone()));
            }
            BookingChange::ConfirmedCancelled { booking, refund_minor, .. } => {
                let before = bookings.get_mut(booking);
                if let Some(sold) = before
                    && let State::Confirmed(payment) = &sold.state
                {
                    let payment = payment.clone();
                    sold.state = State::Cancelled { payment, refund_minor: *refund_minor };
                    sold.decided = seq;
                }
            }
            BookingChange::PayerNamed { .. }
            | BookingChange::PaymentBegun { .. }
            | BookingChange::PaymentFailed { .. }
            | BookingChange::LatePaymentFailed { .. }
            | BookingChange::CheckedIn { .. } => {}
        },
        Change::Setup(_)
        | Change::Sale(_)
        | Change::Queue(_)
        | Change::Visitor(_)
        | Change::Claim(_) => {}
    }
}

/// The gateway's book: its payments, and what they are for.
struct Gateway {
    payments: HashMap<PaymentId, AtGateway>,
    bookings: HashMap<PaymentId, BookingId>,
}

impl Gateway {
    fn new(before: Vec<Taken>, after: Vec<Taken>) -> Self {
        let mut book = Self { payments: HashMap::new(), bookings: HashMap::new() };
        for (taken, is_after) in before
            .into_iter()
            .map(|taken| (taken, false))
            .chain(after.into_iter().map(|taken| (taken, true)))
        {
            let Taken {
                payment, booking, authorised_minor, captured_minor, refunded_minor, ..
            } = taken;
            let sums = Sums { authorised_minor, captured_minor, refunded_minor };
            let there = book.payments.entry(payment.clone()).or_default();
            if is_after {
                there.after = sums;
                book.bookings.insert(payment, booking);
            } else {
                there.before = sums;
            }
        }
        book
    }
}

struct Auditor<'a> {
    money: Money,
    gateway: Option<Gateway>,
    bookings: HashMap<BookingId, Sold>,
    borrowed: Borrowed,
    /// What buyers gave back themselves.
    returned: HashSet<BookingId>,
    /// Events whose history is in files that were not read.
    unread: HashSet<EventId>,
    /// The sagas that were read, and whether they are at their end.
    sagas: HashMap<BookingId, SagaPlace>,
    /// How far the ledger has followed the feed.
    followed: u64,
    /// How far it has followed this very feed, as far as is known: to there it must say the same.
    comparable: u64,
    /// Bookings of archive files that it lacks, or has otherwise.
    filed: BTreeSet<BookingId>,
    receipts: ReceiptAudit,
    violations: &'a mut Vec<String>,
}

impl Auditor<'_> {
    fn look(&mut self, record: &SagaRecord) {
        let captured: i64 = record.payments.iter().map(|payment| payment.captured_minor).sum();
        let refunded = given_back(record, None);
        self.money.captured_minor += captured;
        self.money.refunded_minor += refunded;
        if record.saga.stuck.is_some() {
            self.money.stuck_sagas += 1;
        }
        let booking = &record.saga.booking;
        let is_unread = self.unread.contains(&record.saga.event);
        if is_unread {
            self.receipts.pass_over(record);
        } else {
            self.receipts.look(record, self.bookings.get(booking));
        }
        if is_unread && is_at_its_end(record) {
            self.money.unread_minor += captured - refunded;
            self.sagas.insert(booking.clone(), SagaPlace::Ended);
        // A saga under way whose booking the journal has not will come to no end that explains its money.
        } else if is_at_its_end(record) || !(is_unread || self.bookings.contains_key(booking)) {
            let payments = self.gateway.as_ref().map(|gateway| &gateway.payments);
            let verdict = judge(record, self.bookings.get(booking), payments);
            self.money.confirmed_minor += verdict.confirmed_minor;
            self.money.kept_minor += verdict.kept_minor;
            self.money.paid_twice += u64::from(verdict.paid_twice);
            self.violations.extend(verdict.violations);
            self.money.noticed.extend(self.owed_elsewhere(record));
            self.sagas.insert(booking.clone(), SagaPlace::Ended);
        } else {
            self.money.open_sagas += 1;
            self.money.pending_minor += captured - refunded;
            self.sagas.insert(booking.clone(), SagaPlace::Open);
        }
        for payment in &record.payments {
            self.violations.extend(self.borrowed.found(booking, &payment.payment));
            if let Some(gateway) = &mut self.gateway {
                gateway.payments.remove(&payment.payment);
            }
        }
    }

    /// What is to go back of money that no gateway took, to a buyer who was told so: nobody else
    /// says that to whoever took it.
    fn owed_elsewhere(&self, record: &SagaRecord) -> Option<String> {
        let booking = &record.saga.booking;
        let State::Cancelled { payment: Some(paid), refund_minor } =
            &self.bookings.get(booking)?.state
        else {
            return None;
        };
        let is_ours = booking_of(paid).as_ref() == Some(booking);
        let is_owed = *refund_minor > 0 && self.returned.contains(booking);
        (is_owed && !is_ours).then(|| {
            let money = readable(*refund_minor, record.saga.currency);
            format!(
                "booking {booking}: its buyer gave it back, and {money} of what was paid elsewhere as \
                 {paid} are to go back there"
            )
        })
    }

    /// Looks at a booking that the ledger has. Those with a saga are judged with their money, too.
    fn look_at_booking(&mut self, row: &Booking) {
        let Booking { booking, status, event, .. } = row;
        if let Some(sold) = self.bookings.get_mut(booking) {
            sold.has_row = true;
        }
        if self.unread.contains(event) {
            return;
        }
        let sold = self.bookings.get(booking);
        let is_filed = sold.is_some_and(|sold| sold.is_filed);
        match sold.and_then(|sold| sold.differs(row, self.comparable)) {
            None => {}
            Some(_) if is_filed => {
                self.filed.insert(booking.clone());
            }
            Some(why) => self.violations.push(format!("booking {booking}: {why}")),
        }
        if self.sagas.contains_key(booking) {
            return;
        }
        let said = match sold.map(|sold| &sold.state) {
            None => "the ledger has it and the journal has not",
            Some(State::NotSold) if *status == HoldStatus::Confirmed => {
                "the ledger says that it is confirmed, and the journal has not sold it"
            }
            Some(State::NotSold | State::Confirmed(_) | State::Cancelled { .. }) => return,
        };
        self.violations.push(format!("booking {booking}: {said} (the ledger says: {status})"));
    }

    /// Looks for what the journal has sold, and the ledger, which has followed it that far, has not.
    fn look_for_lost(&mut self) {
        let mut lost = Vec::new();
        for (booking, sold) in &self.bookings {
            let has_saga = self.sagas.contains_key(booking);
            match sold.lacking(booking, has_saga, self.comparable) {
                None => {}
                Some(_) if sold.is_filed => {
                    self.filed.insert(booking.clone());
                }
                Some(why) => lost.push(format!("booking {booking}: {why}")),
            }
        }
        lost.sort_unstable();
        self.violations.extend(lost);
        if !self.filed.is_empty() {
            let filed = self.filed.len();
            self.money.noticed.push(format!(
                "archive files have bookings as sold that the ledger lacks, or has otherwise: {filed}; a \
                 ledger that was put back from before does not learn of them"
            ));
        }
    }

    fn finish(mut self) -> Money {
        self.look_for_lost();
        // What is left in the gateway's book belongs to no payment that was read.
        if let Some(gateway) = self.gateway.take() {
            for (payment, there) in &gateway.payments {
                let Some(booking) = gateway.bookings.get(payment) else { continue };
                let missing = SagaPlace::Missing { followed: self.followed };
                let saga = self.sagas.get(booking).copied().unwrap_or(missing);
                let found = judge_unknown(payment, *there, self.bookings.get(booking), saga);
                if found.is_some() {
                    // Nobody's books but the gateway's explain it.
                    self.money.captured_minor += there.before.captured_minor;
                    self.money.refunded_minor += there.before.refunded_minor;
                }
                self.violations.extend(found);
            }
        }
        let Money {
            captured_minor,
            refunded_minor,
            confirmed_minor,
            kept_minor,
            pending_minor,
            unread_minor,
            ..
        } = self.money;
        let explained_minor = confirmed_minor + kept_minor + pending_minor + unread_minor;
        self.money.unexplained_minor = captured_minor - refunded_minor - explained_minor;
        if self.money.unexplained_minor != 0 {
            let unexplained_minor = self.money.unexplained_minor;
            self.violations.push(format!("{unexplained_minor} minor units are unexplained"));
        }
        self.money.issued = self.receipts.finish(self.violations);
        self.money
    }
}
