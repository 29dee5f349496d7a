//! Money that goes back.

use super::desk::{AT_DESK, Back};
use super::draft::Draft;
use super::gateway::{GatewayError, RefundStanding};
use super::look::{Look, Trouble};
use super::rows::{order_of_refund, refund_of};
use super::sagas::Sagas;
use onrush_core::hold::{HoldState, HoldStatus, OnDecline};
use onrush_core::ids::PaymentId;
use onrush_core::saga::{Outcome, Stage, Todo, todo};
use onrush_ledger::LedgerError;
use onrush_ledger::money::{Payment, Refund, RefundCause, RefundStatus};
use onrush_ledger::saga::SagaRecord;
use onrush_relay::messages::{CANCELLED_BY_BUYER, CANCELLED_BY_LINK, refund_done};

/// How long the gateway is left alone at most with what it cannot tell more of for now.
pub(super) const LONGEST_WAIT_MS: i64 = 3_600_000;
/// Why money of a payment that is not the present one goes back.
const STRAY: &str = "the booking does not wait for this payment";
/// What is told of a refund that had failed and was made all the same.
pub(super) const AFTER_ALL: &str = "the refund was made after all";
/// Why a refund is not asked for beside one that was made.
pub(super) const BESIDE_ANOTHER: &str =
    "a refund that had failed was made after all, beside another one";

/// How a refund's reason begins that is not asked for any further before an operator has looked what the
/// gateway gave back beside it. It is still requested: under its key nothing goes back twice.
const BESIDE_UNKNOWN: &str =
    "not made beside what the gateway gave back, which is not known here: ";

/// What a refund that was made beside another one says once somebody has seen to it.
const BESIDE_SEEN_TO: &str = "made after all, beside another one; an operator has seen to it";

impl Sagas {
    /// Money is to go back for the present payment.
    pub(super) fn give_back(
        &self,
        record: &SagaRecord,
        amount_minor: i64,
        outcome: Outcome,
        cause: RefundCause,
        why: &str,
    ) -> Result<Look, Trouble> {
        let mut draft = self.moving(record);
        let Some(payment) = paid_here(record, amount_minor) else {
            // Paid at the box office: what it took, it gives back.
            let mut draft = self.draft(record);
            draft.advance(Outcome::CancelledUnrefunded, "nothing was paid here; refund by hand")?;
            return Ok(Look::WriteAndRest(draft));
        };
        draft.advance(outcome, why)?;
        draft.add_refund(refund_of(record, payment, amount_minor, cause, why, self.now()));
        Ok(Look::Write(draft))
    }

    /// Money is to go back for a booking that was cancelled, of which the desk gave some back before: the
    /// gateway is asked for the rest, if there is one.
    pub(super) fn give_back_beside_desk(
        &self,
        record: &SagaRecord,
        payment: &Payment,
        amount_minor: i64,
        back: &Back,
        why: &str,
    ) -> Result<Look, Trouble> {
        let mut draft = self.moving(record);
        draft.advance(Outcome::Cancelled, why)?;
        let left_minor = self.take_from_desk(&mut draft, payment, amount_minor, back, None);
        if left_minor == 0 {
            draft.advance(Outcome::MoneyReturned, AT_DESK)?;
        } else {
            draft.note("a part had gone back at the gateway's own desk");
            let (record, cause) = (draft.record(), RefundCause::Cancelled);
            let rest = refund_of(record, payment, left_minor, cause, why, self.now());
            draft.add_refund(rest);
        }
        Ok(Look::Write(draft))
    }

