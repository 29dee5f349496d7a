//! The receipts, audited: numbers without a gap, and each document as the ledger's money has it.

use super::sold::{Sold, State};
use onrush_core::ids::{BookingId, PaymentId};
use onrush_core::saga::Stage;
use onrush_ledger::money::{Refund, RefundStatus};
use onrush_ledger::receipt::{Receipt, ReceiptNumber, ReceiptRule, owed_minor};
use onrush_ledger::saga::SagaRecord;
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};

/// What was issued, and what of it is in the ledger.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Issued {
    /// Receipts.
    pub(super) receipts: u64,
    /// Credit notes.
    pub(super) credit_notes: u64,
    /// Payments of confirmed bookings without a receipt, and refunds of them without a credit note; not
    /// of payments that get none, as far as it is known which.
    pub(super) missing: u64,
    /// The sums, by currency.
    pub(super) sums: BTreeMap<String, IssuedSums>,
}

/// Money of confirmed bookings in one currency, in minor units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct IssuedSums {
    /// Receipts without the credit notes.
    pub(super) issued_minor: i64,
    /// The same for payments and refunds that documents are missing of, less the notes of refunds
    /// that bounced and are yet to be made again.
    pub(super) missing_minor: i64,
    /// Payments without the refunds, as the ledger has them; refunds up to what was owed.
    pub(super) paid_minor: i64,
}

/// What was issued for one booking.
#[derive(Default)]
struct Papers {
    receipt: Option<(ReceiptNumber, i64)>,
    notes: Vec<(ReceiptNumber, Note)>,
}

struct Note {
    refund: String,
    receipt: ReceiptNumber,
    amount_minor: i64,
}

/// Reads receipts in the order of their numbers, and then sagas with their money.
#[derive(Default)]
pub(super) struct ReceiptAudit {
    /// Which payments have documents, if that is known.
    rule: Option<ReceiptRule>,
    issued: Issued,
    last: Option<ReceiptNumber>,
    papers: HashMap<BookingId, Papers>,
    violations: Vec<String>,
}

impl ReceiptAudit {
    /// With the rule of which payments have documents; without it, all are expected to.
    pub(super) fn by(rule: Option<ReceiptRule>) -> Self {
        Self { rule, ..Self::default() }
    }

    /// Notes a document.
    pub(super) fn note(&mut self, receipt: &Receipt) {
        let Receipt { number, corrects, booking, currency, amount_minor, .. } = receipt;
        let (number, amount_minor) = (number.clone(), *amount_minor);
        let before = self.last.take().filter(|last| last.series == number.series);
        let expected = before.map_or(1, |last| last.number + 1);
        if number.number != expected {
            let series = number.series.as_str();
            self.say(format!("receipts: {number} comes where {series}-{expected} should"));
        }
        self.last = Some(number.clone());
        if !receipt.document.comes_to(amount_minor) {
            self.say(format!("{number}: its lines do not come to its amount, {amount_minor}"));
        }
        let papers = self.papers.entry(booking.clone()).or_default();
        let sums = self.issued.sums.entry(currency.to_string()).or_default();
        match corrects {
            None => {
                self.issued.receipts += 1;
                sums.issued_minor += amount_minor;
                if let Some((first, _)) = papers.receipt.replace((number.clone(), amount_minor)) {
                    self.say(format!(
                        "booking {booking}: it has two receipts, {first} and {number}"
                    ));
                }
            }
            Some(corrects) => {
                self.issued.credit_notes += 1;
                sums.issued_minor -= amount_minor;
                let (refund, receipt) = (corrects.refund.clone(), corrects.receipt.clone());
                papers.notes.push((number, Note { refund, receipt, amount_minor }));
            }
        }
    }

    fn say(&mut self, why: String) {
        self.violations.push(why);
    }

