//! The money, audited: what the gateway took is a confirmed booking or went back, and nothing is paid for twice.
//!
//! Three books are compared: the journal (what is confirmed), the ledger (what was to be paid, taken and given back), and
//! the gateway's own (what it took and gave back). Only sagas at their end are judged, so that a server may be running.

use onrush::sandbox::{Taken, taken};
use onrush_core::Change;
use onrush_core::booking::Step;
use onrush_core::ids::{BookingId, PaymentId};
use onrush_ledger::money::{Payment, RefundStatus};
use onrush_ledger::saga::File;
use onrush_ledger::sqlite::LedgerReader;
use onrush_store::Seq;
use onrush_store::embedded::JournalReader;
use serde::Serialize;
use std::collections::HashMap;
use std::fmt;
use std::path::Path;

/// Rows and decisions read at a time.
const PAGE: usize = 10_000;

/// What the audit of the money found.
#[derive(Debug, Default, Serialize)]
pub(super) struct Money {
    /// Money that was taken, as the ledger says, in minor units of all currencies together.
    pub(super) captured_minor: i64,
    /// Money that went back.
    pub(super) refunded_minor: i64,
    /// The price of bookings that are confirmed and paid for through a gateway.
    pub(super) confirmed_minor: i64,
    /// What buyers who cancelled did not get back, by the organiser's rules.
    pub(super) kept_minor: i64,
    /// Money of sagas that have not come to their end.
    pub(super) pending_minor: i64,
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
}

impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { captured_minor, refunded_minor, confirmed_minor, kept_minor, .. } = self;
        let Self { pending_minor, unexplained_minor, open_sagas, stuck_sagas, .. } = self;
        write!(
            f,
            "money in minor units: {captured_minor} taken = {confirmed_minor} confirmed + {refunded_minor} given back \
             + {kept_minor} kept + {pending_minor} pending + {unexplained_minor} unexplained; \
             {open_sagas} sagas open, {stuck_sagas} of them stuck; "
        )?;
        f.write_str(if self.gateway {
            "compared with the gateway's own book"
        } else {
            "the gateway's own book was not at hand"
        })
    }
}

/// A booking, as the journal has it in the end.
struct Sold {
    amount_minor: i64,
    state: State,
}

enum State {
    /// Held, or ended without being confirmed.
    NotSold,
    Confirmed(Option<PaymentId>),
    Cancelled {
        payment: Option<PaymentId>,
        refund_minor: i64,
    },
}

/// Compares journal, ledger and, if its directory is known, the sandbox's file. `None` if there is no ledger.
///
/// # Errors
/// A sentence that says what cannot be read.
pub(super) fn audit(
    data: &Path,
    sandbox: Option<&Path>,
    violations: &mut Vec<String>,
) -> Result<Option<Money>, String> {
    if !data.join("ledger.db").exists() {
        return Ok(None);
    }
    // The ledger is read as it was before the journal: what is at its end there is at its end in the journal too.
    let reader = LedgerReader::open(data).map_err(|error| error.to_string())?;
    let bookings = read_journal(data)?;
    let own = data.join("sandbox");
    let gateway =
        taken(sandbox.unwrap_or(&own)).map_err(|error| format!("the sandbox's file: {error}"))?;
    let gateway: Option<HashMap<PaymentId, Taken>> =
        gateway.map(|all| all.into_iter().map(|taken| (taken.payment.clone(), taken)).collect());
    let mut auditor = Auditor {
        money: Money { gateway: gateway.is_some(), ..Money::default() },
        gateway,
        bookings,
        violations,
    };
    let mut after = None;
    loop {
        let page = reader.sagas(after.as_deref(), PAGE).map_err(|error| error.to_string())?;
        for saga in &page.rows {
            let file = reader.file(&saga.booking).map_err(|error| error.to_string())?;
            if let Some(file) = file {
                auditor.look(&file);
            }
        }
        after = page.next;
        if after.is_none() {
            return Ok(Some(auditor.finish()));
        }
    }
}

