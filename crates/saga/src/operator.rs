//! What an operator may do about a saga that cannot go on by itself.

use super::desk::{AT_DESK, Back};
use super::draft::Draft;
use super::look::DriveError;
use super::refunds::{
    AFTER_ALL, decided_minor, is_beside_unknown, is_open, made_untold, see_to_what_went_twice,
};
use super::rows::refund_of;
use super::sagas::Sagas;
use onrush_core::Command;
use onrush_core::hold::{HoldState, HoldStatus, OnDecline};
use onrush_core::ids::{BookingId, PaymentId};
use onrush_core::saga::{Stage, Step};
use onrush_ledger::LedgerError;
use onrush_ledger::money::{Payment, Refund, RefundCause, RefundStatus};
use onrush_ledger::saga::SagaRecord;
use onrush_relay::messages::{BY_HAND, BY_OPERATOR, refund_done};

/// What to do about a stuck saga.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Try again what it was about to do; a refund that failed is asked for anew, under another key.
    Retry,
    /// Give back whatever money was taken that no final booking is paid with.
    Refund,
    /// End it, and its hold: money that was taken has been given back by other means, as the
    /// operator has made sure.
    Release,
}

/// What became of a booking that money was taken for, as the engine says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sold {
    /// It is not sold, or it is decided already what goes back.
    Not,
    /// It is confirmed with this payment: nothing goes back.
    Final,
    /// It was, and was cancelled.
    Cancelled {
        /// What goes back, in minor units.
        refund_minor: i64,
    },
}