    /// Holds what was issued for a booking against its money.
    pub(super) fn look(&mut self, record: &SagaRecord, sold: Option<&Sold>) {
        let booking = &record.saga.booking;
        let papers = self.papers.remove(booking).unwrap_or_default();
        let paid_with = sold.and_then(|sold| paid_with(&sold.state));
        let payment = record.payments.iter().find(|row| Some(&row.payment) == paid_with);
        let Some(payment) = payment.filter(|payment| payment.captured_minor > 0) else {
            for number in papers.numbers() {
                self.say(format!("{number}: booking {booking} was not confirmed with a payment"));
            }
            return;
        };
        let is_covered = self.rule.is_none_or(|rule| rule.covers(&record.saga, payment));
        if !is_covered && papers.numbers().next().is_none() {
            return;
        }
        let of_payment = |refund: &&Refund| refund.payment == payment.payment;
        let is_done = |refund: &&Refund| refund.status == RefundStatus::Done;
        let refunds: Vec<&Refund> = record.refunds.iter().filter(of_payment).collect();
        let captured_minor = payment.captured_minor;
        let done = || refunds.iter().copied().filter(is_done).map(|refund| refund.amount_minor);
        let cancelled_minor = sold.and_then(|sold| cancelled_minor(&sold.state));
        let owed_minor = owed_minor(captured_minor, cancelled_minor, done());
        // Documents end at what was owed. What went back beyond is found with the rest of the money.
        let refunded_minor = owed_minor.min(done().sum());
        let sums = self.issued.sums.entry(payment.currency.to_string()).or_default();
        sums.paid_minor += captured_minor - refunded_minor;
        match &papers.receipt {
            None => {
                self.issued.missing += 1;
                sums.missing_minor += captured_minor;
            }
            Some((number, amount_minor)) if *amount_minor != captured_minor => {
                self.violations.push(format!(
                    "{number}: it is over {amount_minor}, and {captured_minor} was taken"
                ))
            }
            Some(_) => {}
        }
        // One refund may stand for another that bounced after its note was issued.
        let noted_minor: i64 = papers.notes.iter().map(|(_, note)| note.amount_minor).sum();
        sums.missing_minor -= refunded_minor - noted_minor;
        if noted_minor > refunded_minor && payment.stage != Stage::Refunding {
            // A version before issued a second note for what went back twice.
            let why = if noted_minor > owed_minor {
                format!("and {owed_minor} was owed")
            } else {
                format!("{refunded_minor} went back, and no more is about to")
            };
            self.violations
                .push(format!("booking {booking}: its credit notes come to {noted_minor}, {why}"));
        }
        let mut left_minor = refunded_minor - noted_minor;
        for refund in &refunds {
            let of_it = |(_, note): &&(_, Note)| note.refund == refund.refund;
            match papers.notes.iter().filter(of_it).count() {
                0 if is_done(refund) && refund.amount_minor > 0 && left_minor > 0 => {
                    self.issued.missing += 1;
                    left_minor -= refund.amount_minor;
                }
                0 | 1 => {}
                _ => self.violations.push(format!("{} has two credit notes", refund.refund)),
            }
        }
        for (number, Note { refund, receipt, amount_minor }) in &papers.notes {
            if papers.receipt.as_ref().map(|(number, _)| number) != Some(receipt) {
                self.violations.push(format!("{number}: {receipt} is no receipt of its booking"));
            }
            let was_done = |known: &&Refund| match known.status {
                RefundStatus::Done | RefundStatus::Failed => true,
                RefundStatus::Requested | RefundStatus::Sent => false,
            };
            // The last one is over what was left of that.
            let is_over_it = |known: &Refund| {
                known.amount_minor == *amount_minor
                    || known.amount_minor > *amount_minor && noted_minor == owed_minor
            };
            let fits = |known: &&Refund| known.refund == *refund && is_over_it(known);
            if !refunds.iter().any(|known| was_done(known) && fits(known)) {
                let why = format!("{number}: no refund {refund} over {amount_minor} was done");
                self.violations.push(why);
            }
        }
    }

    /// Leaves what was issued for a booking of an event out of all that is compared: its history was
    /// not read.
    pub(super) fn pass_over(&mut self, record: &SagaRecord) {
        let papers = self.papers.remove(&record.saga.booking).unwrap_or_default();
        if papers.numbers().next().is_none() {
            return;
        }
        let sums = self.issued.sums.entry(record.saga.currency.to_string()).or_default();
        sums.issued_minor -= papers.receipt.map_or(0, |(_, amount_minor)| amount_minor);
        sums.issued_minor += papers.notes.iter().map(|(_, note)| note.amount_minor).sum::<i64>();
    }

    /// What was found, once all sagas were looked at; `None` if nothing was ever issued.
    pub(super) fn finish(mut self, violations: &mut Vec<String>) -> Option<Issued> {
        self.last.as_ref()?;
        for (booking, papers) in std::mem::take(&mut self.papers) {
            for number in papers.numbers() {
                self.say(format!("{number}: the ledger has no money of its booking {booking}"));
            }
        }
        for (currency, sums) in &self.issued.sums {
            let IssuedSums { issued_minor, missing_minor, paid_minor } = sums;
            if issued_minor + missing_minor != *paid_minor {
                self.violations.push(format!(
                    "receipts without credit notes come to {issued_minor} {currency} and \
                     {missing_minor} that are not issued, and payments without refunds to {paid_minor}"
                ));
            }
        }
        violations.append(&mut self.violations);
        Some(self.issued)
    }
}