    /// A payment's refund that has not come to its end.
    fn open_refund<'a>(record: &'a SagaRecord, payment: &PaymentId) -> Option<&'a Refund> {
        record.refunds.iter().find(|refund| refund.payment == *payment && is_open(refund))
    }

    /// What the gateway says of a refund, which it makes unless it has.
    pub(super) async fn refund_at_gateway(
        &self,
        record: &SagaRecord,
        payment: &Payment,
        refund: &Refund,
    ) -> Result<RefundStanding, GatewayError> {
        let order = order_of_refund(record, payment, refund);
        match self.asked(payment, |gateway| gateway.refund(&order)).await {
            Ok(standing) => Ok(standing),
            // It will never make this one; another may be made under a key of its own.
            Err(GatewayError::Refused(why)) => Ok(RefundStanding::Failed { reference: None, why }),
            // It did not fail, so that it stays as it is, and no other one is asked for beside it: an
            // operator looks what went back, and has it asked for again under this key or released.
            Err(error @ (GatewayError::Unavailable(_) | GatewayError::UnknownRefund(_))) => {
                Err(error)
            }
        }
    }

    /// Asks for refunds that were not asked for yet, of strays as of the present payment, and about
    /// those that are under way, until there is something to write down.
    ///
    /// Each of them may take days or fail: none waits for another.
    pub(super) async fn look_at_refunds(&self, record: &SagaRecord) -> Result<Look, Trouble> {
        let present = record.present().filter(|_| todo(record.position()) == Todo::Refund);
        let owed =
            || record.strays().filter(|stray| stray.stage == Stage::Refunding).chain(present);
        let under_way = owed().filter_map(|payment| {
            let refund = Self::open_refund(record, &payment.payment)?;
            Some((payment, refund))
        });
        let (sent, requested): (Vec<_>, Vec<_>) =
            under_way.partition(|(_, refund)| refund.status == RefundStatus::Sent);
        let mut trouble: Option<Trouble> = None;
        let with = |before: Option<Trouble>, why: Trouble| match before {
            None => Some(why),
            Some(before) => Some(before.or_sooner(why)),
        };
        for (payment, refund) in requested {
            if is_beyond_what_is_owed(record, refund) {
                trouble = Some(Trouble::Stuck(BESIDE_ANOTHER.into()));
                continue;
            }
            match self.refund_at_gateway(record, payment, refund).await {
                Ok(standing) => return self.came_of(record, refund, standing).await,
                Err(GatewayError::UnknownRefund(_)) if !is_beside_unknown(refund) => {
                    return Ok(self.refund_beside_unknown(record, refund));
                }
                Err(error) => trouble = with(trouble, error.into()),
            }
        }
        let mut still = None;
        for (payment, refund) in sent {
            match self.refund_at_gateway(record, payment, refund).await {
                Ok(RefundStanding::Pending { reference }) => still = Some((refund, reference)),
                Ok(standing) => return self.came_of(record, refund, standing).await,
                Err(error) => trouble = with(trouble, error.into()),
            }
        }
        // What may still be asked for goes on before an operator is waited for.
        if let Some(trouble) = trouble {
            return Err(trouble);
        }
        if let Some(why) = owed().find_map(|payment| failure(record, payment)) {
            return Err(Trouble::Stuck(why.to_owned()));
        }
        Ok(still
            .map_or(Look::Rest, |(refund, reference)| self.refund_sent(record, refund, reference)))
    }

    /// What came of a refund.
    pub(super) async fn came_of(
        &self,
        record: &SagaRecord,
        refund: &Refund,
        standing: RefundStanding,
    ) -> Result<Look, Trouble> {
        let reference = match standing {
            RefundStanding::Done { reference } => reference,
            RefundStanding::Pending { reference } => {
                return Ok(self.refund_sent(record, refund, reference));
            }
            RefundStanding::Failed { reference, why } => {
                return Ok(self.refund_failed(record, refund, reference, &why));
            }
        };
        let status = self.status_of(record).await;
        let status = status.map_err(|error| Trouble::Later(error.to_string()))?;
        let is_present = record.saga.payment.as_ref() == Some(&refund.payment);
        let is_part = is_part_of_what_is_owed(record, refund);
        let mut draft = if is_part {
            let mut draft = self.moving(record);
            draft.tries(0);
            draft.note("a part of the money went back");
            draft
        } else if is_present {
            let mut draft = self.moving(record);
            draft.advance(Outcome::MoneyReturned, "the money went back")?;
            draft
        } else {
            let mut draft = Draft::of(record, self.now());
            draft.tries(0);
            draft.stray(&refund.payment, Stage::Refunded, "a stray payment went back");
            draft
        };
        draft.refund(&refund.refund, |row| {
            row.status = RefundStatus::Done;
            row.reference = Some(reference);
            row.why = asked_for_because(refund);
        });
        let event = &draft.record().saga.event;
        let made = Refund { why: asked_for_because(refund), ..refund.clone() };
        if let Some(message) = refund_done(&made, event, self.now(), status, &self.channels) {
            draft.tell(message);
        }
        // What came back of the other part is owed still, and waits for an operator.
        Ok(if is_part { then_others(draft) } else { Look::Write(draft) })
    }

    /// How a booking stands, for those who are told of its money. The ledger may lag behind the engine,
    /// and knows what that has forgotten or cannot say just now.
    pub(super) async fn status_of(
        &self,
        record: &SagaRecord,
    ) -> Result<Option<HoldStatus>, LedgerError> {
        if self.channels.is_empty() {
            return Ok(None);
        }
        match self.hold(record).await {
            Ok(Some(view)) => Ok(Some(view.state.status())),
            Ok(None) | Err(_) => {
                let row = self.ledger.booking(&record.saga.booking).await?;
                Ok(row.map(|row| row.status))
            }
        }
    }

    /// The gateway works on it, which may take days: it tells when it knows, and is asked now and
    /// then, less often the longer it takes, in case that is lost.
    fn refund_sent(&self, record: &SagaRecord, refund: &Refund, reference: String) -> Look {
        let mut draft = self.draft(record);
        draft.tries(0);
        draft.refund(&refund.refund, |row| {
            row.status = RefundStatus::Sent;
            row.reference = Some(reference);
            row.why = asked_for_because(refund);
        });
        draft.note("the gateway works on the refund");
        let open = record.refunds.iter().filter(|refund| is_open(refund));
        let youngest = open.map(|refund| refund.created_at).max().unwrap_or(refund.created_at);
        let pause_ms = (self.now().since_ms(youngest) / 8).min(LONGEST_WAIT_MS);
        let pause_ms = pause_ms.max(self.patience.longest_pause_ms);
        draft.next_at(Some(self.now().plus_ms(pause_ms)));
        then_others(draft)
    }

    /// The gateway gave money of the payment back in a way that is not known here. The refund says so from
    /// now on: an operator who ends the saga gives up this one, and no other that is under way. What the
    /// saga was woken for is looked at before it waits for them.
    fn refund_beside_unknown(&self, record: &SagaRecord, refund: &Refund) -> Look {
        let mut draft = self.moving(record);
        draft.tries(0);
        draft.refund(&refund.refund, |row| row.why = format!("{BESIDE_UNKNOWN}{}", refund.why));
        Look::WriteAndAsk(draft)
    }

    fn refund_failed(
        &self,
        record: &SagaRecord,
        refund: &Refund,
        reference: Option<String>,
        why: &str,
    ) -> Look {
        let mut draft = self.moving(record);
        draft.tries(0);
        note_failed(&mut draft, refund, reference, why);
        then_others(draft)
    }

    pub(super) async fn tell_refunded(&self, record: &SagaRecord) -> Result<Look, Trouble> {
        let payment = Self::present(record)?;
        // A booking that was cancelled knows of its refund already, and the engine says so. A hold
        // that still waits for the payment waits for nothing.
        let told = self.fail_in_engine(record, payment, "refunded", OnDecline::Release).await?;
        if told.is_none() && self.is_confirmed_by(record, payment).await? {
            let why = "the money went back, and the booking is confirmed all the same: cancel it";
            return Err(Trouble::Stuck(why.into()));
        }
        let mut draft = self.draft(record);
        draft.advance(Outcome::Acknowledged, "nothing is held and nothing is owed")?;
        Ok(Look::WriteAndRest(draft))
    }

    /// Whether the booking is confirmed with this payment.
    async fn is_confirmed_by(
        &self,
        record: &SagaRecord,
        payment: &Payment,
    ) -> Result<bool, Trouble> {
        let state = self.hold(record).await?.map(|view| view.state);
        let by = match &state {
            Some(HoldState::Confirmed { payment, .. }) => payment.as_ref(),
            Some(
                HoldState::Held { .. }
                | HoldState::Paying { .. }
                | HoldState::Released { .. }
                | HoldState::Expired { .. }
                | HoldState::Cancelled { .. },
            )
            | None => None,
        };
        Ok(by == Some(&payment.payment))
    }

    /// What is to be done now. Money that has no business here goes back first. While a gateway is at
    /// that, which takes days or comes to nothing, the booking's own payment does not wait for it.
    pub(super) async fn find_work(
        &self,
        record: &SagaRecord,
        woken: bool,
    ) -> Result<Look, Trouble> {
        if let Some(stray) = record.strays().find(|stray| stray.stage == Stage::Captured) {
            return Ok(self.send_back(record, stray));
        }
        if goes_before_strays(record) {
            match self.look_at(record, woken).await {
                Ok(Look::Rest) => {}
                // It waits on. The strays have the rest of this go, unless they were asked for in vain.
                Ok(Look::WriteAndRest(draft)) if record.saga.tries == 0 && waits_first(record) => {
                    return Ok(Look::Write(draft));
                }
                look => return look,
            }
        }
        // What has to wait is looked at again only when the saga is woken: the rest goes on meanwhile.
        if record.strays().next().is_some() && (record.saga.tries == 0 || woken) {
            match self.look_at_refunds(record).await {
                Ok(Look::Rest) => {}
                look => return look,
            }
        }
        self.look_at(record, woken).await
    }

    /// Has the money of a payment that is not the present one go back.
    fn send_back(&self, record: &SagaRecord, stray: &Payment) -> Look {
        let mut draft = self.moving(record);
        draft.stray(&stray.payment, Stage::Refunding, STRAY);
        let (taken_minor, cause) = (stray.captured_minor, RefundCause::Stray);
        draft.add_refund(refund_of(record, stray, taken_minor, cause, STRAY, self.now()));
        Look::Write(draft)
    }
}