fn read_journal(data: &Path) -> Result<HashMap<BookingId, Sold>, String> {
    let mut reader = JournalReader::open(data).map_err(|error| error.to_string())?;
    let mut bookings: HashMap<BookingId, Sold> = HashMap::new();
    let mut after = Seq::default();
    loop {
        let page = reader.page(after, PAGE).map_err(|error| error.to_string())?;
        let Some(last) = page.last() else { return Ok(bookings) };
        after = last.seq;
        for change in page.iter().flat_map(|entry| &entry.changes) {
            note(&mut bookings, change);
        }
    }
}

fn note(bookings: &mut HashMap<BookingId, Sold>, change: &Change) {
    let mut set = |booking: &BookingId, state| {
        if let Some(sold) = bookings.get_mut(booking) {
            sold.state = state;
        }
    };
    match change {
        Change::HoldPlaced { terms, .. } => {
            let sold = Sold { amount_minor: terms.amount_minor, state: State::NotSold };
            bookings.insert(terms.booking.clone(), sold);
        }
        Change::HoldConfirmed { booking, payment } => {
            set(booking, State::Confirmed(payment.clone()));
        }
        Change::HoldConfirmedLate { booking, payment } => {
            set(booking, State::Confirmed(Some(payment.clone())));
        }
        Change::ConfirmedCancelled { booking, refund_minor, .. } => {
            let before = bookings.get_mut(booking);
            if let Some(sold) = before
                && let State::Confirmed(payment) = &sold.state
            {
                let payment = payment.clone();
                sold.state = State::Cancelled { payment, refund_minor: *refund_minor };
            }
        }
        Change::EventCreated { .. }
        | Change::SettingsChanged { .. }
        | Change::PoolAdded { .. }
        | Change::CapacityAdjusted { .. }
        | Change::SeatsAdded { .. }
        | Change::UnitsBlocked { .. }
        | Change::UnitsUnblocked { .. }
        | Change::PrequeueOpened
        | Change::PrequeueClosed { .. }
        | Change::SaleOpened { .. }
        | Change::SalePaused
        | Change::SaleResumed
        | Change::SaleClosed
        | Change::PlaceTaken { .. }
        | Change::PlaceSeen { .. }
        | Change::PlaceLeft { .. }
        | Change::Admitted { .. }
        | Change::Arrived { .. }
        | Change::SessionEnded { .. }
        | Change::SlotFreed { .. }
        | Change::HoldExtended { .. }
        | Change::PaymentBegun { .. }
        | Change::PaymentFailed { .. }
        | Change::LatePaymentFailed { .. }
        | Change::HoldReleased { .. }
        | Change::HoldExpired { .. }
        | Change::CheckedIn { .. }
        | Change::HoldForgotten { .. }
        | Change::Claimed { .. }
        | Change::Declaimed { .. }
        | Change::ClaimedAdjusted { .. }
        | Change::ClaimForgotten { .. }
        | Change::Resumed { .. } => {}
    }
}

struct Auditor<'a> {
    money: Money,
    gateway: Option<HashMap<PaymentId, Taken>>,
    bookings: HashMap<BookingId, Sold>,
    violations: &'a mut Vec<String>,
}