impl Papers {
    fn numbers(&self) -> impl Iterator<Item = &ReceiptNumber> {
        let receipt = self.receipt.iter().map(|(number, _)| number);
        receipt.chain(self.notes.iter().map(|(number, _)| number))
    }
}

/// The payment that a booking was confirmed with, whether or not it was cancelled since.
fn paid_with(state: &State) -> Option<&PaymentId> {
    match state {
        State::NotSold => None,
        State::Confirmed(payment) | State::Cancelled { payment, .. } => payment.as_ref(),
    }
}

/// What a cancellation gave back, in minor units, if there was one.
fn cancelled_minor(state: &State) -> Option<i64> {
    match state {
        State::NotSold | State::Confirmed(_) => None,
        State::Cancelled { refund_minor, .. } => Some(*refund_minor),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onrush_core::Time;
    use onrush_core::saga::Step;
    use onrush_ledger::money::{Capture, OnDecline, Payment, RefundCause};
    use onrush_ledger::receipt::{Corrects, Document, Purpose, ReceiptLine, Seller};
    use onrush_ledger::saga::Saga;

    fn document(amount_minor: i64) -> Document {
        Document {
            seller: Seller { name: "Hall".into(), address: vec![], tax_id: None },
            title: "Gala".into(),
            tax: None,
            lines: vec![ReceiptLine {
                purpose: Purpose::Sales,
                pool: None,
                seat: None,
                type_name: None,
                quantity: None,
                price_minor: None,
                amount_minor,
                net_minor: amount_minor,
                tax_minor: 0,
            }],
            moved_at: Time(1),
        }
    }

    fn receipt(number: &str, booking: &str, amount_minor: i64) -> Receipt {
        Receipt {
            number: number.parse().unwrap(),
            corrects: None,
            booking: booking.parse().unwrap(),
            event: "gala".parse().unwrap(),
            issued_at: Time(1),
            currency: "EUR".parse().unwrap(),
            amount_minor,
            buyer_name: None,
            buyer_email_lower: None,
            document: document(amount_minor),
        }
    }

    fn note(number: &str, booking: &str, amount_minor: i64, of: &str) -> Receipt {
        let corrects =
            Corrects { refund: format!("refund:{booking}:1"), receipt: of.parse().unwrap() };
        Receipt { corrects: Some(corrects), ..receipt(number, booking, amount_minor) }
    }

    fn record(booking: &str, captured_minor: i64, refunded_minor: Option<i64>) -> SagaRecord {
        let (id, currency) = (booking.parse::<BookingId>().unwrap(), "EUR".parse().unwrap());
        let payment: PaymentId = format!("{booking}.000000000001").parse().unwrap();
        let saga = Saga {
            saga_id: "saga".into(),
            booking: id.clone(),
            event: "gala".parse().unwrap(),
            user: "ann".parse().unwrap(),
            amount_minor: captured_minor,
            currency,
            step: Step::Confirmed,
            reserve_completed_at: None,
            payment_completed_at: None,
            updated_at: Time(1),
            version: 3,
            payment: Some(payment.clone()),
            next_at: None,
            tries: 0,
            stuck: None,
        };
        let refund = |amount_minor| Refund {
            refund: format!("refund:{booking}:1"),
            booking: id.clone(),
            payment: payment.clone(),
            amount_minor,
            currency,
            status: RefundStatus::Done,
            cause: RefundCause::Cancelled,
            decided_by: None,
            why: String::new(),
            reference: None,
            created_at: Time(1),
            updated_at: Time(1),
        };
        let paid = Payment {
            payment: payment.clone(),
            booking: id.clone(),
            gateway: "sandbox".into(),
            reference: None,
            url: None,
            client_secret: None,
            amount_minor: captured_minor,
            currency,
            stage: Stage::Captured,
            capture: Capture::AtOnce,
            captured_minor,
            why: None,
            flagged: false,
            on_decline: OnDecline::Keep,
            created_at: Time(1),
            updated_at: Time(1),
        };
        let refunds = refunded_minor.map(refund).into_iter().collect();
        SagaRecord { saga, payments: vec![paid], refunds }
    }

    fn audit(receipts: &[Receipt], records: &[SagaRecord]) -> (Option<Issued>, Vec<String>) {
        let mut audit = ReceiptAudit::default();
        receipts.iter().for_each(|receipt| audit.note(receipt));
        for record in records {
            let payment = record.saga.payment.clone();
            let amount_minor = record.saga.amount_minor;
            let sold = Sold { state: State::Confirmed(payment), ..Sold::held(amount_minor, 1) };
            audit.look(record, Some(&sold));
        }
        let mut violations = Vec::new();
        let issued = audit.finish(&mut violations);
        (issued, violations)
    }

    #[test]
    fn documents_that_the_money_explains_are_left_alone_and_what_is_missing_is_counted() {
        let receipts = [
            receipt("R-1", "gala.1", 900),
            note("R-2", "gala.1", 400, "R-1"),
            receipt("S-1", "gala.2", 50),
        ];
        let records = [record("gala.1", 900, Some(400)), record("gala.2", 50, None)];
        let (issued, violations) = audit(&receipts, &records);
        assert_eq!(violations, [""; 0]);
        let sums = IssuedSums { issued_minor: 550, missing_minor: 0, paid_minor: 550 };
        let sums = BTreeMap::from([("EUR".to_owned(), sums)]);
        assert_eq!(issued, Some(Issued { receipts: 2, credit_notes: 1, missing: 0, sums }));

        let (issued, violations) = audit(&receipts[..1], &records);
        assert_eq!(violations, [""; 0]);
        let issued = issued.expect("something was issued");
        assert_eq!((issued.missing, issued.sums["EUR"].missing_minor), (2, -350));
        assert_eq!(audit(&[], &records), (None, vec![]));
    }

    #[test]
    fn money_that_gets_no_documents_lacks_none() {
        let rule = ReceiptRule { with_sandbox: false, from: None };
        let mut audit = ReceiptAudit::by(Some(rule));
        audit.note(&receipt("R-1", "gala.1", 900));
        let mut real = record("gala.2", 50, None);
        real.payments[0].gateway = "stripe".into();
        // The first has its receipt from a time when the sandbox was the gateway.
        for record in [record("gala.1", 900, Some(400)), real, record("gala.3", 70, Some(70))] {
            let state = State::Confirmed(record.saga.payment.clone());
            let sold = Sold { state, ..Sold::held(record.saga.amount_minor, 1) };
            audit.look(&record, Some(&sold));
        }
        let mut violations = Vec::new();
        let issued = audit.finish(&mut violations).expect("something was issued");
        assert_eq!(violations, [""; 0]);
        let sums = IssuedSums { issued_minor: 900, missing_minor: 50 - 400, paid_minor: 550 };
        assert_eq!((issued.missing, issued.sums["EUR"]), (2, sums));
    }

    #[test]
    fn what_the_money_does_not_explain_is_found() {
        let paid = record("gala.1", 900, Some(400));
        let two_notes = [
            receipt("R-1", "gala.1", 900),
            note("R-2", "gala.1", 400, "R-1"),
            note("R-3", "gala.1", 400, "R-1"),
        ];
        let mut odd = receipt("R-1", "gala.1", 900);
        odd.document = document(899);
        let open = |receipts: &[Receipt]| audit(receipts, std::slice::from_ref(&paid)).1;
        for (receipts, found) in [
            (vec![receipt("R-2", "gala.1", 900)], "R-2 comes where R-1 should"),
            (
                vec![receipt("R-1", "gala.1", 900), note("R-3", "gala.1", 400, "R-1")],
                "where R-2 should",
            ),
            (vec![receipt("R-1", "gala.1", 800)], "it is over 800, and 900 was taken"),
            (vec![odd], "its lines do not come to its amount"),
            (
                vec![receipt("R-1", "gala.1", 900), receipt("R-2", "gala.1", 900)],
                "it has two receipts",
            ),
            (two_notes.into(), "refund:gala.1:1 has two credit notes"),
            (
                vec![receipt("R-1", "gala.1", 900), note("R-2", "gala.1", 300, "R-1")],
                "over 300 was done",
            ),
            (
                vec![receipt("R-1", "gala.1", 900), note("R-2", "gala.1", 400, "R-9")],
                "R-9 is no receipt",
            ),
            (vec![receipt("R-1", "gala.9", 900)], "the ledger has no money of its booking gala.9"),
        ] {
            let violations = open(&receipts);
            assert!(violations.iter().any(|why| why.contains(found)), "{found}: {violations:?}");
        }
    }

    #[test]
    fn a_note_whose_refund_bounced_stands_for_the_refund_that_repeats_it() {
        let receipts = [receipt("R-1", "gala.1", 900), note("R-2", "gala.1", 400, "R-1")];
        let mut bounced = record("gala.1", 900, Some(400));
        bounced.refunds[0].status = RefundStatus::Failed;
        bounced.payments[0].stage = Stage::Refunding;
        let mut again = bounced.clone();
        let refund = "refund:gala.1:2".to_owned();
        let status = RefundStatus::Done;
        again.refunds.push(Refund { refund, status, ..again.refunds[0].clone() });
        let mut forgotten = bounced.clone();
        forgotten.payments[0].stage = Stage::Refunded;
        for (record, missing_minor, found) in [
            (bounced, 400, None),
            (again, 0, None),
            (forgotten, 400, Some("its credit notes come to 400, 0 went back")),
        ] {
            let (issued, violations) = audit(&receipts, &[record]);
            let issued = issued.expect("something was issued");
            assert_eq!((issued.missing, issued.sums["EUR"].missing_minor), (0, missing_minor));
            assert_eq!(violations.len(), usize::from(found.is_some()), "{violations:?}");
            assert!(found.is_none_or(|found| violations[0].contains(found)), "{violations:?}");
        }
    }

    #[test]
    fn notes_need_not_explain_more_than_was_paid() {
        let again = |record: &SagaRecord, amount_minor| {
            let mut record = record.clone();
            let refund = "refund:gala.1:2".to_owned();
            record.refunds.push(Refund { refund, amount_minor, ..record.refunds[0].clone() });
            record
        };
        let whole = [receipt("R-1", "gala.1", 900), note("R-2", "gala.1", 900, "R-1")];
        let mut rest = note("R-3", "gala.1", 500, "R-1");
        rest.corrects.as_mut().unwrap().refund = "refund:gala.1:2".into();
        let parts =
            [receipt("R-1", "gala.1", 900), note("R-2", "gala.1", 400, "R-1"), rest.clone()];
        for (receipts, first_minor) in [(&whole[..], 900), (&parts, 400)] {
            let record = again(&record("gala.1", 900, Some(first_minor)), 900);
            let (issued, violations) = audit(receipts, &[record]);
            assert_eq!(violations, [""; 0]);
            let issued = issued.expect("something was issued");
            let sums = IssuedSums { issued_minor: 0, missing_minor: 0, paid_minor: 0 };
            assert_eq!((issued.missing, issued.sums["EUR"]), (0, sums));
        }
    }

    #[test]
    fn notes_of_a_cancelled_booking_end_at_what_it_gave_back() {
        let mut twice = record("gala.1", 900, Some(400));
        let refund = "refund:gala.1:2".to_owned();
        twice.refunds.push(Refund { refund, ..twice.refunds[0].clone() });
        let state = |refund_minor| {
            let payment = twice.saga.payment.clone();
            State::Cancelled { payment, refund_minor }
        };
        let mut beyond = note("R-3", "gala.1", 400, "R-1");
        beyond.corrects.as_mut().unwrap().refund = "refund:gala.1:2".into();
        let papers = [receipt("R-1", "gala.1", 900), note("R-2", "gala.1", 400, "R-1"), beyond];
        let beyond = Some("its credit notes come to 800, and 400 was owed");
        // What the cancellation gave back, the documents, and what is wrong with them; what is missing,
        // and what is left of the payment.
        for (refund_minor, count, found, missing, paid_minor) in [
            (400, 2, None, 0, 500),
            (400, 1, None, 1, 500),
            (400, 3, beyond, 0, 500),
            (0, 2, None, 0, 500),
            (800, 3, None, 0, 100),
            (800, 2, None, 1, 100),
        ] {
            let mut audit = ReceiptAudit::default();
            papers[..count].iter().for_each(|receipt| audit.note(receipt));
            audit.look(&twice, Some(&Sold { state: state(refund_minor), ..Sold::held(900, 1) }));
            let mut violations = Vec::new();
            let issued = audit.finish(&mut violations).expect("something was issued");
            let case = format!("{refund_minor} and {count}: {violations:?}");
            assert_eq!(violations.len(), usize::from(found.is_some()), "{case}");
            assert!(found.is_none_or(|found| violations[0].contains(found)), "{case}");
            let counted = (issued.missing, issued.sums["EUR"].paid_minor);
            assert_eq!(counted, (missing, paid_minor), "{case}");
        }
    }

    #[test]
    fn a_receipt_of_a_booking_that_was_not_sold_is_found() {
        let mut audit = ReceiptAudit::default();
        audit.note(&receipt("R-1", "gala.1", 900));
        let sold = Sold::held(900, 1);
        audit.look(&record("gala.1", 900, None), Some(&sold));
        let mut violations = Vec::new();
        audit.finish(&mut violations);
        assert_eq!(violations[0], "R-1: booking gala.1 was not confirmed with a payment");
    }
}
