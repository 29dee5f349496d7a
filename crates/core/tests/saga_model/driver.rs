//! The saga's driver, as the server has it: one thing to do after another, each told from the row alone.

use crate::rules::{Asked, Refunded, Rules, Standing, Who};
use crate::world::{AtGateway, Fault, Thought, World};
use onrush_core::saga::{Outcome, Stage, Step, Todo, todo};

impl World {
    /// Does what is to be done, and has in memory what came of it.
    pub(crate) fn call(&mut self, rules: &Rules, fault: Option<Fault>) {
        let read = self.row;
        let present = read.present;
        let payment = || present.expect("what is to be done about a payment names it");
        let (outcome, about) = match todo(read.position()) {
            Todo::Rest => return,
            Todo::AskHold => self.ask_hold(rules),
            Todo::Watch => {
                if fault == Some(Fault::CapturesWithoutLooking) {
                    self.capture(payment());
                }
                let outcome = if self.hold_waits(rules, payment()) {
                    standing_outcome(self.gateway[usize::from(payment())])
                } else {
                    Outcome::PaymentUnwanted
                };
                (outcome, present)
            }
            Todo::Create if self.hold_waits(rules, payment()) => {
                (standing_outcome(self.create(payment())), present)
            }
            Todo::Create => (Outcome::PaymentUnwanted, present),
            Todo::NameCard => (self.name_card(rules, payment(), true), present),
            Todo::Capture if self.hold_waits(rules, payment()) => {
                (standing_outcome(self.capture(payment())), present)
            }
            Todo::Capture => (Outcome::PaymentUnwanted, present),
            Todo::Cancel if fault == Some(Fault::LeavesMoneySetAside) && self.later => {
                (Outcome::PaymentClosed, present)
            }
            Todo::Cancel => match self.cancel(payment(), fault) {
                AtGateway::Captured if fault != Some(Fault::CancelIsFinal) => {
                    (Outcome::MoneyTaken, present)
                }
                _ => (Outcome::PaymentClosed, present),
            },
            Todo::TellFailed => {
                // A refusal means that the engine knows already; either way its state says what
                // became of the hold.
                let _refused_or_not = self.ask(rules, Asked::Fail(payment(), self.on_decline));
                let standing = rules.facts(self.engine).buyer;
                if fault == Some(Fault::NextPaymentIsTrouble) && standing != Standing::Held {
                    self.illegal |= standing.owns();
                }
                // It may be in the next payment already: then asking for the hold leads on to that one.
                let lives = standing.owns();
                (if lives { Outcome::HoldKept } else { Outcome::HoldGone }, present)
            }
            Todo::Confirm => (self.confirm(rules, payment(), fault), present),
            Todo::Refund => {
                self.refund(payment(), fault);
                (Outcome::MoneyReturned, present)
            }
            Todo::TellRefunded => {
                // It ends the late payment; a booking that was cancelled has none, and the engine says so.
                let _refused_or_not = self.ask(rules, Asked::Fail(payment(), self.on_decline));
                (Outcome::Acknowledged, present)
            }
        };
        // Whoever finds a cancelled booking where they wanted to confirm has to see to the
        // cancellation: the feed told of it before, and will not again.
        let again = outcome == Outcome::HoldConfirmed
            && matches!(rules.facts(self.engine).buyer, Standing::Cancelled(_));
        self.thought = Some(Thought { read, payment: about, outcome, stale: false, again });
    }

    /// Creates a payment whose hold ran out after the driver had looked at it.
    pub(crate) fn create_in_vain(&mut self) {
        let present = self.row.present.expect("a payment is to be created");
        let outcome = standing_outcome(self.create(present));
        let (read, payment) = (self.row, Some(present));
        self.thought = Some(Thought { read, payment, outcome, stale: false, again: false });
    }

    /// Takes what was set aside for a hold that ran out after the driver had looked at it.
    pub(crate) fn capture_in_vain(&mut self) {
        let present = self.row.present.expect("money is to be taken");
        let outcome = standing_outcome(self.capture(present));
        let (read, payment) = (self.row, Some(present));
        self.thought = Some(Thought { read, payment, outcome, stale: false, again: false });
    }

    /// The engine says that the card may not pay.
    pub(crate) fn refuse_card(&mut self, rules: &Rules) {
        let present = self.row.present.expect("a card is to be named");
        let outcome = self.name_card(rules, present, false);
        let (read, payment) = (self.row, Some(present));
        self.thought = Some(Thought { read, payment, outcome, stale: false, again: false });
    }

    fn name_card(&mut self, rules: &Rules, payment: u8, may_pay: bool) -> Outcome {
        if !self.hold_waits(rules, payment) {
            return Outcome::PaymentUnwanted;
        }
        match self.gateway[usize::from(payment)] {
            AtGateway::Authorised if may_pay => {
                self.named[usize::from(payment)] = true;
                Outcome::CardNamed
            }
            AtGateway::Authorised => Outcome::PaymentUnwanted,
            elsewhere => standing_outcome(elsewhere),
        }
    }