/// The present payment, if as much was taken for it and is not on its way back.
pub(super) fn paid_here(record: &SagaRecord, amount_minor: i64) -> Option<&Payment> {
    record
        .present()
        .filter(|row| row.stage == Stage::Captured && row.captured_minor >= amount_minor)
}

/// Whether a booking was cancelled for this reason by whoever keeps it, and by no organiser.
#[must_use]
pub fn is_buyers_return(why: &str) -> bool {
    [CANCELLED_BY_BUYER, CANCELLED_BY_LINK].contains(&why)
}

/// Whether all stray money is on its way back, and the present payment has something to do.
fn goes_before_strays(record: &SagaRecord) -> bool {
    let mut strays = record.strays().peekable();
    if strays.peek().is_none() {
        return false;
    }
    let has = |stray: &Payment, is_such: fn(&Refund) -> bool| {
        record.refunds.iter().any(|refund| refund.payment == stray.payment && is_such(refund))
    };
    // What waits for an operator has been asked for in vain, as what has failed.
    let failed =
        |refund: &Refund| refund.status == RefundStatus::Failed || is_beside_unknown(refund);
    let to_ask =
        |refund: &Refund| refund.status == RefundStatus::Requested && !is_beside_unknown(refund);
    match todo(record.position()) {
        Todo::Create
        | Todo::NameCard
        | Todo::Capture
        | Todo::TellFailed
        | Todo::Confirm
        | Todo::TellRefunded => strays.all(|stray| stray.stage == Stage::Refunding),
        // It waits as well: for the buyer, or for a cancellation, which has a refund of its own to ask
        // for. That must not wait for what an operator asks for again and again.
        Todo::Watch | Todo::AskHold => {
            strays.all(|stray| has(stray, failed) || !has(stray, to_ask))
        }
        // For a debit under way it waits for days.
        Todo::Cancel => strays.all(|stray| !has(stray, to_ask)),
        // Its refund is one of those that are looked at.
        Todo::Refund | Todo::Rest => false,
    }
}