impl Auditor<'_> {
    fn look(&mut self, file: &File) {
        let captured: i64 = file.payments.iter().map(|payment| payment.captured_minor).sum();
        let refunded = given_back(file, None);
        self.money.captured_minor += captured;
        self.money.refunded_minor += refunded;
        let at_its_end = match file.saga.step {
            Step::Confirmed | Step::Failed => file.strays().next().is_none(),
            Step::ReserveSent
            | Step::ReserveOk
            | Step::PaymentSent
            | Step::PaymentOk
            | Step::Compensating => false,
        };
        if file.saga.stuck.is_some() {
            self.money.stuck_sagas += 1;
        }
        if !at_its_end || file.saga.stuck.is_some() {
            self.money.open_sagas += 1;
            self.money.pending_minor += captured - refunded;
            for payment in &file.payments {
                self.forget(&payment.payment);
            }
            return;
        }
        self.judge(file, captured - refunded);
        for payment in &file.payments {
            self.compare(file, payment);
        }
    }

    /// What is left of the money for a saga at its end must be what the journal says it should be.
    fn judge(&mut self, file: &File, left_minor: i64) {
        let booking = &file.saga.booking;
        let Some(sold) = self.bookings.get(booking) else {
            self.violations
                .push(format!("booking {booking}: the ledger has it and the journal has not"));
            return;
        };
        let ours = |payment: &Option<PaymentId>| {
            payment.as_ref().is_some_and(|id| file.payments.iter().any(|row| row.payment == *id))
        };
        let amount_minor = sold.amount_minor;
        let (confirmed, kept) = match &sold.state {
            State::Confirmed(payment) if ours(payment) => (amount_minor, 0),
            // It was cancelled after the ledger was read, if the ledger says confirmed.
            State::Cancelled { payment, .. }
                if ours(payment) && file.saga.step == Step::Confirmed =>
            {
                (amount_minor, 0)
            }
            State::Cancelled { payment, refund_minor } if ours(payment) => {
                (0, amount_minor - refund_minor)
            }
            State::Confirmed(_) | State::Cancelled { .. } | State::NotSold => (0, 0),
        };
        self.money.confirmed_minor += confirmed;
        self.money.kept_minor += kept;
        if left_minor > amount_minor {
            self.money.paid_twice += 1;
        }
        if left_minor != confirmed + kept {
            self.violations.push(format!(
                "booking {booking}: {left_minor} minor units are left of what was taken, and {} are accounted for",
                confirmed + kept
            ));
        }
        let is_sold = matches!(sold.state, State::Confirmed(_));
        if is_sold != (file.saga.step == Step::Confirmed) && matches!(sold.state, State::NotSold) {
            let step = file.saga.step;
            self.violations.push(format!(
                "booking {booking}: the ledger says {step:?} and the journal has not sold it"
            ));
        }
        if is_sold && file.saga.step == Step::Failed {
            self.violations
                .push(format!("booking {booking}: the journal sold it and its saga has failed"));
        }
    }

    /// The gateway's own book must say the same of a payment.
    fn compare(&mut self, file: &File, payment: &Payment) {
        let Some(gateway) = &mut self.gateway else { return };
        let id = &payment.payment;
        let (captured, refunded) =
            gateway.remove(id).map_or((0, 0), |taken| (taken.captured_minor, taken.refunded_minor));
        let ledger = (payment.captured_minor, given_back(file, Some(id)));
        if (captured, refunded) != ledger {
            self.violations.push(format!(
                "payment {id}: the gateway took {captured} and gave back {refunded}, the ledger says {} and {}",
                ledger.0, ledger.1
            ));
        }
    }

    fn forget(&mut self, payment: &PaymentId) {
        if let Some(gateway) = &mut self.gateway {
            gateway.remove(payment);
        }
    }

    fn finish(mut self) -> Money {
        // What is left in the gateway's book belongs to no saga that was read.
        for taken in self.gateway.iter().flat_map(HashMap::values) {
            if taken.captured_minor > 0 && !self.bookings.contains_key(&taken.booking) {
                let Taken { payment, captured_minor, .. } = taken;
                self.violations.push(format!(
                    "payment {payment}: the gateway took {captured_minor} for a booking that nobody knows"
                ));
            }
        }
        let Money {
            captured_minor,
            refunded_minor,
            confirmed_minor,
            kept_minor,
            pending_minor,
            ..
        } = self.money;
        self.money.unexplained_minor =
            captured_minor - refunded_minor - confirmed_minor - kept_minor - pending_minor;
        if self.money.unexplained_minor != 0 {
            let unexplained_minor = self.money.unexplained_minor;
            self.violations.push(format!("{unexplained_minor} minor units are unexplained"));
        }
        self.money
    }
}

/// What went back, for one payment or all.
fn given_back(file: &File, payment: Option<&PaymentId>) -> i64 {
    let done = file.refunds.iter().filter(|refund| {
        refund.status == RefundStatus::Done && payment.is_none_or(|id| refund.payment == *id)
    });
    done.map(|refund| refund.amount_minor).sum()
}