    fn ask_hold(&self, rules: &Rules) -> (Outcome, Option<u8>) {
        let standing = rules.facts(self.engine).buyer;
        let outcome = match (self.row.step, standing) {
            // A payment was begun, and whoever began it did not come to write it down.
            (Step::ReserveOk, Standing::Paying(payment) | Standing::Expired(Some(payment))) => {
                return (Outcome::PaymentWanted, Some(payment));
            }
            (_, Standing::Paying(_)) => Outcome::Held,
            (_, Standing::Held) => Outcome::Held,
            (_, Standing::Confirmed(_)) => Outcome::HoldConfirmed,
            (Step::Confirmed, Standing::Cancelled(Refunded::All)) => Outcome::Cancelled,
            (Step::Confirmed, Standing::Cancelled(Refunded::Nothing)) => {
                Outcome::CancelledUnrefunded
            }
            (
                _,
                Standing::Absent
                | Standing::Released
                | Standing::Expired(_)
                | Standing::Cancelled(_),
            ) => Outcome::NotHeld,
        };
        (outcome, None)
    }

    fn confirm(&mut self, rules: &Rules, payment: u8, fault: Option<Fault>) -> Outcome {
        let refused = self.ask(rules, Asked::Confirm(Who::Buyer, payment));
        match refused {
            None => Outcome::HoldConfirmed,
            // It was confirmed, this was not written down, and then it was cancelled: the
            // cancellation is seen next.
            Some("INVALID_STATUS") if fault != Some(Fault::CancelledIsNeverConfirmed) => {
                Outcome::HoldConfirmed
            }
            Some("SEAT_UNAVAILABLE") if fault == Some(Fault::ConfirmIgnoresOwner) => {
                self.stolen = true;
                Outcome::HoldConfirmed
            }
            Some(_) => Outcome::ConfirmRefused,
        }
    }

    /// The gateway creates a payment, or finds it.
    pub(crate) fn create(&mut self, payment: u8) -> AtGateway {
        let at = &mut self.gateway[usize::from(payment)];
        if *at == AtGateway::Unheard {
            *at = AtGateway::Open;
        }
        *at
    }

    /// The gateway takes what is set aside, and nothing else.
    pub(crate) fn capture(&mut self, payment: u8) -> AtGateway {
        let nth = usize::from(payment);
        if self.gateway[nth] == AtGateway::Authorised {
            self.gateway[nth] = AtGateway::Captured;
            self.captured[nth] += 1;
        }
        self.gateway[nth]
    }

    /// The gateway cancels a payment, unless money was taken.
    pub(crate) fn cancel(&mut self, payment: u8, fault: Option<Fault>) -> AtGateway {
        let at = &mut self.gateway[usize::from(payment)];
        match *at {
            AtGateway::Unheard if fault == Some(Fault::CancelForgetsTheUnheardOf) => {}
            AtGateway::Unheard | AtGateway::Open | AtGateway::Authorised | AtGateway::Declined => {
                *at = AtGateway::Cancelled;
            }
            AtGateway::Cancelled | AtGateway::Captured => {}
        }
        *at
    }

    /// The gateway gives money back, once for each key.
    pub(crate) fn refund(&mut self, payment: u8, fault: Option<Fault>) {
        let refunded = &mut self.refunded[usize::from(payment)];
        if *refunded == 0 || fault == Some(Fault::RefundHasNoKey) {
            *refunded += 1;
        }
    }

    /// Writes down what is in memory, unless the row has changed since it was read.
    pub(crate) fn write_thought(&mut self, fault: Option<Fault>) {
        let Some(Thought { read, payment, outcome, stale, again }) = self.thought.take() else {
            return;
        };
        if (read == self.row && !stale) || fault == Some(Fault::WritesOverOthers) {
            self.row = read;
            self.write(outcome, payment);
            self.wake |= again;
        } else {
            self.wake = true;
        }
    }

    /// A webhook came: what it says is written down if it is about the present payment.
    pub(crate) fn hear(&mut self, payment: u8, outcome: Outcome) {
        if self.row.present == Some(payment) {
            // A decline may be older than what is set aside, so the gateway is asked instead.
            if self.later && outcome == Outcome::PaymentUnwanted {
                self.wake |=
                    matches!(self.row.position().stage, Some(Stage::Creating | Stage::Open));
                return;
            }
            let wake = self.wake;
            self.write(outcome, Some(payment));
            // A message that says nothing new does not put off what is due.
            self.wake |= wake;
        }
    }
}

fn standing_outcome(at: AtGateway) -> Outcome {
    match at {
        AtGateway::Unheard => panic!("a payment that was created is known"),
        AtGateway::Open => Outcome::PaymentOpen,
        AtGateway::Authorised => Outcome::MoneyAuthorised,
        AtGateway::Declined => Outcome::PaymentUnwanted,
        AtGateway::Cancelled => Outcome::PaymentClosed,
        AtGateway::Captured => Outcome::MoneyTaken,
    }
}
