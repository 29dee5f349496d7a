//! What is about to be written about one saga.

use onrush_core::Time;
use onrush_core::ids::PaymentId;
use onrush_core::saga::{Illegal, Outcome, Position, Stage, advance};
use onrush_ledger::booking::Buyer;
use onrush_ledger::delivery::Message;
use onrush_ledger::money::{Payment, Refund};
use onrush_ledger::saga::{SagaRecord, Transition};

/// A record that is being changed, and what is new about it.
pub(super) struct Draft {
    record: SagaRecord,
    /// The stages of its payments before.
    stages: Vec<Stage>,
    was_stuck: bool,
    at: Time,
    payments: Vec<PaymentId>,
    refunds: Vec<String>,
    note: String,
    buyer: Option<Buyer>,
    messages: Vec<Message>,
}

impl Draft {
    /// Nothing is new yet.
    pub(super) fn of(record: &SagaRecord, at: Time) -> Self {
        Self {
            record: record.clone(),
            stages: record.payments.iter().map(|payment| payment.stage).collect(),
            was_stuck: record.saga.stuck.is_some(),
            at,
            payments: Vec::new(),
            refunds: Vec::new(),
            note: String::new(),
            buyer: None,
            messages: Vec::new(),
        }
    }

    pub(super) fn record(&self) -> &SagaRecord {
        &self.record
    }

    /// Goes where the outcome leads.
    pub(super) fn advance(&mut self, outcome: Outcome, note: &str) -> Result<(), Illegal> {
        let Position { step, stage } = advance(self.record.position(), outcome)?;
        self.record.saga.step = step;
        if let (Some(stage), Some(payment)) = (stage, self.record.saga.payment.clone()) {
            self.payment(&payment, |row| row.stage = stage);
        }
        self.record.saga.tries = 0;
        self.note(note);
        Ok(())
    }

    /// Adds a payment as the present one.
    pub(super) fn begin_payment(&mut self, payment: Payment, note: &str) -> Result<(), Illegal> {
        let (before, outcome) = (self.record.position(), Outcome::PaymentWanted);
        let Position { step, stage } = advance(before, outcome)?;
        let last_is_over = matches!(before.stage, None | Some(Stage::Void | Stage::Closed));
        if !last_is_over || stage != Some(Stage::Creating) {
            return Err(Illegal { position: before, outcome });
        }
        if before.stage == Some(Stage::Closed) {
            // The engine begins the next one only once it knows how the last one ended.
            self.present(|row| row.stage = Stage::Void);
        }
        self.record.saga.step = step;
        self.record.saga.tries = 0;
        self.note(note);
        self.record.saga.payment = Some(payment.payment.clone());
        self.payments.push(payment.payment.clone());
        self.record.payments.push(payment);
        Ok(())
    }

    /// Changes a payment.
    pub(super) fn payment(&mut self, payment: &PaymentId, change: impl FnOnce(&mut Payment)) {
        let row = self.record.payments.iter_mut().find(|row| row.payment == *payment);
        let row = row.expect("only known payments are changed");
        change(row);
        row.updated_at = self.at;
        if !self.payments.contains(payment) {
            self.payments.push(payment.clone());
        }
    }

    /// Changes the present payment.
    pub(super) fn present(&mut self, change: impl FnOnce(&mut Payment)) {
        if let Some(payment) = self.record.saga.payment.clone() {
            self.payment(&payment, change);
        }
    }

    /// Moves a payment that is not the present one.
    pub(super) fn stray(&mut self, payment: &PaymentId, stage: Stage, note: &str) {
        self.payment(payment, |row| row.stage = stage);
        self.note(note);
    }

    pub(super) fn add_refund(&mut self, refund: Refund) {
        self.refunds.push(refund.refund.clone());
        self.record.refunds.push(refund);
    }

    pub(super) fn refund(&mut self, refund: &str, change: impl FnOnce(&mut Refund)) {
        let row = self.record.refunds.iter_mut().find(|row| row.refund == refund);
        let row = row.expect("only known refunds are changed");
        change(row);
        row.updated_at = self.at;
        if !self.refunds.iter().any(|other| other == refund) {
            self.refunds.push(refund.to_owned());
        }
    }

    pub(super) fn note(&mut self, note: &str) {
        if !self.note.is_empty() {
            self.note.push_str("; ");
        }
        self.note.push_str(note);
    }

    /// Writes no line of history if all that it would say is what the last one said.
    pub(super) fn say_no_more_than(&mut self, last: &str) {
        if self.note == last {
            self.note.clear();
        }
    }

    pub(super) fn next_at(&mut self, at: Option<Time>) {
        self.record.saga.next_at = at;
    }

    pub(super) fn stuck(&mut self, why: Option<&str>) {
        self.record.saga.stuck = why.map(str::to_owned);
    }

    pub(super) fn tries(&mut self, tries: u32) {
        self.record.saga.tries = tries;
    }

    /// When the present payment's money was taken.
    pub(super) fn captured_at(&mut self, at: Time) {
        self.record.saga.payment_completed_at = Some(at);
    }

    pub(super) fn buyer(&mut self, buyer: Option<Buyer>) {
        self.buyer = buyer;
    }

    pub(super) fn tell(&mut self, message: Message) {
        self.messages.push(message);
    }

    /// The stages that payments come to by it.
    pub(super) fn new_stages(&self) -> impl Iterator<Item = Stage> + '_ {
        let now = self.record.payments.iter().map(|payment| payment.stage);
        let before = self.stages.iter().copied().map(Some).chain(std::iter::repeat(None));
        now.zip(before).filter(|(now, before)| *before != Some(*now)).map(|(now, _)| now)
    }

    /// Whether the saga has to wait for an operator from now on.
    pub(super) fn gets_stuck(&self) -> bool {
        !self.was_stuck && self.record.saga.stuck.is_some()
    }

    /// The write, and the record as it is after it.
    pub(super) fn finish(mut self) -> (Transition, SagaRecord) {
        self.record.saga.version += 1;
        self.record.saga.updated_at = self.at;
        let payments = self.record.payments.iter();
        let payments = payments.filter(|row| self.payments.contains(&row.payment)).cloned();
        let refunds = self.record.refunds.iter();
        let refunds = refunds.filter(|row| self.refunds.contains(&row.refund)).cloned();
        let transition = Transition {
            saga: self.record.saga.clone(),
            payments: payments.collect(),
            refunds: refunds.collect(),
            buyer: self.buyer,
            note: self.note,
            messages: self.messages,
        };
        (transition, self.record)
    }
}

/// What only operators and odd messages lead to.
impl Draft {
    /// Puts saga and present payment where an operator wants them.
    pub(super) fn settle(&mut self, step: onrush_core::saga::Step, stage: Stage) {
        self.record.saga.step = step;
        self.present(|row| row.stage = stage);
    }

    /// Has the engine be asked what became of the hold, as if nothing had been paid.
    pub(super) fn begin_again(&mut self, note: &str) {
        self.record.saga.step = onrush_core::saga::Step::ReserveOk;
        self.note(note);
    }

    /// Ends a saga without a payment.
    pub(super) fn give_up(&mut self) {
        self.record.saga.step = onrush_core::saga::Step::Failed;
        self.record.saga.next_at = None;
    }

    /// The present payment becomes a stray: the saga goes on without it.
    pub(super) fn abandon_present(&mut self) {
        self.record.saga.payment = None;
    }
}
