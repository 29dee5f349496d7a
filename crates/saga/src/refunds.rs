//! Money that goes back.

use super::draft::Draft;
use super::gateway::{GatewayError, RefundStanding};
use super::look::{Look, Trouble};
use super::rows::{order_of_refund, refund_of};
use super::sagas::Sagas;
use onrush_core::hold::{HoldState, OnDecline};
use onrush_core::ids::PaymentId;
use onrush_core::saga::{Outcome, Stage, Todo, todo};
use onrush_ledger::money::{Payment, Refund, RefundCause, RefundStatus};
use onrush_ledger::saga::SagaRecord;
use onrush_relay::messages::refund_done;

/// How long the gateway is left alone with a refund at most.
const LONGEST_WAIT_MS: i64 = 3_600_000;
/// Why money of a payment that is not the present one goes back.
const STRAY: &str = "the booking does not wait for this payment";

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
        let paid_here =
            |row: &&Payment| row.stage == Stage::Captured && row.captured_minor >= amount_minor;
        let Some(payment) = record.present().filter(paid_here) else {
            // Paid at the box office: what it took, it gives back.
            let mut draft = self.draft(record);
            draft.advance(Outcome::CancelledUnrefunded, "nothing was paid here; refund by hand")?;
            return Ok(Look::WriteAndRest(draft));
        };
        draft.advance(outcome, why)?;
        draft.add_refund(refund_of(record, payment, amount_minor, cause, why, self.now()));
        Ok(Look::Write(draft))
    }

    /// A payment's refund that has not come to its end.
    fn open_refund<'a>(record: &'a SagaRecord, payment: &PaymentId) -> Result<&'a Refund, Trouble> {
        let open = |refund: &&Refund| {
            refund.payment == *payment
                && matches!(refund.status, RefundStatus::Requested | RefundStatus::Sent)
        };
        let refund = record.refunds.iter().find(open);
        refund.ok_or_else(|| Trouble::Stuck("the refund's row is missing".into()))
    }

    async fn refund_at_gateway(
        &self,
        record: &SagaRecord,
        payment: &Payment,
    ) -> Result<(Refund, RefundStanding), Trouble> {
        let refund = Self::open_refund(record, &payment.payment)?.clone();
        let order = order_of_refund(record, payment, &refund);
        match self.asked(payment, |gateway| gateway.refund(&order)).await {
            Ok(standing) => Ok((refund, standing)),
            // It will never make this one; another may be made under a key of its own.
            Err(GatewayError::Refused(why)) => {
                Ok((refund, RefundStanding::Failed { reference: None, why }))
            }
            Err(error @ GatewayError::Unavailable(_)) => Err(error.into()),
        }
    }

    pub(super) async fn refund_present(&self, record: &SagaRecord) -> Result<Look, Trouble> {
        let payment = Self::present(record)?;
        let (refund, standing) = self.refund_at_gateway(record, payment).await?;
        match standing {
            RefundStanding::Done { reference } => {
                let mut draft = self.moving(record);
                draft.advance(Outcome::MoneyReturned, "the money went back")?;
                self.refund_done(&mut draft, &refund, reference);
                Ok(Look::Write(draft))
            }
            RefundStanding::Pending { reference } => {
                Ok(self.refund_sent(record, &refund, reference))
            }
            RefundStanding::Failed { reference, why } => {
                Ok(self.refund_failed(record, &refund, reference, &why))
            }
        }
    }

    fn refund_done(&self, draft: &mut Draft, refund: &Refund, reference: String) {
        draft.refund(&refund.refund, |row| {
            row.status = RefundStatus::Done;
            row.reference = Some(reference);
        });
        let event = &draft.record().saga.event;
        if let Some(message) = refund_done(refund, event, self.now(), None, &self.channels) {
            draft.tell(message);
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
        });
        draft.note("the gateway works on the refund");
        let under_way_ms = self.now().since_ms(refund.created_at);
        let pause_ms = (under_way_ms / 8).min(LONGEST_WAIT_MS).max(self.patience.longest_pause_ms);
        draft.next_at(Some(self.now().plus_ms(pause_ms)));
        Look::WriteAndRest(draft)
    }

    fn refund_failed(
        &self,
        record: &SagaRecord,
        refund: &Refund,
        reference: Option<String>,
        why: &str,
    ) -> Look {
        let why = format!("the gateway will not give the money back: {why}");
        let mut draft = self.draft(record);
        draft.refund(&refund.refund, |row| {
            row.status = RefundStatus::Failed;
            row.reference = reference.or(row.reference.take());
            row.why.clone_from(&why);
        });
        draft.note(&why);
        draft.stuck(Some(&why));
        Look::WriteAndRest(draft)
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
        if goes_before_strays(record) {
            match self.look_at(record, woken).await {
                Ok(Look::Rest) => {}
                look => return look,
            }
        }
        match self.look_at_strays(record, woken).await {
            Ok(Look::Rest) => self.look_at(record, woken).await,
            look => look,
        }
    }

    /// Money of a payment that is not the present one goes back.
    ///
    /// A refund that has to wait is looked at again only when the saga is woken, so that the rest
    /// goes on meanwhile.
    async fn look_at_strays(&self, record: &SagaRecord, woken: bool) -> Result<Look, Trouble> {
        let Some(stray) = record.strays().next() else { return Ok(Look::Rest) };
        if stray.stage == Stage::Refunding && record.saga.tries > 0 && !woken {
            return Ok(Look::Rest);
        }
        if stray.stage == Stage::Captured {
            let mut draft = self.moving(record);
            draft.stray(&stray.payment, Stage::Refunding, STRAY);
            let (taken_minor, cause) = (stray.captured_minor, RefundCause::Stray);
            draft.add_refund(refund_of(record, stray, taken_minor, cause, STRAY, self.now()));
            return Ok(Look::Write(draft));
        }
        let (refund, standing) = self.refund_at_gateway(record, stray).await?;
        match standing {
            RefundStanding::Done { reference } => {
                let mut draft = Draft::of(record, self.now());
                draft.stray(&stray.payment, Stage::Refunded, "a stray payment went back");
                self.refund_done(&mut draft, &refund, reference);
                Ok(Look::Write(draft))
            }
            RefundStanding::Pending { reference } => {
                Ok(self.refund_sent(record, &refund, reference))
            }
            RefundStanding::Failed { reference, why } => {
                Ok(self.refund_failed(record, &refund, reference, &why))
            }
        }
    }
}

/// Whether all stray money is on its way back, and the present payment has something to do.
fn goes_before_strays(record: &SagaRecord) -> bool {
    let is_sent = |payment: &PaymentId| {
        let mut refunds = record.refunds.iter().filter(|refund| refund.payment == *payment);
        refunds.any(|refund| refund.status == RefundStatus::Sent)
    };
    let mut strays = record.strays().peekable();
    if strays.peek().is_none() {
        return false;
    }
    match todo(record.position()) {
        Todo::Create
        | Todo::NameCard
        | Todo::Capture
        | Todo::Cancel
        | Todo::TellFailed
        | Todo::Confirm
        | Todo::TellRefunded => strays.all(|stray| stray.stage == Stage::Refunding),
        // It waits as well: for the buyer, not longer than the hold does.
        // So does what was cancelled, for days if need be: it has a refund of its own to ask for.
        Todo::Watch | Todo::AskHold => strays.all(|stray| is_sent(&stray.payment)),
        // Of two refunds one is asked for, and then the other.
        Todo::Refund => {
            let present = record.saga.payment.as_ref();
            strays.all(|stray| is_sent(&stray.payment)) && !present.is_some_and(is_sent)
        }
        Todo::Rest => false,
    }
}