/// Whether the booking or its payment waits for others, and goes before a refund all the same that
/// is to be asked for.
fn waits_first(record: &SagaRecord) -> bool {
    let waits = matches!(todo(record.position()), Todo::Watch | Todo::AskHold);
    waits && record.refunds.iter().any(|refund| refund.status == RefundStatus::Requested)
}

/// The gateway will not make this refund.
pub(super) fn note_failed(
    draft: &mut Draft,
    refund: &Refund,
    reference: Option<String>,
    why: &str,
) {
    let why = format!("the gateway will not give the money back: {why}");
    draft.refund(&refund.refund, |row| {
        row.status = RefundStatus::Failed;
        row.reference = reference.or(row.reference.take());
        row.why.clone_from(&why);
    });
    draft.note(&why);
}

/// Has a saga that comes to rest wait for an operator if money went back twice and nobody has seen to
/// that: whatever it was woken for since is done.
pub(super) fn rest_with_what_is_left(draft: &mut Draft) {
    let SagaRecord { saga, refunds, .. } = draft.record();
    let is_at_rest = saga.next_at.is_none() && saga.stuck.is_none();
    if is_at_rest && refunds.iter().any(|refund| refund.why == BESIDE_ANOTHER) {
        draft.tries(0);
        draft.note(BESIDE_ANOTHER);
        draft.stuck(Some(BESIDE_ANOTHER));
    }
}