impl Sagas {
    /// Does it, and drives the saga on; `None` if the saga is not stuck.
    ///
    /// # Errors
    /// See [`DriveError`].
    pub async fn act(
        &self,
        booking: &BookingId,
        action: Action,
        by: &str,
    ) -> Result<Option<SagaRecord>, DriveError> {
        let _held = self.locks.hold(booking).await;
        loop {
            let record = self.ledger.saga_record(booking).await?.ok_or(DriveError::NoSaga)?;
            if record.saga.stuck.is_none() {
                return Ok(None);
            }
            let sold = match self.sold(&record, action).await {
                Ok(sold) => self.desk_is_known(&record, action).await.map(|()| sold),
                Err(why) => Err(format!("what the booking came to is not known now: {why}")),
            };
            let sold = match sold {
                Ok(sold) => sold,
                Err(why) => {
                    let mut draft = Draft::of(&record, self.now());
                    draft.note(&format!("{by}: {why}"));
                    match self.write(draft).await {
                        Ok(record) => return Ok(Some(record)),
                        Err(LedgerError::Conflict) => continue,
                        Err(error) => return Err(error.into()),
                    }
                }
            };
            // What an operator has given back by hand may be what the desk did.
            let back = match action {
                Action::Retry | Action::Refund => self.back_at_desk(&record).await?,
                Action::Release => Back::default(),
            };
            let mut status = None;
            if action == Action::Release {
                let (booking, user) = (record.saga.booking.clone(), record.saga.user.clone());
                let release = Command::Release { booking, user };
                // Whatever it says: a booking that is final stays, and a hold that is paid for ends
                // with its payment.
                drop(self.engine.execute(record.saga.event.clone(), release).await);
                status = self.status_of(&record).await?;
            }
            // What was set aside is freed by the gateway alone.
            let ends_unheard =
                action == Action::Release && record.present().is_some_and(may_be_open);
            match self.write(self.acted(&record, sold, &back, status, action, by)).await {
                Ok(record) => {
                    let record = self.drive_on(record, true).await?;
                    if ends_unheard {
                        return self.end_unheard(record, by).await.map(Some);
                    }
                    return Ok(Some(record));
                }
                Err(LedgerError::Conflict) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Ends a released payment that its gateway was just asked to cancel, and did not: an operator's
    /// word counts without it. Money that comes for it later goes back as a stray's.
    async fn end_unheard(&self, record: SagaRecord, by: &str) -> Result<SagaRecord, DriveError> {
        let is_closing = record.present().is_some_and(|row| row.stage == Stage::Closing);
        let in_vain = record.saga.tries > 0 || record.saga.stuck.is_some();
        if !is_closing || !in_vain {
            return Ok(record);
        }
        let mut draft = self.moving(&record);
        draft.stuck(None);
        draft.tries(0);
        draft.settle(Step::PaymentSent, Stage::Closed);
        draft.note(&format!("{by}: ended without the gateway's answer"));
        match self.write(draft).await {
            Ok(record) => self.drive_on(record, true).await,
            // Somebody else goes on with it, and knows more.
            Err(LedgerError::Conflict) => Ok(record),
            Err(error) => Err(error.into()),
        }
    }

    /// Has the desk's refunds counted before money is asked for again that they may have given back.
    async fn desk_is_known(&self, record: &SagaRecord, action: Action) -> Result<(), String> {
        let failed: Vec<&Payment> = match action {
            Action::Retry | Action::Refund => owing(record).collect(),
            Action::Release => return Ok(()),
        };
        let known = self.look_at_desk_again(record, &failed).await;
        known.map_err(|why| format!("what the gateway's desk gave back is not known now: {why}"))
    }

    /// What became of the booking that the present payment is for, as far as that decides what goes back.
    async fn sold(&self, record: &SagaRecord, action: Action) -> Result<Sold, String> {
        let Some(payment) = record.present().filter(|row| row.captured_minor > 0) else {
            return Ok(Sold::Not);
        };
        let is_decided = record.refunds.iter().any(|row| row.payment == payment.payment);
        if action == Action::Retry || record.saga.step == Step::Confirmed || is_decided {
            return Ok(Sold::Not);
        }
        let state = match self.hold(record).await {
            Ok(view) => view.map(|view| view.state),
            Err(trouble) => return Err(trouble.why()),
        };
        match state {
            Some(HoldState::Confirmed { payment: Some(paid), .. }) if paid == payment.payment => {
                Ok(Sold::Final)
            }
            Some(HoldState::Cancelled { refund_minor, .. }) => Ok(Sold::Cancelled { refund_minor }),
            Some(
                HoldState::Held { .. }
                | HoldState::Paying { .. }
                | HoldState::Confirmed { .. }
                | HoldState::Released { .. }
                | HoldState::Expired { .. },
            ) => Ok(Sold::Not),
            // The engine forgets a cancelled booking after a day; the feed told of it before.
            None => match self.ledger.booking(&record.saga.booking).await {
                Ok(Some(row)) if row.status == HoldStatus::Cancelled => {
                    Ok(Sold::Cancelled { refund_minor: row.refund_minor })
                }
                Ok(_) => Ok(Sold::Not),
                Err(error) => Err(error.to_string()),
            },
        }
    }

    /// What an action makes of a record, whose booking stands like this where it is known.
    fn acted(
        &self,
        record: &SagaRecord,
        sold: Sold,
        back: &Back,
        status: Option<HoldStatus>,
        action: Action,
        by: &str,
    ) -> Draft {
        let mut draft = Draft::of(record, self.now());
        draft.stuck(None);
        draft.tries(0);
        draft.next_at(Some(self.now()));
        see_to_what_went_twice(&mut draft, record);
        match action {
            Action::Retry => {
                for payment in owing(record) {
                    self.refund_anew(&mut draft, record, payment, back, by);
                }
                draft.note(&format!("{by}: try again"));
            }
            Action::Refund => {
                for payment in owing(record) {
                    self.refund_anew(&mut draft, record, payment, back, by);
                }
                if let Some(payment) = unsettled(record, sold) {
                    let left_minor = left_minor(record, payment, sold);
                    // A part of what is decided here, and no repetition: nobody's name stands at it.
                    let rest_minor =
                        self.take_from_desk(&mut draft, payment, left_minor, back, None);
                    if rest_minor > 0 {
                        let cause = RefundCause::Operator;
                        self.add_refund(&mut draft, payment, rest_minor, cause, by, BY_OPERATOR);
                        draft.settle(Step::Compensating, Stage::Refunding);
                    } else {
                        draft.settle(Step::Compensating, Stage::Returned);
                        draft.note(AT_DESK);
                    }
                }
                draft.note(&format!("{by}: give the money back"));
            }
            Action::Release => {
                self.release(&mut draft, record, sold, status, by);
                draft.note(&format!("{by}: end it"));
            }
        }
        draft
    }

    /// Has what is left of a payment's money given back under a new key, but for what the desk gave back.
    /// A refund that is under way goes on instead.
    fn refund_anew(
        &self,
        draft: &mut Draft,
        record: &SagaRecord,
        payment: &Payment,
        back: &Back,
        by: &str,
    ) {
        if open_refunds(record, payment).next().is_some() {
            return;
        }
        // It has failed before, so it was decided how much goes back.
        let left_minor = left_minor(record, payment, Sold::Not);
        if left_minor <= 0 {
            return;
        }
        let rest_minor = self.take_from_desk(draft, payment, left_minor, back, Some(by));
        if rest_minor > 0 {
            // Where the desk had given back all of it, there is none that says so.
            let of_it = |row: &&Refund| row.payment == payment.payment && row.cause.is_asked_for();
            let first = record.refunds.iter().find(of_it);
            let cause = first.map_or(RefundCause::Cancelled, |row| row.cause);
            self.add_refund(draft, payment, rest_minor, cause, by, "asked for again");
        } else if record.saga.payment.as_ref() == Some(&payment.payment) {
            draft.settle(Step::Compensating, Stage::Returned);
            draft.note(AT_DESK);
        } else {
            draft.stray(&payment.payment, Stage::Refunded, AT_DESK);
        }
    }

    /// Adds a refund that an operator asked for.
    fn add_refund(
        &self,
        draft: &mut Draft,
        payment: &Payment,
        left_minor: i64,
        cause: RefundCause,
        by: &str,
        why: &str,
    ) {
        let refund = refund_of(draft.record(), payment, left_minor, cause, why, self.now());
        let status = match cause {
            // The money is back already, as the operator has made sure.
            RefundCause::ByHand | RefundCause::AtDesk => RefundStatus::Done,
            RefundCause::Cancelled
            | RefundCause::Unconfirmed
            | RefundCause::Stray
            | RefundCause::Operator
            | RefundCause::Unknown => refund.status,
        };
        draft.add_refund(Refund { status, decided_by: Some(by.to_owned()), ..refund });
    }

    /// Where refunds have failed, or wait for somebody to look what else went back, only their money counts
    /// as given back by hand: a gateway that works on another one gives that back itself. Otherwise it is
    /// given up to be asked.
    fn release(
        &self,
        draft: &mut Draft,
        record: &SagaRecord,
        sold: Sold,
        status: Option<HoldStatus>,
        by: &str,
    ) {
        for row in record.refunds.iter().filter(|row| is_beside_unknown(row)) {
            draft.refund(&row.refund, |row| row.status = RefundStatus::Failed);
        }
        let some_failed = owing(record).any(|payment| {
            under_way(record, payment).next().is_none()
                || failed_beside_others_minor(record, payment) > 0
        });
        let goes_on =
            |payment: &Payment| some_failed && under_way(record, payment).next().is_some();
        let by_hand = |draft: &mut Draft, payment: &Payment, sold: Sold| {
            for row in open_refunds(record, payment) {
                draft.refund(&row.refund, |row| row.status = RefundStatus::Failed);
            }
            let left_minor = left_minor(record, payment, sold);
            if left_minor > 0 {
                self.add_refund(draft, payment, left_minor, RefundCause::ByHand, by, BY_HAND);
                self.tell_by_hand(draft, status);
            }
            if let Some(made) = made_untold(record, payment) {
                // The other one, beside which it was made, is not made any more.
                let told = Refund { why: AFTER_ALL.to_owned(), ..made.clone() };
                self.tell(draft, &told, status);
            }
        };
        // Where a part has failed beside one that the gateway works on, that part alone counts.
        let part_by_hand = |draft: &mut Draft, payment: &Payment| {
            let part_minor = failed_beside_others_minor(record, payment);
            if part_minor > 0 {
                self.add_refund(draft, payment, part_minor, RefundCause::ByHand, by, BY_HAND);
                self.tell_by_hand(draft, status);
            }
            part_minor > 0
        };
        for stray in record.strays() {
            if part_by_hand(draft, stray) || goes_on(stray) {
                continue;
            }
            by_hand(draft, stray, Sold::Not);
            draft.stray(&stray.payment, Stage::Refunded, "a stray payment was seen to by hand");
        }
        // What is final goes on by itself, and so does what the engine confirmed before that could
        // be written down.
        let is_final = record.saga.step == Step::Confirmed || sold == Sold::Final;
        match record.present().filter(|_| !is_final) {
            Some(payment) if part_by_hand(draft, payment) || goes_on(payment) => {}
            Some(payment) if payment.captured_minor > 0 => {
                if sold == (Sold::Cancelled { refund_minor: 0 }) {
                    draft.settle(Step::Failed, Stage::Captured);
                    draft.next_at(None);
                    return;
                }
                by_hand(draft, payment, sold);
                draft.settle(Step::Compensating, Stage::Returned);
            }
            Some(payment) => {
                // Nobody shall pay for it any more, and what a bank has set aside is set free.
                let is_alive = is_promise(payment) || may_be_open(payment);
                draft.settle(
                    Step::PaymentSent,
                    if is_alive { Stage::Closing } else { Stage::Closed },
                );
                draft.present(|row| row.on_decline = OnDecline::Release);
            }
            None if is_final => {}
            None => draft.give_up(),
        }
    }

    /// Tells of the refund that was added last, as if the gateway had made it. Should that make an
    /// earlier one after all, nothing more is told of this payment.
    fn tell_by_hand(&self, draft: &mut Draft, status: Option<HoldStatus>) {
        let SagaRecord { saga, refunds, .. } = draft.record();
        let made = refunds.last().expect("it was just added");
        let cause = if saga.payment.as_ref() == Some(&made.payment) {
            // Why it was owed, the first one says.
            let first = refunds.iter().find(|row| row.payment == made.payment);
            first.map_or(made.cause, |row| row.cause)
        } else {
            RefundCause::Stray
        };
        let told = Refund { cause, ..made.clone() };
        self.tell(draft, &told, status);
    }

    /// Tells of a refund, whose booking stands like this where it is known.
    pub(super) fn tell(&self, draft: &mut Draft, refund: &Refund, status: Option<HoldStatus>) {
        let event = &draft.record().saga.event;
        if let Some(message) = refund_done(refund, event, self.now(), status, &self.channels) {
            draft.tell(message);
        }
    }
}

/// Whether the gateway may still let the buyer pay.
fn may_be_open(payment: &Payment) -> bool {
    matches!(payment.stage, Stage::Creating | Stage::Open | Stage::Closing)
}

/// Whether a bank has set the money aside.
fn is_promise(payment: &Payment) -> bool {
    matches!(payment.stage, Stage::Authorised | Stage::Capturing)
}

/// A payment's refunds of which nobody knows yet what comes of them.
fn open_refunds<'a>(
    record: &'a SagaRecord,
    payment: &'a Payment,
) -> impl Iterator<Item = &'a Refund> {
    record.refunds.iter().filter(|row| row.payment == payment.payment && is_open(row))
}

/// Those of them that do not wait for an operator.
fn under_way<'a>(record: &'a SagaRecord, payment: &'a Payment) -> impl Iterator<Item = &'a Refund> {
    open_refunds(record, payment).filter(|row| !is_beside_unknown(row))
}

/// What is owed of a payment's money beside what the gateway works on, in minor units: nothing if that is
/// all of it, or if no refund is under way.
fn failed_beside_others_minor(record: &SagaRecord, payment: &Payment) -> i64 {
    let open_minor: i64 = under_way(record, payment).map(|row| row.amount_minor).sum();
    if open_minor == 0 {
        return 0;
    }
    (left_minor(record, payment, Sold::Not) - open_minor).max(0)
}

/// Payments whose money is to go back, and whose refund has failed or waits for an operator.
fn owing(record: &SagaRecord) -> impl Iterator<Item = &Payment> {
    let has_failed = |row: &Refund| row.status == RefundStatus::Failed || is_beside_unknown(row);
    let failed = move |payment: &PaymentId| {
        record.refunds.iter().any(|row| row.payment == *payment && has_failed(row))
    };
    record.payments.iter().filter(move |row| row.stage == Stage::Refunding && failed(&row.payment))
}

/// The present payment, if money was taken for it that bought nothing and is not on its way back.
fn unsettled(record: &SagaRecord, sold: Sold) -> Option<&Payment> {
    let bought = record.saga.step == Step::Confirmed;
    let payment = record.present().filter(|_| !bought)?;
    let under_way = payment.stage == Stage::Refunding;
    (!under_way && left_minor(record, payment, sold) > 0).then_some(payment)
}

/// Money of a payment that is to go back, and did not yet.
fn left_minor(record: &SagaRecord, payment: &Payment, sold: Sold) -> i64 {
    let is_done =
        |row: &&Refund| row.payment == payment.payment && row.status == RefundStatus::Done;
    let done = record.refunds.iter().filter(is_done);
    let back_minor: i64 = done.map(|row| row.amount_minor).sum();
    let owed_minor = match (decided_minor(record, &payment.payment), sold) {
        (Some(decided_minor), _) => decided_minor,
        (None, Sold::Not) => payment.captured_minor,
        (None, Sold::Cancelled { refund_minor }) => refund_minor,
        (None, Sold::Final) => 0,
    };
    owed_minor.min(payment.captured_minor) - back_minor
}