/// An operator acts on what the saga was stuck with.
pub(super) fn see_to_what_went_twice(draft: &mut Draft, record: &SagaRecord) {
    if record.saga.stuck.as_deref() != Some(BESIDE_ANOTHER) {
        return;
    }
    for twice in record.refunds.iter().filter(|refund| refund.why == BESIDE_ANOTHER) {
        draft.refund(&twice.refund, |row| BESIDE_SEEN_TO.clone_into(&mut row.why));
    }
}

/// The only refund of a payment that was made, but for what the desk gave back, if nobody was told of it
/// because another one was asked for beside it.
pub(super) fn made_untold<'a>(record: &'a SagaRecord, payment: &Payment) -> Option<&'a Refund> {
    let is_made = |row: &&Refund| {
        row.payment == payment.payment
            && row.status == RefundStatus::Done
            && row.cause != RefundCause::AtDesk
    };
    let mut made = record.refunds.iter().filter(is_made);
    let only = made.next().filter(|row| [BESIDE_ANOTHER, BESIDE_SEEN_TO].contains(&&*row.why))?;
    made.next().is_none().then_some(only)
}

/// Whether more would go back of a payment than was to, because one that had failed was made after all.
fn is_beyond_what_is_owed(record: &SagaRecord, refund: &Refund) -> bool {
    let of_it = || record.refunds.iter().filter(|other| other.payment == refund.payment);
    let owed_minor = decided_minor(record, &refund.payment).unwrap_or(refund.amount_minor);
    let done = of_it().filter(|other| other.status == RefundStatus::Done);
    done.map(|other| other.amount_minor).sum::<i64>() + refund.amount_minor > owed_minor
}

/// How much was to go back of a payment when that was decided, in minor units; `None` if nothing was.
///
/// Its first refund is of all that, or of what the desk had given back before; then the next one is of
/// the rest. Whatever an operator had added repeats a part of it.
pub(super) fn decided_minor(record: &SagaRecord, payment: &PaymentId) -> Option<i64> {
    let mut of_it = record.refunds.iter().filter(|row| row.payment == *payment);
    let first = of_it.next()?;
    let (mut decided_minor, mut has_more) =
        (first.amount_minor, first.cause == RefundCause::AtDesk);
    for row in of_it {
        // An operator decides in the first place, too (`Operator`); all else of theirs repeats.
        let repeats = row.decided_by.is_some() && row.cause != RefundCause::Operator;
        if !has_more || repeats {
            break;
        }
        decided_minor += row.amount_minor;
        has_more = row.cause == RefundCause::AtDesk;
    }
    Some(decided_minor)
}

/// Whether this refund, if it was made after all, and what went back or is asked for beside it come to
/// more than was to go back.
pub(super) fn is_beside_another(record: &SagaRecord, refund: &Refund) -> bool {
    let is_other = |row: &&Refund| row.payment == refund.payment && row.refund != refund.refund;
    let others = record.refunds.iter().filter(is_other);
    let counting = others.filter(|row| is_open(row) || row.status == RefundStatus::Done);
    let beside_minor = counting.map(|row| row.amount_minor).sum::<i64>();
    let owed_minor = decided_minor(record, &refund.payment).unwrap_or(refund.amount_minor);
    beside_minor + refund.amount_minor > owed_minor
}

/// Whether less went back of a payment than was to, this refund included, as one beside it has failed.
pub(super) fn is_part_of_what_is_owed(record: &SagaRecord, refund: &Refund) -> bool {
    let is_other = |row: &&Refund| row.payment == refund.payment && row.refund != refund.refund;
    let others = || record.refunds.iter().filter(is_other);
    let Some(paid) = record.payments.iter().find(|row| row.payment == refund.payment) else {
        return false;
    };
    let owed_minor = decided_minor(record, &refund.payment).unwrap_or(refund.amount_minor);
    let done = others().filter(|row| row.status == RefundStatus::Done);
    let back_minor = done.map(|row| row.amount_minor).sum::<i64>() + refund.amount_minor;
    back_minor < owed_minor.min(paid.captured_minor)
        && others().any(|row| row.status == RefundStatus::Failed)
}

/// Whether nobody knows yet what comes of it.
pub(super) fn is_open(refund: &Refund) -> bool {
    matches!(refund.status, RefundStatus::Requested | RefundStatus::Sent)
}

/// Whether it stays as it is until an operator has looked what the gateway gave back beside it.
pub(super) fn is_beside_unknown(refund: &Refund) -> bool {
    refund.status == RefundStatus::Requested && refund.why.starts_with(BESIDE_UNKNOWN)
}

/// Why a refund was asked for, whatever it has waited for since.
fn asked_for_because(refund: &Refund) -> String {
    refund.why.strip_prefix(BESIDE_UNKNOWN).unwrap_or(&refund.why).to_owned()
}

/// Why the last refund of a payment failed whose money is to go back, if none is under way.
fn failure<'a>(record: &'a SagaRecord, payment: &Payment) -> Option<&'a str> {
    let of_it = || record.refunds.iter().filter(|refund| refund.payment == payment.payment);
    if of_it().any(is_open) {
        return None;
    }
    let failed = of_it().rfind(|refund| refund.status == RefundStatus::Failed);
    let last = failed.or_else(|| of_it().next_back());
    Some(last.map_or("the refund's row is missing", |refund| refund.why.as_str()))
}

/// A refund has to wait, or has failed. Others that were not asked for yet are, before the saga
/// rests; then what failed waits for an operator.
fn then_others(mut draft: Draft) -> Look {
    let record = draft.record();
    if record.refunds.iter().any(|refund| refund.status == RefundStatus::Requested) {
        return Look::Write(draft);
    }
    let mut owed = record.payments.iter().filter(|payment| payment.stage == Stage::Refunding);
    if let Some(why) = owed.find_map(|payment| failure(record, payment)).map(str::to_owned) {
        if todo(record.position()) == Todo::Cancel {
            // What the gateway is to call off does not wait for an operator.
            return Look::WriteAndAsk(draft);
        }
        draft.next_at(None);
        draft.stuck(Some(&why));
    }
    Look::WriteAndRest(draft)
}
